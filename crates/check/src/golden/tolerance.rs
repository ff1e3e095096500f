//! How far off a result may be: one figure for the tensor and one for each element.
//!
//! Both are stated for an engine that does its sums in a given type, f32 or f64, and compare with the f64 result, so both
//! include the rounding to the case's type. u is the larger unit roundoff of that arithmetic and the case's type.
//!
//! - **The twin.** The plain engine in that arithmetic, its results rounded to the case's type, is off by at most `twin`. A good
//!   kernel sums in another order and so has other errors of the same size: allowed is `limit` = 4 twin + 4 u max |expected|. The
//!   second part is for tensors on which the twin happens to be exact.
//! - **rtol and atol.** |actual - expected| <= atol + rtol |expected| for each element, with rtol = 4 u, and atol the smallest
//!   number for which this holds wherever the error is within the [allowance](crate::allowance) that is derived for that element from the
//!   formulas, and half a unit in the last place. Absent where the allowances have no bound: a score beyond the arithmetic's range.
//!
//! Figures are rounded up to three decimal digits.

use crate::allowance::Bound;
use crate::report::unit_in_last_place;
use contattn_core::Dtype;
use serde::{Deserialize, Serialize};

/// Multiple of the twin's error.
const TWIN_MULTIPLE: f64 = 4.0;

/// Roundings of the largest element that are allowed beside it.
const TWIN_ROUNDINGS: f64 = 4.0;

/// rtol in units of u.
const RELATIVE: f64 = 4.0;

/// What is allowed of one result in one arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// largest error of the plain engine in this arithmetic
    pub twin: f64,
    /// largest error that is allowed by that
    pub limit: f64,
    /// allowed in units of |expected|, added to `atol`
    pub rtol: Option<f64>,
    /// allowed in units of 1
    pub atol: Option<f64>,
}

/// By the type in which an engine does its sums.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerances {
    /// for sums in f32
    pub f32: Tolerance,
    /// for sums in f64
    pub f64: Tolerance,
}

impl Tolerances {
    /// Of an engine whose sums are in this type: f32 for every type but f64.
    pub fn of(&self, arithmetic: Dtype) -> &Tolerance {
        if arithmetic == Dtype::F64 { &self.f64 } else { &self.f32 }
    }
}

/// A run of elements of a result.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// correctly rounded to f64
    pub exact: &'a [f64],
    /// what the plain engine in this arithmetic finds
    pub twin: &'a [f64],
    /// allowances
    pub bounds: &'a [Bound],
}

impl Tolerance {
    /// Derives it for a result of type `dtype` of an engine whose sums are in `arithmetic`.
    pub fn derive(parts: &[Part<'_>], dtype: Dtype, arithmetic: Dtype) -> Tolerance {
        let u = dtype.unit_roundoff().max(arithmetic.unit_roundoff());
        let rtol = RELATIVE * u;
        let (mut twin, mut largest, mut atol) = (0.0f64, 0.0f64, 0.0f64);
        for part in parts {
            for ((&exact, &found), bound) in part.exact.iter().zip(part.twin).zip(part.bounds) {
                // Infinities and NaN are equal or wrong; what overflows the type is infinite there.
                if !exact.is_finite() || !dtype.round(exact).is_finite() {
                    continue;
                }
                largest = largest.max(exact.abs());
                twin = twin.max((found - exact).abs());
                let half = 0.5 * unit_in_last_place(exact, dtype);
                atol = atol.max(bound.allowed + half - rtol * exact.abs());
                if bound.allowed.is_nan() {
                    atol = f64::INFINITY;
                }
            }
        }
        let limit = TWIN_MULTIPLE * twin + TWIN_ROUNDINGS * u * largest + dtype.smallest_subnormal();
        let bounded = atol.is_finite();
        Tolerance {
            twin: if twin.is_finite() { twin } else { f64::MAX },
            limit: upwards(limit),
            rtol: bounded.then(|| upwards(rtol)),
            atol: bounded.then(|| upwards(atol)),
        }
    }

    /// What rtol and atol allow at this number.
    pub fn at(&self, expected: f64) -> Option<f64> {
        Some(self.atol? + self.rtol? * expected.abs())
    }
}

/// A number of three decimal digits that is not below x; x itself where there is none.
fn upwards(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    if !x.is_finite() {
        return f64::MAX;
    }
    let text = format!("{x:.2e}");
    let read = |text: &str| text.parse::<f64>().ok().filter(|y| y.is_finite());
    let Some(near) = read(&text) else { return x };
    if near >= x {
        return near;
    }
    // One more in the last of the three digits.
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let next = digits.parse::<f64>().map(|d| format!("{:.2}e{exponent}", d + 0.01)).ok();
    next.and_then(|text| read(&text)).filter(|y| *y >= x).unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Wide;

    #[test]
    fn upwards_is_the_next_number_of_three_digits() {
        for (x, expected) in [(1.0, 1.0), (1.0001, 1.01), (9.999, 10.0), (2.5e-300, 2.5e-300), (1.2345e-7, 1.24e-7)] {
            assert_eq!(upwards(x), expected);
        }
        for bits in (1..0x7fefu64).step_by(37) {
            let x = f64::from_bits(bits << 48 | 0x1234);
            let up = upwards(x);
            assert!(up >= x && (up <= x * 1.011 || x < 1e-300), "{x:e} {up:e}");
        }
        assert_eq!(upwards(f64::MAX), f64::MAX);
    }

    #[test]
    fn both_figures_by_hand() {
        // In f32, u = 2^-24. The twin is off by 2^-20 at the element 2, whose allowance is 2^-18; half a unit there is 2^-23.
        let p = |n: i32| libm::ldexp(1.0, n);
        let bound = |value: f64, allowed| Bound { value: Wide::from_f64(value), allowed };
        let parts = [
            Part { exact: &[2.0], twin: &[2.0 + p(-20)], bounds: &[bound(2.0, p(-18))] },
            Part { exact: &[f64::NEG_INFINITY], twin: &[f64::NEG_INFINITY], bounds: &[bound(0.0, 0.0)] },
        ];
        let tolerance = Tolerance::derive(&parts, Dtype::F32, Dtype::F32);
        assert_eq!(tolerance.twin, p(-20));
        assert_eq!(tolerance.limit, upwards(4.0 * p(-20) + 4.0 * p(-24) * 2.0));
        assert_eq!(tolerance.rtol, Some(upwards(p(-22))));
        assert_eq!(tolerance.atol, Some(upwards(p(-18) + p(-23) - p(-22) * 2.0)));
        let vacuous = [Part { exact: &[2.0], twin: &[2.0], bounds: &[bound(2.0, f64::INFINITY)] }];
        assert_eq!(Tolerance::derive(&vacuous, Dtype::F32, Dtype::F32).atol, None);
    }
}
