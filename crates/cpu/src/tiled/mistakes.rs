//! Mistakes planted in the kernels, each of which the common suite must catch.

use super::segment::{Diffusing, Linear, Mistake, SegmentRule, Shares};
use super::simd::Simd;
use super::{Isa, Options, Tiled};
use contattn_check::suite;
use contattn_core::Open;
use std::cell::Cell;

/// What is planted on this thread.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Planted {
    Nothing,
    /// nothing, by the way that mistakes take
    Harmless,
    Kernel(Mistake),
    /// h is off
    Diffusion,
}

thread_local! {
    static PLANTED: Cell<Planted> = const { Cell::new(Planted::Nothing) };
}

pub(super) fn are_planted() -> bool {
    PLANTED.get() != Planted::Nothing
}

/// Linear, with what is planted.
#[derive(Clone, Copy)]
pub(super) struct Spoilt;

impl SegmentRule for Spoilt {
    const READS_LEFT: bool = true;

    #[inline(always)]
    fn makes(mistake: Mistake) -> bool {
        PLANTED.get() == Planted::Kernel(mistake)
    }

    #[inline(always)]
    fn shares<S: Simd>(s: S, x: S::V, e0: S::V, e1: S::V) -> Shares<S::V> {
        Linear::shares(s, x, e0, e1)
    }

    #[inline(always)]
    fn diffusing<S: Simd>(s: S, x: S::V, e0: S::V, e1: S::V) -> Diffusing<S::V> {
        let mut shares = Linear::diffusing(s, x, e0, e1);
        if PLANTED.get() == Planted::Diffusion {
            shares.diffusion = s.mul(shares.diffusion, s.splat(0.99));
        }
        shares
    }
}

/// The checks that fail, of those that take one rule and no time.
fn failed(planted: Planted, isa: Isa) -> Vec<&'static str> {
    let Ok(engine) = Tiled::open(Options { isa: Some(isa), threads: Some(1) }) else { return Vec::new() };
    PLANTED.set(planted);
    let wanted =
        ["combinations-linear", "gradients-linear", "tile-borders", "sizes", "long-sequences", "score-differences"];
    let report = suite::run_where(&engine, |name| {
        wanted.contains(&name)
            || name.starts_with("family-")
            || name.starts_with("exponential")
            || name.starts_with("huge")
    });
    PLANTED.set(Planted::Nothing);
    report.failed().collect()
}

#[test]
fn the_suite_catches_planted_mistakes() {
    assert!(failed(Planted::Harmless, Isa::Portable).is_empty(), "without a mistake nothing fails");
    let kernel = [Mistake::DroppedCarry, Mistake::WrongNeighbour, Mistake::MissingRescale, Mistake::SkippedTile];
    let planted = kernel.map(Planted::Kernel).into_iter().chain([Planted::Diffusion]);
    for planted in planted {
        let failed = failed(planted, Isa::Portable);
        assert!(!failed.is_empty(), "{planted:?} is not caught");
    }
}
