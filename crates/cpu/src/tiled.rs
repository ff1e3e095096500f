//! The tiled engine: SIMD kernels in f32, the fast twin of [`plain`](crate::plain), for every rule but Taylor of order 2 and more.
//!
//! - [`simd`]: vectors, instruction sets and the choice between them;
//! - `elementary`, `segment`, `product`: e^x, the rules and the matrix products on vectors, each with its error;
//! - `sight`, `head`, `operands`, `transpose`: what a block of queries sees, from core's domains, and where and how it reads it;
//! - `decode`, `decoding`: few queries against many keys; `cache`: keys and values that grow;
//! - `forward`, `backward`: the passes over tiles of keys; `gradient`: how the backward pass is split and added up; `hull`: o between
//!   the smallest and the largest value that a row sees;
//! - `threads`: how blocks are shared out;
//! - `ceilings`, `functions`: what the machine could do at most, and e^x, phi2 and psi by themselves, for whoever measures.
//!
//! `docs/kernels.md` has the scheme as a drawing. Rows that f32 sums cannot hold (scores near the end of its range, masses of
//! very different durations), points without duration and queries that are not finite are left to the plain engine in f32, row
//! by row: right, and slow.

pub mod simd;

mod backward;
mod cache;
mod ceilings;
mod coefficients;
mod decode;
mod decoding;
mod elementary;
mod forward;
mod functions;
mod gradient;
mod head;
mod hull;
#[cfg(test)]
mod mistakes;
mod operands;
mod product;
mod segment;
mod sight;
mod taylor;
mod threads;
mod transpose;

pub use cache::Cache;
pub use ceilings::{Ceilings, ceilings};
pub use functions::Function;
pub use simd::{Isa, UnknownIsa};

use crate::plain::Plain;
use contattn_core::engine::reserve;
use contattn_core::{
    Dtype, Element, Elements, Engine, EngineError, Feature, Gradient, Monitor, Open, Output, Problem, Request, Rule,
    Shape, Tensor, Upstream,
};
use forward::{BlockOutput, RowSum, Scratch};
use head::{Durations, Head, MOST_LANES, Store};
use operands::Looked;
use sight::{Kind, Sights};
use simd::{Backend, Kernel, Simd, VECTORS};
use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use taylor::Taylor;
use threads::{Threads, Watch};

/// What can be chosen about a [`Tiled`] engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// the instruction set; by default the fastest that the machine has
    pub isa: Option<Isa>,
    /// how many threads; by default those of the rayon pool in which a call is made
    pub threads: Option<usize>,
}

/// The SIMD engine in f32: results have the same bits for any number of threads.
#[derive(Clone, Debug)]
pub struct Tiled {
    backend: Backend,
    isa: Isa,
    threads: Threads,
}

impl Open for Tiled {
    type Options = Options;

    fn open(options: Options) -> Result<Tiled, EngineError> {
        let isa = options.isa.unwrap_or_else(Isa::best);
        Ok(Tiled { backend: Backend::new(isa)?, isa, threads: Threads::new(options.threads)? })
    }
}

impl Tiled {
    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Queries in a block, and bytes of scratch that each thread needs for the forward pass.
    pub fn block_and_scratch(&self, shape: &Shape) -> (usize, usize) {
        let block = self.backend.block();
        (block, forward::scratch_bytes(block, shape))
    }
}

/// Everything that blocks of a problem read, made once for a call.
struct Call<'a> {
    problem: &'a Problem<'a>,
    /// by batch and key/value head
    stores: Vec<Store<'a>>,
    /// by batch, or one for all
    sights: Vec<Sights>,
    /// by batch, or one for all
    durations: Vec<Durations>,
    /// by batch and key/value head: the node before which all are known to be finite
    looked: Vec<AtomicUsize>,
    /// whether the rule Linear is that of the tests for mistakes
    #[cfg(test)]
    spoilt: bool,
}

