//! Gradients, from the integrals alone.
//!
//! With P_j = int e^a N_j the row's loss depends on scores and durations through P alone, and with
//! G_j = dL/dP_j = (g.v_j - g.o + g_lse)/Z held fixed,
//!
//! ```text
//!     dL/dtheta = sum_j G_j dP_j/dtheta,        dP_j/da_i = int e^a N_i N_j,
//!     dP/dD_i:  int_alpha^beta e^{a(u)} N_j(u) du   +-   e^{a(edge)} N_j(edge) (d(edge)/dD_i - d(curve)/dD_i) at each cut.
//! ```
//!
//! No function psi appears, nor any rearrangement into a diffusion. For the trapezoid the integrals are its two-point sums,
//! and its share of a cut segment is differentiated as it stands.

use super::row::{Row, at};
use super::scores::Rows;
use super::sight::{Curve, Sight};
use super::wide::Wide;
use contattn_core::{Problem, Rule, Upstream};

/// Gradients with respect to one row's scores and durations, and what they came from.
#[derive(Clone, Debug)]
pub struct RowGradient {
    /// dL/da of nodes 0..=n
    pub scores: Vec<Wide>,
    /// dL/dD_1..dL/dD_n
    pub durations: Vec<Wide>,
    /// G in units of the inverse of the row's scale
    pub potentials: Vec<Wide>,
    /// the value of every visible node
    pub values: Vec<(usize, Vec<f64>)>,
    /// g
    pub g: Vec<f64>,
    /// g_lse
    pub g_lse: f64,
    /// for each cut: e^{a} G at the edge (the trapezoid: the derivative of its share), in units of 2^-exponent
    pub edges: Vec<Wide>,
}

impl RowGradient {
    pub(crate) fn of(problem: &Problem<'_>, upstream: &Upstream<'_>, row: &Row) -> RowGradient {
        let (batch, head, r) = row.place;
        let n = row.scores.len() - 1;
        let mut g = vec![0.0; problem.v().shape()[3]];
        upstream.o().read_row(batch, head, r, &mut g);
        let g_lse = upstream.lse().map_or(0.0, |lse| lse.get(batch, head, r, 0));
        let rows = Rows::new(problem, batch, head);
        let values: Vec<_> = row.visible().into_iter().map(|node| (node, rows.value(node, row.copied))).collect();
        let mut gradient = RowGradient {
            scores: vec![Wide::ZERO; n + 1],
            durations: vec![Wide::ZERO; n],
            potentials: vec![Wide::ZERO; n + 1],
            values,
            g,
            g_lse,
            edges: Vec::new(),
        };
        // "Its gradient is dv = w g, and 0 elsewhere."
        if let (Sight::Curve(curve), false) = (&row.sight, row.poisoned) {
            gradient.potentials(row);
            if let Rule::Taylor(_) = problem.rule() {
                gradient.through_series(row, curve);
            } else {
                gradient.through_strands(row, curve);
                gradient.through_cuts(problem.rule(), row, curve);
            }
        }
        gradient
    }

    fn potentials(&mut self, row: &Row) {
        let through_o: Wide = self.g.iter().zip(&row.o).map(|(&g, &o)| o * g).sum();
        for (node, value) in &self.values {
            let y: Wide = self.g.iter().zip(value).map(|(&g, &v)| Wide::product_of(g, v)).sum();
            self.potentials[*node] = (y - through_o + Wide::from_f64(self.g_lse)) / row.total;
        }
    }

    /// Proofs: `mass_is_hat_integral`, `mass_form`, `mass_matrix_entry`, `mass_matrix_neighbour`, `mass_matrix_far`,
    /// `mass_matrix_diagonal`, `mass_derivative_is_matrix`, `total_derivative_is_mass`.
    fn through_strands(&mut self, row: &Row, curve: &Curve) {
        for (mass, strand) in row.masses.iter().zip(&curve.strands) {
            let (left, right) = (self.potentials[strand.left], self.potentials[strand.right]);
            let m = &mass.moments;
            self.scores[strand.left] += mass.factor * (m.left_left * left + m.left_right * right);
            self.scores[strand.right] += mass.factor * (m.left_right * left + m.right_right * right);
            if let Some(i) = strand.segment {
                let density = density(row, mass.anchor);
                self.durations[i - 1] += density * (m.left * left + m.right * right);
            }
        }
    }

    fn through_cuts(&mut self, rule: Rule, row: &Row, curve: &Curve) {
        for cut in &curve.cuts {
            let strand = &curve.strands[cut.strand];
            let share = &strand.share;
            let (a0, a1) = (row.score(strand.left), row.score(strand.right));
            let (g0, g1) = (self.potentials[strand.left], self.potentials[strand.right]);
            let own_node_only = strand.segment.is_none() || rule == Rule::Step;
            let end = |after: Wide, u: Wide| {
                if own_node_only {
                    (density(row, a1), g1)
                } else {
                    (density(row, at(a0, a1, after, u)), g0 * after + g1 * u)
                }
            };
            let (low, high) = (end(share.after_alpha, share.alpha), end(share.after_beta, share.beta));
            let (here, sign) = if cut.upper { (high, 1.0) } else { (low, -1.0) };
            let mut rate = here.0 * here.1;
            if rule == Rule::Trapezoid && !own_node_only {
                // d/dbeta of (beta - alpha)(f(alpha) + f(beta))/2, f = e^a G, f' = e^a (a' G + G'); the same for -alpha.
                let slope = here.0 * ((a1 - a0) * here.1 + (g1 - g0)) * sign;
                rate = (low.0 * low.1 + high.0 * high.1 + share.length * slope) * 0.5;
            }
            self.edges.push(rate);
            for &(i, velocity) in &cut.velocities {
                self.durations[i - 1] += rate * velocity * sign;
            }
        }
    }

    /// dL/da_j = P_j G_j + sum over k of P_k G_k db_k/da_j.
    fn through_series(&mut self, row: &Row, curve: &Curve) {
        for &node in &curve.nodes {
            let pull = row.shares[node] * self.potentials[node];
            self.scores[node] += pull;
            let Some(bias) = row.series[node] else { continue };
            let slopes = match Row::neighbours(curve, node) {
                (Some(left), Some(right)) => [(Some(left), bias.by_u), (Some(right), bias.by_w)],
                (one, other) => [(one.or(other), bias.by_u), (None, Wide::ZERO)],
            };
            for (neighbour, slope) in slopes {
                if let Some(neighbour) = neighbour {
                    self.scores[neighbour] += pull * slope;
                    self.scores[node] -= pull * slope;
                }
            }
        }
    }
}

/// e^a for a unit of time, in units of the row's e^{anchor} 2^{exponent}.
pub(crate) fn density(row: &Row, a: Wide) -> Wide {
    let shift = a - row.anchor;
    if shift.is_finite() { (shift - Wide::LN_2 * f64::from(row.exponent)).exp() } else { Wide::ZERO }
}
