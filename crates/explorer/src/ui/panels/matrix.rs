//! The Matrix view: a head's attention as a map.

mod export;
mod numbers;

use crate::logic::command::{Command, Edit};
use crate::logic::export::Export;
use crate::logic::fingerprint;
use crate::logic::inputs::row_of_head;
use crate::logic::matrix::{Evaluator, Map, Quantity, RowNumbers, Wanted, compute, row_numbers};
use crate::logic::preset::SHOWN;
use crate::logic::state::{Head, Origin, SourceChoice};
use crate::logic::worker::{Failure, Job, Lane, Slot};
use crate::ui::heatmap::{Heat, Look, Scale, Seen, Tiles, heatmap};
use crate::ui::panel::{Commands, Requests, Shared, View, dimmed};
use contattn_figure::ColorScale;
use eframe::egui::{self, Rect, vec2};
use serde::{Deserialize, Serialize};

const MAP: Slot = "matrix.map";
const ROW: Slot = "matrix.row";

/// Settings of the view.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Matrix {
    /// what the map shows
    pub quantity: Quantity,
    /// whether colours are logarithmic
    pub logarithmic: bool,
    /// where one looks
    pub look: Look,
    /// the cell that is locked: row and column
    pub locked: Option<(usize, usize)>,
    /// whether locking a cell loads its row into the Operator view
    pub feeds: bool,
    #[serde(skip)]
    tiles: Tiles,
    #[serde(skip)]
    seen: Seen,
}

impl Default for Matrix {
    fn default() -> Matrix {
        Matrix {
            quantity: Quantity::Difference,
            logarithmic: true,
            look: Look::default(),
            locked: Some((SHOWN.query, 11)),
            feeds: true,
            tiles: Tiles::default(),
            seen: Seen::default(),
        }
    }
}

impl Matrix {
    fn key(&self, shared: &Shared<'_>) -> u64 {
        let order = if self.quantity == Quantity::TaylorError { shared.state.taylor } else { 0 };
        fingerprint(&(shared.keys.map, self.quantity, order))
    }

    /// The colours of a range of numbers.
    fn scale(&self, range: Option<(f64, f64, f64)>) -> Scale {
        let (low, high, positive) = range.unwrap_or((0.0, 1.0, 1e-3));
        if self.quantity.is_signed() {
            Scale::signed(low.abs().max(high.abs()), self.logarithmic)
        } else if self.logarithmic {
            // Beyond sixteen decades a colour tells nothing.
            Scale::plain(ColorScale::logarithmic(positive.max(high * 1e-16), high))
        } else {
            Scale::plain(ColorScale::linear(low.min(0.0), high))
        }
    }

    /// The row that is read off: under the pointer, or locked.
    fn row(&self, shared: &Shared<'_>) -> Option<usize> {
        shared.hover.cell.or(self.locked).map(|(row, _)| row)
    }
}

impl View for Matrix {
    const NAME: &'static str = "Matrix";
    const HINT: &'static str = "The attention map of a head: weights, bias and differences, cell by cell";

