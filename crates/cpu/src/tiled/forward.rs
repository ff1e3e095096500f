//! The forward pass of a block of queries over the tiles of keys that it sees.
//!
//! ```text
//! queries on lanes, keys down the tile; the neighbour along the key axis is the previous row
//!
//!             lane 0   1   2 ..              carry: a and R of the node before
//! node i-1      a      a   a   <- carry
//! node i        a      a   a      x = a - (row above)
//! node i+1      a      a   a      P[row above] = R (of the segment above) + L (of this segment)
//!
//! m = -1e37, Z = 0, O = 0                                  or what cut segments and held curve give
//! opening: the segment from the sink to f                  Z += mass, O += L v_sink, carry (a_f, R)
//! for each tile of segments first .. last:
//!     A = K Q^T                                            m' = max(m, A) over what is visible
//!     E of the carry, Z, carried R *= e^(m - m')
//!     for each row i:  E_i = e^(A_i - m'),  (L, R) of x,   P_{i-1} = carried R + L,  Z += mass,  carry (a, E, R)
//!     O = O e^(m - m') + P V
//! O += R v_last                                            o = O/Z, lse = m + log Z
//! ```
//!
//! Segments that a row does not see have the duration 0, and nodes that it does not see take the score m': neither shows in m.

use super::elementary::exp;
use super::head::{Head, MOST_LANES, Plan, SinkRows, SourcedPiece};
use super::operands::{is_finite, read_row};
use super::product::{accumulate, dot, scores, zeros};
use super::segment::{Mistake, SegmentRule};
use super::sight::Kind;
use super::simd::{Lanes, Simd, VECTORS};
use crate::plain::segment::part_shares;
use contattn_core::Rule;

/// Keys in a tile.
pub(crate) const TILE: usize = 64;

/// m of a row that has seen nothing: below any score that the sums of a normal row have.
pub(crate) const NOTHING: f32 = -1e37;
/// Sums outside these bounds may have lost something, or all: such rows are evaluated by the plain engine.
const SMALLEST: f32 = f32::from_bits((127 - 60) << 23);
const LARGEST: f32 = f32::from_bits((127 + 100) << 23);
/// Whether a sum is as it should be.
pub(crate) fn in_range(z: f32) -> bool {
    (SMALLEST..=LARGEST).contains(&z)
}

/// Queries whose largest element is below this, scaled, lose digits to underflow.
pub(crate) const TINY_QUERY: f32 = 1e-25;

/// What a thread needs beside its blocks.
pub(crate) struct Scratch<S: Simd> {
    scores: Vec<Lanes<S::V>>,
    weights: Vec<Lanes<S::V>>,
    row: Vec<f32>,
}

/// One block of queries on its way over the tiles.
pub(crate) struct Block<S: Simd> {
    start: usize,
    count: usize,
    /// Q^T, scaled: head_dim rows
    q: Vec<Lanes<S::V>>,
    /// O^T: value width, padded
    o: Vec<Lanes<S::V>>,
    plan: Plan,
    sums: Sums<S::V>,
    /// rows that are left to the plain engine
    pub(crate) careful: [bool; MOST_LANES],
}

/// How many blocks go over the tiles together: each tile's keys and values are then read once for all of them. As many as stay
/// in a cache of a quarter of a MiB, up to 4.
pub(crate) fn group(block: usize, head_dim: usize, value_width: usize) -> usize {
    ((1 << 18) / (4 * block * (head_dim + value_width))).clamp(1, 4)
}

/// Bytes of scratch of one thread for the forward pass: 4 block (blocks of a group (head_dim + value width) + 2 tile + 1), a
/// block's length being its queries.
pub(crate) fn scratch_bytes(block: usize, head_dim: usize, value_width: usize) -> usize {
    let group = group(block, head_dim, value_width);
    4 * block * (group * (head_dim + value_width) + 2 * TILE + 1) + 4 * head_dim.max(value_width)
}

impl<S: Simd> Scratch<S> {
    pub(crate) fn new(s: S, head_dim: usize, value_width: usize) -> Scratch<S> {
        let rows = |n| vec![zeros(s); n];
        Scratch { scores: rows(TILE), weights: rows(TILE + 1), row: vec![0.0; head_dim.max(value_width)] }
    }
}

