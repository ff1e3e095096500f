//! Colours of numbers.

/// Red, green, blue.
pub type Color = (u8, u8, u8);

/// The colour of a cell that holds no number: masked, not visible, or not finite.
pub const MASKED: Color = (225, 225, 222);

/// Colours of series, in the order in which a chart gives them out: those of Okabe and Ito, which colour-blind readers tell apart,
/// without black (axes) and yellow (too faint on white).
pub const PALETTE: [Color; 7] =
    [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233), (110, 110, 110)];

/// A map from numbers to colours, with the real range of what it shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColorScale {
    low: f64,
    high: f64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Logarithmic,
    Diverging,
}

impl ColorScale {
    /// From dark at `low` to bright at `high` (viridis, even to the eye and safe for colour-blind readers).
    pub fn linear(low: f64, high: f64) -> ColorScale {
        ColorScale { low, high: if high > low { high } else { low + 1.0 }, kind: Kind::Linear }
    }

    /// The same colours on a logarithmic axis; both ends positive. Smaller numbers have the colour of `low`.
    pub fn logarithmic(low: f64, high: f64) -> ColorScale {
        let low = if low > 0.0 { low } else { f64::MIN_POSITIVE };
        ColorScale { low, high: if high > low { high } else { 10.0 * low }, kind: Kind::Logarithmic }
    }

    /// For signed numbers: white at 0, blue below, red above, the same distance on both sides.
    pub fn diverging(largest: f64) -> ColorScale {
        let largest = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        ColorScale { low: -largest, high: largest, kind: Kind::Diverging }
    }

    /// The numbers at the two ends.
    pub fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Where a number lies on the axis, from 0 to 1; `None` for NaN and infinities.
    pub fn position(&self, x: f64) -> Option<f64> {
        if !x.is_finite() {
            return None;
        }
        let t = match self.kind {
            Kind::Linear | Kind::Diverging => (x - self.low) / (self.high - self.low),
            Kind::Logarithmic => {
                let x = x.max(self.low);
                (x / self.low).ln() / (self.high / self.low).ln()
            }
        };
        Some(t.clamp(0.0, 1.0))
    }

    /// The number at a place of the axis: the inverse of [`position`](ColorScale::position).
    pub fn value(&self, t: f64) -> f64 {
        match self.kind {
            Kind::Linear | Kind::Diverging => self.low + t * (self.high - self.low),
            Kind::Logarithmic => self.low * (self.high / self.low).powf(t),
        }
    }

    /// The colour of a number; [`MASKED`] where there is none.
    pub fn color(&self, x: f64) -> Color {
        let Some(t) = self.position(x) else { return MASKED };
        match self.kind {
            Kind::Linear | Kind::Logarithmic => rgb(colorous::VIRIDIS.eval_continuous(t)),
            // The scheme runs from red over white to blue.
            Kind::Diverging => {
                if t == 0.5 {
                    (255, 255, 255)
                } else {
                    rgb(colorous::RED_BLUE.eval_continuous(1.0 - t))
                }
            }
        }
    }
}

fn rgb(color: colorous::Color) -> Color {
    (color.r, color.g, color.b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_numbers_are_inverse() {
        for scale in [ColorScale::linear(-2.0, 3.0), ColorScale::logarithmic(1e-4, 1.0), ColorScale::diverging(0.3)] {
            for t in [0.0, 0.25, 0.5, 1.0] {
                let back = scale.position(scale.value(t)).unwrap();
                assert!((back - t).abs() < 1e-12, "{scale:?} {t} {back}");
            }
        }
    }

    #[test]
    fn zero_is_white_and_signs_differ() {
        let scale = ColorScale::diverging(2.0);
        assert_eq!(scale.color(0.0), (255, 255, 255));
        let (blue, red) = (scale.color(-1.5), scale.color(1.5));
        assert!(blue.2 > blue.0 && red.0 > red.2);
        assert_eq!(scale.color(f64::NAN), MASKED);
        assert_eq!(scale.color(f64::NEG_INFINITY), MASKED);
    }

    #[test]
    fn degenerate_ranges_stay_ranges() {
        for scale in [ColorScale::linear(1.0, 1.0), ColorScale::logarithmic(0.0, 0.0), ColorScale::diverging(0.0)] {
            let (low, high) = scale.range();
            assert!(low < high);
            assert!(scale.position(low).is_some());
        }
    }
}
