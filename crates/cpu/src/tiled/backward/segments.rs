//! Gradients of rules that are maps of segments.

use super::{Block, Differentiate, Gradients, Scratch, by_lane, products};
use crate::tiled::elementary::exp_within;
use crate::tiled::forward::{TilePlace, masks, without_lone_nodes};
use crate::tiled::head::{Head, MOST_LANES, SinkRows};
use crate::tiled::product::{dot, outer, scores, zeros};
use crate::tiled::segment::{Mistake, SegmentRule};
use crate::tiled::simd::{Lanes, Simd, VECTORS};

impl<R: SegmentRule> Differentiate for R {
    const HAS_DURATIONS: bool = true;

    #[inline(always)]
    fn begin<S: Simd>(s: S, head: &Head<'_>, block: &mut Block<S>, sums: &mut Gradients<'_>) {
        begin::<S, R>(s, head, block, sums);
    }

    #[inline(always)]
    fn tile<S: Simd>(
        s: S,
        head: &Head<'_>,
        place: TilePlace,
        block: &mut Block<S>,
        scratch: &mut Scratch<S>,
        sums: &mut Gradients<'_>,
    ) {
        tile::<S, R>(s, head, place, block, scratch, sums);
    }
}

/// What has been carried from the segment above, by lane.
pub(super) struct Carry<V> {
    /// score
    a: Lanes<V>,
    /// c
    c: Lanes<V>,
    /// weight so far
    p: Lanes<V>,
    /// dA so far
    da: Lanes<V>,
}

impl<V: Copy> Carry<V> {
    pub(super) fn new<S: Simd<V = V>>(s: S) -> Carry<V> {
        Carry { a: zeros(s), c: zeros(s), p: zeros(s), da: zeros(s) }
    }
}

