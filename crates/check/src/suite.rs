//! The one suite that every engine runs.
//!
//! [`run`] tries an engine on every rule, window, sink, mask, time line, element type and layout, on the inputs on which
//! attention is known to break, and on the laws that the operator obeys. Results are judged against the
//! [oracle](crate::oracle) with the [allowances](crate::allowance) that the engine's own arithmetic has earned, and against each
//! other. What an engine says that it does not support is skipped, by name; that it says so, instead of returning a wrong
//! answer, is a check as well.

mod combinations;
mod contract;
mod distribution;
mod edges;
mod families;
mod gradients;
mod judge;
mod laws;
mod numbers;
mod packing;
mod poison;
mod pull;
mod random;
mod report;
mod shapes;
mod storage;
mod trial;

pub use report::{CheckReport, Failure, Outcome, SuiteReport};

use contattn_core::Engine;
use trial::Trial;

/// One named check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// its name
    pub name: &'static str,
    /// what it asks of an engine
    pub about: &'static str,
    run: fn(&mut Trial<'_>),
}

const fn check(name: &'static str, about: &'static str, run: fn(&mut Trial<'_>)) -> Check {
    Check { name, about, run }
}

/// Every check, in the order in which they run.
pub fn checks() -> Vec<Check> {
    [
        combinations::CHECKS,
        shapes::CHECKS,
        storage::CHECKS,
        edges::CHECKS,
        packing::CHECKS,
        families::CHECKS,
        numbers::CHECKS,
        poison::CHECKS,
        distribution::CHECKS,
        laws::CHECKS,
        gradients::CHECKS,
        contract::CHECKS,
    ]
    .concat()
}

/// Runs every check.
///
/// ```
/// use contattn_check::suite;
/// use contattn_check::wrong::Textbook;
///
/// let report = suite::run(&Textbook::right());
/// assert!(report.passed(), "{report}");
/// ```
pub fn run(engine: &dyn Engine) -> SuiteReport {
    run_where(engine, |_| true)
}

/// Runs the checks whose names are `wanted`.
pub fn run_where(engine: &dyn Engine, wanted: impl Fn(&str) -> bool) -> SuiteReport {
    let checks = checks().into_iter().filter(|check| wanted(check.name));
    let results = checks
        .map(|check| {
            let mut trial = Trial::new(engine);
            (check.run)(&mut trial);
            trial.into_report(check.name)
        })
        .collect();
    SuiteReport { engine: engine.name().to_owned(), results }
}
