//! The engine around the rows.

use super::Mistake;
use super::backward::RowGradient;
use super::row::Row;
use contattn_core::{
    Dtype, Element, Engine, EngineError, Feature, Gradient, Lower, Monitor, Nodes, Output, Problem, ProblemError,
    QueryTimes, Request, Rule, Series, Sink, SinkGradient, Spec, Tensor, TensorView, Timeline, Upstream,
};
use half::bf16;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The operator in `f64` from its formulas, right or with one mistake. It does not know the Taylor rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Textbook {
    mistake: Option<Mistake>,
}

impl Textbook {
    /// Without a mistake.
    pub const fn right() -> Textbook {
        Textbook { mistake: None }
    }

    /// With this one.
    pub const fn with(mistake: Mistake) -> Textbook {
        Textbook { mistake: Some(mistake) }
    }

    fn has(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// What a mistaken engine takes the specification for.
    fn misread(&self, problem: &Problem<'_>) -> Spec {
        let mut spec = problem.spec().clone();
        let shape = problem.shape();
        match self.mistake {
            Some(Mistake::DurationsIgnored) => spec.timeline = Timeline::Unit,
            Some(Mistake::DocumentsIgnored | Mistake::SilentlyUnsupported) => spec.documents = None,
            Some(Mistake::WindowOffByOne) => {
                if let Lower::Sliding(width) = &mut spec.window.lower {
                    *width += 1.0;
                }
            }
            Some(Mistake::TopLeft) if spec.query_times == QueryTimes::LastNodes => {
                let node = |batch: usize, row: usize| problem.nodes(batch).time((row + 1).min(shape.keys)).to_f64();
                let times = (0..shape.batch).flat_map(|b| (0..shape.queries).map(move |r| node(b, r))).collect();
                if let Ok(series) = Series::batched(shape.batch, shape.queries, times) {
                    spec.query_times = QueryTimes::At(series);
                }
            }
            Some(Mistake::TimesFromStart) => {
                if let Timeline::Times(times) = &spec.timeline
                    && times.batch().is_none()
                {
                    let start = times.values().first().copied().unwrap_or(0.0);
                    spec.timeline = Timeline::Times(Series::shared(times.values().iter().map(|t| t - start).collect()));
                }
            }
            _ => {}
        }
        spec
    }
}

/// Keys and values of one batch and key/value head, node 0 included.
pub(super) struct Reader<'p> {
    pub(super) nodes: &'p Nodes,
    pub(super) width: usize,
    pub(super) scale: f64,
    pub(super) mistake: Option<Mistake>,
    keys: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
    copied: Option<usize>,
}

fn read(view: &TensorView<'_>, batch: usize, head: usize, row: usize, strides_ignored: bool) -> Vec<f64> {
    let [_, heads, rows, width] = view.shape();
    let at = ((batch * heads + head) * rows + row) * width;
    (0..width)
        .map(|c| match view {
            TensorView::F64(view) if strides_ignored => view.data().get(at + c).copied().unwrap_or(0.0),
            _ => view.get(batch, head, row, c),
        })
        .collect()
}

impl<'p> Reader<'p> {
    fn new(engine: &Textbook, problem: &'p Problem<'_>, batch: usize, kv_head: usize) -> Reader<'p> {
        let shape = problem.shape();
        let ignored = engine.has(Mistake::StridesIgnored);
        let all = |view: &TensorView<'_>, sink: Vec<f64>| {
            let rows = (0..shape.keys).map(|i| read(view, batch, kv_head, i, ignored));
            std::iter::once(sink).chain(rows).collect::<Vec<_>>()
        };
        let (sink_k, sink_v) = match problem.sink() {
            Sink::Given { key, value } => {
                (read(key, batch, kv_head, 0, ignored), read(value, batch, kv_head, 0, ignored))
            }
            _ => (vec![0.0; shape.head_dim], vec![0.0; shape.value_dim]),
        };
        Reader {
            nodes: problem.nodes(batch),
            width: shape.value_dim,
            scale: problem.scale(),
            mistake: engine.mistake,
            keys: all(problem.k(), sink_k),
            values: all(problem.v(), sink_v),
            copied: None,
        }
    }

    fn source(&self, node: usize) -> usize {
        if node == 0 { self.copied.unwrap_or(0) } else { node }
    }

    pub(super) fn key(&self, node: usize) -> &[f64] {
        &self.keys[self.source(node)]
    }

    pub(super) fn value(&self, node: usize) -> &[f64] {
        &self.values[self.source(node)]
    }
}