/// The opening: the segment from the sink to node f, for all rows that see it.
#[inline(always)]
fn begin<S: Simd, R: SegmentRule>(s: S, head: &Head<'_>, block: &mut Block<S>, sums: &mut Gradients<'_>) {
    let (plan, m, delta) = (&block.plan, by_lane(s, &block.m), by_lane(s, &block.deltas));
    block.carry = Carry { a: m, c: zeros(s), p: zeros(s), da: zeros(s) };
    if !R::READS_LEFT || plan.first < 2 {
        return;
    }
    let vectors = block.vectors();
    let carry = &mut block.carry;
    let node = plan.first - 1;
    let carried = dot(s, head.store.keys.row(node), &block.q);
    let value = dot(s, head.store.values.row(node), &block.g);
    // As in the forward pass.
    let seen = masks(s, if head.durations.is_alone(node) { &plan.opens } else { &plan.sees_carried });
    for v in 0..VECTORS {
        carry.a[v] = s.select(seen[v], carried[v], m[v]);
        carry.c[v] = s.sub(value[v], delta[v]);
    }
    if plan.opening == 0 {
        return;
    }
    let (sink_score, sink_value) = match &head.store.sink {
        SinkRows::Copy => (carried, value),
        SinkRows::Given { key, value } => (dot(s, key, &block.q), dot(s, value, &block.g)),
        SinkRows::Zeros | SinkRows::Absent => (zeros(s), zeros(s)),
    };
    let opens = masks(s, &plan.opens);
    let duration = s.splat(head.durations.scale(head.nodes.duration(plan.opening)) as f32);
    let (mut p, mut da) = (zeros(s), zeros(s));
    let mut change = s.splat(0.0);
    let nothing = s.splat(0.0);
    for v in 0..vectors {
        let a0 = s.select(opens[v], sink_score[v], m[v]);
        let c0 = s.sub(sink_value[v], delta[v]);
        let e0 = exp_within(s, s.sub(a0, m[v]));
        let e1 = exp_within(s, s.sub(carry.a[v], m[v]));
        let shares = R::diffusing(s, s.sub(carry.a[v], a0), e0, e1);
        let (from_left, from_right) = (s.mul(shares.left, c0), s.mul(shares.right, carry.c[v]));
        let flow = s.mul(shares.diffusion, s.sub(carry.c[v], c0));
        let d = s.select(opens[v], duration, nothing);
        change = s.add(change, s.select(opens[v], s.add(from_left, from_right), nothing));
        (p[v], da[v]) = (s.mul(d, shares.left), s.mul(d, s.add(from_left, flow)));
        (carry.p[v], carry.da[v]) = (s.mul(d, shares.right), s.mul(d, s.sub(from_right, flow)));
    }
    sums.durations[plan.opening - 1] += s.floats(&[change]).iter().map(|&x| f64::from(x)).sum::<f64>();
    match &head.store.sink {
        SinkRows::Copy => {
            for v in 0..VECTORS {
                carry.p[v] = s.add(carry.p[v], p[v]);
                carry.da[v] = s.add(carry.da[v], da[v]);
            }
        }
        SinkRows::Given { key, .. } => {
            let (k_columns, v_columns) = (sums.sink_dk.len() / S::LANES, sums.sink_dv.len() / S::LANES);
            outer(s, vectors, s.floats(&p), &block.g_rows, v_columns, &mut sums.sink_dv);
            outer(s, vectors, s.floats(&da), &block.q_rows, k_columns, &mut sums.sink_dk);
            for (dq, &x) in block.dq.iter_mut().zip(key) {
                for v in 0..VECTORS {
                    dq[v] = s.fma(s.splat(x), da[v], dq[v]);
                }
            }
        }
        SinkRows::Zeros | SinkRows::Absent => {}
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
    sums: &mut Gradients<'_>,
) {
    let (plan, vectors) = (&block.plan, block.vectors());
    scores(s, vectors, &head.store.keys, at, &block.q, &mut scratch.scores[..height], zeros(s), ahead);
    scores(s, vectors, &head.store.values, at, &block.g, &mut scratch.values[..height], zeros(s), ahead);
    if head.durations.some_are_alone() {
        without_lone_nodes(head, at, &mut scratch.scores[..height], block.carry.a);
    }
    let (m, delta) = (by_lane(s, &block.m), by_lane(s, &block.deltas));
    let whole = plan.is_whole(VECTORS * S::LANES, at, height);
    let [from, to] = if whole { [[0.0; MOST_LANES]; 2] } else { plan.edges(at) };
    if <R as SegmentRule>::makes(Mistake::DroppedCarry) {
        (block.carry.p, block.carry.da) = (zeros(s), zeros(s));
    }
    if <R as SegmentRule>::makes(Mistake::WrongNeighbour) {
        block.carry.a = scratch.scores[0];
    }
    let durations = head.durations.tile(at, height);
    for v in 0..vectors {
        let edges = (s.load(&from[v * S::LANES..]), s.load(&to[v * S::LANES..]));
        // A macro, since a closure cannot be generic over the two constants.
        macro_rules! down {
            ($time:literal, $edge:literal) => {{
                let state = (m[v], delta[v]);
                sweep::<S, R, $time, $edge>(s, v, at, height, scratch, durations, edges, state, &mut block.carry)
            }};
        }
        match (durations.is_empty(), whole) {
            (true, true) => down!(false, false),
            (false, true) => down!(true, false),
            (true, false) => down!(false, true),
            (false, false) => down!(true, true),
        }
    }
    let (first, mut count) = if R::READS_LEFT { (at - 1, height) } else { (at, height) };
    if R::READS_LEFT && is_last {
        (scratch.scores[height], scratch.values[height]) = (block.carry.p, block.carry.da);
        count += 1;
    }
    // Weights stand where scores were, dA where c was.
    products(s, head, first, block, &scratch.scores[..count], &scratch.values[..count], sums);
}

/// Down one vector of a tile: weights, dA and dD from scores.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn sweep<S: Simd, R: SegmentRule, const TIME: bool, const EDGE: bool>(
    s: S,
    v: usize,
    at: usize,
    height: usize,
    scratch: &mut Scratch<S>,
    durations: &[f32],
    (from, to): (S::V, S::V),
    (m, delta): (S::V, S::V),
    carry: &mut Carry<S::V>,
) {
    let (mut a, mut c, mut p, mut da) = (carry.a[v], carry.c[v], carry.p[v], carry.da[v]);
    let mut e = if R::READS_LEFT { exp_within(s, s.sub(a, m)) } else { m };
    let (one, nothing) = (s.splat(1.0), s.splat(0.0));
    let mut index = nothing;
    let durations = if TIME { &durations[..height] } else { durations };
    // Row by row, weights take the place of scores, and dA that of c.
    let (tile, values) = (&mut scratch.scores[..height], &mut scratch.values[..height]);
    let changes = &mut scratch.durations[at - 1..at - 1 + height];
    for i in 0..height {
        let mut a1 = tile[i][v];
        let c1 = s.sub(values[i][v], delta);
        let mut duration = one;
        if TIME {
            duration = s.splat(durations[i]);
        }
        let mut seen = None;
        if EDGE {
            let in_time = s.le(index, to);
            let segment = s.and(s.le(from, index), in_time);
            duration = s.select(segment, duration, nothing);
            let node = if R::READS_LEFT { s.and(s.le(s.sub(from, one), index), in_time) } else { segment };
            a1 = s.select(node, a1, m);
            index = s.add(index, one);
            seen = Some(segment);
        }
        let e1 = exp_within(s, s.sub(a1, m));
        let shares = R::diffusing(s, s.sub(a1, a), e, e1);
        let from_right = s.mul(shares.right, c1);
        if R::READS_LEFT {
            let from_left = s.mul(shares.left, c);
            let flow = s.mul(shares.diffusion, s.sub(c1, c));
            let mut change = s.add(from_left, from_right);
            if let Some(seen) = seen {
                change = s.select(seen, change, nothing);
            }
            changes[i] = s.add(changes[i], change);
            if TIME || EDGE {
                tile[i][v] = s.fma(duration, shares.left, p);
                values[i][v] = s.fma(duration, s.add(from_left, flow), da);
                (p, da) = (s.mul(duration, shares.right), s.mul(duration, s.sub(from_right, flow)));
            } else {
                tile[i][v] = s.add(shares.left, p);
                values[i][v] = s.add(s.add(from_left, flow), da);
                (p, da) = (shares.right, s.sub(from_right, flow));
            }
            (a, c, e) = (a1, c1, e1);
        } else {
            let change = if let Some(seen) = seen { s.select(seen, from_right, nothing) } else { from_right };
            changes[i] = s.add(changes[i], change);
            if TIME || EDGE {
                (tile[i][v], values[i][v]) = (s.mul(duration, shares.right), s.mul(duration, from_right));
            } else {
                (tile[i][v], values[i][v]) = (shares.right, from_right);
            }
        }
    }
    (carry.a[v], carry.c[v], carry.p[v], carry.da[v]) = (a, c, p, da);
}
