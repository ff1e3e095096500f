//! The fonts that figures carry, and numbers as text.

use ab_glyph::{Font, FontRef, GlyphId, OutlineCurve, PxScaleFont, ScaleFont};
use tiny_skia::PathBuilder;

/// Height of a capital letter over the size of the font.
pub(crate) const CAPITALS: f64 = 0.69;

/// The carried font, and the one that is asked for the letters that it lacks.
fn fonts() -> [FontRef<'static>; 2] {
    [epaint_default_fonts::UBUNTU_LIGHT, epaint_default_fonts::HACK_REGULAR]
        .map(|bytes| FontRef::try_from_slice(bytes).expect("the fonts are part of the program, and whole"))
}

/// Calls `glyph` with every letter's font, outline and left edge; returns the right end of the line.
fn layout(text: &str, size: f64, mut glyph: impl FnMut(&PxScaleFont<&FontRef<'static>>, GlyphId, f32)) -> f64 {
    let fonts = fonts();
    let (mut x, mut previous): (f32, Option<(usize, GlyphId)>) = (0.0, None);
    for c in text.chars() {
        let which = usize::from(fonts[0].glyph_id(c).0 == 0 && fonts[1].glyph_id(c).0 != 0);
        // The size of a font is that of its em square; ab_glyph counts from descent to ascent.
        let em = fonts[which].units_per_em().unwrap_or(1000.0);
        let scaled = fonts[which].as_scaled(size as f32 * fonts[which].height_unscaled() / em);
        let id = scaled.glyph_id(c);
        if let Some((font, before)) = previous
            && font == which
        {
            x += scaled.kern(before, id);
        }
        glyph(&scaled, id, x);
        x += scaled.h_advance(id);
        previous = Some((which, id));
    }
    f64::from(x)
}

/// Width of a line of text.
pub(crate) fn text_extent(text: &str, size: f64) -> f64 {
    layout(text, size, |_, _, _| ())
}

/// Width of a line of text in whole units, for leaving room.
pub(crate) fn text_width(text: &str, size: f64) -> u32 {
    text_extent(text, size).ceil() as u32
}

/// Adds the letters' outlines, the beginning of the base line at the origin.
pub(crate) fn outline(text: &str, size: f64, builder: &mut PathBuilder) {
    layout(text, size, |font, id, left| {
        let Some(outline) = font.font.outline(id) else { return };
        let (sx, sy) = (font.h_scale_factor(), font.v_scale_factor());
        let at = |p: ab_glyph::Point| (left + p.x * sx, -p.y * sy);
        let mut end = None;
        for curve in &outline.curves {
            let (first, last) = match curve {
                OutlineCurve::Line(a, b) | OutlineCurve::Quad(a, _, b) | OutlineCurve::Cubic(a, _, _, b) => (*a, *b),
            };
            if end != Some(first) {
                if end.is_some() {
                    builder.close();
                }
                let (x, y) = at(first);
                builder.move_to(x, y);
            }
            let (x, y) = at(last);
            match curve {
                OutlineCurve::Line(..) => builder.line_to(x, y),
                OutlineCurve::Quad(_, c, _) => {
                    let (cx, cy) = at(*c);
                    builder.quad_to(cx, cy, x, y);
                }
                OutlineCurve::Cubic(_, c, d, _) => {
                    let ((cx, cy), (dx, dy)) = (at(*c), at(*d));
                    builder.cubic_to(cx, cy, dx, dy, x, y);
                }
            }
            end = Some(last);
        }
        if end.is_some() {
            builder.close();
        }
    });
}

/// A number for an axis: short, and unambiguous to three digits.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 {
        "0".into()
    } else if x.abs() >= 1e4 || x.abs() < 1e-3 {
        format!("{x:.0e}").replace('-', "\u{2212}")
    } else {
        let digits = (2 - x.abs().log10().floor() as i32).clamp(0, 5) as usize;
        let text = format!("{x:.digits$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        text.replace('-', "\u{2212}")
    }
}

/// A power of ten, with its exponent raised.
pub(crate) fn power_of_ten(exponent: i32) -> String {
    let raised = |c: char| match c {
        '-' => '\u{207b}',
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        digit => char::from_u32(0x2070 + (digit as u32 - '0' as u32)).unwrap_or(digit),
    };
    format!("10{}", exponent.to_string().chars().map(raised).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.25, "0.25"),
            (-12.34, "\u{2212}12.3"),
            (1e-4, "1e\u{2212}4"),
            (123456.0, "1e5"),
            (0.001, "0.001"),
        ] {
            assert_eq!(number(x), text);
        }
        assert_eq!(power_of_ten(-12), "10⁻¹²");
        assert_eq!(power_of_ten(304), "10³⁰⁴");
    }

    /// Every letter that ticks and labels of this crate use is in one of the carried fonts.
    #[test]
    fn letters_are_there() {
        let fonts = fonts();
        for c in "0123456789⁰¹²³⁴⁵⁶⁷⁸⁹⁻×−∞αβλτΔφψ₀₁₂·≤≥".chars() {
            assert!(fonts.iter().any(|font| font.glyph_id(c).0 != 0), "{c}");
        }
    }

    #[test]
    fn width_adds_up() {
        assert_eq!(text_extent("", 12.0), 0.0);
        let (one, two) = (text_extent("0", 10.0), text_extent("00", 10.0));
        assert!((two - 2.0 * one).abs() < 1e-4 && one > 4.0 && one < 7.0, "{one} {two}");
        assert!((text_extent("0", 20.0) - 2.0 * one).abs() < 1e-4);
    }
}
