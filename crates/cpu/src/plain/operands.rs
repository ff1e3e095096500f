//! The numbers of one (batch, head): queries, keys and values in the type that the engine calculates in.

use contattn_core::{EngineError, Problem, Real, Sink, TensorView, engine::reserve};

/// Keys and values of one key/value head, row-major, with those of a sink of its own in front.
pub(crate) struct Operands<T> {
    pub(crate) head_dim: usize,
    pub(crate) value_dim: usize,
    /// (n + 1) x head_dim; row 0 holds zeros or the given sink, and is not read under `copy`
    keys: Vec<T>,
    /// (n + 1) x value width
    values: Vec<T>,
    scale: f64,
}

impl<T: Real> Operands<T> {
    pub(crate) fn read(problem: &Problem<'_>, batch: usize, kv_head: usize) -> Result<Operands<T>, EngineError> {
        let shape = problem.shape();
        let (key, value) = match problem.sink() {
            Sink::Given { key, value } => (Some(key), Some(value)),
            Sink::Absent | Sink::Zeros | Sink::Copy => (None, None),
        };
        Ok(Operands {
            head_dim: shape.head_dim,
            value_dim: shape.value_dim,
            keys: rows("keys", problem.k(), key, batch, kv_head)?,
            values: rows("values", problem.v(), value, batch, kv_head)?,
            scale: problem.scale(),
        })
    }

    /// The factor of the scores.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// k of a node; of node 0 only where the sink is its own.
    pub(crate) fn key(&self, node: usize) -> &[T] {
        &self.keys[node * self.head_dim..][..self.head_dim]
    }

    /// v of a node; of node 0 only where the sink is its own.
    pub(crate) fn value(&self, node: usize) -> &[T] {
        &self.values[node * self.value_dim..][..self.value_dim]
    }

    /// a = scale (q . k). NaN where q or k is not finite; a score beyond the largest number is held at it.
    pub(crate) fn score(&self, q: &[T], k: &[T]) -> T {
        let dot: T = q.iter().zip(k).map(|(&q, &k)| q * k).sum();
        // The product with the scale is taken in f64, so that it is rounded once.
        let score = T::rounded(dot.widen() * self.scale);
        if score.is_finite() {
            return score;
        }
        if !(q.iter().all(|q| q.is_finite()) && k.iter().all(|k| k.is_finite())) {
            return T::NAN;
        }
        self.saturated_score(q, k)
    }

    /// The score of finite vectors whose products overflow: the vectors are scaled down by powers of two first.
    fn saturated_score(&self, q: &[T], k: &[T]) -> T {
        let exponent = |x: &[T]| {
            let largest = x.iter().fold(T::ZERO, |m, &x| m.max(x.abs()));
            libm::frexp(largest.widen()).1
        };
        let (q_exponent, k_exponent) = (exponent(q), exponent(k));
        let (scale, scale_exponent) = libm::frexp(self.scale);
        let small = |x: T, e: i32| libm::ldexp(x.widen(), -e);
        let dot: f64 = q.iter().zip(k).map(|(&q, &k)| small(q, q_exponent) * small(k, k_exponent)).sum();
        let score = libm::ldexp(dot * scale, q_exponent + k_exponent + scale_exponent);
        into::<T>(score.clamp(-f64::MAX, f64::MAX))
    }
}

/// Rounds to T; a finite number stays finite.
pub(crate) fn into<T: Real>(x: f64) -> T {
    let rounded = T::rounded(x);
    if rounded.is_finite() || !x.is_finite() {
        rounded
    } else if x > 0.0 {
        T::MAX
    } else {
        -T::MAX
    }
}

fn rows<T: Real>(
    what: &'static str,
    nodes: &TensorView<'_>,
    sink: Option<&TensorView<'_>>,
    batch: usize,
    kv_head: usize,
) -> Result<Vec<T>, EngineError> {
    let [_, _, n, width] = nodes.shape();
    let mut out = reserve(what, (n as u128 + 1) * width as u128)?;
    out.extend((0..width).map(|c| sink.map_or(T::ZERO, |sink| into(sink.get(batch, kv_head, 0, c)))));
    for row in 0..n {
        out.extend((0..width).map(|c| into::<T>(nodes.get(batch, kv_head, row, c))));
    }
    Ok(out)
}

/// One row of a tensor in the engine's type.
pub(crate) fn read_row<T: Real>(view: &TensorView<'_>, batch: usize, head: usize, row: usize, out: &mut Vec<T>) {
    out.clear();
    out.extend((0..view.shape()[3]).map(|c| into::<T>(view.get(batch, head, row, c))));
}
