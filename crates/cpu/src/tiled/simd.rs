//! The vectors of `f32` that the kernels are written in, and the instruction sets that provide them.
//!
//! A kernel is a `Kernel`: generic over `Simd`, every function on its way marked `#[inline(always)]`, so that all of it is
//! compiled inside the one function of its back end that turns the instruction set on (`Simd::vectorize`). A value of a
//! back end proves that the machine has its instructions: it is made by `detect` alone, which can fail. Nothing outside this
//! module's back ends is unsafe.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use contattn_core::EngineError;
use std::fmt;
use std::str::FromStr;

/// How many vectors of queries a block holds: with the keys of a register tile and one key element they fill the registers of
/// every instruction set here.
pub(crate) const VECTORS: usize = 3;

/// 1.5 x 2^23: adding and subtracting it rounds to whole numbers, and the sum has them in its lowest bits.
const MAGIC: f32 = 12_582_912.0;

/// One number for each query of a block.
pub(crate) type Lanes<V> = [V; VECTORS];

/// How many vectors the queries of a block fill, as the kernels count them: one, or all.
#[inline(always)]
pub(crate) const fn vectors<S: Simd>(queries: usize) -> usize {
    if queries <= S::LANES { 1 } else { VECTORS }
}

/// One back end: a vector of `f32` and what is done with it. All arithmetic is lane by lane.
pub(crate) trait Simd: Copy + Send + Sync + 'static {
    /// `LANES` numbers.
    type V: Copy + Send + Sync;
    /// `LANES` truth values.
    type Mask: Copy;
    /// How many lanes a vector has.
    const LANES: usize;
    /// Whether there are 32 registers, which hold a tile of 8 x 3 vectors, and not 16.
    const TALL: bool;
    /// Whether `select` takes one operation or none, and not several.
    const SELECTS: bool;

    /// x in every lane.
    fn splat(self, x: f32) -> Self::V;
    /// The first `LANES` numbers of a slice.
    fn load(self, from: &[f32]) -> Self::V;
    /// Puts the lanes into the first `LANES` numbers of a slice.
    fn store(self, x: Self::V, to: &mut [f32]);
    /// a + b
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// a b
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a b + c
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// a b - c, rounded once
    fn fms(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The larger one; b where either is NaN.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The smaller one; b where either is NaN.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// |x|
    fn abs(self, x: Self::V) -> Self::V;
    /// 1/x to about one rounding; 0 for +-infinity, +-infinity for 0.
    fn recip(self, x: Self::V) -> Self::V;
    /// a b to the nearest whole number n, for |a b| below 2^21, and n again as `scale_or_zero` takes it. The product may be rounded
    /// first.
    fn round_product(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
    /// 2^n p where the mask is set, for whole numbers n in [-126, 127], from `round_product`, and p in [1/2, 2]; 0 elsewhere, whatever n and
    /// p are.
    fn scale_or_zero(self, keep: Self::Mask, p: Self::V, n: Self::V) -> Self::V;
    /// The sum of all lanes.
    fn total(self, x: Self::V) -> f32;
    /// a < b; false for NaN
    fn lt(self, a: Self::V, b: Self::V) -> Self::Mask;
    /// Not a < b; true for NaN
    fn not_lt(self, a: Self::V, b: Self::V) -> Self::Mask;
    /// a <= b; false for NaN
    fn le(self, a: Self::V, b: Self::V) -> Self::Mask;
    /// Both.
    fn and(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `yes` where the mask is set, `no` elsewhere.
    fn select(self, mask: Self::Mask, yes: Self::V, no: Self::V) -> Self::V;
    /// x where the mask is set, 0 elsewhere.
    fn keep(self, mask: Self::Mask, x: Self::V) -> Self::V;
    /// 0 where the mask is set, x elsewhere.
    fn drop(self, mask: Self::Mask, x: Self::V) -> Self::V;
    /// A slice of vectors as the numbers in them.
    fn floats(self, vectors: &[Self::V]) -> &[f32];
    /// The same, to write.
    fn floats_mut(self, vectors: &mut [Self::V]) -> &mut [f32];
    /// Runs a kernel where the back end's instructions are turned on.
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output;
    /// Calls a part of a kernel that is compiled by itself, once for all kernels that call it.
    fn call<R: Routine<Self>>(self, routine: R) -> R::Output;
}

/// A part of a kernel that every rule shares, as a function of its own: a kernel is compiled for each rule, and all that is
/// inlined into it as many times.
pub(crate) trait Routine<S: Simd> {
    /// What it gives.
    type Output;
    /// Does it. Implementations, and all that they call, are `#[inline(always)]`.
    fn run(self, s: S) -> Self::Output;
}

/// Work to be done with whichever vectors there are.
pub(crate) trait Kernel {
    /// What it gives.
    type Output;
    /// Does it. Implementations, and all that they call, are `#[inline(always)]`.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// AVX-512 F, VL, BW and DQ: 16 lanes.
    Avx512,
    /// AVX2 and FMA: 8 lanes.
    Avx2,
    /// Nothing beyond what the compiler assumes: 4 lanes in plain Rust.
    Portable,
}

impl Isa {
    /// All of them, fastest first.
    pub const ALL: [Isa; 3] = [Isa::Avx512, Isa::Avx2, Isa::Portable];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "avx512",
            Isa::Avx2 => "avx2",
            Isa::Portable => "portable",
        }
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        Backend::new(self).is_ok()
    }

    /// The fastest that this machine has.
    pub fn best() -> Isa {
        Isa::ALL.into_iter().find(|isa| isa.is_available()).unwrap_or(Isa::Portable)
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no instruction set's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIsa(pub String);

impl fmt::Display for UnknownIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no instruction set is called {:?}: expected avx512, avx2 or portable", self.0)
    }
}

