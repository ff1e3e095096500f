//! `contattn golden`: the golden corpus written, listed, and used to check results from anywhere.

mod check;
mod list;
#[cfg(feature = "reference")]
mod write;

use crate::context::Context;
use crate::exit;
use crate::refusal::Refusal;
use contattn_check::golden::GoldenError;
use std::path::PathBuf;
use std::process::ExitCode;

/// Problems with correctly rounded results, as files: list them, check against them, write them.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = exit::HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    List(list::Args),
    Check(Box<check::Args>),
    #[cfg(feature = "reference")]
    Write(write::Args),
}

const ABOUT: &str = "\
Problems with correctly rounded results, as files: list them, check against them, write them.

A corpus is a folder with one .safetensors file for each case and manifest.json, which says how to
state each problem, how far off a result may be, and what proves the results that it holds. Its
format is in docs/golden.md and docs/schema.";

/// Where the corpus lies.
#[derive(Debug, clap::Args)]
struct Folder {
    /// Folder of the corpus
    #[arg(long, value_name = "DIR", default_value = "tests/golden")]
    dir: PathBuf,
}

/// Does it.
///
/// # Errors
/// Files; names of cases and results; cancellation.
#[cfg_attr(not(feature = "reference"), allow(unused_variables))] // writing alone takes long
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::List(args) => list::run(args),
        Action::Check(args) => check::run(args),
        #[cfg(feature = "reference")]
        Action::Write(args) => write::run(args, context),
    }
    .map_err(with_advice)
}

/// What is wrong with a corpus, with what to do about it.
fn with_advice(error: anyhow::Error) -> anyhow::Error {
    let Some(golden) = error.downcast_ref::<GoldenError>() else { return error };
    let advice = match golden {
        GoldenError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            "name the folder of the corpus with --dir; in the repository it is tests/golden".to_owned()
        }
        GoldenError::NoSuchCase { similar, .. } if !similar.is_empty() => {
            format!("perhaps {}; `contattn golden list` shows all", similar.join(", "))
        }
        GoldenError::NoSuchCase { .. } => "`contattn golden list` shows the names".to_owned(),
        GoldenError::NoSuchOutput { .. } => {
            "name the tensor as the result that it is, or say which one it is with --output".to_owned()
        }
        GoldenError::Shape { .. } => {
            "results have the layout of the case's q, k and v; with a given sink, dk and dv have its row first"
                .to_owned()
        }
        _ => "the corpus is damaged: take it again from where it came from, or write it with `contattn golden write`"
            .to_owned(),
    };
    Refusal::bad_input(golden.to_string(), advice).into()
}
