//! The backward pass of a block of queries over the tiles of keys that it sees: five products, none of them recomputed, nothing
//! transposed in the loop.
//!
//! ```text
//! for each tile of segments:                                      queries on lanes     head_dim on lanes
//!     A = K Q^T,  Y = V G^T                                       x
//!     for each row i, with E = e^(A - m), c = Y - (g.o - g_lse)/z:      G here is g/z
//!         (L, R, h) of x = A_i - A_{i-1}
//!         P_{i-1}  = carried R + L
//!         dA_{i-1} = carried (R c - flow) + L c_{i-1} + flow      flow = h (c_i - c_{i-1})
//!         dD_i    += (L c_{i-1} + R c_i)/D
//!     dQ^T += K^T dA                                              x
//!     dV += P G,  dK += dA Q                                                           x
//! ```
//!
//! E is e^{A - m}, and 1/z of Z = z e^m is part of G from the start, which then goes into every result: P and dA themselves are
//! never divided. (e^{A - lse} would carry the rounding of lse into all of a row.) The shares are taken for unit durations first:
//! dD needs them so, also where D = 0.

use super::elementary::exp_within;
use super::forward::{RowSum, TILE, grid, masks, piece_shares, read_queries, single_score};
use super::head::{Head, MOST_LANES, Plan, SinkRows, Source};
use super::operands::{is_finite, read_row};
use super::product::{accumulate, dot, outer, scores, zeros};
use super::segment::{Mistake, SegmentRule};
use super::sight::Kind;
use super::simd::{Lanes, Simd, VECTORS};
use contattn_core::{Domain, Hold, MovingEdge, Part, Place, Rule, Upstream};

/// Sums over the queries of one share of the work. Rows are padded to whole vectors of any back end.
pub(crate) struct Gradients {
    /// n rows
    pub(crate) dk: Vec<f32>,
    pub(crate) dv: Vec<f32>,
    /// one row each, of a given sink
    pub(crate) sink_dk: Vec<f32>,
    pub(crate) sink_dv: Vec<f32>,
    /// by segment, in units of 2^-exponent of the durations
    pub(crate) durations: Vec<f64>,
}

/// Width of a row of [`Gradients`].
pub(crate) const fn padded(width: usize) -> usize {
    width.next_multiple_of(16)
}

/// What a thread needs beside its blocks.
pub(crate) struct Scratch<S: Simd> {
    scores: Vec<Lanes<S::V>>,
    values: Vec<Lanes<S::V>>,
    weights: Vec<Lanes<S::V>>,
    da: Vec<Lanes<S::V>>,
    /// dD of each segment, one sum for each lane of a vector
    durations: Vec<S::V>,
    row: Vec<f32>,
}

/// One block of queries on its way over the tiles.
pub(crate) struct Block<S: Simd> {
    start: usize,
    count: usize,
    /// Q^T and G^T, scaled by `scale` and by 1/z
    q: Vec<Lanes<S::V>>,
    g: Vec<Lanes<S::V>>,
    /// the same, a row for each lane, padded
    q_rows: Vec<S::V>,
    g_rows: Vec<S::V>,
    /// dQ^T, padded as keys are
    dq: Vec<Lanes<S::V>>,
    plan: Plan,
    /// the anchor m of each row; 0 for rows that are passed over
    m: [f32; MOST_LANES],
    /// (g.o - g_lse)/z
    deltas: [f32; MOST_LANES],
    /// rows that are left to the plain engine
    pub(crate) careful: [bool; MOST_LANES],
    carry: Carry<S::V>,
}

/// How many blocks go over the tiles together: each tile's rows of K, V, dK and dV are then read and written once for all of them.
/// As many as stay in a cache of half a MiB, up to 8.
pub(crate) fn group(block: usize, head_dim: usize, value_dim: usize) -> usize {
    let bytes = 4 * block * (3 * padded(head_dim) + 2 * padded(value_dim));
    ((1 << 19) / bytes).clamp(1, 8)
}

