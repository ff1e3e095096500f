//! `contattn bench reference`.

use super::peers;
use crate::context::Context;
use crate::exit::Exit;
use crate::print;
use contattn_core::{CancelToken, Dtype, Engine, Family, Layout, Problem, Request, Shape, Sink, Spec, TensorName};
use contattn_cpu::Plain;
use contattn_reference::Reference;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The verified reference: time for each (query, key) pair, beside Arb and mpmath.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// Queries and keys
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(8..=65_536))]
    length: u32,
    /// Width of queries, keys and values
    #[arg(long, value_name = "D", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    head_dim: u32,
    /// Leave out Arb and mpmath, which are installed from PyPI into a virtual environment in the target folder
    #[arg(long)]
    no_peers: bool,
    /// Write the figures to a file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const ABOUT: &str = "\
The verified reference: time for each (query, key) pair, beside Arb and mpmath.

One head, causal, Gaussian q, k and v of f64, results correctly rounded to f64. On one core and on all;
with double-double arithmetic as its first stage, as it is used, and with MPFR alone. The peers do the
same sums: Arb through python-flint with matrix products at 128 bits, and mpmath at 128 bits, neither of
them correctly rounded. They need python3 with venv, and PyPI for the first run.";

const EXAMPLES: &str = "\
Examples:
  $ contattn bench reference --length 64 --no-peers --json bench.json";

/// One line of the table.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    pub(super) what: String,
    pub(super) threads: usize,
    pub(super) length: usize,
    pub(super) head_dim: usize,
    pub(super) microseconds_per_pair: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    command: &'static str,
    head_dim: u32,
    figures: Vec<Figure>,
    notes: Vec<String>,
}

/// Measures and prints.
///
/// # Errors
/// Cancellation; files.
pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let length = args.length as usize;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let (reference, alone) = (Reference::new(), Reference::multiprecision_alone());
    // MPFR alone takes some ten times as long, and as long for each pair of a shorter problem.
    let short = length.min(128);
    let plain = Plain::<f64>::new();
    let runs: [(&str, &dyn Engine, usize, usize); 5] = [
        ("reference", &reference, 1, length),
        ("reference", &reference, all, length),
        ("reference, MPFR alone", &alone, 1, short),
        ("reference, MPFR alone", &alone, all, short),
        ("plain engine in f64, not rounded correctly", &plain, 1, length),
    ];
    let mut figures = Vec::new();
    for (what, engine, threads, length) in runs {
        let seconds = measure(engine, threads, length, args.head_dim as usize, &context.quiet())?;
        figures.push(Figure {
            what: what.to_owned(),
            threads,
            length,
            head_dim: args.head_dim as usize,
            microseconds_per_pair: 1e6 * seconds / pairs(length),
        });
    }
    let mut notes = Vec::new();
    if args.no_peers {
        notes.push("peers were left out".to_owned());
    } else {
        match peers::measure(args.head_dim, context)? {
            Ok(others) => figures.extend(others),
            Err(why) => notes.push(format!("no peers: {why}")),
        }
    }
    let report = Report { command: "bench reference", head_dim: args.head_dim, figures, notes };
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        context.commit(|| Ok(contattn_core::file::write_bytes(path, text.as_bytes())?))?;
    }
    print::text(&table(&report))?;
    Ok(Exit::Success.into())
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "microseconds for each (query, key) pair: causal, one head, d = {}, f64 results\n\n{:54} {:>7} {:>7} {:>10} {:>8}\n",
        report.head_dim, "", "threads", "n", "us/pair", "ratio"
    );
    let own = report.figures.first().map_or(1.0, |figure| figure.microseconds_per_pair);
    for Figure { what, threads, length, microseconds_per_pair: time, .. } in &report.figures {
        text += &format!("{what:54} {threads:7} {length:7} {time:10.3} {:8.2}\n", time / own);
    }
    for note in &report.notes {
        text += &format!("note: {note}\n");
    }
    text
}

fn pairs(length: usize) -> f64 {
    (length * (length + 1) / 2) as f64
}

/// The best of several runs, in seconds.
fn measure(
    engine: &dyn Engine,
    threads: usize,
    length: usize,
    width: usize,
    cancel: &CancelToken,
) -> anyhow::Result<f64> {
    let shape =
        Shape { batch: 1, heads: 1, kv_heads: 1, queries: length, keys: length, head_dim: width, value_dim: width };
    let sample = Family::Gauss.sample(shape, Dtype::F64, 1)?;
    let (q, k, v) = (
        sample.q.view(TensorName::Query, Layout::Bhsd)?,
        sample.k.view(TensorName::Key, Layout::Bhsd)?,
        sample.v.view(TensorName::Value, Layout::Bhsd)?,
    );
    let problem = Problem::new(q, k, v, Sink::Zeros, Spec::default())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut best = f64::INFINITY;
    let began = Instant::now();
    for run in 0..20 {
        let start = Instant::now();
        pool.install(|| engine.forward(&problem, &Request::default(), cancel))?;
        best = best.min(start.elapsed().as_secs_f64());
        if run >= 2 && began.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
    Ok(best)
}
