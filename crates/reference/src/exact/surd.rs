//! Numbers p + q sqrt m with rational p and q.

use super::Radicand;
use crate::enclosure::Enclosure;
use rug::Rational;
use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Neg, Sub};

/// p + q sqrt m; m is that of the problem and is given where it matters. With m = 1 always q = 0, so that two of them are
/// the same number exactly where both parts agree.
///
/// The derived order sorts, it does not compare sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Surd {
    rational: Rational,
    root: Rational,
}

impl Surd {
    /// p
    pub fn from_rational(rational: Rational) -> Surd {
        Surd { rational, root: Rational::new() }
    }

    /// q sqrt m
    pub fn from_root(root: Rational, radicand: Radicand) -> Surd {
        if radicand == Radicand::ONE { Surd::from_rational(root) } else { Surd { rational: Rational::new(), root } }
    }

    /// p
    pub fn rational(&self) -> &Rational {
        &self.rational
    }

    /// q
    pub fn root(&self) -> &Rational {
        &self.root
    }

    /// Whether it is 0: sqrt m is irrational for square-free m > 1.
    pub fn is_zero(&self) -> bool {
        self.rational.is_zero() && self.root.is_zero()
    }

    /// The product.
    #[must_use]
    pub fn times(&self, other: &Surd, radicand: Radicand) -> Surd {
        if self.root.is_zero() && other.root.is_zero() {
            return Surd::from_rational(Rational::from(&self.rational * &other.rational));
        }
        let crossed = Rational::from(&self.rational * &other.root) + Rational::from(&self.root * &other.rational);
        let roots = Rational::from(&self.root * &other.root) * radicand.value();
        Surd { rational: Rational::from(&self.rational * &other.rational) + roots, root: crossed }
    }

    /// The product with a rational number.
    #[must_use]
    pub fn scaled(&self, by: &Rational) -> Surd {
        Surd { rational: Rational::from(&self.rational * by), root: Rational::from(&self.root * by) }
    }

    /// Its sign: where p and q differ in theirs, that of the larger of p^2 and q^2 m.
    pub fn sign(&self, radicand: Radicand) -> Ordering {
        let (p, q) = (self.rational.cmp0(), self.root.cmp0());
        if q == Ordering::Equal || p == q {
            return p;
        }
        if p == Ordering::Equal {
            return q;
        }
        let root = Rational::from(self.root.square_ref()) * radicand.value();
        if Rational::from(self.rational.square_ref()) > root { p } else { q }
    }

    /// Bounds of about the given precision: relative to the larger of |p| and |q| sqrt m.
    pub fn enclose(&self, radicand: Radicand, precision: u32) -> Enclosure {
        let rational = Enclosure::from_rational(precision, &self.rational);
        if self.root.is_zero() {
            return rational;
        }
        let root = Enclosure::from_rational(precision, &self.root) * radicand.root(precision);
        if self.rational.is_zero() { root } else { rational + root }
    }
}

impl Add<&Surd> for &Surd {
    type Output = Surd;
    fn add(self, other: &Surd) -> Surd {
        Surd {
            rational: Rational::from(&self.rational + &other.rational),
            root: Rational::from(&self.root + &other.root),
        }
    }
}

impl Sub<&Surd> for &Surd {
    type Output = Surd;
    fn sub(self, other: &Surd) -> Surd {
        Surd {
            rational: Rational::from(&self.rational - &other.rational),
            root: Rational::from(&self.root - &other.root),
        }
    }
}

impl AddAssign<&Surd> for Surd {
    fn add_assign(&mut self, other: &Surd) {
        self.rational += &other.rational;
        self.root += &other.root;
    }
}

impl Neg for Surd {
    type Output = Surd;
    fn neg(self) -> Surd {
        Surd { rational: -self.rational, root: -self.root }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_and_products_of_near_zero_numbers() {
        let m = Radicand::inverse_root(2).0;
        // 577/408 is a convergent of sqrt 2, from above: 577^2 - 2 408^2 = 1.
        let near = Surd { rational: Rational::from(577), root: Rational::from(-408) };
        assert_eq!(near.sign(m), Ordering::Greater);
        let conjugate = Surd { rational: Rational::from(577), root: Rational::from(408) };
        assert_eq!(near.times(&conjugate, m), Surd::from_rational(Rational::from(1)));
        assert_eq!((-near.clone()).sign(m), Ordering::Less);
        assert_eq!((&near - &near).sign(m), Ordering::Equal);
        assert!(*near.enclose(m, 100).lower() > 0);
    }
}
