//! Continuous attention on GPUs: forward and backward in portable WGSL, through wgpu, in f32.
//!
//! The kernels keep to the default limits of WebGPU and need no subgroups; larger tiles and subgroup operations are used where an adapter
//! has them ([`Variant`]). `crates/gpu/KERNELS.md` has the scheme as a drawing, and what bounds it.
//!
//! # Vocabulary
//!
//! - **adapter**: a graphics card, or software that acts as one ([`adapters`]); **device**: an adapter opened for use.
//! - **tile**: 32 or 64 queries against as many keys, of which a workgroup holds the scores.
//! - **slot**: a place on the device's own time line, which has no masks, documents or special sinks.
//! - **record**: a cut segment, a piece of held curve or a moving edge of one row.
//! - **variant**: how the kernels are laid out; **setup**: all that a kernel is assembled for.
//!
//! # Calls that do not block
//!
//! [`Gpu`] is an engine like any other. Beside that, a problem can be [uploaded](Gpu::upload) once and attended many times; a call
//! under way is polled, awaited or waited for ([`Pending`]). So is an upload that a [thread of its own](Gpu::upload_later) makes
//! ([`Uploading`]), which leaves the caller a copy of the tensors to make and no more.
//!
//! ```
//! use contattn_core::{Dtype, EngineError, Layout, Open, Problem, Sink, Spec, Tensor, TensorName};
//! use contattn_gpu::{Gpu, Options};
//!
//! let gpu = match Gpu::open(Options::default()) {
//!     Ok(gpu) => gpu,
//!     // No adapter: the message says what to install.
//!     Err(EngineError::Unavailable { .. }) => return Ok(()),
//!     Err(error) => return Err(error.into()),
//! };
//! // Two nodes after a sink of zeros: all scores are 0, so o is the mean of the curve through 0, 2, 4.
//! let one = |values: &[f64]| Tensor::from_f64(vec![values.len(), 1], Dtype::F32, values.iter().copied());
//! let (q, k, v) = (one(&[1.0])?, one(&[0.0, 0.0])?, one(&[2.0, 4.0])?);
//! let problem = Problem::new(
//!     q.view(TensorName::Query, Layout::Bhsd)?,
//!     k.view(TensorName::Key, Layout::Bhsd)?,
//!     v.view(TensorName::Value, Layout::Bhsd)?,
//!     Sink::Zeros,
//!     Spec::default(),
//! )?;
//! let uploaded = gpu.upload_later(&problem)?.wait()?;
//! let mut call = uploaded.attend(Dtype::F32)?;
//! let output = loop {
//!     // A user interface would draw a frame here.
//!     if let Some(result) = call.try_finish() {
//!         break result?.value;
//!     }
//! };
//! assert_eq!(output.o.to_f64(), [2.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapter;
mod backward;
mod blocks;
mod careful;
mod device;
mod engine;
mod forward;
mod mistakes;
mod owned;
mod params;
mod peak;
mod setups;
mod sight;
mod source;
mod timeline;
mod uploaded;
mod uploading;
#[cfg(test)]
mod validated;
mod variant;
mod work;

#[cfg(test)]
mod tests;

pub use adapter::{Adapter, Choice, HOW_TO_GET_ONE, Kind, Limits, adapters};
pub use device::Options;
pub use engine::Gpu;
pub use uploaded::Uploaded;
pub use uploading::Uploading;
pub use variant::Variant;
pub use work::{Pending, Timed};

/// Name of the engine.
pub(crate) const NAME: &str = "gpu";
