//! Allowances of the gradients.
//!
//! With G_j = (y_j - g.o + g_lse)/Z, y_j = g.v_j, S_j = sum_c |g_c v_jc| and T = sum_c |g_c o_c|:
//!
//! ```text
//!     |error of Z G_j|   <=  (width + TERMS) u (S_j + T + |g_lse|)  +  sum_c |g_c| |error of o_c|
//!     |error of dL/da_i| <=  sum over segments of  M_ij |error of G_j|  +  r (P_i |G_i| + h (|G_i| + |G_j|))
//! ```
//!
//! r the segment's relative error with that of Z added: the second line is for P_i G_i + h (G_j - G_i), whose terms may be
//! larger than their sum. dq, dk, dv and dL/dD add up what rows and nodes give, so their allowances are sums of theirs, with
//! the roundings of those sums. An edge gives e^a G times its velocity, with the relative error of a score at a cut.

use super::forward::output_allowances;
use super::{Bound, Precision, RowErrors, grown};
use crate::oracle::{Curve, Exact, ExactGradient, Receiver, Row, RowGradient, Sight, Strand, Wide, at, density};
use contattn_core::Rule;

/// Exact gradients with their allowances, in the order of the gradient tensors.
#[derive(Clone, Debug, Default)]
pub struct GradientBounds {
    /// dL/dq
    pub dq: Vec<Bound>,
    /// dL/dk
    pub dk: Vec<Bound>,
    /// dL/dv
    pub dv: Vec<Bound>,
    /// dL/dk_0 of a given sink
    pub sink_dk: Vec<Bound>,
    /// dL/dv_0 of a given sink
    pub sink_dv: Vec<Bound>,
    /// dL/dD
    pub durations: Vec<Bound>,
}

/// Errors of one row's gradient with respect to scores and durations.
struct RowSlack {
    scores: Vec<f64>,
    durations: Vec<f64>,
}

impl GradientBounds {
    /// Of every element.
    pub fn of(exact: &Exact<'_>, gradient: &ExactGradient, precision: &Precision) -> GradientBounds {
        let bounds = |values: &[Wide]| values.iter().map(|&v| Bound::exactly(v)).collect::<Vec<_>>();
        let mut all = GradientBounds {
            dq: bounds(&gradient.dq),
            dk: bounds(&gradient.dk),
            dv: bounds(&gradient.dv),
            sink_dk: bounds(&gradient.sink_dk),
            sink_dv: bounds(&gradient.sink_dv),
            durations: bounds(&gradient.durations),
        };
        for (number, (row, from_row)) in exact.rows().iter().zip(&gradient.rows).enumerate() {
            all.add_row(exact, number, row, from_row, precision);
        }
        // Beyond the range of f64, as e^a of a node without duration far above all others may be, nothing is known.
        let parts = [&mut all.dq, &mut all.dk, &mut all.dv, &mut all.sink_dk, &mut all.sink_dv, &mut all.durations];
        for bound in parts.into_iter().flatten().filter(|bound| !bound.value.is_finite()) {
            *bound = Bound::ANYTHING;
        }
        all
    }

    fn add_row(&mut self, exact: &Exact<'_>, number: usize, row: &Row, from_row: &RowGradient, precision: &Precision) {
        let [batches, heads, queries, head_dim] = exact.problem().q().shape();
        let kv_heads = exact.problem().k().shape()[1];
        let width = exact.problem().v().shape()[3];
        let errors = RowErrors::of(exact, row, precision);
        let unknown = row.poisoned || row.poisoned_columns.iter().any(|&p| p);
        let slack =
            if unknown { RowSlack::unknown(row) } else { RowSlack::of(exact, row, from_row, &errors, precision) };
        let scale = exact.scale().to_f64().abs();
        let (batch, head, r) = row.place;
        let mut q = vec![0.0; head_dim];
        exact.problem().q().read_row(batch, head, r, &mut q);
        let sharing = precision.sum(queries * heads / kv_heads + row.scores.len());
        let tiny = precision.tiny();
        // An exact zero of a row that sees nothing, or has no measure, stays one.
        let live = matches!(row.sight, Sight::Curve(_)) || unknown;
        for (node, key) in exact.keys(row) {
            let error = scale * (slack.scores[node] + sharing * from_row.scores[node].to_f64().abs());
            for c in 0..head_dim {
                if live {
                    self.dq[number * head_dim + c].allowed += error * key[c].abs() + tiny * (1.0 + key[c].abs());
                }
            }
            let (dk, dv, at) = match exact.receiver(node, row) {
                None => continue,
                Some(Receiver::Node(at)) => (&mut self.dk, &mut self.dv, at),
                Some(Receiver::Sink(at)) => (&mut self.sink_dk, &mut self.sink_dv, at),
            };
            for c in 0..head_dim {
                if live {
                    dk[at * head_dim + c].allowed += error * q[c].abs() + tiny * (1.0 + q[c].abs());
                }
            }
            let w = row.weights[node].to_f64();
            let w_error = if unknown {
                f64::NAN
            } else if live {
                w * (grown(errors.nodes[node] + errors.total) + errors.sum + saved(row, precision)) + errors.lost
            } else {
                4.0 * precision.unit() * f64::from(w != 1.0)
            };
            for c in 0..width {
                dv[at * width + c].allowed += (w_error + sharing * w) * from_row.g[c].abs() + tiny;
            }
        }
        let from = exact.durations_at(row);
        let rows = precision.sum(batches * heads * queries);
        for (i, &error) in slack.durations.iter().enumerate() {
            let underflow = if error == 0.0 { 0.0 } else { 4.0 * tiny };
            self.durations[from + i].allowed += error + rows * from_row.durations[i].to_f64().abs() + underflow;
        }
    }
}

