//! How the backward pass is split into units of work, and how their sums are added up.
//!
//! A unit is a part of the blocks of the query heads of one key/value head, with sums of dK, dV and dD of its own. The shape
//! alone decides how many parts there are, and parts are added in their order: the bits do not depend on threads.

use super::backward::{self, Block, Differentiate, Gradients, Known, Scratch, Sum, padded};
use super::forward::{self, RowSum};
use super::head::{MOST_LANES, SinkRows};
use super::segment;
use super::sight::Kind;
use super::simd::{Kernel, Simd, VECTORS};
use super::taylor::Taylor;
use super::threads::Watch;
use super::{Call, Forward, Place, Tiled, operands, tensor};
use crate::plain::SomeRows;
use contattn_core::engine::reserve;
use contattn_core::{
    Dtype, Elements, EngineError, Gradient, Monitor, Output, Problem, Rule, Shape, Sink, SinkGradient, Timeline,
    Upstream,
};
use std::borrow::Cow;

/// Units for which a problem is split, where it has fewer key/value heads.
const UNITS: usize = 8;
/// Into how many units the blocks of a key/value head are split, by the fewest blocks for that many: each unit costs memory for dK
/// and dV, and two passes over them; powers of two, so that two, four or eight threads have equal shares.
const SPLITS: [(usize, usize); 3] = [(10, 2), (30, 4), (70, 8)];

/// o and lse of a forward pass as they were returned, where they are as good as computed again: lse in f32 is off by u |lse|,
/// and all weights with it, so large ones are not taken; nor are results of 16 bits. Nor where durations differ so much that
/// the forward pass may have left rows to the plain engine.
pub(super) fn usable<'o>(call: &Call<'_>, saved: &'o Output) -> Option<Forward<'o>> {
    const LARGEST: f64 = 64.0;
    let Shape { batch, heads, queries, value_dim, .. } = call.problem.shape();
    let durations_are_close = |batch| {
        let nodes = call.problem.nodes(batch);
        let durations = || (1..=nodes.len()).map(|i| nodes.duration(i));
        durations().fold(f64::INFINITY, f64::min) > 1e-6 * durations().fold(0.0, f64::max)
    };
    if saved.o.shape() != [batch, heads, queries, value_dim] || !(0..call.sights.len()).all(durations_are_close) {
        return None;
    }
    let o = match saved.o.elements() {
        Elements::F32(o) => Cow::Borrowed(o.as_slice()),
        Elements::F64(o) => o.iter().map(|&x| x as f32).collect(),
        _ => return None,
    };
    let lse = saved.lse.to_f64();
    let fits = |(at, &lse): (usize, &f64)| {
        let (batch, row) = (at / (heads * queries), at % queries);
        let table = if call.sights.len() == 1 { 0 } else { batch };
        // Of rows that are not finite the kernel takes care.
        call.sights[table].rows[row].kind != Kind::Curve || lse.is_nan() || lse.abs() <= LARGEST
    };
    let exponent = |at: usize| f64::from(call.durations(at / (heads * queries)).exponent);
    let sum = |(at, &lse): (usize, &f64)| {
        let lse = lse - exponent(at) * std::f64::consts::LN_2;
        let m = lse as f32;
        RowSum { m, z: libm::exp(lse - f64::from(m)) as f32 }
    };
    if !lse.iter().enumerate().all(fits) {
        return None;
    }
    let sums = lse.iter().enumerate().map(sum).collect();
    Some(Forward { o, sums, lse, careful: Vec::new() })
}

/// One block of queries with its part of dq.
struct UnitBlock<'o> {
    head: usize,
    start: usize,
    dq: &'o mut [f32],
}

/// A share of the backward pass.
struct Unit<'o> {
    batch: usize,
    blocks: Vec<UnitBlock<'o>>,
    sums: Gradients<'o>,
    /// rows that are left to the plain engine
    careful: Vec<Place>,
}

