//! The inputs of a problem as exact numbers, and what each row sees, decided exactly.
//!
//! Inputs are binary fractions, so times, durations, edges and q.k are rational; scores are rational multiples of sqrt m,
//! where 1/sqrt(head_dim) = sqrt m / (f m) for head_dim = f^2 m, m square-free (m = 1 where the scale is a number).

mod row;
mod score;
mod sight;
mod surd;
mod times;
mod window;

pub use row::{Neighbours, Piece, Row, Term};
pub use score::Radicand;
pub use sight::{Hold, Motion, MovingEdge, Place, Point, Seen, Sight};
pub use surd::Surd;
pub use times::Times;

use contattn_core::{Problem, Scale};
use rug::Rational;

/// A problem with its time lines summed exactly.
#[derive(Debug)]
pub struct ExactProblem<'p> {
    problem: &'p Problem<'p>,
    /// one for each batch, or one that all share
    times: Vec<Times>,
    radicand: Radicand,
    /// a = factor (q . k) sqrt m
    factor: Rational,
}

impl<'p> ExactProblem<'p> {
    /// Sums the time lines: O(n) rationals for each batch that has its own.
    pub fn new(problem: &'p Problem<'p>) -> ExactProblem<'p> {
        let times = Times::of_problem(problem);
        let (radicand, factor) = match problem.spec().scale {
            Scale::Value(scale) => (Radicand::ONE, Rational::from_f64(scale).unwrap_or_default()),
            Scale::InverseSqrtHeadDim => Radicand::inverse_root(problem.shape().head_dim),
        };
        ExactProblem { problem, times, radicand, factor }
    }

    /// The problem itself.
    pub fn problem(&self) -> &'p Problem<'p> {
        self.problem
    }

    /// The time line of one batch.
    ///
    /// # Panics
    /// For a batch outside the problem.
    pub fn times(&self, batch: usize) -> &Times {
        if self.times.len() == 1 { &self.times[0] } else { &self.times[batch] }
    }

    /// m: scores are rational multiples of its root.
    pub fn radicand(&self) -> Radicand {
        self.radicand
    }

    /// a = factor (q . k) sqrt m
    pub fn factor(&self) -> &Rational {
        &self.factor
    }

    /// What one row sees.
    ///
    /// # Panics
    /// For a batch or row outside the problem.
    pub fn sight(&self, batch: usize, row: usize) -> Sight {
        window::resolve(self.problem, self.times(batch), batch, row)
    }

    /// One row with its scores.
    ///
    /// # Panics
    /// For a batch, head or row outside the problem.
    pub fn row(&self, batch: usize, head: usize, row: usize) -> Row<'_> {
        Row::new(self, batch, head, row)
    }
}