/// What the slack of a row comes from.
struct Basis<'c> {
    row: &'c Row,
    curve: &'c Curve,
    errors: &'c RowErrors,
    precision: &'c Precision,
    /// error of G and |G| of each node, in units of the inverse of the row's scale
    potential: Vec<(f64, f64)>,
    /// relative error of what all nodes share: Z, sums, a saved lse
    common: f64,
}

/// Half a unit in the last place of x in the results' type: what o and lse lost when they were saved.
fn half_unit(x: f64, dtype: contattn_core::Dtype) -> f64 {
    (x.abs() * dtype.unit_roundoff()).max(dtype.smallest_subnormal())
}

/// Weights recomputed as e^{a - lse} from a saved lse are off by its rounding.
fn saved(row: &Row, precision: &Precision) -> f64 {
    if precision.saved { half_unit(row.lse.to_f64(), precision.results.lse()) } else { 0.0 }
}

impl RowSlack {
    fn unknown(row: &Row) -> RowSlack {
        RowSlack { scores: vec![f64::NAN; row.scores.len()], durations: vec![f64::NAN; row.scores.len() - 1] }
    }

    fn of(exact: &Exact<'_>, row: &Row, from_row: &RowGradient, errors: &RowErrors, precision: &Precision) -> RowSlack {
        let nodes = row.scores.len();
        let mut slack = RowSlack { scores: vec![0.0; nodes], durations: vec![0.0; nodes - 1] };
        let Sight::Curve(curve) = &row.sight else { return slack };
        let width = row.o.len();
        let outputs = output_allowances(exact, row, errors, precision);
        let total = row.total.to_f64();
        let (mut through_o, mut o_error) = (0.0, 0.0);
        for c in 0..width {
            let (g, o) = (from_row.g[c].abs(), row.o[c].to_f64().abs());
            through_o += g * o;
            o_error += g * (outputs[c] + if precision.saved { half_unit(o, precision.results) } else { 0.0 });
        }
        // Error of G_j, and |G_j| itself.
        let mut potential = vec![(0.0, 0.0); nodes];
        for (node, value) in &from_row.values {
            let size: f64 = from_row.g.iter().zip(value).map(|(g, v)| (g * v).abs()).sum();
            let rounding = precision.sum(width) * (size + through_o + from_row.g_lse.abs());
            potential[*node] = ((rounding + o_error) / total, from_row.potentials[*node].to_f64().abs());
        }
        let common = errors.total + errors.sum + saved(row, precision);
        let basis = Basis { row, curve, errors, precision, potential, common };
        if let Rule::Taylor(order) = row.rule {
            slack.through_series(&basis, order);
        } else {
            slack.through_strands(&basis);
            slack.through_cuts(&basis, &from_row.edges);
        }
        slack
    }

