//! Lengths of every axis: around tile widths, empty, one, long; grouped heads; batches.

use super::pull::Pull;
use super::random::{gauss, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::allowance::{Bounds, GradientBounds};
use crate::generate::SmallProblem;
use crate::oracle::Exact;
use contattn_core::families::SinkKind;
use contattn_core::{Elements, Request, Rule, Scale, Series, Shape, Spec, Tensor, Timeline, Window};

pub(super) const CHECKS: &[Check] = &[
    check("sizes", "1, 2, 3 and 15, 16, 17, 63, 64, 65 nodes and queries, both passes", sizes),
    check("widths", "head_dim and value width 1, 3, 8, 64, 80 and unequal", widths),
    check("tile-borders", "hundreds of nodes, each segment of which must count: no carry may be dropped", tile_borders),
    check("long-sequences", "a few queries on more than a thousand nodes", long_sequences),
    check("past-65535", "65600 nodes, and 65600 batches of one node: no index of 16 bits", past_65535),
    check("more-queries-than-keys", "rows before node 0 see nothing under a causal window", more_queries),
    check("bottom-right", "fewer queries than nodes sit at the last nodes", bottom_right),
    check("empty-axes", "no keys, no queries, no batch, with every sink", empty_axes),
    check("one-key", "a single key, with every sink, both passes", one_key),
    check("grouped-heads", "key/value heads shared by query heads, both passes", grouped_heads),
    check("batches", "batches with their own time lines are as each alone", batches),
];

const RULES: [Rule; 4] = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)];

fn sizes(trial: &mut Trial<'_>) {
    let lengths = [(1, 1), (2, 2), (3, 3), (1, 3), (15, 15), (3, 16), (17, 17), (2, 63), (64, 64), (5, 65), (65, 65)];
    let dtypes = trial.dtypes();
    for (turn, (queries, keys)) in lengths.into_iter().enumerate() {
        for rule in trial.rules(&RULES) {
            for window in [Window::causal(), Window::full(), Window::sliding(4.0)] {
                let Some(&dtype) = dtypes.get(turn % dtypes.len().max(1)) else { return };
                // The largest ones with one rule are enough for their time.
                if keys * queries > 1000 && (rule != Rule::Linear || !window.is_causal()) {
                    continue;
                }
                let spec = Spec { rule, window: window.clone(), ..Spec::default() };
                let case = format!("{rule}, {dtype}, {queries} queries, {keys} nodes, {window:?}");
                trial.check_both(&case, &gauss(shape(queries, keys, 4, 3), dtype, turn as u64, spec));
            }
        }
    }
}

fn widths(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for (head_dim, value_dim) in [(1, 1), (3, 8), (8, 3), (64, 80), (80, 64), (1, 80), (33, 1)] {
        for rule in trial.rules(&RULES) {
            let spec = Spec { rule, ..Spec::default() };
            let case = format!("{rule}, head_dim {head_dim}, value width {value_dim}");
            trial.check_both(&case, &gauss(shape(3, 5, head_dim, value_dim), dtype, 3, spec));
        }
    }
}

/// Equal scores and one value of 1 among zeros, so that each segment's share of o is plain to see, at every place in turn.
fn tile_borders(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        let mut small = gauss(shape(1, 300, 2, 30), dtype, 9, Spec { rule, window: Window::full(), ..Spec::default() });
        // Column c marks every tenth node, c of them further on: together they mark each node once.
        let marks = (0..300 * 30).map(|at| f64::from(u8::from(at / 30 % 30 == at % 30)));
        small.v = match Tensor::from_f64(small.v.shape().to_vec(), dtype, marks) {
            Ok(v) => v,
            Err(error) => return trial.judge(false, "marked values", "problem", || error.to_string()),
        };
        trial.check_both(&format!("{rule}, 300 nodes"), &small);
        for queries in [2, 7] {
            let mut random = gauss(shape(queries, 257, 8, 4), dtype, 10, Spec { rule, ..Spec::default() });
            random.sink = SinkKind::Given;
            trial.check_both(&format!("{rule}, {queries} queries, 257 nodes"), &random);
        }
    }
}

