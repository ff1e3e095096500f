//! Charts: layers over two axes.

mod draw;
mod legend;

pub use draw::Field;

use crate::axis::{Axis, Scale, Span};
use crate::layer::{Data, Layer};
use crate::picture::Picture;
use crate::table::Row;
use crate::{Figure, text};

/// Layers over two axes, under a title.
///
/// ```
/// use contattn_figure::{Axis, Chart, Layer, Marker, svg};
///
/// let error = (1..9).map(|m| (f64::from(m), 7.7f64.powi(-m)));
/// let chart = Chart::new("Taylor series against the exact bias")
///     .x(Axis::new("order"))
///     .y(Axis::log("largest error"))
///     .with(Layer::line("|x| = 1", error).marked(Marker::Disc))
///     .with(Layer::horizontal("rounding of f32", 6e-8));
/// assert!(svg(&chart)?.contains("rounding of f32"));
/// # Ok::<(), contattn_figure::FigureError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// stands above all
    pub title: String,
    /// smaller, under the title; wrapped to the width
    pub caption: String,
    /// from left to right
    pub x: Axis,
    /// from bottom to top
    pub y: Axis,
    /// from bottom to top
    pub layers: Vec<Layer>,
    /// whether names of series stand above the chart
    pub legend: bool,
    /// width and height of the whole
    pub size: (u32, u32),
}

impl Chart {
    /// A chart without layers, 560 by 380 units.
    pub fn new(title: impl Into<String>) -> Chart {
        Chart {
            title: title.into(),
            caption: String::new(),
            x: Axis::default(),
            y: Axis::default(),
            layers: Vec::new(),
            legend: true,
            size: (560, 380),
        }
    }

    /// The same with words under the title.
    #[must_use]
    pub fn caption(self, caption: impl Into<String>) -> Chart {
        Chart { caption: caption.into(), ..self }
    }

    /// The same with another horizontal axis.
    #[must_use]
    pub fn x(self, x: Axis) -> Chart {
        Chart { x, ..self }
    }

    /// The same with another vertical axis.
    #[must_use]
    pub fn y(self, y: Axis) -> Chart {
        Chart { y, ..self }
    }

    /// The same with one more layer on top.
    #[must_use]
    pub fn with(mut self, layer: Layer) -> Chart {
        self.layers.push(layer);
        self
    }

    /// The same without a legend.
    #[must_use]
    pub fn without_legend(self) -> Chart {
        Chart { legend: false, ..self }
    }

    /// The same in another size. What is too small to hold axes is drawn at 120 by 100.
    #[must_use]
    pub fn sized(self, width: u32, height: u32) -> Chart {
        Chart { size: (width, height), ..self }
    }

    /// Where the chart's numbers lie on its picture.
    pub fn field(&self) -> Field {
        draw::picture(self).1
    }

    /// Room that one group of bars takes along the horizontal axis: the smallest distance of two places.
    fn slot(&self) -> f64 {
        let mut places: Vec<f64> = self
            .layers
            .iter()
            .filter_map(|layer| match &layer.data {
                Data::Bars(bars) => Some(bars.iter().map(|bar| bar.0).filter(|x| x.is_finite())),
                _ => None,
            })
            .flatten()
            .collect();
        places.sort_by(f64::total_cmp);
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0 && gap.is_finite());
        let slot = gaps.fold(f64::INFINITY, f64::min);
        if slot.is_finite() { slot } else { 1.0 }
    }

    /// Both axes with their ends.
    fn spans(&self) -> (Span, Span) {
        let half = 0.5 * self.slot();
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        let mut from_zero = false;
        for layer in &self.layers {
            match &layer.data {
                Data::Line(points) | Data::Points(points) => {
                    // A point without a place on either axis stretches neither.
                    for (x, y) in points.iter().filter(|(x, y)| !x.is_nan() && !y.is_nan()) {
                        xs.push(*x);
                        ys.push(*y);
                    }
                }
                Data::Area(points) => {
                    for (x, low, high) in
                        points.iter().filter(|(x, low, high)| !x.is_nan() && !low.is_nan() && !high.is_nan())
                    {
                        xs.push(*x);
                        ys.extend([*low, *high]);
                    }
                }
                Data::Bars(bars) => {
                    from_zero = true;
                    for (x, y) in bars {
                        xs.extend([x - half, x + half]);
                        ys.push(*y);
                    }
                }
                Data::Histogram(histogram) => {
                    from_zero = true;
                    xs.extend(&histogram.edges);
                    ys.extend(&histogram.heights);
                }
                Data::Vertical(x) => xs.push(*x),
                Data::Horizontal(y) => ys.push(*y),
                Data::Note(x, y) => {
                    xs.push(*x);
                    ys.push(*y);
                }
            }
        }
        if from_zero {
            ys.push(0.0);
        }
        let x = self.x.fitted(xs.into_iter());
        let (all_above, all_below) = (!ys.iter().any(|y| *y < 0.0), !ys.iter().any(|y| *y > 0.0));
        let mut y = self.y.fitted(ys.into_iter());
        // Bars stand on the axis, not above it.
        if from_zero && y.scale == Scale::Linear && self.y.range.is_none() && all_above != all_below {
            (y.low, y.high) = if all_above { (0.0, y.high) } else { (y.low, 0.0) };
        }
        (x, y)
    }
}

impl Figure for Chart {
    fn size(&self) -> (u32, u32) {
        (self.size.0.max(120), self.size.1.max(100))
    }

    fn picture(&self) -> Picture {
        draw::picture(self).0
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let name = |names: &[String], x: f64| {
            let place = if x >= 0.0 && x.fract() == 0.0 { names.get(x as usize) } else { None };
            place.cloned().unwrap_or_default()
        };
        for layer in &self.layers {
            let row = |kind| Row { panel: self.title.clone(), series: layer.name.clone(), kind, ..Row::default() };
            let point = |kind, x: f64, y: f64| Row {
                x: Some(x),
                y: Some(y),
                x_name: name(&self.x.names, x),
                y_name: name(&self.y.names, y),
                ..row(kind)
            };
            match &layer.data {
                Data::Line(points) => rows.extend(points.iter().map(|(x, y)| point("line", *x, *y))),
                Data::Points(points) => rows.extend(points.iter().map(|(x, y)| point("point", *x, *y))),
                Data::Bars(bars) => rows.extend(bars.iter().map(|(x, y)| point("bar", *x, *y))),
                Data::Area(points) => rows.extend(points.iter().map(|(x, low, high)| Row {
                    x: Some(*x),
                    low: Some(*low),
                    high: Some(*high),
                    ..row("area")
                })),
                Data::Histogram(histogram) => {
                    let bins = histogram.edges.windows(2).zip(&histogram.heights);
                    rows.extend(bins.map(|(edges, height)| Row {
                        y: Some(*height),
                        low: Some(edges[0]),
                        high: Some(edges[1]),
                        ..row("bin")
                    }));
                }
                Data::Vertical(x) => rows.push(Row { x: Some(*x), ..row("rule") }),
                Data::Horizontal(y) => rows.push(Row { y: Some(*y), ..row("rule") }),
                Data::Note(x, y) => rows.push(point("note", *x, *y)),
            }
        }
        rows
    }
}

/// Words in lines no wider than a width; a word that is wider has a line of its own.
pub(crate) fn wrapped(words: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text::text_extent(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
