//! The plain engine passes the suite.

use contattn_check::suite;
use contattn_cpu::Plain;

#[test]
fn plain_in_f64() {
    let start = std::time::Instant::now();
    let report = suite::run(&Plain::<f64>::new());
    eprintln!("{report}{:?}", start.elapsed());
    assert!(report.passed());
}

#[test]
fn plain_in_f32() {
    let start = std::time::Instant::now();
    let report = suite::run(&Plain::<f32>::new());
    eprintln!("{report}{:?}", start.elapsed());
    assert!(report.passed());
}
