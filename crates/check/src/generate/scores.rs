//! Score differences.

use super::{below, unit};
use quickcheck::{Arbitrary, Gen};

/// x = a_1 - a_0 of a segment: log-uniform sizes from 1e-300 to 1e3 of either sign, ties, the neighbourhood of |x| = 1 where
/// series give way to closed forms, and raw bit patterns (all finite).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreDifference(
    /// x
    pub f64,
);

impl Arbitrary for ScoreDifference {
    fn arbitrary(g: &mut Gen) -> ScoreDifference {
        let sign = if bool::arbitrary(g) { 1.0 } else { -1.0 };
        let size = match below(g, 8) {
            0 => 0.0,
            // From 1 by up to 2^10 units in the last place, in either direction.
            1 => f64::from_bits(1f64.to_bits() - 1024 + below(g, 2048) as u64),
            2 => 0.9 + 0.2 * unit(g),
            3 => loop {
                let x = f64::from_bits(u64::arbitrary(g)).abs();
                if x.is_finite() {
                    break x;
                }
            },
            4 => libm::exp10(-3.0 + 3.0 * unit(g)),
            _ => libm::exp10(-300.0 + 303.0 * unit(g)),
        };
        ScoreDifference(sign * size)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = ScoreDifference>> {
        let x = self.0;
        let simpler = [0.0, 1.0f64.copysign(x), libm::trunc(x), x / 2.0, f64::from(x as f32)];
        // Fewer bits or closer to 0, so that shrinking ends.
        let weight = |x: f64| (x.abs() > 1.0, 52 - x.to_bits().trailing_zeros().min(52), x.abs());
        let mine = weight(x);
        Box::new(simpler.into_iter().filter(move |&y| y.is_finite() && weight(y) < mine).map(ScoreDifference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_up_and_all_are_finite() {
        let mut g = Gen::new(10);
        let sample: Vec<f64> = (0..4000).map(|_| ScoreDifference::arbitrary(&mut g).0).collect();
        assert!(sample.iter().all(|x| x.is_finite()));
        let count = |wanted: &dyn Fn(f64) -> bool| sample.iter().filter(|x| wanted(x.abs())).count();
        assert!(count(&|x| x == 0.0) > 100, "ties");
        assert!(count(&|x| x > 0.0 && x < 1e-100) > 100, "tiny");
        assert!(count(&|x| (x - 1.0).abs() < 1e-12) > 100, "at the threshold");
        assert!(count(&|x| x > 0.001 && x < 1.0) > 100, "below the threshold");
        assert!(count(&|x| x > 1e3) > 50, "huge");
    }

    #[test]
    fn shrinking_ends() {
        let mut x = ScoreDifference(123.456);
        for _ in 0..5000 {
            match x.shrink().last() {
                Some(next) => x = next,
                None => return,
            }
        }
        panic!("still shrinking at {x:?}");
    }
}
