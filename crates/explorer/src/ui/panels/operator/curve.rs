//! The curve of scores (or keys, or values), whose nodes are dragged.

use super::{Drag, Operator, nearest_node, token, window_edges};
use crate::logic::command::Edit;
use crate::logic::state::{LowerEdge, Row, SinkChoice, State, UpperEdge};
use crate::ui::panel::{Commands, Shared};
use crate::ui::plot::{Axes, roomy, runs, short};
use contattn_core::Rule;
use eframe::egui::{self, Align2, Color32, FontId, Key, Pos2, Rect, Sense, Stroke, pos2, vec2};

/// More nodes than this have no handle each: the one nearest to the pointer is dragged.
const MOST_HANDLES: usize = 300;

/// What lasts between frames, and is no setting.
#[derive(Clone, Debug, Default)]
pub(super) struct Editor {
    /// the ranges while something is dragged, so that the plot stands still under the pointer
    held: Option<((f64, f64), (f64, f64))>,
    /// a value that is being typed
    typed: Option<Typed>,
}

/// A value that is being typed.
#[derive(Clone, Debug, PartialEq)]
struct Typed {
    node: usize,
    text: String,
    /// whether the field has had the keyboard: losing it then ends the typing
    had_focus: bool,
}

impl Typed {
    fn new(node: usize, now: f64) -> Typed {
        Typed { node, text: crate::logic::export::number(now), had_focus: false }
    }
}

/// The numbers that are shown above the nodes.
fn heights(row: &Row, drag: Drag) -> Vec<f64> {
    match drag {
        Drag::Score | Drag::Time => row.scores(),
        Drag::Key => row.keys.clone(),
        Drag::Value => row.values.clone(),
    }
}

const fn quantity(drag: Drag) -> &'static str {
    match drag {
        Drag::Score | Drag::Time => "score",
        Drag::Key => "key",
        Drag::Value => "value",
    }
}

/// Whether node 0's number is its own.
fn may_drag(state: &State, node: usize, drag: Drag) -> bool {
    let scores_move = drag != Drag::Score || state.row.query != 0.0;
    scores_move && (node > 0 || drag == Drag::Time || state.sink == SinkChoice::Given)
}

/// The edit that gives a node this height.
fn raised(state: &State, node: usize, drag: Drag, height: f64) -> Edit {
    match drag {
        Drag::Score => Edit::Key(node, height / state.row.query),
        Drag::Key => Edit::Key(node, height),
        Drag::Value => Edit::Value(node, height),
        Drag::Time => Edit::Time(node, height),
    }
}

/// Rounded to what a pixel can tell, so that numbers stay short.
fn rounded(x: f64, (low, high): (f64, f64)) -> f64 {
    let step = 10f64.powf(((high - low) / 300.0).log10().floor());
    if step > 0.0 && step.is_finite() { (x / step).round() * step } else { x }
}

pub(super) fn curve(ui: &mut egui::Ui, rect: Rect, view: &mut Operator, shared: &Shared<'_>, commands: &mut Commands) {
    let (state, theme) = (shared.state, shared.theme);
    let row = state.row_with_sink();
    let drag = view.drag;
    let heights = heights(&row, drag);
    let first = usize::from(!state.has_sink());
    let axes = axes(ui, rect, view, state, &row, &heights, first);
    let painter = ui.painter_at(rect);
    let title = match drag {
        Drag::Score => "score a(s): drag a node, click adds, right-click removes, double-click types",
        Drag::Key => "key k(s): drag a node, click adds, right-click removes, double-click types",
        Drag::Value => "value v(s): drag a node, click adds, right-click removes, double-click types",
        Drag::Time => "score a(s): drag a node left or right in time",
    };
    let names = |t: f64| if t < 0.0 { String::new() } else { token(shared, t as usize).unwrap_or_default() };
    let has_tokens = row.is_unit() && token(shared, 1).is_some();
    axes.frame(&painter, theme, title, has_tokens.then_some(&names as &dyn Fn(f64) -> String));
    let inner = ui.painter_at(axes.field.expand(1.0));
    outside_of_window(&inner, &axes, shared);
    line(&inner, &axes, shared, &row, &heights, first);
    let background = ui.interact(axes.field, ui.scope_id().with("curve"), Sense::click_and_drag());
    background
        .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, format!("Curve of {} nodes", row.len())));
    let pointer = background.hover_pos();
    if let Some(place) = pointer
        && let Some(node) = nearest_node(&row.times, axes.numbers(place).0)
    {
        commands.hover_node(node);
    }
    if background.clicked()
        && drag != Drag::Time
        && let Some(place) = background.interact_pointer_pos()
    {
        commands.edit(inserted(&row, state, drag, axes.numbers(place), axes.y_range()));
    }
    let mut moving = false;
    if row.len() <= MOST_HANDLES {
        for node in first..row.len() {
            moving |= handle(ui, &axes, view, shared, (&row, &heights), node, commands);
        }
    } else {
        moving |= drag_nearest(&background, &axes, state, drag, &row, commands);
        if let Some(node) = shared.hover.node.filter(|&node| node < row.len()) {
            inner.circle_filled(axes.at(row.times[node], heights[node]), 4.0, theme.marked);
        }
    }
    moving |= edges(ui, &axes, shared, commands);
    if !moving {
        view.editor.held = None;
    } else if view.editor.held.is_none() {
        view.editor.held = Some((axes.x_range(), axes.y_range()));
    }
    typing(ui, &axes, view, shared, (&row, &heights), commands);
}

