//! Points on the time line, in twice the precision of `f64`.
//!
//! Node times are running sums of durations. In plain `f64` the sum of 65536 durations is off by thousands of roundings,
//! enough to show in the length of a cut segment and to put a node on the wrong side of an edge. The unevaluated sum of two
//! `f64` used here errs by about 2^-104 of the time, and holds times that are given as `f64` exactly.

use std::cmp::Ordering;

/// A point in time: the unevaluated sum `high + low`, |low| at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    high: f64,
    low: f64,
}

/// s + e = a + b exactly, s the rounded sum (Knuth 1969).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let from_b = s - a;
    (s, (a - (s - from_b)) + (b - from_b))
}

impl Time {
    /// An `f64`, exactly.
    pub const fn from_f64(t: f64) -> Time {
        Time { high: t, low: 0.0 }
    }

    /// Rounded to `f64`.
    pub const fn to_f64(self) -> f64 {
        self.high
    }

    /// This much later (earlier where negative).
    #[must_use]
    pub fn later(self, by: f64) -> Time {
        let (s, e) = two_sum(self.high, by);
        let (high, low) = two_sum(s, e + self.low);
        Time { high, low }
    }

    /// How much later this is than `earlier`, rounded to `f64`.
    pub fn since(self, earlier: Time) -> f64 {
        let (s, e) = two_sum(self.high, -earlier.high);
        s + (e + (self.low - earlier.low))
    }

    /// Whether both parts are finite.
    pub fn is_finite(self) -> bool {
        self.high.is_finite() && self.low.is_finite()
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        // Both are normalised, so the high parts decide unless they are equal.
        match self.high.partial_cmp(&other.high) {
            Some(Ordering::Equal) => self.low.partial_cmp(&other.low),
            order => order,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_tenths_compare_as_exact_sums_do() {
        // The f64 nearest 0.1 is 0.1000000000000000055511151231257827 (its decimal expansion), so ten of them lie above 1,
        // while the f64 running sum ends at 0.9999999999999999.
        let ten = (0..10).fold(Time::from_f64(0.0), |t, _| t.later(0.1));
        assert!((0..10).fold(0.0, |t, _| t + 0.1) < 1.0);
        assert!(ten > Time::from_f64(1.0));
        let above = ten.since(Time::from_f64(1.0));
        assert!((above - 5.551115123125783e-17).abs() < 1e-31);
    }

    #[test]
    fn going_back_and_forth_is_exact_where_it_fits() {
        let t = Time::from_f64(1e15).later(0.1);
        assert_eq!(t.later(-1e15).to_f64(), 0.1);
        assert_eq!(t.since(Time::from_f64(1e15)), 0.1);
        assert_eq!(t.later(-1e15).later(-0.1), Time::from_f64(0.0));
    }
}
