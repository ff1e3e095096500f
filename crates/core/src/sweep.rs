//! Figures of a sweep: how smoothly a quantity follows an input that is changed step by step.
//!
//! Marro et al. (ICLR 2025) vary a token's duration, or walk from one embedding to another, and ask of a probability, a weight or a
//! component of o whether it follows continuously. These are their three figures, for samples y(x_0), ..., y(x_m).
//!
//! ```
//! use contattn_core::sweep::{excursion, normalised_slope, peaks};
//! let x: Vec<f64> = (0..=40).map(|i| f64::from(i) / 40.0).collect();
//! let line: Vec<f64> = x.iter().map(|x| 3.0 - 2.0 * x).collect();
//! assert!((normalised_slope(&x, &line).unwrap() - 1.0).abs() < 1e-12);
//! assert_eq!(excursion(&line), 0.0);
//! let other: Vec<f64> = x.iter().map(|_| 2.0).collect();
//! assert_eq!(peaks(&[&line, &other, &x]), [true, true, false]);
//! ```

/// From here on an [`excursion`] counts as leaving the interval.
pub const EXCURSION_THRESHOLD: f64 = 0.05;

/// The largest |dy/dx| over the range max y - min y, by central differences inside and one-sided ones at the ends: 1 for a straight
/// line on \[0, 1\], large for a jump. `None` for a constant curve, which has no range, for fewer than two samples, and where a
/// sample is not finite.
///
/// # Panics
/// Where `x` and `y` differ in length.
pub fn normalised_slope(x: &[f64], y: &[f64]) -> Option<f64> {
    assert_eq!(x.len(), y.len(), "one place for each sample");
    let last = x.len().checked_sub(1).filter(|&last| last > 0)?;
    if !x.iter().chain(y).all(|t| t.is_finite()) {
        return None;
    }
    let (low, high) = y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &y| (l.min(y), h.max(y)));
    let slope = |i: usize| {
        let (a, b) = (i.saturating_sub(1), (i + 1).min(last));
        ((y[b] - y[a]) / (x[b] - x[a])).abs()
    };
    (high > low).then(|| (0..=last).map(slope).fold(0.0, f64::max) / (high - low))
}

/// m_max: how far the samples leave the interval between the first and the last one; 0 where they stay inside.
pub fn excursion(y: &[f64]) -> f64 {
    let (Some(&first), Some(&last)) = (y.first(), y.last()) else { return 0.0 };
    let (low, high) = (f64::min(first, last), f64::max(first, last));
    y.iter().fold(0.0, |most, &y| f64::max(most, f64::max(y - high, low - y)))
}

/// Which of the competing quantities is the largest somewhere along the sweep; where several are, each of them is.
///
/// # Panics
/// Where the quantities differ in their number of samples.
pub fn peaks(quantities: &[&[f64]]) -> Vec<bool> {
    let samples = quantities.first().map_or(0, |first| first.len());
    assert!(quantities.iter().all(|y| y.len() == samples), "every quantity is sampled at the same places");
    let mut peaks = vec![false; quantities.len()];
    for i in 0..samples {
        let largest = quantities.iter().map(|y| y[i]).fold(f64::NEG_INFINITY, f64::max);
        for (peak, y) in peaks.iter_mut().zip(quantities) {
            *peak |= y[i] == largest;
        }
    }
    peaks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parabola 4x(1 - x) has slope 4 at its ends and range 1; one-sided differences of step h find 4(1 - h).
    #[test]
    fn slopes_are_relative_to_the_range() {
        let x: Vec<f64> = (0..=100).map(|i| f64::from(i) / 100.0).collect();
        let y: Vec<f64> = x.iter().map(|x| 7.0 * 4.0 * x * (1.0 - x) - 3.0).collect();
        assert!((normalised_slope(&x, &y).unwrap() - 3.96).abs() < 1e-12);
        assert!((excursion(&y) - 7.0).abs() < 1e-12);
        // A jump between two neighbours of distance h: 1/(2h) by central differences.
        let jump: Vec<f64> = x.iter().map(|&x| f64::from(u8::from(x > 0.5))).collect();
        assert!((normalised_slope(&x, &jump).unwrap() - 50.0).abs() < 1e-9);
        assert_eq!(excursion(&jump), 0.0);
    }

    #[test]
    fn what_has_no_slope_says_so() {
        assert_eq!(normalised_slope(&[0.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(normalised_slope(&[0.0], &[2.0]), None);
        assert_eq!(normalised_slope(&[], &[]), None);
        assert_eq!(normalised_slope(&[0.0, 1.0], &[f64::NAN, 2.0]), None);
        assert_eq!(excursion(&[]), 0.0);
    }

    #[test]
    fn excursions_below_count_as_those_above() {
        assert_eq!(excursion(&[0.25, 0.5, 0.125, 1.0]), 0.125);
        assert_eq!(excursion(&[1.0, 0.5, 0.125, 0.25]), 0.125);
        assert!(peaks(&[]).is_empty());
    }
}