/// The blocks of one unit.
struct UnitKernel<'k, 'o> {
    call: &'k Call<'k>,
    upstream: &'k Upstream<'k>,
    known: &'k Forward<'k>,
    unit: &'k mut Unit<'o>,
    watch: &'k Watch<'k>,
}

impl Kernel for UnitKernel<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.call.problem.rule() {
            #[cfg(test)]
            Rule::Linear if self.call.spoilt => self.run_rule::<S, super::mistakes::Spoilt>(s),
            Rule::Step => self.run_rule::<S, segment::Step>(s),
            Rule::Trapezoid => self.run_rule::<S, segment::Trapezoid>(s),
            Rule::Linear => self.run_rule::<S, segment::Linear>(s),
            Rule::Taylor(_) => self.run_rule::<S, Taylor>(s),
        }
    }
}

impl UnitKernel<'_, '_> {
    #[inline(always)]
    fn run_rule<S: Simd, R: Differentiate>(self, s: S) {
        let shape = self.call.problem.shape();
        let Shape { heads, queries: queries_of_head, keys, head_dim, value_dim, .. } = shape;
        let key_width = head_dim.next_multiple_of(operands::MULTIPLE);
        let mut scratch = Scratch::new::<R>(s, head_dim, value_dim, keys);
        let group = backward::group(VECTORS * S::LANES, &shape);
        let mut blocks: Vec<Block<S>> = Vec::new();
        blocks.resize_with(group, || Block::new(s, head_dim, key_width, value_dim));
        let unit = self.unit;
        let mut rest = unit.blocks.as_mut_slice();
        let mut is_first = true;
        while let Some(first) = rest.first() {
            let (name, sums) = (first.head, &mut unit.sums);
            let together = rest.iter().take(group).take_while(|block| block.head == name).count();
            let (these, others) = rest.split_at_mut(together);
            rest = others;
            let head = self.call.head(unit.batch, name);
            for (queries, block) in these.iter().zip(&mut blocks) {
                let count = queries.dq.len() / head_dim;
                let at = (unit.batch * heads + name) * queries_of_head + queries.start;
                let known = Known {
                    o: &self.known.o[at * value_dim..][..count * value_dim],
                    sums: &self.known.sums[at..at + count],
                };
                block.careful.fill(false);
                mark_careful(&head, self.known, unit.batch, queries, count, &mut block.careful);
                backward::open::<S, R>(s, &head, self.upstream, queries.start, known, block, &mut scratch, sums);
            }
            backward::pass::<S, R>(s, &head, &mut blocks[..together], &mut scratch, sums, is_first);
            is_first = false;
            for (queries, block) in these.iter_mut().zip(&mut blocks) {
                backward::close(s, &head, block, sums, queries.dq);
                let count = queries.dq.len() / head_dim;
                let left = (0..count).filter(|&lane| block.careful[lane]);
                unit.careful.extend(left.map(|lane| (unit.batch, name, queries.start + lane)));
                if self.watch.done(count) {
                    return;
                }
            }
        }
        let nodes = self.call.problem.nodes(unit.batch);
        let own_only = self.call.problem.rule().reads_own_node_only();
        // What tiles added for segments that are not theirs means nothing.
        let taken = |i: usize| nodes.left_node(i).is_some_and(|left| own_only || left > 0);
        scratch.drain_durations(s, &mut unit.sums.durations, taken);
    }
}

/// Rows that the forward pass left to the plain engine, and those that read something that is not finite.
fn mark_careful(
    head: &super::Head<'_>,
    known: &Forward<'_>,
    batch: usize,
    block: &UnitBlock<'_>,
    count: usize,
    careful: &mut [bool; MOST_LANES],
) {
    let from = known.careful.partition_point(|&place| place < (batch, block.head, block.start));
    for &(b, h, row) in &known.careful[from..] {
        if (b, h) != (batch, block.head) || row >= block.start + count {
            break;
        }
        // A point without duration is no sum that could have failed.
        careful[row - block.start] = !matches!(head.sights.rows[row].kind, Kind::Point(_));
    }
    let poisoned = !(head.store.key_poison.is_empty() && head.store.value_poison.is_empty());
    for (lane, careful) in careful.iter_mut().enumerate().take(count).filter(|_| poisoned) {
        let row = block.start + lane;
        *careful |= match head.sights.rows[row].kind {
            Kind::Empty => false,
            Kind::Point(_) => true,
            Kind::Curve => head.key_is_poisoned(row) || head.poisoned_columns(row).next().is_some(),
        };
    }
}

