//! Continuous attention on the CPU.
//!
//! [`Plain`] is the readable evaluation: one row at a time, in `f32` or `f64`, forward and backward, every rule, window and
//! mask. It stays for ever: faster kernels are its twins, keep its names and are tested against it.
//!
//! ```
//! use contattn_core::{Dtype, Engine, Layout, Problem, Request, Sink, Spec, Tensor, TensorName, Unattended};
//! use contattn_cpu::Plain;
//!
//! // Two nodes after a sink of zeros, one query: q . k = 0 everywhere, so the curve is constant in score and o is the mean
//! // of the piecewise-linear curve through 0, 2, 4 over [0, 2].
//! let one = |values: &[f64]| Tensor::from_f64(vec![values.len(), 1], Dtype::F64, values.iter().copied());
//! let (q, k, v) = (one(&[1.0])?, one(&[0.0, 0.0])?, one(&[2.0, 4.0])?);
//! let problem = Problem::new(
//!     q.view(TensorName::Query, Layout::Bhsd)?,
//!     k.view(TensorName::Key, Layout::Bhsd)?,
//!     v.view(TensorName::Value, Layout::Bhsd)?,
//!     Sink::Zeros,
//!     Spec::default(),
//! )?;
//! let output = Plain::<f64>::new().forward(&problem, &Request::default(), &Unattended)?;
//! assert_eq!(output.o.to_f64(), [2.0]);
//! assert_eq!(output.lse.to_f64(), [2f64.ln()]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod plain;
pub mod tiled;

pub use plain::Plain;
pub use tiled::Tiled;
