//! `contattn phi`: the functions of a segment, to as many digits as asked for; `kernels` has those inside the kernels.

mod kernels;

use crate::context::Context;
use crate::exit::{self, Exit};
use crate::print;
use crate::refusal::Refusal;
use clap::builder::PossibleValuesParser;
use contattn_cpu::tiled::Isa;
use contattn_reference::Enclosure;
use contattn_reference::decimal::{certified, parse};
use contattn_reference::phi::{phi1, phi2, phi3, psi};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints phi1, phi2, phi3 and psi at given numbers, every digit proven.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct Args {
    /// Decimal numbers, taken exactly: 0.1 is one tenth
    #[arg(value_name = "X", required_unless_present = "kernels", allow_negative_numbers = true)]
    numbers: Vec<String>,
    /// Significant digits
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    digits: u32,
    /// Draw the errors of e^x, phi2 and psi as the tiled kernels compute them, as .png, .svg or .csv
    #[arg(long, value_name = "FILE", conflicts_with_all = ["numbers", "digits"])]
    kernels: Option<PathBuf>,
    /// Instruction set of those kernels [default: the fastest that this machine has]
    // clap waives `requires` where what is required conflicts with something given.
    #[arg(long, requires = "kernels", conflicts_with = "numbers", value_parser = PossibleValuesParser::new(Isa::ALL.map(Isa::name)))]
    isa: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const ABOUT: &str = "\
Prints phi1, phi2, phi3 and psi at given numbers, every digit proven.

    phi1(x) = (e^x - 1)/x                 phi2(x) = (e^x - 1 - x)/x^2
    phi3(x) = (phi2(x) - 1/2)/x           psi(x)  = int_0^1 e^{sx} s (1 - s) ds = phi2(x) - 2 phi3(x)

with their limits 1, 1/2, 1/6 and 1/6 at 0. A segment of duration D from score a to score a + x has the
mass D e^a phi1(x), gives D e^a phi2(x) to its left node, and D e^a psi(x) is what of the gradient
diffuses. The last digit is rounded to nearest.";

const EXAMPLES: &str = "\
Examples:
  Where expm1(x)/x, or (expm1(x) - x)/x^2, goes wrong:
    $ contattn phi 1e-16 -40 716
  A hundred digits at one tenth:
    $ contattn phi 0.1 --digits 100
  Errors of the functions inside the kernels:
    $ contattn phi --kernels errors.png";

/// The functions at one number.
#[derive(Debug, Serialize)]
struct Line<'a> {
    x: &'a str,
    phi1: String,
    phi2: String,
    phi3: String,
    psi: String,
}

/// Where e^x leaves the range of arbitrary precision.
const LARGEST: u64 = 1_000_000_000_000_000;

/// Prints them.
///
/// # Errors
/// Text that is no number; a number beyond 10^15; with `--kernels`, files and an instruction set that is not here.
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.kernels {
        kernels::run(path, args.isa.as_deref(), args.json, context)?;
        return Ok(Exit::Success.into());
    }
    let mut lines = Vec::with_capacity(args.numbers.len());
    for text in &args.numbers {
        context.go_on()?;
        let Some(x) = parse(text) else {
            return Err(Refusal::bad_input(
                format!("{text:?} is not a decimal number"),
                "write it as 0.25, -3 or 1e-16",
            )
            .into());
        };
        if x > LARGEST {
            return Err(
                Refusal::bad_input(format!("{text} is beyond 10^15"), "e^x has no digits to print there").into()
            );
        }
        let digits = |f: fn(&Enclosure) -> Enclosure| {
            let value = certified(args.digits, |bits| f(&Enclosure::from_rational(bits, &x)));
            value.ok_or_else(|| Refusal::bad_input(format!("{text}: undecided"), "ask for another number of digits"))
        };
        lines.push(Line { x: text, phi1: digits(phi1)?, phi2: digits(phi2)?, phi3: digits(phi3)?, psi: digits(psi)? });
    }
    if args.json {
        print::json(&lines)?;
    } else {
        let text = |line: &Line<'_>| {
            let Line { x, phi1, phi2, phi3, psi } = line;
            format!("x     {x}\nphi1  {phi1}\nphi2  {phi2}\nphi3  {phi3}\npsi   {psi}\n")
        };
        print::text(&lines.iter().map(text).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Success.into())
}
