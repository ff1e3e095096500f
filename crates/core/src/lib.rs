//! Continuous attention as checked types.

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
