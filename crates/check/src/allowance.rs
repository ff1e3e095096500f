//! The one table of allowances: how far each result of an engine may lie from the exact one.
//!
//! An allowance is a first-order (where stated, a complete) bound on the rounding errors of any sensible way to evaluate the
//! formulas in an arithmetic of unit roundoff u, computed from the data of the problem itself. The four numbers in [`Table`] are
//! all that is chosen; everything else follows from them:
//!
//! | what | relative error | where from |
//! |---|---|---|
//! | score a | e = (head_dim + 8) u \|scale\| sum_c \|q_c k_c\|, absolute | a dot product in any order, inputs, scale and result rounded |
//! | the same | 0 | where the scale is a power of two and products and their sums fit the arithmetic whatever the order |
//! | score at a cut | max(e_left, e_right) + 4 u (\|a_left\| + \|a_right\|) | two products, their sum, the place of the cut |
//! | L, R, h of a segment | r = e + u (SEGMENT + 2 \|max a - A\|), A the row's largest score | below |
//! | P, lse | the largest r of the node's segments; their mean | positive sums keep relative errors |
//! | a sum of N terms | (N + TERMS) u times the sum of absolute values | any order, running rescaling included |
//!
//! **A segment.** L, R and h are integrals of e^{a(s)} against something positive, so a change of the scores by at most e
//! changes each by a factor within e^{+-e}: the error of a score enters once. What is added is rounding: an exponential of a
//! difference (u \|a - A\| from the difference, its own error), x = a_1 - a_0 (phi2 and psi have x f'/f within [-2, 0] at -|x|, so
//! 2u), and the worst factor of the formulas that a good engine uses, which lies at |x| = 1: mass = (E_1 - E_0)/x loses 2.2,
//! R = mass - L or (E_1 - mass)/x another 3.8 (design, section 2), psi likewise. `SEGMENT` = 48 is their product with room for a
//! few roundings more. R = mass - L at |x| >= 1 loses a factor |x| instead and is not covered.
//!
//! **o.** With weights off by factors e^{t_j}, |t_j| <= r_j, exactly
//! o~ - o = sum w_j (e^{t_j} - 1)(v_j - o) / sum w_j e^{t_j}: it is judged against |v_j - o|, so equal values stay equal
//! whatever the scores do, and o never leaves the hull of the visible values by more than a rounding. Sum and quotient add
//! (N + TERMS) u sum w_j |v_j|.
//!
//! **Underflow.** What lies below the smallest normal number of the arithmetic, relative to e^A times the longest duration,
//! may be lost.
//!
//! **Result.** The exact value less and plus the allowance, both rounded to the result's type, enclose the result: that is
//! half a unit in the last place, subnormal or not, and overflow, in one rule ([`Bound::range`]).
//!
//! Where a score lies beyond the arithmetic's largest number nothing is required but that the result is not NaN.

mod backward;
mod forward;

pub use backward::GradientBounds;
pub use forward::{Bounds, RowErrors};

use crate::oracle::Wide;
use contattn_core::Dtype;

/// The numbers that are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table {
    /// roundings of a score beside the head_dim of its dot product
    pub score: f64,
    /// roundings of the interpolated score at a cut, in sizes of its two scores
    pub cut: f64,
    /// roundings of what a segment gives
    pub segment: f64,
    /// roundings of a sum beside one for each term
    pub terms: f64,
}

impl Table {
    /// The allowances of every check.
    pub const STANDARD: Table = Table { score: 8.0, cut: 4.0, segment: 48.0, terms: 16.0 };
}

/// What decides the size of rounding errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// the type in which the engine does its sums
    pub arithmetic: Dtype,
    /// element type of the results
    pub results: Dtype,
    /// whether the gradient was computed from a saved o and lse, which were rounded to the results' type
    pub saved: bool,
    /// the numbers that are chosen
    pub table: Table,
}

