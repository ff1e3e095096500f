//! Real numbers known to lie between two bounds.

mod arithmetic;
mod elementary;

use rug::float::Round;
use rug::{Float, Rational};
use std::cmp::Ordering;
use std::fmt;

/// A closed interval of real numbers with MPFR bounds.
///
/// Whatever is computed from enclosures encloses what the same formula gives for any real numbers in them: lower bounds are
/// rounded down, upper bounds up. The lower bound is -inf where nothing is known from below, the upper bound +inf where
/// nothing is known from above; a bound is never NaN, the lower one never +inf, the upper one never -inf. An expression that
/// is not defined somewhere on its operands (division by an interval around 0) gives [`whole`](Enclosure::whole).
///
/// The precision of a result is the larger one of its operands'.
#[derive(Clone)]
pub struct Enclosure {
    lower: Float,
    upper: Float,
}

impl Enclosure {
    /// Keeps the invariants: bounds in order and neither NaN nor at the wrong infinity, else no information.
    fn new(lower: Float, upper: Float) -> Enclosure {
        let ordered = lower <= upper; // false for NaN
        let misplaced =
            (lower.is_infinite() && lower.is_sign_positive()) || (upper.is_infinite() && upper.is_sign_negative());
        if ordered && !misplaced { Enclosure { lower, upper } } else { Enclosure::whole(lower.prec()) }
    }

    /// [-inf, inf]: no information.
    pub fn whole(precision: u32) -> Enclosure {
        let infinity = Float::with_val(precision, rug::float::Special::Infinity);
        Enclosure { lower: Float::with_val(precision, -&infinity), upper: infinity }
    }

    /// [0, 0]
    pub fn zero(precision: u32) -> Enclosure {
        Enclosure { lower: Float::new(precision), upper: Float::new(precision) }
    }

    /// [1, 1]
    pub fn one(precision: u32) -> Enclosure {
        Enclosure::from_u32(precision, 1)
    }

    /// A small whole number.
    pub fn from_u32(precision: u32, n: u32) -> Enclosure {
        Enclosure::rounded(precision, |round| Float::with_val_round(precision, n, round).0)
    }

    /// An `f64`, exactly where the precision is 53 or more. NaN and infinities give no information.
    pub fn from_f64(precision: u32, x: f64) -> Enclosure {
        if x.is_finite() {
            Enclosure::rounded(precision, |round| Float::with_val_round(precision, x, round).0)
        } else {
            Enclosure::whole(precision)
        }
    }

    /// A rational number.
    pub fn from_rational(precision: u32, x: &Rational) -> Enclosure {
        Enclosure::rounded(precision, |round| Float::with_val_round(precision, x, round).0)
    }

    /// An MPFR number, exactly where the precision is at least its own. NaN and infinities give no information.
    pub fn from_float(precision: u32, x: &Float) -> Enclosure {
        if x.is_finite() {
            Enclosure::rounded(precision, |round| Float::with_val_round(precision, x, round).0)
        } else {
            Enclosure::whole(precision)
        }
    }

    /// The numbers between two bounds, which may be infinite; no information where they are out of order.
    pub fn between(lower: Float, upper: Float) -> Enclosure {
        Enclosure::new(lower, upper)
    }

    fn rounded(_precision: u32, value: impl Fn(Round) -> Float) -> Enclosure {
        Enclosure::new(value(Round::Down), value(Round::Up))
    }

    /// The lower bound.
    pub fn lower(&self) -> &Float {
        &self.lower
    }

    /// The upper bound.
    pub fn upper(&self) -> &Float {
        &self.upper
    }

    /// Bits of the bounds.
    pub fn precision(&self) -> u32 {
        self.lower.prec().max(self.upper.prec())
    }

    /// The same numbers, or a few more, with bounds of another precision.
    #[must_use]
    pub fn with_precision(&self, precision: u32) -> Enclosure {
        Enclosure::new(
            Float::with_val_round(precision, &self.lower, Round::Down).0,
            Float::with_val_round(precision, &self.upper, Round::Up).0,
        )
    }

    /// Whether both bounds are finite.
    pub fn is_bounded(&self) -> bool {
        self.lower.is_finite() && self.upper.is_finite()
    }

    /// Whether it holds a single number.
    pub fn is_exact(&self) -> bool {
        self.lower == self.upper
    }

    /// Whether it is [0, 0].
    pub fn is_zero(&self) -> bool {
        self.lower.is_zero() && self.upper.is_zero()
    }

