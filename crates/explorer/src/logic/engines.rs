//! The engines that views compare. One that is missing on this machine says why.

use contattn_core::{Engine, EngineError, Open};
use contattn_cpu::{Plain, Tiled};
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

/// Every engine, in the order shown. Opening one may take long (a device is started), so it is done once, off the frame.
pub fn all() -> Vec<Entry> {
    vec![
        entry("reference", "arbitrary precision with proof, correctly rounded", Ok(Reference::new())),
        entry("plain", "the readable evaluation in f64", Ok(Plain::<f64>::new())),
        entry("plain-f32", "the readable evaluation in f32", Ok(Plain::<f32>::new())),
        entry("tiled", "SIMD kernels in f32", Tiled::open(contattn_cpu::tiled::Options::default())),
        // Engines on devices are entries here, with the reason in place of the engine where there is no device.
    ]
}
