//! Each wrong engine fails the suite, and the check that exists for its mistake is among those that fail.

use contattn_check::suite;
use contattn_check::wrong::{Mistake, Textbook};
use contattn_core::{
    Dtype, Engine, EngineError, Feature, Gradient, Monitor, Output, Problem, Request, Rule, Spec, Upstream,
};
use contattn_cpu::Plain;

#[test]
fn the_right_one_passes_everything() {
    let report = suite::run(&Textbook::right());
    assert!(report.passed(), "{report}");
    let ran = report.results.iter().filter(|r| r.comparisons > 0).count();
    assert_eq!(ran, suite::checks().len() - 2, "all but the two checks of the Taylor rule have cases:\n{report}");
}

#[test]
fn each_mistake_is_caught_by_its_check() {
    let missed: Vec<String> = Mistake::ALL
        .into_iter()
        .filter(|&mistake| {
            let report = suite::run_where(&Textbook::with(mistake), |name| name == mistake.caught_by());
            report.failed().next().is_none()
        })
        .map(|mistake| format!("{mistake} by {}", mistake.caught_by()))
        .collect();
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

/// The plain engine with another rule in place of the one asked for, in one of the passes.
struct OtherRule {
    forward: fn(Rule) -> Rule,
    backward: fn(Rule) -> Rule,
}

fn with_rule<'p>(problem: &Problem<'p>, change: fn(Rule) -> Rule) -> Problem<'p> {
    let spec = Spec { rule: change(problem.rule()), ..problem.spec().clone() };
    Problem::new(*problem.q(), *problem.k(), *problem.v(), *problem.sink(), spec).unwrap()
}

impl Engine for OtherRule {
    fn name(&self) -> &str {
        "other rule"
    }
    fn arithmetic(&self) -> Dtype {
        Dtype::F64
    }
    fn supports(&self, feature: Feature) -> bool {
        Plain::<f64>::new().supports(feature)
    }
    fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
        Plain::<f64>::new().forward(&with_rule(problem, self.forward), request, monitor)
    }
    fn backward(
        &self,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        saved: Option<&Output>,
        request: &Request,
        monitor: &dyn Monitor,
    ) -> Result<Gradient, EngineError> {
        Plain::<f64>::new().backward(&with_rule(problem, self.backward), upstream, saved, request, monitor)
    }
}

/// The series cut one term too late.
fn one_order_more(rule: Rule) -> Rule {
    match rule {
        Rule::Taylor(order) => Rule::Taylor(order + 1),
        other => other,
    }
}

#[test]
fn a_series_of_another_order_is_caught() {
    let same = |rule| rule;
    let failed = |engine: &OtherRule| -> Vec<&str> {
        let report = suite::run_where(engine, |name| name.ends_with("-taylor"));
        report.failed().collect()
    };
    assert_eq!(failed(&OtherRule { forward: one_order_more, backward: same }), ["combinations-taylor"]);
    assert_eq!(failed(&OtherRule { forward: same, backward: one_order_more }), ["gradients-taylor"]);
}