impl<S: Simd> Block<S> {
    pub(crate) fn new(s: S, head_dim: usize, value_width: usize) -> Block<S> {
        Block {
            start: 0,
            count: 0,
            q: vec![zeros(s); head_dim],
            o: vec![zeros(s); value_width],
            plan: Plan::nothing(),
            sums: Sums { m: zeros(s), z: zeros(s), a: zeros(s), r: zeros(s) },
            careful: [false; MOST_LANES],
        }
    }
}

/// Running sums of a block, by lane.
struct Sums<V> {
    m: Lanes<V>,
    z: Lanes<V>,
    /// score of the last node, or m where a row does not see it
    a: Lanes<V>,
    /// what the last node has so far
    r: Lanes<V>,
}

/// Where a block's results go.
pub(crate) struct BlockOutput<'o> {
    /// rows x value width
    pub(crate) o: &'o mut [f32],
    pub(crate) sums: &'o mut [RowSum],
}

/// A row's Z = z e^m, in units of the durations; z = 0 where it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RowSum {
    pub(crate) m: f32,
    pub(crate) z: f32,
}

impl RowSum {
    /// lse, of durations in units of 2^exponent.
    pub(crate) fn lse(self, exponent: i32) -> f64 {
        if self.z == 0.0 {
            return f64::NEG_INFINITY;
        }
        f64::from(self.m) + (libm::log(f64::from(self.z)) + f64::from(exponent) * std::f64::consts::LN_2)
    }
}

/// Reads the queries of a block into Q^T, scaled; marks rows that are not finite, or so small that scaling loses digits.
#[inline(always)]
pub(crate) fn read_queries<S: Simd>(
    s: S,
    head: &Head<'_>,
    start: usize,
    count: usize,
    q: &mut [Lanes<S::V>],
    row: &mut [f32],
    careful: &mut [bool; MOST_LANES],
) {
    let lanes = VECTORS * S::LANES;
    let width = q.len();
    let scale = head.problem.scale();
    let q = s.floats_mut(q.as_flattened_mut());
    let row = &mut row[..width];
    for lane in 0..lanes {
        if lane < count {
            read_row(head.problem.q(), head.batch, head.head, start + lane, row);
            let mut largest = 0.0f32;
            for x in row.iter_mut() {
                *x = (f64::from(*x) * scale) as f32;
                largest = largest.max(x.abs());
            }
            careful[lane] |= !is_finite(row) || (largest > 0.0 && largest < TINY_QUERY);
            if careful[lane] {
                row.fill(0.0);
            }
        }
        for (c, &x) in row.iter().enumerate() {
            q[c * lanes + lane] = x;
        }
    }
}

/// Begins a block with rows start.. of one head.
#[inline(always)]
pub(crate) fn open<S: Simd, R: SegmentRule>(
    s: S,
    head: &Head<'_>,
    start: usize,
    count: usize,
    block: &mut Block<S>,
    scratch: &mut Scratch<S>,
) {
    (block.start, block.count) = (start, count);
    block.careful.fill(false);
    read_queries(s, head, start, count, &mut block.q, &mut scratch.row, &mut block.careful);
    block.plan = Plan::of(head, start, count, &block.careful);
    begin::<S, R>(s, head, block);
}

/// The first segment of the tile that holds segment `first` (`usize::MAX` for none). Tiles lie on one grid, whichever blocks go
/// over them together: what a block gives depends on nothing but itself.
pub(crate) const fn grid<R: SegmentRule>(first: usize) -> usize {
    // The first segment that tiles take where there is a sink: then none of them is broken.
    let origin = if R::READS_LEFT { 2 } else { 1 };
    if first == usize::MAX { first } else { first - (first - origin) % TILE }
}

/// Takes a group of blocks of one head, each begun, over the tiles of keys.
#[inline(always)]
pub(crate) fn pass<S: Simd, R: SegmentRule>(s: S, head: &Head<'_>, blocks: &mut [Block<S>], scratch: &mut Scratch<S>) {
    let mut first = usize::MAX;
    let mut last = 0;
    for block in blocks.iter_mut() {
        if block.plan.first <= block.plan.last {
            first = first.min(block.plan.first);
            last = last.max(block.plan.last);
        } else if R::READS_LEFT && block.plan.opening > 0 {
            accumulate(s, &head.store.values, block.plan.opening, &[block.sums.r], None, &mut block.o);
        }
    }
    first = grid::<R>(first);
    while first <= last {
        for block in blocks.iter_mut() {
            let (from, to) = (first.max(block.plan.first), (first + TILE - 1).min(block.plan.last));
            if from <= to && !(R::makes(Mistake::SkippedTile) && from / TILE == 1) {
                tile::<S, R>(s, head, from, to + 1 - from, to == block.plan.last, block, scratch);
            }
        }
        first += TILE;
    }
}

