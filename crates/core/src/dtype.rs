//! The four floating-point types that tensors may hold, and exact conversion to and correct rounding from `f64`.

use half::{bf16, f16};
use std::fmt;

/// Element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: binary32 with its significand cut to 8 bits.
    BF16,
}

impl Dtype {
    /// Every type, widest first.
    pub const ALL: [Dtype; 4] = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::F64 => 8,
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::BF16 => 2,
        }
    }

    /// Bits of the significand, the implicit one included.
    pub const fn precision(self) -> u32 {
        match self {
            Dtype::F64 => 53,
            Dtype::F32 => 24,
            Dtype::F16 => 11,
            Dtype::BF16 => 8,
        }
    }

    /// Unit roundoff u: rounding a number in the normal range errs by at most u times its size.
    pub fn unit_roundoff(self) -> f64 {
        libm::ldexp(1.0, -(self.precision() as i32))
    }

    /// Smallest positive (subnormal) number.
    pub fn smallest_subnormal(self) -> f64 {
        match self {
            Dtype::F64 => f64::from_bits(1),
            Dtype::F32 => f64::from(f32::from_bits(1)),
            Dtype::F16 => f64::from(f16::from_bits(1)),
            Dtype::BF16 => f64::from(bf16::from_bits(1)),
        }
    }

    /// Largest finite number.
    pub fn max(self) -> f64 {
        match self {
            Dtype::F64 => f64::MAX,
            Dtype::F32 => f64::from(f32::MAX),
            Dtype::F16 => f64::from(f16::MAX),
            Dtype::BF16 => f64::from(bf16::MAX),
        }
    }

    /// Type of `lse` for outputs of this type: `f32` for the 16-bit types, else the type itself.
    pub const fn lse(self) -> Dtype {
        match self {
            Dtype::F64 => Dtype::F64,
            Dtype::F32 | Dtype::F16 | Dtype::BF16 => Dtype::F32,
        }
    }

    /// The name used on the command line and in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F64 => "f64",
            Dtype::F32 => "f32",
            Dtype::F16 => "f16",
            Dtype::BF16 => "bf16",
        }
    }

    /// The type with this [`name`](Dtype::name).
    pub fn from_name(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Rounds `x` once, to nearest with ties to even, to this type; returned widened to `f64`, which is exact.
    pub fn round(self, x: f64) -> f64 {
        match self {
            Dtype::F64 => x,
            Dtype::F32 => f64::from(x as f32),
            Dtype::F16 => f64::from(f16::rounded(x)),
            Dtype::BF16 => f64::from(bf16::rounded(x)),
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type that a tensor may hold.
pub trait Element: Copy + Default + Send + Sync + fmt::Debug + PartialEq + 'static {
    /// Its name as data.
    const DTYPE: Dtype;
    /// Exact widening.
    fn widen(self) -> f64;
    /// One rounding, to nearest with ties to even, into subnormals and to infinity as well; NaN stays NaN.
    ///
    /// Not called `from_f64`: `half` has an inherent method of that name, which would win over this one and rounds twice.
    fn rounded(x: f64) -> Self;
}

impl Element for f64 {
    const DTYPE: Dtype = Dtype::F64;
    fn widen(self) -> f64 {
        self
    }
    fn rounded(x: f64) -> f64 {
        x
    }
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
    fn widen(self) -> f64 {
        f64::from(self)
    }
    fn rounded(x: f64) -> f32 {
        x as f32
    }
}

impl Element for f16 {
    const DTYPE: Dtype = Dtype::F16;
    fn widen(self) -> f64 {
        f64::from(self)
    }
    fn rounded(x: f64) -> f16 {
        f16::from_f32(round_to_odd_f32(x))
    }
}

impl Element for bf16 {
    const DTYPE: Dtype = Dtype::BF16;
    fn widen(self) -> f64 {
        f64::from(self)
    }
    fn rounded(x: f64) -> bf16 {
        bf16::from_f32(round_to_odd_f32(x))
    }
}

/// Rounds to `f32` towards zero and sets the last bit where that was inexact ("round to odd").
///
/// A second rounding to a type with at least two bits fewer, at every place of its range, then equals one rounding of `x`
/// (Boldo and Melquiond 2008). Rounding to nearest twice does not: 1 + 2^-11 + 2^-40 would become the tie 1 + 2^-11 and
/// then 1 in f16, instead of 1 + 2^-10.
fn round_to_odd_f32(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    if back == x || x.is_nan() {
        return nearest;
    }
    // `nearest` is the neighbour on one side of x; step back to the one towards zero if it lies beyond, then force it odd.
    let bits = nearest.to_bits();
    let towards_zero = if back.abs() > x.abs() { bits - 1 } else { bits };
    f32::from_bits(towards_zero | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rounding_into_sixteen_bits() {
        // Worked by hand: 1 + 2^-11 is the midpoint of 1 and 1 + 2^-10; anything above it rounds up.
        let tie = 1.0 + libm::ldexp(1.0, -11);
        assert_eq!(f16::rounded(tie).to_bits(), 0x3c00);
        assert_eq!(f16::rounded(tie + libm::ldexp(1.0, -40)).to_bits(), 0x3c01);
        assert_eq!(f16::rounded(-tie - libm::ldexp(1.0, -50)).to_bits(), 0xbc01);
        let tie = 1.0 + libm::ldexp(1.0, -8);
        assert_eq!(bf16::rounded(tie).to_bits(), 0x3f80);
        assert_eq!(bf16::rounded(tie + libm::ldexp(1.0, -40)).to_bits(), 0x3f81);
    }

    #[test]
    fn rounding_at_the_ends_of_the_range() {
        assert_eq!(f16::rounded(65520.0), f16::INFINITY); // midpoint of MAX and 2^16: even is 2^16
        assert_eq!(f16::rounded(65520.0 - 1e-9), f16::MAX);
        assert_eq!(f16::rounded(1e300), f16::INFINITY);
        let half_smallest = libm::ldexp(1.0, -25);
        assert_eq!(f16::rounded(half_smallest).to_bits(), 0);
        assert_eq!(f16::rounded(half_smallest * (1.0 + 1e-15)).to_bits(), 1);
        assert_eq!(bf16::rounded(libm::ldexp(1.0, -134)).to_bits(), 0);
        assert_eq!(bf16::rounded(libm::ldexp(1.0, -134) * (1.0 + 1e-15)).to_bits(), 1);
        assert_eq!(bf16::rounded(f64::from_bits(1)).to_bits(), 0);
        assert!(f16::rounded(f64::NAN).is_nan());
        assert_eq!(bf16::rounded(f64::MAX), bf16::INFINITY);
    }

    /// Every 16-bit number, its neighbours and the midpoints between them, a hair to either side: the nearest is found by
    /// comparing distances, which shares nothing with the bit arithmetic above.
    fn midpoints<T: Element>(from_bits: fn(u16) -> T) {
        for bits in 0..0x7fffu16 {
            let (a, b) = (from_bits(bits).widen(), from_bits(bits + 1).widen());
            if !a.is_finite() || !b.is_finite() {
                continue;
            }
            let middle = 0.5 * (a + b);
            let even = if bits % 2 == 0 { a } else { b };
            assert_eq!(T::rounded(middle).widen(), even);
            let next = f64::from_bits(middle.to_bits() + 1);
            let previous = f64::from_bits(middle.to_bits() - 1);
            assert_eq!(T::rounded(next).widen(), b);
            assert_eq!(T::rounded(-previous).widen(), -a);
            assert_eq!(T::rounded(a).widen(), a);
        }
    }

    #[test]
    fn every_midpoint() {
        midpoints(f16::from_bits);
        midpoints(bf16::from_bits);
    }

    #[test]
    fn names_round_trip() {
        for t in Dtype::ALL {
            assert_eq!(Dtype::from_name(t.name()), Some(t));
        }
        assert_eq!(Dtype::from_name("float"), None);
    }
}
