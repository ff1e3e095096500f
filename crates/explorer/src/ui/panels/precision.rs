//! The Precision view: how far an engine is from the exact results, and where.

use super::sweeps::{engine_choice, progress};
use crate::logic::export::Export;
use crate::logic::fingerprint;
use crate::logic::precision::{
    Errors, Formulas, Quantity, Scope, along, cancellation, errors, formulas, histogram, inputs, sheet, table,
};
use crate::logic::worker::{Job, Lane, Slot};
use crate::ui::chart;
use crate::ui::panel::{Commands, Requests, Shared, View, dimmed};
use eframe::egui;
use serde::{Deserialize, Serialize};

const ERRORS: Slot = "precision.errors";
const FORMULAS: Slot = "precision.formulas";

/// Differences of scores at which formulas are tried.
const POINTS: usize = 300;

/// Settings of the view.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Precision {
    /// on which problem
    pub scope: Scope,
    /// which results
    pub quantity: Quantity,
    /// name of the engine
    pub engine: String,
}

impl Default for Precision {
    fn default() -> Precision {
        Precision { scope: Scope::Head, quantity: Quantity::Output, engine: "plain-f32".to_owned() }
    }
}

impl View for Precision {
    const NAME: &'static str = "Precision";
    const HINT: &'static str =
        "Errors of any engine against the exact results: histogram, worst element, where they sit, naive formulas";

    fn requests(&self, shared: &Shared<'_>, requests: &mut Requests<'_>) {
        let scores = shared.state.row_with_sink().scores();
        requests
            .ask(FORMULAS, Lane::Long, fingerprint(&scores), || Job::new(move |task| formulas(POINTS, &scores, task)));
        let Some(Ok(engine)) = shared.engines.iter().find(|entry| entry.name == self.engine).map(|e| e.engine.clone())
        else {
            return;
        };
        let problem = match self.scope {
            Scope::Row => shared.keys.row,
            Scope::Head => shared.keys.map,
        };
        let quantity = self.quantity;
        requests.ask(ERRORS, Lane::Long, fingerprint(&(self.scope, problem, quantity, &self.engine)), || {
            let (scope, state, source) = (self.scope, shared.state.clone(), shared.source.clone());
            Job::new(move |task| errors(&inputs(scope, &state, &source)?, quantity, engine.as_ref(), task))
        });
    }

    fn ui(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            self.controls(ui, shared);
            let shown = shared.shown::<Errors>(ERRORS);
            progress(ui, ERRORS, &shown, shared, commands);
            let most = shared.shown::<Formulas>(FORMULAS);
            if let Some(errors) = shown.value {
                dimmed(ui, &shown, |ui| {
                    verdict(ui, errors, shared);
                    let charts = [histogram(errors), along(errors)];
                    let is_node = matches!(errors.quantity, Quantity::Weights | Quantity::Bias);
                    chart::charts(ui, "Errors", &charts, 2, shared.theme, |_, which, touched| {
                        if let (1, true, Some((x, _))) = (which, is_node, touched.pointed) {
                            commands.hover_node(x.round().max(0.0) as usize);
                        }
                    });
                });
            }
            ui.separator();
            ui.label(
                "The share of a segment's left node is phi2(x) = (e^x - 1 - x) / x\u{b2}. Written down as it stands it subtracts \
                 nearly equal numbers: the errors below are what is lost, at the distances that neighbouring scores have.",
            );
            if let Some(formulas) = most.value {
                let charts = [cancellation(formulas, true), cancellation(formulas, false)];
                dimmed(ui, &most, |ui| {
                    chart::charts(ui, "Cancellation", &charts, 2, shared.theme, |_, _, _| ());
                });
            }
        });
    }

    fn export(&self, shared: &Shared<'_>) -> Option<Export> {
        let errors = shared.shown::<Errors>(ERRORS).value?;
        let formulas = shared.shown::<Formulas>(FORMULAS).value;
        Some(Export::new("precision", table(errors), sheet(errors, formulas, &crate::ui::menu::origin(shared.state))))
    }
}

impl Precision {
    fn controls(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>) {
        ui.horizontal_wrapped(|ui| {
            ui.label("errors of");
            for quantity in Quantity::ALL {
                ui.selectable_value(&mut self.quantity, quantity, quantity.name())
                    .on_hover_text("Which results are compared with the exact ones");
            }
            ui.label("in");
            for scope in Scope::ALL {
                ui.selectable_value(&mut self.scope, scope, scope.name())
                    .on_hover_text("The row of the Operator view, or all rows of the head of the Matrix view");
            }
            ui.separator();
            engine_choice(ui, &mut self.engine, None, shared.engines);
        });
    }
}

/// What the errors say.
fn verdict(ui: &mut egui::Ui, errors: &Errors, shared: &Shared<'_>) {
    let all_nearest = errors.rounding.nearest == errors.errors.len();
    let color = if all_nearest { shared.theme.proven } else { shared.theme.ink };
    ui.colored_label(color, egui::RichText::new(errors.verdict()).size(15.0));
    if let Some(worst) = errors.worst() {
        ui.horizontal_wrapped(|ui| {
            ui.label("worst:");
            ui.monospace(worst.as_str());
            if ui.button("Copy").on_hover_text("The worst element with both numbers in hexadecimal").clicked() {
                ui.ctx().copy_text(worst);
            }
        });
    }
    let rounding = &errors.rounding;
    let chi = rounding.chi_square.map_or(String::new(), |p| format!("; Pearson's test on ten bins: p = {p:.2}"));
    ui.label(format!(
        "mean {:+.3} ulp, root mean square {:.3} (one rounding: 0, 0.289){chi}; {} results are zeros or no numbers and have no \
         error.",
        rounding.mean, rounding.rms, errors.defined
    ));
}
