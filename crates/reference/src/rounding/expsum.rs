//! Sums of exponentials with coefficients and exponents in Q(sqrt m), whose sign can be decided.

use crate::enclosure::Enclosure;
use crate::exact::{Radicand, Surd};
use rug::Rational;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// sum of gamma_j e^{alpha_j}, collected by exponent.
#[derive(Clone, Debug)]
pub struct ExpSum {
    radicand: Radicand,
    groups: BTreeMap<Surd, Surd>,
}

impl ExpSum {
    /// The empty sum.
    pub fn new(radicand: Radicand) -> ExpSum {
        ExpSum { radicand, groups: BTreeMap::new() }
    }

    /// Adds gamma e^alpha.
    pub fn add(&mut self, alpha: &Surd, gamma: &Surd) {
        match self.groups.get_mut(alpha) {
            Some(sum) => *sum += gamma,
            None => {
                self.groups.insert(alpha.clone(), gamma.clone());
            }
        }
    }

    /// Adds factor times another sum's terms.
    pub fn add_scaled(&mut self, terms: &[(Surd, Surd)], factor: &Rational) {
        if factor.is_zero() {
            return;
        }
        for (alpha, gamma) in terms {
            self.add(alpha, &gamma.scaled(factor));
        }
    }

    /// The groups whose coefficient is not 0.
    fn nonzero(&self) -> Vec<(&Surd, &Surd)> {
        self.groups.iter().filter(|(_, gamma)| !gamma.is_zero()).collect()
    }

    /// The sign, and the precision at which it showed: 0 where no or one exponential was left.
    ///
    /// By Lindemann and Weierstrass the sum is 0 exactly where every gamma is 0 (distinct algebraic exponents make linearly
    /// independent exponentials over the algebraic numbers). Otherwise it is some distance away from 0, and enclosures of
    /// growing precision must show on which side.
    pub fn sign(&self) -> (Ordering, u32) {
        let groups = self.nonzero();
        match groups.as_slice() {
            [] => return (Ordering::Equal, 0),
            [(_, gamma)] => return (gamma.sign(self.radicand), 0),
            _ => {}
        }
        let larger = |a: &Surd, b: &Surd| (a - b).sign(self.radicand);
        let signs: Vec<Ordering> = groups.iter().map(|(_, gamma)| gamma.sign(self.radicand)).collect();
        if signs.iter().all(|sign| *sign == signs[0]) {
            return (signs[0], 0);
        }
        let top = groups.iter().map(|group| group.0).max_by(|a, b| larger(a, b)).unwrap_or(groups[0].0);
        let exponents: Vec<Surd> = groups.iter().map(|(alpha, _)| *alpha - top).collect();
        let mut precision = 64;
        loop {
            let mut sum = Enclosure::zero(precision);
            for ((_, gamma), exponent) in groups.iter().zip(&exponents) {
                let power = exponent.enclose(self.radicand, precision).exp();
                sum += gamma.enclose(self.radicand, precision) * power;
            }
            if let Some(sign) = sum.certain_sign() {
                return (sign, precision);
            }
            precision *= 2;
        }
    }
}
