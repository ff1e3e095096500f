//! The gradient against its definition.
//!
//! With o = N/Z and lse = log Z, L changes with any input as dL = (g dN - g o dZ + g_lse dZ)/Z.

use super::curve::{Curve, Start, durations, quadrature, rows, timeline};
use super::integral::largest;
use super::plant::Side;
use super::trial::Trial;
use super::weights::any_curves;
use crate::enclosure::Enclosure;
use crate::nodes::Nodes;
use crate::phi::{phi2, psi};
use crate::route::gradient;
use crate::value::Certified;
use contattn_core::Rule;

/// dL/da by node, dL/dD by segment, w by node.
pub(super) struct Slopes {
    pub(super) scores: Vec<Enclosure>,
    pub(super) durations: Vec<Enclosure>,
    pub(super) weights: Vec<Enclosure>,
    /// e^anchor/Z: about the size of dL/dD for g = 1
    pub(super) scale: Enclosure,
}

impl Slopes {
    /// Of what is no problem, which has been noted: nothing is known.
    fn unknown(curve: &Curve, p: u32) -> Slopes {
        let whole = |n| vec![Enclosure::whole(p); n];
        let n = curve.nodes();
        Slopes { scores: whole(n + 1), durations: whole(n), weights: whole(n + 1), scale: Enclosure::one(p) }
    }
}

/// By the quotient rule from integrals, with the derivatives of integrals by quadrature.
fn by_definition(trial: &Trial<'_>, side: Side<'_>, curve: &Curve, g: f64, g_lse: f64) -> Slopes {
    let p = trial.precision();
    let route = quadrature();
    let found = curve.row(|row| {
        let sums = route.sums(row, &[0], p + 32);
        let n = row.keys() + 1;
        let mut fields = [vec![Enclosure::zero(p + 32); n], vec![Enclosure::zero(p + 32); n]];
        for &node in row.visible() {
            fields[0][node] = Enclosure::from_f64(p + 32, row.value_f64(node, 0));
            fields[1][node] = Enclosure::one(p + 32);
        }
        let [above, below] = fields.map(|field| route.derivatives(row, &field, p + 32));
        let o = &sums.numerators[0] / &sums.total;
        let g = side.at(p + 32, "1 before g", 1) * Enclosure::from_f64(p + 32, g);
        let g_lse = side.at(p + 32, "1 before g_lse", 1) * Enclosure::from_f64(p + 32, g_lse);
        let slope = |above: &Enclosure, below: &Enclosure| {
            ((&g * above - &g * &o * below + &g_lse * below) / &sums.total).with_precision(p)
        };
        let all = |a: &[Enclosure], b: &[Enclosure]| a.iter().zip(b).map(|(a, b)| slope(a, b)).collect();
        Slopes {
            scores: all(&above.scores, &below.scores),
            durations: all(&above.durations, &below.durations),
            weights: below.scores.iter().map(|z| z / &sums.total).collect(),
            scale: sums.total.recip(),
        }
    });
    found.unwrap_or_else(|error| {
        trial.fail(format_args!("not a problem: {error}"));
        Slopes::unknown(curve, p)
    })
}

/// By the gradient of a route.
pub(super) fn by_route(trial: &Trial<'_>, route: &dyn crate::Route, curve: &Curve, g: f64, g_lse: f64) -> Slopes {
    let p = trial.precision();
    let numbers = |x: &[Certified]| -> Vec<Enclosure> {
        x.iter().map(|x| x.number().cloned().unwrap_or_else(|| Enclosure::whole(p))).collect()
    };
    let found = curve.row(|row| {
        let found = gradient(route, row, &[g], g_lse, p);
        let sums = route.sums(row, &[], p);
        Slopes {
            scores: numbers(&found.scores),
            durations: numbers(&found.durations),
            weights: numbers(&found.weights),
            scale: sums.total.recip(),
        }
    });
    found.unwrap_or_else(|error| {
        trial.fail(format_args!("not a problem: {error}"));
        Slopes::unknown(curve, p)
    })
}

/// Node by node beside w (|g| max|v| + |g_lse|), segment by segment beside that with e^anchor/Z for w.
pub(super) fn compare(trial: &Trial<'_>, left: &Slopes, right: &Slopes, size: &Enclosure) {
    trial.holds("as many nodes", left.scores.len() == right.scores.len() && !left.scores.is_empty());
    trial.holds("as many segments", left.durations.len() == right.durations.len());
    for (node, (a, b)) in left.scores.iter().zip(&right.scores).enumerate() {
        let weight = right.weights.get(node).filter(|w| *w.lower() > 0);
        let size = weight.map_or_else(|| size.clone(), |w| w * size);
        trial.equal_beside(&format!("dL/da of node {node}"), a, b, &size);
    }
    for (i, (a, b)) in left.durations.iter().zip(&right.durations).enumerate() {
        trial.equal_beside(&format!("dL/dD of segment {}", i + 1), a, b, &(&right.scale * size));
    }
}

