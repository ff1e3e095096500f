//! Where everything of a chart goes.

use super::{Chart, legend, wrapped};
use crate::Figure;
use crate::axis::{Axis, Scale, Span, Tick};
use crate::clip::Frame;
use crate::color::Color;
use crate::layer::{Data, Layer, Marker};
use crate::picture::{Anchor, Paint, Picture, Point, Shape};
use crate::text::{power_of_ten, text_extent};

pub(super) const DARK: Color = (40, 40, 40);
const QUIET: Color = (95, 95, 95);
const GRID: Color = (228, 228, 228);
const EDGE: Color = (120, 120, 120);
const TITLE: f64 = 16.0;
const CAPTION: f64 = 12.0;
const LABEL: f64 = 13.0;
const TICK: f64 = 11.5;
const MARGIN: f64 = 12.0;

pub(super) fn picture(chart: &Chart) -> (Picture, Field) {
    let (width, height) = chart.size();
    let mut picture = Picture::new(width, height);
    let (x, y) = chart.spans();
    let mut next = 0;
    let mut colored: Vec<(&Layer, Color)> = Vec::new();
    for layer in &chart.layers {
        colored.push((layer, layer.color(next)));
        next += usize::from(layer.takes_color());
    }

    let inner = f64::from(width) - 2.0 * MARGIN;
    let mut top = MARGIN;
    if !chart.title.is_empty() {
        picture.text((MARGIN, top + 0.5 * TITLE), chart.title.as_str(), TITLE, DARK, Anchor::Start);
        top += TITLE + 6.0;
    }
    for line in wrapped(&chart.caption, CAPTION, inner) {
        picture.text((MARGIN, top + 0.5 * CAPTION), line, CAPTION, QUIET, Anchor::Start);
        top += CAPTION + 4.0;
    }
    if chart.legend {
        let rows = legend::rows(&colored, inner);
        legend::draw(&mut picture, &rows, (MARGIN, top));
        top += legend::ROW * rows.len() as f64;
    }
    top += 8.0;

    let vertical = Marks::new(&chart.y, y, ((f64::from(height) - top) / 55.0) as usize);
    let widest = vertical.ticks.iter().map(|tick| text_extent(&tick.label, TICK)).fold(0.0, f64::max);
    let label_room = if vertical.label.is_empty() { 0.0 } else { LABEL + 6.0 };
    let left = (MARGIN + label_room + widest + 7.0).min(0.6 * f64::from(width));
    let right = f64::from(width) - MARGIN - 6.0;
    let horizontal = Marks::new(&chart.x, x, ((right - left) / 75.0) as usize);
    // Names that do not fit side by side run upwards.
    let room = (right - left) * x.position(1.0).unwrap_or(0.0).min(1.0)
        - (right - left) * x.position(0.0).unwrap_or(0.0).max(0.0);
    let longest = horizontal.ticks.iter().map(|tick| text_extent(&tick.label, TICK)).fold(0.0, f64::max);
    let turned = !chart.x.names.is_empty() && longest + 6.0 > room;
    let tick_room = if turned { longest.min(0.35 * f64::from(height)) } else { TICK };
    let below = tick_room + 8.0 + if horizontal.label.is_empty() { 0.0 } else { LABEL + 6.0 };
    let bottom = (f64::from(height) - MARGIN - below).max(top + 10.0);
    let frame = Frame { left, top, right: right.max(left + 10.0), bottom };
    let view = Field { frame, x, y };

    view.grid(&mut picture, &horizontal.ticks, &vertical.ticks);
    view.layers(&mut picture, chart, &colored);
    picture.frame((frame.left, frame.top), (frame.width(), frame.height()), EDGE);
    view.marks(&mut picture, &horizontal.ticks, &vertical.ticks, turned);
    let middle = 0.5 * (frame.left + frame.right);
    picture.text((middle, f64::from(height) - MARGIN), horizontal.label, LABEL, DARK, Anchor::Middle);
    let middle = 0.5 * (frame.top + frame.bottom);
    picture.text_upwards((MARGIN + 2.0, middle), vertical.label, LABEL, DARK, Anchor::Middle);
    (picture, view)
}

/// Ticks of an axis, and its label with the power of ten that ticks leave out.
struct Marks {
    ticks: Vec<Tick>,
    label: String,
}

