//! One row: what it sees, its scores and values, exactly.

use super::score::dot;
use super::{ExactProblem, Hold, Radicand, Seen, Sight, Surd};
use contattn_core::Sink;
use rug::Rational;

/// A summand of the integral.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// its segment; `None` for held curve
    pub segment: Option<usize>,
    /// node at its left end; under Step, and for held curve, the node at its right end
    pub left: usize,
    /// node at its right end
    pub right: usize,
    /// D of the whole segment; the length of held curve
    pub duration: Rational,
    /// where the part inside the window begins
    pub alpha: Rational,
    /// where it ends
    pub beta: Rational,
}

impl Piece {
    /// lambda = beta - alpha
    pub fn lambda(&self) -> Rational {
        Rational::from(&self.beta - &self.alpha)
    }

    /// lambda D
    pub fn length(&self) -> Rational {
        self.lambda() * &self.duration
    }

    /// Whether nothing is cut off.
    pub fn is_whole(&self) -> bool {
        self.alpha.is_zero() && self.beta == 1
    }

    /// Whether the curve is constant on it: held, or read as constant.
    pub fn is_constant(&self) -> bool {
        self.left == self.right
    }

    fn held(hold: &Hold) -> Piece {
        let (node, duration) = (hold.node, hold.length.clone());
        Piece { segment: None, left: node, right: node, duration, alpha: Rational::new(), beta: Rational::from(1) }
    }
}

/// One row of a problem. Nodes have indices 0..=n, 0 the sink.
#[derive(Debug)]
pub struct Row<'e> {
    exact: &'e ExactProblem<'e>,
    batch: usize,
    kv_head: usize,
    sight: Sight,
    /// the node whose key and value node 0 copies
    copied: Option<usize>,
    visible: Vec<usize>,
    /// scores over sqrt m, by node; set where visible
    scores: Vec<Rational>,
    /// whether q or a visible k is not finite
    is_nan: bool,
}

/// A piece with the scores at its two ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// the piece
    pub piece: Piece,
    /// score over sqrt m where it begins
    pub from: Rational,
    /// score over sqrt m where it ends
    pub to: Rational,
    /// lambda D
    pub length: Rational,
}

impl Term {
    /// The larger of its end scores, over sqrt m.
    pub fn peak(&self) -> &Rational {
        if self.from >= self.to { &self.from } else { &self.to }
    }
}

/// A visible node under the Taylor rule: its score's distance to those of its neighbours, over sqrt m.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    /// the node
    pub node: usize,
    /// left neighbour j and a_j - a
    pub left: Option<(usize, Rational)>,
    /// right neighbour j and a_j - a
    pub right: Option<(usize, Rational)>,
}

