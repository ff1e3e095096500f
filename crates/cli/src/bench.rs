//! `contattn bench`: how long things take on this machine, beside others in the same run.

#[cfg(feature = "explorer")]
mod explorer;
mod peers;
mod reference;

use crate::context::Context;
use crate::exit;
use std::process::ExitCode;

/// Measures speed on this machine, beside other libraries in the same run.
#[derive(Debug, clap::Args)]
#[command(after_long_help = exit::HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Reference(reference::Args),
    #[cfg(feature = "explorer")]
    Explorer(explorer::Args),
}

/// Measures.
///
/// # Errors
/// Engines; files; cancellation.
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Reference(args) => reference::run(args, context),
        #[cfg(feature = "explorer")]
        What::Explorer(args) => explorer::run(args, context),
    }
}
