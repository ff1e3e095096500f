//! The exact results of a problem, by quadrature of the integrals that define them.
//!
//! This shares no formula with an engine: what a row sees is read from the specification anew ([`sight`](Sight)), with exact
//! times; scores are dot products in twice the precision of `f64`; e^{a(s)} and its products with hat functions are integrated by
//! Gauss-Legendre quadrature; gradients come from the mass matrix int e^a N_i N_j and the values at the edges. The functions
//! phi and psi, closed forms and diffusions appear nowhere.
//!
//! # Error
//! Everything is carried in numbers of about 106 bits. [`ERROR`] = 2^-80 bounds what is lost, relative to the sums of
//! absolute values that the [allowances](crate::allowance) are made of, which include it; an `f64` engine's allowance is 2^27 times
//! that. Where scores were held at the largest `f64`, nothing is claimed.

mod backward;
mod instant;
mod line;
mod quadrature;
mod row;
mod scores;
mod series;
mod sight;
mod wide;

pub use backward::RowGradient;
pub use quadrature::{Moments, Share};
pub use row::{Mass, Row};
pub use scores::{Score, scale};
pub use series::Bias;
pub use sight::{Curve, Cut, Sight, Strand};
pub use wide::Wide;

pub(crate) use backward::density;
pub(crate) use row::at;

use contattn_core::{Problem, Sink, Upstream};
use line::Line;
use sight::look;

/// Relative error of every result, against the sum of the absolute values of what it is a sum of.
pub const ERROR: f64 = 1.0 / (1u128 << 80) as f64;

/// The exact results of a problem.
#[derive(Debug)]
pub struct Exact<'p> {
    problem: &'p Problem<'p>,
    rows: Vec<Row>,
    scale: Wide,
}

/// The exact gradients of a problem.
#[derive(Debug)]
pub struct ExactGradient {
    /// dL/dq, (batch, heads, n_q, head_dim)
    pub dq: Vec<Wide>,
    /// dL/dk, (batch, kv_heads, n, head_dim)
    pub dk: Vec<Wide>,
    /// dL/dv, (batch, kv_heads, n, value width)
    pub dv: Vec<Wide>,
    /// dL/dk_0, (batch, kv_heads, 1, head_dim), of a given sink
    pub sink_dk: Vec<Wide>,
    /// dL/dv_0, (batch, kv_heads, 1, value width), of a given sink
    pub sink_dv: Vec<Wide>,
    /// dL/dD, (n) or (batch, n); meaningless under the Taylor rule
    pub durations: Vec<Wide>,
    /// what each row gave
    pub rows: Vec<RowGradient>,
}

