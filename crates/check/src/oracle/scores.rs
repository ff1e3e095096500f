//! Scores a_i = scale (q . k_i) in twice the precision of `f64`.

use super::wide::Wide;
use contattn_core::{Problem, Scale, Sink};

/// One score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// a, good to 2^-100 of `size`; held at the largest `f64` where it lies beyond
    pub value: Wide,
    /// |scale| sum_c |q_c k_c|, which rounding errors of a dot product are a multiple of; infinite where it overflows
    pub size: f64,
    /// bits of significand that hold every product and every sum of some of them: an arithmetic of so many bits makes no error
    /// in whatever order it adds. `None` where the scale is not a power of two.
    pub bits: Option<u32>,
}

/// The exponent of the lowest bit of x that is set; `None` for 0.
fn lowest_bit(x: f64) -> Option<i32> {
    if x == 0.0 {
        return None;
    }
    let (mantissa, exponent) = libm::frexp(x);
    // mantissa 2^53 is an integer.
    let integer = libm::ldexp(mantissa.abs(), 53) as u64;
    Some(exponent - 53 + integer.trailing_zeros() as i32)
}

/// The factor of the scores, not rounded to `f64` first.
pub fn scale(problem: &Problem<'_>) -> Wide {
    match problem.spec().scale {
        Scale::InverseSqrtHeadDim => Wide::from_f64(problem.q().shape()[3] as f64).inverse_sqrt(),
        Scale::Value(scale) => Wide::from_f64(scale),
    }
}

fn largest_exponent(numbers: &[f64]) -> i32 {
    numbers.iter().filter(|x| **x != 0.0).map(|&x| libm::frexp(x).1).max().unwrap_or(0)
}

/// The score of finite q and k. Both are scaled by powers of two, so that no product leaves the range of `f64`; what that loses
/// of the smallest numbers lies below 2^-900 of the largest product.
pub(crate) fn score(q: &[f64], k: &[f64], scale: Wide) -> Score {
    let (from_q, from_k) = (largest_exponent(q), largest_exponent(k));
    let (scale, from_scale) = scale.mantissa_and_exponent();
    let down = |x: f64, by: i32| libm::ldexp(libm::ldexp(x, -by / 2), -by - (-by / 2));
    let mut sum = Wide::ZERO;
    let mut size = 0.0;
    let mut lowest: Option<i32> = None;
    for (&q, &k) in q.iter().zip(k) {
        let (q, k) = (down(q, from_q), down(k, from_k));
        let product = Wide::product_of(q, k);
        sum += product;
        size += product.to_f64().abs();
        if let (Some(a), Some(b)) = (lowest_bit(q), lowest_bit(k)) {
            lowest = Some(lowest.map_or(a + b, |l| l.min(a + b)));
        }
    }
    // All are multiples of 2^lowest, and no sum of some of them exceeds `size` (in f64 good to its own roundings).
    let bits = lowest.map_or(0, |lowest| (libm::frexp(size).1 - lowest).max(0) as u32);
    let power_of_two = scale.rest() == 0.0 && matches!(scale.to_f64().abs(), 0.0 | 0.5);
    let up = from_q + from_k + from_scale;
    let value = (sum * scale).times_power_of_two(up);
    let value = if value.is_finite() { value } else { Wide::from_f64(f64::MAX.copysign(value.to_f64())) };
    Score { value, size: libm::ldexp(size * scale.to_f64().abs(), up), bits: power_of_two.then_some(bits) }
}

/// Keys and values of nodes 0..=n of one batch and one key/value head, widened.
pub(crate) struct Rows<'p> {
    problem: &'p Problem<'p>,
    batch: usize,
    kv_head: usize,
}

impl<'p> Rows<'p> {
    pub(crate) fn new(problem: &'p Problem<'p>, batch: usize, head: usize) -> Rows<'p> {
        let (heads, kv_heads) = (problem.q().shape()[1], problem.k().shape()[1]);
        Rows { problem, batch, kv_head: head * kv_heads / heads }
    }

    /// Key of a node; `copied` is the node that the row's sink copies.
    pub(crate) fn key(&self, node: usize, copied: Option<usize>) -> Vec<f64> {
        let width = self.problem.k().shape()[3];
        self.read(node, copied, width, false)
    }

    /// Value of a node.
    pub(crate) fn value(&self, node: usize, copied: Option<usize>) -> Vec<f64> {
        let width = self.problem.v().shape()[3];
        self.read(node, copied, width, true)
    }

    fn read(&self, node: usize, copied: Option<usize>, width: usize, values: bool) -> Vec<f64> {
        let (b, h) = (self.batch, self.kv_head);
        let of = |i: usize, c: usize| {
            let tensor = if values { self.problem.v() } else { self.problem.k() };
            tensor.get(b, h, i - 1, c)
        };
        (0..width)
            .map(|c| match (node, self.problem.sink()) {
                (0, Sink::Given { key, value }) => (if values { value } else { key }).get(b, h, 0, c),
                (0, Sink::Copy) => copied.map_or(0.0, |i| of(i, c)),
                (0, _) => 0.0,
                (i, _) => of(i, c),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_make_no_error() {
        let bits = |q: &[f64], k: &[f64], scale| score(q, k, Wide::from_f64(scale)).bits;
        assert_eq!(bits(&[3.0], &[5.0], 0.25), Some(4)); // 15
        assert_eq!(bits(&[3.0, 1.0], &[5.0, 1.0], 1.0), Some(5)); // 16, in units of 1
        assert_eq!(bits(&[1e5, 0.0], &[1e6, 0.1], 1.0), Some(26)); // 10^11 = 5^11 2^11
        assert_eq!(bits(&[1.0], &[1.0], 0.3), None);
        assert_eq!(bits(&[0.0], &[1.0], 1.0), Some(0));
        assert!(bits(&[0.1], &[0.1], 1.0) > Some(100));
    }

    #[test]
    fn nothing_cancels_and_nothing_overflows() {
        // 1e200 1e200 - 1e200 1e200 + 3 * 5, in any order.
        let found = score(&[1e200, 3.0, 1e200], &[1e200, 5.0, -1e200], Wide::ONE);
        assert_eq!(found.value.to_f64(), 0.0); // 15 is 2^-1325 of the products: below what is kept
        assert!(found.size.is_infinite());
        let found = score(&[1e8 + 1.0, 3.0, -1e16], &[1e8 - 1.0, 5.0, 1.0], Wide::ONE);
        assert_eq!(found.value.to_f64(), 14.0);
        let found = score(&[1e200], &[-1e200], Wide::ONE);
        assert_eq!(found.value.to_f64(), -f64::MAX);
        let found = score(&[1e-200], &[1e-200], Wide::from_f64(1e300));
        assert_eq!(found.value.to_f64(), 1e-100);
        let found = score(&[f64::from_bits(1)], &[1e308], Wide::from_f64(1e10));
        assert!((found.value.to_f64() / 4.940656458412465e-6 - 1.0).abs() < 1e-15);
    }
}
