//! Sweeps: one input moved along a line, everything else held, and what attention does meanwhile.
//!
//! A sweep is a family of [`State`]s ([`Sweep::state_at`]), or for [`Kind::Sampling`] of sampled series; each is evaluated by an
//! engine, and curves of its results grow point by point. The figures of finished curves are those of
//! `contattn_check::smoothness`, with positions stretched to [0, 1].

mod evaluate;
mod figure;
mod sampling;
mod scene;

pub use contattn_check::smoothness::Peaks;
pub use figure::{charts, drawn, sheet, table};
pub use sampling::{Sampling, Series};

use crate::logic::source::Source;
use crate::logic::state::{MAX_NODES, State};
use crate::logic::worker::Failure;
use contattn_check::smoothness::{EXCEEDING, excursion, normalised_slope};
use contattn_core::{Engine, Monitor, Rule};
use serde::{Deserialize, Serialize};

/// What is moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// the durations of a token or a span of them, times a factor
    #[default]
    Duration,
    /// a node's key, value or both, along the straight line to another node's
    Interpolation,
    /// from softmax of a to softmax of a + b, by a factor of b
    Continuity,
    /// how finely the curve is sampled, under Step and Trapezoid beside Linear
    Refinement,
    /// the upper edge of the window, through segments
    Edge,
    /// a shift of all times and positions
    Shift,
    /// a scaling of all times and positions
    Scale,
    /// how many samples of one smooth series are taken, evenly, at random and in clusters
    Sampling,
}

impl Kind {
    /// Every kind, in the order shown.
    pub const ALL: [Kind; 8] = [
        Kind::Duration,
        Kind::Interpolation,
        Kind::Continuity,
        Kind::Refinement,
        Kind::Edge,
        Kind::Shift,
        Kind::Scale,
        Kind::Sampling,
    ];

    /// Its name on screen and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Duration => "duration",
            Kind::Interpolation => "interpolation",
            Kind::Continuity => "softmax to continuous",
            Kind::Refinement => "Step to Linear",
            Kind::Edge => "window edge",
            Kind::Shift => "shift of time",
            Kind::Scale => "scale of time",
            Kind::Sampling => "sampling",
        }
    }

    /// One line of what it shows.
    pub const fn about(self) -> &'static str {
        match self {
            Kind::Duration => "The durations of a span of nodes are multiplied by a factor; what follows moves along.",
            Kind::Interpolation => "One node travels on the straight line to another node's key, value or both.",
            Kind::Continuity => {
                "Softmax of a + lambda b: 0 is softmax, 1 is the rule. Node 0 takes part with its score throughout."
            }
            Kind::Refinement => {
                "Segments are cut into m equal parts with interpolated nodes: Step and Trapezoid approach Linear, which stays."
            }
            Kind::Edge => {
                "The window's upper edge moves through the nodes and the segments between them; all nodes are visible."
            }
            Kind::Shift => "All times and positions move by the same amount.",
            Kind::Scale => {
                "All times and positions are multiplied by the same factor: a constant added to every score of a row."
            }
            Kind::Sampling => {
                "One smooth series, sampled in three ways: how far each rule is from the densely sampled answer."
            }
        }
    }

    /// First and last position, and how many, if nothing else is asked.
    pub const fn defaults(self) -> (f64, f64, usize) {
        match self {
            Kind::Duration => (0.0, 2.0, 100),
            Kind::Interpolation => (0.0, 1.0, 40),
            Kind::Continuity => (0.0, 1.0, 50),
            Kind::Refinement => (1.0, 256.0, 9),
            Kind::Edge => (0.0, 1.0, 120), // of the whole time line
            Kind::Shift => (0.0, 10.0, 41),
            Kind::Scale => (0.01, 1.5, 60),
            Kind::Sampling => (8.0, 256.0, 11),
        }
    }

    /// The positions that can be asked for.
    pub const fn limits(self) -> (f64, f64) {
        match self {
            Kind::Duration | Kind::Scale => (0.0, 1e6),
            Kind::Interpolation | Kind::Continuity => (-10.0, 10.0),
            Kind::Refinement => (1.0, 4096.0),
            Kind::Edge => (-1.0, 2.0),
            Kind::Shift => (-1e6, 1e6),
            Kind::Sampling => (2.0, 2048.0),
        }
    }

    /// What its positions measure.
    pub const fn axis(self) -> &'static str {
        match self {
            Kind::Duration => "factor of the durations",
            Kind::Interpolation => "way to the other node",
            Kind::Continuity => "lambda",
            Kind::Refinement => "parts of a segment",
            Kind::Edge => "upper edge, time",
            Kind::Shift => "shift of time",
            Kind::Scale => "factor of time",
            Kind::Sampling => "samples",
        }
    }

    /// Whether positions are powers of two, or as even on a logarithmic axis as whole numbers are.
    pub const fn is_logarithmic(self) -> bool {
        matches!(self, Kind::Refinement | Kind::Sampling)
    }
}

