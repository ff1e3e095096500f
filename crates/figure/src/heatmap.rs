//! A matrix as cells of colour.

use crate::canvas::text_width;
use crate::color::{ColorScale, MASKED};
use crate::{FigureError, drawing};
use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend, RGBColor, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontTransform, IntoFont, TextStyle};

/// Numbers in row-major order. NaN and infinities are cells that hold no number.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// `values` read row by row.
    ///
    /// # Errors
    /// [`FigureError::Shape`] where the number of values is not rows x columns.
    pub fn new(rows: usize, columns: usize, values: Vec<f64>) -> Result<Matrix, FigureError> {
        if rows.checked_mul(columns) != Some(values.len()) {
            return Err(FigureError::Shape { rows, columns, found: values.len() });
        }
        Ok(Matrix { rows, columns, values })
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// All numbers.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The largest distance from 0 among the finite numbers; 0 where there is none.
    pub fn largest(&self) -> f64 {
        self.values.iter().filter(|x| x.is_finite()).fold(0.0, |m, x| m.max(x.abs()))
    }

    /// Mean of the finite numbers in a block of cells; NaN where there is none.
    fn block(&self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> f64 {
        let (mut sum, mut count) = (0.0, 0u32);
        for row in rows {
            for x in &self.values[row * self.columns..][columns.clone()] {
                if x.is_finite() {
                    sum += x;
                    count += 1;
                }
            }
        }
        if count == 0 { f64::NAN } else { sum / f64::from(count) }
    }
}

/// A titled matrix, with names for its rows and columns where there are any.
#[derive(Clone, Debug, PartialEq)]
pub struct Heatmap {
    /// what it shows
    pub matrix: Matrix,
    /// stands above it
    pub title: String,
    /// names of the rows, or none
    pub row_labels: Vec<String>,
    /// names of the columns, or none
    pub column_labels: Vec<String>,
    /// pixels of one cell
    pub cell: u32,
}

pub(crate) const TITLE: u32 = 18;
const LABEL: f64 = 13.0;

impl Heatmap {
    /// A map without names, its cells as large as fit a side of about 200 pixels, but at least one pixel for every cell up to 1024.
    pub fn new(matrix: Matrix) -> Heatmap {
        let side = matrix.rows.max(matrix.columns).max(1) as u32;
        Heatmap {
            matrix,
            title: String::new(),
            row_labels: Vec::new(),
            column_labels: Vec::new(),
            cell: (208 / side).clamp(1, 24),
        }
    }

    /// The same with a title.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Heatmap {
        self.title = title.into();
        self
    }

    /// The same with names; a list that is shorter than its axis names the first ones.
    #[must_use]
    pub fn labelled(mut self, rows: Vec<String>, columns: Vec<String>) -> Heatmap {
        (self.row_labels, self.column_labels) = (rows, columns);
        self
    }

    /// The same with cells of this many pixels.
    #[must_use]
    pub fn with_cells_of(mut self, pixels: u32) -> Heatmap {
        self.cell = pixels.max(1);
        self
    }

    /// Pixels of the cells alone: at most 1024 each way, beyond which several cells share a pixel, which shows their mean.
    pub(crate) fn field(&self) -> (u32, u32) {
        let side = |n: usize| (n as u64 * u64::from(self.cell)).clamp(1, 1024) as u32;
        (side(self.matrix.columns), side(self.matrix.rows))
    }

    fn margins(&self) -> (u32, u32) {
        let longest = |labels: &[String]| labels.iter().map(|l| text_width(l, LABEL)).max().unwrap_or(0);
        let room = |labels: &[String]| if labels.is_empty() { 0 } else { 10 + longest(labels) };
        (room(&self.row_labels), room(&self.column_labels))
    }

    /// Pixels of cells, names and title.
    pub(crate) fn size(&self) -> (u32, u32) {
        let ((width, height), (left, top)) = (self.field(), self.margins());
        (width + left, height + top + TITLE)
    }

    pub(crate) fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        scale: &ColorScale,
    ) -> Result<(), FigureError> {
        let ((width, height), (left, above)) = (self.field(), self.margins());
        let (left, top) = (left as i32, (above + TITLE) as i32);
        let title = TextStyle::from(("sans-serif", 15.0).into_font());
        area.draw(&Text::new(self.title.as_str(), (left, 1), title)).map_err(drawing)?;
        let (rows, columns) = self.matrix.shape();
        // One box for each cell, or for each pixel where cells are smaller than that.
        let (down, across) = (rows.min(height as usize), columns.min(width as usize));
        let edge = |i: usize, of: usize, pixels: u32| (i * pixels as usize / of) as i32;
        for y in 0..down {
            for x in 0..across {
                let block = |i: usize, of: usize, n: usize| i * n / of..((i + 1) * n / of).max(i * n / of + 1);
                let value = self.matrix.block(block(y, down, rows), block(x, across, columns));
                let (r, g, b) = scale.color(value);
                let corners = [
                    (left + edge(x, across, width), top + edge(y, down, height)),
                    (left + edge(x + 1, across, width), top + edge(y + 1, down, height)),
                ];
                area.draw(&Rectangle::new(corners, RGBColor(r, g, b).filled())).map_err(drawing)?;
            }
        }
        let frame = [(left - 1, top - 1), (left + width as i32, top + height as i32)];
        area.draw(&Rectangle::new(frame, RGBColor(120, 120, 120).stroke_width(1))).map_err(drawing)?;
        let label = || TextStyle::from(("sans-serif", LABEL).into_font());
        let center = |i: usize, of: usize, pixels: u32| ((2 * i + 1) * pixels as usize / (2 * of)) as i32;
        for (i, name) in self.row_labels.iter().take(rows).enumerate() {
            let style = label().pos(Pos::new(HPos::Right, VPos::Center));
            let at = (left - 5, top + center(i, rows, height));
            area.draw(&Text::new(name.as_str(), at, style)).map_err(drawing)?;
        }
        for (i, name) in self.column_labels.iter().take(columns).enumerate() {
            let font = ("sans-serif", LABEL).into_font().transform(FontTransform::Rotate270);
            let style = TextStyle::from(font).pos(Pos::new(HPos::Left, VPos::Center));
            let at = (left + center(i, columns, width), top - 5);
            area.draw(&Text::new(name.as_str(), at, style)).map_err(drawing)?;
        }
        Ok(())
    }
}

/// The swatch that explains [`MASKED`] in legends.
pub(crate) fn masked() -> RGBColor {
    RGBColor(MASKED.0, MASKED.1, MASKED.2)
}
