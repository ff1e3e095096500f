//! One row of attention under several readings of the same curve.

use crate::logic::inputs::Inputs;
use crate::logic::source::Source;
use crate::logic::state::State;
use crate::logic::worker::{Failure, Task};
use contattn_core::{Domain, Dtype, Engine, Output, Piece, Request, Rule};
use contattn_cpu::{Plain, plain::taylor};
use contattn_reference::Reference;

/// What a row is read as.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// the rule
    pub rule: Rule,
    /// w_0..w_n
    pub weights: Vec<f64>,
    /// b_0..b_n; -inf where a node gets nothing
    pub bias: Vec<f64>,
    /// o, by channel
    pub o: Vec<f64>,
    /// log Z
    pub lse: f64,
}

/// A piece of the integrand, in units of its own segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// its left node
    pub left: usize,
    /// its right node; the same for held curve
    pub right: usize,
    /// from this time
    pub from: f64,
    /// to this one
    pub to: f64,
}

/// Everything that the Operator view shows of a row but the certified digits.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// a_0..a_n, products of the inputs as they are held
    pub scores: Vec<f64>,
    /// tau_0..tau_n
    pub times: Vec<f64>,
    /// under the state's rule, correctly rounded to f64
    pub chosen: Reading,
    /// softmax: every node counts 1, whatever its duration
    pub softmax: Reading,
    /// each node held for its duration
    pub step: Reading,
    /// under the state's rule, computed in f32
    pub single: Reading,
    /// b_0..b_n of the Taylor truncations of order 1, 2, ...; `None` with the reason where the row has none
    pub taylor: Result<Vec<Vec<f64>>, String>,
    /// the pieces of the integrand that the row sees, in time order
    pub stretches: Vec<Stretch>,
    /// a remark for the user, where there is something to say
    pub remark: Option<String>,
}

/// Softmax of a row: Step on the unit time line. A window with edges in time does not apply to it.
fn softmax(state: &State, source: &Source) -> Result<Inputs, Failure> {
    let mut inputs = Inputs::of_row(state, source)?.with_rule(Rule::Step).on_unit_time();
    inputs.spec.window = contattn_core::Window::full();
    Ok(inputs)
}

fn reading(output: &Output, rule: Rule) -> Reading {
    let list = |tensor: &Option<contattn_core::Tensor>| tensor.as_ref().map(|t| t.to_f64()).unwrap_or_default();
    Reading {
        rule,
        weights: list(&output.weights),
        bias: list(&output.bias),
        o: output.o.to_f64(),
        lse: output.lse.to_f64().first().copied().unwrap_or(f64::NEG_INFINITY),
    }
}

fn read(engine: &dyn Engine, inputs: &Inputs, task: &Task) -> Result<Reading, Failure> {
    let problem = inputs.problem()?;
    let request = Request { weights: true, bias: true, dtype: Some(Dtype::F64) };
    Ok(reading(&engine.forward(&problem, &request, task)?, inputs.spec.rule))
}

/// Evaluates the row of a state.
///
/// # Errors
/// [`Failure`] where the rule does not fit the row, or when cancelled.
pub fn evaluate(state: &State, source: &Source, task: &Task) -> Result<Evaluation, Failure> {
    let inputs = Inputs::of_row(state, source)?;
    let reference = Reference::new();
    let chosen = read(&reference, &inputs, task)?;
    let single = read(&Plain::<f32>::new(), &inputs, task)?;
    let softmax = read(&reference, &softmax(state, source)?, task)?;
    let step = read(&reference, &inputs.clone().with_rule(Rule::Step), task)?;
    let held = state.row_with_sink();
    let rounded = contattn_core::Tensor::from_f64(vec![held.len()], state.dtype, held.keys.iter().copied())?;
    let query = contattn_core::Tensor::from_f64(vec![1], state.dtype, [held.query])?.to_f64()[0];
    let scores: Vec<f64> = rounded.to_f64().iter().map(|k| query * k).collect();
    let stretches = stretches(&inputs, &held.times)?;
    Ok(Evaluation {
        taylor: series(&scores, &stretches, &held.times),
        scores,
        times: held.times,
        chosen,
        softmax,
        step,
        single,
        stretches,
        remark: None,
    })
}

/// The pieces that the row sees.
fn stretches(inputs: &Inputs, times: &[f64]) -> Result<Vec<Stretch>, Failure> {
    let problem = inputs.problem()?;
    let nodes = problem.nodes(0);
    let Domain::Interval(interval) = problem.domain(0, 0) else { return Ok(Vec::new()) };
    let mut list = Vec::new();
    for piece in interval.pieces(nodes) {
        match piece {
            Piece::Segment { segment, left, right, part, .. } => {
                let (start, end) = (times[segment - 1], times[segment]);
                let at = |u: f64| start + u * (end - start);
                list.push(Stretch { left, right, from: at(part.alpha), to: at(part.beta) });
            }
            Piece::Hold(hold) => {
                let here = times[hold.place];
                let before = list.is_empty();
                let (from, to) = if before { (here - hold.length, here) } else { (here, here + hold.length) };
                list.push(Stretch { left: hold.node, right: hold.node, from, to });
            }
        }
    }
    Ok(list)
}

/// b of the truncations of order 1 to 8, for as many neighbours as each node has.
fn series(scores: &[f64], stretches: &[Stretch], times: &[f64]) -> Result<Vec<Vec<f64>>, String> {
    let whole = |s: &Stretch| {
        s.left + 1 == s.right && s.from == times[s.left] && s.to == times[s.right] && s.to - s.from == 1.0
    };
    if !stretches.iter().all(whole) {
        return Err("the expansion needs durations of 1 and a window that ends on nodes".to_owned());
    }
    let joined = |right: usize| stretches.iter().any(|s| s.right == right);
    let order = |m: u32| {
        let bias = |i: usize| {
            let left = (i > 0 && joined(i)).then(|| scores[i - 1] - scores[i]);
            let right = (i + 1 < scores.len() && joined(i + 1)).then(|| scores[i + 1] - scores[i]);
            match (left, right) {
                (Some(u), Some(w)) => taylor::interior(u, w, m).value,
                (Some(u), None) | (None, Some(u)) => taylor::end(u, m).value,
                (None, None) => f64::NEG_INFINITY,
            }
        };
        (0..scores.len()).map(bias).collect()
    };
    Ok((1..=crate::logic::state::MAX_TAYLOR).map(order).collect())
}
