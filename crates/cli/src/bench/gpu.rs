//! `contattn bench gpu`.

use super::cpu::median;
use crate::context::Context;
use crate::devices;
use crate::exit::Exit;
use crate::print;
use crate::refusal::Refusal;
use contattn_core::{
    Dtype, Engine, Family, Layout, Monitor, Open, Request, Rule, Sample, Shape, SinkKind, Spec, Tensor, TensorName,
    Upstream, Window,
};
use contattn_cpu::Tiled;
use contattn_gpu::{Gpu, Options, Variant};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The engine gpu: our softmax and our continuous shader side by side, beside a shader of multiply-adds alone.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// Adapter: part of its name, or `software` [default: the best]
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Queries and keys, several with commas [default: 2048,8192; with software Vulkan 256]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=65_536))]
    length: Vec<u32>,
    /// Width of queries, keys and values, several with commas [default: 64,128; with software Vulkan 64]
    #[arg(long, value_name = "D", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    head_dim: Vec<u32>,
    /// Heads [default: 16; with software Vulkan 1]
    #[arg(long, value_name = "H", value_parser = clap::value_parser!(u32).range(1..=1024))]
    heads: Option<u32>,
    /// Seconds for all measurements together; each case has its share, and what they do not suffice for is left out and named
    #[arg(long, value_name = "S", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// Write the figures to a file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const ABOUT: &str = "\
The engine gpu: our softmax and our continuous shader side by side, beside a shader of multiply-adds alone.

First every shader's results, forward and backward, are compared with the tiled engine's on the CPU, on
the same adapter and with the same kernels; a difference ends the run with exit code 1. Then, for each
length and width, full and causal, and for each variant of the kernels that the adapter can run: the
time of softmax (rule step, unit durations) and of continuous attention (rule linear), operations and
bytes a second, the fraction of the rate of a shader that only multiplies and adds, and the ratio of
the two. The two take turns; times are medians, the ratio is the median of those within a round. Times
are those of the device where it takes time stamps, else from submission to the last byte.

A ratio counts where the softmax shader itself reaches a quarter of the rate of multiply-adds: against a
slow softmax shader a good one means nothing. On software Vulkan the figures say nothing about a card.";

const EXAMPLES: &str = "\
Examples:
  $ contattn bench gpu --adapter software --length 64 --head-dim 16 --seconds 2 --json bench.json";

/// Time of one shader.
#[derive(Debug, Serialize)]
struct Figure {
    variant: &'static str,
    length: usize,
    head_dim: usize,
    heads: usize,
    window: &'static str,
    pass: &'static str,
    softmax_milliseconds: f64,
    continuous_milliseconds: f64,
    /// operations a second of either, of those that the two matrix products need (backward five)
    softmax_flops: f64,
    continuous_flops: f64,
    /// bytes a second, each tensor counted once
    continuous_bytes: f64,
    /// the softmax shader's rate over that of multiply-adds alone
    softmax_of_peak: f64,
    /// the continuous shader's speed over the softmax shader's
    ratio: f64,
    /// whether the softmax shader is fast enough for the ratio to mean something
    counts: bool,
    rounds: usize,
    on_device: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    command: &'static str,
    adapter: String,
    driver: String,
    software: bool,
    peak_flops: f64,
    checked: usize,
    /// largest difference from the CPU's results, over the largest number of each
    largest_difference: f64,
    figures: Vec<Figure>,
    notes: Vec<String>,
}

