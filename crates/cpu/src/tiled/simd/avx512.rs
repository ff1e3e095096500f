//! Sixteen lanes: AVX-512.

#![allow(unsafe_code)]

use super::{Kernel, MAGIC, Routine, Simd};
use std::arch::x86_64::*;

/// Proof that this machine has AVX-512 F, VL, BW and DQ.
///
/// Every intrinsic below is called inside a method of this type, of which a value exists only after [`Avx512::detect`] found the
/// instructions; that is why each call is sound. Loads and stores go through slices whose lengths are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// The back end, where the machine has it.
    pub(crate) fn detect() -> Option<Avx512> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma");
        has.then_some(Avx512(()))
    }
}

/// # Safety
/// The machine must have the instructions.
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
unsafe fn inside<K: Kernel>(s: Avx512, kernel: K) -> K::Output {
    kernel.run(s)
}

/// # Safety
/// The machine must have the instructions.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
unsafe fn called<R: Routine<Avx512>>(s: Avx512, routine: R) -> R::Output {
    routine.run(s)
}

impl Simd for Avx512 {
    type V = __m512;
    type Mask = __mmask16;
    const LANES: usize = 16;
    const TALL: bool = true;
    const SELECTS: bool = true;

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: `self` proves that the instructions are there; so in all methods below.
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> __m512 {
        let from = &from[..16];
        // SAFETY: sixteen numbers may be read there.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, x: __m512, to: &mut [f32]) {
        let to = &mut to[..16];
        // SAFETY: sixteen numbers may be written there.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), x) }
    }
    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn fms(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_fmsub_ps(a, b, c) }
    }
    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_min_ps(a, b) }
    }
    #[inline(always)]
    fn abs(self, x: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_abs_ps(x) }
    }
    #[inline(always)]
    fn recip(self, x: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_div_ps(_mm512_set1_ps(1.0), x) }
    }
    #[inline(always)]
    fn scale_or_zero(self, keep: __mmask16, p: __m512, n: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_maskz_scalef_ps(keep, p, n) }
    }
    #[inline(always)]
    fn round_product(self, a: __m512, b: __m512) -> (__m512, __m512) {
        let n = self.sub(self.fma(a, b, self.splat(MAGIC)), self.splat(MAGIC));
        (n, n)
    }
    #[inline(always)]
    fn total(self, x: __m512) -> f32 {
        // SAFETY: see `splat`.
        unsafe { _mm512_reduce_add_ps(x) }
    }
    #[inline(always)]
    fn lt(self, a: __m512, b: __m512) -> __mmask16 {
        // SAFETY: see `splat`.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b) }
    }
    #[inline(always)]
    fn not_lt(self, a: __m512, b: __m512) -> __mmask16 {
        // SAFETY: see `splat`.
        unsafe { _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(a, b) }
    }
    #[inline(always)]
    fn le(self, a: __m512, b: __m512) -> __mmask16 {
        // SAFETY: see `splat`.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b) }
    }
    #[inline(always)]
    fn and(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }
    #[inline(always)]
    fn select(self, mask: __mmask16, yes: __m512, no: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_mask_blend_ps(mask, no, yes) }
    }
    #[inline(always)]
    fn keep(self, mask: __mmask16, x: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_maskz_mov_ps(mask, x) }
    }
    #[inline(always)]
    fn drop(self, mask: __mmask16, x: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_maskz_mov_ps(!mask, x) }
    }
    #[inline(always)]
    fn floats(self, vectors: &[__m512]) -> &[f32] {
        // SAFETY: a vector is sixteen adjacent f32 without padding.
        unsafe { std::slice::from_raw_parts(vectors.as_ptr().cast(), 16 * vectors.len()) }
    }
    #[inline(always)]
    fn floats_mut(self, vectors: &mut [__m512]) -> &mut [f32] {
        // SAFETY: as above, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(vectors.as_mut_ptr().cast(), 16 * vectors.len()) }
    }
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: `self` proves that the instructions are there.
        unsafe { inside(self, kernel) }
    }
    #[inline(always)]
    fn call<R: Routine<Self>>(self, routine: R) -> R::Output {
        // SAFETY: `self` proves that the instructions are there.
        unsafe { called(self, routine) }
    }
}
