//! How smoothly a quantity follows a sweep: one input moved along a line, one number read at every step.
//!
//! A model that reads its tokens as points of a discrete set jumps somewhere along such a sweep; one that reads them as samples
//! of a curve does not. The figures are those with which Marro et al. (ICLR 2025) compare language models: the **normalised
//! slope**, an empirical Lipschitz constant, the **excursion** beyond the end values, and the **peaks**, how many competitors
//! are the largest somewhere.
//!
//! ```
//! use contattn_check::smoothness::{Peaks, normalised_slope, excursion};
//!
//! let x: Vec<f64> = (0..=40).map(|i| f64::from(i) / 40.0).collect();
//! let straight: Vec<f64> = x.iter().map(|x| 3.0 - 2.0 * x).collect();
//! assert!((normalised_slope(&x, &straight)?.unwrap() - 1.0).abs() < 1e-12);
//! assert_eq!(excursion(&straight)?, 0.0);
//! let rising: Vec<f64> = straight.iter().map(|y| 4.0 - y).collect();
//! assert_eq!(Peaks::among(&[straight, rising])?.winners, [0, 1]);
//! # Ok::<(), contattn_check::smoothness::SmoothnessError>(())
//! ```

/// An excursion of this size or more counts as leaving the interval between the end values.
pub const EXCEEDING: f64 = 0.05;

/// Samples that no figure can be made from.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SmoothnessError {
    /// Too few samples.
    #[error("{found} samples: expected at least {least}")]
    Few {
        /// how many there are
        found: usize,
        /// how many are needed
        least: usize,
    },
    /// Lists that differ in length.
    #[error("list {list} has {found} samples, expected {expected}")]
    Length {
        /// which list, counted from 0; x is list 0 of a slope, y list 1
        list: usize,
        /// how many samples it has
        found: usize,
        /// how many the first one has
        expected: usize,
    },
    /// A sample that is no finite number.
    #[error("sample {index} of list {list} is {found}: expected a finite number")]
    Number {
        /// which list
        list: usize,
        /// which sample
        index: usize,
        /// what stands there
        found: f64,
    },
    /// A position that does not lie beyond the one before.
    #[error("position {index} is {found}: expected more than the position before")]
    Order {
        /// which position
        index: usize,
        /// what stands there
        found: f64,
    },
}

fn finite(list: usize, samples: &[f64]) -> Result<(), SmoothnessError> {
    match samples.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(SmoothnessError::Number { list, index, found: samples[index] }),
        None => Ok(()),
    }
}

/// dy/dx at every sample: inside, the derivative of the parabola through a sample and its neighbours (for even steps the central
/// difference); at the ends the slope of the last step.
///
/// With steps h to the left and k to the right, and s, t the slopes of these steps: (k s + h t)/(h + k).
///
/// # Errors
/// Fewer than 2 samples, lists of two lengths, a number that is not finite, positions that do not rise.
pub fn slopes(x: &[f64], y: &[f64]) -> Result<Vec<f64>, SmoothnessError> {
    if x.len() < 2 {
        return Err(SmoothnessError::Few { found: x.len(), least: 2 });
    }
    if y.len() != x.len() {
        return Err(SmoothnessError::Length { list: 1, found: y.len(), expected: x.len() });
    }
    finite(0, x)?;
    finite(1, y)?;
    if let Some(at) = x.windows(2).position(|pair| pair[0] >= pair[1]) {
        return Err(SmoothnessError::Order { index: at + 1, found: x[at + 1] });
    }
    let step = |i: usize| x[i + 1] - x[i];
    let chord = |i: usize| (y[i + 1] - y[i]) / step(i);
    let last = x.len() - 1;
    Ok((0..=last)
        .map(|i| match i {
            0 => chord(0),
            i if i == last => chord(last - 1),
            i => (step(i) * chord(i - 1) + step(i - 1) * chord(i)) / (step(i - 1) + step(i)),
        })
        .collect())
}

