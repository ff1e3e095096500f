//! Seeded numbers: the same bits on every platform.

use crate::generate::SmallProblem;
use contattn_core::families::{Family, SinkKind};
use contattn_core::{Dtype, Layout, Shape, Spec};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of numbers.
pub(super) struct Random(ChaCha8Rng);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform on [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * libm::ldexp(1.0, -53)
    }

    /// Standard normal (Box and Muller 1958).
    pub(super) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

/// One batch and one head of these lengths.
pub(super) const fn shape(queries: usize, keys: usize, head_dim: usize, value_dim: usize) -> Shape {
    Shape { batch: 1, heads: 1, kv_heads: 1, queries, keys, head_dim, value_dim }
}

/// Standard normal tensors.
pub(super) fn gauss(shape: Shape, dtype: Dtype, seed: u64, spec: Spec) -> SmallProblem {
    let mut random = Random::new(seed);
    let mut small = SmallProblem::filled(shape, dtype, Layout::Bhsd, || random.normal());
    small.spec = spec;
    small
}

/// Small integers over 4, exact in every type, so that sums and means of them are exact too.
pub(super) fn quarters(shape: Shape, dtype: Dtype, seed: u64, spec: Spec) -> SmallProblem {
    let mut random = Random::new(seed);
    let mut small = SmallProblem::filled(shape, dtype, Layout::Bhsd, || libm::floor(random.unit() * 17.0 - 8.0) / 4.0);
    small.spec = spec;
    small
}

/// The sample of a named family, on its own time line and scale.
pub(super) fn sample(family: Family, shape: Shape, dtype: Dtype, seed: u64) -> Option<SmallProblem> {
    let sample = family.sample(shape, dtype, seed).ok()?;
    let spec = sample.spec();
    Some(SmallProblem {
        q: sample.q,
        k: sample.k,
        v: sample.v,
        sink: SinkKind::Zeros,
        sink_k: sample.sink_k,
        sink_v: sample.sink_v,
        layout: Layout::Bhsd,
        spec,
    })
}
