//! Route "segments": equations (4), (5) and (8). Each segment's integrals in closed form, summed over segments.
//!
//! Nothing here calls the functions in [`phi`](crate::phi): the closed forms are evaluated as they stand, with as many more
//! bits as they cancel.
//!
//! Proofs: `eq8_numerator`, `eq8_denominator`, `eq2_denominator`, `eq4`, `eq5`, `eq8`.

mod closed;
mod taylor;

use crate::enclosure::Enclosure;
use crate::exact::{Place, Row, Sight, Term};
use crate::route::{Derivatives, Gift, Route, Sums, Want, gather, score_bits};
use closed::Closed;
use contattn_core::Rule;
use rug::Rational;

/// The route.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segments;

fn exact(p: u32, x: &Rational) -> Enclosure {
    Enclosure::from_rational(p, x)
}

impl Segments {
    /// e^{(score - anchor) sqrt m}
    fn relative(row: &Row<'_>, score: &Rational, anchor: &Rational, p: u32) -> Enclosure {
        (exact(p, &Rational::from(score - anchor)) * row.radicand().root(p)).exp()
    }

    /// int e^a v over a part, over e^{peak}, for a curve with these values at the nodes.
    fn integral(rule: Rule, term: &Term, closed: &Closed, left: &Enclosure, right: &Enclosure, p: u32) -> Enclosure {
        let length = exact(p, &term.length);
        if term.piece.is_constant() {
            return right * length;
        }
        let at = |u: &Rational| left * exact(p, &Rational::from(1 - u)) + right * exact(p, u);
        let (from, to) = (at(&term.piece.alpha), at(&term.piece.beta));
        length
            * match rule {
                Rule::Trapezoid => (&closed.from * from + &closed.to * to).shifted(-1),
                // (4)
                _ => &closed.phi1 * &to + &closed.phi2 * (from - &to),
            }
    }

    /// int e^a over a part, over e^{peak}.
    fn mass(rule: Rule, term: &Term, closed: &Closed, p: u32) -> Enclosure {
        let length = exact(p, &term.length);
        match rule {
            _ if term.piece.is_constant() => length,
            Rule::Trapezoid => length * (&closed.from + &closed.to).shifted(-1),
            _ => length * &closed.phi1, // (5)
        }
    }
}

impl Route for Segments {
    fn name(&self) -> &'static str {
        "segments"
    }

    fn integrals(&self, row: &Row<'_>, want: Want<'_>, precision: u32) -> Sums {
        let channels = want.channels;
        let p = precision + score_bits(row) + 32;
        let rule = row.exact().problem().rule();
        if let Rule::Taylor(order) = rule {
            return taylor::sums(order, row, channels, p);
        }
        let terms: Vec<Term> = row.terms().into_iter().filter(|term| term.length > 0).collect();
        let anchor = Row::anchor(&terms);
        let mut total = Enclosure::zero(p);
        let mut numerators = vec![Enclosure::zero(p); channels.len()];
        let mut gifts = Vec::new();
        for term in &terms {
            let closed = Closed::of(term, row.radicand(), p);
            let factor = Segments::relative(row, term.peak(), &anchor, p);
            total += &factor * Segments::mass(rule, term, &closed, p); // (8), denominator
            for (sum, &channel) in numerators.iter_mut().zip(channels) {
                let v = |node| Enclosure::from_f64(p.max(64), row.value_f64(node, channel));
                let (left, right) = (v(term.piece.left), v(term.piece.right));
                *sum += &factor * Segments::integral(rule, term, &closed, &left, &right, p); // (8), numerator
            }
            // The integral of a hat function: 1 at one node, 0 at the other.
            let piece = &term.piece;
            let (zero, one) = (Enclosure::zero(p), Enclosure::one(p));
            for (node, left, right) in [(piece.left, &one, &zero), (piece.right, &zero, &one)] {
                if piece.is_constant() && right.is_zero() {
                    continue;
                }
                if rule == Rule::Trapezoid && !piece.is_constant() {
                    // Both ends by themselves: one may be out of range beside the other.
                    for (u, score) in [(&piece.alpha, &term.from), (&piece.beta, &term.to)] {
                        let hat = left * exact(p, &Rational::from(1 - u)) + right * exact(p, u);
                        let mass = (exact(p, &term.length) * hat).shifted(-1);
                        gifts.push(Gift { node, exponent: score.clone(), mass });
                    }
                } else {
                    let mass = Segments::integral(rule, term, &closed, left, right, p);
                    gifts.push(Gift { node, exponent: term.peak().clone(), mass });
                }
            }
        }
        let nodes = gather(row, &gifts, &anchor, want.bias, p);
        Sums { anchor: exact(p, &anchor) * row.radicand().root(p), total, numerators, nodes }
    }

    fn derivatives(&self, row: &Row<'_>, field: &[Enclosure], precision: u32) -> Derivatives {
        let p = precision + score_bits(row) + 32;
        let rule = row.exact().problem().rule();
        if let Rule::Taylor(order) = rule {
            return taylor::derivatives(order, row, field, p);
        }
        let terms = row.terms();
        let anchor = Row::anchor(&terms);
        let mut scores = vec![Enclosure::zero(p); row.keys() + 1];
        let mut durations = vec![Enclosure::zero(p); row.keys()];
        for term in &terms {
            let closed = Closed::of(term, row.radicand(), p);
            let factor = Segments::relative(row, term.peak(), &anchor, p);
            let (left, right) = (&field[term.piece.left], &field[term.piece.right]);
            // d/da_j of int e^a F is int e^a F N_j with the hat function N_j.
            let scaled = &factor * exact(p, &term.length);
            if term.piece.is_constant() {
                scores[term.piece.right] += &scaled * right;
            } else {
                let [first, second] = closed.hats_times(rule, term, left, right, p);
                scores[term.piece.left] += &scaled * first;
                scores[term.piece.right] += &scaled * second;
            }
            // The whole share over D: that of a segment of duration 1.
            if let Some(segment) = term.piece.segment {
                let mut unit = term.clone();
                unit.length = term.piece.lambda();
                durations[segment - 1] += &factor * Segments::integral(rule, &unit, &closed, left, right, p);
            }
        }
        moving_edges(row, &terms, &anchor, field, &mut durations, p);
        Derivatives { scores, durations }
    }
}

