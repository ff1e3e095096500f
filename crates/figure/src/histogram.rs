//! Counting numbers into bins.

/// Bars between edges. Numbers that fall into no bin are counted apart, so that nothing is lost without a word.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// ends of the bins in rising order, one more than there are bins
    pub edges: Vec<f64>,
    /// height of each bin: counts, or whatever they were turned into
    pub heights: Vec<f64>,
    /// numbers below the first edge, above the last edge, and NaNs
    pub outside: [u64; 3],
}

impl Histogram {
    /// Counts in `bins` bins (at least 1) of one width from the smallest to the largest finite number.
    pub fn of(values: &[f64], bins: usize) -> Histogram {
        let finite = || values.iter().copied().filter(|x| x.is_finite());
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        match low.partial_cmp(&high) {
            Some(std::cmp::Ordering::Less) => Histogram::between(values, low, high, bins),
            // One number alone stands in the middle of a bin that shows how large it is.
            Some(std::cmp::Ordering::Equal) => {
                let half = if low == 0.0 { 0.5 } else { (0.5 * low.abs()).max(f64::MIN_POSITIVE) };
                let (low, high) = ((low - half).max(-f64::MAX), (high + half).min(f64::MAX));
                Histogram::between(values, low, high, bins | 1)
            }
            _ => Histogram::between(values, 0.0, 1.0, bins),
        }
    }

    /// Counts in `bins` bins (at least 1) of one width from `low` to `high`. A bin holds its lower edge, the last one both. Ends
    /// that are no range are taken as 0 and 1.
    pub fn between(values: &[f64], low: f64, high: f64, bins: usize) -> Histogram {
        let (low, high) = if low.is_finite() && high.is_finite() && low < high { (low, high) } else { (0.0, 1.0) };
        let bins = bins.max(1);
        let edge = |i: usize| {
            let t = i as f64 / bins as f64;
            if i == bins { high } else { low * (1.0 - t) + high * t }
        };
        // Bins narrower than the numbers there are would be empty for ever: equal edges are one.
        let mut edges: Vec<f64> = Vec::with_capacity(bins + 1);
        for edge in (0..=bins).map(edge) {
            if edges.last().is_none_or(|last| edge > *last) && edge <= high {
                edges.push(edge);
            }
        }
        Histogram::with_edges(values, edges)
    }

    /// Counts between edges of one's own, in rising order; a bin holds its lower edge, the last one both.
    pub fn with_edges(values: &[f64], edges: Vec<f64>) -> Histogram {
        let mut heights = vec![0.0; edges.len().saturating_sub(1)];
        let mut outside = [0; 3];
        for x in values {
            let place = edges.partition_point(|edge| edge <= x);
            match (edges.first(), edges.last()) {
                _ if x.is_nan() => outside[2] += 1,
                (Some(first), _) if x < first => outside[0] += 1,
                (_, Some(last)) if x > last => outside[1] += 1,
                (Some(_), Some(_)) if !heights.is_empty() => heights[(place - 1).min(edges.len() - 2)] += 1.0,
                _ => outside[1] += 1,
            }
        }
        Histogram { edges, heights, outside }
    }

    /// The same with heights that make the area 1. Numbers outside the bins do not count; without any inside all stays 0.
    #[must_use]
    pub fn density(mut self) -> Histogram {
        let total: f64 = self.heights.iter().sum();
        for (height, edges) in self.heights.iter_mut().zip(self.edges.windows(2)) {
            *height = if total > 0.0 { *height / total / (edges[1] - edges[0]) } else { 0.0 };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_counted_once() {
        let values = [0.0, 0.1, 0.5, 0.999, 1.0, -0.1, 1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let histogram = Histogram::between(&values, 0.0, 1.0, 2);
        assert_eq!(histogram.heights, [2.0, 3.0]);
        assert_eq!(histogram.outside, [2, 2, 1]);
        for values in
            [&values[..], &[], &[3.0, 3.0], &[0.0], &[f64::NAN], &[-1e308, 1e308], &[5e-324, 1e-323], &[f64::MAX]]
        {
            for bins in [0, 1, 7, 1000] {
                let histogram = Histogram::of(values, bins);
                let counted = histogram.heights.iter().sum::<f64>() + histogram.outside.iter().sum::<u64>() as f64;
                assert_eq!(counted, values.len() as f64, "{values:?} {bins} {histogram:?}");
                assert!(histogram.edges.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }

    #[test]
    fn a_density_has_area_one() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i) * f64::from(i)).collect();
        let histogram = Histogram::of(&values, 17).density();
        let area: f64 = histogram.heights.iter().zip(histogram.edges.windows(2)).map(|(h, e)| h * (e[1] - e[0])).sum();
        assert!((area - 1.0).abs() < 1e-12);
        assert!(Histogram::of(&[], 3).density().heights.iter().all(|h| *h == 0.0));
    }
}
