//! Gradients of a problem: rows added up, as enclosures, and rounded where those tell.

use crate::enclosure::Enclosure;
use crate::exact::{ExactProblem, Row};
use crate::rounding::round_enclosure;
use crate::route::{Route, gradient};
use crate::value::Certified;
use contattn_core::{Dtype, EngineError, Monitor, Problem, Sink, Timeline, Upstream};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A gradient's element, rounded or not.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// correctly rounded
    Resolved(f64),
    /// what is known of it: its bounds round differently
    Unresolved(Enclosure),
}

impl Outcome {
    fn of(dtype: Dtype, x: &Certified) -> Outcome {
        match x {
            Certified::Nan => Outcome::Resolved(f64::NAN),
            Certified::NegInfinity => Outcome::Resolved(f64::NEG_INFINITY),
            Certified::Number(x) => {
                round_enclosure(dtype, x).map_or_else(|| Outcome::Unresolved(x.clone()), Outcome::Resolved)
            }
        }
    }

    /// The result, or the best guess at an unresolved one: its midpoint, 0 where it may be 0.
    pub fn value(&self, dtype: Dtype) -> f64 {
        match self {
            Outcome::Resolved(x) => *x,
            Outcome::Unresolved(x) if x.contains_zero() => 0.0,
            Outcome::Unresolved(x) => crate::rounding::round_float(dtype, &x.midpoint()),
        }
    }
}

/// All gradients of a problem, row-major, shapes as in core's `Gradient`.
#[derive(Clone, Debug)]
pub struct Gradients<T> {
    /// (batch, heads, n_q, head_dim)
    pub dq: Vec<T>,
    /// (batch, kv_heads, n, head_dim)
    pub dk: Vec<T>,
    /// (batch, kv_heads, n, value width)
    pub dv: Vec<T>,
    /// of a given sink: (batch, kv_heads, 1, head_dim); else empty
    pub sink_dk: Vec<T>,
    /// of a given sink: (batch, kv_heads, 1, value width); else empty
    pub sink_dv: Vec<T>,
    /// (n) or (batch, n); empty under Taylor
    pub durations: Vec<T>,
}

impl<T> Gradients<T> {
    /// Each element through a function; durations, which have the type of lse, through another.
    pub fn map<U>(&self, each: impl Fn(&T) -> U, duration: impl Fn(&T) -> U) -> Gradients<U> {
        let all = |x: &[T]| x.iter().map(&each).collect();
        Gradients {
            dq: all(&self.dq),
            dk: all(&self.dk),
            dv: all(&self.dv),
            sink_dk: all(&self.sink_dk),
            sink_dv: all(&self.sink_dv),
            durations: self.durations.iter().map(duration).collect(),
        }
    }

    /// Every element.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.dq.iter().chain(&self.dk).chain(&self.dv).chain(&self.sink_dk).chain(&self.sink_dv).chain(&self.durations)
    }
}

fn add(sum: &mut Certified, more: &Certified) {
    *sum = match (&*sum, more) {
        (Certified::Number(a), Certified::Number(b)) => Certified::Number(a + b),
        _ => Certified::Nan,
    };
}

/// Adds x y; what is not visible has x = 0 exactly and no part, whatever y is.
fn add_product(sum: &mut Certified, x: &Certified, y: f64) {
    match (&mut *sum, x) {
        (_, Certified::Number(x)) if x.is_zero() => {}
        (Certified::Number(sum), Certified::Number(x)) if y.is_finite() => sum.add_product(x, y),
        _ => *sum = Certified::Nan,
    }
}

fn scaled(x: &Certified, by: &Enclosure) -> Certified {
    match x {
        Certified::Number(x) => Certified::Number(x * by),
        other => other.clone(),
    }
}

/// How many rows are worked on before their contributions are added up, in order.
const CHUNK: usize = 32;

