//! Partial results merge: RowState's laws.

use super::curve::{Curve, quadrature};
use super::plant::Side;
use super::trial::Trial;
use super::weights::any_curves;
use crate::enclosure::Enclosure;
use crate::segments::Segments;
use contattn_core::{RowState, Rule, Window};
use rug::Rational;

/// A run's lse and o.
#[derive(Clone)]
struct State {
    lse: Enclosure,
    o: Enclosure,
}

/// Z = Z_1 + Z_2, o = (Z_1 o_1 + Z_2 o_2)/Z, with masses over e^max.
fn merge(side: Side<'_>, p: u32, a: &State, b: &State) -> State {
    let max = Enclosure::from_float(p, &a.lse.midpoint().max(&b.lse.midpoint()));
    let (x, y) = ((&a.lse - &max).exp(), (&b.lse - &max).exp());
    let x = side.number("1 before the mass of the first", 1) * x;
    let mass = &x + &y;
    let second = side.number("1 before the output of the second", 1) * &y * &b.o;
    State { o: (&x * &a.o + second) / &mass, lse: max + mass.ln() }
}

/// The run of a row between two times, by its segments. The trapezoid of a cut segment is not additive in its parts, so
/// rows of that rule are cut at nodes only.
fn run(trial: &Trial<'_>, curve: &Curve, from: f64, to: f64) -> State {
    let mut part = curve.clone();
    part.window = Window::between(from, to);
    let found = part.results(trial, &Segments);
    State { lse: found.lse, o: found.o }
}

/// Runs of a row merge to the whole row in any grouping and in any order; on numbers that are exact in f64, core's own
/// states do so exactly, with the identity and with runs that have no mass.
pub(super) fn row_states(trial: &Trial<'_>) {
    let p = trial.precision();
    for mut curve in any_curves(trial) {
        let contattn_core::Timeline::Durations(series) = &curve.timeline else { return };
        let mut times = vec![0.0];
        for d in series.values() {
            times.push(times[times.len() - 1] + d);
        }
        let end = times[times.len() - 1];
        let mut places = [0.0, end * 0.21875, end * 0.53125, end]; // any two inside will do
        if curve.rule == Rule::Trapezoid {
            // Short durations, so that times are exact, and three runs of positive length.
            times.dedup();
            let is_short = series.values().iter().all(|d| *d == 0.0 || (0.001..4.0).contains(d));
            if is_short && times.len() > 3 {
                places = [0.0, times[1], times[2], end];
            } else {
                curve.rule = Rule::Linear;
            }
        }
        curve.window = Window::between(0.0, end);
        if !trial.begin(format_args!("{curve:?} cut at {places:?}")) {
            return;
        }
        let whole = curve.clone().seen_by(trial.right()).results(trial, quadrature());
        let runs: Vec<State> = places.windows(2).map(|pair| run(trial, &curve, pair[0], pair[1])).collect();
        let side = trial.left();
        let [a, b, c] = [&runs[0], &runs[1], &runs[2]];
        let groupings = [
            ("(ab)c", merge(side, p, &merge(side, p, a, b), c)),
            ("a(bc)", merge(side, p, a, &merge(side, p, b, c))),
            ("(cb)a", merge(side, p, &merge(side, p, c, b), a)),
        ];
        let unit = Enclosure::from_float(p, Enclosure::one(p).hull(&whole.lse.abs()).upper());
        for (name, state) in &groupings {
            trial.equal_beside(&format!("o of {name}"), &state.o, &whole.o, &curve.value_size(p));
            trial.equal_beside(&format!("lse of {name}"), &state.lse, &whole.lse, &unit);
        }
    }
    exact_states(trial);
}

/// A run of core with anchor 0, whole masses that are powers of two, and short outputs: f64 makes no error.
fn exact_states(trial: &Trial<'_>) {
    type State64 = RowState<f64>;
    for round in 0..8 + trial.rounds() {
        if !trial.begin(format_args!("states in f64, {round}")) {
            return;
        }
        let (x, y, z) = {
            let mut numbers = trial.numbers();
            (numbers.short(4.0), numbers.short(4.0), numbers.short(4.0))
        };
        let left = trial.left();
        // Masses 1, 1, 2: partial sums are powers of two in either grouping that begins with the first two.
        let state = |mass: f64, v: f64| State64::new(0.0, mass, vec![v]);
        let (a, b, c) = (state(left.input("1 of a's mass", 1.0), x), state(1.0, y), state(2.0, z));
        let merged = a.clone().merge(b.clone()).merge(c.clone());
        // (x + y + 2z)/4, over the rationals.
        let exact = |x: f64| Rational::from_f64(x).unwrap_or_default();
        let right = trial.right();
        let sum = exact(x) + exact(y) + right.rational("2 before z", 2) * exact(z);
        let found = |s: &State64| s.output().map_or_else(Rational::new, |o| exact(o[0]));
        let expected = sum / right.rational("4, the whole mass", 4);
        trial.holds("o of (ab)c", found(&merged) == expected);
        trial.holds("its mass", merged.mass() == 4.0 && merged.max() == 0.0);
        trial.holds("(ba)c", b.merge(a.clone()).merge(c.clone()) == merged);
        let empty = State64::empty();
        trial.holds("identity", a.clone().merge(empty.clone()) == a && empty.clone().merge(a.clone()) == a);
        let point = |v: f64| State64::point(vec![v]);
        trial.holds("the latest point", point(x).merge(point(y)) == point(y));
        trial.holds("a point beside mass", point(z).merge(a.clone()) == a && a.clone().merge(point(z)) == a);
        trial.holds("nothing", empty.clone().merge(empty.clone()) == empty);
    }
}
