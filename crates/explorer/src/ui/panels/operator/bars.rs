//! Bars of weights, and of the bias beside its Taylor truncations.

use super::{Operator, Scene};
use crate::logic::command::Edit;
use crate::logic::operator::Reading;
use crate::logic::state::MAX_TAYLOR;
use crate::ui::panel::Commands;
use crate::ui::plot::{Axes, roomy, short};
use eframe::egui::{self, Align2, Color32, FontId, Rect, Sense, Stroke, pos2, vec2};

/// A bar from the base line, at least a hair wide.
fn bar(painter: &egui::Painter, axes: &Axes, (from, to): (f64, f64), base: f64, height: f64, color: Color32) {
    if !height.is_finite() {
        return;
    }
    let (x0, x1) = (axes.x(from), axes.x(to));
    let rect = Rect::from_two_pos(pos2(x0, axes.y(base)), pos2(x1.max(x0 + 1.0), axes.y(height)));
    painter.rect_filled(rect, 0.0, color);
}

/// The node under the pointer; a click pins it.
fn hover(
    ui: &egui::Ui,
    axes: &Axes,
    name: &str,
    count: usize,
    pinned: &mut Option<usize>,
    commands: &mut Commands,
) -> egui::Response {
    let response = ui.interact(axes.field, ui.scope_id().with(name), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, name));
    if let Some(place) = response.hover_pos() {
        let node = axes.numbers(place).0.round();
        if node >= 0.0 && (node as usize) < count {
            commands.hover_node(node as usize);
            if response.clicked() {
                *pinned = Some(node as usize);
            }
        }
    }
    response
}

fn mark(painter: &egui::Painter, axes: &Axes, scene: &Scene<'_>) {
    if let Some(node) = scene.hovered {
        let (x0, x1) = (axes.x(node as f64 - 0.5), axes.x(node as f64 + 0.5));
        let column = Rect::from_min_max(pos2(x0, axes.field.top()), pos2(x1, axes.field.bottom()));
        painter.rect_filled(column, 0.0, scene.shared.theme.marked.gamma_multiply(0.18));
    }
}

/// A legend in the upper right corner, on lines of its own.
fn legend(painter: &egui::Painter, field: Rect, ink: Color32, entries: &[(Color32, &str)]) {
    let mut y = field.top() + 10.0;
    for (color, text) in entries {
        let galley = painter.layout_no_wrap((*text).to_owned(), FontId::proportional(11.5), ink);
        let right = field.right() - 6.0;
        let left = right - galley.size().x;
        painter.galley(pos2(left, y - galley.size().y / 2.0), galley, ink);
        painter.rect_filled(Rect::from_min_size(pos2(left - 16.0, y - 5.0), vec2(11.0, 10.0)), 1.0, *color);
        y += 15.0;
    }
}

fn same(a: &Reading, b: &Reading) -> bool {
    a.weights.iter().zip(&b.weights).all(|(x, y)| (x - y).abs() <= 1e-12 || x == y)
}

pub(super) fn weights(ui: &mut egui::Ui, rect: Rect, scene: &Scene<'_>, view: &mut Operator, commands: &mut Commands) {
    let (theme, evaluation) = (scene.shared.theme, scene.evaluation);
    let count = evaluation.scores.len();
    let with_step = !same(&evaluation.step, &evaluation.softmax) && !same(&evaluation.step, &evaluation.chosen);
    let readings: Vec<(&Reading, Option<Color32>, &str)> = if with_step {
        vec![
            (&evaluation.chosen, None, "continuous"),
            (&evaluation.softmax, Some(theme.softmax), "softmax"),
            (&evaluation.step, Some(theme.step), "step (CCT)"),
        ]
    } else {
        vec![(&evaluation.chosen, None, "continuous"), (&evaluation.softmax, Some(theme.softmax), "softmax")]
    };
    let finite = readings.iter().flat_map(|(r, ..)| &r.weights).copied().filter(|w| w.is_finite());
    let most = finite.clone().fold(0.0, f64::max).max(1e-300);
    let least = finite.filter(|w| *w > 0.0).fold(most, f64::min).max(most * 1e-16);
    // On a logarithmic axis heights are log10 of the weights.
    let height = |w: f64| if view.log_weights { w.max(1e-320).log10() } else { w };
    let y = if view.log_weights { (least.log10().floor() - 0.5, most.log10().ceil()) } else { (0.0, 1.3 * most) };
    let axes = Axes::new(rect, (-0.7, count as f64 - 0.3), y).reserving(60.0);
    let painter = ui.painter_at(rect);
    let names = |node: f64| if (0.0..count as f64).contains(&node) { scene.name(node as usize) } else { String::new() };
    let title = if view.log_weights { "log10 of the weights" } else { "weights w" };
    axes.frame(&painter, theme, title, Some(&names));
    let inner = ui.painter_at(axes.field);
    mark(&inner, &axes, scene);
    let width = 0.84 / readings.len() as f64;
    for (at, (reading, color, _)) in readings.iter().enumerate() {
        for (node, &w) in reading.weights.iter().enumerate() {
            let from = node as f64 - 0.42 + at as f64 * width;
            let color = color.unwrap_or_else(|| theme.in_order(node, count));
            if w > 0.0 {
                bar(&inner, &axes, (from, from + 0.94 * width), y.0, height(w), color);
            }
        }
    }
    let step_is =
        if same(&evaluation.step, &evaluation.softmax) && !with_step { "softmax = step here" } else { "softmax" };
    let mut entries = vec![(theme.in_order(count / 2, count), "continuous"), (theme.softmax, step_is)];
    if with_step {
        entries.push((theme.step, "step (CCT)"));
    }
    legend(&inner, axes.field, theme.ink, &entries);
    let response = hover(ui, &axes, "Weights of the nodes", count, &mut view.pinned, commands);
    if let Some(node) = scene.hovered.filter(|&node| node < count) {
        let w = |reading: &Reading| short(reading.weights[node]);
        response.on_hover_text_at_pointer(format!(
            "{}: continuous {}, softmax {}, step {}",
            scene.name(node),
            w(&evaluation.chosen),
            w(&evaluation.softmax),
            w(&evaluation.step)
        ));
    }
    let corner = Rect::from_min_max(pos2(rect.right() - 60.0, rect.top()), pos2(rect.right(), rect.top() + 18.0));
    ui.put(corner, egui::Checkbox::new(&mut view.log_weights, "log")).on_hover_text("Weights on a logarithmic axis");
}

