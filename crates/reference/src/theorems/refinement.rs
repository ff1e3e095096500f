//! Step and Trapezoid tend to Linear as the curve is sampled more finely.

use super::line::{Border, Line};
use super::trial::{Trial, log2};
use crate::enclosure::Enclosure;
use contattn_core::Rule;
use rug::{Float, Rational};

/// Curves whose errors have a leading term: end values differ, and so do slopes.
fn lines() -> Vec<Line> {
    let quarter = |x: &[i32]| x.iter().map(|&x| Rational::from((x, 4))).collect::<Vec<Rational>>();
    let line = |durations: &[i32], scores: &[i32], values: &[i32]| {
        let nodes = quarter(scores).into_iter().zip(quarter(values)).collect();
        let at_node = |node| Border::After(node, Rational::new());
        Line::new(Rule::Linear, quarter(durations), nodes, [at_node(0), at_node(durations.len())])
    };
    vec![
        line(&[4], &[0, 4], &[0, 4]),
        line(&[4, 4, 4], &[2, -4, 8, -5], &[4, -2, 1, 8]),
        line(&[1, 7, 2], &[0, 6, -3, 5], &[-4, 4, 3, 7]),
        line(&[4, 4], &[-4, 6, 1], &[1, 2, 9]),
        // a segment without duration: a jump
        line(&[3, 0, 5], &[1, 5, -4, 2], &[0, 3, 6, -5]),
    ]
}

/// Segments are divided in this many parts, and in twice as many.
const PARTS: u32 = 128;

/// o and lse; `one` multiplies the values.
fn results(line: &Line, half: &Rational, one: &Rational, p: u32) -> [Enclosure; 2] {
    let [above, below] = line.integrals(&line.top(), half, p);
    [above / &below * Enclosure::from_rational(p, one), below.ln() * Enclosure::from_rational(p, one)]
}

fn orders(trial: &Trial<'_>, rule: Rule, band: [f64; 2]) {
    // Errors are about 2^-20: a bit more than twice the digits suffices.
    let p = 128;
    let half = if rule == Rule::Trapezoid {
        trial.left().coarse("1/2 at the left end of a segment", (1, 2))
    } else {
        Rational::from((1, 2)) // unused
    };
    let one = trial.left().coarse("1 before the refined result", 1);
    let limit_one = trial.right().coarse("1 before the limit", 1);
    for (at, line) in lines().into_iter().enumerate() {
        if !trial.begin(format_args!("curve {at}")) {
            return;
        }
        let limit = results(&line, &half, &limit_one, p);
        let refined = |parts: u32| {
            let mut line = line.refined(parts);
            line.rule = rule;
            results(&line, &half, &one, p)
        };
        let (coarse, fine) = (refined(PARTS), refined(2 * PARTS));
        for (k, name) in ["o", "lse"].into_iter().enumerate() {
            let error = |x: &[Enclosure; 2]| -> Float { (&x[k] - &limit[k]).abs().midpoint() };
            let order = log2(&error(&coarse)) - log2(&error(&fine));
            trial.measured(&format!("order of {name}"), order, band);
        }
    }
}

/// Step: an error proportional to the sampling step.
pub(super) fn step(trial: &Trial<'_>) {
    orders(trial, Rule::Step, [0.95, 1.05]);
}

/// Trapezoid: an error proportional to its square.
pub(super) fn trapezoid(trial: &Trial<'_>) {
    orders(trial, Rule::Trapezoid, [1.98, 2.02]);
}
