//! Weights of rules that are maps of segments.

use super::single::row_pieces;
use super::{Block, NOTHING, Scratch, Sums, TilePlace, Weigh, masks, without_lone_nodes};
use crate::tiled::elementary::exp;
use crate::tiled::head::{Head, MOST_LANES, SinkRows};
use crate::tiled::product::{accumulate, dot, scores, zeros};
use crate::tiled::segment::{Mistake, SegmentRule};
use crate::tiled::simd::{Lanes, Simd, VECTORS};

impl<R: SegmentRule> Weigh for R {
    const ORIGIN: usize = if R::READS_LEFT { 2 } else { 1 };
    const SMOOTHS: bool = false;

    #[inline(always)]
    fn makes(mistake: Mistake) -> bool {
        <R as SegmentRule>::makes(mistake)
    }

    #[inline(always)]
    fn begin<S: Simd>(s: S, head: &Head<'_>, block: &mut Block<S>) {
        begin::<S, R>(s, head, block);
    }

    #[inline(always)]
    fn tile<S: Simd>(s: S, head: &Head<'_>, place: TilePlace, block: &mut Block<S>, scratch: &mut Scratch<S>) {
        tile::<S, R>(s, head, place, block, scratch);
    }
}

/// Pieces of single rows, then the opening.
#[inline(always)]
fn begin<S: Simd, R: SegmentRule>(s: S, head: &Head<'_>, block: &mut Block<S>) {
    let Block { start, count, q, o: out, plan, sums, careful, .. } = block;
    out.fill(zeros(s));
    *sums = Sums { m: [s.splat(NOTHING); VECTORS], z: zeros(s), a: zeros(s), r: zeros(s) };
    if plan.has_pieces {
        let (m, z) = (s.floats_mut(&mut sums.m), s.floats_mut(&mut sums.z));
        let q = s.floats(q.as_flattened());
        let o = s.floats_mut(out.as_flattened_mut());
        for lane in (0..*count).filter(|&lane| !careful[lane]) {
            row_pieces(head, *start + lane, plan.opening, lane, VECTORS * S::LANES, q, o, &mut m[lane], &mut z[lane]);
        }
    }
    if !R::READS_LEFT || plan.first < 2 {
        return;
    }
    let node = plan.first - 1;
    let carried = dot(s, head.store.keys.row(node), q);
    let sink = match &head.store.sink {
        SinkRows::Copy => carried,
        SinkRows::Given { key, .. } if plan.opening > 0 => dot(s, key, q),
        _ => zeros(s),
    };
    let opens = masks(s, &plan.opens);
    // Of a node that no segment ends at the score has no part in m.
    let seen = if head.durations.is_alone(node) { opens } else { masks(s, &plan.sees_carried) };
    let before = sums.m;
    for v in 0..VECTORS {
        let m = s.select(seen[v], s.max(carried[v], before[v]), before[v]);
        sums.m[v] = s.select(opens[v], s.max(sink[v], m), m);
        sums.a[v] = s.select(seen[v], carried[v], sums.m[v]);
    }
    if plan.has_pieces {
        let mut factor = zeros(s);
        for v in 0..VECTORS {
            factor[v] = exp(s, s.sub(before[v], sums.m[v]));
            sums.z[v] = s.mul(sums.z[v], factor[v]);
        }
        for o in out.iter_mut() {
            for v in 0..VECTORS {
                o[v] = s.mul(o[v], factor[v]);
            }
        }
    }
    if plan.opening > 0 {
        let duration = s.splat(head.durations.scale(head.nodes.duration(plan.opening)) as f32);
        let mut left = zeros(s);
        for v in 0..VECTORS {
            let a0 = s.select(opens[v], sink[v], sums.m[v]);
            let d = s.select(opens[v], duration, s.splat(0.0));
            let e0 = s.mul(d, exp(s, s.sub(a0, sums.m[v])));
            let e1 = s.mul(d, exp(s, s.sub(sums.a[v], sums.m[v])));
            let shares = R::shares(s, s.sub(sums.a[v], a0), e0, e1);
            sums.z[v] = s.add(sums.z[v], shares.mass);
            (left[v], sums.r[v]) = (shares.left, shares.right);
        }
        match &head.store.sink {
            SinkRows::Copy => {
                for v in 0..VECTORS {
                    sums.r[v] = s.add(sums.r[v], left[v]);
                }
            }
            SinkRows::Given { value, .. } => {
                for (o, &x) in out.iter_mut().zip(value) {
                    for v in 0..VECTORS {
                        o[v] = s.fma(s.splat(x), left[v], o[v]);
                    }
                }
            }
            SinkRows::Zeros | SinkRows::Absent => {}
        }
    }
}

