//! What a case's file holds: a problem as tensors, and the way back; results as they are stored.

use super::corpus::GoldenError;
use super::manifest::{Entry, LowerEntry, TimelineEntry, UpperEntry, WindowEntry};
use crate::generate::SmallProblem;
use contattn_core::families::SinkKind;
use contattn_core::file::{Array, ArrayData, ArrayError};
use contattn_core::{
    Documents, Dtype, Edge, Gradient, Layout, Lower, Output, Problem, ProblemError, QueryTimes, Scale, Series, Spec,
    Tensor, TensorName, TensorView, Timeline, Upper, Upstream, Window,
};
use std::collections::BTreeMap;

/// A problem with upstream gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// the problem, stored in its layout
    pub problem: SmallProblem,
    /// gradient by o, of o's type and stored in its layout
    pub g: Tensor,
    /// gradient by lse: (batch, heads, n_q, 1)
    pub g_lse: Tensor,
}

impl Inputs {
    /// The upstream gradients, for the problem that these inputs state.
    ///
    /// # Errors
    /// None for inputs that came from a recipe or from a corpus.
    pub fn upstream(&self, problem: &Problem<'_>) -> Result<Upstream<'_>, ProblemError> {
        let g = self.g.view(TensorName::UpstreamOutput, self.problem.layout)?;
        Upstream::new(problem, g, Some(self.g_lse.view(TensorName::UpstreamLse, Layout::Bhsd)?))
    }
}

pub(super) const fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::Bhsd => "bhsd",
        Layout::Bshd => "bshd",
    }
}

pub(super) const fn sink_name(sink: SinkKind) -> &'static str {
    match sink {
        SinkKind::Absent => "absent",
        SinkKind::Zeros => "zeros",
        SinkKind::Copy => "copy",
        SinkKind::Given => "given",
    }
}

/// A tensor of rank 4 with its axes of heads and sequence exchanged where the layout says so: from (batch, heads, sequence,
/// width) to what is stored, and back.
fn exchanged(tensor: &Tensor, layout: Layout) -> Result<Tensor, ProblemError> {
    Ok(tensor.view(TensorName::Value, layout)?.to_tensor())
}

/// The sink's row before those of nodes 1..n; all of (batch, heads, sequence, width).
fn joined(sink: &Tensor, nodes: &Tensor) -> Result<Tensor, ProblemError> {
    let [batch, heads, keys, width] = *nodes.shape() else { return Ok(nodes.clone()) };
    let (sink, rows) = (sink.to_f64(), nodes.to_f64());
    let both = (0..batch * heads)
        .flat_map(|at| sink[at * width..][..width].iter().chain(&rows[at * keys * width..][..keys * width]));
    // Back to the type that these numbers came from, which holds them exactly.
    Tensor::from_f64(vec![batch, heads, keys + 1, width], nodes.dtype(), both.copied())
}

/// The results of an engine by name, as a case's file and the command store them: in the layout of the inputs, the gradient
/// of a given sink in the first row of dk and dv.
///
/// # Errors
/// None for results of the problem that `inputs` states.
pub fn results(
    inputs: &Inputs,
    output: Output,
    gradient: Option<Gradient>,
) -> Result<Vec<(&'static str, Tensor)>, ProblemError> {
    let layout = inputs.problem.layout;
    let mut all = vec![("o", exchanged(&output.o, layout)?), ("lse", output.lse)];
    all.extend(output.weights.map(|tensor| ("weights", tensor)));
    all.extend(output.bias.map(|tensor| ("bias", tensor)));
    if let Some(Gradient { dq, dk, dv, sink, durations }) = gradient {
        let (dk, dv) = match &sink {
            Some(sink) => (joined(&sink.dk, &dk)?, joined(&sink.dv, &dv)?),
            None => (dk, dv),
        };
        for (name, tensor) in [("dq", dq), ("dk", dk), ("dv", dv)] {
            all.push((name, exchanged(&tensor, layout)?));
        }
        all.extend(durations.map(|tensor| ("ddurations", tensor)));
    }
    Ok(all)
}

