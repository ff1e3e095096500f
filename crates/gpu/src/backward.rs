//! The backward pass: which dispatches there are, and what becomes of their results.

use crate::careful::CarefulHead;
use crate::device::failed;
use crate::forward::{floats, in_range, tensor};
use crate::owned::narrow;
use crate::params::{ACCUMULATE, Params, RESUME};
use crate::setups::BACKWARD_THREADS;
use crate::sight::{Kind, RecordKind};
use crate::source::{Kernel, Setup};
use crate::timeline::Source;
use crate::uploaded::{Fate, InUse, Inner, vectors, zeros};
use crate::work::{Before, Pending, Step};
use contattn_core::{Dtype, EngineError, Gradient, Problem, Shape, Sink, SinkGradient, Tensor, Timeline, Upstream};
use std::sync::atomic::Ordering;

/// Upstream gradients in f32, kept until the host's own rows are done.
pub(crate) struct OwnedUpstream {
    o: Tensor,
    lse: Option<Tensor>,
}

impl OwnedUpstream {
    pub(crate) fn of(upstream: &Upstream<'_>) -> Result<OwnedUpstream, EngineError> {
        let lse = upstream.lse().map(|lse| crate::owned::read("upstream gradients of lse", lse)).transpose()?;
        Ok(OwnedUpstream { o: crate::owned::read("upstream gradients", upstream.o())?, lse })
    }

    fn upstream<'a>(&'a self, problem: &Problem<'_>) -> Result<Upstream<'a>, EngineError> {
        use contattn_core::{Layout::Bhsd, TensorName::UpstreamLse, TensorName::UpstreamOutput};
        let lse = self.lse.as_ref().map(|lse| lse.view(UpstreamLse, Bhsd)).transpose().map_err(failed)?;
        let o = self.o.view(UpstreamOutput, Bhsd).map_err(failed)?;
        Upstream::new(problem, o, lse).map_err(failed)
    }

    /// g and g_lse of a row, heads counted over all batches.
    fn row(&self, head: usize, row: usize) -> (&[f32], f32) {
        let [_, _, rows, width] = *self.o.shape() else { return (&[], 0.0) };
        let at = head * rows + row;
        let g = match self.o.elements() {
            contattn_core::Elements::F32(numbers) => &numbers[at * width..][..width],
            _ => &[],
        };
        let g_lse = self.lse.as_ref().map_or(0.0, |lse| lse.elements().get(at) as f32);
        (g, g_lse)
    }
}

/// All gradients, row-major.
struct Numbers {
    dq: Vec<f32>,
    dk: Vec<f32>,
    dv: Vec<f32>,
    sink_dk: Vec<f32>,
    sink_dv: Vec<f32>,
    durations: Vec<f64>,
}

/// The call that computes gradients.
pub(crate) fn pull(in_use: InUse, upstream: OwnedUpstream, dtype: Dtype) -> Result<Pending<Gradient>, EngineError> {
    let inner = in_use.0.clone();
    let buffers = inner.backward_buffers()?;
    let left_out = inner.send_upstream(&upstream)?;
    let mut steps = if inner.attended.load(Ordering::Acquire) { Vec::new() } else { inner.forward_steps() };
    for step in &mut steps {
        // Progress is that of the gradient.
        step.rows = 0.0;
    }
    steps.extend(inner.backward_steps()?);
    let before = buffers.keys.iter().flatten().map(|sums| Before::Clear(sums.clone())).collect();
    let mut results = Vec::new();
    for (own, [_, _, dq]) in inner.queries.iter().zip(&buffers.queries) {
        results.extend([dq.clone(), own.state.clone(), own.o.clone()]);
    }
    results.extend(buffers.keys.iter().flatten().cloned());
    let finish = move |inner: &Inner, read: Vec<Vec<u8>>, cancelled: &dyn Fn() -> bool| {
        inner.attended.store(true, Ordering::Release);
        inner.assemble_gradient(&upstream, &left_out, &read, cancelled)?.into_gradient(inner, dtype)
    };
    Pending::new(in_use, before, steps, results, Box::new(finish))
}

/// Adds up rows.
fn add(sums: &mut [f32], row: &[f32]) {
    for (sum, &x) in sums.iter_mut().zip(row) {
        *sum += x;
    }
}