/// The gradients of L with dL/do = g and dL/dlse = g_lse as enclosures of about the given precision. The same bounds from
/// every run: rows are evaluated in parallel and added in order.
///
/// # Errors
/// [`EngineError::Cancelled`].
pub fn enclose(
    route: &dyn Route,
    problem: &Problem<'_>,
    upstream: &Upstream<'_>,
    precision: u32,
    monitor: &dyn Monitor,
) -> Result<Gradients<Certified>, EngineError> {
    let shape = problem.shape();
    let exact = ExactProblem::new(problem);
    let p = precision;
    let zeros = |len: usize| vec![Certified::zero(p); len];
    let (d, e, n, h) = (shape.head_dim, shape.value_dim, shape.keys, shape.kv_heads);
    let given = matches!(problem.sink(), Sink::Given { .. });
    let is_taylor = matches!(problem.rule(), contattn_core::Rule::Taylor(_));
    let batched = match &problem.spec().timeline {
        Timeline::Durations(series) | Timeline::Times(series) => series.batch().is_some(),
        Timeline::Unit => false,
    };
    let duration_rows = if batched { shape.batch } else { 1 };
    let mut all = Gradients {
        dq: Vec::with_capacity(shape.batch * shape.heads * shape.queries * d),
        dk: zeros(shape.batch * h * n * d),
        dv: zeros(shape.batch * h * n * e),
        sink_dk: zeros(if given { shape.batch * h * d } else { 0 }),
        sink_dv: zeros(if given { shape.batch * h * e } else { 0 }),
        durations: zeros(if is_taylor { 0 } else { duration_rows * n }),
    };
    let scale = Enclosure::from_rational(p, exact.factor()) * exact.radicand().root(p);
    let done = AtomicU64::new(0);
    let total = (shape.batch * shape.heads * shape.queries) as u64;
    for (batch, head) in (0..shape.batch).flat_map(|b| (0..shape.heads).map(move |h| (b, h))) {
        let kv = batch * h + shape.kv_head(head);
        for start in (0..shape.queries).step_by(CHUNK) {
            let rows = start..(start + CHUNK).min(shape.queries);
            let contributions: Vec<Contribution<'_>> = rows
                .into_par_iter()
                .map(|index| {
                    if monitor.is_cancelled() {
                        return Err(EngineError::Cancelled);
                    }
                    let result = Contribution::of(route, &exact, upstream, (batch, head, index), &scale, p);
                    monitor.progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
                    Ok(result)
                })
                .collect::<Result<_, _>>()?;
            for c in contributions {
                all.dq.extend(c.dq);
                for (node, score, weight) in &c.nodes {
                    let source = c.row.source(*node);
                    let (dk, dv) = if source > 0 {
                        let at = kv * n + source - 1;
                        (Some(&mut all.dk[at * d..][..d]), Some(&mut all.dv[at * e..][..e]))
                    } else if given {
                        (Some(&mut all.sink_dk[kv * d..][..d]), Some(&mut all.sink_dv[kv * e..][..e]))
                    } else {
                        (None, None)
                    };
                    for (sum, &q) in dk.into_iter().flatten().zip(&c.q) {
                        add_product(sum, score, q);
                    }
                    for (sum, &g) in dv.into_iter().flatten().zip(&c.g) {
                        add_product(sum, weight, g);
                    }
                }
                let at = if batched { batch } else { 0 };
                for (sum, x) in all.durations.iter_mut().skip(at * n).zip(&c.durations) {
                    add(sum, x);
                }
            }
        }
    }
    Ok(all)
}

/// What one row adds.
struct Contribution<'e> {
    row: Row<'e>,
    q: Vec<f64>,
    g: Vec<f64>,
    dq: Vec<Certified>,
    /// visible node, scale dL/da, w
    nodes: Vec<(usize, Certified, Certified)>,
    durations: Vec<Certified>,
}

impl<'e> Contribution<'e> {
    fn of(
        route: &dyn Route,
        exact: &'e ExactProblem<'e>,
        upstream: &Upstream<'_>,
        (batch, head, index): (usize, usize, usize),
        scale: &Enclosure,
        p: u32,
    ) -> Contribution<'e> {
        let problem = exact.problem();
        let shape = problem.shape();
        let row = exact.row(batch, head, index);
        let mut q = vec![0.0; shape.head_dim];
        problem.q().read_row(batch, head, index, &mut q);
        let mut g = vec![0.0; shape.value_dim];
        upstream.o().read_row(batch, head, index, &mut g);
        let g_lse = upstream.lse().map_or(0.0, |lse| lse.get(batch, head, index, 0));
        let result = gradient(route, &row, &g, g_lse, p);
        let mut dq = vec![Certified::zero(p); shape.head_dim];
        let mut k = vec![0.0; shape.head_dim];
        let mut nodes = Vec::with_capacity(row.visible().len());
        for &node in row.visible() {
            let score = scaled(&result.scores[node], scale);
            row.read_key(node, &mut k);
            for (sum, &k) in dq.iter_mut().zip(&k) {
                add_product(sum, &score, k);
            }
            nodes.push((node, score, result.weights[node].clone()));
        }
        Contribution { q, g, dq, nodes, durations: result.durations, row }
    }
}

/// Precisions tried, in order.
pub const PRECISIONS: [u32; 3] = [128, 256, 512];

/// The gradients correctly rounded to `dtype` (durations to the type of lse), where an enclosure of at most 512 bits tells.
///
/// # Errors
/// [`EngineError::Cancelled`].
pub fn round(
    route: &dyn Route,
    problem: &Problem<'_>,
    upstream: &Upstream<'_>,
    dtype: Dtype,
    monitor: &dyn Monitor,
) -> Result<Gradients<Outcome>, EngineError> {
    let mut best: Option<Gradients<Outcome>> = None;
    for precision in PRECISIONS {
        let enclosed = enclose(route, problem, upstream, precision, monitor)?;
        let rounded = enclosed.map(|x| Outcome::of(dtype, x), |x| Outcome::of(dtype.lse(), x));
        let open = rounded.all().any(|x| matches!(x, Outcome::Unresolved(_)));
        best = Some(rounded);
        if !open {
            break;
        }
    }
    best.ok_or(EngineError::Cancelled)
}
