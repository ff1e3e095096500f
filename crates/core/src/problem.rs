//! A problem: tensors and specification, checked once.

use crate::domain::{Domain, LowerEdge, UpperEdge, resolve};
use crate::dtype::Dtype;
use crate::error::{Axis, ProblemError, TensorName};
use crate::nodes::{Nodes, Stretch};
use crate::rule::Rule;
use crate::series::Series;
use crate::spec::{Edge, Lower, QueryTimes, Sink, Spec, Timeline, Upper};
use crate::tensor::TensorView;
use crate::time::Time;

/// Queries, keys and values with everything else that defines o. All of it was checked when it was made: engines take it as
/// given.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    q: TensorView<'a>,
    k: TensorView<'a>,
    v: TensorView<'a>,
    sink: Sink<'a>,
    spec: Spec,
    /// one entry for each batch, or a single one that all batches share
    nodes: Vec<Nodes>,
}

/// The lengths of a problem's axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// batches
    pub batch: usize,
    /// query heads
    pub heads: usize,
    /// key/value heads; divides `heads`
    pub kv_heads: usize,
    /// rows of q
    pub queries: usize,
    /// n: rows of k and v, the sink not among them
    pub keys: usize,
    /// width of q and k
    pub head_dim: usize,
    /// width of v
    pub value_dim: usize,
}

impl Shape {
    /// The key/value head that query head `head` reads.
    pub const fn kv_head(&self, head: usize) -> usize {
        head / (self.heads / self.kv_heads)
    }
}