fn axes(
    ui: &egui::Ui,
    rect: Rect,
    view: &mut Operator,
    state: &State,
    row: &Row,
    heights: &[f64],
    first: usize,
) -> Axes {
    if !ui.input(|input| input.pointer.any_down()) {
        view.editor.held = None;
    }
    let (x, y) = view.editor.held.unwrap_or_else(|| {
        let seen = &heights[first..];
        let low = seen.iter().copied().fold(f64::INFINITY, f64::min);
        let high = seen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (lower, upper) = window_edges(state);
        let begin = row.times[first].min(lower.unwrap_or(f64::INFINITY));
        let begin = if state.has_sink() || state.rule != Rule::Step { begin } else { begin.min(row.times[0]) };
        let end = row.times[row.len() - 1].max(upper.unwrap_or(f64::NEG_INFINITY));
        let (begin, end) = roomy(begin, end);
        // Half of the usual room: the integrand below has the same axis.
        ((begin, end), roomy(low, high))
    });
    Axes::new(rect, x, y)
}

/// The curve as the rule reads it.
fn line(painter: &egui::Painter, axes: &Axes, shared: &Shared<'_>, row: &Row, heights: &[f64], first: usize) {
    let stroke = Stroke::new(2.0, shared.theme.continuous);
    let points: Vec<(f64, f64)> = if shared.state.rule == Rule::Step {
        // Node i holds on (tau_{i-1}, tau_i].
        (first.max(1)..row.len()).flat_map(|i| [(row.times[i - 1], heights[i]), (row.times[i], heights[i])]).collect()
    } else {
        (first..row.len()).map(|i| (row.times[i], heights[i])).collect()
    };
    for run in runs(points) {
        painter.line(run.iter().map(|&(x, y)| axes.at(x, y)).collect(), stroke);
    }
}

/// What the window leaves out is greyed.
fn outside_of_window(painter: &egui::Painter, axes: &Axes, shared: &Shared<'_>) {
    let (lower, upper) = window_edges(shared.state);
    let fill = shared.theme.faint.gamma_multiply(0.5);
    let field = axes.field;
    if let Some(x) = lower.map(|t| axes.x(t)) {
        painter.rect_filled(Rect::from_min_max(field.min, pos2(x.min(field.right()), field.bottom())), 0.0, fill);
    }
    if let Some(x) = upper.map(|t| axes.x(t)) {
        painter.rect_filled(Rect::from_min_max(pos2(x.max(field.left()), field.top()), field.max), 0.0, fill);
    }
}

/// A new node at a place: its height is where the pointer was, what is not shown lies on the curve.
fn inserted(row: &Row, state: &State, drag: Drag, (time, height): (f64, f64), y_range: (f64, f64)) -> Edit {
    let height = rounded(height, y_range);
    let on_curve = |list: &[f64]| {
        let at = row.times.partition_point(|&t| t <= time).clamp(1, row.len() - 1);
        let (t0, t1) = (row.times[at - 1], row.times[at]);
        let u = if t1 > t0 { ((time - t0) / (t1 - t0)).clamp(0.0, 1.0) } else { 1.0 };
        list[at - 1] + u * (list[at] - list[at - 1])
    };
    let (mut key, mut value) = (on_curve(&row.keys), on_curve(&row.values));
    match drag {
        Drag::Score if state.row.query != 0.0 => key = height / state.row.query,
        Drag::Key => key = height,
        Drag::Value => value = height,
        Drag::Score | Drag::Time => {}
    }
    let last = row.times[row.len() - 1];
    // Beside the nodes a click continues the row at its own pace.
    let time = if time > last && row.is_unit() { last + 1.0 } else { rounded(time, (row.times[0], last)) };
    Edit::Insert { time, key, value }
}

