//! The Taylor expansion of the bias b, cut at a total degree.

use contattn_core::Real;

/// b and its derivatives with respect to u and w.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bias<T> {
    /// b
    pub value: T,
    /// db/du
    pub by_u: T,
    /// db/dw
    pub by_w: T,
}

/// log(phi2(u) + phi2(w)) up to total degree `order`, for a node with two neighbours: u and w are their scores minus its own.
///
/// Proofs: `phi2_expansion`, `phi2_second_order`, `bias_second_order`, `eq13_second_order`, `biased_gradient`.
pub fn interior<T: Real>(u: T, w: T, order: u32) -> Bias<T> {
    expand(u, w, order, 0.0)
}

/// log phi2(u) up to degree `order`, for a node with one neighbour.
///
/// Proofs: `end_bias_second_order`, `eq13_first`, `eq13_last`.
pub fn end<T: Real>(u: T, order: u32) -> Bias<T> {
    // (phi2(u) + phi2(u))/2: the same series on the diagonal, less log 2.
    let both = expand(u, u, order, -std::f64::consts::LN_2);
    Bias { value: both.value, by_u: both.by_u + both.by_w, by_w: T::ZERO }
}

/// The sum phi2(u) + phi2(w) = S_0 + S_1 + ... has the homogeneous parts S_d = (u^d + w^d)/(d+2)!, S_0 = 1. Applying the Euler
/// operator u d/du + w d/dw to S = e^b, and taking parts of degree d, gives those of b:
///
/// ```text
/// d B_d = d S_d - sum_{j=1}^{d-1} j B_j S_{d-j}
/// ```
///
/// Both are evaluated at (u, w)/r with r = max(|u|, |w|), where nothing overflows, and the powers of r come in by Horner's
/// rule, which cannot produce inf - inf; a bias beyond the largest number is held at it.
fn expand<T: Real>(u: T, w: T, order: u32, constant: f64) -> Bias<T> {
    let (u, w) = (u.max(-T::MAX).min(T::MAX), w.max(-T::MAX).min(T::MAX));
    let order = order as usize;
    let r = u.abs().max(w.abs());
    let (x, y) = if r > T::ZERO { (u / r, w / r) } else { (T::ZERO, T::ZERO) };
    // S and B with their derivatives by x and y, index d.
    let mut s = vec![[T::ONE, T::ZERO, T::ZERO]];
    let mut b = vec![[T::ZERO; 3]];
    let (mut x_power, mut y_power, mut factorial) = (T::ONE, T::ONE, 2.0);
    for d in 1..=order {
        factorial *= (d + 2) as f64;
        let share = T::rounded(1.0 / factorial);
        let degree = T::rounded(d as f64);
        s.push([(x_power * x + y_power * y) * share, degree * x_power * share, degree * y_power * share]);
        (x_power, y_power) = (x_power * x, y_power * y);
        let mut part = s[d].map(|c| degree * c);
        for j in 1..d {
            let weight = T::rounded(j as f64);
            part[0] -= weight * b[j][0] * s[d - j][0];
            part[1] -= weight * (b[j][1] * s[d - j][0] + b[j][0] * s[d - j][1]);
            part[2] -= weight * (b[j][2] * s[d - j][0] + b[j][0] * s[d - j][2]);
        }
        b.push(part.map(|c| c / degree));
    }
    let horner = |which: usize, lowest: usize| {
        let sum = (lowest..=order).rev().fold(T::ZERO, |sum, d| sum * r + b[d][which]);
        sum.max(-T::MAX).min(T::MAX)
    };
    // The value starts at degree 1 and carries one more power of r than its derivatives do.
    let value = (horner(0, 1) * r + T::rounded(constant)).max(-T::MAX).min(T::MAX);
    Bias { value, by_u: horner(1, 1), by_w: horner(2, 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expansions in DESIGN's own terms: (u+w)/6 + (u^2-uw+w^2)/36 + (u+w)(19u^2-34uw+19w^2)/6480 and
    /// -log 2 + u/3 + u^2/36 + u^3/810, written out here by hand.
    #[test]
    fn the_first_three_orders() {
        let (u, w) = (0.7, -0.4);
        let orders = [
            (u + w) / 6.0,
            (u * u - u * w + w * w) / 36.0,
            (u + w) * (19.0 * u * u - 34.0 * u * w + 19.0 * w * w) / 6480.0,
        ];
        let ends = [u / 3.0, u * u / 36.0, u * u * u / 810.0];
        for order in 0..=3 {
            let expected: f64 = orders[..order].iter().sum();
            let found = interior(u, w, order as u32).value;
            assert!((found - expected).abs() < 1e-16, "{order}: {found} {expected}");
            let expected = ends[..order].iter().sum::<f64>() - std::f64::consts::LN_2;
            let found = end(u, order as u32).value;
            assert!((found - expected).abs() < 3e-16, "{order}: {found} {expected}");
        }
    }

    /// Within the radius of convergence the series reaches log(phi2(u) + phi2(w)), here from the closed form at arguments
    /// where that does not cancel.
    #[test]
    fn high_orders_converge_to_the_bias() {
        let phi2 = |x: f64| (x.exp() - 1.0 - x) / (x * x);
        for (u, w) in [(2.0, -1.5), (-3.0, -2.0), (3.0, 2.5)] {
            let expected = (phi2(u) + phi2(w)).ln();
            assert!((interior(u, w, 60).value - expected).abs() < 1e-12);
            assert!((end(u, 60).value - phi2(u).ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn derivatives_are_those_of_the_polynomial() {
        let step = 1e-5;
        for order in 0..8 {
            let (u, w) = (0.9, -1.3);
            let found = interior(u, w, order);
            let by_u = (interior(u + step, w, order).value - interior(u - step, w, order).value) / (2.0 * step);
            let by_w = (interior(u, w + step, order).value - interior(u, w - step, order).value) / (2.0 * step);
            assert!((found.by_u - by_u).abs() < 1e-9 && (found.by_w - by_w).abs() < 1e-9, "{order}");
            let by_u = (end(u + step, order).value - end(u - step, order).value) / (2.0 * step);
            assert!((end(u, order).by_u - by_u).abs() < 1e-9);
        }
    }

    #[test]
    fn absurd_differences_saturate() {
        for (u, w) in [(1e30f32, -1e30), (f32::MAX, f32::MAX), (f32::INFINITY, 0.0), (-1e38, -3e38)] {
            for order in 0..12 {
                let b = interior(u, w, order);
                assert!(b.value.is_finite() && b.by_u.is_finite() && b.by_w.is_finite(), "{u} {w} {order}: {b:?}");
            }
        }
    }
}
