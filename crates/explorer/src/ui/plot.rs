//! Axes for pictures that are touched: places of numbers, ticks, a frame.

use crate::ui::theme::Theme;
use contattn_figure::Axis;
use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{self, Align2, FontId, Pos2, Rect, Stroke, pos2};

/// A field with its two ranges.
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    /// the field, without labels
    pub field: Rect,
    x: (f64, f64),
    y: (f64, f64),
    /// room on the right of the title for a control
    reserved: f32,
}

/// Room for the labels of the y axis, and under the field.
const LEFT: f32 = 46.0;
const BELOW: f32 = 18.0;
const ABOVE: f32 = 20.0;

/// Farther out than this nothing is drawn; tessellation of absurd places is not reliable.
const FAR: f32 = 20_000.0;

/// A range that has a length, a little wider than what it holds.
pub fn roomy(low: f64, high: f64) -> (f64, f64) {
    if !(low.is_finite() && high.is_finite() && low <= high) {
        return (0.0, 1.0);
    }
    let room = if high > low { 0.08 * (high - low) } else { 0.5f64.max(0.1 * high.abs()) };
    (low - room, high + room)
}

/// About `count` round numbers in a range.
fn ticks((low, high): (f64, f64), count: usize) -> Vec<f64> {
    let ticks = Axis::new("").range(low, high).ticks(count);
    // A range that is none has the ticks of another.
    ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect()
}

