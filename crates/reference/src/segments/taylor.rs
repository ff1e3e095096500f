//! The Taylor rule along a ray: b(tu, tw) as a power series in t with numbers for coefficients, cut and summed at t = 1.

use super::exact;
use crate::enclosure::Enclosure;
use crate::exact::{Neighbours, Row};
use crate::route::{Derivatives, NodeSum, Sums, score_bits};

/// Coefficients of t^0, t^1, ..., each with its derivative by the left and by the right distance.
struct Ray {
    values: Vec<[Enclosure; 3]>,
}

impl Ray {
    /// S = sum over present neighbours x of phi2(t x), scaled so that S_0 = 1: x^d c/(d+2)! with c = 1 for two, 2 for one.
    fn mass(distances: &[Option<Enclosure>; 2], order: u32, p: u32) -> Ray {
        let count = distances.iter().flatten().count() as u32;
        let mut factorial = Enclosure::from_u32(p, 2);
        let mut powers = distances.clone().map(|x| x.map(|_| Enclosure::one(p)));
        let mut values = vec![[Enclosure::one(p), Enclosure::zero(p), Enclosure::zero(p)]];
        for d in 1..=order {
            factorial = factorial * Enclosure::from_u32(p, d + 2);
            let scale = Enclosure::from_u32(p, 2) / (Enclosure::from_u32(p, count) * &factorial);
            let mut value = [Enclosure::zero(p), Enclosure::zero(p), Enclosure::zero(p)];
            for side in 0..2 {
                let (Some(x), Some(power)) = (&distances[side], &mut powers[side]) else { continue };
                value[side + 1] += Enclosure::from_u32(p, d) * &*power * &scale;
                *power = &*power * x;
                value[0] += &*power * &scale;
            }
            values.push(value);
        }
        Ray { values }
    }

    /// log: d B_d = d S_d - sum j B_j S_{d-j}, and the same differentiated.
    fn log(&self, p: u32) -> Ray {
        let mut logs: Vec<[Enclosure; 3]> = vec![[Enclosure::zero(p), Enclosure::zero(p), Enclosure::zero(p)]];
        for d in 1..self.values.len() {
            let n = |j: usize| Enclosure::from_u32(p, j as u32);
            let mut sums = self.values[d].clone().map(|s| s * n(d));
            for j in 1..d {
                let (b, s) = (&logs[j], &self.values[d - j]);
                sums[0] += -(n(j) * &b[0] * &s[0]);
                for side in 1..3 {
                    sums[side] += -(n(j) * (&b[side] * &s[0] + &b[0] * &s[side]));
                }
            }
            logs.push(sums.map(|sum| sum / n(d)));
        }
        Ray { values: logs }
    }
}

struct Bias {
    node: usize,
    neighbours: [Option<usize>; 2],
    /// b, db/d left, db/d right
    value: [Enclosure; 3],
}

fn biases(order: u32, row: &Row<'_>, p: u32) -> Vec<Bias> {
    let bias = |neighbours: &Neighbours| {
        let both = [&neighbours.left, &neighbours.right];
        let distances = both.map(|x| x.as_ref().map(|(_, x)| exact(p, x) * row.radicand().root(p)));
        let present = distances.iter().flatten().count();
        let zero = || Enclosure::zero(p);
        let mut value = [zero(), zero(), zero()];
        if present > 0 {
            for part in Ray::mass(&distances, order, p).log(p).values {
                for (sum, part) in value.iter_mut().zip(part) {
                    *sum += part;
                }
            }
        }
        if present == 1 {
            value[0] += -Enclosure::from_u32(p, 2).ln();
        }
        Bias { node: neighbours.node, neighbours: both.map(|x| x.as_ref().map(|x| x.0)), value }
    };
    row.neighbours().iter().map(bias).collect()
}

/// a + b and the one with the largest midpoint.
fn exponents(row: &Row<'_>, biases: &[Bias], p: u32) -> (Vec<Enclosure>, Enclosure) {
    let exponents: Vec<Enclosure> =
        biases.iter().map(|b| exact(p, row.score_over_root(b.node)) * row.radicand().root(p) + &b.value[0]).collect();
    let mut anchor = Enclosure::zero(p);
    for (at, x) in exponents.iter().enumerate() {
        let middle = x.midpoint();
        if at == 0 || middle > *anchor.lower() {
            anchor = Enclosure::from_float(p.max(middle.prec()), &middle);
        }
    }
    (exponents, anchor)
}

fn working(order: u32, row: &Row<'_>, p: u32) -> u32 {
    p + 2 * (order + 1) * score_bits(row).min(64) + 4 * order
}

pub(super) fn sums(order: u32, row: &Row<'_>, channels: &[usize], p: u32) -> Sums {
    let p = working(order, row, p);
    let biases = biases(order, row, p);
    let (exponents, anchor) = exponents(row, &biases, p);
    let mut total = Enclosure::zero(p);
    let mut numerators = vec![Enclosure::zero(p); channels.len()];
    let mut nodes = vec![None; row.keys() + 1];
    for (b, exponent) in biases.iter().zip(&exponents) {
        let mass = (exponent - &anchor).exp();
        for (sum, &channel) in numerators.iter_mut().zip(channels) {
            *sum += &mass * Enclosure::from_f64(p, row.value_f64(b.node, channel));
        }
        total += &mass;
        nodes[b.node] = Some(NodeSum { mass, bias: Some(b.value[0].clone()) });
    }
    Sums { anchor, total, numerators, nodes }
}

pub(super) fn derivatives(order: u32, row: &Row<'_>, field: &[Enclosure], p: u32) -> Derivatives {
    let p = working(order, row, p);
    let biases = biases(order, row, p);
    let (exponents, anchor) = exponents(row, &biases, p);
    let mut scores = vec![Enclosure::zero(p); row.keys() + 1];
    for (b, exponent) in biases.iter().zip(&exponents) {
        let through = (exponent - &anchor).exp() * &field[b.node];
        let mut own = Enclosure::one(p);
        for (side, neighbour) in b.neighbours.iter().enumerate() {
            if let Some(neighbour) = neighbour {
                scores[*neighbour] += &through * &b.value[side + 1];
                own = own - &b.value[side + 1];
            }
        }
        scores[b.node] += through * own;
    }
    Derivatives { scores, durations: Vec::new() }
}
