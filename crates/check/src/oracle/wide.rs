//! Numbers of twice the precision of `f64`: the unevaluated sum of two.
//!
//! Error bounds, relative unless said: sums of numbers of one sign, products, quotients and roots 2^-102; sums of any signs
//! 2^-104 of the larger term; [`Wide::exp`] 2^-95 (1 + |x| 2^-8); [`Wide::ln`] 2^-95 absolute near 1, relative elsewhere. They
//! hold away from the ends of the range of `f64`; everything here stays away from them by scaling with powers of two.

use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// `high + low`, |low| at most half a unit in the last place of `high`; `low` is 0 where `high` is infinite or NaN.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Wide {
    high: f64,
    low: f64,
}

/// s + e = a + b exactly, s the rounded sum (Knuth 1969).
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let from_b = s - a;
    (s, (a - (s - from_b)) + (b - from_b))
}

impl Wide {
    /// 0
    pub const ZERO: Wide = Wide { high: 0.0, low: 0.0 };
    /// 1
    pub const ONE: Wide = Wide { high: 1.0, low: 0.0 };
    /// ln 2 = 0.693147180559945309417232121458176568...
    pub const LN_2: Wide = Wide { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };

    /// An `f64`, exactly.
    pub const fn from_f64(x: f64) -> Wide {
        Wide { high: x, low: 0.0 }
    }

    /// a + b exactly, overflow apart.
    pub fn sum_of(a: f64, b: f64) -> Wide {
        Wide::normal(two_sum(a, b))
    }

    /// a b exactly, overflow and underflow apart.
    pub fn product_of(a: f64, b: f64) -> Wide {
        let p = a * b;
        Wide::normal((p, a.mul_add(b, -p)))
    }

    fn normal((high, low): (f64, f64)) -> Wide {
        if !high.is_finite() {
            return Wide { high, low: 0.0 };
        }
        let (high, low) = two_sum(high, low);
        Wide { high, low: if high.is_finite() { low } else { 0.0 } }
    }

    /// Rounded to `f64`.
    pub const fn to_f64(self) -> f64 {
        self.high
    }

    /// What [`to_f64`](Wide::to_f64) leaves.
    pub const fn rest(self) -> f64 {
        self.low
    }

    /// Neither infinite nor NaN.
    pub const fn is_finite(self) -> bool {
        self.high.is_finite()
    }

    /// |x|
    #[must_use]
    pub fn abs(self) -> Wide {
        if self.high < 0.0 { -self } else { self }
    }

    /// The larger one.
    #[must_use]
    pub fn max(self, other: Wide) -> Wide {
        if other > self { other } else { self }
    }

    /// x 2^n; inexact only where it leaves the range of `f64`.
    #[must_use]
    pub fn times_power_of_two(self, n: i32) -> Wide {
        Wide::normal((libm::ldexp(self.high, n), libm::ldexp(self.low, n)))
    }

    /// (m, e) with x = m 2^e, |m| in [1/2, 1); (0, 0) for 0.
    pub fn mantissa_and_exponent(self) -> (Wide, i32) {
        let (_, exponent) = libm::frexp(self.high);
        // Two steps, since 2^1074 is not an f64's power.
        let half = -exponent / 2;
        (self.times_power_of_two(half).times_power_of_two(-exponent - half), exponent)
    }

    /// 1/sqrt(x) for x > 0.
    #[must_use]
    pub fn inverse_sqrt(self) -> Wide {
        // y + y (1 - x y^2)/2 squares the relative error of y.
        let mut y = Wide::from_f64(1.0 / libm::sqrt(self.high));
        for _ in 0..2 {
            y += y * (Wide::ONE - self * y * y) * Wide::from_f64(0.5);
        }
        y
    }