impl Inner {
    /// Uploads g and g_lse; those of rows that are not the device's are zeros there. By head and row: which are the host's.
    fn send_upstream(&self, upstream: &OwnedUpstream) -> Result<Vec<bool>, EngineError> {
        let Shape { queries, value_dim, .. } = self.shape;
        let width = 4 * vectors(value_dim);
        let mut left_out = vec![false; self.fates.len()];
        let buffers = self.backward_buffers()?;
        for (own, [g_buffer, lse_buffer, _]) in self.queries.iter().zip(&buffers.queries) {
            let block = &own.block;
            let rows = block.heads.len() * block.rows.len();
            let (mut g, mut g_lse) = (zeros("upstream gradients", rows * width)?, zeros("upstream gradients", rows)?);
            for (at, head) in block.heads.clone().enumerate() {
                for row in block.rows.clone() {
                    let to = at * block.rows.len() + row - block.rows.start;
                    let (from, from_lse) = upstream.row(head, row);
                    // Beyond this, sums over values of ordinary size might overflow.
                    let largest = from.iter().fold(from_lse.abs(), |m, x| if x.abs() <= m { m } else { x.abs() });
                    let fits = largest < 1e15;
                    match self.fates[head * queries + row] {
                        Fate::Device if fits => {
                            g[to * width..][..value_dim].copy_from_slice(from);
                            g_lse[to] = from_lse;
                        }
                        Fate::Nothing => {}
                        _ => left_out[head * queries + row] = true,
                    }
                }
            }
            self.device.send("upstream gradients", g_buffer, bytemuck::cast_slice(&g))?;
            self.device.send("upstream gradients of lse", lse_buffer, bytemuck::cast_slice(&g_lse))?;
        }
        Ok(left_out)
    }

