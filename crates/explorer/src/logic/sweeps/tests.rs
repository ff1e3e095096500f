use super::*;
use crate::logic::inputs::{Inputs, row_of_head};
use crate::logic::preset::Preset;
use crate::logic::state::{Head, LowerEdge, SinkChoice, UpperEdge};
use contattn_core::{CancelToken, Dtype, Request, Unattended};
use contattn_cpu::Plain;
use contattn_reference::Reference;

fn state() -> State {
    State { row: Preset::Spike.row(), ..State::default() }
}

fn run(sweep: &Sweep, state: &State, engine: &dyn Engine) -> Swept {
    let sweep = sweep.clone().within(state.row.len());
    sweep.run(state, &Source::carried(), engine, &Unattended, &mut |_| ()).unwrap()
}

/// o and weights of a state as it stands, correctly rounded.
fn evaluated(state: &State) -> (f64, Vec<f64>) {
    let state = State { dtype: Dtype::F64, ..state.clone() };
    let inputs = Inputs::of_row(&state, &Source::carried()).unwrap();
    let request = Request { weights: true, ..Request::default() };
    let output = Reference::new().forward(&inputs.problem().unwrap(), &request, &Unattended).unwrap();
    (output.o.elements().get(0), output.weights.unwrap().to_f64())
}

/// The state at a position, evaluated by itself, is the point of the curve.
#[test]
fn points_are_states() {
    let source = Source::carried();
    for kind in Kind::ALL {
        if matches!(kind, Kind::Refinement | Kind::Sampling | Kind::Shift | Kind::Scale) {
            continue; // distances of curves, and exact durations, which a state does not have
        }
        let sweep = Sweep { points: 7, ..Sweep::of(kind) }.within(state().row.len());
        let swept = run(&sweep, &state(), &Reference::new());
        assert_eq!((swept.x.len(), swept.planned), (7, 7));
        for (i, &x) in swept.x.iter().enumerate() {
            let at = sweep.state_at(&state(), &source, x).unwrap();
            at.check().unwrap();
            assert_eq!(evaluated(&at).0, swept.plots[0].curves[0].y[i], "{kind:?} at {x}");
        }
    }
}

/// Without positions nothing but time moves: exactly no change in the reference, none beyond rounding in f32.
#[test]
fn shift_and_scale_of_time_change_nothing() {
    let mut irregular = state();
    irregular.row.times = (0..irregular.row.len()).map(|i| 0.37 * (i as f64).powf(1.3)).collect();
    for state in [state(), irregular] {
        for kind in [Kind::Shift, Kind::Scale] {
            let exact = run(&Sweep::of(kind), &state, &Reference::new());
            assert!(exact.x.len() > 20);
            assert!(exact.plots[1].curves[0].y.iter().all(|change| *change == 0.0), "{kind:?}: {:?}", exact.plots[1]);
            assert!(exact.notes.iter().any(|note| note.contains("to the last bit")));
            let single = run(&Sweep::of(kind), &state, &Plain::<f32>::new());
            assert!(single.plots[1].curves[0].y.iter().all(|change| change.abs() <= 16.0), "{:?}", single.plots[1]);
        }
    }
}

/// With rotary positions a shift still cancels in q.k, up to rounding, and a scale does not.
#[test]
fn rotary_positions_see_scale_alone() {
    let source = Source::carried();
    let head = Head { layer: 0, head: 2, query: 20 };
    let state = State { row: row_of_head(&source, head).unwrap(), ..State::default() };
    let rotary = |kind| Sweep { rotary: true, points: 5, ..Sweep::of(kind) };
    let change = |swept: &Swept| {
        let y = &swept.plots[0].curves[0].y;
        y.iter().fold(0.0, |most: f64, o| most.max((o - y[0]).abs()))
    };
    let shifted = change(&run(&rotary(Kind::Shift), &state, &Reference::new()));
    let scaled = change(&run(&rotary(Kind::Scale), &state, &Reference::new()));
    assert!(shifted < 1e-12 && scaled > 1e-3, "{shifted} {scaled}");
    // At its own scale the row is what it was.
    let at = rotary(Kind::Scale).state_at(&state, &source, 1.0).unwrap();
    for (own, turned) in state.row.scores().iter().zip(at.row.scores()).skip(1) {
        assert!((own - turned).abs() < 1e-5, "{own} {turned}");
    }
    // A row without queries and keys says so.
    assert!(rotary(Kind::Shift).state_at(&super::tests::state(), &source, 1.0).is_err());
}

#[test]
fn softmax_goes_over_into_continuous_attention() {
    let state = State { sink: SinkChoice::Absent, ..state() };
    let swept = run(&Sweep { points: 3, ..Sweep::of(Kind::Continuity) }, &state, &Reference::new());
    let weights = |i: usize| swept.plots[1].curves.iter().map(|curve| curve.y[i]).collect::<Vec<f64>>();
    let scores = &state.row.scores()[1..];
    let sum: f64 = scores.iter().map(|a| a.exp()).sum();
    for (w, a) in weights(0).iter().zip(scores) {
        assert!((w - a.exp() / sum).abs() < 1e-12);
    }
    let (_, exact) = evaluated(&state);
    for (w, exact) in weights(2).iter().zip(&exact[1..]) {
        assert!((w - exact).abs() < 1e-12);
    }
}

