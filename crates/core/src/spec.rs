//! Everything about a problem but its tensors: rule, window, time line, masks, scale.

use crate::rule::Rule;
use crate::series::Series;
use crate::tensor::TensorView;

/// Where the nodes stand in time.
///
/// Proofs: `eq3_curve`, `curve_node`, `eq3_uniform`.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Timeline {
    /// tau_i = i: every duration is 1.
    #[default]
    Unit,
    /// D_1..D_n, each finite and at least 0; tau_0 = 0 and tau_i = D_1 + ... + D_i. Shape (n) or (batch, n).
    Durations(Series<f64>),
    /// tau_0..tau_n, finite and in order. Shape (n + 1) or (batch, n + 1).
    Times(Series<f64>),
}

/// The times t of the queries.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum QueryTimes {
    /// The n_q rows sit at the last n_q nodes, so row r at node n - n_q + 1 + r; a causal row before node 0 sees nothing.
    #[default]
    LastNodes,
    /// Finite times, in any order. Shape (n_q) or (batch, n_q).
    At(Series<f64>),
}

/// An edge of the window that is given as a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Edge {
    /// The same for every row.
    All(f64),
    /// One for each row: shape (n_q) or (batch, n_q). Windows counted in tokens are given so.
    Rows(Series<f64>),
}

impl Edge {
    /// The edge of one row.
    pub(crate) fn of(&self, batch: usize, row: usize) -> f64 {
        match self {
            Edge::All(t) => *t,
            Edge::Rows(rows) => rows.row(batch)[row],
        }
    }
}

/// Where a window begins.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Lower {
    /// The first visible node.
    #[default]
    Start,
    /// A fixed time.
    At(Edge),
    /// max(start, t - width), width in units of time, finite and at least 0; causal windows only.
    Sliding(f64),
}

/// Which nodes a row sees, and where its window ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Upper {
    /// All nodes are visible; the window ends at the last one.
    End,
    /// All nodes are visible; the window ends at a fixed time, which may lie inside a segment or outside the nodes.
    At(Edge),
    /// Causal: the nodes with tau_i <= t are visible (Step: tau_{i-1} < t); the window ends at t + offset.
    Query {
        /// added to t; finite
        offset: f64,
    },
}

/// The visible nodes of a query and its interval [lower, upper] of time.
///
/// Between visible nodes the curve is interpolated; outside them it is held constant.
///
/// Proofs: `curve_continuous`, `curve_continuous_everywhere`, `attention_within_window`, `curve_after`,
/// `curve_before`, `later_nodes`, `past_window_weight`.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// where it begins
    pub lower: Lower,
    /// which nodes are visible, and where it ends
    pub upper: Upper,
}

impl Window {
    /// Every node, from the first to the last.
    pub const fn full() -> Window {
        Window { lower: Lower::Start, upper: Upper::End }
    }

    /// [start, t]: Su's interval.
    pub const fn causal() -> Window {
        Window { lower: Lower::Start, upper: Upper::Query { offset: 0.0 } }
    }

    /// [max(start, t - width), t].
    pub const fn sliding(width: f64) -> Window {
        Window { lower: Lower::Sliding(width), upper: Upper::Query { offset: 0.0 } }
    }

    /// [lower, upper], all nodes visible.
    pub const fn between(lower: f64, upper: f64) -> Window {
        Window { lower: Lower::At(Edge::All(lower)), upper: Upper::At(Edge::All(upper)) }
    }

    /// [lower, t + offset], causal.
    pub const fn causal_between(lower: f64, offset: f64) -> Window {
        Window { lower: Lower::At(Edge::All(lower)), upper: Upper::Query { offset } }
    }

    /// Whether what a row sees depends on its time t.
    pub const fn is_causal(&self) -> bool {
        matches!(self.upper, Upper::Query { .. })
    }
}

impl Default for Window {
    fn default() -> Window {
        Window::causal()
    }
}

