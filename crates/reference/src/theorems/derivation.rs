//! From the quotient of integrals to a softmax with bias: equations (8) to (12), on the unit time line with node 0 given.

use super::curve::{Curve, Start, quadrature, rows};
use super::integral::{integral, largest, unit};
use super::symbolic::Laurent;
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::phi::{phi1, phi2};
use crate::segments::Segments;
use contattn_core::Rule;
use rug::Rational;

/// Rows of the derivation: node 0 with a score and a value of its own.
fn curves(trial: &Trial<'_>) -> Vec<Curve> {
    let curve = |(scores, values)| {
        let (score, value) = {
            let mut numbers = trial.numbers();
            (numbers.short(2.0), numbers.short(2.0))
        };
        Curve::unit(Rule::Linear, Start::Given(score, value), scores, values)
    };
    rows(trial).into_iter().map(curve).collect()
}

fn sum(p: u32, terms: impl Iterator<Item = Enclosure>) -> Enclosure {
    terms.fold(Enclosure::zero(p), |sum, term| sum + term)
}

/// (8): o is a quotient of sums over segments.
pub(super) fn eq8(trial: &Trial<'_>) {
    let p = trial.precision();
    for curve in curves(trial) {
        if !trial.begin(format_args!("{curve:?}")) {
            return;
        }
        let o = curve.clone().seen_by(trial.left()).results(trial, quadrature()).o;
        let (a, v) = curve.numbers(p);
        let right = trial.right();
        let top = largest(&a.iter().collect::<Vec<_>>()); // any anchor will do
        let terms: Vec<[Enclosure; 3]> = (1..a.len())
            .map(|i| {
                let x = &a[i] - &a[i - 1];
                let e = (&a[i - 1] - &top).exp();
                [&e * phi1(&x) * &v[i], e.clone() * phi2(&x) * (&v[i - 1] - &v[i]), e * phi1(&x)]
            })
            .collect();
        let part = |k: usize| sum(p, terms.iter().map(|term| term[k].clone()));
        let above = right.number("1 before phi1 above", 1) * part(0) + right.number("1 before phi2", 1) * part(1);
        let quotient = above / (right.number("1 before phi1 below", 1) * part(2));
        trial.equal_beside("o", &o, &quotient, &curve.value_size(p));
    }
}

/// (9): the numerator, added up over segments, is a sum over nodes.
pub(super) fn eq9(trial: &Trial<'_>) {
    let p = trial.precision();
    for curve in curves(trial) {
        if !trial.begin(format_args!("{curve:?}")) {
            return;
        }
        let (a, v) = curve.numbers(p);
        let t = a.len() - 1;
        let left = trial.left();
        let exact = |x: f64| Rational::from_f64(x).unwrap_or_default();
        let Start::Given(first, _) = curve.start else { return };
        let scores: Vec<Rational> = [first].iter().chain(&curve.scores).map(|&a| exact(a)).collect();
        let top = largest(&a.iter().collect::<Vec<_>>());
        let one = Enclosure::one(p);
        let over_segments = sum(
            p,
            (1..=t).map(|i| {
                // e^{a_{i-1}} phi1(x) v_i + e^{a_{i-1}} phi2(x) (v_{i-1} - v_i)
                let x = Rational::from(&scores[i] - &scores[i - 1]);
                let e = (&a[i - 1] - &top).exp() * unit(&x, p);
                let first = left.number("1 before phi1", 1) * integral(&x, std::slice::from_ref(&one), p);
                let second = left.number("1 before phi2", 1) * integral(&x, &[one.clone(), -&one], p);
                e * (first * &v[i] + second * (&v[i - 1] - &v[i]))
            }),
        );
        let right = trial.right();
        let node = |i: usize| {
            let before = (i > 0).then(|| right.number("1 before phi2(-x_i)", 1) * phi2(&(&a[i - 1] - &a[i])));
            let after = (i < t).then(|| right.number("1 before phi2(x_{i+1})", 1) * phi2(&(&a[i + 1] - &a[i])));
            let both = sum(p, before.into_iter().chain(after));
            (&a[i] - &top).exp() * both
        };
        let masses: Vec<Enclosure> = (0..=t).map(node).collect();
        let over_nodes = sum(p, masses.iter().zip(&v).map(|(mass, v)| mass * v));
        let size = sum(p, masses.iter().cloned()) * curve.value_size(p);
        trial.equal_beside("numerator", &over_segments, &over_nodes, &size);
    }
    for t in 1..=4 {
        if !trial.begin(format_args!("over the rationals, {t} segments")) {
            return;
        }
        let (left, right) = rearranged(trial, t);
        trial.identity("numerator", &left, &right);
    }
}

