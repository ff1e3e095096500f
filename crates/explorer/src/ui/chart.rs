//! A chart of the figure crate on the screen: what is exported is what is seen, in the theme's colours.

use crate::ui::theme::Theme;
use contattn_figure::{Anchor, Chart, Field, Figure, Shape};
use eframe::egui::{self, Align2, Color32, FontId, Pos2, Rect, Response, Sense, Stroke, Vec2, pos2};

/// A chart that was drawn, and the pointer over it.
pub struct Touched {
    /// of the whole chart
    pub response: Response,
    /// the numbers under the pointer
    pub pointed: Option<(f64, f64)>,
}

/// Draws a chart of this size under an accessible name.
pub fn chart(ui: &mut egui::Ui, name: &str, chart: &Chart, size: Vec2, theme: &Theme) -> Touched {
    let (width, height) = (size.x.clamp(120.0, 4000.0), size.y.clamp(100.0, 4000.0));
    let chart = chart.clone().sized(width as u32, height as u32);
    let (rect, response) = ui.allocate_exact_size(egui::vec2(width, height), Sense::click());
    let response = response.accessible_name(name);
    let field = chart.field();
    if ui.is_rect_visible(rect) {
        draw(ui, rect, &chart, &field, theme);
    }
    let pointed = response.hover_pos().and_then(|at| {
        let from = at - rect.min;
        field.numbers((f64::from(from.x), f64::from(from.y)))
    });
    Touched { response, pointed }
}

fn draw(ui: &egui::Ui, rect: Rect, chart: &Chart, field: &Field, theme: &Theme) {
    let painter = ui.painter_at(rect);
    let at = |point: (f64, f64)| pos2(rect.left() + point.0 as f32, rect.top() + point.1 as f32);
    let (upper_left, lower_right) = field.corners();
    painter.rect_filled(Rect::from_min_max(at(upper_left), at(lower_right)), 0.0, theme.plot);
    for shape in chart.picture().shapes {
        match shape {
            Shape::Line { points, paint, width, dash } => {
                let points: Vec<Pos2> = points.into_iter().map(at).collect();
                let stroke = Stroke::new(width as f32, tinted(theme, paint.color, paint.opacity));
                match dash[..] {
                    [length, gap] => {
                        painter.extend(egui::Shape::dashed_line(&points, stroke, length as f32, gap as f32))
                    }
                    _ => {
                        painter.line(points, stroke);
                    }
                }
            }
            // Bars, markers and tips: all of them convex.
            Shape::Polygon { points, paint } => {
                let points = points.into_iter().map(at).collect();
                painter.add(egui::Shape::convex_polygon(
                    points,
                    tinted(theme, paint.color, paint.opacity),
                    Stroke::NONE,
                ));
            }
            Shape::Disc { center, radius, paint } => {
                painter.circle_filled(at(center), radius as f32, tinted(theme, paint.color, paint.opacity));
            }
            Shape::Text { at: place, text, size, color, anchor, upwards } => {
                let (font, color) = (FontId::proportional(size as f32), tinted(theme, color, 1.0));
                if upwards {
                    let galley = painter.layout_no_wrap(text, font, color);
                    let (length, height) = (galley.size().x, galley.size().y);
                    let along = match anchor {
                        Anchor::Start => 0.0,
                        Anchor::Middle => 0.5 * length,
                        Anchor::End => length,
                    };
                    let corner = at(place) + egui::vec2(-0.5 * height, along);
                    let shape = egui::epaint::TextShape::new(corner, galley, color);
                    painter.add(shape.with_angle(-std::f32::consts::FRAC_PI_2));
                } else {
                    let align = match anchor {
                        Anchor::Start => Align2::LEFT_CENTER,
                        Anchor::Middle => Align2::CENTER_CENTER,
                        Anchor::End => Align2::RIGHT_CENTER,
                    };
                    painter.text(at(place), align, text, font, color);
                }
            }
            // Charts hold no images.
            Shape::Image { .. } => {}
        }
    }
}

/// A colour of a figure on the theme's background.
fn tinted(theme: &Theme, (r, g, b): (u8, u8, u8), opacity: f32) -> Color32 {
    let color = match (r, g, b) {
        (40, 40, 40) => theme.ink,
        (95, 95, 95) => theme.ink.gamma_multiply(0.75),
        (228, 228, 228) => theme.faint.gamma_multiply(0.55),
        (120, 120, 120) => theme.faint,
        (175, 175, 175) => theme.softmax,
        // Blue, vermilion, green and grey of the palette are too dark on dark.
        (0, 114, 178) if theme.dark => Color32::from_rgb(100, 165, 255),
        (213, 94, 0) if theme.dark => Color32::from_rgb(255, 130, 60),
        (0, 158, 115) if theme.dark => Color32::from_rgb(60, 200, 155),
        (110, 110, 110) if theme.dark => Color32::from_rgb(170, 170, 170),
        _ => Color32::from_rgb(r, g, b),
    };
    if opacity < 1.0 { color.gamma_multiply(opacity) } else { color }
}

/// Sizes of charts in rows of at most `most`, so that they fill a width.
pub fn grid(available: Vec2, count: usize, most: usize) -> (usize, Vec2) {
    let columns = ((available.x / 420.0) as usize).clamp(1, most.min(count).max(1));
    let width = available.x / columns as f32 - 8.0;
    (columns, egui::vec2(width, (0.62 * width).clamp(230.0, 420.0)))
}

/// Lays out charts in rows and calls `touched` for each.
pub fn charts(
    ui: &mut egui::Ui,
    name: &str,
    charts: &[Chart],
    most: usize,
    theme: &Theme,
    mut touched: impl FnMut(&mut egui::Ui, usize, &Touched),
) {
    let (columns, size) = grid(ui.available_size(), charts.len(), most);
    for (row, group) in charts.chunks(columns).enumerate() {
        ui.horizontal_top(|ui| {
            for (column, one) in group.iter().enumerate() {
                let drawn = chart(ui, &format!("{name}: {}", one.title), one, size, theme);
                touched(ui, row * columns + column, &drawn);
            }
        });
    }
}
