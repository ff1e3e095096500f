//! Evaluating a sweep point by point.

use super::scene::{exact_durations, refined, state_at, unlinked};
use super::{COMPARED, Curve, Kind, Plot, Sweep, Swept};
use crate::logic::inputs::Inputs;
use crate::logic::source::Source;
use crate::logic::state::{SinkChoice, State};
use crate::logic::worker::Failure;
use contattn_check::report::unit_in_last_place;
use contattn_core::{Dtype, Engine, Feature, Monitor, Output, Request, Rule, Series, Timeline, Unattended, Window};

/// o of the one channel, and the weights.
struct Evaluated {
    o: f64,
    weights: Vec<f64>,
}

/// The type that inputs of a sweep have: f64 where the engine takes it, so that a curve is not quantised by its inputs.
fn input_type(engine: &dyn Engine) -> Dtype {
    if engine.supports(Feature::Input(Dtype::F64)) { Dtype::F64 } else { Dtype::F32 }
}

fn forward(engine: &dyn Engine, inputs: &Inputs, request: Request) -> Result<Output, Failure> {
    // One row: asking between points whether to stop is often enough.
    Ok(engine.forward(&inputs.problem()?, &request, &Unattended)?)
}

fn evaluate(engine: &dyn Engine, inputs: &Inputs) -> Result<Evaluated, Failure> {
    let weights = engine.supports(Feature::Weights);
    let output = forward(engine, inputs, Request { weights, ..Request::default() })?;
    let weights = output.weights.map(|weights| weights.to_f64()).unwrap_or_default();
    Ok(Evaluated { o: output.o.elements().get(0), weights })
}

/// The row of a state as inputs of the engine's type.
fn inputs(state: &State, engine: &dyn Engine, source: &Source) -> Result<Inputs, Failure> {
    let state = State { dtype: input_type(engine), ..unlinked(state) };
    Ok(Inputs::of_row(&state, source)?)
}

fn curve(name: impl Into<String>, faint: bool) -> Curve {
    Curve { name: name.into(), y: Vec::new(), faint, figures: None }
}

fn plot(
    title: &str,
    axis: &'static str,
    logarithmic: bool,
    curves: Vec<Curve>,
    competing: std::ops::Range<usize>,
) -> Plot {
    Plot { title: title.to_owned(), axis, logarithmic, curves, competing, peaks: None }
}

fn stopped(monitor: &dyn Monitor) -> Result<(), Failure> {
    if monitor.is_cancelled() { Err(Failure::Cancelled) } else { Ok(()) }
}

/// Names of the nodes that a sweep's weights belong to.
fn names(state: &State) -> Vec<String> {
    (0..state.row.len()).map(|node| if node == 0 { "sink".to_owned() } else { format!("node {node}") }).collect()
}

/// Every kind of sweep whose positions are states of the row.
pub(super) fn states(
    sweep: &Sweep,
    state: &State,
    source: &Source,
    engine: &dyn Engine,
    monitor: &dyn Monitor,
    grown: &mut dyn FnMut(&Swept),
) -> Result<Swept, Failure> {
    let positions = sweep.positions(state);
    let moves = matches!(sweep.kind, Kind::Shift | Kind::Scale);
    // Softmax beside: what does not see time does not follow it.
    let beside =
        matches!(sweep.kind, Kind::Duration | Kind::Interpolation) && engine.supports(Feature::Rule(Rule::Step));
    let mut output = vec![curve(format!("o, {}", state.rule), false)];
    if beside {
        output.push(curve("o, softmax", true));
    }
    let first = usize::from(!state.has_sink());
    let weights: Vec<Curve> = names(state).into_iter().skip(first).map(|name| curve(name, false)).collect();
    let competing = 0..weights.len();
    let mut plots = vec![
        plot("output", "o", false, output, 0..0),
        plot("weights", "w", false, weights, if engine.supports(Feature::Weights) { competing } else { 0..0 }),
    ];
    if moves {
        plots.insert(
            1,
            plot(
                "change of the output since the first position",
                "units in the last place",
                false,
                vec![curve("change", false)],
                0..0,
            ),
        );
    }
    let mut swept = Swept {
        sweep: sweep.clone(),
        x: Vec::new(),
        planned: positions.len(),
        plots,
        engine: engine.name().to_owned(),
        notes: notes(sweep, state, engine),
    };
    let mut start = None;
    for &position in &positions {
        stopped(monitor)?;
        let at = state_at(sweep, state, source, position)?;
        let mut own = inputs(&at, engine, source)?;
        if moves {
            own.spec.timeline = Timeline::Durations(Series::shared(exact_durations(sweep, state, position)));
        }
        let result = evaluate(engine, &own)?;
        swept.plots[0].curves[0].y.push(result.o);
        if beside {
            let mut softmax = inputs(&at, engine, source)?.with_rule(Rule::Step).on_unit_time();
            softmax.spec.window = Window::full();
            swept.plots[0].curves[1].y.push(evaluate(engine, &softmax)?.o);
        }
        if moves {
            let start = *start.get_or_insert(result.o);
            let unit = unit_in_last_place(start, engine.arithmetic());
            swept.plots[1].curves[0].y.push((result.o - start) / unit);
        }
        // Softmax of a + lambda b has a node 0 of its own, before those of the row.
        let offset = if sweep.kind == Kind::Continuity { 1 } else { first };
        if let Some(plot) = swept.plots.last_mut() {
            for (i, curve) in plot.curves.iter_mut().enumerate() {
                curve.y.push(result.weights.get(i + offset).copied().unwrap_or(f64::NAN));
            }
        }
        swept.x.push(position);
        monitor.progress(swept.x.len() as u64, positions.len() as u64);
        grown(&swept);
    }
    if moves {
        let change = &swept.plots[1].curves[0].y;
        let largest = change.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        swept.notes.push(if largest == 0.0 {
            format!("All {} outputs are the same number, to the last bit.", change.len())
        } else {
            format!("The output changes by up to {largest:.3} units in the last place of {}.", engine.arithmetic())
        });
    }
    Ok(swept)
}

