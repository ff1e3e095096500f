#![forbid(unsafe_code)]
//! Continuous attention in arbitrary precision.

pub mod enclosure;
pub mod engine;
pub mod exact;
pub mod gradient;
pub mod nodes;
pub mod phi;
pub mod quadrature;
pub mod rounding;
pub mod route;
pub mod segments;
pub mod taylor;
pub mod theorems;
pub mod value;

pub use enclosure::Enclosure;
pub use engine::{Certificate, Reference};
pub use exact::ExactProblem;
pub use route::Route;
pub use value::{Certified, RowGradient, RowValues};
