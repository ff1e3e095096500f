//! What every subcommand is given: cancellation, progress, and a place in which Ctrl-C waits.

use crate::exit::Exit;
use crate::print;
use crate::progress::Progress;
use crate::refusal::Refusal;
use contattn_core::{CancelToken, Monitor};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One run of the command.
pub(crate) struct Context {
    cancel: CancelToken,
    writing: Arc<AtomicBool>,
}

impl Context {
    /// Listens for Ctrl-C and requests to terminate. The first one cancels: the engine stops soon and nothing is written.
    /// A second one ends the process at once, unless files are being written.
    pub(crate) fn new() -> anyhow::Result<Context> {
        let context = Context { cancel: CancelToken::default(), writing: Arc::default() };
        let (cancel, writing) = (context.cancel.clone(), Arc::clone(&context.writing));
        ctrlc::set_handler(move || {
            if cancel.is_cancelled() && !writing.load(Ordering::SeqCst) {
                print::refusal(&Refusal::cancelled(), false);
                std::process::exit(i32::from(Exit::Cancelled.code()));
            }
            cancel.cancel();
        })?;
        Ok(context)
    }

    /// Watches a long call: shows how far `what` is on a terminal, and cancels it on Ctrl-C.
    pub(crate) fn monitor(&self, what: &str) -> Progress {
        Progress::new(what, self.cancel.clone())
    }

    /// The same for work that is counted in something else than rows.
    pub(crate) fn monitor_of(&self, what: &str, units: &'static str) -> Progress {
        Progress::of(what, units, self.cancel.clone())
    }

    /// Watches a part of a long call: cancels it, and shows nothing.
    pub(crate) fn quiet(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Refuses to go on after Ctrl-C: called between steps that cannot be interrupted.
    ///
    /// # Errors
    /// [`Refusal::cancelled`].
    pub(crate) fn go_on(&self) -> anyhow::Result<()> {
        if self.cancel.is_cancelled() { Err(Refusal::cancelled().into()) } else { Ok(()) }
    }

    /// Lets `write` write files without being killed half-way by a second Ctrl-C.
    ///
    /// # Errors
    /// That of `write`; [`Refusal::cancelled`] where Ctrl-C came before.
    pub(crate) fn commit<T>(&self, write: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.go_on()?;
        self.writing.store(true, Ordering::SeqCst);
        let written = write();
        self.writing.store(false, Ordering::SeqCst);
        written
    }
}