/// Checks, measures and prints.
///
/// # Errors
/// No adapter; devices; results that differ from the CPU's; cancellation; files.
pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let adapter = args.adapter.as_deref().map_or_else(Default::default, devices::choice);
    let open = |variant| Gpu::open(Options { adapter: adapter.clone(), variant, ..Options::default() });
    let shown = open(None)?.adapter();
    let engines: Vec<Gpu> = Variant::ALL.into_iter().filter_map(|variant| open(Some(variant)).ok()).collect();
    let Some(first) = engines.first() else {
        return Err(Refusal::bad_input("no variant runs on this adapter", "see `contattn devices`").into());
    };
    let software = shown.is_software();
    let or = |given: &[u32], card: &[u32], software_too: &[u32]| -> Vec<usize> {
        let chosen = if !given.is_empty() {
            given
        } else if software {
            software_too
        } else {
            card
        };
        chosen.iter().map(|&n| n as usize).collect()
    };
    let lengths = or(&args.length, &[2048, 8192], &[256]);
    let widths = or(&args.head_dim, &[64, 128], &[64]);
    let heads = args.heads.map_or(if software { 1 } else { 16 }, |h| h as usize);
    let peak = first.peak(3)?;
    let mut report = Report {
        command: "bench gpu",
        adapter: shown.name.clone(),
        driver: format!("{} {}", shown.backend, shown.driver),
        software,
        peak_flops: peak,
        checked: 0,
        largest_difference: 0.0,
        figures: Vec::new(),
        notes: Vec::new(),
    };
    if software {
        report.notes.push("software Vulkan: these figures prove nothing about a card, and no ratio counts".to_owned());
    }
    for engine in &engines {
        check(engine, &widths, &mut report, context)?;
    }
    let began = Instant::now();
    let seconds = Duration::from_secs(args.seconds.into());
    // Of two windows, two passes.
    let count = lengths.len() * widths.len() * engines.len() * 4;
    let limit = (seconds / u32::try_from(count)?).min(LONGEST_MEASUREMENT);
    let mut left_out = 0;
    let progress = context.monitor_of("gpu kernels", "cases");
    let cases = (count / 2) as u64;
    let mut done = 0;
    for &length in &lengths {
        for &width in &widths {
            for window in [Window::full(), Window::causal()] {
                for engine in &engines {
                    if began.elapsed() < seconds {
                        measure(engine, (length, width, heads), &window, limit, &mut report, context)?;
                    } else {
                        left_out += 1;
                    }
                    done += 1;
                    progress.progress(done, cases);
                }
            }
        }
    }
    drop(progress);
    if left_out > 0 {
        report.notes.push(format!("{left_out} cases were left out after {} seconds", args.seconds));
    }
    report.notes.push(summary(&report));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        context.commit(|| Ok(contattn_core::file::write_bytes(path, text.as_bytes())?))?;
    }
    print::text(&table(&report))?;
    Ok(Exit::Success.into())
}

fn sample(length: usize, width: usize, heads: usize) -> anyhow::Result<Sample> {
    let shape =
        Shape { batch: 1, heads, kv_heads: heads, queries: length, keys: length, head_dim: width, value_dim: width };
    Ok(Family::Gauss.sample(shape, Dtype::F32, 1)?)
}

/// What the softmax shader has to reach of the rate of multiply-adds for a ratio to it to count.
const OF_PEAK: f64 = 0.25;
/// Of one pass of one case, both shaders.
const LONGEST_MEASUREMENT: Duration = Duration::from_millis(2500);

/// The rule of a shader with its sink: softmax has none.
const SHADERS: [(Rule, SinkKind); 2] = [(Rule::Step, SinkKind::Absent), (Rule::Linear, SinkKind::Zeros)];