impl<'a> Problem<'a> {
    /// Checks and joins the parts: q (batch, heads, n_q, head_dim), k (batch, kv_heads, n, head_dim), v (batch, kv_heads, n,
    /// value width), all of one element type.
    ///
    /// # Errors
    /// The first part found wrong, with tensor, axis, expected and found.
    pub fn new(
        q: TensorView<'a>,
        k: TensorView<'a>,
        v: TensorView<'a>,
        sink: Sink<'a>,
        spec: Spec,
    ) -> Result<Problem<'a>, ProblemError> {
        let shape = check_tensors(&q, &k, &v, &sink)?;
        check_spec(&spec, shape)?;
        let nodes = build_nodes(&spec, &sink, shape)?;
        let problem = Problem { q, k, v, sink, spec, nodes };
        problem.check_taylor()?;
        Ok(problem)
    }

    /// Lengths of all axes.
    pub fn shape(&self) -> Shape {
        let [batch, heads, queries, head_dim] = self.q.shape();
        let [_, kv_heads, keys, value_dim] = self.v.shape();
        Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim }
    }

    /// Element type of q, k and v.
    pub fn dtype(&self) -> Dtype {
        self.q.dtype()
    }

    /// Queries: (batch, heads, n_q, head_dim).
    pub fn q(&self) -> &TensorView<'a> {
        &self.q
    }

    /// Keys of nodes 1..n: (batch, kv_heads, n, head_dim).
    pub fn k(&self) -> &TensorView<'a> {
        &self.k
    }

    /// Values of nodes 1..n: (batch, kv_heads, n, value width).
    pub fn v(&self) -> &TensorView<'a> {
        &self.v
    }

    /// Node 0.
    pub fn sink(&self) -> &Sink<'a> {
        &self.sink
    }

    /// Everything but the tensors.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The rule.
    pub fn rule(&self) -> Rule {
        self.spec.rule
    }

    /// The factor of the scores, rounded to `f64`.
    pub fn scale(&self) -> f64 {
        self.spec.scale.value(self.shape().head_dim)
    }

    /// The nodes of one batch.
    ///
    /// # Panics
    /// For a batch outside the problem.
    pub fn nodes(&self, batch: usize) -> &Nodes {
        assert!(batch < self.shape().batch);
        if self.nodes.len() == 1 { &self.nodes[0] } else { &self.nodes[batch] }
    }

    /// Whether all batches have the same nodes, windows and query times, so that what one row sees holds in each.
    pub fn batches_share_domains(&self) -> bool {
        let edge = |edge: &Edge| matches!(edge, Edge::Rows(rows) if rows.batch().is_some());
        let lower = matches!(&self.spec.window.lower, Lower::At(e) if edge(e));
        let upper = matches!(&self.spec.window.upper, Upper::At(e) if edge(e));
        let times = matches!(&self.spec.query_times, QueryTimes::At(times) if times.batch().is_some());
        let documents =
            self.spec.documents.as_ref().and_then(|d| d.queries.as_ref()).is_some_and(|ids| ids.batch().is_some());
        self.nodes.len() == 1 && !(lower || upper || times || documents)
    }

    /// The node at which a row sits by default; below 0 where there are more queries than nodes.
    pub fn default_node(&self, row: usize) -> isize {
        let shape = self.shape();
        shape.keys as isize - shape.queries as isize + 1 + row as isize
    }

    /// The time t of a row; `None` for a row that sits before node 0 by default.
    pub fn query_time(&self, batch: usize, row: usize) -> Option<Time> {
        match &self.spec.query_times {
            QueryTimes::At(times) => Some(Time::from_f64(times.row(batch)[row])),
            QueryTimes::LastNodes => {
                usize::try_from(self.default_node(row)).ok().map(|node| self.nodes(batch).time(node))
            }
        }
    }

    /// The document of a row, or the whole sequence; `None` where the row belongs to none.
    pub fn stretch(&self, batch: usize, row: usize) -> Option<&Stretch> {
        let nodes = self.nodes(batch);
        let Some(documents) = &self.spec.documents else { return nodes.stretches().first() };
        match &documents.queries {
            Some(ids) => {
                let document = ids.row(batch)[row];
                nodes.stretches().iter().find(|s| s.document == document && s.last >= s.first)
            }
            None => usize::try_from(self.default_node(row)).ok().and_then(|node| nodes.stretch_of(node)),
        }
    }

    /// What one row sees.
    ///
    /// # Panics
    /// For a batch or row outside the problem.
    pub fn domain(&self, batch: usize, row: usize) -> Domain {
        assert!(row < self.shape().queries);
        let Some(stretch) = self.stretch(batch, row) else { return Domain::Empty };
        let window = &self.spec.window;
        let time = if window.is_causal() {
            match self.query_time(batch, row) {
                Some(time) => time,
                None => return Domain::Empty,
            }
        } else {
            Time::from_f64(0.0) // not read: only a causal window refers to t
        };
        let lower = match &window.lower {
            Lower::Start => LowerEdge::Start,
            Lower::At(edge) => LowerEdge::At(edge.of(batch, row)),
            Lower::Sliding(width) => LowerEdge::Sliding { time, width: *width },
        };
        let upper = match &window.upper {
            Upper::End => UpperEdge::End,
            Upper::At(edge) => UpperEdge::At(edge.of(batch, row)),
            Upper::Query { offset } => {
                let node = match &self.spec.query_times {
                    QueryTimes::LastNodes => usize::try_from(self.default_node(row)).ok(),
                    QueryTimes::At(_) => None,
                };
                UpperEdge::Query { time, node, offset: *offset }
            }
        };
        resolve(self.nodes(batch), stretch, lower, upper)
    }

    /// The node whose key and value a row's node 0 copies, under [`Sink::Copy`].
    pub fn copied_node(&self, batch: usize, row: usize) -> Option<usize> {
        self.stretch(batch, row).and_then(|stretch| stretch.first_kept)
    }

    fn check_taylor(&self) -> Result<(), ProblemError> {
        let Rule::Taylor(order) = self.spec.rule else { return Ok(()) };
        let refuse = |reason: String| Err(ProblemError::Rule { rule: self.spec.rule.to_string(), reason });
        if order > Rule::MAX_TAYLOR_ORDER {
            return refuse(format!("order is at most {}", Rule::MAX_TAYLOR_ORDER));
        }
        for (batch, nodes) in self.nodes.iter().enumerate() {
            if let Some(i) = (1..=nodes.len()).find(|&i| nodes.duration(i) != 1.0) {
                let found = nodes.duration(i);
                return refuse(format!(
                    "needs the unit time line; in batch {batch} duration {i} is {found}, expected 1"
                ));
            }
        }
        let batches = if self.batches_share_domains() { self.shape().batch.min(1) } else { self.shape().batch };
        for batch in 0..batches {
            for row in 0..self.shape().queries {
                let whole = match self.domain(batch, row) {
                    Domain::Empty => true,
                    Domain::Point(point) => point.left == point.right,
                    Domain::Interval(interval) => interval.is_whole(),
                };
                if !whole {
                    return refuse(format!(
                        "needs whole segments; the window of batch {batch}, row {row} has an edge that is not on a node"
                    ));
                }
            }
        }
        Ok(())
    }
}

