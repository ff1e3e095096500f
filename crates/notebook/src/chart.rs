//! Charts: lines, points, filled areas and bars over two axes.

use crate::problem::NotebookError;
use crate::show;
use contattn_figure::{Figure, FigureError};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Line,
    Dashed,
    Points,
    Area,
}

#[derive(Clone, Debug, PartialEq)]
struct Drawn {
    name: String,
    mark: Mark,
    points: Vec<(f64, f64)>,
}

/// A figure with a title, a caption under it and named series. What is not finite, or not positive on a logarithmic axis, is left out.
///
/// ```
/// use contattn_notebook::Chart;
/// let x = [1.0, 10.0, 100.0];
/// let chart = Chart::new("Error by n", "it falls as 1/n^2").x("n").y("error").log_x().log_y().line("Linear", &x, &[1e-2, 1e-4, 1e-6]);
/// assert!(chart.png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), contattn_notebook::NotebookError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    title: String,
    caption: String,
    x: (String, bool),
    y: (String, bool),
    series: Vec<Drawn>,
    y_range: Option<(f64, f64)>,
    measured: bool,
}

const SIZE: (u32, u32) = (820, 440);

/// Okabe and Ito's colours, told apart by colour-blind readers.
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

impl Chart {
    /// Without series.
    pub fn new(title: impl Into<String>, caption: impl Into<String>) -> Chart {
        Chart {
            title: title.into(),
            caption: caption.into(),
            x: (String::new(), false),
            y: (String::new(), false),
            series: Vec::new(),
            y_range: None,
            measured: false,
        }
    }

    /// Names the horizontal axis.
    #[must_use]
    pub fn x(mut self, label: impl Into<String>) -> Chart {
        self.x.0 = label.into();
        self
    }

    /// Names the vertical axis.
    #[must_use]
    pub fn y(mut self, label: impl Into<String>) -> Chart {
        self.y.0 = label.into();
        self
    }

    /// Makes the horizontal axis logarithmic.
    #[must_use]
    pub fn log_x(mut self) -> Chart {
        self.x.1 = true;
        self
    }

    /// Makes the vertical axis logarithmic.
    #[must_use]
    pub fn log_y(mut self) -> Chart {
        self.y.1 = true;
        self
    }

    /// Fixes the ends of the vertical axis.
    #[must_use]
    pub fn between(mut self, low: f64, high: f64) -> Chart {
        self.y_range = Some((low, high));
        self
    }

    /// Marks the figure as one that differs from run to run.
    #[must_use]
    pub fn measured(mut self) -> Chart {
        self.measured = true;
        self
    }

    fn add(mut self, mark: Mark, name: &str, x: &[f64], y: &[f64]) -> Chart {
        let points = x.iter().copied().zip(y.iter().copied()).collect();
        self.series.push(Drawn { name: name.to_owned(), mark, points });
        self
    }

    /// Adds points joined by a line.
    #[must_use]
    pub fn line(self, name: &str, x: &[f64], y: &[f64]) -> Chart {
        self.add(Mark::Line, name, x, y)
    }

    /// Adds points joined by a broken line.
    #[must_use]
    pub fn dashed(self, name: &str, x: &[f64], y: &[f64]) -> Chart {
        self.add(Mark::Dashed, name, x, y)
    }

    /// Adds points.
    #[must_use]
    pub fn points(self, name: &str, x: &[f64], y: &[f64]) -> Chart {
        self.add(Mark::Points, name, x, y)
    }

    /// Fills what is between a line and 0.
    #[must_use]
    pub fn area(self, name: &str, x: &[f64], y: &[f64]) -> Chart {
        self.add(Mark::Area, name, x, y)
    }

    /// As a PNG file's bytes.
    ///
    /// # Errors
    /// What the drawing library reports.
    pub fn png(&self) -> Result<Vec<u8>, NotebookError> {
        Ok(contattn_figure::png(self)?)
    }

    fn words(&self) -> String {
        let mark = if self.measured { "‹figure› " } else { "" };
        format!("{mark}{}: {}", self.title, self.caption)
    }

    /// Shows the figure as the result of a cell; evcxr calls this.
    ///
    /// # Panics
    /// Where the drawing library fails.
    pub fn evcxr_display(&self) {
        match self.png() {
            Ok(png) => show::picture(&png, &self.words()),
            Err(error) => panic!("no figure: {error}"),
        }
    }

    /// The place of a number on an axis, if it has one.
    fn place(value: f64, logarithmic: bool) -> Option<f64> {
        let place = if logarithmic { value.log10() } else { value };
        place.is_finite().then_some(place)
    }

