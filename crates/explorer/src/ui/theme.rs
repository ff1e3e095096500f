//! Colours that colour-blind readers can tell apart, on light and on dark.

use eframe::egui::{self, Color32};

/// Colours of what is drawn. Series are from the palette of Okabe and Ito, which differs in lightness too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theme {
    /// whether the background is dark
    pub dark: bool,
    /// behind plots
    pub plot: Color32,
    /// axes and labels
    pub ink: Color32,
    /// grid lines and what stands back
    pub faint: Color32,
    /// continuous attention
    pub continuous: Color32,
    /// softmax
    pub softmax: Color32,
    /// step
    pub step: Color32,
    /// Taylor truncations
    pub taylor: Color32,
    /// bars above 0
    pub positive: Color32,
    /// bars below 0
    pub negative: Color32,
    /// what the pointer is at
    pub marked: Color32,
    /// digits that are wrong, errors
    pub wrong: Color32,
    /// proven digits
    pub proven: Color32,
}

impl Theme {
    /// On a light or dark background.
    pub fn new(dark: bool) -> Theme {
        if dark {
            Theme {
                dark,
                plot: Color32::from_rgb(20, 22, 25),
                ink: Color32::from_rgb(222, 222, 218),
                faint: Color32::from_rgb(74, 78, 84),
                continuous: Color32::from_rgb(86, 180, 233),
                softmax: Color32::from_rgb(158, 160, 164),
                step: Color32::from_rgb(230, 159, 0),
                taylor: Color32::from_rgb(240, 228, 66),
                positive: Color32::from_rgb(86, 180, 233),
                negative: Color32::from_rgb(226, 110, 44),
                marked: Color32::from_rgb(255, 176, 32),
                wrong: Color32::from_rgb(255, 122, 92),
                proven: Color32::from_rgb(64, 200, 160),
            }
        } else {
            Theme {
                dark,
                plot: Color32::WHITE,
                ink: Color32::from_rgb(32, 34, 38),
                faint: Color32::from_rgb(208, 208, 202),
                continuous: Color32::from_rgb(0, 114, 178),
                softmax: Color32::from_rgb(168, 168, 162),
                step: Color32::from_rgb(222, 143, 5),
                taylor: Color32::from_rgb(20, 20, 20),
                positive: Color32::from_rgb(0, 114, 178),
                negative: Color32::from_rgb(205, 84, 0),
                marked: Color32::from_rgb(196, 110, 0),
                wrong: Color32::from_rgb(190, 40, 20),
                proven: Color32::from_rgb(0, 122, 90),
            }
        }
    }

    /// A colour for one of `count` things in order (viridis).
    pub fn in_order(&self, index: usize, count: usize) -> Color32 {
        let t = (index as f64 + 0.5) / count.max(1) as f64;
        // The ends are hard to see on their own background.
        let t = if self.dark { 0.25 + 0.75 * t } else { 0.9 * t };
        let scale = contattn_figure::ColorScale::linear(0.0, 1.0);
        let (r, g, b) = scale.color(t);
        Color32::from_rgb(r, g, b)
    }
}

/// Sets fonts, spacing and colours of the widgets.
pub fn apply(ctx: &egui::Context) {
    // Powers of ten are written with a raised minus, which of egui's fonts only the one for code holds.
    let mut fonts = egui::FontDefinitions::default();
    fonts.families.entry(egui::FontFamily::Proportional).or_default().push("Hack".to_owned());
    ctx.set_fonts(fonts);
    for theme in [egui::Theme::Light, egui::Theme::Dark] {
        ctx.style_mut_of(theme, |style| {
            let dark = theme == egui::Theme::Dark;
            style.visuals.panel_fill =
                if dark { Color32::from_rgb(28, 30, 34) } else { Color32::from_rgb(247, 247, 245) };
            style.visuals.window_fill = style.visuals.panel_fill;
            let text = if dark { Color32::from_rgb(220, 220, 216) } else { Color32::from_rgb(36, 38, 42) };
            style.visuals.widgets.noninteractive.fg_stroke.color = text;
            style.visuals.widgets.inactive.fg_stroke.color = text;
            style.spacing.item_spacing = egui::vec2(8.0, 5.0);
            style.interaction.tooltip_delay = 0.4;
        });
    }
}
