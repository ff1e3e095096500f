//! The engines that views compare. One that is missing on this machine says why.

use contattn_core::{Engine, EngineError, Open};
use contattn_cpu::{Plain, Tiled};
use contattn_gpu::{Gpu, Options};
use contattn_reference::Reference;
use std::sync::Arc;

/// An engine of the list.
#[derive(Clone)]
pub struct Entry {
    /// its name, as on the command line
    pub name: &'static str,
    /// one line of what it is
    pub about: &'static str,
    /// the engine, or why this machine cannot have it
    pub engine: Result<Arc<dyn Engine>, EngineError>,
}

fn entry<E: Engine + 'static>(name: &'static str, about: &'static str, open: Result<E, EngineError>) -> Entry {
    Entry { name, about, engine: open.map(|engine| Arc::new(engine) as Arc<dyn Engine>) }
}

/// How the engine on a GPU is opened.
pub type OpenGpu = Box<dyn FnOnce() -> Result<Gpu, EngineError> + Send>;

/// The best adapter, opened for this engine alone.
///
/// # Errors
/// What is missing, and what to install.
pub fn gpu_of_its_own() -> Result<Gpu, EngineError> {
    Gpu::open(Options::default())
}

/// Every engine, in the order shown. Opening one may take long (a device is started), so it is done once, off the frame.
pub fn all(open_gpu: OpenGpu) -> Vec<Entry> {
    vec![
        entry("reference", "arbitrary precision with proof, correctly rounded", Ok(Reference::new())),
        entry("plain", "the readable evaluation in f64", Ok(Plain::<f64>::new())),
        entry("plain-f32", "the readable evaluation in f32", Ok(Plain::<f32>::new())),
        entry("tiled", "SIMD kernels in f32", Tiled::open(contattn_cpu::tiled::Options::default())),
        entry("gpu", "WGSL kernels in f32 on the best GPU adapter", open_gpu()),
    ]
}
