//! `contattn bench`: how long things take on this machine, beside others in the same run.

mod cpu;
#[cfg(feature = "explorer")]
mod explorer;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "reference")]
mod peers;
#[cfg(feature = "reference")]
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
    Cpu(cpu::Args),
    #[cfg(feature = "reference")]
    Reference(reference::Args),
    #[cfg(feature = "gpu")]
    Gpu(gpu::Args),
    #[cfg(feature = "explorer")]
    Explorer(explorer::Args),
}

/// Measures.
///
/// # Errors
/// Engines; files; cancellation.
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Cpu(args) => cpu::run(args, context),
        #[cfg(feature = "reference")]
        What::Reference(args) => reference::run(args, context),
        #[cfg(feature = "gpu")]
        What::Gpu(args) => gpu::run(args, context),
        #[cfg(feature = "explorer")]
        What::Explorer(args) => explorer::run(args, context),
    }
}
