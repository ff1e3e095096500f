//! What a row sees, as data.

use rug::Rational;
use std::ops::RangeInclusive;

/// What a row sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Sight {
    /// Nothing.
    Nothing,
    /// Something, but no duration.
    Point(Point),
    /// A domain of positive measure.
    Measure(Box<Seen>),
}

/// The point (1 - u) left + u right; a node where both are the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// node at u = 0
    pub left: usize,
    /// node at u = 1
    pub right: usize,
    /// u, strictly between 0 and 1 inside a segment, else 0
    pub fraction: Rational,
}

/// Constant curve outside the visible places.
#[derive(Clone, Debug, PartialEq)]
pub struct Hold {
    /// whose key and value are held
    pub node: usize,
    /// for how long
    pub length: Rational,
}

/// A domain of positive measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// segments that share a positive length with the window, or have no duration and lie in it; removed ones among them
    /// do not count. May be empty.
    pub segments: RangeInclusive<usize>,
    /// where the window begins within the first of them, as a fraction of it
    pub alpha: Rational,
    /// where it ends within the last of them
    pub beta: Rational,
    /// curve held before the start
    pub hold_before: Option<Hold>,
    /// curve held after the last visible place
    pub hold_after: Option<Hold>,
    /// the lower edge
    pub lower: MovingEdge,
    /// the upper edge
    pub upper: MovingEdge,
    /// visible places that lie in the window
    pub places: RangeInclusive<usize>,
    /// the place of this row's sink
    pub sink_place: Option<usize>,
    /// the first kept node of the row's stretch
    pub first: usize,
}

/// Where an edge lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// in segment i, its ends included
    Segment(usize),
    /// before the start, which stands at this place
    Before(usize),
    /// after the last visible place, which is this
    After(usize),
}

/// How an edge moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// as the point of the curve under it does, because it sits on a node
    WithCurve,
    /// as this node's time does
    WithNode(usize),
    /// not at all
    Fixed,
}

/// An edge of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovingEdge {
    /// where it lies
    pub place: Place,
    /// how it moves
    pub motion: Motion,
}

impl MovingEdge {
    /// d(edge)/dD_i less the velocity of the curve under it; `fraction` is the edge's place within its segment.
    pub fn velocity(&self, i: usize, fraction: &Rational) -> Rational {
        let step = |moves: bool| Rational::from(u32::from(moves));
        let edge = match self.motion {
            Motion::WithCurve => return Rational::new(),
            Motion::WithNode(node) => step(i <= node),
            Motion::Fixed => Rational::new(),
        };
        let curve = match self.place {
            Place::Segment(segment) if i == segment => fraction.clone(),
            Place::Segment(segment) => step(i < segment),
            Place::Before(place) | Place::After(place) => step(i <= place),
        };
        edge - curve
    }
}
