//! Dialogues: the palette of commands, shortcuts, and texts that are asked for.

use crate::logic::command::{Command, Entry, fuzzy};
use crate::logic::export::ExportFormat;
use crate::ui::menu::shortcut_text;
use crate::ui::panel::Commands;
use eframe::egui;

/// The dialogue that is open.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Dialogue {
    /// none
    #[default]
    Closed,
    /// the palette, with the letters typed and the chosen line
    Palette {
        /// letters
        letters: String,
        /// line
        chosen: usize,
    },
    /// the list of shortcuts
    Shortcuts,
    /// the path of a file to read
    File(String),
    /// a share string
    Share(String),
    /// the path of a file to write
    Export(ExportFormat, String),
}

/// Lines of the palette.
const LINES: usize = 12;

impl Dialogue {
    /// Shows the dialogue, if one is open. Returns the path of an export that was confirmed.
    pub fn ui(
        &mut self,
        ctx: &egui::Context,
        catalogue: &[Entry],
        commands: &mut Commands,
    ) -> Option<(ExportFormat, String)> {
        let mut confirmed = None;
        let open = match self {
            Dialogue::Closed => return None,
            Dialogue::Palette { letters, chosen } => palette(ctx, catalogue, letters, chosen, commands),
            Dialogue::Shortcuts => shortcuts(ctx, catalogue),
            Dialogue::File(path) => {
                let told = "The path of a .safetensors, .npz or .npy file with q, k and v. A file can also be dropped on the window.";
                ask(ctx, "Open file", told, "Path of the file", path, |path| commands.send(Command::Open(path.into())))
            }
            Dialogue::Share(text) => {
                let told =
                    "The text that \"Copy share string\" gave. All that is shown is replaced; undo brings it back.";
                ask(ctx, "Paste share string", told, "Share string", text, |text| {
                    commands.send(Command::LoadShare(text.to_owned()))
                })
            }
            Dialogue::Export(format, path) => {
                let told = "The path of the file to write. A file of that name is replaced.";
                let format = *format;
                ask(ctx, "Export view", told, "Path of the export", path, |path| {
                    confirmed = Some((format, path.to_owned()))
                })
            }
        };
        if !open {
            *self = Dialogue::Closed;
        }
        confirmed
    }
}

fn modal(ctx: &egui::Context, name: &str, content: impl FnOnce(&mut egui::Ui) -> bool) -> bool {
    let area = egui::Modal::default_area(egui::Id::unique(name)).anchor(egui::Align2::CENTER_TOP, [0.0, 60.0]);
    let width = (ctx.content_rect().width() - 40.0).clamp(60.0, 560.0);
    let response = egui::Modal::new(egui::Id::unique(name)).area(area.accessible_name(name)).show(ctx, |ui| {
        ui.set_width(width);
        ui.heading(name);
        content(ui)
    });
    response.inner && !response.should_close()
}

fn palette(
    ctx: &egui::Context,
    catalogue: &[Entry],
    letters: &mut String,
    chosen: &mut usize,
    commands: &mut Commands,
) -> bool {
    let (up, down, enter) = ctx.input_mut(|input| {
        let mut key = |key| input.consume_key(egui::Modifiers::NONE, key);
        (key(egui::Key::ArrowUp), key(egui::Key::ArrowDown), key(egui::Key::Enter))
    });
    modal(ctx, "Command palette", |ui| {
        let edit =
            egui::TextEdit::singleline(letters).hint_text("a few letters of a command").desired_width(f32::INFINITY);
        let response = ui.add(edit).accessible_name("Letters of a command");
        response.request_focus();
        if response.changed() {
            *chosen = 0;
        }
        let mut found: Vec<(i32, &Entry)> =
            catalogue.iter().filter_map(|entry| Some((fuzzy(letters, &entry.name)?, entry))).collect();
        // Stable: equals stay in the order of the menus.
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let last = found.len().saturating_sub(1);
        *chosen = if up {
            chosen.saturating_sub(1)
        } else if down {
            *chosen + 1
        } else {
            *chosen
        }
        .min(last);
        if found.is_empty() {
            ui.label("No command has these letters in this order.");
        }
        // A window of lines around the chosen one.
        let first = chosen.saturating_sub(LINES - 1);
        for (at, (_, entry)) in found.iter().enumerate().skip(first).take(LINES) {
            let button = egui::Button::selectable(at == *chosen, entry.name.as_str())
                .shortcut_text(shortcut_text(ui.ctx(), entry.shortcut))
                .min_size(egui::vec2(ui.available_width(), 0.0));
            if ui.add(button).on_hover_text(&entry.hint).clicked() || (enter && at == *chosen) {
                commands.send(entry.command.clone());
                return false;
            }
        }
        if let Some((_, entry)) = found.get(*chosen) {
            ui.weak(&entry.hint);
        }
        !enter
    })
}

fn shortcuts(ctx: &egui::Context, catalogue: &[Entry]) -> bool {
    modal(ctx, "Shortcuts", |ui| {
        egui::ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
            egui::Grid::new("shortcuts").num_columns(3).striped(true).show(ui, |ui| {
                for entry in catalogue.iter().filter(|entry| entry.shortcut.is_some()) {
                    ui.monospace(shortcut_text(ui.ctx(), entry.shortcut));
                    ui.label(&entry.name);
                    ui.weak(&entry.hint);
                    ui.end_row();
                }
                for (what, name, hint) in MOUSE {
                    ui.monospace(*what);
                    ui.label(*name);
                    ui.weak(*hint);
                    ui.end_row();
                }
            });
        });
        !ui.button("Close").clicked()
    })
}

/// What the pointer does.
const MOUSE: &[(&str, &str, &str)] = &[
    ("drag", "Move a node", "in the curve of the Operator view; arrow keys move the focused node"),
    ("click", "Add a node", "beside the nodes of the curve; in a map it locks the cross-hair"),
    ("right click", "Remove a node", "of the curve"),
    ("double click", "Type a value", "of a node, to the last digit"),
    ("wheel", "Zoom a map", "around the pointer; drag moves it"),
];

fn ask(ctx: &egui::Context, title: &str, told: &str, name: &str, text: &mut String, done: impl FnOnce(&str)) -> bool {
    modal(ctx, title, |ui| {
        ui.label(told);
        let response = ui.add(egui::TextEdit::singleline(text).desired_width(f32::INFINITY)).accessible_name(name);
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if !entered && !response.has_focus() && ui.memory(|memory| memory.focused().is_none()) {
            response.request_focus();
        }
        let mut open = true;
        ui.horizontal(|ui| {
            if (ui.button("OK").clicked() || entered) && !text.trim().is_empty() {
                done(text.trim());
                open = false;
            }
            if ui.button("Cancel").clicked() {
                open = false;
            }
        });
        open
    })
}
