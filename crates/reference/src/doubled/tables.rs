//! Keys, values and durations of a problem as the first stage reads them.

use super::dd::{Dd, split};
use crate::enclosure::Enclosure;
use crate::exact::ExactProblem;
use contattn_core::Sink;
use rug::Rational;

/// Keys that are worked on together.
pub(super) const LANES: usize = 4;

/// Sizes between which products, their error terms and sums stay in the normal range.
const SMALLEST: f64 = 1e-75;
const LARGEST: f64 = 1e75;

fn in_range(x: f64) -> bool {
    x == 0.0 || (SMALLEST..=LARGEST).contains(&x.abs())
}

/// A rational number as a double-double, off by at most u^2 relatively; `None` out of range.
pub(super) fn rounded(x: &Rational) -> Option<Dd> {
    let dd = Dd::of(&Enclosure::from_rational(200, x));
    in_range(dd.high).then_some(dd)
}

/// Keys and values of one key/value head, node 0 (that of a zero or given sink) first.
pub(crate) struct Tables {
    pub(super) head_dim: usize,
    pub(super) value_dim: usize,
    /// keys as sums of halves, in blocks of LANES nodes: `[block][channel][lane]`
    pub(super) key_high: Vec<f64>,
    pub(super) key_low: Vec<f64>,
    /// max over nodes of |k|, by channel
    pub(super) key_size: Vec<f64>,
    /// values: `[node][channel]`, whole and in halves
    pub(super) values: Vec<f64>,
    pub(super) value_high: Vec<f64>,
    pub(super) value_low: Vec<f64>,
    /// whether all lower halves are 0, as for inputs of 24 bits or fewer
    pub(super) narrow_keys: bool,
    pub(super) narrow_values: bool,
    /// D_1..D_n
    pub(super) durations: Vec<Dd>,
    /// scale: a = scale (q . k)
    pub(super) scale: Dd,
}

impl Tables {
    /// `None` where a number is out of range: then MPFR does all.
    pub(crate) fn new(exact: &ExactProblem<'_>, batch: usize, kv_head: usize) -> Option<Tables> {
        let problem = exact.problem();
        let shape = problem.shape();
        let (n, d, e) = (shape.keys, shape.head_dim, shape.value_dim);
        let mut values = vec![0.0; (n + 1) * e];
        let mut key = vec![0.0; d];
        let blocks = (n + 1).div_ceil(LANES);
        let (mut key_high, mut key_low) = (vec![0.0; blocks * LANES * d], vec![0.0; blocks * LANES * d]);
        let mut key_size = vec![0.0f64; d];
        for node in 0..=n {
            if node > 0 {
                problem.k().read_row(batch, kv_head, node - 1, &mut key);
                problem.v().read_row(batch, kv_head, node - 1, &mut values[node * e..(node + 1) * e]);
            } else if let Sink::Given { key: k, value: v } = problem.sink() {
                k.read_row(batch, kv_head, 0, &mut key);
                v.read_row(batch, kv_head, 0, &mut values[..e]);
            }
            for (c, &k) in key.iter().enumerate() {
                if !in_range(k) {
                    return None;
                }
                let at = (node / LANES * d + c) * LANES + node % LANES;
                (key_high[at], key_low[at]) = split(k);
                key_size[c] = key_size[c].max(k.abs());
            }
        }
        if !values.iter().all(|&v| in_range(v)) {
            return None;
        }
        let (value_high, value_low): (Vec<f64>, Vec<f64>) = values.iter().map(|&v| split(v)).unzip();
        let times = exact.times(batch);
        let durations = (1..=n).map(|i| rounded(times.duration(i))).collect::<Option<Vec<Dd>>>()?;
        let scale = Enclosure::from_rational(200, exact.factor()) * exact.radicand().root(200);
        let scale = Dd::of(&scale);
        Some(Tables {
            head_dim: d,
            value_dim: e,
            narrow_keys: key_low.iter().all(|&x| x == 0.0),
            narrow_values: value_low.iter().all(|&x| x == 0.0),
            key_high,
            key_low,
            key_size,
            values,
            value_high,
            value_low,
            durations,
            scale: in_range(scale.high).then_some(scale)?,
        })
    }

    /// The query, where its numbers are in range.
    pub(super) fn query(&self, q: &[f64]) -> Option<Vec<(f64, f64, f64)>> {
        q.iter()
            .map(|&q| {
                let (high, low) = split(q);
                in_range(q).then_some((q, high, low))
            })
            .collect()
    }

    /// The scores of nodes `first..=last`, into `scores[node]`.
    pub(super) fn scores(&self, q: &[(f64, f64, f64)], first: usize, last: usize, scores: &mut [Dd]) {
        for block in first / LANES..=last / LANES {
            let at = block * LANES * self.head_dim;
            let (high, low) = (&self.key_high[at..], &self.key_low[at..]);
            let sums = if self.narrow_keys { dots::<true>(q, high, low) } else { dots::<false>(q, high, low) };
            for (lane, sum) in sums.into_iter().enumerate() {
                if let Some(score) = scores.get_mut(block * LANES + lane) {
                    *score = sum * self.scale;
                }
            }
        }
    }
}

/// Dot products of q with LANES keys: sums with their exact error terms (Ogita, Rump and Oishi 2005, Dot2).
#[inline(always)]
fn dots<const NARROW: bool>(q: &[(f64, f64, f64)], key_high: &[f64], key_low: &[f64]) -> [Dd; LANES] {
    let (mut sum, mut rest) = ([0.0; LANES], [0.0; LANES]);
    let keys = key_high.chunks_exact(LANES).zip(key_low.chunks_exact(LANES));
    for (&(q, q_high, q_low), (high, low)) in q.iter().zip(keys) {
        for lane in 0..LANES {
            let k = if NARROW { high[lane] } else { high[lane] + low[lane] };
            let product = q * k;
            let mut error = (q_high * high[lane] - product) + q_low * high[lane];
            if !NARROW {
                error = ((q_high * high[lane] - product) + q_high * low[lane] + q_low * high[lane]) + q_low * low[lane];
            }
            let s = sum[lane] + product;
            let from_product = s - sum[lane];
            let lost = (sum[lane] - (s - from_product)) + (product - from_product);
            sum[lane] = s;
            rest[lane] += lost + error;
        }
    }
    std::array::from_fn(|lane| Dd::sum(sum[lane], rest[lane]))
}
