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

mod segments;
pub(crate) mod single;
pub(crate) mod taylor;

use super::elementary::quotient;
use super::head::{Head, MOST_LANES, Plan, Store};
use super::hull::{Extremes, Room, Table};
use super::operands::{Looked, MULTIPLE, is_finite, largest, read_row};
use super::product::{Ahead, zeros};
use super::segment::Mistake;
use super::sight::Kind;
use super::simd::{Lanes, Simd, VECTORS, vectors};
use super::transpose::transpose;
use contattn_core::Shape;
use std::ops::Range;

/// Rows of a tensor that are read before they go to lanes together: a divisor of every block.
pub(crate) const ROWS: usize = 4;

/// Keys in a tile: whole groups of 8 and of 3, by which the back ends take them.
pub(crate) const TILE: usize = 72;

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

/// A rule's part of the forward pass: how the scores of a block become weights.
pub(crate) trait Weigh: Copy + 'static {
    /// The first segment that tiles take where there is a sink: counted from it, none of them is broken.
    const ORIGIN: usize;
    /// Whether exponents are smoothed scores, which take tables of their own.
    const SMOOTHS: bool;

    /// Whether a kernel makes this mistake: never, but for the rule of a test.
    #[inline(always)]
    fn makes(_: Mistake) -> bool {
        false
    }

    /// What the rows start..start + count see of the tiles; see [`Plan::of`].
    fn plan(head: &Head<'_>, start: usize, count: usize, skip: &[bool; MOST_LANES]) -> Plan {
        Plan::of(head, start, count, skip)
    }

    /// What rows see before the tiles.
    fn begin<S: Simd>(s: S, head: &Head<'_>, block: &mut Block<S>);

    /// One tile of `height` segments from `at` on; none in the last tile of a block that sees an opening alone.
    fn tile<S: Simd>(s: S, head: &Head<'_>, place: TilePlace, block: &mut Block<S>, scratch: &mut Scratch<S>);
}

/// Which segments a tile takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TilePlace {
    /// the first one
    pub(crate) at: usize,
    /// how many
    pub(crate) height: usize,
    /// whether the block sees none after them
    pub(crate) is_last: bool,
    /// what is fetched of the next tile meanwhile
    pub(crate) ahead: Option<Ahead>,
}

/// What a thread needs beside its blocks.
pub(crate) struct Scratch<S: Simd> {
    scores: Vec<Lanes<S::V>>,
    /// of rules that smooth scores: exponents and then weights, and their factors
    weights: Vec<Lanes<S::V>>,
    factors: Vec<Lanes<S::V>>,
    /// [`ROWS`] of a tensor, on their way to lanes
    rows: Vec<f32>,
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
    smooth: taylor::Carry<S::V>,
    /// rows that are left to the plain engine
    pub(crate) careful: [bool; MOST_LANES],
}

/// The rows of a head in blocks. What whole blocks leave over comes first, as blocks of one vector each, which cost a third of a
/// whole one, or as one block where it needs all vectors. Threads take the last rows first: the small blocks, and under a causal
/// window those that see least, then fill up what remains uneven between them.
pub(crate) fn blocks(queries: usize, block: usize) -> impl Iterator<Item = Range<usize>> {
    let (vector, rest) = (block / VECTORS, queries % block);
    let piece = if rest <= (VECTORS - 1) * vector { vector } else { block };
    // Counted back from the first whole block.
    let small = (1..=rest.div_ceil(piece)).rev().map(move |n| rest.saturating_sub(n * piece)..rest - (n - 1) * piece);
    small.chain((rest..queries).step_by(block).map(move |start| start..start + block))
}

/// Bytes that stay in a core's own cache: half a MiB where vectors are of AVX-512, whose processors have one MiB or more for each
/// core, else a quarter.
const fn cache(block: usize) -> usize {
    if block == MOST_LANES { 1 << 19 } else { 1 << 18 }
}