/// Which parts of a node travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Part {
    /// its key
    #[default]
    Key,
    /// its value
    Value,
    /// both, as the embedding that they are made of would
    Embedding,
}

impl Part {
    /// Every choice.
    pub const ALL: [Part; 3] = [Part::Key, Part::Value, Part::Embedding];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Key => "key",
            Part::Value => "value",
            Part::Embedding => "embedding",
        }
    }
}

/// The most points of a curve.
pub const MAX_POINTS: usize = 2000;

/// A sweep with all its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sweep {
    /// what is moved
    pub kind: Kind,
    /// first position
    pub from: f64,
    /// last position
    pub to: f64,
    /// how many positions, both ends among them
    pub points: usize,
    /// first node of the span, or the node that travels; counted from 1
    pub first: usize,
    /// last node of the span, or the node that it travels to
    pub last: usize,
    /// what travels
    pub part: Part,
    /// whether positions turn the queries and keys of the head (rotary embedding) when time is shifted or scaled
    pub rotary: bool,
    /// the series of [`Kind::Sampling`]
    pub series: Series,
}

impl Default for Sweep {
    fn default() -> Sweep {
        Sweep::of(Kind::default())
    }
}

impl Sweep {
    /// A sweep of this kind as it is if nothing else is asked.
    pub fn of(kind: Kind) -> Sweep {
        let (from, to, points) = kind.defaults();
        // The first screen's row has its peak at the last of these.
        let (first, last) = if kind == Kind::Duration { (10, 11) } else { (2, 3) };
        Sweep { kind, from, to, points, first, last, part: Part::Key, rotary: false, series: Series::default() }
    }

    /// The same with every setting in its range for a row of this many nodes, node 0 among them.
    #[must_use]
    pub fn within(mut self, nodes: usize) -> Sweep {
        let (least, most) = self.kind.limits();
        let (from, to, points) = self.kind.defaults();
        let usable = |x: f64, instead: f64| if x.is_finite() { x.clamp(least, most) } else { instead };
        (self.from, self.to) = (usable(self.from, from), usable(self.to, to));
        if self.from >= self.to {
            (self.from, self.to) = (from, to);
        }
        self.points = if self.points < 2 { points } else { self.points.min(MAX_POINTS) };
        let last = nodes.saturating_sub(1).max(1);
        (self.first, self.last) = (self.first.clamp(1, last), self.last.clamp(1, last));
        if self.kind == Kind::Duration && self.first > self.last {
            (self.first, self.last) = (self.last, self.first);
        }
        if self.kind == Kind::Interpolation && self.first == self.last && last > 1 {
            self.last = if self.first > 1 { self.first - 1 } else { 2 };
        }
        self.series = self.series.within();
        self
    }

    /// The positions, rising.
    pub fn positions(&self, state: &State) -> Vec<f64> {
        let steps = self.points.max(2) - 1;
        let even = |i: usize| {
            let t = i as f64 / steps as f64;
            if i == steps { self.to } else { self.from * (1.0 - t) + self.to * t }
        };
        match self.kind {
            Kind::Refinement | Kind::Sampling => {
                let at = |i: usize| {
                    let t = i as f64 / steps as f64;
                    (self.from.ln() * (1.0 - t) + self.to.ln() * t).exp().round()
                };
                let most = if self.kind == Kind::Refinement { scene::most_parts(state) as f64 } else { f64::MAX };
                let mut positions: Vec<f64> = (0..=steps).map(at).map(|x| x.clamp(1.0, most)).collect();
                positions.dedup();
                positions
            }
            Kind::Edge => {
                let (start, end) = (state.row.times[0], state.row.times[state.row.len() - 1]);
                let mut positions: Vec<f64> = (0..=steps).map(|i| start + even(i) * (end - start)).collect();
                positions.dedup();
                positions
            }
            // Multiples of 2^-8, with which durations of up to 44 bits are scaled without a rounding error.
            Kind::Scale => {
                let mut positions: Vec<f64> =
                    (0..=steps).map(|i| ((even(i) * 256.0).round() / 256.0).max(1.0 / 256.0)).collect();
                positions.dedup();
                positions
            }
            _ => (0..=steps).map(even).collect(),
        }
    }

