//! One row in double-double.

use super::Tables;
use super::bounds::{Estimate, SLACK, THETA, UNIT_SQUARED};
use super::dd::Dd;
use super::exp::log;
use super::masses::{Cut, Masses, Part};
use super::output::outputs;
use super::tables::rounded;
use crate::exact::{ExactProblem, Hold, Seen, Sight};
use crate::rounding::{Known, Rounded, Settled};
use contattn_core::{Dtype, Request, Rule, Sink};
use rug::Rational;

const NOTHING: Rounded = Rounded { value: 0.0, settled: Settled::Defined };
const NO_BIAS: Rounded = Rounded { value: f64::NEG_INFINITY, settled: Settled::Defined };

/// What this stage can settle of a row: nothing where it has no measure, under the Taylor rule, and for numbers out of range.
pub(crate) fn evaluate(
    tables: &Tables,
    exact: &ExactProblem<'_>,
    at: (usize, usize, usize),
    dtype: Dtype,
    request: &Request,
) -> Known {
    let Some(row) = estimate(tables, exact, at, request) else { return Known::default() };
    let settle = |x: &Option<Estimate>| x.and_then(|x| x.settle(dtype));
    let by_node = |estimates: &[Option<Estimate>], nothing: Rounded| {
        let node = |(x, visible): (_, &bool)| if *visible { settle(x) } else { Some(nothing) };
        estimates.iter().zip(&row.visible).map(node).collect()
    };
    Known {
        o: row.o.iter().map(settle).collect(),
        lse: row.lse.settle(dtype.lse()),
        weights: by_node(&row.weights, NOTHING),
        bias: by_node(&row.bias, NO_BIAS),
    }
}

/// A row's results with their bounds.
struct Estimates {
    o: Vec<Option<Estimate>>,
    lse: Estimate,
    /// by node; empty where not asked for
    weights: Vec<Option<Estimate>>,
    bias: Vec<Option<Estimate>>,
    /// which nodes a part of positive length touches
    visible: Vec<bool>,
}

fn estimate(
    tables: &Tables,
    exact: &ExactProblem<'_>,
    (batch, head, index): (usize, usize, usize),
    request: &Request,
) -> Option<Estimates> {
    let problem = exact.problem();
    if let Rule::Taylor(_) = problem.rule() {
        return None;
    }
    let mut q = vec![0.0; tables.head_dim];
    problem.q().read_row(batch, head, index, &mut q);
    let q_halves = tables.query(&q)?;
    let Sight::Measure(seen) = exact.sight(batch, index) else { return None };
    // The node that stands for node 0.
    let sink = match problem.sink() {
        Sink::Copy => problem.copied_node(batch, index).unwrap_or(0),
        _ => 0,
    };
    let parts = parts(tables, exact, batch, &seen)?;
    let source = |node: usize| if node == 0 { sink } else { node };
    let nodes = || parts.iter().flat_map(|part| [part.left, part.right]);
    let (first, last) = (nodes().filter(|&node| node > 0).min(), nodes().max()?);
    let mut scores = vec![Dd::ZERO; tables.durations.len() + 1];
    if let Some(first) = first {
        tables.scores(&q_halves, first, last, &mut scores);
    }
    if nodes().any(|node| node == 0) {
        let mut own = vec![Dd::ZERO; sink + 1];
        tables.scores(&q_halves, sink, sink, &mut own);
        scores[0] = own[sink];
    }
    let size: f64 = q.iter().zip(&tables.key_size).map(|(q, k)| q.abs() * k).sum();
    let d = (tables.head_dim + 2) as f64;
    let epsilon = SLACK * (2.0 * d * d + 96.0) * UNIT_SQUARED * tables.scale.high.abs() * size;
    let masses = Masses::new(problem.rule(), &parts, &scores)?;
    let eta = SLACK * (THETA + epsilon * (1.0 + epsilon) + (parts.len() as f64 + 40.0) * 4.0 * UNIT_SQUARED)
        + masses.left_out / masses.total.high;
    if eta.is_nan() || eta > 1e-12 {
        return None;
    }
    let lse = Dd::new(masses.anchor) + log(masses.total);
    let bound = SLACK * (eta + 2f64.powi(-90) + 2f64.powi(-100) * lse.high.abs());
    let mut visible = vec![false; scores.len()];
    for node in nodes() {
        visible[node] = true;
    }
    Some(Estimates {
        o: outputs(tables, &masses, &parts, source, eta),
        lse: Estimate::Within { value: lse, bound },
        weights: if request.weights { masses.weights(eta, scores.len()) } else { Vec::new() },
        bias: if request.bias { masses.biases(&scores, eta) } else { Vec::new() },
        visible,
    })
}