    /// e^x; below 2^-1022 only its absolute error of 2^-1074 is small.
    #[must_use]
    pub fn exp(self) -> Wide {
        if self.high.is_nan() {
            return self;
        }
        if self.high < -746.0 {
            return Wide::ZERO;
        }
        if self.high > 709.7 {
            return Wide::from_f64(f64::INFINITY);
        }
        // x = k ln 2 + 64 r; then e^x - 1 from e^r - 1 = p by six doublings, (1 + p)^2 - 1 = 2p + p^2.
        let k = libm::rint(self.high / std::f64::consts::LN_2);
        let r = (self - Wide::LN_2 * Wide::from_f64(k)).times_power_of_two(-6);
        // |r| < 0.0055: the first term left out, r^13/13!, is below 2^-128.
        let mut p = Wide::ZERO;
        for factorial_step in (1..=12).rev() {
            // p = r/1 (1 + r/2 (1 + r/3 (...)))
            p = (p + Wide::ONE) * r * RECIPROCALS[factorial_step];
        }
        for _ in 0..6 {
            p = p.times_two() + p * p;
        }
        (p + Wide::ONE).times_power_of_two(k as i32)
    }

    fn times_two(self) -> Wide {
        Wide { high: 2.0 * self.high, low: 2.0 * self.low }
    }

    /// ln x for x > 0; -infinity for 0.
    #[must_use]
    pub fn ln(self) -> Wide {
        if self.high == 0.0 {
            return Wide::from_f64(f64::NEG_INFINITY);
        }
        if !self.is_finite() {
            return self;
        }
        // With m near 1, ln m = y + (m e^-y - 1) squares the error of y; twice.
        let (mantissa, exponent) = self.mantissa_and_exponent();
        let (m, exponent) = if mantissa.high < std::f64::consts::FRAC_1_SQRT_2 {
            (mantissa.times_two(), exponent - 1)
        } else {
            (mantissa, exponent)
        };
        let mut y = Wide::from_f64(libm::log(m.high));
        for _ in 0..2 {
            y += m * (-y).exp() - Wide::ONE;
        }
        y + Wide::LN_2 * Wide::from_f64(f64::from(exponent))
    }
}

/// 1/n.
const RECIPROCALS: [Wide; 13] = reciprocals();

const fn reciprocals() -> [Wide; 13] {
    let mut table = [Wide::ZERO; 13];
    let mut n = 1;
    while n < 13 {
        let high = 1.0 / n as f64;
        // 1 - n high is exact: n has 4 bits, so the product has at most 57, and the sum cancels all but its tail.
        let (product, error) = exact_product(n as f64, high);
        table[n] = Wide { high, low: ((1.0 - product) - error) / n as f64 };
        n += 1;
    }
    table
}

/// a b = p + e by Dekker's splitting, for constants.
const fn exact_product(a: f64, b: f64) -> (f64, f64) {
    const SPLIT: f64 = 134_217_729.0; // 2^27 + 1
    let p = a * b;
    let (ca, cb) = (SPLIT * a, SPLIT * b);
    let (a1, b1) = (ca - (ca - a), cb - (cb - b));
    let (a2, b2) = (a - a1, b - b1);
    (p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2)
}

impl From<f64> for Wide {
    fn from(x: f64) -> Wide {
        Wide::from_f64(x)
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Wide) -> Option<Ordering> {
        match self.high.partial_cmp(&other.high) {
            Some(Ordering::Equal) => self.low.partial_cmp(&other.low),
            order => order,
        }
    }
}

impl Neg for Wide {
    type Output = Wide;
    fn neg(self) -> Wide {
        Wide { high: -self.high, low: -self.low }
    }
}

impl Add for Wide {
    type Output = Wide;
    fn add(self, other: Wide) -> Wide {
        let (s, e) = two_sum(self.high, other.high);
        let (t, f) = two_sum(self.low, other.low);
        if !s.is_finite() {
            return Wide { high: s, low: 0.0 };
        }
        let (s, e) = two_sum(s, e + t);
        Wide::normal((s, e + f))
    }
}

impl Sub for Wide {
    type Output = Wide;
    fn sub(self, other: Wide) -> Wide {
        self + (-other)
    }
}