/// Step comes to Linear with order 1, Trapezoid with order 2; Linear is there already.
#[test]
fn finer_samples_come_closer() {
    for sink in SinkChoice::ALL {
        let state = State { sink, ..state() };
        let swept = run(
            &Sweep { from: 64.0, to: 256.0, points: 3, ..Sweep::of(Kind::Refinement) },
            &state,
            &Plain::<f64>::new(),
        );
        let order = |curve: usize| {
            let y = &swept.plots[0].curves[curve].y;
            (y[1] / y[2]).log2() / (swept.x[2] / swept.x[1]).log2()
        };
        assert!((order(0) - 1.0).abs() < 0.2 && (order(1) - 2.0).abs() < 0.1, "{sink:?}: {} {}", order(0), order(1));
        assert!(swept.plots[0].curves[2].y.iter().all(|error| *error < 1e-13));
    }
}

/// A value that travels moves o along a straight line; figures say so.
#[test]
fn a_travelling_value_is_a_straight_line() {
    let sweep = Sweep { part: Part::Value, first: 4, last: 6, ..Sweep::of(Kind::Interpolation) };
    let swept = run(&sweep, &state(), &Reference::new());
    assert_eq!(swept.x.len(), 40);
    let figures = swept.plots[0].curves[0].figures.unwrap();
    assert!(
        (figures.slope.unwrap() - 1.0).abs() < 1e-9 && figures.excursion == 0.0 && !figures.exceeds(),
        "{figures:?}"
    );
    // Weights do not move at all: a constant has no slope.
    assert!(swept.plots[1].curves.iter().all(|curve| curve.figures.unwrap().slope.is_none()));
    let (peaks, n) = swept.plots[1].peaks.as_ref().unwrap();
    assert_eq!((peaks.number(), *n), (1, state().row.len()));
}

/// As its duration grows from nothing, a node takes over.
#[test]
fn durations_change_the_winner() {
    let mut state = state();
    state.row.keys.fill(0.5);
    let sweep = Sweep { from: 0.0, to: 8.0, first: 3, last: 3, points: 30, ..Sweep::of(Kind::Duration) };
    let swept = run(&sweep, &state, &Reference::new());
    let (peaks, n) = swept.plots[1].peaks.as_ref().unwrap();
    assert!(peaks.number() >= 2 && *n == 1, "{peaks:?}");
    let faint = swept.plots[0].curves.iter().find(|curve| curve.faint).unwrap();
    assert!(faint.y.iter().all(|o| *o == faint.y[0]), "softmax does not see durations");
}

#[test]
fn edges_pass_through_every_segment() {
    let swept = run(&Sweep { points: 50, ..Sweep::of(Kind::Edge) }, &state(), &Reference::new());
    let row = state().row;
    assert_eq!((swept.x[0], swept.x[49]), (row.times[0], row.times[row.len() - 1]));
    let (whole, _) = evaluated(&State { lower: LowerEdge::Start, upper: UpperEdge::End, ..state() });
    assert_eq!(*swept.plots[0].curves[0].y.last().unwrap(), whole);
}

#[test]
fn absurd_settings_come_back_into_range() {
    let nan = f64::NAN;
    for kind in Kind::ALL {
        for (from, to) in [(nan, nan), (1e300, -1e300), (f64::INFINITY, 0.0), (5.0, 5.0), (-1e300, 1e300)] {
            let series = Series { sharpness: nan, waves: u32::MAX, draws: 0, ..Series::default() };
            let sweep = Sweep { from, to, points: 3, first: usize::MAX, last: 0, series, ..Sweep::of(kind) };
            let sweep = sweep.within(state().row.len());
            assert!(sweep.from < sweep.to && sweep.first >= 1 && sweep.last < state().row.len(), "{sweep:?}");
            let positions = sweep.positions(&state());
            assert!(
                !positions.is_empty() && positions.windows(2).all(|pair| pair[0] < pair[1]),
                "{sweep:?}: {positions:?}"
            );
        }
        assert!(Sweep { points: usize::MAX, ..Sweep::of(kind) }.within(2).points <= MAX_POINTS);
    }
}

#[test]
fn a_sweep_grows_and_stops() {
    let token = CancelToken::default();
    let mut lengths = Vec::new();
    let sweep = Sweep::of(Kind::Duration);
    let outcome = sweep.run(&state(), &Source::carried(), &Plain::<f64>::new(), &token, &mut |swept| {
        lengths.push(swept.x.len());
        if swept.x.len() == 5 {
            token.cancel();
        }
    });
    assert_eq!((outcome, lengths), (Err(Failure::Cancelled), vec![1, 2, 3, 4, 5]));
}

#[test]
fn a_sweep_is_a_table_and_a_figure() {
    let swept = run(&Sweep { points: 4, ..Sweep::of(Kind::Duration) }, &state(), &Plain::<f64>::new());
    let curves: usize = swept.plots.iter().map(|plot| plot.curves.len()).sum();
    assert_eq!(table(&swept).len(), 4 * curves);
    let text = contattn_figure::svg(&sheet(&swept, "spike")).unwrap();
    assert!(text.contains("Sweep: duration") && text.contains("o, softmax"));
}
