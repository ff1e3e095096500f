//! e^{a(s)} and the hat functions whose areas are the weights.

use super::{Scene, nearest_node};
use crate::logic::operator::{Evaluation, Stretch};
use crate::ui::panel::Commands;
use crate::ui::plot::{Axes, area, roomy, short};
use contattn_core::Rule;
use eframe::egui::{self, Rect, Sense, Stroke};

/// Points of a hat on one segment, at most.
const MOST_POINTS: usize = 32;

/// What the two nodes of a stretch get at a place of it, in units of e^top, and the time of that place.
fn shares(evaluation: &Evaluation, rule: Rule, stretch: &Stretch, t: f64, top: f64) -> (f64, f64) {
    let (left, right) = (stretch.left, stretch.right);
    let e = |a: f64| (a - top).exp();
    if left == right {
        return (0.0, e(evaluation.scores[right]));
    }
    let (t0, t1) = (evaluation.times[left], evaluation.times[right]);
    let u = if t1 > t0 { ((t - t0) / (t1 - t0)).clamp(0.0, 1.0) } else { 1.0 };
    let (a0, a1) = (evaluation.scores[left], evaluation.scores[right]);
    match rule {
        // Each node's own exponential under its hat: together the straight line between the two.
        Rule::Trapezoid => (e(a0) * (1.0 - u), e(a1) * u),
        _ => {
            let height = e(a0 + u * (a1 - a0));
            (height * (1.0 - u), height * u)
        }
    }
}

pub(super) fn integrand(
    ui: &mut egui::Ui,
    rect: Rect,
    scene: &Scene<'_>,
    pinned: &mut Option<usize>,
    commands: &mut Commands,
) {
    let Scene { evaluation, shared, .. } = scene;
    let rule = evaluation.chosen.rule;
    let seen = || evaluation.stretches.iter().flat_map(|s| [s.left, s.right]).map(|node| evaluation.scores[node]);
    let top = seen().fold(f64::NEG_INFINITY, f64::max);
    let top = if top.is_finite() { top } else { 0.0 };
    let first = usize::from(!shared.state.has_sink()).min(evaluation.times.len() - 1);
    let begin = evaluation.times[first].min(evaluation.stretches.first().map_or(f64::INFINITY, |s| s.from));
    let end = evaluation.times[evaluation.times.len() - 1];
    let end = end.max(evaluation.stretches.last().map_or(f64::NEG_INFINITY, |s| s.to));
    // In its own units where those are readable, else in units of the largest.
    let (unit, title) = if top.abs() < 12.0 {
        (top.exp(), "integrand e^a(s): the area under a node's hat is its weight".to_owned())
    } else {
        (1.0, format!("integrand e^a(s), in units of e^{}: the area under a node's hat is its weight", short(top)))
    };
    let axes = Axes::new(rect, roomy(begin, end), (-0.02 * unit, 1.08 * unit));
    let painter = ui.painter_at(rect);
    axes.frame(&painter, shared.theme, &title, None);
    let inner = ui.painter_at(axes.field);
    let count = evaluation.scores.len();
    let total = |s: &Stretch, t: f64| {
        let (left, right) = shares(evaluation, rule, s, t, top);
        unit * (left + right)
    };
    let (low, high) = axes.x_range();
    for stretch in evaluation.stretches.iter().filter(|s| s.to >= low && s.from <= high) {
        let pixels = (axes.x(stretch.to) - axes.x(stretch.from)).abs();
        let points = ((pixels / 3.0) as usize).clamp(1, MOST_POINTS);
        let at = |i: usize| stretch.from + (stretch.to - stretch.from) * i as f64 / points as f64;
        for (node, is_right) in [(stretch.left, false), (stretch.right, true)] {
            if stretch.left == stretch.right && !is_right {
                continue;
            }
            let marked = node == scene.focus;
            let color = if marked { shared.theme.marked } else { shared.theme.in_order(node, count) };
            let hat: Vec<(f64, f64)> = (0..=points)
                .map(|i| {
                    let (left, right) = shares(evaluation, rule, stretch, at(i), top);
                    (at(i), unit * if is_right { right } else { left })
                })
                .collect();
            area(&inner, &axes, &hat, color.gamma_multiply(if marked { 0.75 } else { 0.5 }));
            inner.line(hat.iter().map(|&(t, y)| axes.at(t, y)).collect(), Stroke::new(1.0, color));
        }
        let curve = (0..=points).map(|i| axes.at(at(i), total(stretch, at(i)))).collect();
        inner.line(curve, Stroke::new(1.5, shared.theme.ink));
    }
    let response = ui.interact(axes.field, ui.scope_id().with("integrand"), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Integrand with the hats of the nodes"));
    if let Some(place) = response.hover_pos()
        && let Some(node) = nearest_node(&evaluation.times, axes.numbers(place).0)
    {
        commands.hover_node(node);
        if response.clicked() {
            *pinned = Some(node);
        }
    }
    let text = match rule {
        Rule::Linear => "Click keeps a node's formula. A node's area, of the whole area, is its weight.",
        Rule::Step => "Step reads the curve as constant on each segment: a node's area is its duration times e^a.",
        Rule::Trapezoid => "The trapezoidal rule replaces e^a(s) by straight lines between the nodes.",
        Rule::Taylor(_) => {
            "Drawn as the linear rule has it; the Taylor rule replaces the logarithm of an area by its series."
        }
    };
    response.on_hover_text_at_pointer(text);
}
