//! A problem on the device: uploaded once, attended many times.

use crate::blocks::{self, KeyBlock, QueryBlock};
use crate::device::{Device, failed};
use crate::owned::Owned;
use crate::sight::{Kind, Record, RecordKind, Sights};
use crate::timeline::{Source, Timeline};
use contattn_core::engine::reserve;
use contattn_core::{EngineError, Shape};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Scores of rows on the device are below this.
const LARGEST_SCORE: f64 = 1e36;
/// Queries whose largest element is below this, scaled, lose digits to underflow.
const TINY_QUERY: f32 = 1e-25;

/// What becomes of a row of one head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// it sees nothing
    Nothing,
    /// the device has it
    Device,
    /// the host evaluates it
    Careful,
    /// q, or a key that it sees, is not finite: all of it is NaN
    Poisoned,
    /// some value that it sees is not finite: some columns are NaN
    SomeColumns,
}

/// An element that is not finite, of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poison {
    pub(crate) slot: usize,
    pub(crate) column: usize,
}

/// Where the parts of the table of one batch begin, in numbers of 32 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableLayout {
    pub(crate) stride: usize,
    pub(crate) durations_at: usize,
    pub(crate) ranges_at: usize,
    pub(crate) records_at: usize,
    pub(crate) gather_at: usize,
    /// records and gathered slots of the batch that has most
    pub(crate) records: usize,
    pub(crate) gathered: usize,
    /// records of the slot that most refer to
    pub(crate) longest: usize,
}

/// Rows that the ranges of the table stand for.
const RANGE: usize = 32;

/// A query block with its buffers.
#[derive(Debug)]
pub(crate) struct QueryBuffers {
    pub(crate) block: QueryBlock,
    pub(crate) q: wgpu::Buffer,
    pub(crate) o: wgpu::Buffer,
    pub(crate) state: wgpu::Buffer,
}

/// A key block with its buffers.
#[derive(Debug)]
pub(crate) struct KeyBuffers {
    pub(crate) block: KeyBlock,
    pub(crate) k: wgpu::Buffer,
    pub(crate) v: wgpu::Buffer,
}

/// Buffers of the backward pass.
#[derive(Debug)]
pub(crate) struct BackwardBuffers {
    /// by query block: g, g_lse, and dq with the results of records behind it
    pub(crate) queries: Vec<[wgpu::Buffer; 3]>,
    /// by list of key blocks and block: dk, dv and d duration
    pub(crate) keys: Vec<Vec<wgpu::Buffer>>,
}

/// A problem on the device. Handles are cheap to clone and share one problem.
#[derive(Clone, Debug)]
pub struct Uploaded(pub(crate) Arc<Inner>);

/// See [`Uploaded`].
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) device: Arc<Device>,
    pub(crate) owned: Arc<Owned>,
    pub(crate) shape: Shape,
    /// by batch, or one for all
    pub(crate) lines: Vec<Timeline>,
    pub(crate) sights: Vec<Sights>,
    /// by head, counted over all batches, and row
    pub(crate) fates: Vec<Fate>,
    /// by key/value head
    pub(crate) value_poison: Vec<Vec<Poison>>,
    pub(crate) table: wgpu::Buffer,
    pub(crate) layout: TableLayout,
    pub(crate) slots: usize,
    pub(crate) queries: Vec<QueryBuffers>,
    pub(crate) keys: Vec<Vec<KeyBuffers>>,
    pub(crate) backward: std::sync::OnceLock<BackwardBuffers>,
    /// whether o and the sums on the device are those of this problem
    pub(crate) attended: AtomicBool,
    busy: AtomicBool,
    bytes: std::sync::atomic::AtomicU64,
}

/// Asked now and then on the way: an error where the upload is not wanted any more.
type GoOn<'a> = &'a dyn Fn() -> Result<(), EngineError>;