/// How often the unrepeatable engine was called.
static CALLS: AtomicUsize = AtomicUsize::new(0);

fn tensor(shape: Vec<usize>, dtype: Dtype, values: Vec<f64>) -> Result<Tensor, EngineError> {
    Tensor::from_f64(shape, dtype, values).map_err(device)
}

fn device(error: ProblemError) -> EngineError {
    EngineError::Device { engine: "textbook".to_owned(), reason: error.to_string() }
}

/// Calls `each` with every row's place, reader and results.
fn for_each_row(
    engine: &Textbook,
    problem: &Problem<'_>,
    monitor: &dyn Monitor,
    mut each: impl FnMut((usize, usize, usize), &Reader<'_>, &Row, &[f64]),
) -> Result<(), EngineError> {
    let shape = problem.shape();
    let total = (shape.batch * shape.heads * shape.queries) as u64;
    let mut done = 0;
    for batch in 0..shape.batch {
        for head in 0..shape.heads {
            let mut reader = Reader::new(engine, problem, batch, shape.kv_head(head));
            for r in 0..shape.queries {
                if monitor.is_cancelled() && !engine.has(Mistake::Uncancellable) {
                    return Err(EngineError::Cancelled);
                }
                let copies = matches!(problem.sink(), Sink::Copy);
                reader.copied = copies.then(|| problem.copied_node(batch, r)).flatten();
                let q = read(problem.q(), batch, head, r, engine.has(Mistake::StridesIgnored));
                let row = Row::of(&reader, problem.rule(), problem.domain(batch, r), &q);
                each((batch, head, r), &reader, &row, &q);
                done += 1;
                monitor.progress(done + u64::from(engine.has(Mistake::ProgressOverruns)), total);
            }
        }
    }
    Ok(())
}

impl Engine for Textbook {
    fn name(&self) -> &str {
        "textbook"
    }

    fn arithmetic(&self) -> Dtype {
        Dtype::F64
    }

    fn supports(&self, feature: Feature) -> bool {
        match feature {
            Feature::Rule(Rule::Taylor(_)) => false,
            Feature::Documents => !self.has(Mistake::SilentlyUnsupported),
            _ => true,
        }
    }

    fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
        if !self.has(Mistake::SilentlyUnsupported) {
            self.check(problem, request)?;
        }
        let problem = &Problem::new(*problem.q(), *problem.k(), *problem.v(), *problem.sink(), self.misread(problem))
            .map_err(device)?;
        let shape = problem.shape();
        let (mut o, mut lse, mut weights, mut bias) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for_each_row(self, problem, monitor, |_, _, row, _| {
            o.extend_from_slice(&row.o);
            lse.push(row.lse);
            weights.extend_from_slice(&row.weights);
            bias.extend_from_slice(&row.bias);
        })?;
        let dtype = request.dtype(problem);
        if self.has(Mistake::Unrepeatable) && CALLS.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            o.iter_mut().for_each(|x| *x *= 1.0 + f64::EPSILON);
        }
        if self.has(Mistake::Truncated) && dtype == Dtype::BF16 {
            // bfloat16 is the upper half of f32.
            o.iter_mut().for_each(|x| *x = bf16::from_bits(((*x as f32).to_bits() >> 16) as u16).widen());
        }
        let leading = vec![shape.batch, shape.heads, shape.queries];
        let with = |last: usize| [&leading[..], &[last]].concat();
        let optional = |wanted: bool, values| wanted.then(|| tensor(with(shape.keys + 1), dtype, values)).transpose();
        Ok(Output {
            o: tensor(with(shape.value_dim), dtype, o)?,
            lse: tensor(leading.clone(), dtype.lse(), lse)?,
            weights: optional(request.weights, weights)?,
            bias: optional(request.bias, bias)?,
        })
    }

    fn backward(
        &self,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        _saved: Option<&Output>,
        request: &Request,
        monitor: &dyn Monitor,
    ) -> Result<Gradient, EngineError> {
        if !self.has(Mistake::SilentlyUnsupported) {
            self.check(problem, request)?;
        }
        let problem = &Problem::new(*problem.q(), *problem.k(), *problem.v(), *problem.sink(), self.misread(problem))
            .map_err(device)?;
        let s = problem.shape();
        let per_batch = match &problem.spec().timeline {
            Timeline::Unit => false,
            Timeline::Durations(series) | Timeline::Times(series) => series.batch().is_some(),
        };
        // Rows of (batch, kv_heads, n + 1): node 0 stands first.
        let rows = s.batch * s.kv_heads * (s.keys + 1);
        let mut dq = vec![0.0; s.batch * s.heads * s.queries * s.head_dim];
        let (mut dk, mut dv) = (vec![0.0; rows * s.head_dim], vec![0.0; rows * s.value_dim]);
        let mut durations = vec![0.0; if per_batch { s.batch * s.keys } else { s.keys }];
        for_each_row(self, problem, monitor, |(batch, head, r), reader, row, q| {
            let mut g = vec![0.0; s.value_dim];
            upstream.o().read_row(batch, head, r, &mut g);
            let g_lse = upstream.lse().map_or(0.0, |lse| lse.get(batch, head, r, 0));
            let gradient = RowGradient::of(reader, problem.rule(), row, &g, g_lse);
            let kv_head = if self.has(Mistake::GradientHead) { head % s.kv_heads } else { s.kv_head(head) };
            let at = ((batch * s.heads + head) * s.queries + r) * s.head_dim;
            for &node in &row.visible {
                let da = gradient.scores[node] * reader.scale;
                for (d, k) in dq[at..at + s.head_dim].iter_mut().zip(reader.key(node)) {
                    *d += da * k;
                }
                let receiver = reader.source(node);
                if node == 0 && receiver != 0 && self.has(Mistake::CopyGradientLost) {
                    continue;
                }
                let to = (batch * s.kv_heads + kv_head) * (s.keys + 1) + receiver;
                for (d, q) in dk[to * s.head_dim..].iter_mut().zip(q) {
                    *d += da * q;
                }
                for (d, g) in dv[to * s.value_dim..].iter_mut().zip(&g) {
                    *d += row.weights[node] * g;
                }
            }
            let from = if per_batch { batch * s.keys } else { 0 };
            for (i, d) in gradient.durations.iter().enumerate() {
                durations[from + i] += d;
            }
        })?;
        let dtype = request.dtype(problem);
        let split = |all: &[f64], width: usize, first: usize, count: usize| -> Result<Tensor, EngineError> {
            let heads = all.chunks((s.keys + 1) * width);
            let values = heads.flat_map(|head| head[first * width..(first + count) * width].to_vec()).collect();
            tensor(vec![s.batch, s.kv_heads, count, width], dtype, values)
        };
        let sink = match problem.sink() {
            Sink::Given { .. } => {
                Some(SinkGradient { dk: split(&dk, s.head_dim, 0, 1)?, dv: split(&dv, s.value_dim, 0, 1)? })
            }
            _ => None,
        };
        let durations_shape = if per_batch { vec![s.batch, s.keys] } else { vec![s.keys] };
        Ok(Gradient {
            dq: tensor(vec![s.batch, s.heads, s.queries, s.head_dim], dtype, dq)?,
            dk: split(&dk, s.head_dim, 1, s.keys)?,
            dv: split(&dv, s.value_dim, 1, s.keys)?,
            sink,
            durations: Some(tensor(durations_shape, dtype.lse(), durations)?),
        })
    }
}
