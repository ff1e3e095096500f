//! What the three routes to a row's values have in common: their question, and the cases without measure.

use crate::enclosure::Enclosure;
use crate::exact::{Row, Sight};
use crate::value::{Certified, RowGradient, RowValues};
use rug::Rational;

/// The integrals of a row, in units of e^anchor.
#[derive(Clone, Debug)]
pub struct Sums {
    /// what exponents are measured from
    pub anchor: Enclosure,
    /// int e^a = Z
    pub total: Enclosure,
    /// int e^a v, by channel
    pub numerators: Vec<Enclosure>,
    /// by node: P, and b = log P - a; `None` where P = 0 exactly
    pub nodes: Vec<Option<NodeSum>>,
}

/// What one node gets.
#[derive(Clone, Debug)]
pub struct NodeSum {
    /// P in units of e^anchor
    pub mass: Enclosure,
    /// b = log P - a, found relative to the node's own score, where it was asked for
    pub bias: Option<Enclosure>,
}

/// The derivatives of int e^a F for a fixed curve F, in units of e^anchor.
#[derive(Clone, Debug)]
pub struct Derivatives {
    /// by a_j, by node
    pub scores: Vec<Enclosure>,
    /// by D_i at index i - 1; empty under Taylor
    pub durations: Vec<Enclosure>,
}

/// What to find of a row.
#[derive(Clone, Copy, Debug)]
pub struct Want<'w> {
    /// columns of v
    pub channels: &'w [usize],
    /// the bias of each node
    pub bias: bool,
}

/// A way from a row of positive measure to its integrals, which shares no formula with the other routes.
pub trait Route: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The integrals of a row whose sight has measure and whose scores are finite.
    fn integrals(&self, row: &Row<'_>, want: Want<'_>, precision: u32) -> Sums;

    /// [`integrals`](Route::integrals) with the bias of every node.
    fn sums(&self, row: &Row<'_>, channels: &[usize], precision: u32) -> Sums {
        self.integrals(row, Want { channels, bias: true }, precision)
    }

    /// How int e^a F changes with scores and durations, where F reads `field` at the nodes as the rule reads v.
    fn derivatives(&self, row: &Row<'_>, field: &[Enclosure], precision: u32) -> Derivatives;
}

/// Something that a node gets.
pub(crate) struct Gift {
    pub(crate) node: usize,
    /// over sqrt m: `mass` is in units of its exponential
    pub(crate) exponent: Rational,
    pub(crate) mass: Enclosure,
}

/// Adds up what each node gets in units of the largest exponential among its own gifts, so that b stays known where P is out
/// of range beside the row's other masses.
pub(crate) fn gather(
    row: &Row<'_>,
    gifts: &[Gift],
    anchor: &Rational,
    want_bias: bool,
    p: u32,
) -> Vec<Option<NodeSum>> {
    let n = row.keys() + 1;
    let root = row.radicand().root(p);
    let above = |a: &Rational, b: &Rational| Enclosure::from_rational(p, &Rational::from(a - b)) * &root;
    let mut largest: Vec<Option<&Rational>> = vec![None; n];
    for gift in gifts.iter().filter(|gift| !gift.mass.is_zero()) {
        let top = &mut largest[gift.node];
        if top.is_none_or(|top| gift.exponent > *top) {
            *top = Some(&gift.exponent);
        }
    }
    let mut sums = vec![Enclosure::zero(p); n];
    for gift in gifts {
        if let Some(top) = largest[gift.node] {
            let same = gift.exponent == *top;
            if same {
                sums[gift.node] += &gift.mass;
            } else {
                sums[gift.node] += &gift.mass * above(&gift.exponent, top).exp();
            }
        }
    }
    let finish = |(node, sum): (usize, Enclosure)| {
        let top = largest[node]?;
        let bias = want_bias.then(|| sum.ln() + above(top, row.score_over_root(node)));
        Some(NodeSum { mass: sum * above(top, anchor).exp(), bias })
    };
    sums.into_iter().enumerate().map(finish).collect()
}

/// How many bits more than asked for exponentials of this row's scores need: one for each bit of the largest exponent.
pub(crate) fn score_bits(row: &Row<'_>) -> u32 {
    let scores = row.visible().iter().map(|&node| row.score_over_root(node));
    let size = |x: &Rational| {
        let (n, d) = (x.numer().significant_bits(), x.denom().significant_bits());
        n.saturating_sub(d) + 1
    };
    let bits = scores.map(size).max().unwrap_or(0) + 32 - row.radicand().value().leading_zeros().min(32);
    bits.min(200)
}

/// The numbers of a row with measure: o = N/Z, lse = log Z, w = P/Z.
fn quotients(row: &Row<'_>, sums: &Sums, channels: &[usize], precision: u32) -> RowValues {
    let finish = |x: Enclosure| Certified::Number(x.with_precision(precision));
    let mut o = vec![Certified::Nan; row.value_dim()];
    for (&channel, numerator) in channels.iter().zip(&sums.numerators) {
        o[channel] = finish(numerator / &sums.total);
    }
    let weight = |node: &Option<NodeSum>| match node {
        None => Certified::zero(precision),
        Some(node) => finish(&node.mass / &sums.total),
    };
    let bias = |node: &Option<NodeSum>| match node {
        None => Certified::NegInfinity,
        Some(node) => node.bias.clone().map_or(Certified::Nan, finish),
    };
    RowValues {
        o,
        lse: finish(sums.total.ln() + &sums.anchor),
        weights: sums.nodes.iter().map(weight).collect(),
        bias: sums.nodes.iter().map(bias).collect(),
    }
}