impl<'a> Call<'a> {
    /// `borrow`: see [`Store::read_or_borrow`]; whoever reads keys and values then has to look whether they are finite.
    fn new(problem: &'a Problem<'a>, threads: &Threads, borrow: bool) -> Result<Call<'a>, EngineError> {
        let Shape { batch, kv_heads, .. } = problem.shape();
        let shared = problem.batches_share_domains();
        let tables = if shared { batch.min(1) } else { batch };
        let mut stores = Vec::new();
        stores.resize_with(batch * kv_heads, || None);
        let failure = Mutex::new(None);
        let read = |at: usize| Store::read_or_borrow(problem, at / kv_heads, at % kv_heads, borrow);
        threads.for_each(&mut stores, |at, store| match read(at) {
            Ok(read) => *store = Some(read),
            Err(error) => *failure.lock().unwrap_or_else(|e| e.into_inner()) = Some(error),
        });
        if let Some(error) = failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
            return Err(error);
        }
        let mut sights: Vec<Option<Sights>> = vec![None; tables];
        threads.for_each(&mut sights, |batch, sight| *sight = Some(Sights::of(problem, batch)));
        let known = if borrow { Looked::before(0) } else { Looked::EVERYWHERE };
        let durations = (0..tables).map(|batch| Durations::of(problem, problem.nodes(batch))).collect();
        Ok(Call {
            problem,
            stores: stores.into_iter().flatten().collect(),
            sights: sights.into_iter().flatten().collect(),
            durations,
            looked: (0..batch * kv_heads).map(|_| AtomicUsize::new(known.end())).collect(),
            #[cfg(test)]
            spoilt: mistakes::are_planted(),
        })
    }

    fn durations(&self, batch: usize) -> &Durations {
        if self.durations.len() == 1 { &self.durations[0] } else { &self.durations[batch] }
    }

    fn head(&self, batch: usize, head: usize) -> Head<'_> {
        let shape = self.problem.shape();
        let table = if self.sights.len() == 1 { 0 } else { batch };
        Head {
            problem: self.problem,
            batch,
            head,
            nodes: self.problem.nodes(batch),
            store: &self.stores[batch * shape.kv_heads + shape.kv_head(head)],
            sights: &self.sights[table],
            durations: self.durations(batch),
        }
    }
}

/// One row: batch, head, row.
type Place = (usize, usize, usize);

/// One block of queries with its part of the results.
struct ForwardItem<'o> {
    batch: usize,
    head: usize,
    start: usize,
    out: BlockOutput<'o>,
    /// rows that are left to the plain engine
    careful: Vec<usize>,
}

/// Blocks of the forward pass, one after another on one thread.
struct ForwardKernel<'k, 'o> {
    call: &'k Call<'k>,
    /// by batch and key/value head
    extremes: &'k [hull::Table],
    items: &'k mut [ForwardItem<'o>],
    watch: &'k Watch<'k>,
}

impl Kernel for ForwardKernel<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.call.problem.rule() {
            #[cfg(test)]
            Rule::Linear if self.call.spoilt => self.run_rule::<S, mistakes::Spoilt>(s),
            Rule::Step => self.run_rule::<S, segment::Step>(s),
            Rule::Trapezoid => self.run_rule::<S, segment::Trapezoid>(s),
            Rule::Linear => self.run_rule::<S, segment::Linear>(s),
            Rule::Taylor(_) => self.run_rule::<S, Taylor>(s),
        }
    }
}

impl ForwardKernel<'_, '_> {
    #[inline(always)]
    fn run_rule<S: Simd, R: forward::Weigh>(self, s: S) {
        let shape = self.call.problem.shape();
        let width = shape.value_dim.next_multiple_of(operands::MULTIPLE);
        let mut scratch = Scratch::new::<R>(s, shape.head_dim);
        let mut room = hull::Room::new(width);
        let group = forward::group(VECTORS * S::LANES, &shape);
        let mut blocks: Vec<forward::Block<S>> = Vec::new();
        blocks.resize_with(group, || forward::Block::new(s, shape.head_dim, width));
        let mut rest = self.items;
        let mut previous = None;
        // Of the key/value head at hand: what this thread knows of it, and a copy, where what lies there is not finite.
        let (mut looked, mut copy): (Looked, Option<Store<'_>>) = (Looked::before(0), None);
        while let Some(first) = rest.first() {
            let name = (first.batch, first.head);
            let together = rest.iter().take(group).take_while(|item| (item.batch, item.head) == name).count();
            let (these, others) = rest.split_at_mut(together);
            rest = others;
            let read = (name.0, shape.kv_head(name.1));
            let at = read.0 * shape.kv_heads + read.1;
            let (shared, table) = (&self.call.looked[at], &self.extremes[at]);
            if previous.replace(read) != Some(read) {
                (looked, copy) = (Looked::before(shared.load(Ordering::Relaxed)), None);
            }
            let head = loop {
                let head = self.call.head(name.0, name.1);
                let head = Head { store: copy.as_ref().unwrap_or(head.store), ..head };
                for (item, block) in these.iter().zip(&mut blocks) {
                    forward::open::<S, R>(s, &head, item.start, item.out.sums.len(), block, &mut scratch);
                }
                if forward::pass::<S, R>(s, &head, &mut blocks[..together], &mut scratch, &mut looked) {
                    if copy.is_none() {
                        shared.fetch_max(looked.end(), Ordering::Relaxed);
                    }
                    break head;
                }
                match Store::read_or_borrow(self.call.problem, read.0, read.1, false) {
                    Ok(store) => (looked, copy) = (Looked::EVERYWHERE, Some(store)),
                    Err(error) => return self.watch.fail(error),
                }
            };
            for (item, block) in these.iter_mut().zip(&mut blocks) {
                forward::close(s, &head, table, block, &mut room, &mut item.out);
                let count = item.out.sums.len();
                item.careful.extend((0..count).filter(|&lane| block.careful[lane]).map(|lane| item.start + lane));
                spread_poison(&head, item, &block.careful);
                if self.watch.done(count) {
                    return;
                }
            }
        }
    }
}

/// What NaN and infinity in visible keys and values do to the rows of a block.
fn spread_poison(head: &Head<'_>, item: &mut ForwardItem<'_>, careful: &[bool; MOST_LANES]) {
    if head.store.key_poison.is_empty() && head.store.value_poison.is_empty() {
        return;
    }
    let width = head.problem.shape().value_dim;
    for (lane, row) in item.out.o.chunks_exact_mut(width).enumerate() {
        if careful[lane] || head.sights.rows[item.start + lane].kind != Kind::Curve {
            continue;
        }
        if head.key_is_poisoned(item.start + lane) {
            row.fill(f32::NAN);
            item.out.sums[lane] = RowSum { m: f32::NAN, z: 1.0 };
        } else {
            for column in head.poisoned_columns(item.start + lane) {
                row[column] = f32::NAN;
            }
        }
    }
}

/// o, sums and lse in the kernels' own types, with the rows that the plain engine evaluated (of which the sums mean nothing).
struct Forward<'o> {
    o: Cow<'o, [f32]>,
    sums: Vec<RowSum>,
    lse: Vec<f64>,
    careful: Vec<Place>,
}