fn array<T>(series: &Series<T>) -> Array
where
    T: Clone,
    ArrayData: From<Vec<T>>,
{
    // A series has as many numbers as its shape says.
    Array::new(series.shape(), series.values().to_vec().into())
        .unwrap_or_else(|_| unreachable!("a series of another length than its shape"))
}

/// The tensors of a case's file that state its problem, by name.
///
/// # Errors
/// None for inputs that make a problem.
pub fn contents(inputs: &Inputs, differentiable: bool) -> Result<Vec<(String, Array)>, ProblemError> {
    let SmallProblem { q, k, v, sink, sink_k, sink_v, layout, spec } = &inputs.problem;
    let with_sink = |first: &Tensor, rest: &Tensor| {
        if *sink != SinkKind::Given {
            return Ok(rest.clone());
        }
        exchanged(&joined(&exchanged(first, *layout)?, &exchanged(rest, *layout)?)?, *layout)
    };
    let mut all: Vec<(&str, Array)> =
        vec![("q", q.clone().into()), ("k", with_sink(sink_k, k)?.into()), ("v", with_sink(sink_v, v)?.into())];
    match &spec.timeline {
        Timeline::Unit => {}
        Timeline::Durations(series) => all.push(("durations", array(series))),
        Timeline::Times(series) => all.push(("times", array(series))),
    }
    if let QueryTimes::At(series) = &spec.query_times {
        all.push(("query_times", array(series)));
    }
    if let Lower::At(Edge::Rows(series)) = &spec.window.lower {
        all.push(("lower_edges", array(series)));
    }
    if let Upper::At(Edge::Rows(series)) = &spec.window.upper {
        all.push(("upper_edges", array(series)));
    }
    if let Some(series) = &spec.key_mask {
        all.push(("key_mask", array(series)));
    }
    if let Some(documents) = &spec.documents {
        all.push(("documents", array(&documents.keys)));
        all.extend(documents.queries.as_ref().map(|series| ("query_documents", array(series))));
    }
    if differentiable {
        let (shape, elements) = inputs.g_lse.clone().into_parts();
        all.push(("g", inputs.g.clone().into()));
        all.push(("g_lse", Tensor::new(shape[..3].to_vec(), elements)?.into()));
    }
    Ok(all.into_iter().map(|(name, array)| (name.to_owned(), array)).collect())
}

/// The window as the manifest has it.
pub(super) fn window_entry(window: &Window) -> WindowEntry {
    let lower = match &window.lower {
        Lower::Start => LowerEntry::Start,
        Lower::At(Edge::All(time)) => LowerEntry::At { time: *time },
        Lower::At(Edge::Rows(_)) => LowerEntry::Rows,
        Lower::Sliding(width) => LowerEntry::Sliding { width: *width },
    };
    let upper = match &window.upper {
        Upper::End => UpperEntry::End,
        Upper::At(Edge::All(time)) => UpperEntry::At { time: *time },
        Upper::At(Edge::Rows(_)) => UpperEntry::Rows,
        Upper::Query { offset } => UpperEntry::Query { offset: *offset },
    };
    WindowEntry { lower, upper }
}

