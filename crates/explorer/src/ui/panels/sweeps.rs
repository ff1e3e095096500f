//! The Sweeps view: one input moved, everything else held.

mod controls;
mod figures;

use crate::logic::command::{Command, Edit};
use crate::logic::engines;
use crate::logic::export::Export;
use crate::logic::fingerprint;
use crate::logic::sweeps::{Kind, Sweep, Swept, charts, sheet, table};
use crate::logic::worker::{Failure, Job, Lane, Shown, Slot};
use crate::ui::chart;
use crate::ui::panel::{Commands, Requests, Shared, View, dimmed};
use contattn_core::Engine;
use eframe::egui;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SWEEP: Slot = "sweeps";

/// Settings of the view.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sweeps {
    /// what is moved, and how
    pub sweep: Sweep,
    /// name of the engine; empty for the one that fits
    pub engine: String,
    /// the position that was chosen last
    pub chosen: Option<f64>,
}

/// Between two looks at curves that grow: every point of a long row would be copied once for each point.
const BETWEEN: Duration = Duration::from_millis(40);

/// Rows times nodes up to which every number is taken from the reference, if nothing else is asked.
const EXACT: usize = 100_000;

impl Sweeps {
    fn sweep(&self, shared: &Shared<'_>) -> Sweep {
        self.sweep.clone().within(shared.state.row.len())
    }

    /// The engine that is asked for, or the one that fits: exact where that is quick, in f64 elsewhere.
    fn engine(&self, shared: &Shared<'_>) -> Option<Arc<dyn Engine>> {
        let find = |name: &str| shared.engines.iter().find(|entry| entry.name == name)?.engine.clone().ok();
        let finest = if self.sweep.kind == Kind::Refinement { self.sweep.to as usize } else { 1 };
        let work = self.sweep.points.saturating_mul(shared.state.row.len()).saturating_mul(finest.max(1));
        let own = if work <= EXACT && self.sweep.kind != Kind::Sampling { "reference" } else { "plain" };
        if self.engine.is_empty() { find(own) } else { find(&self.engine) }
    }
}

impl View for Sweeps {
    const NAME: &'static str = "Sweeps";
    const HINT: &'static str =
        "One input moved along a line: durations, keys, windows, sampling; how smoothly attention follows";

    fn requests(&self, shared: &Shared<'_>, requests: &mut Requests<'_>) {
        let Some(engine) = self.engine(shared) else { return };
        let sweep = self.sweep(shared);
        // A sampled series has nothing of the row in it.
        let row = if sweep.kind == Kind::Sampling { 0 } else { shared.keys.row };
        let key = fingerprint(&(&sweep, row, engine.name()));
        requests.ask(SWEEP, Lane::Long, key, || {
            let (state, source) = (shared.state.clone(), shared.source.clone());
            Job::new(move |task| {
                let mut told: Option<Instant> = None;
                sweep.run(&state, &source, engine.as_ref(), task, &mut |swept| {
                    if told.is_none_or(|then| then.elapsed() >= BETWEEN) {
                        told = Some(Instant::now());
                        task.partial(swept.clone());
                    }
                })
            })
        });
    }

    fn ui(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            controls::controls(ui, self, shared);
            let shown = shared.shown::<Swept>(SWEEP);
            progress(ui, SWEEP, &shown, shared, commands);
            let Some(swept) = shown.value else {
                ui.label("The first points are being computed.");
                return;
            };
            // Curves of another kind of sweep say nothing about this one.
            if swept.sweep.kind == self.sweep.kind {
                dimmed_unless_growing(ui, &shown, |ui| self.content(ui, swept, shared, commands));
            }
        });
    }

    fn export(&self, shared: &Shared<'_>) -> Option<Export> {
        let swept = shared.shown::<Swept>(SWEEP).value?;
        Some(Export::new("sweep", table(swept), sheet(swept, &crate::ui::menu::origin(shared.state))))
    }
}

/// Curves that grow are the answer to the newest request; only older ones are dimmed.
fn dimmed_unless_growing<R>(ui: &mut egui::Ui, shown: &Shown<'_, Swept>, draw: impl FnOnce(&mut egui::Ui) -> R) -> R {
    let is_growing = shown.is_running && shown.value.is_some_and(|swept| !swept.is_complete());
    if is_growing { draw(ui) } else { dimmed(ui, shown, draw) }
}

