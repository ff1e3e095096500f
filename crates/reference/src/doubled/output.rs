//! o of a row: numerators with their sizes.

use super::Tables;
use super::bounds::{Estimate, SLACK, UNIT_SQUARED};
use super::dd::{Dd, split, two_sum};
use super::masses::{Masses, Part};

/// N/Z by channel with its bound.
pub(super) fn outputs(
    tables: &Tables,
    masses: &Masses,
    parts: &[Part],
    source: impl Fn(usize) -> usize,
    eta: f64,
) -> Vec<Option<Estimate>> {
    let e = tables.value_dim;
    let (mut sums, mut rests, mut sizes) = (vec![0.0; e], vec![0.0; e], vec![0.0; e]);
    for &(node, mass) in &masses.nodes {
        let at = source(node) * e;
        let range = at..at + e;
        let values = (&tables.values[range.clone()], &tables.value_high[range.clone()], &tables.value_low[range]);
        if tables.narrow_values {
            accumulate::<true>(mass, values, &mut sums, &mut rests, &mut sizes);
        } else {
            accumulate::<false>(mass, values, &mut sums, &mut rests, &mut sizes);
        }
    }
    let n = parts.len() as f64 + 8.0;
    let of_size = eta + SLACK * 4.0 * n * n * UNIT_SQUARED;
    let of_channel = |c: usize| {
        if sizes[c].is_nan() || sizes[c] <= 1e-200 {
            // Exactly 0 where all visible values are; also those of parts that were left out.
            let mut nodes = parts.iter().flat_map(|part| [part.left, part.right]);
            return nodes.all(|node| tables.values[source(node) * e + c] == 0.0).then_some(Estimate::Zero);
        }
        let numerator = Dd::sum(sums[c], rests[c]);
        let o = numerator / masses.total;
        // Values left out are bounded by the largest number that the tables hold.
        let left_out = masses.left_out * 1e75;
        let bound = SLACK * (of_size * sizes[c] + eta * numerator.high.abs() + left_out) / masses.total.high;
        Some(Estimate::Within { value: o, bound })
    };
    (0..e).map(of_channel).collect()
}

/// Adds P v to each channel: the sum, the errors of products and sums, and P |v|.
#[inline(always)]
fn accumulate<const NARROW: bool>(
    mass: Dd,
    (values, high, low): (&[f64], &[f64], &[f64]),
    sums: &mut [f64],
    rests: &mut [f64],
    sizes: &mut [f64],
) {
    let (p, p_low) = (mass.high, mass.low);
    let (p_top, p_rest) = split(p);
    let e = values.len();
    let (sums, rests, sizes) = (&mut sums[..e], &mut rests[..e], &mut sizes[..e]);
    let (high, low) = (&high[..e], &low[..e]);
    for c in 0..e {
        let v = values[c];
        let product = p * v;
        let error = if NARROW {
            (p_top * v - product) + p_rest * v
        } else {
            ((p_top * high[c] - product) + p_top * low[c] + p_rest * high[c]) + p_rest * low[c]
        };
        let (sum, lost) = two_sum(sums[c], product);
        sums[c] = sum;
        rests[c] += lost + (error + p_low * v);
        sizes[c] += p * v.abs();
    }
}
