//! The nodes of a batch as the device sees them: one line of slots without masks, documents or sinks.
//!
//! ```text
//!   nodes     1 .. 4 of document A, node 3 masked;  5, 6 of document B;  a sink each
//!   slots     s  1  2  4 | s  5  6        segment j joins slot j - 1 to slot j
//!   durations -  D1 D2 0   0  D5 D6       0 where slots are no neighbours in the problem
//! ```
//!
//! Every document has a slot for its own sink before its first kept node, so that its first segment is one like any other; removed
//! nodes have none. What a row sees is then a run of segments, and shaders know nothing else. Under Step, whose segments read their own
//! node alone, there are no sinks.

use contattn_core::{Nodes, Problem, Rule, Sink, Timeline as Times};

/// Where a slot's key and value come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// a node
    Node(usize),
    /// zeros
    Zeros,
    /// the given sink
    Given,
}

/// The slots of one batch, or of all that are alike.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) sources: Vec<Source>,
    /// by slot: the node whose duration its segment has; 0 where there is no segment
    pub(crate) segments: Vec<usize>,
    /// by slot, in units of 2^exponent; 0 where there is no segment
    pub(crate) durations: Vec<f32>,
    pub(crate) exponent: i32,
    /// by node from 1: how many slots lie before it, whether it has one itself or not
    before: Vec<usize>,
    /// by node: whether it has a slot
    kept: Vec<bool>,
    /// slots of sinks, with the last node of their documents, in order
    sinks: Vec<(usize, usize)>,
}

impl Timeline {
    pub(crate) fn of(problem: &Problem<'_>, batch: usize) -> Timeline {
        let nodes = problem.nodes(batch);
        let n = nodes.len();
        let own_only = problem.rule().reads_own_node_only();
        let has_sink = problem.sink().is_present() && !own_only;
        let exponent = exponent(problem, nodes);
        let mut line = Timeline {
            sources: Vec::with_capacity(n + 1),
            segments: Vec::with_capacity(n + 1),
            durations: Vec::with_capacity(n + 1),
            exponent,
            before: vec![0; n + 2],
            kept: vec![false; n + 1],
            sinks: Vec::new(),
        };
        let sink = |first: Option<usize>| match problem.sink() {
            Sink::Copy => first.map(Source::Node),
            Sink::Given { .. } => Some(Source::Given),
            Sink::Zeros | Sink::Absent => Some(Source::Zeros),
        };
        if n == 0
            && has_sink
            && let Some(source) = sink(None)
        {
            line.push(source, 0, 0.0);
            line.sinks.push((0, 0));
        }
        for stretch in nodes.stretches() {
            for i in stretch.first..=stretch.last {
                if stretch.first_kept == Some(i)
                    && has_sink
                    && let Some(source) = sink(Some(i))
                {
                    line.sinks.push((line.sources.len(), stretch.last));
                    line.push(source, 0, 0.0);
                }
                line.before[i] = line.sources.len();
                if nodes.is_kept(i) {
                    line.kept[i] = true;
                    let counts = nodes.left_node(i).is_some();
                    let duration = if counts { line.scale(nodes.duration(i)) as f32 } else { 0.0 };
                    line.push(Source::Node(i), if counts { i } else { 0 }, duration);
                }
            }
        }
        line.before[n + 1] = line.sources.len();
        line
    }

    fn push(&mut self, source: Source, segment: usize, duration: f32) {
        self.sources.push(source);
        self.segments.push(segment);
        self.durations.push(duration);
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    /// A length of time in the units of the durations.
    pub(crate) fn scale(&self, length: f64) -> f64 {
        libm::ldexp(length, -self.exponent)
    }

    /// The slot of a node as a row of the stretch that ends at `last` sees it; node 0 is that stretch's sink.
    pub(crate) fn slot(&self, node: usize, last: usize) -> Option<usize> {
        if node == 0 {
            return self.sinks.iter().find(|(_, end)| *end == last).map(|(slot, _)| *slot);
        }
        self.kept.get(node).copied().unwrap_or(false).then(|| self.before[node])
    }

    /// The slots of segments first..=last (of nodes), cut down to where segments are: none where the first lies beyond the last.
    pub(crate) fn run(&self, first: usize, last: usize) -> (usize, usize) {
        if first > last {
            return (1, 0);
        }
        let (mut from, mut to) = (self.before[first], self.before[last] + usize::from(self.kept[last]));
        while from < to && self.segments[from] == 0 {
            from += 1;
        }
        while from < to && self.segments[to - 1] == 0 {
            to -= 1;
        }
        if from < to { (from, to - 1) } else { (1, 0) }
    }
}

/// log2 of the unit of durations: the longest is then in [1, 2), and Z stays in range.
fn exponent(problem: &Problem<'_>, nodes: &Nodes) -> i32 {
    if problem.spec().timeline == Times::Unit || matches!(problem.rule(), Rule::Taylor(_)) {
        return 0;
    }
    let longest = (1..=nodes.len()).map(|i| nodes.duration(i)).fold(0.0, f64::max);
    if longest > 0.0 { libm::frexp(longest).1 - 1 } else { 0 }
}
