//! A row's results, each correctly rounded.

use super::{FIRST_PRECISION, NodeTerms, Quantity, Rounded, Settled, round, round_enclosure, round_given};
use crate::enclosure::Enclosure;
use crate::exact::{Row, Sight};
use crate::route::{Route, Sums, Want, point_weights};
use contattn_core::Dtype;
use rug::Rational;
use std::cell::OnceCell;
use std::cmp::Ordering;

/// Correctly rounded results of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundedRow {
    /// o, by channel
    pub o: Vec<Rounded>,
    /// log Z, in the type that goes with that of o
    pub lse: Rounded,
    /// w, by node; empty where not asked for
    pub weights: Vec<Rounded>,
    /// b, by node; empty where not asked for
    pub bias: Vec<Rounded>,
}

const NAN: Rounded = Rounded { value: f64::NAN, settled: Settled::Defined };
const NEG_INFINITY: Rounded = Rounded { value: f64::NEG_INFINITY, settled: Settled::Defined };
const ZERO: Rounded = Rounded { value: 0.0, settled: Settled::Defined };

fn at(known: &[Option<Rounded>], i: usize) -> Option<Rounded> {
    known.get(i).copied().flatten()
}

/// Which result of a row.
#[derive(Clone, Copy)]
enum Which {
    Output(usize),
    Lse,
    Weight(usize),
    Bias(usize),
}

/// One result of a row of positive measure.
struct Result<'r> {
    which: Which,
    route: &'r dyn Route,
    row: &'r Row<'r>,
    terms: &'r OnceCell<NodeTerms<'r>>,
}

impl Which {
    /// Out of sums in which `channels` is the channel alone.
    fn enclosure(self, sums: &Sums, position: usize) -> Option<Enclosure> {
        match self {
            Which::Output(_) => Some(&sums.numerators[position] / &sums.total),
            Which::Lse => Some(sums.total.ln() + &sums.anchor),
            Which::Weight(node) => sums.nodes[node].as_ref().map(|node| &node.mass / &sums.total),
            Which::Bias(node) => sums.nodes[node].as_ref().and_then(|node| node.bias.clone()),
        }
    }
}

impl Quantity for Result<'_> {
    fn enclose(&mut self, precision: u32) -> Enclosure {
        let channels: &[usize] = if let Which::Output(channel) = &self.which { &[*channel] } else { &[] };
        let want = Want { channels, bias: matches!(self.which, Which::Bias(_)) };
        let sums = self.route.integrals(self.row, want, precision);
        self.which.enclosure(&sums, 0).unwrap_or(Enclosure::zero(precision))
    }

    fn compare(&mut self, c: &Rational) -> (Ordering, u32) {
        let terms = self.terms.get_or_init(|| NodeTerms::new(self.row));
        match self.which {
            Which::Output(channel) => terms.compare_output(channel, c),
            Which::Lse => terms.compare_lse(c),
            Which::Weight(node) => terms.compare_weight(node, c),
            Which::Bias(node) => terms.compare_bias(node, c),
        }
    }
}

/// Results that are settled already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// o, by channel; empty where nothing is known
    pub o: Vec<Option<Rounded>>,
    /// lse
    pub lse: Option<Rounded>,
    /// w, by node; empty where nothing is known
    pub weights: Vec<Option<Rounded>>,
    /// b, by node; empty where nothing is known
    pub bias: Vec<Option<Rounded>>,
}

impl Known {
    /// The row, where all of it is known: weights and bias where they are wanted.
    pub fn complete(&self, weights: bool, bias: bool) -> Option<RoundedRow> {
        let all = |x: &[Option<Rounded>]| x.iter().copied().collect::<Option<Vec<Rounded>>>();
        let of_nodes = |wanted: bool, x: &[Option<Rounded>]| match wanted {
            true if x.is_empty() => None,
            true => all(x),
            false => Some(Vec::new()),
        };
        let (weights, bias) = (of_nodes(weights, &self.weights)?, of_nodes(bias, &self.bias)?);
        Some(RoundedRow { o: all(&self.o)?, lse: self.lse?, weights, bias })
    }
}

/// Rounds all results of a row once, to `dtype` (lse to the type that goes with it).
pub fn round_row(route: &dyn Route, row: &Row<'_>, dtype: Dtype, weights: bool, bias: bool) -> RoundedRow {
    round_rest(route, row, dtype, weights, bias, &Known::default())
}

/// [`round_row`] of what is not known yet.
pub fn round_rest(
    route: &dyn Route,
    row: &Row<'_>,
    dtype: Dtype,
    weights: bool,
    bias: bool,
    known: &Known,
) -> RoundedRow {
    let n = row.keys() + 1;
    let channels: Vec<usize> = (0..row.value_dim()).collect();
    let per_node = |wanted: bool, value: Rounded| if wanted { vec![value; n] } else { Vec::new() };
    if row.is_nan() {
        let o = vec![NAN; row.value_dim()];
        return RoundedRow { o, lse: NAN, weights: per_node(weights, NAN), bias: per_node(bias, NAN) };
    }
    let nan_columns: Vec<bool> = channels.iter().map(|&c| row.is_nan_column(c)).collect();
    if !matches!(row.sight(), Sight::Measure(_)) {
        let exact = point_weights(row);
        let o = |&c: &usize| {
            if nan_columns[c] {
                return NAN;
            }
            round_given(dtype, &exact.iter().fold(Rational::new(), |sum, (node, w)| sum + row.value(*node, c) * w))
        };
        let mut w = per_node(weights, ZERO);
        if weights {
            for (node, weight) in &exact {
                w[*node] = round_given(dtype, weight);
            }
        }
        return RoundedRow {
            o: channels.iter().map(o).collect(),
            lse: NEG_INFINITY,
            weights: w,
            bias: per_node(bias, NEG_INFINITY),
        };
    }
    let mut o = vec![NAN; row.value_dim()];
    for &channel in &channels {
        if let Some(rounded) = at(&known.o, channel) {
            o[channel] = rounded;
        }
    }
    let open = |c: &usize| !nan_columns[*c] && at(&known.o, *c).is_none();
    let finite: Vec<usize> = channels.into_iter().filter(open).collect();
    let sums = route.integrals(row, Want { channels: &finite, bias }, FIRST_PRECISION);
    let terms = OnceCell::new();
    let settle = |which: Which, position: usize, dtype: Dtype| {
        let Some(first) = which.enclosure(&sums, position) else {
            return if let Which::Bias(_) = which { NEG_INFINITY } else { ZERO };
        };
        match round_enclosure(dtype, &first) {
            Some(value) => Rounded { value, settled: Settled::Enclosure(FIRST_PRECISION) },
            None => round(dtype, &mut Result { which, route, row, terms: &terms }, Some((first, FIRST_PRECISION))),
        }
    };
    for (position, &channel) in finite.iter().enumerate() {
        o[channel] = settle(Which::Output(channel), position, dtype);
    }
    let over_nodes = |wanted: bool, which: fn(usize) -> Which, known: &[Option<Rounded>]| -> Vec<Rounded> {
        let rounded = |node| at(known, node).unwrap_or_else(|| settle(which(node), 0, dtype));
        if wanted { (0..n).map(rounded).collect() } else { Vec::new() }
    };
    RoundedRow {
        o,
        lse: known.lse.unwrap_or_else(|| settle(Which::Lse, 0, dtype.lse())),
        weights: over_nodes(weights, Which::Weight, &known.weights),
        bias: over_nodes(bias, Which::Bias, &known.bias),
    }
}
