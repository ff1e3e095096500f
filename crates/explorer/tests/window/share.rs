use super::desk::{command, is_there, notices, settle, show, usual, window_with};
use contattn_explorer::logic::command::{Command, Edit};
use contattn_explorer::logic::document::Mode;
use contattn_explorer::logic::export::ExportFormat;
use contattn_explorer::logic::share;
use contattn_explorer::run::view_names;
use contattn_explorer::ui::theme::Theme;
use eframe::egui::{Key, OutputCommand};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

/// What the clipboard was given in the last frame.
fn copied(window: &super::desk::Window) -> Option<String> {
    window.output().platform_output.commands.iter().find_map(|command| match command {
        OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    })
}

#[test]
fn a_share_string_brings_everything_back() {
    let mut window = usual();
    command(&mut window, Edit::Key(3, 0.1 + 0.2));
    command(&mut window, Edit::Taylor(5));
    command(&mut window, Command::Mode(Mode::Dark));
    show(&mut window, "Matrix");
    let document = window.state().document();
    let file = window.get_by_label("Share");
    file.click();
    // The click is a press and a release: the text goes with the frame of the second.
    let mut text = None;
    for _ in 0..4 {
        window.step();
        text = text.or_else(|| copied(&window));
    }
    let text = text.expect("the button copies");
    assert!(text.starts_with(share::PREFIX));
    let mut other = usual();
    command(&mut other, Command::AskForShare);
    other.get_by_label("Share string").type_text(&text);
    settle(&mut other);
    other.get_by_label("OK").click();
    settle(&mut other);
    assert_eq!(other.state().document(), document);
    assert_eq!(other.state().shown(), ["Matrix"], "also which panel is in front");
    // Undo goes back behind it.
    command(&mut other, Command::Undo);
    assert_ne!(other.state().document(), document);
    // And a start with it shows the same.
    let again = window_with(Harness::builder(), share::decode(&text).unwrap());
    assert_eq!(again.state().document(), document);
}

#[test]
fn a_bad_share_string_changes_nothing() {
    let mut window = usual();
    let before = window.state().document();
    let good = share::encode(&window.state().session());
    for text in ["nonsense", "contattn1:", &good[..good.len() - 9], "contattn9:AAAA"] {
        command(&mut window, Command::LoadShare(text.to_owned()));
        assert_eq!(window.state().document(), before);
        assert!(!notices(&window).is_empty(), "{text}");
        while is_there(&window, "Close notice 1") {
            window.get_by_label("Close notice 1").click();
            settle(&mut window);
        }
        assert!(notices(&window).is_empty());
    }
}

/// Every view exports as PNG, SVG and CSV, and the dialogue writes the file.
#[test]
fn every_view_is_exported() {
    let mut window = usual();
    for view in view_names() {
        show(&mut window, view);
        if view == "Speed" {
            window.get_by_label("Measure").click();
            settle(&mut window);
        }
        let exports = window.state().with_shared(&Theme::new(false), |shared, panels| {
            let panel = panels.iter().find(|panel| panel.name() == view).unwrap();
            panel.export(shared).map(|export| ExportFormat::ALL.map(|format| export.bytes(format).unwrap()))
        });
        let [png, svg, csv] = exports.unwrap_or_else(|| panic!("{view} has nothing to export"));
        assert!(png.starts_with(b"\x89PNG") && svg.starts_with(b"<svg"), "{view}");
        let csv = String::from_utf8(csv).unwrap();
        let widths: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
        assert!(csv.lines().count() > 2 && widths[0] > 1, "{view}: {csv}");
    }
    let folder = tempfile::tempdir().unwrap();
    show(&mut window, "Operator");
    for format in ExportFormat::ALL {
        command(&mut window, Command::Export(format));
        let path = folder.path().join(format!("view.{}", format.extension()));
        let field = window.get_by_label("Path of the export");
        field.focus();
        window.key_press_modifiers(eframe::egui::Modifiers::COMMAND, Key::A);
        window.run_ok();
        window.get_by_label("Path of the export").type_text(&path.display().to_string());
        settle(&mut window);
        window.get_by_label("OK").click();
        settle(&mut window);
        assert!(std::fs::metadata(&path).unwrap().len() > 100, "{}", path.display());
    }
    // A folder that is not there is told.
    command(&mut window, Command::Export(ExportFormat::Csv));
    let field = window.get_by_label("Path of the export");
    field.focus();
    window.key_press_modifiers(eframe::egui::Modifiers::COMMAND, Key::A);
    window.run_ok();
    window.get_by_label("Path of the export").type_text("no such folder/view.csv");
    settle(&mut window);
    window.get_by_label("OK").click();
    settle(&mut window);
    assert!(notices(&window).iter().any(|what| what.contains("failed")));
}
