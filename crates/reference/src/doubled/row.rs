//! One row in double-double.

use super::Tables;
use super::bounds::{SLACK, THETA, UNIT_SQUARED, settle};
use super::dd::Dd;
use super::exp::log;
use super::masses::{Cut, Masses, Part};
use super::output::outputs;
use super::tables::rounded;
use crate::exact::{ExactProblem, Hold, Seen, Sight};
use crate::rounding::{Known, Rounded, Settled};
use contattn_core::{Dtype, Request, Rule, Sink};
use rug::Rational;

/// What this stage can settle of a row: nothing where it has no measure, under the Taylor rule, and for numbers out of range.
pub(crate) fn evaluate(
    tables: &Tables,
    exact: &ExactProblem<'_>,
    at: (usize, usize, usize),
    dtype: Dtype,
    request: &Request,
) -> Known {
    try_evaluate(tables, exact, at, dtype, request).unwrap_or_default()
}

fn try_evaluate(
    tables: &Tables,
    exact: &ExactProblem<'_>,
    (batch, head, index): (usize, usize, usize),
    dtype: Dtype,
    request: &Request,
) -> Option<Known> {
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
    let o = outputs(tables, &masses, &parts, source, eta, dtype);
    let lse = Dd::new(masses.anchor) + log(masses.total);
    let bound = SLACK * (eta + 2f64.powi(-90) + 2f64.powi(-100) * lse.high.abs());
    let settled = |value: f64| Rounded { value, settled: Settled::DoubleDouble };
    Some(Known {
        o: o.into_iter().map(|o| o.map(settled)).collect(),
        lse: settle(dtype.lse(), lse, bound).map(settled),
        weights: if request.weights { masses.weights(&parts, eta, dtype, scores.len()) } else { Vec::new() },
        bias: if request.bias { masses.biases(&parts, &scores, eta, dtype) } else { Vec::new() },
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