/// The factor in a_i = scale (q . k_i).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Scale {
    /// 1/sqrt(head_dim), kept as that: the reference takes the root exactly.
    #[default]
    InverseSqrtHeadDim,
    /// This `f64`; finite.
    Value(f64),
}

impl Scale {
    /// As an `f64`, rounded.
    pub fn value(self, head_dim: usize) -> f64 {
        match self {
            Scale::InverseSqrtHeadDim => 1.0 / libm::sqrt(head_dim as f64),
            Scale::Value(scale) => scale,
        }
    }
}

/// Packed documents: each is a run of neighbouring nodes that behaves as if it stood alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Documents {
    /// Document of nodes 1..n; any numbers, each on one run of neighbours. Shape (n) or (batch, n).
    pub keys: Series<i64>,
    /// Document of each query, shape (n_q) or (batch, n_q); by default that of the node at which its row sits.
    pub queries: Option<Series<i64>>,
}

/// All of a problem but its tensors. The default is causal continuous softmax attention on the unit time line.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Spec {
    /// what a segment gives to its nodes
    pub rule: Rule,
    /// what a row sees
    pub window: Window,
    /// where the nodes stand
    pub timeline: Timeline,
    /// where the queries stand
    pub query_times: QueryTimes,
    /// which of nodes 1..n are kept: shape (n) or (batch, n). A segment is kept where both its ends are (Step: where its own
    /// node is); leading nodes that are not kept do not exist, and the sink joins the first kept node by that node's D.
    pub key_mask: Option<Series<bool>>,
    /// borders of packed documents
    pub documents: Option<Documents>,
    /// factor of the scores
    pub scale: Scale,
}

impl Spec {
    /// Whether all rows of a batch see the same: nothing about a row's domain depends on the row.
    pub fn rows_share_domains(&self) -> bool {
        let shared = |edge: &Edge| matches!(edge, Edge::All(_));
        let lower = match &self.window.lower {
            Lower::Start => true,
            Lower::At(edge) => shared(edge),
            Lower::Sliding(_) => false,
        };
        let upper = match &self.window.upper {
            Upper::End => true,
            Upper::At(edge) => shared(edge),
            Upper::Query { .. } => false,
        };
        lower && upper && self.documents.is_none()
    }

    /// Whether some edge of a window may move relative to the curve when durations change: all but those that sit on nodes. The
    /// Taylor rule has no durations.
    pub fn has_moving_edges(&self) -> bool {
        let elsewhere = self.documents.as_ref().is_some_and(|documents| documents.queries.is_some());
        let on_nodes = !elsewhere
            && matches!(self.window.lower, Lower::Start)
            && match self.window.upper {
                Upper::End => true,
                Upper::At(_) => false,
                Upper::Query { offset } => offset == 0.0 && self.query_times == QueryTimes::LastNodes,
            };
        !on_nodes && !matches!(self.rule, Rule::Taylor(_))
    }
}

/// Node 0: what stands before the first key.
///
/// Proofs: `sink_absent`, `sink_absent_weight`.
#[derive(Clone, Copy, Debug, Default)]
pub enum Sink<'a> {
    /// There is none: the curve starts at node 1.
    Absent,
    /// k_0 = 0, v_0 = 0, so its score is 0.
    #[default]
    Zeros,
    /// k_0 and v_0 are those of the first (kept) node, for each document its own.
    Copy,
    /// Given, for instance trained: shapes (batch, kv_heads, 1, head_dim) and (batch, kv_heads, 1, value width).
    Given {
        /// k_0
        key: TensorView<'a>,
        /// v_0
        value: TensorView<'a>,
    },
}

impl Sink<'_> {
    /// Whether node 0 exists.
    pub const fn is_present(&self) -> bool {
        !matches!(self, Sink::Absent)
    }

    /// The name used on the command line.
    pub const fn name(&self) -> &'static str {
        match self {
            Sink::Absent => "absent",
            Sink::Zeros => "zeros",
            Sink::Copy => "copy",
            Sink::Given { .. } => "given",
        }
    }
}
