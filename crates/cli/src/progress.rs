//! The progress bar: on a terminal, after a moment, and nowhere else.

use crate::print;
use contattn_core::{CancelToken, Monitor};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Shorter work is done before a bar would help.
const SILENT: Duration = Duration::from_millis(400);

/// Watches one long call for whoever sits at the terminal.
pub(crate) struct Progress {
    cancel: CancelToken,
    bar: ProgressBar,
    started: Instant,
    on_terminal: bool,
    shown: AtomicBool,
}

impl Progress {
    pub(crate) fn new(what: &str, cancel: CancelToken) -> Progress {
        Progress::of(what, "rows", cancel)
    }

    /// Of work that is counted in `units`.
    pub(crate) fn of(what: &str, units: &'static str, cancel: CancelToken) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let template = format!("{{msg}} [{{bar:40}}] {{pos}}/{{len}} {units}, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what.to_owned());
        let on_terminal = std::io::stderr().is_terminal();
        Progress { cancel, bar, started: Instant::now(), on_terminal, shown: AtomicBool::new(false) }
    }

    /// Results that are printed while the work goes on, to stdout, without the bar in them.
    ///
    /// # Errors
    /// As [`print::text`].
    pub(crate) fn print(&self, text: &str) -> anyhow::Result<()> {
        self.bar.suspend(|| print::text(text))
    }
}

impl Monitor for Progress {
    fn progress(&self, done: u64, total: u64) {
        if !self.on_terminal {
            return;
        }
        if !self.shown.load(Ordering::Relaxed) {
            if self.started.elapsed() < SILENT {
                return;
            }
            if !self.shown.swap(true, Ordering::Relaxed) {
                self.bar.set_length(total);
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        self.bar.set_position(done);
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
