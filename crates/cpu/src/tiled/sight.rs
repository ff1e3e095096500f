//! What rows see, as the kernel takes it: a run of whole segments for the tiles, and the few pieces that are not one.
//!
//! ```text
//!   sink --- f --- f+1 --- ... --- i --- ... --- last --+      time ->
//!    opening   first ..  whole segments  .. last      cut or held: pieces
//! ```
//!
//! Tiles take segments that join node i - 1 to node i, all of their length, and mask out what a row does not see. The segment
//! that joins a sink to the first kept node f of a stretch is the *opening*: most often it is the same for all rows of a block,
//! which take it together. Cut segments and held curve, at most two and two for a row, are *pieces*.

use contattn_core::{Domain, Lower, Nodes, Part, Piece, Point, Problem, QueryTimes, Timeline, Upper};
use std::ops::Range;

/// What one row sees.
#[derive(Clone, Debug)]
pub(crate) struct RowSight {
    pub(crate) kind: Kind,
    /// whole segments for the tiles, removed ones among them; none where `first > last`
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// node f where the segment from the sink to it is seen whole; 0 otherwise
    pub(crate) opening: u32,
    /// indices into [`Sights::pieces`]
    pub(crate) pieces: Range<u32>,
}

/// How a row comes to its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// nothing is seen
    Empty,
    /// a point without duration
    Point(Point),
    /// a sum
    Curve,
}

impl RowSight {
    /// One that tiles pass over.
    pub(crate) const fn nothing(kind: Kind) -> RowSight {
        RowSight { kind, first: 1, last: 0, opening: 0, pieces: 0..0 }
    }

    /// Whether there are whole segments for the tiles.
    pub(crate) fn has_tiles(&self) -> bool {
        self.first <= self.last
    }
}

/// What all rows of a batch see.
#[derive(Clone, Debug)]
pub(crate) struct Sights {
    pub(crate) rows: Vec<RowSight>,
    pub(crate) pieces: Vec<Piece>,
}

impl Sights {
    pub(crate) fn of(problem: &Problem<'_>, batch: usize) -> Sights {
        let queries = problem.shape().queries;
        let mut sights = Sights { rows: Vec::with_capacity(queries), pieces: Vec::new() };
        let (uniform, causal) = (problem.spec().rows_share_domains(), causal_prefixes(problem, batch));
        for row in 0..queries {
            if uniform && row > 0 {
                let same = sights.rows[0].clone();
                sights.rows.push(same);
                continue;
            }
            let known = causal.as_ref().and_then(|causal| causal.row(problem, row));
            let sight = known.unwrap_or_else(|| sights.resolve(problem, batch, row));
            sights.rows.push(sight);
        }
        sights
    }

    fn resolve(&mut self, problem: &Problem<'_>, batch: usize, row: usize) -> RowSight {
        let interval = match problem.domain(batch, row) {
            Domain::Empty => return RowSight::nothing(Kind::Empty),
            Domain::Point(point) => return RowSight::nothing(Kind::Point(point)),
            Domain::Interval(interval) => interval,
        };
        let nodes = problem.nodes(batch);
        let from = self.pieces.len() as u32;
        self.pieces.extend(interval.hold_before.map(Piece::Hold));
        let (mut first, mut last, mut opening) = (*interval.segments.start(), *interval.segments.end(), 0);
        let mut cut = |i: usize, part: Part| {
            if let Some(left) = nodes.left_node(i) {
                self.pieces.push(Piece::Segment { segment: i, left, right: i, duration: nodes.duration(i), part });
            }
        };
        if first <= last {
            let ends_at_first = first == last;
            if !interval.first_part.is_whole() {
                cut(first, interval.first_part);
                first += 1;
            } else if !problem.rule().reads_own_node_only() && nodes.left_node(first) == Some(0) {
                opening = first;
                first += 1;
            }
            if !ends_at_first && !interval.last_part.is_whole() {
                cut(last, interval.last_part);
                last -= 1;
            }
        }
        self.pieces.extend(interval.hold_after.map(Piece::Hold));
        if first > last {
            (first, last) = (1, 0);
        }
        let pieces = from..self.pieces.len() as u32;
        RowSight { kind: Kind::Curve, first: first as u32, last: last as u32, opening: opening as u32, pieces }
    }

    /// The pieces of a row.
    pub(crate) fn pieces(&self, sight: &RowSight) -> &[Piece] {
        &self.pieces[sight.pieces.start as usize..sight.pieces.end as usize]
    }
}

/// The commonest windows without a search: causal from the start, rows at nodes, no masks, no two nodes at one time.
struct CausalPrefixes {
    sink: bool,
    own_node_only: bool,
}