impl Mul for Wide {
    type Output = Wide;
    fn mul(self, other: Wide) -> Wide {
        let p = self.high * other.high;
        let e = self.high.mul_add(other.high, -p);
        Wide::normal((p, e + (self.high * other.low + self.low * other.high)))
    }
}

impl Mul<f64> for Wide {
    type Output = Wide;
    fn mul(self, other: f64) -> Wide {
        self * Wide::from_f64(other)
    }
}

impl Div for Wide {
    type Output = Wide;
    fn div(self, other: Wide) -> Wide {
        let first = self.high / other.high;
        if !first.is_finite() || !other.is_finite() {
            return Wide { high: first, low: 0.0 };
        }
        let rest = self - other * first;
        let second = rest.high / other.high;
        let rest = rest - other * second;
        Wide::sum_of(first, second) + Wide::from_f64(rest.high / other.high)
    }
}

impl AddAssign for Wide {
    fn add_assign(&mut self, other: Wide) {
        *self = *self + other;
    }
}

impl SubAssign for Wide {
    fn sub_assign(&mut self, other: Wide) {
        *self = *self - other;
    }
}

impl std::iter::Sum for Wide {
    fn sum<I: Iterator<Item = Wide>>(terms: I) -> Wide {
        terms.fold(Wide::ZERO, |sum, term| sum + term)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of these literals has all the digits: each is the f64 nearest what the ones before it leave.
    fn close(x: Wide, high: f64, low: f64, relative: f64) {
        let error = (x - Wide::sum_of(high, low)).to_f64();
        assert!(error.abs() <= relative * high.abs(), "{x:?} against {high:e} + {low:e}: {error:e}");
    }

    #[test]
    fn constants_from_tables_of_digits() {
        // e = 2.71828182845904523536028747135266249775724709...: OEIS A001113.
        close(Wide::ONE.exp(), std::f64::consts::E, 1.4456468917292502e-16, 1e-28);
        // ln 10 = 2.302585092994045684017991454684364207601101488...: OEIS A002392.
        close(Wide::from_f64(10.0).ln(), std::f64::consts::LN_10, -2.1707562233822494e-16, 1e-28);
        // sqrt(1/2) = 0.70710678118654752440084436210484903928...: OEIS A010503.
        close(Wide::from_f64(2.0).inverse_sqrt(), std::f64::consts::FRAC_1_SQRT_2, -4.833646656726457e-17, 1e-30);
    }

    #[test]
    fn exp_and_ln_undo_each_other() {
        for i in -900..900 {
            let x = Wide::from_f64(f64::from(i) * 0.75) + Wide::from_f64(1e-20);
            if x.to_f64().abs() > 690.0 {
                continue;
            }
            let back = x.exp().ln() - x;
            assert!(back.to_f64().abs() < 1e-27 * x.to_f64().abs().max(1.0), "{x:?} {back:?}");
            let product = x.exp() * (-x).exp() - Wide::ONE;
            assert!(product.to_f64().abs() < 1e-27 * x.to_f64().abs().max(1.0), "{x:?} {product:?}");
        }
    }

    #[test]
    fn a_third_three_times_is_one() {
        let third = Wide::ONE / Wide::from_f64(3.0);
        assert!((third * 3.0 - Wide::ONE).to_f64().abs() < 1e-31);
        assert!((RECIPROCALS[7] * 7.0 - Wide::ONE).to_f64().abs() < 1e-31);
        let (m, e) = Wide::from_f64(f64::from_bits(3)).mantissa_and_exponent();
        assert_eq!((m.to_f64(), e), (0.75, -1072));
    }

    #[test]
    fn infinities_stay_infinities() {
        let inf = Wide::from_f64(f64::INFINITY);
        assert_eq!((inf + Wide::ONE).to_f64(), f64::INFINITY);
        assert_eq!((Wide::from_f64(1e308) * 10.0).to_f64(), f64::INFINITY);
        assert_eq!((Wide::ONE / Wide::ZERO).to_f64(), f64::INFINITY);
        assert_eq!((-inf).exp(), Wide::ZERO);
        assert!((inf - inf).to_f64().is_nan());
    }
}