/// Pieces of single rows, then the opening.
#[inline(always)]
fn begin<S: Simd, R: SegmentRule>(s: S, head: &Head<'_>, block: &mut Block<S>) {
    let Block { start, count, q, o: out, plan, sums, careful } = block;
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
    let (seen, opens) = (masks(s, &plan.sees_carried), masks(s, &plan.opens));
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

/// Lanes whose number is not 0.
#[inline(always)]
pub(crate) fn masks<S: Simd>(s: S, flags: &[f32; MOST_LANES]) -> [S::Mask; VECTORS] {
    std::array::from_fn(|v| s.lt(s.splat(0.0), s.load(&flags[v * S::LANES..])))
}

/// The score of a row with one key, in f64 from the scaled query.
pub(crate) fn single_score(q: &[f32], lanes: usize, lane: usize, key: Option<&[f32]>) -> f64 {
    let queries = q.iter().skip(lane).step_by(lanes);
    key.map_or(0.0, |key| queries.zip(key).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum())
}

/// A piece of one row: the scores at the ends of its part, and its rule's (L, R, h) there.
pub(crate) fn piece_shares(
    head: &Head<'_>,
    piece: &SourcedPiece,
    a_left: f64,
    a_right: f64,
) -> (f64, f64, crate::plain::segment::Shares<f64>) {
    match head.piece_rule(piece) {
        Rule::Step => (a_right, a_right, crate::plain::segment::shares(Rule::Step, a_left, a_right)),
        rule => part_shares(rule, a_left, a_right, &piece.part),
    }
}

/// Begins the sums of one row with its cut segments and held curve, in f64.
#[allow(clippy::too_many_arguments)]
pub(crate) fn row_pieces(
    head: &Head<'_>,
    row: usize,
    block_opening: usize,
    lane: usize,
    lanes: usize,
    q: &[f32],
    o: &mut [f32],
    m: &mut f32,
    z: &mut f32,
) {
    // At most two cut segments, two held pieces and an opening.
    let mut parts = [(0.0, 0.0, 0.0, None, None); 5];
    let mut count = 0;
    let mut top = f64::from(NOTHING);
    for piece in head.pieces(row, block_opening) {
        let a_right = single_score(q, lanes, lane, head.key(piece.right));
        let a_left =
            if piece.left == piece.right { a_right } else { single_score(q, lanes, lane, head.key(piece.left)) };
        let (from, to, shares) = piece_shares(head, &piece, a_left, a_right);
        let length = head.durations.scale(piece.part.lambda * piece.duration);
        let largest = from.max(to);
        // A score that is seen sets m also where its piece has no length, as in the tiles.
        top = top.max(largest);
        parts[count] =
            (largest, length * shares.left, length * shares.right, head.value(piece.left), head.value(piece.right));
        count += 1;
    }
    *m = top as f32;
    let mut sum = 0.0;
    for &(largest, left, right, left_value, right_value) in &parts[..count] {
        let e = libm::exp(largest - f64::from(*m));
        sum += e * (left + right);
        for (share, value) in [(left, left_value), (right, right_value)] {
            if let Some(value) = value.filter(|_| share > 0.0) {
                for (c, &x) in value.iter().enumerate() {
                    o[c * lanes + lane] += (e * share) as f32 * x;
                }
            }
        }
    }
    *z = sum as f32;
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
) {
    let Block { q, o, plan, sums, .. } = block;
    let tile = &mut scratch.scores[..height];
    let whole = plan.is_whole(VECTORS * S::LANES, at, height);
    let mut m = scores(s, &head.store.keys, at, q, tile, sums.m);
    let [from, to] = if whole { [[0.0; MOST_LANES]; 2] } else { plan.edges(at) };
    if !whole {
        m = visible_maxima::<S, R>(s, tile, &from, &to, sums.m);
    }
    if R::makes(Mistake::DroppedCarry) {
        sums.r = zeros(s);
    }
    if R::makes(Mistake::WrongNeighbour) {
        sums.a = tile[0];
    }
    let durations = head.durations.tile(at, height);
    let mut factor = zeros(s);
    for v in 0..VECTORS {
        factor[v] = exp(s, s.sub(sums.m[v], m[v]));
        sums.z[v] = s.mul(sums.z[v], factor[v]);
        sums.r[v] = s.mul(sums.r[v], factor[v]);
        sums.m[v] = m[v];
        let edges = (s.load(&from[v * S::LANES..]), s.load(&to[v * S::LANES..]));
        match (durations.is_empty(), whole) {
            (true, true) => sweep::<S, R, false, false>(s, v, tile, &mut scratch.weights, durations, edges, sums),
            (false, true) => sweep::<S, R, true, false>(s, v, tile, &mut scratch.weights, durations, edges, sums),
            (true, false) => sweep::<S, R, false, true>(s, v, tile, &mut scratch.weights, durations, edges, sums),
            (false, false) => sweep::<S, R, true, true>(s, v, tile, &mut scratch.weights, durations, edges, sums),
        }
    }
    // Row i of the weights belongs to the node before segment at + i, or under Step to node at + i.
    let (first, mut rows) = if R::READS_LEFT { (at - 1, height) } else { (at, height) };
    if R::READS_LEFT && is_last {
        scratch.weights[height] = sums.r;
        rows += 1;
    }
    let factor = if R::makes(Mistake::MissingRescale) { None } else { Some(factor) };
    accumulate(s, &head.store.values, first, &scratch.weights[..rows], factor, o);
}

/// The largest score of each lane among those that it sees, and what it had.
#[inline(always)]
fn visible_maxima<S: Simd, R: SegmentRule>(
    s: S,
    tile: &[Lanes<S::V>],
    from: &[f32; MOST_LANES],
    to: &[f32; MOST_LANES],
    mut max: Lanes<S::V>,
) -> Lanes<S::V> {
    let one = s.splat(1.0);
    for v in 0..VECTORS {
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

/// Down one vector of a tile: weights from scores. `TIME`: durations other than 1; `EDGE`: some lane does not see all of it.
#[inline(always)]
fn sweep<S: Simd, R: SegmentRule, const TIME: bool, const EDGE: bool>(
    s: S,
    v: usize,
    tile: &[Lanes<S::V>],
    weights: &mut [Lanes<S::V>],
    durations: &[f32],
    (from, to): (S::V, S::V),
    sums: &mut Sums<S::V>,
) {
    let m = sums.m[v];
    let (mut a, mut r, mut z) = (sums.a[v], sums.r[v], sums.z[v]);
    let mut e = if R::READS_LEFT { exp(s, s.sub(a, m)) } else { m };
    let one = s.splat(1.0);
    let mut index = s.splat(0.0);
    let durations = if TIME { &durations[..tile.len()] } else { durations };
    let weights = &mut weights[..tile.len()];
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
            weights[i][v] = s.add(r, shares.left);
            (a, e, r) = (a1, e1, shares.right);
        } else {
            weights[i][v] = shares.right;
        }
    }
    (sums.a[v], sums.r[v], sums.z[v]) = (a, r, z);
}

/// o = O/Z and Z of each row; rows that are not as they should be are marked.
#[inline(always)]
pub(crate) fn close<S: Simd>(s: S, head: &Head<'_>, block: &mut Block<S>, out: &mut BlockOutput<'_>) {
    let Block { start, o, sums, careful, .. } = block;
    let lanes = VECTORS * S::LANES;
    let o = s.floats(o.as_flattened());
    let (m, z) = (s.floats(&sums.m), s.floats(&sums.z));
    let width = head.problem.shape().value_dim;
    for (lane, (row, sum)) in out.o.chunks_exact_mut(width).zip(out.sums.iter_mut()).enumerate() {
        if careful[lane] {
            continue;
        }
        match head.sights.rows[*start + lane].kind {
            Kind::Empty => {
                row.fill(0.0);
                *sum = RowSum::default();
            }
            Kind::Point(_) => careful[lane] = true,
            Kind::Curve => {
                let z = z[lane];
                if !in_range(z) {
                    careful[lane] = true;
                    continue;
                }
                let share = 1.0 / z;
                for (c, x) in row.iter_mut().enumerate() {
                    *x = o[c * lanes + lane] * share;
                }
                careful[lane] = !is_finite(row);
                *sum = RowSum { m: m[lane], z };
            }
        }
    }
}