impl<S: Simd> Block<S> {
    pub(crate) fn new(s: S, head_dim: usize, key_width: usize, value_dim: usize) -> Block<S> {
        let rows = |n| vec![zeros(s); n];
        let lanes = VECTORS * S::LANES;
        let vectors = |width| vec![s.splat(0.0); lanes * padded(width) / S::LANES];
        Block {
            start: 0,
            count: 0,
            q: rows(head_dim),
            g: rows(value_dim),
            q_rows: vectors(head_dim),
            g_rows: vectors(value_dim),
            dq: rows(key_width),
            plan: Plan::nothing(),
            m: [0.0; MOST_LANES],
            deltas: [0.0; MOST_LANES],
            careful: [false; MOST_LANES],
            carry: Carry { a: zeros(s), c: zeros(s), p: zeros(s), da: zeros(s) },
        }
    }
}

impl<S: Simd> Scratch<S> {
    pub(crate) fn new(s: S, head_dim: usize, value_dim: usize, keys: usize) -> Scratch<S> {
        let rows = |n| vec![zeros(s); n];
        Scratch {
            scores: rows(TILE),
            values: rows(TILE),
            weights: rows(TILE + 1),
            da: rows(TILE + 1),
            durations: vec![s.splat(0.0); keys],
            row: vec![0.0; head_dim.max(value_dim)],
        }
    }

    /// Moves the sums of dD of the segments that tiles take over.
    #[inline(always)]
    pub(crate) fn drain_durations(&mut self, s: S, into: &mut [f64], taken: impl Fn(usize) -> bool) {
        for (i, (sum, lanes)) in into.iter_mut().zip(self.durations.chunks_exact(1)).enumerate() {
            if taken(i + 1) {
                *sum += s.floats(lanes).iter().map(|&x| f64::from(x)).sum::<f64>();
            }
        }
        self.durations.fill(s.splat(0.0));
    }
}

/// Results of the forward pass that a block needs: its rows of o, and their sums.
#[derive(Clone, Copy)]
pub(crate) struct Known<'k> {
    pub(crate) o: &'k [f32],
    pub(crate) sums: &'k [RowSum],
}

/// What has been carried from the segment above, by lane.
struct Carry<V> {
    /// score
    a: Lanes<V>,
    /// c
    c: Lanes<V>,
    /// weight so far
    p: Lanes<V>,
    /// dA so far
    da: Lanes<V>,
}

/// Begins a block with rows start.. of one head, of which `block.careful` says which are left alone.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(crate) fn open<S: Simd, R: SegmentRule>(
    s: S,
    head: &Head<'_>,
    upstream: &Upstream<'_>,
    start: usize,
    known: Known<'_>,
    block: &mut Block<S>,
    scratch: &mut Scratch<S>,
    sums: &mut Gradients,
) {
    (block.start, block.count) = (start, known.sums.len());
    read_queries(s, head, start, block.count, &mut block.q, &mut scratch.row, &mut block.careful);
    read_upstream(s, head, upstream, known, block, &mut scratch.row);
    by_rows(s, &block.q, &mut block.q_rows);
    by_rows(s, &block.g, &mut block.g_rows);
    for lane in 0..VECTORS * S::LANES {
        let lane_or_last = lane.min(block.count - 1);
        let live = !block.careful[lane_or_last] && head.sights.rows[start + lane_or_last].kind == Kind::Curve;
        block.m[lane] = if live { known.sums[lane_or_last].m } else { 0.0 };
    }
    block.plan = Plan::of(head, start, block.count, &block.careful);
    block.dq.fill(zeros(s));
    begin::<S, R>(s, head, block, sums);
}

/// Takes a group of blocks of one head, each begun, over the tiles of keys.
#[inline(always)]
pub(crate) fn pass<S: Simd, R: SegmentRule>(
    s: S,
    head: &Head<'_>,
    blocks: &mut [Block<S>],
    scratch: &mut Scratch<S>,
    sums: &mut Gradients,
) {
    let mut first = usize::MAX;
    let mut last = 0;
    for block in blocks.iter_mut() {
        if block.plan.first <= block.plan.last {
            first = first.min(block.plan.first);
            last = last.max(block.plan.last);
        } else if R::READS_LEFT && block.plan.opening > 0 {
            (scratch.weights[0], scratch.da[0]) = (block.carry.p, block.carry.da);
            products(s, head, block.plan.opening, 1, block, scratch, sums);
        }
    }
    first = grid::<R>(first);
    while first <= last {
        for block in blocks.iter_mut() {
            let (from, to) = (first.max(block.plan.first), (first + TILE - 1).min(block.plan.last));
            if from <= to && !(R::makes(Mistake::SkippedTile) && from / TILE == 1) {
                tile::<S, R>(s, head, from, to + 1 - from, to == block.plan.last, block, scratch, sums);
            }
        }
        first += TILE;
    }
}

