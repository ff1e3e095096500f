//! What each node gets as an exact sum of exponentials, and results compared with rational numbers through it.
//!
//! Proofs: `value_zero`, `zerob_correct`, `eqb_correct`, `value_algebraic`, `group_total`, `group_distinct`,
//! `zero_iff_groups_vanish`, `is_zero_correct`, `drop_zero_groups`, `re_anchor`, `decision_ends`, `sign_shown`,
//! `output_against`, `lse_against`, `bias_against`, `linear_shares_in_field`, `step_trapezoid_shares_in_field`, `row_in_field`,
//! `less_power_in_field`.

use super::ExpSum;
use crate::exact::{Row, Surd, Term};
use crate::taylor::Expansion;
use contattn_core::Rule;
use rug::Rational;
use std::cmp::Ordering;

/// The terms gamma e^alpha that make up each P_j.
#[derive(Clone, Debug)]
pub struct NodeTerms<'r> {
    row: &'r Row<'r>,
    /// by node
    terms: Vec<Vec<(Surd, Surd)>>,
}

impl<'r> NodeTerms<'r> {
    /// Of a row of positive measure.
    pub fn new(row: &'r Row<'r>) -> NodeTerms<'r> {
        let mut terms = vec![Vec::new(); row.keys() + 1];
        match row.exact().problem().rule() {
            Rule::Taylor(order) => taylor_terms(row, order, &mut terms),
            rule => {
                for term in row.terms().iter().filter(|term| term.length > 0) {
                    part_terms(row, rule, term, &mut terms);
                }
            }
        }
        NodeTerms { row, terms }
    }

    fn sum(&self) -> ExpSum {
        ExpSum::new(self.row.radicand())
    }

    /// Whether P_j = 0: nothing of the node is visible for any time.
    pub fn is_zero(&self, node: usize) -> bool {
        self.terms[node].is_empty()
    }

    /// o in one channel against c: the sign of N - cZ = sum P_j (v_j - c), for Z > 0.
    pub fn compare_output(&self, channel: usize, c: &Rational) -> (Ordering, u32) {
        let mut sum = self.sum();
        for (node, terms) in self.terms.iter().enumerate().filter(|(_, terms)| !terms.is_empty()) {
            sum.add_scaled(terms, &(self.row.value(node, channel) - c));
        }
        sum.sign()
    }

    /// lse against c: the sign of Z - e^c.
    pub fn compare_lse(&self, c: &Rational) -> (Ordering, u32) {
        let mut sum = self.sum();
        for terms in &self.terms {
            sum.add_scaled(terms, &Rational::from(1));
        }
        sum.add(&Surd::from_rational(c.clone()), &Surd::from_rational(Rational::from(-1)));
        sum.sign()
    }

    /// w_j against c: the sign of P_j - cZ.
    pub fn compare_weight(&self, node: usize, c: &Rational) -> (Ordering, u32) {
        let mut sum = self.sum();
        for (other, terms) in self.terms.iter().enumerate() {
            let own = Rational::from(u32::from(other == node));
            sum.add_scaled(terms, &(own - c));
        }
        sum.sign()
    }

    /// b_j against c: the sign of P_j - e^{a_j + c}.
    pub fn compare_bias(&self, node: usize, c: &Rational) -> (Ordering, u32) {
        let mut sum = self.sum();
        sum.add_scaled(&self.terms[node], &Rational::from(1));
        let exponent = &self.row.score(node) + &Surd::from_rational(c.clone());
        sum.add(&exponent, &Surd::from_rational(Rational::from(-1)));
        sum.sign()
    }
}

/// With y = to - from, y^2 rational:
///
/// ```text
/// Linear     L' = len/y^2 (e^to - (1 + y) e^from)    R' = len/y^2 (e^from - (1 - y) e^to)     len/2 e^from each for y = 0
/// Trapezoid  L' = len/2 e^from                       R' = len/2 e^to
/// ```
fn part_terms(row: &Row<'_>, rule: Rule, term: &Term, nodes: &mut [Vec<(Surd, Surd)>]) {
    let m = row.radicand();
    let surd = |x: &Rational| Surd::from_root(x.clone(), m);
    let number = |x: Rational| Surd::from_rational(x);
    let (from, to) = (surd(&term.from), surd(&term.to));
    let piece = &term.piece;
    if piece.is_constant() {
        nodes[piece.right].push((from, number(term.length.clone())));
        return;
    }
    let half = || Rational::from(&term.length / 2u32);
    let rise = Rational::from(&term.to - &term.from);
    // Coefficients of e^from and e^to in L' and R'.
    let (left, right) = if rule == Rule::Trapezoid {
        ([number(half()), Surd::default()], [Surd::default(), number(half())])
    } else if rise.is_zero() {
        ([number(half()), Surd::default()], [number(half()), Surd::default()])
    } else {
        let scale = &term.length / (Rational::from(rise.square_ref()) * m.value());
        let y = surd(&rise).scaled(&scale);
        let one = number(scale);
        ([-(&one + &y), one.clone()], [one.clone(), &y - &one])
    };
    let (alpha, beta) = (&piece.alpha, &piece.beta);
    let give =
        [(piece.left, Rational::from(1 - alpha), Rational::from(1 - beta)), (piece.right, alpha.clone(), beta.clone())];
    for (node, of_left, of_right) in give {
        for (at, exponent) in [&from, &to].into_iter().enumerate() {
            let gamma = &left[at].scaled(&of_left) + &right[at].scaled(&of_right);
            if !gamma.is_zero() {
                nodes[node].push((exponent.clone(), gamma));
            }
        }
    }
}

fn taylor_terms(row: &Row<'_>, order: u32, nodes: &mut [Vec<(Surd, Surd)>]) {
    let m = row.radicand();
    let expansion = Expansion::new(order);
    let one = Rational::from(1);
    for neighbours in row.neighbours() {
        let distance = |x: &Option<(usize, Rational)>| x.as_ref().map(|(_, x)| Surd::from_root(x.clone(), m));
        let (bias, factor) = match (distance(&neighbours.left), distance(&neighbours.right)) {
            (Some(u), Some(w)) => (expansion.interior.exact(&u, &w, m), one.clone()),
            (Some(u), None) | (None, Some(u)) => (expansion.end.exact(&u, m), Rational::from((1, 2))),
            (None, None) => (Surd::default(), one.clone()),
        };
        let exponent = &row.score(neighbours.node) + &bias;
        nodes[neighbours.node].push((exponent, Surd::from_rational(factor)));
    }
}
