//! Few queries against many keys: head_dim on lanes, keys split into runs that merge.
//!
//! ```text
//! for each run of segments, for each row:
//!     S_j = q . k_j                       head_dim on lanes; the rows of a group of heads take a run while it is in a near cache
//!     m = max S, E = e^(S - m)            keys on lanes from here
//!     (L, R) of x = S_j - S_{j-1}         the neighbour is the number before in memory
//!     P_j = R_j + L_{j+1}, Z = sum mass
//!     O = sum P_j v_j                     value width on lanes
//! merge the runs of a row in time order, beginning with its cut segments, held curve and the segment of its sink
//! ```
//!
//! Keys and values are read once, where they lie; that they are finite shows in the result, and where it is not, the plain engine
//! takes the row. Runs have the same length for every number of threads.

use super::elementary::exp;
use super::forward::{NOTHING, RowSum, in_range, row_pieces};
use super::head::Head;
use super::operands::{is_finite, read_row};
use super::segment::SegmentRule;
use super::sight::Kind;
use super::simd::Simd;

/// Segments in a run.
pub(crate) const RUN: usize = 1024;
/// Most queries of a problem that takes this way, and fewest keys.
pub(crate) const MOST_QUERIES: usize = 4;
pub(crate) const FEWEST_KEYS: usize = 128;

/// What one row has from one run: Z = z e^m and the sum of P v.
#[derive(Clone, Debug)]
pub(crate) struct Partial {
    pub(crate) sum: RowSum,
    pub(crate) o: Vec<f32>,
}

/// What a thread needs for one run.
pub(crate) struct Scratch {
    /// scaled query, padded with zeros to whole vectors
    q: Vec<f32>,
    /// scores of the nodes first - 1 ..= last, then weights; room for a vector more
    scores: Vec<f32>,
    exponentials: Vec<f32>,
    left: Vec<f32>,
    right: Vec<f32>,
}

impl Scratch {
    pub(crate) fn new(head_dim: usize) -> Scratch {
        let run = || vec![0.0; RUN + 2 + 16];
        Scratch {
            q: vec![0.0; head_dim.next_multiple_of(16)],
            scores: run(),
            exponentials: run(),
            left: run(),
            right: run(),
        }
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
    is_finite(&q[..head_dim]) && (largest == 0.0 || largest >= super::forward::TINY_QUERY)
}

/// The sum of a vector's lanes, by halves.
#[inline(always)]
fn total<S: Simd>(s: S, x: S::V) -> f32 {
    let x = [x];
    let mut sums = [0.0f32; 16];
    sums[..S::LANES].copy_from_slice(s.floats(&x));
    let mut width = S::LANES / 2;
    while width > 0 {
        for i in 0..width {
            sums[i] += sums[i + width];
        }
        width /= 2;
    }
    sums[0]
}

/// q . k
#[inline(always)]
fn dot<S: Simd>(s: S, q: &[f32], k: &[f32]) -> f32 {
    let mut sums = [s.splat(0.0); 4];
    let (by_four, by_one) = (k.len() / (4 * S::LANES) * (4 * S::LANES), k.len() / S::LANES * S::LANES);
    for at in (0..by_four).step_by(4 * S::LANES) {
        let (q, k) = (&q[at..at + 4 * S::LANES], &k[at..at + 4 * S::LANES]);
        for n in 0..4 {
            sums[n] = s.fma(s.load(&q[n * S::LANES..]), s.load(&k[n * S::LANES..]), sums[n]);
        }
    }
    for at in (by_four..by_one).step_by(S::LANES) {
        sums[0] = s.fma(s.load(&q[at..]), s.load(&k[at..]), sums[0]);
    }
    let mut sum = total(s, s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])));
    for c in by_one..k.len() {
        sum += q[c] * k[c];
    }
    sum
}

