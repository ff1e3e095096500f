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
    /// by exponent, the coefficients to be added
    groups: BTreeMap<Surd, Vec<Surd>>,
}

impl ExpSum {
    /// The empty sum.
    pub fn new(radicand: Radicand) -> ExpSum {
        ExpSum { radicand, groups: BTreeMap::new() }
    }

    /// Adds gamma e^alpha.
    pub fn add(&mut self, alpha: &Surd, gamma: &Surd) {
        match self.groups.get_mut(alpha) {
            Some(gammas) => gammas.push(gamma.clone()),
            None => {
                self.groups.insert(alpha.clone(), vec![gamma.clone()]);
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
    fn nonzero(&self) -> Vec<(&Surd, Surd)> {
        let groups = self.groups.iter().map(|(alpha, gammas)| (alpha, total(gammas)));
        groups.filter(|(_, gamma)| !gamma.is_zero()).collect()
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

/// The sum by halves: denominators differ from term to term, and grow with the sum.
fn total(gammas: &[Surd]) -> Surd {
    match gammas {
        [] => Surd::default(),
        [gamma] => gamma.clone(),
        _ => {
            let (first, second) = gammas.split_at(gammas.len() / 2);
            &total(first) + &total(second)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands of unlike denominators in one group, which add up to 0, beside a group that does not.
    #[test]
    fn long_groups_cancel_exactly() {
        let number = |x: Rational| Surd::from_rational(x);
        let mut sum = ExpSum::new(Radicand::ONE);
        let (zero, one) = (Surd::default(), number(Rational::from(1)));
        for i in 1..3000u32 {
            // 1/(i (i + 1)), whose sum telescopes to 1 - 1/3000.
            sum.add(&one, &number(Rational::from((1, i * (i + 1)))));
        }
        sum.add(&one, &number(Rational::from((1, 3000)) - 1u32));
        assert_eq!(sum.sign(), (Ordering::Equal, 0));
        sum.add(&zero, &number(Rational::from((-1, 7))));
        assert_eq!(sum.sign(), (Ordering::Less, 0));
        // 1 - e^0.5 + 0.65 against its bits: 1.6487 is below 1.65.
        let mut near = ExpSum::new(Radicand::ONE);
        near.add(&zero, &number(Rational::from((33, 20))));
        near.add(&number(Rational::from((1, 2))), &number(Rational::from(-1)));
        assert_eq!(near.sign(), (Ordering::Greater, 64));
    }
}
