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

mod segments;
mod single;
mod taylor;

use super::forward::{ROWS, RowSum, TILE, TilePlace, Weigh, ahead, read_queries, span, streams, tile_of};
use super::head::{Head, MOST_LANES, Plan};
use super::operands::{dot_f64, is_finite, read_row};
use super::product::{accumulate, outer, panels, zeros};
use super::segment::Mistake;
use super::sight::Kind;
use super::simd::{Lanes, Simd, VECTORS, vectors};
use super::transpose::transpose;
use contattn_core::{Shape, Upstream};
use single::SingleRow;

/// A rule's part of the backward pass.
pub(crate) trait Differentiate: Weigh {
    /// Whether durations have gradients.
    const HAS_DURATIONS: bool;

    /// What rows see before the tiles.
    fn begin<S: Simd>(s: S, head: &Head<'_>, block: &mut Block<S>, sums: &mut Gradients<'_>);

    /// One tile of segments; see [`Weigh::tile`].
    fn tile<S: Simd>(
        s: S,
        head: &Head<'_>,
        place: TilePlace,
        block: &mut Block<S>,
        scratch: &mut Scratch<S>,
        sums: &mut Gradients<'_>,
    );
}

/// Rows that are added to.
pub(crate) enum Sum<'o> {
    /// memory of its own
    Own(Vec<f32>),
    /// the rows of the result: one share of the work for each key/value head adds to them itself, where they need no padding
    Result(&'o mut [f32]),
}

impl Sum<'_> {
    /// Zeros in `count` numbers of its own; the result's are zeros from the start.
    pub(crate) fn clear(&mut self, count: usize) {
        if let Sum::Own(rows) = self {
            rows.resize(count, 0.0);
        }
    }

    /// What is not in the result yet.
    pub(crate) fn into_own(self) -> Option<Vec<f32>> {
        match self {
            Sum::Own(rows) => Some(rows),
            Sum::Result(_) => None,
        }
    }

    /// Some rows of `width` numbers, from one on.
    #[inline(always)]
    pub(crate) fn rows(&mut self, first: usize, count: usize, width: usize) -> &mut [f32] {
        let all = match self {
            Sum::Own(rows) => rows.as_mut_slice(),
            Sum::Result(rows) => rows,
        };
        &mut all[first * width..][..count * width]
    }
}

/// Sums over the queries of one share of the work. Rows are padded to whole vectors of any back end.
pub(crate) struct Gradients<'o> {
    /// n rows
    pub(crate) dk: Sum<'o>,
    pub(crate) dv: Sum<'o>,
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
    /// of rules that smooth scores; the others have weights and dA in the place of scores and values
    weights: Vec<Lanes<S::V>>,
    da: Vec<Lanes<S::V>>,
    /// dD of each segment, one sum for each lane of a vector
    durations: Vec<S::V>,
    /// [`ROWS`] of a tensor, on their way to lanes
    rows: Vec<f32>,
}

/// One block of queries on its way over the tiles.
pub(crate) struct Block<S: Simd> {
    start: usize,
    count: usize,
    /// Q^T and G^T, scaled by `scale` and by 1/z
    q: Vec<Lanes<S::V>>,
    g: Vec<Lanes<S::V>>,
    /// the same, a row for each lane, padded, in panels
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
    carry: segments::Carry<S::V>,
    smooth: taylor::Carry<S::V>,
}

/// How many blocks go over the tiles together: each tile's rows of K, V, dK and dV are then read and written once for all of them.
/// As many as stay in a cache of half a MiB, up to 8; one where K and V stay in a cache by themselves.
pub(crate) fn group(block: usize, shape: &Shape) -> usize {
    let bytes = 4 * block * (3 * padded(shape.head_dim) + 2 * padded(shape.value_dim));
    if streams(block, shape) { ((1 << 19) / bytes).clamp(1, 8) } else { 1 }
}

impl<S: Simd> Block<S> {
    /// How many vectors hold its queries.
    fn vectors(&self) -> usize {
        vectors::<S>(self.count)
    }

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
            carry: segments::Carry::new(s),
            smooth: taylor::Carry::new(s),
        }
    }
}

