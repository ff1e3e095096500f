//! The tiled engine on every back end of this machine: the common suite, sizes around the edges of tiles, identical bits for any
//! number of threads.

use contattn_check::suite;
use contattn_core::Open;
use contattn_cpu::Tiled;
use contattn_cpu::tiled::{Isa, Options};

fn suite_on(isa: Isa) {
    if !isa.is_available() {
        return;
    }
    let engine = Tiled::open(Options { isa: Some(isa), threads: None }).unwrap();
    let report = suite::run(&engine);
    assert!(report.passed(), "{isa}: {report}");
}

#[test]
fn the_suite_on_avx512() {
    suite_on(Isa::Avx512);
}

#[test]
fn the_suite_on_avx2() {
    suite_on(Isa::Avx2);
}

#[test]
fn the_suite_on_portable_vectors() {
    suite_on(Isa::Portable);
}
