//! What one query sees: its visible nodes and interval, resolved into pieces of segments.
//!
//! This is the one place where windows, masks, documents and the sink are turned into lists of what to add up; every engine
//! and every rule takes it from here.

use crate::nodes::{Nodes, Stretch};
use crate::time::Time;

/// What a row sees.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "made for one row at a time, on the stack; boxing would cost every row")]
pub enum Domain {
    /// Nothing: o = 0, lse = -inf, weights 0.
    Empty,
    /// Visible nodes, but no duration: o = v(s) at the latest visible time, lse = -inf.
    Point(Point),
    /// A domain of positive measure.
    Interval(Interval),
}

/// The point (1 - u) left + u right of the curve; `left == right` and u = 0 where it is a node.
///
/// Proofs: `shrinking_window`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// node at u = 0
    pub left: usize,
    /// node at u = 1
    pub right: usize,
    /// u, in [0, 1)
    pub fraction: f64,
}

/// A piece of constant curve outside the visible nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// whose key and value are held
    pub node: usize,
    /// the node's place in time (that of node 0 for the first stretch, of the node before the first kept one for others)
    pub place: usize,
    /// for how long
    pub length: f64,
}

/// The part of a segment inside the window: s = tau_{i-1} + u D_i for u in [alpha, beta].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// where it begins
    pub alpha: f64,
    /// 1 - alpha, without cancellation
    pub one_minus_alpha: f64,
    /// where it ends
    pub beta: f64,
    /// 1 - beta, without cancellation
    pub one_minus_beta: f64,
    /// beta - alpha, without cancellation
    pub lambda: f64,
}

impl Part {
    /// The whole segment.
    pub const WHOLE: Part = Part { alpha: 0.0, one_minus_alpha: 1.0, beta: 1.0, one_minus_beta: 0.0, lambda: 1.0 };

    /// Whether nothing is cut off.
    pub fn is_whole(&self) -> bool {
        *self == Part::WHOLE
    }
}

/// One summand of the integral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    /// A segment or a part of one.
    Segment {
        /// its index i
        segment: usize,
        /// its left node (under Step node i as well)
        left: usize,
        /// its right node, i
        right: usize,
        /// D_i
        duration: f64,
        /// what of it lies in the window
        part: Part,
    },
    /// Constant curve before the first or after the last visible node.
    Hold(Hold),
}

/// Where an edge of the window lies among the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a node, or moving with one by definition.
    Node,
    /// In segment i.
    Segment(usize),
    /// Before all visible nodes, of which the first stands at the time of this node.
    Before(usize),
    /// After all visible nodes, of which the last stands at the time of this node.
    After(usize),
}

/// An edge of the window and how it moves when durations change.
///
/// Conventions where a derivative does not exist by itself: an edge or a query time that is given as a number and equals a
/// node's time moves with that node (so a window counted in tokens stays one); an edge that is derived from t moves as t does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovingEdge {
    /// where it lies
    pub place: Place,
    /// the node with whose time it moves; `None` for a fixed time
    pub moves_with: Option<usize>,
}

impl MovingEdge {
    /// d(edge)/dD_i relative to the curve under it: by how much more the edge moves than the point of the curve that it
    /// cuts. `fraction` is u of the edge within its segment.
    pub fn velocity(&self, i: usize, fraction: f64) -> f64 {
        let curve = match self.place {
            Place::Node => return 0.0,
            Place::Segment(segment) if i == segment => fraction,
            Place::Segment(segment) => f64::from(u8::from(i < segment)),
            Place::Before(node) | Place::After(node) => f64::from(u8::from(i <= node)),
        };
        let edge = self.moves_with.is_some_and(|node| i <= node);
        f64::from(u8::from(edge)) - curve
    }

    /// The D_i that move this edge relative to the curve: none outside this range of i.
    pub fn moved_by(&self) -> std::ops::RangeInclusive<usize> {
        let with = self.moves_with.unwrap_or(0);
        let under = match self.place {
            Place::Node => return std::ops::RangeInclusive::new(1, 0),
            Place::Segment(i) | Place::Before(i) | Place::After(i) => i,
        };
        // Below both, edge and curve move alike; the segment that is cut is always among those that matter.
        let first = match self.place {
            Place::Segment(i) => with.saturating_add(1).min(i),
            _ => with.min(under) + 1,
        };
        first.max(1)..=with.max(under)
    }
}

