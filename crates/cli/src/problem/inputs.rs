//! From options to files to a checked problem.

use super::{LayoutArg, Options, RuleArg, SinkArg, hint};
use crate::context::Context;
use crate::refusal::Refusal;
use anyhow::Context as _;
use contattn_core::file::{self, Array, ArrayError, FileError, Locator};
use contattn_core::{
    Documents, Edge, Lower, Problem, ProblemError, QueryTimes, Scale, Series, Sink, Spec, Tensor, TensorName,
    TensorView, Timeline, Upper, Window,
};

/// What the files hold: owned, so that a [`Problem`] can look into it.
pub(crate) struct Inputs {
    pub(crate) q: Tensor,
    pub(crate) k: Tensor,
    pub(crate) v: Tensor,
    pub(crate) layout: LayoutArg,
    pub(crate) sink: SinkArg,
    pub(crate) spec: Spec,
}

impl Inputs {
    /// Checks the options against each other, then reads the files.
    ///
    /// # Errors
    /// A [`Refusal`] for options that exclude each other; [`FileError`]; [`ProblemError::Rank`].
    pub(crate) fn read(options: &Options, context: &Context) -> anyhow::Result<Inputs> {
        let window = base_window(options)?;
        if options.operator.rule == RuleArg::Softmax {
            let given = [("--durations", &options.time.durations), ("--times", &options.time.times)];
            if let Some((flag, _)) = given.into_iter().find(|(_, file)| file.is_some()) {
                return Err(Refusal::bad_input(
                    format!("{flag} cannot be used with --rule softmax, for which every duration is 1"),
                    "use --rule step, which is softmax with a bias log D_i, or leave the time line out",
                )
                .into());
            }
        }
        let read = |flag, file: &Locator| {
            context.go_on()?;
            read_tensor(flag, file)
        };
        let q = read("--q", &options.tensors.q)?;
        let k = read("--k", &options.tensors.k)?;
        let v = read("--v", &options.tensors.v)?;
        context.go_on()?;
        let spec = read_spec(options, window)?;
        Ok(Inputs { q, k, v, layout: options.tensors.layout, sink: options.operator.sink, spec })
    }

    /// The checked problem.
    ///
    /// # Errors
    /// A [`Refusal`] with what is wrong and advice that looks at the shapes.
    pub(crate) fn problem(&self) -> anyhow::Result<Problem<'_>> {
        self.try_problem(self.layout).map_err(|error| {
            let advice = hint::advice(&error, self);
            Refusal::bad_input(error.to_string(), advice).into()
        })
    }

    /// The problem, were the files in `layout`.
    ///
    /// # Errors
    /// What is wrong then.
    pub(super) fn try_problem(&self, layout: LayoutArg) -> Result<Problem<'_>, ProblemError> {
        let q = self.q.view(TensorName::Query, layout.into())?;
        let k = self.k.view(TensorName::Key, layout.into())?;
        let v = self.v.view(TensorName::Value, layout.into())?;
        let (k, v, sink) = match self.sink {
            SinkArg::Absent => (k, v, Sink::Absent),
            SinkArg::Zeros => (k, v, Sink::Zeros),
            SinkArg::Copy => (k, v, Sink::Copy),
            SinkArg::Given => {
                let (key, k) = split_sink(TensorName::Key, k)?;
                let (value, v) = split_sink(TensorName::Value, v)?;
                (k, v, Sink::Given { key, value })
            }
        };
        Problem::new(q, k, v, sink, self.spec.clone())
    }
}

/// Row 0 and the rows behind it.
fn split_sink<'a>(tensor: TensorName, view: TensorView<'a>) -> Result<(TensorView<'a>, TensorView<'a>), ProblemError> {
    Ok((view.rows(tensor, 0..1)?, view.rows(tensor, 1..view.shape()[2])?))
}

/// The window without the edges that files hold.
fn base_window(options: &Options) -> anyhow::Result<Window> {
    let by_row = &options.window;
    let window = by_row.window.clone().unwrap_or_default();
    let clash = |flag: &str, edge: &str| {
        Refusal::bad_input(
            format!("{flag} gives every row an edge, and --window has {edge}"),
            format!("leave that edge of --window empty, for instance --window ..t, or leave {flag} out"),
        )
    };
    if by_row.lower_edges.is_some() && window.lower != Lower::Start {
        return Err(clash("--lower-edges", "a lower edge of its own").into());
    }
    if by_row.upper_edges.is_some() && by_row.window.is_some() && window.upper != Upper::End {
        return Err(clash("--upper-edges", "an upper edge of its own").into());
    }
    Ok(window)
}

fn read_spec(options: &Options, mut window: Window) -> anyhow::Result<Spec> {
    let Options { operator, window: edges, time, masks, .. } = options;
    if let Some(file) = &edges.lower_edges {
        let rows = read_series("--lower-edges", TensorName::LowerEdges, file, Array::to_reals)?;
        window.lower = Lower::At(Edge::Rows(rows));
    }
    if let Some(file) = &edges.upper_edges {
        let rows = read_series("--upper-edges", TensorName::UpperEdges, file, Array::to_reals)?;
        window.upper = Upper::At(Edge::Rows(rows));
    }
    let timeline = match (&time.durations, &time.times) {
        (Some(file), _) => {
            Timeline::Durations(read_series("--durations", TensorName::Durations, file, Array::to_reals)?)
        }
        (None, Some(file)) => Timeline::Times(read_series("--times", TensorName::Times, file, Array::to_reals)?),
        (None, None) => Timeline::Unit,
    };
    let query_times = match &time.query_times {
        Some(file) => QueryTimes::At(read_series("--query-times", TensorName::QueryTimes, file, Array::to_reals)?),
        None => QueryTimes::LastNodes,
    };
    let key_mask = match &masks.mask {
        Some(file) => Some(read_series("--mask", TensorName::KeyMask, file, Array::to_bools)?),
        None => None,
    };
    let documents = match &masks.documents {
        Some(file) => Some(Documents {
            keys: read_series("--documents", TensorName::Documents, file, Array::to_ids)?,
            queries: match &masks.query_documents {
                Some(file) => Some(read_series("--query-documents", TensorName::QueryDocuments, file, Array::to_ids)?),
                None => None,
            },
        }),
        None => None,
    };
    let scale = operator.scale.map_or(Scale::InverseSqrtHeadDim, Scale::Value);
    Ok(Spec { rule: operator.rule.rule(), window, timeline, query_times, key_mask, documents, scale })
}

/// The tensor of floating-point numbers that an option names.
///
/// # Errors
/// [`FileError`] with the option's name before it.
pub(crate) fn read_tensor(flag: &'static str, locator: &Locator) -> anyhow::Result<Tensor> {
    let array = file::read(locator).context(flag)?;
    array.into_tensor().map_err(|e| FileError::at(locator, e)).context(flag)
}

/// The numbers along the time line that an option names.
fn read_series<T>(
    flag: &'static str,
    tensor: TensorName,
    locator: &Locator,
    convert: impl Fn(&Array) -> Result<Vec<T>, ArrayError>,
) -> anyhow::Result<Series<T>> {
    let array = file::read(locator).context(flag)?;
    let values = convert(&array).map_err(|e| FileError::at(locator, e)).context(flag)?;
    Series::from_shape(tensor, array.shape(), values)
        .map_err(|e| Refusal::bad_input(format!("{flag}: {e}"), hint::SERIES).into())
}
