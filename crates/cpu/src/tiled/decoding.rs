//! How decoding is shared out: one unit of work for each key/value head and run of segments.

use super::decode::{self, Decode, FEWEST_KEYS, MOST_QUERIES, Partial, RUN, RowRun, TILE, Tables};
use super::forward::RowSum;
use super::hull::{Extremes, PutBackRow};
use super::segment;
use super::simd::{Kernel, Simd};
use super::taylor::Taylor;
use super::threads::Watch;
use super::{Call, Forward, Place, Tiled, operands};
use contattn_core::engine::reserve;
use contattn_core::{EngineError, Monitor, Problem, Rule, Shape};

/// Whether a problem has so few queries for its keys that tiles of queries would be mostly empty.
pub(super) fn takes(problem: &Problem<'_>) -> bool {
    let shape = problem.shape();
    shape.queries <= MOST_QUERIES && shape.keys >= FEWEST_KEYS
}

/// One run of segments of one key/value head, for all rows that read it.
struct Unit {
    batch: usize,
    kv_head: usize,
    run: usize,
    /// by query head of the group and row; a run that a row does not see is empty
    partials: Vec<Option<Partial>>,
}

/// Units one after another on one thread.
struct RunKernel<'k> {
    call: &'k Call<'k>,
    units: &'k mut [Unit],
    watch: &'k Watch<'k>,
}

impl Kernel for RunKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.call.problem.rule() {
            Rule::Step => self.run_rule::<S, segment::Step>(s),
            Rule::Trapezoid => self.run_rule::<S, segment::Trapezoid>(s),
            Rule::Linear => self.run_rule::<S, segment::Linear>(s),
            Rule::Taylor(_) => self.run_rule::<S, Taylor>(s),
        }
    }
}

impl RunKernel<'_> {
    #[inline(always)]
    fn run_rule<S: Simd, R: Decode>(self, s: S) {
        let Shape { heads, kv_heads, queries, head_dim, value_dim, .. } = self.call.problem.shape();
        let group = heads / kv_heads;
        let width = value_dim.next_multiple_of(operands::MULTIPLE);
        let mut tables = Tables::new();
        let mut rows: Vec<RowRun<S>> = (0..group * queries).map(|_| RowRun::new(s, head_dim, width)).collect();
        for unit in self.units {
            let (from, to) = (unit.run * RUN + 1, (unit.run + 1) * RUN);
            let place = |at: usize| (self.call.head(unit.batch, unit.kv_head * group + at / queries), at % queries);
            // The segments of this run that a row reads.
            let range = |at: usize| {
                let (head, row) = place(at);
                let sight = &head.sights.rows[row];
                (from.max(sight.first as usize), to.min(sight.last as usize))
            };
            let ranges: Vec<(usize, usize)> = (0..rows.len()).map(range).collect();
            for (at, (state, &(first, last))) in rows.iter_mut().zip(&ranges).enumerate() {
                let (head, row) = place(at);
                if first <= last {
                    state.open::<R>(s, &head, row, first);
                }
            }
            for tile in (from..=to).step_by(TILE) {
                for (at, (state, &(first, last))) in rows.iter_mut().zip(&ranges).enumerate() {
                    let segments = (tile.max(first), (tile + TILE - 1).min(last));
                    if segments.0 <= segments.1 {
                        let (head, row) = place(at);
                        state.tile::<R>(s, &head, row, segments, segments.1 == last, &mut tables);
                    }
                }
            }
            for ((state, &(first, last)), partial) in rows.iter().zip(&ranges).zip(&mut unit.partials) {
                *partial = (first <= last).then(|| state.close(s));
            }
            if self.watch.done(0) {
                return;
            }
        }
    }
}

impl Tiled {
    pub(super) fn decode_numbers(
        &self,
        call: &Call<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Forward<'static>, EngineError> {
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = call.problem.shape();
        let group = heads / kv_heads;
        let runs = keys.div_ceil(RUN);
        let mut units = Vec::with_capacity(batch * kv_heads * runs);
        for at in 0..batch * kv_heads * runs {
            let (batch, kv_head, run) = (at / (kv_heads * runs), at / runs % kv_heads, at % runs);
            units.push(Unit { batch, kv_head, run, partials: vec![None; group * queries] });
        }
        let rows = batch * heads * queries;
        let watch = Watch::new(monitor, rows as u64);
        self.threads.for_each_chunk(&mut units, |units| {
            self.backend.run(RunKernel { call, units, watch: &watch });
        });
        let mut o: Vec<f32> = reserve("o", rows as u128 * value_dim as u128)?;
        o.resize(rows * value_dim, 0.0);
        let mut sums = vec![RowSum::default(); rows];
        let mut careful: Vec<Place> = Vec::new();
        let mut q = vec![0.0; head_dim.next_multiple_of(16)];
        let mut padded = vec![0.0; value_dim.next_multiple_of(operands::MULTIPLE)];
        let mut extremes = Extremes::new(padded.len());
        for (at, (o, sum)) in o.chunks_exact_mut(value_dim).zip(&mut sums).enumerate() {
            let (b, h, row) = (at / (heads * queries), at / queries % heads, at % queries);
            let units = &mut units[(b * kv_heads + h / group) * runs..][..runs];
            let mine = units.iter_mut().filter_map(|unit| unit.partials[h % group * queries + row].take());
            let partials: Vec<Partial> = mine.collect();
            let head = call.head(b, h);
            match decode::merge(&head, row, &mut q, &partials, &mut padded, o) {
                Some(merged) => {
                    *sum = merged;
                    self.backend.run(PutBackRow { head: &head, row, extremes: &mut extremes, o });
                }
                None => careful.push((b, h, row)),
            }
            if watch.done(1) {
                break;
            }
        }
        watch.finish()?;
        let exponent = |at: usize| call.durations(at / (heads * queries)).exponent;
        let mut lse = sums.iter().enumerate().map(|(at, sum)| sum.lse(exponent(at))).collect::<Vec<_>>();
        // What was not looked at before may have been NaN: those rows, and all that read a listed one, are evaluated again.
        for at in 0..rows {
            let (b, h, row) = (at / (heads * queries), at / queries % heads, at % queries);
            let head = call.head(b, h);
            if head.key_is_poisoned(row) || head.poisoned_columns(row).next().is_some() {
                careful.push((b, h, row));
            }
        }
        self.evaluate_carefully(call, &careful, &mut o, &mut lse, monitor)?;
        Ok(Forward { o: o.into(), sums, lse, careful })
    }
}