impl Tiled {
    /// Calls `body` with an engine on the threads that a call of about `work` multiplications is worth.
    fn on<T: Send>(&self, work: u128, body: impl FnOnce(&Tiled) -> T + Send) -> T {
        self.threads.run(work, |threads| body(&Tiled { threads: threads.clone(), ..*self }))
    }

    fn forward_numbers(&self, call: &Call<'_>, monitor: &dyn Monitor) -> Result<Forward<'static>, EngineError> {
        let Shape { batch, heads, queries, value_dim, .. } = call.problem.shape();
        let rows = rows_of(batch, heads, queries);
        let mut o: Vec<f32> = reserve("o", rows * value_dim as u128)?;
        let mut sums: Vec<RowSum> = reserve("sums", rows)?;
        let mut lse: Vec<f64> = reserve("lse", rows)?;
        o.resize(rows as usize * value_dim, 0.0);
        sums.resize(rows as usize, RowSum::default());
        let watch = Watch::new(monitor, rows as u64);
        let block = self.backend.block();
        let per_head = forward::blocks(queries, block).count();
        let mut items: Vec<ForwardItem<'_>> = reserve("blocks", batch as u128 * heads as u128 * per_head as u128)?;
        if queries > 0 {
            let of_heads = o.chunks_exact_mut(queries * value_dim).zip(sums.chunks_exact_mut(queries)).enumerate();
            for (at, (mut o, mut sums)) in of_heads {
                for rows in forward::blocks(queries, block) {
                    let (o_here, sums_here);
                    (o_here, o) = o.split_at_mut(rows.len() * value_dim);
                    (sums_here, sums) = sums.split_at_mut(rows.len());
                    items.push(ForwardItem {
                        batch: at / heads,
                        head: at % heads,
                        start: rows.start,
                        out: BlockOutput { o: o_here, sums: sums_here },
                        careful: Vec::new(),
                    });
                }
            }
        }
        let extremes = self.extremes(call)?;
        self.threads.for_each_chunk(&mut items, |items| {
            self.backend.run(ForwardKernel { call, extremes: &extremes, items, watch: &watch });
        });
        let mut careful: Vec<Place> = Vec::new();
        for item in &items {
            careful.extend(item.careful.iter().map(|&row| (item.batch, item.head, row)));
        }
        drop(items);
        watch.finish()?;
        lse.extend(sums.iter().enumerate().map(|(at, sum)| sum.lse(call.durations(at / (heads * queries)).exponent)));
        self.evaluate_carefully(call, &careful, &mut o, &mut lse, monitor)?;
        Ok(Forward { o: o.into(), sums, lse, careful })
    }

    /// Extremes of the values, by batch and key/value head.
    fn extremes(&self, call: &Call<'_>) -> Result<Vec<hull::Table>, EngineError> {
        let Shape { heads, kv_heads, .. } = call.problem.shape();
        let mut tables = Vec::with_capacity(call.stores.len());
        for _ in &call.stores {
            tables.push(hull::Table::new(call.problem)?);
        }
        self.threads.for_each(&mut tables, |at, table| {
            let head = call.head(at / kv_heads, at % kv_heads * (heads / kv_heads));
            self.backend.run(hull::Fill { head: &head, table });
        });
        Ok(tables)
    }

    /// Rows that need care, by the plain engine.
    fn evaluate_carefully(
        &self,
        call: &Call<'_>,
        places: &[Place],
        o: &mut [f32],
        lse: &mut [f64],
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        let Shape { heads, queries, value_dim, .. } = call.problem.shape();
        let plain = Plain::<f32>::new();
        let mut states: Vec<_> = places.iter().map(|&place| (place, None)).collect();
        self.threads.for_each(&mut states, |_, ((batch, head, row), state)| {
            if !monitor.is_cancelled() {
                *state = Some(plain.row_state(call.problem, *batch, *head, *row));
            }
        });
        for ((batch, head, row), state) in states {
            let state = state.ok_or(EngineError::Cancelled)??;
            let at = (batch * heads + head) * queries + row;
            let out = &mut o[at * value_dim..][..value_dim];
            match state.output() {
                Some(output) => out.copy_from_slice(output),
                None => out.fill(0.0),
            }
            lse[at] = f64::from(state.lse());
        }
        Ok(())
    }
}

/// Numbers as a tensor of the type asked for, each rounded once.
fn tensor<T: Element>(shape: &[usize], dtype: Dtype, values: Vec<T>) -> Tensor
where
    Elements: From<Vec<T>>,
{
    Tensor::rounded(shape.to_vec(), dtype, values).expect("as many numbers as the shape asks for were computed")
}

impl Engine for Tiled {
    fn name(&self) -> &str {
        "tiled"
    }

