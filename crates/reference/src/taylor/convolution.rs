//! The first order of the expansion: a short convolution along the key axis.

use super::{End, Interior};
use crate::enclosure::Enclosure;
use crate::phi::phi2;
use rug::Rational;

/// b to first order, as an operation on a row of scores on the unit time line.
///
/// ```text
/// inside:  b_j = (a_{j-1} - 2 a_j + a_{j+1})/6        the taps [1/6, -1/3, 1/6]
/// ends:    b_j = -log 2 + (a_k - a_j)/3               k the only neighbour
/// alone:   b_j = 0
/// ```
///
/// Proofs: `bias_first_order`, `eq13`, `taylor1_output_error`.
#[derive(Clone, Debug, PartialEq)]
pub struct ShortConvolution {
    taps: [Rational; 3],
    end: Rational,
}

impl Default for ShortConvolution {
    fn default() -> ShortConvolution {
        ShortConvolution::new()
    }
}

impl ShortConvolution {
    /// From the coefficients of the expansion.
    pub fn new() -> ShortConvolution {
        let interior = Interior::new(1);
        let (left, right) = (interior.coefficient(1, 0), interior.coefficient(0, 1));
        let middle = -Rational::from(&left + &right);
        ShortConvolution { taps: [left, middle, right], end: End::new(1).coefficient(1) }
    }

    /// What multiplies a_{j-1}, a_j and a_{j+1}; their sum is 0.
    pub fn taps(&self) -> &[Rational; 3] {
        &self.taps
    }

    /// What multiplies the only neighbour of an end; the end's own score has the opposite.
    pub fn end_tap(&self) -> &Rational {
        &self.end
    }

    /// b to first order for a row of neighbouring scores.
    pub fn apply(&self, scores: &[Enclosure]) -> Vec<Enclosure> {
        let tap = |tap: &Rational, a: &Enclosure| Enclosure::from_rational(a.precision(), tap) * a;
        let end = |own: &Enclosure, other: &Enclosure| {
            tap(&self.end, &(other - own)) - Enclosure::from_u32(own.precision(), 2).ln()
        };
        let at = |j: usize| {
            let own = &scores[j];
            match (j.checked_sub(1).map(|j| &scores[j]), scores.get(j + 1)) {
                (Some(left), Some(right)) => {
                    tap(&self.taps[0], left) + tap(&self.taps[1], own) + tap(&self.taps[2], right)
                }
                (Some(other), None) | (None, Some(other)) => end(own, other),
                (None, None) => Enclosure::zero(own.precision()),
            }
        };
        (0..scores.len()).map(at).collect()
    }

    /// The exact b of such a row, equation (10); 0 for a node alone.
    pub fn exact(scores: &[Enclosure]) -> Vec<Enclosure> {
        let at = |j: usize| {
            let own = &scores[j];
            let neighbours = [j.checked_sub(1).map(|j| &scores[j]), scores.get(j + 1)];
            let sum = neighbours.into_iter().flatten().map(|a| phi2(&(a - own))).reduce(|a, b| a + b);
            sum.map_or_else(|| Enclosure::zero(own.precision()), |sum| sum.ln())
        };
        (0..scores.len()).map(at).collect()
    }

    /// What it lacks: the exact b less [`apply`](ShortConvolution::apply), for these scores.
    pub fn error(&self, scores: &[Enclosure]) -> Vec<Enclosure> {
        let pairs = ShortConvolution::exact(scores).into_iter().zip(self.apply(scores));
        pairs.map(|(exact, applied)| exact - applied).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taylor::remainder;

    #[test]
    fn taps_are_a_second_difference_over_six() {
        let convolution = ShortConvolution::new();
        let sixth = Rational::from((1, 6));
        assert_eq!(*convolution.taps(), [sixth.clone(), Rational::from((-1, 3)), sixth]);
        assert_eq!(*convolution.end_tap(), Rational::from((1, 3)));
    }

    /// For scores that differ by at most r the error is within the proven bound, and not by far at the worst place.
    #[test]
    fn its_error_is_that_of_the_first_order() {
        let scores: Vec<Enclosure> =
            [0.0, 0.5, 1.0, 0.5, -0.5, 0.0].iter().map(|&a| Enclosure::from_f64(128, a)).collect();
        let convolution = ShortConvolution::new();
        let errors = convolution.error(&scores);
        let bounds = [remainder::end(1, &Rational::from((1, 2))), remainder::interior(1, &Rational::from(1))];
        let [end, inside] = bounds.map(|bound| bound.unwrap());
        for (j, error) in errors.iter().enumerate() {
            let bound = if j == 0 || j == 5 { &end } else { &inside };
            assert!(error.abs().upper() <= bound, "{j}: {error:?} {bound}");
        }
        // u = w = -1/2 at the peak: u^2/36 + u^3/810 = 0.006790, and what follows.
        assert!(*errors[2].lower() > 0.00678 && *errors[2].upper() < 0.00680, "{:?}", errors[2]);
        // Equal scores: nothing is lacking.
        let equal = vec![Enclosure::from_f64(128, 3.5); 4];
        assert!(convolution.error(&equal).iter().all(|error| error.contains_zero()));
        assert!(convolution.apply(&equal[..1])[0].is_zero());
    }
}
