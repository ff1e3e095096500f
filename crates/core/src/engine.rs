//! What an engine is: anything that evaluates a [`Problem`].

use crate::dtype::Dtype;
use crate::error::{Axis, ProblemError, TensorName};
use crate::problem::Problem;
use crate::rule::Rule;
use crate::spec::{Lower, QueryTimes, Timeline, Upper};
use crate::tensor::{Tensor, TensorView};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What to return besides o and lse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Request {
    /// the weights w, (batch, heads, n_q, n + 1): n_q x n numbers for each head
    pub weights: bool,
    /// the bias b, of the same shape
    pub bias: bool,
    /// element type of the results; by default that of the inputs
    pub dtype: Option<Dtype>,
}

impl Request {
    /// Element type of the results for this problem.
    pub fn dtype(&self, problem: &Problem<'_>) -> Dtype {
        self.dtype.unwrap_or_else(|| problem.dtype())
    }
}

/// Results of the forward pass, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// o: (batch, heads, n_q, value width)
    pub o: Tensor,
    /// lse = log Z: (batch, heads, n_q); `f32` where o has a 16-bit type
    pub lse: Tensor,
    /// w: (batch, heads, n_q, n + 1); column 0 is the sink (that of the row's document)
    pub weights: Option<Tensor>,
    /// b: (batch, heads, n_q, n + 1); -infinity where the weight is 0 because nothing of the node is visible
    pub bias: Option<Tensor>,
}

/// Gradients that come from above.
#[derive(Clone, Copy, Debug)]
pub struct Upstream<'a> {
    o: TensorView<'a>,
    lse: Option<TensorView<'a>>,
}

impl<'a> Upstream<'a> {
    /// g of shape (batch, heads, n_q, value width), and g_lse of shape (batch, heads, n_q, 1), of any element types and
    /// strides.
    ///
    /// # Errors
    /// [`ProblemError::Shape`] where a shape is not that of the problem's output.
    pub fn new(
        problem: &Problem<'_>,
        o: TensorView<'a>,
        lse: Option<TensorView<'a>>,
    ) -> Result<Upstream<'a>, ProblemError> {
        let shape = problem.shape();
        let check = |tensor, view: &TensorView<'_>, width| {
            let expected = [shape.batch, shape.heads, shape.queries, width];
            let axes = [Axis::Batch, Axis::Heads, Axis::Sequence, Axis::HeadDim];
            for ((axis, found), expected) in axes.into_iter().zip(view.shape()).zip(expected) {
                if found != expected {
                    return Err(ProblemError::Shape { tensor, axis, expected: expected.to_string(), found });
                }
            }
            Ok(())
        };
        check(TensorName::UpstreamOutput, &o, shape.value_dim)?;
        if let Some(lse) = &lse {
            check(TensorName::UpstreamLse, lse, 1)?;
        }
        Ok(Upstream { o, lse })
    }

    /// g: (batch, heads, n_q, value width)
    pub fn o(&self) -> &TensorView<'a> {
        &self.o
    }

    /// g_lse: (batch, heads, n_q, 1)
    pub fn lse(&self) -> Option<&TensorView<'a>> {
        self.lse.as_ref()
    }
}

/// Results of the backward pass, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// dL/dq: (batch, heads, n_q, head_dim)
    pub dq: Tensor,
    /// dL/dk of nodes 1..n: (batch, kv_heads, n, head_dim)
    pub dk: Tensor,
    /// dL/dv of nodes 1..n: (batch, kv_heads, n, value width)
    pub dv: Tensor,
    /// gradient of a given sink; `None` for every other sink (that of `copy` is part of dk and dv)
    pub sink: Option<SinkGradient>,
    /// dL/dD: (n), or (batch, n) where the time line was given for each batch; `None` under the Taylor rule, which has no
    /// durations. Heads, and batches that share a time line, are summed. Type as lse.
    pub durations: Option<Tensor>,
}

