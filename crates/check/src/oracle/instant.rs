//! Points in time as exact sums.
//!
//! A node's time is a sum of durations and an edge is a sum of times; whether an edge sits on a node, to the left of it or to
//! the right decides which formula holds, so it is decided exactly: a time is kept as the list of `f64` whose sum it is, no
//! two of them overlapping (Shewchuk 1997, "grow expansion").

use super::wide::{Wide, two_sum};
use std::cmp::Ordering;

/// An exact sum of `f64`: components that do not overlap, smallest first, none of them 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Instant(Vec<f64>);

impl Instant {
    pub(crate) fn at(t: f64) -> Instant {
        Instant::default().later(t)
    }

    /// This much later, exactly.
    pub(crate) fn later(&self, by: f64) -> Instant {
        let mut components = Vec::with_capacity(self.0.len() + 1);
        let mut carry = by;
        for &component in &self.0 {
            let (sum, rest) = two_sum(carry, component);
            if rest != 0.0 {
                components.push(rest);
            }
            carry = sum;
        }
        if carry != 0.0 {
            components.push(carry);
        }
        Instant(components)
    }

    /// How much later this is than `earlier`: the exact difference, rounded once to twice the precision of `f64`.
    pub(crate) fn since(&self, earlier: &Instant) -> Wide {
        let difference = earlier.0.iter().fold(self.clone(), |t, &c| t.later(-c));
        difference.0.iter().fold(Wide::ZERO, |sum, &c| sum + Wide::from_f64(c))
    }
}

impl PartialEq for Instant {
    fn eq(&self, other: &Instant) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Instant) -> Option<Ordering> {
        if self.0 == other.0 {
            return Some(Ordering::Equal);
        }
        if let ([a], [b]) = (&*self.0, &*other.0) {
            return a.partial_cmp(b);
        }
        let difference = other.0.iter().fold(self.clone(), |t, &c| t.later(-c));
        // The largest component outweighs all the others together.
        difference.0.last().unwrap_or(&0.0).partial_cmp(&0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() {
        let t = Instant::at(1e300).later(1.0).later(1e-300).later(-1e300).later(-1.0);
        assert_eq!(t.since(&Instant::at(0.0)).to_f64(), 1e-300);
        let tenths = (0..10).fold(Instant::at(0.0), |t, _| t.later(0.1));
        // The f64 nearest 0.1 lies above it by 5.55e-18.
        assert!(tenths > Instant::at(1.0));
        assert_eq!(Instant::at(0.5).later(-0.5), Instant::at(0.0));
    }
}
