//! The plain engine passes the suite, and its names are good names.

use contattn_check::suite::{self, Outcome};
use contattn_core::Engine;
use contattn_cpu::Plain;
use std::collections::HashSet;

fn passes(engine: &dyn Engine) {
    let report = suite::run(engine);
    assert!(report.passed(), "{report}");
    let skipped: Vec<&str> = report.results.iter().filter(|r| r.outcome == Outcome::Skipped).map(|r| r.name).collect();
    // Differences of an engine that sums in f32 would test little.
    let expected: &[&str] = if engine.arithmetic().precision() < 53 { &["finite-differences"] } else { &[] };
    assert_eq!(skipped, expected, "{report}");
}

#[test]
fn plain_in_f64() {
    passes(&Plain::<f64>::new());
}

#[test]
fn plain_in_f32() {
    passes(&Plain::<f32>::new());
}

#[test]
fn names_are_distinct_and_plain() {
    let checks = suite::checks();
    let names: HashSet<&str> = checks.iter().map(|check| check.name).collect();
    assert_eq!(names.len(), checks.len());
    for check in &checks {
        let plain = check.name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
        assert!(plain && !check.about.is_empty(), "{check:?}");
    }
}

#[test]
fn reports_are_data() {
    let report = suite::run_where(&Plain::<f64>::new(), |name| name == "one-key");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["results"][0]["name"], "one-key");
    assert_eq!(json["results"][0]["outcome"], "Passed");
}
