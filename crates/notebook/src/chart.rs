//! Charts: lines, points, filled areas and bars over two axes.

use crate::problem::NotebookError;
use crate::show;
use contattn_figure::{Axis, Layer};

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
    /// What `contattn-figure` reports.
    pub fn png(&self) -> Result<Vec<u8>, NotebookError> {
        Ok(contattn_figure::png(&self.figure())?)
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

    /// As `contattn-figure` draws it.
    fn figure(&self) -> contattn_figure::Chart {
        let axis = |(label, log): &(String, bool)| if *log { Axis::log(label) } else { Axis::new(label) };
        let mut y = axis(&self.y);
        if let Some((low, high)) = self.y_range {
            y = y.range(low, high);
        }
        let figure = contattn_figure::Chart::new(&self.title).caption(&self.caption).x(axis(&self.x)).y(y);
        self.series.iter().fold(figure.sized(SIZE.0, SIZE.1), |figure, drawn| figure.with(drawn.layer()))
    }
}

impl Drawn {
    fn layer(&self) -> Layer {
        let points = self.points.iter().copied();
        match self.mark {
            Mark::Line => Layer::line(&self.name, points),
            Mark::Dashed => Layer::line(&self.name, points).dashed(),
            Mark::Points => Layer::points(&self.name, points),
            Mark::Area => Layer::area(&self.name, points.map(|(x, y)| (x, 0.0, y))),
        }
    }
}
