//! Allowances of o, lse, w and b.

use super::{Bound, Precision, grown};
use crate::oracle::{Curve, Exact, Row, Sight, Wide};
use contattn_core::Rule;

/// The relative errors from which a row's allowances are made.
#[derive(Clone, Debug)]
pub struct RowErrors {
    /// absolute error of each score
    pub scores: Vec<f64>,
    /// r: relative error of what each strand gives
    pub strands: Vec<f64>,
    /// relative error of each node's P
    pub nodes: Vec<f64>,
    /// relative error of Z
    pub total: f64,
    /// (N + TERMS) u
    pub sum: f64,
    /// what underflow may lose, relative to Z
    pub lost: f64,
    /// A: the row's largest score, or exponent under the Taylor rule
    pub highest: f64,
}

impl RowErrors {
    /// Of one row.
    pub fn of(exact: &Exact<'_>, row: &Row, precision: &Precision) -> RowErrors {
        let u = precision.unit();
        let head_dim = exact.problem().q().shape()[3] as f64;
        let scale = exact.scale().to_f64().abs();
        let beyond = precision.arithmetic.max() / 4.0;
        let score_error = |node: usize| match row.scores[node] {
            None => 0.0,
            Some(score) if score.size >= beyond => f64::INFINITY,
            Some(score) if score.bits.is_some_and(|bits| bits <= precision.arithmetic.precision()) => {
                head_dim * precision.tiny() * (1.0 + scale)
            }
            Some(score) => {
                (head_dim + precision.table.score) * u * score.size + head_dim * precision.tiny() * (1.0 + scale)
            }
        };
        let scores: Vec<f64> = (0..row.scores.len()).map(score_error).collect();
        let mut errors = RowErrors {
            strands: Vec::new(),
            nodes: vec![0.0; scores.len()],
            total: 0.0,
            sum: precision.sum(row.masses.len().max(row.scores.len())),
            lost: 0.0,
            highest: f64::NEG_INFINITY,
            scores,
        };
        match (&row.sight, row.rule) {
            _ if row.poisoned => {}
            (Sight::Curve(curve), Rule::Taylor(order)) => errors.of_series(row, curve, order, precision),
            (Sight::Curve(curve), _) => errors.of_strands(row, curve, precision),
            (Sight::Nothing | Sight::Point { .. }, _) => {}
        }
        errors
    }

    fn of_strands(&mut self, row: &Row, curve: &Curve, precision: &Precision) {
        let u = precision.unit();
        let size = |node: usize| row.score(node).to_f64().abs();
        self.highest = row.visible().into_iter().map(|node| row.score(node).to_f64()).fold(f64::NEG_INFINITY, f64::max);
        let mut longest = f64::NEG_INFINITY;
        for (mass, strand) in row.masses.iter().zip(&curve.strands) {
            let mut error = self.scores[strand.left].max(self.scores[strand.right]);
            if !strand.share.is_whole() {
                error += precision.table.cut * u * (size(strand.left) + size(strand.right));
            }
            let below = (self.highest - mass.anchor.to_f64()).abs();
            error += u * (precision.table.segment + 2.0 * below.min(1e300));
            self.strands.push(error);
            if mass.mantissa != Wide::ZERO {
                longest = longest.max(mass.exponent as f64 * std::f64::consts::LN_2);
                for node in [strand.left, strand.right] {
                    self.nodes[node] = self.nodes[node].max(error);
                }
            }
        }
        self.finish(row, longest, precision);
    }

    /// e^{a + b}: b has the error of its evaluation, 8 (order + 2) u times the terms of its recurrence with all signs positive, and moves with
    /// the scores by its slopes.
    fn of_series(&mut self, row: &Row, curve: &Curve, order: u32, precision: &Precision) {
        let u = precision.unit();
        let exponent = |node: usize| (row.score(node) + row.bias[node]).to_f64();
        self.highest = curve.nodes.iter().map(|&node| exponent(node)).fold(f64::NEG_INFINITY, f64::max);
        for &node in &curve.nodes {
            let bias = row.series[node].unwrap_or_default();
            let (left, right) = Row::neighbours(curve, node);
            let around = [left, right].into_iter().flatten().map(|i| self.scores[i]).fold(self.scores[node], f64::max);
            let moved = 2.0 * bias.slope_size * around;
            let evaluated = 8.0 * (f64::from(order) + 2.0) * u * (bias.majorant + bias.size + 1.0);
            let below = (self.highest - exponent(node)).abs().min(1e300);
            self.nodes[node] = self.scores[node] + moved + evaluated + u * (precision.table.segment + 2.0 * below);
        }
        self.finish(row, 0.0, precision);
    }

    fn finish(&mut self, row: &Row, longest: f64, precision: &Precision) {
        let largest = self.nodes.iter().copied().fold(0.0, f64::max);
        let mean: f64 = row.weights.iter().zip(&self.nodes).map(|(w, &e)| w.to_f64() * grown(e.min(600.0))).sum();
        self.total = if largest > 600.0 { largest } else { libm::log1p(mean) };
        let lost = libm::log(precision.tiny()) + self.highest + longest - row.lse.to_f64();
        self.lost = row.scores.len() as f64 * 4.0 * libm::exp(lost.min(700.0));
    }
}

/// Exact results of all rows with their allowances, in the order of the output tensors.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// o
    pub o: Vec<Bound>,
    /// lse
    pub lse: Vec<Bound>,
    /// w
    pub weights: Vec<Bound>,
    /// b
    pub bias: Vec<Bound>,
}

