//! Results of one row with proof.

use crate::enclosure::Enclosure;

/// A result: a real number within bounds, or one of the two that are none.
#[derive(Clone, Debug)]
pub enum Certified {
    /// a number that lies in the enclosure
    Number(Enclosure),
    /// -infinity: log of nothing
    NegInfinity,
    /// NaN, because an input that was seen is NaN or infinite
    Nan,
}

impl Certified {
    /// The enclosure of a number.
    pub fn number(&self) -> Option<&Enclosure> {
        match self {
            Certified::Number(enclosure) => Some(enclosure),
            Certified::NegInfinity | Certified::Nan => None,
        }
    }

    /// Whether both can be the same result.
    pub fn overlaps(&self, other: &Certified) -> bool {
        match (self, other) {
            (Certified::Number(a), Certified::Number(b)) => a.overlaps(b),
            (Certified::NegInfinity, Certified::NegInfinity) | (Certified::Nan, Certified::Nan) => true,
            _ => false,
        }
    }

    /// 0, exactly.
    pub fn zero(precision: u32) -> Certified {
        Certified::Number(Enclosure::zero(precision))
    }
}

/// Forward results of one row.
#[derive(Clone, Debug)]
pub struct RowValues {
    /// o, by channel
    pub o: Vec<Certified>,
    /// log Z
    pub lse: Certified,
    /// w, by node
    pub weights: Vec<Certified>,
    /// b, by node
    pub bias: Vec<Certified>,
}

/// What one row adds to the gradients.
#[derive(Clone, Debug)]
pub struct RowGradient {
    /// dL/da, by node
    pub scores: Vec<Certified>,
    /// w, by node: dL/dv_j = w_j g
    pub weights: Vec<Certified>,
    /// dL/dD_i at index i - 1; empty under Taylor
    pub durations: Vec<Certified>,
}
