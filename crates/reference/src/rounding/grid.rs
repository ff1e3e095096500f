//! The numbers of a floating-point type, and one rounding to them.

use contattn_core::Dtype;
use half::{bf16, f16};
use rug::{Float, Integer, Rational};

/// The numbers of a type as a grid.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    dtype: Dtype,
    /// bits of the significand
    precision: i32,
    /// exponent of the smallest positive number
    smallest: i32,
    /// the smallest power of two beyond the largest number
    beyond: i32,
}

impl Grid {
    /// Of a type.
    pub const fn of(dtype: Dtype) -> Grid {
        let (precision, smallest, beyond) = match dtype {
            Dtype::F64 => (53, -1074, 1024),
            Dtype::F32 => (24, -149, 128),
            Dtype::F16 => (11, -24, 16),
            Dtype::BF16 => (8, -133, 128),
        };
        Grid { dtype, precision, smallest, beyond }
    }

    /// Exponent of the distance between neighbours around numbers in [2^(e-1), 2^e).
    fn quantum(&self, e: i64) -> i64 {
        (e - i64::from(self.precision)).max(i64::from(self.smallest))
    }

    /// Position of a number among all of the type, infinities included: neighbours differ by 1, zeros are 0.
    pub fn index(&self, x: f64) -> i64 {
        let magnitude = match self.dtype {
            Dtype::F64 => x.abs().to_bits() as i64,
            Dtype::F32 => i64::from((x.abs() as f32).to_bits()),
            Dtype::F16 => i64::from(f16::from_f64(x.abs()).to_bits()),
            Dtype::BF16 => i64::from(bf16::from_f64(x.abs()).to_bits()),
        };
        if x.is_sign_negative() { -magnitude } else { magnitude }
    }

    /// A number as the rounding sees it: infinity stands where the next number would.
    fn place(&self, x: f64) -> Rational {
        if x.is_finite() {
            return Rational::from_f64(x).unwrap_or_default();
        }
        let beyond = Rational::from(Integer::from(1) << self.beyond.unsigned_abs());
        if x < 0.0 { -beyond } else { beyond }
    }

    /// The middle between two neighbours.
    pub fn border(&self, low: f64, high: f64) -> Rational {
        (self.place(low) + self.place(high)) >> 1u32
    }

    fn value(&self, multiple: &Integer, quantum: i64) -> f64 {
        // At most 53 bits and in range, or beyond the largest number.
        let x = Float::with_val(64, multiple) << quantum as i32;
        let value = x.to_f64();
        if value.abs() >= 2f64.powi(self.beyond.min(1023)) && self.beyond < 1024 {
            f64::INFINITY.copysign(value)
        } else {
            value
        }
    }
}

/// To nearest, ties to even, in one rounding, into subnormals and to infinities; the zero of a negative number is -0, that
/// of a zero +0. The result is widened to `f64`.
///
/// # Panics
/// For NaN.
pub fn round_float(dtype: Dtype, x: &Float) -> f64 {
    assert!(!x.is_nan());
    let grid = Grid::of(dtype);
    let sign = if x.is_sign_negative() && !x.is_zero() { -1.0 } else { 1.0 };
    let Some(e) = x.get_exp() else {
        return if x.is_infinite() { sign * f64::INFINITY } else { 0.0 };
    };
    if e > grid.beyond {
        return sign * f64::INFINITY;
    }
    if e < grid.smallest - 1 {
        return sign * 0.0; // below half the smallest number
    }
    let quantum = grid.quantum(i64::from(e));
    let scaled = Float::with_val(x.prec(), x >> quantum as i32);
    let multiple = scaled.round_even().to_integer().unwrap_or_default();
    grid.value(&multiple.abs(), quantum) * sign
}

/// [`round_float`] for a rational number.
pub fn round_rational(dtype: Dtype, x: &Rational) -> f64 {
    if x.is_zero() {
        return 0.0;
    }
    let grid = Grid::of(dtype);
    let sign = if *x < 0 { -1.0 } else { 1.0 };
    let size = x.clone().abs();
    // 2^(e-1) <= |x| < 2^e, up to one too many in e, which is put right.
    let mut e = i64::from(size.numer().significant_bits()) - i64::from(size.denom().significant_bits()) + 1;
    let two = |e: i64| if e >= 0 { Rational::from(1) << e as u32 } else { Rational::from(1) >> (-e) as u32 };
    if size < two(e - 1) {
        e -= 1;
    }
    let quantum = grid.quantum(e);
    let scaled = size * two(-quantum);
    let (below, rest) = scaled.fract_floor(Integer::new());
    let half = Rational::from((1, 2));
    let up = below > half || (below == half && rest.is_odd());
    let multiple = if up { rest + 1u32 } else { rest };
    grid.value(&multiple, quantum) * sign
}

#[cfg(test)]
mod tests {
    use super::*;
    use contattn_core::Element;

    /// f64 inputs against the conversions in core and the standard library.
    #[test]
    fn f64_inputs_round_as_core_rounds_them() {
        let mut state = 9u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let exponent =
                [0u64, 1, 1023, 1023 + 15, 1023 - 14, 1023 - 24, 1023 - 25, 1023 + 127, 1023 - 126, 1023 - 133]
                    [(state >> 60) as usize % 10];
            let mantissa = match (state >> 57) & 3 {
                0 => (state >> 12) & !((1 << 41) - 1), // on the grids and their middles
                1 => ((state >> 12) & !((1 << 41) - 1)) | 1,
                _ => state >> 12,
            };
            let x = f64::from_bits((state & (1 << 63)) | (exponent << 52) | (mantissa & ((1 << 52) - 1)));
            let float = Float::with_val(53, x);
            let rational = Rational::from_f64(x).unwrap();
            for dtype in Dtype::ALL {
                let expected = dtype.round(x);
                assert_eq!(round_float(dtype, &float).to_bits(), expected.to_bits(), "{x:e} {dtype}");
                let expected = if x == 0.0 { 0.0 } else { expected };
                assert_eq!(round_rational(dtype, &rational).to_bits(), expected.to_bits(), "{x:e} {dtype}");
            }
            let _ = f16::rounded(x);
        }
    }

    /// Either side of every border that a double rounding would lose, in more bits than an `f64` has.
    #[test]
    fn one_rounding_however_close_to_a_border() {
        for dtype in Dtype::ALL {
            let grid = Grid::of(dtype);
            for (low, high) in [
                (0.0, dtype.smallest_subnormal()),
                (dtype.smallest_subnormal(), 2.0 * dtype.smallest_subnormal()),
                (1.0, 1.0 + 2.0 * dtype.unit_roundoff()),
                (dtype.max(), f64::INFINITY),
            ] {
                assert_eq!(grid.index(high) - grid.index(low), 1);
                let border = grid.border(low, high);
                let even = if grid.index(low) % 2 == 0 { low } else { high };
                assert_eq!(round_rational(dtype, &border), even);
                let hair = Rational::from(1) >> 1400u32;
                let (above, below) = (Rational::from(&border + &hair), Rational::from(&border - &hair));
                assert_eq!(round_rational(dtype, &above), high, "{dtype}");
                assert_eq!(round_rational(dtype, &below), low, "{dtype}");
                let float = |x: &Rational| Float::with_val(3000, x);
                assert_eq!(round_float(dtype, &float(&above)), high);
                assert_eq!(round_float(dtype, &float(&below)), low);
                assert_eq!(round_float(dtype, &float(&border)), even);
                assert_eq!(round_float(dtype, &-float(&above)), -high);
            }
        }
    }
}