/// Holds an [`Uploaded`] while a call on it is under way.
#[derive(Debug)]
pub(crate) struct InUse(pub(crate) Arc<Inner>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

impl Uploaded {
    /// Lengths of the problem's axes.
    pub fn shape(&self) -> Shape {
        self.0.shape
    }

    /// Bytes that it takes on the device.
    pub fn device_bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self) -> Result<InUse, EngineError> {
        if self.0.device.is_lost() {
            return Err(self.0.device.explain(""));
        }
        if self.0.busy.swap(true, Ordering::Acquire) {
            return Err(failed("another call on this problem is under way"));
        }
        Ok(InUse(self.0.clone()))
    }
}

/// Vectors of four in a row.
pub(crate) const fn vectors(width: usize) -> usize {
    width.div_ceil(4)
}

impl Inner {
    pub(crate) fn new(device: Arc<Device>, owned: Owned, cancelled: &dyn Fn() -> bool) -> Result<Inner, EngineError> {
        let owned = Arc::new(owned);
        let problem = &owned.problem()?;
        let go_on = || if cancelled() { Err(EngineError::Cancelled) } else { Ok(()) };
        let shape = problem.shape();
        let Shape { batch, heads, kv_heads, queries, head_dim, value_dim, .. } = shape;
        let tables = if problem.batches_share_domains() { batch.min(1) } else { batch };
        let (mut lines, mut sights) = (Vec::with_capacity(tables), Vec::with_capacity(tables));
        for batch in 0..tables {
            go_on()?;
            let line = Timeline::of(problem, batch);
            sights.push(Sights::of(problem, batch, &line));
            lines.push(line);
        }
        let slots = lines.iter().map(Timeline::len).max().unwrap_or(0);
        let (layout, words) = table(shape, &lines, &sights, slots)?;

        let limit = device.largest_buffer;
        let (d, dv) = (16 * vectors(head_dim) as u64, 16 * vectors(value_dim) as u64);
        let per_row = 32 * layout.records.div_ceil(queries.max(1)) as u64;
        // Records are not spread evenly; a block of whole heads has them all.
        let query_blocks = blocks::queries(batch * heads, queries, d.max(dv).max(16) + per_row, limit);
        let key_blocks = blocks::keys(batch * kv_heads, slots, d + dv + 16, limit);
        let mut inner = Inner {
            owned: owned.clone(),
            shape,
            fates: reserve("rows", (batch * heads * queries) as u128)?,
            value_poison: Vec::new(),
            table: device.buffer("a table of rows", 4 * words.len() as u64)?,
            layout,
            slots,
            queries: Vec::new(),
            keys: Vec::new(),
            backward: std::sync::OnceLock::new(),
            attended: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            bytes: std::sync::atomic::AtomicU64::new(4 * words.len() as u64),
            lines,
            sights,
            device,
        };
        if inner.table.size() > inner.device.largest_buffer.max(1 << 20) {
            let bytes = u128::from(inner.table.size());
            return Err(EngineError::OutOfMemory { what: "a table of rows", bytes });
        }
        inner.device.send("a table of rows", &inner.table, bytemuck::cast_slice(&words))?;
        let extremes = inner.upload_keys(key_blocks, &go_on)?;
        inner.decide_fates(problem.scale(), &extremes, &go_on)?;
        inner.upload_queries(query_blocks, problem.scale(), &go_on)?;
        Ok(inner)
    }

    pub(crate) fn count_bytes(&self, buffer: &wgpu::Buffer) {
        self.bytes.fetch_add(buffer.size(), Ordering::Relaxed);
    }

    pub(crate) fn line(&self, batch: usize) -> &Timeline {
        if self.lines.len() == 1 { &self.lines[0] } else { &self.lines[batch] }
    }

    pub(crate) fn sight(&self, batch: usize) -> &Sights {
        if self.sights.len() == 1 { &self.sights[0] } else { &self.sights[batch] }
    }

    /// Compiles what the forward pass needs, so that no caller has to wait for it.
    pub(crate) fn compile_forward(&self, cancelled: &dyn Fn() -> bool) -> Result<(), EngineError> {
        for step in self.forward_steps() {
            if cancelled() {
                return Err(EngineError::Cancelled);
            }
            self.device.pipeline(step.kernel, step.setup)?;
        }
        Ok(())
    }

