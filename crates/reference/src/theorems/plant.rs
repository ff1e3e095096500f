//! The constants of both sides, and mistakes planted in them.

use super::trial::Trial;
use crate::enclosure::Enclosure;
use rug::Rational;

/// One of the two sides of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which {
    /// what stands on the left
    Left,
    /// what stands on the right
    Right,
}

/// A mistake: one constant of one side is wrong.
///
/// Constants of formulas are wrong by the factor 1 + 2^-60, inputs of a problem (which have the type f64) by 1 + 2^-40, and
/// constants of a side whose limit is measured by 9/8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Plant {
    /// whose constant
    pub side: Which,
    /// which one, by its name in the theorem's code
    pub constant: &'static str,
}

/// A side being evaluated: all constants of its formula pass through here.
#[derive(Clone, Copy)]
pub(super) struct Side<'t> {
    trial: &'t Trial<'t>,
    which: Which,
}

impl<'t> Side<'t> {
    pub(super) fn new(trial: &'t Trial<'t>, which: Which) -> Side<'t> {
        Side { trial, which }
    }

    fn is_wrong(&self, constant: &'static str) -> bool {
        self.trial.meets(Plant { side: self.which, constant })
    }

    /// A rational constant.
    pub(super) fn rational(&self, name: &'static str, value: impl Into<Rational>) -> Rational {
        let value: Rational = value.into();
        if self.is_wrong(name) { Rational::from(&value >> 60u32) + value } else { value }
    }

    /// A constant as an enclosure of this precision.
    pub(super) fn at(&self, precision: u32, name: &'static str, value: impl Into<Rational>) -> Enclosure {
        Enclosure::from_rational(precision, &self.rational(name, value))
    }

    /// A constant as an enclosure of the working precision.
    pub(super) fn number(&self, name: &'static str, value: impl Into<Rational>) -> Enclosure {
        self.at(self.trial.precision(), name, value)
    }

    /// A constant of a side whose limit is measured.
    pub(super) fn coarse(&self, name: &'static str, value: impl Into<Rational>) -> Rational {
        let value: Rational = value.into();
        if self.is_wrong(name) { value * Rational::from((9, 8)) } else { value }
    }

    /// A number of a problem's input; exact in either case for numbers of at most 12 bits.
    pub(super) fn input(&self, name: &'static str, value: f64) -> f64 {
        if self.is_wrong(name) { value * (1.0 + (-40f64).exp2()) } else { value }
    }
}
