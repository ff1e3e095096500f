//! Exit codes: the part of the answer that a script reads.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Success,
    /// A comparison or a verification ran and failed.
    Failed,
    /// The command line, or what a file holds, is wrong.
    BadInput,
    /// The machine refused: permissions, a full disc, memory, a device.
    Machine,
    /// Stopped by Ctrl-C or by a request to terminate.
    Cancelled,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::BadInput => 2,
            Exit::Machine => 3,
            Exit::Cancelled => 130,
        }
    }

    /// The word for it in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Exit::Success => "success",
            Exit::Failed => "failed",
            Exit::BadInput => "bad input",
            Exit::Machine => "machine",
            Exit::Cancelled => "cancelled",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// The table of exit codes at the end of every long help.
pub(crate) const HELP: &str = "\
Exit codes:
  0    done; for a comparison: they agree
  1    a comparison or a verification ran and failed
  2    the command line, or what a file holds, is wrong
  3    the machine refused: permissions, a full disc, memory, a device
  130  cancelled by Ctrl-C or a request to terminate; no file was written";
