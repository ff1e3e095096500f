//! What segments give to their two nodes, one segment for each lane: the fast twins of
//! [`plain::segment`](crate::plain::segment).
//!
//! A kernel is compiled once for each rule, so that no rule pays for what it does not use.

use super::coefficients::{PHI2_NEAR, PSI_NEAR};
use super::elementary::horner;
use super::simd::Simd;

/// L, R and mass = L + R, in the units of the exponentials that were given.
#[derive(Clone, Copy)]
pub(crate) struct Shares<V> {
    pub(crate) left: V,
    pub(crate) right: V,
    pub(crate) mass: V,
}

/// L, R and h, in the units of the exponentials that were given.
#[derive(Clone, Copy)]
pub(crate) struct Diffusing<V> {
    pub(crate) left: V,
    pub(crate) right: V,
    pub(crate) diffusion: V,
}

/// What kernels have been seen to do wrong. Tests plant each, to see that it is caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// what a node had at the border of a tile is lost
    DroppedCarry,
    /// the first segment of a tile takes its left score from elsewhere
    WrongNeighbour,
    /// O is not scaled down when m grows
    MissingRescale,
    /// a tile is not visited
    SkippedTile,
}

/// A rule as a map of segments.
pub(crate) trait SegmentRule: Copy + 'static {
    /// Whether a kernel makes this mistake: never, but for the rule of a test.
    #[inline(always)]
    fn makes(_: Mistake) -> bool {
        false
    }

    /// Whether a segment gives anything to its left node. Where it does not, nothing is carried from one segment to the next.
    const READS_LEFT: bool;

    /// From x = a_1 - a_0, D E_0 and D E_1.
    fn shares<S: Simd>(s: S, x: S::V, e0: S::V, e1: S::V) -> Shares<S::V>;

    /// With the diffusion h, for gradients.
    fn diffusing<S: Simd>(s: S, x: S::V, e0: S::V, e1: S::V) -> Diffusing<S::V>;
}

/// Continuous softmax attention.
#[derive(Clone, Copy)]
pub(crate) struct Linear;
/// The value of the right node throughout.
#[derive(Clone, Copy)]
pub(crate) struct Step;
/// Half to each end.
#[derive(Clone, Copy)]
pub(crate) struct Trapezoid;

/// phi2(x) on [-1, 1]: degree 6 with the constant term 1/2, within 1.55 u relatively, and within 3.4 u as it is evaluated, fused
/// or not.
///
/// Proofs: `phi2_near_approximation`, `phi2_near_rounding`, `phi2_near_evaluated`.
#[inline(always)]
pub(super) fn phi2<S: Simd>(s: S, x: S::V) -> S::V {
    horner(s, &PHI2_NEAR, x)
}

/// psi(x) on [-1, 1]: degree 6, within 3.75 u relatively, and within 6.65 u as it is evaluated, fused or not.
///
/// Proofs: `psi_near_approximation`, `psi_near_rounding`, `psi_near_evaluated`.
#[inline(always)]
pub(super) fn psi<S: Simd>(s: S, x: S::V) -> S::V {
    horner(s, &PSI_NEAR, x)
}

/// Both ways of every formula, selected by |x| < 1:
///
/// ```text
/// |x| < 1     L = D E0 phi2(x)         mass = D E0 + x L         R = mass - L            h = D E0 psi(x)
/// |x| >= 1    mass = (D E1 - D E0)/x   L = (mass - D E0)/x       R = (D E1 - mass)/x     h = (R - L)/x
/// ```
///
/// For |x| >= 1 each is accurate by itself (R = mass - L there would lose a factor |x|). With exponentials within
/// eps <= 2^-10 of D e^a, relatively, mass is within 5 u + 3 eps, L and R are within 18 u + 7 eps and h is within 60 u + 21 eps
/// of the exact ones, where |x| <= 1024, the larger exponential is at least 2^-98 and nothing overflows. The factors of eps
/// belong to |x| = 1, where the differences cancel most. eps is the error of e^x, of the rounding of its argument and of the
/// factor D together. With e^x of `elementary` at 0 and -|x|, D = 1 and |x| <= 87, mass, L and R are good to 24 u and h to
/// 120 u.
///
/// Proofs: `kernel_shares_error`, `kernel_coupling_error`, `kernel_shares_anchored`, `kernel_coupling_anchored`.
///
/// Where selecting takes several operations, x, E0 and 1/x are 0 where their way is not taken, and what both ways give is added:
/// the same numbers.
impl SegmentRule for Linear {
    const READS_LEFT: bool = true;

