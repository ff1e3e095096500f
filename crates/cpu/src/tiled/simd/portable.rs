//! Four lanes in plain Rust, which compilers turn into whatever vectors the target has. No fused operations
//! but one: where the target lacks them they would be calls of library functions.

use super::{Kernel, MAGIC, Routine, Simd};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

/// Four numbers, without any padding between them.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Four([f32; 4]);

#[inline(always)]
fn each(a: Four, b: Four, f: impl Fn(f32, f32) -> f32) -> Four {
    Four([f(a.0[0], b.0[0]), f(a.0[1], b.0[1]), f(a.0[2], b.0[2]), f(a.0[3], b.0[3])])
}

#[inline(always)]
fn compare(a: Four, b: Four, f: impl Fn(f32, f32) -> bool) -> [bool; 4] {
    [f(a.0[0], b.0[0]), f(a.0[1], b.0[1]), f(a.0[2], b.0[2]), f(a.0[3], b.0[3])]
}

impl Simd for Portable {
    type V = Four;
    type Mask = [bool; 4];
    const LANES: usize = 4;
    const TALL: bool = false;
    const SELECTS: bool = true;

    #[inline(always)]
    fn splat(self, x: f32) -> Four {
        Four([x; 4])
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> Four {
        Four([from[0], from[1], from[2], from[3]])
    }
    #[inline(always)]
    fn store(self, x: Four, to: &mut [f32]) {
        to[..4].copy_from_slice(&x.0);
    }
    #[inline(always)]
    fn add(self, a: Four, b: Four) -> Four {
        each(a, b, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, a: Four, b: Four) -> Four {
        each(a, b, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, a: Four, b: Four) -> Four {
        each(a, b, |a, b| a * b)
    }
    #[inline(always)]
    fn fma(self, a: Four, b: Four, c: Four) -> Four {
        self.add(self.mul(a, b), c)
    }
    /// The product is exact in f64, and for arguments of e^x so is the difference, which is then rounded once.
    ///
    /// Proofs: `portable_reduction`.
    #[inline(always)]
    fn fms(self, a: Four, b: Four, c: Four) -> Four {
        let one = |i: usize| (f64::from(a.0[i]) * f64::from(b.0[i]) - f64::from(c.0[i])) as f32;
        Four([one(0), one(1), one(2), one(3)])
    }
    #[inline(always)]
    fn max(self, a: Four, b: Four) -> Four {
        each(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, a: Four, b: Four) -> Four {
        each(a, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn abs(self, x: Four) -> Four {
        each(x, x, |x, _| x.abs())
    }
    #[inline(always)]
    fn recip(self, x: Four) -> Four {
        each(x, x, |x, _| 1.0 / x)
    }
    #[inline(always)]
    fn scale_or_zero(self, keep: [bool; 4], p: Four, n: Four) -> Four {
        let scaled = each(p, n, |p, n| f32::from_bits(p.to_bits().wrapping_add(n.to_bits() << 23)));
        self.select(keep, scaled, Four([0.0; 4]))
    }
    #[inline(always)]
    fn round_product(self, a: Four, b: Four) -> (Four, Four) {
        let shifted = each(a, b, |a, b| a * b + MAGIC);
        (each(shifted, shifted, |shifted, _| shifted - MAGIC), shifted)
    }
    #[inline(always)]
    fn total(self, x: Four) -> f32 {
        (x.0[0] + x.0[2]) + (x.0[1] + x.0[3])
    }
    #[inline(always)]
    fn lt(self, a: Four, b: Four) -> [bool; 4] {
        compare(a, b, |a, b| a < b)
    }
    #[inline(always)]
    #[allow(clippy::neg_cmp_op_on_partial_ord)]
    fn not_lt(self, a: Four, b: Four) -> [bool; 4] {
        compare(a, b, |a, b| !(a < b))
    }
    #[inline(always)]
    fn le(self, a: Four, b: Four) -> [bool; 4] {
        compare(a, b, |a, b| a <= b)
    }
    #[inline(always)]
    fn and(self, a: [bool; 4], b: [bool; 4]) -> [bool; 4] {
        [a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3]]
    }
    #[inline(always)]
    fn select(self, mask: [bool; 4], yes: Four, no: Four) -> Four {
        let pick = |i: usize| if mask[i] { yes.0[i] } else { no.0[i] };
        Four([pick(0), pick(1), pick(2), pick(3)])
    }
    #[inline(always)]
    fn keep(self, mask: [bool; 4], x: Four) -> Four {
        self.select(mask, x, Four([0.0; 4]))
    }
    #[inline(always)]
    fn drop(self, mask: [bool; 4], x: Four) -> Four {
        self.select(mask, Four([0.0; 4]), x)
    }
    #[inline(always)]
    #[allow(unsafe_code)]
    fn floats(self, vectors: &[Four]) -> &[f32] {
        // SAFETY: `Four` is four f32 in C layout, so the memory of n of them is that of 4n adjacent f32.
        unsafe { std::slice::from_raw_parts(vectors.as_ptr().cast(), 4 * vectors.len()) }
    }
    #[inline(always)]
    #[allow(unsafe_code)]
    fn floats_mut(self, vectors: &mut [Four]) -> &mut [f32] {
        // SAFETY: as above, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(vectors.as_mut_ptr().cast(), 4 * vectors.len()) }
    }
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
    #[inline(never)]
    fn call<R: Routine<Self>>(self, routine: R) -> R::Output {
        routine.run(self)
    }
}
