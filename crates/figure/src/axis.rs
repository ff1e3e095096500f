//! Axes: from numbers to places, and the marks beside them.

use crate::text::power_of_ten;

/// How numbers are spread along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// equal differences take equal room
    #[default]
    Linear,
    /// equal ratios take equal room; numbers that are not positive have no place
    Log,
}

/// One axis of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// what it measures, with its unit
    pub label: String,
    /// how numbers are spread
    pub scale: Scale,
    /// the numbers at its two ends; without it, those that hold the data
    pub range: Option<(f64, f64)>,
    /// names of the places 0, 1, 2, ...; with names the axis has no other marks
    pub names: Vec<String>,
}

impl Axis {
    /// A linear axis that holds the data.
    pub fn new(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// A logarithmic axis that holds the positive data.
    pub fn log(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Log, ..Axis::default() }
    }

    /// The same from one number to another. An empty, reversed or impossible range is as if none were given.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Axis {
        self.range = Some((low, high));
        self
    }

    /// The same with names at 0, 1, 2, ...
    #[must_use]
    pub fn named(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Axis {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// About `count` round numbers between the ends of an axis whose range is given, those that charts name.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        let (ticks, _) = self.fitted(std::iter::empty()).ticks(count);
        ticks.into_iter().filter(|tick| !tick.label.is_empty()).map(|tick| tick.at).collect()
    }

    /// The axis with its ends fixed, given the data that it has to hold.
    pub(crate) fn fitted(&self, data: impl Iterator<Item = f64>) -> Span {
        let usable = |x: f64| x.is_finite() && (self.scale == Scale::Linear || x > 0.0);
        if let Some((low, high)) = self.range
            && usable(low)
            && usable(high)
            && low < high
        {
            return Span { scale: self.scale, low, high };
        }
        let mut ends: Option<(f64, f64)> = None;
        for x in data.filter(|x| usable(*x)) {
            ends = Some(ends.map_or((x, x), |(low, high)| (low.min(x), high.max(x))));
        }
        let (low, high) = match (self.scale, ends) {
            (Scale::Linear, None) => (0.0, 1.0),
            (Scale::Log, None) => (0.1, 10.0),
            (Scale::Linear, Some((low, high))) => roomy(low, high),
            (Scale::Log, Some((low, high))) => {
                let room = if low == high { 0.5 } else { 0.04 * (high.log10() - low.log10()) };
                let wider = |x: f64, by: f64| 10f64.powf(x.log10() + by).clamp(f64::from_bits(1), f64::MAX);
                (wider(low, -room).min(low), wider(high, room).max(high))
            }
        };
        Span { scale: self.scale, low, high }
    }
}

/// A range with a little room on both sides; never empty, never past the largest number.
fn roomy(low: f64, high: f64) -> (f64, f64) {
    let room = if low == high {
        // An all-equal set stands in the middle of an axis that shows how large it is.
        if low == 0.0 { 1.0 } else { 0.5 * low.abs().max(f64::MIN_POSITIVE) }
    } else {
        0.04 * (0.5 * high - 0.5 * low) * 2.0
    };
    ((low - room).max(-f64::MAX), (high + room).min(f64::MAX))
}

/// An axis whose ends are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) scale: Scale,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// A mark beside an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    /// empty for a mark between the named ones
    pub(crate) label: String,
}

impl Span {
    /// Where a number lies: 0 at the low end, 1 at the high end, outside of that beyond them; `None` where it has no place.
    pub(crate) fn position(&self, x: f64) -> Option<f64> {
        let t = match self.scale {
            // Halves, because the whole length may be past the largest number.
            Scale::Linear => (0.5 * x - 0.5 * self.low) / (0.5 * self.high - 0.5 * self.low),
            Scale::Log if x > 0.0 => (x.log10() - self.low.log10()) / (self.high.log10() - self.low.log10()),
            Scale::Log => return None,
        };
        // Far beyond the ends one place is as good as another, and its pixels do not overflow.
        (x.is_finite() && !t.is_nan()).then_some(t.clamp(-1e100, 1e100))
    }