impl<S: Simd> Scratch<S> {
    pub(crate) fn new<R: Differentiate>(s: S, head_dim: usize, value_dim: usize, keys: usize) -> Scratch<S> {
        let rows = |n| vec![zeros(s); n];
        let keys = if R::HAS_DURATIONS { keys } else { 0 };
        let (weights, da) = if R::SMOOTHS { (TILE + 1, TILE + 2) } else { (0, 0) };
        Scratch {
            scores: rows(TILE + 1),
            values: rows(TILE + 1),
            weights: rows(weights),
            da: rows(da),
            durations: vec![s.splat(0.0); keys],
            rows: vec![0.0; ROWS * head_dim.max(value_dim)],
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

/// Begins a block with rows start.. of one head, of which `block.careful` says which are left alone.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(crate) fn open<S: Simd, R: Differentiate>(
    s: S,
    head: &Head<'_>,
    upstream: &Upstream<'_>,
    start: usize,
    known: Known<'_>,
    block: &mut Block<S>,
    scratch: &mut Scratch<S>,
    sums: &mut Gradients<'_>,
) {
    (block.start, block.count) = (start, known.sums.len());
    read_queries(s, head, start, block.count, &mut block.q, &mut scratch.rows, &mut block.careful);
    read_upstream(s, head, upstream, known, block, &mut scratch.rows);
    panels(s, &block.q, padded(block.q.len()) / S::LANES, &mut block.q_rows);
    panels(s, &block.g, padded(block.g.len()) / S::LANES, &mut block.g_rows);
    for lane in 0..VECTORS * S::LANES {
        let lane_or_last = lane.min(block.count - 1);
        let live = !block.careful[lane_or_last] && head.sights.rows[start + lane_or_last].kind == Kind::Curve;
        block.m[lane] = if live { known.sums[lane_or_last].m } else { 0.0 };
    }
    block.plan = R::plan(head, start, block.count, &block.careful);
    block.dq.fill(zeros(s));
    <R as Differentiate>::begin(s, head, block, sums);
}

/// Takes a group of blocks of one head, each begun, over the tiles of keys.
#[inline(always)]
pub(crate) fn pass<S: Simd, R: Differentiate>(
    s: S,
    head: &Head<'_>,
    blocks: &mut [Block<S>],
    scratch: &mut Scratch<S>,
    sums: &mut Gradients<'_>,
    is_first: bool,
) {
    let (parts, far) = (blocks.len(), is_first || streams(VECTORS * S::LANES, &head.problem.shape()));
    let (mut first, last) = span(R::ORIGIN, blocks.iter().map(|block| &block.plan));
    while first <= last {
        for (part, block) in blocks.iter_mut().enumerate() {
            if let Some(place) = tile_of(&block.plan, first)
                && !(R::makes(Mistake::SkippedTile) && place.at / TILE == 1)
            {
                let place = TilePlace { ahead: ahead(far, first, last, part, parts), ..place };
                <R as Differentiate>::tile(s, head, place, block, scratch, sums);
            }
        }
        first += TILE;
    }
}

/// What rows give beside the tiles, and their dq.
#[inline(always)]
pub(crate) fn close<S: Simd>(s: S, head: &Head<'_>, block: &mut Block<S>, sums: &mut Gradients<'_>, dq: &mut [f32]) {
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
                if head.problem.spec().has_moving_edges() {
                    single.edges();
                }
            }
        }
    }
    let scale = head.problem.scale();
    let from = s.floats(block.dq.as_flattened());
    let width = block.q.len();
    transpose(from, lanes, dq, width, width, dq.len() / width);
    dq.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
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
    rows: &mut [f32],
) {
    let lanes = VECTORS * S::LANES;
    let (start, width) = (block.start, block.g.len());
    let (deltas, careful) = (&mut block.deltas, &mut block.careful);
    deltas.fill(0.0);
    let g = s.floats_mut(block.g.as_flattened_mut());
    for first in (0..lanes).step_by(ROWS) {
        for (lane, row) in (first..).zip(rows[..ROWS * width].chunks_exact_mut(width)) {
            if lane >= known.sums.len() {
                // A lane that repeats the last row must not count it twice.
                row.fill(0.0);
                continue;
            }
            let at = start + lane;
            read_row(upstream.o(), head.batch, head.head, at, row);
            let g_lse = upstream.lse().map_or(0.0, |lse| lse.get(head.batch, head.head, at, 0));
            let o = &known.o[lane * width..][..width];
            let curve = head.sights.rows[at].kind == Kind::Curve;
            let RowSum { m, z } = known.sums[lane];
            careful[lane] |= !(g_lse.is_finite() && is_finite(o) && (!curve || (m.is_finite() && z.is_finite())));
            if curve && !careful[lane] {
                deltas[lane] = ((dot_f64(row, o) - g_lse) / f64::from(z)) as f32;
                row.iter_mut().for_each(|x| *x /= z);
            }
            careful[lane] |= !(is_finite(row) && deltas[lane].is_finite());
            if careful[lane] {
                (deltas[lane], _) = (0.0, row.fill(0.0));
            }
        }
        transpose(rows, width, &mut g[first..], lanes, ROWS, width);
    }
}

/// dQ, dV and dK from rows of weights and of dA, of nodes `first`...
#[inline(always)]
fn products<S: Simd>(
    s: S,
    head: &Head<'_>,
    first: usize,
    block: &mut Block<S>,
    weights: &[Lanes<S::V>],
    da: &[Lanes<S::V>],
    sums: &mut Gradients<'_>,
) {
    let vectors = block.vectors();
    let (k_width, v_width, count) = (padded(block.q.len()), padded(block.g.len()), weights.len());
    accumulate(s, vectors, &head.store.keys, first, da, None, &mut block.dq, None);
    let dv = sums.dv.rows(first - 1, count, v_width);
    outer(s, vectors, s.floats(weights.as_flattened()), &block.g_rows, v_width / S::LANES, dv);
    let dk = sums.dk.rows(first - 1, count, k_width);
    outer(s, vectors, s.floats(da.as_flattened()), &block.q_rows, k_width / S::LANES, dk);
}