    fn upload_keys(&mut self, blocks: Vec<Vec<KeyBlock>>, go_on: GoOn<'_>) -> Result<Vec<Extremes>, EngineError> {
        let Shape { batch, kv_heads, head_dim, value_dim, .. } = self.shape;
        let (k_width, v_width) = (4 * vectors(head_dim), 4 * vectors(value_dim));
        let mut extremes = vec![Extremes::default(); batch * kv_heads];
        let mut value_poison = vec![Vec::new(); batch * kv_heads];
        let mut lists = Vec::new();
        for list in blocks {
            let mut buffers = Vec::new();
            for block in list {
                go_on()?;
                let rows = block.heads.len() * block.slots.len();
                let k = self.device.buffer("keys", 4 * (rows * k_width) as u64)?;
                let v = self.device.buffer("values", 4 * (rows * v_width) as u64)?;
                self.count_bytes(&k);
                self.count_bytes(&v);
                let (mut keys, mut values) = (zeros("keys", rows * k_width)?, zeros("values", rows * v_width)?);
                for (at, head) in block.heads.clone().enumerate() {
                    let line = self.line(head / kv_heads);
                    for slot in block.slots.start..block.slots.end.min(line.len()) {
                        let row = at * block.slots.len() + slot - block.slots.start;
                        let (key, value) = match line.sources[slot] {
                            Source::Node(i) => (self.owned.k(head, i - 1), self.owned.v(head, i - 1)),
                            Source::Given => match self.owned.sink(head) {
                                Some(rows) => rows,
                                None => continue,
                            },
                            Source::Zeros => continue,
                        };
                        let extreme = &mut extremes[head];
                        for (column, (to, &x)) in keys[row * k_width..].iter_mut().zip(key).enumerate() {
                            if x.is_finite() {
                                *to = x;
                                extreme.key = extreme.key.max(x.abs());
                                extreme.tiny_key |= x != 0.0 && x.abs() < f32::MIN_POSITIVE;
                            } else {
                                extreme.poisoned_keys.push(Poison { slot, column });
                            }
                        }
                        for (column, (to, &x)) in values[row * v_width..].iter_mut().zip(value).enumerate() {
                            if x.is_finite() {
                                *to = x;
                                extreme.value = extreme.value.max(x.abs());
                            } else {
                                value_poison[head].push(Poison { slot, column });
                            }
                        }
                    }
                }
                self.device.send("keys", &k, bytemuck::cast_slice(&keys))?;
                self.device.send("values", &v, bytemuck::cast_slice(&values))?;
                buffers.push(KeyBuffers { block, k, v });
            }
            lists.push(buffers);
        }
        self.keys = lists;
        self.value_poison = value_poison;
        Ok(extremes)
    }

    /// Which rows the device evaluates: those whose sums cannot leave the range of f32.
    fn decide_fates(&mut self, scale: f64, extremes: &[Extremes], go_on: GoOn<'_>) -> Result<(), EngineError> {
        let Shape { batch, heads, queries, head_dim, .. } = self.shape;
        let own_only = self.owned_rule_reads_own_only();
        let mut fates = std::mem::take(&mut self.fates);
        for head in 0..batch * heads {
            go_on()?;
            let (batch, kv_head) = (head / heads, head / (heads / self.shape.kv_heads));
            let (sights, line) = (self.sight(batch), self.line(batch));
            let Extremes { key, value, tiny_key, ref poisoned_keys } = extremes[kv_head];
            // O is at most Z times the largest value; durations are below 2.
            let values_fit = f64::from(value) * 4.0 * (self.slots as f64 + 4.0) < 1e37;
            for row in 0..queries {
                let q = self.owned.q(head, row);
                let kind = sights.rows[row].kind;
                let (mut size, mut largest, mut tiny, mut finite) = (0.0f64, 0.0f32, false, true);
                for &x in q {
                    let scaled = (f64::from(x) * scale) as f32;
                    finite &= x.is_finite();
                    size += f64::from(x).abs() * scale.abs();
                    largest = largest.max(scaled.abs());
                    tiny |= x != 0.0 && scaled.abs() < f32::MIN_POSITIVE;
                }
                let sees_any = |list: &[Poison]| list.iter().any(|p| sights.sees(row, p.slot, line, own_only));
                let too_small = (largest > 0.0 && largest < TINY_QUERY)
                    || (tiny && f64::from(key) * head_dim as f64 > 1e28)
                    || (tiny_key && f64::from(largest) * head_dim as f64 > 1e28);
                // Written so that what is not a number is left to the host.
                let scores_fit = size * f64::from(key) < LARGEST_SCORE && size < LARGEST_SCORE;
                fates.push(match kind {
                    Kind::Empty => Fate::Nothing,
                    _ if !finite || sees_any(poisoned_keys) => Fate::Poisoned,
                    Kind::Point(_) => Fate::Careful,
                    _ if !(values_fit && scores_fit) || too_small => Fate::Careful,
                    _ if sees_any(&self.value_poison[kv_head]) => Fate::SomeColumns,
                    _ => Fate::Device,
                });
            }
        }
        self.fates = fates;
        Ok(())
    }

