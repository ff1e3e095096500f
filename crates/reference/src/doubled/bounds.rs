//! Constants of the error bounds, and rounding within them.

use super::dd::{Dd, two_sum};
use crate::rounding::{Rounded, Settled};
use contattn_core::Dtype;

/// Relative error of a share.
pub(super) const THETA: f64 = 1.0 / (1u128 << 79) as f64;
/// u^2
pub(super) const UNIT_SQUARED: f64 = 1.0 / (1u128 << 106) as f64;
/// What the bounds' own roundings can take away from them.
pub(super) const SLACK: f64 = 1.001;

/// What is known of a result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Estimate {
    /// it is 0 exactly
    Zero,
    /// it differs from `value` by at most `bound`
    Within { value: Dd, bound: f64 },
}

impl Estimate {
    /// The number of the type that everything within the bound rounds to, where there is one.
    pub(super) fn settle(self, dtype: Dtype) -> Option<Rounded> {
        let value = match self {
            Estimate::Zero => Some(0.0),
            Estimate::Within { value, bound } => settle(dtype, value, bound),
        };
        value.map(|value| Rounded { value, settled: Settled::DoubleDouble })
    }
}

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
