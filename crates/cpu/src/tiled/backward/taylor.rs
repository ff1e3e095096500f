//! Gradients of the Taylor rule of orders 0 and 1.
//!
//! ```text
//! row i of a tile: segment at + i, which completes q of node at + i - 1, and with it the flow of the segment before that node
//!
//!     w = f e^(t - m)     q = w c     flow = k_above q_above - k q   (0 where the segment above is not seen)
//!     dA[node] = q + flow             dA[node above] -= flow
//! ```
//!
//! The node above the first row of a tile belongs to the tile before; products are sums over nodes, so what it still gets goes
//! into them as a row of its own. A sink's q and flow are formed with those of the node that it is joined to.

use super::{Block, Differentiate, Gradients, Scratch, TilePlace, by_lane, padded};
use crate::tiled::elementary::exp_within;
use crate::tiled::forward::taylor::Edges;
use crate::tiled::head::{Head, SinkRows};
use crate::tiled::product::{accumulate, dot, outer, scores, zeros};
use crate::tiled::segment::Mistake;
use crate::tiled::simd::{Lanes, Simd, VECTORS};
use crate::tiled::taylor::{Slopes, Taylor, exponent, makes};

/// What a block carries from tile to tile, by lane.
pub(super) struct Carry<V> {
    /// score and c of the last node
    a: Lanes<V>,
    c: Lanes<V>,
    /// x of the last segment, and 1 where it was seen
    before: Lanes<V>,
    left: Lanes<V>,
    /// k q of the node before the last
    through: Lanes<V>,
    /// of a sink of its own: score and c; weight and dA
    sink: Lanes<V>,
    sink_c: Lanes<V>,
    sink_weight: Lanes<V>,
    sink_da: Lanes<V>,
}

impl<V: Copy> Carry<V> {
    pub(super) fn new<S: Simd<V = V>>(s: S) -> Carry<V> {
        let none = zeros(s);
        Carry {
            a: none,
            c: none,
            before: none,
            left: none,
            through: none,
            sink: none,
            sink_c: none,
            sink_weight: none,
            sink_da: none,
        }
    }
}

impl Differentiate for Taylor {
    const HAS_DURATIONS: bool = false;

    #[inline(always)]
    fn begin<S: Simd>(s: S, head: &Head<'_>, block: &mut Block<S>, _: &mut Gradients<'_>) {
        block.smooth = Carry::new(s);
        if block.plan.first < 2 {
            return;
        }
        let (node, carry) = (block.plan.first - 1, &mut block.smooth);
        carry.a = dot(s, head.store.keys.row(node), &block.q);
        carry.c = dot(s, head.store.values.row(node), &block.g);
        if let (SinkRows::Given { key, value }, true) = (&head.store.sink, block.plan.opening > 0) {
            carry.sink = dot(s, key, &block.q);
            carry.sink_c = dot(s, value, &block.g);
        }
        let delta = by_lane(s, &block.deltas);
        for v in 0..VECTORS {
            carry.c[v] = s.sub(carry.c[v], delta[v]);
            carry.sink_c[v] = s.sub(carry.sink_c[v], delta[v]);
        }
    }

    #[inline(always)]
    fn tile<S: Simd>(
        s: S,
        head: &Head<'_>,
        TilePlace { at, height, is_last, ahead }: TilePlace,
        block: &mut Block<S>,
        scratch: &mut Scratch<S>,
        sums: &mut Gradients<'_>,
    ) {
        let (rows, vectors) = (height + usize::from(is_last), block.vectors());
        scores(s, vectors, &head.store.keys, at, &block.q, &mut scratch.scores[..height], zeros(s), ahead);
        scores(s, vectors, &head.store.values, at, &block.g, &mut scratch.values[..height], zeros(s), ahead);
        // The row that completes the last node reads some numbers; nothing comes of them.
        (scratch.scores[height], scratch.values[height]) = (zeros(s), zeros(s));
        if makes(Mistake::DroppedCarry) {
            (block.smooth.before, block.smooth.left) = (zeros(s), zeros(s));
        }
        if makes(Mistake::WrongNeighbour) {
            block.smooth.a = scratch.scores[0];
        }
        let inside = !is_last && head.durations.is_unbroken() && block.plan.is_inside(VECTORS * S::LANES, at, height);
        let edges = block.plan.edges(at);
        for v in 0..vectors {
            if inside {
                down::<S, false>(s, v, head, at, rows, None, block, scratch);
            } else {
                let place = Edges {
                    from: s.load(&edges[0][v * S::LANES..]),
                    to: s.load(&edges[1][v * S::LANES..]),
                    opens: s.load(&block.plan.opens[v * S::LANES..]),
                };
                down::<S, true>(s, v, head, at, rows, Some(place), block, scratch);
            }
        }
        let (k_width, v_width) = (padded(block.q.len()), padded(block.g.len()));
        let weights = &scratch.weights[..rows];
        let dv = sums.dv.rows(at - 2, rows, v_width);
        outer(s, vectors, s.floats(weights.as_flattened()), &block.g_rows, v_width / S::LANES, dv);
        // Row 0 of dA is that of node at - 2; there is none before node 1.
        let skipped = usize::from(at == 2);
        let (first, da) = (at - 2 + skipped, &scratch.da[skipped..=rows]);
        accumulate(s, vectors, &head.store.keys, first, da, None, &mut block.dq, None);
        let dk = sums.dk.rows(first - 1, da.len(), k_width);
        outer(s, vectors, s.floats(da.as_flattened()), &block.q_rows, k_width / S::LANES, dk);
        if let (SinkRows::Given { key, .. }, true) = (&head.store.sink, is_last) {
            let (weight, da) = (block.smooth.sink_weight, block.smooth.sink_da);
            outer(s, vectors, s.floats(&weight), &block.g_rows, v_width / S::LANES, &mut sums.sink_dv);
            outer(s, vectors, s.floats(&da), &block.q_rows, k_width / S::LANES, &mut sums.sink_dk);
            for (dq, &x) in block.dq.iter_mut().zip(key) {
                for v in 0..VECTORS {
                    dq[v] = s.fma(s.splat(x), da[v], dq[v]);
                }
            }
        }
    }
}

