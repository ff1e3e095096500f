//! What a part of a segment gives to its nodes, in units of its larger end's exponential.

use crate::enclosure::Enclosure;
use crate::exact::{Radicand, Term};
use crate::phi::{moment, phi2, psi};
use crate::route::Gift;
use contattn_core::Rule;
use rug::Rational;

/// (L, R) of a part, over e^{peak}.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pub(super) left: Enclosure,
    pub(super) right: Enclosure,
    /// L' and R', of the part by itself
    first: Enclosure,
    second: Enclosure,
    /// -|y|
    down: Enclosure,
}

impl Share {
    /// What the part gives to each node. Under the trapezoid each end is in its own units, so that neither vanishes beside the
    /// other.
    pub(super) fn gifts(rule: Rule, term: &Term, radicand: Radicand, p: u32) -> Vec<Gift> {
        let piece = &term.piece;
        let exact = |x: &Rational| Enclosure::from_rational(p, x);
        if rule == Rule::Trapezoid && !piece.is_constant() {
            let half = exact(&term.length).shifted(-1);
            let end = |node, exponent: &Rational, of: &Rational| {
                let hat = if node == piece.left { Rational::from(1 - of) } else { of.clone() };
                Gift { node, exponent: exponent.clone(), mass: &half * exact(&hat) }
            };
            let (from, to) = ((&term.from, &piece.alpha), (&term.to, &piece.beta));
            let at = |node| [end(node, from.0, from.1), end(node, to.0, to.1)];
            return at(piece.left).into_iter().chain(at(piece.right)).collect();
        }
        let unit = Share::of_unit(rule, term, radicand, p);
        let duration = exact(&piece.duration);
        let gift = |node, share: Enclosure| Gift { node, exponent: term.peak().clone(), mass: share * &duration };
        vec![gift(piece.left, unit.left), gift(piece.right, unit.right)]
    }

    /// With D = 1, lambda as it is.
    ///
    /// With y the rise of the score over the part and L', R', h' of duration lambda, in units of the larger end:
    ///
    /// ```text
    /// y <= 0: L' = phi2(y), R' = moment(y)        y > 0: L' = moment(-y), R' = phi2(-y)        h' = psi(-|y|)
    /// L = L'(1-alpha) + R'(1-beta)    R = L' alpha + R' beta    h = alpha(1-alpha)L' + beta(1-beta)R' + lambda^2 h'
    /// ```
    pub(super) fn of_unit(rule: Rule, term: &Term, radicand: Radicand, p: u32) -> Share {
        let lambda = Enclosure::from_rational(p, &term.piece.lambda());
        let zero = Enclosure::zero(p);
        if term.piece.is_constant() {
            return Share { left: zero.clone(), right: lambda, first: zero.clone(), second: zero.clone(), down: zero };
        }
        let rise = Rational::from(&term.to - &term.from);
        let falls = rise <= 0;
        let down = -(Enclosure::from_rational(p, &rise.abs()) * radicand.root(p));
        let (larger, smaller) = match rule {
            Rule::Trapezoid => {
                let half = Enclosure::one(p).shifted(-1);
                (half.clone(), half * down.exp())
            }
            _ => (phi2(&down), moment(&down)),
        };
        let (first, second) = if falls { (larger, smaller) } else { (smaller, larger) };
        let (first, second) = (first * &lambda, second * &lambda);
        let (alpha, beta) = (&term.piece.alpha, &term.piece.beta);
        if term.piece.is_whole() {
            return Share { left: first.clone(), right: second.clone(), first, second, down };
        }
        let exact = |x: Rational| Enclosure::from_rational(p, &x);
        Share {
            left: &first * exact(Rational::from(1 - alpha)) + &second * exact(Rational::from(1 - beta)),
            right: &first * exact(alpha.clone()) + &second * exact(beta.clone()),
            first,
            second,
            down,
        }
    }

    /// h, with D = 1.
    pub(super) fn diffusion(&self, rule: Rule, term: &Term, p: u32) -> Enclosure {
        if term.piece.is_constant() {
            return Enclosure::zero(p);
        }
        let exact = |x: Rational| Enclosure::from_rational(p, &x);
        let (alpha, beta) = (&term.piece.alpha, &term.piece.beta);
        let ends = &self.first * exact(Rational::from(1 - alpha) * alpha)
            + &self.second * exact(Rational::from(1 - beta) * beta);
        if rule == Rule::Trapezoid {
            return ends; // h' = 0
        }
        let lambda = term.piece.lambda();
        ends + psi(&self.down) * exact(Rational::from(lambda.square_ref()) * lambda)
    }
}

/// What int e^a F gains, over e^{peak}, when an edge moves later by one unit of time.
///
/// Linear, Step and held curve: +- e^a F at the edge. The trapezoid of a part is (lambda D/2)(f(alpha) + f(beta)) with
/// f = e^a F, which is not additive in its parts, and f' = e^a (x F + F_1 - F_0):
///
/// ```text
/// d/d(beta D) = (f(alpha) + f(beta))/2 + (lambda/2) f'(beta)    d/d(alpha D) = -(f(alpha) + f(beta))/2 + (lambda/2) f'(alpha)
/// ```
pub(super) fn edge_gain(
    rule: Rule,
    term: &Term,
    is_upper: bool,
    field: &[Enclosure],
    radicand: Radicand,
    p: u32,
) -> Enclosure {
    let (c0, c1) = (&field[term.piece.left], &field[term.piece.right]);
    let exp = |a: &Rational| (Enclosure::from_rational(p, &Rational::from(a - term.peak())) * radicand.root(p)).exp();
    let along = |u: &Rational| c0 + (c1 - c0) * Enclosure::from_rational(p, u);
    let begin = (exp(&term.from), along(&term.piece.alpha));
    let end = (exp(&term.to), along(&term.piece.beta));
    let sign = |x: Enclosure| if is_upper { x } else { -x };
    let (height, value) = if is_upper { &end } else { &begin };
    if rule != Rule::Trapezoid || term.piece.is_constant() {
        return sign(height * value);
    }
    let lambda = term.piece.lambda();
    let rise = Enclosure::from_rational(p, &(Rational::from(&term.to - &term.from) / &lambda)) * radicand.root(p);
    let slope = height * (rise * value + (c1 - c0));
    let mean = (&begin.0 * &begin.1 + &end.0 * &end.1).shifted(-1);
    sign(mean) + slope * Enclosure::from_rational(p, &lambda).shifted(-1)
}
