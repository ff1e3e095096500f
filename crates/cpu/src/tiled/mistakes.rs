//! Mistakes planted in the kernels, each of which the common suite must catch.

use super::segment::{Diffusing, Linear, Mistake, SegmentRule, Shares};
use super::simd::Simd;
use super::{Isa, Options, Tiled};
use contattn_check::suite;
use contattn_core::{
    Dtype, Engine, EngineError, Feature, Gradient, Monitor, Open, Output, Problem, Request, Rule, Upstream,
};
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

/// Whether kernels of the Taylor rule make this mistake.
pub(super) fn makes(mistake: Mistake) -> bool {
    PLANTED.get() == Planted::Kernel(mistake)
}

/// Whether slopes of the Taylor rule are off.
pub(super) fn spoils_slopes() -> bool {
    PLANTED.get() == Planted::Diffusion
}

/// The engine on Taylor rules alone, so that it is these that are found wrong.
struct TaylorAlone(Tiled);

impl Engine for TaylorAlone {
    fn name(&self) -> &str {
        "tiled, taylor alone"
    }
    fn arithmetic(&self) -> Dtype {
        self.0.arithmetic()
    }
    fn supports(&self, feature: Feature) -> bool {
        !matches!(feature, Feature::Rule(Rule::Linear | Rule::Step | Rule::Trapezoid)) && self.0.supports(feature)
    }
    fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
        self.0.forward(problem, request, monitor)
    }
    fn backward(
        &self,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        saved: Option<&Output>,
        request: &Request,
        monitor: &dyn Monitor,
    ) -> Result<Gradient, EngineError> {
        self.0.backward(problem, upstream, saved, request, monitor)
    }
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

/// The checks that fail, of those that take one rule, or Taylor, and no time.
fn failed(planted: Planted, taylor: bool) -> Vec<&'static str> {
    let Ok(engine) = Tiled::open(Options { isa: Some(Isa::Portable), threads: Some(1) }) else { return Vec::new() };
    PLANTED.set(planted);
    let wanted = [
        "combinations-linear",
        "gradients-linear",
        "combinations-taylor",
        "gradients-taylor",
        "tile-borders",
        "sizes",
        "long-sequences",
        "score-differences",
    ];
    let is_wanted = |name: &str| {
        let of_the_other = name.ends_with(if taylor { "-linear" } else { "-taylor" });
        let family = ["family-", "exponential", "huge"].iter().any(|start| name.starts_with(start));
        !of_the_other && (wanted.contains(&name) || family)
    };
    let report =
        if taylor { suite::run_where(&TaylorAlone(engine), is_wanted) } else { suite::run_where(&engine, is_wanted) };
    PLANTED.set(Planted::Nothing);
    report.failed().collect()
}

#[test]
fn the_suite_catches_planted_mistakes() {
    for taylor in [false, true] {
        assert!(failed(Planted::Harmless, taylor).is_empty(), "without a mistake nothing fails");
        let kernel = [Mistake::DroppedCarry, Mistake::WrongNeighbour, Mistake::MissingRescale, Mistake::SkippedTile];
        let planted = kernel.map(Planted::Kernel).into_iter().chain([Planted::Diffusion]);
        for planted in planted {
            let failed = failed(planted, taylor);
            assert!(!failed.is_empty(), "{planted:?} is not caught, Taylor: {taylor}");
        }
    }
}