/// Whether the keys and values of a head are too many to stay in a cache from one block to the next.
pub(crate) fn streams(block: usize, shape: &Shape) -> bool {
    4 * shape.keys * (shape.head_dim + shape.value_dim) > cache(block)
}

/// How many blocks go over the tiles together: each tile's keys and values are then read once for all of them. As many as stay in
/// a cache, up to 8; one where keys and values stay there by themselves.
pub(crate) fn group(block: usize, shape: &Shape) -> usize {
    let width = shape.head_dim + shape.value_dim.next_multiple_of(MULTIPLE);
    if streams(block, shape) { (cache(block) / (4 * block * width)).clamp(1, 8) } else { 1 }
}

/// What block `part` of `parts` fetches of the next tile; nothing where there is none, or where K and V are not `far`: in a cache of
/// the core's own already.
pub(crate) fn ahead(far: bool, first: usize, last: usize, part: usize, parts: usize) -> Option<Ahead> {
    (far && first + TILE <= last).then_some(Ahead { part, parts })
}

/// Bytes of scratch of one thread for the forward pass: 4 block (blocks of a group (head_dim + value width) + tile + 1), a
/// block's length being its queries, the rows that are being read, and three pairs of extremes of values. The Taylor rule takes
/// 8 block (tile + 1) more.
pub(crate) fn scratch_bytes(block: usize, shape: &Shape) -> usize {
    let width = shape.head_dim + shape.value_dim.next_multiple_of(MULTIPLE);
    let extremes = 6 * shape.value_dim.next_multiple_of(MULTIPLE);
    4 * (block * (group(block, shape) * width + TILE + 1) + ROWS * shape.head_dim + extremes)
}

impl<S: Simd> Scratch<S> {
    pub(crate) fn new<R: Weigh>(s: S, head_dim: usize) -> Scratch<S> {
        let rows = |n| vec![zeros(s); n];
        let more = if R::SMOOTHS { TILE + 1 } else { 0 };
        Scratch { scores: rows(TILE + 1), weights: rows(more), factors: rows(more), rows: vec![0.0; ROWS * head_dim] }
    }
}

impl<S: Simd> Block<S> {
    /// How many vectors hold its queries.
    fn vectors(&self) -> usize {
        vectors::<S>(self.count)
    }

