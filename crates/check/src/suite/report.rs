//! What a run of the suite found.

use crate::report::Report;
use serde::Serialize;
use std::fmt;

/// Results of all checks that ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteReport {
    /// name of the engine
    pub engine: String,
    /// one for each check
    pub results: Vec<CheckReport>,
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// name of the check
    pub name: &'static str,
    /// the verdict
    pub outcome: Outcome,
    /// comparisons made
    pub comparisons: usize,
    /// how long it took
    pub seconds: f64,
    /// features that cases needed and the engine lacks
    pub skipped: Vec<String>,
}

/// The verdict of one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Outcome {
    /// Every case that the engine supports is right.
    Passed,
    /// Some are wrong.
    Failed {
        /// how many
        count: usize,
        /// the first of them
        failures: Vec<Failure>,
    },
    /// The engine supports no case of it.
    Skipped,
}

/// One wrong result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// the case, in words
    pub case: String,
    /// the result that is wrong
    pub what: String,
    /// what is wrong with it
    pub detail: String,
    /// the comparison, where tensors were compared
    pub report: Option<Report>,
}

impl SuiteReport {
    /// Whether no check failed.
    pub fn passed(&self) -> bool {
        self.failed().next().is_none()
    }

    /// Names of the checks that failed.
    pub fn failed(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.results.iter().filter(|r| matches!(r.outcome, Outcome::Failed { .. })).map(|r| r.name)
    }
}

impl fmt::Display for SuiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |wanted: fn(&Outcome) -> bool| self.results.iter().filter(|r| wanted(&r.outcome)).count();
        let passed = count(|o| matches!(o, Outcome::Passed));
        let failed = count(|o| matches!(o, Outcome::Failed { .. }));
        let skipped = count(|o| matches!(o, Outcome::Skipped));
        writeln!(f, "engine {}: {passed} checks passed, {failed} failed, {skipped} skipped", self.engine)?;
        for result in &self.results {
            match &result.outcome {
                Outcome::Passed => write!(
                    f,
                    "  ok      {} ({} comparisons, {:.2} s)",
                    result.name, result.comparisons, result.seconds
                )?,
                Outcome::Skipped => write!(f, "  skipped {}", result.name)?,
                Outcome::Failed { count, .. } => {
                    write!(f, "  FAILED  {}: {count} of {} comparisons", result.name, result.comparisons)?;
                }
            }
            if result.skipped.is_empty() {
                writeln!(f)?;
            } else {
                writeln!(f, "; without {}", result.skipped.join(", "))?;
            }
            if let Outcome::Failed { failures, .. } = &result.outcome {
                for failure in failures {
                    writeln!(f, "    {} of {}: {}", failure.what, failure.case, failure.detail)?;
                    if let Some(report) = &failure.report {
                        for line in report.to_string().lines() {
                            writeln!(f, "      {line}")?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
