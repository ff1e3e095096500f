//! Statistics of error samples: what a run without failures proves, and whether rounding errors look like rounding errors.

use statrs::distribution::{Beta, ContinuousCDF};

/// A sample or level that no statement can be made from.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatisticsError {
    /// More failures than trials, or no trial.
    #[error("{failures} failures in {trials} trials")]
    Counts {
        /// failures
        failures: u64,
        /// trials
        trials: u64,
    },
    /// A level outside (0, 1).
    #[error("level {level}: expected a number between 0 and 1")]
    Level {
        /// what was asked for
        level: f64,
    },
    /// A sample without a number, or with one that is NaN.
    #[error("a sample of {len} numbers, {nan} of them NaN")]
    Sample {
        /// how many there are
        len: usize,
        /// how many are NaN
        nan: usize,
    },
}

/// The exact upper bound of Clopper and Pearson (1934): with `failures` in `trials` independent trials, the chance of a failure
/// lies below it with confidence 1 - alpha.
///
/// It is the (1 - alpha) quantile of Beta(k + 1, N - k); for no failure 1 - alpha^(1/N), about 3/N at alpha = 0.05.
///
/// # Errors
/// [`StatisticsError::Counts`], [`StatisticsError::Level`].
///
/// ```
/// let bound = contattn_check::statistics::failure_rate_bound(0, 1_000_000, 0.05)?;
/// assert!((bound - 2.9957e-6).abs() < 1e-10); // -ln 0.05 = 2.9957...
/// # Ok::<(), contattn_check::statistics::StatisticsError>(())
/// ```
pub fn failure_rate_bound(failures: u64, trials: u64, alpha: f64) -> Result<f64, StatisticsError> {
    if trials == 0 || failures > trials {
        return Err(StatisticsError::Counts { failures, trials });
    }
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(StatisticsError::Level { level: alpha });
    }
    if failures == trials {
        return Ok(1.0);
    }
    if failures == 0 {
        // 1 - alpha^(1/N), without its cancellation.
        return Ok(-libm::expm1(libm::log(alpha) / trials as f64));
    }
    let beta = Beta::new(failures as f64 + 1.0, (trials - failures) as f64)
        .map_err(|_| StatisticsError::Counts { failures, trials })?;
    Ok(quantile(|p| beta.cdf(p), 1.0 - alpha))
}

