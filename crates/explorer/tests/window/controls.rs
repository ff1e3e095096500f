use super::desk::{command, is_there, settle, show, usual, window};
use contattn_explorer::logic::command::{Command, fuzzy};
use contattn_explorer::logic::document::Mode;
use contattn_explorer::logic::preset::Preset;
use contattn_explorer::run::view_names;
use eframe::egui::{Key, Modifiers, vec2};
use egui_kittest::kittest::Queryable;

/// Every view, in a wide and in a narrow window: a control without a name fails.
#[test]
fn every_control_has_a_name() {
    for size in [vec2(1440.0, 900.0), vec2(800.0, 600.0)] {
        let mut window = window(size);
        for view in view_names() {
            show(&mut window, view);
            assert!(window.state().shown().iter().any(|name| name == view), "{view} is not shown");
            assert_eq!(window.unnamed_widgets(), Vec::<String>::new(), "{view}");
        }
    }
}

/// A planted control without a name is noticed.
#[test]
#[should_panic(expected = "lack accessible name")]
fn a_control_without_a_name_is_noticed() {
    let mut harness = egui_kittest::Harness::new_ui(|ui| {
        let mut text = String::new();
        ui.text_edit_singleline(&mut text);
    });
    harness.run();
    harness.check_accessibility();
}

#[test]
fn the_palette_finds_and_does() {
    let mut window = usual();
    window.key_press_modifiers(Modifiers::COMMAND, Key::P);
    settle(&mut window);
    assert!(is_there(&window, "Letters of a command"));
    window.get_by_label("Letters of a command").type_text("spike");
    settle(&mut window);
    window.key_press(Key::Enter);
    settle(&mut window);
    assert!(!is_there(&window, "Letters of a command"), "the palette closes");
    assert_eq!(window.state().state().row, Preset::Spike.row());
    // Arrow keys choose another line.
    window.key_press_modifiers(Modifiers::COMMAND, Key::P);
    settle(&mut window);
    window.get_by_label("Letters of a command").type_text("preset");
    settle(&mut window);
    window.key_press(Key::ArrowDown);
    settle(&mut window);
    window.key_press(Key::Enter);
    settle(&mut window);
    let mut scored: Vec<_> =
        Preset::ALL.iter().map(|preset| (fuzzy("preset", &format!("Preset: {}", preset.name())), preset)).collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    assert_eq!(window.state().state().row, scored[1].1.row());
    window.key_press_modifiers(Modifiers::COMMAND, Key::P);
    settle(&mut window);
    window.key_press(Key::Escape);
    settle(&mut window);
    assert!(!is_there(&window, "Letters of a command"), "escape closes it");
}

/// Every command of the list can be done, twice, from any view, without harm.
#[test]
fn every_command_can_be_done() {
    let mut window = usual();
    let commands: Vec<Command> = window.state().catalogue().iter().map(|entry| entry.command.clone()).collect();
    for view in view_names() {
        show(&mut window, view);
        for each in commands.iter().filter(|c| **c != Command::Quit) {
            command(&mut window, each.clone());
            window.key_press(Key::Escape);
            settle(&mut window);
        }
    }
    assert!(!window.state().wants_to_quit());
    command(&mut window, Command::Quit);
    assert!(window.state().wants_to_quit());
}

#[test]
fn shortcuts_are_shown_and_work() {
    let mut window = usual();
    command(&mut window, Command::Shortcuts);
    assert!(window.query_all_by_label_contains("Command palette").count() > 0);
    window.get_by_label("Close").click();
    settle(&mut window);
    for (at, view) in view_names().into_iter().enumerate() {
        let key = Key::from_name(&(at + 1).to_string()).unwrap();
        window.key_press_modifiers(Modifiers::COMMAND, key);
        settle(&mut window);
        assert_eq!(window.state().shown(), [view]);
    }
}

#[test]
fn menus_list_every_command() {
    let mut window = usual();
    window.get_by_label("Help").click();
    settle(&mut window);
    assert!(is_there(&window, "Command palette"));
    window.key_press(Key::Escape);
    settle(&mut window);
    window.get_by_label("Edit").click();
    settle(&mut window);
    assert!(is_there(&window, "Undo") && is_there(&window, "Preset"));
}

#[test]
fn nothing_is_drawn_while_nothing_changes() {
    for view in view_names() {
        let mut window = usual();
        show(&mut window, view);
        window.remove_cursor();
        settle(&mut window);
        window.step();
        let delay = window.output().viewport_output[&eframe::egui::ViewportId::ROOT].repaint_delay;
        assert!(delay > std::time::Duration::from_secs(60), "{view} asks for a frame after {delay:?}");
    }
}

#[test]
fn themes_and_sizes_are_undisturbed_by_undo() {
    let mut window = usual();
    command(&mut window, Command::Mode(Mode::Dark));
    command(&mut window, Command::ZoomIn);
    command(&mut window, Command::Preset(Preset::Ramp));
    command(&mut window, Command::Undo);
    let session = window.state().session();
    assert_eq!(session.mode, Mode::Dark);
    assert!(session.zoom.is_some_and(|zoom| zoom > 1.05));
    assert_eq!(session.document.state.row, Preset::default().row());
}
