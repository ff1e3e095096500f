//! Windows resolved, with every comparison of times exact.
//!
//! Written from docs/operator.md alone: nothing here calls the resolution in core.

use super::Times;
use super::sight::{Hold, Motion, MovingEdge, Place, Point, Seen, Sight};
use contattn_core::{Edge, Lower, Problem, QueryTimes, Sink, Upper};
use rug::Rational;
use std::ops::RangeInclusive;

/// A run of neighbouring nodes that stands by itself.
struct Stretch {
    first: usize,
    last: usize,
}

fn exact(x: f64) -> Rational {
    Rational::from_f64(x).unwrap_or_default()
}

fn stretch(problem: &Problem<'_>, batch: usize, row: usize) -> Option<Stretch> {
    let n = problem.shape().keys;
    let Some(documents) = &problem.spec().documents else { return Some(Stretch { first: 1, last: n }) };
    let ids = documents.keys.row(batch);
    let document = match &documents.queries {
        Some(queries) => queries.row(batch)[row],
        None => {
            let node = problem.default_node(row);
            *ids.get(usize::try_from(node - 1).ok()?)?
        }
    };
    let first = ids.iter().position(|&id| id == document)? + 1;
    let last = ids.iter().rposition(|&id| id == document)? + 1;
    Some(Stretch { first, last })
}

/// How many of `times`, which are in order, come before the first that is not `below`.
fn count(times: &[Rational], below: impl Fn(&Rational) -> bool) -> usize {
    times.partition_point(below)
}

/// An edge's time, and how it moves where it is not attached.
struct EdgeTime {
    time: Rational,
    motion: Motion,
}

struct Resolver<'r> {
    times: &'r Times,
    kept: Option<&'r [bool]>,
    own_node_only: bool,
    sink: bool,
    /// the first kept node
    first: usize,
    /// where the curve starts
    start: usize,
    /// the last visible place
    end: usize,
    /// the last place of the stretch
    last: usize,
}

pub(super) fn resolve(problem: &Problem<'_>, times: &Times, batch: usize, row: usize) -> Sight {
    resolve_seen(problem, times, batch, row).unwrap_or(Sight::Nothing)
}

fn resolve_seen(problem: &Problem<'_>, times: &Times, batch: usize, row: usize) -> Option<Sight> {
    let n = problem.shape().keys;
    let stretch = stretch(problem, batch, row)?;
    let kept = problem.spec().key_mask.as_ref().map(|mask| mask.row(batch));
    let is_kept = |i: usize| kept.is_none_or(|kept| kept[i - 1]);
    let own_node_only = problem.rule().reads_own_node_only();
    let sink = !own_node_only
        && match problem.sink() {
            Sink::Absent => false,
            Sink::Copy => n > 0,
            Sink::Zeros | Sink::Given { .. } => true,
        };
    let first = match (stretch.first..=stretch.last).find(|&i| is_kept(i)) {
        Some(first) => first,
        None if n == 0 && sink => 1,
        None => return None,
    };
    let start = if sink || own_node_only { first - 1 } else { first };
    let last = stretch.last.max(start);
    let window = &problem.spec().window;

    // The time t, and the node that it moves with.
    let query = if window.is_causal() {
        Some(match &problem.spec().query_times {
            QueryTimes::At(series) => (exact(series.row(batch)[row]), None),
            QueryTimes::LastNodes => {
                let node = usize::try_from(problem.default_node(row)).ok()?;
                (times.time(node).clone(), Some(node))
            }
        })
    } else {
        None
    };
    let places = &times.all()[start..=last];
    let end = match &query {
        None => last,
        Some((t, _)) => {
            let seen = if own_node_only {
                match count(places, |tau| tau < t) {
                    0 => 0,
                    before => (before + 1).min(places.len()),
                }
            } else {
                count(places, |tau| tau <= t)
            };
            start + seen.checked_sub(1)?
        }
    };
    let resolver = Resolver { times, kept, own_node_only, sink, first, start, end, last };

    let value = |edge: &Edge| match edge {
        Edge::All(t) => exact(*t),
        Edge::Rows(rows) => exact(rows.row(batch)[row]),
    };
    let derived = |shift: Rational| {
        let (t, node) = query.as_ref()?;
        // A t that equals the time of a node of the stretch moves with it; where several stand there, with the last visible
        // one, or else the last one.
        let visible = (t == resolver.time(end)).then_some(end);
        let node = visible.or_else(|| resolver.node_at(t)).or(*node);
        Some(EdgeTime { time: Rational::from(t + &shift), motion: node.map_or(Motion::Fixed, Motion::WithNode) })
    };
    let at_start = EdgeTime { time: times.time(start).clone(), motion: Motion::WithCurve };
    let lower = match &window.lower {
        Lower::Start => at_start,
        Lower::At(edge) => resolver.given(value(edge)),
        Lower::Sliding(width) => {
            let lower = derived(-exact(*width))?;
            if lower.time > at_start.time { lower } else { at_start }
        }
    };
    let upper = match &window.upper {
        Upper::End => EdgeTime { time: times.time(end).clone(), motion: Motion::WithCurve },
        Upper::At(edge) => resolver.given(value(edge)),
        Upper::Query { offset } => derived(exact(*offset))?,
    };
    if upper.time < lower.time {
        return None;
    }
    let seen = resolver.seen(&lower, &upper);
    if resolver.has_measure(&seen) {
        return Some(Sight::Measure(Box::new(seen)));
    }
    resolver.point(&lower.time, &upper.time).map(Sight::Point)
}