    #[inline(always)]
    fn shares<S: Simd>(s: S, x: S::V, e0: S::V, e1: S::V) -> Shares<S::V> {
        let r = s.recip(x);
        if S::SELECTS {
            // Each product of the far way replaces what the near way gave in its own instruction.
            let far = s.not_lt(s.abs(x), s.splat(1.0));
            let near_left = s.mul(e0, phi2(s, x));
            let mass = s.select(far, s.mul(s.sub(e1, e0), r), s.fma(x, near_left, e0));
            let left = s.select(far, s.mul(s.sub(mass, e0), r), near_left);
            let right = s.select(far, s.mul(s.sub(e1, mass), r), s.sub(mass, left));
            return Shares { left, right, mass };
        }
        let near = s.lt(s.abs(x), s.splat(1.0));
        let (r, x, near_e0) = (s.drop(near, r), s.keep(near, x), s.keep(near, e0));
        let far_mass = s.mul(s.sub(e1, e0), r);
        let left = s.fma(near_e0, phi2(s, x), s.mul(s.sub(far_mass, e0), r));
        let mass = s.fma(x, left, s.add(near_e0, far_mass));
        let right = s.fma(s.sub(e1, mass), r, s.keep(near, s.sub(mass, left)));
        Shares { left, right, mass }
    }

    #[inline(always)]
    fn diffusing<S: Simd>(s: S, x: S::V, e0: S::V, e1: S::V) -> Diffusing<S::V> {
        let r = s.recip(x);
        if S::SELECTS {
            let far = s.not_lt(s.abs(x), s.splat(1.0));
            let far_mass = s.mul(s.sub(e1, e0), r);
            let left = s.select(far, s.mul(s.sub(far_mass, e0), r), s.mul(e0, phi2(s, x)));
            let far_right = s.mul(s.sub(e1, far_mass), r);
            let diffusion = s.select(far, s.mul(s.sub(far_right, left), r), s.mul(e0, psi(s, x)));
            // R - L = x h
            let right = s.select(far, far_right, s.fma(x, diffusion, left));
            return Diffusing { left, right, diffusion };
        }
        let near = s.lt(s.abs(x), s.splat(1.0));
        let (r, x, near_e0) = (s.drop(near, r), s.keep(near, x), s.keep(near, e0));
        let far_mass = s.mul(s.sub(e1, e0), r);
        let far_left = s.mul(s.sub(far_mass, e0), r);
        let far_right = s.mul(s.sub(e1, far_mass), r);
        let near_left = s.mul(near_e0, phi2(s, x));
        let diffusion = s.fma(near_e0, psi(s, x), s.mul(s.sub(far_right, far_left), r));
        let right = s.fma(x, diffusion, s.add(near_left, far_right));
        Diffusing { left: s.add(near_left, far_left), right, diffusion }
    }
}

/// L = 0, R = D E1, h = 0.
impl SegmentRule for Step {
    const READS_LEFT: bool = false;

    #[inline(always)]
    fn shares<S: Simd>(s: S, _x: S::V, _e0: S::V, e1: S::V) -> Shares<S::V> {
        Shares { left: s.splat(0.0), right: e1, mass: e1 }
    }

