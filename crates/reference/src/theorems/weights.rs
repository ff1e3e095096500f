//! What the weights are: softmax with unit durations, duration weights, a convex combination, no bias between equal scores.

use super::curve::{Curve, Start, durations, inside, quadrature, rows, timeline};
use super::derivation::softmax;
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::nodes::Nodes;
use crate::segments::Segments;
use contattn_core::{Edge, Lower, Rule, Series, Upper, Window};

/// Step with unit durations: the weights are softmax's, w_i = 1/sum_j e^{a_j - a_i}, over the nodes a causal row sees.
pub(super) fn step_is_softmax(trial: &Trial<'_>) {
    let p = trial.precision();
    for (at, (scores, values)) in rows(trial).into_iter().enumerate() {
        let seen = if at % 2 == 0 { scores.len() } else { 1 + trial.numbers().below(scores.len()) };
        let mut curve = Curve::unit(Rule::Step, Start::Copy, scores, values);
        curve.window = Window::causal();
        curve.time = Some(seen as f64);
        if !trial.begin(format_args!("{curve:?}")) {
            return;
        }
        let found = curve.clone().scored_by(trial.left()).results(trial, &Segments);
        let a: Vec<Enclosure> = curve.scores.iter().map(|&a| Enclosure::from_f64(p, a)).collect();
        let right = trial.right();
        for i in 0..seen {
            let sum = (0..seen).fold(Enclosure::zero(p), |sum, j| sum + (&a[j] - &a[i]).exp());
            trial.equal(
                &format!("w of node {}", i + 1),
                &found.weights[i + 1],
                &(right.number("1 over the sum", 1) / sum),
            );
        }
        for node in (0..=curve.nodes()).filter(|&node| node == 0 || node > seen) {
            trial.holds("nothing for the sink and what comes later", found.weights[node].is_zero());
        }
    }
}

/// The Euler discretisation of the integral is softmax with the bias log D.
pub(super) fn duration_weights(trial: &Trial<'_>) {
    let p = trial.precision();
    for (at, (scores, values)) in rows(trial).into_iter().enumerate() {
        let d = durations(trial, scores.len(), at + 1);
        let mut curve = Curve::unit(Rule::Step, Start::Zeros, scores, values);
        curve.timeline = timeline(d.clone());
        if !trial.begin(format_args!("{curve:?}")) {
            return;
        }
        let found = curve.clone().seen_by(trial.left()).results(trial, quadrature());
        let right = trial.right();
        let present: Vec<usize> = (0..d.len()).filter(|&i| d[i] > 0.0).collect();
        let number = |x: f64| Enclosure::from_f64(p, x);
        let logit = |(at, &i): (usize, &usize)| {
            let one = if at == 0 { right.number("1 before log D", 1) } else { Enclosure::one(p) };
            number(curve.scores[i]) + one * number(d[i]).ln()
        };
        let logits: Vec<Enclosure> = present.iter().enumerate().map(logit).collect();
        let v: Vec<Enclosure> = present.iter().map(|&i| number(curve.values[i])).collect();
        let expected = right.number("1 before the quotient", 1) * softmax(p, &logits, &v);
        trial.equal_beside("o", &found.o, &expected, &curve.value_size(p));
    }
}

/// Any rule, any window: rows for what holds always.
pub(super) fn any_curves(trial: &Trial<'_>) -> Vec<Curve> {
    let rules = [Rule::Linear, Rule::Trapezoid, Rule::Step];
    let curve = |(at, (scores, values)): (usize, (Vec<f64>, Vec<f64>))| {
        let n = scores.len();
        let d = durations(trial, n, at / 3);
        let end: f64 = d.iter().sum();
        let mut numbers = trial.numbers();
        let given = Start::Given(numbers.short(2.0), numbers.short(2.0));
        // A node alone, without node 0, would be a point.
        let last = if n > 1 { Start::Absent } else { given };
        let start = [given, Start::Zeros, Start::Copy, last][(at / 2) % 4];
        let mut curve = Curve::unit(rules[(at + at / 3) % 3], start, scores, values);
        // Where the curve begins; a window may begin before that, but not end.
        let first = if start == Start::Absent { d[0] } else { 0.0 };
        curve.timeline = timeline(d);
        curve.window = match at % 4 {
            0 => Window::full(),
            // Cut on both sides.
            1 => Window::between(inside(0.125, end), inside(0.9, end)),
            // Held on both sides.
            2 => Window::between(-0.25, end + 0.5),
            _ => {
                let upper = first + inside(0.75, end - first);
                Window { lower: Lower::Start, upper: Upper::At(Edge::Rows(Series::shared(vec![upper]))) }
            }
        };
        curve
    };
    rows(trial).into_iter().enumerate().map(curve).collect()
}

