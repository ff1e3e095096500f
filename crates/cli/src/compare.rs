//! `contattn compare`: the comparison report for two files.

use crate::exit::{self, Exit};
use crate::print;
use crate::problem::{read_tensor, size};
use crate::refusal::Refusal;
use contattn_check::report::{Report, Tolerance, compare};
use contattn_core::file::Locator;
use serde::Serialize;
use std::process::ExitCode;

/// Compares two tensors element by element, and reports the worst place.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct Args {
    /// The tensor to be judged
    #[arg(value_name = "A")]
    actual: Locator,
    /// What it should be
    #[arg(value_name = "B")]
    expected: Locator,
    /// Print the report, and any error, as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    allowed: Allowed,
}

/// How far apart two numbers may be.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Allowed distance [default: none, equal numbers]")]
struct Allowed {
    /// At most N units in the last place of A's element type, at B's number
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = size, conflicts_with_all = ["rtol", "atol"])]
    ulp: Option<f64>,
    /// At most R |B|, added to --atol
    #[arg(long, value_name = "R", allow_hyphen_values = true, value_parser = size)]
    rtol: Option<f64>,
    /// At most A, added to R |B|
    #[arg(long, value_name = "A", allow_hyphen_values = true, value_parser = size)]
    atol: Option<f64>,
}

const ABOUT: &str = "\
Compares two tensors element by element, and reports the worst place.

A and B have one shape; their element types may differ, then units in the last place are those of A.
NaN equals NaN, an infinity equals itself alone, and -0 equals 0. The report shows how many elements
are beyond what is allowed, the worst one in decimal and hexadecimal, and how the distances spread.";

const EXAMPLES: &str = "\
Examples:
  An f32 result beside the f64 result of another program, to a unit in the last place:
    $ contattn compare mine.npy theirs.npy --ulp 1
  As numpy.allclose does, for a program to read:
    $ contattn compare mine.npy theirs.npy --rtol 1e-5 --atol 1e-8 --json";

/// The report for a program.
#[derive(Debug, Serialize)]
struct Document<'a> {
    command: &'static str,
    actual: String,
    expected: String,
    allowed: String,
    passed: bool,
    report: &'a Report,
}

impl Allowed {
    fn tolerance(&self) -> Tolerance {
        match (self.ulp, self.rtol, self.atol) {
            (Some(most), ..) => Tolerance::Ulps(most),
            (None, None, None) => Tolerance::EXACT,
            (None, rtol, atol) => Tolerance::Distance { relative: rtol.unwrap_or(0.0), absolute: atol.unwrap_or(0.0) },
        }
    }

    fn describe(&self) -> String {
        match self.tolerance() {
            Tolerance::EXACT => "equal numbers".to_owned(),
            Tolerance::Ulps(most) => format!("{most} ulp"),
            Tolerance::Distance { relative, absolute } => format!("{absolute} + {relative} |expected|"),
        }
    }
}

/// Compares, prints, and tells the verdict by the exit code.
///
/// # Errors
/// Files; tensors of different shapes.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let actual = read_tensor("A", &args.actual)?;
    let expected = read_tensor("B", &args.expected)?;
    let report = compare(&actual, &expected, args.allowed.tolerance()).map_err(|e| {
        Refusal::bad_input(
            e.to_string(),
            "compare tensors of one shape; results have the shape and --layout of the inputs",
        )
    })?;
    let passed = report.passed();
    let (names, allowed) = ((args.actual.to_string(), args.expected.to_string()), args.allowed.describe());
    if args.json {
        let (actual, expected) = names;
        print::json(&Document { command: "compare", actual, expected, allowed, passed, report: &report })?;
    } else {
        let types = (actual.dtype(), expected.dtype());
        print::text(&format!(
            "compare {} ({}) with {} ({}), allowed: {allowed}\n{report}",
            names.0, types.0, names.1, types.1
        ))?;
    }
    Ok(if passed { Exit::Success } else { Exit::Failed }.into())
}