fn expect_length(tensor: TensorName, axis: Axis, found: usize, expected: usize) -> Result<(), ProblemError> {
    if found == expected {
        Ok(())
    } else {
        Err(ProblemError::Shape { tensor, axis, expected: expected.to_string(), found })
    }
}

fn expect_positive(tensor: TensorName, axis: Axis, found: usize) -> Result<(), ProblemError> {
    if found > 0 { Ok(()) } else { Err(ProblemError::Shape { tensor, axis, expected: "at least 1".to_owned(), found }) }
}

fn check_tensors(
    q: &TensorView<'_>,
    k: &TensorView<'_>,
    v: &TensorView<'_>,
    sink: &Sink<'_>,
) -> Result<Shape, ProblemError> {
    let [batch, heads, queries, head_dim] = q.shape();
    let [_, kv_heads, keys, value_dim] = v.shape();
    expect_positive(TensorName::Query, Axis::Heads, heads)?;
    expect_positive(TensorName::Query, Axis::HeadDim, head_dim)?;
    expect_length(TensorName::Key, Axis::Batch, k.shape()[0], batch)?;
    expect_length(TensorName::Value, Axis::Batch, v.shape()[0], batch)?;
    expect_positive(TensorName::Key, Axis::Heads, k.shape()[1])?;
    if !heads.is_multiple_of(k.shape()[1]) {
        return Err(ProblemError::Shape {
            tensor: TensorName::Key,
            axis: Axis::Heads,
            expected: format!("a divisor of the {heads} query heads"),
            found: k.shape()[1],
        });
    }
    expect_length(TensorName::Value, Axis::Heads, kv_heads, k.shape()[1])?;
    expect_length(TensorName::Value, Axis::Sequence, keys, k.shape()[2])?;
    expect_length(TensorName::Key, Axis::HeadDim, k.shape()[3], head_dim)?;
    expect_positive(TensorName::Value, Axis::HeadDim, value_dim)?;
    let same_type = |tensor, view: &TensorView<'_>| {
        if view.dtype() == q.dtype() {
            Ok(())
        } else {
            Err(ProblemError::Dtype { tensor, expected: q.dtype(), found: view.dtype() })
        }
    };
    same_type(TensorName::Key, k)?;
    same_type(TensorName::Value, v)?;
    if let Sink::Given { key, value } = sink {
        for (tensor, view, width) in [(TensorName::SinkKey, key, head_dim), (TensorName::SinkValue, value, value_dim)] {
            let [b, h, s, d] = view.shape();
            expect_length(tensor, Axis::Batch, b, batch)?;
            expect_length(tensor, Axis::Heads, h, kv_heads)?;
            expect_length(tensor, Axis::Sequence, s, 1)?;
            expect_length(tensor, Axis::HeadDim, d, width)?;
            same_type(tensor, view)?;
        }
    }
    Ok(Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim })
}

const FINITE: &str = "a finite number";
const DURATION: &str = "a finite number of at least 0";