/// The problem as options of `contattn attend`, `{file}` standing for the path of the case's file.
pub fn arguments(inputs: &Inputs) -> Vec<String> {
    let SmallProblem { sink, layout, spec, .. } = &inputs.problem;
    let mut all: Vec<String> = ["q", "k", "v"].map(|name| format!("--{name}={{file}}:{name}")).into();
    all.push(format!("--layout={}", layout_name(*layout)));
    all.push(format!("--rule={}", spec.rule));
    all.push(format!("--sink={}", sink_name(*sink)));
    if let Scale::Value(scale) = spec.scale {
        all.push(format!("--scale={scale:?}"));
    }
    let WindowEntry { lower, upper } = window_entry(&spec.window);
    let lower = match lower {
        LowerEntry::Start | LowerEntry::Rows => "start".to_owned(),
        LowerEntry::At { time } => format!("{time:?}"),
        LowerEntry::Sliding { width } => format!("t-{width:?}"),
    };
    let upper = match upper {
        UpperEntry::End | UpperEntry::Rows => "end".to_owned(),
        UpperEntry::At { time } => format!("{time:?}"),
        UpperEntry::Query { offset } if offset < 0.0 => format!("t-{:?}", -offset),
        UpperEntry::Query { offset } if offset > 0.0 => format!("t+{offset:?}"),
        UpperEntry::Query { .. } => "t".to_owned(),
    };
    all.push(format!("--window={lower}..{upper}"));
    let mut tensor = |option: &str, name: &str, there: bool| {
        if there {
            all.push(format!("--{option}={{file}}:{name}"));
        }
    };
    tensor("durations", "durations", matches!(spec.timeline, Timeline::Durations(_)));
    tensor("times", "times", matches!(spec.timeline, Timeline::Times(_)));
    tensor("query-times", "query_times", spec.query_times != QueryTimes::LastNodes);
    tensor("lower-edges", "lower_edges", matches!(spec.window.lower, Lower::At(Edge::Rows(_))));
    tensor("upper-edges", "upper_edges", matches!(spec.window.upper, Upper::At(Edge::Rows(_))));
    tensor("mask", "key_mask", spec.key_mask.is_some());
    tensor("documents", "documents", spec.documents.is_some());
    let queries = spec.documents.as_ref().is_some_and(|documents| documents.queries.is_some());
    tensor("query-documents", "query_documents", queries);
    all
}

/// The tensors of one file, as an entry names them.
struct Reader<'f> {
    entry: &'f Entry,
    arrays: &'f BTreeMap<String, Array>,
}

impl<'f> Reader<'f> {
    fn wrong(&self, tensor: &str, reason: impl ToString) -> GoldenError {
        GoldenError::tensor(&self.entry.name, tensor, reason)
    }

    /// An array that the entry says is there.
    fn array(&self, name: &str) -> Result<Option<&'f Array>, GoldenError> {
        if !self.entry.inputs.iter().any(|input| input == name) {
            return Ok(None);
        }
        self.arrays.get(name).map(Some).ok_or_else(|| self.wrong(name, "missing"))
    }

    fn needed(&self, name: &str) -> Result<&'f Array, GoldenError> {
        self.array(name)?.ok_or_else(|| self.wrong(name, "not among the inputs that the manifest names"))
    }

    fn tensor(&self, name: &str) -> Result<Tensor, GoldenError> {
        self.needed(name)?.clone().into_tensor().map_err(|e| self.wrong(name, e))
    }

    fn series<T>(
        &self,
        name: &str,
        tensor: TensorName,
        convert: impl Fn(&Array) -> Result<Vec<T>, ArrayError>,
    ) -> Result<Option<Series<T>>, GoldenError> {
        let Some(array) = self.array(name)? else { return Ok(None) };
        let values = convert(array).map_err(|e| self.wrong(name, e))?;
        Series::from_shape(tensor, array.shape(), values).map(Some).map_err(|e| self.wrong(name, e))
    }

    fn times(&self, name: &str, tensor: TensorName) -> Result<Series<f64>, GoldenError> {
        self.series(name, tensor, Array::to_reals)?.ok_or_else(|| self.wrong(name, "missing"))
    }

    fn known<T>(&self, what: &str, value: Option<T>) -> Result<T, GoldenError> {
        value.ok_or_else(|| self.wrong(what, "unknown value in the manifest"))
    }

    fn spec(&self) -> Result<Spec, GoldenError> {
        let entry = self.entry;
        let lower = match entry.window.lower {
            LowerEntry::Start => Lower::Start,
            LowerEntry::At { time } => Lower::At(Edge::All(time)),
            LowerEntry::Rows => Lower::At(Edge::Rows(self.times("lower_edges", TensorName::LowerEdges)?)),
            LowerEntry::Sliding { width } => Lower::Sliding(width),
        };
        let upper = match entry.window.upper {
            UpperEntry::End => Upper::End,
            UpperEntry::At { time } => Upper::At(Edge::All(time)),
            UpperEntry::Rows => Upper::At(Edge::Rows(self.times("upper_edges", TensorName::UpperEdges)?)),
            UpperEntry::Query { offset } => Upper::Query { offset },
        };
        let timeline = match entry.timeline {
            TimelineEntry::Unit => Timeline::Unit,
            TimelineEntry::Durations => Timeline::Durations(self.times("durations", TensorName::Durations)?),
            TimelineEntry::Times => Timeline::Times(self.times("times", TensorName::Times)?),
        };
        let query_times = self.series("query_times", TensorName::QueryTimes, Array::to_reals)?;
        let documents = self.series("documents", TensorName::Documents, Array::to_ids)?;
        let queries = self.series("query_documents", TensorName::QueryDocuments, Array::to_ids)?;
        Ok(Spec {
            rule: self.known("rule", entry.rule.parse().ok())?,
            window: Window { lower, upper },
            timeline,
            query_times: query_times.map_or(QueryTimes::LastNodes, QueryTimes::At),
            key_mask: self.series("key_mask", TensorName::KeyMask, Array::to_bools)?,
            documents: documents.map(|keys| Documents { keys, queries }),
            scale: entry.scale.map_or(Scale::InverseSqrtHeadDim, Scale::Value),
        })
    }
}