    fn placed(&self, drawn: &Drawn) -> Vec<(f64, f64)> {
        let place = |&(x, y): &(f64, f64)| Some((Chart::place(x, self.x.1)?, Chart::place(y, self.y.1)?));
        drawn.points.iter().filter_map(place).collect()
    }

    fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        let all: Vec<(f64, f64)> = self.series.iter().flat_map(|drawn| self.placed(drawn)).collect();
        let range = |numbers: &mut dyn Iterator<Item = f64>| {
            let (low, high) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), t| (l.min(t), h.max(t)));
            if low > high {
                (0.0, 1.0)
            } else if low == high {
                (low - 0.5, high + 0.5)
            } else {
                (low, high)
            }
        };
        let x = range(&mut all.iter().map(|p| p.0));
        let y = match self.y_range {
            Some((low, high)) => {
                (Chart::place(low, self.y.1).unwrap_or(0.0), Chart::place(high, self.y.1).unwrap_or(1.0))
            }
            None => {
                let (low, high) = range(&mut all.iter().map(|p| p.1));
                (low - 0.05 * (high - low), high + 0.08 * (high - low))
            }
        };
        (x, y)
    }
}

fn failed(error: impl std::fmt::Display) -> FigureError {
    FigureError::Drawing(error.to_string())
}

fn tick(place: f64, logarithmic: bool) -> String {
    if logarithmic {
        if (place - place.round()).abs() > 1e-6 {
            return String::new();
        }
        return format!("1e{}", place.round());
    }
    let text = format!("{place:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

impl Figure for Chart {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), FigureError> {
        area.fill(&WHITE).map_err(failed)?;
        let gray = RGBColor(90, 90, 90);
        let title = ("sans-serif", 19.0).into_font();
        area.draw(&Text::new(self.title.as_str(), (14, 8), title)).map_err(failed)?;
        let small = TextStyle::from(("sans-serif", 15.0).into_font()).color(&gray);
        area.draw(&Text::new(self.caption.as_str(), (14, 32), small.clone())).map_err(failed)?;
        let named = self.series.iter().any(|drawn| !drawn.name.is_empty());
        let plot = area.margin(56, 6, 6, if named { 176 } else { 16 });
        let (x, y) = self.ranges();
        let mut chart = ChartBuilder::on(&plot)
            .x_label_area_size(46)
            .y_label_area_size(74)
            .build_cartesian_2d(x.0..x.1, y.0..y.1)
            .map_err(failed)?;
        let label = TextStyle::from(("sans-serif", 14.0).into_font());
        chart
            .configure_mesh()
            .x_desc(self.x.0.as_str())
            .y_desc(self.y.0.as_str())
            .x_label_formatter(&|t| tick(*t, self.x.1))
            .y_label_formatter(&|t| tick(*t, self.y.1))
            .x_labels(9)
            .y_labels(9)
            .label_style(label.clone())
            .axis_desc_style(TextStyle::from(("sans-serif", 15.0).into_font()))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(228, 228, 228))
            .draw()
            .map_err(failed)?;
        for (i, drawn) in self.series.iter().enumerate() {
            let color = COLORS[i % COLORS.len()];
            let points = self.placed(drawn);
            match drawn.mark {
                Mark::Line => {
                    chart.draw_series(LineSeries::new(points, color.stroke_width(2))).map_err(failed)?;
                }
                Mark::Dashed => {
                    chart.draw_series(DashedLineSeries::new(points, 6, 4, color.stroke_width(2))).map_err(failed)?;
                }
                Mark::Points => {
                    let dots = points.into_iter().map(|at| Circle::new(at, 3, color.mix(0.75).filled()));
                    chart.draw_series(dots).map_err(failed)?;
                }
                Mark::Area => {
                    let floor = if self.y.1 { y.0 } else { 0.0 };
                    let area = AreaSeries::new(points, floor, color.mix(0.25)).border_style(color.stroke_width(2));
                    chart.draw_series(area).map_err(failed)?;
                }
            }
            if !drawn.name.is_empty() {
                let (left, top) = (SIZE.0 as i32 - 168, 66 + 22 * i as i32);
                let sample = [(left, top + 3), (left + 18, top + 9)];
                area.draw(&Rectangle::new(sample, color.filled())).map_err(failed)?;
                let words = label.clone().pos(Pos::new(HPos::Left, VPos::Center));
                area.draw(&Text::new(drawn.name.as_str(), (left + 26, top + 6), words)).map_err(failed)?;
            }
        }
        Ok(())
    }
}
