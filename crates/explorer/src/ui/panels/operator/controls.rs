//! The controls above the plots.

use super::{Drag, Operator};
use crate::logic::command::Edit;
use crate::logic::inputs::DTYPES;
use crate::logic::state::{LowerEdge, UpperEdge};
use crate::ui::panel::{Commands, Shared};
use eframe::egui;

pub(super) fn controls(ui: &mut egui::Ui, view: &mut Operator, shared: &Shared<'_>, commands: &mut Commands) {
    let state = shared.state;
    ui.horizontal_wrapped(|ui| {
        ui.label("drag moves");
        for (drag, name, hint) in Drag::ALL {
            ui.selectable_value(&mut view.drag, drag, name).on_hover_text(hint);
        }
        ui.separator();
        let label = ui.label("query q");
        let mut query = state.row.query;
        let slider = egui::Slider::new(&mut query, -4.0..=4.0).clamping(egui::SliderClamping::Never).step_by(0.05);
        let response = ui.add(slider).labelled_by(label.id);
        if response.on_hover_text("Every score is q times a key: a larger q sharpens the row, -q turns it over").changed() {
            commands.edit(Edit::Query(query));
        }
        ui.separator();
        let label = ui.label("inputs in");
        let combo = egui::ComboBox::from_id_salt("dtype").selected_text(state.dtype.name()).width(56.0);
        let response = combo.show_ui(ui, |ui| {
            for dtype in DTYPES {
                if ui.selectable_label(state.dtype == dtype, dtype.name()).clicked() {
                    commands.edit(Edit::Dtype(dtype));
                }
            }
        });
        let hint = "Scores, values and the query are rounded to this type first; the certified results are about the rounded ones";
        response.response.labelled_by(label.id).on_hover_text(hint);
        ui.separator();
        window(ui, shared, commands);
    });
}

/// Where the window begins and ends.
fn window(ui: &mut egui::Ui, shared: &Shared<'_>, commands: &mut Commands) {
    let state = shared.state;
    let (first, last) = (state.row.times[0], state.row.times[state.row.len() - 1]);
    let middle = 0.5 * (first + last);
    let label = ui.label("window from");
    let name = match state.lower {
        LowerEdge::Start => "start",
        LowerEdge::At(_) => "time",
        LowerEdge::Sliding(_) => "query minus",
    };
    let response = egui::ComboBox::from_id_salt("lower").selected_text(name).width(86.0).show_ui(ui, |ui| {
        let choices = [
            (LowerEdge::Start, "start", "from the first visible node"),
            (LowerEdge::At(first + 0.25 * (last - first)), "time", "from a time, which may cut a segment"),
            (LowerEdge::Sliding(0.5 * (last - first)), "query minus", "a window of this width that follows the query"),
        ];
        for (edge, text, hint) in choices {
            if ui.selectable_label(text == name, text).on_hover_text(hint).clicked() {
                commands.edit(Edit::Lower(edge));
            }
        }
    });
    response.response.labelled_by(label.id).on_hover_text("Where the integral begins");
    if let LowerEdge::At(mut value) | LowerEdge::Sliding(mut value) = state.lower {
        let response = ui.add(egui::DragValue::new(&mut value).speed(0.01)).accessible_name("Lower edge of the window");
        if response.on_hover_text("Drag, or click to type; the edge can also be dragged in the curve").changed() {
            commands.edit(Edit::Lower(match state.lower {
                LowerEdge::Sliding(_) => LowerEdge::Sliding(value),
                _ => LowerEdge::At(value),
            }));
        }
    }
    let label = ui.label("to");
    let name = match state.upper {
        UpperEdge::End => "end",
        UpperEdge::At(_) => "time",
        UpperEdge::Query(_) => "query plus",
    };
    let response = egui::ComboBox::from_id_salt("upper").selected_text(name).width(80.0).show_ui(ui, |ui| {
        let choices = [
            (UpperEdge::End, "end", "to the last node"),
            (UpperEdge::At(middle), "time", "to a time, which may cut a segment"),
            (
                UpperEdge::Query(0.0),
                "query plus",
                "causal, to the query's time plus this; the query sits at the last node",
            ),
        ];
        for (edge, text, hint) in choices {
            if ui.selectable_label(text == name, text).on_hover_text(hint).clicked() {
                commands.edit(Edit::Upper(edge));
            }
        }
    });
    response.response.labelled_by(label.id).on_hover_text("Where the integral ends");
    if let UpperEdge::At(mut value) | UpperEdge::Query(mut value) = state.upper {
        let response = ui.add(egui::DragValue::new(&mut value).speed(0.01)).accessible_name("Upper edge of the window");
        if response.on_hover_text("Drag, or click to type; the edge can also be dragged in the curve").changed() {
            commands.edit(Edit::Upper(match state.upper {
                UpperEdge::Query(_) => UpperEdge::Query(value),
                _ => UpperEdge::At(value),
            }));
        }
    }
}
