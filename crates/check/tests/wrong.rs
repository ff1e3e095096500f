//! Each wrong engine fails the suite, and the check that exists for its mistake is among those that fail.

use contattn_check::suite;
use contattn_check::wrong::{Mistake, Textbook};

#[test]
fn the_right_one_passes_everything() {
    let report = suite::run(&Textbook::right());
    assert!(report.passed(), "{report}");
    let ran = report.results.iter().filter(|r| r.comparisons > 0).count();
    assert_eq!(ran, suite::checks().len() - 2, "all but the two checks of the Taylor rule have cases:\n{report}");
}

#[test]
fn each_mistake_is_caught_by_its_check() {
    let mut missed = Vec::new();
    for mistake in Mistake::ALL {
        let report = suite::run_where(&Textbook::with(mistake), |name| name == mistake.caught_by());
        if report.failed().count() == 0 {
            missed.push(format!("{mistake} by {}", mistake.caught_by()));
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}
