//! `contattn golden check`: results of anything against a case.

use super::Folder;
use crate::exit::{self, Exit};
use crate::print;
use crate::refusal::Refusal;
use contattn_check::golden::{Corpus, OUTPUTS, Verdict};
use contattn_core::file::{self, FileError, Format, Locator};
use contattn_core::{Dtype, Tensor};
use serde::Serialize;
use std::process::ExitCode;

/// Checks results against a case: the worst element, its ulps, what is allowed, and the verdict.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(super) struct Args {
    /// Name of the case
    #[arg(value_name = "CASE")]
    case: String,
    /// The results: a .npz or .safetensors file whose tensors are named o, lse, weights, bias, dq, dk, dv or ddurations; or
    /// one tensor, FILE:NAME or FILE.npy
    #[arg(long, value_name = "FILE")]
    actual: Locator,
    /// Which result one tensor is [default: the name behind the colon, else o]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(OUTPUTS))]
    output: Option<String>,
    /// Type in which the results were summed, which decides how far off they may be [default: f64 for f64 cases, else f32]
    #[arg(long, value_name = "TYPE", value_parser = clap::builder::PossibleValuesParser::new(["f32", "f64"]))]
    arithmetic: Option<String>,
    #[command(flatten)]
    folder: Folder,
    /// Print the verdicts, and any error, as JSON
    #[arg(long)]
    json: bool,
}

const ABOUT: &str = "\
Checks results against a case: the worst element, its ulps, what is allowed, and the verdict.

An element is right where it is the correctly rounded number, or where its distance from it is within
both of what test suites use: 4 times the error of a plain engine in the same arithmetic, and
atol + rtol |expected|, derived for this case. NaN and infinities must be where they should be.
Exit code 0: every element of every tensor is right; 1: some are wrong.";

const EXAMPLES: &str = "\
Examples:
  $ contattn golden check family-gauss-linear-f32 --actual mine.npz --dir golden
  $ contattn golden check family-gauss-linear-f32 --actual mine.npz:dq --arithmetic f32 --dir golden --json";

/// The verdicts for a program.
#[derive(Debug, Serialize)]
struct Document<'a> {
    command: &'static str,
    case: &'a str,
    actual: String,
    passed: bool,
    verdicts: &'a [Verdict],
}

/// Checks, prints, and tells the verdict by the exit code.
///
/// # Errors
/// Files; names; shapes.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let corpus = Corpus::open(&args.folder.dir)?;
    let entry = corpus.entry(&args.case)?;
    let (_, expected) = corpus.load(entry)?;
    let arithmetic = match args.arithmetic.as_deref().unwrap_or(&entry.dtype) {
        "f64" => Dtype::F64,
        _ => Dtype::F32,
    };
    let mut verdicts = Vec::new();
    for (name, tensor) in read(args)? {
        verdicts.push(Corpus::output(entry, &expected, &name)?.judge(&tensor, arithmetic)?);
    }
    let passed = verdicts.iter().all(Verdict::passed);
    if args.json {
        let actual = args.actual.to_string();
        print::json(&Document { command: "golden check", case: &entry.name, actual, passed, verdicts: &verdicts })?;
    } else {
        let lines: String = verdicts.iter().map(Verdict::to_string).collect();
        let said = if passed { "right" } else { "WRONG" };
        print::text(&format!("golden check {}, {}\n{lines}verdict: {said}\n", entry.name, args.actual))?;
    }
    Ok(if passed { Exit::Success } else { Exit::Failed }.into())
}

/// The tensors to be judged, each with the result that it is.
fn read(args: &Args) -> anyhow::Result<Vec<(String, Tensor)>> {
    let locator = &args.actual;
    let tensor = |locator: &Locator| -> anyhow::Result<Tensor> {
        Ok(file::read(locator)?.into_tensor().map_err(|e| FileError::at(locator, e))?)
    };
    let single = args.output.is_some() || locator.name().is_some() || locator.format() == Format::Npy;
    if single {
        let name = args.output.as_deref().or(locator.name()).unwrap_or("o");
        let named = match (locator.format(), locator.name()) {
            (Format::Npy, _) | (_, Some(_)) => locator.clone(),
            (_, None) => Locator::new(locator.path(), Some(name))?,
        };
        return Ok(vec![(name.to_owned(), tensor(&named)?)]);
    }
    let mut all = Vec::new();
    for entry in file::list(locator.path())? {
        let Some(name) = entry.name else { continue };
        if !OUTPUTS.contains(&&*name) {
            return Err(Refusal::bad_input(
                format!("{locator}: tensor {name:?} is no result: expected {}", OUTPUTS.join(", ")),
                "rename it, leave it out, or name one tensor as FILE:NAME with --output",
            )
            .into());
        }
        let tensor = tensor(&Locator::new(locator.path(), Some(&name))?)?;
        all.push((name, tensor));
    }
    if all.is_empty() {
        return Err(Refusal::bad_input(
            format!("{locator}: no tensor"),
            format!("store results as {}", OUTPUTS.join(", ")),
        )
        .into());
    }
    Ok(all)
}