fn check_spec(spec: &Spec, shape: Shape) -> Result<(), ProblemError> {
    if let crate::spec::Scale::Value(scale) = spec.scale
        && !scale.is_finite()
    {
        return Err(number(TensorName::Scale, FINITE, scale));
    }
    match &spec.timeline {
        Timeline::Unit => {}
        Timeline::Durations(durations) => {
            durations.check(TensorName::Durations, shape.batch, shape.keys)?;
            durations.check_numbers(TensorName::Durations, DURATION, |d| d.is_finite() && d >= 0.0)?;
        }
        Timeline::Times(times) => {
            times.check(TensorName::Times, shape.batch, shape.keys + 1)?;
            times.check_numbers(TensorName::Times, FINITE, f64::is_finite)?;
            for (at, pair) in times.values().windows(2).enumerate() {
                if (at + 1) % times.len() != 0 && pair[0] > pair[1] {
                    return Err(ProblemError::Number {
                        tensor: TensorName::Times,
                        index: times.index(at + 1),
                        expected: "a time that is not before its predecessor",
                        found: pair[1],
                    });
                }
            }
        }
    }
    if let QueryTimes::At(times) = &spec.query_times {
        times.check(TensorName::QueryTimes, shape.batch, shape.queries)?;
        times.check_numbers(TensorName::QueryTimes, FINITE, f64::is_finite)?;
    }
    if let Some(mask) = &spec.key_mask {
        mask.check(TensorName::KeyMask, shape.batch, shape.keys)?;
    }
    if let Some(documents) = &spec.documents {
        documents.keys.check(TensorName::Documents, shape.batch, shape.keys)?;
        check_runs(&documents.keys)?;
        if let Some(ids) = &documents.queries {
            ids.check(TensorName::QueryDocuments, shape.batch, shape.queries)?;
        }
    }
    check_window(spec, shape)
}

fn number(tensor: TensorName, expected: &'static str, found: f64) -> ProblemError {
    ProblemError::Number { tensor, index: Vec::new(), expected, found }
}

fn check_window(spec: &Spec, shape: Shape) -> Result<(), ProblemError> {
    let window = &spec.window;
    let check_edge = |tensor, edge: &Edge| match edge {
        Edge::All(t) if t.is_finite() => Ok(()),
        Edge::All(t) => Err(number(tensor, FINITE, *t)),
        Edge::Rows(rows) => {
            rows.check(tensor, shape.batch, shape.queries)?;
            rows.check_numbers(tensor, FINITE, f64::is_finite)
        }
    };
    match &window.lower {
        Lower::Start => {}
        Lower::At(edge) => check_edge(TensorName::LowerEdges, edge)?,
        Lower::Sliding(width) => {
            if !window.is_causal() {
                return Err(ProblemError::Conflict(
                    "window: a sliding lower edge, max(start, t - w), needs the upper edge t + offset",
                ));
            }
            if !(width.is_finite() && *width >= 0.0) {
                return Err(number(TensorName::LowerEdges, "a finite width of at least 0", *width));
            }
        }
    }
    match &window.upper {
        Upper::End => {}
        Upper::At(edge) => check_edge(TensorName::UpperEdges, edge)?,
        Upper::Query { offset } if offset.is_finite() => {}
        Upper::Query { offset } => return Err(number(TensorName::UpperEdges, "a finite offset", *offset)),
    }
    if let (Lower::At(lower), Upper::At(upper)) = (&window.lower, &window.upper) {
        check_order(lower, upper, shape)?;
    }
    Ok(())
}

