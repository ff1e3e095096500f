//! Laws of the operator: what must not change the result, and what must change it in a known way.
//!
//! Each law compares the engine with itself or with a formula written out here, so that nothing but the law is trusted.

use super::random::{gauss, quarters, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::allowance::Bound;
use crate::generate::SmallProblem;
use contattn_core::families::SinkKind;
use contattn_core::{QueryTimes, Rule, Series, Spec, Tensor, Timeline, Window};

pub(super) const CHECKS: &[Check] = &[
    check("split-step", "a Step token split into two of the same key and value changes nothing", split_step),
    check("insert-node", "a node inserted on a Linear segment, on the line, changes neither o nor lse", insert_node),
    check("shift-time", "shifting all times changes nothing", shift_time),
    check("scale-time", "stretching time leaves o and adds its logarithm to lse", scale_time),
    check("shift-scores", "adding a constant to all scores of a row leaves o and adds it to lse", shift_scores),
    check("reversal", "time reversed gives the same o and lse and reversed weights", reversal),
];

/// o and lse of two forms of the same problem; `lse` is by how much that of the second must differ.
fn equal(trial: &mut Trial<'_>, case: &str, one: &SmallProblem, other: &SmallProblem, lse: f64) {
    let (Some((first, bounds)), Some((second, _))) = (trial.bounded(case, one), trial.bounded(case, other)) else {
        return;
    };
    trial.alike(case, "o", &second.o, &first.o.to_f64(), &bounds.o);
    let moved: Vec<f64> = first.lse.to_f64().iter().map(|x| x + lse).collect();
    trial.alike(case, "lse", &second.lse, &moved, &bounds.lse);
}

/// The tensor with rows of its sequence given by `row`, each a mean of two rows of the old one.
fn resequenced(tensor: &Tensor, rows: &[(usize, usize)]) -> Option<Tensor> {
    let width = tensor.shape()[3];
    let values = tensor.to_f64();
    let mean = |&(a, b): &(usize, usize)| {
        (0..width).map(|c| 0.5 * (values[a * width + c] + values[b * width + c])).collect::<Vec<f64>>()
    };
    let numbers: Vec<f64> = rows.iter().flat_map(mean).collect();
    Tensor::from_f64(vec![1, 1, rows.len(), width], tensor.dtype(), numbers).ok()
}

fn with_nodes(small: &SmallProblem, rows: &[(usize, usize)], durations: Vec<f64>) -> Option<SmallProblem> {
    let timeline = Timeline::Durations(Series::shared(durations));
    Some(SmallProblem {
        k: resequenced(&small.k, rows)?,
        v: resequenced(&small.v, rows)?,
        spec: Spec { timeline, ..small.spec.clone() },
        ..small.clone()
    })
}

/// Proofs: `split_token`.
fn split_step(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for window in [Window::full(), Window::causal()] {
            let durations = vec![1.0, 2.0, 0.5, 1.0];
            let timeline = Timeline::Durations(Series::shared(durations));
            let query_times = QueryTimes::At(Series::shared(vec![4.5, 3.5]));
            let spec = Spec { rule: Rule::Step, timeline, window: window.clone(), query_times, ..Spec::default() };
            let one = gauss(shape(2, 4, 3, 2), dtype, 82, spec);
            let rows = [(0, 0), (1, 1), (1, 1), (2, 2), (3, 3)];
            let Some(two) = with_nodes(&one, &rows, vec![1.0, 0.75, 1.25, 0.5, 1.0]) else { return };
            equal(trial, &format!("{dtype}, token 2 split, {window:?}"), &one, &two, 0.0);
        }
    }
}

/// Proofs: `insert_curve`, `insert_node`.
fn insert_node(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for window in [Window::full(), Window::causal(), Window::between(0.5, 2.25)] {
            let timeline = Timeline::Durations(Series::shared(vec![1.0, 1.0, 2.0, 1.0]));
            let query_times = QueryTimes::At(Series::shared(vec![5.0, 2.0]));
            let spec = Spec { rule: Rule::Linear, timeline, window: window.clone(), query_times, ..Spec::default() };
            let one = quarters(shape(2, 4, 3, 2), dtype, 83, spec);
            // Node 3 at 4 and node 2 at 2: the inserted one stands half way, at 3.
            let rows = [(0, 0), (1, 1), (1, 2), (2, 2), (3, 3)];
            let Some(two) = with_nodes(&one, &rows, vec![1.0, 1.0, 1.0, 1.0, 1.0]) else { return };
            equal(trial, &format!("{dtype}, a node inserted in segment 3, {window:?}"), &one, &two, 0.0);
        }
    }
}

const RULES: [Rule; 3] = [Rule::Linear, Rule::Step, Rule::Trapezoid];

