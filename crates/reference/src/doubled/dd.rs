//! Double-double arithmetic.
//!
//! Bounds from Joldes, Muller and Popescu, "Tight and rigorous error bounds for basic building blocks of double-word
//! arithmetic" (2017): sum 3 u^2 + 13 u^3, product 7 u^2 (5 with a fused step), quotient 15 u^2 + 56 u^3, all relative. Nothing
//! here fuses, so results have the same bits on every machine.

use crate::enclosure::Enclosure;
use rug::Float;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// high + low, |low| <= half a unit in the last place of high.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Dd {
    pub(super) high: f64,
    pub(super) low: f64,
}

/// s + e = a + b exactly (Knuth).
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let from_b = s - a;
    (s, (a - (s - from_b)) + (b - from_b))
}

/// s + e = a + b exactly for |a| >= |b| or a = 0 (Dekker).
#[inline(always)]
fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    (s, b - (s - a))
}

/// x = h + l exactly with at most 26 bits each (Veltkamp), for |x| < 2^996.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    let c = 134_217_729.0 * x;
    let h = c - (c - x);
    (h, x - h)
}

/// p + e = a b exactly (Dekker), unless e leaves the normal range.
#[inline(always)]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    let p = a * b;
    (p, ((ah * bh - p) + ah * bl + al * bh) + al * bl)
}

impl Dd {
    pub(super) const ZERO: Dd = Dd { high: 0.0, low: 0.0 };

    pub(super) const fn new(x: f64) -> Dd {
        Dd { high: x, low: 0.0 }
    }

    /// a + b for any two numbers, renormalised.
    #[inline(always)]
    pub(super) fn sum(a: f64, b: f64) -> Dd {
        let (high, low) = two_sum(a, b);
        Dd { high, low }
    }

    /// The nearest double-double to the midpoint of an enclosure of 150 bits or more: off by at most u^2.
    pub(super) fn of(x: &Enclosure) -> Dd {
        let middle = x.midpoint();
        let high = middle.to_f64();
        let low = Float::with_val(middle.prec(), &middle - high).to_f64();
        Dd { high, low }
    }

    /// x 2^n
    #[inline(always)]
    pub(super) fn scaled(self, by: f64) -> Dd {
        Dd { high: self.high * by, low: self.low * by }
    }

    #[inline(always)]
    pub(super) fn half(self) -> Dd {
        self.scaled(0.5)
    }
}

impl Add for Dd {
    type Output = Dd;
    #[inline(always)]
    fn add(self, other: Dd) -> Dd {
        let (s, e) = two_sum(self.high, other.high);
        let (t, f) = two_sum(self.low, other.low);
        let (s, e) = fast_two_sum(s, e + t);
        let (high, low) = fast_two_sum(s, e + f);
        Dd { high, low }
    }
}

impl Neg for Dd {
    type Output = Dd;
    #[inline(always)]
    fn neg(self) -> Dd {
        Dd { high: -self.high, low: -self.low }
    }
}

impl Sub for Dd {
    type Output = Dd;
    #[inline(always)]
    fn sub(self, other: Dd) -> Dd {
        self + -other
    }
}

impl Mul for Dd {
    type Output = Dd;
    #[inline(always)]
    fn mul(self, other: Dd) -> Dd {
        let (p, e) = two_product(self.high, other.high);
        let (high, low) = fast_two_sum(p, e + (self.high * other.low + self.low * other.high));
        Dd { high, low }
    }
}

impl Div for Dd {
    type Output = Dd;
    #[inline(always)]
    fn div(self, other: Dd) -> Dd {
        let q = self.high / other.high;
        let rest = self - other * Dd::new(q);
        let (high, low) = fast_two_sum(q, rest.high / other.high);
        Dd { high, low }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rug::Rational;

    fn exact(x: Dd) -> Rational {
        Rational::from_f64(x.high).unwrap() + Rational::from_f64(x.low).unwrap()
    }

    #[test]
    fn operations_keep_their_bounds() {
        let mut state = 3u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let x = (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
            x * 2f64.powi(((state >> 3) % 40) as i32 - 20)
        };
        for _ in 0..20_000 {
            let mut number = || {
                let high = next();
                Dd::sum(high, next() * f64::EPSILON * high.abs() / 4.0)
            };
            let (a, b) = (number(), number());
            let (x, y) = (exact(a), exact(b));
            let within = |found: Dd, expected: Rational, bound: u32, what: &str| {
                let error = (exact(found) - &expected).abs();
                assert!(error <= (expected.abs() * bound) >> 106u32, "{what} {a:?} {b:?}");
            };
            within(a + b, Rational::from(&x + &y), 4, "sum");
            within(a - b, Rational::from(&x - &y), 4, "difference");
            within(a * b, Rational::from(&x * &y), 7, "product");
            if b.high != 0.0 {
                within(a / b, Rational::from(&x / &y), 16, "quotient");
            }
        }
    }
}