/// One tile of segments.
#[inline(always)]
fn tile<S: Simd, R: SegmentRule>(
    s: S,
    head: &Head<'_>,
    TilePlace { at, height, is_last, ahead }: TilePlace,
    block: &mut Block<S>,
    scratch: &mut Scratch<S>,
) {
    let vectors = block.vectors();
    let Block { q, o, plan, sums, .. } = block;
    // Weights take the place of scores, row by row.
    let table = &mut scratch.scores[..height + 1];
    let tile = &mut table[..height];
    let whole = plan.is_whole(VECTORS * S::LANES, at, height);
    let mut m = scores(s, vectors, &head.store.keys, at, q, tile, sums.m, ahead);
    let some_are_alone = head.durations.some_are_alone();
    let [from, to] = if whole && !some_are_alone { [[0.0; MOST_LANES]; 2] } else { plan.edges(at) };
    if some_are_alone {
        without_lone_nodes(head, at, tile, sums.a);
    }
    if !whole || some_are_alone {
        m = visible_maxima::<S, R>(s, vectors, tile, &from, &to, sums.m);
    }
    if <R as SegmentRule>::makes(Mistake::DroppedCarry) {
        sums.r = zeros(s);
    }
    if <R as SegmentRule>::makes(Mistake::WrongNeighbour) {
        sums.a = tile.first().copied().unwrap_or(sums.a);
    }
    let durations = head.durations.tile(at, height);
    let mut factor = zeros(s);
    for v in 0..vectors {
        factor[v] = exp(s, s.sub(sums.m[v], m[v]));
        sums.r[v] = s.mul(sums.r[v], factor[v]);
        sums.m[v] = m[v];
        let edges = (s.load(&from[v * S::LANES..]), s.load(&to[v * S::LANES..]));
        match (durations.is_empty(), whole) {
            (true, true) => sweep::<S, R, false, false>(s, v, tile, durations, edges, factor[v], sums),
            (false, true) => sweep::<S, R, true, false>(s, v, tile, durations, edges, factor[v], sums),
            (true, false) => sweep::<S, R, false, true>(s, v, tile, durations, edges, factor[v], sums),
            (false, false) => sweep::<S, R, true, true>(s, v, tile, durations, edges, factor[v], sums),
        }
    }
    // Row i of the weights belongs to the node before segment at + i, or under Step to node at + i.
    let (first, mut rows) = if R::READS_LEFT { (at - 1, height) } else { (at, height) };
    if R::READS_LEFT && is_last {
        table[height] = sums.r;
        rows += 1;
    }
    let factor = if <R as SegmentRule>::makes(Mistake::MissingRescale) { None } else { Some(factor) };
    accumulate(s, vectors, &head.store.values, first, &table[..rows], factor, o, ahead);
}

/// The largest score of each lane among those that it sees, and what it had.
#[inline(always)]
fn visible_maxima<S: Simd, R: SegmentRule>(
    s: S,
    vectors: usize,
    tile: &[Lanes<S::V>],
    from: &[f32; MOST_LANES],
    to: &[f32; MOST_LANES],
    mut max: Lanes<S::V>,
) -> Lanes<S::V> {
    let one = s.splat(1.0);
    for v in 0..vectors {
        let (from, to) = (s.load(&from[v * S::LANES..]), s.load(&to[v * S::LANES..]));
        let from = if R::READS_LEFT { s.sub(from, one) } else { from };
        let mut index = s.splat(0.0);
        for row in tile {
            let seen = s.and(s.le(from, index), s.le(index, to));
            max[v] = s.select(seen, s.max(row[v], max[v]), max[v]);
            index = s.add(index, one);
        }
    }
    max
}

/// Down one vector of a tile: weights in place of scores. `TIME`: durations other than 1; `EDGE`: some lane does not see all of it.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn sweep<S: Simd, R: SegmentRule, const TIME: bool, const EDGE: bool>(
    s: S,
    v: usize,
    tile: &mut [Lanes<S::V>],
    durations: &[f32],
    (from, to): (S::V, S::V),
    factor: S::V,
    sums: &mut Sums<S::V>,
) {
    let m = sums.m[v];
    let (mut a, mut r, mut z) = (sums.a[v], sums.r[v], s.splat(0.0));
    let mut e = if R::READS_LEFT { exp(s, s.sub(a, m)) } else { m };
    let one = s.splat(1.0);
    let mut index = s.splat(0.0);
    let durations = if TIME { &durations[..tile.len()] } else { durations };
    for i in 0..tile.len() {
        let mut a1 = tile[i][v];
        let mut duration = one;
        if TIME {
            duration = s.splat(durations[i]);
        }
        if EDGE {
            let in_time = s.le(index, to);
            let seen = s.and(s.le(from, index), in_time);
            duration = s.select(seen, duration, s.splat(0.0));
            let node = if R::READS_LEFT { s.and(s.le(s.sub(from, one), index), in_time) } else { seen };
            a1 = s.select(node, a1, m);
            index = s.add(index, one);
        }
        let e1 = exp(s, s.sub(a1, m));
        let shares = if TIME || EDGE {
            R::shares(s, s.sub(a1, a), s.mul(duration, e), s.mul(duration, e1))
        } else {
            R::shares(s, s.sub(a1, a), e, e1)
        };
        z = s.add(z, shares.mass);
        if R::READS_LEFT {
            tile[i][v] = s.add(r, shares.left);
            (a, e, r) = (a1, e1, shares.right);
        } else {
            tile[i][v] = shares.right;
        }
    }
    (sums.a[v], sums.r[v]) = (a, r);
    sums.z[v] = s.fma(sums.z[v], factor, z);
}