/// One node. Returns whether it is being dragged.
fn handle(
    ui: &mut egui::Ui,
    axes: &Axes,
    view: &mut Operator,
    shared: &Shared<'_>,
    (row, heights): (&Row, &[f64]),
    node: usize,
    commands: &mut Commands,
) -> bool {
    let (state, theme, drag) = (shared.state, shared.theme, view.drag);
    let (time, height) = (row.times[node], heights[node]);
    let place = axes.at(time, height);
    let may = may_drag(state, node, drag);
    let sense = if may { Sense::click_and_drag() } else { Sense::click() };
    let id = ui.scope_id().with(("node", node));
    let area = Rect::from_center_size(place, vec2(18.0, 18.0)).intersect(axes.field.expand(9.0));
    let response = ui.interact(area, id, sense);
    let name = token(shared, node).map(|token| format!(" {token}")).unwrap_or_default();
    response.widget_info(|| egui::WidgetInfo::slider(true, height, format!("Node {node}{name}, {}", quantity(drag))));
    let marked = shared.hover.node == Some(node) || response.hovered() || response.dragged() || response.has_focus();
    if response.hovered() || response.dragged() {
        commands.hover_node(node);
        let cursor = if !may {
            egui::CursorIcon::NotAllowed
        } else if drag == Drag::Time {
            egui::CursorIcon::ResizeHorizontal
        } else {
            egui::CursorIcon::ResizeVertical
        };
        ui.ctx().set_cursor_icon(cursor);
    }
    draw_node(ui.painter(), shared, place, node, row.len(), marked);
    if marked {
        let text = format!("{}{} = {}", quantity(drag), name, short(height));
        let anchor = if place.x > axes.field.center().x { Align2::RIGHT_BOTTOM } else { Align2::LEFT_BOTTOM };
        let aside = if place.x > axes.field.center().x { -8.0 } else { 8.0 };
        let at = pos2(place.x + aside, (place.y - 8.0).max(axes.field.top() + 14.0));
        ui.painter().text(at, anchor, text, FontId::proportional(12.0), theme.marked);
    }
    if response.secondary_clicked() {
        commands.edit(Edit::Remove(node));
    }
    if response.double_clicked() && may {
        let now = if drag == Drag::Time { time } else { height };
        view.editor.typed = Some(Typed::new(node, now));
    }
    if response.has_focus() {
        keys(ui, id, view, state, (row, heights), node, commands);
    }
    if response.dragged_by(egui::PointerButton::Primary)
        && may
        && let Some(pointer) = response.interact_pointer_pos()
    {
        let (t, y) = axes.numbers(pointer);
        let to = if drag == Drag::Time { rounded(t, axes.x_range()) } else { rounded(y, axes.y_range()) };
        commands.edit(raised(state, node, drag, to));
    }
    let why = match (node, may) {
        (0, false) if drag == Drag::Score && state.row.query != 0.0 => {
            "The sink. Its number follows from the kind of sink; choose \"given\" to drag it."
        }
        (_, false) => "With q = 0 every score is 0.",
        _ => return response.dragged(),
    };
    response.on_hover_text(why);
    false
}

fn draw_node(painter: &egui::Painter, shared: &Shared<'_>, place: Pos2, node: usize, count: usize, marked: bool) {
    let theme = shared.theme;
    let color = theme.in_order(node, count);
    let (fill, radius) = if marked { (theme.marked, 7.0) } else { (theme.plot, 5.5) };
    if node == 0 {
        let square = Rect::from_center_size(place, vec2(2.0 * radius - 1.0, 2.0 * radius - 1.0));
        painter.rect(square, 1.0, fill, Stroke::new(2.0, color), egui::StrokeKind::Inside);
    } else {
        painter.circle(place, radius, fill, Stroke::new(2.5, color));
    }
}

