//! Numbers of a sweep in words and tables.

use crate::logic::sweeps::{Peaks, Plot, Swept, drawn};
use crate::ui::panel::Shared;
use crate::ui::plot::short;
use eframe::egui;

/// The numbers of one plot at one position.
pub(super) fn values(ui: &mut egui::Ui, swept: &Swept, plot: usize, at: usize) {
    ui.strong(format!("{} = {}", swept.sweep.kind.axis(), short(swept.x[at])));
    let plot = &swept.plots[plot];
    egui::Grid::new("values").num_columns(2).show(ui, |ui| {
        for curve in drawn(plot).into_iter().map(|i| &plot.curves[i]) {
            ui.label(&curve.name);
            ui.monospace(curve.y.get(at).map_or_else(String::new, |y| format!("{y:.9}")));
            ui.end_row();
        }
    });
}

/// Smoothness of the curves, peaks, and what has to be known to read them.
pub(super) fn figures(ui: &mut egui::Ui, swept: &Swept, shared: &Shared<'_>) {
    for note in &swept.notes {
        ui.label(note);
    }
    if !swept.is_complete() || swept.sweep.kind.is_logarithmic() {
        return;
    }
    for plot in &swept.plots {
        peaks(ui, plot);
    }
    egui::CollapsingHeader::new("Smoothness of the curves").default_open(true).show(ui, |ui| {
        egui::Grid::new("figures").num_columns(5).striped(true).show(ui, |ui| {
            for (title, hint) in [
                ("plot", "Which chart"),
                ("curve", "Which curve"),
                (
                    "normalised slope",
                    "Steepest slope over the whole change, positions stretched to [0, 1]: a straight line has 1",
                ),
                ("m_max", "How far the curve leaves the interval between its end values"),
                ("leaves it", "Whether that is 0.05 or more"),
            ] {
                ui.strong(title).on_hover_text(hint);
            }
            ui.end_row();
            for plot in &swept.plots {
                for curve in drawn(plot).into_iter().map(|i| &plot.curves[i]) {
                    let Some(figures) = curve.figures else { continue };
                    ui.label(&plot.title);
                    ui.label(&curve.name);
                    ui.monospace(figures.slope.map_or("undefined: constant".to_owned(), |slope| format!("{slope:.3}")));
                    ui.monospace(format!("{:.4}", figures.excursion));
                    if figures.exceeds() {
                        ui.colored_label(shared.theme.wrong, "yes");
                    } else {
                        ui.label("no");
                    }
                    ui.end_row();
                }
            }
        });
    });
}

fn peaks(ui: &mut egui::Ui, plot: &Plot) {
    let Some((peaks, n)) = &plot.peaks else { return };
    let names: Vec<&str> =
        peaks.winners.iter().take(12).map(|&i| plot.curves[plot.competing.start + i].name.as_str()).collect();
    let more = if peaks.number() > names.len() { ", ..." } else { "" };
    let share = |x: Option<f64>| x.map_or("undefined".to_owned(), |x| format!("{x:.3}"));
    ui.label(format!(
        "Peaks of the {}: {} ({}{more}); number / n = {} with n = {n}, a discrete answer would have 1 / n = {}.",
        plot.title,
        peaks.number(),
        names.join(", "),
        share(peaks.share(*n)),
        share(Peaks::discrete_counterfactual(*n)),
    ));
}