/// The problem of a case from its file's tensors.
pub(super) fn read_inputs(entry: &Entry, arrays: &BTreeMap<String, Array>) -> Result<Inputs, GoldenError> {
    let reader = Reader { entry, arrays };
    let layout = match &*entry.layout {
        "bhsd" => Layout::Bhsd,
        "bshd" => Layout::Bshd,
        _ => return Err(reader.wrong("layout", "unknown value in the manifest")),
    };
    let sink = reader.known("sink", SinkKind::ALL.into_iter().find(|sink| sink_name(*sink) == entry.sink.as_str()))?;
    let problem_error = |source| GoldenError::Problem { case: entry.name.clone(), source };
    let (q, k, v) = (reader.tensor("q")?, reader.tensor("k")?, reader.tensor("v")?);
    let split = |name: TensorName, tensor: Tensor| -> Result<(Tensor, Tensor), ProblemError> {
        let view: TensorView<'_> = tensor.view(name, layout)?;
        let [batch, heads, rows, width] = view.shape();
        if sink != SinkKind::Given {
            let zeros = vec![0.0; batch * heads * width];
            let none = Tensor::from_f64(vec![batch, heads, 1, width], tensor.dtype(), zeros)?;
            return Ok((exchanged(&none, layout)?, tensor));
        }
        let (first, rest) = (view.rows(name, 0..1)?.to_tensor(), view.rows(name, 1..rows)?.to_tensor());
        Ok((exchanged(&first, layout)?, exchanged(&rest, layout)?))
    };
    let (sink_k, k) = split(TensorName::Key, k).map_err(problem_error)?;
    let (sink_v, v) = split(TensorName::Value, v).map_err(problem_error)?;
    let spec = reader.spec()?;
    let (g, g_lse) = if entry.differentiable {
        let g_lse = reader.tensor("g_lse")?;
        let mut shape = g_lse.shape().to_vec();
        shape.push(1);
        (reader.tensor("g")?, Tensor::new(shape, g_lse.into_parts().1).map_err(problem_error)?)
    } else {
        let none = || Tensor::from_f64(vec![0, 0, 0, 1], Dtype::F32, []).map_err(problem_error);
        (none()?, none()?)
    };
    let inputs = Inputs { problem: SmallProblem { q, k, v, sink, sink_k, sink_v, layout, spec }, g, g_lse };
    inputs.problem.problem().map_err(problem_error)?;
    Ok(inputs)
}