/// Both sides of (9) with t segments over indeterminates x_i, E_i = e^{a_i} and v_i: as e^{x_i} = E_i/E_{i-1},
///
/// ```text
/// E_{i-1} phi1(x_i) = (E_i - E_{i-1})/x_i                 E_{i-1} phi2(x_i) = (E_i - E_{i-1} - x_i E_{i-1})/x_i^2
/// E_i phi2(-x_i) = (E_{i-1} - E_i + x_i E_i)/x_i^2
/// ```
fn rearranged(trial: &Trial<'_>, t: usize) -> (Laurent, Laurent) {
    let (left, right) = (trial.left(), trial.right());
    let x = |i, n| Laurent::power("x", i, n);
    let e = |i| Laurent::power("E", i, 1);
    let v = |i| Laurent::power("v", i, 1);
    let rise = |i: usize| e(i).minus(&e(i - 1));
    let sum = |terms: Vec<Laurent>| terms.into_iter().fold(Laurent::default(), |sum, term| sum + term);
    let phi2_up = |i: usize| rise(i).minus(&(x(i, 1) * e(i - 1))) * x(i, -2);
    let segment = |i: usize| {
        let first = Laurent::constant(left.rational("1 before phi1", 1)) * rise(i) * x(i, -1) * v(i);
        let second = Laurent::constant(left.rational("1 before phi2", 1)) * phi2_up(i) * v(i - 1).minus(&v(i));
        first + second
    };
    let node = |i: usize| {
        let before = (i > 0).then(|| {
            let down = (x(i, 1) * e(i)).minus(&rise(i)) * x(i, -2);
            Laurent::constant(right.rational("1 before phi2(-x_i)", 1)) * down
        });
        let after = (i < t).then(|| Laurent::constant(right.rational("1 before phi2(x_{i+1})", 1)) * phi2_up(i + 1));
        sum(before.into_iter().chain(after).collect()) * v(i)
    };
    (sum((1..=t).map(segment).collect()), sum((0..=t).map(node).collect()))
}

/// (10): e^{b_0}, e^{b_i}, e^{b_t}.
pub(super) fn eq10(trial: &Trial<'_>) {
    let p = trial.precision();
    for curve in curves(trial) {
        if !trial.begin(format_args!("{curve:?}")) {
            return;
        }
        let found = curve.clone().scored_by(trial.left()).results(trial, quadrature());
        let (a, _) = curve.numbers(p);
        let t = a.len() - 1;
        let right = trial.right();
        for i in 0..=t {
            let phi = |name, other: usize| right.number(name, 1) * phi2(&(&a[other] - &a[i]));
            let expected = match i {
                0 => phi("1 before phi2 at node 0", 1),
                _ if i == t => phi("1 before phi2 at node t", t - 1),
                _ => phi("1 before the left phi2", i - 1) + phi("1 before the right phi2", i + 1),
            };
            match &found.bias[i] {
                Some(b) => trial.equal(&format!("e^b of node {i}"), &b.exp(), &expected),
                None => trial.holds(&format!("node {i} gets something"), false),
            }
        }
    }
}

/// (11): o is a softmax of a + b.
pub(super) fn eq11(trial: &Trial<'_>) {
    let p = trial.precision();
    for curve in curves(trial) {
        if !trial.begin(format_args!("{curve:?}")) {
            return;
        }
        let o = curve.clone().seen_by(trial.left()).results(trial, &Segments).o;
        let (a, v) = curve.numbers(p);
        let right = trial.right();
        let logits: Vec<Enclosure> = (0..a.len())
            .map(|i| {
                let neighbours = [i.checked_sub(1), Some(i + 1).filter(|&j| j < a.len())];
                let b = sum(p, neighbours.into_iter().flatten().map(|j| phi2(&(&a[j] - &a[i])))).ln();
                // The softmax sees differences only, so one node's constant is enough to be wrong.
                let one = if i == 0 { right.number("1 before b_0", 1) } else { Enclosure::one(p) };
                &a[i] + one * b
            })
            .collect();
        let expected = softmax(p, &logits, &v);
        trial.equal_beside("o", &o, &expected, &curve.value_size(p));
    }
}

/// sum e^l v / sum e^l.
pub(super) fn softmax(p: u32, logits: &[Enclosure], v: &[Enclosure]) -> Enclosure {
    let top = logits.iter().map(Enclosure::midpoint).reduce(|a, b| if b > a { b } else { a });
    let top = top.map_or_else(|| Enclosure::zero(p), |top| Enclosure::from_float(p.max(top.prec()), &top));
    let weights: Vec<Enclosure> = logits.iter().map(|l| (l - &top).exp()).collect();
    sum(p, weights.iter().zip(v).map(|(w, v)| w * v)) / sum(p, weights.iter().cloned())
}

/// (12): softmax attention over nodes 1..t is the integral of the curve that holds node i on (i - 1, i].
pub(super) fn eq12(trial: &Trial<'_>) {
    let p = trial.precision();
    for (scores, values) in rows(trial) {
        let curve = Curve::unit(Rule::Step, Start::Zeros, scores, values);
        if !trial.begin(format_args!("{curve:?}")) {
            return;
        }
        let o = curve.clone().seen_by(trial.left()).results(trial, quadrature()).o;
        let number = |x: &f64| Enclosure::from_f64(p, *x);
        let right = trial.right();
        let logits: Vec<Enclosure> = curve
            .scores
            .iter()
            .enumerate()
            .map(|(i, a)| if i == 0 { right.number("1 before a_1", 1) * number(a) } else { number(a) })
            .collect();
        let v: Vec<Enclosure> = curve.values.iter().map(number).collect();
        let expected = right.number("1 before the quotient", 1) * softmax(p, &logits, &v);
        trial.equal_beside("o", &o, &expected, &curve.value_size(p));
    }
}
