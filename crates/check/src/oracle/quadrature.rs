//! Integrals of an exponential against hat functions, by Gauss-Legendre quadrature alone.
//!
//! On a part of a segment the curve's score is linear, so with y >= 0 the drop of the score along the part and t the way from
//! its higher end, in shares of the part,
//!
//! ```text
//!     integral of e^{a(s) - max a} f(s) ds = length * int_0^1 e^{-y t} f(t) dt,      f = N_left, N_right and their products.
//! ```
//!
//! The interval is cut into panels over which the score drops by 4 (the last one by less), on each of which 16 points of
//! Gauss-Legendre quadrature integrate e^{-4 t} times a quadratic to (16!)^4 / (33 (32!)^3) 4^32 < 2^-115 of e at the panel's
//! start: nothing is expanded, and no function phi or psi appears. Panels that begin at a drop above 80 weigh less than
//! e^-80 < 2^-115 of the whole and are left out.
//!
//! Proofs: `curve_of_hats`, `hats_partition`.

use super::wide::Wide;
use std::sync::LazyLock;

/// Points of one panel.
const POINTS: usize = 16;
/// Drop of the score over a full panel.
const DROP: f64 = 4.0;
/// Drop of the score beyond which nothing counts.
const NEGLIGIBLE: f64 = 80.0;

/// Points and weights for [0, 1], with e^{-4 t} at each point and e^{-4}.
struct Panel {
    points: [Wide; POINTS],
    weights: [Wide; POINTS],
    exponentials: [Wide; POINTS],
    whole_drop: Wide,
}

static PANEL: LazyLock<Panel> = LazyLock::new(|| {
    let (points, weights) = gauss_legendre();
    let exponentials = points.map(|t| (t * -DROP).exp());
    Panel { points, weights, exponentials, whole_drop: Wide::from_f64(-DROP).exp() }
});

/// P_n(x) and P_n'(x) by the three-term recurrence.
fn legendre(n: usize, x: Wide) -> (Wide, Wide) {
    let (mut before, mut here) = (Wide::ONE, x);
    for k in 2..=n {
        let k = k as f64;
        let next = (x * here * (2.0 * k - 1.0) - before * (k - 1.0)) / Wide::from_f64(k);
        (before, here) = (here, next);
    }
    let slope = (x * here - before) * n as f64 / (x * x - Wide::ONE);
    (here, slope)
}

/// Points and weights on [0, 1]: the roots x of P_16 by Newton's iteration from cos(pi (i + 3/4)/(n + 1/2)), and
/// 1/((1 - x^2) P_16'(x)^2), which is half the weight on [-1, 1].
fn gauss_legendre() -> ([Wide; POINTS], [Wide; POINTS]) {
    let (mut points, mut weights) = ([Wide::ZERO; POINTS], [Wide::ZERO; POINTS]);
    for i in 0..POINTS {
        let guess = libm::cos(std::f64::consts::PI * (i as f64 + 0.75) / (POINTS as f64 + 0.5));
        let mut x = Wide::from_f64(guess);
        for _ in 0..5 {
            let (value, slope) = legendre(POINTS, x);
            x -= value / slope;
        }
        let (_, slope) = legendre(POINTS, x);
        points[i] = (Wide::ONE - x) * 0.5;
        weights[i] = Wide::ONE / ((Wide::ONE - x * x) * slope * slope);
    }
    (points, weights)
}

/// What of a segment is integrated over: u from alpha to beta, u = 0 at the left node and 1 at the right one. Each share is
/// kept by itself so that none comes from a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// alpha
    pub alpha: Wide,
    /// 1 - alpha
    pub after_alpha: Wide,
    /// beta
    pub beta: Wide,
    /// 1 - beta
    pub after_beta: Wide,
    /// beta - alpha
    pub length: Wide,
}

impl Share {
    /// The whole segment.
    pub const WHOLE: Share =
        Share { alpha: Wide::ZERO, after_alpha: Wide::ONE, beta: Wide::ONE, after_beta: Wide::ZERO, length: Wide::ONE };

    /// Whether nothing is cut off.
    pub fn is_whole(&self) -> bool {
        *self == Share::WHOLE
    }
}

/// Integrals over u from alpha to beta of e^{a(u) - m} times products of the hat functions N_left = 1 - u and N_right = u;
/// m is the anchor of the [`Mass`](super::Mass).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Moments {
    /// of N_left
    pub left: Wide,
    /// of N_right
    pub right: Wide,
    /// of N_left^2
    pub left_left: Wide,
    /// of N_left N_right
    pub left_right: Wide,
    /// of N_right^2
    pub right_right: Wide,
}

impl Moments {
    /// Adds a point mass at u.
    pub(crate) fn add(&mut self, mass: Wide, left: Wide, right: Wide) {
        self.left += mass * left;
        self.right += mass * right;
        self.left_left += mass * left * left;
        self.left_right += mass * left * right;
        self.right_right += mass * right * right;
    }

