//! NaN and infinity: in hidden places they reach nothing, in visible ones the row or the column that sees them.

use super::random::{gauss, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::generate::SmallProblem;
use contattn_core::families::SinkKind;
use contattn_core::{Documents, Rule, Series, Spec, Tensor, Timeline, Window};

pub(super) const CHECKS: &[Check] = &[
    check("hidden-nan", "NaN and infinity in nodes that no row sees reach no output and no gradient", hidden),
    check("later-nan", "NaN in later nodes and other documents reaches no row that does not see them", later),
    check("visible-nan", "NaN and infinity in q or a visible k make the row NaN, in a visible v its column", visible),
];

const RULES: [Rule; 4] = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)];
const POISONS: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// The tensor with `poison` at (row, channel) of its sequence.
fn poisoned(tensor: &Tensor, row: usize, channel: usize, poison: f64) -> Option<Tensor> {
    let shape = tensor.shape().to_vec();
    let mut values = tensor.to_f64();
    *values.get_mut(row * shape[3] + channel)? = poison;
    Tensor::from_f64(shape, tensor.dtype(), values).ok()
}

fn hidden(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for (sink, poison) in SinkKind::ALL.into_iter().zip(POISONS.into_iter().cycle()) {
            for place in 0..5 {
                let base = Spec { rule, ..Spec::default() };
                let kept = (0..5).map(|i| i != place).collect();
                let documents = Documents {
                    keys: Series::shared((0..5).map(|i| i64::from(i == place) + i64::from(i > place) * 2).collect()),
                    queries: Some(Series::shared(vec![if place == 0 { 2 } else { 0 }; 2])),
                };
                let specs = [
                    ("masked", Spec { key_mask: Some(Series::shared(kept)), window: Window::full(), ..base.clone() }),
                    (
                        "of another document",
                        Spec { documents: Some(documents), window: Window::full(), ..base.clone() },
                    ),
                ];
                for (name, spec) in specs {
                    let mut small = gauss(shape(2, 5, 3, 2), dtype, 71, spec);
                    small.sink = sink;
                    let (Some(k), Some(v)) =
                        (poisoned(&small.k, place, 1, poison), poisoned(&small.v, place, 0, poison))
                    else {
                        return;
                    };
                    (small.k, small.v) = (k, v);
                    trial.check_both(&format!("{rule}, {poison} in node {} {name}, sink {sink:?}", place + 1), &small);
                }
            }
        }
        before_the_window(trial, rule);
    }
}

/// Nodes before a sliding window, and a given sink outside it.
fn before_the_window(trial: &mut Trial<'_>, rule: Rule) {
    let Some(dtype) = trial.dtype() else { return };
    let spec = Spec { rule, window: Window::sliding(1.0), ..Spec::default() };
    let mut small = gauss(shape(2, 6, 3, 2), dtype, 72, spec);
    small.sink = SinkKind::Given;
    for row in 0..3 {
        let (Some(k), Some(v)) = (poisoned(&small.k, row, 0, f64::NAN), poisoned(&small.v, row, 1, f64::INFINITY))
        else {
            return;
        };
        (small.k, small.v) = (k, v);
    }
    let (Some(k), Some(v)) = (poisoned(&small.sink_k, 0, 0, f64::NAN), poisoned(&small.sink_v, 0, 0, f64::NAN)) else {
        return;
    };
    (small.sink_k, small.sink_v) = (k, v);
    trial.check_both(&format!("{rule}, NaN before a sliding window"), &small);
}

fn later(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for place in 0..5 {
            for timeline in [Timeline::Unit, Timeline::Durations(Series::shared(vec![0.5, 2.0, 1.0, 0.25, 1.0]))] {
                if matches!(rule, Rule::Taylor(_)) && timeline != Timeline::Unit {
                    continue;
                }
                let spec = Spec { rule, timeline, ..Spec::default() };
                let mut small = gauss(shape(5, 5, 3, 2), dtype, 73, spec);
                let (Some(k), Some(v)) =
                    (poisoned(&small.k, place, 0, f64::NAN), poisoned(&small.v, place, 0, f64::NAN))
                else {
                    return;
                };
                (small.k, small.v) = (k, v);
                trial.check_both(&format!("{rule}, NaN in node {}", place + 1), &small);
            }
        }
    }
}

fn visible(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for poison in POISONS {
            for window in [Window::full(), Window::causal()] {
                let base = gauss(shape(4, 4, 3, 2), dtype, 74, Spec { rule, window, ..Spec::default() });
                let cases = [
                    ("q", poisoned(&base.q, 2, 1, poison).map(|q| SmallProblem { q, ..base.clone() })),
                    ("k", poisoned(&base.k, 1, 0, poison).map(|k| SmallProblem { k, ..base.clone() })),
                    ("v", poisoned(&base.v, 3, 1, poison).map(|v| SmallProblem { v, ..base.clone() })),
                ];
                for (name, small) in cases {
                    if let Some(small) = small {
                        trial.check_forward(&format!("{rule}, {poison} in {name}"), &small);
                    }
                }
            }
        }
    }
}
