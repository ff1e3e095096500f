//! Packed documents, padded rows and documents alone: the same results.

use super::curve::{Curve, Start, durations, quadrature, timeline};
use super::plant::Side;
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::nodes::Nodes;
use crate::segments::Segments;
use contattn_core::{Rule, Window};

/// A document: scores, values, durations of its nodes.
struct Document {
    scores: Vec<f64>,
    values: Vec<f64>,
    durations: Vec<f64>,
}

fn draw(trial: &Trial<'_>, kind: usize, is_unit: bool) -> Document {
    let n = 1 + trial.numbers().below(4);
    let durations = durations(trial, n, if is_unit { 0 } else { kind });
    let mut numbers = trial.numbers();
    // Ties in every third.
    let size = [2.0, 0.0, 16.0][kind % 3];
    let level = numbers.short(4.0);
    let scores = (0..n).map(|_| level + numbers.short(size)).collect();
    Document { scores, values: (0..n).map(|_| numbers.short(2.0)).collect(), durations }
}

fn concatenated(documents: &[&Document], start: Start, rule: Rule, is_unit: bool) -> Curve {
    let all = |f: fn(&Document) -> &Vec<f64>| documents.iter().flat_map(|d| f(d).iter().copied()).collect::<Vec<f64>>();
    let mut curve = Curve::unit(rule, start, all(|d| &d.scores), all(|d| &d.values));
    if !is_unit {
        curve.timeline = timeline(all(|d| &d.durations));
    }
    curve
}

/// The value of the document's own first node passed through a side, with its score.
fn seen(mut curve: Curve, side: Side<'_>, node: usize) -> Curve {
    curve.values[node] = side.input("a value", curve.values[node]);
    curve.scores[node] = side.input("a score", curve.scores[node]);
    curve
}

pub(super) fn packed(trial: &Trial<'_>) {
    let p = trial.precision();
    let rules = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)];
    for kind in 0..8 + trial.rounds() {
        let rule = rules[kind % 4];
        let is_unit = kind % 4 == 3 || kind % 5 == 0;
        let documents: Vec<Document> = (0..3).map(|at| draw(trial, kind + at, is_unit)).collect();
        let start = match kind % 3 {
            0 => Start::Zeros,
            1 => Start::Copy,
            _ => {
                let mut numbers = trial.numbers();
                Start::Given(numbers.short(2.0), numbers.short(2.0))
            }
        };
        let lengths: Vec<usize> = documents.iter().map(|d| d.scores.len()).collect();
        for which in 0..3 {
            if !trial.begin(format_args!("{rule}, {start:?}, document {which} of {lengths:?}")) {
                return;
            }
            let before = lengths[..which].iter().sum::<usize>();
            let alone = concatenated(&[&documents[which]], start, rule, is_unit);
            let alone = seen(alone, trial.right(), 0).results(trial, quadrature());
            let mut packed = concatenated(&documents.iter().collect::<Vec<_>>(), start, rule, is_unit);
            let ids = lengths.iter().enumerate().flat_map(|(id, &n)| vec![id as i64; n]).collect();
            packed.documents = Some((ids, which as i64));
            let mut padded = concatenated(&documents[..=which].iter().collect::<Vec<_>>(), start, rule, is_unit);
            padded.mask = Some((0..padded.nodes()).map(|i| i >= before).collect());
            for (name, mut curve, nodes) in [("packed", packed, true), ("padded", padded, false)] {
                curve.window = Window::full();
                let size = curve.value_size(p);
                let curve = seen(curve, trial.left(), before);
                let route: &dyn crate::Route = if nodes { &Nodes::new(rule) } else { &Segments };
                let found = curve.results(trial, route);
                trial.equal_beside(&format!("o, {name}"), &found.o, &alone.o, &size);
                let unit = Enclosure::from_float(p, Enclosure::one(p).hull(&alone.lse.abs()).upper());
                trial.equal_beside(&format!("lse, {name}"), &found.lse, &alone.lse, &unit);
                for node in 0..=lengths[which] {
                    let there = if node == 0 { 0 } else { before + node };
                    let (one, other) = (&found.weights[there], &alone.weights[node]);
                    trial.equal(&format!("w of node {node}, {name}"), one, other);
                }
            }
        }
    }
}