impl<'p> Exact<'p> {
    /// Evaluates every row.
    pub fn of(problem: &'p Problem<'p>) -> Exact<'p> {
        let [batches, heads, queries, _] = problem.q().shape();
        let scale = scale(problem);
        let mut rows = Vec::with_capacity(batches * heads * queries);
        for batch in 0..batches {
            let line = Line::new(problem, batch);
            let looks: Vec<_> =
                (0..queries).map(|row| (look(&line, problem, batch, row), line.copied(problem, batch, row))).collect();
            for head in 0..heads {
                for (row, (sight, copied)) in looks.iter().enumerate() {
                    rows.push(Row::evaluate(problem, (batch, head, row), sight.clone(), *copied, scale));
                }
            }
        }
        Exact { problem, rows, scale }
    }

    /// The problem.
    pub fn problem(&self) -> &'p Problem<'p> {
        self.problem
    }

    /// All rows: batch by batch, head by head.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The factor of the scores.
    pub fn scale(&self) -> Wide {
        self.scale
    }

    /// Where nodes' gradients go: the node itself, or for a copied sink the node that it copies. `None` for node 0 of zeros.
    pub(crate) fn receiver(&self, node: usize, row: &Row) -> Option<Receiver> {
        let [_, heads, _, _] = self.problem.q().shape();
        let [_, kv_heads, n, _] = self.problem.k().shape();
        let (batch, head, _) = row.place;
        let of_head = batch * kv_heads + head * kv_heads / heads;
        match (node, self.problem.sink()) {
            (0, Sink::Given { .. }) => Some(Receiver::Sink(of_head)),
            (0, Sink::Copy) => row.copied.map(|i| Receiver::Node(of_head * n + i - 1)),
            (0, _) => None,
            (i, _) => Some(Receiver::Node(of_head * n + i - 1)),
        }
    }

    /// Where in (n) or (batch, n) the durations of a row's batch begin.
    pub(crate) fn durations_at(&self, row: &Row) -> usize {
        if self.durations_batched() { row.place.0 * self.problem.k().shape()[2] } else { 0 }
    }

    /// Whether each batch has its own durations.
    pub fn durations_batched(&self) -> bool {
        match &self.problem.spec().timeline {
            contattn_core::Timeline::Unit => false,
            contattn_core::Timeline::Durations(series) | contattn_core::Timeline::Times(series) => {
                series.batch().is_some()
            }
        }
    }

    /// Gradients of L with dL/do = g and dL/dlse = g_lse. Poisoned rows count as if they saw nothing.
    pub fn gradient(&self, upstream: &Upstream<'_>) -> ExactGradient {
        let [batches, kv_heads, n, head_dim] = self.problem.k().shape();
        let width = self.problem.v().shape()[3];
        let zeros = |len: usize| vec![Wide::ZERO; len];
        let mut gradient = ExactGradient {
            dq: zeros(self.rows.len() * head_dim),
            dk: zeros(batches * kv_heads * n * head_dim),
            dv: zeros(batches * kv_heads * n * width),
            sink_dk: zeros(batches * kv_heads * head_dim),
            sink_dv: zeros(batches * kv_heads * width),
            durations: zeros(if self.durations_batched() { batches * n } else { n }),
            rows: Vec::with_capacity(self.rows.len()),
        };
        for (at, row) in self.rows.iter().enumerate() {
            let from_row = RowGradient::of(self.problem, upstream, row);
            if !row.poisoned {
                self.add_row(&mut gradient, at, row, &from_row);
            }
            gradient.rows.push(from_row);
        }
        gradient
    }

    fn add_row(&self, gradient: &mut ExactGradient, at: usize, row: &Row, from_row: &RowGradient) {
        let head_dim = self.problem.k().shape()[3];
        let width = self.problem.v().shape()[3];
        let (batch, head, r) = row.place;
        let mut q = vec![0.0; head_dim];
        self.problem.q().read_row(batch, head, r, &mut q);
        let rows = scores::Rows::new(self.problem, batch, head);
        for (node, _) in &from_row.values {
            let da = from_row.scores[*node] * self.scale;
            let key = rows.key(*node, row.copied);
            for c in 0..head_dim {
                gradient.dq[at * head_dim + c] += da * key[c];
            }
            let (dk, dv, at) = match self.receiver(*node, row) {
                None => continue,
                Some(Receiver::Node(at)) => (&mut gradient.dk, &mut gradient.dv, at),
                Some(Receiver::Sink(at)) => (&mut gradient.sink_dk, &mut gradient.sink_dv, at),
            };
            for c in 0..head_dim {
                dk[at * head_dim + c] += da * q[c];
            }
            for c in 0..width {
                dv[at * width + c] += row.weights[*node] * from_row.g[c];
            }
        }
        let from = self.durations_at(row);
        for (i, &d) in from_row.durations.iter().enumerate() {
            gradient.durations[from + i] += d;
        }
    }
}

/// Where a node's gradient is added up, as the number of its row in dk and dv.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Receiver {
    /// a row of (batch, kv_heads, n)
    Node(usize),
    /// a row of (batch, kv_heads)
    Sink(usize),
}

impl Exact<'_> {
    /// Values of the nodes that a row sees.
    pub fn values(&self, row: &Row) -> Vec<(usize, Vec<f64>)> {
        let (batch, head, _) = row.place;
        let rows = scores::Rows::new(self.problem, batch, head);
        row.visible().into_iter().map(|node| (node, rows.value(node, row.copied))).collect()
    }

    /// Keys of the nodes that a row sees.
    pub fn keys(&self, row: &Row) -> Vec<(usize, Vec<f64>)> {
        let (batch, head, _) = row.place;
        let rows = scores::Rows::new(self.problem, batch, head);
        row.visible().into_iter().map(|node| (node, rows.key(node, row.copied))).collect()
    }
}

#[cfg(test)]
mod tests;
