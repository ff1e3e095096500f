//! Route "quadrature": equation (2) itself. The curve is integrated numerically, piece by piece, with a proven bound of the
//! error; no closed form, no phi.

mod legendre;
mod panels;
mod taylor;

use crate::enclosure::Enclosure;
use crate::exact::{Place, Row, Sight, Term};
use crate::route::{Derivatives, Gift, Route, Sums, Want, gather, score_bits};
use contattn_core::Rule;
use legendre::Legendre;
use panels::{Panels, REACH};
use rug::Rational;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

pub use legendre::Legendre as GaussLegendre;

/// The route. It keeps the points of the precisions it met.
#[derive(Debug, Default)]
pub struct Quadrature {
    rules: Mutex<BTreeMap<u32, Arc<Legendre>>>,
}

impl Quadrature {
    fn rule(&self, bits: u32) -> Arc<Legendre> {
        let mut rules = self.rules.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        rules.entry(bits).or_insert_with(|| Arc::new(Legendre::new(REACH, bits))).clone()
    }

    /// Bits of the quadrature: a node's share of a steep segment is smaller than the whole by the square of the rise.
    fn bits(row: &Row<'_>, p: u32) -> u32 {
        p + 3 * score_bits(row).min(100)
    }
}

fn exact(p: u32, x: &Rational) -> Enclosure {
    Enclosure::from_rational(p, x)
}

/// A term as its rule reads it: the points of its integrand.
struct Reading<'t> {
    term: &'t Term,
    rule: Rule,
    panels: Panels,
    /// e^{from - peak}, e^{to - peak}, where the rule joins the ends' products by a line
    ends: Option<(Enclosure, Enclosure)>,
    p: u32,
}

impl<'t> Reading<'t> {
    fn new(route: &Quadrature, row: &Row<'_>, term: &'t Term, bits: u32, p: u32) -> Reading<'t> {
        let rule = row.exact().problem().rule();
        let legendre = route.rule(bits);
        let at = |a: &Rational| (exact(p, &Rational::from(a - term.peak())) * row.radicand().root(p)).exp();
        let constant = term.piece.is_constant();
        let line = rule == Rule::Trapezoid && !constant;
        let panels = if line || constant {
            Panels::flat(&legendre, p)
        } else {
            Panels::of(&legendre, term, row.radicand(), bits, p)
        };
        let ends = line.then(|| (at(&term.from), at(&term.to)));
        Reading { term, rule, panels, ends, p }
    }

    /// Values at both ends of the part of the linear function with these values at the nodes.
    fn along(&self, left: &Enclosure, right: &Enclosure) -> (Enclosure, Enclosure) {
        if self.term.piece.is_constant() {
            return (right.clone(), right.clone());
        }
        let at = |u: &Rational| left + (right - left) * exact(self.p, u);
        (at(&self.term.piece.alpha), at(&self.term.piece.beta))
    }

    /// int_0^1 e^{a - peak} F G ds over the part.
    fn product(&self, f: (Enclosure, Enclosure), g: (Enclosure, Enclosure)) -> Enclosure {
        match &self.ends {
            // The trapezoidal rule is the integral of the line through the ends' products.
            Some((from, to)) => {
                let (from, to) = (from * f.0 * g.0, to * f.1 * g.1);
                let one = Enclosure::one(self.p);
                self.panels.integral((&from, &to), (&one, &one))
            }
            None => self.panels.integral((&f.0, &f.1), (&g.0, &g.1)),
        }
    }

    fn single(&self, f: (Enclosure, Enclosure)) -> Enclosure {
        let one = Enclosure::one(self.p);
        self.product(f, (one.clone(), one))
    }

    /// Hat functions of the left and the right node; the left one is absent where one node is all there is.
    fn hats(&self) -> [Option<(Enclosure, Enclosure)>; 2] {
        let (zero, one) = (Enclosure::zero(self.p), Enclosure::one(self.p));
        if self.term.piece.is_constant() {
            return [None, Some((one.clone(), one))];
        }
        [Some(self.along(&one, &zero)), Some(self.along(&zero, &one))]
    }

    /// d/d(edge) of the integral of e^{a - peak} F, per unit of the segment.
    fn edge_gain(&self, row: &Row<'_>, is_upper: bool, left: &Enclosure, right: &Enclosure) -> Enclosure {
        let p = self.p;
        let f = self.along(left, right);
        let Some((from, to)) = &self.ends else {
            // What a short panel at the edge would add, per length: the integrand there.
            let a = if is_upper { &self.term.to } else { &self.term.from };
            let height = (exact(p, &Rational::from(a - self.term.peak())) * row.radicand().root(p)).exp();
            return if is_upper { height * f.1 } else { -(height * f.0) };
        };
        debug_assert_eq!(self.rule, Rule::Trapezoid);
        // lambda int line: the length changes by +-1, and the line turns about its other end.
        let lambda = exact(p, &self.term.piece.lambda());
        let piece = &self.term.piece;
        let rise = Rational::from(row.score_over_root(piece.right) - row.score_over_root(piece.left));
        let rise = exact(p, &rise) * row.radicand().root(p);
        let one = (Enclosure::one(p), Enclosure::one(p));
        let line = (from * &f.0, to * &f.1);
        let length = self.panels.integral((&line.0, &line.1), (&one.0, &one.1));
        let (end, value) = if is_upper { (to, &f.1) } else { (from, &f.0) };
        let slope = end * (rise * value + (right - left));
        let zero = Enclosure::zero(p);
        let turn = if is_upper { (zero, slope) } else { (slope, zero) };
        let turned = lambda * self.panels.integral((&turn.0, &turn.1), (&one.0, &one.1));
        if is_upper { turned + length } else { turned - length }
    }
}

