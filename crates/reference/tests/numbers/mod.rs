//! Seeded numbers for tests.
#![allow(dead_code, unreachable_pub)]

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rug::{Integer, Rational};

pub struct Numbers(ChaCha8Rng);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn sign(&mut self) -> f64 {
        if self.bits() & 1 == 0 { 1.0 } else { -1.0 }
    }

    /// Size log-uniform between two powers of two.
    pub fn spread(&mut self, low: f64, high: f64) -> f64 {
        self.sign() * self.between(low, high).exp2()
    }

    /// Zero, small whole numbers, fractions, powers of two, and numbers of very different size.
    pub fn rational(&mut self) -> Rational {
        let n = (self.bits() % 2001) as i64 - 1000;
        match self.below(6) {
            0 => Rational::from(n % 3),
            1 => Rational::from(n),
            2 => Rational::from((n, 1 + self.bits() % 1000)),
            3 => Rational::from(n) << (self.below(2000) as i32 - 1000),
            4 => {
                let numerator = Integer::from(n) * Integer::from(self.bits()) * Integer::from(self.bits());
                Rational::from((numerator, Integer::from(self.bits() | 1)))
            }
            _ => Rational::from_f64(self.spread(-60.0, 60.0)).unwrap_or_default(),
        }
    }

    /// In [-2, 2], of size down to 2^-300.
    pub fn small_rational(&mut self) -> Rational {
        let x = Rational::from_f64(self.between(-2.0, 2.0)).unwrap_or_default();
        if self.bits() & 1 == 0 { x } else { x >> (self.below(300) as u32) }
    }
}
