//! Every rule with every window, sink, mask, division into documents and time line.
//!
//! Element types, layouts, query times and grouped heads take turns, so that each meets each rule and window.

use super::random::{Random, gauss};
use super::trial::Trial;
use super::{Check, check};
use crate::generate::SmallProblem;
use contattn_core::families::SinkKind;
use contattn_core::{Documents, Edge, Layout, Lower, QueryTimes, Rule, Series, Shape, Spec, Timeline, Upper, Window};

pub(super) const CHECKS: &[Check] = &[
    check("combinations-linear", "Linear with every window, sink, mask, document border and time line", |t| {
        every(t, Rule::Linear, Pass::Forward);
    }),
    check("combinations-step", "the same for Step", |t| every(t, Rule::Step, Pass::Forward)),
    check("combinations-trapezoid", "the same for Trapezoid", |t| every(t, Rule::Trapezoid, Pass::Forward)),
    check("combinations-taylor", "the same for Taylor of orders 0 to 4 and 9, on whole segments", |t| {
        for order in [0, 1, 2, 3, 4, 9] {
            every(t, Rule::Taylor(order), Pass::Forward);
        }
    }),
    check(
        "gradients-linear",
        "gradients of Linear with every window, sink, mask, document border and time line",
        |t| {
            every(t, Rule::Linear, Pass::Backward);
        },
    ),
    check("gradients-step", "the same for Step", |t| every(t, Rule::Step, Pass::Backward)),
    check("gradients-trapezoid", "the same for Trapezoid", |t| every(t, Rule::Trapezoid, Pass::Backward)),
    check("gradients-taylor", "the same for Taylor of orders 0 to 4 and 9, on whole segments", |t| {
        for order in [0, 1, 2, 3, 4, 9] {
            every(t, Rule::Taylor(order), Pass::Backward);
        }
    }),
];

/// Which pass is checked.
#[derive(Clone, Copy)]
enum Pass {
    Forward,
    Backward,
}

const KEYS: usize = 6;
const QUERIES: usize = 5;

fn windows() -> Vec<(&'static str, Window)> {
    let rows = |times: [f64; QUERIES]| Edge::Rows(Series::shared(times.to_vec()));
    vec![
        ("full", Window::full()),
        ("causal", Window::causal()),
        ("sliding 1.75", Window::sliding(1.75)),
        ("sliding 2", Window::sliding(2.0)),
        ("[0.6, 3.3]", Window::between(0.6, 3.3)),
        ("[0.5, t + 0.5]", Window::causal_between(0.5, 0.5)),
        ("[-1.5, 9]", Window::between(-1.5, 9.0)),
        ("[start, t - 0.4]", Window { lower: Lower::Start, upper: Upper::Query { offset: -0.4 } }),
        ("[1.2, end]", Window { lower: Lower::At(Edge::All(1.2)), upper: Upper::End }),
        ("[t - 2, t + 0.7]", Window { lower: Lower::Sliding(2.0), upper: Upper::Query { offset: 0.7 } }),
        (
            "tokens by row",
            Window {
                lower: Lower::At(rows([0.0, 1.0, 1.0, 2.0, 3.0])),
                upper: Upper::At(rows([2.0, 3.0, 4.0, 5.0, 6.0])),
            },
        ),
        ("[2, t]", Window::causal_between(2.0, 0.0)),
    ]
}

fn timelines(batch: usize, seed: u64) -> Vec<(&'static str, Timeline)> {
    let mut random = Random::new(seed);
    let mut durations = |count: usize| -> Vec<f64> { (0..count).map(|_| 0.2 + 1.6 * random.unit()).collect() };
    let irregular = Timeline::Durations(Series::shared(durations(KEYS)));
    let mut with_zeros = durations(KEYS);
    (with_zeros[0], with_zeros[3], with_zeros[KEYS - 1]) = (0.0, 0.0, 0.0);
    let times: Vec<f64> = (0..batch)
        .flat_map(|b| {
            let mut time = -0.75 + b as f64;
            let steps = durations(KEYS);
            std::iter::once(time)
                .chain(steps.into_iter().map(move |d| {
                    time += d;
                    time
                }))
                .collect::<Vec<f64>>()
        })
        .collect();
    let mut all = vec![
        ("unit", Timeline::Unit),
        ("irregular", Timeline::Durations(Series::shared(with_zeros))),
        ("irregular times", irregular),
    ];
    if let Ok(series) = Series::batched(batch, KEYS + 1, times) {
        all.push(("times by batch", Timeline::Times(series)));
    }
    all
}

