//! `contattn verify`: the derivation as theorems that run.

use crate::context::Context;
use crate::exit::{self, Exit};
use crate::print;
use contattn_reference::theorems::{self, Effort, Verdict};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Verifies every equation of the derivation, and the operator's laws, with proven bounds.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct Args {
    /// Instances drawn at random for each theorem, besides the adversarial ones that are always there
    #[arg(long, value_name = "N", default_value_t = Effort::default().rounds, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    rounds: u32,
    /// Write the verdicts to a file as JSON, with the statements in LaTeX and what either side computes
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const ABOUT: &str = "\
Verifies every equation of the derivation, and the operator's laws, with proven bounds.

Each theorem computes both of its sides at 128 bits and guard, by ways that share no formula, on
generated instances. It holds where both enclosures overlap on all of them and none is wider than
2^-100 of its size. `=` marks identities that were also proven over the rationals; `proof` names
the machine-checked proof of the same statement (docs/proofs.md). The verdicts are the same from every
run. Exit code 0: all hold; 1: one does not.";

const EXAMPLES: &str = "\
Examples:
  $ contattn verify --rounds 1
  $ contattn verify --rounds 1 --json theorems.json";

/// What is written to the file.
#[derive(Debug, Serialize)]
struct Document<'a> {
    command: &'static str,
    version: &'static str,
    bits: u32,
    guard: u32,
    rounds: u32,
    holds: bool,
    theorems: &'a [Verdict],
}

/// Verifies, prints the table, and tells the verdict by the exit code.
///
/// # Errors
/// Cancellation; the file.
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let effort = Effort { rounds: args.rounds, ..Effort::default() };
    let verdicts = theorems::verify_all(&effort, &context.monitor_of("verify", "theorems"))?;
    let holds = verdicts.iter().all(|verdict| verdict.holds);
    if let Some(path) = &args.json {
        let document = Document {
            command: "verify",
            version: env!("CARGO_PKG_VERSION"),
            bits: effort.precision,
            guard: effort.guard,
            rounds: effort.rounds,
            holds,
            theorems: &verdicts,
        };
        let text = serde_json::to_string_pretty(&document)? + "\n";
        context.commit(|| Ok(contattn_core::file::write_bytes(path, text.as_bytes())?))?;
    }
    print::text(&table(&verdicts))?;
    Ok(if holds { Exit::Success } else { Exit::Failed }.into())
}

/// Columns of the statements.
const WIDTH: usize = 62;

fn table(verdicts: &[Verdict]) -> String {
    let width = verdicts.iter().map(|verdict| verdict.id.len()).max().unwrap_or(0);
    let mut text = format!(
        "{:width$} {:>4}  {:WIDTH$} {:>9} {:>9} {:>8}   verdict\n",
        "theorem", "eq", "statement", "instances", "compared", "widest"
    );
    for verdict in verdicts {
        let equation = verdict.equation.map_or(String::new(), |n| format!("({})", n.trim_matches(['(', ')'])));
        let widest = verdict.widest_log2.map_or("exact".to_owned(), |log| format!("2^{:.0}", log.ceil()));
        let proven = if verdict.exact == Some(true) { "=" } else { " " };
        let numerically = if verdict.holds { "holds" } else { "FAILS" };
        let said = match verdict.proof {
            Some(proof) => format!("{numerically}; proof: {proof}"),
            None => numerically.to_owned(),
        };
        let mut lines = wrapped(verdict.statement).into_iter();
        let first = lines.next().unwrap_or_default();
        text += &format!(
            "{:width$} {equation:>4}  {first:WIDTH$} {:9} {:9} {widest:>8} {proven} {said}\n",
            verdict.id, verdict.instances, verdict.comparisons
        );
        for line in lines {
            text += &format!("{:width$} {:4}  {line}\n", "", "");
        }
        for measured in &verdict.measured {
            let measured = format!(
                "measured: {} = {:.4}, expected {} to {}",
                measured.what, measured.value, measured.from, measured.to
            );
            text += &format!("{:width$} {:4}  {measured}\n", "", "");
        }
        if !verdict.holds {
            text += &format!("{:width$} {:4}  {}\n", "", "", verdict.detail);
        }
    }
    let held = verdicts.iter().filter(|verdict| verdict.holds).count();
    let compared: u64 = verdicts.iter().map(|verdict| verdict.comparisons).sum();
    text + &format!("\n{held} of {} theorems hold, {compared} comparisons\n", verdicts.len())
}

/// Lines of at most [`WIDTH`] characters, broken between words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line =
            lines.last_mut().filter(|line| line.is_empty() || line.chars().count() + 1 + word.chars().count() <= WIDTH);
        match line {
            Some(line) => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        let long = "word ".repeat(40);
        let lines = wrapped(&long);
        assert!(lines.iter().all(|line| line.len() <= WIDTH && line.split(' ').all(|word| word == "word")));
        assert_eq!(lines.join(" "), long.trim());
        assert_eq!(wrapped(""), [""]);
    }
}