/// Compares both passes with the tiled engine's.
fn check(engine: &Gpu, widths: &[usize], report: &mut Report, context: &Context) -> anyhow::Result<()> {
    let tiled = Tiled::open(contattn_cpu::tiled::Options::default())?;
    let request = Request::default();
    for &width in widths {
        let sample = sample(if report.software { 97 } else { 333 }, width, 2)?;
        for (rule, sink) in SHADERS {
            for window in [Window::full(), Window::causal()] {
                context.go_on()?;
                let problem = sample.problem(sink, Spec { rule, window, ..Spec::default() })?;
                let quiet = context.quiet();
                let (found, expected) =
                    (engine.forward(&problem, &request, &quiet)?, tiled.forward(&problem, &request, &quiet)?);
                let g = sample.v.view(TensorName::UpstreamOutput, Layout::Bhsd)?;
                let upstream = Upstream::new(&problem, g, None)?;
                let back = |e: &dyn Engine| e.backward(&problem, &upstream, None, &request, &quiet);
                let (pulled, pulled_by_cpu) = (back(engine)?, back(&tiled)?);
                for (what, a, b) in [
                    ("o", &found.o, &expected.o),
                    ("lse", &found.lse, &expected.lse),
                    ("dq", &pulled.dq, &pulled_by_cpu.dq),
                    ("dk", &pulled.dk, &pulled_by_cpu.dk),
                    ("dv", &pulled.dv, &pulled_by_cpu.dv),
                ] {
                    let difference = difference(a, b);
                    report.largest_difference = report.largest_difference.max(difference);
                    report.checked += 1;
                    if difference > 2e-5 || difference.is_nan() {
                        let what = format!(
                            "{what} of the {} kernels for rule {rule} differs from the CPU's by {difference:.1e} of its size",
                            engine.variant().name()
                        );
                        let advice = "nothing was timed; please report it with the output of `contattn devices`";
                        return Err(Refusal { exit: Exit::Failed, what, advice: advice.to_owned() }.into());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Largest difference over the largest number; infinite where only one is a number.
fn difference(a: &Tensor, b: &Tensor) -> f64 {
    let (a, b) = (a.to_f64(), b.to_f64());
    let size = b.iter().filter(|x| x.is_finite()).fold(1e-30, |m: f64, x| m.max(x.abs()));
    let apart = |(x, y): (&f64, &f64)| if x == y || (x.is_nan() && y.is_nan()) { 0.0 } else { (x - y).abs() / size };
    a.iter().zip(&b).map(apart).fold(0.0, |m, x| if x.is_nan() { f64::INFINITY } else { m.max(x) })
}

fn measure(
    engine: &Gpu,
    (length, width, heads): (usize, usize, usize),
    window: &Window,
    limit: Duration,
    report: &mut Report,
    context: &Context,
) -> anyhow::Result<()> {
    let sample = sample(length, width, heads)?;
    let causal = window.is_causal();
    let pairs = heads as f64 * if causal { (length * (length + 1) / 2) as f64 } else { (length * length) as f64 };
    // q, k, v, o once each; backward reads these and g, and writes dq, dk, dv.
    let tensor = (4 * heads * length * width) as f64;
    let problems =
        SHADERS.map(|(rule, sink)| sample.problem(sink, Spec { rule, window: window.clone(), ..Spec::default() }));
    let [softmax, continuous] = problems;
    let problems = [softmax?, continuous?];
    let uploaded = [engine.upload(&problems[0])?, engine.upload(&problems[1])?];
    let g = sample.v.view(TensorName::UpstreamOutput, Layout::Bhsd)?;
    let upstreams = [Upstream::new(&problems[0], g, None)?, Upstream::new(&problems[1], g, None)?];
    for (pass, products, tensors) in [("forward", 2.0, 4.0), ("backward", 5.0, 8.0)] {
        // The backward pass alone is timed: the forward pass lies behind it.
        let time = |shader: usize| -> anyhow::Result<(f64, bool)> {
            context.go_on()?;
            let start = Instant::now();
            let seconds = if pass == "backward" {
                uploaded[shader].pull(&upstreams[shader], Dtype::F32)?.wait()?.seconds
            } else {
                uploaded[shader].attend(Dtype::F32)?.wait()?.seconds
            };
            Ok((seconds.unwrap_or_else(|| start.elapsed().as_secs_f64()), seconds.is_some()))
        };
        let Rounds { softmax, continuous, ratio, on_device, rounds } = in_turn(time, limit)?;
        let flops = 2.0 * products * pairs * width as f64;
        let softmax_of_peak = flops / softmax / report.peak_flops;
        report.figures.push(Figure {
            variant: engine.variant().name(),
            length,
            head_dim: width,
            heads,
            window: if causal { "causal" } else { "full" },
            pass,
            softmax_milliseconds: 1e3 * softmax,
            continuous_milliseconds: 1e3 * continuous,
            softmax_flops: flops / softmax,
            continuous_flops: flops / continuous,
            continuous_bytes: tensors * tensor / continuous,
            softmax_of_peak,
            ratio,
            counts: !report.software && softmax_of_peak >= OF_PEAK,
            rounds,
            on_device,
        });
    }
    Ok(())
}

/// Medians of rounds in which both shaders take turns.
struct Rounds {
    softmax: f64,
    continuous: f64,
    ratio: f64,
    on_device: bool,
    rounds: usize,
}

/// Times shader 0 and shader 1 in turn; the first round is for warming up, and what is first in one is last in the next.
fn in_turn(time: impl Fn(usize) -> anyhow::Result<(f64, bool)>, limit: Duration) -> anyhow::Result<Rounds> {
    let (mut times, mut on_device) = (Vec::new(), true);
    let began = Instant::now();
    for round in 0..=40 {
        let mut pair = [0.0; 2];
        for shader in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let (seconds, stamped) = time(shader)?;
            pair[shader] = seconds;
            on_device &= stamped;
        }
        if round > 0 {
            times.push(pair);
        }
        if times.len() >= 3 && began.elapsed() > limit {
            break;
        }
    }
    Ok(Rounds {
        softmax: median(times.iter().map(|pair| pair[0])),
        continuous: median(times.iter().map(|pair| pair[1])),
        ratio: median(times.iter().map(|pair| pair[0] / pair[1])),
        on_device,
        rounds: times.len(),
    })
}

/// The lowest forward ratio of each variant, of those that count.
fn summary(report: &Report) -> String {
    let mut parts = Vec::new();
    for variant in Variant::ALL {
        let name = variant.name();
        let of_variant = || report.figures.iter().filter(|f| f.variant == name && f.pass == "forward");
        let all = of_variant().count();
        if all == 0 {
            continue;
        }
        let ratios: Vec<f64> = of_variant().filter(|f| f.counts).map(|f| f.ratio).collect();
        parts.push(match ratios.iter().copied().reduce(f64::min) {
            Some(lowest) => format!("{name} {lowest:.3} ({} of {all} count)", ratios.len()),
            None => format!("{name} none of {all} counts"),
        });
    }
    format!("lowest forward ratio: {}", parts.join(", "))
}

fn table(report: &Report) -> String {
    let mut text = format!("{} ({})\n", report.adapter, report.driver);
    if report.software {
        // Before the figures, so that nobody reads them without it.
        text += "THIS ADAPTER IS SOFTWARE: it runs on the processor, and its figures prove nothing about a card\n";
    }
    text += &format!("multiply-adds alone: {:.1} GFLOP/s\n", report.peak_flops / 1e9);
    text += &format!(
        "checked against the tiled engine: {} results, largest difference {:.1e} of their size\n\n",
        report.checked, report.largest_difference
    );
    text += &format!("{:35} {:>9} {:>21} {:>19} {:>8} {:>8}\n", "", "", "milliseconds", "GFLOP/s", "GB/s", "of peak");
    text += &format!(
        "{:9} {:>6} {:>4} {:>5} {:>7} {:>9} {:>10} {:>10} {:>9} {:>9} {:>8} {:>8} {:>6}\n",
        "variant",
        "n",
        "d",
        "heads",
        "window",
        "pass",
        "softmax",
        "linear",
        "softmax",
        "linear",
        "linear",
        "softmax",
        "ratio"
    );
    for f in &report.figures {
        text += &format!(
            "{:9} {:6} {:4} {:5} {:>7} {:>9} {:10.3} {:10.3} {:9.1} {:9.1} {:8.3} {:7.1}% {:6.3}{}\n",
            f.variant,
            f.length,
            f.head_dim,
            f.heads,
            f.window,
            f.pass,
            f.softmax_milliseconds,
            f.continuous_milliseconds,
            f.softmax_flops / 1e9,
            f.continuous_flops / 1e9,
            f.continuous_bytes / 1e9,
            100.0 * f.softmax_of_peak,
            f.ratio,
            match (f.counts, f.on_device) {
                (true, true) => "",
                (true, false) => " *",
                (false, true) => " -",
                (false, false) => " -*",
            }
        );
    }
    if report.figures.iter().any(|f| !f.on_device) {
        text += "* from submission to the last byte: the device takes no time stamps\n";
    }
    if report.figures.iter().any(|f| !f.counts) {
        text += "- does not count: software, or the softmax shader is below a quarter of the rate of multiply-adds\n";
    }
    text += "GFLOP/s: of the matrix products (two forward, five backward) over the pairs that are seen; GB/s: each tensor once\n";
    text += "of peak: the softmax shader's rate over that of multiply-adds alone; ratio: time of softmax over that of linear\n";
    for note in &report.notes {
        text += &format!("note: {note}\n");
    }
    text
}