    /// The state at one position, for the other views; [`Kind::Sampling`] gives the samples as a row.
    ///
    /// # Errors
    /// Where the state cannot have it.
    pub fn state_at(&self, state: &State, source: &Source, position: f64) -> Result<State, Failure> {
        let mut at = scene::state_at(self, state, source, position)?;
        at.row.edited = true;
        at.check().map_err(|error| Failure::new(error, "choose another point"))?;
        Ok(at)
    }

    /// Evaluates the whole sweep, handing over what there is after every point.
    ///
    /// # Errors
    /// Cancellation; a point that cannot be evaluated.
    pub fn run(
        &self,
        state: &State,
        source: &Source,
        engine: &dyn Engine,
        monitor: &dyn Monitor,
        grown: &mut dyn FnMut(&Swept),
    ) -> Result<Swept, Failure> {
        let mut swept = match self.kind {
            Kind::Refinement => evaluate::refinement(self, state, engine, monitor, grown)?,
            Kind::Sampling => sampling::run(&self.series, &self.positions(state), engine, monitor, grown)?,
            _ => evaluate::states(self, state, source, engine, monitor, grown)?,
        };
        swept.finish(self.span(state));
        Ok(swept)
    }

    /// How many competitors a share of peaks counts: the length of the span that is stretched, or all visible nodes.
    fn span(&self, state: &State) -> usize {
        if self.kind == Kind::Duration {
            self.last + 1 - self.first
        } else {
            state.row.len() - usize::from(!state.has_sink())
        }
    }
}

/// One quantity along a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// what it is
    pub name: String,
    /// one number for each position done
    pub y: Vec<f64>,
    /// drawn beside the others for comparison
    pub faint: bool,
    /// its figures, once it is finished; none for faint ones
    pub figures: Option<Figures>,
}

/// How smooth a curve is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// normalised slope; `None` for a constant
    pub slope: Option<f64>,
    /// m_max
    pub excursion: f64,
}

impl Figures {
    /// Whether the excursion counts as leaving the interval between the end values.
    pub fn exceeds(&self) -> bool {
        self.excursion >= EXCEEDING
    }
}

/// Curves over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// what they show
    pub title: String,
    /// what is measured upwards
    pub axis: &'static str,
    /// whether both axes are logarithmic
    pub logarithmic: bool,
    /// the curves
    pub curves: Vec<Curve>,
    /// which of the curves compete, by their place; peaks are counted among them
    pub competing: std::ops::Range<usize>,
    /// the peaks and how many competitors a share counts, once finished
    pub peaks: Option<(Peaks, usize)>,
}

/// What has come of a sweep so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    /// which
    pub sweep: Sweep,
    /// positions done
    pub x: Vec<f64>,
    /// how many there will be
    pub planned: usize,
    /// what is plotted
    pub plots: Vec<Plot>,
    /// name of the engine
    pub engine: String,
    /// what has to be known to read it
    pub notes: Vec<String>,
}

impl Swept {
    /// Whether every position is done.
    pub fn is_complete(&self) -> bool {
        self.x.len() == self.planned
    }

    fn finish(&mut self, competitors: usize) {
        let (Some(first), Some(last)) = (self.x.first().copied(), self.x.last().copied()) else { return };
        let unit: Vec<f64> = self.x.iter().map(|x| (x - first) / (last - first)).collect();
        let measured = !self.sweep.kind.is_logarithmic();
        for plot in &mut self.plots {
            for curve in plot.curves.iter_mut().filter(|curve| measured && !curve.faint) {
                // A curve with a gap has no figures.
                let slope = normalised_slope(&unit, &curve.y);
                let leaves = excursion(&curve.y);
                curve.figures = slope.ok().zip(leaves.ok()).map(|(slope, excursion)| Figures { slope, excursion });
            }
            let lists: Vec<Vec<f64>> =
                plot.curves[plot.competing.clone()].iter().map(|curve| curve.y.clone()).collect();
            plot.peaks = Peaks::among(&lists).ok().map(|peaks| (peaks, competitors));
        }
    }
}

/// Rules that a view compares, with the names that people use.
pub(crate) const COMPARED: [(Rule, &str); 3] =
    [(Rule::Step, "Step"), (Rule::Trapezoid, "Trapezoid"), (Rule::Linear, "Linear")];

const _: () = assert!(MAX_NODES > 4096, "scenes of refined rows fit into a state");

#[cfg(test)]
mod tests;