impl Route for Quadrature {
    fn name(&self) -> &'static str {
        "quadrature"
    }

    fn integrals(&self, row: &Row<'_>, want: Want<'_>, precision: u32) -> Sums {
        let channels = want.channels;
        let p = precision + 4 * score_bits(row) + 64;
        if let Rule::Taylor(order) = row.exact().problem().rule() {
            return taylor::sums(order, row, channels, p);
        }
        let bits = Quadrature::bits(row, precision + 32);
        let terms = row.terms();
        let anchor = Row::anchor(&terms);
        let root = row.radicand().root(p);
        let relative = |a: &Rational, b: &Rational| (exact(p, &Rational::from(a - b)) * &root).exp();
        let mut total = Enclosure::zero(p);
        let mut numerators = vec![Enclosure::zero(p); channels.len()];
        let mut gifts = Vec::new();
        for term in terms.iter().filter(|term| term.length > 0) {
            let reading = Reading::new(self, row, term, bits, p);
            let length = exact(p, &term.length);
            let factor = &length * relative(term.peak(), &anchor);
            total += &factor * reading.single((Enclosure::one(p), Enclosure::one(p)));
            for (sum, &channel) in numerators.iter_mut().zip(channels) {
                let v = |node| Enclosure::from_f64(p, row.value_f64(node, channel));
                let curve = reading.along(&v(term.piece.left), &v(term.piece.right));
                *sum += &factor * reading.single(curve);
            }
            for (node, hat) in [term.piece.left, term.piece.right].into_iter().zip(reading.hats()) {
                let Some(hat) = hat else { continue };
                if reading.ends.is_none() {
                    gifts.push(Gift { node, exponent: term.peak().clone(), mass: &length * reading.single(hat) });
                    continue;
                }
                // A line is the sum of two that are 0 at one end, each in its own units.
                let (zero, one) = (Enclosure::zero(p), Enclosure::one(p));
                for (score, line) in [(&term.from, (hat.0, zero.clone())), (&term.to, (zero.clone(), hat.1))] {
                    let mass = &length * reading.panels.integral((&line.0, &line.1), (&one, &one));
                    gifts.push(Gift { node, exponent: score.clone(), mass });
                }
            }
        }
        let nodes = gather(row, &gifts, &anchor, want.bias, p);
        Sums { anchor: exact(p, &anchor) * &root, total, numerators, nodes }
    }

    fn derivatives(&self, row: &Row<'_>, field: &[Enclosure], precision: u32) -> Derivatives {
        let p = precision + 4 * score_bits(row) + 64;
        if let Rule::Taylor(order) = row.exact().problem().rule() {
            return taylor::derivatives(order, row, field, p);
        }
        let bits = Quadrature::bits(row, precision + 32);
        let terms = row.terms();
        let anchor = Row::anchor(&terms);
        let root = row.radicand().root(p);
        let mut scores = vec![Enclosure::zero(p); row.keys() + 1];
        let mut durations = vec![Enclosure::zero(p); row.keys()];
        for term in &terms {
            let reading = Reading::new(self, row, term, bits, p);
            let factor = (exact(p, &Rational::from(term.peak() - &anchor)) * &root).exp();
            let (left, right) = (&field[term.piece.left], &field[term.piece.right]);
            let curve = reading.along(left, right);
            let scaled = &factor * exact(p, &term.length);
            for (node, hat) in [term.piece.left, term.piece.right].into_iter().zip(reading.hats()) {
                if let Some(hat) = hat {
                    scores[node] += &scaled * reading.product(hat, curve.clone());
                }
            }
            if let Some(segment) = term.piece.segment {
                durations[segment - 1] += &factor * exact(p, &term.piece.lambda()) * reading.single(curve);
            }
            let Sight::Measure(seen) = row.sight() else { continue };
            for (edge, is_upper) in [(&seen.lower, false), (&seen.upper, true)] {
                let first = std::ptr::eq(term, &terms[0]);
                let last = std::ptr::eq(term, &terms[terms.len() - 1]);
                let here = match edge.place {
                    Place::Segment(i) => term.piece.segment == Some(i),
                    Place::Before(_) => seen.hold_before.is_some() && first,
                    Place::After(_) => seen.hold_after.is_some() && last,
                };
                if !here {
                    continue;
                }
                let fraction = if is_upper { &term.piece.beta } else { &term.piece.alpha };
                let gain = &factor * reading.edge_gain(row, is_upper, left, right);
                for (i, duration) in durations.iter_mut().enumerate() {
                    *duration += &gain * exact(p, &edge.velocity(i + 1, fraction));
                }
            }
        }
        Derivatives { scores, durations }
    }
}