fn notes(sweep: &Sweep, state: &State, engine: &dyn Engine) -> Vec<String> {
    let mut notes = Vec::new();
    if !engine.supports(Feature::Weights) {
        notes.push(format!("{} does not return weights.", engine.name()));
    }
    match sweep.kind {
        Kind::Duration if matches!(state.rule, Rule::Taylor(_)) => {
            notes.push("The Taylor rule knows the unit time line alone.".to_owned());
        }
        Kind::Continuity if state.has_sink() => {
            notes.push("Softmax has the sink among its nodes here, so that both ends see the same nodes.".to_owned());
        }
        Kind::Shift | Kind::Scale => {
            if state.lower != crate::logic::state::LowerEdge::Start
                || !matches!(state.upper, crate::logic::state::UpperEdge::End)
            {
                notes.push(
                    "The window is the whole time line here: fixed edges would be another window at every position."
                        .to_owned(),
                );
            }
            notes.push(
                "Durations have 40 bits here and factors are multiples of 1/256, so that scaled durations are exact."
                    .to_owned(),
            );
        }
        _ => {}
    }
    notes
}

/// Step and Trapezoid on ever finer samples of the row's curve, against Linear on the row itself.
pub(super) fn refinement(
    sweep: &Sweep,
    state: &State,
    engine: &dyn Engine,
    monitor: &dyn Monitor,
    grown: &mut dyn FnMut(&Swept),
) -> Result<Swept, Failure> {
    let source = Source::carried();
    let positions = sweep.positions(state);
    let exact = State { rule: Rule::Linear, ..state.clone() };
    let answer = evaluate(engine, &inputs(&exact, engine, &source)?)?.o;
    let curves = COMPARED.iter().map(|(_, name)| curve(*name, false)).collect();
    let mut swept = Swept {
        sweep: sweep.clone(),
        x: Vec::new(),
        planned: positions.len(),
        plots: vec![plot(
            "distance of the output from Linear's on the row itself",
            "|difference of o|",
            true,
            curves,
            0..0,
        )],
        engine: engine.name().to_owned(),
        notes: vec![format!(
            "Linear's output is {answer:?}; on finer samples of its own curve it stays, up to the rounding of the samples."
        )],
    };
    if state.sink == SinkChoice::Absent {
        swept.notes.push("Without a sink the curve begins at node 1, so node 1's duration takes no part.".to_owned());
    }
    for &parts in &positions {
        stopped(monitor)?;
        for (i, (rule, _)) in COMPARED.iter().enumerate() {
            let finer = refined(state, parts as usize, *rule);
            let o = evaluate(engine, &inputs(&finer, engine, &source)?)?.o;
            swept.plots[0].curves[i].y.push((o - answer).abs());
        }
        swept.x.push(parts);
        monitor.progress(swept.x.len() as u64, positions.len() as u64);
        grown(&swept);
    }
    for (i, (_, name)) in COMPARED.iter().enumerate().take(2) {
        if let Some(order) = order(&swept.x, &swept.plots[0].curves[i].y) {
            swept.notes.push(format!("{name} approaches with order {order:.2} over the last doubling."));
        }
    }
    Ok(swept)
}

/// The order at which an error falls between the last two positions.
fn order(x: &[f64], y: &[f64]) -> Option<f64> {
    let ([.., a, b], [.., ya, yb]) = (x, y) else { return None };
    let order = -(yb / ya).ln() / (b / a).ln();
    order.is_finite().then_some(order)
}
