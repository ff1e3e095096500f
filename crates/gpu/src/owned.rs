//! The tensors of a problem in f32, row-major, kept beside the device: what is sent there, and what the host's own rows read.

use contattn_core::engine::reserve;
use contattn_core::{
    Element, Elements, EngineError, Layout, Problem, Rule, Sink, Spec, Tensor, TensorName, TensorView, View,
};

/// A problem that borrows from nobody.
#[derive(Clone, Debug)]
pub(crate) struct Owned {
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sink: OwnedSink,
    spec: Spec,
}

#[derive(Clone, Debug)]
enum OwnedSink {
    Absent,
    Zeros,
    Copy,
    Given(Tensor, Tensor),
}

impl Owned {
    pub(crate) fn of(problem: &Problem<'_>) -> Result<Owned, EngineError> {
        let sink = match problem.sink() {
            Sink::Absent => OwnedSink::Absent,
            Sink::Zeros => OwnedSink::Zeros,
            Sink::Copy => OwnedSink::Copy,
            Sink::Given { key, value } => OwnedSink::Given(read("sink", key)?, read("sink", value)?),
        };
        Ok(Owned {
            q: read("queries", problem.q())?,
            k: read("keys", problem.k())?,
            v: read("values", problem.v())?,
            sink,
            spec: problem.spec().clone(),
        })
    }

    /// The problem, in f32.
    pub(crate) fn problem(&self) -> Result<Problem<'_>, EngineError> {
        let sink = match &self.sink {
            OwnedSink::Absent => Sink::Absent,
            OwnedSink::Zeros => Sink::Zeros,
            OwnedSink::Copy => Sink::Copy,
            OwnedSink::Given(key, value) => {
                Sink::Given { key: view(TensorName::SinkKey, key)?, value: view(TensorName::SinkValue, value)? }
            }
        };
        let (q, k, v) =
            (view(TensorName::Query, &self.q)?, view(TensorName::Key, &self.k)?, view(TensorName::Value, &self.v)?);
        Problem::new(q, k, v, sink, self.spec.clone()).map_err(crate::device::failed)
    }

    /// The rule.
    pub(crate) fn rule(&self) -> Rule {
        self.spec.rule
    }

    /// Rows of q, k and v, of a head counted over all batches.
    pub(crate) fn q(&self, head: usize, row: usize) -> &[f32] {
        row_of(&self.q, head, row)
    }

    pub(crate) fn k(&self, kv_head: usize, row: usize) -> &[f32] {
        row_of(&self.k, kv_head, row)
    }

    pub(crate) fn v(&self, kv_head: usize, row: usize) -> &[f32] {
        row_of(&self.v, kv_head, row)
    }

    /// Key and value of a given sink.
    pub(crate) fn sink(&self, kv_head: usize) -> Option<(&[f32], &[f32])> {
        match &self.sink {
            OwnedSink::Given(key, value) => Some((row_of(key, kv_head, 0), row_of(value, kv_head, 0))),
            _ => None,
        }
    }
}

/// Row `row` of head `head`, heads counted over all batches.
fn row_of(tensor: &Tensor, head: usize, row: usize) -> &[f32] {
    let [_, _, rows, width] = *tensor.shape() else { return &[] };
    let Elements::F32(numbers) = tensor.elements() else { return &[] };
    &numbers[(head * rows + row) * width..][..width]
}

fn view(name: TensorName, tensor: &Tensor) -> Result<TensorView<'_>, EngineError> {
    tensor.view(name, Layout::Bhsd).map_err(crate::device::failed)
}

/// A tensor in f32, each number rounded once; finite numbers stay finite.
pub(crate) fn read(what: &'static str, view: &TensorView<'_>) -> Result<Tensor, EngineError> {
    fn convert<T: Element>(view: &View<'_, T>, out: &mut Vec<f32>) {
        let [batch, heads, rows, _] = view.shape();
        for b in 0..batch {
            for h in 0..heads {
                for r in 0..rows {
                    match view.row_slice(b, h, r) {
                        Some(row) => out.extend(row.iter().map(|x| narrow(x.widen()))),
                        None => out.extend(view.row(b, h, r).map(|x| narrow(x.widen()))),
                    }
                }
            }
        }
    }
    let shape = view.shape();
    let mut out = reserve(what, shape.iter().map(|&n| n as u128).product())?;
    match view {
        TensorView::F64(view) => convert(view, &mut out),
        TensorView::F32(view) => convert(view, &mut out),
        TensorView::F16(view) => convert(view, &mut out),
        TensorView::BF16(view) => convert(view, &mut out),
    }
    Tensor::new(shape.to_vec(), Elements::F32(out)).map_err(crate::device::failed)
}

/// Rounds to f32; a finite number stays finite.
pub(crate) fn narrow(x: f64) -> f32 {
    let rounded = x as f32;
    if rounded.is_finite() || !x.is_finite() { rounded } else { f32::MAX.copysign(rounded) }
}