/// The part of dL/dD that comes from the edges: the integrand at the edge times how fast the edge runs over the curve.
fn moving_edges(
    row: &Row<'_>,
    terms: &[Term],
    anchor: &Rational,
    field: &[Enclosure],
    durations: &mut [Enclosure],
    p: u32,
) {
    let Sight::Measure(seen) = row.sight() else { return };
    for (edge, upper) in [(seen.lower, false), (seen.upper, true)] {
        let (at, segment) = match edge.place {
            Place::Segment(i) => (terms.iter().position(|term| term.piece.segment == Some(i)), Some(i)),
            Place::Before(_) => (seen.hold_before.as_ref().map(|_| 0), None),
            Place::After(_) => (seen.hold_after.as_ref().map(|_| terms.len() - 1), None),
        };
        let under = at.and_then(|at| terms.get(at)).filter(|term| term.piece.segment == segment);
        let Some(term) = under else { continue };
        let fraction = if upper { &term.piece.beta } else { &term.piece.alpha };
        let other = if upper { &term.piece.alpha } else { &term.piece.beta };
        let (left, right) = (&field[term.piece.left], &field[term.piece.right]);
        let f = |u: &Rational| left * exact(p, &Rational::from(1 - u)) + right * exact(p, u);
        let e = |u: &Rational| {
            let a = if *u == term.piece.beta { &term.to } else { &term.from };
            Segments::relative(row, a, anchor, p)
        };
        let here = e(fraction) * f(fraction);
        let gain = if row.exact().problem().rule() == Rule::Trapezoid && !term.piece.is_constant() {
            // d/d(edge) of +- (edge - other)/2 (f(edge) + f(other)), f = e^a F, per unit of the segment.
            let apart = exact(p, &Rational::from(fraction - other));
            let rise = Rational::from(row.score_over_root(term.piece.right) - row.score_over_root(term.piece.left));
            let slope = &here * exact(p, &rise) * row.radicand().root(p) + e(fraction) * (right - left);
            (&here + e(other) * f(other) + apart * slope).shifted(-1)
        } else {
            here
        };
        let gain = if upper { gain } else { -gain };
        for (i, duration) in durations.iter_mut().enumerate() {
            let velocity = edge.velocity(i + 1, fraction);
            if velocity != 0 {
                *duration += &gain * exact(p, &velocity);
            }
        }
    }
}
