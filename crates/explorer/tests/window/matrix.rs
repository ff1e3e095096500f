use super::desk::{command, is_there, notices, place, settle, show, usual};
use contattn_explorer::bench::write_head;
use contattn_explorer::logic::command::{Command, Edit};
use contattn_explorer::logic::matrix::Quantity;
use contattn_explorer::logic::state::{Head, Origin, SourceChoice};
use eframe::egui;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A click locks a cell, and its row goes to the Operator view.
#[test]
fn a_click_loads_the_row() {
    let mut window = usual();
    show(&mut window, "Matrix");
    let middle = place(&window, "Attention map");
    window.hover_at(middle);
    window.run_ok();
    window.drag_at(middle);
    window.drop_at(middle);
    settle(&mut window);
    let state = window.state().state();
    let Origin::Head(head) = state.row.origin else { panic!("a row of a head") };
    assert_eq!((head.query, head), (state.head.query, state.head));
    assert!(head.query > 5 && head.query < 20, "{}", head.query);
    assert_eq!(state.row.len(), head.query + 2, "the sink, and the nodes up to the query's own");
    assert!(is_there(&window, "Weights of the row"));
}

/// A file that is dropped on the window.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

#[test]
fn files_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.safetensors");
    write_head(&path, 40).unwrap();
    let mut window = usual();
    show(&mut window, "Matrix");
    window.input_mut().dropped_files.push(Arc::new(Dropped(path.clone())));
    settle(&mut window);
    assert_eq!(notices(&window), Vec::<String>::new());
    assert_eq!(window.state().state().source, SourceChoice::File(path.clone()));
    assert!(is_there(&window, "Attention map, 40 rows, 41 columns"));
    // One file of three: the two others lie beside it.
    for name in ["q", "k", "v"] {
        let locator = format!("{}:{name}", path.display()).parse().unwrap();
        let array = contattn_core::file::read(&locator).unwrap();
        let own = folder.path().join(format!("layer0_{name}.npy"));
        contattn_core::file::write(&own.display().to_string().parse().unwrap(), &array).unwrap();
    }
    command(&mut window, Command::Open(folder.path().join("layer0_k.npy")));
    assert_eq!(notices(&window), Vec::<String>::new());
    assert!(is_there(&window, "Attention map, 40 rows, 41 columns"));
    command(&mut window, Command::Carried);
    assert!(is_there(&window, "Attention map, 26 rows, 27 columns"));
}

#[test]
fn every_quantity_and_head_is_shown() {
    let mut window = usual();
    show(&mut window, "Matrix");
    for layer in 0..3 {
        for head in [0, 4, 8] {
            command(&mut window, Edit::Head(Head { layer, head, query: 0 }));
        }
    }
    for quantity in Quantity::ALL {
        let mut session = window.state().session();
        let settings = session.document.panels.get_mut("Matrix").unwrap();
        settings["quantity"] = serde_json::to_value(quantity).unwrap();
        window.state_mut().show_session(session);
        settle(&mut window);
        let export = window.state().with_shared(&contattn_explorer::ui::theme::Theme::new(false), |shared, panels| {
            panels.iter().find(|panel| panel.name() == "Matrix").and_then(|panel| panel.export(shared))
        });
        assert!(export.is_some_and(|export| export.table.len() > 100), "{quantity:?}");
    }
}

/// The wheel zooms; a double click shows all.
#[test]
fn the_wheel_zooms() {
    let mut window = usual();
    show(&mut window, "Matrix");
    let middle = place(&window, "Attention map");
    window.hover_at(middle);
    window.run_ok();
    let look = |window: &super::desk::Window| {
        window.state().session().document.panels["Matrix"]["look"]["cell"].as_f64().unwrap()
    };
    assert_eq!(look(&window), 0.0);
    window.event(egui::Event::Zoom(1.5));
    settle(&mut window);
    assert!(look(&window) > 10.0);
    for pressed in [true, false, true, false] {
        let modifiers = egui::Modifiers::NONE;
        window.event(egui::Event::PointerButton {
            pos: middle,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers,
        });
    }
    settle(&mut window);
    assert_eq!(look(&window), 0.0);
}
