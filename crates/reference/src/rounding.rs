//! Correct rounding, by enclosures where they tell and by an exact decision where they do not.
//!
//! docs/rounding.md has the proof that this ends.

mod decision;
mod expsum;
mod grid;
mod row;

pub use decision::NodeTerms;
pub use expsum::ExpSum;
pub use grid::{Grid, round_float, round_rational};
pub use row::{Known, RoundedRow, round_rest, round_row};

use crate::enclosure::Enclosure;
use contattn_core::Dtype;
use rug::Rational;
use std::cmp::Ordering;

/// How a rounding was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settled {
    /// Both ends of an enclosure in double-double arithmetic round alike.
    DoubleDouble,
    /// Both ends of an enclosure of this precision round alike.
    Enclosure(u32),
    /// The number was compared with the border between two results exactly: by the sign of a sum of exponentials, whose
    /// evaluation took this many bits; 0 where no exponential was left, as for a tie.
    Exactly(u32),
    /// By definition: NaN, -infinity, and the weight 0 of what is not visible.
    Defined,
}

/// A correctly rounded result, widened to `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounded {
    /// the result
    pub value: f64,
    /// what settled it
    pub settled: Settled,
}

/// A real number that can be enclosed to any precision and compared with rational numbers exactly.
pub trait Quantity {
    /// Bounds; as `precision` grows they close in on the number.
    fn enclose(&mut self, precision: u32) -> Enclosure;

    /// Its order relative to `c`, and the bits that it took.
    fn compare(&mut self, c: &Rational) -> (Ordering, u32);
}

/// Rounds what an enclosure holds, where both ends round alike, the sign of zero included.
pub fn round_enclosure(dtype: Dtype, x: &Enclosure) -> Option<f64> {
    let (low, high) = (round_float(dtype, x.lower()), round_float(dtype, x.upper()));
    // Where the sign is open the bits differ: an exact 0 rounds to +0, a number below it to a negative one or to -0.
    (low.to_bits() == high.to_bits()).then_some(low)
}

/// Rounds to nearest, ties to even, once. `first`: an enclosure that is at hand, with its precision.
pub fn round(dtype: Dtype, quantity: &mut dyn Quantity, first: Option<(Enclosure, u32)>) -> Rounded {
    let (mut enclosure, mut precision) = first.unwrap_or_else(|| (quantity.enclose(FIRST_PRECISION), FIRST_PRECISION));
    loop {
        if let Some(value) = round_enclosure(dtype, &enclosure) {
            return Rounded { value, settled: Settled::Enclosure(precision) };
        }
        if precision >= SECOND_PRECISION
            && let Some(rounded) = round_exactly(dtype, quantity, &enclosure)
        {
            return rounded;
        }
        precision = if precision < SECOND_PRECISION { SECOND_PRECISION } else { 2 * precision };
        enclosure = quantity.enclose(precision);
    }
}

/// Bits of the first enclosure: a result that is not close to a border on purpose fails it once in 2^40 times.
pub const FIRST_PRECISION: u32 = 96;

/// Bits of the enclosure from which on the exact decision is taken instead of a third one.
pub const SECOND_PRECISION: u32 = 256;

/// Where the ends round to neighbours, or to zeros of different sign: compares with the border between them.
fn round_exactly(dtype: Dtype, quantity: &mut dyn Quantity, x: &Enclosure) -> Option<Rounded> {
    let grid = Grid::of(dtype);
    let (low, high) = (round_float(dtype, x.lower()), round_float(dtype, x.upper()));
    let (mut value, mut bits) = (high, 0);
    match grid.index(high).saturating_sub(grid.index(low)) {
        0 => {}
        1 => {
            let (order, used) = quantity.compare(&grid.border(low, high));
            bits = used;
            let low_is_even = grid.index(low) % 2 == 0;
            if order == Ordering::Less || (order == Ordering::Equal && low_is_even) {
                value = low;
            }
        }
        _ => return None,
    }
    if value == 0.0 {
        let negative = if *x.lower() >= 0 {
            false
        } else if *x.upper() < 0 {
            true
        } else {
            let (order, used) = quantity.compare(&Rational::new());
            bits = bits.max(used);
            order == Ordering::Less
        };
        value = if negative { -0.0 } else { 0.0 };
    }
    Some(Rounded { value, settled: Settled::Exactly(bits) })
}

/// Rounds a rational number.
pub fn round_given(dtype: Dtype, x: &Rational) -> Rounded {
    Rounded { value: round_rational(dtype, x), settled: Settled::Exactly(0) }
}
