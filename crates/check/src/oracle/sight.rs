//! What a row sees, read from the specification alone.
//!
//! This follows docs/operator.md, "What a row sees", sentence by sentence, with exact times. It calls nothing of core that
//! resolves windows, masks, documents or the sink, so that a mistake there shows.

use super::instant::Instant;
use super::line::{Line, QueryTime, query_time};
use super::quadrature::Share;
use super::wide::Wide;
use contattn_core::{Edge, Lower, Problem, Rule, Upper};

/// What one row sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Sight {
    /// Nothing.
    Nothing,
    /// A domain without measure: the point (1 - u) left + u right of the curve.
    Point {
        /// node at u = 0
        left: usize,
        /// node at u = 1
        right: usize,
        /// u
        fraction: Wide,
    },
    /// A domain of positive measure.
    Curve(Curve),
}

/// A domain of positive measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// what to add up, in time order
    pub strands: Vec<Strand>,
    /// kept nodes inside the window, in time order; 0 is the sink
    pub nodes: Vec<usize>,
    /// where the curve is cut, and how the cuts move with the durations
    pub cuts: Vec<Cut>,
}

/// A segment, a part of one, or a piece of constant curve before the first or after the last visible place.
#[derive(Clone, Debug, PartialEq)]
pub struct Strand {
    /// index of the segment; `None` where the curve is held
    pub segment: Option<usize>,
    /// left node; the held one where the curve is held
    pub left: usize,
    /// right node; the held one where the curve is held
    pub right: usize,
    /// D of the whole segment, or for how long the curve is held
    pub duration: Wide,
    /// what of it is seen
    pub share: Share,
}

/// An edge of the window that cuts the curve and may move relative to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// index of the strand that it cuts
    pub strand: usize,
    /// whether it is the upper edge
    pub upper: bool,
    /// (i, d(edge)/dD_i - d(point of the curve under it)/dD_i) where that is not 0
    pub velocities: Vec<(usize, Wide)>,
}

/// With what an edge moves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Motion {
    /// with the node on which it sits: it never moves relative to the curve
    Attached,
    /// as the time of this node, from which it is derived
    As(usize),
    /// not at all
    Fixed,
}

/// The visible places of a row: nodes start..=end, the place `start` being the sink's where there is one.
struct Row<'l> {
    line: &'l Line,
    first: usize,
    start: usize,
    end: usize,
    /// last node of the stretch
    stretch_end: usize,
}

#[derive(Clone)]
struct EdgeTime {
    time: Instant,
    motion: Motion,
}

/// What one row sees.
pub(crate) fn look(line: &Line, problem: &Problem<'_>, batch: usize, row: usize) -> Sight {
    let window = &problem.spec().window;
    let Some((stretch_first, stretch_last)) = line.stretch(problem, batch, row) else { return Sight::Nothing };
    let step = line.rule == Rule::Step;
    // "f is the first node of the stretch that the key mask keeps; without one the row sees nothing. (Without any node at
    // all, n = 0, the sink stands alone at tau_0.)"
    let first = match (stretch_first..=stretch_last).find(|&i| line.is_kept(i)) {
        Some(first) => first,
        None if line.nodes() == 0 && line.has_sink && !line.documents => 1,
        None => return Sight::Nothing,
    };
    // "The sink stands at tau_{f-1} ... The curve starts there, or at node f where the sink is absent. Under Step the curve
    // starts at tau_{f-1} with node f."
    let start = if line.has_sink || step { first - 1 } else { first };
    let stretch_end = stretch_last.max(start);
    let time = match window.upper {
        Upper::Query { .. } => match query_time(line, problem, batch, row) {
            Some(time) => Some(time),
            None => return Sight::Nothing,
        },
        Upper::End | Upper::At(_) => None,
    };
    // "A causal window: tau_i <= t (Step: tau_{i-1} < t). No visible place: nothing is seen."
    let visible = |place: usize| match &time {
        None => true,
        Some(t) if step => place > start && line.times[place - 1] < t.time,
        Some(t) => line.times[place] <= t.time,
    };
    let Some(end) = (start..=stretch_end).rev().find(|&place| visible(place)) else { return Sight::Nothing };
    let row_sees = Row { line, first, start, end, stretch_end };
    let number = |edge: &Edge| match edge {
        Edge::All(t) => *t,
        Edge::Rows(rows) => rows.row(batch)[row],
    };
    let start_edge = EdgeTime { time: line.times[start].clone(), motion: Motion::Attached };
    let lower = match (&window.lower, &time) {
        (Lower::At(edge), _) => row_sees.given(number(edge)),
        (Lower::Sliding(width), Some(t)) => {
            let derived = row_sees.derived(t, -width);
            if derived.time > start_edge.time { derived } else { start_edge }
        }
        (Lower::Start | Lower::Sliding(_), _) => start_edge,
    };
    let upper = match (&window.upper, &time) {
        (Upper::At(edge), _) => row_sees.given(number(edge)),
        (Upper::Query { offset }, Some(t)) => row_sees.derived(t, *offset),
        (Upper::End | Upper::Query { .. }, _) => EdgeTime { time: line.times[end].clone(), motion: Motion::Attached },
    };
    // "upper < lower: nothing is seen."
    if upper.time < lower.time { Sight::Nothing } else { row_sees.curve_or_point(&lower, &upper) }
}

