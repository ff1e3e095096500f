//! The expansion of the bias: equation (13).

use super::curve::{Curve, Start, quadrature, rows};
use super::derivation::softmax;
use super::symbolic::Laurent;
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::phi::phi2;
use crate::segments::Segments;
use crate::taylor::{End, Interior, ShortConvolution, remainder};
use contattn_core::Rule;
use rug::{Float, Integer, Rational};

/// Distances to the neighbours: none, tiny, equal, opposite, random; with the order after which the remainder is below
/// 2^-130 beside the larger of them.
fn boxes(trial: &Trial<'_>) -> Vec<(Rational, Rational)> {
    let exact = |x: f64| Rational::from_f64(x).unwrap_or_default();
    let tiny = f64::from_bits(1);
    let mut all = vec![(0.0, 0.0), (tiny, -tiny), (1e-40, 1e-20), (0.0625, 0.0625), (0.125, -0.125), (0.0, -0.25)];
    for _ in 0..trial.rounds() {
        let mut numbers = trial.numbers();
        all.push((numbers.short(0.25), numbers.short(0.25)));
    }
    all.into_iter().map(|(u, w)| (exact(u), exact(w))).collect()
}

/// (13): b is its expansion, to within the remainder; its first order is the second difference over 6.
pub(super) fn eq13(trial: &Trial<'_>) {
    let p = trial.precision();
    // |u|, |w| <= 1/4 is a twentieth of the radius, so every order gives more than four bits.
    let order = trial.width_bits() / 4 + 4;
    let exact = |x: &Rational| Enclosure::from_rational(p, x);
    let (interior, end) = (Interior::new(order), End::new(order));
    for (u, w) in boxes(trial) {
        if !trial.begin(format_args!("u = {}, w = {}", u.to_f64(), w.to_f64())) {
            return;
        }
        let (left, right) = (trial.left(), trial.right());
        let r = Ord::max(u.clone().abs(), w.clone().abs());
        let within = |value: Enclosure, bound: Option<Float>| match bound {
            Some(bound) => {
                let bound = Enclosure::from_float(p, &bound);
                value + (-&bound).hull(&bound)
            }
            None => Enclosure::whole(p),
        };
        // b is of the size of u and w; where both are 0 it is 0 beside the 1 under the logarithm. The series begins with
        // (u + w)/6, which is taken as it stands. ln(1 + z) is as accurate as z is, so more bits for small u and w.
        let more = u32::try_from(-super::integral::magnitude(&r)).unwrap_or(0) + 8;
        let wide = |x: &Rational| Enclosure::from_rational(p + more, x);
        let b = (left.at(p + more, "1 before phi2(u)", 1) * phi2(&wide(&u)) + phi2(&wide(&w))).ln();
        let first = right.number("1/6", (1, 6)) * (exact(&u) + exact(&w));
        let rest = interior.value(&exact(&u), &exact(&w))
            - Enclosure::from_rational(p, &Rational::from((1, 6))) * (exact(&u) + exact(&w));
        let series = within(first + rest, remainder::interior(order, &r));
        let size = if r.is_zero() { Enclosure::one(p) } else { exact(&r) };
        trial.equal_beside("b inside", &b, &series, &size);
        let b = (left.at(p + more, "1 before phi2 at an end", 1) * phi2(&wide(&u))).ln();
        let series = end.value(&exact(&u)) - right.number("1 before log 2", 1) * Enclosure::from_u32(p, 2).ln();
        trial.equal("b at an end", &b, &within(series, remainder::end(order, &r)));
    }
    if trial.begin("over the rationals, to degree 8") {
        coefficients(trial, 8);
    }
    if trial.begin("first order") {
        let taps = ShortConvolution::new();
        let sixth = trial.right().rational("1/6 in the taps", (1, 6));
        let second_difference = [sixth.clone(), Rational::from(-2) * &sixth, sixth];
        trial.holds("taps", *taps.taps() == second_difference);
    }
}

/// e^B = S as formal power series: the degree by degree recurrence is not used, but the exponential series of B.
fn coefficients(trial: &Trial<'_>, order: u32) {
    let (left, right) = (trial.left(), trial.right());
    let (u, w) = (|n| Laurent::power("u", 0, n), |n| Laurent::power("w", 0, n));
    let cut = |x: Laurent| {
        (0..=order as i32).map(|d| x.part(&["u", "w"], d)).fold(Laurent::default(), |sum, part| sum + part)
    };
    let exponential = |b: &Laurent| {
        let (mut power, mut sum) = (Laurent::constant(1), Laurent::constant(1));
        for k in 1..=order {
            power = cut(&power * b) * Laurent::constant((1, k));
            sum = sum + &power;
        }
        sum
    };
    let over_factorial = |n: u32| Rational::from((Integer::from(1), Integer::from(Integer::factorial(n))));
    let interior = Interior::new(order);
    let mut b = Laurent::default();
    for (i, j) in (0..=order).flat_map(|i| (0..=order - i).map(move |j| (i, j))) {
        let c = interior.coefficient(i as usize, j as usize);
        let c = if (i, j) == (1, 0) { left.rational("1/6 before u", c) } else { c };
        b = b + Laurent::constant(c) * u(i as i32) * w(j as i32);
    }
    let mut s = Laurent::default();
    for d in 0..=order {
        let c = if d == 0 { right.rational("1/2 in phi2", (1, 2)) } else { over_factorial(d + 2) };
        s = s + Laurent::constant(c) * (u(d as i32) + w(d as i32));
    }
    trial.identity("inside", &exponential(&b), &s);
    let end = End::new(order);
    let mut b = Laurent::default();
    let mut s = Laurent::default();
    for d in 0..=order {
        let c = end.coefficient(d as usize);
        b = b + Laurent::constant(if d == 1 { left.rational("1/3 before u", c) } else { c }) * u(d as i32);
        s = s + Laurent::constant(right.rational("2 before phi2", 2) * over_factorial(d + 2)) * u(d as i32);
    }
    trial.identity("at an end", &exponential(&b), &s);
}

/// Taylor(1) is attention with a short convolution on its scores, and Taylor(0) is the trapezoidal rule.
pub(super) fn convolution(trial: &Trial<'_>) {
    let p = trial.precision();
    let taps = ShortConvolution::new();
    for (scores, values) in rows(trial) {
        let start = {
            let mut numbers = trial.numbers();
            Start::Given(numbers.short(2.0), numbers.short(2.0))
        };
        let first = Curve::unit(Rule::Taylor(1), start, scores, values);
        if !trial.begin(format_args!("{first:?}")) {
            return;
        }
        let zeroth = Curve { rule: Rule::Taylor(0), ..first.clone() };
        let trapezoid = Curve { rule: Rule::Trapezoid, ..first.clone() };
        let size = first.value_size(p);
        let o = first.clone().seen_by(trial.left()).results(trial, &Segments).o;
        let (a, v) = first.numbers(p);
        let right = trial.right();
        let b = taps.apply(&a);
        let one = right.number("1 before the convolution", 1);
        let logits: Vec<Enclosure> = a.iter().zip(&b).map(|(a, b)| a + &one * b).collect();
        trial.equal_beside("o of first order", &o, &softmax(p, &logits, &v), &size);
        let left = zeroth.results(trial, &Segments).o;
        let right = trapezoid.seen_by(right).results(trial, quadrature()).o;
        trial.equal_beside("o of order 0", &left, &right, &size);
    }
}