    #[inline(always)]
    fn diffusing<S: Simd>(s: S, _x: S::V, _e0: S::V, e1: S::V) -> Diffusing<S::V> {
        Diffusing { left: s.splat(0.0), right: e1, diffusion: s.splat(0.0) }
    }
}

/// L = D E0/2, R = D E1/2, h = 0.
impl SegmentRule for Trapezoid {
    const READS_LEFT: bool = true;

    #[inline(always)]
    fn shares<S: Simd>(s: S, _x: S::V, e0: S::V, e1: S::V) -> Shares<S::V> {
        let half = s.splat(0.5);
        let (left, right) = (s.mul(half, e0), s.mul(half, e1));
        Shares { left, right, mass: s.add(left, right) }
    }

    #[inline(always)]
    fn diffusing<S: Simd>(s: S, _x: S::V, e0: S::V, e1: S::V) -> Diffusing<S::V> {
        let half = s.splat(0.5);
        Diffusing { left: s.mul(half, e0), right: s.mul(half, e1), diffusion: s.splat(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::elementary;
    use super::super::simd::{Backend, Isa, Kernel, Simd};
    use super::*;
    use crate::plain::segment::shares;
    use contattn_core::Rule;

    /// Largest relative errors, in units of u, of L, R, mass, of L, R, h, and of mass - L as R, over x from 2^-40 to 2^6 and -x.
    struct Sweep;

    impl Kernel for Sweep {
        type Output = [f64; 8];
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> [f64; 8] {
            let mut worst = [0.0f64; 8];
            for step in 0..800_000 {
                let size = libm::exp2(-40.0 + 46.0 * f64::from(step) / 800_000.0) as f32;
                for x in [size, -size] {
                    // Anchored at the larger end, as rows are at their maximum.
                    let (a0, a1) = if x > 0.0 { (-x, 0.0) } else { (0.0, x) };
                    let exact = shares(Rule::Linear, f64::from(a0), f64::from(a1));
                    let (e0, e1) = (elementary::exp(s, s.splat(a0)), elementary::exp(s, s.splat(a1)));
                    let x = s.splat(x);
                    let (three, more) = (Linear::shares(s, x, e0, e1), Linear::diffusing(s, x, e0, e1));
                    let naive = s.sub(three.mass, three.left);
                    let found = [three.left, three.right, three.mass, more.left, more.right, more.diffusion, naive];
                    let mass = exact.left + exact.right;
                    let expected =
                        [exact.left, exact.right, mass, exact.left, exact.right, exact.diffusion, exact.right];
                    for (i, expected) in expected.into_iter().enumerate() {
                        let found = f64::from(s.floats(&found)[i * S::LANES]);
                        let error = (found / expected - 1.0).abs() * f64::from(1 << 24);
                        worst[i] = worst[i].max(error);
                    }
                }
            }
            // Ties and extremes: halves, and nothing that is not finite.
            let tie = [Linear::shares(s, s.splat(0.0), s.splat(1.0), s.splat(1.0)).left];
            worst[7] = f64::from(s.floats(&tie)[0]);
            for x in [f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, f32::MIN_POSITIVE, 1e-40] {
                let found = Linear::diffusing(s, s.splat(x), s.splat(1e-30), s.splat(1.0));
                let found = [found.left, found.right, found.diffusion];
                assert!(s.floats(&found).iter().all(|x| x.is_finite()), "x = {x}");
            }
            worst
        }
    }

    #[test]
    fn the_errors_are_as_stated() {
        for isa in Isa::ALL {
            if let Ok(backend) = Backend::new(isa) {
                let worst = backend.run(Sweep);
                for (i, bound) in [24.0, 24.0, 24.0, 24.0, 24.0, 120.0].into_iter().enumerate() {
                    assert!(worst[i] <= bound, "{isa}: {worst:?}");
                }
                assert!(worst[6] > 48.0, "R = mass - L would be caught");
                assert_eq!(worst[7], 0.5);
            }
        }
    }
}