impl Bounds {
    /// Of every row.
    pub fn of(exact: &Exact<'_>, precision: &Precision) -> Bounds {
        let mut bounds = Bounds::default();
        for row in exact.rows() {
            bounds.add_row(exact, row, precision);
        }
        bounds
    }

    fn add_row(&mut self, exact: &Exact<'_>, row: &Row, precision: &Precision) {
        let nan = Bound::exactly(Wide::from_f64(f64::NAN));
        let nodes = row.scores.len();
        if row.poisoned {
            self.o.extend(row.o.iter().map(|_| nan));
            self.lse.push(nan);
            self.weights.extend((0..nodes).map(|_| nan));
            self.bias.extend((0..nodes).map(|_| nan));
            return;
        }
        let errors = RowErrors::of(exact, row, precision);
        for (c, allowed) in output_allowances(exact, row, &errors, precision).into_iter().enumerate() {
            self.o.push(if row.poisoned_columns[c] { nan } else { Bound { value: row.o[c], allowed } });
        }
        self.lse.push(errors.lse(row, precision));
        for node in 0..nodes {
            self.weights.push(errors.weight(row, node, precision));
            self.bias.push(errors.bias(row, node, precision));
        }
    }
}

/// Allowance of each component of o before it is rounded to the result's type.
pub(super) fn output_allowances(exact: &Exact<'_>, row: &Row, errors: &RowErrors, precision: &Precision) -> Vec<f64> {
    let values = exact.values(row);
    let u = precision.unit();
    let mut allowances = Vec::with_capacity(row.o.len());
    for c in 0..row.o.len() {
        let o = row.o[c].to_f64();
        let (mut shifted, mut size, mut spread, mut reach) = (0.0, 0.0, 0.0, 0.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (node, value) in &values {
            let (w, v) = (row.weights[*node].to_f64(), value[c]);
            if !v.is_finite() {
                continue;
            }
            shifted += w * grown(errors.nodes[*node]) * (v - o).abs();
            size += w * v.abs();
            reach += v.abs();
            spread += (v - o).abs();
            (low, high) = (low.min(v), high.max(v));
        }
        allowances.push(match row.sight {
            Sight::Nothing => 0.0,
            // v of a node as it is, if the arithmetic holds it; between two nodes, one interpolation.
            Sight::Point { fraction, .. } if fraction == Wide::ZERO => {
                let narrower = precision.arithmetic.precision() < exact.problem().dtype().precision();
                if narrower { u * size + precision.tiny() } else { 0.0 }
            }
            // 1 - u may come from u: absolute errors of the two weights.
            Sight::Point { .. } => 4.0 * u * reach,
            Sight::Curve(_) => {
                let shifted = shifted * libm::exp(errors.total.min(600.0)) + errors.lost.min(1.0) * spread;
                // Lost products of small weights and small values.
                let underflow = row.scores.len() as f64 * precision.tiny();
                shifted.min(high - low) + errors.sum * size.max(o.abs()) + underflow
            }
        });
    }
    allowances
}

impl RowErrors {
    /// lse = M + log(mass): the relative error of Z, and roundings of its three terms.
    fn lse(&self, row: &Row, precision: &Precision) -> Bound {
        let u = precision.unit();
        let lse = row.lse.to_f64();
        if !matches!(row.sight, Sight::Curve(_)) {
            return Bound::exactly(row.lse);
        }
        let terms = self.highest.abs() + (lse - self.highest).abs() + f64::from(row.exponent).abs();
        let allowed = self.total + self.sum + self.lost + 4.0 * u * terms;
        Bound { value: row.lse, allowed: if allowed.is_nan() { f64::INFINITY } else { allowed } }
    }

    /// w = P/Z, at most 1.
    fn weight(&self, row: &Row, node: usize, precision: &Precision) -> Bound {
        let w = row.weights[node];
        let allowed = match row.sight {
            Sight::Nothing => 0.0,
            Sight::Point { fraction, .. } if fraction == Wide::ZERO => 0.0,
            Sight::Point { .. } => 4.0 * precision.unit(),
            // Nothing of the node is seen.
            Sight::Curve(_) if w == Wide::ZERO && row.bias[node].to_f64() == f64::NEG_INFINITY => 0.0,
            Sight::Curve(_) => {
                let relative = grown(self.nodes[node] + self.total) + self.sum;
                (w.to_f64() * relative + self.lost).min(1.0) + precision.tiny()
            }
        };
        Bound { value: w, allowed }
    }

    /// b = log P - a from any anchor: the relative error of P, that of a, and the rounding of log P e^-A and of a - A. Where P
    /// may be lost to underflow or off by more than half, nothing is required.
    fn bias(&self, row: &Row, node: usize, precision: &Precision) -> Bound {
        let value = row.bias[node];
        let u = precision.unit();
        if !value.is_finite() {
            // Beside a score that overflows, b may be past the type's range itself, or that of a score held at its largest number.
            let seen = row.scores[node].is_some();
            return if seen && self.scores.iter().any(|error| error.is_infinite()) {
                Bound { value: Wide::ZERO, allowed: f64::INFINITY }
            } else {
                Bound::exactly(value)
            };
        }
        let a = row.score(node).to_f64();
        let share = row.weights[node].to_f64();
        let relative = grown(self.nodes[node]) + self.sum + self.lost / share;
        let depth = (a - self.highest).abs();
        let terms = 1.0 + depth + (value.to_f64() + a - self.highest).abs() + f64::from(row.exponent).abs();
        let allowed = self.scores[node] + 2.0 * relative + 4.0 * u * terms;
        let known = relative < 0.5 && allowed.is_finite();
        Bound { value, allowed: if known { allowed } else { f64::INFINITY } }
    }
}
