//! Mistakes planted in the kernels, each of which the common suite must catch.

/// The number of the mistake that kernels of this thread make; 0 for none, as everywhere but in a test.
#[cfg(not(test))]
pub(crate) const fn planted() -> usize {
    0
}

#[cfg(test)]
pub(crate) use planting::planted;

#[cfg(test)]
mod planting {
    use crate::source::MISTAKES;
    use crate::{Choice, Gpu, Options, Variant};
    use contattn_check::suite;
    use contattn_core::Open;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn planted() -> usize {
        PLANTED.get()
    }

    #[test]
    fn the_suite_catches_planted_mistakes() {
        let options = Options { adapter: Choice::Software, variant: Some(Variant::Portable), ..Options::default() };
        let Some(engine) = crate::tests::or_skip("mistakes", Gpu::open(options)) else { return };
        let wanted = ["combinations-linear", "gradients-linear", "tile-borders", "sizes", "score-differences"];
        let failed = |mistake| -> Vec<&'static str> {
            PLANTED.set(mistake);
            let report = suite::run_where(&engine, |name| wanted.contains(&name));
            PLANTED.set(0);
            report.failed().collect()
        };
        assert!(failed(0).is_empty(), "without a mistake nothing fails");
        for mistake in 1..=MISTAKES {
            assert!(!failed(mistake).is_empty(), "mistake {mistake} is not caught");
        }
    }
}
