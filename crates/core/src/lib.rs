//! Continuous attention as checked types: what is computed, by whichever engine.
//!
//! Keys and values are read as curves k(s), v(s) in time; a query q with window [lower, upper] takes
//!
//! ```text
//!        ∫ e^(q·k(s)) v(s) ds
//! o  =  ──────────────────────        lse  =  log ∫ e^(q·k(s)) ds
//!          ∫ e^(q·k(s)) ds
//! ```
//!
//! This crate says which curve, which window and which numbers; it evaluates nothing. `docs/operator.md` is the same page in
//! full, with every convention.
//!
//! # Vocabulary
//!
//! - **node** i = 0..n: a key k_i and a value v_i at time tau_i. Node 0 is the **sink** ([`Sink`]).
//! - **duration** D_i = tau_i - tau_{i-1}: the [`Timeline`].
//! - **score** a_i = scale (q . k_i).
//! - **segment** i: what lies between node i and the node before it. Masks and document borders remove segments.
//! - **rule**: a map from a segment to (L, R), what it gives to its left and its right node ([`Rule`]); h is how much of the
//!   gradient diffuses between them.
//!
//!   | rule | L | R | h |
//!   |---|---|---|---|
//!   | Linear | D E0 phi2(x) | D E1 phi2(-x) | D E0 psi(x) |
//!   | Step | 0 | D E1 | 0 |
//!   | Trapezoid | D E0 / 2 | D E1 / 2 | 0 |
//!
//!   with E0 = e^{a_left}, E1 = e^{a_right}, x = a_right - a_left, phi2(x) = (e^x - 1 - x)/x^2,
//!   psi(x) = int_0^1 e^{sx} s (1 - s) ds.
//! - **mass** of a segment: L + R. P_j: what node j gets of all segments. Z = sum P_j.
//! - **weight** w_j = P_j / Z, **bias** b_j = log P_j - a_j: continuous attention is softmax of a + b.
//! - **window**: which nodes a query sees, and its interval of time ([`Window`]); an edge may cut a segment.
//! - **domain**: a row's window resolved into **pieces** to add up ([`Domain`], [`Piece`]).
//! - **state**: a partial result that merges with others ([`RowState`]).
//! - **engine**: anything that evaluates a [`Problem`] ([`Engine`]).
//!
//! # Example
//!
//! A problem is checked once, when it is made; what is wrong is named.
//!
//! ```
//! use contattn_core::{Domain, Layout, Problem, Series, Sink, Spec, Tensor, TensorName, Timeline, Dtype};
//!
//! // One head of 4 tokens, head_dim 2, at irregular distances in time; 4 causal queries.
//! let x = Tensor::from_f64(vec![4, 2], Dtype::F32, (0..8).map(f64::from))?;
//! let view = |name| x.view(name, Layout::Bhsd);
//! let (q, k, v) = (view(TensorName::Query)?, view(TensorName::Key)?, view(TensorName::Value)?);
//! let spec = |durations: &[f64]| Spec {
//!     timeline: Timeline::Durations(Series::shared(durations.to_vec())),
//!     ..Spec::default()
//! };
//! let problem = Problem::new(q, k, v, Sink::Zeros, spec(&[1.0, 0.25, 0.0, 3.5]))?;
//! let Domain::Interval(seen) = problem.domain(0, 1) else { panic!("row 1 sees nodes 0 to 3") };
//! assert_eq!(seen.segments, 1..=3); // node 3 stands at the time of node 2
//!
//! let refused = Problem::new(q, k, v, Sink::Zeros, spec(&[1.0, -0.25, 0.0, 3.5])).unwrap_err();
//! assert_eq!(refused.to_string(), "durations[1]: found -0.25, expected a finite number of at least 0");
//! # Ok::<(), contattn_core::ProblemError>(())
//! ```

pub mod domain;
pub mod dtype;
pub mod engine;
pub mod error;
pub mod families;
pub mod file;
pub mod nodes;
pub mod problem;
pub mod real;
pub mod rotary;
pub mod rule;
pub mod series;
pub mod spec;
pub mod state;
pub mod tensor;
pub mod time;

pub use domain::{Domain, Hold, Interval, MovingEdge, Part, Piece, Place, Point};
pub use dtype::{Dtype, Element};
pub use engine::{
    CancelToken, Engine, EngineError, Feature, Gradient, Monitor, Open, Output, Request, SinkGradient, Unattended,
    Upstream,
};
pub use error::{Axis, ProblemError, TensorName};
pub use families::{Family, Sample, SinkKind};
pub use nodes::{Nodes, Stretch};
pub use problem::{Problem, Shape};
pub use real::Real;
pub use rotary::{Pairing, Rotary};
pub use rule::{Rule, UnknownRule};
pub use series::Series;
pub use spec::{Documents, Edge, Lower, QueryTimes, Scale, Sink, Spec, Timeline, Upper, Window};
pub use state::RowState;
pub use tensor::{Elements, Layout, Tensor, TensorView, View};
pub use time::Time;