    fn backward_steps(&self) -> Result<Vec<Step>, EngineError> {
        let Shape { head_dim, value_dim, .. } = self.shape;
        let buffers = self.backward_buffers()?;
        let (d, dv) = (vectors(head_dim), vectors(value_dim));
        let has_records = self.layout.records > 0;
        let density = self.density();
        let mistake = crate::mistakes::planted();
        let by_query = Setup { mistake, ..Setup::backward_queries(self.rule(), d) };
        let by_key = Setup { mistake, ..Setup::backward_keys(self.rule(), d.max(dv)) };
        let side = by_key.side();
        let mut steps = Vec::new();
        for (queries, [g, g_lse, dq]) in self.queries.iter().zip(&buffers.queries) {
            let rows = queries.block.heads.len() * queries.block.rows.len();
            let params =
                Params { value_vectors: dv as u32, queries: queries.block.rows.len() as u32, ..Params::default() };
            let bound = vec![queries.o.clone(), g_lse.clone(), queries.state.clone(), g.clone()];
            steps.push(self.by_row(Kernel::Upstream, params, bound, rows));
            for list in &self.keys {
                let Some(first) = list.first() else { continue };
                let heads = self.heads_of(queries, &first.block.heads);
                if heads.is_empty() {
                    continue;
                }
                let bound = |keys: &crate::uploaded::KeyBuffers| {
                    [&self.table, &queries.q, &keys.k, &keys.v, &queries.state, g, dq].map(Clone::clone).to_vec()
                };
                let rows = heads.len() * queries.block.rows.len();
                for (at, keys) in list.iter().enumerate().filter(|_| has_records) {
                    let flags = if at > 0 { RESUME } else { 0 };
                    let params = Params { flags, ..self.params(queries, &keys.block, &heads) };
                    steps.push(self.by_row(Kernel::PiecesBackward, params, bound(keys), rows));
                }
                for column0 in (0..d).step_by(BACKWARD_THREADS * by_query.key_count) {
                    for (at, (keys, segments)) in
                        self.spans(list, &by_query, Kernel::BackwardQueries).iter().enumerate()
                    {
                        let tiles = queries.block.rows.len().div_ceil(side);
                        let flags = if has_records || at > 0 { RESUME } else { 0 };
                        let params = Params {
                            segment_from: segments.start as i32,
                            segment_to: segments.end as i32 - 1,
                            ..self.params(queries, &keys.block, &heads)
                        };
                        steps.push(Step {
                            kernel: Kernel::BackwardQueries,
                            setup: by_query,
                            params: Params { tiles: tiles as u32, flags, column0: column0 as u32, ..params },
                            buffers: bound(keys),
                            groups: (heads.len() * tiles) as u64,
                            work_per_group: 1,
                            cost: (side * segments.len() * (2 * head_dim + value_dim)) as f64 * density + 1e4,
                            rows: if at == 0 && column0 == 0 { rows as f64 * 0.4 } else { 0.0 },
                        });
                    }
                }
            }
        }
        for (list, sums) in self.keys.iter().zip(&buffers.keys) {
            for (at, (keys, sums)) in list.iter().zip(sums).enumerate() {
                for (queries, [g, _, dq]) in self.queries.iter().zip(&buffers.queries) {
                    let heads = self.heads_of(queries, &keys.block.heads);
                    if heads.is_empty() {
                        continue;
                    }
                    let each = self.shape.heads / self.shape.kv_heads;
                    let kv_heads = heads.start / each..(heads.end - 1) / each + 1;
                    let own = side - if by_key.reads_left() { 2 } else { 0 };
                    let tiles = keys.block.owned.len().div_ceil(own);
                    let params = Params {
                        tiles: tiles as u32,
                        flags: ACCUMULATE,
                        head_from: (kv_heads.start - keys.block.heads.start) as u32,
                        // Nodes at the ends of the block take all their segments.
                        segment_from: 0,
                        segment_to: i32::MAX,
                        ..self.params(queries, &keys.block, &heads)
                    };
                    let buffers =
                        [&self.table, &queries.q, &keys.k, &keys.v, &queries.state, g, sums].map(Clone::clone);
                    let rows = heads.len() * queries.block.rows.len();
                    // Query tiles of all heads that share a key/value head, in as many parts as the device asks for.
                    let most = self.device.most_iterations() / by_key.iterations(Kernel::BackwardKeys, d, dv);
                    let work = each * queries.block.rows.len().div_ceil(side);
                    let (most, parts) = (most.clamp(1, work), work.div_ceil(most.clamp(1, work)));
                    let columns = (0..d.max(dv)).step_by(BACKWARD_THREADS * by_key.key_count);
                    for (column0, part) in columns.flat_map(|column| (0..parts).map(move |part| (column, part))) {
                        steps.push(Step {
                            kernel: Kernel::BackwardKeys,
                            setup: by_key,
                            params: Params {
                                column0: column0 as u32,
                                part_from: (part * most) as u32,
                                part_count: most as u32,
                                ..params
                            },
                            buffers: buffers.to_vec(),
                            groups: (kv_heads.len() * tiles) as u64,
                            work_per_group: 1,
                            cost: (side * queries.block.rows.len() * heads.len() / kv_heads.len()
                                * 2
                                * (head_dim + value_dim)) as f64
                                * density
                                / parts as f64
                                + 1e4,
                            rows: if at == 0 && column0 == 0 { rows as f64 * 0.6 / parts as f64 } else { 0.0 },
                        });
                    }
                    if self.layout.gathered > 0 {
                        let buffers = [&self.table, &queries.q, g, dq, sums].map(Clone::clone);
                        let columns = (d + dv).div_ceil(64);
                        let most = (self.device.most_iterations() / (columns * each)).saturating_sub(2);
                        let most = most.clamp(1, self.layout.longest);
                        for part in 0..self.layout.longest.div_ceil(most) {
                            let params = Params {
                                tiles: self.layout.gathered as u32,
                                part_from: (part * most) as u32,
                                part_count: most as u32,
                                ..params
                            };
                            steps.push(Step {
                                kernel: Kernel::Gather,
                                setup: Setup::simple(Kernel::Gather, self.rule()),
                                params,
                                buffers: buffers.to_vec(),
                                groups: (kv_heads.len() * self.layout.gathered) as u64,
                                work_per_group: 1,
                                cost: (most.min(2 * self.layout.records) * each * (head_dim + value_dim)) as f64,
                                rows: 0.0,
                            });
                        }
                    }
                }
            }
        }
        Ok(steps)
    }

