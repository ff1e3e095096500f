//! One row, forward.

use super::segment::{Shares, cut, whole};
use super::{Mistake, engine::Reader};
use contattn_core::{Domain, Interval, Part, Piece, Point, Rule};

/// What one piece gives, relative to e^{anchor} times its duration.
#[derive(Clone, Debug)]
pub(super) struct Term {
    /// 0 for constant curve
    pub(super) segment: usize,
    pub(super) left: usize,
    pub(super) right: usize,
    pub(super) duration: f64,
    pub(super) part: Part,
    pub(super) shares: Shares,
    /// the higher of its scores
    pub(super) anchor: f64,
    /// duration e^{anchor} in the row's units
    pub(super) factor: f64,
}

/// A row's results and what its gradient needs.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) scores: Vec<f64>,
    pub(super) terms: Vec<Term>,
    pub(super) interval: Option<Interval>,
    pub(super) visible: Vec<usize>,
    pub(super) anchor: f64,
    pub(super) exponent: i32,
    pub(super) total: f64,
    pub(super) weights: Vec<f64>,
    pub(super) bias: Vec<f64>,
    pub(super) lse: f64,
    pub(super) o: Vec<f64>,
    pub(super) nan: bool,
}

impl Row {
    pub(super) fn of(reader: &Reader<'_>, rule: Rule, domain: Domain, q: &[f64]) -> Row {
        let nodes = reader.nodes.len() + 1;
        let mut row = Row {
            scores: vec![0.0; nodes],
            terms: Vec::new(),
            interval: None,
            visible: Vec::new(),
            anchor: f64::NEG_INFINITY,
            exponent: 0,
            total: 0.0,
            weights: vec![0.0; nodes],
            bias: vec![f64::NEG_INFINITY; nodes],
            lse: f64::NEG_INFINITY,
            o: vec![0.0; reader.width],
            nan: false,
        };
        match domain {
            Domain::Empty if reader.mistake == Some(Mistake::EmptyRowAverages) && nodes > 1 => {
                let share = 1.0 / (nodes - 1) as f64;
                row.weights[1..].fill(share);
                row.visible = (1..nodes).collect();
                row.sum_values(reader);
                return row;
            }
            Domain::Empty => return row,
            Domain::Point(point) => row.see_point(point),
            Domain::Interval(interval) => row.see_interval(reader, rule, interval),
        }
        row.visible = match row.interval {
            None => (0..nodes).filter(|&i| row.weights[i] != 0.0).collect(),
            Some(_) => {
                let mut ends: Vec<usize> = row.terms.iter().flat_map(|t| [t.left, t.right]).collect();
                ends.sort_unstable();
                ends.dedup();
                ends
            }
        };
        row.nan = q.iter().any(|x| !x.is_finite())
            || row.visible.iter().any(|&i| reader.key(i).iter().any(|x| !x.is_finite()));
        if row.nan {
            row.o.fill(f64::NAN);
            row.weights.fill(f64::NAN);
            row.bias.fill(f64::NAN);
            row.lse = f64::NAN;
            return row;
        }
        if row.interval.is_some() {
            row.score(reader, q);
            row.weigh(reader, rule);
        } else if reader.mistake == Some(Mistake::ZeroOverZero) {
            row.o.fill(f64::NAN);
            return row;
        }
        row.sum_values(reader);
        row
    }

    fn see_point(&mut self, point: Point) {
        self.weights[point.left] += 1.0 - point.fraction;
        self.weights[point.right] += point.fraction;
    }

    fn see_interval(&mut self, reader: &Reader<'_>, rule: Rule, interval: Interval) {
        let term = |segment, left, right, duration, part| Term {
            segment,
            left,
            right,
            duration,
            part,
            shares: Shares::default(),
            anchor: 0.0,
            factor: 0.0,
        };
        for piece in interval.pieces(reader.nodes) {
            match piece {
                Piece::Hold(_) if reader.mistake == Some(Mistake::EndsNotHeld) => {}
                Piece::Hold(hold) => self.terms.push(term(0, hold.node, hold.node, hold.length, Part::WHOLE)),
                Piece::Segment { segment, .. }
                    if reader.mistake == Some(Mistake::DroppedCarry) && segment > 1 && segment % 64 == 1 => {}
                Piece::Segment { segment, left, right, duration, part } => {
                    let hidden_behind = rule == Rule::Step && segment > 1 && !reader.nodes.is_kept(segment - 1);
                    if reader.mistake == Some(Mistake::StepMaskBehind) && hidden_behind {
                        continue;
                    }
                    self.terms.push(term(segment, left, right, duration, part));
                }
            }
        }
        if reader.mistake == Some(Mistake::ScoreMask) {
            for i in interval.segments.clone().filter(|&i| i > 1 && reader.nodes.left_node(i).is_none()) {
                self.terms.push(term(i, i - 1, i, reader.nodes.duration(i), Part::WHOLE));
            }
        }
        self.interval = Some(interval);
    }

