//! A picture as a list of shapes: what raster and vector files are both written from.

use crate::color::Color;

/// A point in units of the picture; one unit is one pixel at scale 1, `y` grows downwards.
pub type Point = (f64, f64);

/// A colour and how much of what lies below it is hidden, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paint {
    /// red, green, blue
    pub color: Color,
    /// 1 hides what lies below, 0 is not seen
    pub opacity: f32,
}

impl Paint {
    /// A colour that hides what lies below it.
    pub fn solid(color: Color) -> Paint {
        Paint { color, opacity: 1.0 }
    }
}

/// Which part of a text stands at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// its beginning
    Start,
    /// its middle
    Middle,
    /// its end
    End,
}

/// What a picture is made of. Coordinates are finite.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Straight strokes from point to point.
    Line {
        /// its corners
        points: Vec<Point>,
        /// colour of the stroke
        paint: Paint,
        /// thickness of the stroke
        width: f64,
        /// lengths of strokes and gaps in turn; empty for an unbroken line
        dash: Vec<f64>,
    },
    /// A filled polygon; the last corner is joined to the first.
    Polygon {
        /// its corners
        points: Vec<Point>,
        /// colour inside
        paint: Paint,
    },
    /// A filled circle.
    Disc {
        /// its centre
        center: Point,
        /// its radius
        radius: f64,
        /// colour inside
        paint: Paint,
    },
    /// A line of text. `at` is half the height of its capitals above its base line.
    Text {
        /// where
        at: Point,
        /// what
        text: String,
        /// height of the font
        size: f64,
        /// colour of the letters
        color: Color,
        /// which part stands at the point
        anchor: Anchor,
        /// turned to run upwards
        upwards: bool,
    },
    /// Cells of colour, sharp at their edges.
    Image {
        /// upper left corner
        at: Point,
        /// width and height on the picture
        size: (f64, f64),
        /// cells across
        columns: u32,
        /// red, green and blue of every cell, row by row
        pixels: Vec<u8>,
    },
}

/// Shapes on a white ground, those that come later above those that come earlier.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// units across
    pub width: u32,
    /// units down
    pub height: u32,
    /// from bottom to top
    pub shapes: Vec<Shape>,
}

impl Picture {
    /// A white picture.
    pub fn new(width: u32, height: u32) -> Picture {
        Picture { width, height, shapes: Vec::new() }
    }

    /// Puts another picture's shapes on top, its upper left corner at a point.
    pub fn place(&mut self, other: Picture, (dx, dy): Point) {
        self.shapes.extend(other.shapes.into_iter().map(|shape| shape.moved(dx, dy)));
    }

    pub(crate) fn line(&mut self, points: Vec<Point>, color: Color, width: f64) {
        self.shapes.push(Shape::Line { points, paint: Paint::solid(color), width, dash: Vec::new() });
    }

    pub(crate) fn rectangle(&mut self, (x, y): Point, (width, height): (f64, f64), paint: Paint) {
        let points = vec![(x, y), (x + width, y), (x + width, y + height), (x, y + height)];
        self.shapes.push(Shape::Polygon { points, paint });
    }

    /// The outline of a rectangle, a thin line just inside of it.
    pub(crate) fn frame(&mut self, (x, y): Point, (width, height): (f64, f64), color: Color) {
        let (left, top, right, bottom) = (x + 0.5, y + 0.5, x + width - 0.5, y + height - 0.5);
        let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        self.line(corners, color, 1.0);
    }

    pub(crate) fn text(&mut self, at: Point, text: impl Into<String>, size: f64, color: Color, anchor: Anchor) {
        let text = text.into();
        if !text.is_empty() {
            self.shapes.push(Shape::Text { at, text, size, color, anchor, upwards: false });
        }
    }

    pub(crate) fn text_upwards(&mut self, at: Point, text: impl Into<String>, size: f64, color: Color, anchor: Anchor) {
        let text = text.into();
        if !text.is_empty() {
            self.shapes.push(Shape::Text { at, text, size, color, anchor, upwards: true });
        }
    }
}

impl Shape {
    fn moved(mut self, dx: f64, dy: f64) -> Shape {
        let shift = |at: &mut Point| *at = (at.0 + dx, at.1 + dy);
        match &mut self {
            Shape::Line { points, .. } | Shape::Polygon { points, .. } => points.iter_mut().for_each(shift),
            Shape::Disc { center: at, .. } | Shape::Text { at, .. } | Shape::Image { at, .. } => shift(at),
        }
        self
    }
}
