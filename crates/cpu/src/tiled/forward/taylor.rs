//! Weights of the Taylor rule of orders 0 and 1.
//!
//! ```text
//! row i of a tile: segment at + i, which completes node at + i - 1
//!
//! first down:   x = a - (row above)     t of the node above from x above and x here     m' = max(m, t)
//! second down:  P = f e^(t - m')        z += P
//! ```
//!
//! The last node of a block is completed by one row more, of a segment that nobody sees. A row whose first segment leads to the
//! first kept node f of its stretch takes its sink along there: the sink's t is known with a_f, and node f has a left neighbour.

use super::{Block, NOTHING, Scratch, TilePlace, Weigh};
use crate::tiled::elementary::exp;
use crate::tiled::head::{Head, MOST_LANES, Plan, SinkRows};
use crate::tiled::product::{accumulate, dot, scores, zeros};
use crate::tiled::segment::Mistake;
use crate::tiled::simd::{Lanes, Simd, VECTORS};
use crate::tiled::taylor::{Slopes, Taylor, exponent, makes};

/// What a block carries from tile to tile, by lane.
pub(crate) struct Carry<V> {
    /// score of the last node
    a: Lanes<V>,
    /// x of the last segment, and 1 where it was seen
    before: Lanes<V>,
    left: Lanes<V>,
    /// score of the sink; weight of a sink of its own
    sink: Lanes<V>,
    sink_weight: Lanes<V>,
}

impl<V: Copy> Carry<V> {
    pub(crate) fn new<S: Simd<V = V>>(s: S) -> Carry<V> {
        let none = zeros(s);
        Carry { a: none, before: none, left: none, sink: none, sink_weight: none }
    }
}

impl Weigh for Taylor {
    const ORIGIN: usize = 2;
    const SMOOTHS: bool = true;

    #[inline(always)]
    fn makes(mistake: Mistake) -> bool {
        makes(mistake)
    }

    fn plan(head: &Head<'_>, start: usize, count: usize, skip: &[bool; MOST_LANES]) -> Plan {
        Plan::of_nodes(head, start, count, skip)
    }

    #[inline(always)]
    fn begin<S: Simd>(s: S, head: &Head<'_>, block: &mut Block<S>) {
        block.o.fill(zeros(s));
        block.sums.m = [s.splat(NOTHING); VECTORS];
        block.sums.z = zeros(s);
        block.smooth = Carry::new(s);
        if block.plan.first < 2 {
            return;
        }
        block.smooth.a = dot(s, head.store.keys.row(block.plan.first - 1), &block.q);
        if let (SinkRows::Given { key, .. }, true) = (&head.store.sink, block.plan.opening > 0) {
            block.smooth.sink = dot(s, key, &block.q);
        }
    }

    #[inline(always)]
    fn tile<S: Simd>(
        s: S,
        head: &Head<'_>,
        TilePlace { at, height, is_last, ahead }: TilePlace,
        block: &mut Block<S>,
        scratch: &mut Scratch<S>,
    ) {
        let (rows, vectors) = (height + usize::from(is_last), block.vectors());
        scores(s, vectors, &head.store.keys, at, &block.q, &mut scratch.scores[..height], zeros(s), ahead);
        // The row that completes the last node reads some number; nothing comes of it.
        scratch.scores[height] = zeros(s);
        if makes(Mistake::DroppedCarry) {
            (block.smooth.before, block.smooth.left) = (zeros(s), zeros(s));
        }
        if makes(Mistake::WrongNeighbour) {
            block.smooth.a = scratch.scores[0];
        }
        let inside = !is_last && head.durations.is_unbroken() && block.plan.is_inside(VECTORS * S::LANES, at, height);
        let edges = block.plan.edges(at);
        let mut factor = zeros(s);
        for v in 0..vectors {
            let before = block.sums.m[v];
            if inside {
                down_inside(s, v, Slopes::of(head.problem.rule()), rows, block, scratch);
            } else {
                let place = Edges {
                    from: s.load(&edges[0][v * S::LANES..]),
                    to: s.load(&edges[1][v * S::LANES..]),
                    opens: s.load(&block.plan.opens[v * S::LANES..]),
                };
                down_anywhere(s, v, head, at, rows, place, block, scratch);
            }
            factor[v] = exp(s, s.sub(before, block.sums.m[v]));
        }
        let factor = if makes(Mistake::MissingRescale) { None } else { Some(factor) };
        accumulate(s, vectors, &head.store.values, at - 1, &scratch.weights[..rows], factor, &mut block.o, ahead);
        if let (SinkRows::Given { value, .. }, true) = (&head.store.sink, is_last) {
            for (o, &x) in block.o.iter_mut().zip(value) {
                for v in 0..VECTORS {
                    o[v] = s.fma(s.splat(x), block.smooth.sink_weight[v], o[v]);
                }
            }
        }
    }
}

