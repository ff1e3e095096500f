//! Named families of inputs, the same for tests, benches, golden files, the explorer and the notebooks.
//!
//! A sample is a function of (family, shape, element type, seed) alone, with the same bits on every platform: ChaCha8 drives
//! it and `libm` supplies the elementary functions. Families whose point is the scores put them into channel 0 of the keys,
//! with queries that are powers of two there and a scale that is one too, so that scores are exact in the element type.

pub mod real;
mod scores;

use crate::dtype::Dtype;
use crate::error::{ProblemError, TensorName};
use crate::problem::{Problem, Shape};
use crate::series::Series;
use crate::spec::{Scale, Sink, Spec, Timeline};
use crate::tensor::{Layout, Tensor};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fmt;

/// A named kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Family {
    /// q, k and v standard normal.
    Gauss,
    /// Normal, with queries eight times as long: few keys take nearly all the weight.
    Peaked,
    /// All scores of a row equal.
    Ties,
    /// Scores that differ by a few units in the last place.
    NearTies,
    /// Scores around 0 whose differences run from the smallest subnormal to 1, log-uniformly.
    TinyDifferences,
    /// Every other score a spike, of heights 5 to 10^4.
    AlternatingSpikes,
    /// A ramp of equal steps, a different one in each head.
    Ramp,
    /// Scores that are integers times a power of two, up to 10^11, exact also in 16 bits.
    HugeScores,
    /// All scores of nodes 1..n below -60000.
    FarBelow,
    /// Normal scores, values of alternating sign and nearly equal size: o is small beside them.
    CancellingValues,
    /// Normal, values all alike: o must be that value.
    ConstantValues,
    /// Normal, durations exponentially distributed: nodes at random times.
    IrregularTimes,
    /// Normal, nodes in clusters: most durations short, some long.
    ClusteredTimes,
    /// Normal, a third of the durations zero, the first and the last among them.
    ZeroDurations,
    /// Normal, durations from 10^-12 to 10^12, log-uniformly.
    WideDurations,
    /// Normal keys and queries on the times of a real, irregularly sampled light curve; channel 0 of v is its magnitude.
    LightCurve,
    /// Queries, keys and values of a real model on a real sentence, cropped or repeated to the shape asked for.
    RealHeads,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 17] = [
        Family::Gauss,
        Family::Peaked,
        Family::Ties,
        Family::NearTies,
        Family::TinyDifferences,
        Family::AlternatingSpikes,
        Family::Ramp,
        Family::HugeScores,
        Family::FarBelow,
        Family::CancellingValues,
        Family::ConstantValues,
        Family::IrregularTimes,
        Family::ClusteredTimes,
        Family::ZeroDurations,
        Family::WideDurations,
        Family::LightCurve,
        Family::RealHeads,
    ];

    /// Its name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Gauss => "gauss",
            Family::Peaked => "peaked",
            Family::Ties => "ties",
            Family::NearTies => "near-ties",
            Family::TinyDifferences => "tiny-differences",
            Family::AlternatingSpikes => "alternating-spikes",
            Family::Ramp => "ramp",
            Family::HugeScores => "huge-scores",
            Family::FarBelow => "far-below",
            Family::CancellingValues => "cancelling-values",
            Family::ConstantValues => "constant-values",
            Family::IrregularTimes => "irregular-times",
            Family::ClusteredTimes => "clustered-times",
            Family::ZeroDurations => "zero-durations",
            Family::WideDurations => "wide-durations",
            Family::LightCurve => "light-curve",
            Family::RealHeads => "real-heads",
        }
    }

    /// The family of this name.
    pub fn from_name(name: &str) -> Option<Family> {
        Family::ALL.into_iter().find(|family| family.name() == name)
    }

    /// The sample of this seed: tensors of type `dtype` and of these lengths.
    ///
    /// # Errors
    /// [`ProblemError::TooLarge`] where the lengths ask for more than can be addressed.
    pub fn sample(self, shape: Shape, dtype: Dtype, seed: u64) -> Result<Sample, ProblemError> {
        let draft = self.draft(shape, dtype, seed)?;
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = shape;
        let tensor = |sequence, heads, width, values: Vec<f64>| {
            Tensor::from_f64(vec![batch, heads, sequence, width], dtype, values)
        };
        Ok(Sample {
            family: self,
            q: tensor(queries, heads, head_dim, draft.q)?,
            k: tensor(keys, kv_heads, head_dim, draft.k)?,
            v: tensor(keys, kv_heads, value_dim, draft.v)?,
            sink_k: tensor(1, kv_heads, head_dim, draft.sink_k)?,
            sink_v: tensor(1, kv_heads, value_dim, draft.sink_v)?,
            timeline: draft.timeline,
            scale: draft.scale,
        })
    }

    fn draft(self, shape: Shape, dtype: Dtype, seed: u64) -> Result<Draft, ProblemError> {
        let mut draft = Draft::gauss(shape, seed)?;
        let mut random = Random::new(seed, 100);
        match self {
            Family::Gauss => {}
            Family::Peaked => draft.q.iter_mut().for_each(|q| *q *= 8.0),
            Family::Ties
            | Family::NearTies
            | Family::TinyDifferences
            | Family::AlternatingSpikes
            | Family::Ramp
            | Family::HugeScores
            | Family::FarBelow => scores::replace(self, &mut draft, shape, dtype, &mut random),
            Family::CancellingValues => {
                let alternate = |at: usize, v: &mut f64| {
                    let row = at / shape.value_dim;
                    *v = if row.is_multiple_of(2) { 1000.0 + *v } else { -1000.0 - *v };
                };
                draft.v.iter_mut().enumerate().for_each(|(at, v)| alternate(at, v));
            }
            Family::ConstantValues => {
                draft.v.fill(1.1);
                draft.sink_v.fill(1.1);
            }
            Family::IrregularTimes => draft.durations(shape, |_| -libm::log1p(-random.unit())),
            Family::ClusteredTimes => draft.durations(shape, |_| {
                let gap = if random.unit() < 0.15 { 6.0 } else { 0.05 };
                gap * (0.5 + random.unit())
            }),
            Family::ZeroDurations => draft.durations(shape, |i| {
                let zero = random.unit() < 1.0 / 3.0 || i == 0 || i + 1 == shape.keys;
                if zero { 0.0 } else { 0.5 + random.unit() }
            }),
            Family::WideDurations => draft.durations(shape, |_| libm::exp10(24.0 * random.unit() - 12.0)),
            Family::LightCurve => real::light_curve(&mut draft, shape),
            Family::RealHeads => real::heads(&mut draft, shape, seed),
        }
        Ok(draft)
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which node 0 a problem on a sample has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SinkKind {
    /// there is none
    Absent,
    /// zeros
    #[default]
    Zeros,
    /// a copy of the first kept node
    Copy,
    /// that of the sample
    Given,
}

impl SinkKind {
    /// Every kind.
    pub const ALL: [SinkKind; 4] = [SinkKind::Absent, SinkKind::Zeros, SinkKind::Copy, SinkKind::Given];
}

/// Tensors of a family, row-major in (batch, heads, sequence, head_dim), with the time line and scale that belong to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// whose it is
    pub family: Family,
    /// queries
    pub q: Tensor,
    /// keys
    pub k: Tensor,
    /// values
    pub v: Tensor,
    /// key of a given sink: (batch, kv_heads, 1, head_dim)
    pub sink_k: Tensor,
    /// value of a given sink: (batch, kv_heads, 1, value width)
    pub sink_v: Tensor,
    /// durations or times
    pub timeline: Timeline,
    /// factor of the scores
    pub scale: Scale,
}