fn finite_channels(row: &Row<'_>) -> Vec<usize> {
    (0..row.value_dim()).filter(|&c| !row.is_nan_column(c)).collect()
}

/// o, lse, w and b of a row.
pub fn values(route: &dyn Route, row: &Row<'_>, precision: u32) -> RowValues {
    let n = row.keys() + 1;
    if row.is_nan() {
        let nan = |len| vec![Certified::Nan; len];
        return RowValues { o: nan(row.value_dim()), lse: Certified::Nan, weights: nan(n), bias: nan(n) };
    }
    let channels = finite_channels(row);
    match row.sight() {
        Sight::Measure(_) => quotients(row, &route.sums(row, &channels, precision), &channels, precision),
        Sight::Nothing => RowValues {
            o: vec![Certified::zero(precision); row.value_dim()],
            lse: Certified::NegInfinity,
            weights: vec![Certified::zero(precision); n],
            bias: vec![Certified::NegInfinity; n],
        },
        Sight::Point(_) => {
            let exact = point_weights(row);
            let number = |x: &Rational| Certified::Number(Enclosure::from_rational(precision, x));
            let o = |c: usize| {
                if !channels.contains(&c) {
                    return Certified::Nan;
                }
                number(&exact.iter().fold(Rational::new(), |sum, (node, w)| sum + row.value(*node, c) * w))
            };
            let mut weights = vec![Certified::zero(precision); n];
            for (node, w) in &exact {
                weights[*node] = number(w);
            }
            RowValues {
                o: (0..row.value_dim()).map(o).collect(),
                lse: Certified::NegInfinity,
                weights,
                bias: vec![Certified::NegInfinity; n],
            }
        }
    }
}

/// The weights of a domain without measure.
pub fn point_weights(row: &Row<'_>) -> Vec<(usize, Rational)> {
    match row.sight() {
        Sight::Point(point) if point.left == point.right => vec![(point.left, Rational::from(1))],
        Sight::Point(point) => {
            vec![(point.left, Rational::from(1 - &point.fraction)), (point.right, point.fraction.clone())]
        }
        Sight::Nothing | Sight::Measure(_) => Vec::new(),
    }
}

/// What a row adds to the gradients of L with dL/do = g, dL/dlse = g_lse.
///
/// L changes with Z and N as (g . dN - (g . o - g_lse) dZ)/Z, so with F = (g . v - g . o + g_lse)/Z every derivative is
/// that of int e^a F with F held fixed.
pub fn gradient(route: &dyn Route, row: &Row<'_>, g: &[f64], g_lse: f64, precision: u32) -> RowGradient {
    let n = row.keys() + 1;
    let is_taylor = matches!(row.exact().problem().rule(), contattn_core::Rule::Taylor(_));
    let durations = if is_taylor { 0 } else { row.keys() };
    let zeros = |len| vec![Certified::zero(precision); len];
    let mut result = RowGradient { scores: zeros(n), weights: Vec::new(), durations: zeros(durations) };
    if !matches!(row.sight(), Sight::Measure(_)) || row.is_nan() {
        result.weights = values(route, row, precision).weights;
        if !row.is_nan() {
            return result;
        }
    }
    let channels = finite_channels(row);
    let guarded = precision + 32;
    let sums = (!row.is_nan()).then(|| route.integrals(row, Want { channels: &channels, bias: false }, guarded));
    if let Some(sums) = &sums {
        result.weights = quotients(row, sums, &channels, precision).weights;
    }
    let finite = channels.len() == row.value_dim() && g_lse.is_finite() && g.iter().all(|g| g.is_finite());
    let Some(sums) = sums.filter(|_| finite) else {
        for &node in row.visible() {
            result.scores[node] = Certified::Nan;
        }
        result.durations.fill(Certified::Nan);
        return result;
    };
    let mut mean = Enclosure::from_f64(guarded.max(64), -g_lse);
    for (numerator, &g) in sums.numerators.iter().zip(g) {
        mean += Enclosure::from_f64(guarded.max(64), g) * numerator / &sums.total;
    }
    let mut field = vec![Enclosure::zero(guarded); n];
    for &node in row.visible() {
        let exact = g
            .iter()
            .enumerate()
            .fold(Rational::new(), |sum, (c, &g)| sum + Rational::from_f64(g).unwrap_or_default() * row.value(node, c));
        field[node] = (Enclosure::from_rational(guarded, &exact) - &mean) / &sums.total;
    }
    let derivatives = route.derivatives(row, &field, guarded);
    let finish = |x: Enclosure| Certified::Number(x.with_precision(precision));
    result.scores = derivatives.scores.into_iter().map(finish).collect();
    result.durations = derivatives.durations.into_iter().map(finish).collect();
    result
}