    pub(crate) fn new(s: S, head_dim: usize, value_width: usize) -> Block<S> {
        Block {
            start: 0,
            count: 0,
            q: vec![zeros(s); head_dim],
            o: vec![zeros(s); value_width],
            plan: Plan::nothing(),
            sums: Sums { m: zeros(s), z: zeros(s), a: zeros(s), r: zeros(s) },
            smooth: taylor::Carry::new(s),
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

/// Reads the queries of a block into Q^T, scaled, of as many vectors as hold them; marks rows that are not finite, or so small that
/// scaling loses digits.
#[inline(always)]
pub(crate) fn read_queries<S: Simd>(
    s: S,
    head: &Head<'_>,
    start: usize,
    count: usize,
    q: &mut [Lanes<S::V>],
    rows: &mut [f32],
    careful: &mut [bool; MOST_LANES],
) {
    let lanes = VECTORS * S::LANES;
    let used = vectors::<S>(count) * S::LANES;
    let width = q.len();
    let scale = head.problem.scale();
    let short_scale = scale as f32;
    let q = s.floats_mut(q.as_flattened_mut());
    for first in (0..used).step_by(ROWS) {
        for (lane, row) in (first..).zip(rows[..ROWS * width].chunks_exact_mut(width)) {
            // Lanes beyond the last row repeat it.
            let lane = lane.min(count - 1);
            read_row(head.problem.q(), head.batch, head.head, start + lane, row);
            if f64::from(short_scale) == scale {
                // The product in f32 is that in f64, which is exact, rounded once.
                row.iter_mut().for_each(|x| *x *= short_scale);
            } else {
                row.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
            }
            let largest = largest(row);
            careful[lane] |= !is_finite(row) || (largest > 0.0 && largest < TINY_QUERY);
            if careful[lane] {
                row.fill(0.0);
            }
        }
        transpose(rows, width, &mut q[first..], lanes, ROWS, width);
    }
}

/// Begins a block with rows start.. of one head.
#[inline(always)]
pub(crate) fn open<S: Simd, R: Weigh>(
    s: S,
    head: &Head<'_>,
    start: usize,
    count: usize,
    block: &mut Block<S>,
    scratch: &mut Scratch<S>,
) {
    (block.start, block.count) = (start, count);
    block.careful.fill(false);
    read_queries(s, head, start, count, &mut block.q, &mut scratch.rows, &mut block.careful);
    block.plan = R::plan(head, start, count, &block.careful);
    R::begin(s, head, block);
}

/// The first segment of the tile that holds segment `first` (`usize::MAX` for none), counted from segment `origin`. Tiles lie on
/// one grid, whichever blocks go over them together: what a block gives depends on nothing but itself.
const fn grid(origin: usize, first: usize) -> usize {
    if first == usize::MAX { first } else { first - (first - origin) % TILE }
}

/// The tile of a block in the tile of the grid that begins with segment `first`; `None` where the block sees nothing of it. A block
/// that sees an opening and no segment after it has a tile of no height.
pub(crate) fn tile_of(plan: &Plan, first: usize) -> Option<TilePlace> {
    let (from, to) = (first.max(plan.first), (first + TILE - 1).min(plan.last));
    let opens_alone = plan.opens_alone() && (first..first + TILE).contains(&plan.first);
    (from <= to || opens_alone).then(|| TilePlace {
        at: from,
        height: to + 1 - from,
        is_last: to == plan.last,
        ahead: None,
    })
}

/// The first segment of the tiles of any block, and the last.
pub(crate) fn span<'p>(origin: usize, plans: impl Iterator<Item = &'p Plan>) -> (usize, usize) {
    let (mut first, mut last) = (usize::MAX, 0);
    for plan in plans.filter(|plan| plan.first <= plan.last || plan.opens_alone()) {
        first = first.min(plan.first);
        last = last.max(plan.last.max(plan.first));
    }
    (grid(origin, first), last)
}

/// Takes a group of blocks of one head, each begun, over the tiles of keys. False where it comes upon keys or values that are not
/// finite: then the blocks have to be begun again, with others in their place.
#[inline(always)]
pub(crate) fn pass<S: Simd, R: Weigh>(
    s: S,
    head: &Head<'_>,
    blocks: &mut [Block<S>],
    scratch: &mut Scratch<S>,
    looked: &mut Looked,
) -> bool {
    let Store { keys, values, .. } = head.store;
    // What pieces read may lie anywhere.
    if blocks.iter().any(|block| block.plan.has_pieces) && !looked.look(keys, values, 1..keys.end()) {
        return false;
    }
    let (parts, streams) = (blocks.len(), streams(VECTORS * S::LANES, &head.problem.shape()));
    let (mut first, last) = span(R::ORIGIN, blocks.iter().map(|block| &block.plan));
    while first <= last {
        let nodes = (first - 1).max(1)..(first + TILE).min(keys.end());
        let far = streams || !looked.has(&nodes);
        if !looked.look(keys, values, nodes) {
            return false;
        }
        for (part, block) in blocks.iter_mut().enumerate() {
            if let Some(place) = tile_of(&block.plan, first)
                && !(R::makes(Mistake::SkippedTile) && place.at / TILE == 1)
            {
                let place = TilePlace { ahead: ahead(far, first, last, part, parts), ..place };
                R::tile(s, head, place, block, scratch);
            }
        }
        first += TILE;
    }
    true
}

/// The scores of the row before in place of those of nodes that no segment ends at: larger ones would set m, far from all that is
/// summed, which would then lose its small parts; and beside a lower m their own exponentials would overflow.
pub(crate) fn without_lone_nodes<V: Copy>(head: &Head<'_>, at: usize, tile: &mut [Lanes<V>], mut before: Lanes<V>) {
    for (row, node) in tile.iter_mut().zip(at..) {
        if head.durations.is_alone(node) {
            *row = before;
        }
        before = *row;
    }
}

/// Lanes whose number is not 0.
#[inline(always)]
pub(crate) fn masks<S: Simd>(s: S, flags: &[f32; MOST_LANES]) -> [S::Mask; VECTORS] {
    let mut masks = [s.lt(s.splat(0.0), s.splat(0.0)); VECTORS];
    for v in 0..VECTORS {
        masks[v] = s.lt(s.splat(0.0), s.load(&flags[v * S::LANES..]));
    }
    masks
}

/// o = O/Z and Z of each row, o between the smallest and the largest values that the row sees; rows that are not as they should be
/// are marked.
#[inline(always)]
pub(crate) fn close<S: Simd>(
    s: S,
    head: &Head<'_>,
    table: &Table,
    block: &mut Block<S>,
    room: &mut Room,
    out: &mut BlockOutput<'_>,
) {
    let Block { start, count, o, sums, careful, .. } = block;
    let lanes = VECTORS * S::LANES;
    let common = room.open(s, head, table, *start, *count, careful);
    let beyond = divide(s, o, &sums.z, common);
    let beyond = s.floats(&beyond);
    let o = s.floats(o.as_flattened());
    let (m, z) = (s.floats(&sums.m), s.floats(&sums.z));
    let width = head.problem.shape().value_dim;
    transpose(o, lanes, out.o, width, width, out.sums.len());
    for (lane, (row, sum)) in out.o.chunks_exact_mut(width).zip(out.sums.iter_mut()).enumerate() {
        if careful[lane] {
            continue;
        }
        let sight = &head.sights.rows[*start + lane];
        match sight.kind {
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
                careful[lane] = !is_finite(row);
                *sum = RowSum { m: m[lane], z };
                if !(sight.has_tiles() && beyond[lane] <= 0.0) {
                    room.put_back(s, head, table, *start + lane, row);
                }
            }
        }
    }
}

/// O/Z in place of O; gives by how much a row is beyond extremes in any column, or something below 0.
#[inline(always)]
fn divide<S: Simd>(s: S, o: &mut [Lanes<S::V>], z: &Lanes<S::V>, extremes: &Extremes) -> Lanes<S::V> {
    let shares = z.map(|z| s.recip(z));
    let mut beyond = [s.splat(f32::NEG_INFINITY); VECTORS];
    for ((o, &low), &high) in o.iter_mut().zip(&extremes.low).zip(&extremes.high) {
        let (low, high) = (s.splat(low), s.splat(high));
        for v in 0..VECTORS {
            o[v] = quotient(s, o[v], z[v], shares[v]);
            beyond[v] = s.max(beyond[v], s.max(s.sub(low, o[v]), s.sub(o[v], high)));
        }
    }
    beyond
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_all_rows_in_order() {
        for block in [12, 24, 48] {
            let vector = block / VECTORS;
            for queries in 0..4 * block {
                let all: Vec<_> = blocks(queries, block).collect();
                assert!(all.iter().map(|rows| rows.len()).all(|count| 0 < count && count <= block), "{all:?}");
                assert_eq!(all.iter().map(|rows| rows.start).collect::<Vec<_>>(), {
                    let ends = all.iter().map(|rows| rows.end);
                    std::iter::once(0).chain(ends).take(all.len()).collect::<Vec<_>>()
                });
                assert_eq!(all.last().map_or(0, |rows| rows.end), queries);
                // As many vectors as there have to be.
                let taken = |count: usize| if count <= vector { 1 } else { VECTORS };
                let least = queries.div_ceil(vector);
                assert_eq!(all.iter().map(|rows| taken(rows.len())).sum::<usize>(), least, "{queries} in {all:?}");
            }
        }
    }
}
