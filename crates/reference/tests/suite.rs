//! The one suite that every engine runs.

use contattn_check::suite;
use contattn_reference::Reference;

/// All checks but the one in which scores past the largest `f64` are held at it: here they are exact, so that where one
/// neighbour's score is 1e400 above, b is past the largest `f64` too and not -infinity.
#[test]
fn the_reference_passes() {
    let report = suite::run_where(&Reference::new(), |check| check != "finite-in-finite-out");
    assert!(report.passed(), "{report}");
}
