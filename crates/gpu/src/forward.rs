//! The forward pass: which dispatches there are, and what becomes of their results.

use crate::blocks::KeyBlock;
use crate::careful::CarefulHead;
use crate::owned::narrow;
use crate::params::{FINISH, Params, RESUME};
use crate::sight::Kind;
use crate::source::{Kernel, LARGEST, SMALLEST, Setup};
use crate::uploaded::{Fate, InUse, Inner, KeyBuffers, QueryBuffers, vectors};
use crate::work::{Pending, Step};
use contattn_core::{Dtype, Element, Elements, EngineError, Output, Problem, Rule, Shape, Tensor};
use std::ops::Range;

/// The rule as shaders name it.
pub(crate) const fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::Step => "step",
        Rule::Trapezoid => "trapezoid",
        Rule::Linear | Rule::Taylor(_) => "linear",
    }
}

impl Inner {
    pub(crate) fn rule(&self) -> &'static str {
        rule_name(self.owned.rule())
    }

    /// Uniforms of a dispatch on a query block and a key block, of query heads `heads` (counted over all batches).
    pub(crate) fn params(&self, queries: &QueryBuffers, keys: &KeyBlock, heads: &Range<usize>) -> Params {
        let Shape { heads: of_batch, kv_heads, head_dim, value_dim, .. } = self.shape;
        let layout = self.layout;
        Params {
            heads: of_batch as u32,
            heads_per_kv: (of_batch / kv_heads) as u32,
            head0: queries.block.heads.start as u32,
            row0: queries.block.rows.start as u32,
            queries: queries.block.rows.len() as u32,
            kv0: keys.heads.start as u32,
            slot0: keys.slots.start as i32,
            slots: keys.slots.len() as u32,
            segment_from: keys.segments.start as i32,
            segment_to: keys.segments.end as i32 - 1,
            owned_from: keys.owned.start as i32,
            owned_to: keys.owned.end as i32 - 1,
            key_vectors: vectors(head_dim) as u32,
            value_vectors: vectors(value_dim) as u32,
            head_from: (heads.start - queries.block.heads.start) as u32,
            table_stride: layout.stride as u32,
            durations_at: layout.durations_at as u32,
            ranges_at: layout.ranges_at as u32,
            records_at: layout.records_at as u32,
            gather_at: layout.gather_at as u32,
            records: layout.records as u32,
            head_count: queries.block.heads.len() as u32,
            ..Params::default()
        }
    }

    /// Query heads of a block that read these key/value heads.
    pub(crate) fn heads_of(&self, queries: &QueryBuffers, kv_heads: &Range<usize>) -> Range<usize> {
        let each = self.shape.heads / self.shape.kv_heads;
        let (from, to) = (kv_heads.start * each, kv_heads.end * each);
        from.max(queries.block.heads.start)..to.min(queries.block.heads.end)
    }

    pub(crate) fn has_pieces(&self) -> bool {
        self.sights.iter().any(|sights| sights.has_pieces())
    }

    /// Share of all pairs of rows and nodes that some row sees, for estimates of work.
    pub(crate) fn density(&self) -> f64 {
        let seen = |s: &crate::sight::RowSight| f64::from((s.last + 1).saturating_sub(s.first));
        let total: f64 = self.sights.iter().flat_map(|s| &s.rows).map(seen).sum();
        let pairs = (self.sights.len() * self.shape.queries * self.slots) as f64;
        if pairs > 0.0 { (total / pairs).min(1.0) } else { 0.0 }
    }

    /// Dispatches of the forward pass.
    pub(crate) fn forward_steps(&self) -> Vec<Step> {
        let Shape { head_dim, value_dim, .. } = self.shape;
        let mistake = crate::mistakes::planted();
        let setup = Setup { mistake, ..Setup::forward(self.rule(), self.device.variant, vectors(value_dim)) };
        let (side, width) = (setup.side(), setup.threads * setup.value_count);
        let has_pieces = self.has_pieces();
        let density = self.density();
        let mut steps = Vec::new();
        for queries in &self.queries {
            for list in &self.keys {
                let Some(first) = list.first() else { continue };
                let heads = self.heads_of(queries, &first.block.heads);
                if heads.is_empty() {
                    continue;
                }
                for column0 in (0..vectors(value_dim)).step_by(width) {
                    let spans = self.spans(list, &setup, Kernel::Forward);
                    for (at, (keys, segments)) in spans.iter().enumerate() {
                        let base = Params {
                            column0: column0 as u32,
                            columns: width as u32,
                            flags: if at > 0 { RESUME } else { 0 },
                            segment_from: segments.start as i32,
                            segment_to: segments.end as i32 - 1,
                            ..self.params(queries, &keys.block, &heads)
                        };
                        let buffers =
                            [&self.table, &queries.q, &keys.k, &keys.v, &queries.state, &queries.o].map(Clone::clone);
                        let rows = heads.len() * queries.block.rows.len();
                        if has_pieces {
                            steps.push(self.by_row(Kernel::Pieces, base, buffers.to_vec(), rows));
                        }
                        let resumes = if has_pieces || at > 0 { RESUME } else { 0 };
                        let finishes = if at + 1 == spans.len() { FINISH } else { 0 };
                        let tiles = queries.block.rows.len().div_ceil(side);
                        let columns = (head_dim + value_dim.min(4 * width)) as f64;
                        steps.push(Step {
                            kernel: Kernel::Forward,
                            setup,
                            params: Params { tiles: tiles as u32, flags: resumes | finishes, ..base },
                            buffers: buffers.to_vec(),
                            groups: (heads.len() * tiles) as u64,
                            work_per_group: 1,
                            cost: (side * segments.len()) as f64 * density * columns + 1e4,
                            rows: if finishes > 0 && column0 + width >= vectors(value_dim) { rows as f64 } else { 0.0 },
                        });
                    }
                }
            }
        }
        steps
    }

    /// Runs of segments that one dispatch takes, with the blocks of keys that hold them: all of a block, or where the device bounds
    /// the work of a thread, as much as that allows.
    pub(crate) fn spans<'k>(
        &self,
        list: &'k [KeyBuffers],
        setup: &Setup,
        kernel: Kernel,
    ) -> Vec<(&'k KeyBuffers, Range<usize>)> {
        let Shape { head_dim, value_dim, .. } = self.shape;
        let tiles = self.device.most_iterations() / setup.iterations(kernel, vectors(head_dim), vectors(value_dim));
        let length = tiles.saturating_mul(setup.side() - usize::from(setup.reads_left())).max(1);
        let spans = |keys: &'k KeyBuffers| {
            let all = keys.block.segments.clone();
            let count = all.len().div_ceil(length).max(1);
            (0..count).map(move |i| {
                let from = all.start + i * length;
                (keys, from..(from.saturating_add(length)).min(all.end))
            })
        };
        list.iter().flat_map(spans).collect()
    }

    /// A kernel with one thread for each of `rows` rows.
    pub(crate) fn by_row(&self, kernel: Kernel, params: Params, buffers: Vec<wgpu::Buffer>, rows: usize) -> Step {
        // `tiles` is where the work ends.
        Step {
            kernel,
            setup: Setup::simple(kernel, self.rule()),
            params: Params { tiles: rows as u32, ..params },
            buffers,
            groups: rows.div_ceil(64) as u64,
            work_per_group: 64,
            cost: 64.0 * 16.0 * (self.shape.head_dim + self.shape.value_dim) as f64,
            rows: 0.0,
        }
    }
}

