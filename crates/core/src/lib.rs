//! Continuous attention as checked types.

pub mod dtype;
pub mod error;
pub mod tensor;

pub use dtype::{Dtype, Element};
pub use error::{Axis, ProblemError, TensorName};
pub use tensor::{Elements, Layout, Tensor, TensorView, View};
