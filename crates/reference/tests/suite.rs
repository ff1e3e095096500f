//! The one suite that every engine runs.

use contattn_check::suite;
use contattn_reference::Reference;

#[test]
fn the_reference_passes() {
    let report = suite::run(&Reference::new());
    assert!(report.passed(), "{report}");
}
