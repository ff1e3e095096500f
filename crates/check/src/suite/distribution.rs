//! Weights are a distribution, o is their mean of the values, and softmax is a special case.

use super::random::{gauss, sample, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::allowance::Bound;
use crate::generate::SmallProblem;
use crate::oracle::Wide;
use contattn_core::families::{Family, SinkKind};
use contattn_core::{Dtype, Feature, Lower, Request, Rule, Scale, Shape, Spec, Tensor, Window};

pub(super) const CHECKS: &[Check] = &[
    check("softmax", "Step with unit durations is softmax, computed directly", softmax),
    check("hull", "o lies between the smallest and the largest visible value", hull),
    check("weights-are-a-distribution", "weights are not negative, add up to 1, and o = sum w v", distribution),
    check("bias-of-ties", "equal scores: b = -log 2 at the ends and 0 inside", bias_of_ties),
];

fn softmax(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for window in [Window::causal(), Window::full(), Window::sliding(3.0)] {
            for family in [Family::Gauss, Family::Peaked, Family::FarBelow] {
                let Some(mut small) = sample(family, shape(6, 9, 4, 3), dtype, 81) else { continue };
                small.spec.rule = Rule::Step;
                small.spec.window = window.clone();
                let case = format!("{family}, {dtype}, {window:?}");
                let Some((output, bounds)) = trial.bounded(&case, &small) else { continue };
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
        Scale::Value(scale) => Wide::from_f64(scale),
        Scale::InverseSqrtHeadDim => Wide::from_f64(width as f64).inverse_sqrt(),
    };
    let (mut outputs, mut lses) = (Vec::new(), Vec::new());
    for r in 0..queries {
        let own = keys - queries + r + 1;
        let seen: Vec<usize> = (1..=keys)
            .filter(|&i| match (&window.lower, window.is_causal()) {
                (_, false) => true,
                (Lower::Sliding(w), true) => i <= own && (own - i) as f64 + 1.0 <= *w,
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

/// Roundings of a weighted mean: (N + 16) u |v|, and one to the result's type.
fn mean_rounding(trial: &Trial<'_>, nodes: usize, size: f64, results: Dtype) -> f64 {
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
