//! What leaves o as it is: splitting a token, inserting a node, shifts and scalings, reversal.

use super::curve::{Curve, Start, durations, inside, quadrature, rows, timeline};
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::nodes::Nodes;
use crate::segments::Segments;
use contattn_core::{Rule, Series, Timeline, Window};

/// The same o on both sides: the original by its segments, what became of it by quadrature.
fn same_output(trial: &Trial<'_>, original: &Curve, changed: &Curve) {
    let p = trial.precision();
    let left = original.clone().seen_by(trial.left()).results(trial, &Segments);
    let right = changed.clone().seen_by(trial.right()).results(trial, quadrature());
    trial.equal_beside("o", &left.o, &right.o, &original.value_size(p));
}

/// Rows with durations that are short numbers, at least one of them positive.
fn timed(trial: &Trial<'_>, rule: impl Fn(usize) -> Rule) -> Vec<(Curve, Vec<f64>)> {
    let timed = |(at, (scores, values)): (usize, (Vec<f64>, Vec<f64>))| {
        let d = durations(trial, scores.len(), at);
        let mut numbers = trial.numbers();
        let mut curve = Curve::unit(rule(at), Start::Given(numbers.short(2.0), numbers.short(2.0)), scores, values);
        curve.timeline = timeline(d.clone());
        (curve, d)
    };
    rows(trial).into_iter().enumerate().map(timed).collect()
}

/// Splitting a Step token in two that share its duration.
pub(super) fn split_token(trial: &Trial<'_>) {
    for (curve, d) in timed(trial, |_| Rule::Step) {
        let at = trial.numbers().below(curve.nodes());
        let mut split = curve.clone();
        split.scores.insert(at, curve.scores[at]);
        split.values.insert(at, curve.values[at]);
        let mut parts = d.clone();
        parts[at] = trial.right().input("the second part", d[at] * 0.75);
        parts.insert(at, trial.right().input("the first part", d[at] * 0.25));
        split.timeline = timeline(parts);
        if !trial.begin(format_args!("{curve:?} split at {at}")) {
            return;
        }
        same_output(trial, &curve, &split);
    }
}

/// Inserting a node on a Linear segment, with the score and the value that the segment has there; the window may cut it.
pub(super) fn insert_node(trial: &Trial<'_>) {
    for (kind, (mut curve, d)) in timed(trial, |_| Rule::Linear).into_iter().enumerate() {
        let at = trial.numbers().below(curve.nodes()); // segment at + 1
        let Start::Given(score, value) = curve.start else { return };
        let part = [0.25, 0.5, 0.875][kind % 3];
        let between = |left: f64, right: f64| left * (1.0 - part) + right * part;
        let before = |first: f64, all: &[f64]| if at == 0 { first } else { all[at - 1] };
        // Exactly on the segment, which f64 does not always allow.
        let (a, b) = (before(score, &curve.scores), curve.scores[at]);
        if between(a, b) - a != (b - a) * part || (b - a) + a != b {
            curve.scores[at] = a + 0.5;
        }
        let mut longer = curve.clone();
        let new_score = between(a, curve.scores[at]);
        longer.scores.insert(at, trial.right().input("the inserted score", new_score));
        let new_value = between(before(value, &curve.values), curve.values[at]);
        longer.values.insert(at, trial.right().input("the inserted value", new_value));
        let mut parts = d.clone();
        parts[at] = d[at] * (1.0 - part);
        parts.insert(at, trial.right().input("the inserted duration", d[at] * part));
        longer.timeline = timeline(parts);
        let end: f64 = d.iter().sum();
        if kind % 2 == 1 {
            curve.window = Window::between(inside(0.1, end), inside(0.8, end));
            longer.window = curve.window.clone();
        }
        if !trial.begin(format_args!("{curve:?} with a node at {part} of segment {}", at + 1)) {
            return;
        }
        same_output(trial, &curve, &longer);
    }
}

fn any_rule(at: usize) -> Rule {
    [Rule::Linear, Rule::Step, Rule::Trapezoid][(at + at / 3) % 3]
}

/// The times of these durations from `start`, times `factor`.
fn times(start: f64, d: &[f64], factor: f64) -> Timeline {
    let mut t = start;
    let mut all = vec![t * factor];
    for d in d {
        t += d;
        all.push(t * factor);
    }
    Timeline::Times(Series::shared(all))
}

/// Rows on times that a shift or a scaling leaves exact in f64: durations of very different size are left out.
fn on_short_times(trial: &Trial<'_>) -> Vec<(Curve, Vec<f64>, [f64; 2])> {
    let all = timed(trial, any_rule).into_iter().enumerate();
    all.map(|(kind, (curve, mut d))| {
        if kind % 4 == 3 {
            d.iter_mut().for_each(|d| *d = if *d == 0.0 { 0.0 } else { 0.375 });
        }
        let end: f64 = d.iter().sum();
        let edges = if kind % 2 == 0 { [inside(0.1, end), inside(0.8, end)] } else { [-0.5, end + 0.25] };
        (curve, d, edges)
    })
    .collect()
}

