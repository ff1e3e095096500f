//! Decoding under the Taylor rule of orders 0 and 1.

use super::{Decode, RowRun, RowSum, Tables, single_score};
use crate::tiled::elementary::exp;
use crate::tiled::forward::NOTHING;
use crate::tiled::head::{Head, SinkRows, Source};
use crate::tiled::simd::Simd;
use crate::tiled::taylor::{Slopes, Taylor, exponent};

impl Decode for Taylor {
    const LOOKS_AHEAD: bool = true;

    /// The node before the first segment has a left neighbour in the run before, or in the sink.
    #[inline(always)]
    fn begin<S: Simd>(s: S, head: &Head<'_>, row: usize, first: usize, state: &mut RowRun<S>) {
        let sight = &head.sights.rows[row];
        state.a = state.score(s, head, first - 1);
        if first > sight.first as usize {
            if head.durations.joins(first - 1) > 0.0 {
                (state.left, state.carried) = (1.0, state.a - state.score(s, head, first - 2));
            }
        } else if sight.opening > 0 {
            let width = head.problem.shape().head_dim;
            let sink = match &head.store.sink {
                SinkRows::Copy => state.a,
                SinkRows::Given { key, .. } => single_score(&state.q[..width], 1, 0, Some(&key[..width])) as f32,
                SinkRows::Zeros | SinkRows::Absent => 0.0,
            };
            (state.left, state.carried) = (1.0, state.a - sink);
        }
    }

    #[inline(always)]
    fn weigh<S: Simd>(
        s: S,
        head: &Head<'_>,
        row: usize,
        (first, last): (usize, usize),
        _: bool,
        state: &mut RowRun<S>,
        tables: &mut Tables,
    ) -> (usize, f32) {
        // Here `right` holds which segments are seen, from the one before the first, and `durations` their x.
        let Tables { scores, exponentials: factors, right: joined, weights, durations: differences } = tables;
        let segments = last + 1 - first;
        // Within a row's range the last node of a run belongs to the run that follows.
        let nodes = segments + usize::from(last == head.sights.rows[row].last as usize);
        scores[0] = state.a;
        let a = scores[segments];
        scores[segments + 1..segments + 1 + S::LANES].fill(a);
        (joined[0], differences[0]) = (state.left, state.carried);
        for i in 0..segments {
            joined[i + 1] = if head.durations.joins(first + i) > 0.0 { 1.0 } else { 0.0 };
        }
        joined[segments + 1..segments + 2 + S::LANES].fill(0.0);
        for at in (0..segments + 1).step_by(S::LANES) {
            let x = s.sub(s.load(&scores[at + 1..]), s.load(&scores[at..]));
            let seen = s.lt(s.splat(0.0), s.load(&joined[at + 1..]));
            s.store(s.select(seen, x, s.splat(0.0)), &mut differences[at + 1..]);
        }
        let slopes = Slopes::of(head.problem.rule());
        let mut top = s.splat(state.m);
        for at in (0..nodes).step_by(S::LANES) {
            let left = (s.load(&joined[at..]), s.load(&differences[at..]));
            let right = (s.load(&joined[at + 1..]), s.load(&differences[at + 1..]));
            let node = slopes.anywhere(s, left, right);
            s.store(node.bias, &mut weights[at..]);
            s.store(node.factor, &mut factors[at..]);
        }
        for i in 0..nodes {
            if head.durations.keeps(first - 1 + i) == 0.0 {
                (weights[i], factors[i]) = (NOTHING, 0.0);
            }
        }
        weights[nodes..nodes + S::LANES].fill(NOTHING);
        factors[nodes..nodes + S::LANES].fill(0.0);
        for at in (0..nodes).step_by(S::LANES) {
            top = s.max(s.add(s.load(&scores[at..]), s.load(&weights[at..])), top);
        }
        let m = s.floats(&[top]).iter().fold(state.m, |m, &x| if x > m { x } else { m });
        let anchor = s.splat(m);
        let scaled = [exp(s, s.sub(s.splat(state.m), anchor))];
        let mut z = s.splat(0.0);
        for at in (0..nodes).step_by(S::LANES) {
            let exponents = exponent(s, s.load(&scores[at..]), s.load(&weights[at..]), anchor);
            let p = s.mul(s.load(&factors[at..]), exp(s, exponents));
            z = s.add(z, p);
            s.store(p, &mut weights[at..]);
        }
        state.z = s.fma(state.z, scaled[0], z);
        (state.m, state.a) = (m, a);
        (state.left, state.carried) = (joined[segments], differences[segments]);
        (nodes, s.floats(&scaled)[0])
    }
}

/// Begins the sums of a row with its sink, which ends the segment to node `f`.
pub(super) fn open(head: &Head<'_>, f: usize, order: u32, q: &[f32], sums: &mut [f32], total: &mut RowSum) {
    let source = if matches!(head.store.sink, SinkRows::Copy) { Source::Node(f) } else { Source::Sink };
    let [a_sink, a] = [source, Source::Node(f)].map(|source| single_score(q, 1, 0, head.key(source)));
    let t = if order == 0 { a_sink } else { (2.0 * a_sink + a) / 3.0 };
    total.m = t as f32;
    let weight = 0.5 * libm::exp(t - f64::from(total.m));
    total.z = weight as f32;
    for (sum, &x) in sums.iter_mut().zip(head.value(source).unwrap_or_default()) {
        *sum = weight as f32 * x;
    }
}