impl Row<'_> {
    fn time(&self, place: usize) -> &Instant {
        &self.line.times[place]
    }

    /// An edge given as a number: on a node of the stretch it moves with that node.
    fn given(&self, t: f64) -> EdgeTime {
        let time = Instant::at(t);
        let sits = (self.start..=self.stretch_end).any(|place| *self.time(place) == time);
        EdgeTime { time, motion: if sits { Motion::Attached } else { Motion::Fixed } }
    }

    /// An edge derived from t moves as t does: with the last visible place where t stands there, else with the last node of
    /// all that stands at t.
    fn derived(&self, t: &QueryTime, by: f64) -> EdgeTime {
        let node = if *self.time(self.end) == t.time {
            Some(self.end)
        } else {
            t.node.or_else(|| (self.start..=self.stretch_end).rev().find(|&place| *self.time(place) == t.time))
        };
        EdgeTime { time: t.time.later(by), motion: node.map_or(Motion::Fixed, Motion::As) }
    }

    fn first_node(&self) -> usize {
        if self.line.has_sink { 0 } else { self.first }
    }

    /// The node held after the last visible place; "after a place whose node the mask removed there is nothing to hold".
    fn last_node(&self) -> Option<usize> {
        if self.end < self.first {
            return Some(self.first_node());
        }
        self.line.is_kept(self.end).then_some(self.end)
    }

    /// Left node of segment i, where masks and borders keep it.
    fn left_node(&self, i: usize) -> Option<usize> {
        if !self.line.is_kept(i) {
            return None;
        }
        if self.line.rule == Rule::Step {
            return Some(i);
        }
        if i == self.first {
            return self.line.has_sink.then_some(0);
        }
        self.line.is_kept(i - 1).then_some(i - 1)
    }

    fn share(&self, i: usize, lower: &Instant, upper: &Instant) -> Share {
        let (left, right) = (self.time(i - 1), self.time(i));
        let (cut_below, cut_above) = (left < lower, right > upper);
        if !cut_below && !cut_above {
            return Share::WHOLE;
        }
        let duration = right.since(left);
        let from = if cut_below { lower } else { left };
        let to = if cut_above { upper } else { right };
        Share {
            alpha: from.since(left) / duration,
            after_alpha: right.since(from) / duration,
            beta: to.since(left) / duration,
            after_beta: right.since(to) / duration,
            length: to.since(from) / duration,
        }
    }

    fn curve_or_point(&self, lower: &EdgeTime, upper: &EdgeTime) -> Sight {
        let (from, to) = (&lower.time, &upper.time);
        let (start_time, end_time) = (self.time(self.start), self.time(self.end));
        let mut strands = Vec::new();
        let hold = |node: usize, duration: Wide| Strand {
            segment: None,
            left: node,
            right: node,
            duration,
            share: Share::WHOLE,
        };
        if from < start_time {
            let until = if to < start_time { to } else { start_time };
            strands.push(hold(self.first_node(), until.since(from)));
        }
        for i in self.start + 1..=self.end {
            let (left_time, right_time) = (self.time(i - 1), self.time(i));
            let counts = if left_time == right_time {
                from <= right_time && right_time <= to
            } else {
                left_time < to && right_time > from && from < to
            };
            if let Some(left) = self.left_node(i).filter(|_| counts) {
                let duration = right_time.since(left_time);
                let share = self.share(i, from, to);
                strands.push(Strand { segment: Some(i), left, right: i, duration, share });
            }
        }
        if to > end_time
            && let Some(node) = self.last_node()
        {
            let since = if from > end_time { from } else { end_time };
            strands.push(hold(node, to.since(since)));
        }
        if !strands.iter().any(|s| s.duration > Wide::ZERO && s.share.length > Wide::ZERO) {
            return self.point(from, to);
        }
        let nodes = (self.start..=self.end)
            .filter(|&place| self.time(place) >= from && self.time(place) <= to)
            .filter_map(|place| {
                if place >= self.first {
                    self.line.is_kept(place).then_some(place)
                } else {
                    self.line.has_sink.then_some(0)
                }
            })
            .collect();
        let cuts = [(lower, false), (upper, true)]
            .into_iter()
            .filter_map(|(edge, is_upper)| self.cut(edge, is_upper, &strands))
            .collect();
        Sight::Curve(Curve { strands, nodes, cuts })
    }

    /// The strand that an edge ends, and how the edge moves relative to the curve there. An upper edge on a node ends the
    /// segment before it, a lower edge there begins the one after it, segments without duration included; where masks removed
    /// that segment there is nothing to cut.
    fn cut(&self, edge: &EdgeTime, upper: bool, strands: &[Strand]) -> Option<Cut> {
        let with = match edge.motion {
            Motion::Attached => return None,
            Motion::As(node) => node,
            Motion::Fixed => 0,
        };
        let at = &edge.time;
        let on_edge = |i: &usize| {
            let (left, right) = (self.time(i - 1), self.time(*i));
            (left == right && right == at) || if upper { left < at && at <= right } else { left <= at && at < right }
        };
        let mut around = (self.start + 1..=self.end).filter(on_edge);
        let segment = if upper { around.next_back() } else { around.next() };
        let (strand, place, u) = match segment {
            Some(i) => {
                let strand = strands.iter().position(|s| s.segment == Some(i))?;
                let share = &strands[strand].share;
                (strand, i - 1, Some(if upper { share.beta } else { share.alpha }))
            }
            // Outside the places, or on the outermost one: only constant curve can lie there.
            None => {
                let start = self.time(self.start);
                let before = if upper { at <= start } else { at < start };
                let place = if before { self.start } else { self.end };
                let strand = if before { 0 } else { strands.len().checked_sub(1)? };
                let held = strands.get(strand).filter(|s| s.segment.is_none())?;
                let own = if before { self.first_node() } else { self.last_node()? };
                if held.right != own {
                    return None;
                }
                (strand, place, None)
            }
        };
        let curve = |k: usize| {
            if k <= place {
                Wide::ONE
            } else if k == place + 1 {
                u.unwrap_or(Wide::ZERO)
            } else {
                Wide::ZERO
            }
        };
        let velocities = (1..=self.line.nodes())
            .map(|k| (k, (if k <= with { Wide::ONE } else { Wide::ZERO }) - curve(k)))
            .filter(|(_, velocity)| *velocity != Wide::ZERO)
            .collect();
        Some(Cut { strand, upper, velocities })
    }

    /// "The value at the latest visible time inside the window, of the highest index where several nodes share it (inside a
    /// segment, the interpolated value)."
    fn point(&self, from: &Instant, to: &Instant) -> Sight {
        let node = |node: usize| Sight::Point { left: node, right: node, fraction: Wide::ZERO };
        let end_time = self.time(self.end);
        if from > end_time {
            return self.last_node().map_or(Sight::Nothing, node);
        }
        // Inside a segment that is kept: only where the window is a single time can there be no measure.
        for i in (self.start + 1..=self.end).rev() {
            let inside = self.time(i - 1) < to && to < self.time(i);
            if let Some(left) = self.left_node(i).filter(|_| inside) {
                if left == i {
                    return node(i);
                }
                let fraction = self.share(i, from, to).beta;
                return Sight::Point { left, right: i, fraction };
            }
        }
        let inside = |place: &usize| self.time(*place) >= from && self.time(*place) <= to;
        let kept = (self.first..=self.end).rev().filter(inside).find(|&i| self.line.is_kept(i));
        match kept {
            Some(i) => node(i),
            // At the start, or held before it.
            None if from <= self.time(self.start) => node(self.first_node()),
            None => Sight::Nothing,
        }
    }
}
