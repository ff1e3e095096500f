//! e^x and polynomials on vectors.

use super::coefficients::{EXP_HIGHEST, EXP_LOWEST, EXP2_NEAR, LOG2_E};
use super::simd::Simd;

/// c_0 + x (c_1 + x (c_2 + ...)), each step one multiplication and addition, fused where the back end fuses them.
#[inline(always)]
pub(super) fn horner<S: Simd, const N: usize>(s: S, c: &[f32; N], x: S::V) -> S::V {
    let mut p = s.splat(c[N - 1]);
    for &c in c[..N - 1].iter().rev() {
        p = s.fma(p, x, s.splat(c));
    }
    p
}

/// e^x for x <= 88; 0 for x below -87.3, NaN stays NaN.
///
/// ```text
/// n = round(x log2 e)     f = x log2 e - n  in [-1/2, 1/2]     e^x = 2^n 2^f
/// ```
///
/// u = 2^-24, and errors are relative. 2^f is a polynomial of degree 5 with the constant term 1, so that e^0 = 1 exactly. It is
/// within 1.57 u of 2^f in exact arithmetic, and within 3.3 u as it is evaluated, fused or not. f is within (0.33 |x| + 0.5) u
/// of x log2 e - n, from the rounded constant and one rounding; scaling by 2^n is exact. Together, the error is at most
/// (4 + |x|/4) u for -87.3 <= x <= 88.
///
/// Proofs: `exp_f32_error`, `exp_f32_0`, `exp_whole`, `exp_reduction`, `exp_scaling`, `exp2_near_approximation`,
/// `exp2_near_rounding`, `exp2_near_evaluated`.
#[inline(always)]
pub(crate) fn exp<S: Simd>(s: S, x: S::V) -> S::V {
    let keep = s.not_lt(x, s.splat(EXP_LOWEST));
    let (n, exponent) = s.round_product(x, s.splat(LOG2_E));
    let f = s.fms(x, s.splat(LOG2_E), n);
    s.scale_or_zero(keep, horner(s, &EXP2_NEAR, f), exponent)
}

/// [`exp`], with x above 88 counted as that.
#[inline(always)]
pub(crate) fn exp_within<S: Simd>(s: S, x: S::V) -> S::V {
    exp(s, s.min(s.splat(EXP_HIGHEST), x))
}

/// a/b, from r = 1/b to about one rounding: a r, corrected by what is left of a. All but correctly rounded, in fewer cycles than a
/// division takes.
#[inline(always)]
pub(crate) fn quotient<S: Simd>(s: S, a: S::V, b: S::V, r: S::V) -> S::V {
    let q = s.mul(a, r);
    s.sub(q, s.mul(s.fms(q, b, a), r))
}

#[cfg(test)]
mod tests {
    use super::super::simd::{Backend, Isa, Kernel, Simd};
    use super::*;

    struct Sweep;

    impl Kernel for Sweep {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            const STEPS: usize = 2_000_000;
            let u = f64::from(f32::EPSILON) / 2.0;
            let mut worst = 0.0f64;
            for step in 0..STEPS {
                let x = (-87.2 + 175.2 * step as f64 / STEPS as f64) as f32;
                let y = [exp_within(s, s.splat(x))];
                let (found, exact) = (f64::from(s.floats(&y)[0]), libm::exp(f64::from(x)));
                let bound = (4.0 + 0.25 * f64::from(x.abs())) * u;
                worst = worst.max((found / exact - 1.0).abs() / bound);
            }
            assert!(worst <= 1.0, "{worst} of the bound");
            assert!(worst > 0.5, "the bound is too generous: {worst} of it reached");
            let ends = [exp(s, s.splat(0.0)), exp(s, s.splat(-1e30)), exp(s, s.splat(f32::NEG_INFINITY))];
            let ends = s.floats(&ends);
            assert_eq!(ends[0], 1.0);
            assert_eq!((ends[S::LANES], ends[2 * S::LANES]), (0.0, 0.0));
            assert!(s.floats(&[exp(s, s.splat(f32::NAN))])[0].is_nan());
            assert!(s.floats(&[exp_within(s, s.splat(1e30))])[0].is_finite());
        }
    }

    struct Quotients;

    impl Kernel for Quotients {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let mut worst = 0.0f64;
            for step in 0..200_000 {
                let (a, b) = (1.0 + 0.37 * step as f32 % 7.0, 0.5 + 1e-5 * step as f32);
                let quotients = [quotient(s, s.splat(a), s.splat(b), s.recip(s.splat(b))), s.splat(a * (1.0 / b))];
                let exact = f64::from(a) / f64::from(b);
                let found = s.floats(&quotients);
                let error = |x: f32| (f64::from(x) / exact - 1.0).abs() * f64::from(1 << 24);
                assert!(error(found[0]) <= 1.001, "{a}/{b}: {}", found[0]);
                worst = worst.max(error(found[S::LANES]));
            }
            assert!(worst > 1.5, "one multiplication would be caught");
            for a in [0.0, f32::MIN_POSITIVE, 1e-40, 1e38, -1e38] {
                let quotient = [quotient(s, s.splat(a), s.splat(1.0), s.splat(1.0))];
                assert_eq!(s.floats(&quotient)[0], a);
            }
        }
    }

    #[test]
    fn quotients_are_rounded_once() {
        for isa in Isa::ALL {
            if let Ok(backend) = Backend::new(isa) {
                backend.run(Quotients);
            }
        }
    }

    #[test]
    fn the_error_is_as_stated() {
        for isa in Isa::ALL {
            if let Ok(backend) = Backend::new(isa) {
                backend.run(Sweep);
            }
        }
    }
}
