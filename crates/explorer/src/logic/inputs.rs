//! From the state to problems that engines take.

use crate::logic::source::{Layer, Source};
use crate::logic::state::{Head, Origin, Row, SinkChoice, State};
use contattn_core::{
    Dtype, Layout, Problem, ProblemError, QueryTimes, Rule, Scale, Series, Sink, Spec, Tensor, TensorName, Timeline,
};

/// The tensors of a problem and its specification, owned.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// (1, heads, n_q, head_dim)
    pub q: Tensor,
    /// (1, kv_heads, n, head_dim)
    pub k: Tensor,
    /// (1, kv_heads, n, value width)
    pub v: Tensor,
    /// kind of node 0
    pub sink: SinkChoice,
    /// key and value of a given node 0
    pub given: Option<(Tensor, Tensor)>,
    /// everything else
    pub spec: Spec,
}

impl Inputs {
    /// The checked problem.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub fn problem(&self) -> Result<Problem<'_>, ProblemError> {
        let sink = match (self.sink, &self.given) {
            (SinkChoice::Absent, _) => Sink::Absent,
            (SinkChoice::Copy, _) => Sink::Copy,
            (SinkChoice::Given, Some((key, value))) => Sink::Given {
                key: key.view(TensorName::SinkKey, Layout::Bhsd)?,
                value: value.view(TensorName::SinkValue, Layout::Bhsd)?,
            },
            (SinkChoice::Zeros | SinkChoice::Given, _) => Sink::Zeros,
        };
        Problem::new(
            self.q.view(TensorName::Query, Layout::Bhsd)?,
            self.k.view(TensorName::Key, Layout::Bhsd)?,
            self.v.view(TensorName::Value, Layout::Bhsd)?,
            sink,
            self.spec.clone(),
        )
    }

    /// The row of a state under the state's rule: one query at the last node, key width 1, scale 1; values of width 1, or those
    /// of the head that the row comes from. Numbers are rounded once to the state's element type.
    ///
    /// # Errors
    /// [`ProblemError`] where the parts do not fit.
    pub fn of_row(state: &State, source: &Source) -> Result<Inputs, ProblemError> {
        let Row { times, keys, values, query, origin, .. } = &state.row;
        let n = keys.len().saturating_sub(1);
        let held = |shape: Vec<usize>, numbers: &[f64]| Tensor::from_f64(shape, state.dtype, numbers.iter().copied());
        let (width, all) = match linked_values(origin, n, source) {
            Some((width, head)) => (width, head),
            None => (1, values.clone()),
        };
        let mut all = all;
        // The shown channel is the row's own, so that edits of it count.
        if width > 1 {
            for (node, &value) in values.iter().enumerate() {
                all[node * width + channel_shown(width)] = value;
            }
        }
        Ok(Inputs {
            q: held(vec![1, 1], &[*query])?,
            k: held(vec![n, 1], &keys[1.min(keys.len())..])?,
            v: held(vec![n, width], &all[width.min(all.len())..])?,
            sink: state.sink,
            given: Some((held(vec![1, 1], &keys[..1])?, held(vec![1, width], &all[..width])?)),
            spec: Spec {
                rule: state.rule,
                window: state.window(),
                timeline: timeline(times),
                scale: Scale::Value(1.0),
                ..Spec::default()
            },
        })
    }

    /// The same with another rule, in a window that the rule can have.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Inputs {
        self.spec.rule = rule;
        self
    }

    /// The same with every duration 1: what ordinary softmax attention sees.
    #[must_use]
    pub fn on_unit_time(mut self) -> Inputs {
        self.spec.timeline = Timeline::Unit;
        self
    }

    /// All rows of one head of a layer under the state's rule, window and sink, in the layer's own element type. The library's
    /// default scale, 1/sqrt(head_dim); nodes at times 0, 1, 2, ...
    ///
    /// # Errors
    /// [`ProblemError`] where the head is not there.
    pub fn of_head(state: &State, layer: &Layer, head: usize) -> Result<Inputs, ProblemError> {
        let shape = layer.shape();
        let head = head.min(shape.heads.saturating_sub(1));
        let kv_head = head / (shape.heads / shape.kv_heads.max(1)).max(1);
        let q = slice(&layer.q, head, TensorName::Query)?;
        let k = slice(&layer.k, kv_head, TensorName::Key)?;
        let v = slice(&layer.v, kv_head, TensorName::Value)?;
        // A file has no node 0 of its own.
        let sink = if state.sink == SinkChoice::Given { SinkChoice::Zeros } else { state.sink };
        let upper = match state.upper {
            // Language models are causal.
            crate::logic::state::UpperEdge::End => contattn_core::Upper::Query { offset: 0.0 },
            _ => state.window().upper,
        };
        let window = contattn_core::Window { upper, ..state.window() };
        Ok(Inputs { q, k, v, sink, given: None, spec: Spec { rule: state.rule, window, ..Spec::default() } })
    }

    /// Some rows of it, each at its own time.
    ///
    /// # Errors
    /// [`ProblemError`] where there are no such rows.
    pub fn rows(&self, rows: std::ops::Range<usize>) -> Result<Inputs, ProblemError> {
        let queries = self.q.shape()[2];
        let keys = self.k.shape()[2];
        let view = self.q.view(TensorName::Query, Layout::Bhsd)?.rows(TensorName::Query, rows.clone())?;
        // Rows that sit before node 0 see nothing; their time is before everything.
        let time = |row: usize| keys as f64 - queries as f64 + 1.0 + row as f64;
        let mut inputs = Inputs { q: view.to_tensor(), ..self.clone() };
        inputs.spec.query_times = QueryTimes::At(Series::shared(rows.map(time).collect()));
        Ok(inputs)
    }
}

