//! The plain engine: DESIGN's formulas, one row at a time.
//!
//! - [`segment`]: what a segment gives to its two nodes, for every rule that is a map of segments;
//! - [`taylor`]: the expansion of the bias;
//! - `row`: scores, weights, o, lse and b of one row;
//! - `backward`: the gradients of one row;
//! - `operands`: numbers in the engine's type, and scores.

pub mod segment;
pub mod taylor;

mod backward;
mod operands;
mod row;

use contattn_core::engine::reserve;
use contattn_core::{
    Dtype, Element, Engine, EngineError, Feature, Gradient, Monitor, Open, Output, Problem, Real, Request, RowState,
    Rule, Shape, Sink, SinkGradient, Tensor, Timeline, Upstream,
};
use operands::Operands;
use std::marker::PhantomData;

/// The readable evaluation in `f32` or `f64`: every feature, results of any type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain<T>(PhantomData<T>);

impl<T: Real> Plain<T> {
    /// The engine; there is nothing to choose.
    pub const fn new() -> Plain<T> {
        Plain(PhantomData)
    }

    /// The state of one row over all that it sees, for merging with runs of other segments. Its anchor is lse itself.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`].
    ///
    /// # Panics
    /// For a batch, head or row outside the problem.
    pub fn row_state(
        &self,
        problem: &Problem<'_>,
        batch: usize,
        head: usize,
        row: usize,
    ) -> Result<RowState<T>, EngineError> {
        let operands = Operands::read(problem, batch, problem.shape().kv_head(head))?;
        let pass = Pass { problem, operands: &operands, batch, head };
        Ok(pass.forward(row, &mut Vec::new(), false).state())
    }
}

/// One (batch, head) of a call.
struct Pass<'p, T> {
    problem: &'p Problem<'p>,
    operands: &'p Operands<T>,
    batch: usize,
    head: usize,
}

impl<T: Real> Pass<'_, T> {
    fn seen(&self, row: usize) -> row::Seen<'_, T> {
        let copied =
            matches!(self.problem.sink(), Sink::Copy).then(|| self.problem.copied_node(self.batch, row)).flatten();
        row::Seen { operands: self.operands, copied }
    }

    /// Evaluates a row; leaves its query in `q`.
    fn forward(&self, row: usize, q: &mut Vec<T>, want_bias: bool) -> row::Row<T> {
        operands::read_row(self.problem.q(), self.batch, self.head, row, q);
        let domain = self.problem.domain(self.batch, row);
        let nodes = self.problem.nodes(self.batch);
        row::forward(self.problem.rule(), nodes, &self.seen(row), q, domain, want_bias)
    }

    /// Adds what a row gives to the gradients; returns its dL/dq.
    fn backward(
        &self,
        row: usize,
        upstream: &Upstream<'_>,
        q: &mut Vec<T>,
        g: &mut Vec<T>,
        sums: &mut backward::Sums<T>,
    ) -> Vec<T> {
        let result = self.forward(row, q, false);
        operands::read_row(upstream.o(), self.batch, self.head, row, g);
        let g_lse = upstream.lse().map_or(T::ZERO, |lse| operands::into(lse.get(self.batch, self.head, row, 0)));
        backward::backward(self.problem.rule(), &result, &self.seen(row), q, g, g_lse, sums)
    }
}

/// Gradients of some rows of one (batch, head), for an engine that leaves those rows to this one.
pub(crate) struct SomeRows<'p, T> {
    problem: &'p Problem<'p>,
    operands: Operands<T>,
    batch: usize,
    head: usize,
    sums: backward::Sums<T>,
}

