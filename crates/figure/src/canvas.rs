//! A bitmap with readable text.
//!
//! Plotters' own bitmap text drops each glyph's left bearing and rounds every advance, which tears words apart. Everything but
//! text is passed on to its bitmap back end; text is laid out here.

use crate::text::font;
use ab_glyph::{Font, FontRef, ScaleFont};
use plotters::prelude::{BitMapBackend, DrawingBackend};
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind};

pub(crate) struct Canvas<'a>(BitMapBackend<'a>);

type Outcome<'a> = Result<(), DrawingErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>>;

impl<'a> Canvas<'a> {
    pub(crate) fn new(pixels: &'a mut [u8], size: (u32, u32)) -> Canvas<'a> {
        Canvas(BitMapBackend::with_buffer(pixels, size))
    }
}

/// Width and height of a line of text in pixels.
fn extent(font: &FontRef<'_>, size: f64, text: &str) -> (f32, f32) {
    let font = font.as_scaled(size as f32);
    let (mut x, mut previous) = (0.0, None);
    for c in text.chars() {
        let id = font.glyph_id(c);
        x += previous.map_or(0.0, |p| font.kern(p, id)) + font.h_advance(id);
        previous = Some(id);
    }
    (x, font.ascent() - font.descent())
}

/// Calls `dot` with place and coverage of every pixel of a line of text whose upper left corner is the origin.
fn rasterise(font: &FontRef<'_>, size: f64, text: &str, mut dot: impl FnMut(i32, i32, f32)) {
    let scaled = font.as_scaled(size as f32);
    let (mut x, mut previous) = (0.0, None);
    for c in text.chars() {
        let id = scaled.glyph_id(c);
        x += previous.map_or(0.0, |p| scaled.kern(p, id));
        previous = Some(id);
        let glyph = id.with_scale_and_position(size as f32, ab_glyph::point(x, scaled.ascent()));
        x += scaled.h_advance(id);
        if let Some(outline) = font.outline_glyph(glyph) {
            let corner = outline.px_bounds().min;
            outline.draw(|dx, dy, coverage| dot(corner.x as i32 + dx as i32, corner.y as i32 + dy as i32, coverage));
        }
    }
}

impl<'a> DrawingBackend for Canvas<'a> {
    type ErrorType = <BitMapBackend<'a> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Outcome<'a> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Outcome<'a> {
        self.0.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Outcome<'a> {
        self.0.draw_pixel(point, color)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Outcome<'a> {
        self.0.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        lower_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Outcome<'a> {
        self.0.draw_rect(upper_left, lower_right, style, fill)
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Outcome<'a> {
        let color = style.color();
        if color.alpha == 0.0 {
            return Ok(());
        }
        let font = font();
        let (width, height) = extent(&font, style.size(), text);
        let anchor = style.anchor();
        let dx = match anchor.h_pos {
            HPos::Left => 0.0,
            HPos::Center => -0.5 * width,
            HPos::Right => -width,
        };
        let dy = match anchor.v_pos {
            VPos::Top => 0.0,
            VPos::Center => -0.5 * height,
            VPos::Bottom => -height,
        };
        let (dx, dy) = (dx.round() as i32, dy.round() as i32);
        let turn = style.transform();
        let (wide, high) = self.get_size();
        let mut dots = Vec::new();
        rasterise(&font, style.size(), text, |x, y, coverage| {
            let (x, y) = turn.transform(x + dx, y + dy);
            let (x, y) = (x + at.0, y + at.1);
            if (0..wide as i32).contains(&x) && (0..high as i32).contains(&y) && coverage > 0.0 {
                dots.push(((x, y), f64::from(coverage.min(1.0))));
            }
        });
        for (at, coverage) in dots {
            self.draw_pixel(at, BackendColor { alpha: color.alpha * coverage, rgb: color.rgb })?;
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Self::ErrorType>> {
        let (width, height) = extent(&font(), style.size(), text);
        Ok((width.ceil() as u32, height.ceil() as u32))
    }
}

/// Width of a line of text in pixels, for leaving room.
pub(crate) fn text_width(text: &str, size: f64) -> u32 {
    extent(&font(), size, text).0.ceil() as u32
}
