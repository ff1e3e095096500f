//! What is moved, and how far.

use super::{Sweeps, engine_choice};
use crate::logic::state::Origin;
use crate::logic::sweeps::{Kind, MAX_POINTS, Part, Sampling, Sweep};
use crate::ui::panel::Shared;
use eframe::egui;

pub(super) fn controls(ui: &mut egui::Ui, view: &mut Sweeps, shared: &Shared<'_>) {
    ui.horizontal_wrapped(|ui| {
        for kind in Kind::ALL {
            let chosen = ui.selectable_label(view.sweep.kind == kind, kind.name()).on_hover_text(kind.about());
            if chosen.clicked() && view.sweep.kind != kind {
                let old = std::mem::replace(&mut view.sweep, Sweep::of(kind));
                // What was chosen of the row stays.
                (view.sweep.first, view.sweep.last, view.sweep.part) = (old.first, old.last, old.part);
                (view.sweep.rotary, view.sweep.series) = (old.rotary, old.series);
                view.chosen = None;
            }
        }
    });
    ui.label(view.sweep.kind.about());
    ui.horizontal_wrapped(|ui| {
        own(ui, view, shared);
        range(ui, view);
        ui.separator();
        engine_choice(ui, &mut view.engine, Some("automatic"), shared.engines);
    });
    view.sweep = view.sweep(shared);
}

/// A number of a list, under a name.
fn number(ui: &mut egui::Ui, name: &str, hint: &str, value: &mut usize, range: std::ops::RangeInclusive<usize>) {
    let label = ui.label(name);
    ui.add(egui::DragValue::new(value).range(range).speed(0.1)).labelled_by(label.id).on_hover_text(hint);
}

/// Settings that one kind of sweep has.
fn own(ui: &mut egui::Ui, view: &mut Sweeps, shared: &Shared<'_>) {
    let last = shared.state.row.len() - 1;
    let sweep = &mut view.sweep;
    match sweep.kind {
        Kind::Duration => {
            number(ui, "nodes from", "The first node whose duration is stretched", &mut sweep.first, 1..=last);
            number(ui, "to", "The last node whose duration is stretched", &mut sweep.last, 1..=last);
        }
        Kind::Interpolation => {
            number(ui, "node", "The node that travels", &mut sweep.first, 1..=last);
            number(ui, "to node", "The node that it travels to", &mut sweep.last, 1..=last);
            ui.label("its");
            for part in Part::ALL {
                ui.selectable_value(&mut sweep.part, part, part.name()).on_hover_text("What travels");
            }
        }
        Kind::Shift | Kind::Scale => {
            let is_head = matches!(shared.state.row.origin, Origin::Head(_));
            let rotary = ui.add_enabled(is_head, egui::Checkbox::new(&mut sweep.rotary, "rotary positions"));
            rotary
                .on_hover_text("Queries and keys turn with their positions, as the model's rotary embedding turns them")
                .on_disabled_hover_text("Click a row in the Matrix view first: rotary positions need queries and keys");
            if !is_head {
                sweep.rotary = false;
            }
        }
        Kind::Sampling => series(ui, view),
        Kind::Continuity | Kind::Refinement | Kind::Edge => return,
    }
    ui.separator();
}

fn series(ui: &mut egui::Ui, view: &mut Sweeps) {
    let series = &mut view.sweep.series;
    let label = ui.label("series");
    ui.add(egui::DragValue::new(&mut series.seed).speed(0.05))
        .labelled_by(label.id)
        .on_hover_text("Which smooth series");
    let label = ui.label("sharpness");
    let slider = egui::Slider::new(&mut series.sharpness, 0.0..=6.0);
    ui.add(slider).labelled_by(label.id).on_hover_text("Size of the scores: how unevenly the answer weighs");
    let label = ui.label("waves");
    let slider = egui::Slider::new(&mut series.waves, 1..=20);
    ui.add(slider).labelled_by(label.id).on_hover_text("Whole waves of the fastest part");
    let label = ui.label("draws");
    let drag = egui::DragValue::new(&mut series.draws).range(1..=200);
    ui.add(drag).labelled_by(label.id).on_hover_text("Draws of random times over which errors are averaged");
    ui.label("a click loads samples");
    for sampling in Sampling::ALL {
        ui.selectable_value(&mut series.shown, sampling, sampling.name())
            .on_hover_text("How loaded samples lie in time");
    }
}

/// First and last position, and how many.
fn range(ui: &mut egui::Ui, view: &mut Sweeps) {
    let sweep = &mut view.sweep;
    let (least, most) = sweep.kind.limits();
    let speed = if sweep.kind.is_logarithmic() { 1.0 } else { 0.01 };
    // Both ends stay in order: otherwise the sweep would fall back to its first range while one is dragged.
    let gap = if sweep.kind.is_logarithmic() { 1.0 } else { 1e-3 };
    let label = ui.label("from");
    let (low, high) = (least, (sweep.to - gap).max(least));
    let drag = egui::DragValue::new(&mut sweep.from).range(low..=high).speed(speed);
    ui.add(drag).labelled_by(label.id).on_hover_text("First position");
    let label = ui.label("to");
    let (low, high) = ((sweep.from + gap).min(most), most);
    let drag = egui::DragValue::new(&mut sweep.to).range(low..=high).speed(speed);
    ui.add(drag).labelled_by(label.id).on_hover_text("Last position");
    let label = ui.label("points");
    let drag = egui::DragValue::new(&mut sweep.points).range(2..=MAX_POINTS);
    ui.add(drag).labelled_by(label.id).on_hover_text("How many positions, both ends among them");
}