    fn requests(&self, shared: &Shared<'_>, requests: &mut Requests<'_>) {
        let wanted =
            Wanted { quantity: self.quantity, level: self.seen.level, first: self.seen.first, end: self.seen.end };
        if wanted.end > wanted.first {
            let key = self.key(shared);
            requests.ask(MAP, Lane::Long, fingerprint(&(key, &wanted)), || {
                let (state, layer) = (shared.state.clone(), shared.layer().clone());
                let known = shared.shown::<Map>(MAP).value.cloned().unwrap_or_default();
                Job::new(move |task| compute(&Evaluator::new(&state, &layer)?, known, &wanted, key, task))
            });
        }
        let rows = shared.layer().shape().queries;
        if let Some(row) = self.row(shared).filter(|&row| row < rows) {
            let key = fingerprint(&(shared.keys.map, row, shared.state.taylor));
            requests.ask(ROW, Lane::Prompt, key, || {
                let (state, layer) = (shared.state.clone(), shared.layer().clone());
                Job::new(move |task| row_numbers(&Evaluator::new(&state, &layer)?, row, task))
            });
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
        self.controls(ui, shared, commands);
        let shown = shared.shown::<Map>(MAP);
        if let Some(Failure::Failed { what, advice }) = shown.failure {
            ui.colored_label(shared.theme.wrong, what);
            ui.label(advice);
        }
        let available = ui.available_rect_before_wrap();
        let side = if available.width() > 760.0 { 300.0 } else { 0.0 };
        let below = if side == 0.0 { (0.4 * available.height()).min(230.0) } else { 0.0 };
        let place = Rect::from_min_max(available.min, available.max - vec2(side + 8.0f32.min(side), below));
        ui.allocate_rect(available, egui::Sense::hover());
        let empty = Map::default();
        let key = self.key(shared);
        // Strips of another head or quantity would be the wrong numbers in this one's colours.
        let map = shown.value.filter(|map| map.key == key).unwrap_or(&empty);
        let scale = self.scale(map.range());
        let shape = shared.layer().shape();
        let tokens = &shared.source.tokens;
        let offset = shape.keys as isize - shape.queries as isize;
        let row_name =
            |row: usize| usize::try_from(row as isize + offset).ok().and_then(|node| tokens.get(node).cloned());
        let column_name = |column: usize| match column {
            0 => (!tokens.is_empty()).then(|| "sink".to_owned()),
            _ => tokens.get(column - 1).cloned(),
        };
        let cut = |name: Option<String>| name.map(|name| name.chars().take(9).collect());
        let linked = matches!(&shared.state.row.origin, Origin::Head(head)
            if (head.layer, head.head) == (shared.state.head.layer, shared.state.head.head));
        let heat = Heat {
            map,
            size: (shape.queries, shape.keys + 1),
            scale,
            colors: fingerprint(&(format!("{scale:?}"), shared.theme.dark)),
            rows: &|row| cut(row_name(row)),
            columns: &|column| cut(column_name(column)),
            locked: self.locked.filter(|&(row, column)| row < shape.queries && column <= shape.keys),
            marked_column: shared.hover.node.filter(|_| linked && shared.hover.cell.is_none()),
        };
        let seen = heatmap(ui, place, &heat, &mut self.look, &mut self.tiles, shared.theme);
        self.seen = Seen { hovered: None, chosen: None, ..seen };
        if let Some((row, column)) = seen.hovered {
            commands.hover_cell(row, column);
            if linked {
                commands.hover_node(column);
            }
        }
        if let Some(cell) = seen.chosen {
            self.choose(cell, shared, commands);
        }
        let numbers = shared.shown::<RowNumbers>(ROW);
        let place = if side > 0.0 {
            Rect::from_min_max(egui::pos2(available.right() - side, available.top()), available.max)
        } else {
            Rect::from_min_max(egui::pos2(available.left(), place.bottom() + 6.0), available.max)
        };
        let cell = seen.hovered.or(self.locked);
        ui.scope_builder(egui::UiBuilder::new().max_rect(place), |ui| {
            egui::ScrollArea::vertical().id_salt("numbers").auto_shrink(false).show(ui, |ui| {
                dimmed(ui, &numbers, |ui| numbers::numbers(ui, shared, cell, numbers.value, seen.hovered.is_some()));
            });
        });
    }

    fn export(&self, shared: &Shared<'_>) -> Option<Export> {
        let map = shared.shown::<Map>(MAP).value?;
        export::export(self, shared, map)
    }
}

impl Matrix {
    fn choose(&mut self, cell: (usize, usize), shared: &Shared<'_>, commands: &mut Commands) {
        // A click on the locked cell unlocks it.
        if self.locked == Some(cell) {
            self.locked = None;
            return;
        }
        self.locked = Some(cell);
        let head = Head { query: cell.0, ..shared.state.head };
        commands.edit(Edit::Head(head));
        if self.feeds {
            match row_of_head(shared.source, head) {
                Ok(row) => commands.edit(Edit::Row(Box::new(row))),
                Err(error) => commands.send(Command::Notice { what: error.to_string(), advice: String::new() }),
            }
        }
    }

