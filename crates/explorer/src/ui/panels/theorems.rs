//! The Theorems view: every equation of the derivation, set as mathematics and run.

use super::sweeps::progress;
use crate::logic::command::Command;
use crate::logic::export::Export;
use crate::logic::fingerprint;
use crate::logic::theorems::{MAX_ROUNDS, Ran, Verdicts, Wanted, equation, run, table};
use crate::logic::worker::{Job, Lane, Slot};
use crate::ui::panel::{Commands, Requests, Shared, View};
use crate::ui::theme::Theme;
use contattn_figure::{Axis, Chart, Layer};
use contattn_reference::theorems::{Theorem, all};
use eframe::egui;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::OnceLock;

const RUN: Slot = "theorems";

/// Settings of the view.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Theorems {
    /// what was run last; nothing runs until it is asked for
    pub wanted: Wanted,
    /// instances drawn at random for each theorem
    pub rounds: u32,
    /// the theorem whose two sides are shown
    pub open: Option<String>,
}

impl Default for Theorems {
    fn default() -> Theorems {
        Theorems { wanted: Wanted::default(), rounds: 2, open: None }
    }
}

impl View for Theorems {
    const NAME: &'static str = "Theorems";
    const HINT: &'static str =
        "The derivation as theorems that run: each equation, both of its sides, with proven bounds";

    fn requests(&self, shared: &Shared<'_>, requests: &mut Requests<'_>) {
        let _ = shared;
        if self.wanted.ids.is_empty() {
            return;
        }
        let wanted = self.wanted.clone();
        requests.ask(RUN, Lane::Long, fingerprint(&wanted), || Job::new(move |task| run(&wanted, task)));
    }

    fn ui(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
        // Does nothing where they are there already.
        egui_extras::install_image_loaders(ui.ctx());
        let theorems = all();
        let shown = shared.shown::<Verdicts>(RUN);
        ui.horizontal_wrapped(|ui| {
            if ui.button("Verify all").on_hover_text("Run every theorem, one after the other").clicked() {
                let ids = theorems.iter().map(|theorem| theorem.id.to_owned()).collect();
                self.want(Wanted { rounds: self.rounds, ids, mistake: None }, commands);
            }
            let label = ui.label("random instances");
            let drag = egui::DragValue::new(&mut self.rounds).range(0..=MAX_ROUNDS);
            let hint = "Instances drawn at random for each theorem, besides the adversarial ones that are always there";
            ui.add(drag).labelled_by(label.id).on_hover_text(hint);
            if let Some(verdicts) = shown.value {
                let held = verdicts.values().filter(|ran| ran.verdict.holds).count();
                let compared: u64 = verdicts.values().map(|ran| ran.verdict.comparisons).sum();
                ui.label(format!("{held} of {} hold, {compared} comparisons", verdicts.len()));
            }
        });
        if !self.wanted.ids.is_empty() {
            progress(ui, RUN, &shown, shared, commands);
        }
        ui.separator();
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            for theorem in &theorems {
                let ran = shown.value.and_then(|verdicts| verdicts.get(theorem.id));
                self.row(ui, theorem, ran, shared.theme, commands);
                ui.separator();
            }
        });
    }

    fn export(&self, shared: &Shared<'_>) -> Option<Export> {
        let none = Verdicts::new();
        let verdicts = shared.shown::<Verdicts>(RUN).value.unwrap_or(&none);
        Some(Export::new("theorems", table(verdicts), sheet(verdicts)))
    }
}

impl Theorems {
    /// Runs this, also where it is what ran last.
    fn want(&mut self, wanted: Wanted, commands: &mut Commands) {
        if self.wanted == wanted {
            commands.send(Command::Again(RUN));
        }
        self.wanted = wanted;
    }

    fn row(&mut self, ui: &mut egui::Ui, theorem: &Theorem, ran: Option<&Ran>, theme: &Theme, commands: &mut Commands) {
        ui.horizontal_wrapped(|ui| {
            verdict_mark(ui, ran, theme);
            let number = theorem.equation.unwrap_or_default();
            ui.strong(format!("{} {number}", theorem.id));
            ui.label(theorem.statement);
        });
        ui.horizontal_wrapped(|ui| {
            set(ui, theorem, theme);
        });
        ui.horizontal_wrapped(|ui| {
            let id = theorem.id;
            let run = ui.button("Run").accessible_name(format!("Run {id}"));
            if run.on_hover_text("Compute both sides on its instances").clicked() {
                self.want(Wanted { rounds: self.rounds, ids: vec![id.to_owned()], mistake: None }, commands);
                self.open = Some(id.to_owned());
            }
            let mistake = ui.button("Run with a mistake").accessible_name(format!("Run {id} with a mistake"));
            let hint = "Make one constant of either side wrong, another with every click: it must not hold then";
            if mistake.on_hover_text(hint).clicked() {
                let same = self.wanted.ids == [id];
                let place = self.wanted.mistake.filter(|_| same).map_or(0, |place| (place + 1) % 1000);
                self.want(Wanted { rounds: self.rounds, ids: vec![id.to_owned()], mistake: Some(place) }, commands);
                self.open = Some(id.to_owned());
            }
            let is_open = self.open.as_deref() == Some(id);
            let sides = ui.selectable_label(is_open, "Both sides").accessible_name(format!("Both sides of {id}"));
            if sides.on_hover_text("How each side is computed, and what came out").clicked() {
                self.open = if is_open { None } else { Some(id.to_owned()) };
            }
            if let Some(proof) = theorem.proof {
                ui.weak(format!("machine-checked proof: {proof}"));
            }
        });
        if self.open.as_deref() == Some(theorem.id) {
            both_sides(ui, theorem, ran, theme);
        }
    }
}