/// A name, a key mask and documents.
type Borders = (&'static str, Option<Series<bool>>, Option<Documents>);

fn borders() -> Vec<Borders> {
    let mask = |kept: [u8; KEYS]| Some(Series::shared(kept.iter().map(|&k| k == 1).collect()));
    let keys = || Series::shared(vec![4, 4, 4, -1, -1, -1]);
    let own = || Some(Documents { keys: keys(), queries: None });
    let given = || Some(Documents { keys: keys(), queries: Some(Series::shared(vec![4, -1, -1, 4, 9])) });
    vec![
        ("", None, None),
        (", a node masked", mask([1, 1, 0, 1, 1, 1]), None),
        (", start and end masked", mask([0, 0, 1, 1, 1, 0]), None),
        (", two documents", None, own()),
        (", rows' documents given", None, given()),
        (", masked documents", mask([0, 1, 1, 1, 0, 1]), own()),
    ]
}

fn every(trial: &mut Trial<'_>, rule: Rule, pass: Pass) {
    let dtypes = trial.dtypes();
    if dtypes.is_empty() {
        return;
    }
    let query_times = [-0.2, 1.0, 2.6, 4.0, 7.5];
    let whole_times = [0.0, 1.0, 3.0, 4.0, 6.0];
    let taylor = matches!(rule, Rule::Taylor(_));
    let mut turn = 0usize;
    for (window_name, window) in windows() {
        for (timeline_name, timeline) in timelines(2, 5) {
            for (borders_name, key_mask, documents) in borders() {
                for sink in SinkKind::ALL {
                    turn += 1;
                    let query_times = match turn % 3 {
                        1 if taylor => QueryTimes::At(Series::shared(whole_times.to_vec())),
                        1 => QueryTimes::At(Series::shared(query_times.to_vec())),
                        _ => QueryTimes::LastNodes,
                    };
                    let batched = matches!(&timeline, Timeline::Times(series) if series.batch().is_some());
                    let shape = Shape {
                        batch: if batched { 2 } else { 1 },
                        heads: if turn.is_multiple_of(4) { 2 } else { 1 },
                        kv_heads: 1,
                        queries: QUERIES,
                        keys: KEYS,
                        head_dim: 3,
                        value_dim: 2,
                    };
                    let spec = Spec {
                        rule,
                        window: window.clone(),
                        timeline: timeline.clone(),
                        query_times,
                        key_mask: key_mask.clone(),
                        documents: documents.clone(),
                        ..Spec::default()
                    };
                    let dtype = dtypes[turn / 5 % dtypes.len()];
                    let mut small = gauss(shape, dtype, turn as u64, spec);
                    small.sink = sink;
                    if turn.is_multiple_of(2) {
                        small = in_other_layout(&small, shape);
                    }
                    // The Taylor rule refuses irregular time lines and cut segments.
                    if taylor && small.problem().is_err() {
                        continue;
                    }
                    let case = format!(
                        "{rule}, {dtype}, window {window_name}, {timeline_name} time line, sink {sink:?}{borders_name}"
                    );
                    match pass {
                        Pass::Forward => trial.check_forward(&case, &small),
                        Pass::Backward => trial.check_backward(&case, &small),
                    }
                }
            }
        }
    }
}

/// The same numbers, read as (batch, sequence, heads, head_dim).
fn in_other_layout(small: &SmallProblem, shape: Shape) -> SmallProblem {
    let numbers = [&small.q, &small.k, &small.v, &small.sink_k, &small.sink_v];
    let mut numbers = numbers.into_iter().flat_map(|t| t.to_f64());
    let mut other = SmallProblem::filled(shape, small.q.dtype(), Layout::Bshd, || numbers.next().unwrap_or_default());
    (other.sink, other.spec) = (small.sink, small.spec.clone());
    other
}
