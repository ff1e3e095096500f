//! The derivation as theorems that run.
//!
//! A [`Theorem`] is one numbered equation of the derivation, or one law of the operator, as a statement and as code: it
//! generates instances, computes both sides of each with proven bounds by ways that share no formula, and compares. It
//! *holds* where the enclosures of both sides overlap on every instance and are narrow: at most 2^-100 of their own size (of
//! the size of their terms, for results that may be 0). Overlap of narrow enclosures cannot prove an equation, but it would
//! take a mistake below 2^-100 on every instance to go unseen. Identities that are polynomial in x, e^x and their inverses
//! are moreover proven over the rationals: with an indeterminate for e^x, the difference of both sides has the normal form 0.
//!
//! Limits are *measured*: the order at which an error falls, against a stated band.
//!
//! Every constant of every side can be made wrong on purpose ([`Plant`]), and then the theorem must not hold.
//!
//! ```
//! use contattn_reference::theorems::{self, Effort};
//! let all = theorems::all();
//! let eq7 = all.iter().find(|theorem| theorem.id == "eq7").unwrap();
//! let verdict = eq7.verify(&Effort::default(), &contattn_core::Unattended).unwrap();
//! assert!(verdict.holds && verdict.exact == Some(true));
//! for plant in eq7.constants() {
//!     assert!(!eq7.verify_with(&Effort::default(), plant, &contattn_core::Unattended).unwrap().holds);
//! }
//! ```

mod chain;
mod curve;
mod derivation;
mod differences;
mod documents;
mod expansion;
mod functions;
mod gradients;
mod integral;
mod laws;
mod line;
mod numbers;
mod plant;
mod refinement;
mod segment;
mod statements;
mod states;
mod symbolic;
mod trial;
mod weights;

pub use plant::{Plant, Which};
pub use statements::all;

use contattn_core::{EngineError, Monitor, Unattended};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use trial::Trial;

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// bits of the results
    pub precision: u32,
    /// bits for what is lost on the way
    pub guard: u32,
    /// instances drawn at random for each theorem, besides the ones that are always there
    pub rounds: u32,
    /// enclosures must be as narrow as 2^-this
    pub width_bits: u32,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { precision: 128, guard: 64, rounds: 12, width_bits: 100 }
    }
}

/// A statement that runs.
#[derive(Clone, Copy, Debug)]
pub struct Theorem {
    /// short name, unique
    pub id: &'static str,
    /// the number of the equation in the derivation, in parentheses; `None` for a law without one
    pub equation: Option<&'static str>,
    /// what it says
    pub statement: &'static str,
    /// the same as LaTeX
    pub latex: &'static str,
    /// how the left side is computed
    pub left: &'static str,
    /// how the right side is computed
    pub right: &'static str,
    /// name of a machine-checked proof of it
    pub proof: Option<&'static str>,
    check: fn(&Trial<'_>),
}

/// A number found by measuring, and where it was expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// of what
    pub what: String,
    /// the number
    pub value: f64,
    /// the least that was expected
    pub from: f64,
    /// the most that was expected
    pub to: f64,
}

/// Both sides of a comparison: digits that are proven, and how far off the number can be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sides {
    /// on which inputs
    pub instance: String,
    /// which number
    pub what: String,
    /// the left side's enclosure
    pub left: String,
    /// the right side's
    pub right: String,
}

/// What came of a theorem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// of which theorem
    pub id: &'static str,
    /// the number of its equation
    pub equation: Option<&'static str>,
    /// what it says
    pub statement: &'static str,
    /// the same as LaTeX
    pub latex: &'static str,
    /// how the left side was computed
    pub left: &'static str,
    /// how the right side was computed
    pub right: &'static str,
    /// name of a machine-checked proof
    pub proof: Option<&'static str>,
    /// inputs on which it was tried
    pub instances: u64,
    /// pairs of numbers that were compared, inequalities and identities
    pub comparisons: u64,
    /// log2 of the widest enclosure beside its size; `None` where everything was exact
    pub widest_log2: Option<f64>,
    /// whether its identities hold over the rationals; `None` where it has none
    pub exact: Option<bool>,
    /// orders and other measured numbers
    pub measured: Vec<Measured>,
    /// both sides of some comparisons, of different instances
    pub sides: Vec<Sides>,
    /// whether it held everywhere
    pub holds: bool,
    /// the first thing that failed; empty where nothing did
    pub detail: String,
}

impl Theorem {
    /// Runs it.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`].
    pub fn verify(&self, effort: &Effort, monitor: &dyn Monitor) -> Result<Verdict, EngineError> {
        self.run(effort, None, monitor).map(|(verdict, _)| verdict)
    }

    /// Runs it with a mistake in one constant: it must not hold. Ends at the first failure.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`].
    pub fn verify_with(&self, effort: &Effort, plant: Plant, monitor: &dyn Monitor) -> Result<Verdict, EngineError> {
        self.run(effort, Some(plant), monitor).map(|(verdict, _)| verdict)
    }

    /// The constants of both sides in which a mistake can be planted, as met on a run.
    pub fn constants(&self) -> Vec<Plant> {
        self.run(&Effort { rounds: 1, ..Effort::default() }, None, &Unattended).map_or(Vec::new(), |(_, met)| met)
    }

    fn run(
        &self,
        effort: &Effort,
        plant: Option<Plant>,
        monitor: &dyn Monitor,
    ) -> Result<(Verdict, Vec<Plant>), EngineError> {
        let trial = Trial::new(self.id, *effort, plant, monitor);
        (self.check)(&trial);
        let log = trial.into_log();
        if log.cancelled {
            return Err(EngineError::Cancelled);
        }
        let verdict = Verdict {
            id: self.id,
            equation: self.equation,
            statement: self.statement,
            latex: self.latex,
            left: self.left,
            right: self.right,
            proof: self.proof,
            instances: log.instances,
            comparisons: log.comparisons,
            widest_log2: log.widest.is_finite().then_some(log.widest),
            exact: log.exact,
            measured: log.measured,
            sides: log.sides,
            // A theorem that was tried on nothing says nothing.
            holds: log.failure.is_none() && log.comparisons > 0,
            detail: log.failure.unwrap_or_default(),
        };
        Ok((verdict, log.constants.into_iter().collect()))
    }
}

/// Runs all theorems, on all cores; progress counts theorems. The verdicts are the same from every run.
///
/// # Errors
/// [`EngineError::Cancelled`].
pub fn verify_all(effort: &Effort, monitor: &dyn Monitor) -> Result<Vec<Verdict>, EngineError> {
    let all = all();
    let (done, total) = (AtomicU64::new(0), all.len() as u64);
    monitor.progress(0, total);
    all.par_iter()
        .map(|theorem| {
            let verdict = theorem.verify(effort, monitor)?;
            monitor.progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Ok(verdict)
        })
        .collect()
}
