//! Generators for property tests: score differences and whole small problems, as quickcheck types.
//!
//! quickcheck's own `f64` hardly ever lands between 0 and 1, where the functions of a segment change from series to closed
//! form; [`ScoreDifference`] goes there on purpose. [`SmallProblem`] is a valid problem of any kind, and shrinks to a smaller one.

mod problem;
mod scores;
mod shrink;

pub use problem::SmallProblem;
pub use scores::ScoreDifference;

use quickcheck::{Arbitrary, Gen};

/// Uniform on [0, 1).
fn unit(g: &mut Gen) -> f64 {
    (u64::arbitrary(g) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// One of 0..n; the bias of the remainder is below n 2^-64.
fn below(g: &mut Gen, n: usize) -> usize {
    (u64::arbitrary(g) % n.max(1) as u64) as usize
}

/// Uniform on [low, high).
fn between(g: &mut Gen, low: f64, high: f64) -> f64 {
    low + (high - low) * unit(g)
}

/// Standard normal (Box and Muller 1958).
fn normal(g: &mut Gen) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit(g)));
    radius * libm::cos(2.0 * std::f64::consts::PI * unit(g))
}
