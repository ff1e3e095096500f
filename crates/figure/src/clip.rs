//! Cutting lines and polygons at the edges of a chart.

use crate::picture::Point;

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// Whether a point lies inside or on the edge, up to a rounding error.
    pub(crate) fn holds(&self, (x, y): Point) -> bool {
        const SLACK: f64 = 1e-6;
        (self.left - SLACK..=self.right + SLACK).contains(&x) && (self.top - SLACK..=self.bottom + SLACK).contains(&y)
    }

    /// The pieces of a line that lie inside (Liang and Barsky's method, segment by segment).
    pub(crate) fn cut_line(&self, points: &[Point]) -> Vec<Vec<Point>> {
        let mut pieces: Vec<Vec<Point>> = Vec::new();
        let mut open = false;
        for pair in points.windows(2) {
            let Some((from, to, whole)) = self.cut_segment(pair[0], pair[1]) else {
                open = false;
                continue;
            };
            match pieces.last_mut() {
                Some(piece) if open => piece.push(to),
                _ => pieces.push(vec![from, to]),
            }
            open = whole;
        }
        pieces
    }

    /// The part of a segment inside, and whether it reaches the segment's end.
    fn cut_segment(&self, a: Point, b: Point) -> Option<(Point, Point, bool)> {
        // In quarters, because the distance of two numbers may be past the largest one; ratios are the same.
        let quarter = |x: f64| 0.25 * x;
        let (dx, dy) = (quarter(b.0) - quarter(a.0), quarter(b.1) - quarter(a.1));
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        let sides = [
            (-dx, quarter(a.0) - quarter(self.left)),
            (dx, quarter(self.right) - quarter(a.0)),
            (-dy, quarter(a.1) - quarter(self.top)),
            (dy, quarter(self.bottom) - quarter(a.1)),
        ];
        for (along, room) in sides {
            if along == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if along < 0.0 {
                enter = enter.max(room / along);
            } else {
                leave = leave.min(room / along);
            }
        }
        if enter > leave || enter.is_nan() || leave.is_nan() {
            return None;
        }
        // Rounding may leave the frame where the segment is huge.
        let between = |a: f64, b: f64, t: f64| a * (1.0 - t) + b * t;
        let at = |t: f64| {
            let (x, y) = (between(a.0, b.0, t), between(a.1, b.1, t));
            (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
        };
        let from = if enter == 0.0 { a } else { at(enter) };
        let to = if leave == 1.0 { b } else { at(leave) };
        Some((from, to, leave == 1.0))
    }

    /// The part of a polygon inside (Sutherland and Hodgman's method).
    pub(crate) fn cut_polygon(&self, points: &[Point]) -> Vec<Point> {
        let mut points = points.to_vec();
        let sides: [(bool, f64, f64); 4] =
            [(true, 1.0, self.left), (true, -1.0, self.right), (false, 1.0, self.top), (false, -1.0, self.bottom)];
        for (across, sign, edge) in sides {
            let depth = |p: &Point| sign * (if across { p.0 } else { p.1 } - edge);
            let mut kept = Vec::with_capacity(points.len() + 4);
            for i in 0..points.len() {
                let (a, b) = (points[i], points[(i + 1) % points.len()]);
                let (da, db) = (depth(&a), depth(&b));
                if da >= 0.0 {
                    kept.push(a);
                }
                if (da >= 0.0) != (db >= 0.0) {
                    let t = 0.25 * da / (0.25 * da - 0.25 * db);
                    let (x, y) = (a.0 * (1.0 - t) + b.0 * t, a.1 * (1.0 - t) + b.1 * t);
                    kept.push(if across { (edge, y) } else { (x, edge) });
                }
            }
            points = kept;
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };

    #[test]
    fn lines_are_cut_at_the_edges() {
        let line = [(-5.0, 5.0), (5.0, 5.0), (5.0, 25.0), (25.0, 25.0), (9.0, 9.0), (8.0, 8.0)];
        let pieces = FRAME.cut_line(&line);
        assert_eq!(pieces.len(), 2);
        assert_eq!(pieces[0], [(0.0, 5.0), (5.0, 5.0), (5.0, 10.0)]);
        assert_eq!(pieces[1][0], (10.0, 10.0));
        assert_eq!(pieces[1][2], (8.0, 8.0));
        assert!(FRAME.cut_line(&[(-1.0, 0.0), (-1.0, 10.0)]).is_empty());
        for piece in FRAME.cut_line(&[(-1e300, -1e300), (1e300, 1e300), (5.0, -1e308), (5.0, 1e308)]) {
            assert!(piece.iter().all(|p| FRAME.holds(*p)), "{piece:?}");
        }
    }

    #[test]
    fn polygons_are_cut_at_the_edges() {
        let area = |p: &[Point]| {
            let twice: f64 =
                (0..p.len()).map(|i| (p[i], p[(i + 1) % p.len()])).map(|(a, b)| a.0 * b.1 - a.1 * b.0).sum();
            0.5 * twice.abs()
        };
        let square = [(5.0, 5.0), (15.0, 5.0), (15.0, 15.0), (5.0, 15.0)];
        assert!((area(&FRAME.cut_polygon(&square)) - 25.0).abs() < 1e-9);
        let around = [(-5.0, -5.0), (15.0, -5.0), (15.0, 15.0), (-5.0, 15.0)];
        assert!((area(&FRAME.cut_polygon(&around)) - 100.0).abs() < 1e-9);
        assert!(FRAME.cut_polygon(&[(11.0, 0.0), (12.0, 0.0), (12.0, 5.0)]).is_empty());
        assert!(FRAME.cut_polygon(&[]).is_empty());
    }
}
