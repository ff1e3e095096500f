//! Continuous attention on the CPU.
//!
//! [`Plain`] is the readable evaluation: one row at a time, in `f32` or `f64`, forward and backward, every rule, window and
//! mask. It stays for ever: faster kernels are its twins, keep its names and are tested against it.
//!
//! [`Tiled`] is the fast evaluation in `f32` arithmetic: SIMD kernels for Linear, Step (softmax) and Trapezoid, forward, backward
//! and decoding, on threads. `docs/kernels.md` explains it.
//!
//! # What is computed
//!
//! With scores a_i = scale (q · k_i) and durations D_i, segment i from node i - 1 to node i gives L to its left and R to its right
//! node; under the rule Linear, with x = a_i - a_(i-1),
//!
//! ```text
//! L = D e^a_(i-1) φ2(x)      R = D e^a_i φ2(-x)      φ2(x) = ∫₀¹ e^(sx) (1-s) ds = (e^x - 1 - x)/x²
//!
//! P_i = R_i + L_(i+1)        Z = Σ P_i               w_i = P_i / Z        o = Σ w_i v_i        lse = log Z
//! ```
//!
//! and backward, for upstream gradients g of o and g_lse of lse, softmax's gradient and a discrete diffusion along the keys:
//!
//! ```text
//! G_i = (g·v_i - g·o + g_lse)/Z        h_i = D e^a_(i-1) ∫₀¹ e^(sx) s (1-s) ds
//!
//! ∂L/∂a_i = P_i G_i + h_(i+1) (G_(i+1) - G_i) - h_i (G_i - G_(i-1))        ∂L/∂v_i = w_i g
//! ```
//!
//! # Example
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