/// All gradients in f32, row-major.
pub(super) struct Numbers {
    dq: Vec<f32>,
    dk: Vec<f32>,
    dv: Vec<f32>,
    sink_dk: Vec<f32>,
    sink_dv: Vec<f32>,
    durations: Vec<f64>,
}

fn zeros(what: &'static str, lengths: &[usize]) -> Result<Vec<f32>, EngineError> {
    let mut zeros = reserve(what, lengths.iter().map(|&n| n as u128).product())?;
    zeros.resize(lengths.iter().product(), 0.0);
    Ok(zeros)
}

/// Adds padded rows to rows without padding.
fn add_rows(sums: &mut [f32], width: usize, rows: &[f32], padded: usize) {
    for (sums, row) in sums.chunks_exact_mut(width).zip(rows.chunks_exact(padded)) {
        for (sum, &x) in sums.iter_mut().zip(row) {
            *sum += x;
        }
    }
}

/// dL/dD is one row for each batch, or one that all share.
fn duration_rows(problem: &Problem<'_>) -> usize {
    match &problem.spec().timeline {
        Timeline::Durations(series) | Timeline::Times(series) if series.batch().is_some() => problem.shape().batch,
        _ => 1,
    }
}

impl Tiled {
    pub(super) fn gradient_numbers(
        &self,
        call: &Call<'_>,
        upstream: &Upstream<'_>,
        known: &Forward<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Numbers, EngineError> {
        let shape = call.problem.shape();
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = shape;
        let mut numbers = Numbers {
            dq: zeros("dq", &[batch, heads, queries, head_dim])?,
            dk: zeros("dk", &[batch, kv_heads, keys, head_dim])?,
            dv: zeros("dv", &[batch, kv_heads, keys, value_dim])?,
            sink_dk: zeros("dk of the sink", &[batch, kv_heads, head_dim])?,
            sink_dv: zeros("dv of the sink", &[batch, kv_heads, value_dim])?,
            durations: vec![0.0; duration_rows(call.problem) * keys],
        };
        let block = self.backend.block();
        let per_head = forward::blocks(queries, block).count();
        let blocks = per_head * (heads / kv_heads);
        let group = backward::group(block, &shape);
        let most = SPLITS.iter().rev().find(|(fewest, _)| blocks >= *fewest).map_or(1, |&(_, parts)| parts);
        let parts = UNITS.div_ceil((batch * kv_heads).max(1)).min(most);
        let mut units = Vec::with_capacity(batch * kv_heads * parts);
        // The first part of each key/value head adds to the result itself.
        let mut results_dk = numbers.dk.chunks_exact_mut((keys * head_dim).max(1));
        let mut results_dv = numbers.dv.chunks_exact_mut((keys * value_dim).max(1));
        for at in 0..batch * kv_heads * parts {
            let (dk, dv) = if at % parts == 0 { (results_dk.next(), results_dv.next()) } else { (None, None) };
            let sums = Gradients {
                dk: sum("dk", dk, keys, head_dim)?,
                dv: sum("dv", dv, keys, value_dim)?,
                sink_dk: vec![0.0; padded(head_dim)],
                sink_dv: vec![0.0; padded(value_dim)],
                durations: vec![0.0; keys],
            };
            units.push(Unit { batch: at / (kv_heads * parts), blocks: Vec::new(), sums, careful: Vec::new() });
        }
        if queries > 0 {
            for (at, dq) in numbers.dq.chunks_exact_mut(queries * head_dim).enumerate() {
                let (batch, head) = (at / heads, at % heads);
                let kv_head = call.problem.shape().kv_head(head);
                let in_group = head % (heads / kv_heads);
                let mut dq = dq;
                for (i, rows) in forward::blocks(queries, block).enumerate() {
                    let dq_here;
                    (dq_here, dq) = dq.split_at_mut(rows.len() * head_dim);
                    // Parts take every so many-th group of blocks, so that the later rows of a causal window are spread evenly.
                    let part = (in_group * per_head + i) / group % parts;
                    let unit = &mut units[(batch * kv_heads + kv_head) * parts + part];
                    unit.blocks.push(UnitBlock { head, start: rows.start, dq: dq_here });
                }
            }
        }
        let watch = Watch::new(monitor, batch as u64 * heads as u64 * queries as u64);
        self.threads.for_each(&mut units, |_, unit| {
            // Memory is touched by the thread that adds to it.
            unit.sums.dk.clear(keys * padded(head_dim));
            unit.sums.dv.clear(keys * padded(value_dim));
            self.backend.run(UnitKernel { call, upstream, known, unit, watch: &watch });
        });
        watch.finish()?;
        let mut careful: Vec<Place> = Vec::new();
        let mut left = Vec::with_capacity(units.len());
        for unit in units {
            careful.extend(unit.careful);
            left.push(Left::of(unit.sums));
        }
        for (at, left) in left.iter().enumerate() {
            numbers.add_small(call, at / (kv_heads * parts), at / parts, left);
        }
        self.add_units(&mut numbers, &left, parts, (keys, head_dim, value_dim));
        careful.sort_unstable();
        numbers.add_carefully(call.problem, upstream, &careful, monitor)?;
        Ok(numbers)
    }
}

/// Where a unit adds the dK or dV of one key/value head: to the rows of the result that it was given, if rows need no padding.
fn sum<'o>(
    what: &'static str,
    result: Option<&'o mut [f32]>,
    keys: usize,
    width: usize,
) -> Result<Sum<'o>, EngineError> {
    match result {
        Some(result) if padded(width) == width => Ok(Sum::Result(result)),
        _ => Ok(Sum::Own(reserve(what, keys as u128 * padded(width) as u128)?)),
    }
}