    /// The number at a place: the inverse of [`position`](Span::position).
    pub(crate) fn value(&self, t: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.low * (1.0 - t) + self.high * t,
            Scale::Log => 10f64.powf(self.low.log10() * (1.0 - t) + self.high.log10() * t),
        }
    }

    /// Whether a number lies between the ends.
    pub(crate) fn holds(&self, x: f64) -> bool {
        (self.low..=self.high).contains(&x)
    }

    /// About `count` marks, and the power of ten that their labels leave out.
    pub(crate) fn ticks(&self, count: usize) -> (Vec<Tick>, Option<i32>) {
        match self.scale {
            Scale::Linear => self.linear_ticks(count),
            Scale::Log => self.log_ticks(count),
        }
    }

    fn linear_ticks(&self, count: usize) -> (Vec<Tick>, Option<i32>) {
        let half = 0.5 * self.high - 0.5 * self.low;
        let rough = half / (0.5 * count.max(1) as f64);
        let mut exponent = rough.log10().floor() as i32;
        let mantissa = rough / power(exponent);
        let mut factor = if mantissa < 1.5 {
            1
        } else if mantissa < 3.5 {
            2
        } else if mantissa < 7.5 {
            5
        } else {
            10
        };
        if factor == 10 {
            (factor, exponent) = (1, exponent + 1);
        }
        let step = f64::from(factor) * power(exponent);
        // An end that is a mark but for its rounding has its mark.
        let (first, last) = ((self.low / step - 1e-9).ceil(), (self.high / step + 1e-9).floor());
        // Where the step is lost beside the numbers themselves, or below what numbers there are, the two ends are named.
        let fine = step > 0.0 && step.is_finite() && first.abs() < 1e15 && last.abs() < 1e15 && last - first < 50.0;
        if !fine {
            let end = |at: f64| Tick { at, label: format!("{at:e}").replace('-', "\u{2212}") };
            return (vec![end(self.low), end(self.high)], None);
        }
        let largest = self.low.abs().max(self.high.abs());
        let decimal = largest.log10().floor() as i32;
        let common = if (-3..=4).contains(&decimal) { 0 } else { decimal };
        let digits = (common - exponent).max(0) as usize;
        let ticks = (first as i64..=last as i64).map(|i| {
            let units = i as f64 * f64::from(factor);
            let at = if (-22..0).contains(&exponent) { units / power(-exponent) } else { units * power(exponent) };
            // Digits of the label come from the whole number of steps, so they carry no rounding.
            let shown = units * 10f64.powi(exponent - common);
            let label = if i == 0 { "0".to_owned() } else { format!("{shown:.digits$}").replace('-', "\u{2212}") };
            Tick { at: at.clamp(self.low, self.high), label }
        });
        (ticks.collect(), (common != 0).then_some(common))
    }

    fn log_ticks(&self, count: usize) -> (Vec<Tick>, Option<i32>) {
        let (low, high) = (self.low.log10(), self.high.log10());
        let (first, last) = (low.ceil() as i32, high.floor() as i32);
        let decades = last - first + 1;
        let plain = low >= -3.01 && high <= 4.01;
        let label = |x: f64, exponent: i32| if plain { format!("{x}") } else { power_of_ten(exponent) };
        if decades >= 2 {
            let step = (decades as usize).div_ceil(count.max(1)).max(1) as i32;
            let start = first + (-first).rem_euclid(step);
            let mut ticks = Vec::new();
            for exponent in first - 1..=last {
                let at = power(exponent);
                if exponent >= start && (exponent - start) % step == 0 && self.holds(at) {
                    ticks.push(Tick { at, label: label(at, exponent) });
                } else if self.holds(at) && decades <= 60 {
                    ticks.push(Tick { at, label: String::new() });
                }
                if step == 1 && decades <= 8 {
                    let between = (2..10).map(|i| f64::from(i) * at).filter(|at| self.holds(*at));
                    ticks.extend(between.map(|at| Tick { at, label: String::new() }));
                }
            }
            return (ticks, None);
        }
        // Less than two decades: marks at 1, 2 and 5, or even steps where those are too few.
        let mut ticks = Vec::new();
        for exponent in first - 1..=last {
            for i in 1..10 {
                let at = if (-22..0).contains(&exponent) {
                    f64::from(i) / power(-exponent)
                } else {
                    f64::from(i) * power(exponent)
                };
                if self.holds(at) {
                    let named = matches!(i, 1 | 2 | 5);
                    let text = if plain { format!("{at}") } else { format!("{i}\u{b7}{}", power_of_ten(exponent)) };
                    ticks.push(Tick { at, label: if named { text } else { String::new() } });
                }
            }
        }
        if ticks.iter().filter(|tick| !tick.label.is_empty()).count() >= 2 {
            (ticks, None)
        } else {
            self.linear_ticks(count)
        }
    }
}