    /// Whether `x` lies in it.
    pub fn contains(&self, x: &Rational) -> bool {
        self.lower <= *x && self.upper >= *x
    }

    /// Whether 0 lies in it.
    pub fn contains_zero(&self) -> bool {
        self.lower <= 0 && self.upper >= 0
    }

    /// Whether every number of `inner` lies in it.
    pub fn encloses(&self, inner: &Enclosure) -> bool {
        self.lower <= inner.lower && self.upper >= inner.upper
    }

    /// Whether some number lies in both.
    pub fn overlaps(&self, other: &Enclosure) -> bool {
        self.lower <= other.upper && other.lower <= self.upper
    }

    /// The order that holds between any number of this and any of `other`; `None` where the enclosures do not tell.
    pub fn certain_cmp(&self, other: &Enclosure) -> Option<Ordering> {
        if self.upper < other.lower {
            Some(Ordering::Less)
        } else if self.lower > other.upper {
            Some(Ordering::Greater)
        } else if self.is_exact() && other.is_exact() {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    /// The sign that all numbers in it have; `None` where the bounds do not tell.
    pub fn certain_sign(&self) -> Option<Ordering> {
        if self.lower > 0 {
            Some(Ordering::Greater)
        } else if self.upper < 0 {
            Some(Ordering::Less)
        } else if self.is_zero() {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    /// The smallest enclosure of both.
    #[must_use]
    pub fn hull(&self, other: &Enclosure) -> Enclosure {
        let lower = if self.lower <= other.lower { &self.lower } else { &other.lower };
        let upper = if self.upper >= other.upper { &self.upper } else { &other.upper };
        Enclosure { lower: lower.clone(), upper: upper.clone() }
    }

    /// The numbers in both; `None` where there is none, which proves that the two do not enclose the same number.
    pub fn intersect(&self, other: &Enclosure) -> Option<Enclosure> {
        let lower = if self.lower >= other.lower { &self.lower } else { &other.lower };
        let upper = if self.upper <= other.upper { &self.upper } else { &other.upper };
        (lower <= upper).then(|| Enclosure { lower: lower.clone(), upper: upper.clone() })
    }

    /// A number in it near the middle; 0 where nothing is known, a bound where only one is finite.
    pub fn midpoint(&self) -> Float {
        match (self.lower.is_finite(), self.upper.is_finite()) {
            (true, true) => {
                // Halved first, so that the sum cannot overflow; rounding to nearest keeps it between the bounds.
                let precision = self.precision();
                let half = |x: &Float| Float::with_val(precision + 1, x >> 1u32);
                let middle = Float::with_val(precision, half(&self.lower) + half(&self.upper));
                if middle < self.lower {
                    self.lower.clone()
                } else if middle > self.upper {
                    self.upper.clone()
                } else {
                    middle
                }
            }
            (true, false) => self.lower.clone(),
            (false, true) => self.upper.clone(),
            (false, false) => Float::new(self.precision()),
        }
    }

    /// An upper bound of half the width.
    pub fn radius(&self) -> Float {
        let width = Float::with_val_round(self.precision(), &self.upper - &self.lower, Round::Up).0;
        Float::with_val_round(self.precision(), width >> 1u32, Round::Up).0
    }

    /// An upper bound of the width over the smallest size of a number in it; 0 for [0, 0], +inf where it contains 0
    /// and something else or is unbounded.
    pub fn relative_width(&self) -> Float {
        let precision = self.precision();
        if self.is_exact() {
            return Float::new(precision);
        }
        if self.contains_zero() || !self.is_bounded() {
            return Float::with_val(precision, rug::float::Special::Infinity);
        }
        let width = Float::with_val_round(precision, &self.upper - &self.lower, Round::Up).0;
        let size = if self.lower > 0 { self.lower.clone() } else { Float::with_val(precision, -&self.upper) };
        Float::with_val_round(precision, &width / &size, Round::Up).0
    }
}

impl fmt::Debug for Enclosure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:.20}, {:.20}]", self.lower, self.upper)
    }
}

impl fmt::Display for Enclosure {
    /// The digits of the midpoint that the width leaves, and the radius.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_bounded() {
            let width = self.relative_width();
            let digits = if width.is_normal() { f64::from(-width.get_exp().unwrap_or(0)) * 0.301 } else { 20.0 };
            let digits = (digits.clamp(2.0, 1000.0)) as usize;
            write!(f, "{:.digits$} +- {:.2}", self.midpoint(), self.radius())
        } else {
            write!(f, "{self:?}")
        }
    }
}