/// Arrow keys move a focused node, Delete removes it, Enter types.
fn keys(
    ui: &egui::Ui,
    id: egui::Id,
    view: &mut Operator,
    state: &State,
    (row, heights): (&Row, &[f64]),
    node: usize,
    commands: &mut Commands,
) {
    let filter = egui::EventFilter { vertical_arrows: true, horizontal_arrows: true, ..Default::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
    let drag = view.drag;
    let now = if drag == Drag::Time { row.times[node] } else { heights[node] };
    let (more, less, remove, enter, fine) = ui.input(|input| {
        (
            input.key_pressed(Key::ArrowUp) || input.key_pressed(Key::ArrowRight),
            input.key_pressed(Key::ArrowDown) || input.key_pressed(Key::ArrowLeft),
            input.key_pressed(Key::Delete),
            input.key_pressed(Key::Enter),
            input.modifiers.shift,
        )
    });
    let step = if fine { 0.01 } else { 0.1 };
    if may_drag(state, node, drag) {
        if more != less {
            let to = now + if more { step } else { -step };
            // Tenths stay tenths.
            commands.edit(raised(state, node, drag, (to * 1e6).round() / 1e6));
        }
        if enter && view.editor.typed.is_none() {
            view.editor.typed = Some(Typed::new(node, now));
        }
    }
    if remove {
        commands.edit(Edit::Remove(node));
    }
}

/// Dragging in a plot with too many nodes for handles.
fn drag_nearest(
    background: &egui::Response,
    axes: &Axes,
    state: &State,
    drag: Drag,
    row: &Row,
    commands: &mut Commands,
) -> bool {
    if !background.dragged_by(egui::PointerButton::Primary) || drag == Drag::Time {
        return false;
    }
    if let Some(pointer) = background.interact_pointer_pos() {
        let (t, y) = axes.numbers(pointer);
        if let Some(node) = nearest_node(&row.times, t).filter(|&node| may_drag(state, node, drag)) {
            commands.edit(raised(state, node, drag, rounded(y, axes.y_range())));
        }
    }
    true
}

/// The edges of the window, where they are numbers. Returns whether one is being dragged.
fn edges(ui: &mut egui::Ui, axes: &Axes, shared: &Shared<'_>, commands: &mut Commands) -> bool {
    let state = shared.state;
    let query = state.row.times[state.row.len() - 1];
    let (lower, upper) = window_edges(state);
    let mut moving = false;
    for (edge, name) in [(lower, "Lower edge of the window, handle"), (upper, "Upper edge of the window, handle")] {
        let is_lower = name.starts_with("Lower");
        let Some(t) = edge else { continue };
        let x = axes.x(t).clamp(axes.field.left(), axes.field.right());
        let area = Rect::from_min_max(pos2(x - 5.0, axes.field.top()), pos2(x + 5.0, axes.field.top() + 22.0));
        let response = ui.interact(area, ui.scope_id().with(name), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::slider(true, t, name));
        let color = if response.hovered() || response.dragged() { shared.theme.marked } else { shared.theme.step };
        ui.painter().vline(x, axes.field.y_range(), Stroke::new(1.5, color));
        ui.painter().rect_filled(area.shrink2(vec2(1.0, 2.0)), 3.0, color);
        if response.dragged()
            && let Some(pointer) = response.interact_pointer_pos()
        {
            let t = rounded(axes.numbers(pointer).0, axes.x_range());
            let edit = match (is_lower, state.lower, state.upper) {
                (true, LowerEdge::Sliding(_), _) => Edit::Lower(LowerEdge::Sliding(query - t)),
                (true, ..) => Edit::Lower(LowerEdge::At(t)),
                (false, _, UpperEdge::Query(_)) => Edit::Upper(UpperEdge::Query(t - query)),
                (false, ..) => Edit::Upper(UpperEdge::At(t)),
            };
            commands.edit(edit);
            moving = true;
        }
        response
            .on_hover_cursor(egui::CursorIcon::ResizeHorizontal)
            .on_hover_text("Drag the edge of the window; it may cut a segment");
    }
    moving
}

/// The field in which a value is typed.
fn typing(
    ui: &mut egui::Ui,
    axes: &Axes,
    view: &mut Operator,
    shared: &Shared<'_>,
    (row, heights): (&Row, &[f64]),
    commands: &mut Commands,
) {
    let drag = view.drag;
    let Some(Typed { node, text, had_focus }) = &mut view.editor.typed else { return };
    let node = *node;
    if node >= row.len() {
        view.editor.typed = None;
        return;
    }
    let place = axes.at(row.times[node], heights[node]) + vec2(10.0, 10.0);
    let parsed = text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    let mut close = false;
    let area =
        egui::Area::new(ui.scope_id().with("typed")).order(egui::Order::Foreground).fixed_pos(place).constrain(true);
    area.accessible_name("Value of a node").show(ui.ctx(), |ui| {
        egui::Frame::popup(ui.style()).show(ui, |ui| {
            ui.label(format!("{} of node {node}", if drag == Drag::Time { "time" } else { quantity(drag) }));
            let color: Option<Color32> = parsed.is_none().then_some(shared.theme.wrong);
            let edit = egui::TextEdit::singleline(text).desired_width(150.0).text_color_opt(color);
            let response = ui.add(edit).accessible_name("Value, typed");
            let entered = ui.input(|input| input.key_pressed(Key::Enter));
            if entered && response.lost_focus() {
                if let Some(number) = parsed {
                    commands.edit(raised(shared.state, node, drag, number));
                }
                close = true;
            } else if response.lost_focus() && *had_focus {
                close = true;
            } else if response.has_focus() {
                *had_focus = true;
            } else {
                response.request_focus();
            }
        });
    });
    if close {
        view.editor.typed = None;
    }
}
