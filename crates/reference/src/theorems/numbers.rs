//! Seeded numbers for instances.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rug::Rational;

/// A stream of numbers, the same for a name in every run.
pub(super) struct Numbers(ChaCha8Rng);

impl Numbers {
    pub(super) fn of(name: &str) -> Numbers {
        // FNV-1a, to spread names over seeds.
        let seed =
            name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        Numbers(ChaCha8Rng::seed_from_u64(seed))
    }

    /// One of 0..n.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    /// Uniform on [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A multiple of size/128 in [-size, size], so with few bits where `size` has few.
    pub(super) fn short(&mut self, size: f64) -> f64 {
        (self.below(257) as f64 - 128.0) / 128.0 * size
    }

    /// A positive number with few bits, at most size.
    pub(super) fn short_positive(&mut self, size: f64) -> f64 {
        (self.below(128) as f64 + 1.0) / 128.0 * size
    }

    /// Of either sign, |x| log-uniform between two powers of two.
    pub(super) fn spread(&mut self, low: f64, high: f64) -> f64 {
        let size = (low + (high - low) * self.unit()).exp2();
        if self.below(2) == 0 { size } else { -size }
    }

    /// k/n with 0 < k < n.
    pub(super) fn fraction(&mut self, n: usize) -> Rational {
        Rational::from((1 + self.below(n - 1) as u64, n as u64))
    }
}