/// What rows give beside the tiles, and their dq.
#[inline(always)]
pub(crate) fn close<S: Simd>(s: S, head: &Head<'_>, block: &mut Block<S>, sums: &mut Gradients, dq: &mut [f32]) {
    let lanes = VECTORS * S::LANES;
    for lane in 0..block.count {
        if block.careful[lane] {
            continue;
        }
        let row = block.start + lane;
        let mut single = SingleRow {
            head,
            row,
            lane,
            lanes,
            q: s.floats(block.q.as_flattened()),
            g: s.floats(block.g.as_flattened()),
            m: f64::from(block.m[lane]),
            delta: f64::from(block.deltas[lane]),
            dq: s.floats_mut(block.dq.as_flattened_mut()),
            sums,
        };
        match head.sights.rows[row].kind {
            Kind::Empty => {}
            Kind::Point(point) => single.point(point),
            Kind::Curve => {
                if block.plan.has_pieces {
                    single.pieces(block.plan.opening);
                }
                if head.has_moving_edges() {
                    single.edges();
                }
            }
        }
    }
    let scale = head.problem.scale();
    let from = s.floats(block.dq.as_flattened());
    for (lane, row) in dq.chunks_exact_mut(block.q.len()).enumerate() {
        for (c, x) in row.iter_mut().enumerate() {
            *x = (f64::from(from[c * lanes + lane]) * scale) as f32;
        }
    }
}

/// One number for each lane, as vectors.
#[inline(always)]
fn by_lane<S: Simd>(s: S, numbers: &[f32; MOST_LANES]) -> Lanes<S::V> {
    let mut lanes = zeros(s);
    for v in 0..VECTORS {
        lanes[v] = s.load(&numbers[v * S::LANES..]);
    }
    lanes
}

/// Reads g/z into G^T, and (g.o - g_lse)/z; rows with anything that is not finite are marked. Rows that tiles pass over get zeros.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn read_upstream<S: Simd>(
    s: S,
    head: &Head<'_>,
    upstream: &Upstream<'_>,
    known: Known<'_>,
    block: &mut Block<S>,
    row: &mut [f32],
) {
    let lanes = VECTORS * S::LANES;
    let (start, width) = (block.start, block.g.len());
    let (deltas, careful) = (&mut block.deltas, &mut block.careful);
    deltas.fill(0.0);
    let g = s.floats_mut(block.g.as_flattened_mut());
    let row = &mut row[..width];
    for lane in 0..lanes {
        if lane < known.sums.len() {
            let at = start + lane;
            read_row(upstream.o(), head.batch, head.head, at, row);
            let g_lse = upstream.lse().map_or(0.0, |lse| lse.get(head.batch, head.head, at, 0));
            let o = &known.o[lane * width..][..width];
            let curve = head.sights.rows[at].kind == Kind::Curve;
            let RowSum { m, z } = known.sums[lane];
            careful[lane] |= !(g_lse.is_finite() && is_finite(o) && (!curve || (m.is_finite() && z.is_finite())));
            if curve && !careful[lane] {
                let through: f64 = row.iter().zip(o).map(|(&g, &o)| f64::from(g) * f64::from(o)).sum();
                deltas[lane] = ((through - g_lse) / f64::from(z)) as f32;
                for x in row.iter_mut() {
                    *x /= z;
                }
            }
            careful[lane] |= !(is_finite(row) && deltas[lane].is_finite());
            if careful[lane] {
                (deltas[lane], _) = (0.0, row.fill(0.0));
            }
        } else {
            // A lane that repeats the last row must not count it twice.
            row.fill(0.0);
        }
        for (c, &x) in row.iter().enumerate() {
            g[c * lanes + lane] = x;
        }
    }
}