/// Holds, fails, or not run yet.
fn verdict_mark(ui: &mut egui::Ui, ran: Option<&Ran>, theme: &Theme) {
    let (color, text) = match ran {
        Some(ran) if ran.verdict.holds => (theme.proven, "holds"),
        Some(Ran { mistake: Some(_), .. }) => (theme.wrong, "fails, as it must"),
        Some(_) => (theme.wrong, "FAILS"),
        None => (theme.softmax, "not run"),
    };
    ui.colored_label(color, text);
}

/// An equation in white, which takes every tint.
fn white(id: &str) -> Option<&'static [u8]> {
    static WHITE: OnceLock<HashMap<&str, Vec<u8>>> = OnceLock::new();
    let draw =
        |theorem: &Theorem| Some((theorem.id, equation(theorem.id)?.replace("currentColor", "#fff").into_bytes()));
    let all = WHITE.get_or_init(|| all().iter().filter_map(draw).collect());
    all.get(id).map(Vec::as_slice)
}

/// The equation in the colour of the theme's text; where it is too wide for the view, smaller.
fn set(ui: &mut egui::Ui, theorem: &Theorem, theme: &Theme) {
    let Some(svg) = white(theorem.id) else {
        ui.monospace(theorem.latex);
        return;
    };
    let image = egui::Image::from_bytes(format!("bytes://equation-{}.svg", theorem.id), svg).tint(theme.ink);
    let response = ui.add(image.fit_to_original_size(1.0).max_width(ui.available_width()).alt_text(theorem.latex));
    response.accessible_name(format!("Equation of {}", theorem.id)).on_hover_text(theorem.latex);
}

fn both_sides(ui: &mut egui::Ui, theorem: &Theorem, ran: Option<&Ran>, theme: &Theme) {
    ui.indent(theorem.id, |ui| {
        ui.label(format!("left: {}", theorem.left));
        ui.label(format!("right: {}", theorem.right));
        let Some(Ran { verdict, mistake }) = ran else {
            ui.label("Run it to see what came out on either side.");
            return;
        };
        let widest =
            verdict.widest_log2.map_or("all exact".to_owned(), |log| format!("widest enclosure 2^{:.0}", log.ceil()));
        let exact = match verdict.exact {
            Some(true) => "; its identities were proven over the rationals",
            _ => "",
        };
        ui.label(format!("{} instances, {} comparisons, {widest}{exact}", verdict.instances, verdict.comparisons));
        if let Some(mistake) = mistake {
            ui.colored_label(theme.wrong, format!("made wrong: {mistake}"));
        }
        if !verdict.holds {
            ui.colored_label(theme.wrong, &verdict.detail);
        }
        for measured in &verdict.measured {
            ui.label(format!(
                "measured: {} = {:.4}, expected {} to {}",
                measured.what, measured.value, measured.from, measured.to
            ));
        }
        for sides in &verdict.sides {
            // Numbers near the smallest have hundreds of digits; what is cut off shows under the pointer.
            ui.add(egui::Label::new(format!("{}: {}", sides.instance, sides.what)).truncate());
            for (name, text) in [("left ", &sides.left), ("right", &sides.right)] {
                ui.horizontal_wrapped(|ui| {
                    ui.weak(egui::RichText::new(name).monospace());
                    ui.monospace(text);
                });
            }
        }
    });
}

/// How narrow the enclosures were, as a figure: one bar for each theorem.
fn sheet(verdicts: &Verdicts) -> Chart {
    let theorems = all();
    let bits = theorems.iter().map(|theorem| verdicts.get(theorem.id)?.verdict.widest_log2.map(|log| -log));
    let bars: Vec<(f64, f64)> = bits.enumerate().map(|(i, bits)| (i as f64, bits.unwrap_or(f64::NAN))).collect();
    let held = verdicts.values().filter(|ran| ran.verdict.holds).count();
    Chart::new("Theorems: bits to which both sides are known")
        .caption(format!("{held} of {} theorems that ran hold; a theorem must be known to 100 bits", verdicts.len()))
        .x(Axis::new("").named(theorems.iter().map(|theorem| theorem.id)).range(-0.6, theorems.len() as f64 - 0.4))
        .y(Axis::new("bits"))
        .with(Layer::bars_at("narrowest of each", bars))
        .with(Layer::horizontal("asked for", 100.0))
        .sized(900, 460)
}