/// A domain of positive measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Indices of the segments that reach into the window; removed ones among them do not count.
    pub segments: std::ops::RangeInclusive<usize>,
    /// what of the first segment lies in the window
    pub first_part: Part,
    /// what of the last segment lies in the window (the same as `first_part` where there is one segment alone)
    pub last_part: Part,
    /// constant curve before the first node
    pub hold_before: Option<Hold>,
    /// constant curve after the last node
    pub hold_after: Option<Hold>,
    /// lower edge
    pub lower: MovingEdge,
    /// upper edge
    pub upper: MovingEdge,
    /// Places in time, as node indices, that are visible and lie in the window; the first may be that of the sink.
    pub places: std::ops::RangeInclusive<usize>,
    /// the place of the sink of this row's document, where there is one
    pub sink_place: Option<usize>,
}

impl Interval {
    /// What to add up, in time order.
    pub fn pieces<'n>(&'n self, nodes: &'n Nodes) -> impl Iterator<Item = Piece> + 'n {
        let segments = self.segments.clone().filter_map(move |i| {
            let left = nodes.left_node(i)?;
            Some(Piece::Segment { segment: i, left, right: i, duration: nodes.duration(i), part: self.part(i) })
        });
        self.hold_before.map(Piece::Hold).into_iter().chain(segments).chain(self.hold_after.map(Piece::Hold))
    }

    /// What of segment i, one of [`segments`](Interval::segments), lies in the window.
    pub fn part(&self, i: usize) -> Part {
        if i == *self.segments.start() {
            self.first_part
        } else if i == *self.segments.end() {
            self.last_part
        } else {
            Part::WHOLE
        }
    }

    /// The held curve that an edge at this place ends, where it ends any.
    pub fn held_at(&self, place: Place) -> Option<Hold> {
        match place {
            Place::Node | Place::Segment(_) => None,
            Place::Before(_) => self.hold_before,
            Place::After(_) => self.hold_after,
        }
    }

    /// Kept nodes that lie in the window, in time order; 0 is the sink.
    pub fn nodes<'n>(&'n self, nodes: &'n Nodes) -> impl Iterator<Item = usize> + 'n {
        self.places.clone().filter_map(move |place| {
            if self.sink_place == Some(place) {
                Some(0)
            } else if place > 0 && nodes.is_kept(place) {
                Some(place)
            } else {
                None
            }
        })
    }

    /// Whether no segment is cut and nothing is held: all that the Taylor rule can read.
    pub fn is_whole(&self) -> bool {
        let parts = self.segments.is_empty() || (self.first_part.is_whole() && self.last_part.is_whole());
        parts && self.hold_before.is_none() && self.hold_after.is_none()
    }
}

/// A window's lower edge before it is resolved among the nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LowerEdge {
    Start,
    At(f64),
    Sliding { time: Time, width: f64 },
}

/// A window's upper edge before it is resolved among the nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UpperEdge {
    End,
    At(f64),
    /// `node` is where the row sits by default; none where its time was given
    Query {
        time: Time,
        node: Option<usize>,
        offset: f64,
    },
}

/// Resolves the window of one row of `stretch`.
pub(crate) fn resolve(nodes: &Nodes, stretch: &Stretch, lower: LowerEdge, upper: UpperEdge) -> Domain {
    let Some(row) = VisibleNodes::new(nodes, stretch, upper) else { return Domain::Empty };
    let (lower, upper) = (row.lower(lower), row.upper(upper));
    if upper.time < lower.time {
        return Domain::Empty;
    }
    let interval = row.interval(lower, upper);
    if row.has_measure(&interval) {
        Domain::Interval(interval)
    } else {
        row.point(lower.time, upper.time).map_or(Domain::Empty, Domain::Point)
    }
}

/// Which of these times equals t, the last one where several do.
fn place_at(times: &[Time], t: Time) -> Option<usize> {
    let after = times.partition_point(|tau| *tau <= t);
    after.checked_sub(1).filter(|&at| times[at] == t)
}

/// How an edge moves with the durations.
#[derive(Clone, Copy)]
enum Motion {
    /// with the node on which it sits
    Attached,
    /// with the time of this node, from which it is derived
    With(usize),
    /// not at all
    Fixed,
}

#[derive(Clone, Copy)]
struct EdgeTime {
    time: Time,
    motion: Motion,
}

