//! The output o under both readings, channel by channel.

use super::Scene;
use crate::ui::plot::{Axes, short};
use eframe::egui::{self, Rect, Sense, Stroke};

pub(super) fn output(ui: &mut egui::Ui, rect: Rect, scene: &Scene<'_>) {
    let (theme, evaluation) = (scene.shared.theme, scene.evaluation);
    let (chosen, softmax, step) = (&evaluation.chosen.o, &evaluation.softmax.o, &evaluation.step.o);
    let count = chosen.len();
    if count <= 1 {
        let child = egui::UiBuilder::new().max_rect(rect);
        ui.scope_builder(child, |ui| {
            ui.label("output o = sum of w v, one channel");
            egui::Grid::new("output").num_columns(3).show(ui, |ui| {
                for (name, o) in [("continuous", chosen), ("softmax", softmax), ("step (CCT)", step)] {
                    let (o, own) = (o.first().copied().unwrap_or(0.0), chosen.first().copied().unwrap_or(0.0));
                    ui.label(name);
                    ui.monospace(format!("{o:.15}"));
                    ui.monospace(if name == "continuous" {
                        String::new()
                    } else {
                        format!("differs by {:+.3e}", o - own)
                    });
                    ui.end_row();
                }
            });
        });
        return;
    }
    let largest = chosen.iter().chain(softmax).filter(|x| x.is_finite()).fold(1e-300, |m: f64, x| m.max(x.abs()));
    let axes = Axes::new(rect, (-0.7, count as f64 - 0.3), (-1.1 * largest, 1.1 * largest));
    let painter = ui.painter_at(rect);
    let distance = chosen.iter().zip(softmax).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let size = softmax.iter().map(|x| x * x).sum::<f64>().sqrt();
    let relative = if size > 0.0 { distance / size } else { 0.0 };
    let title = format!(
        "output o = sum of w v, {count} channels: bars continuous, lines softmax; they differ by {:.1} % of its length",
        100.0 * relative
    );
    axes.frame(&painter, theme, &title, None);
    let inner = ui.painter_at(axes.field);
    for channel in 0..count {
        let (x0, x1) = (axes.x(channel as f64 - 0.4), axes.x(channel as f64 + 0.4));
        let (own, other) = (chosen[channel], softmax[channel]);
        if own.is_finite() {
            let bar = Rect::from_two_pos(egui::pos2(x0, axes.y(0.0)), egui::pos2(x1, axes.y(own)));
            inner.rect_filled(bar, 0.0, theme.continuous);
        }
        if other.is_finite() {
            inner.hline(x0 - 1.0..=x1 + 1.0, axes.y(other), Stroke::new(2.0, theme.ink));
        }
    }
    let response = ui.interact(axes.field, ui.scope_id().with("output"), Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Output by channel"));
    if let Some(place) = response.hover_pos() {
        let channel = axes.numbers(place).0.round().max(0.0) as usize;
        if let (Some(own), Some(other)) = (chosen.get(channel), softmax.get(channel)) {
            let text = format!("channel {channel}: continuous {}, softmax {}", short(*own), short(*other));
            response.on_hover_text_at_pointer(text);
        }
    }
}