    fn assemble_gradient(
        &self,
        upstream: &OwnedUpstream,
        left_out: &[bool],
        read: &[Vec<u8>],
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Numbers, EngineError> {
        let problem = self.owned.problem()?;
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = self.shape;
        let mut numbers = Numbers {
            dq: zeros("dq", batch * heads * queries * head_dim)?,
            dk: zeros("dk", batch * kv_heads * keys * head_dim)?,
            dv: zeros("dv", batch * kv_heads * keys * value_dim)?,
            sink_dk: zeros("dk of the sink", batch * kv_heads * head_dim)?,
            sink_dv: zeros("dv of the sink", batch * kv_heads * value_dim)?,
            durations: vec![0.0; if durations_by_batch(&problem) { batch * keys } else { keys }],
        };
        let (by_query, by_key) = read.split_at(3 * self.queries.len());
        let mut careful = Vec::new();
        // dL of each record, over all heads of a batch
        let mut gains: Vec<Vec<f64>> = vec![vec![0.0; self.layout.records]; batch];
        let (q_width, o_width) = (4 * vectors(head_dim), 4 * vectors(value_dim));
        let scale = problem.scale();
        for (own, read) in self.queries.iter().zip(by_query.chunks_exact(3)) {
            let (dq, sums, o) = (floats(&read[0]), floats(&read[1]), floats(&read[2]));
            let block = &own.block;
            let results = block.heads.len() * block.rows.len() * q_width;
            for (at, head) in block.heads.clone().enumerate() {
                let sights = self.sight(head / heads);
                for row in block.rows.clone() {
                    let (from, to) = (at * block.rows.len() + row - block.rows.start, head * queries + row);
                    let fate = self.fates[to];
                    if fate == Fate::Nothing {
                        continue;
                    }
                    let fits = sights.rows[row].kind == Kind::Curve
                        && in_range(sums[4 * from + 1])
                        && o[from * o_width..][..value_dim].iter().all(|x| x.is_finite());
                    if left_out[to] || !fits {
                        careful.push((head, row));
                        continue;
                    }
                    let out = &mut numbers.dq[to * head_dim..][..head_dim];
                    for (out, &x) in out.iter_mut().zip(&dq[from * q_width..]) {
                        *out = (f64::from(x) * scale) as f32;
                    }
                    let begin = sights.rows[row].begin as usize;
                    for i in begin..begin + sights.rows[row].count as usize {
                        let gain = dq[results + 8 * (at * self.layout.records + i) + 4];
                        gains[head / heads][i] += f64::from(gain);
                    }
                }
            }
        }
        self.add_keys(&mut numbers, by_key);
        self.add_gains(&mut numbers, &gains);
        careful.sort_unstable();
        self.add_carefully(&mut numbers, &problem, upstream, &careful, cancelled)?;
        Ok(numbers)
    }

    /// dk, dv and d duration of the tiles, from slots to nodes.
    fn add_keys(&self, numbers: &mut Numbers, read: &[Vec<u8>]) {
        let Shape { batch, kv_heads, keys, head_dim, value_dim, .. } = self.shape;
        let (d, dv) = (4 * vectors(head_dim), 4 * vectors(value_dim));
        let by_batch = numbers.durations.len() == batch * keys && batch > 1;
        for (buffers, read) in self.keys.iter().flatten().zip(read) {
            let sums = floats(read);
            let block = &buffers.block;
            for (at, head) in block.heads.clone().enumerate() {
                let line = self.line(head / kv_heads);
                let unit = libm::ldexp(1.0, -line.exponent);
                for slot in block.owned.start..block.owned.end.min(line.len()) {
                    let row = &sums[(at * block.slots.len() + slot - block.slots.start) * (d + dv + 4)..];
                    let (dk, dv_row, change) = (&row[..head_dim], &row[d..d + value_dim], row[d + dv]);
                    match line.sources[slot] {
                        Source::Node(i) => {
                            add(&mut numbers.dk[(head * keys + i - 1) * head_dim..][..head_dim], dk);
                            add(&mut numbers.dv[(head * keys + i - 1) * value_dim..][..value_dim], dv_row);
                        }
                        Source::Given => {
                            add(&mut numbers.sink_dk[head * head_dim..][..head_dim], dk);
                            add(&mut numbers.sink_dv[head * value_dim..][..value_dim], dv_row);
                        }
                        Source::Zeros => {}
                    }
                    if line.segments[slot] > 0 {
                        let from = if by_batch { head / kv_heads * keys } else { 0 };
                        numbers.durations[from + line.segments[slot] - 1] += f64::from(change) * unit;
                    }
                }
            }
        }
    }

    /// d duration of cut segments and moving edges.
    fn add_gains(&self, numbers: &mut Numbers, gains: &[Vec<f64>]) {
        let Shape { batch, keys, .. } = self.shape;
        let by_batch = numbers.durations.len() == batch * keys && batch > 1;
        for (batch, gains) in gains.iter().enumerate() {
            let (sights, line) = (self.sight(batch), self.line(batch));
            let unit = libm::ldexp(1.0, -line.exponent);
            let durations = &mut numbers.durations[if by_batch { batch * keys } else { 0 }..];
            for (record, gain) in sights.records.iter().zip(gains) {
                let node = line.segments[record.right as usize];
                if record.kind == RecordKind::Cut && node > 0 {
                    durations[node - 1] += gain * unit;
                }
            }
            for &(record, edge, fraction) in &sights.edges {
                let gain = gains[record as usize] * unit;
                for i in edge.moved_by() {
                    durations[i - 1] += gain * edge.velocity(i, fraction);
                }
            }
        }
    }

    /// Rows that the host evaluates.
    fn add_carefully(
        &self,
        numbers: &mut Numbers,
        problem: &Problem<'_>,
        upstream: &OwnedUpstream,
        careful: &[(usize, usize)],
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), EngineError> {
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = self.shape;
        let by_batch = numbers.durations.len() == batch * keys && batch > 1;
        let upstream = upstream.upstream(problem)?;
        let into = |sums: &mut [f32], row: &[f64]| {
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += narrow(x);
            }
        };
        for group in careful.chunk_by(|a, b| a.0 == b.0) {
            let head = group[0].0;
            let host = CarefulHead::new(problem, head / heads, head % heads)?;
            let mut sums = host.sums();
            for &(_, row) in group {
                if cancelled() {
                    return Err(EngineError::Cancelled);
                }
                let dq = host.backward(row, &upstream, &mut sums);
                into(&mut numbers.dq[(head * queries + row) * head_dim..][..head_dim], &dq);
            }
            let kv = head / (heads / kv_heads);
            into(&mut numbers.sink_dk[kv * head_dim..][..head_dim], &sums.dk[..head_dim]);
            into(&mut numbers.sink_dv[kv * value_dim..][..value_dim], &sums.dv[..value_dim]);
            into(&mut numbers.dk[kv * keys * head_dim..][..keys * head_dim], &sums.dk[head_dim..]);
            into(&mut numbers.dv[kv * keys * value_dim..][..keys * value_dim], &sums.dv[value_dim..]);
            let from = if by_batch { head / heads * keys } else { 0 };
            for (sum, x) in numbers.durations[from..].iter_mut().zip(&sums.durations) {
                *sum += x;
            }
        }
        Ok(())
    }
}