/// The visible nodes of one row: a run of places in time, the first of which may be that of the sink.
struct VisibleNodes<'n> {
    nodes: &'n Nodes,
    /// the first kept node of the row's stretch; 1 where the sink is all there is
    first: usize,
    sink: bool,
    /// place at which the curve starts
    start: usize,
    /// place of the last visible node
    end: usize,
    /// last place of the stretch
    stretch_end: usize,
    /// the place at which t stands
    time_place: Option<usize>,
}

impl<'n> VisibleNodes<'n> {
    fn new(nodes: &'n Nodes, stretch: &Stretch, upper: UpperEdge) -> Option<VisibleNodes<'n>> {
        let sink = nodes.has_sink;
        let first = match stretch.first_kept {
            Some(first) => first,
            // Without any node the sink stands alone at tau_0. Where nodes exist but none is kept it has no place.
            None if nodes.is_empty() && sink => 1,
            None => return None,
        };
        let starts_before_first = sink || nodes.rule.reads_own_node_only();
        let start = if starts_before_first { first - 1 } else { first };
        let stretch_end = stretch.last.max(start);
        let times = &nodes.times[start..=stretch_end];
        let (end, time_place) = match upper {
            UpperEdge::End | UpperEdge::At(_) => (stretch_end, None),
            UpperEdge::Query { time, node, .. } => {
                let seen = if nodes.rule.reads_own_node_only() {
                    // tau_{i-1} < t: the places before t, and the one after them.
                    let before = times.partition_point(|tau| *tau < time);
                    if before == 0 { 0 } else { (before + 1).min(times.len()) }
                } else {
                    times.partition_point(|tau| *tau <= time)
                };
                let end = (start + seen).checked_sub(1).filter(|_| seen > 0)?;
                // The last visible node, where it stands at t; else the node whose time t is by definition; else, for a time
                // that was given, a node of this stretch that it happens to meet.
                let here = (nodes.times[end] == time).then_some(end);
                (end, here.or(node).or_else(|| place_at(times, time).map(|at| start + at)))
            }
        };
        Some(VisibleNodes { nodes, first, sink, start, end, stretch_end, time_place })
    }

    fn time(&self, place: usize) -> Time {
        self.nodes.times[place]
    }

    /// An edge given as a number sits on a node of this stretch where it equals its time.
    fn given(&self, t: f64) -> EdgeTime {
        let time = Time::from_f64(t);
        let sits = place_at(&self.nodes.times[self.start..=self.stretch_end], time).is_some();
        EdgeTime { time, motion: if sits { Motion::Attached } else { Motion::Fixed } }
    }

    fn derived(&self, time: Time) -> EdgeTime {
        EdgeTime { time, motion: self.time_place.map_or(Motion::Fixed, Motion::With) }
    }

    fn lower(&self, edge: LowerEdge) -> EdgeTime {
        let start = EdgeTime { time: self.time(self.start), motion: Motion::Attached };
        match edge {
            LowerEdge::Start => start,
            LowerEdge::At(t) => self.given(t),
            LowerEdge::Sliding { time, width } => {
                let lower = self.derived(time.later(-width));
                if lower.time > start.time { lower } else { start }
            }
        }
    }

    fn upper(&self, edge: UpperEdge) -> EdgeTime {
        match edge {
            UpperEdge::End => EdgeTime { time: self.time(self.end), motion: Motion::Attached },
            UpperEdge::At(t) => self.given(t),
            UpperEdge::Query { time, offset, .. } => self.derived(time.later(offset)),
        }
    }

    /// The node held before the first visible place.
    fn first_node(&self) -> usize {
        if self.sink { 0 } else { self.first }
    }

    /// The node held after the last visible place; `None` where the mask removed it.
    fn last_node(&self) -> Option<usize> {
        if self.end < self.first { Some(0) } else { self.nodes.is_kept(self.end).then_some(self.end) }
    }

    /// Segments that share more than a point with [lower, upper], or have no duration and lie in it.
    fn segments(&self, lower: Time, upper: Time) -> (usize, usize) {
        let (start, end) = (self.start, self.end);
        let mut first = start + 1 + self.nodes.times[start + 1..=end].partition_point(|tau| *tau < lower);
        if first <= end && self.time(first) == lower && self.time(first - 1) < lower {
            first += 1;
        }
        let mut last = start + self.nodes.times[start..end].partition_point(|tau| *tau < upper);
        if self.time(last) == upper {
            last = start + self.nodes.times[start..=end].partition_point(|tau| *tau <= upper) - 1;
        }
        (first, last)
    }

    fn part(&self, i: usize, lower: Time, upper: Time) -> Part {
        let (left, right, duration) = (self.time(i - 1), self.time(i), self.nodes.duration(i));
        let mut part = Part::WHOLE;
        let share = |length: f64| (length / duration).clamp(0.0, 1.0);
        if left < lower {
            part.alpha = share(lower.since(left));
            part.one_minus_alpha = share(right.since(lower));
        }
        if right > upper {
            part.beta = share(upper.since(left));
            part.one_minus_beta = share(right.since(upper));
        }
        part.lambda = match (left < lower, right > upper) {
            (false, false) => 1.0,
            (true, false) => part.one_minus_alpha,
            (false, true) => part.beta,
            (true, true) => share(upper.since(lower)),
        };
        part
    }

    fn interval(&self, lower: EdgeTime, upper: EdgeTime) -> Interval {
        let (first, last) = self.segments(lower.time, upper.time);
        let part = |i| if first <= last { self.part(i, lower.time, upper.time) } else { Part::WHOLE };
        let (start_time, end_time) = (self.time(self.start), self.time(self.end));
        let hold_before = (lower.time < start_time).then(|| {
            let until = if upper.time < start_time { upper.time } else { start_time };
            Hold { node: self.first_node(), place: self.start, length: until.since(lower.time) }
        });
        let hold_after = self.last_node().filter(|_| upper.time > end_time).map(|node| {
            let from = if lower.time > end_time { lower.time } else { end_time };
            Hold { node, place: self.end, length: upper.time.since(from) }
        });
        let moving = |edge: EdgeTime, segment: usize| {
            let moves_with = match edge.motion {
                Motion::Attached => return MovingEdge { place: Place::Node, moves_with: None },
                Motion::With(node) => Some(node),
                Motion::Fixed => None,
            };
            let place = if edge.time < start_time {
                Place::Before(self.start)
            } else if edge.time > end_time || segment > self.end {
                Place::After(self.end)
            } else if segment <= self.start {
                Place::Before(self.start)
            } else {
                Place::Segment(segment)
            };
            MovingEdge { place, moves_with }
        };
        let from = self.nodes.times[self.start..=self.end].partition_point(|tau| *tau < lower.time) + self.start;
        let until = self.nodes.times[self.start..=self.end].partition_point(|tau| *tau <= upper.time) + self.start;
        let from = if self.sink { from } else { from.max(self.first) };
        Interval {
            segments: first..=last,
            first_part: part(first),
            last_part: part(last),
            hold_before,
            hold_after,
            lower: moving(lower, first),
            upper: moving(upper, last),
            // Written so that "none" needs no place below 0.
            places: if until > from { from..=until - 1 } else { std::ops::RangeInclusive::new(1, 0) },
            sink_place: self.sink.then_some(self.start),
        }
    }

    fn has_measure(&self, interval: &Interval) -> bool {
        let held = |hold: Option<Hold>| hold.is_some_and(|hold| hold.length > 0.0);
        if held(interval.hold_before) || held(interval.hold_after) {
            return true;
        }
        let (first, last) = (*interval.segments.start(), *interval.segments.end());
        if first > last {
            return false;
        }
        let positive = |i: usize, part: Part| {
            self.nodes.left_node(i).is_some() && self.nodes.duration(i) > 0.0 && part.lambda > 0.0
        };
        let between = last - first > 1 && self.nodes.positive[last - 1] > self.nodes.positive[first];
        between || positive(first, interval.first_part) || positive(last, interval.last_part)
    }

    /// The latest visible point of a domain without measure.
    fn point(&self, lower: Time, upper: Time) -> Option<Point> {
        let node = |node| Some(Point { left: node, right: node, fraction: 0.0 });
        if lower > self.time(self.end) {
            return self.last_node().and_then(node);
        }
        for i in (self.first..=self.end).rev() {
            let (before, here) = (if i > self.start { Some(self.time(i - 1)) } else { None }, self.time(i));
            if here < lower {
                return None;
            }
            if here <= upper && self.nodes.is_kept(i) {
                return node(i);
            }
            if let (Some(before), Some(left)) = (before, self.nodes.left_node(i))
                && before < upper
                && upper < here
            {
                let fraction = if left == i { 0.0 } else { self.part(i, lower, upper).beta };
                return Some(Point { left, right: i, fraction });
            }
        }
        if lower <= self.time(self.start) { node(self.first_node()) } else { None }
    }
}
