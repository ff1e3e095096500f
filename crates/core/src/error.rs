//! What can be wrong with a problem, as data: which tensor, which axis, expected and found.

use crate::dtype::Dtype;
use std::fmt;

/// The inputs of a problem, as errors name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TensorName {
    /// queries
    Query,
    /// keys of nodes 1..n
    Key,
    /// values of nodes 1..n
    Value,
    /// key of node 0
    SinkKey,
    /// value of node 0
    SinkValue,
    /// D_1..D_n
    Durations,
    /// tau_0..tau_n
    Times,
    /// times of the queries
    QueryTimes,
    /// lower edge of the window
    LowerEdges,
    /// upper edge of the window
    UpperEdges,
    /// which keys are kept
    KeyMask,
    /// document of each key
    Documents,
    /// document of each query
    QueryDocuments,
    /// the number that multiplies q . k
    Scale,
    /// upstream gradient of o
    UpstreamOutput,
    /// upstream gradient of lse
    UpstreamLse,
    /// input of the rotary embedding
    Rotary,
    /// positions of the rotary embedding
    Positions,
}

impl TensorName {
    /// The name shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            TensorName::Query => "q",
            TensorName::Key => "k",
            TensorName::Value => "v",
            TensorName::SinkKey => "sink k",
            TensorName::SinkValue => "sink v",
            TensorName::Durations => "durations",
            TensorName::Times => "times",
            TensorName::QueryTimes => "query times",
            TensorName::LowerEdges => "lower edges",
            TensorName::UpperEdges => "upper edges",
            TensorName::KeyMask => "key mask",
            TensorName::Documents => "documents",
            TensorName::QueryDocuments => "query documents",
            TensorName::Scale => "scale",
            TensorName::UpstreamOutput => "upstream gradient of o",
            TensorName::UpstreamLse => "upstream gradient of lse",
            TensorName::Rotary => "rotary input",
            TensorName::Positions => "positions",
        }
    }
}

impl fmt::Display for TensorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The axes of a tensor, as errors name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// axis 0
    Batch,
    /// axis 1
    Heads,
    /// axis 2
    Sequence,
    /// axis 3
    HeadDim,
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Axis::Batch => "batch",
            Axis::Heads => "heads",
            Axis::Sequence => "sequence",
            Axis::HeadDim => "head_dim",
        })
    }
}

/// Why a [`Problem`](crate::Problem) or one of its parts cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// An axis has the wrong length.
    #[error("{tensor}: axis {axis} has length {found}, expected {expected}")]
    Shape {
        /// the tensor at fault
        tensor: TensorName,
        /// its axis
        axis: Axis,
        /// what would be right
        expected: String,
        /// the length found
        found: usize,
    },
    /// A tensor has the wrong number of axes.
    #[error("{tensor}: {found} axes, expected {expected}")]
    Rank {
        /// the tensor at fault
        tensor: TensorName,
        /// what would be right
        expected: &'static str,
        /// the rank found
        found: usize,
    },
    /// Two tensors that must share an element type do not.
    #[error("{tensor}: element type {found}, expected {expected} as in q")]
    Dtype {
        /// the tensor at fault
        tensor: TensorName,
        /// type of the queries
        expected: Dtype,
        /// the type found
        found: Dtype,
    },
    /// A shape asks for another number of elements than there are.
    #[error("shape {shape:?} does not hold {found} elements")]
    ElementCount {
        /// the shape asked for
        shape: Vec<usize>,
        /// the elements there are
        found: usize,
    },
    /// Strides lead outside the data.
    #[error("{tensor}: strides reach elements {first}..={last}, the data holds {len}")]
    OutOfBounds {
        /// the tensor at fault
        tensor: TensorName,
        /// lowest element reached
        first: i128,
        /// highest element reached
        last: i128,
        /// elements there are
        len: usize,
    },
    /// A shape whose number of elements overflows.
    #[error("{tensor}: more elements than this machine can address")]
    TooLarge {
        /// the tensor at fault
        tensor: TensorName,
    },
    /// A number outside its domain.
    #[error("{tensor}{index:?}: found {found}, expected {expected}")]
    Number {
        /// the tensor at fault
        tensor: TensorName,
        /// where in it; empty for a single number
        index: Vec<usize>,
        /// what would be right
        expected: &'static str,
        /// the number found
        found: f64,
    },
    /// Two edges of a window in the wrong order.
    #[error("window{index:?}: lower edge {lower} lies above upper edge {upper}")]
    WindowReversed {
        /// (batch, row) or (row); empty for a window shared by all rows
        index: Vec<usize>,
        /// the lower edge
        lower: f64,
        /// the upper edge
        upper: f64,
    },
    /// A document's nodes do not stand together.
    #[error("documents{index:?}: document {document} returns after another one; each must be one run of neighbours")]
    DocumentSplit {
        /// where it returns
        index: Vec<usize>,
        /// the document's number
        document: i64,
    },
    /// The rule cannot be evaluated on this time line or window.
    #[error("rule {rule}: {reason}")]
    Rule {
        /// the rule's name
        rule: String,
        /// what it needs
        reason: String,
    },
    /// Two parts of a problem that exclude each other.
    #[error("{0}")]
    Conflict(&'static str),
}
