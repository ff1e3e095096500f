//! Decoding under rules that are maps of segments.

use super::{Decode, RowRun, Tables};
use crate::tiled::elementary::exp;
use crate::tiled::head::Head;
use crate::tiled::segment::SegmentRule;
use crate::tiled::simd::Simd;

impl<R: SegmentRule> Decode for R {
    const LOOKS_AHEAD: bool = R::READS_LEFT;

    #[inline(always)]
    fn begin<S: Simd>(s: S, head: &Head<'_>, _: usize, first: usize, state: &mut RowRun<S>) {
        if R::READS_LEFT {
            state.a = state.score(s, head, first - 1);
        }
    }

    #[inline(always)]
    fn weigh<S: Simd>(
        s: S,
        head: &Head<'_>,
        _: usize,
        (first, last): (usize, usize),
        ends: bool,
        state: &mut RowRun<S>,
        tables: &mut Tables,
    ) -> (usize, f32) {
        let Tables { scores, exponentials, right, weights, durations } = tables;
        let segments = last + 1 - first;
        let nodes = segments + 1;
        scores[0] = state.a;
        // Lanes beyond the last node repeat it.
        let a = scores[segments];
        scores[nodes..nodes + S::LANES].fill(a);
        let mut top = s.splat(state.m);
        for at in (0..nodes).step_by(S::LANES) {
            top = s.max(s.load(&scores[at..]), top);
        }
        let m = s.floats(&[top]).iter().fold(state.m, |m, &x| if x > m { x } else { m });
        let anchor = s.splat(m);
        for at in (0..nodes).step_by(S::LANES) {
            s.store(exp(s, s.sub(s.load(&scores[at..]), anchor)), &mut exponentials[at..]);
        }
        let e = exponentials[segments];
        exponentials[nodes..nodes + S::LANES].fill(e);
        let scaled = [exp(s, s.sub(s.splat(state.m), anchor))];
        let factor = s.floats(&scaled)[0];
        let mut z = s.splat(0.0);
        let lengths = head.durations.tile(first, segments);
        if lengths.is_empty() {
            durations[..segments].fill(1.0);
        } else {
            durations[..segments].copy_from_slice(lengths);
        }
        durations[segments..segments + S::LANES].fill(0.0);
        right[0] = state.carried * factor;
        for at in (0..segments).step_by(S::LANES) {
            let d = s.load(&durations[at..]);
            let x = s.sub(s.load(&scores[at + 1..]), s.load(&scores[at..]));
            let (e0, e1) = (s.load(&exponentials[at..]), s.load(&exponentials[at + 1..]));
            let shares = R::shares(s, x, s.mul(d, e0), s.mul(d, e1));
            z = s.add(z, shares.mass);
            if R::READS_LEFT {
                // P_j = R_j + L_{j+1}; R of this vector's last lane belongs to the next one's first.
                s.store(shares.right, &mut right[at + 1..]);
                s.store(s.add(s.load(&right[at..]), shares.left), &mut weights[at..]);
            } else {
                s.store(shares.right, &mut weights[at..]);
            }
        }
        state.z = s.fma(state.z, scaled[0], z);
        (state.m, state.a, state.carried) = (m, a, right[segments]);
        if R::READS_LEFT && ends {
            weights[segments] = right[segments];
            return (nodes, factor);
        }
        (segments, factor)
    }
}
