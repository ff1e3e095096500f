//! States along a sweep.

use super::{Kind, Part, Sweep, sampling};
use crate::logic::inputs::Inputs;
use crate::logic::source::Source;
use crate::logic::state::{LowerEdge, MAX_NODES, Origin, Row, SinkChoice, State, UpperEdge};
use crate::logic::worker::Failure;
use contattn_core::families::real;
use contattn_core::{Engine, Layout, Pairing, Request, Rotary, Rule, Scale, Series, Tensor, TensorName, Unattended};
use contattn_reference::Reference;

/// The state at one position.
pub(super) fn state_at(sweep: &Sweep, state: &State, source: &Source, position: f64) -> Result<State, Failure> {
    let mut at = state.clone();
    at.row = state.row_with_sink();
    match sweep.kind {
        Kind::Duration => stretch(&mut at.row, sweep.first, sweep.last, position),
        Kind::Interpolation => travel(&mut at.row, sweep.first, sweep.last, sweep.part, position),
        Kind::Continuity => at = biased(state, position)?,
        Kind::Refinement => at = refined(state, position as usize, Rule::Step),
        Kind::Edge => {
            at.upper = UpperEdge::At(position);
            at.lower = match state.lower {
                LowerEdge::At(t) => LowerEdge::At(t.min(position)),
                LowerEdge::Start | LowerEdge::Sliding(_) => LowerEdge::Start,
            };
            if state.lower == LowerEdge::Start && position < state.row.times[0] {
                at.lower = LowerEdge::At(position);
            }
        }
        Kind::Shift | Kind::Scale => at = moved(sweep, state, source, position)?,
        Kind::Sampling => at = sampling::state(&sweep.series, position as usize, state)?,
    }
    Ok(at)
}

/// Durations of nodes first..=last times a factor; later nodes move along.
fn stretch(row: &mut Row, first: usize, last: usize, factor: f64) {
    let durations: Vec<f64> = row.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for node in 1..row.times.len() {
        let factor = if (first..=last).contains(&node) { factor } else { 1.0 };
        row.times[node] = row.times[node - 1] + factor * durations[node - 1];
    }
}

/// One node on the straight line to another.
fn travel(row: &mut Row, node: usize, to: usize, part: Part, t: f64) {
    let between = |a: f64, b: f64| a * (1.0 - t) + b * t;
    if part != Part::Value {
        row.keys[node] = between(row.keys[node], row.keys[to]);
    }
    if part != Part::Key {
        row.values[node] = between(row.values[node], row.values[to]);
    }
}

/// Softmax of a + lambda b as a row of its own: the Step rule on the unit time line, with a node 0 that takes no part.
fn biased(state: &State, lambda: f64) -> Result<State, Failure> {
    let bias = bias(state)?;
    let row = state.row_with_sink();
    let first = usize::from(!state.has_sink());
    let mut keys = vec![0.0];
    let mut values = vec![0.0];
    for node in first..row.len() {
        let score = row.query * row.keys[node];
        // A node without weight keeps none.
        let with = if bias[node] == f64::NEG_INFINITY { -1e9 } else { score + lambda * bias[node] };
        keys.push(with);
        values.push(row.values[node]);
    }
    let times = (0..keys.len()).map(|i| i as f64).collect();
    let row = Row { times, keys, values, query: 1.0, origin: Origin::Typed, edited: true };
    Ok(State {
        row,
        rule: Rule::Step,
        sink: SinkChoice::Absent,
        lower: LowerEdge::Start,
        upper: UpperEdge::End,
        ..state.clone()
    })
}

/// b of the state's row, correctly rounded to f64.
fn bias(state: &State) -> Result<Vec<f64>, Failure> {
    let inputs = Inputs::of_row(&unlinked(state), &Source::carried())?;
    let request = Request { bias: true, dtype: Some(contattn_core::Dtype::F64), ..Request::default() };
    let output = Reference::new().forward(&inputs.problem()?, &request, &Unattended)?;
    Ok(output.bias.map(|bias| bias.to_f64()).unwrap_or_default())
}

/// The state with a row that has its one channel of values alone.
pub(super) fn unlinked(state: &State) -> State {
    let mut state = state.clone();
    state.row.origin = Origin::Typed;
    state
}

/// Into how many parts segments can be cut at most.
pub(super) fn most_parts(state: &State) -> usize {
    ((MAX_NODES - 1) / (state.row.len() - 1)).max(1)
}

/// Every segment cut into equal parts with interpolated nodes, under a rule.
pub(super) fn refined(state: &State, parts: usize, rule: Rule) -> State {
    let parts = parts.clamp(1, most_parts(state));
    let old = state.row_with_sink();
    let mut row =
        Row { times: Vec::new(), keys: Vec::new(), values: Vec::new(), edited: true, origin: Origin::Typed, ..old };
    let first = usize::from(state.sink == SinkChoice::Absent);
    let mut push = |t: f64, k: f64, v: f64| {
        row.times.push(t);
        row.keys.push(k);
        row.values.push(v);
    };
    push(old.times[first], old.keys[first], old.values[first]);
    if first == old.len() - 1 {
        // One node alone: a second one at the same time makes a row of it, and changes nothing.
        push(old.times[first], old.keys[first], old.values[first]);
    }
    for node in first + 1..old.len() {
        for part in 1..=parts {
            let t = part as f64 / parts as f64;
            let between = |list: &[f64]| {
                if part == parts { list[node] } else { list[node - 1] * (1.0 - t) + list[node] * t }
            };
            push(between(&old.times), between(&old.keys), between(&old.values));
        }
    }
    State { row, rule, sink: SinkChoice::Given, ..state.clone() }
}

