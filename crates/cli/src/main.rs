//! `contattn`: continuous attention at the command line.
//!
//! ```text
//! o(t) = ∫ e^(q·k(s)) v(s) ds / ∫ e^(q·k(s)) ds        over the query's window of time
//! ```
//!
//! Each subcommand is a module with its options, its long help and its `run`. What they share: `problem` (options and files
//! become a checked problem), `results` (results become files and a summary), `engines` (the one list of engines),
//! `refusal` (every error as one line of what and one line of advice), `context` (cancellation and progress).

mod attend;
mod bench;
mod command;
mod compare;
mod context;
mod engines;
mod exit;
mod formats;
mod golden;
mod grad;
mod heads;
#[cfg(feature = "reference")]
mod phi;
mod print;
mod problem;
mod progress;
mod refusal;
mod results;
#[cfg(feature = "reference")]
mod taylor;
#[cfg(feature = "reference")]
mod verify;

use clap::Parser;
use command::Cli;
use context::Context;
use exit::Exit;
use refusal::Refusal;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Asked for before the arguments are known to be right, so that their errors are JSON too.
    let json = std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json");
    let outcome = match Cli::try_parse() {
        Ok(cli) => Context::new().and_then(|context| cli.command.run(&context)),
        Err(error) => refusal::usage(&error),
    };
    outcome.unwrap_or_else(|error| {
        // A reader that closed the pipe has what it wanted.
        if print::is_closed_pipe(&error) {
            return Exit::Success.into();
        }
        let refusal = Refusal::of(&error);
        print::refusal(&refusal, json);
        refusal.exit.into()
    })
}