/// Whether dL/dD is one row for each batch.
fn durations_by_batch(problem: &Problem<'_>) -> bool {
    matches!(&problem.spec().timeline,
        Timeline::Durations(series) | Timeline::Times(series) if series.batch().is_some())
}

impl Numbers {
    /// As gradients of the type asked for.
    fn into_gradient(self, inner: &Inner, dtype: Dtype) -> Result<Gradient, EngineError> {
        let problem = inner.owned.problem()?;
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = inner.shape;
        let sink = matches!(problem.sink(), Sink::Given { .. }).then(|| SinkGradient {
            dk: tensor(&[batch, kv_heads, 1, head_dim], dtype, self.sink_dk),
            dv: tensor(&[batch, kv_heads, 1, value_dim], dtype, self.sink_dv),
        });
        let shape = if durations_by_batch(&problem) { vec![batch, keys] } else { vec![keys] };
        Ok(Gradient {
            dq: tensor(&[batch, heads, queries, head_dim], dtype, self.dq),
            dk: tensor(&[batch, kv_heads, keys, head_dim], dtype, self.dk),
            dv: tensor(&[batch, kv_heads, keys, value_dim], dtype, self.dv),
            sink,
            durations: Some(tensor(&shape, dtype.lse(), self.durations)),
        })
    }
}