pub(super) fn bias(ui: &mut egui::Ui, rect: Rect, scene: &Scene<'_>, view: &mut Operator, commands: &mut Commands) {
    let (theme, evaluation, state) = (scene.shared.theme, scene.evaluation, scene.shared.state);
    let count = evaluation.scores.len();
    let order = state.taylor.clamp(1, MAX_TAYLOR);
    let series = evaluation.taylor.as_ref().ok().and_then(|orders| orders.get(order as usize - 1));
    let bias = &evaluation.chosen.bias;
    // Truncations may be far off: the axis is the bias's own, with what of them is near.
    let finite = || bias.iter().copied().filter(|b| b.is_finite());
    let (low, high) = finite().fold((0.0f64, 0.0f64), |(low, high), b| (low.min(b), high.max(b)));
    let span = (high - low).max(0.2);
    let near = |b: &f64| (low - 0.6 * span..=high + 0.6 * span).contains(b);
    let truncated = series.into_iter().flatten().copied().filter(near);
    let (low, high) = truncated.fold((low, high), |(low, high), b| (low.min(b), high.max(b)));
    let slider_width = (0.5 * rect.width()).min(190.0);
    let axes = Axes::new(rect, (-0.7, count as f64 - 0.3), roomy(low, high.max(low + 0.1))).reserving(slider_width);
    let painter = ui.painter_at(rect);
    let names = |node: f64| if (0.0..count as f64).contains(&node) { scene.name(node as usize) } else { String::new() };
    axes.frame(&painter, theme, "bias b: weight = softmax of a + b", Some(&names));
    let inner = ui.painter_at(axes.field);
    mark(&inner, &axes, scene);
    for (node, &b) in bias.iter().enumerate() {
        let color = if b < 0.0 { theme.negative } else { theme.positive };
        bar(&inner, &axes, (node as f64 - 0.36, node as f64 + 0.36), 0.0, b, color);
    }
    if let Some(series) = series {
        for (node, &b) in series.iter().enumerate().filter(|(_, b)| b.is_finite()) {
            let y = axes.y(b);
            let (x0, x1) = (axes.x(node as f64 - 0.44), axes.x(node as f64 + 0.44));
            if axes.field.y_range().contains(y) {
                inner.hline(x0..=x1.max(x0 + 2.0), y, Stroke::new(4.0, theme.plot));
                inner.hline(x0..=x1.max(x0 + 2.0), y, Stroke::new(2.0, theme.taylor));
            } else {
                // Off the axis: an arrow says where.
                let (tip, dy) = if y < axes.field.top() {
                    (axes.field.top() + 2.0, 7.0)
                } else {
                    (axes.field.bottom() - 2.0, -7.0)
                };
                let x = 0.5 * (x0 + x1);
                inner.arrow(pos2(x, tip + dy), vec2(0.0, -dy), Stroke::new(2.0, theme.taylor));
            }
        }
    }
    let response = hover(ui, &axes, "Bias of the nodes", count, &mut view.pinned, commands);
    if let Some(node) = scene.hovered.filter(|&node| node < count) {
        let of_series =
            series.map_or(String::new(), |series| format!(", Taylor order {order} {}", short(series[node])));
        response.on_hover_text_at_pointer(format!("{}: b {}{of_series}", scene.name(node), short(bias[node])));
    }
    let note = match (&evaluation.taylor, order) {
        (Err(reason), _) => format!("no Taylor series: {reason}"),
        (Ok(_), 1) => "lines: order 1, the short convolution [1/6, -1/3, 1/6]".to_owned(),
        (Ok(_), order) => format!("lines: the series of b to order {order}"),
    };
    inner.text(
        axes.field.left_bottom() + vec2(5.0, -4.0),
        Align2::LEFT_BOTTOM,
        note,
        FontId::proportional(11.5),
        theme.ink,
    );
    let corner = Rect::from_min_max(
        pos2(rect.right() - slider_width, rect.top() - 2.0),
        pos2(rect.right() - 4.0, rect.top() + 18.0),
    );
    ui.scope_builder(
        egui::UiBuilder::new().max_rect(corner).layout(egui::Layout::right_to_left(egui::Align::Center)),
        |ui| {
            let mut order = order;
            ui.spacing_mut().slider_width = (corner.width() - 110.0).max(30.0);
            let slider = egui::Slider::new(&mut order, 1..=MAX_TAYLOR);
            let response = ui.add_enabled(evaluation.taylor.is_ok(), slider).accessible_name("Taylor order");
            if response.on_hover_text("Order of the Taylor truncation of b that is drawn as lines").changed() {
                commands.edit(Edit::Taylor(order));
            }
            ui.label("order");
        },
    );
}