/// Down one vector of a tile; `edges`: some node of it may lack a neighbour, or not be seen.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn down<S: Simd, const EDGE: bool>(
    s: S,
    v: usize,
    head: &Head<'_>,
    at: usize,
    rows: usize,
    edges: Option<Edges<S::V>>,
    block: &mut Block<S>,
    scratch: &mut Scratch<S>,
) {
    let m = s.load(&block.m[v * S::LANES..]);
    let delta = s.load(&block.deltas[v * S::LANES..]);
    let carry = &mut block.smooth;
    let (tile, values) = (&scratch.scores[..rows], &scratch.values[..rows]);
    let (weights, das) = (&mut scratch.weights[..rows], &mut scratch.da[..=rows]);
    let (one, nothing) = (s.splat(1.0), s.splat(0.0));
    let slopes = Slopes::of(head.problem.rule());
    let copies = matches!(head.store.sink, SinkRows::Copy);
    let (mut a, mut c, mut before, mut left) = (carry.a[v], carry.c[v], carry.before[v], carry.left[v]);
    let (mut through, mut index) = (carry.through[v], nothing);
    // dA of the node above, less what it has in the products already.
    let mut above = nothing;
    for i in 0..rows {
        let (a1, c1) = (tile[i][v], s.sub(values[i][v], delta));
        let mut x = s.sub(a1, a);
        let (mut right, mut extra_weight, mut extra_da) = (one, nothing, nothing);
        let flow;
        let (w, q, next);
        if let (true, Some(edges)) = (EDGE, edges) {
            let row = edges.row(s, head, at, i, index);
            x = s.select(row.sees_segment, x, nothing);
            right = row.right;
            let (a_sink, c_sink) = if copies { (a, c) } else { (carry.sink[v], carry.sink_c[v]) };
            before = s.select(row.opens, s.sub(a, a_sink), before);
            left = s.select(row.opens, one, left);
            let node = slopes.anywhere(s, (left, before), (right, x));
            let size = s.mul(node.factor, exp_within(s, exponent(s, a, node.bias, m)));
            w = s.select(row.sees_node, size, nothing);
            q = s.select(row.sees_node, s.mul(w, c), nothing);
            let sink_size = exp_within(s, exponent(s, a_sink, slopes.sink(s, a_sink, a), m));
            let sink_weight = s.select(row.opens, s.mul(s.splat(0.5), sink_size), nothing);
            let sink_q = s.select(row.opens, s.mul(sink_weight, c_sink), nothing);
            through = s.select(row.opens, s.mul(s.splat(slopes.at_end), sink_q), through);
            next = s.mul(node.slope, q);
            let all = s.mul(left, s.sub(through, next));
            let sink_da = s.select(row.opens, s.sub(sink_q, all), nothing);
            above = s.sub(above, s.select(row.opens, nothing, all));
            flow = all;
            if copies {
                (extra_weight, extra_da) = (sink_weight, sink_da);
            } else {
                carry.sink_weight[v] = s.add(carry.sink_weight[v], sink_weight);
                carry.sink_da[v] = s.add(carry.sink_da[v], sink_da);
            }
            index = s.add(index, one);
        } else {
            w = exp_within(s, exponent(s, a, slopes.inside(s, before, x), m));
            q = s.mul(w, c);
            next = s.mul(s.splat(slopes.inside), q);
            flow = s.sub(through, next);
            above = s.sub(above, flow);
        }
        das[i][v] = above;
        above = s.add(s.add(q, flow), extra_da);
        weights[i][v] = s.add(w, extra_weight);
        (a, c, before, left, through) = (a1, c1, x, right, next);
    }
    das[rows][v] = above;
    (carry.a[v], carry.c[v], carry.before[v], carry.left[v]) = (a, c, before, left);
    carry.through[v] = through;
}
