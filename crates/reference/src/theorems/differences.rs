//! The gradient against differences at high precision, with windows that cut segments and edges that move.

use super::curve::{Curve, Start, durations, inside, timeline};
use super::gradients::{Slopes, by_route, compare, upstream};
use super::line::{Border, Line};
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::segments::Segments;
use contattn_core::{Lower, Rule, Upper, Window};
use rug::Rational;

fn exact(x: f64) -> Rational {
    Rational::from_f64(x).unwrap_or_default()
}

/// A row, the same as a line, and its kind.
struct Case {
    curve: Curve,
    line: Line,
    what: &'static str,
}

/// All kinds of edges: at the ends, fixed inside segments, beyond the nodes, on a node, and derived from a query that sits
/// on a node.
fn case(trial: &Trial<'_>, kind: usize) -> Case {
    let rule = [Rule::Linear, Rule::Step, Rule::Trapezoid][kind % 3];
    let edges = (kind / 3) % 7;
    let n = 3 + trial.numbers().below(3);
    // Zero durations only where no edge can meet them.
    let d = durations(trial, n, if edges == 0 { 2 } else { 1 });
    let (scores, values, first) = {
        let mut numbers = trial.numbers();
        let size = [2.0, 0.0, 8.0, 2f64.powi(-30)][kind % 4];
        let level = numbers.short(4.0);
        let scores: Vec<f64> = (0..n).map(|_| level + numbers.short(size)).collect();
        let values: Vec<f64> = (0..n).map(|_| numbers.short(2.0)).collect();
        (scores, values, (numbers.short(2.0), numbers.short(2.0)))
    };
    let mut curve = Curve::unit(rule, Start::Given(first.0, first.1), scores.clone(), values.clone());
    curve.timeline = timeline(d.clone());
    let mut times = vec![0.0];
    for d in &d {
        times.push(times[times.len() - 1] + d);
    }
    let end = times[n];
    let at_node = |node: usize| Border::After(node, Rational::new());
    let fixed = |t: f64| Border::Fixed(exact(t));
    let mut last = n;
    let (lower, upper, what) = match edges {
        0 => (at_node(0), at_node(n), "from the first node to the last"),
        1 => {
            let (lower, upper) = (inside(0.15, end), inside(0.85, end));
            curve.window = Window::between(lower, upper);
            (fixed(lower), fixed(upper), "cut at fixed times")
        }
        2 => {
            curve.window = Window::between(-0.25, end + 0.5);
            (fixed(-0.25), fixed(end + 0.5), "held before and after")
        }
        3 => {
            // Given as numbers that are times of nodes: they move with the nodes.
            curve.window = Window::between(times[1], times[n - 1]);
            (at_node(1), at_node(n - 1), "from node to node")
        }
        4 => {
            last = n - 1;
            let width = inside(0.6, times[last]);
            curve.time = Some(times[last]);
            curve.window = Window::sliding(width);
            (Border::After(last, -exact(width)), at_node(last), "sliding with a node")
        }
        5 => {
            last = n - 1;
            curve.time = Some(times[last]);
            curve.window = Window { lower: Lower::Start, upper: Upper::Query { offset: 0.75 } };
            (at_node(0), Border::After(last, exact(0.75)), "held after a node")
        }
        _ => {
            last = n - 1;
            let (lower, offset) = (inside(0.3, times[1]), -inside(0.5, d[last - 1]));
            curve.time = Some(times[last]);
            let upper = Upper::Query { offset };
            curve.window = Window { lower: Lower::At(contattn_core::Edge::All(lower)), upper };
            (fixed(lower), Border::After(last, exact(offset)), "ending before a node")
        }
    };
    let nodes = [first].into_iter().chain(scores.into_iter().zip(values)).take(last + 1);
    let nodes = nodes.map(|(a, v)| (exact(a), exact(v))).collect();
    let line = Line::new(rule, d[..last].iter().map(|&d| exact(d)).collect(), nodes, [lower, upper]);
    Case { curve, line, what }
}

/// Central differences of L by one number of the line.
///
/// (L(x+h) - L(x-h))/2h = L' + h^2 L'''/6 + ..., so the difference over 4h is off by four times as much, and the distance of
/// the two is three times the error of the first, to leading order: the enclosure is widened by it. h^2 is 2^-28 of the width
/// that is asked for: 2^-64 for 2^-100.
pub(super) fn difference(
    trial: &Trial<'_>,
    line: &Line,
    g: (f64, f64),
    change: &dyn Fn(&mut Line, &Rational),
) -> Enclosure {
    let step = trial.width_bits() / 2 + 14;
    let p = trial.precision() + step + 32;
    let anchor = line.top();
    let (g, g_lse) = (Enclosure::from_f64(p, g.0), Enclosure::from_f64(p, g.1));
    let loss = |h: Rational| {
        let mut moved = line.clone();
        change(&mut moved, &h);
        moved.loss(&g, &g_lse, &anchor, p)
    };
    let over = |steps: u32| {
        let h = Rational::from(steps) >> step;
        let width = trial.right().at(p, "2h", Rational::from(2 * &h));
        (loss(h.clone()) - loss(-h)) / width
    };
    let (near, far) = (over(1), over(2));
    let apart = (&near - far).abs();
    (near + (-&apart).hull(&apart)).with_precision(trial.precision())
}

pub(super) fn differences(trial: &Trial<'_>) {
    let p = trial.precision();
    for kind in 0..21 + trial.rounds() / 2 {
        let Case { curve, line, what } = case(trial, kind);
        let (g, g_lse, size) = upstream(trial, &curve);
        if !trial.begin(format_args!("{what}: {curve:?}, g {g}, g_lse {g_lse}")) {
            return;
        }
        let left = by_route(trial, &Segments, &curve.clone().seen_by(trial.left()), g, g_lse);
        let zero = || Enclosure::zero(p);
        let (nodes, segments) = (left.scores.len(), left.durations.len());
        let by = |change: &dyn Fn(&mut Line, &Rational)| difference(trial, &line, (g, g_lse), change);
        let score = |i: usize| {
            if i < line.scores.len() { by(&|line, h| line.scores[i] += h) } else { zero() }
        };
        let duration = |i: usize| {
            // Durations of segments that the row does not see move nothing.
            if i < line.durations.len() { by(&|line, h| line.durations[i] += h) } else { zero() }
        };
        let right = Slopes {
            scores: (0..nodes).map(score).collect(),
            durations: (0..segments).map(duration).collect(),
            weights: vec![],
            scale: left.scale.clone(),
        };
        compare(trial, &left, &right, &size);
        let v_size = Enclosure::from_f64(p, g);
        for node in 0..line.values.len() {
            let slope = by(&|line, h| line.values[node] += h);
            let expected = &left.weights[node] * Enclosure::from_f64(p, g);
            trial.equal_beside(&format!("dL/dv of node {node}"), &expected, &slope, &v_size);
        }
    }
}