    fn score(&mut self, reader: &Reader<'_>, q: &[f64]) {
        for &node in &self.visible {
            let masked = node > 0 && !reader.nodes.is_kept(node);
            let dot: f64 = q.iter().zip(reader.key(node)).map(|(a, b)| a * b).sum();
            let score = reader.scale * dot;
            // An infinite sum of products may have lost its sign: of scores beyond f64 only finiteness is asked.
            let score = if score.is_nan() { 0.0 } else { score.clamp(-f64::MAX, f64::MAX) };
            self.scores[node] = if masked { -1e4 } else { score };
        }
    }

    fn weigh(&mut self, reader: &Reader<'_>, rule: Rule) {
        let scores = &self.scores;
        for term in &mut self.terms {
            let (a0, mut a1) = (scores[term.left], scores[term.right]);
            if reader.mistake == Some(Mistake::WrongNeighbour) && term.segment > 0 {
                a1 = scores[(term.right + 1).min(scores.len() - 1)];
            }
            if term.segment == 0 || rule == Rule::Step {
                (term.anchor, term.shares) = (a1, Shares { right: term.part.lambda, ..Shares::default() });
                continue;
            }
            let x = (a1 - a0).clamp(-f64::MAX, f64::MAX);
            let part = &term.part;
            let from = if part.alpha == 0.0 { a0 } else { a0 * part.one_minus_alpha + a1 * part.alpha };
            let to = if part.one_minus_beta == 0.0 { a1 } else { a0 * part.one_minus_beta + a1 * part.beta };
            term.anchor = from.max(to);
            term.shares = cut(rule, part, whole(rule, x * part.lambda, reader.mistake), reader.mistake);
        }
        let massive = |term: &&Term| term.duration > 0.0;
        let height = |term: &Term| term.anchor + libm::log(term.duration);
        let Some(highest) = self.terms.iter().filter(massive).max_by(|a, b| height(a).total_cmp(&height(b))) else {
            return;
        };
        (self.anchor, self.exponent) = (highest.anchor, libm::frexp(highest.duration).1);
        if reader.mistake == Some(Mistake::Sentinel) {
            self.anchor = self.anchor.max(-5e4);
        }
        let mut shares = vec![0.0; self.scores.len()];
        for term in &mut self.terms {
            let (mantissa, exponent) = libm::frexp(term.duration);
            let shift = (term.anchor - self.anchor) + f64::from(exponent - self.exponent) * std::f64::consts::LN_2;
            // Exponents of two that fit are applied exactly.
            term.factor = if (exponent - self.exponent).abs() < 900 {
                libm::ldexp(mantissa * libm::exp(term.anchor - self.anchor), exponent - self.exponent)
            } else {
                mantissa * libm::exp(shift)
            };
            shares[term.left] += term.factor * term.shares.left;
            shares[term.right] += term.factor * term.shares.right;
        }
        let short = reader.mistake == Some(Mistake::ShortSums);
        self.total = shares.iter().fold(0.0, |sum, &p| if short { f64::from((sum + p) as f32) } else { sum + p });
        let for_lse = if reader.mistake == Some(Mistake::StaleLse) {
            self.total - shares.iter().rev().find(|p| **p > 0.0).unwrap_or(&0.0)
        } else {
            self.total
        };
        let unit = f64::from(self.exponent) * std::f64::consts::LN_2;
        let maximum = if reader.mistake == Some(Mistake::LseWithoutMaximum) { 0.0 } else { self.anchor };
        self.lse = maximum + unit + libm::log(for_lse);
        for node in 0..shares.len() {
            self.weights[node] = shares[node] / self.total;
            if shares[node] > 0.0 {
                self.bias[node] = libm::log(shares[node]) + (self.anchor - self.scores[node]) + unit;
                if reader.mistake == Some(Mistake::BiasSign) {
                    self.bias[node] = -self.bias[node];
                }
            }
        }
    }

    fn sum_values(&mut self, reader: &Reader<'_>) {
        let short = reader.mistake == Some(Mistake::ShortSums);
        let all: Vec<usize> = if reader.mistake == Some(Mistake::HiddenTimesZero) {
            (0..self.weights.len()).collect()
        } else {
            self.visible.clone()
        };
        for node in all {
            let w = self.weights[node];
            for (o, &v) in self.o.iter_mut().zip(reader.value(node)) {
                let v = if v.is_finite() { v } else { f64::NAN };
                *o += w * v;
                if short {
                    *o = f64::from(*o as f32);
                }
            }
        }
    }
}
