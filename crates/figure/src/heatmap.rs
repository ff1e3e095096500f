//! A matrix as cells of colour.

use crate::FigureError;
use crate::color::ColorScale;
use crate::picture::{Anchor, Picture, Shape};
use crate::text::text_width;

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
const LABEL: f64 = 12.0;

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

    pub(crate) fn picture(&self, scale: &ColorScale) -> Picture {
        const DARK: (u8, u8, u8) = (40, 40, 40);
        let ((width, height), (left, above)) = (self.field(), self.margins());
        let size = self.size();
        let mut picture = Picture::new(size.0, size.1);
        let (left, top) = (f64::from(left), f64::from(above + TITLE));
        picture.text((left, 8.5), self.title.as_str(), 14.0, DARK, Anchor::Start);
        let (rows, columns) = self.matrix.shape();
        // One cell of the picture for each of the matrix, or for each unit where cells are smaller than that.
        let (down, across) = (rows.min(height as usize), columns.min(width as usize));
        let block = |i: usize, of: usize, n: usize| i * n / of..((i + 1) * n / of).max(i * n / of + 1);
        let mut pixels = Vec::with_capacity(3 * down * across);
        for y in 0..down {
            for x in 0..across {
                let (r, g, b) = scale.color(self.matrix.block(block(y, down, rows), block(x, across, columns)));
                pixels.extend([r, g, b]);
            }
        }
        let size = (f64::from(width), f64::from(height));
        picture.shapes.push(Shape::Image { at: (left, top), size, columns: across as u32, pixels });
        picture.frame((left - 1.0, top - 1.0), (size.0 + 2.0, size.1 + 2.0), (120, 120, 120));
        let center = |i: usize, of: usize, length: f64| (i as f64 + 0.5) * length / of as f64;
        for (i, name) in self.row_labels.iter().take(rows).enumerate() {
            let at = (left - 5.0, top + center(i, rows, size.1));
            picture.text(at, name.as_str(), LABEL, DARK, Anchor::End);
        }
        for (i, name) in self.column_labels.iter().take(columns).enumerate() {
            let at = (left + center(i, columns, size.0), top - 5.0);
            picture.text_upwards(at, name.as_str(), LABEL, DARK, Anchor::Start);
        }
        picture
    }
}
