//! Laws of the operator: what must not change the result, and what must change it in a known way.
//!
//! Each law compares the engine with itself or with a formula written out here, so that nothing but the law is trusted.

use super::random::{gauss, quarters, sample, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::allowance::{Bound, Bounds};
use crate::generate::SmallProblem;
use crate::oracle::{Exact, Wide};
use contattn_core::families::{Family, SinkKind};
use contattn_core::{Feature, Output, QueryTimes, Request, Rule, Series, Shape, Spec, Tensor, Timeline, Window};

pub(super) const CHECKS: &[Check] = &[
    check("softmax", "Step with unit durations is softmax, computed directly", softmax),
    check("split-step", "a Step token split into two of the same key and value changes nothing", split_step),
    check("insert-node", "a node inserted on a Linear segment, on the line, changes neither o nor lse", insert_node),
    check("shift-time", "shifting all times changes nothing", shift_time),
    check("scale-time", "stretching time leaves o and adds its logarithm to lse", scale_time),
    check("shift-scores", "adding a constant to all scores of a row leaves o and adds it to lse", shift_scores),
    check("reversal", "time reversed gives the same o and lse and reversed weights", reversal),
    check("hull", "o lies between the smallest and the largest visible value", hull),
    check("weights-are-a-distribution", "weights are not negative, add up to 1, and o = sum w v", distribution),
    check("bias-of-ties", "equal scores: b = -log 2 at the ends and 0 inside", bias_of_ties),
];

fn forward(trial: &mut Trial<'_>, case: &str, small: &SmallProblem) -> Option<(Output, Bounds)> {
    let problem = trial.problem(case, small)?;
    let request = trial.request();
    let output = trial.forward(case, &problem, &request)?;
    let bounds = Bounds::of(&Exact::of(&problem), &trial.precision(&problem, &request));
    Some((output, bounds))
}

/// o and lse of two forms of the same problem; `lse` is by how much that of the second must differ.
fn equal(trial: &mut Trial<'_>, case: &str, one: &SmallProblem, other: &SmallProblem, lse: f64) {
    let (Some((first, bounds)), Some((second, _))) = (forward(trial, case, one), forward(trial, case, other)) else {
        return;
    };
    trial.alike(case, "o", &second.o, &first.o.to_f64(), &bounds.o);
    let moved: Vec<f64> = first.lse.to_f64().iter().map(|x| x + lse).collect();
    trial.alike(case, "lse", &second.lse, &moved, &bounds.lse);
}

fn softmax(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for window in [Window::causal(), Window::full(), Window::sliding(3.0)] {
            for family in [Family::Gauss, Family::Peaked, Family::FarBelow] {
                let Some(mut small) = sample(family, shape(6, 9, 4, 3), dtype, 81) else { continue };
                small.spec.rule = Rule::Step;
                small.spec.window = window.clone();
                let case = format!("{family}, {dtype}, {window:?}");
                let Some((output, bounds)) = forward(trial, &case, &small) else { continue };
                let (o, lse) = direct_softmax(&small, &window);
                let at = |values: Vec<Wide>, bounds: &[Bound]| -> Vec<Bound> {
                    values.iter().zip(bounds).map(|(&value, bound)| Bound { value, allowed: bound.allowed }).collect()
                };
                trial.against(&case, "o", &output.o, output.o.shape(), &at(o, &bounds.o));
                trial.against(&case, "lse", &output.lse, output.lse.shape(), &at(lse, &bounds.lse));
            }
        }
    }
}

/// o_r = sum_i e^{a_i} v_i / sum_i e^{a_i} over the tokens that row r sees, in numbers of twice the precision.
fn direct_softmax(small: &SmallProblem, window: &Window) -> (Vec<Wide>, Vec<Wide>) {
    let (queries, keys, width) = (small.q.shape()[2], small.k.shape()[2], small.q.shape()[3]);
    let columns = small.v.shape()[3];
    let (q, k, v) = (small.q.to_f64(), small.k.to_f64(), small.v.to_f64());
    let scale = match small.spec.scale {
        contattn_core::Scale::Value(scale) => Wide::from_f64(scale),
        contattn_core::Scale::InverseSqrtHeadDim => Wide::from_f64(width as f64).inverse_sqrt(),
    };
    let (mut outputs, mut lses) = (Vec::new(), Vec::new());
    for r in 0..queries {
        let own = keys - queries + r + 1;
        let seen: Vec<usize> = (1..=keys)
            .filter(|&i| match (&window.lower, window.is_causal()) {
                (_, false) => true,
                (contattn_core::Lower::Sliding(w), true) => i <= own && (own - i) as f64 + 1.0 <= *w,
                (_, true) => i <= own,
            })
            .collect();
        let score = |i: usize| -> Wide {
            let products = (0..width).map(|c| Wide::product_of(q[r * width + c], k[(i - 1) * width + c]));
            products.sum::<Wide>() * scale
        };
        let scores: Vec<Wide> = seen.iter().map(|&i| score(i)).collect();
        let highest = scores.iter().copied().fold(Wide::from_f64(f64::NEG_INFINITY), Wide::max);
        let weights: Vec<Wide> = scores.iter().map(|&a| (a - highest).exp()).collect();
        let total: Wide = weights.iter().copied().sum();
        lses.push(highest + total.ln());
        for c in 0..columns {
            let sum: Wide = seen.iter().zip(&weights).map(|(&i, &w)| w * v[(i - 1) * columns + c]).sum();
            outputs.push(sum / total);
        }
    }
    (outputs, lses)
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
            (forward(trial, &case, &forwards), forward(trial, &case, &backwards))
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

/// Roundings of a weighted mean: (N + 16) u |v|, and one to the result's type.
fn mean_rounding(trial: &Trial<'_>, nodes: usize, size: f64, results: contattn_core::Dtype) -> f64 {
    let u = trial.engine().arithmetic().unit_roundoff();
    size * ((nodes as f64 + 16.0) * u + results.unit_roundoff()) + results.smallest_subnormal()
}

fn hull(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for rule in trial.rules(&[Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(0)]) {
            for family in [Family::Gauss, Family::Peaked, Family::HugeScores, Family::ConstantValues, Family::NearTies]
            {
                let lengths = Shape { heads: 2, kv_heads: 2, ..shape(4, 12, 4, 3) };
                let Some(mut small) = sample(family, lengths, dtype, 88) else { continue };
                small.spec.rule = rule;
                small.spec.window = Window::full();
                small.sink = SinkKind::Absent;
                let case = format!("{rule}, {family}, {dtype}");
                let Some(problem) = trial.problem(&case, &small) else { return };
                let Some(output) = trial.forward(&case, &problem, &Request::default()) else { continue };
                for (at, o) in output.o.to_f64().into_iter().enumerate() {
                    let (head, c) = (at / 12, at % 3);
                    let column: Vec<f64> = (0..12).map(|i| problem.v().get(0, head, i, c)).collect();
                    let low = column.iter().copied().fold(f64::INFINITY, f64::min);
                    let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let slack = mean_rounding(trial, 12, low.abs().max(high.abs()), dtype);
                    let inside = low - slack <= o && o <= high + slack;
                    trial.judge(inside, &case, "o", || {
                        format!("element {at} is {o:e}, values span [{low:e}, {high:e}]")
                    });
                }
            }
        }
    }
}

