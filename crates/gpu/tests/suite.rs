//! The common suite on the portable kernels; with the feature `long-tests`, on every variant of them, and with buffers so small that
//! everything is split.

mod software;

use contattn_check::suite;
use contattn_gpu::Variant;

fn suite_on(variant: Variant) {
    let Some(engine) = software::variant(&format!("the suite, {}", variant.name()), variant) else { return };
    let report = suite::run(&engine);
    assert!(report.passed(), "{}: {report}", variant.name());
}

#[test]
fn the_suite_on_portable_kernels() {
    suite_on(Variant::Portable);
}

#[cfg(feature = "long-tests")]
mod long {
    use super::{software, suite_on};
    use contattn_check::suite;
    use contattn_gpu::{Options, Variant};

    #[test]
    fn the_suite_on_kernels_with_subgroups() {
        suite_on(Variant::Subgroups);
    }

    #[test]
    fn the_suite_on_wide_kernels() {
        suite_on(Variant::Wide);
    }

    /// A buffer holds 4 KiB: heads lie in blocks of their own, keys of a head in several.
    #[test]
    fn the_suite_in_small_blocks() {
        let options = Options { variant: Some(Variant::Portable), largest_buffer: Some(4096), ..Options::default() };
        let Some(engine) = software::open("the suite in small blocks", options) else { return };
        let wanted = ["combinations", "gradients", "packing", "sizes", "tile", "grouped", "shapes"];
        let report = suite::run_where(&engine, |name| wanted.iter().any(|w| name.contains(w)));
        assert!(report.passed(), "{report}");
    }
}