impl<'e> Row<'e> {
    pub(super) fn new(exact: &'e ExactProblem<'e>, batch: usize, head: usize, index: usize) -> Row<'e> {
        let problem = exact.problem();
        let shape = problem.shape();
        let mut row = Row {
            exact,
            batch,
            kv_head: shape.kv_head(head),
            sight: exact.sight(batch, index),
            copied: matches!(problem.sink(), Sink::Copy).then(|| problem.copied_node(batch, index)).flatten(),
            visible: Vec::new(),
            scores: vec![Rational::new(); shape.keys + 1],
            is_nan: false,
        };
        row.visible = row.visible_nodes();
        if row.visible.is_empty() {
            return row;
        }
        let mut q = vec![0.0; shape.head_dim];
        problem.q().read_row(batch, head, index, &mut q);
        let mut k = vec![0.0; shape.head_dim];
        for at in 0..row.visible.len() {
            let node = row.visible[at];
            row.read_key(node, &mut k);
            let Some(product) = dot(&q, &k) else {
                row.is_nan = true;
                continue;
            };
            row.scores[node] = product * exact.factor();
        }
        row
    }

    /// What it sees.
    pub fn sight(&self) -> &Sight {
        &self.sight
    }

    /// The exact problem that it belongs to.
    pub fn exact(&self) -> &'e ExactProblem<'e> {
        self.exact
    }

    /// n
    pub fn keys(&self) -> usize {
        self.scores.len() - 1
    }

    /// Width of v.
    pub fn value_dim(&self) -> usize {
        self.exact.problem().shape().value_dim
    }

    /// Visible nodes in time order; node 0, where visible, comes first.
    pub fn visible(&self) -> &[usize] {
        &self.visible
    }

    /// Whether NaN or infinity in q or a visible k makes all results NaN.
    pub fn is_nan(&self) -> bool {
        self.is_nan
    }

    /// Whether NaN or infinity in a visible v makes this column of o NaN.
    pub fn is_nan_column(&self, channel: usize) -> bool {
        self.visible.iter().any(|&node| !self.value_f64(node, channel).is_finite())
    }

    /// m
    pub fn radicand(&self) -> Radicand {
        self.exact.radicand()
    }

    /// The score of a visible node.
    pub fn score(&self, node: usize) -> Surd {
        Surd::from_root(self.scores[node].clone(), self.radicand())
    }

    /// The score of a visible node over sqrt m.
    pub fn score_over_root(&self, node: usize) -> &Rational {
        &self.scores[node]
    }

    /// v of a node in one channel; may be NaN or infinite.
    pub fn value_f64(&self, node: usize, channel: usize) -> f64 {
        let problem = self.exact.problem();
        let v = |node: usize| problem.v().get(self.batch, self.kv_head, node - 1, channel);
        if node > 0 {
            return v(node);
        }
        match problem.sink() {
            Sink::Given { value, .. } => value.get(self.batch, self.kv_head, 0, channel),
            Sink::Copy => self.copied.map_or(0.0, v),
            Sink::Zeros | Sink::Absent => 0.0,
        }
    }

    /// v of a node in one channel; 0 where it is not finite (such columns are NaN before this is read).
    pub fn value(&self, node: usize, channel: usize) -> Rational {
        Rational::from_f64(self.value_f64(node, channel)).unwrap_or_default()
    }

    /// The node whose key and value a node has.
    pub fn source(&self, node: usize) -> usize {
        if node == 0 { self.copied.unwrap_or(0) } else { node }
    }

    /// k of a node.
    pub fn read_key(&self, node: usize, k: &mut [f64]) {
        let problem = self.exact.problem();
        let source = self.source(node);
        if source > 0 {
            return problem.k().read_row(self.batch, self.kv_head, source - 1, k);
        }
        match problem.sink() {
            Sink::Given { key, .. } => key.read_row(self.batch, self.kv_head, 0, k),
            _ => k.fill(0.0),
        }
    }

    /// What to add up, in time order. Empty unless the domain has measure.
    pub fn pieces(&self) -> Vec<Piece> {
        let Sight::Measure(seen) = &self.sight else { return Vec::new() };
        self.pieces_of(seen)
    }

    /// What to add up, with the scores at the ends of each piece.
    pub fn terms(&self) -> Vec<Term> {
        self.pieces()
            .into_iter()
            .map(|piece| {
                let (left, right) = (&self.scores[piece.left], &self.scores[piece.right]);
                let rise = Rational::from(right - left);
                let at = |u: &Rational| if rise.is_zero() { left.clone() } else { Rational::from(&rise * u) + left };
                Term { from: at(&piece.alpha), to: at(&piece.beta), length: piece.length(), piece }
            })
            .collect()
    }

    /// The largest end score, over sqrt m, among terms of positive length: what exponentials are measured in.
    pub fn anchor(terms: &[Term]) -> Rational {
        terms.iter().filter(|term| term.length > 0).map(Term::peak).max().cloned().unwrap_or_default()
    }

    /// Each visible node with its distances to the nodes that visible segments join it to.
    pub fn neighbours(&self) -> Vec<Neighbours> {
        let n = self.keys() + 1;
        let (mut left_of, mut right_of) = (vec![None; n], vec![None; n]);
        for piece in self.pieces().iter().filter(|piece| piece.segment.is_some()) {
            left_of[piece.right] = Some(piece.left);
            right_of[piece.left] = Some(piece.right);
        }
        let apart = |node: usize, other: Option<usize>| {
            other.map(|other| (other, Rational::from(&self.scores[other] - &self.scores[node])))
        };
        let neighbours =
            |&node: &usize| Neighbours { node, left: apart(node, left_of[node]), right: apart(node, right_of[node]) };
        self.visible.iter().map(neighbours).collect()
    }

    fn pieces_of(&self, seen: &Seen) -> Vec<Piece> {
        let times = self.exact.times(self.batch);
        let (first, last) = (*seen.segments.start(), *seen.segments.end());
        let mut pieces: Vec<Piece> = seen.hold_before.iter().map(Piece::held).collect();
        for i in seen.segments.clone() {
            let Some(left) = self.left_node(seen, i) else { continue };
            let alpha = if i == first { seen.alpha.clone() } else { Rational::new() };
            let beta = if i == last { seen.beta.clone() } else { Rational::from(1) };
            let duration = times.duration(i).clone();
            pieces.push(Piece { segment: Some(i), left, right: i, duration, alpha, beta });
        }
        pieces.extend(seen.hold_after.iter().map(Piece::held));
        pieces
    }

    /// The left node of segment i among those that the window reaches, unless masks removed it.
    fn left_node(&self, seen: &Seen, i: usize) -> Option<usize> {
        let mask = self.exact.problem().spec().key_mask.as_ref().map(|mask| mask.row(self.batch));
        let kept = |i: usize| mask.is_none_or(|mask| mask[i - 1]);
        if self.exact.problem().rule().reads_own_node_only() {
            kept(i).then_some(i)
        } else if i == seen.first {
            seen.sink_place.map(|_| 0)
        } else {
            (kept(i) && kept(i - 1)).then_some(i - 1)
        }
    }

    fn visible_nodes(&self) -> Vec<usize> {
        let mut visible = Vec::new();
        let mut see = |node: usize| {
            if visible.last() != Some(&node) {
                visible.push(node);
            }
        };
        match &self.sight {
            Sight::Nothing => {}
            Sight::Point(point) => {
                see(point.left);
                see(point.right);
            }
            Sight::Measure(seen) if matches!(self.exact.problem().rule(), contattn_core::Rule::Taylor(_)) => {
                // Taylor weighs every kept node in the window, also one that ends no visible segment.
                let mask = self.exact.problem().spec().key_mask.as_ref().map(|mask| mask.row(self.batch));
                for place in seen.places.clone() {
                    if seen.sink_place == Some(place) {
                        see(0);
                    } else if place > 0 && mask.is_none_or(|mask| mask[place - 1]) {
                        see(place);
                    }
                }
            }
            Sight::Measure(seen) => {
                for piece in self.pieces_of(seen) {
                    see(piece.left);
                    see(piece.right);
                }
            }
        }
        visible
    }
}