/// p in [0, 1] with cdf(p) = level, by bisection: monotone, so it needs nothing else of the distribution.
fn quantile(cdf: impl Fn(f64) -> f64, level: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if cdf(middle) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Result of a Kolmogorov-Smirnov test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KolmogorovSmirnov {
    /// D: the largest distance between the sample's distribution function and that of the hypothesis
    pub distance: f64,
    /// chance of a distance at least as large if the hypothesis holds
    pub p_value: f64,
    /// size of the sample
    pub len: usize,
}

/// Tests whether errors of correctly rounded results, in units in the last place, are uniform on [-1/2, 1/2], as they are where
/// results spread over many numbers of the type.
///
/// The p-value is Kolmogorov's limit distribution at D (sqrt N + 0.12 + 0.11/sqrt N) (Stephens 1970), good to a few per cent
/// from N = 5 on.
///
/// # Errors
/// [`StatisticsError::Sample`].
pub fn rounding_is_uniform(errors_in_ulps: &[f64]) -> Result<KolmogorovSmirnov, StatisticsError> {
    let len = errors_in_ulps.len();
    let nan = errors_in_ulps.iter().filter(|x| x.is_nan()).count();
    if len == 0 || nan > 0 {
        return Err(StatisticsError::Sample { len, nan });
    }
    let mut sorted = errors_in_ulps.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = len as f64;
    let mut distance: f64 = 0.0;
    for (i, &x) in sorted.iter().enumerate() {
        let uniform = (x + 0.5).clamp(0.0, 1.0);
        distance = distance.max(uniform - i as f64 / n).max((i + 1) as f64 / n - uniform);
    }
    let root = libm::sqrt(n);
    Ok(KolmogorovSmirnov { distance, p_value: kolmogorov((root + 0.12 + 0.11 / root) * distance), len })
}

/// Chance that Kolmogorov's variable exceeds x: 2 sum_{k>=1} (-1)^{k-1} e^{-2 k^2 x^2}; for small x by the same theta function
/// turned round, 1 - sqrt(2 pi)/x sum_{k>=1} e^{-(2k-1)^2 pi^2/(8 x^2)}.
pub fn kolmogorov(x: f64) -> f64 {
    use std::f64::consts::PI;
    if x <= 0.0 {
        return 1.0;
    }
    if x < 1.0 {
        let sum: f64 = (1..=20).map(|k| libm::exp(-((2 * k - 1) as f64 * PI / x).powi(2) / 8.0)).sum();
        return 1.0 - libm::sqrt(2.0 * PI) / x * sum;
    }
    let term = |k: i32| f64::from(1 - 2 * ((k + 1) % 2)) * libm::exp(-2.0 * (f64::from(k) * x).powi(2));
    (2.0 * (1..=20).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() < relative, "{found:e} against {expected:e}");
    }

    #[test]
    fn no_failures_have_a_closed_form() {
        for trials in [1u64, 10, 1000, 1_000_000_000] {
            // 1 - alpha^(1/N), where that does not cancel, and -ln(alpha)/N where it would.
            let found = failure_rate_bound(0, trials, 0.05).unwrap();
            if trials <= 1000 {
                close(found, 1.0 - 0.05f64.powf(1.0 / trials as f64), 1e-12);
            } else {
                close(found, 2.995732273553991 / trials as f64, 1e-8);
            }
        }
        // All but one failed: 1 - bound is 1 - (1 - alpha)^(1/N) for k = N - 1, since Beta(N, 1) has cdf p^N.
        close(failure_rate_bound(9, 10, 0.05).unwrap(), 0.95f64.powf(0.1), 1e-10);
        assert_eq!(failure_rate_bound(7, 7, 0.01), Ok(1.0));
    }

    #[test]
    fn the_binomial_agrees() {
        // By its definition: with chance p of a failure, at most k of N failures have chance alpha.
        for (k, n) in [(1u64, 10u64), (2, 20), (5, 100), (30, 100)] {
            let p = failure_rate_bound(k, n, 0.025).unwrap();
            let mut tail = 0.0;
            let mut choose = 1.0;
            for i in 0..=k {
                tail += choose * p.powi(i as i32) * (1.0 - p).powi((n - i) as i32);
                choose *= (n - i) as f64 / (i + 1) as f64;
            }
            close(tail, 0.025, 1e-9);
        }
        // Textbook interval for 5 of 20 at 95 %: 0.0866 to 0.4910.
        assert!((failure_rate_bound(5, 20, 0.025).unwrap() - 0.4910).abs() < 5e-5);
    }

    #[test]
    fn kolmogorovs_table() {
        // Critical values of the limit distribution: 1.2238 at 10 %, 1.3581 at 5 %, 1.6276 at 1 % (Smirnov 1948).
        for (x, p) in [(1.2238, 0.1), (1.3581, 0.05), (1.6276, 0.01)] {
            assert!((kolmogorov(x) - p).abs() < 4e-5, "{x}: {}", kolmogorov(x));
        }
        // The two series meet.
        assert!((kolmogorov(1.0 - 1e-12) - kolmogorov(1.0)).abs() < 1e-10);
        assert_eq!(kolmogorov(0.0), 1.0);
    }

    #[test]
    fn a_grid_is_uniform_and_a_truncation_is_not() {
        let grid: Vec<f64> = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0 - 0.5).collect();
        let test = rounding_is_uniform(&grid).unwrap();
        assert!((test.distance - 0.0005).abs() < 1e-12 && test.p_value > 0.999);
        let truncated: Vec<f64> = grid.iter().map(|x| x + 0.5).collect();
        assert!(rounding_is_uniform(&truncated).unwrap().p_value < 1e-6);
        // Rounding twice puts a few errors beyond a half; rounding to 20 steps of a unit is seen as well.
        let coarse: Vec<f64> = grid.iter().map(|x| (x * 4.0).round() / 4.0).collect();
        assert!(rounding_is_uniform(&coarse).unwrap().p_value < 1e-6);
        assert!(rounding_is_uniform(&[]).is_err() && rounding_is_uniform(&[f64::NAN]).is_err());
    }

    #[test]
    fn division_in_f32_rounds_uniformly() {
        // Errors of f32 quotients against f64 ones, of numerators that share no pattern with the divisor.
        let errors: Vec<f64> = (1..4000)
            .map(|i| {
                let x = 1.0 + f64::from(i) * 0.000_123_4;
                let exact = 1.0 / x;
                let unit = crate::report::unit_in_last_place(exact, contattn_core::Dtype::F32);
                (f64::from(exact as f32) - exact) / unit
            })
            .collect();
        assert!(rounding_is_uniform(&errors).unwrap().p_value > 0.001);
    }

    #[test]
    fn senseless_questions_are_errors() {
        assert!(matches!(failure_rate_bound(2, 1, 0.05), Err(StatisticsError::Counts { .. })));
        assert!(matches!(failure_rate_bound(0, 0, 0.05), Err(StatisticsError::Counts { .. })));
        assert!(matches!(failure_rate_bound(0, 1, 0.0), Err(StatisticsError::Level { .. })));
        assert!(matches!(failure_rate_bound(0, 1, f64::NAN), Err(StatisticsError::Level { .. })));
    }
}