/// Bits that durations keep when time is scaled, so that the product with a factor of 8 more has no rounding error.
const DURATION_BITS: i32 = 40;

/// x to so many bits.
fn shortened(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let unit = 2f64.powi(x.abs().log2().floor() as i32 + 1 - DURATION_BITS);
    (x / unit).round() * unit
}

/// Durations that [`moved`] scales: those of the row, shortened.
fn durations(row: &Row) -> Vec<f64> {
    row.times.windows(2).map(|pair| shortened(pair[1] - pair[0])).collect()
}

/// All times, and with rotary embedding the positions of the head's queries and keys, shifted or scaled.
fn moved(sweep: &Sweep, state: &State, source: &Source, position: f64) -> Result<State, Failure> {
    let (factor, shift) = if sweep.kind == Kind::Scale { (position, 0.0) } else { (1.0, position) };
    let mut at = state.clone();
    at.row = state.row_with_sink();
    if sweep.rotary {
        at.row.keys = turned(state, source, factor, shift)?;
        at.row.query = 1.0;
        at.sink = SinkChoice::Given;
        at.row.origin = Origin::Typed;
    }
    // Times are running sums of exact products, so that distances of nodes are exact too wherever the sums are.
    let mut time = shift;
    at.row.times[0] = time;
    for (node, duration) in durations(&state.row).into_iter().enumerate() {
        time += factor * duration;
        at.row.times[node + 1] = time;
    }
    // Edges at fixed times would be another window.
    at.lower = LowerEdge::Start;
    at.upper = UpperEdge::End;
    Ok(at)
}

/// The durations of a moved row as they are, without the rounding of their running sums.
pub(super) fn exact_durations(sweep: &Sweep, state: &State, position: f64) -> Vec<f64> {
    let factor = if sweep.kind == Kind::Scale { position } else { 1.0 };
    durations(&state.row).into_iter().map(|duration| factor * duration).collect()
}

/// Base of the rotary embedding of the carried model, whose q and k have been through it at positions 0, 1, 2, ...
const CARRIED_BASE: f64 = 1e5;

/// Scores of the chosen row with queries and keys turned on from their own positions to factor * position + shift. A position is
/// the right edge of a token, counted from 1. Node 0 keeps its score.
fn turned(state: &State, source: &Source, factor: f64, shift: f64) -> Result<Vec<f64>, Failure> {
    let advice = "choose a row of the carried heads in the Matrix view, or switch rotary positions off";
    let Origin::Head(head) = &state.row.origin else {
        return Err(Failure::new("rotary positions need queries and keys: the row has scores alone", advice));
    };
    if !has_known_rotary(source) {
        return Err(Failure::new("the rotary embedding of a file's model is not known", advice));
    }
    let layer = source.layer(head.layer);
    let shape = layer.shape();
    let n = state.row.len() - 1;
    if head.head >= shape.heads || n > shape.keys || head.query >= shape.queries || shape.head_dim % 2 == 1 {
        return Err(Failure::new("the row does not fit the head that it came from", advice));
    }
    let rotary = Rotary { base: CARRIED_BASE, width: shape.head_dim, pairing: Pairing::Halves };
    let kv_head = head.head / (shape.heads / shape.kv_heads);
    let row = |tensor: &Tensor, name, head, row| {
        let mut numbers = vec![0.0; shape.head_dim];
        tensor.view(name, Layout::Bhsd)?.read_row(0, head, row, &mut numbers);
        Ok::<_, Failure>(numbers)
    };
    let turn = |numbers: Vec<f64>, name, from: f64| {
        let by = factor * from + shift - from;
        let tensor = Tensor::from_f64(vec![1, shape.head_dim], contattn_core::Dtype::F64, numbers)?;
        Ok::<_, Failure>(rotary.turn(&tensor.view(name, Layout::Bhsd)?, &Series::shared(vec![by]))?.to_f64())
    };
    let query = turn(row(&layer.q, TensorName::Query, head.head, head.query)?, TensorName::Query, n as f64)?;
    let scale = Scale::InverseSqrtHeadDim.value(shape.head_dim);
    let mut keys = vec![state.row_with_sink().scores()[0]];
    for node in 1..=n {
        let key = turn(row(&layer.k, TensorName::Key, kv_head, node - 1)?, TensorName::Key, node as f64)?;
        keys.push(scale * query.iter().zip(&key).map(|(q, k)| q * k).sum::<f64>());
    }
    Ok(keys)
}

/// Whether the source is the one whose embedding is known.
fn has_known_rotary(source: &Source) -> bool {
    source.layers.len() == real::layers().len()
        && source.layers.iter().zip(real::layers()).all(|(a, b)| a.name == b.name)
}