/// Weights are not negative and their sum is 1, so o is no more than the largest v and no less than the smallest.
pub(super) fn convex(trial: &Trial<'_>) {
    let p = trial.precision();
    for curve in any_curves(trial) {
        if !trial.begin(format_args!("{curve:?}")) {
            return;
        }
        let found = curve.results(trial, &Nodes::new(curve.rule));
        for (node, w) in found.weights.iter().enumerate() {
            trial.not_negative(&format!("w of node {node}"), w);
        }
        let left = trial.left();
        let sum = found.weights.iter().fold(Enclosure::zero(p), |sum, w| sum + w);
        let one = trial.right().number("1", 1);
        trial.equal("sum of the weights", &(left.number("1 before the weights", 1) * sum), &one);
        // largest - o = sum w (largest - v), term by term not negative, with o by another route.
        let o = curve.clone().seen_by(left).results(trial, quadrature()).o;
        let first = if let Start::Given(_, v) = curve.start { Some(v) } else { None };
        let copied = (curve.start == Start::Copy).then(|| curve.values[0]);
        let values: Vec<f64> = [first.or(copied).unwrap_or(0.0)].iter().chain(&curve.values).copied().collect();
        let seen = |node: usize| !found.weights[node].is_zero();
        let visible = || values.iter().enumerate().filter(|(node, _)| seen(*node)).map(|(_, v)| *v);
        let bounds = [visible().fold(f64::NEG_INFINITY, f64::max), visible().fold(f64::INFINITY, f64::min)];
        for (bound, sign, name) in [(bounds[0], 1, "largest v - o"), (bounds[1], -1, "o - smallest v")] {
            let sign = Enclosure::from_rational(p, &rug::Rational::from(sign));
            let bound = Enclosure::from_f64(p, bound);
            let apart = |x: &Enclosure| &sign * (&bound - x);
            let gap = found
                .weights
                .iter()
                .zip(&values)
                .filter(|(w, _)| !w.is_zero())
                .fold(Enclosure::zero(p), |sum, (w, v)| sum + w * apart(&Enclosure::from_f64(p, *v)));
            let gap = trial.right().number("1 before the gap", 1) * gap;
            trial.not_negative(name, &gap);
            trial.equal_beside(name, &apart(&o), &gap, &curve.value_size(p));
        }
    }
}

/// Equal scores on the unit time line: b = 0 inside and -log 2 at the ends.
pub(super) fn equal_scores(trial: &Trial<'_>) {
    let p = trial.precision();
    let mut levels = vec![0.0, 1.0, -60000.0, 2f64.powi(27), f64::from_bits(1), 0.1];
    levels.extend((0..trial.rounds()).map(|_| trial.numbers().short(64.0)));
    for (at, a) in levels.into_iter().enumerate() {
        let n = 1 + at % 5;
        let start = if at % 2 == 0 { Start::Copy } else { Start::Given(a, 0.5) };
        let curve = Curve::unit(Rule::Linear, start, vec![a; n], vec![1.0; n]);
        if !trial.begin(format_args!("{n} nodes and node 0 of score {a}")) {
            return;
        }
        let found = curve.scored_by(trial.left()).results(trial, quadrature());
        let right = trial.right();
        for (node, b) in found.bias.iter().enumerate() {
            let Some(b) = b else { return trial.holds("every node gets something", false) };
            // Beside 1: b is a logarithm.
            let one = Enclosure::one(p);
            let expected = if node == 0 || node == n {
                -(right.number("1 before log 2", 1) * Enclosure::from_u32(p, 2).ln())
            } else {
                right.number("1 in log 1", 1).ln()
            };
            trial.equal_beside(&format!("b of node {node}"), b, &expected, &one);
        }
    }
}
