//! `contattn bench explorer`.

use crate::context::Context;
use crate::exit::Exit;
use crate::print;
use crate::refusal::Refusal;
use contattn_explorer::bench::{Measure, measure};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// The explorer: frames while a node is dragged, results, an idle window, the start, memory.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT)]
pub(super) struct Args {
    /// Write the figures to a file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const ABOUT: &str = "\
The explorer: frames while a node is dragged, results, an idle window, the start, memory.

Runs the whole explorer without a window: a frame is its logic, its drawing and its tessellation. What the
device then draws is not counted. Exit code 1 where a figure is worse than wanted.";

#[derive(Debug, Serialize)]
struct Report {
    command: &'static str,
    version: &'static str,
    measures: Vec<Measure>,
}

/// Measures and prints.
///
/// # Errors
/// Files; an explorer that does not settle.
pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let measures = measure(folder.path()).map_err(|error| Refusal {
        exit: Exit::Machine,
        what: error.to_string(),
        advice: "run it again on a machine that does nothing else".to_owned(),
    })?;
    let mut text = format!("{:64} {:>10} {:>10}\n", "", "measured", "at most");
    for measure in &measures {
        let value = measure.value.map_or("unknown".to_owned(), |value| format!("{value:.2}"));
        let verdict = if measure.holds() { "" } else { "  MISSED" };
        text += &format!("{:64} {value:>10} {:>10} {}{verdict}\n", measure.what, measure.wanted, measure.unit);
    }
    let holds = measures.iter().all(Measure::holds);
    if let Some(path) = &args.json {
        let report = Report { command: "bench explorer", version: env!("CARGO_PKG_VERSION"), measures };
        let text = serde_json::to_string_pretty(&report)? + "\n";
        context.commit(|| Ok(contattn_core::file::write_bytes(path, text.as_bytes())?))?;
    }
    print::text(&text)?;
    Ok(if holds { Exit::Success } else { Exit::Failed }.into())
}
