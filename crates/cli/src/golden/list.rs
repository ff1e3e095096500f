//! `contattn golden list`.

use super::Folder;
use crate::exit::Exit;
use crate::print;
use contattn_check::golden::{Corpus, Entry};
use std::fmt::Write as _;
use std::process::ExitCode;

/// Lists the cases.
#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(super) struct Args {
    /// Only cases whose name has this text in it
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    #[command(flatten)]
    folder: Folder,
    /// Print the manifest's entries as JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
A line for each case: its name, rule, sink, lengths (batch x heads/kv_heads, queries, n, head_dim, value
width), how many of its results were settled by exact comparison, and the largest precision in bits.

Examples:
  $ contattn golden list --dir golden
  $ contattn golden list bf16 --dir golden --json";

/// Prints the list.
///
/// # Errors
/// The corpus cannot be read.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let corpus = Corpus::open(&args.folder.dir)?;
    let wanted = |case: &&Entry| args.text.as_ref().is_none_or(|text| case.name.contains(text));
    let cases: Vec<&Entry> = corpus.manifest().cases.iter().filter(wanted).collect();
    if args.json {
        print::json(&cases)?;
    } else {
        print::text(&table(&cases)?)?;
    }
    Ok(Exit::Success.into())
}

fn table(cases: &[&Entry]) -> anyhow::Result<String> {
    let mut text = String::new();
    let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0);
    let (mut bytes, mut exactly, mut unresolved) = (0, 0, 0);
    for case in cases {
        let s = case.shape;
        let lengths =
            format!("{}x{}/{} {} {} {} {}", s.batch, s.heads, s.kv_heads, s.queries, s.keys, s.head_dim, s.value_dim);
        let exact: u64 = case.certificates.forward.values().map(|c| c.exactly).sum();
        let bits = case.certificates.forward.values().map(|c| c.bits).max().unwrap_or(0);
        let gradients = if case.differentiable { "gradients" } else { "" };
        writeln!(
            text,
            "{:width$}  {:9} {:6} {:4} {lengths:18} {exact:>5} exactly {bits:>4} bits  {gradients}",
            case.name, case.rule, case.sink, case.layout
        )?;
        bytes += case.bytes;
        exactly += exact;
        unresolved += case.certificates.gradients.values().map(|c| c.unresolved).sum::<u64>();
    }
    writeln!(
        text,
        "{} cases, {bytes} bytes, {exactly} results settled by exact comparison, {unresolved} gradients unresolved",
        cases.len()
    )?;
    Ok(text)
}