impl Precision {
    /// Of results of type `results` from sums in `arithmetic`.
    pub fn new(arithmetic: Dtype, results: Dtype) -> Precision {
        Precision { arithmetic, results, saved: false, table: Table::STANDARD }
    }

    fn unit(&self) -> f64 {
        self.arithmetic.unit_roundoff()
    }

    /// Smallest normal number of the arithmetic.
    fn tiny(&self) -> f64 {
        self.arithmetic.smallest_subnormal() * libm::ldexp(1.0, self.arithmetic.precision() as i32 - 1)
    }

    /// (N + TERMS) u.
    fn sum(&self, terms: usize) -> f64 {
        (terms as f64 + self.table.terms) * self.unit() + crate::oracle::ERROR
    }
}

/// An exact value and how far from it a result may lie before it is rounded to its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// the exact value; NaN where the result must be NaN
    pub value: Wide,
    /// the allowance; infinite where nothing is required but a number, NaN where not even that
    pub allowed: f64,
}

impl Bound {
    /// Nothing is required of the result.
    pub const ANYTHING: Bound = Bound { value: Wide::ZERO, allowed: f64::NAN };

    /// No error allowed but the rounding to the result's type.
    pub const fn exactly(value: Wide) -> Bound {
        Bound { value, allowed: 0.0 }
    }

    /// The smallest and the largest result of this type that is allowed.
    pub fn range(&self, dtype: Dtype) -> (f64, f64) {
        if self.allowed.is_nan() {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        if self.allowed == 0.0 || !self.value.is_finite() {
            let only = dtype.round(self.value.to_f64());
            return (only, only);
        }
        // Rounding to a shorter type goes through f64; one part in 2^50 makes up for it.
        let allowed = self.allowed + if dtype == Dtype::F64 { 0.0 } else { self.value.to_f64().abs() * 2f64.powi(-50) };
        let allowed = Wide::from_f64(allowed);
        (dtype.round((self.value - allowed).to_f64()), dtype.round((self.value + allowed).to_f64()))
    }

    /// Whether a result of this type is right.
    pub fn accepts(&self, actual: f64, dtype: Dtype) -> bool {
        if self.allowed.is_nan() {
            return true;
        }
        if self.value.to_f64().is_nan() {
            return actual.is_nan();
        }
        let (low, high) = self.range(dtype);
        low <= actual && actual <= high
    }
}

/// e^x - 1, kept from overflowing into NaN where it is multiplied by 0.
fn grown(x: f64) -> f64 {
    libm::expm1(x).min(1e300)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_half_a_unit_around_the_exact_value() {
        let third = Bound::exactly(Wide::ONE / Wide::from_f64(3.0));
        for dtype in Dtype::ALL {
            let (low, high) = third.range(dtype);
            assert_eq!((low, high), (dtype.round(1.0 / 3.0), dtype.round(1.0 / 3.0)));
            assert!(third.accepts(low, dtype));
        }
        // One unit of f16 near 1 is 2^-10: an allowance of 0.6 units reaches one number to either side, not two.
        let bound = Bound { value: Wide::ONE, allowed: 0.6 / 1024.0 };
        assert!(bound.accepts(1.0 + 1.0 / 1024.0, Dtype::F16) && !bound.accepts(1.0 + 2.0 / 1024.0, Dtype::F16));
        // Overflow: 65519 rounds to the largest number, 65521 to infinity.
        let bound = Bound { value: Wide::from_f64(65520.0), allowed: 1.0 };
        assert_eq!(bound.range(Dtype::F16), (65504.0, f64::INFINITY));
        let nan = Bound::exactly(Wide::from_f64(f64::NAN));
        assert!(nan.accepts(f64::NAN, Dtype::F32) && !nan.accepts(0.0, Dtype::F32));
        let unknown = Bound { value: Wide::ONE, allowed: f64::INFINITY };
        assert!(unknown.accepts(-1e30, Dtype::F32) && !unknown.accepts(f64::NAN, Dtype::F32));
    }
}
