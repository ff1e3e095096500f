//! What a segment gives to its two nodes: the rules, for one pair of scores.

use contattn_core::{Part, Real, Rule};

/// What a segment of unit duration gives, in units of E_max = e^{the larger of its two end scores}.
///
/// Anchored there, every share lies in [0, 1], and phi1, phi2, psi are needed at -|x| alone, where nothing overflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares<T> {
    /// L / (D E_max)
    pub left: T,
    /// R / (D E_max)
    pub right: T,
    /// h / (D E_max): how much of dL/da diffuses from one end to the other
    pub diffusion: T,
}

/// phi2(-y) and psi(-y) for y = |x| >= 0, with their companions: the mass phi1(-y), and what goes to the smaller end.
struct Phi<T> {
    /// phi2(-y) = (e^{-y} - 1 + y)/y^2: the share of the larger end
    larger: T,
    /// e^{-y} phi2(y) = phi1(-y) - phi2(-y): the share of the smaller end (identity (7))
    smaller: T,
    /// psi(-y) = int_0^1 e^{-sy} s(1-s) ds
    psi: T,
}

/// Below y = 1 from the series
///
/// ```text
/// phi2(-y) = sum (-y)^k / (k+2)!        psi(-y) = sum (-y)^k (k+1) / (k+3)!
/// ```
///
/// of which 18 terms leave less than 1/20! = 4e-19; with phi1 = 1 + x phi2 no subtraction cancels by more than a factor 2.5.
/// From y = 1 on from the closed forms
///
/// ```text
/// phi1(-y) = (1 - e^{-y})/y     phi2(-y) = (1 - phi1(-y))/y     e^{-y} phi2(y) = (phi1(-y) - e^{-y})/y
/// psi(-y)  = (phi2(-y) - e^{-y} phi2(y))/y
/// ```
///
/// each accurate by itself: at y = 1 the first three cancel by factors of 1.6, 2.7 and 2.4, and psi by 6 on top; all less
/// further out. (Taking the smaller share as mass minus larger share would lose a factor y.) Each result is therefore good to
/// about 8 roundings, psi to 40.
///
/// Proofs: `phi2_taylor_error`, `psi_taylor_error`, `linear_near`, `linear_far`.
fn phi<T: Real>(y: T) -> Phi<T> {
    if y < T::ONE {
        const TERMS: i32 = 18;
        let (mut larger, mut psi) = (T::ZERO, T::ZERO);
        for k in (0..TERMS).rev() {
            // Horner in both: term k is 1/(k+2)! and (k+1)/(k+3)!, so the ratio to term k - 1 is peeled off step by step.
            let k = f64::from(k);
            larger = (T::ONE - y * larger) / T::rounded(k + 2.0);
            psi = (T::rounded(k + 1.0) - y * psi) / T::rounded(k + 3.0);
        }
        // The loops end with sum (-y)^k 1!/(k+2)! and sum (-y)^k (k+1) 2!/(k+3)!.
        let psi = psi / T::rounded(2.0);
        let mass = T::ONE - y * larger;
        Phi { larger, smaller: mass - larger, psi }
    } else {
        let e = (-y).exp();
        let mass = (T::ONE - e) / y;
        let (larger, smaller) = ((T::ONE - mass) / y, (mass - e) / y);
        Phi { larger, smaller, psi: (larger - smaller) / y }
    }
}

/// The rule as a map from a segment's end scores to (L, R, h), for a whole segment.
///
/// # Panics
/// For Taylor, which is not a map of single segments.
///
/// Proofs: `linear_coupling_le`, `linear_mass_range`, `linear_reversal`.
pub fn shares<T: Real>(rule: Rule, a_left: T, a_right: T) -> Shares<T> {
    let right_is_larger = a_right >= a_left;
    // The difference of two scores of opposite sign may overflow; the largest number stands for it.
    let y = (a_right - a_left).abs().min(T::MAX);
    let half = T::rounded(0.5);
    let (larger, smaller, diffusion) = match rule {
        Rule::Linear => {
            let phi = phi(y);
            (phi.larger, phi.smaller, phi.psi)
        }
        Rule::Step => return Shares { left: T::ZERO, right: T::ONE, diffusion: T::ZERO },
        Rule::Trapezoid => (half, half * (-y).exp(), T::ZERO),
        Rule::Taylor(_) => unreachable!("Taylor weights are functions of a node and its neighbours"),
    };
    let (left, right) = if right_is_larger { (smaller, larger) } else { (larger, smaller) };
    Shares { left, right, diffusion }
}

/// The score at place u of a segment, from the nearer end; `one_minus_u` is given to keep it accurate.
///
/// Proofs: `score_of_curve`.
pub fn interpolate<T: Real>(a_left: T, a_right: T, u: f64, one_minus_u: f64) -> T {
    let x = (a_right - a_left).max(-T::MAX).min(T::MAX);
    let a = if u < 0.5 { a_left + x * T::rounded(u) } else { a_right - x * T::rounded(one_minus_u) };
    a.max(a_left.min(a_right)).min(a_left.max(a_right))
}

