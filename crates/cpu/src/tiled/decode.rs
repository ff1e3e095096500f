//! Few queries against many keys: head_dim on lanes, keys split into runs that merge.
//!
//! ```text
//! for each run of segments, for each tile of it, for each row that reads it:
//!     S_j = q . k_j                       head_dim on lanes, one key after another
//!     m' = max(m, S), E = e^(S - m')      keys on lanes from here
//!     (L, R) of x = S_j - S_{j-1}         the neighbour is the number before in memory
//!     P_j = R_j + L_{j+1}, Z += mass      R of the last node is carried to the next tile
//!     O = O e^(m - m') + sum P_j v_j      value width on lanes
//! merge the runs of a row in time order, beginning with its cut segments, held curve and the segment of its sink
//! ```
//!
//! Keys and values are read once, where they lie; that they are finite shows in the result, and where it is not, the plain engine
//! takes the row. Runs have the same length for every number of threads, and tiles lie on one grid.

mod segments;
mod taylor;

use super::forward::single::{row_pieces, single_score};
use super::forward::{NOTHING, RowSum, TINY_QUERY, in_range};
use super::head::Head;
use super::operands::{Rows, is_finite, read_row};
use super::sight::Kind;
use super::simd::{Routine, Simd};
use contattn_core::Rule;

/// Segments in a tile: their scores are a small table, and as many rows of K, then of V, are read in a stream.
pub(crate) const TILE: usize = 256;
/// Segments in a run: tiles of them.
pub(crate) const RUN: usize = 4 * TILE;
/// Most queries of a problem that takes this way, and fewest keys.
pub(crate) const MOST_QUERIES: usize = 4;
pub(crate) const FEWEST_KEYS: usize = 128;
/// Room in tables of a tile: the node before it, one after it, and a vector of any back end more.
const ROOM: usize = TILE + 2 + 16;

/// What one row has from one run: Z = z e^m and the sum of P v.
#[derive(Clone, Debug)]
pub(crate) struct Partial {
    pub(crate) sum: RowSum,
    pub(crate) o: Vec<f32>,
}

/// A rule's part of decoding.
pub(crate) trait Decode: Copy + 'static {
    /// Whether a node's weight depends on the segment after it, so that it is found one segment later.
    const LOOKS_AHEAD: bool;

    /// Begins the run of a row whose first segment is `first`.
    fn begin<S: Simd>(s: S, head: &Head<'_>, row: usize, first: usize, state: &mut RowRun<S>);

    /// Weights of the nodes that segments first..=last complete, from the scores in `tables`: how many there are, in `tables`
    /// too, and by how much what came before is scaled. `ends`: no segment of this run follows.
    fn weigh<S: Simd>(
        s: S,
        head: &Head<'_>,
        row: usize,
        segments: (usize, usize),
        ends: bool,
        state: &mut RowRun<S>,
        tables: &mut Tables,
    ) -> (usize, f32);
}

/// One row on its way over a run.
pub(crate) struct RowRun<S: Simd> {
    /// scaled query, padded with zeros to whole vectors; whether it is fit for this
    q: Vec<f32>,
    fits: bool,
    m: f32,
    z: S::V,
    o: Vec<f32>,
    /// score of the last node
    a: f32,
    /// what the last node has so far; under Taylor x of the last segment, and 1 where it is seen
    carried: f32,
    left: f32,
}

impl<S: Simd> RowRun<S> {
    pub(crate) fn new(s: S, head_dim: usize, value_width: usize) -> RowRun<S> {
        RowRun {
            q: vec![0.0; head_dim.next_multiple_of(16)],
            fits: false,
            m: NOTHING,
            z: s.splat(0.0),
            o: vec![0.0; value_width],
            a: NOTHING,
            carried: 0.0,
            left: 0.0,
        }
    }

    /// Begins a run whose first segment is `first`.
    #[inline(always)]
    pub(crate) fn open<R: Decode>(&mut self, s: S, head: &Head<'_>, row: usize, first: usize) {
        (self.m, self.z, self.a, self.carried, self.left) = (NOTHING, s.splat(0.0), NOTHING, 0.0, 0.0);
        self.o.fill(0.0);
        self.fits = read_query(head, row, &mut self.q);
        if self.fits {
            R::begin(s, head, row, first, self);
        }
    }

