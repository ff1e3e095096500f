//! `contattn bench cpu`: the tiled kernels, softmax beside continuous attention.
//!
//! `case` says what is measured, `inputs` makes its tensors, `judge` refuses wrong results, `bench` opens a case and times who
//! runs in it, `clock` is how; `decoding` has caches that no processor's cache holds; `serve` lets another program take turns.

mod bench;
mod case;
mod clock;
mod decoding;
mod inputs;
mod judge;
mod serve;

use crate::context::Context;
use crate::exit::{self, Exit};
use crate::print;
use crate::problem::open_tiled;
use crate::refusal::Refusal;
use bench::{Bench, Runner, Settings};
use case::{Case, DECODE, Direction, Lengths, SHORT, Sight};
use clap::builder::PossibleValuesParser;
pub(super) use clock::median;
use clock::{Elapsed, ratio};
use contattn_core::{Family, Monitor};
use contattn_cpu::tiled::Isa;
use inputs::Contender;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The tiled kernels on the CPU: softmax beside continuous attention, forward, backward and decoding.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(super) struct Args {
    /// Lengths, `HEADS[:KV_HEADS]xKEYSxWIDTH` or KEYSxWIDTH, by commas [default: a list that takes some minutes]
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',', conflicts_with = "full")]
    shapes: Vec<Lengths>,
    /// The whole grid: widths 64, 80, 128 and 256, 512 to 16384 keys, 1, 8 and 9:3 heads; hours
    #[arg(long)]
    full: bool,
    /// What a query sees, by commas
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["full", "causal"])]
    windows: Vec<Sight>,
    /// Passes, by commas; decoding is one query against all keys
    #[arg(long, value_enum, value_delimiter = ',', default_values = Direction::ALL.map(Direction::name))]
    directions: Vec<Direction>,
    /// Who takes part, by commas
    #[arg(long, value_delimiter = ',', default_values = Contender::ALL.map(Contender::name))]
    #[arg(value_parser = PossibleValuesParser::new(Contender::ALL.map(Contender::name)))]
    contenders: Vec<String>,
    /// Threads of the kernels
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Instruction set [default: the fastest that this machine has]
    #[arg(long, value_parser = PossibleValuesParser::new(Isa::ALL.map(Isa::name)))]
    isa: Option<String>,
    /// Family of the inputs
    #[arg(long, default_value = Family::Peaked.name(), value_parser = PossibleValuesParser::new(Family::ALL.map(Family::name)))]
    family: String,
    /// Seed of the inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Seconds of rounds for each line; never fewer than 3 rounds
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds, allow_negative_numbers = true)]
    seconds: f64,
    /// Write the figures to a file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Answer a program that times others in between: one JSON object a line, asked on stdin, answered on stdout
    #[arg(long, conflicts_with_all = ["shapes", "full", "json"])]
    serve: bool,
}

const ABOUT: &str = "\
The tiled kernels on the CPU: softmax beside continuous attention, forward, backward and decoding.

Every result is compared with the plain engine in f64 before anything is timed (of long problems a
sample of rows), and a wrong one ends the command. Then softmax, continuous attention and continuous
attention at irregular times take turns, and decoding also with a loop that reads and adds the same
keys and values, all from 1 GiB of caches in turn.

Ratios are medians of the ratios within a round. Of one thread the processor's time is compared,
which other programs do not disturb; of several the time of day. `make bench` has PyTorch beside it.";

const EXAMPLES: &str = "\
Examples:
  One head of 64 keys, forward:
    $ contattn bench cpu --shapes 64x8 --directions fwd --seconds 0
  Nine heads over three, causal, both passes, figures into a file:
    $ contattn bench cpu --shapes 9:3x64x8 --windows causal --directions fwdbwd --seconds 0 \\
        --json bench.json";

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number from 0 to 3600".to_owned()),
    }
}