/// X^T (a row for each column) as X (a padded row for each lane).
#[inline(always)]
fn by_rows<S: Simd>(s: S, transposed: &[Lanes<S::V>], rows: &mut [S::V]) {
    let lanes = VECTORS * S::LANES;
    let width = padded(transposed.len());
    let (from, to) = (s.floats(transposed.as_flattened()), s.floats_mut(rows));
    for (c, column) in from.chunks_exact(lanes).enumerate() {
        for (lane, &x) in column.iter().enumerate() {
            to[lane * width + c] = x;
        }
    }
}

/// The opening: the segment from the sink to node f, for all rows that see it.
#[inline(always)]
fn begin<S: Simd, R: SegmentRule>(s: S, head: &Head<'_>, block: &mut Block<S>, sums: &mut Gradients) {
    let (plan, m, delta) = (&block.plan, by_lane(s, &block.m), by_lane(s, &block.deltas));
    block.carry = Carry { a: m, c: zeros(s), p: zeros(s), da: zeros(s) };
    if !R::READS_LEFT || plan.first < 2 {
        return;
    }
    let carry = &mut block.carry;
    let node = plan.first - 1;
    let carried = dot(s, head.store.keys.row(node), &block.q);
    let value = dot(s, head.store.values.row(node), &block.g);
    let seen = masks(s, &plan.sees_carried);
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
    for v in 0..VECTORS {
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
            outer(s, s.floats(&p), &block.g_rows, v_columns, &mut sums.sink_dv);
            outer(s, s.floats(&da), &block.q_rows, k_columns, &mut sums.sink_dk);
            for (dq, &x) in block.dq.iter_mut().zip(key) {
                for v in 0..VECTORS {
                    dq[v] = s.fma(s.splat(x), da[v], dq[v]);
                }
            }
        }
        SinkRows::Zeros | SinkRows::Absent => {}
    }
}

/// One tile of `height` segments from `at` on.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn tile<S: Simd, R: SegmentRule>(
    s: S,
    head: &Head<'_>,
    at: usize,
    height: usize,
    is_last: bool,
    block: &mut Block<S>,
    scratch: &mut Scratch<S>,
    sums: &mut Gradients,
) {
    let plan = &block.plan;
    scores(s, &head.store.keys, at, &block.q, &mut scratch.scores[..height], zeros(s));
    scores(s, &head.store.values, at, &block.g, &mut scratch.values[..height], zeros(s));
    let (m, delta) = (by_lane(s, &block.m), by_lane(s, &block.deltas));
    let whole = plan.is_whole(VECTORS * S::LANES, at, height);
    let [from, to] = if whole { [[0.0; MOST_LANES]; 2] } else { plan.edges(at) };
    if R::makes(Mistake::DroppedCarry) {
        (block.carry.p, block.carry.da) = (zeros(s), zeros(s));
    }
    if R::makes(Mistake::WrongNeighbour) {
        block.carry.a = scratch.scores[0];
    }
    let durations = head.durations.tile(at, height);
    for v in 0..VECTORS {
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
        (scratch.weights[height], scratch.da[height]) = (block.carry.p, block.carry.da);
        count += 1;
    }
    products(s, head, first, count, block, scratch, sums);
}

