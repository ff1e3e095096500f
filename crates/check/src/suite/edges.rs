//! Windows at their limits: nothing seen, a point, zero durations, cut segments, held ends.

use super::random::{Random, gauss, shape};
use super::trial::Trial;
use super::{Check, check};
use contattn_core::families::SinkKind;
use contattn_core::{Edge, Lower, QueryTimes, Rule, Series, Spec, Timeline, Upper, Window};

pub(super) const CHECKS: &[Check] = &[
    check("nothing-visible", "rows before all nodes, masks that keep none, windows in between", nothing_visible),
    check(
        "zero-measure",
        "visible nodes without duration: the latest value, lse -inf, gradient dv = w g alone",
        zero_measure,
    ),
    check("point-windows", "windows of no length on nodes, between them and outside", point_windows),
    check("cut-segments", "edges inside segments, both in one segment, a hair from a node", cut_segments),
    check("held-ends", "constant curve before the first and after the last node, and nothing but it", held_ends),
    check("window-edges", "edges exactly on nodes take in exactly the segments between them", window_edges),
    check("query-times", "given query times, out of order, on and between nodes", query_times),
    check("zero-durations", "durations of 0 in every place", zero_durations),
];

const RULES: [Rule; 3] = [Rule::Linear, Rule::Step, Rule::Trapezoid];

fn rows(times: &[f64]) -> Edge {
    Edge::Rows(Series::shared(times.to_vec()))
}

fn nothing_visible(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&[Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)]) {
        for sink in SinkKind::ALL {
            let base = Spec { rule, ..Spec::default() };
            let specs = [
                (
                    "before all nodes",
                    Spec { query_times: QueryTimes::At(Series::shared(vec![-1.0, -0.5])), ..base.clone() },
                ),
                ("all masked", Spec { key_mask: Some(Series::shared(vec![false; 4])), ..base.clone() }),
                (
                    "all masked, full",
                    Spec { key_mask: Some(Series::shared(vec![false; 4])), window: Window::full(), ..base.clone() },
                ),
                ("lower edge above t", Spec { window: Window::causal_between(7.0, 0.0), ..base.clone() }),
                (
                    "in a removed segment",
                    Spec {
                        key_mask: Some(Series::shared(vec![true, false, true, true])),
                        window: Window::between(1.25, 1.75),
                        ..base
                    },
                ),
            ];
            for (name, spec) in specs {
                let mut small = gauss(shape(2, 4, 3, 2), dtype, 41, spec);
                small.sink = sink;
                if small.problem().is_ok() {
                    trial.check_both(&format!("{rule}, {name}, sink {sink:?}"), &small);
                }
            }
        }
    }
}

fn zero_measure(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            for window in [Window::causal(), Window::full(), Window::sliding(0.0)] {
                for kept in [[true; 4], [true, true, true, false], [false, true, false, true]] {
                    let spec = Spec {
                        rule,
                        window: window.clone(),
                        timeline: Timeline::Durations(Series::shared(vec![0.0; 4])),
                        key_mask: kept.contains(&false).then(|| Series::shared(kept.to_vec())),
                        ..Spec::default()
                    };
                    let mut small = gauss(shape(3, 4, 3, 2), dtype, 42, spec);
                    small.sink = sink;
                    trial.check_both(
                        &format!("{rule}, all durations 0, sink {sink:?}, kept {kept:?}, {window:?}"),
                        &small,
                    );
                }
            }
        }
    }
}

fn point_windows(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    let places = [-1.0, 0.0, 0.25, 1.0, 2.5, 3.0, 4.0, 6.0];
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            let window = Window { lower: Lower::At(rows(&places)), upper: Upper::At(rows(&places)) };
            for timeline in [Timeline::Unit, Timeline::Durations(Series::shared(vec![0.5, 0.0, 2.0, 1.5]))] {
                let case = format!("{rule}, points, sink {sink:?}, {timeline:?}");
                let spec = Spec { rule, window: window.clone(), timeline, ..Spec::default() };
                let mut small = gauss(shape(8, 4, 3, 2), dtype, 43, spec);
                small.sink = sink;
                trial.check_both(&case, &small);
            }
        }
    }
}