    fn controls(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
        let (state, shape) = (shared.state, shared.layer().shape());
        ui.horizontal_wrapped(|ui| {
            let label = ui.label("layer");
            let index = state.head.layer.min(shared.source.layers.len() - 1);
            let name = |i: usize| {
                let name = shared.source.layers[i].name.as_str();
                if name.is_empty() { "the only one".to_owned() } else { name.to_owned() }
            };
            let combo = egui::ComboBox::from_id_salt("layer").selected_text(name(index)).width(90.0);
            let response = combo.show_ui(ui, |ui| {
                for i in 0..shared.source.layers.len() {
                    if ui.selectable_label(i == index, name(i)).clicked() {
                        commands.edit(Edit::Head(Head { layer: i, ..state.head }));
                    }
                }
            });
            response.response.labelled_by(label.id).on_hover_text("Layer of the source");
            let label = ui.label("head");
            let own = state.head.head.min(shape.heads - 1);
            let group = shape.heads / shape.kv_heads;
            let text = |head: usize| {
                if group == 1 { head.to_string() } else { format!("{head} (key head {})", head / group) }
            };
            let combo = egui::ComboBox::from_id_salt("head").selected_text(text(own)).width(120.0);
            let response = combo.show_ui(ui, |ui| {
                for head in 0..shape.heads {
                    if ui.selectable_label(head == own, text(head)).clicked() {
                        commands.edit(Edit::Head(Head { head, ..state.head }));
                    }
                }
            });
            let hint = format!("{} query heads share {} key heads", shape.heads, shape.kv_heads);
            response.response.labelled_by(label.id).on_hover_text(hint);
            let label = ui.label("show");
            let combo = egui::ComboBox::from_id_salt("quantity").selected_text(self.quantity.name()).width(180.0);
            let response = combo.height(300.0).show_ui(ui, |ui| {
                for quantity in Quantity::ALL {
                    let item = ui.selectable_label(self.quantity == quantity, quantity.name());
                    if item.on_hover_text(quantity.hint()).clicked() {
                        self.quantity = quantity;
                    }
                }
            });
            response.response.labelled_by(label.id).on_hover_text(self.quantity.hint());
            let hint = "Colours on a logarithmic scale; of signed numbers, on both sides of 0";
            ui.checkbox(&mut self.logarithmic, "log colours").on_hover_text(hint);
            if self.quantity == Quantity::TaylorError {
                let label = ui.label("order");
                let mut order = state.taylor;
                let slider = egui::Slider::new(&mut order, 1..=crate::logic::state::MAX_TAYLOR);
                let response = ui.add(slider).labelled_by(label.id);
                if response.on_hover_text("Order of the Taylor truncation of b").changed() {
                    commands.edit(Edit::Taylor(order));
                }
            }
            ui.checkbox(&mut self.feeds, "click loads the row")
                .on_hover_text("Locking a cell loads its row into the Operator view");
            if ui.button("Whole map").on_hover_text("A double click does the same").clicked() {
                self.look = Look::default();
            }
            if ui
                .button("Open...")
                .on_hover_text("q, k and v from a file; it can also be dropped on the window")
                .clicked()
            {
                commands.send(Command::AskForFile);
            }
            if state.source != SourceChoice::Carried
                && ui.button("Carried heads").on_hover_text("Back to the heads that the program carries").clicked()
            {
                commands.send(Command::Carried);
            }
            let shown = shared.shown::<Map>(MAP);
            if shown.is_running {
                let missing = shown.value.map_or(0, |map| map.missing);
                ui.weak(if missing > 0 { format!("{missing} strips to come") } else { "computing".to_owned() });
                if ui.button("Cancel").on_hover_text("Stop computing the map").clicked() {
                    commands.send(Command::Cancel(MAP));
                }
            } else if self.seen.level > 0 {
                let side = 1 << self.seen.level;
                ui.weak(format!("a pixel: the largest of {side} x {side} cells"));
            }
        });
    }
}
