//! One row, forward: scores, masses, weights, o, lse, b.

use super::operands::Operands;
use super::segment::{Shares, part_shares};
use super::taylor;
use contattn_core::{Domain, Interval, Nodes, Part, Piece, Point, Real, RowState, Rule};

/// A summand of the integral with what it gives, in units of the row's anchor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term<T> {
    /// the segment, 0 for held curve
    pub(crate) segment: usize,
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) part: Part,
    /// D of the whole segment; the length of held curve
    pub(crate) duration: f64,
    /// scores at the two ends of the part
    pub(crate) a_from: T,
    pub(crate) a_to: T,
    /// what the part gives per unit of its own length and of its own largest exponential
    pub(crate) shares: Shares<T>,
    /// (length of the part) e^{its larger end score}, in units of the anchor
    pub(crate) factor: T,
}

impl<T: Real> Term<T> {
    fn length(&self) -> f64 {
        self.part.lambda * self.duration
    }

    fn largest_score(&self) -> T {
        self.a_from.max(self.a_to)
    }
}

/// What the exponentials of a row are measured in: e^max 2^exponent.
///
/// It is the largest of (length 2-power) e^{score} over the parts of the row, so that no factor exceeds 2 and the largest is
/// at least 1: Z can neither overflow nor vanish, whatever scores and durations are. On the unit time line the exponent is 0
/// and `max` is the largest visible score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor<T> {
    pub(crate) max: T,
    pub(crate) exponent: i32,
}

impl<T: Real> Anchor<T> {
    fn log(self) -> f64 {
        f64::from(self.exponent) * std::f64::consts::LN_2
    }

    /// length e^a in units of the anchor; `length` is positive.
    fn factor(self, a: T, length: f64) -> T {
        let (mantissa, exponent) = libm::frexp(length);
        let exponent = f64::from(exponent - 1 - self.exponent) * std::f64::consts::LN_2;
        T::rounded(2.0 * mantissa) * ((a - self.max) + T::rounded(exponent)).exp()
    }

    /// e^a in units of the anchor, as an `f64`: what a unit of duration would weigh.
    pub(crate) fn density(self, a: T) -> f64 {
        libm::exp(a.widen() - self.max.widen() - self.log()).min(f64::MAX)
    }
}

/// Everything about one row that its results and gradients are made of.
pub(crate) struct Row<T> {
    /// visible nodes in time order, without repetition
    pub(crate) visible: Vec<usize>,
    /// index: node; only those of visible nodes are set
    pub(crate) scores: Vec<T>,
    /// w, index: node; 0 where not visible
    pub(crate) weights: Vec<T>,
    /// b, index: node; -infinity where not visible, and where it was not asked for
    pub(crate) bias: Vec<T>,
    pub(crate) o: Vec<T>,
    pub(crate) lse: T,
    pub(crate) kind: Kind<T>,
}

/// The sum over segments.
pub(crate) struct Sum<T> {
    pub(crate) interval: Interval,
    pub(crate) terms: Vec<Term<T>>,
    pub(crate) anchor: Anchor<T>,
    /// Z in units of the anchor
    pub(crate) z: T,
}

/// How a row came to its weights.
pub(crate) enum Kind<T> {
    /// nothing was seen
    Empty,
    /// a point without measure
    Point,
    /// a domain of positive measure
    Terms(Box<Sum<T>>),
    /// Taylor weights: for each visible node its bias, and its left and right neighbour
    Taylor(Vec<(taylor::Bias<T>, Option<usize>, Option<usize>)>),
}

/// The key and value of each node as this row sees them.
pub(crate) struct Seen<'p, T> {
    pub(crate) operands: &'p Operands<T>,
    /// the node that node 0 copies, under sink `copy`
    pub(crate) copied: Option<usize>,
}

impl<T: Real> Seen<'_, T> {
    /// The node whose key and value node `j` has.
    pub(crate) fn source(&self, node: usize) -> usize {
        if node == 0 { self.copied.unwrap_or(0) } else { node }
    }

    pub(crate) fn key(&self, node: usize) -> &[T] {
        self.operands.key(self.source(node))
    }

    pub(crate) fn value(&self, node: usize) -> &[T] {
        self.operands.value(self.source(node))
    }
}

/// Evaluates one row.
pub(crate) fn forward<T: Real>(
    rule: Rule,
    nodes: &Nodes,
    seen: &Seen<'_, T>,
    q: &[T],
    domain: Domain,
    want_bias: bool,
) -> Row<T> {
    let n = nodes.len();
    let mut row = Row {
        visible: Vec::new(),
        scores: vec![T::NAN; n + 1],
        weights: vec![T::ZERO; n + 1],
        bias: vec![T::NEG_INFINITY; n + 1],
        o: vec![T::ZERO; seen.operands.value_dim],
        lse: T::NEG_INFINITY,
        kind: Kind::Empty,
    };
    match domain {
        Domain::Empty => return row,
        Domain::Point(point) => row.point(point),
        Domain::Interval(interval) => {
            row.visible = match rule {
                Rule::Taylor(_) => interval.nodes(nodes).collect(),
                _ => visible(&interval, nodes),
            };
            for &j in &row.visible {
                row.scores[j] = seen.operands.score(q, seen.key(j));
            }
            match rule {
                Rule::Taylor(order) => row.taylor(order, &interval, nodes),
                _ => row.segments(rule, interval, nodes, want_bias),
            }
        }
    }
    row.finish(seen, q);
    row
}

