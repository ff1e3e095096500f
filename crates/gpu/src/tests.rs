//! What tests on an adapter have in common.

use contattn_core::EngineError;
use std::io::Write;

/// The engine, or a line that says by name which test was skipped. The rest of the project's checks look for that line.
pub(crate) fn or_skip<T>(name: &str, opened: Result<T, EngineError>) -> Option<T> {
    match opened {
        Ok(engine) => Some(engine),
        Err(EngineError::Unavailable { reason, .. }) => {
            // Written so that it shows for tests that pass, too.
            let _ = writeln!(std::io::stderr(), "skipped: {name}: no GPU adapter ({reason})");
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}
