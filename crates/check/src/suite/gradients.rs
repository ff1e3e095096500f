//! Gradients beyond the combinations: sharp scores, moving edges, saved results, differences.

use super::pull::Pull;
use super::random::{gauss, sample, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::generate::SmallProblem;
use crate::oracle::Exact;
use contattn_core::families::{Family, SinkKind};
use contattn_core::{
    Dtype, Edge, Feature, Lower, QueryTimes, Request, Rule, Series, Shape, Spec, Tensor, Timeline, Upper, Window,
};

pub(super) const CHECKS: &[Check] = &[
    check("gradient-peaked", "gradients where few nodes take all the weight", peaked),
    check("gradient-of-durations", "dL/dD with every kind of window edge, fixed and moving", durations),
    check("gradient-of-sink", "gradients of a given sink, and of a copied one through the node that it copies", sinks),
    check("gradient-of-lse", "g_lse alone, and g alone without it", lse_alone),
    check("saved-output", "the backward pass with and without the saved forward pass", saved),
    check("finite-differences", "gradients against central differences of the engine itself, in f64", differences),
];

const RULES: [Rule; 4] = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)];

fn peaked(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for rule in trial.rules(&RULES) {
            for size in [4.0, 12.0] {
                let mut small = gauss(shape(4, 9, 4, 3), dtype, 91, Spec { rule, ..Spec::default() });
                let longer = small.q.to_f64().into_iter().map(|x| x * size);
                let Ok(q) = Tensor::from_f64(small.q.shape().to_vec(), dtype, longer) else { return };
                small.q = q;
                trial.check_backward(&format!("{rule}, {dtype}, queries {size} times as long"), &small);
            }
        }
    }
}

fn durations(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    let rows = |times: [f64; 4]| Edge::Rows(Series::shared(times.to_vec()));
    let windows = [
        Window::full(),
        Window::causal(),
        Window::sliding(1.3),
        Window::sliding(2.0),
        Window::between(0.7, 3.1),
        Window::between(-1.0, 8.0),
        Window::causal_between(0.5, 0.5),
        Window::causal_between(1.0, -0.25),
        Window { lower: Lower::Sliding(0.8), upper: Upper::Query { offset: -0.3 } },
        Window { lower: Lower::At(rows([0.1, 1.0, 2.0, 2.2])), upper: Upper::At(rows([0.3, 1.5, 3.0, 9.0])) },
        Window { lower: Lower::Start, upper: Upper::At(Edge::All(2.3)) },
    ];
    let at = QueryTimes::At(Series::shared(vec![0.9, 2.5, 3.7, 5.5]));
    for rule in trial.rules(&[Rule::Linear, Rule::Step, Rule::Trapezoid]) {
        for window in &windows {
            for sink in [SinkKind::Zeros, SinkKind::Absent, SinkKind::Given] {
                for query_times in [QueryTimes::LastNodes, at.clone()] {
                    for durations in [[1.0; 5], [0.6, 1.1, 0.4, 1.7, 0.9], [0.5, 0.0, 1.5, 0.0, 1.0]] {
                        let case =
                            format!("{rule}, {window:?}, sink {sink:?}, {query_times:?}, durations {durations:?}");
                        let spec = Spec {
                            rule,
                            window: window.clone(),
                            query_times: query_times.clone(),
                            timeline: Timeline::Durations(Series::shared(durations.to_vec())),
                            ..Spec::default()
                        };
                        let mut small = gauss(shape(4, 5, 3, 2), dtype, 92, spec);
                        small.sink = sink;
                        trial.check_backward(&case, &small);
                    }
                }
            }
        }
    }
}

fn sinks(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            for kept in [[true; 4], [false, true, true, true]] {
                let lengths = Shape { batch: 2, heads: 4, kv_heads: 2, ..shape(3, 4, 3, 2) };
                let spec = Spec {
                    rule,
                    key_mask: kept.contains(&false).then(|| Series::shared(kept.to_vec())),
                    ..Spec::default()
                };
                let mut small = gauss(lengths, dtype, 93, spec);
                small.sink = sink;
                trial.check_backward(&format!("{rule}, sink {sink:?}, kept {kept:?}"), &small);
            }
        }
    }
}

fn zeros(shape: &[usize], dtype: Dtype) -> Option<Tensor> {
    Tensor::from_f64(shape.to_vec(), dtype, vec![0.0; shape.iter().product()]).ok()
}

fn lse_alone(trial: &mut Trial<'_>) {
    use contattn_core::{Layout, TensorName, Upstream};
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        let small = gauss(shape(3, 5, 3, 2), dtype, 94, Spec { rule, ..Spec::default() });
        let case = format!("{rule}, g_lse alone");
        let Some(problem) = trial.problem(&case, &small) else { return };
        let (Some(none), Ok(ones)) =
            (zeros(&[1, 1, 3, 2], dtype), Tensor::from_f64(vec![1, 1, 3, 1], dtype, [1.0, -0.5, 2.0]))
        else {
            return;
        };
        let view = |t| Tensor::view(t, TensorName::UpstreamLse, Layout::Bhsd);
        let (Ok(none), Ok(ones)) = (view(&none), view(&ones)) else { return };
        let Ok(v) = small.v.view(TensorName::Value, Layout::Bhsd) else { return };
        // Three rows of v serve as g.
        let Ok(g) = v.rows(TensorName::Value, 0..3) else { return };
        for (case, upstream) in [
            (case, Upstream::new(&problem, none, Some(ones))),
            (format!("{rule}, g alone"), Upstream::new(&problem, g, None)),
        ] {
            match upstream {
                Ok(upstream) => {
                    trial.check_backward_from(&case, &Exact::of(&problem), &upstream, None, &Request::default())
                }
                Err(error) => return trial.judge(false, &case, "upstream", || error.to_string()),
            }
        }
    }
}

