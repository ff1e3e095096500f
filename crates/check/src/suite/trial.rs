//! One check on one engine: calls, comparisons and what came of them.

use super::report::{CheckReport, Failure, Outcome};
use crate::allowance::{Bound, Precision};
use crate::generate::SmallProblem;
use crate::oracle::Wide;
use crate::report::{Tolerance, compare, compare_with_bounds, unit_in_last_place};
use contattn_core::{
    Dtype, Engine, EngineError, Feature, Gradient, Output, Problem, Request, Rule, Tensor, Unattended, Upstream,
};
use std::collections::BTreeSet;
use std::time::Instant;

/// Failures that are kept with all their details.
const KEPT: usize = 3;

/// A running check.
pub(crate) struct Trial<'e> {
    engine: &'e dyn Engine,
    start: Instant,
    comparisons: usize,
    count: usize,
    failures: Vec<Failure>,
    skipped: BTreeSet<String>,
}

impl<'e> Trial<'e> {
    pub(super) fn new(engine: &'e dyn Engine) -> Trial<'e> {
        Trial {
            engine,
            start: Instant::now(),
            comparisons: 0,
            count: 0,
            failures: Vec::new(),
            skipped: BTreeSet::new(),
        }
    }

    pub(super) fn into_report(self, name: &'static str) -> CheckReport {
        let outcome = if self.count > 0 {
            Outcome::Failed { count: self.count, failures: self.failures }
        } else if self.comparisons > 0 {
            Outcome::Passed
        } else {
            Outcome::Skipped
        };
        CheckReport {
            name,
            outcome,
            comparisons: self.comparisons,
            seconds: self.start.elapsed().as_secs_f64(),
            skipped: self.skipped.into_iter().collect(),
        }
    }

    pub(super) fn engine(&self) -> &'e dyn Engine {
        self.engine
    }

    /// The input types that the engine takes and returns, widest first; none: the check is skipped.
    pub(super) fn dtypes(&mut self) -> Vec<Dtype> {
        let both = |&dtype: &Dtype| {
            self.engine.supports(Feature::Input(dtype)) && self.engine.supports(Feature::Results(dtype))
        };
        let (have, lack): (Vec<Dtype>, Vec<Dtype>) = Dtype::ALL.into_iter().partition(both);
        if have.is_empty() {
            self.skipped.extend(lack.into_iter().map(|dtype| Feature::Input(dtype).to_string()));
        }
        have
    }

    /// The widest one.
    pub(super) fn dtype(&mut self) -> Option<Dtype> {
        self.dtypes().first().copied()
    }

    /// Those of some rules that the engine has. Where it lacks a Taylor order, the highest one below that it has stands in.
    pub(super) fn rules(&mut self, rules: &[Rule]) -> Vec<Rule> {
        let mut have = Vec::new();
        for &rule in rules {
            let lower = match rule {
                Rule::Taylor(order) => (0..order).rev().map(Rule::Taylor).find(|&rule| self.has(rule)),
                _ => None,
            };
            have.extend(if self.supports(Feature::Rule(rule)) { Some(rule) } else { lower });
        }
        have
    }

    fn has(&self, rule: Rule) -> bool {
        self.engine.supports(Feature::Rule(rule))
    }

    /// Whether the engine has a feature; where not it is noted.
    pub(super) fn supports(&mut self, feature: Feature) -> bool {
        let has = self.engine.supports(feature);
        if !has {
            self.skipped.insert(feature.to_string());
        }
        has
    }

    /// Notes what the engine lacks.
    pub(super) fn skip(&mut self, lacks: &str) {
        self.skipped.insert(lacks.to_owned());
    }

    /// Counts something that was compared.
    pub(super) fn judge(&mut self, right: bool, case: &str, what: &str, detail: impl FnOnce() -> String) {
        self.comparisons += 1;
        if !right {
            self.record(case, what, detail(), None);
        }
    }

    fn record(&mut self, case: &str, what: &str, detail: String, report: Option<crate::report::Report>) {
        self.count += 1;
        if self.failures.len() < KEPT {
            self.failures.push(Failure { case: case.to_owned(), what: what.to_owned(), detail, report });
        }
    }