fn check_order(lower: &Edge, upper: &Edge, shape: Shape) -> Result<(), ProblemError> {
    let per = |edge: &Edge| match edge {
        Edge::All(_) => (false, false),
        Edge::Rows(rows) => (rows.batch().is_some(), true),
    };
    let (batched, by_row) = (per(lower).0 || per(upper).0, per(lower).1 || per(upper).1);
    for batch in 0..if batched { shape.batch } else { 1 } {
        for row in 0..if by_row { shape.queries } else { 1 } {
            let (lower, upper) = (lower.of(batch, row), upper.of(batch, row));
            if lower > upper {
                let index = match (batched, by_row) {
                    (true, _) => vec![batch, row],
                    (false, true) => vec![row],
                    (false, false) => vec![],
                };
                return Err(ProblemError::WindowReversed { index, lower, upper });
            }
        }
    }
    Ok(())
}

fn check_runs(documents: &Series<i64>) -> Result<(), ProblemError> {
    if documents.is_empty() {
        return Ok(());
    }
    for batch in 0..documents.batch().unwrap_or(1) {
        let mut seen = std::collections::HashSet::new();
        let ids = documents.row(batch);
        for (at, &document) in ids.iter().enumerate() {
            if (at == 0 || ids[at - 1] != document) && !seen.insert(document) {
                return Err(ProblemError::DocumentSplit {
                    index: documents.index(batch * documents.len() + at),
                    document,
                });
            }
        }
    }
    Ok(())
}

fn build_nodes(spec: &Spec, sink: &Sink<'_>, shape: Shape) -> Result<Vec<Nodes>, ProblemError> {
    let timeline_batched = match &spec.timeline {
        Timeline::Unit => false,
        Timeline::Durations(series) | Timeline::Times(series) => series.batch().is_some(),
    };
    let mask_batched = spec.key_mask.as_ref().is_some_and(|mask| mask.batch().is_some());
    let documents_batched = spec.documents.as_ref().is_some_and(|d| d.keys.batch().is_some());
    let tables = if timeline_batched || mask_batched || documents_batched { shape.batch } else { 1 };
    // A copy of the first node needs a first node.
    let has_sink = match sink {
        Sink::Absent => false,
        Sink::Copy => shape.keys > 0,
        Sink::Zeros | Sink::Given { .. } => true,
    };
    (0..tables)
        .map(|batch| {
            let (times, durations) = build_times(&spec.timeline, batch, shape.keys)?;
            let kept = spec.key_mask.as_ref().map_or_else(|| vec![true; shape.keys], |mask| mask.row(batch).to_vec());
            let documents = spec.documents.as_ref().map(|d| d.keys.row(batch));
            Ok(Nodes::new(spec.rule, has_sink, times, durations, kept, documents))
        })
        .collect()
}

fn build_times(timeline: &Timeline, batch: usize, keys: usize) -> Result<(Vec<Time>, Vec<f64>), ProblemError> {
    match timeline {
        Timeline::Unit => Ok(((0..=keys).map(|i| Time::from_f64(i as f64)).collect(), vec![1.0; keys])),
        Timeline::Durations(series) => {
            let durations = series.row(batch).to_vec();
            let mut times = Vec::with_capacity(keys + 1);
            let mut time = Time::from_f64(0.0);
            times.push(time);
            for &duration in &durations {
                time = time.later(duration);
                times.push(time);
            }
            if !time.is_finite() {
                let index = series.index(batch * series.len());
                return Err(ProblemError::Number {
                    tensor: TensorName::Durations,
                    index: index[..index.len() - 1].to_vec(),
                    expected: "durations with a finite sum",
                    found: f64::INFINITY,
                });
            }
            Ok((times, durations))
        }
        Timeline::Times(series) => {
            let row = series.row(batch);
            let durations: Vec<f64> = row.windows(2).map(|pair| pair[1] - pair[0]).collect();
            if let Some(i) = durations.iter().position(|d| !d.is_finite()) {
                return Err(ProblemError::Number {
                    tensor: TensorName::Times,
                    index: series.index(batch * series.len() + i + 1),
                    expected: "a finite distance from its predecessor",
                    found: row[i + 1],
                });
            }
            Ok((row.iter().copied().map(Time::from_f64).collect(), durations))
        }
    }
}