/// One measurement.
#[derive(Debug, Serialize)]
struct Record {
    /// `tiled`, or `read-and-add` for the loop beside decoding
    engine: &'static str,
    rule: Option<String>,
    /// `unit` or `irregular`
    time: Option<&'static str>,
    #[serde(flatten)]
    case: Case,
    threads: u16,
    isa: &'static str,
    /// time of day
    median_s: f64,
    /// time of day
    min_s: f64,
    /// of one thread: the time that it had a processor, median
    processor_s: Option<f64>,
    rounds: usize,
    /// of o, dq, dk and dv, against the plain engine in f64
    max_error: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Report {
    command: &'static str,
    version: &'static str,
    processor: Option<String>,
    family: String,
    seed: u64,
    records: Vec<Record>,
}

/// Measures and prints.
///
/// # Errors
/// A wrong result; an instruction set that is not here; files; cancellation.
pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let family = Family::from_name(&args.family).unwrap_or(Family::Peaked);
    if args.serve {
        serve::serve(family, args.seed, &mut std::io::stdin().lock(), &mut std::io::stdout().lock(), context)?;
        return Ok(Exit::Success.into());
    }
    if let Some(path) = &args.json {
        folder_is_there(path)?;
    }
    let threads = usize::from(args.threads);
    let engine = open_tiled(args.isa.as_deref(), Some(threads))?;
    let contenders = args.contenders.iter().filter_map(|name| Contender::from_name(name)).collect();
    let settings = Settings { contenders, family, seed: args.seed, threads };
    let cases = cases(args);
    let cancel = context.quiet();
    print::text(&heading(args, engine.isa()))?;
    let mut records = Vec::new();
    let progress = context.monitor_of("bench cpu", "cases");
    for (done, case) in cases.iter().enumerate() {
        progress.progress(done as u64, cases.len() as u64);
        let mut bench = Bench::open(&engine, *case, &settings, &cancel)?;
        let times = bench.rounds(Duration::from_secs_f64(args.seconds), &cancel)?;
        progress.print(&line(&bench, &times))?;
        for ((runner, max_error), times) in bench.runners.iter().zip(&times) {
            let contender = match runner {
                Runner::Engine(contender) => Some(contender),
                Runner::Read => None,
            };
            records.push(Record {
                engine: runner.name(),
                rule: contender.map(|contender| contender.rule.to_string()),
                time: contender.map(|contender| contender.time()),
                case: *case,
                threads: args.threads,
                isa: engine.isa().name(),
                median_s: median(times.iter().map(|time| time.wall_s)),
                min_s: times.iter().map(|time| time.wall_s).fold(f64::INFINITY, f64::min),
                processor_s: (threads == 1).then(|| median(times.iter().map(Elapsed::fair))),
                rounds: times.len(),
                max_error: *max_error,
            });
        }
    }
    drop(progress);
    if let Some(path) = &args.json {
        let report = Report {
            command: "bench cpu",
            version: env!("CARGO_PKG_VERSION"),
            processor: processor(),
            family: args.family.clone(),
            seed: args.seed,
            records,
        };
        let text = serde_json::to_string_pretty(&report)? + "\n";
        context.commit(|| Ok(contattn_core::file::write_bytes(path, text.as_bytes())?))?;
    }
    Ok(Exit::Success.into())
}

/// Refuses, before minutes of work, a file that could not be written after them.
fn folder_is_there(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() {
        return Ok(());
    }
    Err(Refusal::bad_input(format!("--json: {} is not a folder", folder.display()), "make it, or name another").into())
}

/// Every line of the table.
fn cases(args: &Args) -> Vec<Case> {
    let given = !args.shapes.is_empty();
    let mut cases = Vec::new();
    for &direction in &args.directions {
        let lengths = match (direction, given) {
            (_, true) => args.shapes.clone(),
            (Direction::Decode, false) => vec![DECODE],
            (_, false) if args.full => case::grid(),
            (_, false) => SHORT.to_vec(),
        };
        for lengths in lengths {
            for &sight in &args.windows {
                let case = Case::new(lengths, direction, sight);
                // What a window would hide does not exist for one query at the end.
                if !cases.contains(&case) {
                    cases.push(case);
                }
            }
        }
    }
    cases
}

fn heading(args: &Args, isa: Isa) -> String {
    let clock = if args.threads == 1 { "time of the processor" } else { "time of day" };
    format!(
        "tiled kernels, {isa}, {} thread(s), inputs {}; medians of the {clock} in ms\n\
         sm/lin, uni/irr, read/lin: how much of the second's time the first takes; ns: linear's time for each (query, key) pair\n\n\
         {:7} {:>7} {:>6} {:>5} {:6} | {:>10} {:>10} {:>10} {:>7} | {:>6} {:>7} {:>8} | {:>7} {:>6}\n",
        args.threads,
        args.family,
        "",
        "heads",
        "keys",
        "width",
        "window",
        "softmax",
        "linear",
        "irregular",
        "reading",
        "sm/lin",
        "uni/irr",
        "read/lin",
        "error",
        "ns"
    )
}

fn line(bench: &Bench<'_>, times: &[Vec<Elapsed>]) -> String {
    let case = bench.inputs.case;
    let of = |runner: Runner| bench.runners.iter().position(|(other, _)| *other == runner).map(|at| &*times[at]);
    let [softmax, linear, irregular] = Contender::ALL.map(|contender| of(Runner::Engine(contender)));
    let reading = of(Runner::Read);
    let milliseconds = |times: Option<&[Elapsed]>| match times {
        Some(times) => format!("{:.3}", 1e3 * median(times.iter().map(Elapsed::fair))),
        None => "-".to_owned(),
    };
    let quotient = |above: Option<&[Elapsed]>, below: Option<&[Elapsed]>| match (above, below) {
        (Some(above), Some(below)) => format!("{:.3}", ratio(above, below)),
        _ => "-".to_owned(),
    };
    let error = bench.runners.iter().filter_map(|(_, error)| *error).fold(0.0, f64::max);
    let pair = linear.map_or(f64::NAN, |times| 1e9 * median(times.iter().map(Elapsed::fair)) / case.pairs());
    let heads = case.lengths().to_string();
    format!(
        "{:7} {:>7} {:>6} {:>5} {:6} | {:>10} {:>10} {:>10} {:>7} | {:>6} {:>7} {:>8} | {:>7.0e} {:>6.3}\n",
        case.direction.name(),
        heads.split('x').next().unwrap_or_default(),
        case.keys,
        case.head_dim,
        if case.causal { "causal" } else { "full" },
        milliseconds(softmax),
        milliseconds(linear),
        milliseconds(irregular),
        milliseconds(reading),
        quotient(softmax, linear),
        quotient(linear, irregular),
        quotient(reading, linear),
        error,
        pair,
    )
}

/// What the machine calls its processor.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let model = text.lines().find(|line| line.starts_with("model name"))?;
    model.split_once(':').map(|(_, name)| name.trim().to_owned())
}
