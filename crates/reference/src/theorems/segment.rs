//! The integrals over one segment: equations (4) and (5), and segments cut by the edge of a window.

use super::integral::{integral, largest, unit};
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::phi::{moment, phi1, phi2, psi};
use rug::Rational;

/// A segment: the scores at its ends, and v there.
struct Segment {
    scores: [Rational; 2],
    values: [Rational; 2],
}

/// Ties, tiny and huge differences, a pair of values that cancel, random ones.
fn segments(trial: &Trial<'_>) -> Vec<Segment> {
    let huge = 2f64.powi(27);
    let mut pairs = vec![(0.0, 0.0), (0.75, 0.75), (1.0, 1.0 + 2f64.powi(-52)), (f64::from_bits(1), 0.0)];
    pairs.extend([(0.0, 1.0), (3.0, 2.0), (-1000.0, 1000.0), (709.0, -7.5), (huge, -huge), (-huge, -huge + 1.0)]);
    for at in 0..trial.rounds() {
        let mut numbers = trial.numbers();
        let a = numbers.short(8.0);
        let x = if at % 2 == 0 { numbers.spread(-60.0, 0.0) } else { numbers.spread(0.0, 8.0) };
        pairs.push((a, a + x));
    }
    let exact = |x: f64| Rational::from_f64(x).unwrap_or_default();
    let segment = |(at, (a, b)): (usize, (f64, f64))| {
        let mut numbers = trial.numbers();
        let v = numbers.short(2.0);
        // Every fourth: the integral of v nearly cancels.
        let w = if at % 4 == 3 { -v } else { numbers.short(2.0) + 2.5 };
        Segment { scores: [exact(a), exact(b)], values: [exact(v), exact(w)] }
    };
    pairs.into_iter().enumerate().map(segment).collect()
}

/// (4): int e^a v over a segment = e^{a_{i-1}} (phi1(x) v_i + phi2(x) (v_{i-1} - v_i)).
pub(super) fn eq4(trial: &Trial<'_>) {
    let p = trial.precision();
    let exact = |x: &Rational| Enclosure::from_rational(p, x);
    for Segment { scores: [a, b], values: [v, w] } in segments(trial) {
        if !trial.begin(format_args!("a = {}, {}", a.to_f64(), b.to_f64())) {
            return;
        }
        let x = Rational::from(&b - &a);
        let factor = exact(&a).exp();
        let left = trial.left();
        // v (1 - s) + w s
        let (v, w) = (exact(&v), exact(&w));
        let slope = left.number("s in v_i s", 1) * &w - left.number("s in 1 - s", 1) * &v;
        let by_integral = integral(&x, &[left.number("1 in 1 - s", 1) * &v, slope], p) * unit(&x, p) * &factor;
        let right = trial.right();
        let y = exact(&x);
        let phi = right.number("1 before phi1", 1) * phi1(&y) * &w;
        let closed = &factor * (phi + right.number("1 before phi2", 1) * phi2(&y) * (&v - &w));
        let size = factor * phi1(&y) * largest(&[&v, &w]);
        trial.equal_beside("int e^a v", &by_integral, &closed, &size);
    }
}

/// (5): int e^a over a segment = e^{a_{i-1}} phi1(x).
pub(super) fn eq5(trial: &Trial<'_>) {
    let p = trial.precision();
    let exact = |x: &Rational| Enclosure::from_rational(p, x);
    for Segment { scores: [a, b], .. } in segments(trial) {
        if !trial.begin(format_args!("a = {}, {}", a.to_f64(), b.to_f64())) {
            return;
        }
        let x = Rational::from(&b - &a);
        let peak = exact(Ord::max(&a, &b)).exp();
        let by_integral = integral(&x, &[trial.left().number("1 under the integral", 1)], p) * peak;
        let right = trial.right();
        let closed =
            right.number("1 before phi1", 1) * exact(&a).exp() * phi1(&(right.number("1 before x", 1) * exact(&x)));
        trial.equal("int e^a", &by_integral, &closed);
    }
}

/// What the part [alpha, beta] of a segment gives to its nodes, and how it couples them.
pub(super) fn cut(trial: &Trial<'_>) {
    let p = trial.precision();
    let exact = |x: &Rational| Enclosure::from_rational(p, x);
    for (at, Segment { scores: [a, b], .. }) in segments(trial).into_iter().enumerate() {
        // Whole, open on one side, inside, very short.
        let [alpha, beta] = {
            let mut numbers = trial.numbers();
            let near = numbers.fraction(64) / 2u32;
            let far: Rational = 1 - numbers.fraction(64) / 2u32;
            let short: Rational = &near + (Rational::from(1) >> 40u32);
            match at % 5 {
                0 => [Rational::new(), Rational::from(1)],
                1 => [near, Rational::from(1)],
                2 => [Rational::new(), far],
                3 => [near, short],
                _ => [near, far],
            }
        };
        if !trial.begin(format_args!("a = {}, {}, part {alpha} to {beta}", a.to_f64(), b.to_f64())) {
            return;
        }
        let length = Rational::from(&beta - &alpha);
        let rise = Rational::from(&b - &a);
        let y = Rational::from(&rise * &length);
        let start = Rational::from(&rise * &alpha) + &a;
        // With s = alpha + lambda t: the hat functions 1 - s and s.
        let left = trial.left();
        let (from, slope) = (exact(&alpha), left.number("lambda", length.clone()));
        let rest = left.number("1 in 1 - s", 1) - &from;
        let peak = exact(&start).exp() * unit(&y, p);
        let by_integral = |weight: &[Enclosure]| &slope * integral(&y, weight, p) * &peak;
        let lefts = [
            by_integral(&[rest.clone(), -&slope]),
            by_integral(&[from.clone(), slope.clone()]),
            by_integral(&[&from * &rest, &slope * (&rest - &from), -slope.square()]),
        ];
        // L' = lambda e^{start} phi2(y), R' = lambda e^{start} moment(y), h' = lambda e^{start} psi(y).
        let right = trial.right();
        let (from, to, lambda) = (exact(&alpha), exact(&beta), right.number("lambda", length));
        let y = exact(&y);
        let scale = &lambda * exact(&start).exp();
        let (first, second, inner) = (&scale * phi2(&y), &scale * moment(&y), &scale * psi(&y));
        let one = right.number("1 in 1 - alpha", 1);
        let last = right.number("1 in 1 - beta", 1);
        let rights = [
            &first * (&one - &from) + &second * (&last - &to),
            &first * &from + &second * &to,
            &from * (&one - &from) * &first + &to * (&last - &to) * &second + lambda.square() * inner,
        ];
        for ((name, left), right) in ["L", "R", "h"].iter().zip(&lefts).zip(&rights) {
            trial.equal(name, left, right);
        }
    }
}
