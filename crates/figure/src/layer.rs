//! What a chart shows: one layer for each series, rule or note.

use crate::color::{Color, PALETTE};
use crate::histogram::Histogram;

/// The colour of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// the next colour of the palette, in the order of the layers
    #[default]
    Next,
    /// this place of the palette, counted from 0, round and round
    Series(usize),
    /// the colour of axes and texts
    Dark,
    /// stands back behind the series
    Grey,
    /// any colour
    Rgb(Color),
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// a filled circle
    Disc,
    /// a filled square
    Square,
    /// a filled triangle, its tip upwards
    Triangle,
    /// a filled square on its tip
    Diamond,
    /// two strokes
    Cross,
}

/// What a layer draws.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Data {
    /// A line through the points in their order. NaN ends a run; the next number begins another.
    Line(Vec<(f64, f64)>),
    /// Points alone.
    Points(Vec<(f64, f64)>),
    /// Filled between two heights: x, low, high. NaN ends a run.
    Area(Vec<(f64, f64, f64)>),
    /// Bars from zero (on a logarithmic axis: from its end) to a height. Bars of several layers stand side by side.
    Bars(Vec<(f64, f64)>),
    /// Bars between edges.
    Histogram(Histogram),
    /// A line across the chart at one x.
    Vertical(f64),
    /// A line across the chart at one y.
    Horizontal(f64),
    /// The layer's name, written at a point.
    Note(f64, f64),
}

/// One series, rule or note, with how it looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// stands in the legend; beside the line of a rule; a series without a name is not in the legend
    pub name: String,
    /// what is drawn
    pub data: Data,
    /// its colour
    pub ink: Ink,
    /// thickness of lines
    pub width: f64,
    /// broken lines
    pub dashed: bool,
    /// shape of points; `None` on a line leaves its points unmarked
    pub marker: Option<Marker>,
    /// of what is filled, from 0 to 1
    pub opacity: f32,
}

impl Layer {
    fn new(name: impl Into<String>, data: Data) -> Layer {
        Layer { name: name.into(), data, ink: Ink::Next, width: 1.8, dashed: false, marker: None, opacity: 1.0 }
    }

    /// A line through points.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Layer {
        Layer::new(name, Data::Line(points.into_iter().collect()))
    }

    /// Points.
    pub fn points(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Layer {
        Layer::new(name, Data::Points(points.into_iter().collect())).marked(Marker::Disc)
    }

    /// A filled area between two heights at each x: (x, low, high).
    pub fn area(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Layer {
        Layer::new(name, Data::Area(points.into_iter().collect())).opacity(0.3)
    }

    /// Bars at 0, 1, 2, ...
    pub fn bars(name: impl Into<String>, heights: impl IntoIterator<Item = f64>) -> Layer {
        let bars = heights.into_iter().enumerate().map(|(i, height)| (i as f64, height));
        Layer::new(name, Data::Bars(bars.collect()))
    }

    /// Bars at places of their own: (x, height).
    pub fn bars_at(name: impl Into<String>, bars: impl IntoIterator<Item = (f64, f64)>) -> Layer {
        Layer::new(name, Data::Bars(bars.into_iter().collect()))
    }

    /// A histogram.
    pub fn histogram(name: impl Into<String>, histogram: Histogram) -> Layer {
        Layer::new(name, Data::Histogram(histogram)).opacity(0.6)
    }

    /// A rule from bottom to top with its name beside it.
    pub fn vertical(name: impl Into<String>, x: f64) -> Layer {
        Layer { width: 1.2, ..Layer::new(name, Data::Vertical(x)).ink(Ink::Dark).dashed() }
    }

    /// A rule from left to right with its name above it.
    pub fn horizontal(name: impl Into<String>, y: f64) -> Layer {
        Layer { width: 1.2, ..Layer::new(name, Data::Horizontal(y)).ink(Ink::Dark).dashed() }
    }

    /// Words at a point, beginning to the right of it.
    pub fn note(text: impl Into<String>, x: f64, y: f64) -> Layer {
        Layer::new(text, Data::Note(x, y)).ink(Ink::Dark)
    }

    /// The same in another colour.
    #[must_use]
    pub fn ink(self, ink: Ink) -> Layer {
        Layer { ink, ..self }
    }

    /// The same with lines of another thickness.
    #[must_use]
    pub fn width(self, width: f64) -> Layer {
        Layer { width: if width.is_finite() { width.clamp(0.1, 50.0) } else { 1.8 }, ..self }
    }

    /// The same with broken lines.
    #[must_use]
    pub fn dashed(self) -> Layer {
        Layer { dashed: true, ..self }
    }

    /// The same with its points marked.
    #[must_use]
    pub fn marked(self, marker: Marker) -> Layer {
        Layer { marker: Some(marker), ..self }
    }

    /// The same, its fillings more or less transparent.
    #[must_use]
    pub fn opacity(self, opacity: f32) -> Layer {
        Layer { opacity: if opacity.is_nan() { 1.0 } else { opacity.clamp(0.0, 1.0) }, ..self }
    }

    /// Whether the layer takes the next colour of the palette.
    pub(crate) fn takes_color(&self) -> bool {
        self.ink == Ink::Next
    }

    /// The colour, where it is the one at this place of the palette that would be next.
    pub(crate) fn color(&self, next: usize) -> Color {
        match self.ink {
            Ink::Next => PALETTE[next % PALETTE.len()],
            Ink::Series(place) => PALETTE[place % PALETTE.len()],
            Ink::Dark => (40, 40, 40),
            Ink::Grey => (150, 150, 150),
            Ink::Rgb(color) => color,
        }
    }

    /// Whether the layer stands in the legend.
    pub(crate) fn is_listed(&self) -> bool {
        !self.name.is_empty() && !matches!(self.data, Data::Vertical(_) | Data::Horizontal(_) | Data::Note(..))
    }
}
