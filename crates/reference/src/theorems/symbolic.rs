//! Identities over the rationals: Laurent polynomials with a normal form.

use rug::Rational;
use std::collections::BTreeMap;
use std::ops::{Add, Mul};

/// A sum of rational multiples of monomials in named indeterminates, exponents of either sign. Two of them are the same
/// element of the ring exactly where their difference has no term left, since monomials are a basis.
///
/// The functions of a segment are of this kind: with an indeterminate x and another one e for e^x, phi1 = (e - 1)/x,
/// phi2 = (e - 1 - x)/x^2, and e^{-x} = 1/e. As x and e^x are algebraically independent as functions, an identity between
/// such functions is one between elements of the ring.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Laurent(BTreeMap<Monomial, Rational>);

/// Exponents that are not 0, by name and number.
type Monomial = BTreeMap<(&'static str, usize), i32>;

impl Laurent {
    pub(super) fn constant(value: impl Into<Rational>) -> Laurent {
        Laurent(BTreeMap::from([(Monomial::new(), value.into())])).reduced()
    }

    /// name_number to a power.
    pub(super) fn power(name: &'static str, number: usize, exponent: i32) -> Laurent {
        let monomial = if exponent == 0 { Monomial::new() } else { Monomial::from([((name, number), exponent)]) };
        Laurent(BTreeMap::from([(monomial, Rational::from(1))]))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn minus(&self, other: &Laurent) -> Laurent {
        self + &(&Laurent::constant(-1) * other)
    }

    /// Terms in which the exponents of these names add up to `degree`.
    pub(super) fn part(&self, names: &[&str], degree: i32) -> Laurent {
        let total = |m: &Monomial| m.iter().filter(|((name, _), _)| names.contains(name)).map(|(_, e)| e).sum::<i32>();
        Laurent(self.0.iter().filter(|(m, _)| total(m) == degree).map(|(m, c)| (m.clone(), c.clone())).collect())
    }

    fn reduced(mut self) -> Laurent {
        self.0.retain(|_, c| !c.is_zero());
        self
    }
}

impl Add<&Laurent> for &Laurent {
    type Output = Laurent;
    fn add(self, other: &Laurent) -> Laurent {
        let mut sum = self.clone();
        for (monomial, c) in &other.0 {
            *sum.0.entry(monomial.clone()).or_default() += c;
        }
        sum.reduced()
    }
}

impl Mul<&Laurent> for &Laurent {
    type Output = Laurent;
    fn mul(self, other: &Laurent) -> Laurent {
        let mut product = Laurent::default();
        for (a, x) in &self.0 {
            for (b, y) in &other.0 {
                let mut monomial = a.clone();
                for (name, exponent) in b {
                    *monomial.entry(*name).or_default() += exponent;
                }
                monomial.retain(|_, exponent| *exponent != 0);
                *product.0.entry(monomial).or_default() += Rational::from(x * y);
            }
        }
        product.reduced()
    }
}

macro_rules! forward {
    ($trait:ident, $method:ident) => {
        impl $trait for Laurent {
            type Output = Laurent;
            fn $method(self, other: Laurent) -> Laurent {
                (&self).$method(&other)
            }
        }
        impl $trait<&Laurent> for Laurent {
            type Output = Laurent;
            fn $method(self, other: &Laurent) -> Laurent {
                (&self).$method(other)
            }
        }
    };
}
forward!(Add, add);
forward!(Mul, mul);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_reduce_to_the_normal_form() {
        let x = |n| Laurent::power("x", 0, n);
        let one = || Laurent::constant(1);
        // (x - 1/x)(x + 1/x) = x^2 - x^-2
        let left = (x(1).minus(&x(-1))) * (x(1) + x(-1));
        assert!(left.minus(&x(2).minus(&x(-2))).is_zero());
        assert!((x(3) * x(-3)).minus(&one()).is_zero());
        assert!(!x(1).minus(&Laurent::power("x", 1, 1)).is_zero());
        assert!(Laurent::constant(0).is_zero());
        let sum = one() + x(1) * Laurent::power("y", 0, 1) + x(2);
        assert_eq!(sum.part(&["x", "y"], 2), x(1) * Laurent::power("y", 0, 1) + x(2));
        assert_eq!(sum.part(&["x"], 1), x(1) * Laurent::power("y", 0, 1));
    }
}
