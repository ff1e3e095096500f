//! `contattn heads`: softmax and continuous attention side by side on the heads of a real model.

mod measure;
mod picture;
mod source;

use crate::context::Context;
use crate::exit::Exit;
use crate::print;
use crate::refusal::Refusal;
use contattn_core::Rule;
use contattn_core::families::SinkKind;
use measure::Measured;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compare softmax with continuous attention, head by head, as a table and as heat maps.
#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// A .safetensors file with tensors NAME.q, NAME.k, NAME.v; by default the heads that the program carries
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Folder for the heat maps and for heads.csv; without it only the table is printed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Rule to set beside softmax: linear, step, trapezoid or taylor:M
    #[arg(long, value_name = "RULE", default_value = "linear")]
    rule: Rule,
    /// Node 0 of the continuous side
    #[arg(long, value_name = "KIND", default_value = "zeros", value_parser = sink)]
    sink: SinkKind,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
The table, one line for each head, means over its queries:
  H softmax, H continuous   entropy of the weights, in nats
  max |b|                   largest bias among all visible nodes; it is log 2 or more at an end of the curve
  mean |b| inside           over the nodes that end two visible segments
  change of o               |o_continuous - o_softmax| / |o_softmax|, Euclidean norms

Softmax attends to the tokens 1..n; the continuous side also has its node 0 (--sink).
With --out, DIR/NAME.png shows every head of a layer, DIR/largest-change.png the head that changes most
with its tokens, and DIR/heads.csv holds the table.

Examples:
  contattn heads
  contattn heads --out out/heads
  contattn heads --rule taylor:1 --json

";

fn sink(name: &str) -> Result<SinkKind, String> {
    match name {
        "absent" => Ok(SinkKind::Absent),
        "zeros" => Ok(SinkKind::Zeros),
        "copy" => Ok(SinkKind::Copy),
        _ => Err("expected absent, zeros or copy".to_owned()),
    }
}

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
struct Line {
    layer: String,
    head: usize,
    kv_head: usize,
    entropy_softmax: f64,
    entropy_continuous: f64,
    largest_bias: f64,
    mean_bias_inside: f64,
    change_of_output: f64,
}

/// Measures all heads, prints the table, draws the pictures.
///
/// # Errors
/// Files that cannot be read or written, tensors that do not fit together, cancellation.
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let source = source::read(args.file.as_deref())?;
    let mut measured = Vec::new();
    for layer in &source.layers {
        let monitor = context.monitor(&layer.name);
        measured.push(measure::measure(layer, args.rule, args.sink, &monitor)?);
    }
    let lines: Vec<Line> = measured.iter().flat_map(Measured::lines).collect();
    let pictures = match &args.out {
        Some(folder) => write(folder, &measured, &lines, &source.tokens, args, context)?,
        None => Vec::new(),
    };
    if args.json {
        print::json(&serde_json::json!({
            "rule": args.rule.to_string(),
            "source": source.what,
            "heads": lines,
            "files": pictures,
        }))?;
    } else {
        print::text(&table(&source.what, args.rule, &lines, &pictures)?)?;
    }
    Ok(Exit::Success.into())
}

fn table(what: &str, rule: Rule, lines: &[Line], files: &[PathBuf]) -> anyhow::Result<String> {
    let mut text = format!("softmax beside {rule}, on {what}\n\n");
    writeln!(
        text,
        "{:<10} {:>4}  {:>9} {:>12}  {:>8} {:>15}  {:>11}",
        "layer", "head", "H softmax", "H continuous", "max |b|", "mean |b| inside", "change of o"
    )?;
    let mut layer = "";
    for line in lines {
        if !layer.is_empty() && layer != line.layer {
            text.push('\n');
        }
        layer = &line.layer;
        writeln!(
            text,
            "{:<10} {:>4}  {:>9.4} {:>12.4}  {:>8.4} {:>15.4}  {:>11.4}",
            line.layer,
            line.head,
            line.entropy_softmax,
            line.entropy_continuous,
            line.largest_bias,
            line.mean_bias_inside,
            line.change_of_output
        )?;
    }
    if !files.is_empty() {
        text.push('\n');
    }
    for file in files {
        writeln!(text, "wrote {}", file.display())?;
    }
    Ok(text)
}

fn write(
    folder: &Path,
    measured: &[Measured],
    lines: &[Line],
    tokens: &[String],
    args: &Args,
    context: &Context,
) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Refusal::bad_input(format!("{}: {error}", folder.display()), "name a folder that can be made with --out")
    })?;
    let mut files = Vec::new();
    for layer in measured {
        context.go_on()?;
        let path = folder.join(format!("{}.png", layer.name));
        contattn_figure::save(&picture::layer(layer, args.rule)?, &path)?;
        files.push(path);
    }
    let largest = lines.iter().max_by(|a, b| a.change_of_output.total_cmp(&b.change_of_output));
    if let Some(line) = largest
        && let Some(layer) = measured.iter().find(|layer| layer.name == line.layer)
    {
        context.go_on()?;
        let path = folder.join("largest-change.png");
        contattn_figure::save(&picture::head(layer, line.head, tokens, args.rule)?, &path)?;
        files.push(path);
    }
    let path = folder.join("heads.csv");
    context.commit(|| write_csv(&path, lines))?;
    files.push(path);
    Ok(files)
}

fn write_csv(path: &Path, lines: &[Line]) -> anyhow::Result<()> {
    let mut text =
        "layer,head,kv_head,entropy_softmax,entropy_continuous,largest_bias,mean_bias_inside,change_of_output\n"
            .to_owned();
    for line in lines {
        // A name from a file may hold anything; quoted as RFC 4180 says.
        let name = line.layer.replace('"', "\"\"");
        writeln!(
            text,
            "\"{name}\",{},{},{},{},{},{},{}",
            line.head,
            line.kv_head,
            line.entropy_softmax,
            line.entropy_continuous,
            line.largest_bias,
            line.mean_bias_inside,
            line.change_of_output
        )?;
    }
    contattn_core::file::write_bytes(path, text.as_bytes())?;
    Ok(())
}
