//! The Taylor rule by the polynomial with exact coefficients.

use super::{times_root, weighted};
use crate::enclosure::Enclosure;
use crate::exact::{Neighbours, Row};
use crate::route::{Derivatives, NodeSum, Sums};
use crate::taylor::Expansion;
use rug::{Float, Rational};

/// b and its derivatives by the distances to the left and the right neighbour.
struct Bias {
    node: usize,
    left: Option<usize>,
    right: Option<usize>,
    value: Enclosure,
    by_left: Enclosure,
    by_right: Enclosure,
}

fn bias(expansion: &Expansion, row: &Row<'_>, neighbours: &Neighbours, p: u32) -> Bias {
    let at = |x: &Option<(usize, Rational)>| x.as_ref().map(|(_, x)| times_root(x, row, p));
    let log_half = -Enclosure::from_u32(p, 2).ln();
    let zero = Enclosure::zero(p);
    let end = |u: &Enclosure| (expansion.end.value(u) + &log_half, expansion.end.by_u(u));
    let (value, by_left, by_right) = match (at(&neighbours.left), at(&neighbours.right)) {
        (Some(u), Some(w)) => {
            let interior = &expansion.interior;
            (interior.value(&u, &w), interior.by_u(&u, &w), interior.by_u(&w, &u))
        }
        (Some(u), None) => {
            let (value, by) = end(&u);
            (value, by, zero)
        }
        (None, Some(w)) => {
            let (value, by) = end(&w);
            (value, zero, by)
        }
        (None, None) => (zero.clone(), zero.clone(), zero),
    };
    let node = |x: &Option<(usize, Rational)>| x.as_ref().map(|x| x.0);
    let (left, right) = (node(&neighbours.left), node(&neighbours.right));
    Bias { node: neighbours.node, left, right, value, by_left, by_right }
}

/// More bits where the polynomial is large: its size is at most about |u|^order.
fn precision(expansion: &Expansion, row: &Row<'_>, p: u32) -> u32 {
    p + (expansion.interior.order() + 1) * crate::route::score_bits(row).min(64)
}

fn biases(expansion: &Expansion, row: &Row<'_>, p: u32) -> Vec<Bias> {
    row.neighbours().iter().map(|neighbours| bias(expansion, row, neighbours, p)).collect()
}

/// e^{a + b - anchor} for each, and the anchor: about the largest a + b, an exact number.
fn masses(row: &Row<'_>, biases: &[Bias], p: u32) -> (Enclosure, Vec<Enclosure>) {
    let exponents: Vec<Enclosure> =
        biases.iter().map(|b| &b.value + times_root(row.score_over_root(b.node), row, p)).collect();
    let middle = |x: &Enclosure| Float::with_val(p, x.midpoint());
    let largest = exponents.iter().map(middle).reduce(|a, b| if a >= b { a } else { b }).unwrap_or(Float::new(p));
    let anchor = Enclosure::from_float(p, &largest);
    let masses = exponents.iter().map(|x| (x - &anchor).exp()).collect();
    (anchor, masses)
}

pub(super) fn sums(expansion: &Expansion, row: &Row<'_>, channels: &[usize], p: u32) -> Sums {
    let p = precision(expansion, row, p);
    let biases = biases(expansion, row, p);
    let (anchor, masses) = masses(row, &biases, p);
    let mut nodes = vec![None; row.keys() + 1];
    for (b, mass) in biases.into_iter().zip(masses) {
        nodes[b.node] = Some(NodeSum { mass, bias: Some(b.value) });
    }
    weighted(row, channels, anchor, nodes, p)
}

/// dL/da_j = P_j F_j + sum over k of P_k F_k db_k/da_j.
pub(super) fn derivatives(expansion: &Expansion, row: &Row<'_>, field: &[Enclosure], p: u32) -> Derivatives {
    let p = precision(expansion, row, p);
    let biases = biases(expansion, row, p);
    let (_, masses) = masses(row, &biases, p);
    let mut scores = vec![Enclosure::zero(p); row.keys() + 1];
    for (b, mass) in biases.iter().zip(&masses) {
        let through = mass * &field[b.node];
        scores[b.node] += &through;
        for (neighbour, by) in [(b.left, &b.by_left), (b.right, &b.by_right)] {
            if let Some(neighbour) = neighbour {
                scores[neighbour] += &through * by;
                scores[b.node] += -(&through * by);
            }
        }
    }
    Derivatives { scores, durations: Vec::new() }
}
