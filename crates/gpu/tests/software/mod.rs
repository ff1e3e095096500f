//! Opening the software adapter, or saying by name which test was skipped.

use contattn_core::{EngineError, Open};
use contattn_gpu::{Choice, Gpu, Options, Variant};
use std::io::Write;

/// The engine on the software adapter. Without one a line says which test was skipped; continuous integration looks for that line.
#[allow(dead_code)] // not every test file asks for each
pub(crate) fn open(test: &str, options: Options) -> Option<Gpu> {
    match Gpu::open(Options { adapter: Choice::Software, ..options }) {
        Ok(engine) => Some(engine),
        Err(EngineError::Unavailable { reason, .. }) => {
            skipped(test, &format!("no GPU adapter ({reason})"));
            None
        }
        Err(error) => panic!("{test}: {error}"),
    }
}

/// Says that a test was skipped: so that it shows for tests that pass, too, and in one piece.
#[allow(dead_code)]
pub(crate) fn skipped(test: &str, why: &str) {
    let line = format!("skipped: {test}: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// One variant on the software adapter.
#[allow(dead_code)]
pub(crate) fn variant(test: &str, variant: Variant) -> Option<Gpu> {
    open(test, Options { variant: Some(variant), ..Options::default() })
}