    /// All of the mass at the right node.
    pub(crate) fn at_right(mass: Wide) -> Moments {
        Moments { right: mass, right_right: mass, ..Moments::default() }
    }

    /// Integrals for scores that rise by `rise` from alpha to beta, anchored at the higher of the two ends.
    pub(crate) fn linear(share: &Share, rise: Wide) -> Moments {
        let panel = &*PANEL;
        let mut moments = Moments::default();
        let drop = rise.abs();
        let mut point = |mass: Wide, t: Wide| {
            // t is the way from the higher end; `forward` that from alpha.
            let (forward, backward) = if rise.to_f64() > 0.0 { (Wide::ONE - t, t) } else { (t, Wide::ONE - t) };
            let right = share.alpha + share.length * forward;
            let left = share.after_beta + share.length * backward;
            moments.add(mass * share.length, left, right);
        };
        let whole = (drop.to_f64().min(NEGLIGIBLE) / DROP) as usize;
        let mut start_height = Wide::ONE;
        if whole > 0 {
            let width = Wide::from_f64(DROP) / drop;
            for p in 0..whole {
                for k in 0..POINTS {
                    let t = (panel.points[k] + Wide::from_f64(p as f64)) * width;
                    point(start_height * panel.exponentials[k] * panel.weights[k] * width, t);
                }
                start_height = start_height * panel.whole_drop;
            }
        }
        if drop.to_f64() < NEGLIGIBLE {
            let rest = drop - Wide::from_f64(whole as f64 * DROP);
            let start = if whole > 0 { Wide::from_f64(whole as f64 * DROP) / drop } else { Wide::ZERO };
            let width = if whole > 0 { rest / drop } else { Wide::ONE };
            for k in 0..POINTS {
                let height = start_height * (-(rest * panel.points[k])).exp();
                point(height * panel.weights[k] * width, start + panel.points[k] * width);
            }
        }
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_up_to_degree_31_are_exact() {
        let (points, weights) = gauss_legendre();
        for degree in 0..32 {
            let sum: Wide = (0..POINTS).map(|k| (0..degree).fold(weights[k], |term, _| term * points[k])).sum();
            let error = (sum * f64::from(degree + 1) - Wide::ONE).to_f64();
            assert!(error.abs() < 1e-29, "degree {degree}: {error:e}");
        }
    }

    #[test]
    fn whole_segments_have_known_integrals() {
        // int_0^1 e^{-y t} dt = (1 - e^-y)/y, and the same by parts with t and t^2; at y = 2 and 100 and 3e30.
        for y in [2.0, 100.0, 3e30] {
            let moments = Moments::linear(&Share::WHOLE, Wide::from_f64(-y));
            let (wide, e) = (Wide::from_f64(y), Wide::from_f64(-y).exp());
            let first = (Wide::ONE - e) / wide;
            let second = (first - e) / wide;
            let third = (second * 2.0 - e) / wide;
            let close = |found: Wide, expected: Wide| {
                let error = ((found - expected) / expected).to_f64();
                assert!(error.abs() < 1e-27, "y {y}: {found:?} {expected:?} {error:e}");
            };
            close(moments.right, second);
            close(moments.left, first - second);
            close(moments.right_right, third);
            close(moments.left_right, second - third);
            let mirrored = Moments::linear(&Share::WHOLE, wide);
            close(mirrored.left_left, third);
            close(mirrored.left, second);
        }
        // At y = 1e-300 the hat functions alone are left: 1/2 and 1/6.
        let flat = Moments::linear(&Share::WHOLE, Wide::from_f64(1e-300));
        assert!((flat.left * 2.0 - Wide::ONE).to_f64().abs() < 1e-29);
        assert!((flat.left_right * 6.0 - Wide::ONE).to_f64().abs() < 1e-29);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        for rise in [-9.0, -0.3, 0.0, 0.2, 50.0] {
            let rise = Wide::from_f64(rise);
            let at = Wide::from_f64(0.375);
            let first = Share { beta: at, after_beta: Wide::ONE - at, length: at, ..Share::WHOLE };
            let second = Share { alpha: at, after_alpha: Wide::ONE - at, length: Wide::ONE - at, ..Share::WHOLE };
            let whole = Moments::linear(&Share::WHOLE, rise);
            // Each is anchored at its own higher end; bring both to that of the whole.
            let up = rise.to_f64() > 0.0;
            let shift_first = if up { (-(rise * second.length)).exp() } else { Wide::ONE };
            let shift_second = if up { Wide::ONE } else { (rise * first.length).exp() };
            let (a, b) = (Moments::linear(&first, rise * first.length), Moments::linear(&second, rise * second.length));
            let sum = |f: fn(&Moments) -> Wide| f(&a) * shift_first + f(&b) * shift_second - f(&whole);
            for f in [|m: &Moments| m.left, |m: &Moments| m.right, |m: &Moments| m.left_right] {
                assert!(sum(f).to_f64().abs() < 1e-29);
            }
        }
    }
}
