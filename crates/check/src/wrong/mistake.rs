//! The catalogue of mistakes.

use std::fmt;

/// One thing done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mistake {
    /// The segment that joins two tiles of 64 nodes is forgotten.
    DroppedCarry,
    /// The score of the node after the right one stands in for the right one's.
    WrongNeighbour,
    /// Masked nodes keep their segments and get the score -10^4.
    ScoreMask,
    /// Under Step a masked node takes the segment behind it along.
    StepMaskBehind,
    /// dL/da lacks the diffusion h (G_1 - G_0).
    NoDiffusion,
    /// Row r sits at node r + 1, whatever the number of nodes.
    TopLeft,
    /// R = mass - L also where |x| >= 1.
    MassMinusLeft,
    /// (expm1(x) - x)/x^2 without a series.
    NaivePhi,
    /// Exponentials are anchored at the left node: e^x overflows.
    LeftAnchor,
    /// The row's maximum starts at -50000.
    Sentinel,
    /// Gradients of grouped heads go to key/value head `head % kv_heads`.
    GradientHead,
    /// dL/dD lacks the window's moving edges.
    NoMovingEdge,
    /// The gradient of a copied sink is dropped.
    CopyGradientLost,
    /// Every duration is taken to be 1.
    DurationsIgnored,
    /// Documents are not told apart.
    DocumentsIgnored,
    /// o sums w v over all nodes, hidden ones with weight 0 included.
    HiddenTimesZero,
    /// A sliding window is one unit too wide.
    WindowOffByOne,
    /// b has the wrong sign.
    BiasSign,
    /// lse is that of the sum before its last term.
    StaleLse,
    /// Sums are kept in f32 by an engine that claims f64.
    ShortSums,
    /// Strides are ignored: data is read as if it were contiguous.
    StridesIgnored,
    /// A row without measure gives NaN: 0/0.
    ZeroOverZero,
    /// The constant curve outside the nodes is left out.
    EndsNotHeld,
    /// A cut segment is given its share of the whole one's L and R.
    CutByLength,
    /// The upstream gradient of lse is ignored.
    LseGradientLost,
    /// The monitor is never asked.
    Uncancellable,
    /// A feature that it says it lacks is ignored instead of refused.
    SilentlyUnsupported,
    /// Results are cut to bfloat16 instead of rounded.
    Truncated,
    /// A row that sees nothing gets the mean of all values, as scores of -10^9 would give it.
    EmptyRowAverages,
    /// Times are counted from tau_0, query times and edges are not.
    TimesFromStart,
    /// lse lacks the maximum that was taken out of the exponentials.
    LseWithoutMaximum,
    /// Every other call is off by one unit in the last place, as sums in changing order are.
    Unrepeatable,
    /// Progress is reported beyond its total.
    ProgressOverruns,
}

impl Mistake {
    /// Every mistake.
    pub const ALL: [Mistake; 33] = [
        Mistake::DroppedCarry,
        Mistake::WrongNeighbour,
        Mistake::ScoreMask,
        Mistake::StepMaskBehind,
        Mistake::NoDiffusion,
        Mistake::TopLeft,
        Mistake::MassMinusLeft,
        Mistake::NaivePhi,
        Mistake::LeftAnchor,
        Mistake::Sentinel,
        Mistake::GradientHead,
        Mistake::NoMovingEdge,
        Mistake::CopyGradientLost,
        Mistake::DurationsIgnored,
        Mistake::DocumentsIgnored,
        Mistake::HiddenTimesZero,
        Mistake::WindowOffByOne,
        Mistake::BiasSign,
        Mistake::StaleLse,
        Mistake::ShortSums,
        Mistake::StridesIgnored,
        Mistake::ZeroOverZero,
        Mistake::EndsNotHeld,
        Mistake::CutByLength,
        Mistake::LseGradientLost,
        Mistake::Uncancellable,
        Mistake::SilentlyUnsupported,
        Mistake::Truncated,
        Mistake::EmptyRowAverages,
        Mistake::TimesFromStart,
        Mistake::LseWithoutMaximum,
        Mistake::Unrepeatable,
        Mistake::ProgressOverruns,
    ];

    /// The check that exists to catch it.
    pub const fn caught_by(self) -> &'static str {
        match self {
            Mistake::DroppedCarry => "tile-borders",
            Mistake::WrongNeighbour => "combinations-linear",
            Mistake::ScoreMask => "mask-removes-segments",
            Mistake::StepMaskBehind => "combinations-step",
            Mistake::NoDiffusion => "gradients-linear",
            Mistake::TopLeft => "bottom-right",
            Mistake::MassMinusLeft => "family-alternating-spikes",
            Mistake::NaivePhi => "score-differences",
            Mistake::LeftAnchor => "exponential-range",
            Mistake::Sentinel => "low-scores",
            Mistake::GradientHead => "grouped-heads",
            Mistake::NoMovingEdge => "gradient-of-durations",
            Mistake::CopyGradientLost => "gradient-of-sink",
            Mistake::DurationsIgnored => "family-irregular-times",
            Mistake::DocumentsIgnored => "documents-do-not-mix",
            Mistake::HiddenTimesZero => "hidden-nan",
            Mistake::WindowOffByOne => "window-edges",
            Mistake::BiasSign => "combinations-linear",
            Mistake::StaleLse => "softmax",
            Mistake::ShortSums => "family-gauss",
            Mistake::StridesIgnored => "layouts",
            Mistake::ZeroOverZero => "zero-measure",
            Mistake::EndsNotHeld => "held-ends",
            Mistake::CutByLength => "cut-segments",
            Mistake::LseGradientLost => "gradient-of-lse",
            Mistake::Uncancellable => "cancellation",
            Mistake::SilentlyUnsupported => "unsupported",
            Mistake::Truncated => "types",
            Mistake::EmptyRowAverages => "nothing-visible",
            Mistake::TimesFromStart => "shift-time",
            Mistake::LseWithoutMaximum => "shift-scores",
            Mistake::Unrepeatable => "repeatable",
            Mistake::ProgressOverruns => "progress",
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