    /// Segments first..=last, within a tile.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn tile<R: Decode>(
        &mut self,
        s: S,
        head: &Head<'_>,
        row: usize,
        (first, last): (usize, usize),
        ends: bool,
        tables: &mut Tables,
    ) {
        if !self.fits {
            return;
        }
        self.scores(s, head, first, &mut tables.scores[1..][..last + 1 - first]);
        let (count, factor) = R::weigh(s, head, row, (first, last), ends, self, tables);
        let from = if R::LOOKS_AHEAD { first - 1 } else { first };
        let sums = WeightedSums {
            values: &head.store.values,
            from,
            weights: &tables.weights[..count],
            factor,
            o: &mut self.o,
        };
        s.call(sums);
    }

    /// What the run gives.
    #[inline(always)]
    pub(crate) fn close(&self, s: S) -> Partial {
        let z = if self.fits { s.total(self.z) } else { f32::NAN };
        Partial { sum: RowSum { m: self.m, z }, o: self.o.clone() }
    }

    /// The score of one node.
    #[inline(always)]
    fn score(&self, s: S, head: &Head<'_>, node: usize) -> f32 {
        let mut score = [0.0];
        self.scores(s, head, node, &mut score);
        score[0]
    }

    /// Those of nodes first.., one for each of `out`.
    #[inline(always)]
    fn scores(&self, s: S, head: &Head<'_>, first: usize, out: &mut [f32]) {
        s.call(Dots { q: &self.q[..head.problem.shape().head_dim], keys: &head.store.keys, first, out });
    }
}

/// Numbers of the nodes of one tile.
pub(crate) struct Tables {
    /// from the node before the first segment on
    scores: [f32; ROOM],
    exponentials: [f32; ROOM],
    /// by segment; the first is that of the node before
    right: [f32; ROOM],
    weights: [f32; ROOM],
    durations: [f32; ROOM],
}

impl Tables {
    pub(crate) const fn new() -> Tables {
        let empty = [0.0; ROOM];
        Tables { scores: empty, exponentials: empty, right: empty, weights: empty, durations: empty }
    }
}

/// The scaled query of a row into `q`; false where it is not fit for this.
pub(crate) fn read_query(head: &Head<'_>, row: usize, q: &mut [f32]) -> bool {
    let head_dim = head.problem.shape().head_dim;
    let scale = head.problem.scale();
    read_row(head.problem.q(), head.batch, head.head, row, &mut q[..head_dim]);
    let mut largest = 0.0f32;
    for x in &mut q[..head_dim] {
        *x = (f64::from(*x) * scale) as f32;
        largest = largest.max(x.abs());
    }
    is_finite(&q[..head_dim]) && (largest == 0.0 || largest >= TINY_QUERY)
}

/// `out[i] = q . k_{first + i}`
struct Dots<'a> {
    q: &'a [f32],
    keys: &'a Rows<'a>,
    first: usize,
    out: &'a mut [f32],
}

impl<S: Simd> Routine<S> for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, s: S) {
        self.out.fill(0.0);
        let mut column = 0;
        while column < self.q.len() {
            column += match (self.q.len() - column) / S::LANES {
                0 => self.rest(column),
                1 => self.vectors::<S, 1>(s, column),
                2 | 3 => self.vectors::<S, 2>(s, column),
                4..=7 => self.vectors::<S, 4>(s, column),
                8..=15 => self.vectors::<S, 8>(s, column),
                _ => self.vectors::<S, 16>(s, column),
            };
        }
    }
}

impl Dots<'_> {
    /// Fewer columns than lanes. Returns how many that are.
    #[inline(always)]
    fn rest(&mut self, column: usize) -> usize {
        let q = &self.q[column..];
        for (i, out) in self.out.iter_mut().enumerate() {
            let key = &self.keys.row(self.first + i)[column..];
            *out += q.iter().zip(key).map(|(&q, &k)| q * k).sum::<f32>();
        }
        q.len()
    }

    /// N vectors of columns; returns how many columns that are. One key after another, each added up before the next: several beside
    /// each other would be read beside each other, out of the order of memory.
    #[inline(always)]
    #[allow(unsafe_code)] // as for values below
    fn vectors<S: Simd, const N: usize>(&mut self, s: S, column: usize) -> usize {
        let q: [S::V; N] = std::array::from_fn(|n| s.load(&self.q[column + n * S::LANES..]));
        let (data, stride) = self.keys.strided(self.first, self.out.len(), column, N * S::LANES);
        for (i, out) in self.out.iter_mut().enumerate() {
            let mut sum = s.splat(0.0);
            for n in 0..N {
                let at = i * stride + n * S::LANES;
                // SAFETY: `strided` made sure that N vectors from i stride on lie in `data` for every i below the length of `out`.
                let key = unsafe { data.get_unchecked(at..at + S::LANES) };
                sum = s.fma(q[n], s.load(key), sum);
            }
            *out += s.total(sum);
        }
        N * S::LANES
    }
}