/// Gradient of a given sink.
#[derive(Clone, Debug, PartialEq)]
pub struct SinkGradient {
    /// dL/dk_0: (batch, kv_heads, 1, head_dim)
    pub dk: Tensor,
    /// dL/dv_0: (batch, kv_heads, 1, value width)
    pub dv: Tensor,
}

/// Something that a problem or a call may need and an engine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// a rule; Taylor with its order
    Rule(Rule),
    /// inputs of this type
    Input(Dtype),
    /// results of this type
    Results(Dtype),
    /// gradients
    Backward,
    /// returning the weights
    Weights,
    /// returning the bias
    Bias,
    /// durations other than 1
    IrregularTime,
    /// query times that are given
    QueryTimes,
    /// a window that begins or ends at fixed times
    FixedEdges,
    /// a sliding window
    SlidingWindow,
    /// an upper edge t + offset with an offset other than 0
    OffsetEdge,
    /// a key mask
    KeyMask,
    /// packed documents
    Documents,
    /// a sink of this kind, by [`Sink::name`](crate::Sink::name)
    Sink(&'static str),
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Feature::Rule(rule) => write!(f, "rule {rule}"),
            Feature::Input(dtype) => write!(f, "{dtype} inputs"),
            Feature::Results(dtype) => write!(f, "{dtype} results"),
            Feature::Backward => f.write_str("gradients"),
            Feature::Weights => f.write_str("returning the weights"),
            Feature::Bias => f.write_str("returning the bias"),
            Feature::IrregularTime => f.write_str("durations other than 1"),
            Feature::QueryTimes => f.write_str("given query times"),
            Feature::FixedEdges => f.write_str("windows with fixed edges"),
            Feature::SlidingWindow => f.write_str("sliding windows"),
            Feature::OffsetEdge => f.write_str("an upper edge off the query's time"),
            Feature::KeyMask => f.write_str("a key mask"),
            Feature::Documents => f.write_str("packed documents"),
            Feature::Sink(kind) => write!(f, "sink {kind}"),
        }
    }
}

impl Feature {
    /// One of each kind, for lists of what an engine supports; Taylor by its lowest orders.
    pub fn all() -> Vec<Feature> {
        let rules = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(0), Rule::Taylor(1), Rule::Taylor(2)];
        let mut all: Vec<Feature> = rules.into_iter().map(Feature::Rule).collect();
        all.extend(Dtype::ALL.into_iter().map(Feature::Input));
        all.extend(Dtype::ALL.into_iter().map(Feature::Results));
        all.extend([
            Feature::Backward,
            Feature::Weights,
            Feature::Bias,
            Feature::IrregularTime,
            Feature::QueryTimes,
            Feature::FixedEdges,
            Feature::SlidingWindow,
            Feature::OffsetEdge,
            Feature::KeyMask,
            Feature::Documents,
        ]);
        all.extend(["absent", "zeros", "copy", "given"].map(Feature::Sink));
        all
    }
}

impl Problem<'_> {
    /// What evaluating this problem needs of an engine.
    pub fn features(&self, request: &Request) -> Vec<Feature> {
        let spec = self.spec();
        let mut needed = vec![
            Feature::Rule(spec.rule),
            Feature::Input(self.dtype()),
            Feature::Results(request.dtype(self)),
            Feature::Sink(self.sink().name()),
        ];
        let fixed_edges = matches!(spec.window.lower, Lower::At(_)) || matches!(spec.window.upper, Upper::At(_));
        let mut need = |feature, needs: bool| {
            if needs {
                needed.push(feature);
            }
        };
        need(Feature::Weights, request.weights);
        need(Feature::Bias, request.bias);
        need(Feature::IrregularTime, spec.timeline != Timeline::Unit);
        need(Feature::QueryTimes, spec.query_times != QueryTimes::LastNodes);
        need(Feature::FixedEdges, fixed_edges);
        need(Feature::SlidingWindow, matches!(spec.window.lower, Lower::Sliding(_)));
        need(Feature::OffsetEdge, matches!(spec.window.upper, Upper::Query { offset } if offset != 0.0));
        need(Feature::KeyMask, spec.key_mask.is_some());
        need(Feature::Documents, spec.documents.is_some());
        needed
    }
}

