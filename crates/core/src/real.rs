//! The two floating-point types that engines calculate in.

use crate::dtype::Element;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// `f32` or `f64`, with the elementary functions that the operator needs.
///
/// The functions come from the crate `libm`, so a result has the same bits on every platform.
pub trait Real:
    Element
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// Largest finite number.
    const MAX: Self;
    /// -infinity
    const NEG_INFINITY: Self;
    /// NaN
    const NAN: Self;

    /// e^x
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// |x|
    fn abs(self) -> Self;
    /// The larger one; the other where one is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller one; the other where one is NaN.
    fn min(self, other: Self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Not a number.
    fn is_nan(self) -> bool;
}

macro_rules! real {
    ($t:ident, $exp:ident, $log:ident, $fabs:ident, $fmax:ident, $fmin:ident) => {
        impl Real for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const MAX: $t = $t::MAX;
            const NEG_INFINITY: $t = $t::NEG_INFINITY;
            const NAN: $t = $t::NAN;
            #[inline]
            fn exp(self) -> $t {
                libm::$exp(self)
            }
            #[inline]
            fn ln(self) -> $t {
                libm::$log(self)
            }
            #[inline]
            fn abs(self) -> $t {
                libm::$fabs(self)
            }
            #[inline]
            fn max(self, other: $t) -> $t {
                libm::$fmax(self, other)
            }
            #[inline]
            fn min(self, other: $t) -> $t {
                libm::$fmin(self, other)
            }
            #[inline]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            #[inline]
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }
        }
    };
}
real!(f64, exp, log, fabs, fmax, fmin);
real!(f32, expf, logf, fabsf, fmaxf, fminf);