/// `o[c] = factor o[c] + sum_i weights[i] v_{from + i}[c]`.
struct WeightedSums<'a> {
    values: &'a Rows<'a>,
    from: usize,
    weights: &'a [f32],
    factor: f32,
    o: &'a mut [f32],
}

impl<S: Simd> Routine<S> for WeightedSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, s: S) {
        let mut column = 0;
        while column < self.o.len() {
            column += match (self.o.len() - column) / S::LANES {
                0 => self.rest(column),
                1 => self.vectors::<S, 1>(s, column),
                2 | 3 => self.vectors::<S, 2>(s, column),
                4..=7 => self.vectors::<S, 4>(s, column),
                _ => self.vectors::<S, 8>(s, column),
            };
        }
    }
}

impl WeightedSums<'_> {
    /// Fewer columns than lanes: values are padded to 8, which may be less than a vector. Returns how many columns that are.
    #[inline(always)]
    fn rest(&mut self, column: usize) -> usize {
        let columns = self.o.len();
        let o = &mut self.o[column..];
        o.iter_mut().for_each(|o| *o *= self.factor);
        for (i, &w) in self.weights.iter().enumerate() {
            let row = &self.values.row(self.from + i)[column..columns];
            for (o, &x) in o.iter_mut().zip(row) {
                *o += w * x;
            }
        }
        columns - column
    }

    /// N vectors of columns; returns how many columns that are.
    #[inline(always)]
    #[allow(unsafe_code)] // with checks in the loop less is read ahead: half the rate on a Zen 4
    fn vectors<S: Simd, const N: usize>(&mut self, s: S, column: usize) -> usize {
        let mut sums = [s.splat(0.0); N];
        let (data, stride) = self.values.strided(self.from, self.weights.len(), column, N * S::LANES);
        for (i, &w) in self.weights.iter().enumerate() {
            let w = s.splat(w);
            for n in 0..N {
                let at = i * stride + n * S::LANES;
                // SAFETY: `strided` made sure that N vectors from i stride on lie in `data` for every i below weights.len().
                let x = unsafe { data.get_unchecked(at..at + S::LANES) };
                sums[n] = s.fma(w, s.load(x), sums[n]);
            }
        }
        for n in 0..N {
            let o = &mut self.o[column + n * S::LANES..];
            s.store(s.fma(s.splat(self.factor), s.load(o), sums[n]), o);
        }
        N * S::LANES
    }
}

/// Begins the sums of one row with what it sees beside the runs; false where it sees nothing else and needs care.
fn begin_row(head: &Head<'_>, row: usize, q: &[f32], sums: &mut [f32], total: &mut RowSum) -> bool {
    let Rule::Taylor(order) = head.problem.rule() else {
        row_pieces(head, row, 0, 0, 1, q, sums, &mut total.m, &mut total.z);
        return true;
    };
    let sight = &head.sights.rows[row];
    if sight.opening > 0 {
        taylor::open(head, sight.opening as usize, order, q, sums, total);
    }
    sight.has_tiles()
}

/// Merges the runs of one row, in time order, into o; returns its sum, or nothing where the row needs care.
pub(crate) fn merge(
    head: &Head<'_>,
    row: usize,
    q: &mut [f32],
    runs: &[Partial],
    sums: &mut [f32],
    o: &mut [f32],
) -> Option<RowSum> {
    match head.sights.rows[row].kind {
        Kind::Empty => {
            o.fill(0.0);
            return Some(RowSum::default());
        }
        Kind::Point(_) => return None,
        Kind::Curve => {}
    }
    if !read_query(head, row, q) {
        return None;
    }
    let mut total = RowSum { m: NOTHING, z: 0.0 };
    sums.fill(0.0);
    if !begin_row(head, row, &q[..head.problem.shape().head_dim], sums, &mut total) {
        return None;
    }
    for run in runs {
        let m = if run.sum.m > total.m { run.sum.m } else { total.m };
        let mine = libm::exp(f64::from(total.m) - f64::from(m));
        let theirs = libm::exp(f64::from(run.sum.m) - f64::from(m));
        total = RowSum { m, z: (f64::from(total.z) * mine + f64::from(run.sum.z) * theirs) as f32 };
        for (sum, &x) in sums.iter_mut().zip(&run.o) {
            *sum = (f64::from(*sum) * mine + f64::from(x) * theirs) as f32;
        }
    }
    for (o, &sum) in o.iter_mut().zip(&*sums) {
        *o = sum / total.z;
    }
    (in_range(total.z) && is_finite(o)).then_some(total)
}
