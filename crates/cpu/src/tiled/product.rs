//! The products of a block, in tiles of registers: queries on lanes, one key element at a time in all of them.

use super::forward::TILE;
use super::operands::{MULTIPLE, Rows};
use super::simd::{Lanes, Routine, Simd, VECTORS};
use super::transpose::transpose;

/// A row of zeros.
#[inline(always)]
pub(crate) fn zeros<S: Simd>(s: S) -> Lanes<S::V> {
    [s.splat(0.0); VECTORS]
}

/// M rows times the queries of the first N vectors: `out[m][lane] = sum_c rows[m][c] q[c][lane]`.
#[inline(always)]
#[allow(unsafe_code)] // checks inside the loop would keep its sums out of registers
fn dots<S: Simd, const M: usize, const N: usize>(s: S, rows: [&[f32]; M], q: &[Lanes<S::V>]) -> [[S::V; N]; M] {
    let width = q.len();
    let rows: [&[f32]; M] = std::array::from_fn(|m| &rows[m][..width]);
    let mut sums = [[s.splat(0.0); N]; M];
    for (c, q) in q.iter().enumerate() {
        for m in 0..M {
            // SAFETY: c counts the elements of q, of which there are `width`, the length that each row was cut to above.
            let k = s.splat(unsafe { *rows[m].get_unchecked(c) });
            for v in 0..N {
                sums[m][v] = s.fma(k, q[v], sums[m][v]);
            }
        }
    }
    sums
}

/// One row times all queries.
#[inline(always)]
pub(crate) fn dot<S: Simd>(s: S, row: &[f32], q: &[Lanes<S::V>]) -> Lanes<S::V> {
    s.call(Dot::<S> { row, q })
}

struct Dot<'a, S: Simd> {
    row: &'a [f32],
    q: &'a [Lanes<S::V>],
}

impl<S: Simd> Routine<S> for Dot<'_, S> {
    type Output = Lanes<S::V>;

    #[inline(always)]
    fn run(self, s: S) -> Lanes<S::V> {
        dots::<S, 1, VECTORS>(s, [self.row], self.q)[0]
    }
}

/// What is fetched into a cache while something else is worked on: rows of the next tile. Every step of a product is a turn, and
/// the blocks that go over the tiles together take turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// turns of this block: those that leave the remainder `part` of `parts`
    pub(crate) part: usize,
    pub(crate) parts: usize,
}

impl Ahead {
    /// In one of its turns, fetches the rows of the next tile that are where `count` rows from `first` on are in this one.
    #[inline(always)]
    fn fetch(self, rows: &Rows<'_>, turn: usize, first: usize, count: usize) {
        if turn % self.parts == self.part {
            fetch(rows, first + TILE, count);
        }
    }
}

/// Has rows first.. read into a cache, as far as there are such rows.
#[inline(never)]
fn fetch(rows: &Rows<'_>, first: usize, count: usize) {
    for node in first..(first + count).min(rows.end()) {
        rows.row(node).chunks(LINE).for_each(prefetch);
    }
}

/// Numbers in a cache line.
const LINE: usize = 16;

/// Has the line in which a slice begins read into the second-level cache.
#[inline(always)]
#[allow(unsafe_code)]
fn prefetch(line: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the processor has SSE, as every one of this architecture, and the instruction has no effect but on caches.
    unsafe {
        use std::arch::x86_64::*;
        _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// Rows first.. times the queries of the first `vectors` vectors, one row of `out` for each; returns the largest of each lane and `max`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(crate) fn scores<S: Simd>(
    s: S,
    vectors: usize,
    rows: &Rows<'_>,
    first: usize,
    q: &[Lanes<S::V>],
    out: &mut [Lanes<S::V>],
    max: Lanes<S::V>,
    ahead: Option<Ahead>,
) -> Lanes<S::V> {
    match vectors {
        1 => s.call(Scores::<S, 1> { rows, first, q, out, max, ahead }),
        _ => s.call(Scores::<S, VECTORS> { rows, first, q, out, max, ahead }),
    }
}

struct Scores<'a, S: Simd, const N: usize> {
    rows: &'a Rows<'a>,
    first: usize,
    q: &'a [Lanes<S::V>],
    out: &'a mut [Lanes<S::V>],
    max: Lanes<S::V>,
    ahead: Option<Ahead>,
}

impl<S: Simd, const N: usize> Routine<S> for Scores<'_, S, N> {
    type Output = Lanes<S::V>;

    #[inline(always)]
    fn run(self, s: S) -> Lanes<S::V> {
        let Scores { rows, first, q, out, max, ahead } = self;
        if S::TALL || N == 1 {
            scores_by::<S, 8, N>(s, rows, first, q, out, max, ahead)
        } else {
            // Sixteen registers hold nine sums, three queries and a key, and one to spare; with twelve a sum goes through memory.
            scores_by::<S, 3, N>(s, rows, first, q, out, max, ahead)
        }
    }
}

