//! Messages that say what happened and what to do.

use eframe::egui;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// what happened
    pub what: String,
    /// what to do; may be empty
    pub advice: String,
}

/// Messages until they are closed.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    list: Vec<Notice>,
}

/// More than these would hide the window.
const MOST: usize = 4;
/// Letters of a message that are shown.
const LETTERS: usize = 400;

impl Notices {
    /// Adds a message, unless the same one stands there already.
    pub fn add(&mut self, what: impl Into<String>, advice: impl Into<String>) {
        let cut = |text: String| {
            if text.chars().count() > LETTERS { text.chars().take(LETTERS).collect::<String>() + "..." } else { text }
        };
        let notice = Notice { what: cut(what.into()), advice: cut(advice.into()) };
        self.list.retain(|other| *other != notice);
        self.list.push(notice);
        if self.list.len() > MOST {
            self.list.remove(0);
        }
    }

    /// The messages, oldest first.
    pub fn list(&self) -> &[Notice] {
        &self.list
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Shows them in the lower right corner.
    pub fn ui(&mut self, ctx: &egui::Context) {
        if self.list.is_empty() {
            return;
        }
        let area = egui::Area::new(egui::Id::unique("notices")).anchor(egui::Align2::RIGHT_BOTTOM, [-12.0, -36.0]);
        let mut close = None;
        area.order(egui::Order::Foreground).accessible_name("Notices").show(ctx, |ui| {
            ui.set_max_width((ctx.content_rect().width() - 40.0).clamp(80.0, 420.0));
            for (at, notice) in self.list.iter().enumerate() {
                egui::Frame::popup(ui.style()).show(ui, |ui| {
                    ui.horizontal_top(|ui| {
                        let closing = ui.button("x").on_hover_text("Close this notice");
                        if closing.accessible_name(format!("Close notice {}", at + 1)).clicked() {
                            close = Some(at);
                        }
                        ui.vertical(|ui| {
                            ui.label(egui::RichText::new(&notice.what).strong());
                            if !notice.advice.is_empty() {
                                ui.label(&notice.advice);
                            }
                        });
                    });
                });
            }
        });
        if let Some(at) = close {
            self.list.remove(at);
        }
    }
}