/// The nodes that the pieces of an interval read, in time order.
fn visible(interval: &Interval, nodes: &Nodes) -> Vec<usize> {
    let mut visible = Vec::new();
    let mut see = |node| {
        if visible.last() != Some(&node) {
            visible.push(node);
        }
    };
    for piece in interval.pieces(nodes) {
        match piece {
            Piece::Segment { left, right, .. } => {
                see(left);
                see(right);
            }
            Piece::Hold(hold) => see(hold.node),
        }
    }
    visible
}

impl<T: Real> Row<T> {
    /// No duration: the weights are those of the latest visible point; lse = -inf and b = -inf stand already.
    fn point(&mut self, point: Point) {
        self.visible.push(point.left);
        let u = T::rounded(point.fraction);
        self.weights[point.left] = T::ONE - u;
        if point.right != point.left {
            self.visible.push(point.right);
            self.weights[point.right] = u;
        }
        self.kind = Kind::Point;
    }

    /// P_j = what node j gets of all terms, Z = sum P_j, w_j = P_j / Z, lse = log Z, b_j = log P_j - a_j.
    ///
    /// Proofs: `eq9_rearrange`, `eq9_numerator`, `eq9_denominator`, `P_nonneg`, `P_pos_left`, `P_pos_right`, `Z_pos`,
    /// `weights_nonneg`, `weights_pos`, `weights_sum_one`, `P_pos_full`.
    fn segments(&mut self, rule: Rule, interval: Interval, nodes: &Nodes, want_bias: bool) {
        let mut terms: Vec<Term<T>> = interval.pieces(nodes).map(|piece| self.term(rule, piece)).collect();
        let anchor = anchor(&terms);
        let mut masses = vec![T::ZERO; self.weights.len()];
        for term in &mut terms {
            if term.length() > 0.0 {
                term.factor = anchor.factor(term.largest_score(), term.length());
            }
            masses[term.left] += term.factor * term.shares.left;
            masses[term.right] += term.factor * term.shares.right;
        }
        let z: T = self.visible.iter().map(|&j| masses[j]).sum();
        for &j in &self.visible {
            self.weights[j] = masses[j] / z;
        }
        // Summed in f64, so that the logarithm is rounded once.
        let log_z = anchor.max.widen() + (anchor.log() + libm::log(z.widen()));
        self.lse = super::operands::into(log_z);
        if want_bias {
            self.logarithmic_bias(rule, &terms);
        }
        self.kind = Kind::Terms(Box::new(Sum { interval, terms, anchor, z }));
    }

    fn term(&self, rule: Rule, piece: Piece) -> Term<T> {
        match piece {
            Piece::Segment { segment, left, right, duration, part } => {
                let (a_left, a_right) = (self.scores[left], self.scores[right]);
                let (a_from, a_to, shares) = part_shares(rule, a_left, a_right, &part);
                Term { segment, left, right, part, duration, a_from, a_to, shares, factor: T::ZERO }
            }
            Piece::Hold(hold) => {
                // All of a held piece goes to its one node, as under Step.
                let a = self.scores[hold.node];
                let shares = Shares { left: T::ZERO, right: T::ONE, diffusion: T::ZERO };
                let (left, right) = (hold.node, hold.node);
                Term {
                    segment: 0,
                    left,
                    right,
                    part: Part::WHOLE,
                    duration: hold.length,
                    a_from: a,
                    a_to: a,
                    shares,
                    factor: T::ZERO,
                }
            }
        }
    }

    /// b_j = log P_j - a_j, summed from each term's logarithm relative to a_j: exact to rounding also where P_j underflows in
    /// units of the anchor.
    ///
    /// Proofs: `exp_bias`, `eq10_first`, `eq10_inner`, `eq10_last`, `eq10_at_first`, `eq10_inside`, `eq10_at_last`,
    /// `bias_equal_scores`.
    fn logarithmic_bias(&mut self, rule: Rule, terms: &[Term<T>]) {
        // For each node the largest logarithm so far and the sum of exponentials relative to it.
        let mut sums = vec![(f64::NEG_INFINITY, 0.0); self.weights.len()];
        let mut add = |node: usize, a: T, share: f64, length: f64| {
            if share > 0.0 {
                let log = (a.widen() - self.scores[node].widen()) + (libm::log(share) + libm::log(length));
                let (top, sum) = sums[node];
                sums[node] =
                    if log > top { (log, 1.0 + sum * libm::exp(top - log)) } else { (top, sum + libm::exp(log - top)) };
            }
        };
        for term in terms.iter().filter(|term| term.length() > 0.0) {
            if rule == Rule::Trapezoid && term.left != term.right {
                // Under the other rules a share is at least about 1/y^2 of the segment's larger end; here it is e^{-y}, and
                // would be lost: the two ends are taken each by itself.
                let Part { alpha, one_minus_alpha, beta, one_minus_beta, .. } = term.part;
                for (a, to_left, to_right) in [(term.a_from, one_minus_alpha, alpha), (term.a_to, one_minus_beta, beta)]
                {
                    add(term.left, a, 0.5 * to_left, term.length());
                    add(term.right, a, 0.5 * to_right, term.length());
                }
            } else {
                add(term.left, term.largest_score(), term.shares.left.widen(), term.length());
                add(term.right, term.largest_score(), term.shares.right.widen(), term.length());
            }
        }
        for &j in &self.visible {
            let (top, sum) = sums[j];
            if sum > 0.0 {
                self.bias[j] = super::operands::into(top + libm::log(sum));
            }
        }
    }

