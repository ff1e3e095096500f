//! `contattn grad`: gradients of a problem from upstream gradients of o and lse.

use crate::attend::{metadata, settings};
use crate::context::Context;
use crate::engines;
use crate::exit::{self, Exit};
use crate::problem::{Inputs, LayoutArg, Options, RuleArg, SinkArg, read_tensor};
use crate::refusal::Refusal;
use crate::results::{Named, Plan, Summary, Wanted};
use contattn_core::file::Locator;
use contattn_core::{
    Axis, Gradient, Layout, Problem, ProblemError, Request, Rule, Tensor, TensorName, TensorView, Upstream,
};
use std::process::ExitCode;

/// Computes the gradients of q, k, v, the sink and the durations.
#[derive(Debug, clap::Args)]
#[command(long_about = ABOUT, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) problem: Options,
    #[command(flatten)]
    pub(crate) upstream: UpstreamOptions,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// Gradients from above.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Upstream gradients")]
pub(crate) struct UpstreamOptions {
    /// Gradient of the loss by o: (batch, heads, queries, value_width), in the layout of q
    #[arg(long = "do", value_name = "FILE")]
    d_o: Locator,
    /// Gradient of the loss by lse: (batch, heads, queries) [default: 0]
    #[arg(long, value_name = "FILE")]
    dlse: Option<Locator>,
}

/// Where gradients go.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct Outputs {
    /// Write the gradient by q, of q's shape
    #[arg(long, value_name = "FILE")]
    dq: Option<Locator>,
    /// Write the gradient by k, of k's shape: with --sink given its first row is the sink's
    #[arg(long, value_name = "FILE")]
    dk: Option<Locator>,
    /// Write the gradient by v, of v's shape: with --sink given its first row is the sink's
    #[arg(long, value_name = "FILE")]
    dv: Option<Locator>,
    /// Write the gradient by a given sink's key alone: (batch, kv_heads, 1, head_dim)
    #[arg(long, value_name = "FILE")]
    dsink_k: Option<Locator>,
    /// Write the gradient by a given sink's value alone: (batch, kv_heads, 1, value_width)
    #[arg(long, value_name = "FILE")]
    dsink_v: Option<Locator>,
    /// Write the gradient by the durations, summed over heads: (n), or (batch, n) where each batch has its own
    ///
    /// Heads, and batches that share a time line, are summed. D_i moves node i and every node after it, and with them the
    /// edges of windows that sit on nodes. taylor has no durations.
    #[arg(long, value_name = "FILE")]
    ddurations: Option<Locator>,
}

const ABOUT: &str = "\
Computes the gradients of q, k, v, the sink and the durations.

--do is the gradient of a loss by o, --dlse that by lse; the problem is given as it is for
`contattn attend`. dk and dv sum over the query heads that share a key/value head. The gradient of
a sink that copies node 1 is part of node 1's; that of a given sink is the first row of dk and dv,
which so have the shapes of the files of k and v.

Without an output option the gradients are summarised on stdout.";

const EXAMPLES: &str = "\
Examples:
  A summary of all gradients:
    $ contattn grad --q q.npy --k k.npy --v v.npy --do do.npy
  The gradients by q, k and v into one file:
    $ contattn grad --q q.npy --k k.npy --v v.npy --do do.npy --dlse dlse.npy \\
        --dq g.safetensors --dk g.safetensors --dv g.safetensors
  How the loss depends on irregular durations:
    $ contattn grad --q q.npy --k k.npy --v v.npy --do do.npy --durations d.npy --ddurations dd.npy
  A trained sink, whose gradients are also written by themselves:
    $ contattn grad --q q.npy --k k.npy --v v.npy --do do.npy --sink given \\
        --dk dk.npy --dsink-k sink.npz --dsink-v sink.npz";

/// Computes, then writes or prints.
///
/// # Errors
/// Options, files, the problem, the engine, cancellation.
pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let Args { problem: options, upstream, outputs } = args;
    let plan = plan(args)?;
    check(options, outputs)?;
    let name = options.computation.engine(engines::OF_GRAD);
    let engine = options.computation.open(name)?;
    let inputs = Inputs::read(options, context)?;
    let problem = inputs.problem()?;
    let request = Request { dtype: options.computation.dtype(), ..Request::default() };
    plan.check_dtype(request.dtype(&problem))?;
    context.go_on()?;
    let d_o = read_tensor("--do", &upstream.d_o)?;
    let dlse = upstream.dlse.as_ref().map(|file| read_tensor("--dlse", file)).transpose()?;
    let dlse = dlse.map(as_column).transpose()?;
    let gradients_above = join(&problem, &d_o, dlse.as_ref(), inputs.layout)?;
    let gradient = engine.backward(&problem, &gradients_above, None, &request, &context.monitor("grad"))?;
    let results = stored(gradient, &inputs, &plan)?;
    let settings = settings(options, name, &inputs);
    plan.write(&results, &metadata("grad", &settings), context)?;
    Summary::new("grad", settings, &problem, &results, &plan).print(options.computation.json)?;
    Ok(Exit::Success.into())
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let Args { problem, upstream, outputs } = args;
    let wanted = [
        Wanted { flag: "--dq", name: "dq", file: outputs.dq.as_ref() },
        Wanted { flag: "--dk", name: "dk", file: outputs.dk.as_ref() },
        Wanted { flag: "--dv", name: "dv", file: outputs.dv.as_ref() },
        Wanted { flag: "--dsink-k", name: "dsink_k", file: outputs.dsink_k.as_ref() },
        Wanted { flag: "--dsink-v", name: "dsink_v", file: outputs.dsink_v.as_ref() },
        Wanted { flag: "--ddurations", name: "ddurations", file: outputs.ddurations.as_ref() },
    ];
    let mut inputs = problem.inputs();
    inputs.push(("--do", &upstream.d_o));
    inputs.extend(upstream.dlse.as_ref().map(|file| ("--dlse", file)));
    Plan::new(&wanted, &inputs)
}

