//! Names of series with a sample of each, in rows above a chart.

use super::draw::{DARK, dashes, marker_at};
use crate::color::Color;
use crate::layer::{Data, Layer, Marker};
use crate::picture::{Anchor, Paint, Picture, Point, Shape};
use crate::text::text_extent;

const SIZE: f64 = 12.0;
const SAMPLE: f64 = 22.0;
const GAP: f64 = 16.0;
pub(super) const ROW: f64 = 18.0;

/// Layers of the legend with their colours, broken into rows that fit a width.
pub(super) fn rows<'a>(layers: &[(&'a Layer, Color)], width: f64) -> Vec<Vec<(&'a Layer, Color)>> {
    let mut rows: Vec<Vec<(&Layer, Color)>> = Vec::new();
    let mut filled = f64::INFINITY;
    for (layer, color) in layers.iter().filter(|(layer, _)| layer.is_listed()) {
        let entry = SAMPLE + 6.0 + text_extent(&layer.name, SIZE) + GAP;
        if filled + entry - GAP > width {
            rows.push(Vec::new());
            filled = 0.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((*layer, *color));
        }
        filled += entry;
    }
    rows
}

/// Draws rows from their upper left corner.
pub(super) fn draw(picture: &mut Picture, rows: &[Vec<(&Layer, Color)>], (left, top): Point) {
    for (i, row) in rows.iter().enumerate() {
        let (mut x, y) = (left, top + (i as f64 + 0.5) * ROW);
        for (layer, color) in row {
            sample(picture, layer, *color, (x, y));
            picture.text((x + SAMPLE + 6.0, y), layer.name.as_str(), SIZE, DARK, Anchor::Start);
            x += SAMPLE + 6.0 + text_extent(&layer.name, SIZE) + GAP;
        }
    }
}

fn sample(picture: &mut Picture, layer: &Layer, color: Color, (x, y): Point) {
    match layer.data {
        Data::Line(_) => {
            let points = vec![(x, y), (x + SAMPLE, y)];
            picture.shapes.push(Shape::Line {
                points,
                paint: Paint::solid(color),
                width: layer.width,
                dash: dashes(layer),
            });
            if let Some(marker) = layer.marker {
                marker_at(picture, marker, (x + 0.5 * SAMPLE, y), color);
            }
        }
        Data::Points(_) => marker_at(picture, layer.marker.unwrap_or(Marker::Disc), (x + 0.5 * SAMPLE, y), color),
        _ => {
            let paint = Paint { color, opacity: layer.opacity };
            picture.rectangle((x + 3.0, y - 5.0), (SAMPLE - 6.0, 10.0), paint);
        }
    }
}
