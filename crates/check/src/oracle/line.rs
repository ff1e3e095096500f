//! Where the nodes of a batch stand, which are kept, and where the rows stand among them, read from the specification alone.

use super::instant::Instant;
use contattn_core::{Problem, QueryTimes, Rule, Sink, Timeline};

/// The nodes of one batch, before any row looks at them.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(super) rule: Rule,
    /// whether node 0 exists and has a part in anything
    pub(super) has_sink: bool,
    pub(super) times: Vec<Instant>,
    kept: Vec<bool>,
    /// (document, first node, last node)
    stretches: Vec<(i64, usize, usize)>,
    pub(super) documents: bool,
}

impl Line {
    pub(crate) fn new(problem: &Problem<'_>, batch: usize) -> Line {
        let spec = problem.spec();
        let n = problem.k().shape()[2];
        let times = match &spec.timeline {
            Timeline::Unit => (0..=n).map(|i| Instant::at(i as f64)).collect(),
            Timeline::Times(times) => times.row(batch).iter().map(|&t| Instant::at(t)).collect(),
            Timeline::Durations(durations) => {
                let mut times = vec![Instant::at(0.0)];
                for &d in durations.row(batch) {
                    let next = times[times.len() - 1].later(d);
                    times.push(next);
                }
                times
            }
        };
        let kept = spec.key_mask.as_ref().map_or_else(|| vec![true; n], |mask| mask.row(batch).to_vec());
        let mut stretches: Vec<(i64, usize, usize)> = Vec::new();
        match &spec.documents {
            None => stretches.push((0, 1, n)),
            Some(documents) => {
                for (i, &id) in (1..).zip(documents.keys.row(batch)) {
                    match stretches.last_mut() {
                        Some(stretch) if stretch.0 == id => stretch.2 = i,
                        _ => stretches.push((id, i, i)),
                    }
                }
            }
        }
        let has_sink = spec.rule != Rule::Step
            && match problem.sink() {
                Sink::Absent => false,
                Sink::Copy => n > 0,
                Sink::Zeros | Sink::Given { .. } => true,
            };
        Line { rule: spec.rule, has_sink, times, kept, stretches, documents: spec.documents.is_some() }
    }

    pub(super) fn nodes(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn is_kept(&self, i: usize) -> bool {
        i >= 1 && self.kept[i - 1]
    }

    /// The nodes first..=last to which a row belongs.
    pub(super) fn stretch(&self, problem: &Problem<'_>, batch: usize, row: usize) -> Option<(usize, usize)> {
        let of_node = |j: isize| {
            let inside = |&&(_, first, last): &&(i64, usize, usize)| first as isize <= j && j <= last as isize;
            self.stretches.iter().find(inside).map(|&(_, first, last)| (first, last))
        };
        let Some(documents) = &problem.spec().documents else { return Some((1, self.nodes())) };
        match &documents.queries {
            None => of_node(own_node(problem, row)),
            Some(ids) => {
                let id = ids.row(batch)[row];
                self.stretches.iter().find(|s| s.0 == id).map(|&(_, first, last)| (first, last))
            }
        }
    }

    /// The node that a sink copies for this row.
    pub(crate) fn copied(&self, problem: &Problem<'_>, batch: usize, row: usize) -> Option<usize> {
        let (first, last) = self.stretch(problem, batch, row)?;
        (first..=last).find(|&i| self.is_kept(i))
    }
}

/// "Row r of n_q sits at node n - n_q + 1 + r."
fn own_node(problem: &Problem<'_>, row: usize) -> isize {
    problem.k().shape()[2] as isize - problem.q().shape()[2] as isize + 1 + row as isize
}

/// t with the node with which it moves.
pub(super) struct QueryTime {
    pub(super) time: Instant,
    pub(super) node: Option<usize>,
}

pub(super) fn query_time(line: &Line, problem: &Problem<'_>, batch: usize, row: usize) -> Option<QueryTime> {
    match &problem.spec().query_times {
        QueryTimes::At(times) => Some(QueryTime { time: Instant::at(times.row(batch)[row]), node: None }),
        QueryTimes::LastNodes => {
            let node = usize::try_from(own_node(problem, row)).ok()?;
            Some(QueryTime { time: line.times[node].clone(), node: Some(node) })
        }
    }
}