#[inline(always)]
fn scores_by<S: Simd, const M: usize, const N: usize>(
    s: S,
    rows: &Rows<'_>,
    first: usize,
    q: &[Lanes<S::V>],
    out: &mut [Lanes<S::V>],
    mut max: Lanes<S::V>,
    ahead: Option<Ahead>,
) -> Lanes<S::V> {
    let last = first + out.len() - 1;
    for (group, out) in out.chunks_mut(M).enumerate() {
        let at = first + group * M;
        if let Some(ahead) = ahead {
            ahead.fetch(rows, group, at, out.len());
        }
        // Beyond the last row the last one is taken again, so that a tile of any height takes the same way.
        let tile = std::array::from_fn(|m| rows.row((at + m).min(last)));
        let sums = dots::<S, M, N>(s, tile, q);
        for m in 0..M {
            for v in 0..N {
                max[v] = s.max(sums[m][v], max[v]);
            }
        }
        // An index that the compiler knows, where a tile is whole: see `columns`.
        match <&mut [Lanes<S::V>; M]>::try_from(&mut *out) {
            Ok(out) => (0..M).for_each(|m| put(&sums[m], &mut out[m])),
            Err(_) => sums.iter().zip(out).for_each(|(sums, out)| put(sums, out)),
        }
    }
    max
}

/// The first N vectors of a row.
#[inline(always)]
fn put<V: Copy, const N: usize>(from: &[V; N], to: &mut Lanes<V>) {
    to[..N].copy_from_slice(from);
}

/// `out[c][lane] = factor[lane] out[c][lane] + sum_i rows[first + i][c] weights[i][lane]` for the lanes of the first `vectors`
/// vectors; a factor of `None` is 1.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(crate) fn accumulate<S: Simd>(
    s: S,
    vectors: usize,
    rows: &Rows<'_>,
    first: usize,
    weights: &[Lanes<S::V>],
    factor: Option<Lanes<S::V>>,
    out: &mut [Lanes<S::V>],
    ahead: Option<Ahead>,
) {
    match vectors {
        1 => s.call(Accumulate::<S, 1> { rows, first, weights, factor, out, ahead }),
        _ => s.call(Accumulate::<S, VECTORS> { rows, first, weights, factor, out, ahead }),
    }
}

struct Accumulate<'a, S: Simd, const N: usize> {
    rows: &'a Rows<'a>,
    first: usize,
    weights: &'a [Lanes<S::V>],
    factor: Option<Lanes<S::V>>,
    out: &'a mut [Lanes<S::V>],
    ahead: Option<Ahead>,
}

impl<S: Simd, const N: usize> Routine<S> for Accumulate<'_, S, N> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Accumulate { rows, first, weights, factor, out, ahead } = self;
        let groups = out.len() / MULTIPLE;
        for (group, out) in out.chunks_exact_mut(MULTIPLE).enumerate() {
            let column = group * MULTIPLE;
            if let Some(ahead) = ahead {
                let (from, to) = (weights.len() * group / groups, weights.len() * (group + 1) / groups);
                ahead.fetch(rows, group, first + from, to - from);
            }
            if S::TALL || N == 1 {
                columns::<S, 8, N>(s, rows, first, weights, factor, column, out);
            } else {
                // Of three columns nine sums hide the latency of one another, and with three weights and a value they fit into
                // sixteen registers.
                let (left, rest) = out.split_at_mut(3);
                let (middle, right) = rest.split_at_mut(3);
                columns::<S, 3, N>(s, rows, first, weights, factor, column, left);
                columns::<S, 3, N>(s, rows, first, weights, factor, column + 3, middle);
                columns::<S, 2, N>(s, rows, first, weights, factor, column + 6, right);
            }
        }
    }
}

/// M columns, from `column` on.
#[inline(always)]
#[allow(unsafe_code)]
fn columns<S: Simd, const M: usize, const N: usize>(
    s: S,
    rows: &Rows<'_>,
    first: usize,
    weights: &[Lanes<S::V>],
    factor: Option<Lanes<S::V>>,
    column: usize,
    out: &mut [Lanes<S::V>],
) {
    // Summed by themselves: the error of long sums then grows with the number of tiles, not of rows.
    let mut sums = [[s.splat(0.0); N]; M];
    let (data, stride) = rows.strided(first, weights.len(), column, M);
    for (i, w) in weights.iter().enumerate() {
        for m in 0..M {
            // SAFETY: `strided` made sure that M numbers from i stride on lie in `data` for every i below weights.len().
            let x = s.splat(unsafe { *data.get_unchecked(i * stride + m) });
            for v in 0..N {
                sums[m][v] = s.fma(x, w[v], sums[m][v]);
            }
        }
    }
    // Indices that the compiler knows: else it may leave the sums in memory, and write each of them in every step of the loop above.
    let out = &mut out[..M];
    let factor = factor.unwrap_or_else(|| [s.splat(1.0); VECTORS]);
    for m in 0..M {
        for v in 0..N {
            out[m][v] = s.fma(out[m][v], factor[v], sums[m][v]);
        }
    }
}

