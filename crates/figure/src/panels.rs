//! Several figures on one sheet.

use crate::Figure;
use crate::chart::wrapped;
use crate::picture::{Anchor, Picture};
use crate::table::Row;
use crate::text::text_width;
use std::sync::Arc;

/// Figures in a grid under a title. A column is as wide as its widest figure, a row as high as its highest.
#[derive(Clone)]
pub struct Panels {
    /// stands above all
    pub title: String,
    /// smaller, under the title; wrapped to the width
    pub caption: String,
    /// how many figures stand side by side
    pub columns: usize,
    /// row by row
    pub figures: Vec<Arc<dyn Figure + Send + Sync>>,
}

const MARGIN: u32 = 12;
const TITLE: f64 = 19.0;
const CAPTION: f64 = 13.0;

impl Panels {
    /// An empty sheet, so many figures side by side (at least 1).
    pub fn new(title: impl Into<String>, columns: usize) -> Panels {
        Panels { title: title.into(), caption: String::new(), columns: columns.max(1), figures: Vec::new() }
    }

    /// The same with words under the title.
    #[must_use]
    pub fn caption(self, caption: impl Into<String>) -> Panels {
        Panels { caption: caption.into(), ..self }
    }

    /// The same with one more figure.
    #[must_use]
    pub fn with(mut self, figure: impl Figure + Send + Sync + 'static) -> Panels {
        self.figures.push(Arc::new(figure));
        self
    }

    /// Widths of the columns and heights of the rows.
    fn grid(&self) -> (Vec<u32>, Vec<u32>) {
        let columns = self.columns.max(1);
        let mut widths = vec![0; columns.min(self.figures.len())];
        let mut heights = vec![0; self.figures.len().div_ceil(columns)];
        for (i, figure) in self.figures.iter().enumerate() {
            let (width, height) = figure.size();
            widths[i % columns] = width.max(widths[i % columns]);
            heights[i / columns] = height.max(heights[i / columns]);
        }
        (widths, heights)
    }

    fn width(&self, widths: &[u32]) -> u32 {
        widths.iter().sum::<u32>().max(text_width(&self.title, TITLE)).max(60) + 2 * MARGIN
    }

    /// Lines of the caption, and the height of all above the figures.
    fn header(&self, width: u32) -> (Vec<String>, u32) {
        let lines = wrapped(&self.caption, CAPTION, f64::from(width - 2 * MARGIN));
        let title = if self.title.is_empty() { 0 } else { TITLE as u32 + 8 };
        let height = MARGIN + title + lines.len() as u32 * (CAPTION as u32 + 5);
        (lines, height)
    }
}

impl Figure for Panels {
    fn size(&self) -> (u32, u32) {
        let (widths, heights) = self.grid();
        let width = self.width(&widths);
        (width, self.header(width).1 + heights.iter().sum::<u32>() + MARGIN)
    }

    fn picture(&self) -> Picture {
        let ((widths, heights), (width, height)) = (self.grid(), self.size());
        let mut picture = Picture::new(width, height);
        let (lines, header) = self.header(width);
        let mut y = f64::from(MARGIN);
        if !self.title.is_empty() {
            picture.text((f64::from(MARGIN), y + 0.5 * TITLE), self.title.as_str(), TITLE, (40, 40, 40), Anchor::Start);
            y += TITLE + 8.0;
        }
        for line in lines {
            picture.text((f64::from(MARGIN), y + 0.5 * CAPTION), line, CAPTION, (95, 95, 95), Anchor::Start);
            y += CAPTION + 5.0;
        }
        let columns = self.columns.max(1);
        for (i, figure) in self.figures.iter().enumerate() {
            let left = MARGIN + widths[..i % columns].iter().sum::<u32>();
            let top = header + heights[..i / columns].iter().sum::<u32>();
            picture.place(figure.picture(), (f64::from(left), f64::from(top)));
        }
        picture
    }

    fn rows(&self) -> Vec<Row> {
        self.figures.iter().flat_map(|figure| figure.rows()).collect()
    }
}