/// max |dy/dx| / (max y - min y): how steep a quantity is at its steepest, measured by the whole of its change. A straight line
/// over [0, 1] has 1, a jump between two of m even steps m/2 inside and m at an end. `None` for a constant quantity, which has
/// no size to measure by.
///
/// In units of 1/x: normalise x first to compare sweeps of different lengths.
///
/// # Errors
/// As [`slopes`].
pub fn normalised_slope(x: &[f64], y: &[f64]) -> Result<Option<f64>, SmoothnessError> {
    let steepest = slopes(x, y)?.iter().fold(0.0, |most: f64, slope| most.max(slope.abs()));
    let (low, high) = range(y);
    Ok((high > low).then(|| steepest / (high - low)))
}

fn range(y: &[f64]) -> (f64, f64) {
    y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)))
}

/// m_max: the furthest that samples between the ends leave the interval between the two end values, in units of y; 0 where they
/// stay inside. [`EXCEEDING`] or more counts as leaving it.
///
/// # Errors
/// Fewer than 2 samples, a number that is not finite.
pub fn excursion(y: &[f64]) -> Result<f64, SmoothnessError> {
    let [first, .., last] = y else { return Err(SmoothnessError::Few { found: y.len(), least: 2 }) };
    finite(0, y)?;
    let (low, high) = (first.min(*last), first.max(*last));
    Ok(y[1..y.len() - 1].iter().fold(0.0, |most: f64, y| most.max(y - high).max(low - y)))
}

/// Which of several competing quantities are the largest somewhere along a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peaks {
    /// those that are, by their place in the list, rising; ties count for all that tie
    pub winners: Vec<usize>,
}

impl Peaks {
    /// Compares quantities step by step: one list of samples for each.
    ///
    /// # Errors
    /// No quantity or no sample, lists that differ in length, a number that is not finite.
    pub fn among(quantities: &[Vec<f64>]) -> Result<Peaks, SmoothnessError> {
        let expected = quantities.first().map_or(0, Vec::len);
        if expected == 0 {
            return Err(SmoothnessError::Few { found: 0, least: 1 });
        }
        for (list, samples) in quantities.iter().enumerate() {
            if samples.len() != expected {
                return Err(SmoothnessError::Length { list, found: samples.len(), expected });
            }
            finite(list, samples)?;
        }
        let largest = |step: usize| quantities.iter().map(|samples| samples[step]).fold(f64::NEG_INFINITY, f64::max);
        let largest: Vec<f64> = (0..expected).map(largest).collect();
        let wins = |samples: &Vec<f64>| samples.iter().zip(&largest).any(|(sample, largest)| sample == largest);
        Ok(Peaks { winners: (0..quantities.len()).filter(|&i| wins(&quantities[i])).collect() })
    }

    /// How many there are.
    pub fn number(&self) -> usize {
        self.winners.len()
    }

    /// Their number over n, n being how often the swept word stands or how many events there are; `None` for n = 0.
    pub fn share(&self, n: usize) -> Option<f64> {
        (n > 0).then(|| self.number() as f64 / n as f64)
    }