/// Why an engine did not return a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The engine lacks something that the call needs.
    #[error("engine {engine} does not support {feature}")]
    Unsupported {
        /// name of the engine
        engine: String,
        /// what it lacks
        feature: Feature,
    },
    /// The machine lacks something that the engine needs.
    #[error("engine {engine} is not available here: {reason}")]
    Unavailable {
        /// name of the engine
        engine: String,
        /// what is missing, and what to do
        reason: String,
    },
    /// The caller's [`Monitor`] asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// A result or scratch space does not fit into memory.
    #[error("{what} needs {bytes} bytes, which this machine does not give")]
    OutOfMemory {
        /// what was to be held
        what: &'static str,
        /// how much it needs
        bytes: u128,
    },
    /// A device failed in the middle of a call.
    #[error("device of engine {engine}: {reason}")]
    Device {
        /// name of the engine
        engine: String,
        /// what the device said
        reason: String,
    },
}

/// Watches a long call, and may stop it.
pub trait Monitor: Sync {
    /// Called now and then with how many of `total` units (rows of q over all heads and batches) are done.
    fn progress(&self, done: u64, total: u64) {
        let _ = (done, total);
    }

    /// Asked between rows or tiles; once true, the call returns [`EngineError::Cancelled`] soon.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Nobody watches: never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unattended;

impl Monitor for Unattended {}

/// A switch to cancel a call from elsewhere; clones share it.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks the call to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Monitor for CancelToken {
    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Anything that evaluates problems. Engines need not check a problem again: its type says that it was checked.
pub trait Engine: Send + Sync {
    /// Its name, as on the command line.
    fn name(&self) -> &str;

    /// The type in which it does its sums: what its allowances are derived from.
    fn arithmetic(&self) -> Dtype;

    /// Whether it has this feature.
    fn supports(&self, feature: Feature) -> bool;

    /// o, lse and what else was requested.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] names the first feature that is lacking; cancellation; memory; devices.
    fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError>;

    /// The gradients of L where dL/do = g and dL/dlse = g_lse, of element type `request.dtype`.
    ///
    /// `saved` is what [`forward`](Engine::forward) of the same engine returned for the same problem, if it was kept: an
    /// engine may then skip computing o and lse again.
    ///
    /// # Errors
    /// As [`forward`](Engine::forward).
    fn backward(
        &self,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        saved: Option<&Output>,
        request: &Request,
        monitor: &dyn Monitor,
    ) -> Result<Gradient, EngineError>;

    /// Refuses, by name, what a call needs and this engine lacks.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`].
    fn check(&self, problem: &Problem<'_>, request: &Request) -> Result<(), EngineError> {
        match problem.features(request).into_iter().find(|&feature| !self.supports(feature)) {
            None => Ok(()),
            Some(feature) => Err(EngineError::Unsupported { engine: self.name().to_owned(), feature }),
        }
    }
}

/// An engine whose making can fail, for instance where an instruction set or a device is missing.
pub trait Open: Engine + Sized {
    /// What can be chosen.
    type Options: Default;

    /// Makes the engine.
    ///
    /// # Errors
    /// [`EngineError::Unavailable`] with what is missing.
    fn open(options: Self::Options) -> Result<Self, EngineError>;
}

/// An empty vector with room for `len` elements, or an error where the machine does not give it.
///
/// # Errors
/// [`EngineError::OutOfMemory`].
pub fn reserve<T>(what: &'static str, len: u128) -> Result<Vec<T>, EngineError> {
    let failed = || EngineError::OutOfMemory { what, bytes: len.saturating_mul(size_of::<T>() as u128) };
    let mut room = Vec::new();
    room.try_reserve_exact(usize::try_from(len).map_err(|_| failed())?).map_err(|_| failed())?;
    Ok(room)
}