    fn through_strands(&mut self, basis: &Basis<'_>) {
        let Basis { row, curve, errors, potential, common, .. } = basis;
        for ((mass, strand), &error) in row.masses.iter().zip(&curve.strands).zip(&errors.strands) {
            let m = &mass.moments;
            let (left, right) = (m.left.to_f64(), m.right.to_f64());
            let (ll, h, rr) = (m.left_left.to_f64(), m.left_right.to_f64(), m.right_right.to_f64());
            let ((e0, g0), (e1, g1)) = (potential[strand.left], potential[strand.right]);
            let relative = grown(error + common);
            let factor = mass.factor.to_f64();
            // Underflow of a segment's share, relative to the whole, times what it is multiplied by.
            let lost = errors.lost * row.total.to_f64() * (g0 + g1);
            self.scores[strand.left] += factor * (ll * e0 + h * e1 + relative * (left * g0 + h * (g0 + g1))) + lost;
            self.scores[strand.right] += factor * (h * e0 + rr * e1 + relative * (right * g1 + h * (g0 + g1))) + lost;
            if let Some(i) = strand.segment {
                let density = density(row, mass.anchor).to_f64();
                let lost = if mass.mantissa == Wide::ZERO { 0.0 } else { lost / strand.duration.to_f64() };
                self.durations[i - 1] +=
                    density * (left * e0 + right * e1 + relative * (left * g0 + right * g1)) + lost;
            }
        }
    }

    fn through_cuts(&mut self, basis: &Basis<'_>, rates: &[Wide]) {
        let Basis { row, curve, errors, precision, potential, common } = basis;
        let u = precision.unit();
        for (cut, rate) in curve.cuts.iter().zip(rates) {
            let strand: &Strand = &curve.strands[cut.strand];
            let (a0, a1) = (row.score(strand.left), row.score(strand.right));
            let ((e0, g0), (e1, g1)) = (potential[strand.left], potential[strand.right]);
            let share = &strand.share;
            let relative = grown(
                errors.strands[cut.strand]
                    + precision.table.cut * u * (a0.to_f64().abs() + a1.to_f64().abs() + (a1 - a0).to_f64().abs())
                    + common,
            );
            let own_node_only = strand.segment.is_none() || row.rule == Rule::Step;
            let end = |after: Wide, at_u: Wide| {
                if own_node_only {
                    return density(row, a1).to_f64() * (e1 + relative * g1);
                }
                let height = density(row, at(a0, a1, after, at_u)).to_f64();
                let (left, right) = (after.to_f64(), at_u.to_f64());
                height * (left * e0 + right * e1 + relative * (left * g0 + right * g1))
            };
            let (low, high) = (end(share.after_alpha, share.alpha), end(share.after_beta, share.beta));
            let mut error = if cut.upper { high } else { low };
            if row.rule == Rule::Trapezoid && !own_node_only {
                let here = if cut.upper { (share.after_beta, share.beta) } else { (share.after_alpha, share.alpha) };
                let height = density(row, at(a0, a1, here.0, here.1)).to_f64();
                let x = (a1 - a0).to_f64().abs();
                let scores = errors.scores[strand.left] + errors.scores[strand.right];
                let slope = (1.0 + x) * (e0 + e1) + (relative * (1.0 + x) + scores) * (g0 + g1);
                error = low + high + share.length.to_f64() * height * slope;
            }
            for &(i, velocity) in &cut.velocities {
                let velocity = velocity.to_f64().abs();
                // The velocity of a cut segment is a share, known to a few roundings of the arithmetic.
                self.durations[i - 1] += error * velocity + 4.0 * u * rate.to_f64().abs();
            }
        }
    }

    /// dL/da_j = P_j G_j + sum over k of P_k G_k db_k/da_j.
    fn through_series(&mut self, basis: &Basis<'_>, order: u32) {
        let Basis { row, curve, errors, precision, potential, common } = basis;
        let u = precision.unit();
        for &node in &curve.nodes {
            let (e, g) = potential[node];
            let share = row.shares[node].to_f64();
            let relative = grown(errors.nodes[node] + common);
            let pull = share * g;
            let error = share * (e + relative * g) + errors.lost * row.total.to_f64() * g;
            self.scores[node] += error;
            let Some(bias) = row.series[node] else { continue };
            let (left, right) = Row::neighbours(curve, node);
            let around =
                [left, right].into_iter().flatten().map(|i| errors.scores[i]).fold(errors.scores[node], f64::max);
            let slope_error = 8.0 * (f64::from(order) + 2.0) * u * (bias.slope_majorant + bias.slope_size)
                + 2.0 * bias.curvature_size * around;
            let through_slope = error * bias.slope_size + pull * slope_error;
            for neighbour in [left, right, Some(node)].into_iter().flatten() {
                self.scores[neighbour] += through_slope;
            }
        }
    }
}
