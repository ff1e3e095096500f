//! Heat maps side by side, in groups that share a colour scale.

use crate::Figure;
use crate::color::{ColorScale, MASKED};
use crate::heatmap::Heatmap;
use crate::picture::{Anchor, Paint, Picture, Shape};
use crate::table::Row;
use crate::text::{number, text_width};

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
const TITLE: f64 = 20.0;
const CAPTION: f64 = 13.0;
const LABEL: f64 = 15.0;
const TICK: f64 = 12.0;
const DARK: (u8, u8, u8) = (40, 40, 40);

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

    fn draw(&self, picture: &mut Picture, x: u32, y: u32) {
        picture.text((f64::from(x), f64::from(y) + 10.0), self.label.as_str(), LABEL, DARK, Anchor::Start);
        let (mut left, top) = (x, y + self.label_height());
        let (mut top_of_field, mut height_of_field) = (top, 120);
        for map in &self.maps {
            let (width, height) = map.size();
            picture.place(map.picture(&self.scale), (f64::from(left), f64::from(top)));
            left += width + GAP;
            height_of_field = map.field().1;
            top_of_field = top + height - height_of_field;
        }
        self.draw_bar(picture, f64::from(left), f64::from(top_of_field), height_of_field.max(80));
    }

    /// The colour bar with its real range, five ticks, and the colour of cells without a number.
    fn draw_bar(&self, picture: &mut Picture, x: f64, y: f64, height: u32) {
        const WIDTH: f64 = 14.0;
        let steps = height - 22; // room for the swatch below
        let pixels = (0..steps).flat_map(|step| {
            let t = 1.0 - (f64::from(step) + 0.5) / f64::from(steps);
            let (r, g, b) = self.scale.color(self.scale.value(t));
            [r, g, b]
        });
        let size = (WIDTH, f64::from(steps));
        picture.shapes.push(Shape::Image { at: (x, y), size, columns: 1, pixels: pixels.collect() });
        picture.frame((x - 1.0, y - 1.0), (size.0 + 2.0, size.1 + 2.0), (120, 120, 120));
        for i in 0..=4 {
            let t = f64::from(i) / 4.0;
            let at = (x + WIDTH + 5.0, y + (1.0 - t) * size.1);
            picture.text(at, number(self.scale.value(t)), TICK, DARK, Anchor::Start);
        }
        picture.rectangle((x, y + size.1 + 10.0), (WIDTH, 12.0), Paint::solid(MASKED));
        picture.text((x + WIDTH + 5.0, y + size.1 + 16.0), "not visible", TICK, DARK, Anchor::Start);
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

    fn picture(&self) -> Picture {
        let (width, height) = self.size();
        let mut picture = Picture::new(width, height);
        let margin = f64::from(MARGIN);
        picture.text((margin, 20.0), self.title.as_str(), TITLE, DARK, Anchor::Start);
        picture.text((margin, 44.0), self.caption.as_str(), CAPTION, (90, 90, 90), Anchor::Start);
        let mut y = HEADER;
        for row in &self.rows {
            let mut x = MARGIN;
            for group in row {
                group.draw(&mut picture, x, y);
                x += group.size().0;
            }
            y += row_size(row).1 + GAP;
        }
        picture
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for group in self.rows.iter().flatten() {
            for map in &group.maps {
                let columns = map.matrix.shape().1;
                let panel = if group.label.is_empty() { &self.title } else { &group.label };
                let name = |names: &[String], i: usize| names.get(i).cloned().unwrap_or_default();
                rows.extend(map.matrix.values().iter().enumerate().map(|(i, value)| Row {
                    panel: panel.clone(),
                    series: map.title.clone(),
                    kind: "cell",
                    x: Some((i % columns) as f64),
                    y: Some((i / columns) as f64),
                    value: Some(*value),
                    x_name: name(&map.column_labels, i % columns),
                    y_name: name(&map.row_labels, i / columns),
                    ..Row::default()
                }));
            }
        }
        rows
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
        assert_eq!((info.width, info.height), (2 * sheet.size().0, 2 * sheet.size().1));
        let map = &sheet.rows[0][0].maps[0];
        let (width, height) = map.size();
        let (field_width, field_height) = map.field();
        let (left, top) = (MARGIN + width - field_width, HEADER + ROW_TITLE + height - field_height);
        for row in 0..3 {
            for column in 0..4 {
                let x = left + column * map.cell + map.cell / 2;
                let y = top + row * map.cell + map.cell / 2;
                let at = ((2 * y * info.width + 2 * x) * 3) as usize;
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