/// g and g_lse, and the size of what they multiply.
pub(super) fn upstream(trial: &Trial<'_>, curve: &Curve) -> (f64, f64, Enclosure) {
    let (g, g_lse) = {
        let mut numbers = trial.numbers();
        (0.25 + numbers.short_positive(1.0), 0.25 + numbers.short_positive(1.0))
    };
    let p = trial.precision();
    (g, g_lse, Enclosure::from_f64(p, g) * curve.value_size(p) + Enclosure::from_f64(p, g_lse))
}

/// The gradient as the reference returns it, by shares and couplings of segments, for any rule and window.
pub(super) fn definition(trial: &Trial<'_>) {
    for curve in any_curves(trial) {
        let (g, g_lse, size) = upstream(trial, &curve);
        if !trial.begin(format_args!("{curve:?}, g {g}, g_lse {g_lse}")) {
            return;
        }
        let left = curve.clone().seen_by(trial.left());
        let left = by_route(trial, &Nodes::new(curve.rule), &left, g, g_lse);
        compare(trial, &left, &by_definition(trial, trial.right(), &curve, g, g_lse), &size);
    }
}

/// Backward as softmax's gradient plus a discrete diffusion, written out for whole segments of the Linear rule.
pub(super) fn diffusion(trial: &Trial<'_>) {
    let p = trial.precision();
    for (at, (scores, values)) in rows(trial).into_iter().enumerate() {
        let (score, value) = {
            let mut numbers = trial.numbers();
            (numbers.short(2.0), numbers.short(2.0))
        };
        let d = durations(trial, scores.len(), at);
        let mut curve = Curve::unit(Rule::Linear, Start::Given(score, value), scores, values);
        curve.timeline = timeline(d.clone());
        let (g, g_lse, size) = upstream(trial, &curve);
        if !trial.begin(format_args!("{curve:?}, g {g}, g_lse {g_lse}")) {
            return;
        }
        let left = trial.left();
        let (a, v) = curve.numbers(p);
        let n = d.len();
        // The largest score at an end of a segment that lasts, as the other side has it.
        let lasting: Vec<&Enclosure> = (1..=n).filter(|&i| d[i - 1] > 0.0).flat_map(|i| [&a[i - 1], &a[i]]).collect();
        let top = lasting.iter().map(|a| a.midpoint()).reduce(|a, b| if b > a { b } else { a });
        let top = top.map_or_else(|| Enclosure::zero(p), |top| Enclosure::from_float(p, &top));
        // For a unit of duration, over e^top: L, R, h of segments 1..=n.
        let share = |i: usize| {
            let x = &a[i] - &a[i - 1];
            let (e0, e1) = ((&a[i - 1] - &top).exp(), (&a[i] - &top).exp());
            [&e0 * phi2(&x), e1 * phi2(&-&x), e0 * psi(&x)]
        };
        let unit: Vec<[Enclosure; 3]> = (1..=n).map(share).collect();
        let number = |x: f64| Enclosure::from_f64(p, x);
        let whole = |i: usize, k: usize| &unit[i - 1][k] * number(d[i - 1]);
        let zero = || Enclosure::zero(p);
        let masses: Vec<Enclosure> = (0..=n)
            .map(|i| (if i > 0 { whole(i, 1) } else { zero() }) + if i < n { whole(i + 1, 0) } else { zero() })
            .collect();
        let total = masses.iter().fold(zero(), |sum, mass| sum + mass);
        let o = masses.iter().zip(&v).fold(zero(), |sum, (mass, v)| sum + mass * v) / &total;
        let (g_number, lse_number) = (number(g), number(g_lse));
        let field: Vec<Enclosure> = v.iter().map(|v| (&g_number * (v - &o) + &lse_number) / &total).collect();
        let h = left.number("1 before h", 1);
        let slope = |i: usize| {
            let mut slope = left.number("1 before P", 1) * &masses[i] * &field[i];
            if i < n {
                slope += &h * whole(i + 1, 2) * (&field[i + 1] - &field[i]);
            }
            if i > 0 {
                slope += -(&h * whole(i, 2) * (&field[i] - &field[i - 1]));
            }
            slope
        };
        let by_duration = |i: usize| {
            left.number("1 before L", 1) * &unit[i - 1][0] * &field[i - 1]
                + left.number("1 before R", 1) * &unit[i - 1][1] * &field[i]
        };
        let formula = Slopes {
            scores: (0..=n).map(slope).collect(),
            durations: (1..=n).map(by_duration).collect(),
            weights: vec![],
            scale: total.recip(),
        };
        // A segment without duration may stand far above all that last.
        let high = largest(&[&Enclosure::one(p), &unit.iter().fold(zero(), |sum, s| sum + &s[0] + &s[1])]);
        let definition = by_definition(trial, trial.right(), &curve, g, g_lse);
        let definition = Slopes { scale: &definition.scale * high, ..definition };
        compare(trial, &formula, &definition, &size);
    }
}