impl std::error::Error for UnknownIsa {}

impl FromStr for Isa {
    type Err = UnknownIsa;
    fn from_str(name: &str) -> Result<Isa, UnknownIsa> {
        Isa::ALL.into_iter().find(|isa| isa.name() == name).ok_or_else(|| UnknownIsa(name.to_owned()))
    }
}

/// A back end that this machine has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    Portable(portable::Portable),
}

impl Backend {
    pub(crate) fn new(isa: Isa) -> Result<Backend, EngineError> {
        let lacks = |what: &str| EngineError::Unavailable {
            engine: "tiled".to_owned(),
            reason: format!("this machine lacks {what}; choose another instruction set than {isa}"),
        };
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                avx512::Avx512::detect().map(Backend::Avx512).ok_or_else(|| lacks("AVX-512 F, VL, BW and DQ"))
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::Avx2::detect().map(Backend::Avx2).ok_or_else(|| lacks("AVX2 and FMA")),
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx512 | Isa::Avx2 => Err(lacks("the x86-64 architecture")),
            Isa::Portable => Ok(Backend::Portable(portable::Portable)),
        }
    }

    /// Queries in a block.
    pub(crate) fn block(self) -> usize {
        fn of<S: Simd>(_: S) -> usize {
            VECTORS * S::LANES
        }
        match self {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(s) => of(s),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(s) => of(s),
            Backend::Portable(s) => of(s),
        }
    }

    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(s) => s.vectorize(kernel),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(s) => s.vectorize(kernel),
            Backend::Portable(s) => s.vectorize(kernel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each operation on each lane against the scalar one.
    struct Operations;

    impl Kernel for Operations {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let numbers = |from: f32| -> Vec<f32> { (0..S::LANES).map(|i| from + 0.37 * i as f32).collect() };
            let (a, b, c) = (numbers(-1.3), numbers(0.9), numbers(-2.0));
            let (va, vb, vc) = (s.load(&a), s.load(&b), s.load(&c));
            let close = |v: S::V, expected: &dyn Fn(usize) -> f32| {
                let v = [v];
                for (i, &found) in s.floats(&v).iter().enumerate() {
                    let expected = expected(i);
                    assert!((found - expected).abs() <= 1e-6 * expected.abs(), "lane {i}: {found} {expected}");
                }
            };
            close(s.splat(2.5), &|_| 2.5);
            close(s.add(va, vb), &|i| a[i] + b[i]);
            close(s.sub(va, vb), &|i| a[i] - b[i]);
            close(s.mul(va, vb), &|i| a[i] * b[i]);
            close(s.fma(va, vb, vc), &|i| a[i].mul_add(b[i], c[i]));
            close(s.fms(va, vb, vc), &|i| a[i].mul_add(b[i], -c[i]));
            close(s.max(va, vc), &|i| a[i].max(c[i]));
            close(s.min(va, vc), &|i| a[i].min(c[i]));
            close(s.abs(va), &|i| a[i].abs());
            close(s.recip(vb), &|i| 1.0 / b[i]);
            close(s.recip(s.splat(f32::INFINITY)), &|_| 0.0);
            close(s.round_product(va, vb).0, &|i| (a[i] * b[i]).round_ties_even());
            close(s.round_product(s.splat(2.5), s.splat(1.0)).0, &|_| 2.0);
            for n in [-126, -3, 0, 5, 127] {
                let keep = s.not_lt(va, s.splat(0.0));
                let scaled = s.scale_or_zero(keep, s.splat(1.25), s.round_product(s.splat(n as f32), s.splat(1.0)).1);
                close(scaled, &|i| if a[i] < 0.0 { 0.0 } else { 1.25 * 2f32.powi(n) });
            }
            let nothing = s.scale_or_zero(s.lt(va, va), s.splat(f32::INFINITY), s.splat(f32::NAN));
            close(nothing, &|_| 0.0);
            close(s.select(s.not_lt(s.splat(f32::NAN), va), va, vb), &|i| a[i]);
            close(s.select(s.lt(va, vb), va, vb), &|i| a[i].min(b[i]));
            close(s.keep(s.lt(va, s.splat(0.0)), vb), &|i| if a[i] < 0.0 { b[i] } else { 0.0 });
            close(s.drop(s.lt(va, s.splat(0.0)), vb), &|i| if a[i] < 0.0 { 0.0 } else { b[i] });
            close(s.keep(s.lt(va, va), s.splat(f32::NAN)), &|_| 0.0);
            close(s.drop(s.le(va, va), s.splat(f32::INFINITY)), &|_| 0.0);
            let middle = s.and(s.le(s.splat(-1.3), va), s.lt(va, s.splat(0.0)));
            close(s.select(middle, vb, vc), &|i| if a[i] < 0.0 { b[i] } else { c[i] });
            let nan = s.max(s.splat(1.0), s.splat(f32::NAN));
            assert!(s.floats(&[nan]).iter().all(|x| x.is_nan()));
            assert!((s.total(vb) - b.iter().sum::<f32>()).abs() < 1e-5 * s.total(vb));
            let mut stored = vec![0.0; S::LANES + 1];
            s.store(vb, &mut stored[1..]);
            assert_eq!(stored[1..], b[..]);
            let mut written = [va, vb];
            s.floats_mut(&mut written)[S::LANES] = 7.0;
            assert_eq!(s.floats(&written)[S::LANES], 7.0);
        }
    }

    #[test]
    fn every_back_end_calculates_as_scalars_do() {
        for isa in Isa::ALL {
            if let Ok(backend) = Backend::new(isa) {
                backend.run(Operations);
            }
        }
    }

    #[test]
    fn names_round_trip() {
        for isa in Isa::ALL {
            assert_eq!(isa.name().parse(), Ok(isa));
        }
        assert!("sse".parse::<Isa>().is_err());
        assert!(Isa::Portable.is_available());
    }
}