impl Marks {
    fn new(axis: &Axis, span: Span, count: usize) -> Marks {
        if !axis.names.is_empty() {
            let places = axis.names.iter().enumerate().map(|(i, name)| Tick { at: i as f64, label: name.clone() });
            return Marks { ticks: places.filter(|tick| span.holds(tick.at)).collect(), label: axis.label.clone() };
        }
        let (ticks, common) = span.ticks(count.clamp(2, 12));
        let label = match common {
            Some(exponent) if axis.label.is_empty() => format!("\u{d7} {}", power_of_ten(exponent)),
            Some(exponent) => format!("{} (\u{d7} {})", axis.label, power_of_ten(exponent)),
            None => axis.label.clone(),
        };
        Marks { ticks, label }
    }
}

/// Where the numbers of a chart lie on its picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    frame: Frame,
    x: Span,
    y: Span,
}

impl Field {
    /// Upper left and lower right corner of what is inside the axes.
    pub fn corners(&self) -> (Point, Point) {
        ((self.frame.left, self.frame.top), (self.frame.right, self.frame.bottom))
    }

    /// Where a point of the chart lies; `None` where it has no place, or lies outside the axes.
    pub fn place(&self, point: (f64, f64)) -> Option<Point> {
        self.point(point).filter(|at| self.frame.holds(*at))
    }

    /// The numbers at a place inside the axes.
    pub fn numbers(&self, at: Point) -> Option<(f64, f64)> {
        let (x, y) = ((at.0 - self.frame.left) / self.frame.width(), (self.frame.bottom - at.1) / self.frame.height());
        self.frame.holds(at).then(|| (self.x.value(x), self.y.value(y)))
    }

    fn across(&self, x: f64) -> Option<f64> {
        Some(self.frame.left + self.x.position(x)? * self.frame.width())
    }

    fn up(&self, y: f64) -> Option<f64> {
        Some(self.frame.bottom - self.y.position(y)? * self.frame.height())
    }

    fn point(&self, (x, y): (f64, f64)) -> Option<Point> {
        Some((self.across(x)?, self.up(y)?))
    }

    fn grid(&self, picture: &mut Picture, across: &[Tick], up: &[Tick]) {
        let frame = &self.frame;
        for x in across.iter().filter(|t| !t.label.is_empty()).filter_map(|t| self.across(t.at)) {
            picture.line(vec![(x, frame.top), (x, frame.bottom)], GRID, 1.0);
        }
        for y in up.iter().filter(|t| !t.label.is_empty()).filter_map(|t| self.up(t.at)) {
            picture.line(vec![(frame.left, y), (frame.right, y)], GRID, 1.0);
        }
        if self.y.scale == Scale::Linear
            && self.y.low < 0.0
            && self.y.high > 0.0
            && let Some(y) = self.up(0.0)
        {
            picture.line(vec![(frame.left, y), (frame.right, y)], (175, 175, 175), 1.0);
        }
    }

    fn marks(&self, picture: &mut Picture, across: &[Tick], up: &[Tick], turned: bool) {
        let frame = &self.frame;
        let mut free = f64::NEG_INFINITY;
        for tick in across {
            let Some(x) = self.across(tick.at) else { continue };
            let length = if tick.label.is_empty() { 2.5 } else { 4.0 };
            picture.line(vec![(x, frame.bottom), (x, frame.bottom + length)], EDGE, 1.0);
            let half = if turned { 0.5 * TICK } else { 0.5 * text_extent(&tick.label, TICK) };
            // A label that would touch the one before it is left out.
            if tick.label.is_empty() || x - half < free {
                continue;
            }
            free = x + half + 2.0;
            if turned {
                picture.text_upwards((x, frame.bottom + 6.0), tick.label.as_str(), TICK, DARK, Anchor::End);
            } else {
                picture.text((x, frame.bottom + 7.0 + 0.5 * TICK), tick.label.as_str(), TICK, DARK, Anchor::Middle);
            }
        }
        let mut free = f64::INFINITY;
        for tick in up {
            let Some(y) = self.up(tick.at) else { continue };
            let length = if tick.label.is_empty() { 2.5 } else { 4.0 };
            picture.line(vec![(frame.left - length, y), (frame.left, y)], EDGE, 1.0);
            if tick.label.is_empty() || y + 0.5 * TICK > free {
                continue;
            }
            free = y - 0.5 * TICK;
            picture.text((frame.left - 6.0, y), tick.label.as_str(), TICK, DARK, Anchor::End);
        }
    }