fn causal_prefixes(problem: &Problem<'_>, batch: usize) -> Option<CausalPrefixes> {
    let spec = problem.spec();
    let plain = matches!(spec.window.lower, Lower::Start)
        && matches!(spec.window.upper, Upper::Query { offset } if offset == 0.0)
        && spec.query_times == QueryTimes::LastNodes
        && spec.key_mask.is_none()
        && spec.documents.is_none();
    let nodes = problem.nodes(batch);
    let apart = || spec.timeline == Timeline::Unit || (1..=nodes.len()).all(|i| nodes.time(i - 1) < nodes.time(i));
    // Times that differ in f64 alone need not have a positive duration.
    let positive = || spec.timeline == Timeline::Unit || (1..=nodes.len()).all(|i| nodes.duration(i) > 0.0);
    (plain && apart() && positive()).then(|| CausalPrefixes {
        sink: problem.sink().is_present(),
        own_node_only: problem.rule().reads_own_node_only(),
    })
}

impl CausalPrefixes {
    /// Rows at nodes from 2 on; `None` for the first ones, which the general way resolves.
    fn row(&self, problem: &Problem<'_>, row: usize) -> Option<RowSight> {
        let shape = problem.shape();
        let node = (shape.keys + row + 1).checked_sub(shape.queries).filter(|&node| node >= 2)?;
        let first = if self.own_node_only { 1 } else { 2 };
        let opening = u32::from(self.sink && !self.own_node_only);
        Some(RowSight { kind: Kind::Curve, first, last: node as u32, opening, pieces: 0..0 })
    }
}

/// The node whose row stands in for each node's own: itself where the mask keeps it, and otherwise the nearest kept one before,
/// or else the first one after, so that a removed node's score is never the largest; 0 where no node is kept.
///
/// `None` where every node is kept.
pub(crate) fn stand_ins(nodes: &Nodes) -> Option<Vec<usize>> {
    let n = nodes.len();
    if (1..=n).all(|j| nodes.is_kept(j)) {
        return None;
    }
    let mut last = (1..=n).find(|&j| nodes.is_kept(j)).unwrap_or(0);
    let mut nearest = |j| {
        if nodes.is_kept(j) {
            last = j;
        }
        last
    };
    Some((1..=n).map(&mut nearest).collect())
}

/// Whether a row reads a node: as an end of a segment, or part of one, that counts, or held.
pub(crate) fn sees(sight: &RowSight, pieces: &[Piece], nodes: &Nodes, own_node_only: bool, node: usize) -> bool {
    let within = |i: usize| i >= sight.first as usize && i <= sight.last as usize;
    let by_segment = |i: usize| {
        i >= 1 && i <= nodes.len() && within(i) && nodes.left_node(i).is_some_and(|left| i == node || left == node)
    };
    let by_piece = |piece: &Piece| match *piece {
        Piece::Segment { left, right, .. } => right == node || (!own_node_only && left == node),
        Piece::Hold(hold) => hold.node == node,
    };
    let opening = sight.opening > 0 && (node == 0 || node == sight.opening as usize);
    by_segment(node) || by_segment(node + 1) || opening || pieces.iter().any(by_piece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contattn_core::{Dtype, Layout, Sink, Spec, Tensor, TensorName, Window};

    /// The short way and the general way agree.
    #[test]
    fn causal_prefixes_are_what_the_general_way_finds() {
        let tensor = |n: usize| Tensor::from_f64(vec![n, 1], Dtype::F32, vec![0.0; n]).unwrap();
        for rule in [contattn_core::Rule::Linear, contattn_core::Rule::Step] {
            for sink in [Sink::Zeros, Sink::Copy, Sink::Absent] {
                for (queries, keys) in [(5, 5), (3, 7), (7, 3), (1, 1)] {
                    let (q, k) = (tensor(queries), tensor(keys));
                    let view = |t: &'static str, x| -> contattn_core::TensorView<'_> {
                        let name = if t == "q" { TensorName::Query } else { TensorName::Key };
                        Tensor::view(x, name, Layout::Bhsd).unwrap()
                    };
                    let spec = Spec { rule, window: Window::causal(), ..Spec::default() };
                    let problem = Problem::new(view("q", &q), view("k", &k), view("k", &k), sink, spec).unwrap();
                    let short = causal_prefixes(&problem, 0).unwrap();
                    for row in 0..queries {
                        let mut general = Sights { rows: Vec::new(), pieces: Vec::new() };
                        let expected = general.resolve(&problem, 0, row);
                        if let Some(found) = short.row(&problem, row) {
                            assert_eq!(found.kind, expected.kind);
                            let all = |s: &RowSight| (s.first, s.last, s.opening, s.pieces.len());
                            assert_eq!(all(&found), all(&expected), "{rule} {queries} {keys} {row}");
                        }
                    }
                }
            }
        }
    }
}