/// A part [alpha, beta] of a segment: the scores at its ends, and what it gives to the segment's two nodes in units of its
/// own length and its own E_max.
///
/// With L', R', h' those of the part as a segment by itself,
///
/// ```text
/// L = L'(1-alpha) + R'(1-beta)    R = L' alpha + R' beta    h = alpha(1-alpha) L' + beta(1-beta) R' + lambda^2 h'
/// ```
///
/// Proofs: `cut_value`, `linear_cut_integral`, `linear_whole`, `trapezoid_whole`, `step_whole`, `linear_cut_value`,
/// `linear_cut_mass`, `linear_cut_pos`, `linear_cut_nonneg`, `linear_cut_split`, `cut_linear_reversal`,
/// `cut_linear_shift`, `cut_linear_scale`.
pub fn part_shares<T: Real>(rule: Rule, a_left: T, a_right: T, part: &Part) -> (T, T, Shares<T>) {
    if part.is_whole() || rule == Rule::Step {
        return (a_left, a_right, shares(rule, a_left, a_right));
    }
    let a_alpha = interpolate(a_left, a_right, part.alpha, part.one_minus_alpha);
    let a_beta = interpolate(a_left, a_right, part.beta, part.one_minus_beta);
    let own = shares(rule, a_alpha, a_beta);
    let [alpha, not_alpha, beta, not_beta, lambda] =
        [part.alpha, part.one_minus_alpha, part.beta, part.one_minus_beta, part.lambda].map(T::rounded);
    let shares = Shares {
        left: own.left * not_alpha + own.right * not_beta,
        right: own.left * alpha + own.right * beta,
        diffusion: alpha * not_alpha * own.left + beta * not_beta * own.right + lambda * lambda * own.diffusion,
    };
    (a_alpha, a_beta, shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// int_0^1 e^{-sy} f(s) ds by the midpoint rule with Richardson's extrapolation: the definitions, not the formulas.
    fn integral(y: f64, f: impl Fn(f64) -> f64) -> f64 {
        let midpoint = |n: u32| {
            let step = 1.0 / f64::from(n);
            (0..n).map(|i| (f64::from(i) + 0.5) * step).map(|s| (-s * y).exp() * f(s)).sum::<f64>() * step
        };
        let (a, b, c) = (midpoint(2000), midpoint(4000), midpoint(8000));
        let (ab, bc) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
        (16.0 * bc - ab) / 15.0
    }

    #[test]
    fn shares_are_the_integrals_of_the_hat_functions() {
        for y in [0.0, 1e-300, 1e-9, 0.3, 0.999_999, 1.0, 1.000_001, 2.5, 20.0] {
            // The curve rises to the right: a_left = -y, a_right = 0, with s counted from the larger end.
            let found = shares(Rule::Linear, -y, 0.0);
            for (found, expected) in [
                (found.right, integral(y, |s| 1.0 - s)),
                (found.left, integral(y, |s| s)),
                (found.diffusion, integral(y, |s| s * (1.0 - s))),
            ] {
                assert!((found - expected).abs() <= 1e-13 * expected, "y = {y}: {found} {expected}");
            }
            let mirrored = shares(Rule::Linear, 0.0, -y);
            assert_eq!((mirrored.left, mirrored.right), (found.right, found.left));
        }
    }

    /// phi2(-1) = 1/e and e^{-1} phi2(1) = 1 - 2/e by the closed forms.
    #[test]
    fn both_branches_meet_at_one() {
        let e = std::f64::consts::E;
        for y in [1.0, 1.0 - f64::EPSILON / 2.0] {
            let found = phi(y);
            assert!((found.larger - 1.0 / e).abs() < 4e-16, "{}", found.larger);
            assert!((found.smaller - (1.0 - 2.0 / e)).abs() < 4e-16);
            assert!((found.psi - (3.0 / e - 1.0)).abs() < 1e-15);
        }
    }

    #[test]
    fn far_ends_stay_finite() {
        let wide = shares(Rule::Linear, -f32::MAX, f32::MAX);
        assert!(wide.right > 0.0 && wide.right.is_finite() && wide.left == 0.0);
        let far = shares(Rule::Linear, 0.0, 1e30);
        assert!((far.right * 1e30 - 1.0).abs() < 1e-15, "phi2(-y) tends to 1/y");
    }

    /// Cutting a segment in two leaves what its nodes get, for the exact rule.
    #[test]
    fn parts_add_up() {
        for (a, b) in [(0.3, 2.0), (5.0, -1.0), (0.1, 0.1), (0.0, 40.0)] {
            let whole = shares(Rule::Linear, a, b);
            let top = f64::max(a, b);
            let (mut left, mut right, mut diffusion) = (0.0, 0.0, 0.0);
            for (alpha, beta) in [(0.0, 0.3), (0.3, 1.0)] {
                let part = Part {
                    alpha,
                    one_minus_alpha: 1.0 - alpha,
                    beta,
                    one_minus_beta: 1.0 - beta,
                    lambda: beta - alpha,
                };
                let (from, to, shares) = part_shares(Rule::Linear, a, b, &part);
                let factor = part.lambda * (f64::max(from, to) - top).exp();
                left += factor * shares.left;
                right += factor * shares.right;
                diffusion += factor * shares.diffusion;
            }
            assert!((left - whole.left).abs() < 1e-15);
            assert!((right - whole.right).abs() < 1e-15);
            assert!((diffusion - whole.diffusion).abs() < 1e-15);
        }
    }
}