impl Resolver<'_> {
    fn time(&self, place: usize) -> &Rational {
        self.times.time(place)
    }

    fn is_kept(&self, i: usize) -> bool {
        self.kept.is_none_or(|kept| kept[i - 1])
    }

    /// The last place of the stretch at this time.
    fn node_at(&self, t: &Rational) -> Option<usize> {
        let places = &self.times.all()[self.start..=self.last];
        let after = count(places, |tau| tau <= t);
        (after > 0 && places[after - 1] == *t).then(|| self.start + after - 1)
    }

    fn given(&self, time: Rational) -> EdgeTime {
        let motion = if self.node_at(&time).is_some() { Motion::WithCurve } else { Motion::Fixed };
        EdgeTime { time, motion }
    }

    /// The left node of segment i of this stretch, unless the segment is removed.
    fn left_node(&self, i: usize) -> Option<usize> {
        if self.own_node_only {
            self.is_kept(i).then_some(i)
        } else if i == self.first {
            self.sink.then_some(0)
        } else {
            (self.is_kept(i) && self.is_kept(i - 1)).then_some(i - 1)
        }
    }

    fn held_before(&self) -> usize {
        if self.sink { 0 } else { self.first }
    }

    fn held_after(&self) -> Option<usize> {
        if self.end >= self.first { self.is_kept(self.end).then_some(self.end) } else { Some(0) }
    }

    /// Segment i counts: it shares a positive length with [lower, upper], or has none and lies in it.
    fn counts(&self, i: usize, lower: &Rational, upper: &Rational) -> bool {
        let (left, right) = (self.time(i - 1), self.time(i));
        if left == right { lower <= right && right <= upper } else { left.max(lower) < right.min(upper) }
    }

    fn seen(&self, lower: &EdgeTime, upper: &EdgeTime) -> Seen {
        let all = self.times.all();
        let (start, end) = (self.start, self.end);
        let (low, high) = (&lower.time, &upper.time);
        // Segments that count are neighbours; a segment before `from` ends before the window, one after `to` begins after.
        let from = start + 1 + count(&all[start + 1..=end], |tau| tau < low);
        let to = start + count(&all[start..end], |tau| tau <= high);
        let first = (from..=to).find(|&i| self.counts(i, low, high)).unwrap_or(to + 1);
        let last = (first..=to).rev().find(|&i| self.counts(i, low, high)).unwrap_or(first - 1);
        // A segment without duration lies in the window as a whole.
        let fraction = |i: usize, t: &Rational| Rational::from(t - self.time(i - 1)) / self.times.duration(i);
        let cut_from = |i: usize| if low <= self.time(i - 1) { Rational::new() } else { fraction(i, low) };
        let cut_until = |i: usize| if high >= self.time(i) { Rational::from(1) } else { fraction(i, high) };
        let (alpha, beta) =
            if first <= last { (cut_from(first), cut_until(last)) } else { (Rational::new(), Rational::from(1)) };
        let (begins, ends) = (self.time(start), self.time(end));
        let hold_before =
            (low < begins).then(|| Hold { node: self.held_before(), length: Rational::from(high.min(begins) - low) });
        let hold_after = self
            .held_after()
            .filter(|_| high > ends)
            .map(|node| Hold { node, length: Rational::from(high - low.max(ends)) });
        let place = |t: &Rational, segment: usize| {
            if t < begins {
                Place::Before(start)
            } else if t > ends || segment > end {
                Place::After(end)
            } else if segment <= start {
                Place::Before(start)
            } else {
                Place::Segment(segment)
            }
        };
        // An edge in a removed stretch of curve has no segment under it that counts for the sum, only for its place.
        let from_place = start + count(&all[start..=end], |tau| tau < low);
        let until_place = start + count(&all[start..=end], |tau| tau <= high);
        let from_place = if self.sink { from_place } else { from_place.max(self.first) };
        Seen {
            segments: first..=last,
            alpha,
            beta,
            hold_before,
            hold_after,
            lower: MovingEdge { place: place(low, first), motion: lower.motion },
            upper: MovingEdge { place: place(high, last), motion: upper.motion },
            places: if until_place > from_place { from_place..=until_place - 1 } else { RangeInclusive::new(1, 0) },
            sink_place: self.sink.then_some(start),
            first: self.first,
        }
    }

    fn has_measure(&self, seen: &Seen) -> bool {
        let held = |hold: &Option<Hold>| hold.as_ref().is_some_and(|hold| hold.length > 0);
        held(&seen.hold_before)
            || held(&seen.hold_after)
            || seen.segments.clone().any(|i| *self.times.duration(i) > 0 && self.left_node(i).is_some())
    }

    /// The latest time in [lower, upper] at which there is curve, where no duration was found: places of kept nodes, single
    /// points of kept segments, held curve.
    fn point(&self, lower: &Rational, upper: &Rational) -> Option<Point> {
        let node = |node| Point { left: node, right: node, fraction: Rational::new() };
        if lower > self.time(self.end) {
            // Here lower = upper: a longer window would have measure, or nothing is held.
            return self.held_after().map(node);
        }
        for place in (self.start..=self.end).rev() {
            let here = self.time(place);
            // The curve strictly between this place and the next.
            if place < self.end && here < upper && lower == upper && upper < self.time(place + 1) {
                let i = place + 1;
                let left = self.left_node(i)?;
                if left == i {
                    return Some(node(i));
                }
                let fraction = Rational::from(upper - here) / self.times.duration(i);
                return Some(Point { left, right: i, fraction });
            }
            if here > upper {
                continue;
            }
            if here < lower {
                return None;
            }
            if place == self.start && (self.sink || self.own_node_only) {
                return Some(node(self.held_before()));
            }
            if self.is_kept(place) {
                return Some(node(place));
            }
        }
        (upper < self.time(self.start)).then(|| node(self.held_before()))
    }
}