    fn layers(&self, picture: &mut Picture, chart: &Chart, layers: &[(&Layer, Color)]) {
        let groups = layers.iter().filter(|(layer, _)| matches!(layer.data, Data::Bars(_))).count();
        let (slot, mut group) = (chart.slot(), 0);
        for (layer, color) in layers {
            let fill = Paint { color: *color, opacity: layer.opacity };
            match &layer.data {
                Data::Line(points) => self.line(picture, layer, *color, points),
                Data::Points(points) => {
                    for point in points {
                        self.marked(picture, layer.marker.unwrap_or(Marker::Disc), *point, *color);
                    }
                }
                Data::Area(points) => self.area(picture, layer, *color, points),
                Data::Bars(bars) => {
                    let each = 0.8 * slot / groups as f64;
                    for (x, height) in bars {
                        let left = x - 0.4 * slot + each * group as f64;
                        self.bar(picture, (left, left + each), *height, fill);
                    }
                    group += 1;
                }
                Data::Histogram(histogram) => {
                    for (edges, height) in histogram.edges.windows(2).zip(&histogram.heights) {
                        self.bar(picture, (edges[0], edges[1]), *height, fill);
                    }
                }
                Data::Vertical(x) => self.vertical(picture, layer, *color, *x),
                Data::Horizontal(y) => self.horizontal(picture, layer, *color, *y),
                Data::Note(x, y) => {
                    if let Some(at) = self.point((*x, *y)).filter(|at| self.frame.holds(*at)) {
                        picture.text((at.0 + 6.0, at.1), layer.name.as_str(), TICK, *color, Anchor::Start);
                    }
                }
            }
        }
    }

    fn line(&self, picture: &mut Picture, layer: &Layer, color: Color, points: &[(f64, f64)]) {
        let places: Vec<Option<Point>> = points.iter().map(|point| self.point(*point)).collect();
        for run in places.split(Option::is_none).filter(|run| !run.is_empty()) {
            let run: Vec<Point> = run.iter().copied().flatten().collect();
            for points in self.frame.cut_line(&run) {
                let (paint, dash) = (Paint { color, opacity: layer.opacity }, dashes(layer));
                picture.shapes.push(Shape::Line { points, paint, width: layer.width, dash });
            }
            // A point alone has no line; it is shown all the same.
            if run.len() == 1 && layer.marker.is_none() && self.frame.holds(run[0]) {
                let paint = Paint { color, opacity: layer.opacity };
                picture.shapes.push(Shape::Disc { center: run[0], radius: 1.2 * layer.width, paint });
            }
        }
        for point in points {
            match layer.marker {
                Some(marker) => self.marked(picture, marker, *point, color),
                None => self.beyond(picture, *point, color),
            }
        }
    }

    /// A marker, if its point lies inside; an infinite height is shown at the edge.
    fn marked(&self, picture: &mut Picture, marker: Marker, point: (f64, f64), color: Color) {
        match self.point(point) {
            Some(at) if self.frame.holds(at) => marker_at(picture, marker, at, color),
            _ => self.beyond(picture, point, color),
        }
    }

    /// A tip at the edge of the chart for a height that is infinite, or that is 0 on a logarithmic axis.
    fn beyond(&self, picture: &mut Picture, (x, y): (f64, f64), color: Color) {
        let up = y == f64::INFINITY;
        let down = y == f64::NEG_INFINITY || (y == 0.0 && self.y.scale == Scale::Log);
        if let Some(x) = self.across(x).filter(|x| (self.frame.left..=self.frame.right).contains(x))
            && (up || down)
        {
            let (tip, base) = if up { (self.frame.top, 7.0) } else { (self.frame.bottom, -7.0) };
            let points = vec![(x, tip), (x - 4.0, tip + base), (x + 4.0, tip + base)];
            picture.shapes.push(Shape::Polygon { points, paint: Paint::solid(color) });
        }
    }

