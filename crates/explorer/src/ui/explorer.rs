//! The explorer as a whole, without a window: state, panels, worker.

use crate::logic::command::{Command, Edit, Entry, catalogue};
use crate::logic::document::{Document, Mode, Session};
use crate::logic::engines::{self, OpenGpu};
use crate::logic::export::ExportFormat;
use crate::logic::fingerprint;
use crate::logic::history::History;
use crate::logic::share;
use crate::logic::source::Source;
use crate::logic::state::{SourceChoice, State};
use crate::logic::worker::{Failure, Job, Lane, Slot, Task, Wake, Worker};
use crate::ui::menu::{self, Enabled};
use crate::ui::notices::Notices;
use crate::ui::palette::Dialogue;
use crate::ui::panel::{Commands, Hover, Keys, Panel, Requests, Shared};
use crate::ui::theme::{self, Theme};
use crate::ui::tiles::{self, Dock, Layout};
use eframe::egui;
use egui_tiles::Tile;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const SOURCE: Slot = "source";
const ENGINES: Slot = "engines";

/// The application. [`Explorer::logic`] and [`Explorer::ui`] make a frame.
pub struct Explorer {
    state: State,
    panels: Vec<Box<dyn Panel>>,
    catalogue: Vec<Entry>,
    layout: Layout,
    history: History,
    worker: Worker,
    source: Arc<Source>,
    /// the choice that `source` is
    source_read: SourceChoice,
    /// a choice that is being read: the state takes it over when it is there
    source_asked: Option<SourceChoice>,
    engines: Vec<engines::Entry>,
    notices: Notices,
    dialogue: Dialogue,
    keys: Keys,
    hover: Hover,
    mode: Mode,
    zoom: f32,
    shown: Vec<String>,
    styled: bool,
    changed: bool,
    quit: bool,
}

impl Explorer {
    /// An explorer that shows a session; `wake` asks for a frame, from any thread.
    pub fn new(session: Session, wake: Wake) -> Explorer {
        Explorer::with_gpu(session, wake, Box::new(engines::gpu_of_its_own))
    }

    /// The same; the engine on a GPU is opened so, on the worker.
    pub fn with_gpu(session: Session, wake: Wake, open_gpu: OpenGpu) -> Explorer {
        let panels = crate::ui::panels::all();
        let names: Vec<(&'static str, &'static str)> =
            panels.iter().map(|panel| (panel.name(), panel.hint())).collect();
        let state = State::default();
        let mut explorer = Explorer {
            keys: Keys::of(&state),
            history: History::new(Document::default()),
            layout: tiles::first_layout(&names.iter().map(|(name, _)| *name).collect::<Vec<_>>()),
            catalogue: catalogue(&names),
            state,
            panels,
            worker: Worker::new(wake),
            source: Arc::new(Source::carried()),
            source_read: SourceChoice::Carried,
            source_asked: None,
            engines: Vec::new(),
            notices: Notices::default(),
            dialogue: Dialogue::Closed,
            hover: Hover::default(),
            mode: Mode::System,
            zoom: 1.0,
            shown: Vec::new(),
            styled: false,
            changed: true,
            quit: false,
        };
        explorer.show_session(session);
        explorer.history = History::new(explorer.document());
        explorer.worker.ask(ENGINES, Lane::Long, 0, Job::new(|_| Ok(engines::all(open_gpu))));
        explorer
    }

