//! The numbers of a cell and its row.

use crate::logic::matrix::RowNumbers;
use crate::ui::panel::Shared;
use crate::ui::plot::{Axes, short};
use eframe::egui::{self, Rect, Stroke, pos2, vec2};

pub(super) fn numbers(
    ui: &mut egui::Ui,
    shared: &Shared<'_>,
    cell: Option<(usize, usize)>,
    row: Option<&RowNumbers>,
    is_hovered: bool,
) {
    let Some((at, column)) = cell else {
        ui.label("Move over the map to read off numbers. A click locks the cell and loads its row into the Operator view; drag moves, the wheel zooms, arrow keys move a locked cell.");
        return;
    };
    ui.horizontal(|ui| {
        ui.label(egui::RichText::new(format!("query {at}, node {column}")).strong().size(15.0));
        ui.weak(if is_hovered { "under the pointer" } else { "locked" });
    });
    let shape = shared.layer().shape();
    let tokens = &shared.source.tokens;
    let query = (at + shape.keys).checked_sub(shape.queries).and_then(|node| tokens.get(node));
    let key = column.checked_sub(1).and_then(|node| tokens.get(node)).map_or("sink", String::as_str);
    if let Some(query) = query {
        ui.label(format!("\"{query}\" attends to \"{key}\""));
    }
    let Some(row) = row.filter(|row| row.row == at && column < row.weights.len()) else {
        ui.label("Being evaluated.");
        return;
    };
    let seen = row.bias[column] > f64::NEG_INFINITY || row.weights[column] > 0.0;
    let number = |x: f64| if x.is_finite() { format!("{x:.12}") } else { "none".to_owned() };
    egui::Grid::new("cell").num_columns(2).show(ui, |ui| {
        let mut line = |name: &str, value: String| {
            ui.label(name);
            ui.monospace(value);
            ui.end_row();
        };
        line("score a", number(row.scores[column]));
        line("bias b", if seen { number(row.bias[column]) } else { "not visible".to_owned() });
        if let Some(taylor) = &row.taylor {
            line(&format!("Taylor, order {}", shared.state.taylor), number(taylor[column]));
        }
        line("weight w", number(row.weights[column]));
        line("softmax", number(row.softmax[column]));
        line("difference", format!("{:+.6e}", row.weights[column] - row.softmax[column]));
    });
    ui.separator();
    bars(ui, shared, row, column);
}

/// The row's weights beside softmax's.
fn bars(ui: &mut egui::Ui, shared: &Shared<'_>, row: &RowNumbers, column: usize) {
    let theme = shared.theme;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width().max(60.0), 190.0), egui::Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Weights of the row"));
    let count = row.weights.len();
    let most = row.weights.iter().chain(&row.softmax).copied().filter(|w| w.is_finite()).fold(1e-300, f64::max);
    let axes = Axes::new(rect, (-0.7, count as f64 - 0.3), (0.0, 1.1 * most));
    let painter = ui.painter_at(rect);
    axes.frame(&painter, theme, &format!("row {}: bars continuous, lines softmax", row.row), None);
    let inner = ui.painter_at(axes.field);
    for node in 0..count {
        let (x0, x1) = (axes.x(node as f64 - 0.42), axes.x(node as f64 + 0.42));
        let color = if node == column { theme.marked } else { theme.in_order(node, count) };
        if row.weights[node] > 0.0 {
            let bar = Rect::from_two_pos(pos2(x0, axes.y(0.0)), pos2(x1.max(x0 + 1.0), axes.y(row.weights[node])));
            inner.rect_filled(bar, 0.0, color);
        }
        if row.softmax[node] > 0.0 {
            inner.hline(x0..=x1.max(x0 + 1.0), axes.y(row.softmax[node]), Stroke::new(1.5, theme.ink));
        }
    }
    let sum: f64 = row.weights.iter().filter(|w| w.is_finite()).sum();
    let top = (0..count).max_by(|&i, &j| row.weights[i].total_cmp(&row.weights[j])).unwrap_or(0);
    ui.label(format!("largest weight {} at node {top}; the weights sum to {}", short(row.weights[top]), short(sum)));
}
