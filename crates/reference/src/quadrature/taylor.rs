//! The Taylor rule by powers: log(1 + z) = z - z^2/2 + ..., with z = phi2(u) + phi2(w) - 1 as a power series along the ray
//! (tu, tw), and 1/(1 + z) = 1 - z + ... for the derivatives.

use super::exact;
use crate::enclosure::Enclosure;
use crate::exact::{Neighbours, Row};
use crate::route::{Derivatives, NodeSum, Sums, score_bits};

/// Coefficients of t^0..t^order.
type Ray = Vec<Enclosure>;

fn product(a: &Ray, b: &Ray) -> Ray {
    (0..a.len()).map(|d| (0..=d).fold(Enclosure::zero(a[0].precision()), |sum, j| sum + &a[j] * &b[d - j])).collect()
}

/// sum over n >= n0 of x^n times a factor over (n + 2)!, of phi2 (`derivative` false) or phi2', where phi2' has x^n (n+1)/(n+3)!.
fn phi2_series(x: &Enclosure, order: usize, derivative: bool) -> Ray {
    let p = x.precision();
    let mut power = Enclosure::one(p);
    let mut ray = Vec::new();
    for n in 0..=order as u32 {
        let shift = if derivative { 3 } else { 2 };
        let factorial =
            rug::Rational::from((rug::Integer::from(1), rug::Integer::from(rug::Integer::factorial(n + shift))));
        let mut c = exact(p, &factorial) * &power;
        if derivative {
            c = c * Enclosure::from_u32(p, n + 1);
        }
        ray.push(c);
        power = power * x;
    }
    ray
}

struct Bias {
    node: usize,
    neighbours: [Option<usize>; 2],
    value: Enclosure,
    by: [Enclosure; 2],
}

fn bias(order: usize, row: &Row<'_>, neighbours: &Neighbours, p: u32) -> Bias {
    let both = [&neighbours.left, &neighbours.right];
    let distances = both.map(|x| x.as_ref().map(|(_, x)| exact(p, x) * row.radicand().root(p)));
    let zero = Enclosure::zero(p);
    let result =
        |value, by| Bias { node: neighbours.node, neighbours: both.map(|x| x.as_ref().map(|x| x.0)), value, by };
    let present: Vec<&Enclosure> = distances.iter().flatten().collect();
    if present.is_empty() {
        return result(zero.clone(), [zero.clone(), zero]);
    }
    // One neighbour counts twice, and half of e^b is its.
    let twice = if present.len() == 1 { 1 } else { 0 };
    let mut z: Ray = vec![zero.clone(); order + 1];
    for x in &present {
        for (sum, c) in z.iter_mut().zip(phi2_series(x, order, false)) {
            *sum += c.shifted(twice);
        }
    }
    z[0] = zero.clone(); // phi2(0) + phi2(0) - 1
    let (mut log, mut inverse) = (vec![zero.clone(); order + 1], vec![zero.clone(); order + 1]);
    inverse[0] = Enclosure::one(p);
    let mut power = z.clone();
    for k in 1..=order as u32 {
        let odd = k % 2 == 1;
        for d in 0..=order {
            let term = &power[d] / Enclosure::from_u32(p, k);
            log[d] += if odd { term } else { -term };
            inverse[d] += if odd { -&power[d] } else { power[d].clone() };
        }
        power = product(&power, &z);
    }
    let mut value = log.iter().fold(zero.clone(), |sum, c| sum + c);
    if twice == 1 {
        value = value - Enclosure::from_u32(p, 2).ln();
    }
    // db/dx = phi2'(x)/(phi2(u) + phi2(w)), of one degree less.
    let by = distances.map(|x| match x {
        Some(x) if order > 0 => {
            let slope: Ray = phi2_series(&x, order, true).into_iter().map(|c| c.shifted(twice)).collect();
            product(&slope, &inverse)[..order].iter().fold(zero.clone(), |sum, c| sum + c)
        }
        _ => zero.clone(),
    });
    result(value, by)
}

struct Weighed {
    biases: Vec<Bias>,
    masses: Vec<Enclosure>,
    anchor: Enclosure,
    p: u32,
}

fn weigh(order: u32, row: &Row<'_>, p: u32) -> Weighed {
    let p = p + 3 * (order + 1) * score_bits(row).min(64) + 8 * order;
    let biases: Vec<Bias> = row.neighbours().iter().map(|n| bias(order as usize, row, n, p)).collect();
    let exponents: Vec<Enclosure> =
        biases.iter().map(|b| exact(p, row.score_over_root(b.node)) * row.radicand().root(p) + &b.value).collect();
    let top = exponents.iter().map(Enclosure::midpoint).reduce(|a, b| if b > a { b } else { a });
    let anchor = top.map_or(Enclosure::zero(p), |top| Enclosure::from_float(p.max(top.prec()), &top));
    let masses = exponents.iter().map(|x| (x - &anchor).exp()).collect();
    Weighed { biases, masses, anchor, p }
}

pub(super) fn sums(order: u32, row: &Row<'_>, channels: &[usize], p: u32) -> Sums {
    let Weighed { biases, masses, anchor, p } = weigh(order, row, p);
    let over = |f: &dyn Fn(usize) -> Enclosure| {
        biases.iter().zip(&masses).fold(Enclosure::zero(p), |sum, (b, mass)| sum + mass * f(b.node))
    };
    let total = over(&|_| Enclosure::one(p));
    let numerators = channels.iter().map(|&c| over(&|node| Enclosure::from_f64(p, row.value_f64(node, c)))).collect();
    let mut nodes = vec![None; row.keys() + 1];
    for (b, mass) in biases.iter().zip(&masses) {
        nodes[b.node] = Some(NodeSum { mass: mass.clone(), bias: Some(b.value.clone()) });
    }
    Sums { anchor, total, numerators, nodes }
}

pub(super) fn derivatives(order: u32, row: &Row<'_>, field: &[Enclosure], p: u32) -> Derivatives {
    let Weighed { biases, masses, p, .. } = weigh(order, row, p);
    let mut scores = vec![Enclosure::zero(p); row.keys() + 1];
    for (b, mass) in biases.iter().zip(&masses) {
        let flow = mass * &field[b.node];
        scores[b.node] += &flow * (Enclosure::one(p) - &b.by[0] - &b.by[1]);
        for (neighbour, by) in b.neighbours.iter().zip(&b.by) {
            if let Some(neighbour) = neighbour {
                scores[*neighbour] += &flow * by;
            }
        }
    }
    Derivatives { scores, durations: Vec::new() }
}