fn saved(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for rule in trial.rules(&RULES) {
            for family in [Family::Gauss, Family::Peaked] {
                let Some(mut small) = sample(family, shape(4, 6, 4, 3), dtype, 95) else { continue };
                small.spec.rule = rule;
                let case = format!("{rule}, {family}, {dtype}, saved");
                let Some(problem) = trial.problem(&case, &small) else { return };
                let request = Request::default();
                let Some(output) = trial.forward(&case, &problem, &request) else { continue };
                let Ok(pull) = Pull::new(&problem, 7) else { return };
                let exact = Exact::of(&problem);
                trial.check_pulled(&case, &exact, &pull, Some(&output), &request);
                trial.check_pulled(&case, &exact, &pull, None, &request);
            }
        }
    }
}

/// One number of a case, to be moved.
#[derive(Clone, Copy, Debug)]
enum Moved {
    Q(usize),
    K(usize),
    V(usize),
    Duration(usize),
}

fn moved(small: &SmallProblem, what: Moved, by: f64) -> Option<SmallProblem> {
    let mut other = small.clone();
    let change = |t: &Tensor, at: usize| {
        let mut values = t.to_f64();
        values[at] += by;
        Tensor::from_f64(t.shape().to_vec(), t.dtype(), values).ok()
    };
    match what {
        Moved::Q(at) => other.q = change(&small.q, at)?,
        Moved::K(at) => other.k = change(&small.k, at)?,
        Moved::V(at) => other.v = change(&small.v, at)?,
        Moved::Duration(at) => {
            let Timeline::Durations(series) = &small.spec.timeline else { return None };
            let mut values = series.values().to_vec();
            values[at] += by;
            other.spec.timeline = Timeline::Durations(Series::shared(values));
        }
    }
    Some(other)
}

/// L = sum g o + sum g_lse lse by the engine's own forward pass.
fn loss(trial: &mut Trial<'_>, case: &str, small: &SmallProblem, g: &[f64], g_lse: &[f64]) -> Option<f64> {
    let problem = trial.problem(case, small)?;
    let output = trial.forward(case, &problem, &Request::default())?;
    let dot = |a: &[f64], b: Vec<f64>| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    Some(dot(g, output.o.to_f64()) + dot(g_lse, output.lse.to_f64()))
}

/// Steps of 2^-17 err by about the third derivative times 2^-34 / 6, and roundings of L over 2^-16: 1e-7 of the sizes at hand
/// is ample for both, and a forgotten term is far larger.
fn differences(trial: &mut Trial<'_>) {
    if trial.engine().arithmetic() != Dtype::F64 {
        return trial.skip("sums in f64");
    }
    if !trial.supports(Feature::Input(Dtype::F64)) || !trial.supports(Feature::Results(Dtype::F64)) {
        return;
    }
    for rule in trial.rules(&[Rule::Linear, Rule::Step, Rule::Trapezoid]) {
        for window in [Window::full(), Window::causal(), Window::between(0.3, 2.9), Window::sliding(1.37)] {
            let spec = Spec {
                rule,
                window: window.clone(),
                timeline: Timeline::Durations(Series::shared(vec![0.6, 1.1, 0.4, 1.7])),
                ..Spec::default()
            };
            let small = gauss(shape(2, 4, 2, 2), Dtype::F64, 96, spec);
            let case = format!("{rule}, {window:?}");
            let Some(problem) = trial.problem(&case, &small) else { return };
            let (Ok(pull), step) = (Pull::new(&problem, 11), libm::ldexp(1.0, -17)) else { return };
            let Ok(upstream) = pull.upstream(&problem) else { return };
            let Some(found) = trial.backward(&case, &problem, &upstream, None, &Request::default()) else { return };
            let (g, g_lse) = (pull.g_numbers(), pull.g_lse_numbers());
            let durations = found.durations.as_ref().map(Tensor::to_f64).unwrap_or_default();
            let all = (0..4)
                .map(|i| (Moved::Q(i), found.dq.to_f64()[i]))
                .chain((0..8).map(|i| (Moved::K(i), found.dk.to_f64()[i])))
                .chain((0..8).map(|i| (Moved::V(i), found.dv.to_f64()[i])))
                .chain(durations.iter().copied().enumerate().map(|(i, d)| (Moved::Duration(i), d)))
                .collect::<Vec<_>>();
            for (what, gradient) in all {
                let (Some(up), Some(down)) = (moved(&small, what, step), moved(&small, what, -step)) else { continue };
                let (Some(up), Some(down)) =
                    (loss(trial, &case, &up, &g, &g_lse), loss(trial, &case, &down, &g, &g_lse))
                else {
                    continue;
                };
                let difference = (up - down) / (2.0 * step);
                let right = (difference - gradient).abs() <= 1e-7 * (1.0 + gradient.abs());
                trial.judge(right, &case, "gradient", || {
                    format!("d/d{what:?} is {gradient}, the central difference {difference}")
                });
            }
        }
    }
}
