//! One row in double-double.

use super::Tables;
use super::dd::{Dd, split, two_sum};
use super::exp::{exp, log};
use super::share::shares;
use super::tables::rounded;
use crate::exact::{ExactProblem, Hold, Seen, Sight};
use crate::rounding::{Known, Rounded, Settled};
use contattn_core::{Dtype, Rule, Sink};
use rug::Rational;

/// Larger ends below this, relative to the anchor, are left out.
const LEFT_OUT: f64 = -500.0;
/// Exponentials below this are 0 beside a larger end that is not left out.
const LOWEST: f64 = -650.0;
/// Relative error of a share.
const THETA: f64 = 1.0 / (1u128 << 79) as f64;
/// u^2
const UNIT_SQUARED: f64 = 1.0 / (1u128 << 106) as f64;
/// What the bounds' own roundings can take away from them.
const SLACK: f64 = 1.001;

/// What this stage can settle of a row: nothing where it has no measure, under the Taylor rule, and for numbers out of range.
pub(crate) fn evaluate(tables: &Tables, exact: &ExactProblem<'_>, at: (usize, usize, usize), dtype: Dtype) -> Known {
    try_evaluate(tables, exact, at, dtype).unwrap_or_default()
}

fn try_evaluate(
    tables: &Tables,
    exact: &ExactProblem<'_>,
    (batch, head, index): (usize, usize, usize),
    dtype: Dtype,
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
    })
}

/// A part of a segment or a piece of held curve.
struct Part {
    left: usize,
    right: usize,
    length: Dd,
    cut: Option<Cut>,
}

/// alpha, 1 - alpha, beta, 1 - beta, lambda
struct Cut([Dd; 5]);

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

/// What each node gets, in units of e^anchor.
struct Masses {
    anchor: f64,
    total: Dd,
    /// (node, P) in time order
    nodes: Vec<(usize, Dd)>,
    /// a bound of what was left out
    left_out: f64,
}

impl Masses {
    fn new(rule: Rule, parts: &[Part], scores: &[Dd]) -> Option<Masses> {
        let tops = parts.iter().flat_map(|part| [scores[part.left].high, scores[part.right].high]);
        let anchor = tops.fold(f64::NEG_INFINITY, f64::max);
        if anchor.is_nan() || anchor.abs() >= 1e15 {
            return None;
        }
        let relative = |score: Dd| score - Dd::new(anchor);
        let power = |z: Dd| if z.high < LOWEST { Dd::ZERO } else { exp(z) };
        let mut nodes: Vec<(usize, Dd)> = Vec::with_capacity(parts.len() + 2);
        let mut give = |node: usize, mass: Dd| match nodes.last_mut() {
            Some(last) if last.0 == node => last.1 = last.1 + mass,
            _ => nodes.push((node, mass)),
        };
        let mut left_out = 0.0;
        // The exponential of the last node is that of the next segment's left one.
        let mut known: Option<(usize, Dd)> = None;
        for part in parts {
            let (z0, z1) = (relative(scores[part.left]), relative(scores[part.right]));
            let constant = part.left == part.right;
            let (from, to) = match &part.cut {
                Some(Cut([alpha, _, beta, ..])) if !constant => {
                    let rise = z1 - z0;
                    (z0 + rise * *alpha, z0 + rise * *beta)
                }
                _ => (z0, z1),
            };
            if from.high.max(to.high) < LEFT_OUT {
                left_out += part.length.high * 1e-217; // e^-500 < 1e-217
                known = None;
                continue;
            }
            let whole = part.cut.is_none();
            let e1 = power(to);
            if constant {
                give(part.right, e1 * part.length);
                known = whole.then_some((part.right, e1));
                continue;
            }
            let e0 = match known {
                Some((node, e)) if whole && node == part.left => e,
                _ => power(from),
            };
            known = whole.then_some((part.right, e1));
            let (l, r) = shares(rule, e0, e1, to - from);
            let (left, right) = match &part.cut {
                None => (l, r),
                Some(Cut([alpha, alpha_rest, beta, beta_rest, _])) => {
                    (l * *alpha_rest + r * *beta_rest, l * *alpha + r * *beta)
                }
            };
            give(part.left, left * part.length);
            give(part.right, right * part.length);
        }
        let total = nodes.iter().fold(Dd::ZERO, |sum, (_, mass)| sum + *mass);
        (total.high > 1e-150 && total.high < 1e150).then_some(Masses { anchor, total, nodes, left_out })
    }
}

