//! Sweeps, Precision, Theorems and Speed, driven through accessibility names.

use super::desk::{command, is_there, place, says, settle, show, usual, with_preset};
use contattn_explorer::logic::command::{Command, Edit};
use contattn_explorer::logic::export::ExportFormat;
use contattn_explorer::logic::preset::Preset;
use contattn_explorer::logic::state::Head;
use contattn_explorer::logic::sweeps::Kind;
use contattn_explorer::ui::theme::Theme;
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable;

#[test]
fn every_sweep_draws_its_curves() {
    let mut window = with_preset(Preset::Spike);
    show(&mut window, "Sweeps");
    for kind in Kind::ALL {
        window.get_by_label(kind.name()).click();
        settle(&mut window);
        assert!(says(&window, kind.about()), "{kind:?}");
        let expected = match kind {
            Kind::Refinement => "Sweep: distance of the output",
            Kind::Sampling => "Sweep: sampled at random",
            _ => "Sweep: weights",
        };
        assert!(is_there(&window, expected), "{kind:?}");
        assert!(is_there(&window, "Run again"), "{kind:?} is done");
    }
}

/// A click loads the point into the state, as one step of undo.
#[test]
fn a_click_loads_a_point() {
    let mut window = with_preset(Preset::Spike);
    let before = window.state().state().clone();
    show(&mut window, "Sweeps");
    let chart = place(&window, "Sweep: output");
    window.hover_at(chart + vec2(40.0, 0.0));
    window.run_ok();
    assert!(says(&window, "factor of the durations ="), "the numbers under the pointer");
    window.drag_at(chart + vec2(40.0, 0.0));
    window.drop_at(chart + vec2(40.0, 0.0));
    settle(&mut window);
    let row = &window.state().state().row;
    assert_ne!(row.times, before.row.times);
    assert_eq!(row.keys, before.row.keys);
    command(&mut window, Command::Undo);
    assert_eq!(window.state().state(), &before);
}

#[test]
fn smoothness_and_peaks_are_told() {
    let mut window = with_preset(Preset::Spike);
    show(&mut window, "Sweeps");
    for words in ["normalised slope", "m_max", "Peaks of the weights", "1 / n ="] {
        assert!(says(&window, words), "{words}");
    }
}

/// Rotary positions need a row of a head; the control says so.
#[test]
fn rotary_positions_need_a_head() {
    let mut window = with_preset(Preset::Spike);
    show(&mut window, "Sweeps");
    window.get_by_label("scale of time").click();
    settle(&mut window);
    assert!(says(&window, "to the last bit"));
    let disabled = |name: Option<String>, off| name.as_deref() == Some("rotary positions") && off;
    assert!(window.query_all_by(move |node| disabled(node.label(), node.is_disabled())).next().is_some());
}

#[test]
fn precision_judges_an_engine() {
    let mut window = usual();
    command(&mut window, Edit::Head(Head { layer: 0, head: 0, query: 0 }));
    show(&mut window, "Precision");
    assert!(says(&window, "results are the nearest"));
    assert!(says(&window, "0x1."), "the worst element in hexadecimal");
    for name in [
        "Errors: errors of o",
        "Errors: where they sit",
        "Cancellation: phi2 by formulas in f32",
        "Cancellation: phi2 by formulas in f64",
    ] {
        assert!(is_there(&window, name), "{name}");
    }
    for quantity in ["lse", "w", "b", "o"] {
        window.get_by_label(quantity).click();
        settle(&mut window);
        assert!(is_there(&window, &format!("Errors: errors of {quantity}")), "{quantity}");
    }
}

/// Theorems run one by one, hold, and fail as soon as a constant is wrong.
#[test]
fn theorems_run_one_by_one() {
    let mut window = usual();
    show(&mut window, "Theorems");
    assert!(is_there(&window, "Equation of eq4") && says(&window, "not run"));
    window.get_by_label("Run eq4").click();
    settle(&mut window);
    assert!(says(&window, "1 of 1 hold") && says(&window, "holds"));
    assert!(says(&window, "left: ") && says(&window, "+- "), "both sides with their bounds");
    window.get_by_label("Run eq4 with a mistake").click();
    settle(&mut window);
    assert!(says(&window, "fails, as it must") && says(&window, "made wrong: "));
}

#[test]
fn speed_is_measured_on_demand() {
    let mut window = usual();
    show(&mut window, "Speed");
    assert!(says(&window, "the readable evaluation in f64"), "the engines before anything is timed");
    window.get_by_label("Measure").click();
    settle(&mut window);
    for words in ["GFLOP/s", "of the roof", "plain-f32"] {
        assert!(says(&window, words), "{words}");
    }
    assert!(is_there(&window, "Speed: roofline") && is_there(&window, "Speed: time of all rows"));
}

/// What is on the screen leaves as a picture and as numbers.
#[test]
fn views_are_exported() {
    let mut window = usual();
    for view in ["Sweeps", "Precision", "Theorems"] {
        show(&mut window, view);
        let export = window.state().with_shared(&Theme::new(false), |shared, panels| {
            panels.iter().find(|panel| panel.name() == view).and_then(|panel| panel.export(shared))
        });
        let export = export.unwrap_or_else(|| panic!("{view} exports nothing"));
        let bytes = |format| export.bytes(format).unwrap();
        assert!(bytes(ExportFormat::Png).starts_with(b"\x89PNG"), "{view}");
        assert!(bytes(ExportFormat::Svg).starts_with(b"<svg"), "{view}");
        assert!(bytes(ExportFormat::Csv).iter().filter(|byte| **byte == b'\n').count() > 20, "{view}");
    }
}