fn cut_segments(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    let lower = [0.25, 1.1, 2.0, 0.0, 1.0 + 1e-9, 2.999999, 3.5];
    let upper = [2.5, 1.9, 2.0 + 1e-12, 0.5, 3.0 - 1e-9, 3.000001, 3.75];
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            for kept in [None, Some(vec![true, true, false, true])] {
                let spec = Spec {
                    rule,
                    window: Window { lower: Lower::At(rows(&lower)), upper: Upper::At(rows(&upper)) },
                    key_mask: kept.clone().map(Series::shared),
                    ..Spec::default()
                };
                let mut small = gauss(shape(7, 4, 3, 2), dtype, 44, spec);
                small.sink = sink;
                trial.check_both(&format!("{rule}, cut segments, sink {sink:?}, kept {kept:?}"), &small);
            }
        }
    }
}

fn held_ends(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    let lower = [-3.0, -2.0, 5.0, 1.0, -1e-3, -9.0];
    let upper = [7.0, -1.0, 6.5, 4.5, 4.0, 0.25];
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            for kept in [
                None,
                Some(vec![false, true, true, false]),
                Some(vec![true, false, true, true]),
                Some(vec![true, false, false, false]),
            ] {
                let spec = Spec {
                    rule,
                    window: Window { lower: Lower::At(rows(&lower)), upper: Upper::At(rows(&upper)) },
                    key_mask: kept.clone().map(Series::shared),
                    ..Spec::default()
                };
                let mut small = gauss(shape(6, 4, 3, 2), dtype, 45, spec);
                small.sink = sink;
                trial.check_both(&format!("{rule}, held ends, sink {sink:?}, kept {kept:?}"), &small);
            }
        }
    }
}

/// A node whose weight is enormous stands just outside the window, and one just inside.
fn window_edges(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&[Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)]) {
        for width in [0.0, 1.0, 2.0, 3.0] {
            let spec = Spec { rule, window: Window::sliding(width), ..Spec::default() };
            trial.check_both(&format!("{rule}, sliding {width}"), &gauss(shape(6, 6, 3, 2), dtype, 46, spec));
        }
        let (lower, upper) = ([0.0, 1.0, 2.0, 3.0], [3.0, 4.0, 2.0, 6.0]);
        let window = Window { lower: Lower::At(rows(&lower)), upper: Upper::At(rows(&upper)) };
        let spec = Spec { rule, window, ..Spec::default() };
        trial.check_both(&format!("{rule}, tokens by row"), &gauss(shape(4, 6, 3, 2), dtype, 47, spec));
    }
}

fn query_times(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    let times = [3.3, -0.1, 0.0, 2.0, 9.0, 1.0, 1.999999999];
    for rule in trial.rules(&RULES) {
        for sink in [SinkKind::Absent, SinkKind::Zeros, SinkKind::Copy] {
            for window in [Window::causal(), Window::sliding(1.25), Window::causal_between(0.5, -0.25), Window::full()]
            {
                let case = format!("{rule}, given query times, sink {sink:?}, {window:?}");
                let spec = Spec {
                    rule,
                    window,
                    query_times: QueryTimes::At(Series::shared(times.to_vec())),
                    ..Spec::default()
                };
                let mut small = gauss(shape(7, 4, 3, 2), dtype, 48, spec);
                small.sink = sink;
                trial.check_both(&case, &small);
            }
        }
    }
}

fn zero_durations(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    let mut random = Random::new(49);
    for rule in trial.rules(&RULES) {
        for pattern in 1u32..32 {
            let durations: Vec<f64> =
                (0..5).map(|i| if pattern >> i & 1 == 1 { 0.0 } else { 0.5 + random.unit() }).collect();
            let spec = Spec {
                rule,
                window: if pattern % 2 == 0 { Window::causal() } else { Window::full() },
                timeline: Timeline::Durations(Series::shared(durations)),
                ..Spec::default()
            };
            let mut small = gauss(shape(3, 5, 3, 2), dtype, u64::from(pattern), spec);
            small.sink = SinkKind::ALL[pattern as usize % 4];
            trial.check_both(&format!("{rule}, durations 0 at the bits of {pattern:#b}"), &small);
        }
    }
}
