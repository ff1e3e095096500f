//! Keys and values that grow by a token at a time.

use super::operands::read_row;
use contattn_core::{Axis, Problem, ProblemError, Sink, Spec, TensorName, TensorView, View};

/// An append-only cache of keys and values in f32, whose rows the engine reads where they lie.
///
/// Its answer for a query is that of the full pass over all that was appended.
///
/// ```
/// use contattn_core::{Engine, Layout, Open, Request, Sink, Spec, Tensor, TensorName, Unattended};
/// use contattn_cpu::Tiled;
/// use contattn_cpu::tiled::{Cache, Options};
///
/// let one = |x: f64| Tensor::from_f64(vec![1, 1], contattn_core::Dtype::F32, [x]).unwrap();
/// let mut cache = Cache::new(1, 1, 1, 1);
/// for value in [2.0, 4.0] {
///     let (k, v) = (one(0.0), one(value));
///     cache.append(&k.view(TensorName::Key, Layout::Bhsd)?, &v.view(TensorName::Value, Layout::Bhsd)?)?;
/// }
/// // Every score is 0: o is the mean of the curve through 0 (the sink), 2 and 4.
/// let q = one(1.0);
/// let problem = cache.problem(q.view(TensorName::Query, Layout::Bhsd)?, Sink::Zeros, Spec::default())?;
/// let output = Tiled::open(Options::default())?.forward(&problem, &Request::default(), &Unattended)?;
/// assert_eq!(output.o.to_f64(), [2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cache {
    batch: usize,
    kv_heads: usize,
    head_dim: usize,
    value_dim: usize,
    len: usize,
    capacity: usize,
    /// (batch, kv_heads, capacity, width)
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Cache {
    /// An empty one.
    pub fn new(batch: usize, kv_heads: usize, head_dim: usize, value_dim: usize) -> Cache {
        Cache { batch, kv_heads, head_dim, value_dim, len: 0, capacity: 0, keys: Vec::new(), values: Vec::new() }
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds tokens: k (batch, kv_heads, m, head_dim) and v (batch, kv_heads, m, value width), of any element types and strides,
    /// each number rounded once to f32.
    ///
    /// # Errors
    /// [`ProblemError::Shape`] where a shape is not that of the cache; nothing is added then.
    pub fn append(&mut self, k: &TensorView<'_>, v: &TensorView<'_>) -> Result<(), ProblemError> {
        let more = k.shape()[2];
        for (tensor, view, width) in [(TensorName::Key, k, self.head_dim), (TensorName::Value, v, self.value_dim)] {
            let axes = [Axis::Batch, Axis::Heads, Axis::Sequence, Axis::HeadDim];
            let expected = [self.batch, self.kv_heads, more, width];
            for ((axis, found), expected) in axes.into_iter().zip(view.shape()).zip(expected) {
                if found != expected {
                    return Err(ProblemError::Shape { tensor, axis, expected: expected.to_string(), found });
                }
            }
        }
        let len = self.len.checked_add(more).ok_or(ProblemError::TooLarge { tensor: TensorName::Key })?;
        if len > self.capacity {
            self.grow(len.max(2 * self.capacity).max(16));
        }
        for (view, width, rows) in [(k, self.head_dim, &mut self.keys), (v, self.value_dim, &mut self.values)] {
            for at in 0..self.batch * self.kv_heads {
                for row in 0..more {
                    let to = (at * self.capacity + self.len + row) * width;
                    read_row(view, at / self.kv_heads, at % self.kv_heads, row, &mut rows[to..to + width]);
                }
            }
        }
        self.len = len;
        Ok(())
    }

    /// Room for more tokens: twice as much each time, so that a token costs a constant number of copies.
    fn grow(&mut self, capacity: usize) {
        let heads = self.batch * self.kv_heads;
        for (rows, width) in [(&mut self.keys, self.head_dim), (&mut self.values, self.value_dim)] {
            let mut larger = vec![0.0; heads * capacity * width];
            for head in 0..heads {
                let used = self.len * width;
                let from = &rows[head * self.capacity * width..][..used];
                larger[head * capacity * width..][..used].copy_from_slice(from);
            }
            *rows = larger;
        }
        self.capacity = capacity;
    }

    /// Queries (batch, heads, n_q, head_dim) in f32 against all tokens; by default they sit at the last ones.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub fn problem<'a>(&'a self, q: TensorView<'a>, sink: Sink<'a>, spec: Spec) -> Result<Problem<'a>, ProblemError> {
        let view = |tensor, rows: &'a [f32], width: usize| {
            let strides = [self.kv_heads * self.capacity * width, self.capacity * width, width, 1];
            let strides = strides.map(|stride| stride as isize);
            View::strided(tensor, rows, 0, [self.batch, self.kv_heads, self.len, width], strides)
        };
        let k = view(TensorName::Key, &self.keys, self.head_dim)?;
        let v = view(TensorName::Value, &self.values, self.value_dim)?;
        Problem::new(q, k.into(), v.into(), sink, spec)
    }
}