/// Refuses gradients that the problem does not have.
fn check(options: &Options, outputs: &Outputs) -> anyhow::Result<()> {
    let rule = options.operator.rule;
    if outputs.ddurations.is_some() && matches!(rule, RuleArg::Rule(Rule::Taylor(_))) {
        return Err(Refusal::bad_input(
            format!("--ddurations: rule {rule} has no durations"),
            "use --rule linear, which it approximates, or leave --ddurations out",
        )
        .into());
    }
    let sink = [("--dsink-k", &outputs.dsink_k), ("--dsink-v", &outputs.dsink_v)];
    match sink.into_iter().find(|(_, file)| file.is_some()) {
        Some((flag, _)) if options.operator.sink != SinkArg::Given => Err(Refusal::bad_input(
            format!("{flag}: there is a gradient of the sink only with --sink given"),
            "put the sink into the first row of k and v and add --sink given",
        )
        .into()),
        _ => Ok(()),
    }
}

/// (batch, heads, queries), (heads, queries) or (queries) as a tensor of width 1.
fn as_column(dlse: Tensor) -> anyhow::Result<Tensor> {
    let (shape, elements) = dlse.into_parts();
    let shape = match *shape {
        [b, h, s] => vec![b, h, s, 1],
        [h, s] => vec![1, h, s, 1],
        [s] => vec![1, 1, s, 1],
        _ => {
            let found = shape.len();
            return Err(ProblemError::Rank { tensor: TensorName::UpstreamLse, expected: "1, 2 or 3", found }.into());
        }
    };
    Ok(Tensor::new(shape, elements)?)
}

/// The upstream gradients, checked against the problem.
fn join<'a>(
    problem: &Problem<'_>,
    d_o: &'a Tensor,
    dlse: Option<&'a Tensor>,
    layout: LayoutArg,
) -> anyhow::Result<Upstream<'a>> {
    let dlse = dlse.map(|dlse| dlse.view(TensorName::UpstreamLse, Layout::Bhsd)).transpose()?;
    let in_layout = |layout: LayoutArg| -> Result<TensorView<'a>, ProblemError> {
        d_o.view(TensorName::UpstreamOutput, layout.into())
    };
    let wrong = match Upstream::new(problem, in_layout(layout)?, dlse) {
        Ok(upstream) => return Ok(upstream),
        Err(wrong) => wrong,
    };
    if d_o.shape().len() > 2 && Upstream::new(problem, in_layout(layout.other())?, dlse).is_ok() {
        let other = layout.other().name();
        let advice =
            format!("it looks like {other}, and q, k and v are read as {}: store all in one layout", layout.name());
        return Err(Refusal::bad_input(wrong.to_string(), advice).into());
    }
    let advice = match &wrong {
        ProblemError::Shape { tensor: TensorName::UpstreamOutput, axis: Axis::Sequence, .. } => {
            "the gradient by o has a row for each query, as o has"
        }
        ProblemError::Shape { tensor: TensorName::UpstreamLse, .. } => {
            "it has one number for each row of o, as lse has"
        }
        _ => "it has the shape of o, as `contattn attend --out` writes it",
    };
    Err(Refusal::bad_input(wrong.to_string(), advice).into())
}

/// The gradients asked for, or all of them for the summary alone, as they are stored.
fn stored(gradient: Gradient, inputs: &Inputs, plan: &Plan) -> anyhow::Result<Vec<Named>> {
    let Gradient { dq, dk, dv, sink, durations } = gradient;
    let (rank_q, rank_k, rank_v) = (inputs.q.shape().len(), inputs.k.shape().len(), inputs.v.shape().len());
    let (dk, dv, dsink_k, dsink_v) = match sink {
        Some(sink) => (prepend(&sink.dk, &dk)?, prepend(&sink.dv, &dv)?, Some(sink.dk), Some(sink.dv)),
        None => (dk, dv, None, None),
    };
    let by_node = [
        ("dq", Some(dq), rank_q),
        ("dk", Some(dk), rank_k),
        ("dv", Some(dv), rank_v),
        ("dsink_k", dsink_k, rank_k),
        ("dsink_v", dsink_v, rank_v),
    ];
    let shown = |name: &str| plan.is_empty() || plan.has(name);
    let mut results = Vec::new();
    for (name, tensor, rank) in by_node {
        if let Some(tensor) = tensor.filter(|_| shown(name)) {
            results.push(Named { name, tensor: inputs.layout.store(tensor, rank)? });
        }
    }
    if let Some(tensor) = durations.filter(|_| shown("ddurations")) {
        results.push(Named { name: "ddurations", tensor });
    }
    Ok(results)
}

/// The row of node 0 before those of nodes 1..n, for each batch and head.
fn prepend(first: &Tensor, rest: &Tensor) -> Result<Tensor, ProblemError> {
    let [batch, heads, keys, width] = *rest.shape() else { return Ok(rest.clone()) };
    let (first, after) = (first.to_f64(), rest.to_f64());
    let rows = (0..batch * heads).flat_map(|at| {
        let row = first[at * width..][..width].iter();
        row.chain(&after[at * keys * width..][..keys * width])
    });
    // Back to the type that these numbers came from, which holds them exactly.
    Tensor::from_f64(vec![batch, heads, keys + 1, width], rest.dtype(), rows.copied())
}