    /// Weights e^{a_j + b_j} with the series of b_j for as many neighbours as node j has.
    fn taylor(&mut self, order: u32, interval: &Interval, nodes: &Nodes) {
        let (mut left_of, mut right_of) = (vec![None; self.weights.len()], vec![None; self.weights.len()]);
        for piece in interval.pieces(nodes) {
            if let Piece::Segment { left, right, .. } = piece {
                left_of[right] = Some(left);
                right_of[left] = Some(right);
            }
        }
        let difference = |from: usize, to: usize| self.scores[from] - self.scores[to];
        let neighbours: Vec<_> = self
            .visible
            .iter()
            .map(|&j| {
                let (left, right) = (left_of[j], right_of[j]);
                let bias = match (left, right) {
                    (Some(left), Some(right)) => taylor::interior(difference(left, j), difference(right, j), order),
                    (Some(only), None) | (None, Some(only)) => taylor::end(difference(only, j), order),
                    (None, None) => taylor::Bias { value: T::ZERO, by_u: T::ZERO, by_w: T::ZERO },
                };
                (bias, left, right)
            })
            .collect();
        let exponent = |j: usize, bias: T| (self.scores[j] + bias).max(-T::MAX).min(T::MAX);
        let largest = self.visible.iter().zip(&neighbours).map(|(&j, n)| exponent(j, n.0.value));
        // The bias may be large, so the anchor is the largest a + b, not the largest a.
        let max = largest.fold(T::NEG_INFINITY, Real::max);
        for (&j, n) in self.visible.iter().zip(&neighbours) {
            self.weights[j] = (exponent(j, n.0.value) - max).exp();
            self.bias[j] = n.0.value;
        }
        let z: T = self.visible.iter().map(|&j| self.weights[j]).sum();
        for &j in &self.visible {
            self.weights[j] /= z;
        }
        self.lse = super::operands::into(max.widen() + libm::log(z.widen()));
        self.kind = Kind::Taylor(neighbours);
    }

    /// o = sum w_j v_j, and the rules for numbers that are not finite.
    ///
    /// Proofs: `attention_weights`, `attention_hull`.
    fn finish(&mut self, seen: &Seen<'_, T>, q: &[T]) {
        let finite = |x: &[T]| x.iter().all(|x| x.is_finite());
        if !finite(q) || !self.visible.iter().all(|&j| finite(seen.key(j))) {
            self.o.fill(T::NAN);
            self.weights.fill(T::NAN);
            self.bias.fill(T::NAN);
            self.lse = T::NAN;
            return;
        }
        for (c, o) in self.o.iter_mut().enumerate() {
            let values = || self.visible.iter().map(|&j| (self.weights[j], seen.value(j)[c]));
            *o = if values().all(|(_, v)| v.is_finite()) {
                let sum: T = values().map(|(w, v)| w * v).sum();
                // o lies in the hull of the visible values; rounding may carry it past the end of the type's range.
                let (low, high) = values().fold((T::MAX, -T::MAX), |(low, high), (_, v)| (low.min(v), high.max(v)));
                if sum.is_nan() { sum } else { sum.max(low).min(high) }
            } else {
                T::NAN
            };
        }
    }

    /// The state of this row, for merging with those of other runs of segments.
    pub(crate) fn state(&self) -> RowState<T> {
        match &self.kind {
            Kind::Empty => RowState::empty(),
            Kind::Point => RowState::point(self.o.clone()),
            Kind::Terms(_) | Kind::Taylor(_) => RowState::new(self.lse, T::ONE, self.o.clone()),
        }
    }
}

/// The largest (power of two of the length) e^{score} over the terms that have a length.
fn anchor<T: Real>(terms: &[Term<T>]) -> Anchor<T> {
    let mut best = Anchor { max: T::NEG_INFINITY, exponent: 0 };
    for term in terms.iter().filter(|term| term.length() > 0.0) {
        let candidate = Anchor { max: term.largest_score(), exponent: libm::frexp(term.length()).1 - 1 };
        // Differences of like terms: beside a huge score the logarithm of a length would be rounded away.
        let larger = |a: Anchor<T>, b: Anchor<T>| (a.max.widen() - b.max.widen()) + (a.log() - b.log()) > 0.0;
        if best.max == T::NEG_INFINITY || larger(candidate, best) {
            best = candidate;
        }
    }
    best
}