    fn owned_rule_reads_own_only(&self) -> bool {
        self.owned.rule().reads_own_node_only()
    }

    fn upload_queries(&mut self, blocks: Vec<QueryBlock>, scale: f64, go_on: GoOn<'_>) -> Result<(), EngineError> {
        let Shape { queries, head_dim, value_dim, .. } = self.shape;
        let width = 4 * vectors(head_dim);
        for block in blocks {
            go_on()?;
            let rows = block.heads.len() * block.rows.len();
            let q = self.device.buffer("queries", 4 * (rows * width) as u64)?;
            let o = self.device.buffer("o", 16 * (rows * vectors(value_dim)) as u64)?;
            let state = self.device.buffer("sums", 16 * rows as u64)?;
            for buffer in [&q, &o, &state] {
                self.count_bytes(buffer);
            }
            let mut numbers = zeros("queries", rows * width)?;
            for (at, head) in block.heads.clone().enumerate() {
                for row in block.rows.clone() {
                    if matches!(self.fates[head * queries + row], Fate::Device | Fate::SomeColumns) {
                        let to = (at * block.rows.len() + row - block.rows.start) * width;
                        for (to, &x) in numbers[to..].iter_mut().zip(self.owned.q(head, row)) {
                            *to = (f64::from(x) * scale) as f32;
                        }
                    }
                }
            }
            self.device.send("queries", &q, bytemuck::cast_slice(&numbers))?;
            self.queries.push(QueryBuffers { block, q, o, state });
        }
        Ok(())
    }

    /// Buffers of the backward pass, made when they are first needed.
    pub(crate) fn backward_buffers(&self) -> Result<&BackwardBuffers, EngineError> {
        if let Some(made) = self.backward.get() {
            return Ok(made);
        }
        let Shape { head_dim, value_dim, .. } = self.shape;
        let (d, dv) = (16 * vectors(head_dim) as u64, 16 * vectors(value_dim) as u64);
        let mut queries = Vec::new();
        for QueryBuffers { block, .. } in &self.queries {
            let rows = (block.heads.len() * block.rows.len()) as u64;
            let records = 32 * (block.heads.len() * self.layout.records) as u64;
            queries.push([
                self.device.buffer("upstream gradients", rows * dv)?,
                self.device.buffer("upstream gradients of lse", rows * 4)?,
                self.device.buffer("dq", rows * d + records)?,
            ]);
        }
        let mut keys = Vec::new();
        for list in &self.keys {
            let mut buffers = Vec::new();
            for KeyBuffers { block, .. } in list {
                let rows = (block.heads.len() * block.slots.len()) as u64;
                buffers.push(self.device.buffer("dk and dv", rows * (d + dv + 16))?);
            }
            keys.push(buffers);
        }
        queries.iter().flatten().chain(keys.iter().flatten()).for_each(|buffer| self.count_bytes(buffer));
        Ok(self.backward.get_or_init(|| BackwardBuffers { queries, keys }))
    }
}