fn distribution(trial: &mut Trial<'_>) {
    if !trial.supports(Feature::Weights) {
        return;
    }
    for dtype in trial.dtypes() {
        for rule in trial.rules(&[Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)]) {
            let unit = dtype.unit_roundoff();
            let mut small = gauss(shape(5, 8, 4, 3), dtype, 89, Spec { rule, ..Spec::default() });
            small.sink = SinkKind::Given;
            let case = format!("{rule}, {dtype}");
            let Some(problem) = trial.problem(&case, &small) else { return };
            let request = Request { weights: true, ..Request::default() };
            let Some(output) = trial.forward(&case, &problem, &request) else { continue };
            let Some(weights) = output.weights.as_ref().map(Tensor::to_f64) else { continue };
            let o = output.o.to_f64();
            let (u, lost) = (trial.engine().arithmetic().unit_roundoff(), dtype.smallest_subnormal());
            for (row, w) in weights.chunks(9).enumerate() {
                trial.judge(w.iter().all(|&x| x >= 0.0), &case, "weights", || format!("negative or NaN in {w:?}"));
                let sum: f64 = w.iter().sum();
                // Each weight is rounded once to the results' type.
                let slack = unit + 9.0 * lost + 64.0 * u;
                trial.judge((sum - 1.0).abs() <= slack, &case, "weights", || format!("row {row} adds up to {sum}"));
                for c in 0..3 {
                    let value = |i: usize| small_value(&small, i, c);
                    let mean: f64 = w.iter().enumerate().map(|(i, w)| w * value(i)).sum();
                    let size: f64 = w.iter().enumerate().map(|(i, w)| (w * value(i)).abs()).sum();
                    let slack = (2.0 * unit + 64.0 * u) * size + 20.0 * lost * (1.0 + size);
                    let found = o[row * 3 + c];
                    trial.judge((mean - found).abs() <= slack, &case, "o = sum w v", || {
                        format!("row {row}, column {c}: o is {found}, sum w v is {mean}")
                    });
                }
            }
        }
    }
}

fn small_value(small: &SmallProblem, node: usize, c: usize) -> f64 {
    if node == 0 { small.sink_v.elements().get(c) } else { small.v.elements().get((node - 1) * 3 + c) }
}

fn bias_of_ties(trial: &mut Trial<'_>) {
    if !trial.supports(Feature::Bias) {
        return;
    }
    for dtype in trial.dtypes() {
        for rule in trial.rules(&[Rule::Linear, Rule::Trapezoid, Rule::Taylor(3)]) {
            for family in [Family::Ties, Family::Gauss] {
                let Some(mut small) = sample(family, shape(1, 6, 4, 1), dtype, 90) else { continue };
                if family == Family::Gauss {
                    // A query of zeros ties all scores at 0.
                    let Ok(q) = Tensor::from_f64(vec![1, 1, 1, 4], dtype, [0.0; 4]) else { return };
                    small.q = q;
                }
                small.spec.rule = rule;
                small.spec.window = Window::full();
                small.sink = SinkKind::Absent;
                let case = format!("{rule}, {family}, {dtype}");
                let Some(problem) = trial.problem(&case, &small) else { return };
                let request = Request { bias: true, ..Request::default() };
                let Some(output) = trial.forward(&case, &problem, &request) else { continue };
                let Some(bias) = output.bias.as_ref() else { continue };
                let u = trial.engine().arithmetic().unit_roundoff();
                // At a score of a, log P - a is off by roundings of a alone; ties of this family lie within 10^3.
                let bounds: Vec<Bound> = (0..7)
                    .map(|node| match node {
                        0 => Bound::exactly(Wide::from_f64(f64::NEG_INFINITY)),
                        1 | 6 => Bound { value: -Wide::LN_2, allowed: 4096.0 * u },
                        _ => Bound { value: Wide::ZERO, allowed: 4096.0 * u },
                    })
                    .collect();
                trial.against(&case, "bias", bias, bias.shape(), &bounds);
            }
        }
    }
}