/// `out[i][c] += sum over lanes of weights[i][lane] rows[lane][c]`, with the columns on lanes: no transpose; lanes of the first
/// `vectors` vectors.
///
/// `weights` has a number for each lane a row, `rows` one row of `columns` vectors for each lane in the order of [`panels`], `out` one row
/// of as many numbers for each row of `weights`.
#[inline(always)]
pub(crate) fn outer<S: Simd>(s: S, vectors: usize, weights: &[f32], rows: &[S::V], columns: usize, out: &mut [f32]) {
    s.call(Outer::<S> { vectors, weights, rows, columns, out });
}

/// How many vectors of columns go together where `left` are left: four fill AVX-512's registers, two those of the others.
#[inline(always)]
const fn panel<S: Simd>(left: usize) -> usize {
    match left {
        4.. if S::TALL => 4,
        2.. => 2,
        _ => 1,
    }
}

/// X^T (`lanes` numbers for each column) as X in panels: some vectors of columns of every lane, one lane after another, then the
/// next ones. What is read together then lies together.
#[inline(always)]
pub(crate) fn panels<S: Simd>(s: S, transposed: &[Lanes<S::V>], columns: usize, rows: &mut [S::V]) {
    let lanes = VECTORS * S::LANES;
    let from = s.floats(transposed.as_flattened());
    let to = s.floats_mut(rows);
    let mut column = 0;
    while column < columns {
        let wide = panel::<S>(columns - column);
        let first = (column * S::LANES).min(transposed.len());
        let count = (wide * S::LANES).min(transposed.len() - first);
        let at = column * S::LANES * lanes;
        transpose(&from[first * lanes..], lanes, &mut to[at..], wide * S::LANES, count, lanes);
        column += wide;
    }
}

struct Outer<'a, S: Simd> {
    vectors: usize,
    weights: &'a [f32],
    rows: &'a [S::V],
    columns: usize,
    out: &'a mut [f32],
}

impl<S: Simd> Routine<S> for Outer<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Outer { vectors, weights, rows, columns, out } = self;
        let used = vectors * S::LANES;
        let mut column = 0;
        while column < columns {
            column += match panel::<S>(columns - column) {
                4 => outer_columns::<S, 4>(s, used, weights, rows, columns, column, out),
                2 => outer_columns::<S, 2>(s, used, weights, rows, columns, column, out),
                _ => outer_columns::<S, 1>(s, used, weights, rows, columns, column, out),
            };
        }
    }
}

/// N vectors of columns; returns how many that are.
#[inline(always)]
fn outer_columns<S: Simd, const N: usize>(
    s: S,
    used: usize,
    weights: &[f32],
    rows: &[S::V],
    columns: usize,
    column: usize,
    out: &mut [f32],
) -> usize {
    const M: usize = 4;
    let (lanes, width) = (VECTORS * S::LANES, columns * S::LANES);
    let panel = &rows[column * lanes..][..N * lanes];
    let whole = weights.len() / (M * lanes) * M;
    for i in (0..whole).step_by(M) {
        outer_tile::<S, M, N>(s, used, &weights[i * lanes..], panel, width, column, &mut out[i * width..]);
    }
    for i in whole..weights.len() / lanes {
        outer_tile::<S, 1, N>(s, used, &weights[i * lanes..], panel, width, column, &mut out[i * width..]);
    }
    N
}

/// M rows of weights by N vectors of columns.
#[inline(always)]
#[allow(unsafe_code)]
fn outer_tile<S: Simd, const M: usize, const N: usize>(
    s: S,
    used: usize,
    weights: &[f32],
    panel: &[S::V],
    width: usize,
    column: usize,
    out: &mut [f32],
) {
    let lanes = VECTORS * S::LANES;
    let weights: [&[f32]; M] = std::array::from_fn(|m| &weights[m * lanes..][..lanes]);
    let mut sums = [[s.splat(0.0); N]; M];
    for (lane, x) in panel.chunks_exact(N).enumerate().take(used.min(lanes)) {
        for m in 0..M {
            // SAFETY: `lane` is below `lanes`, and each row of weights was cut to that many numbers above.
            let w = s.splat(unsafe { *weights[m].get_unchecked(lane) });
            for n in 0..N {
                sums[m][n] = s.fma(w, x[n], sums[m][n]);
            }
        }
    }
    for m in 0..M {
        for n in 0..N {
            let out = &mut out[m * width + (column + n) * S::LANES..];
            s.store(s.add(s.load(out), sums[m][n]), out);
        }
    }
}
