//! Exponential, logarithm, square root: increasing functions, so bounds map to bounds.

use super::Enclosure;
use rug::Float;
use rug::float::Round::{Down, Up};
use std::cmp::Ordering;

impl Enclosure {
    /// e^x. Beyond MPFR's exponents a bound becomes its largest or smallest number, or an infinity outwards.
    ///
    /// Of a narrow interval [l, l + w], w <= 1/2, one exponential is evaluated: e^w <= 1 + 2w.
    #[must_use]
    pub fn exp(&self) -> Enclosure {
        let p = self.precision();
        let width = Float::with_val_round(p, &self.upper - &self.lower, Up).0;
        let (lower, order) = Float::with_val_round(p, self.lower.exp_ref(), Down);
        if width > 0.5 || width.is_nan() || !lower.is_normal() {
            return Enclosure { lower, upper: Float::with_val_round(p, self.upper.exp_ref(), Up).0 };
        }
        let mut upper = lower.clone();
        if order != Ordering::Equal {
            upper.next_up();
        }
        if !width.is_zero() {
            let twice = width << 1u32;
            let factor = Float::with_val_round(p, 1u32 + &twice, Up).0;
            upper = Float::with_val_round(p, &upper * &factor, Up).0;
        }
        Enclosure { lower, upper }
    }

    /// e^x - 1, without cancellation near 0.
    #[must_use]
    pub fn exp_m1(&self) -> Enclosure {
        let p = self.precision();
        Enclosure {
            lower: Float::with_val_round(p, self.lower.exp_m1_ref(), Down).0,
            upper: Float::with_val_round(p, self.upper.exp_m1_ref(), Up).0,
        }
    }

    /// log x of the positive numbers in it; no information where there are none, or where 0 is the only bound known.
    #[must_use]
    pub fn ln(&self) -> Enclosure {
        let p = self.precision();
        if self.upper <= 0 {
            return Enclosure::whole(p);
        }
        let lower = if self.lower > 0 {
            Float::with_val_round(p, self.lower.ln_ref(), Down).0
        } else {
            Float::with_val(p, -Float::with_val(p, rug::float::Special::Infinity))
        };
        Enclosure { lower, upper: Float::with_val_round(p, self.upper.ln_ref(), Up).0 }
    }

    /// The root of the numbers in it that have one; no information where none has.
    #[must_use]
    pub fn sqrt(&self) -> Enclosure {
        let p = self.precision();
        if self.upper < 0 {
            return Enclosure::whole(p);
        }
        let lower =
            if self.lower > 0 { Float::with_val_round(p, self.lower.sqrt_ref(), Down).0 } else { Float::new(p) };
        Enclosure { lower, upper: Float::with_val_round(p, self.upper.sqrt_ref(), Up).0 }
    }

    /// |x|
    #[must_use]
    pub fn abs(&self) -> Enclosure {
        if self.lower >= 0 {
            self.clone()
        } else if self.upper <= 0 {
            -self
        } else {
            let p = self.precision();
            let size = Float::with_val(p, -&self.lower);
            let upper = if size > self.upper { size } else { self.upper.clone() };
            Enclosure { lower: Float::new(p), upper }
        }
    }
}