fn power(exponent: i32) -> f64 {
    // Powers below the normal numbers are reached in two steps.
    if exponent < -300 { 10f64.powi(exponent + 200) * 1e-200 } else { 10f64.powi(exponent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(span: Span) -> Vec<String> {
        span.ticks(5).0.into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    }

    fn linear(low: f64, high: f64) -> Span {
        Span { scale: Scale::Linear, low, high }
    }

    fn log(low: f64, high: f64) -> Span {
        Span { scale: Scale::Log, low, high }
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(
            labels(linear(0.0, 1.0)),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(|t| if t == "0.0" { "0" } else { t })
        );
        assert_eq!(labels(linear(-0.3, 0.31)), ["\u{2212}0.3", "\u{2212}0.2", "\u{2212}0.1", "0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(linear(3.0, 48.0)), ["10", "20", "30", "40"]);
        assert_eq!(labels(log(0.1, 100.0)), ["0.1", "1", "10", "100"]);
        assert_eq!(labels(log(1e-9, 1e-7)), ["10⁻⁹", "10⁻⁸", "10⁻⁷"]);
        assert_eq!(labels(log(1.5, 7.0)), ["2", "5"]);
        let (ticks, common) = linear(0.0, 3e-5).ticks(5);
        assert_eq!(common, Some(-5));
        assert_eq!(ticks[1].at, 5e-6);
        assert_eq!(ticks[1].label, "0.5");
    }

    /// Marks lie on the axis, in order, few, and each label says the number where its mark stands.
    #[test]
    fn marks_tell_the_truth() {
        let spans = [
            linear(0.0, 1e300),
            linear(-1e308, 1e308),
            linear(1e-300, 3e-300),
            linear(0.0, 5e-324),
            linear(1.0, 1.0 + 4e-16),
            linear(99_990.0, 100_010.0),
            linear(-7.3, 1234.5),
            linear(1e-3, 2e-3),
            linear(0.1, 0.1000001),
            log(1e-300, 1e300),
            log(5e-324, 1e-320),
            log(1e-30, 1.0),
            log(3.0, 4.0),
            log(1.0, 1.0 + 1e-12),
            log(1e3, 1e5),
        ];
        for span in spans {
            let (ticks, common) = span.ticks(5);
            assert!(!ticks.is_empty() && ticks.len() < 90, "{span:?}: {ticks:?}");
            for pair in ticks.windows(2) {
                assert!(pair[0].at < pair[1].at, "{span:?}: {pair:?}");
            }
            for tick in &ticks {
                assert!(span.holds(tick.at), "{span:?}: {tick:?}");
                let plain = tick.label.replace('\u{2212}', "-");
                if let Ok(read) = plain.parse::<f64>() {
                    let there = tick.at / power(common.unwrap_or(0));
                    assert!((read - there).abs() <= 1e-9 * there.abs(), "{span:?}: {tick:?} {common:?}");
                }
            }
            let named: std::collections::BTreeSet<_> =
                ticks.iter().map(|t| &t.label).filter(|l| !l.is_empty()).collect();
            assert!(named.len() >= 2, "{span:?}: {ticks:?}");
        }
    }

    #[test]
    fn ticks_alone_are_those_with_names() {
        assert_eq!(Axis::new("x").range(0.0, 10.0).ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Axis::log("x").range(0.1, 100.0).ticks(5), [0.1, 1.0, 10.0, 100.0]);
    }

    #[test]
    fn ranges_hold_their_data() {
        let sets: [&[f64]; 9] = [
            &[],
            &[f64::NAN],
            &[f64::INFINITY],
            &[0.0],
            &[-3.0],
            &[1e308, -1e308],
            &[5e-324],
            &[1e-300, 1e300],
            &[2.0, 2.0],
        ];
        for data in sets {
            for axis in
                [Axis::new("x"), Axis::log("x"), Axis::new("x").range(1.0, 1.0), Axis::log("x").range(-1.0, f64::NAN)]
            {
                let span = axis.fitted(data.iter().copied());
                assert!(span.low < span.high && span.low.is_finite() && span.high.is_finite(), "{data:?} {span:?}");
                for x in data.iter().filter(|x| x.is_finite() && (axis.scale == Scale::Linear || **x > 0.0)) {
                    let t = span.position(*x).unwrap();
                    assert!((0.0..=1.0).contains(&t), "{x} {span:?} {t}");
                }
                let _ = span.ticks(5);
            }
        }
    }
}