    /// What [`share`](Peaks::share) is for a model that holds one answer along the whole sweep: 1/n.
    pub fn discrete_counterfactual(n: usize) -> Option<f64> {
        (n > 0).then(|| 1.0 / n as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(m: usize) -> Vec<f64> {
        (0..=m).map(|i| i as f64 / m as f64).collect()
    }

    /// Against derivatives known in closed form, on even and uneven positions.
    #[test]
    fn slopes_of_parabolas_are_exact_inside() {
        for x in [steps(20), steps(20).iter().map(|x| x * x).collect::<Vec<f64>>()] {
            let y: Vec<f64> = x.iter().map(|x| 3.0 * x * x - x + 2.0).collect();
            let found = slopes(&x, &y).unwrap();
            for i in 1..20 {
                assert!((found[i] - (6.0 * x[i] - 1.0)).abs() < 1e-11, "{i}: {}", found[i]);
            }
            // One-sided: the derivative in the middle of the last step.
            assert!((found[20] - (3.0 * (x[19] + x[20]) - 1.0)).abs() < 1e-11);
            assert!((found[0] - (3.0 * (x[0] + x[1]) - 1.0)).abs() < 1e-11);
        }
    }

    #[test]
    fn steepness_is_measured_by_the_range() {
        let x = steps(100);
        for (a, b) in [(1.0, 0.0), (-1e-9, 5.0), (1e12, -3.0)] {
            let line: Vec<f64> = x.iter().map(|x| a * x + b).collect();
            let slope = normalised_slope(&x, &line).unwrap().unwrap();
            assert!((slope - 1.0).abs() < 1e-4, "{a} {b}: {slope}");
        }
        assert_eq!(normalised_slope(&x, &[0.25; 101]), Ok(None));
        // A jump inside: central differences see half of it over one step.
        let jump: Vec<f64> = x.iter().map(|x| f64::from(u8::from(*x > 0.5))).collect();
        assert!((normalised_slope(&x, &jump).unwrap().unwrap() - 50.0).abs() < 1e-9);
        let mut early = vec![1.0; 101];
        early[0] = 0.0;
        assert!((normalised_slope(&x, &early).unwrap().unwrap() - 100.0).abs() < 1e-9);
        // A sine over one period: 2 pi / 2, less what a difference over 2h smooths away, 1 - (2 pi h)^2 / 6.
        let sine: Vec<f64> = x.iter().map(|x| (2.0 * std::f64::consts::PI * x).sin()).collect();
        let slope = normalised_slope(&x, &sine).unwrap().unwrap();
        assert!((slope / std::f64::consts::PI - 1.0).abs() < 7e-4, "{slope}");
    }

    #[test]
    fn excursions_leave_on_either_side() {
        assert_eq!(excursion(&[0.0, 0.5, 1.0]), Ok(0.0));
        assert_eq!(excursion(&[0.0, 1.25, 1.0]), Ok(0.25));
        assert_eq!(excursion(&[1.0, -0.5, 0.0]), Ok(0.5));
        assert_eq!(excursion(&[1.0, 0.0]), Ok(0.0));
        // The end values themselves are never outside.
        assert_eq!(excursion(&[5.0, 3.0, -5.0]), Ok(0.0));
        let y = [0.2, 0.2 + EXCEEDING * 0.999, 0.2];
        assert!(excursion(&y).unwrap() < EXCEEDING);
    }

    #[test]
    fn peaks_count_ties() {
        let peaks = |lists: &[&[f64]]| Peaks::among(&lists.iter().map(|list| list.to_vec()).collect::<Vec<_>>());
        assert_eq!(peaks(&[&[1.0, 2.0], &[2.0, 1.0], &[0.0, 1.9]]).unwrap().winners, [0, 1]);
        assert_eq!(peaks(&[&[1.0, 2.0], &[1.0, 0.0], &[0.5, 0.5]]).unwrap().winners, [0, 1]);
        let one = peaks(&[&[-3.0]]).unwrap();
        assert_eq!((one.number(), one.share(4), Peaks::discrete_counterfactual(4)), (1, Some(0.25), Some(0.25)));
        assert_eq!((one.share(0), Peaks::discrete_counterfactual(0)), (None, None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let nan = f64::NAN;
        assert_eq!(slopes(&[0.0], &[0.0]), Err(SmoothnessError::Few { found: 1, least: 2 }));
        assert_eq!(slopes(&[0.0, 1.0], &[0.0]), Err(SmoothnessError::Length { list: 1, found: 1, expected: 2 }));
        assert_eq!(slopes(&[0.0, 0.0], &[0.0, 1.0]), Err(SmoothnessError::Order { index: 1, found: 0.0 }));
        assert!(matches!(slopes(&[0.0, 1.0], &[0.0, nan]), Err(SmoothnessError::Number { list: 1, index: 1, .. })));
        assert!(matches!(excursion(&[0.0, f64::INFINITY, 1.0]), Err(SmoothnessError::Number { index: 1, .. })));
        assert_eq!(excursion(&[1.0]), Err(SmoothnessError::Few { found: 1, least: 2 }));
        assert_eq!(Peaks::among(&[]), Err(SmoothnessError::Few { found: 0, least: 1 }));
        assert!(matches!(Peaks::among(&[vec![1.0], vec![]]), Err(SmoothnessError::Length { list: 1, .. })));
        assert!(matches!(Peaks::among(&[vec![1.0], vec![nan]]), Err(SmoothnessError::Number { list: 1, .. })));
    }
}