/// A number for a tick of this step or a readout: short.
pub fn short(x: f64) -> String {
    if x == 0.0 {
        "0".to_owned()
    } else if x.abs() >= 1e6 || x.abs() < 1e-4 {
        format!("{x:.2e}")
    } else {
        let digits = (3 - x.abs().log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{x:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }
}

impl Axes {
    /// Axes within a rectangle that also holds their labels and title.
    pub fn new(outer: Rect, x: (f64, f64), y: (f64, f64)) -> Axes {
        let (mut min, mut max) = (outer.min, outer.max);
        // A window may be smaller than the labels.
        min.x = (min.x + LEFT).min(outer.max.x - 1.0);
        min.y = (min.y + ABOVE).min(outer.max.y - 1.0);
        max.x = (max.x - 6.0).max(min.x + 1.0);
        max.y = (max.y - BELOW).max(min.y + 1.0);
        Axes { field: Rect::from_min_max(min, max), x, y, reserved: 0.0 }
    }

    /// The same with room beside the title for a control of this width.
    #[must_use]
    pub fn reserving(mut self, width: f32) -> Axes {
        self.reserved = width;
        self
    }

    /// The range of x.
    pub fn x_range(&self) -> (f64, f64) {
        self.x
    }

    /// The range of y.
    pub fn y_range(&self) -> (f64, f64) {
        self.y
    }

    /// Where a number lies across.
    pub fn x(&self, x: f64) -> f32 {
        place(x, self.x, self.field.left(), self.field.right())
    }

    /// Where a number lies up.
    pub fn y(&self, y: f64) -> f32 {
        place(y, self.y, self.field.bottom(), self.field.top())
    }

    /// Where a point lies.
    pub fn at(&self, x: f64, y: f64) -> Pos2 {
        pos2(self.x(x), self.y(y))
    }

    /// The numbers of a place.
    pub fn numbers(&self, place: Pos2) -> (f64, f64) {
        let across = f64::from((place.x - self.field.left()) / self.field.width());
        let up = f64::from((self.field.bottom() - place.y) / self.field.height());
        (self.x.0 + across * (self.x.1 - self.x.0), self.y.0 + up * (self.y.1 - self.y.0))
    }

    /// Background, grid, ticks and title. `names` gives the labels of x, where they are not numbers.
    pub fn frame(&self, painter: &egui::Painter, theme: &Theme, title: &str, names: Option<&dyn Fn(f64) -> String>) {
        let field = self.field;
        painter.rect_filled(field, 2.0, theme.plot);
        let font = FontId::proportional(11.0);
        let grid = Stroke::new(1.0, theme.faint.gamma_multiply(0.55));
        let most_y = (field.height() / 32.0).clamp(1.0, 8.0) as usize;
        for tick in ticks(self.y, most_y) {
            let y = self.y(tick);
            painter.hline(field.x_range(), y, if tick == 0.0 { Stroke::new(1.0, theme.softmax) } else { grid });
            painter.text(pos2(field.left() - 5.0, y), Align2::RIGHT_CENTER, short(tick), font.clone(), theme.ink);
        }
        let most_x = (field.width() / 44.0).clamp(1.0, 14.0) as usize;
        let mut last = f32::NEG_INFINITY;
        for tick in ticks(self.x, most_x) {
            if names.is_some() && tick.fract() != 0.0 {
                continue;
            }
            let x = self.x(tick);
            let text = names.map_or_else(|| short(tick), |names| names(tick));
            let galley = painter.layout_no_wrap(text, font.clone(), theme.ink);
            let left = x - galley.size().x / 2.0;
            if left > last + 4.0 {
                last = left + galley.size().x;
                painter.galley(pos2(left, field.bottom() + 3.0), galley, theme.ink);
            }
        }
        painter.rect_stroke(field, 2.0, Stroke::new(1.0, theme.faint), egui::StrokeKind::Outside);
        let mut job = LayoutJob::simple_singleline(title.to_owned(), FontId::proportional(13.0), theme.ink);
        job.wrap = TextWrapping::truncate_at_width((field.width() - self.reserved).max(0.0));
        let galley = painter.layout_job(job);
        painter.galley(pos2(field.left(), field.top() - 4.0 - galley.size().y), galley, theme.ink);
    }
}

fn place(x: f64, (low, high): (f64, f64), from: f32, to: f32) -> f32 {
    let t = if high > low { (x - low) / (high - low) } else { 0.5 };
    let at = f64::from(from) + t * f64::from(to - from);
    if at.is_nan() { from } else { (at as f32).clamp(-FAR, FAR) }
}

/// Runs of finite points: a line is broken where a number is missing.
pub fn runs(points: impl IntoIterator<Item = (f64, f64)>) -> Vec<Vec<(f64, f64)>> {
    let mut all = vec![Vec::new()];
    for (x, y) in points {
        if x.is_finite() && y.is_finite() {
            if let Some(run) = all.last_mut() {
                run.push((x, y));
            }
        } else if all.last().is_some_and(|run| !run.is_empty()) {
            all.push(Vec::new());
        }
    }
    all.retain(|run| !run.is_empty());
    all
}

/// The area between 0 and a line of points, as one mesh.
pub fn area(painter: &egui::Painter, axes: &Axes, points: &[(f64, f64)], color: egui::Color32) {
    let mut mesh = egui::Mesh::default();
    for &(x, y) in points {
        mesh.colored_vertex(axes.at(x, 0.0), color);
        mesh.colored_vertex(axes.at(x, y), color);
        let n = mesh.vertices.len() as u32;
        if n >= 4 {
            mesh.add_triangle(n - 4, n - 3, n - 2);
            mesh.add_triangle(n - 3, n - 2, n - 1);
        }
    }
    painter.add(mesh);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_inside() {
        for range in [(0.0, 1.0), (-3.7, 1e6), (1e12, 1e12 + 1.0), (-1e-9, 1e-9), (5.0, 5.0), (f64::NAN, 1.0)] {
            let list = ticks(range, 6);
            assert!(list.len() <= 12 && list.iter().all(|t| (range.0..=range.1).contains(t)), "{range:?}");
        }
        assert_eq!(ticks((0.0, 10.0), 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    }

    #[test]
    fn places_and_numbers_are_inverse_and_bounded() {
        let outer = Rect::from_min_max(pos2(0.0, 0.0), pos2(400.0, 300.0));
        let axes = Axes::new(outer, (-2.0, 3.0), (10.0, 20.0));
        let (x, y) = axes.numbers(axes.at(1.25, 12.5));
        assert!((x - 1.25).abs() < 1e-3 && (y - 12.5).abs() < 1e-3);
        for far in [1e300, -1e300, f64::NAN, f64::INFINITY] {
            let place = axes.at(far, far);
            assert!(place.x.abs() <= FAR && place.y.abs() <= FAR);
        }
        let tiny = Axes::new(Rect::from_min_max(pos2(0.0, 0.0), pos2(3.0, 2.0)), (0.0, 1.0), (0.0, 1.0));
        assert!(tiny.field.width() > 0.0 && tiny.field.height() > 0.0);
    }

    #[test]
    fn lines_break_where_numbers_are_missing() {
        let points = [(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0), (3.0, 4.0), (4.0, f64::INFINITY)];
        assert_eq!(runs(points), [vec![(0.0, 1.0)], vec![(2.0, 3.0), (3.0, 4.0)]]);
        assert!(runs([]).is_empty());
    }
}