    fn names(&self) -> Vec<&'static str> {
        self.panels.iter().map(|panel| panel.name()).collect()
    }

    /// What undo goes back over.
    pub fn document(&self) -> Document {
        let panels = self.panels.iter().map(|panel| (panel.name().to_owned(), panel.settings())).collect();
        Document { state: self.state.clone(), panels }
    }

    /// All that is remembered.
    pub fn session(&self) -> Session {
        Session { document: self.document(), layout: Some(self.layout.clone()), mode: self.mode, zoom: Some(self.zoom) }
    }

    /// The inputs.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The messages.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    /// The names of the panels that were visible in the last frame.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Every command that has a name.
    pub fn catalogue(&self) -> &[Entry] {
        &self.catalogue
    }

    /// Whether the window should close.
    pub fn wants_to_quit(&self) -> bool {
        self.quit
    }

    /// What panels read, in colours of a light or dark background.
    pub fn with_shared<T>(&self, theme: &Theme, read: impl FnOnce(&Shared<'_>, &[Box<dyn Panel>]) -> T) -> T {
        read(&self.shared(theme), &self.panels)
    }

    fn shared<'a>(&'a self, theme: &'a Theme) -> Shared<'a> {
        Shared {
            state: &self.state,
            keys: self.keys,
            source: &self.source,
            engines: &self.engines,
            hover: self.hover,
            theme,
            worker: &self.worker,
        }
    }

    /// Takes over a session, as far as it fits; what does not is told.
    pub fn show_session(&mut self, session: Session) {
        match session.document.state.check() {
            Ok(()) => self.take_document(&session.document),
            Err(error) => self
                .notices
                .add(format!("The remembered state was not taken over: {error}"), "everything is as at first"),
        }
        if let Some(layout) = session.layout.and_then(|layout| tiles::repaired(layout, &self.names())) {
            self.layout = layout;
        }
        self.mode = session.mode;
        self.zoom = session.zoom.filter(|zoom| (0.3..=4.0).contains(zoom)).unwrap_or(1.0);
        self.styled = false;
        self.touch();
    }

    fn take_document(&mut self, document: &Document) {
        self.state = document.state.clone();
        for panel in &mut self.panels {
            match document.panels.get(panel.name()) {
                // Textures and the like are kept where nothing changed.
                Some(settings) if *settings == panel.settings() => {}
                Some(settings) => {
                    if let Err(error) = panel.set(settings) {
                        let what = format!("Settings of {} were not taken over: {error}", panel.name());
                        self.notices.add(what, "they are as at first");
                        panel.reset();
                    }
                }
                None => panel.reset(),
            }
        }
        self.touch();
    }

    fn touch(&mut self) {
        self.keys = Keys::of(&self.state);
        self.changed = true;
    }

    /// What happens before a frame: results arrive, files are dropped, keys are pressed.
    pub fn logic(&mut self, ctx: &egui::Context) {
        self.poll();
        let mut commands = Commands::default();
        if !self.styled {
            self.styled = true;
            theme::apply(ctx);
            ctx.options_mut(|options| options.zoom_with_keyboard = false);
            ctx.set_theme(match self.mode {
                Mode::System => egui::ThemePreference::System,
                Mode::Light => egui::ThemePreference::Light,
                Mode::Dark => egui::ThemePreference::Dark,
            });
            ctx.set_zoom_factor(self.zoom);
        }
        let dropped: Vec<PathBuf> =
            ctx.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        if let Some(path) = dropped.into_iter().next() {
            commands.send(Command::Open(path));
        }
        self.shortcuts(ctx, &mut commands);
        self.run(ctx, commands);
        if self.worker.take_restarted() {
            self.notices.add("The background thread had stopped and was started again", "");
        }
    }

    fn poll(&mut self) {
        for (slot, failure) in self.worker.poll() {
            // Panels show failures of their own slots in their own place.
            if slot == SOURCE
                && let Failure::Failed { what, advice } = failure
            {
                self.notices.add(what, advice);
                if self.source_asked.take().is_none() {
                    // A state from outside names a file that cannot be read: what is there stays.
                    self.state.source = self.source_read.clone();
                    self.touch();
                }
            }
        }
        let source = self.worker.shown::<(SourceChoice, Arc<Source>)>(SOURCE);
        if source.is_current
            && let Some((choice, source)) = source.value
            && (self.source_read != *choice || self.source_asked.is_some())
        {
            (self.source_read, self.source) = (choice.clone(), source.clone());
            if let Some(choice) = self.source_asked.take() {
                Edit::Source(choice).apply(&mut self.state);
            }
            self.touch();
        }
        if self.engines.is_empty()
            && let Some(engines) = self.worker.shown::<Vec<engines::Entry>>(ENGINES).value
        {
            self.engines = engines.clone();
        }
    }

    fn shortcuts(&mut self, ctx: &egui::Context, commands: &mut Commands) {
        // The more specific first: Ctrl+Shift+Z before Ctrl+Z.
        let mut with_keys: Vec<&Entry> = self.catalogue.iter().filter(|entry| entry.shortcut.is_some()).collect();
        with_keys.sort_by_key(|entry| entry.shortcut.is_some_and(|s| !s.shift));
        for entry in with_keys {
            if let Some(shortcut) = entry.shortcut.and_then(menu::keyboard)
                && ctx.input_mut(|input| input.consume_shortcut(&shortcut))
            {
                commands.send(entry.command.clone());
            }
        }
    }

    /// A frame.
    pub fn ui(&mut self, ui: &mut egui::Ui) {
        let theme = Theme::new(ui.visuals().dark_mode);
        let mut commands = Commands::default();
        let enabled = Enabled { undo: self.history.can_undo() || self.is_edited(), redo: self.history.can_redo() };
        egui::Panel::top("menus").show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                menu::menus(ui, &self.catalogue, &enabled, &mut commands);
                ui.separator();
                menu::tool_bar(ui, &self.state, &mut commands);
                ui.separator();
                for (command, text, hint) in [
                    (Command::Undo, "Undo", "Undo the last edit (Ctrl+Z)"),
                    (Command::Redo, "Redo", "Redo what was undone (Ctrl+Y)"),
                    (Command::CopyShare, "Share", "Copy a text that brings back all that is shown"),
                    (Command::Palette, "Commands", "Every command by a few letters (Ctrl+P)"),
                ] {
                    let able = match command {
                        Command::Undo => enabled.undo,
                        Command::Redo => enabled.redo,
                        _ => true,
                    };
                    if ui.add_enabled(able, egui::Button::new(text)).on_hover_text(hint).clicked() {
                        commands.send(command);
                    }
                }
            });
        });
        egui::Panel::bottom("status").show(ui, |ui| self.status(ui));
        let mut shown = Vec::new();
        let mut layout = std::mem::replace(&mut self.layout, Layout::empty(tiles::id()));
        let mut panels = std::mem::take(&mut self.panels);
        egui::CentralPanel::no_frame().show(ui, |ui| {
            let shared = self.shared(&theme);
            let mut dock = Dock { panels: &mut panels, shared, commands: &mut commands, shown: &mut shown };
            layout.ui(&mut dock, ui);
        });
        (self.layout, self.panels, self.shown) = (layout, panels, shown);
        let ctx = ui.ctx().clone();
        if let Some((format, path)) = self.dialogue.ui(&ctx, &self.catalogue, &mut commands) {
            self.write_export(format, &path, &theme);
        }
        self.notices.ui(&ctx);
        let hover = commands.hover;
        self.run(&ctx, commands);
        self.request(&theme);
        if hover != self.hover {
            self.hover = hover;
            ctx.request_repaint();
        }
        // A drag is one step, and so is what is typed.
        let busy = ctx.input(|input| input.pointer.any_down()) || ctx.text_edit_focused();
        if !busy {
            let document = self.document();
            self.history.commit(&document);
        }
        if std::mem::take(&mut self.changed) {
            ctx.request_repaint();
        }
    }

    fn is_edited(&self) -> bool {
        self.history.present().state != self.state
    }

    fn request(&mut self, theme: &Theme) {
        let asked = {
            let mut requests = Requests { worker: &self.worker, asked: Vec::new() };
            let shared = self.shared(theme);
            for panel in self.panels.iter().filter(|panel| self.shown.iter().any(|name| name == panel.name())) {
                panel.requests(&shared, &mut requests);
            }
            requests.asked
        };
        for (slot, lane, key, job) in asked {
            self.worker.ask(slot, lane, key, job);
        }
        let wanted = self.source_asked.as_ref().unwrap_or(&self.state.source);
        if self.source_asked.is_some() || *wanted != self.source_read {
            let choice = wanted.clone();
            let key = fingerprint(&choice);
            let job = move |_: &Task| Source::read(&choice).map(|source| (choice, Arc::new(source)));
            self.worker.ask(SOURCE, Lane::Long, key, Job::new(job));
        }
    }

    fn status(&self, ui: &mut egui::Ui) {
        ui.horizontal(|ui| {
            let engines: Vec<&str> =
                self.engines.iter().filter(|entry| entry.engine.is_ok()).map(|entry| entry.name).collect();
            ui.weak(format!("heads: {}", self.source.title));
            ui.separator();
            ui.weak(if engines.is_empty() {
                "engines are being opened".to_owned()
            } else {
                format!("engines: {}", engines.join(", "))
            });
            if !self.worker.is_idle() {
                ui.separator();
                ui.weak("computing");
            }
        });
    }

    /// Does what was asked for.
    pub fn run(&mut self, ctx: &egui::Context, commands: Commands) {
        for command in commands.queue {
            self.run_one(ctx, command);
        }
    }

    fn run_one(&mut self, ctx: &egui::Context, command: Command) {
        match command {
            Command::Undo => {
                let document = self.document();
                self.history.commit(&document);
                if let Some(document) = self.history.undo().cloned() {
                    self.take_document(&document);
                }
            }
            Command::Redo => {
                if let Some(document) = self.history.redo().cloned() {
                    self.take_document(&document);
                }
            }
            Command::AskForFile => self.dialogue = Dialogue::File(String::new()),
            Command::Open(path) => self.ask_for(SourceChoice::File(path)),
            Command::Carried => self.ask_for(SourceChoice::Carried),
            Command::CopyShare => {
                ctx.copy_text(share::encode(&self.session()));
                self.notices
                    .add("The share string is on the clipboard", "paste it in another explorer, or give it to --state");
            }
            Command::AskForShare => self.dialogue = Dialogue::Share(String::new()),
            Command::LoadShare(text) => match share::decode(&text) {
                Ok(session) => self.show_session(session),
                Err(error) => self.notices.add(error.to_string(), "copy the whole text again; nothing was changed"),
            },
            Command::Export(format) => {
                let stem = self.active().map_or_else(|| "view".to_owned(), str::to_lowercase);
                self.dialogue = Dialogue::Export(format, format!("{stem}.{}", format.extension()));
            }
            Command::Show(name) => {
                let id = self.layout.tiles.find_pane(&name);
                self.layout.make_active(|tile, found| matches!(found, Tile::Pane(_)) && Some(tile) == id);
                self.changed = true;
            }
            Command::Mode(mode) => (self.mode, self.styled, self.changed) = (mode, false, true),
            Command::ZoomIn => self.set_zoom(self.zoom * 1.1),
            Command::ZoomOut => self.set_zoom(self.zoom / 1.1),
            Command::ZoomReset => self.set_zoom(1.0),
            Command::ResetLayout => {
                self.layout = tiles::first_layout(&self.names());
                self.changed = true;
            }
            Command::ResetAll => self.take_document(&Document::default()),
            Command::Palette => self.dialogue = Dialogue::Palette { letters: String::new(), chosen: 0 },
            Command::Shortcuts => self.dialogue = Dialogue::Shortcuts,
            Command::Quit => self.quit = true,
            Command::Preset(preset) => {
                Edit::Row(Box::new(preset.row())).apply(&mut self.state);
                self.touch();
            }
            Command::Cancel(slot) => self.worker.cancel(slot),
            Command::Again(slot) => self.worker.forget(slot),
            Command::Notice { what, advice } => self.notices.add(what, advice),
            Command::Edit(edit) => {
                edit.apply(&mut self.state);
                self.touch();
            }
        }
        self.changed = true;
    }

    /// Reads a source, again where it is shown already: a file may have changed.
    fn ask_for(&mut self, choice: SourceChoice) {
        self.source_asked = Some(choice);
        self.worker.forget(SOURCE);
    }

    fn set_zoom(&mut self, zoom: f32) {
        (self.zoom, self.styled, self.changed) = (zoom.clamp(0.3, 4.0), false, true);
    }

    /// The panel in front: the first that was drawn.
    fn active(&self) -> Option<&str> {
        self.shown.first().map(String::as_str)
    }

    fn write_export(&mut self, format: ExportFormat, path: &str, theme: &Theme) {
        let Some(name) = self.active().map(str::to_owned) else { return };
        let Some(panel) = self.panels.iter().find(|panel| panel.name() == name) else { return };
        let Some(export) = panel.export(&self.shared(theme)) else {
            self.notices.add(format!("{name} has nothing to export yet"), "wait until it is computed");
            return;
        };
        let bytes = match export.bytes(format) {
            Ok(bytes) => bytes,
            Err(error) => return self.notices.add(format!("The export failed: {error}"), ""),
        };
        match contattn_core::file::write_bytes(path, &bytes) {
            Ok(()) => self.notices.add(format!("{path} was written"), ""),
            Err(error) => {
                self.notices.add(format!("The export failed: {error}"), "choose a folder that can be written")
            }
        }
    }

    /// Two panels side by side, and the others behind the second one.
    pub fn show_beside(&mut self, left: &str, right: &str) {
        let mut tiles = egui_tiles::Tiles::default();
        let first = tiles.insert_pane(left.to_owned());
        let second = tiles.insert_pane(right.to_owned());
        let others: Vec<_> = self.names().into_iter().filter(|name| *name != left && *name != right).collect();
        let others: Vec<_> = others.into_iter().map(|name| tiles.insert_pane(name.to_owned())).collect();
        let left = tiles.insert_tab_tile(vec![first]);
        let right = tiles.insert_tab_tile(std::iter::once(second).chain(others).collect());
        let root = tiles.insert_horizontal_tile(vec![left, right]);
        self.layout = Layout::new(tiles::id(), root, tiles);
        self.changed = true;
    }

    /// Waits until all that was asked for is there; for pictures and tests.
    pub fn settle(&mut self, longest: Duration) -> bool {
        let settled = self.worker.settle(longest);
        self.poll();
        settled
    }

    /// Whether nothing is being computed.
    pub fn is_idle(&self) -> bool {
        self.worker.is_idle()
    }

    /// The worker, for tests that close it.
    pub fn worker_mut(&mut self) -> &mut Worker {
        &mut self.worker
    }
}