/// What a unit has that is not in the result yet.
struct Left {
    dk: Option<Vec<f32>>,
    dv: Option<Vec<f32>>,
    sink_dk: Vec<f32>,
    sink_dv: Vec<f32>,
    durations: Vec<f64>,
}

impl Left {
    fn of(sums: Gradients<'_>) -> Left {
        let Gradients { dk, dv, sink_dk, sink_dv, durations } = sums;
        Left { dk: dk.into_own(), dv: dv.into_own(), sink_dk, sink_dv, durations }
    }

    /// Whether dK or dV is among it.
    fn has_rows(&self) -> bool {
        self.dk.is_some() || self.dv.is_some()
    }
}

/// Rows of dK and dV that are added up by one thread at a time.
const ROWS: usize = 256;

impl Tiled {
    /// Adds the dK and dV of all units, `parts` of them for each key/value head, in their order.
    fn add_units(
        &self,
        numbers: &mut Numbers,
        units: &[Left],
        parts: usize,
        (keys, head_dim, value_dim): (usize, usize, usize),
    ) {
        let mut shares: Vec<(usize, usize, &mut [f32], &mut [f32])> = Vec::new();
        if keys > 0 && units.iter().any(Left::has_rows) {
            let heads = numbers.dk.chunks_exact_mut(keys * head_dim).zip(numbers.dv.chunks_exact_mut(keys * value_dim));
            for (kv, (dk, dv)) in heads.enumerate() {
                let rows = dk.chunks_mut(ROWS * head_dim).zip(dv.chunks_mut(ROWS * value_dim)).enumerate();
                shares.extend(rows.map(|(i, (dk, dv))| (kv, i * ROWS, dk, dv)));
            }
        }
        self.threads.for_each(&mut shares, |_, (kv, first, dk, dv)| {
            for unit in &units[*kv * parts..][..parts] {
                if let Some(rows) = &unit.dk {
                    add_rows(dk, head_dim, &rows[*first * padded(head_dim)..], padded(head_dim));
                }
                if let Some(rows) = &unit.dv {
                    add_rows(dv, value_dim, &rows[*first * padded(value_dim)..], padded(value_dim));
                }
            }
        });
    }
}

