//! One row, backward.

use super::Mistake;
use super::engine::Reader;
use super::row::{Row, Term};
use contattn_core::{MovingEdge, Place, Rule};

/// dL/da of nodes 0..=n and dL/dD_1.. of one row.
pub(super) struct RowGradient {
    pub(super) scores: Vec<f64>,
    pub(super) durations: Vec<f64>,
}

impl RowGradient {
    pub(super) fn of(reader: &Reader<'_>, rule: Rule, row: &Row, g: &[f64], g_lse: f64) -> RowGradient {
        let nodes = row.weights.len();
        let mut gradient = RowGradient { scores: vec![0.0; nodes], durations: vec![0.0; nodes - 1] };
        let Some(interval) = &row.interval else { return gradient };
        let g_lse = if reader.mistake == Some(Mistake::LseGradientLost) { 0.0 } else { g_lse };
        let dot = |v: &[f64]| -> f64 { g.iter().zip(v).map(|(g, v)| g * v).sum() };
        let through_o = dot(&row.o);
        // G times Z, so that nothing leaves the range of f64.
        let mut c = vec![0.0; nodes];
        for &node in &row.visible {
            c[node] = dot(reader.value(node)) - through_o + g_lse;
        }
        for term in &row.terms {
            let (c0, c1) = (c[term.left], c[term.right]);
            let share = term.factor / row.total;
            let flow =
                if reader.mistake == Some(Mistake::NoDiffusion) { 0.0 } else { share * term.shares.both * (c1 - c0) };
            gradient.scores[term.left] += share * term.shares.left * c0 + flow;
            gradient.scores[term.right] += share * term.shares.right * c1 - flow;
            if term.segment > 0 {
                let rate = density(row, term.anchor);
                gradient.durations[term.segment - 1] += rate * (term.shares.left * c0 + term.shares.right * c1);
            }
        }
        if reader.mistake != Some(Mistake::NoMovingEdge) {
            for (edge, upper) in [(&interval.lower, false), (&interval.upper, true)] {
                gradient.move_edge(rule, row, edge, upper, &c);
            }
        }
        gradient
    }

    fn move_edge(&mut self, rule: Rule, row: &Row, edge: &MovingEdge, upper: bool, c: &[f64]) {
        let interval = row.interval.as_ref();
        let held_before = interval.is_some_and(|i| i.hold_before.is_some());
        let held_after = interval.is_some_and(|i| i.hold_after.is_some());
        let term = match edge.place {
            Place::Node => None,
            Place::Segment(i) => row.terms.iter().find(|t| t.segment == i),
            Place::Before(_) => row.terms.first().filter(|t| t.segment == 0 && held_before),
            Place::After(_) => row.terms.last().filter(|t| t.segment == 0 && held_after),
        };
        let Some(term) = term else { return };
        let rate = edge_rate(rule, row, term, upper, c);
        let fraction = if upper { term.part.beta } else { term.part.alpha };
        let sign = if upper { 1.0 } else { -1.0 };
        for i in 1..=self.durations.len() {
            self.durations[i - 1] += sign * rate * edge.velocity(i, fraction);
        }
    }
}

/// e^a for a unit of time, over Z.
fn density(row: &Row, a: f64) -> f64 {
    let shift = a - row.anchor;
    libm::ldexp(libm::exp(shift) / row.total, -row.exponent)
}

/// J: the share's derivative with respect to the place of the cut.
fn edge_rate(rule: Rule, row: &Row, term: &Term, upper: bool, c: &[f64]) -> f64 {
    let (a0, a1, c0, c1) = (row.scores[term.left], row.scores[term.right], c[term.left], c[term.right]);
    let part = &term.part;
    if term.segment == 0 || rule == Rule::Step {
        return density(row, a1) * c1;
    }
    let at = |after: f64, u: f64| (density(row, a0 * after + a1 * u), c0 * after + c1 * u);
    let (low, high) = (at(part.one_minus_alpha, part.alpha), at(part.one_minus_beta, part.beta));
    let (here, sign) = if upper { (high, 1.0) } else { (low, -1.0) };
    if rule == Rule::Trapezoid {
        let slope = here.0 * ((a1 - a0) * here.1 + (c1 - c0)) * sign;
        return 0.5 * (low.0 * low.1 + high.0 * high.1 + part.lambda * slope);
    }
    here.0 * here.1
}
