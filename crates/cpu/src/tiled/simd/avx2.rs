//! Eight lanes: AVX2 with fused multiply-add.

#![allow(unsafe_code)]

use super::{Kernel, MAGIC, Routine, Simd};
use std::arch::x86_64::*;

/// Proof that this machine has AVX2 and FMA.
///
/// Every intrinsic below is called inside a method of this type, of which a value exists only after [`Avx2::detect`] found the
/// instructions; that is why each call is sound. Loads and stores go through slices whose lengths are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The back end, where the machine has it.
    pub(crate) fn detect() -> Option<Avx2> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Avx2(()))
    }
}

/// # Safety
/// The machine must have the instructions.
#[target_feature(enable = "avx2,fma")]
unsafe fn inside<K: Kernel>(s: Avx2, kernel: K) -> K::Output {
    kernel.run(s)
}

/// # Safety
/// The machine must have the instructions.
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
unsafe fn called<R: Routine<Avx2>>(s: Avx2, routine: R) -> R::Output {
    routine.run(s)
}

impl Simd for Avx2 {
    type V = __m256;
    type Mask = __m256;
    const LANES: usize = 8;
    const TALL: bool = false;
    const SELECTS: bool = false;

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        // SAFETY: `self` proves that the instructions are there; so in all methods below.
        unsafe { _mm256_set1_ps(x) }
    }
    #[inline(always)]
    fn load(self, from: &[f32]) -> __m256 {
        let from = &from[..8];
        // SAFETY: eight numbers may be read there.
        unsafe { _mm256_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, x: __m256, to: &mut [f32]) {
        let to = &mut to[..8];
        // SAFETY: eight numbers may be written there.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), x) }
    }
    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_mul_ps(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn fms(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_fmsub_ps(a, b, c) }
    }
    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_max_ps(a, b) }
    }
    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_min_ps(a, b) }
    }
    #[inline(always)]
    fn abs(self, x: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), x) }
    }
    #[inline(always)]
    fn recip(self, x: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_div_ps(_mm256_set1_ps(1.0), x) }
    }
    #[inline(always)]
    fn scale_or_zero(self, keep: __m256, p: __m256, n: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe {
            let n = _mm256_slli_epi32::<23>(_mm256_castps_si256(n));
            let scaled = _mm256_add_epi32(_mm256_castps_si256(p), n);
            _mm256_and_ps(keep, _mm256_castsi256_ps(scaled))
        }
    }
    #[inline(always)]
    fn round_product(self, a: __m256, b: __m256) -> (__m256, __m256) {
        let shifted = self.fma(a, b, self.splat(MAGIC));
        (self.sub(shifted, self.splat(MAGIC)), shifted)
    }
    #[inline(always)]
    fn total(self, x: __m256) -> f32 {
        // SAFETY: see `splat`.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    fn lt(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(a, b) }
    }
    #[inline(always)]
    fn not_lt(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_cmp_ps::<_CMP_NLT_UQ>(a, b) }
    }
    #[inline(always)]
    fn le(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_cmp_ps::<_CMP_LE_OQ>(a, b) }
    }
    #[inline(always)]
    fn and(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_and_ps(a, b) }
    }
    #[inline(always)]
    fn select(self, mask: __m256, yes: __m256, no: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_blendv_ps(no, yes, mask) }
    }
    #[inline(always)]
    fn keep(self, mask: __m256, x: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_and_ps(mask, x) }
    }
    #[inline(always)]
    fn drop(self, mask: __m256, x: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_andnot_ps(mask, x) }
    }
    #[inline(always)]
    fn floats(self, vectors: &[__m256]) -> &[f32] {
        // SAFETY: a vector is eight adjacent f32 without padding.
        unsafe { std::slice::from_raw_parts(vectors.as_ptr().cast(), 8 * vectors.len()) }
    }
    #[inline(always)]
    fn floats_mut(self, vectors: &mut [__m256]) -> &mut [f32] {
        // SAFETY: as above, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(vectors.as_mut_ptr().cast(), 8 * vectors.len()) }
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