impl Numbers {
    /// Adds what a unit of key/value head `kv`, counted over all batches, has for its sink and for durations.
    fn add_small(&mut self, call: &Call<'_>, batch: usize, kv: usize, sums: &Left) {
        let Shape { keys, head_dim, value_dim, .. } = call.problem.shape();
        if matches!(call.stores[kv].sink, SinkRows::Given { .. }) {
            add_rows(&mut self.sink_dk[kv * head_dim..][..head_dim], head_dim, &sums.sink_dk, padded(head_dim));
            add_rows(&mut self.sink_dv[kv * value_dim..][..value_dim], value_dim, &sums.sink_dv, padded(value_dim));
        }
        let unit = libm::ldexp(1.0, -call.head(batch, 0).durations.exponent);
        self.add_durations(batch, keys, sums.durations.iter().map(|&x| x * unit));
    }

    fn add_durations(&mut self, batch: usize, keys: usize, changes: impl Iterator<Item = f64>) {
        let at = if self.durations.len() > keys { batch } else { 0 };
        for (sum, x) in self.durations[at * keys..][..keys].iter_mut().zip(changes) {
            *sum += x;
        }
    }

    /// Rows that need care, in their order.
    fn add_carefully(
        &mut self,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        places: &[Place],
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        let shape = problem.shape();
        let Shape { heads, kv_heads, queries, keys, head_dim, value_dim, .. } = shape;
        for group in places.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (batch, head, _) = group[0];
            let mut rows = SomeRows::<f32>::new(problem, batch, head)?;
            for &(_, _, row) in group {
                if monitor.is_cancelled() {
                    return Err(EngineError::Cancelled);
                }
                let dq = rows.add(row, upstream);
                self.dq[((batch * heads + head) * queries + row) * head_dim..][..head_dim].copy_from_slice(&dq);
            }
            let kv = batch * kv_heads + shape.kv_head(head);
            let (dk, dv, durations) = rows.sums();
            add_rows(&mut self.sink_dk[kv * head_dim..][..head_dim], head_dim, &dk[..head_dim], head_dim);
            add_rows(&mut self.sink_dv[kv * value_dim..][..value_dim], value_dim, &dv[..value_dim], value_dim);
            let (dk, dv) = (&dk[head_dim..], &dv[value_dim..]);
            add_rows(&mut self.dk[kv * keys * head_dim..][..keys * head_dim], head_dim, dk, head_dim);
            add_rows(&mut self.dv[kv * keys * value_dim..][..keys * value_dim], value_dim, dv, value_dim);
            self.add_durations(batch, keys, durations.iter().copied());
        }
        Ok(())
    }

    pub(super) fn into_gradient(self, problem: &Problem<'_>, dtype: Dtype) -> Gradient {
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = problem.shape();
        let sink = matches!(problem.sink(), Sink::Given { .. }).then(|| SinkGradient {
            dk: tensor(&[batch, kv_heads, 1, head_dim], dtype, self.sink_dk),
            dv: tensor(&[batch, kv_heads, 1, value_dim], dtype, self.sink_dv),
        });
        let per_batch = duration_rows(problem) == batch
            && matches!(&problem.spec().timeline,
                Timeline::Durations(series) | Timeline::Times(series) if series.batch().is_some());
        let has_durations = !matches!(problem.rule(), Rule::Taylor(_));
        let duration_shape = if per_batch { vec![batch, keys] } else { vec![keys] };
        Gradient {
            dq: tensor(&[batch, heads, queries, head_dim], dtype, self.dq),
            dk: tensor(&[batch, kv_heads, keys, head_dim], dtype, self.dk),
            dv: tensor(&[batch, kv_heads, keys, value_dim], dtype, self.dv),
            sink,
            durations: has_durations.then(|| tensor(&duration_shape, dtype.lse(), self.durations)),
        }
    }
}
