//! The closed forms of a part's integrals, and how many bits they cancel.

use super::exact;
use crate::enclosure::Enclosure;
use crate::exact::{Radicand, Term};
use contattn_core::Rule;
use rug::Rational;

/// Integrals over a part s in [0, 1], over e^{peak}, with e^{a} going from e^{from} to e^{to}, y = to - from.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    /// e^{from - peak}
    pub(super) from: Enclosure,
    /// e^{to - peak}
    pub(super) to: Enclosure,
    /// int e^a = (e^to - e^from)/y, (5)
    pub(super) phi1: Enclosure,
    /// int e^a (1-s) = (phi1 - e^from)/y, (4)
    pub(super) phi2: Enclosure,
    /// int e^a s^2 = (e^to - 2 int e^a s)/y
    second: Enclosure,
}

/// About log2 |x|, from either side by at most 1.
fn magnitude(x: &Rational) -> i64 {
    i64::from(x.numer().significant_bits()) - i64::from(x.denom().significant_bits())
}

impl Closed {
    /// For small y, each division by y of a difference of nearly equal numbers loses -log2 |y| bits, three times in a row.
    /// For large y, differences of these integrals (the moments of the hat functions) lose log2 |y| bits, twice.
    ///
    /// Proofs: `eq4_segment`, `eq5_segment`, `linear_integral`, `linear_mass`, `linear_mass_logarithmic_mean`,
    /// `linear_coupling`.
    pub(super) fn of(term: &Term, radicand: Radicand, p: u32) -> Closed {
        let rise = Rational::from(&term.to - &term.from);
        if rise.is_zero() {
            let one = Enclosure::one(p);
            let third = &one / Enclosure::from_u32(p, 3);
            return Closed {
                from: one.clone(),
                to: one.clone(),
                phi1: one.clone(),
                phi2: one.shifted(-1),
                second: third,
            };
        }
        let size = magnitude(&rise);
        let lost = if size < 2 { 3 * (2 - size) } else { 2 * size.min(256) + 64 };
        let p = p + 32 + u32::try_from(lost).unwrap_or(0);
        let root = radicand.root(p);
        let at = |a: &Rational| (exact(p, &Rational::from(a - term.peak())) * &root).exp();
        let (from, to) = (at(&term.from), at(&term.to));
        let y = exact(p, &rise) * &root;
        let phi1 = (&to - &from) / &y;
        let phi2 = (&phi1 - &from) / &y;
        let first = &phi1 - &phi2;
        let second = (&to - first.shifted(1)) / &y;
        Closed { from, to, phi1, phi2, second }
    }

    /// The integrals of e^a F N over the part per unit of its length, for the hat functions N of its two nodes and F with
    /// the given values there. Products of linear functions of s: with n = n0 + n1 s and f = f0 + f1 s,
    /// int e^a n f = n0 f0 int e^a + (n0 f1 + n1 f0) int e^a s + n1 f1 int e^a s^2.
    pub(super) fn hats_times(
        &self,
        rule: Rule,
        term: &Term,
        left: &Enclosure,
        right: &Enclosure,
        p: u32,
    ) -> [Enclosure; 2] {
        let (alpha, beta) = (&term.piece.alpha, &term.piece.beta);
        let at = |u: &Rational| left * exact(p, &Rational::from(1 - u)) + right * exact(p, u);
        let (f_from, f_to) = (at(alpha), at(beta));
        let hats = [
            (Rational::from(1 - alpha), Rational::from(1 - beta)), // 1 at the left node
            (alpha.clone(), beta.clone()),                         // 1 at the right node
        ];
        hats.map(|(n_from, n_to)| {
            if rule == Rule::Trapezoid {
                let ends = &self.from * exact(p, &n_from) * &f_from + &self.to * exact(p, &n_to) * &f_to;
                return ends.shifted(-1);
            }
            let first = &self.phi1 - &self.phi2;
            let (n0, n1) = (exact(p, &n_from), exact(p, &Rational::from(&n_to - &n_from)));
            let (f0, f1) = (&f_from, &f_to - &f_from);
            &n0 * f0 * &self.phi1 + (&n0 * &f1 + &n1 * f0) * first + n1 * f1 * &self.second
        })
    }
}
