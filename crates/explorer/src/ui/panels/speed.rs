//! The Speed view: the engines side by side on this machine.

use super::sweeps::progress;
use crate::logic::command::Command;
use crate::logic::export::Export;
use crate::logic::fingerprint;
use crate::logic::speed::{LENGTHS, Speed as Times, Timed, WIDTHS, Workload, bars, roofline, run, sheet, table, title};
use crate::logic::worker::{Job, Lane, Slot};
use crate::ui::chart;
use crate::ui::panel::{Commands, Requests, Shared, View, dimmed};
use contattn_core::Rule;
use eframe::egui;
use serde::{Deserialize, Serialize};

const TIMES: Slot = "speed";

/// Settings of the view.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Speed {
    /// what is timed
    pub workload: Workload,
    /// what was asked for; timing begins on demand, for it takes the whole machine
    #[serde(skip)]
    wanted: Option<Workload>,
}

impl View for Speed {
    const NAME: &'static str = "Speed";
    const HINT: &'static str =
        "The engines side by side on this machine, softmax beside continuous attention, under its roofline";

    fn requests(&self, shared: &Shared<'_>, requests: &mut Requests<'_>) {
        let Some(workload) = self.wanted.filter(|_| !shared.engines.is_empty()) else { return };
        requests.ask(TIMES, Lane::Long, fingerprint(&workload), || {
            let engines = shared.engines.to_vec();
            Job::new(move |task| run(&workload, &engines, task, &mut |speed| task.partial(speed.clone())))
        });
    }

    fn ui(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            self.controls(ui, commands);
            let shown = shared.shown::<Times>(TIMES);
            if self.wanted.is_some() {
                progress(ui, TIMES, &shown, shared, commands);
            }
            let Some(speed) = shown.value else {
                available(ui, shared);
                return;
            };
            let is_growing = shown.is_running && Some(speed.workload) == self.wanted;
            let content = |ui: &mut egui::Ui| {
                ui.strong(title(&speed.workload));
                list(ui, speed, shared);
                chart::charts(ui, "Speed", &[bars(speed), roofline(speed)], 2, shared.theme, |_, _, _| ());
                ui.label(
                    "Operations are those of the two matrix products, 4 n_q n d, half of them under a causal window; bytes are q, k, \
                     v and o once. The roof is measured here and now; other work on this machine lowers all of it.",
                );
            };
            if is_growing { content(ui) } else { dimmed(ui, &shown, content) }
        });
    }

    fn export(&self, shared: &Shared<'_>) -> Option<Export> {
        let speed = shared.shown::<Times>(TIMES).value?;
        Some(Export::new("speed", table(speed), sheet(speed)))
    }
}

impl Speed {
    fn controls(&mut self, ui: &mut egui::Ui, commands: &mut Commands) {
        ui.horizontal_wrapped(|ui| {
            let workload = &mut self.workload;
            choice(ui, "nodes", "Nodes, and as many queries", &mut workload.n, &LENGTHS);
            choice(ui, "width", "Width of queries, keys and values", &mut workload.d, &WIDTHS);
            choice(ui, "heads", "Heads, each with keys and values of its own", &mut workload.heads, &[1, 2, 4, 8]);
            ui.checkbox(&mut workload.causal, "causal").on_hover_text("A query sees the nodes up to its own alone");
            let label = ui.label("repetitions");
            let drag = egui::DragValue::new(&mut workload.repetitions).range(1..=99);
            ui.add(drag).labelled_by(label.id).on_hover_text("Calls of each engine and rule; medians are shown");
            *workload = workload.within();
            if ui.button("Measure").on_hover_text("Check every engine, then time all of them in turns").clicked() {
                if self.wanted == Some(self.workload) {
                    commands.send(Command::Again(TIMES));
                }
                self.wanted = Some(self.workload);
            }
        });
    }
}

/// The engines before anything is timed.
fn available(ui: &mut egui::Ui, shared: &Shared<'_>) {
    ui.label(
        "Measure times softmax and continuous attention by each of these, checked before, and shows them under the roofline of \
         this machine.",
    );
    egui::Grid::new("available").num_columns(2).striped(true).show(ui, |ui| {
        for entry in shared.engines {
            ui.strong(entry.name);
            match &entry.engine {
                Ok(_) => ui.label(entry.about),
                Err(error) => ui.colored_label(shared.theme.wrong, error.to_string()),
            };
            ui.end_row();
        }
    });
}

fn choice(ui: &mut egui::Ui, name: &str, hint: &str, value: &mut usize, list: &[usize]) {
    let label = ui.label(name);
    let combo = egui::ComboBox::from_id_salt(name).selected_text(value.to_string()).width(64.0);
    let response = combo.show_ui(ui, |ui| {
        for &one in list {
            ui.selectable_value(value, one, one.to_string());
        }
    });
    response.response.labelled_by(label.id).on_hover_text(hint);
}

/// Medians and rates; an engine without times says why.
fn list(ui: &mut egui::Ui, speed: &Times, shared: &Shared<'_>) {
    egui::Grid::new("times").num_columns(7).striped(true).show(ui, |ui| {
        for (title, hint) in [
            ("engine", "As on the command line"),
            ("softmax, ms", "Median of all rows under Step on the unit time line, which is softmax"),
            ("continuous, ms", "Median of all rows under Linear"),
            ("softmax / continuous", "How much of softmax's speed is left"),
            ("GFLOP/s", "Operations of the two products in a second"),
            ("of the roof", "Of what the machine could do at this many operations to a byte"),
            ("largest error", "Distance of o from the plain engine's in f64, on some rows, before anything was timed"),
        ] {
            ui.strong(title).on_hover_text(hint);
        }
        ui.end_row();
        for timed in &speed.engines {
            row(ui, speed, timed, shared);
            ui.end_row();
        }
    });
}

fn row(ui: &mut egui::Ui, speed: &Times, timed: &Timed, shared: &Shared<'_>) {
    ui.label(timed.name);
    if let Some(reason) = &timed.missing {
        ui.colored_label(shared.theme.wrong, reason);
        return;
    }
    let workload = &speed.workload;
    let about = if timed.is_extrapolated(workload) { "~" } else { "" };
    let mut number = |x: Option<f64>, digits: usize, about: &str| {
        let response = ui.monospace(x.map_or_else(|| "...".to_owned(), |x| format!("{about}{x:.digits$}")));
        if !about.is_empty() {
            response.on_hover_text(format!(
                "Foreseen from {} of {} rows: all of them would take too long here",
                timed.rows, workload.n
            ));
        }
    };
    number(timed.median(workload, Rule::Step), 3, about);
    number(timed.median(workload, Rule::Linear), 3, about);
    number(timed.ratio(workload), 2, "");
    number(timed.rate(workload).map(|rate| 1e-9 * rate), 2, about);
    let share = timed.rate(workload).zip(speed.roof).map(|(rate, roof)| rate / roof.at(workload.intensity()));
    ui.monospace(share.map_or_else(|| "...".to_owned(), |share| format!("{:.2} %", 100.0 * share)));
    ui.monospace(format!("{:.1e}", timed.error));
}
