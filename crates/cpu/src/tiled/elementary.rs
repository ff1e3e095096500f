//! e^x on vectors.

use super::simd::Simd;

/// log2 e
const LOG2_E: f32 = std::f32::consts::LOG2_E;

/// e^LOWEST is the smallest normal number; below it e^x counts as 0.
const LOWEST: f32 = -87.3;
/// Largest argument of [`exp_within`]: e^HIGHEST is finite, and stands for everything above.
const HIGHEST: f32 = 88.0;

/// e^x for x <= 88; 0 for x below -87.3, NaN stays NaN.
///
/// ```text
/// n = round(x log2 e)     f = x log2 e - n  in [-1/2, 1/2]     e^x = 2^n 2^f
/// ```
///
/// 2^f is a polynomial of degree 5 with the constant term 1, minimax in relative error: 1.82 u with its coefficients rounded to
/// f32 (u = 2^-24), so that e^0 = 1 exactly. f carries the relative error of the constant log2 e, 0.22 u |x|, and of one fused
/// operation. Evaluation adds at most about 2 u: the error is at most (4 + |x|/4) u, which the tests sweep.
#[inline(always)]
#[allow(clippy::approx_constant)] // a minimax coefficient near log 2, not log 2
pub(crate) fn exp<S: Simd>(s: S, x: S::V) -> S::V {
    let keep = s.not_lt(x, s.splat(LOWEST));
    let n = s.round(s.mul(x, s.splat(LOG2_E)));
    let f = s.fms(x, s.splat(LOG2_E), n);
    let mut p = s.splat(1.326_472_7e-3);
    p = s.fma(p, f, s.splat(9.671_513e-3));
    p = s.fma(p, f, s.splat(5.550_733_6e-2));
    p = s.fma(p, f, s.splat(2.402_224_2e-1));
    p = s.fma(p, f, s.splat(6.931_47e-1));
    p = s.fma(p, f, s.splat(1.0));
    s.scale_or_zero(keep, p, n)
}

/// [`exp`], with x above 88 counted as that.
#[inline(always)]
pub(crate) fn exp_within<S: Simd>(s: S, x: S::V) -> S::V {
    exp(s, s.min(s.splat(HIGHEST), x))
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

    #[test]
    fn the_error_is_as_stated() {
        for isa in Isa::ALL {
            if let Ok(backend) = Backend::new(isa) {
                backend.run(Sweep);
            }
        }
    }
}