/// What to add up, in time order; parts without length are left out. `None` where a number is out of range.
fn parts(tables: &Tables, exact: &ExactProblem<'_>, batch: usize, seen: &Seen) -> Option<Vec<Part>> {
    let problem = exact.problem();
    let own_node_only = problem.rule().reads_own_node_only();
    let mask = problem.spec().key_mask.as_ref().map(|mask| mask.row(batch));
    let kept = |i: usize| mask.is_none_or(|mask| mask[i - 1]);
    let hold = |hold: &Option<Hold>| -> Option<Option<Part>> {
        let Some(hold) = hold else { return Some(None) };
        let length = rounded(&hold.length)?;
        Some((length.high > 0.0).then_some(Part { left: hold.node, right: hold.node, length, cut: None }))
    };
    let mut parts = Vec::with_capacity(seen.segments.clone().count() + 2);
    parts.extend(hold(&seen.hold_before)?);
    let (first, last) = (*seen.segments.start(), *seen.segments.end());
    for i in seen.segments.clone() {
        let left = if own_node_only {
            kept(i).then_some(i)
        } else if i == seen.first {
            seen.sink_place.map(|_| 0)
        } else {
            (kept(i) && kept(i - 1)).then_some(i - 1)
        };
        let Some(left) = left else { continue };
        let mut length = tables.durations[i - 1];
        if length.high == 0.0 {
            continue;
        }
        let one = Rational::from(1);
        let alpha = if i == first { seen.alpha.clone() } else { Rational::new() };
        let beta = if i == last { seen.beta.clone() } else { one.clone() };
        let mut cut = None;
        if alpha != 0 || beta != 1 {
            let lambda = Rational::from(&beta - &alpha);
            length = rounded(&(exact.times(batch).duration(i).clone() * &lambda))?;
            let numbers = [alpha.clone(), &one - alpha, beta.clone(), one - beta, lambda];
            let mut rounded_numbers = [Dd::ZERO; 5];
            for (slot, x) in rounded_numbers.iter_mut().zip(&numbers) {
                *slot = rounded(x)?;
            }
            cut = Some(Cut(rounded_numbers));
        }
        parts.push(Part { left, right: i, length, cut });
    }
    parts.extend(hold(&seen.hold_after)?);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enclosure::Enclosure;
    use crate::segments::Segments;
    use crate::value::Certified;
    use contattn_core::{
        Edge, Layout, Lower, Problem, Scale, Series, Spec, Tensor, TensorName, Timeline, Upper, Window,
    };

    struct Draw(u64);

    impl Draw {
        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            self.0 >> 11
        }
        fn unit(&mut self) -> f64 {
            self.bits() as f64 / (1u64 << 53) as f64
        }
        fn vector(&mut self, len: usize, size: f64) -> Vec<f64> {
            (0..len).map(|_| size * (2.0 * self.unit() - 1.0)).collect()
        }
    }

    /// Every estimate of random rows against another route in 300 bits: within its bound, and the bound not absurd.
    #[test]
    fn estimates_keep_their_bounds() {
        let mut draw = Draw(11);
        let (mut compared, mut closest) = (0, 0.0f64);
        for round in 0..600 {
            let (n, d, e) = (1 + draw.bits() as usize % 24, 1 + draw.bits() as usize % 9, 2);
            let size = [1.0, 0.02, 8.0, 40.0][round % 4];
            let dtype = if round % 3 == 0 { Dtype::F32 } else { Dtype::F64 };
            let tensor =
                |rows: usize, width: usize, x: Vec<f64>| Tensor::from_f64(vec![rows, width], dtype, x).unwrap();
            let q = tensor(2, d, draw.vector(2 * d, size));
            let k = tensor(n, d, draw.vector(n * d, size));
            // Values that cancel, beside values that do not.
            let v = tensor(
                n,
                e,
                draw.vector(n * e, 1.0).iter().enumerate().map(|(i, v)| v + 3.0 * (i % 2) as f64).collect(),
            );
            let durations: Vec<f64> = (0..n)
                .map(|_| if draw.bits().is_multiple_of(5) { 0.0 } else { (8.0 * draw.unit() - 4.0).exp2() })
                .collect();
            let spec = Spec {
                rule: [Rule::Linear, Rule::Step, Rule::Trapezoid][draw.bits() as usize % 3],
                window: match draw.bits() % 3 {
                    0 => Window::full(),
                    1 => Window::between(draw.unit(), 1.0 + 9.0 * draw.unit()),
                    _ => Window { lower: Lower::Start, upper: Upper::At(Edge::All(9.0 * draw.unit())) },
                },
                timeline: Timeline::Durations(Series::shared(durations)),
                scale: [Scale::InverseSqrtHeadDim, Scale::Value(0.7)][draw.bits() as usize % 2],
                ..Spec::default()
            };
            let view = |t| Tensor::view(t, TensorName::Query, Layout::Bhsd).unwrap();
            let sink = [Sink::Absent, Sink::Zeros, Sink::Copy][draw.bits() as usize % 3];
            let problem = Problem::new(view(&q), view(&k), view(&v), sink, spec).unwrap();
            let exact = ExactProblem::new(&problem);
            let tables = Tables::new(&exact, 0, 0).unwrap();
            let request = Request { weights: true, bias: true, dtype: None };
            for index in 0..2 {
                let Some(found) = estimate(&tables, &exact, (0, 0, index), &request) else { continue };
                let expected = crate::route::values(&Segments, &exact.row(0, 0, index), 300);
                let mut check = |x: &Option<Estimate>, exact: &Certified, what: &str| {
                    let (Some(Estimate::Within { value, bound }), Certified::Number(exact)) = (x, exact) else {
                        return;
                    };
                    let found = Enclosure::from_f64(300, value.high) + Enclosure::from_f64(300, value.low);
                    let error = (found - exact).abs().upper().to_f64();
                    assert!(error <= *bound, "{what} {error:e} {x:?}");
                    assert!(*bound < 2f64.powi(-60) * (1.0 + value.high.abs()), "{what} {x:?}");
                    compared += 1;
                    closest = closest.max(error / bound);
                };
                found.o.iter().zip(&expected.o).for_each(|(x, y)| check(x, y, "o"));
                check(&Some(found.lse), &expected.lse, "lse");
                found.weights.iter().zip(&expected.weights).for_each(|(x, y)| check(x, y, "w"));
                found.bias.iter().zip(&expected.bias).for_each(|(x, y)| check(x, y, "b"));
            }
        }
        assert!(compared > 5000 && closest < 1.0, "{compared} {closest}");
    }
}