impl Sample {
    /// The default specification on this sample's time line and scale.
    pub fn spec(&self) -> Spec {
        Spec { timeline: self.timeline.clone(), scale: self.scale, ..Spec::default() }
    }

    /// The problem of these tensors.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub fn problem(&self, sink: SinkKind, spec: Spec) -> Result<Problem<'_>, ProblemError> {
        let sink = match sink {
            SinkKind::Absent => Sink::Absent,
            SinkKind::Zeros => Sink::Zeros,
            SinkKind::Copy => Sink::Copy,
            SinkKind::Given => Sink::Given {
                key: self.sink_k.view(TensorName::SinkKey, Layout::Bhsd)?,
                value: self.sink_v.view(TensorName::SinkValue, Layout::Bhsd)?,
            },
        };
        Problem::new(
            self.q.view(TensorName::Query, Layout::Bhsd)?,
            self.k.view(TensorName::Key, Layout::Bhsd)?,
            self.v.view(TensorName::Value, Layout::Bhsd)?,
            sink,
            spec,
        )
    }
}

/// A sample before it is rounded to its element type.
struct Draft {
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    sink_k: Vec<f64>,
    sink_v: Vec<f64>,
    timeline: Timeline,
    scale: Scale,
}

impl Draft {
    fn gauss(shape: Shape, seed: u64) -> Result<Draft, ProblemError> {
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = shape;
        let normal = |tensor, stream, lengths: [usize; 4]| {
            let count = lengths.iter().try_fold(1usize, |n, &l| n.checked_mul(l));
            let count = count.ok_or(ProblemError::TooLarge { tensor })?;
            let mut values = Vec::new();
            values.try_reserve_exact(count).map_err(|_| ProblemError::TooLarge { tensor })?;
            let mut random = Random::new(seed, stream);
            values.extend((0..count).map(|_| random.normal()));
            Ok(values)
        };
        Ok(Draft {
            q: normal(TensorName::Query, 0, [batch, heads, queries, head_dim])?,
            k: normal(TensorName::Key, 1, [batch, kv_heads, keys, head_dim])?,
            v: normal(TensorName::Value, 2, [batch, kv_heads, keys, value_dim])?,
            sink_k: normal(TensorName::SinkKey, 3, [batch, kv_heads, 1, head_dim])?,
            sink_v: normal(TensorName::SinkValue, 4, [batch, kv_heads, 1, value_dim])?,
            timeline: Timeline::Unit,
            scale: Scale::InverseSqrtHeadDim,
        })
    }

    fn durations(&mut self, shape: Shape, duration: impl FnMut(usize) -> f64) {
        self.timeline = Timeline::Durations(Series::shared((0..shape.keys).map(duration).collect()));
    }
}

/// A stream of random numbers.
struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64, stream: u64) -> Random {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Random(generator)
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * libm::ldexp(1.0, -53)
    }

    /// One of 0..n.
    fn below(&mut self, n: u64) -> u64 {
        // The bias of the remainder is below n 2^-64.
        self.0.next_u64() % n
    }

    /// Standard normal (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

#[cfg(test)]
mod tests;