/// Down one vector of a tile all of whose nodes have two neighbours.
#[inline(always)]
fn down_inside<S: Simd>(s: S, v: usize, slopes: Slopes, rows: usize, block: &mut Block<S>, scratch: &mut Scratch<S>) {
    let (carry, sums) = (&mut block.smooth, &mut block.sums);
    let (tile, weights) = (&scratch.scores[..rows], &mut scratch.weights[..rows]);
    let (mut a, mut before, mut max) = (carry.a[v], carry.before[v], sums.m[v]);
    for i in 0..rows {
        let a1 = tile[i][v];
        let x = s.sub(a1, a);
        let bias = slopes.inside(s, before, x);
        max = s.max(s.add(a, bias), max);
        weights[i][v] = bias;
        (a, before) = (a1, x);
    }
    let mut of_node = carry.a[v];
    (carry.a[v], carry.before[v], carry.left[v]) = (a, before, s.splat(1.0));
    let factor = exp(s, s.sub(sums.m[v], max));
    let mut z = s.splat(0.0);
    carry.sink_weight[v] = s.mul(carry.sink_weight[v], factor);
    for (row, next) in weights.iter_mut().zip(tile) {
        let p = exp(s, exponent(s, of_node, row[v], max));
        z = s.add(z, p);
        row[v] = p;
        of_node = next[v];
    }
    (sums.m[v], sums.z[v]) = (max, s.fma(sums.z[v], factor, z));
}

/// What the lanes of a vector see of a tile.
#[derive(Clone, Copy)]
pub(crate) struct Edges<V> {
    /// first and last segment, counted from that of the tile
    pub(crate) from: V,
    pub(crate) to: V,
    /// 1 where a sink is joined to the node before the first segment
    pub(crate) opens: V,
}

/// What row i of a tile is for the lanes of a vector.
pub(crate) struct RowEdges<S: Simd> {
    /// segment i is seen: 1 or 0
    pub(crate) right: S::V,
    pub(crate) sees_segment: S::Mask,
    /// the node before it is seen
    pub(crate) sees_node: S::Mask,
    /// the segment before it joins a sink to that node
    pub(crate) opens: S::Mask,
}

impl<V: Copy> Edges<V> {
    /// Of row i, whose index the lanes of `index` hold; `height`: rows that are segments.
    #[inline(always)]
    pub(crate) fn row<S: Simd<V = V>>(&self, s: S, head: &Head<'_>, at: usize, i: usize, index: V) -> RowEdges<S> {
        let (one, nothing) = (s.splat(1.0), s.splat(0.0));
        let starts = s.le(self.from, index);
        let joined = s.lt(nothing, s.splat(head.durations.joins(at + i)));
        let sees_segment = s.and(s.and(starts, s.le(index, self.to)), joined);
        let kept = s.lt(nothing, s.splat(head.durations.keeps(at + i - 1)));
        let sees_node = s.and(s.and(starts, s.le(index, s.add(self.to, one))), kept);
        let opens = s.and(s.and(starts, s.le(index, self.from)), s.lt(nothing, self.opens));
        RowEdges { right: s.select(sees_segment, one, nothing), sees_segment, sees_node, opens }
    }
}

/// Down one vector of any tile.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn down_anywhere<S: Simd>(
    s: S,
    v: usize,
    head: &Head<'_>,
    at: usize,
    rows: usize,
    edges: Edges<S::V>,
    block: &mut Block<S>,
    scratch: &mut Scratch<S>,
) {
    let (carry, sums) = (&mut block.smooth, &mut block.sums);
    let (tile, weights) = (&scratch.scores[..rows], &mut scratch.weights[..rows]);
    let factors = &mut scratch.factors[..rows];
    let (one, nothing, lowest) = (s.splat(1.0), s.splat(0.0), s.splat(NOTHING));
    let slopes = Slopes::of(head.problem.rule());
    let copies = matches!(head.store.sink, SinkRows::Copy);
    let (mut a, mut before, mut left) = (carry.a[v], carry.before[v], carry.left[v]);
    let (mut sink_a, mut sink_bias, mut opened) = (lowest, nothing, nothing);
    let mut max = sums.m[v];
    let mut index = nothing;
    for i in 0..rows {
        let a1 = tile[i][v];
        let row = edges.row(s, head, at, i, index);
        let x = s.select(row.sees_segment, s.sub(a1, a), nothing);
        let a_sink = if copies { a } else { carry.sink[v] };
        before = s.select(row.opens, s.sub(a, a_sink), before);
        left = s.select(row.opens, one, left);
        sink_a = s.select(row.opens, a_sink, sink_a);
        sink_bias = s.select(row.opens, slopes.sink(s, a_sink, a), sink_bias);
        opened = s.select(row.opens, s.splat(0.5), opened);
        let node = slopes.anywhere(s, (left, before), (row.right, x));
        max = s.max(s.select(row.sees_node, s.add(a, node.bias), lowest), max);
        weights[i][v] = s.select(row.sees_node, node.bias, lowest);
        factors[i][v] = s.select(row.sees_node, node.factor, nothing);
        (a, before, left) = (a1, x, row.right);
        index = s.add(index, one);
    }
    let mut of_node = carry.a[v];
    (carry.a[v], carry.before[v], carry.left[v]) = (a, before, left);
    max = s.max(s.add(sink_a, sink_bias), max);
    let factor = exp(s, s.sub(sums.m[v], max));
    let sink = s.mul(opened, exp(s, exponent(s, sink_a, sink_bias, max)));
    let mut z = sink;
    carry.sink_weight[v] = s.fma(carry.sink_weight[v], factor, sink);
    index = nothing;
    for i in 0..rows {
        let mut p = s.mul(factors[i][v], exp(s, exponent(s, of_node, weights[i][v], max)));
        z = s.add(z, p);
        of_node = tile[i][v];
        if copies {
            // The sink's value is that of node f.
            let opens = edges.row(s, head, at, i, index).opens;
            p = s.add(p, s.select(opens, sink, nothing));
        }
        weights[i][v] = p;
        index = s.add(index, one);
    }
    (sums.m[v], sums.z[v]) = (max, s.fma(sums.z[v], factor, z));
}