/// dQ, dV and dK from `count` rows of weights and dA, of nodes `first`...
#[inline(always)]
fn products<S: Simd>(
    s: S,
    head: &Head<'_>,
    first: usize,
    count: usize,
    block: &mut Block<S>,
    scratch: &Scratch<S>,
    sums: &mut Gradients,
) {
    let (k_width, v_width) = (padded(block.q.len()), padded(block.g.len()));
    let (weights, da) = (&scratch.weights[..count], &scratch.da[..count]);
    accumulate(s, &head.store.keys, first, da, None, &mut block.dq);
    let dv = &mut sums.dv[(first - 1) * v_width..][..count * v_width];
    outer(s, s.floats(weights.as_flattened()), &block.g_rows, v_width / S::LANES, dv);
    let dk = &mut sums.dk[(first - 1) * k_width..][..count * k_width];
    outer(s, s.floats(da.as_flattened()), &block.q_rows, k_width / S::LANES, dk);
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
    let (tile, values) = (&scratch.scores[..height], &scratch.values[..height]);
    let (weights, das) = (&mut scratch.weights[..height], &mut scratch.da[..height]);
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
                weights[i][v] = s.fma(duration, shares.left, p);
                das[i][v] = s.fma(duration, s.add(from_left, flow), da);
                (p, da) = (s.mul(duration, shares.right), s.mul(duration, s.sub(from_right, flow)));
            } else {
                weights[i][v] = s.add(shares.left, p);
                das[i][v] = s.add(s.add(from_left, flow), da);
                (p, da) = (shares.right, s.sub(from_right, flow));
            }
            (a, c, e) = (a1, c1, e1);
        } else {
            let change = if let Some(seen) = seen { s.select(seen, from_right, nothing) } else { from_right };
            changes[i] = s.add(changes[i], change);
            if TIME || EDGE {
                (weights[i][v], das[i][v]) = (s.mul(duration, shares.right), s.mul(duration, from_right));
            } else {
                (weights[i][v], das[i][v]) = (shares.right, from_right);
            }
        }
    }
    (carry.a[v], carry.c[v], carry.p[v], carry.da[v]) = (a, c, p, da);
}

/// What one row gives beside the tiles, in f64.
struct SingleRow<'s, 'a> {
    head: &'s Head<'a>,
    row: usize,
    lane: usize,
    lanes: usize,
    /// Q^T, G^T and dQ^T of the block
    q: &'s [f32],
    g: &'s [f32],
    dq: &'s mut [f32],
    m: f64,
    delta: f64,
    sums: &'s mut Gradients,
}

impl SingleRow<'_, '_> {
    fn score(&self, source: Source) -> f64 {
        single_score(self.q, self.lanes, self.lane, self.head.key(source))
    }

    /// c = (g.v - g.o + g_lse)/z
    fn change(&self, source: Source) -> f64 {
        single_score(self.g, self.lanes, self.lane, self.head.value(source)) - self.delta
    }

    /// dV += w g
    fn add_value(&mut self, source: Source, weight: f64) {
        let width = self.g.len() / self.lanes;
        let row = match source {
            Source::Node(node) => &mut self.sums.dv[(node - 1) * padded(width)..][..width],
            Source::Sink => &mut self.sums.sink_dv[..width],
        };
        for (sum, &g) in row.iter_mut().zip(self.g.iter().skip(self.lane).step_by(self.lanes)) {
            *sum += weight as f32 * g;
        }
    }

    /// dK += da q, dQ += da k
    fn add_score(&mut self, source: Source, da: f64) {
        let width = self.q.len() / self.lanes;
        let row = match source {
            Source::Node(node) => &mut self.sums.dk[(node - 1) * padded(width)..][..width],
            Source::Sink => &mut self.sums.sink_dk[..width],
        };
        for (sum, &q) in row.iter_mut().zip(self.q.iter().skip(self.lane).step_by(self.lanes)) {
            *sum += da as f32 * q;
        }
        if let Some(key) = self.head.key(source) {
            for (c, &k) in key.iter().enumerate() {
                self.dq[c * self.lanes + self.lane] += da as f32 * k;
            }
        }
    }

    /// A point without duration: dv = w g.
    fn point(&mut self, point: contattn_core::Point) {
        let weights = [(point.left, 1.0 - point.fraction), (point.right, point.fraction)];
        for (node, weight) in weights.into_iter().filter(|(_, weight)| *weight > 0.0) {
            self.add_value(self.head.source(self.row, node), weight);
        }
    }

