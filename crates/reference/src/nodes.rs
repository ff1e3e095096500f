//! Route "nodes": equations (9) to (11). Each segment gives (L, R) to its nodes, and o is a softmax with bias.
//!
//! Proofs: `attention_nodes`, `eq11_window`, `eq11_visible`, `eq9`, `eq11`.

mod share;
mod taylor;

use crate::enclosure::Enclosure;
use crate::exact::{MovingEdge, Place, Row, Seen, Sight, Term};
use crate::route::{Derivatives, Gift, NodeSum, Route, Sums, Want, gather, score_bits};
use crate::taylor::Expansion;
use contattn_core::Rule;
use rug::Rational;
use share::Share;

/// The route. It holds the Taylor expansion of a problem's rule.
#[derive(Clone, Debug)]
pub struct Nodes {
    expansion: Expansion,
}

impl Nodes {
    /// For problems of this rule.
    pub fn new(rule: Rule) -> Nodes {
        let order = if let Rule::Taylor(order) = rule { order } else { 0 };
        Nodes { expansion: Expansion::new(order) }
    }
}

/// x sqrt m
fn times_root(x: &Rational, row: &Row<'_>, precision: u32) -> Enclosure {
    Enclosure::from_rational(precision, x) * row.radicand().root(precision)
}

/// e^{x sqrt m}
fn exp_root(x: &Rational, row: &Row<'_>, precision: u32) -> Enclosure {
    if x.is_zero() { Enclosure::one(precision) } else { times_root(x, row, precision).exp() }
}

impl Route for Nodes {
    fn name(&self) -> &'static str {
        "nodes"
    }

    fn integrals(&self, row: &Row<'_>, want: Want<'_>, precision: u32) -> Sums {
        let channels = want.channels;
        let p = precision + score_bits(row) + 32;
        let rule = row.exact().problem().rule();
        if let Rule::Taylor(_) = rule {
            return taylor::sums(&self.expansion, row, channels, p);
        }
        let terms = row.terms();
        let anchor = Row::anchor(&terms);
        let positive = terms.iter().filter(|term| term.length > 0);
        let gifts: Vec<Gift> = positive.flat_map(|term| Share::gifts(rule, term, row.radicand(), p)).collect();
        let nodes = gather(row, &gifts, &anchor, want.bias, p);
        weighted(row, channels, times_root(&anchor, row, p), nodes, p)
    }

    fn derivatives(&self, row: &Row<'_>, field: &[Enclosure], precision: u32) -> Derivatives {
        let p = precision + score_bits(row) + 32;
        let rule = row.exact().problem().rule();
        if let Rule::Taylor(_) = rule {
            return taylor::derivatives(&self.expansion, row, field, p);
        }
        let terms = row.terms();
        let anchor = Row::anchor(&terms);
        let mut scores = vec![Enclosure::zero(p); row.keys() + 1];
        let mut durations = vec![Enclosure::zero(p); row.keys()];
        for term in &terms {
            let factor = exp_root(&Rational::from(term.peak() - &anchor), row, p);
            let (c0, c1) = (&field[term.piece.left], &field[term.piece.right]);
            // Shares of a unit of duration, so that D = 0 is like any other.
            let unit = Share::of_unit(rule, term, row.radicand(), p);
            let duration = Enclosure::from_rational(p, &term.piece.duration);
            let flow = unit.diffusion(rule, term, p) * (c1 - c0);
            let (left, right) = (&unit.left * c0, &unit.right * c1);
            scores[term.piece.left] += &factor * &duration * (&left + &flow);
            scores[term.piece.right] += &factor * &duration * (&right - &flow);
            if let Some(segment) = term.piece.segment {
                durations[segment - 1] += &factor * (left + right);
            }
        }
        add_moving_edges(row, &terms, &anchor, field, &mut durations, p);
        Derivatives { scores, durations }
    }
}

/// Z = sum P, N = sum P v.
fn weighted(row: &Row<'_>, channels: &[usize], anchor: Enclosure, nodes: Vec<Option<NodeSum>>, p: u32) -> Sums {
    let present = || nodes.iter().enumerate().filter_map(|(node, sum)| sum.as_ref().map(|sum| (node, &sum.mass)));
    let total = present().fold(Enclosure::zero(p), |sum, (_, mass)| sum + mass);
    let mut numerators = vec![Enclosure::zero(p); channels.len()];
    for (node, mass) in present() {
        for (sum, &channel) in numerators.iter_mut().zip(channels) {
            sum.add_product(mass, row.value_f64(node, channel));
        }
    }
    Sums { anchor, total, numerators, nodes }
}

/// Adds J d(edge)/dD_i for both edges; see docs/operator.md.
fn add_moving_edges(
    row: &Row<'_>,
    terms: &[Term],
    anchor: &Rational,
    field: &[Enclosure],
    durations: &mut [Enclosure],
    p: u32,
) {
    let Sight::Measure(seen) = row.sight() else { return };
    let rule = row.exact().problem().rule();
    for (edge, is_upper) in [(&seen.lower, false), (&seen.upper, true)] {
        let Some(term) = term_under(seen, edge, terms) else { continue };
        let fraction = if is_upper { &term.piece.beta } else { &term.piece.alpha };
        let gain = share::edge_gain(rule, term, is_upper, field, row.radicand(), p)
            * exp_root(&Rational::from(term.peak() - anchor), row, p);
        for i in 1..=durations.len() {
            let velocity = edge.velocity(i, fraction);
            if !velocity.is_zero() {
                durations[i - 1] += &gain * Enclosure::from_rational(p, &velocity);
            }
        }
    }
}

/// The term that an edge cuts; none where masks removed the curve under it, or nothing is held there.
fn term_under<'t>(seen: &Seen, edge: &MovingEdge, terms: &'t [Term]) -> Option<&'t Term> {
    match edge.place {
        Place::Segment(i) => terms.iter().find(|term| term.piece.segment == Some(i)),
        Place::Before(_) => seen.hold_before.as_ref().and(terms.first()),
        Place::After(_) => seen.hold_after.as_ref().and(terms.last()),
    }
}