/// Proofs: `time_shift_mass`, `time_shift`.
fn shift_time(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    let times = [0.0, 0.5, 1.75, 3.0, 3.0, 4.25];
    let at = [4.0, 1.0, 6.0];
    for rule in trial.rules(&RULES) {
        for (name, window) in
            [("causal", Window::causal as fn() -> Window), ("sliding", || Window::sliding(1.5)), ("full", Window::full)]
        {
            let shifted = |by: f64| {
                let series = |t: &[f64]| Series::shared(t.iter().map(|t| t + by).collect());
                let (timeline, query_times) = (Timeline::Times(series(&times)), QueryTimes::At(series(&at)));
                gauss(
                    shape(3, 5, 3, 2),
                    dtype,
                    84,
                    Spec { rule, window: window(), timeline, query_times, ..Spec::default() },
                )
            };
            for by in [16.0, -1024.0] {
                equal(trial, &format!("{rule}, {name}, times shifted by {by}"), &shifted(0.0), &shifted(by), 0.0);
            }
        }
    }
}

/// Proofs: `time_scale_mass`, `time_scale`.
fn scale_time(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        let stretched = |by: f64| {
            let durations = [0.5, 1.0, 0.0, 2.0, 0.75].map(|d| d * by).to_vec();
            let timeline = Timeline::Durations(Series::shared(durations));
            let spec = Spec { rule, timeline, window: Window::sliding(2.5 * by), ..Spec::default() };
            gauss(shape(4, 5, 3, 2), dtype, 85, spec)
        };
        for exponent in [3, -20, 60] {
            let by = libm::ldexp(1.0, exponent);
            let lse = f64::from(exponent) * std::f64::consts::LN_2;
            equal(trial, &format!("{rule}, time times 2^{exponent}"), &stretched(1.0), &stretched(by), lse);
        }
    }
}

/// Channel 0 of q is 1, so a change of channel 0 of k is a change of the score, times the scale of 1.
///
/// Proofs: `score_shift_mass`, `score_shift`.
fn shift_scores(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for rule in trial.rules(&[Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(3)]) {
            let with = |by: f64| -> Option<SmallProblem> {
                let scale = contattn_core::Scale::Value(1.0);
                let spec = Spec { rule, scale, window: Window::full(), ..Spec::default() };
                let mut small = quarters(shape(2, 5, 2, 2), dtype, 86, spec);
                small.sink = SinkKind::Absent;
                let first = |t: &Tensor, change: &dyn Fn(f64) -> f64| {
                    let values = t.to_f64();
                    let values =
                        values.iter().enumerate().map(|(at, &x)| if at % 2 == 0 { change(x) } else { x / 4.0 });
                    Tensor::from_f64(t.shape().to_vec(), dtype, values).ok()
                };
                small.q = first(&small.q, &|_| 1.0)?;
                small.k = first(&small.k, &|x| x / 2.0 + by)?;
                Some(small)
            };
            for by in [4.0, -12.0] {
                if let (Some(one), Some(other)) = (with(0.0), with(by)) {
                    equal(trial, &format!("{rule}, {dtype}, scores shifted by {by}"), &one, &other, by);
                }
            }
        }
    }
}

/// Proofs: `reversal_mass`, `reversal`.
fn reversal(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&[Rule::Linear, Rule::Trapezoid, Rule::Taylor(2)]) {
        let unit = matches!(rule, Rule::Taylor(_));
        // D_1 is not used without a sink.
        let line = |durations: [f64; 5]| {
            if unit { Timeline::Unit } else { Timeline::Durations(Series::shared(durations.to_vec())) }
        };
        let spec = Spec { rule, timeline: line([9.0, 1.0, 0.5, 2.0, 0.25]), window: Window::full(), ..Spec::default() };
        let mut forwards = gauss(shape(2, 5, 3, 2), dtype, 87, spec);
        forwards.sink = SinkKind::Absent;
        let rows = [(4, 4), (3, 3), (2, 2), (1, 1), (0, 0)];
        let (Some(k), Some(v)) = (resequenced(&forwards.k, &rows), resequenced(&forwards.v, &rows)) else { return };
        let spec = Spec { timeline: line([7.0, 0.25, 2.0, 0.5, 1.0]), ..forwards.spec.clone() };
        let backwards = SmallProblem { k, v, spec, ..forwards.clone() };
        let case = format!("{rule}, reversed");
        equal(trial, &case, &forwards, &backwards, 0.0);
        let (Some((one, bounds)), Some((other, _))) =
            (trial.bounded(&case, &forwards), trial.bounded(&case, &backwards))
        else {
            continue;
        };
        if let (Some(one), Some(other)) = (one.weights, other.weights) {
            let w = one.to_f64();
            let mirrored = |at: usize| at / 6 * 6 + if at.is_multiple_of(6) { 0 } else { 6 - at % 6 };
            let expected: Vec<f64> = (0..w.len()).map(|at| w[mirrored(at)]).collect();
            let bounds: Vec<Bound> = (0..w.len()).map(|at| bounds.weights[mirrored(at)]).collect();
            trial.alike(&case, "weights", &other, &expected, &bounds);
        }
    }
}