/// N/Z by channel with its bound.
fn outputs(
    tables: &Tables,
    masses: &Masses,
    parts: &[Part],
    source: impl Fn(usize) -> usize,
    eta: f64,
    dtype: Dtype,
) -> Vec<Option<f64>> {
    let e = tables.value_dim;
    let (mut sums, mut rests, mut sizes) = (vec![0.0; e], vec![0.0; e], vec![0.0; e]);
    for &(node, mass) in &masses.nodes {
        let at = source(node) * e;
        let range = at..at + e;
        let values = (&tables.values[range.clone()], &tables.value_high[range.clone()], &tables.value_low[range]);
        if tables.narrow_values {
            accumulate::<true>(mass, values, &mut sums, &mut rests, &mut sizes);
        } else {
            accumulate::<false>(mass, values, &mut sums, &mut rests, &mut sizes);
        }
    }
    let n = parts.len() as f64 + 8.0;
    let of_size = eta + SLACK * 4.0 * n * n * UNIT_SQUARED;
    let of_channel = |c: usize| {
        if sizes[c].is_nan() || sizes[c] <= 1e-200 {
            // Exactly 0 where all visible values are; also those of parts that were left out.
            let mut nodes = parts.iter().flat_map(|part| [part.left, part.right]);
            return nodes.all(|node| tables.values[source(node) * e + c] == 0.0).then_some(0.0);
        }
        let numerator = Dd::sum(sums[c], rests[c]);
        let o = numerator / masses.total;
        // Values left out are bounded by the largest number that the tables hold.
        let left_out = masses.left_out * 1e75;
        let bound = SLACK * (of_size * sizes[c] + eta * numerator.high.abs() + left_out) / masses.total.high;
        settle(dtype, o, bound)
    };
    (0..e).map(of_channel).collect()
}

/// Adds P v to each channel: the sum, the errors of products and sums, and P |v|.
#[inline(always)]
fn accumulate<const NARROW: bool>(
    mass: Dd,
    (values, high, low): (&[f64], &[f64], &[f64]),
    sums: &mut [f64],
    rests: &mut [f64],
    sizes: &mut [f64],
) {
    let (p, p_low) = (mass.high, mass.low);
    let (p_top, p_rest) = split(p);
    let e = values.len();
    let (sums, rests, sizes) = (&mut sums[..e], &mut rests[..e], &mut sizes[..e]);
    let (high, low) = (&high[..e], &low[..e]);
    for c in 0..e {
        let v = values[c];
        let product = p * v;
        let error = if NARROW {
            (p_top * v - product) + p_rest * v
        } else {
            ((p_top * high[c] - product) + p_top * low[c] + p_rest * high[c]) + p_rest * low[c]
        };
        let (sum, lost) = two_sum(sums[c], product);
        sums[c] = sum;
        rests[c] += lost + (error + p_low * v);
        sizes[c] += p * v.abs();
    }
}

/// The number of the type that everything within `bound` of x rounds to, where there is one.
fn settle(dtype: Dtype, x: Dd, bound: f64) -> Option<f64> {
    let size = x.high.abs();
    let usable = size > 1e-200 && size < 1e300 && bound < size;
    if !usable {
        return None;
    }
    // Adding the bound to the low part rounds by at most u^2 |x|; twice that is added to the bound.
    let bound = bound + 4.0 * UNIT_SQUARED * x.high.abs();
    let end = |bound: f64| {
        let (s, e) = two_sum(x.high, x.low + bound);
        // Rounded to odd, so that a second rounding to fewer bits is that of the sum itself.
        let odd = if e == 0.0 || s.to_bits() & 1 == 1 {
            s
        } else if (e > 0.0) == (s > 0.0) {
            f64::from_bits(s.to_bits() + 1)
        } else {
            f64::from_bits(s.to_bits() - 1)
        };
        if dtype == Dtype::F64 { s } else { dtype.round(odd) }
    };
    let (low, high) = (end(-bound), end(bound));
    (low.to_bits() == high.to_bits()).then_some(low)
}
