//! Heat maps side by side, in groups that share a colour scale.

use crate::canvas::text_width;
use crate::color::ColorScale;
use crate::heatmap::{Heatmap, masked};
use crate::text::number;
use crate::{Figure, FigureError, drawing};
use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend, RGBColor, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, IntoFont, TextStyle};

/// Maps of one quantity, drawn with one scale and a colour bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// what they show
    pub label: String,
    /// colours of all of them
    pub scale: ColorScale,
    /// the maps from left to right
    pub maps: Vec<Heatmap>,
}

/// Rows of groups of heat maps under a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// stands above all
    pub title: String,
    /// smaller, under the title
    pub caption: String,
    /// from top to bottom
    pub rows: Vec<Vec<Group>>,
}

const MARGIN: u32 = 16;
const HEADER: u32 = 58;
const ROW_TITLE: u32 = 24;
const GAP: u32 = 14;
const BAR: u32 = 100;
const TITLE: f64 = 24.0;
const CAPTION: f64 = 15.0;
const LABEL: f64 = 18.0;

impl Group {
    fn size(&self) -> (u32, u32) {
        let width: u32 = self.maps.iter().map(|map| map.size().0 + GAP).sum();
        let height = self.maps.iter().map(|map| map.size().1).max().unwrap_or(0);
        let label = text_width(&self.label, LABEL);
        (width.max(label) + BAR, height + self.label_height())
    }

    /// Without a label no room is left for one.
    fn label_height(&self) -> u32 {
        if self.label.is_empty() { 0 } else { ROW_TITLE }
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, x: u32, y: u32) -> Result<(), FigureError> {
        let label = TextStyle::from(("sans-serif", LABEL).into_font());
        area.draw(&Text::new(self.label.as_str(), (x as i32, y as i32 + 2), label)).map_err(drawing)?;
        let mut left = x;
        let (mut top_of_field, mut height_of_field) = (y + self.label_height(), 120);
        for map in &self.maps {
            let (width, height) = map.size();
            let corner = (left as i32, (y + self.label_height()) as i32);
            map.draw(&area.clone().shrink(corner, (width, height)), &self.scale)?;
            left += width + GAP;
            height_of_field = map.field().1;
            top_of_field = y + self.label_height() + height - height_of_field;
        }
        self.draw_bar(area, left as i32, top_of_field as i32, height_of_field.max(80) as i32)
    }

    /// The colour bar with its real range, five ticks, and the colour of cells without a number.
    fn draw_bar<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        x: i32,
        y: i32,
        height: i32,
    ) -> Result<(), FigureError> {
        const WIDTH: i32 = 14;
        let height = height - 22; // room for the swatch below
        for step in 0..height {
            let t = 1.0 - (f64::from(step) + 0.5) / f64::from(height);
            let (r, g, b) = self.scale.color(self.scale.value(t));
            let slice = [(x, y + step), (x + WIDTH, y + step + 1)];
            area.draw(&Rectangle::new(slice, RGBColor(r, g, b).filled())).map_err(drawing)?;
        }
        let frame = [(x - 1, y - 1), (x + WIDTH, y + height)];
        area.draw(&Rectangle::new(frame, RGBColor(120, 120, 120).stroke_width(1))).map_err(drawing)?;
        let tick = || TextStyle::from(("sans-serif", 13.0).into_font()).pos(Pos::new(HPos::Left, VPos::Center));
        for i in 0..=4 {
            let t = f64::from(i) / 4.0;
            let at = (x + WIDTH + 5, y + ((1.0 - t) * f64::from(height)) as i32);
            area.draw(&Text::new(number(self.scale.value(t)), at, tick())).map_err(drawing)?;
        }
        let swatch = [(x, y + height + 10), (x + WIDTH, y + height + 22)];
        area.draw(&Rectangle::new(swatch, masked().filled())).map_err(drawing)?;
        area.draw(&Text::new("not visible", (x + WIDTH + 5, y + height + 16), tick())).map_err(drawing)
    }
}

/// Pixels of groups side by side.
fn row_size(row: &[Group]) -> (u32, u32) {
    let sizes = || row.iter().map(Group::size);
    (sizes().map(|size| size.0).sum(), sizes().map(|size| size.1).max().unwrap_or(0))
}