/// One run: segments first..=last of those that tiles would take, for one row.
#[inline(always)]
pub(crate) fn run<S: Simd, R: SegmentRule>(
    s: S,
    head: &Head<'_>,
    row: usize,
    (first, last): (usize, usize),
    scratch: &mut Scratch,
    partial: &mut Partial,
) {
    let Scratch { q, scores, exponentials, left, right } = scratch;
    let width = head.problem.shape().head_dim;
    partial.sum = RowSum { m: NOTHING, z: 0.0 };
    partial.o.fill(0.0);
    if !read_query(head, row, q) {
        partial.sum.z = f32::NAN;
        return;
    }
    // Node i of the run: its first is the left end of its first segment.
    let start = if R::READS_LEFT { first - 1 } else { first };
    let nodes = last + 1 - start;
    let segments = last + 1 - first;
    let mut m = NOTHING;
    for (i, score) in scores[..nodes].iter_mut().enumerate() {
        *score = dot(s, q, &head.store.keys.row(start + i)[..width]);
        m = if *score > m { *score } else { m };
    }
    // Lanes beyond the last node repeat it.
    let end = scores[nodes - 1];
    scores[nodes..nodes + S::LANES].fill(end);
    let anchor = s.splat(m);
    for at in (0..nodes).step_by(S::LANES) {
        s.store(exp(s, s.sub(s.load(&scores[at..]), anchor)), &mut exponentials[at..]);
    }
    let last_exponential = exponentials[nodes - 1];
    exponentials[nodes..nodes + S::LANES].fill(last_exponential);
    let durations = head.durations.tile(first, segments);
    let mut z = s.splat(0.0);
    let one = usize::from(R::READS_LEFT);
    for at in (0..segments).step_by(S::LANES) {
        let here = S::LANES.min(segments - at);
        let mut lengths = [0.0f32; 16];
        match durations.get(at..at + here) {
            Some(durations) => lengths[..here].copy_from_slice(durations),
            None => lengths[..here].fill(1.0),
        }
        let d = s.load(&lengths);
        let x = s.sub(s.load(&scores[at + one..]), s.load(&scores[at..]));
        let (e0, e1) = (s.load(&exponentials[at..]), s.load(&exponentials[at + one..]));
        let shares = R::shares(s, x, s.mul(d, e0), s.mul(d, e1));
        z = s.add(z, shares.mass);
        s.store(shares.left, &mut left[at..]);
        s.store(shares.right, &mut right[at..]);
    }
    // P_j = R_j + L_{j+1}
    let weights = &mut scores[..nodes];
    weights.fill(0.0);
    for i in 0..segments {
        weights[i] += left[i];
        weights[i + one] += right[i];
    }
    partial.sum = RowSum { m, z: total(s, z) };
    let columns = partial.o.len();
    let mut column = 0;
    while column < columns {
        column += match (columns - column) / S::LANES {
            0 => {
                // Fewer columns than lanes are left: values are padded to 8, which may be less than a vector.
                for (i, &w) in weights.iter().enumerate() {
                    let row = &head.store.values.row(start + i)[column..columns];
                    for (o, &x) in partial.o[column..].iter_mut().zip(row) {
                        *o += w * x;
                    }
                }
                columns - column
            }
            1 => weighted_sum::<S, 1>(s, head, start, weights, column, &mut partial.o),
            2 | 3 => weighted_sum::<S, 2>(s, head, start, weights, column, &mut partial.o),
            4..=7 => weighted_sum::<S, 4>(s, head, start, weights, column, &mut partial.o),
            _ => weighted_sum::<S, 8>(s, head, start, weights, column, &mut partial.o),
        };
    }
}

/// N vectors of columns of sum P v; returns how many columns that are.
#[inline(always)]
fn weighted_sum<S: Simd, const N: usize>(
    s: S,
    head: &Head<'_>,
    start: usize,
    weights: &[f32],
    column: usize,
    o: &mut [f32],
) -> usize {
    let mut sums = [s.splat(0.0); N];
    for (i, &w) in weights.iter().enumerate() {
        let (row, w) = (&head.store.values.row(start + i)[column..column + N * S::LANES], s.splat(w));
        for n in 0..N {
            sums[n] = s.fma(w, s.load(&row[n * S::LANES..]), sums[n]);
        }
    }
    for n in 0..N {
        s.store(sums[n], &mut o[column + n * S::LANES..]);
    }
    N * S::LANES
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
    row_pieces(head, row, 0, 0, 1, &q[..head.problem.shape().head_dim], sums, &mut total.m, &mut total.z);
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
