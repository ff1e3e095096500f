//! Menus, the tool bar and the status line.

use crate::logic::command::{Command, Edit, Entry, Menu, Shortcut};
use crate::logic::preset::Preset;
use crate::logic::state::{Origin, SinkChoice, State};
use crate::ui::panel::Commands;
use contattn_core::Rule;
use eframe::egui;

/// The shortcut as egui has it; `None` where egui does not know the key.
pub fn keyboard(shortcut: Shortcut) -> Option<egui::KeyboardShortcut> {
    let mut modifiers = egui::Modifiers::NONE;
    if shortcut.command {
        modifiers |= egui::Modifiers::COMMAND;
    }
    if shortcut.shift {
        modifiers |= egui::Modifiers::SHIFT;
    }
    egui::Key::from_name(shortcut.key).map(|key| egui::KeyboardShortcut::new(modifiers, key))
}

/// The shortcut as people read it.
pub fn shortcut_text(ctx: &egui::Context, shortcut: Option<Shortcut>) -> String {
    shortcut.and_then(keyboard).map(|shortcut| ctx.format_shortcut(&shortcut)).unwrap_or_default()
}

/// Whether a command can be done now.
pub struct Enabled {
    /// there is a step back
    pub undo: bool,
    /// there is a step forward
    pub redo: bool,
}

impl Enabled {
    fn of(&self, command: &Command) -> bool {
        match command {
            Command::Undo => self.undo,
            Command::Redo => self.redo,
            _ => true,
        }
    }
}

/// The menus.
pub fn menus(ui: &mut egui::Ui, catalogue: &[Entry], enabled: &Enabled, commands: &mut Commands) {
    for menu in Menu::ALL {
        ui.menu_button(menu.title(), |ui| {
            let mut submenu: Option<&str> = None;
            for entry in catalogue.iter().filter(|entry| entry.menu == menu) {
                // "Preset: a ramp" stands in a submenu "Preset".
                match entry.name.split_once(": ") {
                    Some((group, _)) => {
                        if submenu != Some(group) {
                            submenu = Some(group);
                            ui.menu_button(group, |ui| {
                                let begins = format!("{group}: ");
                                for entry in catalogue.iter().filter(|e| e.menu == menu && e.name.starts_with(&begins))
                                {
                                    item(ui, entry, &entry.name[begins.len()..], enabled, commands);
                                }
                            });
                        }
                    }
                    None => item(ui, entry, &entry.name, enabled, commands),
                }
            }
        });
    }
}

fn item(ui: &mut egui::Ui, entry: &Entry, name: &str, enabled: &Enabled, commands: &mut Commands) {
    let button = egui::Button::new(name).shortcut_text(shortcut_text(ui.ctx(), entry.shortcut));
    if ui.add_enabled(enabled.of(&entry.command), button).on_hover_text(&entry.hint).clicked() {
        commands.send(entry.command.clone());
        ui.close();
    }
}

/// What a row is called.
pub fn origin(state: &State) -> String {
    let name = match &state.row.origin {
        Origin::Typed => "a row of your own".to_owned(),
        Origin::Preset(name) => name.clone(),
        Origin::Head(head) => format!("a real head's row {}", head.query),
    };
    if state.row.edited { format!("{name}, edited") } else { name }
}

/// Names of the rules as the tool bar shows them.
pub fn rule_name(rule: Rule) -> String {
    match rule {
        Rule::Linear => "linear (continuous attention)".to_owned(),
        Rule::Step => "step (CCT)".to_owned(),
        Rule::Trapezoid => "trapezoid".to_owned(),
        Rule::Taylor(order) => format!("Taylor, order {order}"),
    }
}

/// Choices that every view depends on.
pub fn tool_bar(ui: &mut egui::Ui, state: &State, commands: &mut Commands) {
    let label = ui.label("row");
    let combo = egui::ComboBox::from_id_salt("preset").selected_text(origin(state)).width(150.0);
    let response = combo.show_ui(ui, |ui| {
        for preset in Preset::ALL {
            if ui.selectable_label(false, preset.name()).on_hover_text(preset.hint()).clicked() {
                commands.send(Command::Preset(preset));
            }
        }
    });
    response
        .response
        .labelled_by(label.id)
        .on_hover_text("The row of scores that the Operator view edits; presets show one thing each");
    let label = ui.label("rule");
    let combo = egui::ComboBox::from_id_salt("rule").selected_text(rule_name(state.rule)).width(150.0);
    let response = combo.show_ui(ui, |ui| {
        for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(state.taylor)] {
            if ui.selectable_label(state.rule == rule, rule_name(rule)).clicked() {
                commands.edit(Edit::Rule(rule));
            }
        }
    });
    response.response.labelled_by(label.id).on_hover_text("How the curve between two nodes is read");
    let label = ui.label("sink");
    let combo = egui::ComboBox::from_id_salt("sink").selected_text(state.sink.name()).width(70.0);
    let response = combo.show_ui(ui, |ui| {
        for sink in SinkChoice::ALL {
            if ui.selectable_label(state.sink == sink, sink.name()).clicked() {
                commands.edit(Edit::Sink(sink));
            }
        }
    });
    response.response.labelled_by(label.id).on_hover_text("Node 0, which stands before the first key");
}
