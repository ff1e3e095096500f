//! What single rows give beside the tiles, in f64.

use super::{Gradients, padded};
use crate::tiled::forward::single::{piece_shares, single_score};
use crate::tiled::head::{Head, Source};
use contattn_core::{Domain, Hold, MovingEdge, Part, Place, Rule};

/// What one row gives beside the tiles, in f64.
pub(super) struct SingleRow<'s, 'a, 'o> {
    pub(super) head: &'s Head<'a>,
    pub(super) row: usize,
    pub(super) lane: usize,
    pub(super) lanes: usize,
    /// Q^T, G^T and dQ^T of the block
    pub(super) q: &'s [f32],
    pub(super) g: &'s [f32],
    pub(super) dq: &'s mut [f32],
    pub(super) m: f64,
    pub(super) delta: f64,
    pub(super) sums: &'s mut Gradients<'o>,
}

impl SingleRow<'_, '_, '_> {
    fn score(&self, source: Source) -> f64 {
        single_score(self.q, self.lanes, self.lane, self.head.key(source))
    }

    /// c = (g.v - g.o + g_lse)/z
    fn change(&self, source: Source) -> f64 {
        single_score(self.g, self.lanes, self.lane, self.head.value(source)) - self.delta
    }

    /// dV += w g
    fn add_value(&mut self, source: Source, weight: f64) {
        let width = self.g.len() / self.lanes;
        let row = match source {
            Source::Node(node) => &mut self.sums.dv.rows(node - 1, 1, padded(width))[..width],
            Source::Sink => &mut self.sums.sink_dv[..width],
        };
        for (sum, &g) in row.iter_mut().zip(self.g.iter().skip(self.lane).step_by(self.lanes)) {
            *sum += weight as f32 * g;
        }
    }

    /// dK += da q, dQ += da k
    fn add_score(&mut self, source: Source, da: f64) {
        let width = self.q.len() / self.lanes;
        let row = match source {
            Source::Node(node) => &mut self.sums.dk.rows(node - 1, 1, padded(width))[..width],
            Source::Sink => &mut self.sums.sink_dk[..width],
        };
        for (sum, &q) in row.iter_mut().zip(self.q.iter().skip(self.lane).step_by(self.lanes)) {
            *sum += da as f32 * q;
        }
        if let Some(key) = self.head.key(source) {
            for (c, &k) in key.iter().enumerate() {
                self.dq[c * self.lanes + self.lane] += da as f32 * k;
            }
        }
    }

    /// A point without duration: dv = w g.
    pub(super) fn point(&mut self, point: contattn_core::Point) {
        let weights = [(point.left, 1.0 - point.fraction), (point.right, point.fraction)];
        for (node, weight) in weights.into_iter().filter(|(_, weight)| *weight > 0.0) {
            self.add_value(self.head.source(self.row, node), weight);
        }
    }

    /// Cut segments and held curve.
    pub(super) fn pieces(&mut self, block_opening: usize) {
        let head = self.head;
        for piece in head.pieces(self.row, block_opening) {
            let (a_left, a_right) = (self.score(piece.left), self.score(piece.right));
            let (c_left, c_right) = (self.change(piece.left), self.change(piece.right));
            let (from, to, shares) = piece_shares(head, &piece, a_left, a_right);
            let density = libm::exp((from.max(to) - self.m).min(80.0));
            let factor = density * head.durations.scale(piece.part.lambda * piece.duration);
            let flow = factor * shares.diffusion * (c_right - c_left);
            for (source, share, c, flow) in
                [(piece.left, shares.left, c_left, flow), (piece.right, shares.right, c_right, -flow)]
            {
                self.add_value(source, factor * share);
                self.add_score(source, factor * share * c + flow);
            }
            if piece.segment > 0 {
                let change = shares.left * c_left + shares.right * c_right;
                self.sums.durations[piece.segment - 1] += density * piece.part.lambda * change;
            }
        }
    }

    /// The edges of the window that move when durations change.
    pub(super) fn edges(&mut self) {
        let Domain::Interval(interval) = self.head.problem.domain(self.head.batch, self.row) else { return };
        for (edge, is_upper) in [(&interval.lower, false), (&interval.upper, true)] {
            match (edge.place, interval.held_at(edge.place)) {
                (Place::Segment(i), _) => {
                    if interval.segments.contains(&i)
                        && let Some(left) = self.head.nodes.left_node(i)
                    {
                        self.segment_edge(edge, is_upper, left, i, &interval.part(i));
                    }
                }
                (_, Some(hold)) => self.held_edge(edge, is_upper, &hold),
                _ => {}
            }
        }
    }

    /// The integrand at an edge in held curve.
    fn held_edge(&mut self, edge: &MovingEdge, is_upper: bool, hold: &Hold) {
        let source = self.head.source(self.row, hold.node);
        let gain = libm::exp((self.score(source) - self.m).min(80.0)) * self.change(source);
        self.move_edge(edge, if is_upper { gain } else { -gain }, if is_upper { 1.0 } else { 0.0 });
    }

    /// The integrand at an edge in a segment; under the trapezoid, of whose parts the sum is not the whole, the derivative of
    /// (lambda/2)(f(alpha) + f(beta)), f = e^a c, f' = e^a (x c + c_1 - c_0).
    fn segment_edge(&mut self, edge: &MovingEdge, is_upper: bool, left: usize, right: usize, part: &Part) {
        let fraction = if is_upper { part.beta } else { part.alpha };
        if edge.moved_by().all(|i| edge.velocity(i, fraction) == 0.0) {
            return;
        }
        let rule = self.head.problem.rule();
        let [left, right] = [left, right].map(|node| self.head.source(self.row, node));
        let (a_left, a_right) = (self.score(left), self.score(right));
        let (c_left, c_right) = (self.change(left), self.change(right));
        let density = |a: f64| libm::exp((a - self.m).min(80.0));
        let sign = if is_upper { 1.0 } else { -1.0 };
        let gain = if rule == Rule::Step {
            sign * density(a_right) * c_right
        } else {
            let place = |u: f64, not_u: f64| {
                (density(crate::plain::segment::interpolate(a_left, a_right, u, not_u)), not_u * c_left + u * c_right)
            };
            let (alpha, beta) = (place(part.alpha, part.one_minus_alpha), place(part.beta, part.one_minus_beta));
            let (e, c) = if is_upper { beta } else { alpha };
            if rule == Rule::Trapezoid {
                let mean = 0.5 * (alpha.0 * alpha.1 + beta.0 * beta.1);
                sign * mean + 0.5 * part.lambda * e * ((a_right - a_left) * c + c_right - c_left)
            } else {
                sign * e * c
            }
        };
        self.move_edge(edge, gain, fraction);
    }

    fn move_edge(&mut self, edge: &MovingEdge, gain: f64, fraction: f64) {
        for i in edge.moved_by() {
            self.sums.durations[i - 1] += gain * edge.velocity(i, fraction);
        }
    }
}