/// The channel of a head's values that a row shows and edits.
pub const fn channel_shown(_width: usize) -> usize {
    0
}

fn timeline(times: &[f64]) -> Timeline {
    if times.iter().enumerate().all(|(i, &t)| t == i as f64) {
        Timeline::Unit
    } else {
        Timeline::Times(Series::shared(times.to_vec()))
    }
}

fn slice(tensor: &Tensor, head: usize, name: TensorName) -> Result<Tensor, ProblemError> {
    let view = tensor.view(name, Layout::Bhsd)?;
    let [_, _, rows, width] = view.shape();
    let mut numbers = vec![0.0; rows * width];
    for row in 0..rows {
        view.read_row(0, head, row, &mut numbers[row * width..(row + 1) * width]);
    }
    Tensor::from_f64(vec![1, 1, rows, width], tensor.dtype(), numbers)
}

/// The values of the head that a row comes from, by node and channel, the sink's being 0; `None` where it comes from none,
/// or has another number of nodes.
fn linked_values(origin: &Origin, n: usize, source: &Source) -> Option<(usize, Vec<f64>)> {
    let Origin::Head(head) = origin else { return None };
    let layer = source.layers.get(head.layer)?;
    let shape = layer.shape();
    let kv_head = head.head.min(shape.heads - 1) / (shape.heads / shape.kv_heads);
    if n > shape.keys || n == 0 {
        return None;
    }
    let view = layer.v.view(TensorName::Value, Layout::Bhsd).ok()?;
    let width = shape.value_dim;
    let mut all = vec![0.0; (n + 1) * width];
    for node in 1..=n {
        view.read_row(0, kv_head, node - 1, &mut all[node * width..(node + 1) * width]);
    }
    Some((width, all))
}

/// A row of the matrix as a row of its own: the nodes that it sees when causal, with their scores as keys.
///
/// # Errors
/// [`ProblemError`] where the head is not there.
pub fn row_of_head(source: &Source, head: Head) -> Result<Row, ProblemError> {
    let layer = source.layer(head.layer);
    let shape = layer.shape();
    let query_head = head.head.min(shape.heads - 1);
    let kv_head = query_head / (shape.heads / shape.kv_heads);
    let query = head.query.min(shape.queries - 1);
    let last = (shape.keys as isize - shape.queries as isize + 1 + query as isize).max(1) as usize;
    let (q, k, v) = (
        layer.q.view(TensorName::Query, Layout::Bhsd)?,
        layer.k.view(TensorName::Key, Layout::Bhsd)?,
        layer.v.view(TensorName::Value, Layout::Bhsd)?,
    );
    let mut query_row = vec![0.0; shape.head_dim];
    q.read_row(0, query_head, query, &mut query_row);
    let scale = Scale::InverseSqrtHeadDim.value(shape.head_dim);
    let mut keys = vec![0.0];
    let mut values = vec![0.0];
    let mut key = vec![0.0; shape.head_dim];
    for node in 0..last {
        k.read_row(0, kv_head, node, &mut key);
        let score: f64 = query_row.iter().zip(&key).map(|(q, k)| q * k).sum();
        // Held as f32, the type of the tensors, so that the row is exact in every type of the explorer but 16 bits.
        keys.push(f64::from((scale * score) as f32));
        values.push(v.get(0, kv_head, node, channel_shown(shape.value_dim)));
    }
    let times = (0..=last).map(|i| i as f64).collect();
    Ok(Row {
        times,
        keys,
        values,
        query: 1.0,
        origin: Origin::Head(Head { head: query_head, query, ..head }),
        edited: false,
    })
}

/// The element types that a state may hold its inputs in.
pub const DTYPES: [Dtype; 4] = Dtype::ALL;
