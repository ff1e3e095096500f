//! The fonts that figures carry.

use ab_glyph::FontRef;
use plotters::style::{FontStyle, register_font};
use std::sync::Once;

/// The carried font.
pub(crate) fn font() -> FontRef<'static> {
    FontRef::try_from_slice(epaint_default_fonts::UBUNTU_LIGHT).expect("the font is part of the program, and whole")
}

/// Makes the carried font known to plotters under the generic name that figures use.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for style in [FontStyle::Normal, FontStyle::Bold] {
            // The font is part of the program; if it could not be read, text would fail to draw and say so.
            let _ = register_font("sans-serif", style, epaint_default_fonts::UBUNTU_LIGHT);
        }
    });
}

/// A number for an axis: short, and unambiguous to three digits.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 {
        "0".into()
    } else if x.abs() >= 1e4 || x.abs() < 1e-3 {
        format!("{x:.0e}")
    } else {
        let digits = (2 - x.abs().log10().floor() as i32).clamp(0, 5) as usize;
        let text = format!("{x:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.25, "0.25"),
            (-12.34, "-12.3"),
            (1e-4, "1e-4"),
            (123456.0, "1e5"),
            (0.001, "0.001"),
        ] {
            assert_eq!(number(x), text);
        }
    }
}
