//! Gauss-Legendre points and weights with proof.

use crate::enclosure::Enclosure;
use rug::{Float, Integer};

/// Points in [0, 1] and weights with sum 1: exact for polynomials of degree below 2N.
#[derive(Clone, Debug)]
pub struct Legendre {
    /// (point, weight)
    pub points: Vec<(Enclosure, Enclosure)>,
    /// (N!)^4 / ((2N+1) ((2N)!)^3): the error on [0, 1] is this times the 2N-th derivative somewhere in it
    pub remainder: Enclosure,
}

/// P_n and P_{n-1} at x: (k+1) P_{k+1} = (2k+1) x P_k - k P_{k-1}.
fn polynomials(n: u32, x: &Enclosure) -> (Enclosure, Enclosure) {
    let p = x.precision();
    let (mut previous, mut current) = (Enclosure::one(p), x.clone());
    for k in 1..n {
        let next = (Enclosure::from_u32(p, 2 * k + 1) * x * &current - Enclosure::from_u32(p, k) * &previous)
            / Enclosure::from_u32(p, k + 1);
        previous = current;
        current = next;
    }
    (current, previous)
}

/// The same in plain numbers, for Newton's iteration.
fn newton_step(n: u32, x: &Float) -> Float {
    let p = x.prec();
    let (mut previous, mut current) = (Float::with_val(p, 1), x.clone());
    for k in 1..n {
        let next = (Float::with_val(p, x * &current) * (2 * k + 1) - Float::with_val(p, &previous * k)) / (k + 1);
        previous = current;
        current = next;
    }
    let slope = (Float::with_val(p, x * &current) - previous) * n / (Float::with_val(p, x.square_ref()) - 1u32);
    Float::with_val(p, x - current / slope)
}

fn error_factor(n: u32, p: u32) -> Enclosure {
    let factorial = |n: u32| Integer::from(Integer::factorial(n));
    let numerator = rug::ops::Pow::pow(factorial(n), 4u32);
    let denominator = rug::ops::Pow::pow(factorial(2 * n), 3u32) * (2 * n + 1);
    Enclosure::from_rational(p, &rug::Rational::from((numerator, denominator)))
}

impl Legendre {
    /// Enough points that the error for e^{yt}, |y| <= `reach`, is below 2^-bits of its largest value.
    pub fn new(reach: u32, bits: u32) -> Legendre {
        let mut n = 4;
        loop {
            let bound = error_factor(n, 64) * power(&Enclosure::from_u32(64, reach), 2 * n);
            if bound.upper().get_exp().is_none_or(|e| e < -(bits as i32)) {
                return Legendre::with_points(n, bits + 32);
            }
            n += 2;
        }
    }

    /// n points. Each root is bracketed by a change of the sign of P_n; n disjoint brackets hold all roots. Bounds grow by at
    /// most (1 + sqrt 2) < 4 a step in the recurrence, which the working precision covers.
    fn with_points(n: u32, bits: u32) -> Legendre {
        let p = bits + 64 + 4 * n;
        let hair = Float::with_val(p, 1) >> (bits + 16 + 2 * n);
        let mut points = Vec::new();
        let mut previous: Option<Float> = None;
        for i in 0..n {
            let guess = (std::f64::consts::PI * (f64::from(n - i) - 0.25) / (f64::from(n) + 0.5)).cos();
            let mut x = Float::with_val(p, guess);
            for _ in 0..(32 - (p / 40).leading_zeros() + 3) {
                x = newton_step(n, &x);
            }
            let (low, high) = (Float::with_val(p, &x - &hair), Float::with_val(p, &x + &hair));
            let sign = |x: &Float| polynomials(n, &Enclosure::from_float(p, x)).0.certain_sign();
            let (below, above) = (sign(&low), sign(&high));
            assert!(
                below.is_some() && above.is_some() && below != above,
                "root {i} of the Legendre polynomial of degree {n}"
            );
            assert!(previous.is_none_or(|previous| previous < low), "roots {i} and its predecessor are one");
            previous = Some(high.clone());
            let x = Enclosure::between(low, high);
            let one = Enclosure::one(p);
            // On [0, 1]: weight (1 - x^2) / (n P_{n-1})^2.
            let (_, before) = polynomials(n, &x);
            let weight = (&one - x.square()) / (before * Enclosure::from_u32(p, n)).square();
            points.push(((x + one).shifted(-1).with_precision(bits), weight.with_precision(bits)));
        }
        Legendre { points, remainder: error_factor(n, bits) }
    }
}

/// x^n for x >= 0.
pub(super) fn power(x: &Enclosure, n: u32) -> Enclosure {
    let mut result = Enclosure::one(x.precision());
    let mut square = x.clone();
    let mut rest = n;
    while rest > 0 {
        if rest & 1 == 1 {
            result = result * &square;
        }
        square = square.square();
        rest >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use rug::Rational;

    /// Monomials below degree 2N, by their exact integrals; one degree further the rule must miss.
    #[test]
    fn exact_below_twice_the_number_of_points() {
        let rule = Legendre::new(4, 100);
        let n = rule.points.len() as u32;
        let integral =
            |degree: u32| rule.points.iter().fold(Enclosure::zero(132), |sum, (x, w)| sum + power(x, degree) * w);
        for degree in [0, 1, 2, 7, n, 2 * n - 1] {
            let value = integral(degree);
            assert!(value.contains(&Rational::from((1, degree + 1))), "{degree}: {value:?}");
            assert!(value.radius() < Float::with_val(60, 1) >> 110u32);
        }
        let small = Legendre::with_points(4, 100);
        let miss = small.points.iter().fold(Enclosure::zero(132), |sum, (x, w)| sum + power(x, 8) * w);
        assert!(!miss.contains(&Rational::from((1, 9))));
    }
}