/// Z of rows and o as they came from the device, with those that the host evaluated.
struct ForwardNumbers {
    o: Vec<f32>,
    lse: Vec<f64>,
}

/// Numbers of a vector of four that came as bytes.
pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Whether a sum is as it should be.
pub(crate) fn in_range(z: f32) -> bool {
    (SMALLEST..=LARGEST).contains(&z)
}

/// The call that computes o and lse.
pub(crate) fn attend(in_use: InUse, dtype: Dtype) -> Result<Pending<Output>, EngineError> {
    let inner = in_use.0.clone();
    inner.attended.store(false, std::sync::atomic::Ordering::Release);
    let steps = inner.forward_steps();
    let results = inner.queries.iter().flat_map(|q| [q.o.clone(), q.state.clone()]).collect();
    let finish = move |inner: &Inner, read: Vec<Vec<u8>>, cancelled: &dyn Fn() -> bool| {
        inner.attended.store(true, std::sync::atomic::Ordering::Release);
        let problem = inner.owned.problem()?;
        Ok(inner.assemble(&problem, &read, cancelled)?.into_output(inner.shape, dtype))
    };
    Pending::new(in_use, Vec::new(), steps, results, Box::new(finish))
}

impl Inner {
    fn assemble(
        &self,
        problem: &Problem<'_>,
        read: &[Vec<u8>],
        cancelled: &dyn Fn() -> bool,
    ) -> Result<ForwardNumbers, EngineError> {
        let Shape { batch, heads, queries, value_dim, .. } = self.shape;
        let width = 4 * vectors(value_dim);
        let mut numbers = ForwardNumbers {
            o: crate::uploaded::zeros("o", batch * heads * queries * value_dim)?,
            lse: vec![f64::NEG_INFINITY; batch * heads * queries],
        };
        let mut careful = Vec::new();
        for (buffers, read) in self.queries.iter().zip(read.chunks_exact(2)) {
            let (o, sums) = (floats(&read[0]), floats(&read[1]));
            let block = &buffers.block;
            for (at, head) in block.heads.clone().enumerate() {
                let batch = head / heads;
                let (sights, line) = (self.sight(batch), self.line(batch));
                let kv_head = head / (heads / self.shape.kv_heads);
                let own_only = self.owned.rule().reads_own_node_only();
                for row in block.rows.clone() {
                    let from = at * block.rows.len() + row - block.rows.start;
                    let to = head * queries + row;
                    let out = &mut numbers.o[to * value_dim..][..value_dim];
                    let fate = self.fates[to];
                    match fate {
                        Fate::Nothing => {}
                        Fate::Careful => careful.push((head, row)),
                        Fate::Poisoned => {
                            out.fill(f32::NAN);
                            numbers.lse[to] = f64::NAN;
                        }
                        Fate::Device | Fate::SomeColumns => {
                            let (m, z) = (sums[4 * from], sums[4 * from + 1]);
                            out.copy_from_slice(&o[from * width..][..value_dim]);
                            if sights.rows[row].kind != Kind::Curve
                                || !in_range(z)
                                || out.iter().any(|x| !x.is_finite())
                            {
                                careful.push((head, row));
                                continue;
                            }
                            let unit = f64::from(line.exponent) * std::f64::consts::LN_2;
                            numbers.lse[to] = f64::from(m) + (libm::log(f64::from(z)) + unit);
                            if fate == Fate::SomeColumns {
                                for poison in &self.value_poison[kv_head] {
                                    if sights.sees(row, poison.slot, line, own_only) {
                                        out[poison.column] = f32::NAN;
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        careful.sort_unstable();
        for group in careful.chunk_by(|a, b| a.0 == b.0) {
            let head = group[0].0;
            let host = CarefulHead::new(problem, head / heads, head % heads)?;
            for &(_, row) in group {
                if cancelled() {
                    return Err(EngineError::Cancelled);
                }
                let (o, lse) = host.forward(row);
                let to = head * queries + row;
                for (out, &x) in numbers.o[to * value_dim..][..value_dim].iter_mut().zip(&o) {
                    *out = narrow(x);
                }
                numbers.lse[to] = lse;
            }
        }
        Ok(numbers)
    }
}

impl ForwardNumbers {
    /// As an output of the type asked for.
    fn into_output(self, shape: Shape, dtype: Dtype) -> Output {
        let Shape { batch, heads, queries, value_dim, .. } = shape;
        let largest = f64::from(f32::MAX);
        let lse = self.lse.into_iter().map(|x| if x.is_finite() { x.clamp(-largest, largest) } else { x }).collect();
        Output {
            o: tensor(&[batch, heads, queries, value_dim], dtype, self.o),
            lse: tensor(&[batch, heads, queries], dtype.lse(), lse),
            weights: None,
            bias: None,
        }
    }
}

/// Numbers as a tensor of the type asked for, each rounded once.
pub(crate) fn tensor<T: Element>(shape: &[usize], dtype: Dtype, values: Vec<T>) -> Tensor
where
    Elements: From<Vec<T>>,
{
    Tensor::rounded(shape.to_vec(), dtype, values).expect("as many numbers as the shape asks for were computed")
}
