//! A problem on the command line: its options, which `attend` and `grad` share, and their way to a checked
//! [`Problem`](contattn_core::Problem).

mod hint;
mod inputs;
mod layout;
mod rule;
mod window;

pub(crate) use inputs::{Inputs, read_tensor};
pub(crate) use layout::{LayoutArg, store_rows};
pub(crate) use rule::RuleArg;
pub(crate) use window::{describe, size};

use crate::engines;
use crate::exit::Exit;
use crate::refusal::Refusal;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use contattn_core::file::Locator;
use contattn_core::{Dtype, Engine, Open, Window};
use contattn_cpu::Tiled;
use contattn_cpu::tiled::{self, Isa};

/// The engine that has instruction sets and threads to choose.
const TILED: &str = "tiled";

/// Everything that defines o.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) tensors: Tensors,
    #[command(flatten)]
    pub(crate) operator: Operator,
    #[command(flatten)]
    pub(crate) window: WindowOptions,
    #[command(flatten)]
    pub(crate) time: Time,
    #[command(flatten)]
    pub(crate) masks: Masks,
    #[command(flatten)]
    pub(crate) computation: Computation,
}

/// q, k and v.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tensors")]
pub(crate) struct Tensors {
    /// Queries: (batch, heads, queries, head_dim)
    #[arg(long, value_name = "FILE")]
    pub(crate) q: Locator,
    /// Keys of nodes 1..n: (batch, kv_heads, n, head_dim); kv_heads divides heads
    #[arg(long, value_name = "FILE")]
    pub(crate) k: Locator,
    /// Values of nodes 1..n: (batch, kv_heads, n, value_width)
    #[arg(long, value_name = "FILE")]
    pub(crate) v: Locator,
    /// Order of the axes of q, k, v, o and their gradients: b(atch), h(eads), s(equence), d (width)
    #[arg(long, value_enum, default_value = "bhsd")]
    pub(crate) layout: LayoutArg,
}

/// What is computed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Operator")]
pub(crate) struct Operator {
    /// How the curve is read between nodes: softmax, linear, step, trapezoid or taylor:M
    ///
    /// linear: the exact integral of piecewise-linear keys and values (Su 2026). step: node i holds on (tau_{i-1}, tau_i], so
    /// every score has the bias log D_i (Marro et al. 2025). softmax: step with every duration 1, which is ordinary attention.
    /// trapezoid: half of each segment to either end (Calvello et al.). taylor:M: linear's bias, expanded in the differences
    /// of neighbouring scores up to order M (0 to 64); it needs unit durations and windows that end on nodes.
    #[arg(long, default_value = "linear", value_name = "RULE")]
    pub(crate) rule: RuleArg,
    /// Node 0, which stands one duration before node 1: none, zeros, a copy of node 1, or the first row of k and v
    ///
    /// With packed documents each has its own. step and softmax read no node 0.
    #[arg(long, value_enum, default_value = "zeros")]
    pub(crate) sink: SinkArg,
    /// The number that multiplies q.k [default: 1/sqrt(head_dim)]
    #[arg(long, value_name = "S", allow_hyphen_values = true, value_parser = window::number)]
    pub(crate) scale: Option<f64>,
}

/// What each query sees.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Window")]
pub(crate) struct WindowOptions {
    /// Interval of time that a query at time t sees: causal, full, sliding:W or LOWER..UPPER [default: causal]
    ///
    /// LOWER is `start`, a number or t-W (not before the start); UPPER is `end`, a number, t, t+OFFSET or t-OFFSET; either may
    /// be left empty for start and end. causal is start..t, full is start..end, sliding:W is t-W..t. An UPPER with t in it
    /// makes the window causal: only nodes at times up to t are visible (step, softmax: also the one whose segment t cuts).
    /// Edges may lie between nodes, where the curve is interpolated, and beyond them, where it is held constant.
    /// Under softmax sliding:W is the last W tokens.
    #[arg(long, value_name = "WINDOW", allow_hyphen_values = true, value_parser = window::parse)]
    pub(crate) window: Option<Window>,
    /// Lower edge of each row's window, in place of WINDOW's: (queries) or (batch, queries)
    #[arg(long, value_name = "FILE")]
    pub(crate) lower_edges: Option<Locator>,
    /// Upper edge of each row's window, in place of WINDOW's; all nodes are visible: (queries) or (batch, queries)
    #[arg(long, value_name = "FILE")]
    pub(crate) upper_edges: Option<Locator>,
}

/// Where nodes and queries stand in time.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Time")]
pub(crate) struct Time {
    /// Durations D_1..D_n, each at least 0: (n) or (batch, n) [default: all 1]
    #[arg(long, value_name = "FILE", conflicts_with = "times")]
    pub(crate) durations: Option<Locator>,
    /// Times tau_0..tau_n of the nodes, in order, the sink's first: (n + 1) or (batch, n + 1)
    #[arg(long, value_name = "FILE")]
    pub(crate) times: Option<Locator>,
    /// Times t of the queries: (queries) or (batch, queries) [default: those of the last nodes]
    #[arg(long, value_name = "FILE")]
    pub(crate) query_times: Option<Locator>,
}