impl<'p, T: Real> SomeRows<'p, T> {
    pub(crate) fn new(problem: &'p Problem<'p>, batch: usize, head: usize) -> Result<SomeRows<'p, T>, EngineError> {
        let operands = Operands::read(problem, batch, problem.shape().kv_head(head))?;
        let sums = backward::Sums::new(problem.shape())?;
        Ok(SomeRows { problem, operands, batch, head, sums })
    }

    /// Adds what one row gives; returns its dL/dq.
    pub(crate) fn add(&mut self, row: usize, upstream: &Upstream<'_>) -> Vec<T> {
        let pass = Pass { problem: self.problem, operands: &self.operands, batch: self.batch, head: self.head };
        pass.backward(row, upstream, &mut Vec::new(), &mut Vec::new(), &mut self.sums)
    }

    /// dk and dv of nodes 0..n, and dL/dD of segments 1..n, so far.
    pub(crate) fn sums(&self) -> (&[T], &[T], &[f64]) {
        (&self.sums.dk, &self.sums.dv, &self.sums.durations)
    }
}

/// Calls `body` for every batch and head with the operands of its key/value head, which are read once for each.
fn for_each_head<T: Real>(
    problem: &Problem<'_>,
    mut body: impl FnMut(&Pass<'_, T>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let shape = problem.shape();
    for batch in 0..shape.batch {
        let mut current = None;
        for head in 0..shape.heads {
            let kv_head = shape.kv_head(head);
            let operands = match current.take() {
                Some((held, operands)) if held == kv_head => operands,
                _ => Operands::read(problem, batch, kv_head)?,
            };
            body(&Pass { problem, operands: &operands, batch, head })?;
            current = Some((kv_head, operands));
        }
    }
    Ok(())
}

/// Counts rows for whoever watches.
struct Watch<'m> {
    monitor: &'m dyn Monitor,
    done: u64,
    total: u64,
}

impl<'m> Watch<'m> {
    fn new(monitor: &'m dyn Monitor, shape: Shape) -> Watch<'m> {
        let total = shape.batch as u64 * shape.heads as u64 * shape.queries as u64;
        Watch { monitor, done: 0, total }
    }

    fn row_done(&mut self) -> Result<(), EngineError> {
        self.done += 1;
        self.monitor.progress(self.done, self.total);
        if self.monitor.is_cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
    }
}

fn count(lengths: &[usize]) -> u128 {
    lengths.iter().map(|&n| n as u128).product()
}

/// The engine's numbers as a tensor of the type asked for, each rounded once.
fn tensor<T: Element>(shape: &[usize], dtype: Dtype, values: &[T]) -> Tensor {
    let values = values.iter().map(|x| x.widen());
    Tensor::from_f64(shape.to_vec(), dtype, values).expect("as many numbers as the shape asks for were computed")
}

impl<T: Real> Engine for Plain<T> {
    fn name(&self) -> &str {
        match T::DTYPE {
            Dtype::F32 => "plain-f32",
            _ => "plain-f64",
        }
    }

    fn arithmetic(&self) -> Dtype {
        T::DTYPE
    }

    fn supports(&self, feature: Feature) -> bool {
        match feature {
            Feature::Rule(Rule::Taylor(order)) => order <= Rule::MAX_TAYLOR_ORDER,
            _ => true,
        }
    }

    fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
        self.check(problem, request)?;
        let shape = problem.shape();
        let Shape { batch, heads, queries, keys, value_dim, .. } = shape;
        let per_row = [batch, heads, queries, keys + 1];
        let mut o: Vec<T> = reserve("o", count(&[batch, heads, queries, value_dim]))?;
        let mut lse: Vec<T> = reserve("lse", count(&[batch, heads, queries]))?;
        let mut weights: Vec<T> = reserve("weights", if request.weights { count(&per_row) } else { 0 })?;
        let mut bias: Vec<T> = reserve("bias", if request.bias { count(&per_row) } else { 0 })?;
        let mut watch = Watch::new(monitor, shape);
        let mut q = Vec::new();
        for_each_head(problem, |pass| {
            for row in 0..queries {
                let row = pass.forward(row, &mut q, request.bias);
                o.extend_from_slice(&row.o);
                lse.push(row.lse);
                if request.weights {
                    weights.extend_from_slice(&row.weights);
                }
                if request.bias {
                    bias.extend_from_slice(&row.bias);
                }
                watch.row_done()?;
            }
            Ok(())
        })?;
        let dtype = request.dtype(problem);
        Ok(Output {
            o: tensor(&[batch, heads, queries, value_dim], dtype, &o),
            lse: tensor(&[batch, heads, queries], dtype.lse(), &lse),
            weights: request.weights.then(|| tensor(&per_row, dtype, &weights)),
            bias: request.bias.then(|| tensor(&per_row, dtype, &bias)),
        })
    }