    fn area(&self, picture: &mut Picture, layer: &Layer, color: Color, points: &[(f64, f64, f64)]) {
        // On a logarithmic axis an area may begin at 0: that is the axis's own end.
        let floor = |y: f64| if self.y.scale == Scale::Log && y == 0.0 { self.y.low } else { y };
        let ends: Vec<Option<(Point, Point)>> = points
            .iter()
            .map(|(x, low, high)| Some((self.point((*x, floor(*low)))?, self.point((*x, floor(*high)))?)))
            .collect();
        for run in ends.split(Option::is_none).filter(|run| !run.is_empty()) {
            let run: Vec<(Point, Point)> = run.iter().copied().flatten().collect();
            let around: Vec<Point> = run.iter().map(|pair| pair.1).chain(run.iter().rev().map(|pair| pair.0)).collect();
            let points = self.frame.cut_polygon(&around);
            if points.len() > 2 {
                picture.shapes.push(Shape::Polygon { points, paint: Paint { color, opacity: layer.opacity } });
            }
        }
    }

    fn bar(&self, picture: &mut Picture, (left, right): (f64, f64), height: f64, fill: Paint) {
        let base = match self.y.scale {
            Scale::Linear => 0.0,
            Scale::Log => self.y.low,
        };
        let corners = [(left, base), (right, base), (right, height), (left, height)].map(|corner| self.point(corner));
        if let [Some(a), Some(b), Some(c), Some(d)] = corners {
            let points = self.frame.cut_polygon(&[a, b, c, d]);
            if points.len() > 2 {
                picture.shapes.push(Shape::Polygon { points, paint: fill });
            }
        } else if height != 0.0 {
            self.beyond(picture, (0.5 * (left + right), height), fill.color);
        }
    }

    fn vertical(&self, picture: &mut Picture, layer: &Layer, color: Color, x: f64) {
        let frame = &self.frame;
        let Some(x) = self.across(x).filter(|x| (frame.left..=frame.right).contains(x)) else { return };
        let points = vec![(x, frame.top), (x, frame.bottom)];
        picture.shapes.push(Shape::Line {
            points,
            paint: Paint::solid(color),
            width: layer.width,
            dash: dashes(layer),
        });
        // The name runs on the side that has room.
        let room = text_extent(&layer.name, TICK) + 8.0;
        let (at, anchor) = if x + room < frame.right { (x + 4.0, Anchor::Start) } else { (x - 4.0, Anchor::End) };
        picture.text((at, frame.top + TICK), layer.name.as_str(), TICK, color, anchor);
    }

    fn horizontal(&self, picture: &mut Picture, layer: &Layer, color: Color, y: f64) {
        let frame = &self.frame;
        let Some(y) = self.up(y).filter(|y| (frame.top..=frame.bottom).contains(y)) else { return };
        let points = vec![(frame.left, y), (frame.right, y)];
        picture.shapes.push(Shape::Line {
            points,
            paint: Paint::solid(color),
            width: layer.width,
            dash: dashes(layer),
        });
        let at = if y - frame.top > TICK + 6.0 { y - 0.5 * TICK - 2.0 } else { y + 0.5 * TICK + 3.0 };
        picture.text((frame.right - 5.0, at), layer.name.as_str(), TICK, color, Anchor::End);
    }
}

pub(super) fn dashes(layer: &Layer) -> Vec<f64> {
    if layer.dashed { vec![5.0, 3.5] } else { Vec::new() }
}

pub(super) fn marker_at(picture: &mut Picture, marker: Marker, (x, y): Point, color: Color) {
    let paint = Paint::solid(color);
    let mut polygon = |corners: &[Point]| {
        let points = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        picture.shapes.push(Shape::Polygon { points, paint });
    };
    match marker {
        Marker::Disc => picture.shapes.push(Shape::Disc { center: (x, y), radius: 3.2, paint }),
        Marker::Square => polygon(&[(-2.9, -2.9), (2.9, -2.9), (2.9, 2.9), (-2.9, 2.9)]),
        Marker::Triangle => polygon(&[(0.0, -4.1), (3.7, 2.6), (-3.7, 2.6)]),
        Marker::Diamond => polygon(&[(0.0, -4.1), (4.1, 0.0), (0.0, 4.1), (-4.1, 0.0)]),
        Marker::Cross => {
            picture.line(vec![(x - 3.2, y - 3.2), (x + 3.2, y + 3.2)], color, 1.5);
            picture.line(vec![(x - 3.2, y + 3.2), (x + 3.2, y - 3.2)], color, 1.5);
        }
    }
}
