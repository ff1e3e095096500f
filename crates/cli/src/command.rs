//! The command line as a whole: its subcommands and its front page of help.

use crate::context::Context;
use crate::{attend, bench, compare, engines, exit, formats, golden, grad, heads};
#[cfg(feature = "reference")]
use crate::{phi, taylor, verify};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Continuous softmax attention: keys and values are read as curves in time.
#[derive(Debug, Parser)]
#[command(name = "contattn", version, long_about = ABOUT)]
#[command(after_help = "`contattn help SUBCOMMAND` explains one, with examples.")]
#[command(after_long_help = exit::HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do. One variant and one module for each.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Attend(Box<attend::Args>),
    Grad(Box<grad::Args>),
    Compare(compare::Args),
    Engines(engines::Args),
    Formats(formats::Args),
    Heads(heads::Args),
    Golden(golden::Args),
    #[cfg(feature = "reference")]
    Phi(phi::Args),
    #[cfg(feature = "reference")]
    Taylor(taylor::Args),
    #[cfg(feature = "reference")]
    Verify(verify::Args),
    Bench(bench::Args),
}

impl Command {
    /// Does it.
    ///
    /// # Errors
    /// Whatever stopped it; [`Refusal::of`](crate::refusal::Refusal::of) says what its user sees of it.
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<ExitCode> {
        match self {
            Command::Attend(args) => attend::run(args, context),
            Command::Grad(args) => grad::run(args, context),
            Command::Compare(args) => compare::run(args),
            Command::Engines(args) => engines::run(args),
            Command::Formats(args) => formats::run(args),
            Command::Heads(args) => heads::run(args, context),
            Command::Golden(args) => golden::run(args, context),
            #[cfg(feature = "reference")]
            Command::Phi(args) => phi::run(args, context),
            #[cfg(feature = "reference")]
            Command::Taylor(args) => taylor::run(args, context),
            #[cfg(feature = "reference")]
            Command::Verify(args) => verify::run(args, context),
            Command::Bench(args) => bench::run(args, context),
        }
    }
}

const ABOUT: &str = "\
Continuous softmax attention: keys and values are read as curves in time.

Softmax attention sums over tokens. Here keys k(s) and values v(s) are piecewise-linear functions of
time s through the nodes (tau_i, k_i, v_i), and a query q at time t takes

    o(t) = int e^{q.k(s)} v(s) ds / int e^{q.k(s)} ds        lse = log of the denominator

over its window of s. The weights are those of softmax with a bias b_i on every score that depends
on the neighbours' scores and on the time between them; so time may be irregular, and windows may
begin and end between tokens. Softmax itself, and other readings of the curve, are --rule.

Start with `contattn help attend`; `contattn formats` explains files and shapes.";
