//! An explorer to be driven.

use contattn_explorer::logic::command::{Command, Edit};
use contattn_explorer::logic::document::Session;
use contattn_explorer::logic::preset::Preset;
use contattn_explorer::ui::{Commands, Explorer};
use eframe::egui::{self, Pos2, Vec2, vec2};
use egui_kittest::kittest::Queryable;
use egui_kittest::{Harness, HarnessBuilder};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) type Window = Harness<'static, Explorer>;

/// A window of this size.
pub(crate) fn window_with(builder: HarnessBuilder<Explorer>, session: Session) -> Window {
    let explorer = Explorer::new(session, Arc::new(|| {}));
    let run = |ui: &mut egui::Ui, explorer: &mut Explorer| {
        explorer.logic(&ui.ctx().clone());
        explorer.ui(ui);
    };
    let mut window = builder.with_max_steps(60).with_step_dt(1.0 / 60.0).build_ui_state(run, explorer);
    settle(&mut window);
    window
}

pub(crate) fn window(size: Vec2) -> Window {
    window_with(Harness::builder().with_size(size), Session::default())
}

pub(crate) fn usual() -> Window {
    window(vec2(1440.0, 900.0))
}

/// A window that shows a preset.
pub(crate) fn with_preset(preset: Preset) -> Window {
    let mut window = usual();
    command(&mut window, Edit::Row(Box::new(preset.row())));
    window
}

/// Frames until everything is computed and nothing moves.
pub(crate) fn settle(window: &mut Window) {
    let until = Instant::now() + Duration::from_secs(60);
    let mut quiet = 0;
    while quiet < 3 {
        window.run_ok();
        window.state_mut().settle(Duration::from_secs(20));
        quiet = if window.state().is_idle() { quiet + 1 } else { 0 };
        assert!(Instant::now() < until, "the explorer does not settle");
    }
}

/// Does a command as if a menu had sent it.
pub(crate) fn command(window: &mut Window, command: impl Into<Command>) {
    let mut commands = Commands::default();
    commands.send(command);
    let ctx = window.ctx.clone();
    window.state_mut().run(&ctx, commands);
    settle(window);
}

/// Brings a view to the front.
pub(crate) fn show(window: &mut Window, view: &str) {
    command(window, Command::Show(view.to_owned()));
}

/// The middle of the widget whose name begins like this.
pub(crate) fn place(window: &Window, name: &str) -> Pos2 {
    let begins = name.to_owned();
    let found = window.query_all_by(move |node| node.label().is_some_and(|label| label.starts_with(&begins))).next();
    found.unwrap_or_else(|| panic!("no widget is called {name}...")).rect().center()
}

/// Whether such a widget is there.
pub(crate) fn is_there(window: &Window, name: &str) -> bool {
    let begins = name.to_owned();
    window.query_all_by(move |node| node.label().is_some_and(|label| label.starts_with(&begins))).next().is_some()
}

/// Whether a text stands somewhere on the screen.
pub(crate) fn says(window: &Window, text: &str) -> bool {
    let text = text.to_owned();
    let holds = move |said: Option<String>| said.is_some_and(|said| said.contains(&text));
    window.query_all_by(move |node| holds(node.label()) || holds(node.value())).next().is_some()
}

/// Presses, moves in steps, lets go.
pub(crate) fn drag(window: &mut Window, from: Pos2, by: Vec2) {
    window.hover_at(from);
    window.run_ok();
    window.drag_at(from);
    window.run_ok();
    for step in 1..=4 {
        window.hover_at(from + by * (step as f32 / 4.0));
        window.run_ok();
    }
    window.drop_at(from + by);
    settle(window);
}

pub(crate) fn notices(window: &Window) -> Vec<String> {
    window.state().notices().list().iter().map(|notice| notice.what.clone()).collect()
}