    fn arithmetic(&self) -> Dtype {
        Dtype::F32
    }

    fn supports(&self, feature: Feature) -> bool {
        match feature {
            Feature::Rule(Rule::Taylor(order)) => order <= 1,
            Feature::Rule(Rule::Linear | Rule::Step | Rule::Trapezoid) => true,
            Feature::Weights | Feature::Bias => false,
            _ => true,
        }
    }

    fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
        self.check(problem, request)?;
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = problem.shape();
        let decodes = decoding::takes(problem);
        let width = head_dim as u128 + value_dim as u128;
        // Decoding waits for numbers to be read, each of which takes as long as some multiplications.
        let rows = if decodes { 32 * batch as u128 * kv_heads as u128 } else { rows_of(batch, heads, queries) };
        let numbers = self.on(rows * keys as u128 * width, |engine| {
            let call = Call::new(problem, &engine.threads, true)?;
            if decodes { engine.decode_numbers(&call, monitor) } else { engine.forward_numbers(&call, monitor) }
        })?;
        let dtype = request.dtype(problem);
        // Beyond f32 no score is told apart from its neighbours; what is finite stays so.
        let largest = f64::from(f32::MAX);
        let lse = numbers.lse.into_iter().map(|x| if x.is_finite() { x.clamp(-largest, largest) } else { x }).collect();
        Ok(Output {
            o: tensor(&[batch, heads, queries, value_dim], dtype, numbers.o.into_owned()),
            lse: tensor(&[batch, heads, queries], dtype.lse(), lse),
            weights: None,
            bias: None,
        })
    }

    fn backward(
        &self,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        saved: Option<&Output>,
        request: &Request,
        monitor: &dyn Monitor,
    ) -> Result<Gradient, EngineError> {
        self.check(problem, request)?;
        let Shape { batch, heads, queries, keys, head_dim, value_dim, .. } = problem.shape();
        let width = 3 * head_dim as u128 + 2 * value_dim as u128;
        let numbers = self.on(rows_of(batch, heads, queries) * keys as u128 * width, |engine| {
            let call = Call::new(problem, &engine.threads, false)?;
            let known = match saved.and_then(|saved| gradient::usable(&call, saved)) {
                Some(known) => known,
                // Progress is that of the gradient; the forward pass before it can be cancelled all the same.
                None => engine.forward_numbers(&call, &Silent(monitor))?,
            };
            engine.gradient_numbers(&call, upstream, &known, monitor)
        })?;
        Ok(numbers.into_gradient(problem, request.dtype(problem)))
    }
}

fn rows_of(batch: usize, heads: usize, queries: usize) -> u128 {
    batch as u128 * heads as u128 * queries as u128
}

/// Passes on cancellation, but not progress.
struct Silent<'m>(&'m dyn Monitor);

impl Monitor for Silent<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
