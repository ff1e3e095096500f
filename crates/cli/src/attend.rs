//! `contattn attend`: o, lse, weights and bias of a problem.

use crate::context::Context;
use crate::engines;
use crate::exit::{self, Exit};
use crate::problem::{self, Inputs, Options};
use crate::results::{Named, Plan, Summary, Wanted};
use contattn_core::file::Locator;
use contattn_core::{Output, Request};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Attends: computes o, lse and, on request, the weights and the bias b.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) problem: Options,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// Where results go.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct Outputs {
    /// Write o: (batch, heads, queries, value_width)
    #[arg(long, value_name = "FILE")]
    out: Option<Locator>,
    /// Write lse, the log of the denominator: (batch, heads, queries)
    #[arg(long, value_name = "FILE")]
    lse: Option<Locator>,
    /// Write the weights of the nodes: (batch, heads, queries, n + 1), column 0 the sink's
    #[arg(long, value_name = "FILE")]
    weights: Option<Locator>,
    /// Write the bias b that continuity adds to the scores, of the same shape; -inf where a node is not seen
    #[arg(long, value_name = "FILE")]
    bias: Option<Locator>,
}

const ABOUT: &str = "\
Attends: computes o, lse and, on request, the weights and the bias b.

Nodes i = 1..n have keys k_i, values v_i and durations D_i (default 1); node 0 is the sink. Scores
are a_i = scale (q . k_i). Between nodes, keys and values are interpolated, and o is the mean of
the value curve over the query's window, weighted by the exponential of the score curve. The
queries stand at the last nodes, one each, unless --query-times says otherwise, and see everything
up to their own time, unless --window does.

Results are correctly rounded: each is the number of its type nearest to the exact one. --engine plain
is faster and off by a few units in the last place; `contattn engines` lists all.

Without an output option the results are summarised on stdout: shapes, ranges, first numbers.";

const EXAMPLES: &str = "\
Examples:
  A summary of continuous attention, then of softmax attention, on the same heads:
    $ contattn attend --q heads.npz:q --k heads.npz:k --v heads.npz:v
    $ contattn attend --q heads.npz:q --k heads.npz:k --v heads.npz:v --rule softmax
  Samples at irregular times (n + 1 of them, the sink's first), o into a file:
    $ contattn attend --q q.npy --k k.npy --v v.npy --times times.npy --out o.npy
  The last 2.5 units of time before each query, with weights and bias in one file:
    $ contattn attend --q q.npy --k k.npy --v v.npy --window sliding:2.5 \\
        --weights r.npz --bias r.npz
  Half a unit further at either edge:
    $ contattn attend --q q.npy --k k.npy --v v.npy --window 0.5..t+0.5
  A trained sink, stored as the first row of k and v, and results in bf16:
    $ contattn attend --q q.npy --k k.npy --v v.npy --sink given --dtype bf16 \\
        --out r.safetensors:o --lse r.safetensors:lse
  Tensors stored as (batch, sequence, heads, width), as many models have them:
    $ contattn attend --q bshd.npz:q --k bshd.npz:k --v bshd.npz:v --layout bshd --out o.npy
  A summary for a program:
    $ contattn attend --q q.npy --k k.npy --v v.npy --engine plain-f32 --json";

/// Computes, then writes or prints.
///
/// # Errors
/// Options, files, the problem, the engine, cancellation.
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let Args { problem: options, outputs } = args;
    let wanted = [
        Wanted { flag: "--out", name: "o", file: outputs.out.as_ref() },
        Wanted { flag: "--lse", name: "lse", file: outputs.lse.as_ref() },
        Wanted { flag: "--weights", name: "weights", file: outputs.weights.as_ref() },
        Wanted { flag: "--bias", name: "bias", file: outputs.bias.as_ref() },
    ];
    let plan = Plan::new(&wanted, &options.inputs())?;
    let name = options.computation.engine(engines::OF_ATTEND);
    let engine = options.computation.open(name)?;
    let inputs = Inputs::read(options, context)?;
    let problem = inputs.problem()?;
    let request = Request { weights: plan.has("weights"), bias: plan.has("bias"), dtype: options.computation.dtype() };
    plan.check_dtype(request.dtype(&problem))?;
    let output = engine.forward(&problem, &request, &context.monitor("attend"))?;
    let results = stored(output, &inputs, &plan)?;
    let settings = settings(options, name, &inputs);
    plan.write(&results, &metadata("attend", &settings), context)?;
    Summary::new("attend", settings, &problem, &results, &plan).print(options.computation.json)?;
    Ok(Exit::Success.into())
}

/// The results asked for, or o and lse for the summary alone, as they are stored.
fn stored(output: Output, inputs: &Inputs, plan: &Plan) -> anyhow::Result<Vec<Named>> {
    let rank = inputs.q.shape().len();
    let shown = |name: &str| plan.is_empty() || plan.has(name);
    let mut results = Vec::new();
    if shown("o") {
        results.push(Named { name: "o", tensor: inputs.layout.store(output.o, rank)? });
    }
    if shown("lse") {
        results.push(Named { name: "lse", tensor: problem::store_rows(output.lse, rank)? });
    }
    for (name, tensor) in [("weights", output.weights), ("bias", output.bias)] {
        if let Some(tensor) = tensor {
            results.push(Named { name, tensor: problem::store_rows(tensor, rank)? });
        }
    }
    Ok(results)
}

/// What was asked for, by name, for summaries and metadata.
pub(crate) fn settings(options: &Options, engine: &str, inputs: &Inputs) -> BTreeMap<String, String> {
    let pairs = [
        ("engine", engine.to_owned()),
        ("layout", options.tensors.layout.name().to_owned()),
        ("rule", options.operator.rule.to_string()),
        ("sink", options.operator.sink.name().to_owned()),
        ("window", problem::describe(&inputs.spec.window)),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What a `.safetensors` file says about how it came to be.
pub(crate) fn metadata(command: &str, settings: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let version = concat!("contattn ", env!("CARGO_PKG_VERSION"));
    let mut metadata = settings.clone();
    metadata.insert("command".to_owned(), command.to_owned());
    metadata.insert("producer".to_owned(), version.to_owned());
    metadata
}