impl Figure for Sheet {
    fn size(&self) -> (u32, u32) {
        let header = text_width(&self.title, TITLE).max(text_width(&self.caption, CAPTION));
        let width = self.rows.iter().map(|row| row_size(row).0).max().unwrap_or(0).max(header);
        let height: u32 = self.rows.iter().map(|row| row_size(row).1 + GAP).sum();
        (width + 2 * MARGIN, height + HEADER + MARGIN)
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), FigureError> {
        area.fill(&RGBColor(255, 255, 255)).map_err(drawing)?;
        let title = TextStyle::from(("sans-serif", TITLE).into_font());
        let caption = TextStyle::from(("sans-serif", CAPTION).into_font()).color(&RGBColor(90, 90, 90));
        let margin = MARGIN as i32;
        area.draw(&Text::new(self.title.as_str(), (margin, 8), title)).map_err(drawing)?;
        area.draw(&Text::new(self.caption.as_str(), (margin, 38), caption)).map_err(drawing)?;
        let mut y = HEADER;
        for row in &self.rows {
            let mut x = MARGIN;
            for group in row {
                group.draw(area, x, y)?;
                x += group.size().0;
            }
            y += row_size(row).1 + GAP;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heatmap::Matrix;
    use crate::{FigureError, png, save, svg};

    fn sheet() -> Sheet {
        let values: Vec<f64> = (0..12).map(|i| if i == 5 { f64::NAN } else { f64::from(i) / 11.0 }).collect();
        let map = Heatmap::new(Matrix::new(3, 4, values).unwrap()).titled("head 0").labelled(
            vec!["a".into(), "b".into(), "c".into()],
            vec!["x".into(), "y".into(), "z".into(), "longer".into()],
        );
        let scale = ColorScale::linear(0.0, 1.0);
        Sheet {
            title: "Title".into(),
            caption: "Caption".into(),
            rows: vec![vec![Group { label: "weights".into(), scale, maps: vec![map.clone(), map] }]],
        }
    }

    /// Decodes the picture and looks where the cells must be.
    #[test]
    fn cells_have_their_colours() {
        let sheet = sheet();
        let bytes = png(&sheet).unwrap();
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), sheet.size());
        let map = &sheet.rows[0][0].maps[0];
        let (width, height) = map.size();
        let (field_width, field_height) = map.field();
        let (left, top) = (MARGIN + width - field_width, HEADER + ROW_TITLE + height - field_height);
        for row in 0..3 {
            for column in 0..4 {
                let x = left + column * map.cell + map.cell / 2;
                let y = top + row * map.cell + map.cell / 2;
                let at = ((y * info.width + x) * 3) as usize;
                let found = (pixels[at], pixels[at + 1], pixels[at + 2]);
                let value = map.matrix.values()[(row * 4 + column) as usize];
                assert_eq!(found, sheet.rows[0][0].scale.color(value), "row {row}, column {column}");
            }
        }
    }

    #[test]
    fn svg_holds_the_same_text() {
        let text = svg(&sheet()).unwrap();
        assert!(text.contains("Title") && text.contains("head 0") && text.contains("not visible"));
    }

    #[test]
    fn files_are_whole_or_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.png");
        save(&sheet(), &path).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(b"\x89PNG"));
        assert!(matches!(save(&sheet(), &folder.path().join("sheet.gif")), Err(FigureError::Format(_))));
        let nowhere = folder.path().join("no such folder").join("sheet.png");
        assert!(matches!(save(&sheet(), &nowhere), Err(FigureError::File { .. })));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn large_maps_share_pixels_and_absurd_ones_are_refused() {
        let map = Heatmap::new(Matrix::new(2000, 1500, vec![0.5; 3_000_000]).unwrap());
        assert_eq!(map.field(), (1024, 1024));
        let map = Heatmap::new(Matrix::new(1, 1, vec![0.5]).unwrap()).with_cells_of(2000);
        let group = Group { label: String::new(), scale: ColorScale::linear(0.0, 1.0), maps: vec![map; 100] };
        let sheet = Sheet { title: String::new(), caption: String::new(), rows: vec![vec![group]] };
        assert!(matches!(png(&sheet), Err(FigureError::TooLarge { .. })));
        assert!(Matrix::new(2, 2, vec![0.0; 3]).is_err());
    }
}
