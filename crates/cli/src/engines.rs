//! The one list of engines, and `contattn engines`, which shows it.

use crate::exit::Exit;
use crate::print;
use crate::refusal::Refusal;
use clap::builder::PossibleValue;
use contattn_core::{Engine, EngineError, Feature, Open};
use contattn_cpu::{Plain, Tiled};
use serde::Serialize;
use std::process::ExitCode;

/// Makes an engine, on the adapter of a name where it uses one.
type Opening = fn(Option<&str>) -> Result<Box<dyn Engine>, EngineError>;

/// An engine that this build has.
struct Entry {
    /// name on the command line
    name: &'static str,
    /// one line for help
    about: &'static str,
    /// makes it, on the adapter of a name where it uses one; fails where the machine lacks something
    open: Opening,
    /// whether it uses an adapter
    has_adapters: bool,
}

/// Every engine of this build, in the order shown. One that needs a heavy library is an entry under `#[cfg(feature)]`.
const ENGINES: &[Entry] = &[
    #[cfg(feature = "reference")]
    Entry {
        name: "reference",
        about: "arbitrary precision with proof: o, lse, weights and bias correctly rounded",
        open: |_| Ok(Box::new(contattn_reference::Reference::new())),
        has_adapters: false,
    },
    Entry {
        name: "plain",
        about: "the readable evaluation, row by row, in f64: every feature",
        open: |_| Ok(Box::new(Plain::<f64>::new())),
        has_adapters: false,
    },
    Entry {
        name: "plain-f32",
        about: "the same in f32: what f32 kernels are measured against",
        open: |_| Ok(Box::new(Plain::<f32>::new())),
        has_adapters: false,
    },
    Entry {
        name: "tiled",
        about: "SIMD kernels in f32 on all cores, with the fastest instruction set of this machine",
        open: |_| Ok(Box::new(Tiled::open(contattn_cpu::tiled::Options::default())?)),
        has_adapters: false,
    },
    #[cfg(feature = "gpu")]
    Entry {
        name: "gpu",
        about: "WGSL kernels in f32 on the best GPU adapter, or on that of --adapter",
        open: |adapter| {
            let adapter = adapter.map_or_else(contattn_gpu::Choice::default, crate::devices::choice);
            Ok(Box::new(contattn_gpu::Gpu::open(contattn_gpu::Options { adapter, ..Default::default() })?))
        },
        has_adapters: true,
    },
];

/// The engine of `attend` where none is named: correctly rounded results where this build has them.
pub(crate) const OF_ATTEND: &str = if cfg!(feature = "reference") { "reference" } else { "plain" };

/// The engine of `grad` where none is named. Not the reference: its gradients are not all proven to be correctly rounded.
pub(crate) const OF_GRAD: &str = "plain";

/// The names as the argument parser takes them.
pub(crate) fn names() -> clap::builder::PossibleValuesParser {
    ENGINES.iter().map(|entry| PossibleValue::new(entry.name).help(entry.about)).collect::<Vec<_>>().into()
}

/// Makes the engine of this name, on the adapter of a name where one is given.
///
/// # Errors
/// [`EngineError::Unavailable`] with what is missing; an adapter for an engine that uses none.
pub(crate) fn open(name: &str, adapter: Option<&str>) -> anyhow::Result<Box<dyn Engine>> {
    let missing = || EngineError::Unavailable { engine: name.to_owned(), reason: "this build does not have it".into() };
    let entry = ENGINES.iter().find(|entry| entry.name == name).ok_or_else(missing)?;
    if adapter.is_some() && !entry.has_adapters {
        let what = format!("--adapter is for engines that run on one, and {name} does not");
        return Err(Refusal::bad_input(what, "leave it out, or add --engine gpu").into());
    }
    Ok((entry.open)(adapter)?)
}

/// Lists the engines with what each supports.
///
/// One column for each engine, one row for each feature that a problem may need. An engine that this machine cannot run says
/// why.
#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Examples:
  $ contattn engines
  $ contattn engines --json";

/// An engine as it is shown.
#[derive(Debug, Serialize)]
struct Shown {
    name: &'static str,
    about: &'static str,
    available: bool,
    /// why it is not
    reason: Option<String>,
    /// type in which it does its sums
    arithmetic: Option<&'static str>,
    supports: Vec<String>,
    lacks: Vec<String>,
}

fn show(entry: &Entry) -> Shown {
    let Entry { name, about, open, .. } = entry;
    match open(None) {
        Ok(engine) => {
            let (supports, lacks): (Vec<_>, Vec<_>) =
                Feature::all().into_iter().partition(|&feature| engine.supports(feature));
            let text = |features: Vec<Feature>| features.iter().map(Feature::to_string).collect();
            Shown {
                name,
                about,
                available: true,
                reason: None,
                arithmetic: Some(engine.arithmetic().name()),
                supports: text(supports),
                lacks: text(lacks),
            }
        }
        Err(error) => Shown {
            name,
            about,
            available: false,
            reason: Some(error.to_string()),
            arithmetic: None,
            supports: Vec::new(),
            lacks: Vec::new(),
        },
    }
}

fn table(engines: &[Shown]) -> String {
    let mut text = String::new();
    for engine in engines {
        let default = match (engine.name == OF_ATTEND, engine.name == OF_GRAD) {
            (true, true) => " (default)",
            (true, false) => " (default of attend)",
            (false, true) => " (default of grad)",
            (false, false) => "",
        };
        text += &format!("{:12}  {}{default}\n", engine.name, engine.about);
        if let Some(reason) = &engine.reason {
            text += &format!("{:12}  not available: {reason}\n", "");
        }
    }
    let available: Vec<&Shown> = engines.iter().filter(|engine| engine.available).collect();
    let row = |name: &str, cell: &dyn Fn(&Shown) -> String| {
        let cells: String = available.iter().map(|engine| format!("  {:>12}", cell(engine))).collect();
        format!("{name:38}{cells}\n")
    };
    text.push('\n');
    text += &row("", &|engine| engine.name.to_owned());
    text += &row("arithmetic", &|engine| engine.arithmetic.unwrap_or("?").to_owned());
    for feature in Feature::all() {
        let name = feature.to_string();
        text += &row(&name, &|engine| if engine.supports.contains(&name) { "yes" } else { "-" }.to_owned());
    }
    text
}

/// Prints the list.
///
/// # Errors
/// Where stdout cannot be written.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let engines: Vec<Shown> = ENGINES.iter().map(show).collect();
    if args.json {
        print::json(&engines)?
    } else {
        print::text(&table(&engines))?
    }
    Ok(Exit::Success.into())
}