fn long_sequences(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&[Rule::Linear, Rule::Step]) {
        let durations = (0..1531).map(|i| 0.25 + f64::from(i % 7) / 8.0).collect();
        let spec = Spec { rule, timeline: Timeline::Durations(Series::shared(durations)), ..Spec::default() };
        trial.check_both(&format!("{rule}, 1531 nodes"), &gauss(shape(2, 1531, 4, 2), dtype, 4, spec));
    }
}

fn past_65535(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    if let Some(&rule) = trial.rules(&[Rule::Linear, Rule::Step]).first() {
        let spec = Spec { rule, window: Window::full(), ..Spec::default() };
        trial.check_forward(&format!("{rule}, 65600 nodes"), &gauss(shape(1, 65_600, 1, 1), dtype, 4, spec.clone()));
        let lengths = Shape { batch: 16_400, heads: 4, kv_heads: 4, ..shape(1, 1, 1, 1) };
        trial.check_forward(&format!("{rule}, 65600 heads in all"), &gauss(lengths, dtype, 4, spec));
    }
}

fn more_queries(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for window in [Window::causal(), Window::full(), Window::sliding(1.0)] {
            for sink in [SinkKind::Zeros, SinkKind::Absent] {
                let spec = Spec { rule, window: window.clone(), ..Spec::default() };
                let mut small = gauss(shape(9, 4, 3, 2), dtype, 6, spec);
                small.sink = sink;
                trial.check_both(&format!("{rule}, 9 queries on 4 nodes, sink {sink:?}, {window:?}"), &small);
            }
        }
    }
}

fn bottom_right(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        let all = gauss(shape(9, 9, 3, 2), dtype, 8, Spec { rule, ..Spec::default() });
        let mut last = all.clone();
        let q = all.q.to_f64();
        last.q = match Tensor::from_f64(vec![1, 1, 2, 3], dtype, q[7 * 3..].iter().copied()) {
            Ok(q) => q,
            Err(error) => return trial.judge(false, "last rows", "problem", || error.to_string()),
        };
        let case = format!("{rule}, the last 2 of 9 queries");
        trial.check_both(&case, &last);
        let (Some(whole), Some(part)) = (trial.problem(&case, &all), trial.problem(&case, &last)) else { return };
        let request = Request::default();
        let (Some(expected), Some(found)) =
            (trial.forward(&case, &whole, &request), trial.forward(&case, &part, &request))
        else {
            continue;
        };
        let bounds = Bounds::of(&Exact::of(&part), &trial.precision(&part, &request));
        trial.alike(&case, "o", &found.o, &expected.o.to_f64()[7 * 2..], &bounds.o);
        trial.alike(&case, "lse", &found.lse, &expected.lse.to_f64()[7..], &bounds.lse);
    }
}

fn empty_axes(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            for window in [Window::causal(), Window::full()] {
                for (batch, queries, keys) in [(1, 3, 0), (1, 0, 3), (0, 2, 2), (1, 0, 0), (0, 0, 0)] {
                    let lengths = Shape { batch, ..shape(queries, keys, 2, 2) };
                    let mut small = gauss(lengths, dtype, 2, Spec { rule, window: window.clone(), ..Spec::default() });
                    small.sink = sink;
                    let case =
                        format!("{rule}, sink {sink:?}, {batch} batches, {queries} queries, {keys} nodes, {window:?}");
                    trial.check_both(&case, &small);
                }
            }
        }
    }
}

fn one_key(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            for window in [Window::causal(), Window::full(), Window::between(0.0, 1.0)] {
                let mut small =
                    gauss(shape(2, 1, 3, 2), dtype, 2, Spec { rule, window: window.clone(), ..Spec::default() });
                small.sink = sink;
                // Taylor cannot hold the curve from 0 to node 1 where there is no sink.
                if matches!(rule, Rule::Taylor(_)) && small.problem().is_err() {
                    continue;
                }
                trial.check_both(&format!("{rule}, one key, sink {sink:?}, {window:?}"), &small);
            }
        }
    }
}