    fn backward(
        &self,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        _saved: Option<&Output>, // one row's forward pass is cheap beside its gradients here
        request: &Request,
        monitor: &dyn Monitor,
    ) -> Result<Gradient, EngineError> {
        self.check(problem, request)?;
        let shape = problem.shape();
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = shape;
        let mut dq: Vec<T> = reserve("dq", count(&[batch, heads, queries, head_dim]))?;
        let mut dk: Vec<T> = zeros("dk", count(&[batch, kv_heads, keys, head_dim]))?;
        let mut dv: Vec<T> = zeros("dv", count(&[batch, kv_heads, keys, value_dim]))?;
        let mut sink_dk = zeros("dk of the sink", count(&[batch, kv_heads, head_dim]))?;
        let mut sink_dv = zeros("dv of the sink", count(&[batch, kv_heads, value_dim]))?;
        let (duration_shape, duration_rows) = match &problem.spec().timeline {
            Timeline::Durations(series) | Timeline::Times(series) if series.batch().is_some() => {
                (vec![batch, keys], batch)
            }
            _ => (vec![keys], 1),
        };
        let mut durations = vec![0.0; duration_rows * keys];
        let mut watch = Watch::new(monitor, shape);
        let (mut q, mut g) = (Vec::new(), Vec::new());
        for_each_head(problem, |pass| {
            let mut sums = backward::Sums::new(shape)?;
            for row in 0..queries {
                dq.extend(pass.backward(row, upstream, &mut q, &mut g, &mut sums));
                watch.row_done()?;
            }
            // Query heads of one key/value head add up, in their order.
            let kv = pass.batch * kv_heads + shape.kv_head(pass.head);
            add(&mut sink_dk[kv * head_dim..][..head_dim], &sums.dk[..head_dim]);
            add(&mut sink_dv[kv * value_dim..][..value_dim], &sums.dv[..value_dim]);
            add(&mut dk[kv * keys * head_dim..][..keys * head_dim], &sums.dk[head_dim..]);
            add(&mut dv[kv * keys * value_dim..][..keys * value_dim], &sums.dv[value_dim..]);
            let at = if duration_rows == batch { pass.batch } else { 0 };
            add(&mut durations[at * keys..][..keys], &sums.durations);
            Ok(())
        })?;
        let dtype = request.dtype(problem);
        let sink = matches!(problem.sink(), Sink::Given { .. }).then(|| SinkGradient {
            dk: tensor(&[batch, kv_heads, 1, head_dim], dtype, &sink_dk),
            dv: tensor(&[batch, kv_heads, 1, value_dim], dtype, &sink_dv),
        });
        let has_durations = !matches!(problem.rule(), Rule::Taylor(_));
        Ok(Gradient {
            dq: tensor(&[batch, heads, queries, head_dim], dtype, &dq),
            dk: tensor(&[batch, kv_heads, keys, head_dim], dtype, &dk),
            dv: tensor(&[batch, kv_heads, keys, value_dim], dtype, &dv),
            sink,
            durations: has_durations.then(|| tensor(&duration_shape, dtype.lse(), &durations)),
        })
    }
}

impl<T: Real> Open for Plain<T> {
    type Options = ();

    fn open((): ()) -> Result<Plain<T>, EngineError> {
        Ok(Plain::new())
    }
}

fn zeros<T: Real>(what: &'static str, len: u128) -> Result<Vec<T>, EngineError> {
    let mut zeros = reserve(what, len)?;
    zeros.resize(len as usize, T::ZERO); // `reserve` made sure that it fits
    Ok(zeros)
}

fn add<T: Copy + std::ops::AddAssign>(sum: &mut [T], more: &[T]) {
    for (sum, &more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}
