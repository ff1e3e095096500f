//! Families that are about scores: the scores stand in channel 0 of the keys.

use super::{Draft, Family, Random};
use crate::dtype::Dtype;
use crate::problem::Shape;
use crate::spec::Scale;

/// Puts the family's scores into channel 0 of the keys, zeros into their other channels, and a power of two into channel 0 of
/// the queries: q . k is then exact, whatever the other channels of q hold.
pub(super) fn replace(family: Family, draft: &mut Draft, shape: Shape, dtype: Dtype, random: &mut Random) {
    draft.scale = Scale::Value(if family == Family::HugeScores { libm::ldexp(1.0, 30) } else { 1.0 });
    for (row, q) in draft.q.chunks_mut(shape.head_dim).enumerate() {
        // Powers of two around 1; where a factor would leave the family's range, 1 alone.
        q[0] = if family == Family::FarBelow { 1.0 } else { libm::ldexp(1.0, 1 - (row % 3) as i32) };
    }
    let mut head = Scores { family, dtype, level: 0.0, step: 0.0 };
    for (row, k) in draft.k.chunks_mut(shape.head_dim).enumerate() {
        let node = row % shape.keys;
        if node == 0 {
            head.begin(random);
        }
        k.fill(0.0);
        k[0] = head.score(node, random);
    }
    for k in draft.sink_k.chunks_mut(shape.head_dim) {
        head.begin(random);
        k.fill(0.0);
        k[0] = head.score(0, random);
    }
}

/// The scores of one head.
struct Scores {
    family: Family,
    dtype: Dtype,
    level: f64,
    step: f64,
}

impl Scores {
    fn begin(&mut self, random: &mut Random) {
        self.level = libm::rint(8.0 * (random.unit() - 0.5));
        self.step = libm::ldexp(1.0, random.below(9) as i32 - 4) * if random.unit() < 0.5 { -1.0 } else { 1.0 };
    }

    fn score(&self, node: usize, random: &mut Random) -> f64 {
        let sign = if random.unit() < 0.5 { -1.0 } else { 1.0 };
        match self.family {
            Family::Ties => self.level,
            Family::NearTies => {
                let ulp = 2.0 * self.dtype.unit_roundoff();
                (1.0 + self.level.abs()) * (1.0 + random.below(4) as f64 * ulp)
            }
            Family::TinyDifferences => {
                let smallest = libm::log(self.dtype.smallest_subnormal());
                if random.below(8) == 0 { 0.0 } else { sign * libm::exp(smallest * random.unit()) }
            }
            Family::AlternatingSpikes => {
                let heights = [5.0, 50.0, 700.0, 10000.0];
                let height = heights[random.below(4) as usize];
                if node.is_multiple_of(2) { height } else { -height }
            }
            Family::Ramp => self.level + self.step * (node % 64) as f64,
            // With the scale 2^30 and queries up to 2: integers up to 50 give scores up to 1.07e11.
            Family::HugeScores => sign * random.below(51) as f64,
            // Far enough below -60000 to stay there when rounded to bf16, and within the range of f16.
            Family::FarBelow => -61000.0 - 32.0 * random.below(140) as f64,
            _ => unreachable!("{} does not replace scores", self.family),
        }
    }
}