    /// The problem of a case; that there is none is the suite's own mistake and fails the check.
    pub(super) fn problem<'s>(&mut self, case: &str, small: &'s SmallProblem) -> Option<Problem<'s>> {
        match small.problem() {
            Ok(problem) => Some(problem),
            Err(error) => {
                self.record(case, "problem", error.to_string(), None);
                None
            }
        }
    }

    /// What to ask for: weights and bias where the engine returns them.
    pub(super) fn request(&mut self) -> Request {
        Request { weights: self.supports(Feature::Weights), bias: self.supports(Feature::Bias), dtype: None }
    }

    pub(super) fn precision(&self, problem: &Problem<'_>, request: &Request) -> Precision {
        Precision::new(self.engine.arithmetic(), request.dtype(problem))
    }

    /// Whether the engine takes the problem; else what it lacks is noted.
    pub(super) fn takes(&mut self, problem: &Problem<'_>, request: &Request) -> bool {
        match self.engine.check(problem, request) {
            Ok(()) => true,
            Err(EngineError::Unsupported { feature, .. }) => {
                self.skip(&feature.to_string());
                false
            }
            Err(_) => true,
        }
    }

    /// The forward pass; an error is a failure, since the engine takes the problem.
    pub(super) fn forward(&mut self, case: &str, problem: &Problem<'_>, request: &Request) -> Option<Output> {
        if !self.takes(problem, request) {
            return None;
        }
        match self.engine.forward(problem, request, &Unattended) {
            Ok(output) => Some(output),
            Err(error) => {
                self.judge(false, case, "forward", || error.to_string());
                None
            }
        }
    }

    /// The backward pass.
    pub(super) fn backward(
        &mut self,
        case: &str,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        saved: Option<&Output>,
        request: &Request,
    ) -> Option<Gradient> {
        let plain = Request { weights: false, bias: false, ..*request };
        if !self.supports(Feature::Backward) || !self.takes(problem, &plain) {
            return None;
        }
        match self.engine.backward(problem, upstream, saved, &plain, &Unattended) {
            Ok(gradient) => Some(gradient),
            Err(error) => {
                self.judge(false, case, "backward", || error.to_string());
                None
            }
        }
    }

    /// Compares a result with exact values.
    pub(super) fn against(&mut self, case: &str, what: &str, actual: &Tensor, shape: &[usize], bounds: &[Bound]) {
        self.comparisons += 1;
        if actual.shape() != shape {
            self.record(case, what, format!("shape {:?}, expected {shape:?}", actual.shape()), None);
            return;
        }
        match compare_with_bounds(actual, bounds) {
            Ok(report) if report.passed() => {}
            Ok(report) => self.record(case, what, "beyond the allowance".to_owned(), Some(report)),
            Err(error) => self.record(case, what, error.to_string(), None),
        }
    }

    /// Compares two results of the engine bit by bit (-0 and 0 alike).
    pub(super) fn same(&mut self, case: &str, what: &str, actual: &Tensor, expected: &Tensor) {
        self.comparisons += 1;
        match compare(actual, expected, Tolerance::EXACT) {
            Ok(report) if report.passed() => {}
            Ok(report) => self.record(case, what, "not the same numbers".to_owned(), Some(report)),
            Err(error) => self.record(case, what, error.to_string(), None),
        }
    }

    /// Compares two results of the engine that are equal by a law, each of which has these allowances. Only the numbers are
    /// compared, in row-major order.
    pub(super) fn alike(&mut self, case: &str, what: &str, actual: &Tensor, expected: &[f64], bounds: &[Bound]) {
        let dtype = actual.dtype();
        let pair = |(&expected, bound): (&f64, &Bound)| Bound {
            value: Wide::from_f64(expected),
            allowed: if expected.is_finite() { 2.0 * bound.allowed + unit_in_last_place(expected, dtype) } else { 0.0 },
        };
        let pairs: Vec<Bound> = expected.iter().zip(bounds).map(pair).collect();
        self.against(case, what, actual, actual.shape(), &pairs);
    }
}