fn grouped_heads(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for sink in [SinkKind::Zeros, SinkKind::Copy, SinkKind::Given] {
            for (heads, kv_heads) in [(6, 2), (4, 4), (3, 1)] {
                let lengths = Shape { batch: 2, heads, kv_heads, ..shape(3, 4, 3, 2) };
                let mut small = gauss(lengths, dtype, 12, Spec { rule, ..Spec::default() });
                small.sink = sink;
                trial.check_both(&format!("{rule}, {heads} query heads on {kv_heads}, sink {sink:?}"), &small);
            }
        }
    }
}

/// One batch of a tensor of rank 4.
fn batch_of(tensor: &Tensor, batch: usize) -> Option<Tensor> {
    let shape = tensor.shape();
    let per_batch = tensor.len() / shape[0].max(1);
    let values = tensor.to_f64()[batch * per_batch..(batch + 1) * per_batch].to_vec();
    let shape = [&[1], &shape[1..]].concat();
    Tensor::new(shape, Elements::from_f64(tensor.dtype(), values)).ok()
}

fn alone(small: &SmallProblem, batch: usize, timeline: Timeline) -> Option<SmallProblem> {
    Some(SmallProblem {
        q: batch_of(&small.q, batch)?,
        k: batch_of(&small.k, batch)?,
        v: batch_of(&small.v, batch)?,
        sink_k: batch_of(&small.sink_k, batch)?,
        sink_v: batch_of(&small.sink_v, batch)?,
        spec: Spec { timeline, ..small.spec.clone() },
        ..small.clone()
    })
}

fn batches(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    let durations = [vec![0.5, 1.0, 0.0, 2.0], vec![1.0, 0.25, 3.0, 0.125]];
    let Ok(series) = Series::batched(2, 4, durations.concat()) else { return };
    for rule in trial.rules(&[Rule::Linear, Rule::Step, Rule::Trapezoid]) {
        let lengths = Shape { batch: 2, heads: 2, ..shape(3, 4, 3, 2) };
        let spec =
            Spec { rule, timeline: Timeline::Durations(series.clone()), scale: Scale::Value(0.5), ..Spec::default() };
        let both = gauss(lengths, dtype, 21, spec);
        let case = format!("{rule}, two batches");
        trial.check_both(&case, &both);
        let Some(problem) = trial.problem(&case, &both) else { return };
        let request = Request::default();
        let Some(found) = trial.forward(&case, &problem, &request) else { continue };
        let precision = trial.precision(&problem, &request);
        let exact = Exact::of(&problem);
        let bounds = Bounds::of(&exact, &precision);
        let pull = Pull::new(&problem, 5).ok();
        let gradient = pull.as_ref().and_then(|pull| {
            let upstream = pull.upstream(&problem).ok()?;
            let found = trial.backward(&case, &problem, &upstream, None, &request)?;
            Some((found, GradientBounds::of(&exact, &exact.gradient(&upstream), &precision)))
        });
        if let Some((gradient, bounds)) = &gradient {
            trial.judge_gradient(&case, &problem, true, gradient, bounds);
        }
        for (batch, own) in durations.iter().enumerate() {
            let Some(one) = alone(&both, batch, Timeline::Durations(Series::shared(own.clone()))) else { return };
            let case = format!("{rule}, batch {batch} alone");
            let Some(problem) = trial.problem(&case, &one) else { return };
            let Some(expected) = trial.forward(&case, &problem, &request) else { continue };
            if let Some(part) = batch_of(&found.o, batch) {
                let size = part.len();
                trial.alike(&case, "o", &part, &expected.o.to_f64(), &bounds.o[batch * size..(batch + 1) * size]);
            }
        }
    }
}