/// Shifting the time line with its window and its query.
pub(super) fn time_shift(trial: &Trial<'_>) {
    for (mut curve, d, [lower, upper]) in on_short_times(trial) {
        let shift = [17.0, -1000.0, 0.625][d.len() % 3];
        curve.timeline = times(0.0, &d, 1.0);
        curve.window = Window::between(lower, upper);
        let mut shifted = curve.clone();
        let side = trial.right();
        shifted.timeline = times(side.input("the shift of the nodes", shift), &d, 1.0);
        let lower = lower + side.input("the shift of the lower edge", shift);
        shifted.window = Window::between(lower, upper + side.input("the shift of the upper edge", shift));
        if !trial.begin(format_args!("{curve:?} shifted by {shift}")) {
            return;
        }
        same_output(trial, &curve, &shifted);
    }
}

/// Scaling the time line with its window; lse gains the logarithm of the factor.
pub(super) fn time_scale(trial: &Trial<'_>) {
    let p = trial.precision();
    for (mut curve, d, [lower, upper]) in on_short_times(trial) {
        let factor = [3.0, 0.125, 1024.0][d.len() % 3];
        curve.timeline = times(0.0, &d, 1.0);
        curve.window = Window::between(lower, upper);
        let mut scaled = curve.clone();
        let side = trial.right();
        scaled.timeline = times(0.0, &d, side.input("the factor of the times", factor));
        let lower = lower * side.input("the factor of the lower edge", factor);
        scaled.window = Window::between(lower, upper * side.input("the factor of the upper edge", factor));
        if !trial.begin(format_args!("{curve:?} scaled by {factor}")) {
            return;
        }
        same_output(trial, &curve, &scaled);
        let left = curve.results(trial, &Nodes::new(curve.rule)).lse;
        let gain = trial.left().number("the factor in lse", rug::Rational::from_f64(factor).unwrap_or_default()).ln();
        let right = scaled.results(trial, quadrature()).lse;
        let size = Enclosure::one(p).hull(&right.abs());
        trial.equal_beside("lse", &(left + gain), &right, &Enclosure::from_float(p, size.upper()));
    }
}

/// Adding a constant to all scores; lse gains it.
pub(super) fn score_shift(trial: &Trial<'_>) {
    let p = trial.precision();
    for (kind, (curve, _)) in timed(trial, any_rule).into_iter().enumerate() {
        let Start::Given(score, value) = curve.start else { return };
        let all = || curve.scores.iter().chain([&score]);
        let shift = [1.0, -64.0, 1048576.0, 2f64.powi(-20)][kind % 4];
        // Exactly, which f64 does not always allow.
        let shift = if all().all(|a| (a + shift) - shift == *a && (a + shift) - a == shift) { shift } else { 0.0 };
        let mut shifted = curve.clone();
        let side = trial.right();
        let (first, rest) = (side.input("the shift of node 0", shift), side.input("the shift of the others", shift));
        shifted.start = Start::Given(score + first, value);
        shifted.scores.iter_mut().for_each(|a| *a += rest);
        if !trial.begin(format_args!("{curve:?} shifted by {shift}")) {
            return;
        }
        same_output(trial, &curve, &shifted);
        let left = curve.results(trial, &Nodes::new(curve.rule)).lse;
        let gain = trial.left().number("the shift in lse", rug::Rational::from_f64(shift).unwrap_or_default());
        let right = shifted.results(trial, quadrature()).lse;
        let size = Enclosure::one(p).hull(&right.abs());
        trial.equal_beside("lse", &(left + gain), &right, &Enclosure::from_float(p, size.upper()));
    }
}

/// Reading the curve from its end, for the two rules that treat both ends of a segment alike.
pub(super) fn reversal(trial: &Trial<'_>) {
    for (kind, (mut curve, mut d)) in timed(trial, |at| [Rule::Linear, Rule::Trapezoid][at % 2]).into_iter().enumerate()
    {
        let Start::Given(score, value) = curve.start else { return };
        let d = &mut d;
        if kind % 4 == 3 {
            d.iter_mut().for_each(|d| *d = if *d == 0.0 { 0.0 } else { 0.375 });
            curve.timeline = timeline(d.clone());
        }
        let end: f64 = d.iter().sum();
        let cut = kind % 3 == 1;
        let (lower, upper) = (inside(0.25, end), inside(0.8, end));
        if cut {
            curve.window = Window::between(lower, upper);
        }
        let mut turned = curve.clone();
        let nodes: Vec<(f64, f64)> = [(score, value)]
            .into_iter()
            .chain(curve.scores.iter().copied().zip(curve.values.iter().copied()))
            .rev()
            .collect();
        turned.start = Start::Given(nodes[0].0, trial.right().input("the value that comes first", nodes[0].1));
        turned.scores = nodes[1..].iter().map(|n| n.0).collect();
        turned.values = nodes[1..].iter().map(|n| n.1).collect();
        let mut durations: Vec<f64> = d.iter().rev().copied().collect();
        if let Some(first) = durations.first_mut() {
            *first = trial.right().input("the duration that comes first", *first);
        }
        turned.timeline = timeline(durations);
        if cut {
            let from = end - trial.right().input("the edge that comes first", upper);
            turned.window = Window::between(from, end - lower);
        }
        if !trial.begin(format_args!("{curve:?} reversed")) {
            return;
        }
        same_output(trial, &curve, &turned);
    }
}
