//! Pictures as SVG text.

use crate::color::Color;
use crate::picture::{Anchor, Paint, Picture, Point, Shape};
use crate::text::{CAPITALS, text_extent};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// The whole file. Letters stay letters: they can be searched and edited. Their widths are those of the carried font, so a
/// viewer that has another one keeps the layout.
pub(crate) fn svg(picture: &Picture) -> String {
    let (width, height) = (picture.width, picture.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Ubuntu, sans-serif\" font-weight=\"300\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for shape in &picture.shapes {
        // Writing to a string does not fail.
        let _ = write(&mut out, shape);
    }
    out.push_str("</svg>\n");
    out
}

fn write(out: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Line { points, paint, width, dash } => {
            let dash: Vec<String> = dash.iter().map(|x| short(*x)).collect();
            let dash =
                if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", dash.join(" ")) };
            let opacity = opacity("stroke-opacity", *paint);
            writeln!(
                out,
                "<path d=\"{}\" fill=\"none\" stroke=\"{}\"{opacity} stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>",
                path(points),
                hex(paint.color),
                short(*width)
            )
        }
        Shape::Polygon { points, paint } => {
            let opacity = opacity("fill-opacity", *paint);
            writeln!(out, "<path d=\"{}Z\" fill=\"{}\"{opacity}/>", path(points), hex(paint.color))
        }
        Shape::Disc { center, radius, paint } => writeln!(
            out,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"{}/>",
            short(center.0),
            short(center.1),
            short(*radius),
            hex(paint.color),
            opacity("fill-opacity", *paint)
        ),
        Shape::Text { at, text, size, color, anchor, upwards } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y) = (short(at.0), short(at.1));
            let turn = if *upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{anchor}\" textLength=\"{}\" \
                 lengthAdjust=\"spacingAndGlyphs\"{turn}>{}</text>",
                short(at.1 + 0.5 * CAPITALS * size),
                short(*size),
                hex(*color),
                short(text_extent(text, *size)),
                escaped(text)
            )
        }
        Shape::Image { at, size, columns, pixels } => {
            let rows = (pixels.len() / 3) as u32 / (*columns).max(1);
            let Ok(bytes) = crate::encode(pixels, *columns, rows) else { return Ok(()) };
            writeln!(
                out,
                "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
                 style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>",
                short(at.0),
                short(at.1),
                short(size.0),
                short(size.1),
                STANDARD.encode(bytes)
            )
        }
    }
}

fn path(points: &[Point]) -> String {
    let mut out = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(out, "{}{} {}", if i == 0 { "M" } else { "L" }, short(*x), short(*y));
    }
    out
}

/// A coordinate to a thousandth of a unit, without zeros at its end.
fn short(x: f64) -> String {
    let text = format!("{x:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn hex((r, g, b): Color) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn opacity(name: &str, paint: Paint) -> String {
    if paint.opacity >= 1.0 { String::new() } else { format!(" {name}=\"{}\"", short(f64::from(paint.opacity))) }
}

/// Text as XML wants it; characters that XML cannot hold become the replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c < ' ' || c == '\u{fffe}' || c == '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_the_file() {
        let mut picture = Picture::new(10, 10);
        picture.text((1.0, 1.0), "a<b & \"c\"\u{1}\n", 10.0, (0, 0, 0), Anchor::Start);
        let text = svg(&picture);
        assert!(text.contains("a&lt;b &amp; &quot;c&quot;\u{fffd} "), "{text}");
        assert_eq!(text.matches("<text").count(), 1);
    }

    #[test]
    fn coordinates_are_short() {
        for (x, text) in [(1.0, "1"), (0.1234, "0.123"), (-0.0001, "0"), (100.0, "100"), (-2.5, "-2.5")] {
            assert_eq!(short(x), text);
        }
    }
}