    /// Cut segments and held curve.
    fn pieces(&mut self, block_opening: usize) {
        let head = self.head;
        for piece in head.pieces(self.row, block_opening) {
            let (a_left, a_right) = (self.score(piece.left), self.score(piece.right));
            let (c_left, c_right) = (self.change(piece.left), self.change(piece.right));
            let (from, to, shares) = piece_shares(head, &piece, a_left, a_right);
            let density = libm::exp((from.max(to) - self.m).min(80.0));
            let factor = density * head.durations.scale(piece.part.lambda * piece.duration);
            let flow = factor * shares.diffusion * (c_right - c_left);
            for (source, share, c, flow) in
                [(piece.left, shares.left, c_left, flow), (piece.right, shares.right, c_right, -flow)]
            {
                self.add_value(source, factor * share);
                self.add_score(source, factor * share * c + flow);
            }
            if piece.segment > 0 {
                let change = shares.left * c_left + shares.right * c_right;
                self.sums.durations[piece.segment - 1] += density * piece.part.lambda * change;
            }
        }
    }

    /// The edges of the window that move when durations change.
    fn edges(&mut self) {
        let Domain::Interval(interval) = self.head.problem.domain(self.head.batch, self.row) else { return };
        for (edge, is_upper) in [(&interval.lower, false), (&interval.upper, true)] {
            let held = match edge.place {
                Place::Node | Place::Segment(_) => None,
                Place::Before(_) => interval.hold_before,
                Place::After(_) => interval.hold_after,
            };
            match (edge.place, held) {
                (Place::Segment(i), _) => {
                    let part = if i == *interval.segments.start() {
                        interval.first_part
                    } else if i == *interval.segments.end() {
                        interval.last_part
                    } else {
                        Part::WHOLE
                    };
                    if interval.segments.contains(&i)
                        && let Some(left) = self.head.nodes.left_node(i)
                    {
                        self.segment_edge(edge, is_upper, left, i, &part);
                    }
                }
                (_, Some(hold)) => self.held_edge(edge, is_upper, &hold),
                _ => {}
            }
        }
    }

    /// The integrand at an edge in held curve.
    fn held_edge(&mut self, edge: &MovingEdge, is_upper: bool, hold: &Hold) {
        let source = self.head.source(self.row, hold.node);
        let gain = libm::exp((self.score(source) - self.m).min(80.0)) * self.change(source);
        self.move_edge(edge, if is_upper { gain } else { -gain }, if is_upper { 1.0 } else { 0.0 });
    }

    /// The integrand at an edge in a segment; under the trapezoid, of whose parts the sum is not the whole, the derivative of
    /// (lambda/2)(f(alpha) + f(beta)), f = e^a c, f' = e^a (x c + c_1 - c_0).
    fn segment_edge(&mut self, edge: &MovingEdge, is_upper: bool, left: usize, right: usize, part: &Part) {
        let fraction = if is_upper { part.beta } else { part.alpha };
        if edge.moved_by().all(|i| edge.velocity(i, fraction) == 0.0) {
            return;
        }
        let rule = self.head.problem.rule();
        let [left, right] = [left, right].map(|node| self.head.source(self.row, node));
        let (a_left, a_right) = (self.score(left), self.score(right));
        let (c_left, c_right) = (self.change(left), self.change(right));
        let density = |a: f64| libm::exp((a - self.m).min(80.0));
        let sign = if is_upper { 1.0 } else { -1.0 };
        let gain = if rule == Rule::Step {
            sign * density(a_right) * c_right
        } else {
            let place = |u: f64, not_u: f64| {
                (density(crate::plain::segment::interpolate(a_left, a_right, u, not_u)), not_u * c_left + u * c_right)
            };
            let (alpha, beta) = (place(part.alpha, part.one_minus_alpha), place(part.beta, part.one_minus_beta));
            let (e, c) = if is_upper { beta } else { alpha };
            if rule == Rule::Trapezoid {
                let mean = 0.5 * (alpha.0 * alpha.1 + beta.0 * beta.1);
                sign * mean + 0.5 * part.lambda * e * ((a_right - a_left) * c + c_right - c_left)
            } else {
                sign * e * c
            }
        };
        self.move_edge(edge, gain, fraction);
    }

    fn move_edge(&mut self, edge: &MovingEdge, gain: f64, fraction: f64) {
        for i in edge.moved_by() {
            self.sums.durations[i - 1] += gain * edge.velocity(i, fraction);
        }
    }
}