/// Which nodes exist, and for whom.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Masks")]
pub(crate) struct Masks {
    /// True for nodes that are kept: (n) or (batch, n); a segment is kept where both its ends are
    #[arg(long, value_name = "FILE")]
    pub(crate) mask: Option<Locator>,
    /// Document of each node, an integer; each document is one run of neighbours and stands alone: (n) or (batch, n)
    #[arg(long, value_name = "FILE")]
    pub(crate) documents: Option<Locator>,
    /// Document of each query: (queries) or (batch, queries) [default: those of the last nodes]
    #[arg(long, value_name = "FILE", requires = "documents")]
    pub(crate) query_documents: Option<Locator>,
}

/// How it is computed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Computation")]
pub(crate) struct Computation {
    /// What computes it; `contattn engines` lists what each supports [default: of `attend` the first one, of `grad` plain]
    #[arg(long, value_parser = engines::names())]
    engine: Option<String>,
    /// Instruction set of --engine tiled [default: the fastest that this machine has]
    #[arg(long, value_parser = PossibleValuesParser::new(Isa::ALL.map(Isa::name)))]
    isa: Option<String>,
    /// Threads of --engine tiled; results do not depend on them [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Element type of the results [default: that of q]; lse and ddurations are f32 where it has 16 bits
    #[arg(long, value_parser = PossibleValuesParser::new(Dtype::ALL.map(Dtype::name)))]
    pub(crate) dtype: Option<String>,
    /// Print the summary, and any error, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Computation {
    /// Name of the engine asked for, or of a subcommand's default.
    pub(crate) fn engine(&self, default: &'static str) -> &str {
        self.engine.as_deref().unwrap_or(default)
    }

    /// Makes the engine of this name, with the instruction set and the threads asked for.
    ///
    /// # Errors
    /// A [`Refusal`] where the engine has no such choice, or the machine no such instructions; as [`engines::open`].
    pub(crate) fn open(&self, name: &str) -> anyhow::Result<Box<dyn Engine>> {
        let chosen = [("--isa", self.isa.is_some()), ("--threads", self.threads.is_some())];
        let Some((flag, _)) = chosen.into_iter().find(|(_, chosen)| *chosen) else {
            return Ok(engines::open(name)?);
        };
        if name != TILED {
            let what = format!("{flag}: engine {name} has no such choice");
            return Err(Refusal::bad_input(what, format!("add --engine {TILED}, or leave {flag} out")).into());
        }
        Ok(Box::new(open_tiled(self.isa.as_deref(), self.threads.map(usize::from))?))
    }

    /// Element type asked for.
    pub(crate) fn dtype(&self) -> Option<Dtype> {
        self.dtype.as_deref().and_then(Dtype::from_name)
    }
}

/// Makes the tiled engine with what was chosen about it.
///
/// # Errors
/// A [`Refusal`] where the machine lacks it, with what it has.
pub(crate) fn open_tiled(isa: Option<&str>, threads: Option<usize>) -> anyhow::Result<Tiled> {
    let isa = isa.map(str::parse::<Isa>).transpose()?;
    Tiled::open(tiled::Options { isa, threads }).map_err(|error| {
        let here: Vec<_> = Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(Isa::name).collect();
        let advice = if isa.is_some_and(|isa| !isa.is_available()) {
            format!("leave --isa out, or choose of {}", here.join(", "))
        } else {
            "ask for fewer --threads".to_owned()
        };
        Refusal { exit: Exit::Machine, what: error.to_string(), advice }.into()
    })
}

/// Node 0, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SinkArg {
    /// the curve starts at node 1
    Absent,
    /// key and value 0
    Zeros,
    /// key and value of the first kept node
    Copy,
    /// the first row of k and v
    Given,
}

impl SinkArg {
    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            SinkArg::Absent => "absent",
            SinkArg::Zeros => "zeros",
            SinkArg::Copy => "copy",
            SinkArg::Given => "given",
        }
    }
}

impl Options {
    /// Every file that is read, with its option.
    pub(crate) fn inputs(&self) -> Vec<(&'static str, &Locator)> {
        let Options { tensors, window, time, masks, .. } = self;
        let given = [("--q", &tensors.q), ("--k", &tensors.k), ("--v", &tensors.v)];
        let optional = [
            ("--lower-edges", &window.lower_edges),
            ("--upper-edges", &window.upper_edges),
            ("--durations", &time.durations),
            ("--times", &time.times),
            ("--query-times", &time.query_times),
            ("--mask", &masks.mask),
            ("--documents", &masks.documents),
            ("--query-documents", &masks.query_documents),
        ];
        let optional = optional.into_iter().filter_map(|(flag, file)| file.as_ref().map(|file| (flag, file)));
        given.into_iter().chain(optional).collect()
    }
}
