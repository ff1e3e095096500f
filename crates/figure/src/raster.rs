//! Pictures as pixels.

use crate::FigureError;
use crate::picture::{Anchor, Paint, Picture, Point, Shape};
use crate::text::{CAPITALS, outline, text_extent};
use tiny_skia::{FillRule, LineCap, LineJoin, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

/// Red, green and blue of every pixel, row by row, with `scale` pixels to a unit.
pub(crate) fn pixels(picture: &Picture, width: u32, height: u32, scale: f64) -> Result<Vec<u8>, FigureError> {
    let mut map = Pixmap::new(width, height).ok_or(FigureError::Scale(scale))?;
    map.fill(tiny_skia::Color::WHITE);
    let transform = Transform::from_scale(scale as f32, scale as f32);
    for shape in &picture.shapes {
        draw(&mut map, shape, transform);
    }
    Ok(map.data().chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect())
}

fn draw(map: &mut Pixmap, shape: &Shape, transform: Transform) {
    match shape {
        Shape::Line { points, paint, width, dash } => {
            let Some(path) = polyline(points, false) else { return };
            let dash: Vec<f32> = dash.iter().map(|x| *x as f32).collect();
            let stroke = Stroke {
                width: *width as f32,
                line_cap: LineCap::Butt,
                line_join: LineJoin::Round,
                dash: StrokeDash::new(dash, 0.0),
                ..Stroke::default()
            };
            map.stroke_path(&path, &skia(*paint), &stroke, transform, None);
        }
        Shape::Polygon { points, paint } => {
            let Some(path) = polyline(points, true) else { return };
            map.fill_path(&path, &skia(*paint), FillRule::Winding, transform, None);
        }
        Shape::Disc { center, radius, paint } => {
            let Some(path) = PathBuilder::from_circle(center.0 as f32, center.1 as f32, *radius as f32) else { return };
            map.fill_path(&path, &skia(*paint), FillRule::Winding, transform, None);
        }
        Shape::Text { at, text, size, color, anchor, upwards } => {
            let before = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -0.5 * text_extent(text, *size),
                Anchor::End => -text_extent(text, *size),
            };
            let mut builder = PathBuilder::new();
            outline(text, *size, &mut builder);
            let Some(path) = builder.finish() else { return };
            // From the text's own place (beginning of its base line at the origin) to the picture.
            let placed = Transform::from_translate(before as f32, (0.5 * CAPITALS * size) as f32)
                .post_concat(if *upwards { Transform::from_rotate(-90.0) } else { Transform::identity() })
                .post_translate(at.0 as f32, at.1 as f32)
                .post_concat(transform);
            map.fill_path(&path, &skia(Paint::solid(*color)), FillRule::Winding, placed, None);
        }
        Shape::Image { at, size, columns, pixels } => image(map, *at, *size, *columns as usize, pixels, transform),
    }
}

/// Each pixel of the map has the colour of the cell that holds its centre, so edges are sharp and colours exact.
fn image(map: &mut Pixmap, at: Point, size: (f64, f64), columns: usize, cells: &[u8], transform: Transform) {
    let rows = cells.len() / 3 / columns.max(1);
    if rows == 0 {
        return;
    }
    let scale = f64::from(transform.sx);
    let (width, height) = (map.width() as usize, map.height() as usize);
    let span = |from: f64, length: f64, most: usize| {
        let first = (from * scale - 0.5).ceil().max(0.0) as usize;
        first..((from + length) * scale - 0.5).ceil().clamp(0.0, most as f64) as usize
    };
    let cell = |pixel: usize, from: f64, length: f64, count: usize| {
        let place = ((pixel as f64 + 0.5) / scale - from) / length;
        ((place * count as f64) as usize).min(count - 1)
    };
    let data = map.data_mut();
    for y in span(at.1, size.1, height) {
        let row = cell(y, at.1, size.1, rows);
        for x in span(at.0, size.0, width) {
            let from = 3 * (row * columns + cell(x, at.0, size.0, columns));
            data[4 * (y * width + x)..][..3].copy_from_slice(&cells[from..from + 3]);
        }
    }
}

fn polyline(points: &[Point], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (i, (x, y)) in points.iter().enumerate() {
        if i == 0 {
            builder.move_to(*x as f32, *y as f32);
        } else {
            builder.line_to(*x as f32, *y as f32);
        }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

fn skia(paint: Paint) -> tiny_skia::Paint<'static> {
    let (r, g, b) = paint.color;
    let mut result = tiny_skia::Paint { anti_alias: true, ..tiny_skia::Paint::default() };
    result.set_color_rgba8(r, g, b, (255.0 * paint.opacity.clamp(0.0, 1.0)).round() as u8);
    result
}