/// What is largest among the keys and values of a head, and what of its keys is not finite.
#[derive(Clone, Debug, Default)]
struct Extremes {
    key: f32,
    value: f32,
    tiny_key: bool,
    poisoned_keys: Vec<Poison>,
}

pub(crate) fn zeros(what: &'static str, length: usize) -> Result<Vec<f32>, EngineError> {
    let mut zeros = reserve(what, length as u128)?;
    zeros.resize(length, 0.0);
    Ok(zeros)
}

/// The table: for each batch its rows, durations, ranges of rows, records, and which records refer to which slot.
fn table(
    shape: Shape,
    lines: &[Timeline],
    sights: &[Sights],
    slots: usize,
) -> Result<(TableLayout, Vec<u32>), EngineError> {
    let queries = shape.queries;
    let gathers: Vec<_> = sights.iter().map(|sights| gather(&sights.records)).collect();
    let most = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let records = most(&mut sights.iter().map(|s| s.records.len()));
    let gathered = most(&mut gathers.iter().map(|(slots, _)| slots.len()));
    let entries = most(&mut gathers.iter().map(|(_, entries)| entries.len()));
    let durations_at = 4 * queries;
    let ranges_at = durations_at + slots;
    let records_at = ranges_at + 2 * queries.div_ceil(RANGE);
    let gather_at = records_at + 12 * records;
    let length = gather_at + 3 * gathered + entries;
    let layout = TableLayout {
        stride: if lines.len() > 1 { length } else { 0 },
        durations_at,
        ranges_at,
        records_at,
        gather_at,
        records,
        gathered,
        longest: most(&mut gathers.iter().flat_map(|(slots, _)| slots).map(|(_, begin, end)| end - begin)),
    };
    let too_long = || EngineError::OutOfMemory { what: "a table of rows", bytes: 4 * (length * lines.len()) as u128 };
    u32::try_from(length * lines.len()).map_err(|_| too_long())?;
    let mut words: Vec<u32> = reserve("a table of rows", (length * lines.len()) as u128)?;
    for ((line, sights), (slots_of, entries_of)) in lines.iter().zip(sights).zip(&gathers) {
        let begin = words.len();
        for row in &sights.rows {
            words.extend([row.first, row.last, row.begin, row.count]);
        }
        words.extend(line.durations.iter().map(|d| d.to_bits()));
        words.resize(begin + ranges_at, 0);
        for rows in sights.rows.chunks(RANGE) {
            let seen = || rows.iter().filter(|row| row.first <= row.last);
            words.push(seen().map(|row| row.first).min().unwrap_or(i32::MAX as u32));
            words.push(seen().map(|row| row.last).max().unwrap_or(0));
        }
        words.extend(sights.records.iter().flat_map(Record::words));
        words.resize(begin + gather_at, 0);
        let entries_at = gather_at + 3 * gathered;
        for &(slot, from, to) in slots_of {
            words.extend([slot, (entries_at + from) as u32, (entries_at + to) as u32]);
        }
        words.resize(begin + entries_at, u32::MAX);
        words.extend(entries_of);
        words.resize(begin + length, 0);
    }
    Ok((layout, words))
}

/// For each slot that some piece refers to, its entries: 2 record, or 2 record + 1 for the right end.
fn gather(records: &[Record]) -> (Vec<(u32, usize, usize)>, Vec<u32>) {
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for (at, record) in records.iter().enumerate() {
        if matches!(record.kind, RecordKind::Cut | RecordKind::Held) {
            pairs.push((record.left, 2 * at as u32));
            pairs.push((record.right, 2 * at as u32 + 1));
        }
    }
    pairs.sort_unstable();
    let mut slots: Vec<(u32, usize, usize)> = Vec::new();
    for (at, &(slot, _)) in pairs.iter().enumerate() {
        match slots.last_mut() {
            Some((last, _, to)) if *last == slot => *to = at + 1,
            _ => slots.push((slot, at, at + 1)),
        }
    }
    (slots, pairs.into_iter().map(|(_, entry)| entry).collect())
}