/// How far a slot is, a way to stop it and to start it again, and what went wrong.
pub(super) fn progress<T>(
    ui: &mut egui::Ui,
    slot: Slot,
    shown: &Shown<'_, T>,
    shared: &Shared<'_>,
    commands: &mut Commands,
) {
    ui.horizontal_wrapped(|ui| {
        if shown.is_running {
            let (done, total) = shown.progress.unwrap_or((0, 1));
            let share = done as f32 / total.max(1) as f32;
            ui.add(egui::ProgressBar::new(share).desired_width(160.0).text(format!("{done} of {total}")));
            if ui.button("Cancel").on_hover_text("Stop here; what there is stays").clicked() {
                commands.send(Command::Cancel(slot));
            }
        } else {
            let again = ui.button("Run again").on_hover_text("Compute all of it anew");
            if again.clicked() {
                commands.send(Command::Again(slot));
            }
        }
        match shown.failure {
            Some(Failure::Failed { what, advice }) => {
                ui.colored_label(shared.theme.wrong, what);
                ui.label(advice);
            }
            Some(Failure::Cancelled) => {
                ui.label("Stopped.");
            }
            None => {}
        }
    });
}

/// A choice of engines: those that this machine lacks say why.
pub(super) fn engine_choice(ui: &mut egui::Ui, engine: &mut String, automatic: Option<&str>, list: &[engines::Entry]) {
    let label = ui.label("engine");
    let shown = if engine.is_empty() { automatic.unwrap_or_default() } else { engine.as_str() };
    let combo = egui::ComboBox::from_id_salt("engine").selected_text(shown).width(110.0);
    let response = combo.show_ui(ui, |ui| {
        if let Some(name) = automatic
            && ui
                .selectable_label(engine.is_empty(), name)
                .on_hover_text("Exact where that is quick, f64 elsewhere")
                .clicked()
        {
            engine.clear();
        }
        for entry in list {
            match &entry.engine {
                Ok(_) => {
                    if ui.selectable_label(engine == entry.name, entry.name).on_hover_text(entry.about).clicked() {
                        entry.name.clone_into(engine);
                    }
                }
                Err(error) => {
                    let text = egui::Button::selectable(false, entry.name);
                    ui.add_enabled(false, text).on_disabled_hover_text(error.to_string());
                }
            }
        }
    });
    response.response.labelled_by(label.id).on_hover_text("What evaluates the points");
}

impl Sweeps {
    fn content(&mut self, ui: &mut egui::Ui, swept: &Swept, shared: &Shared<'_>, commands: &mut Commands) {
        let mut clicked = None;
        let most = if swept.plots.len() == 3 { 3 } else { 2 };
        chart::charts(ui, "Sweep", &charts(swept, self.chosen), most, shared.theme, |ui, plot, touched| {
            let Some((x, _)) = touched.pointed else { return };
            let Some(at) = nearest(swept, x) else { return };
            if touched.response.clicked() {
                clicked = Some(at);
            }
            egui::Tooltip::always_open(
                ui.ctx().clone(),
                ui.layer_id(),
                touched.response.id,
                egui::PopupAnchor::Pointer,
            )
            .gap(14.0)
            .show(|ui| figures::values(ui, swept, plot, at));
        });
        if let Some(at) = clicked {
            self.load(swept.x[at], shared, commands);
        }
        ui.label("A click on a chart loads that point into the other views; undo brings the row back.");
        figures::figures(ui, swept, shared);
    }

    fn load(&mut self, position: f64, shared: &Shared<'_>, commands: &mut Commands) {
        match self.sweep(shared).state_at(shared.state, shared.source, position) {
            Ok(state) => {
                self.chosen = Some(position);
                commands.edit(Edit::State(Box::new(state)));
            }
            Err(Failure::Failed { what, advice }) => commands.send(Command::Notice { what, advice }),
            Err(Failure::Cancelled) => {}
        }
    }
}

/// The position done that is nearest to x, by the axis's own measure.
fn nearest(swept: &Swept, x: f64) -> Option<usize> {
    let logarithmic = swept.sweep.kind.is_logarithmic();
    let measure = |a: f64| if logarithmic { a.ln() } else { a };
    let distance = |at: &usize| (measure(swept.x[*at]) - measure(x)).abs();
    (0..swept.x.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))
}
