//! What a panel is: it reads [`Shared`], draws, and sends [`Commands`].

use crate::logic::command::{Command, Edit};
use crate::logic::engines;
use crate::logic::export::Export;
use crate::logic::fingerprint;
use crate::logic::source::{Layer, Source};
use crate::logic::state::State;
use crate::logic::worker::{Job, Lane, Shown, Slot, Worker};
use crate::ui::theme::Theme;
use eframe::egui;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// Where the pointer is, for all views at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hover {
    /// node of the row, which is a column of the matrix where the row comes from it
    pub node: Option<usize>,
    /// row and column of the matrix
    pub cell: Option<(usize, usize)>,
}

/// Numbers that change with parts of the state; keys of requests are made of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Keys {
    /// all that the result of the row depends on
    pub row: u64,
    /// all that the attention map depends on, but which row is chosen
    pub map: u64,
    /// the whole state
    pub state: u64,
}

impl Keys {
    /// Those of a state.
    pub fn of(state: &State) -> Keys {
        let settings =
            (state.rule.to_string(), state.sink, state.lower, state.upper, state.dtype.name(), &state.source);
        Keys {
            row: fingerprint(&(&state.row, &settings)),
            map: fingerprint(&(state.head.layer, state.head.head, &settings)),
            state: fingerprint(state),
        }
    }
}

/// What panels read.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// the inputs
    pub state: &'a State,
    /// numbers that change with them
    pub keys: Keys,
    /// q, k and v of the matrix
    pub source: &'a Arc<Source>,
    /// the engines; empty until they are opened
    pub engines: &'a [engines::Entry],
    /// where the pointer was in the last frame
    pub hover: Hover,
    /// colours
    pub theme: &'a Theme,
    pub(crate) worker: &'a Worker,
}

impl<'a> Shared<'a> {
    /// What a slot holds.
    pub fn shown<T: Send + Sync + 'static>(&self, slot: Slot) -> Shown<'a, T> {
        self.worker.shown(slot)
    }

    /// The chosen layer of the source.
    pub fn layer(&self) -> &'a Arc<Layer> {
        self.source.layer(self.state.head.layer)
    }
}

/// What panels want computed.
pub struct Requests<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) asked: Vec<(Slot, Lane, u64, Job)>,
}

impl Requests<'_> {
    /// Wants the result with this key in a slot. `job` is called, to take what it needs from the state, only where that is
    /// not there or on its way already.
    pub fn ask(&mut self, slot: Slot, lane: Lane, key: u64, job: impl FnOnce() -> Job) {
        if self.worker.wanted(slot) != Some(key) {
            self.asked.push((slot, lane, key, job()));
        }
    }
}

/// What panels want done. It is done after the frame, in order.
#[derive(Default)]
pub struct Commands {
    pub(crate) queue: Vec<Command>,
    pub(crate) hover: Hover,
}

impl Commands {
    /// Sends a command.
    pub fn send(&mut self, command: impl Into<Command>) {
        self.queue.push(command.into());
    }

    /// Sends a change of the inputs.
    pub fn edit(&mut self, edit: Edit) {
        self.queue.push(Command::Edit(edit));
    }

    /// The pointer is at this node: all views mark it.
    pub fn hover_node(&mut self, node: usize) {
        self.hover.node = Some(node);
    }

    /// The pointer is at this row and column of the matrix.
    pub fn hover_cell(&mut self, row: usize, column: usize) {
        self.hover.cell = Some((row, column));
    }
}

/// A view, as its author writes it. Its fields are its settings, which are undone, shared and remembered; what can be
/// computed is not a setting, and a field that is none has `#[serde(skip)]`.
pub trait View: Default + Serialize + DeserializeOwned {
    /// Title of the tab, and its name in files.
    const NAME: &'static str;
    /// One line of what it shows.
    const HINT: &'static str;

    /// Wants computed what it shows. Called after every frame in which the view was visible.
    fn requests(&self, shared: &Shared<'_>, requests: &mut Requests<'_>);

    /// Draws. No computing here that grows with the problem.
    fn ui(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands);

    /// What it shows as a figure and a table; `None` while there is nothing.
    fn export(&self, shared: &Shared<'_>) -> Option<Export>;
}

/// A view behind one type. Implemented by every [`View`].
pub trait Panel {
    /// [`View::NAME`].
    fn name(&self) -> &'static str;
    /// [`View::HINT`].
    fn hint(&self) -> &'static str;
    /// Its settings.
    fn settings(&self) -> serde_json::Value;
    /// Takes settings over.
    ///
    /// # Errors
    /// Where they are not this panel's; it stays as it is.
    fn set(&mut self, settings: &serde_json::Value) -> Result<(), serde_json::Error>;
    /// Back to the first settings.
    fn reset(&mut self);
    /// [`View::requests`].
    fn requests(&self, shared: &Shared<'_>, requests: &mut Requests<'_>);
    /// [`View::ui`].
    fn ui(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands);
    /// [`View::export`].
    fn export(&self, shared: &Shared<'_>) -> Option<Export>;
}

impl<V: View> Panel for V {
    fn name(&self) -> &'static str {
        V::NAME
    }

    fn hint(&self) -> &'static str {
        V::HINT
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn set(&mut self, settings: &serde_json::Value) -> Result<(), serde_json::Error> {
        *self = V::deserialize(settings)?;
        Ok(())
    }

    fn reset(&mut self) {
        *self = V::default();
    }

    fn requests(&self, shared: &Shared<'_>, requests: &mut Requests<'_>) {
        View::requests(self, shared, requests);
    }

    fn ui(&mut self, ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
        View::ui(self, ui, shared, commands);
    }

    fn export(&self, shared: &Shared<'_>) -> Option<Export> {
        View::export(self, shared)
    }
}

/// Draws what a slot holds, dimmed where it is not the answer to the newest request and has not been for a moment: while a
/// node is dragged, results that arrive with the next frame do not flicker.
pub fn dimmed<T, R>(ui: &mut egui::Ui, shown: &Shown<'_, T>, draw: impl FnOnce(&mut egui::Ui) -> R) -> R {
    ui.scope(|ui| {
        if let Some(age) = shown.waiting {
            const PATIENCE: std::time::Duration = std::time::Duration::from_millis(150);
            if age >= PATIENCE {
                ui.multiply_opacity(0.45);
            } else {
                ui.ctx().request_repaint_after(PATIENCE - age);
            }
        }
        draw(ui)
    })
    .inner
}
