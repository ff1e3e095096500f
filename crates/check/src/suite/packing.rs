//! Masks and documents: what is removed leaves no trace, and what is packed behaves as if it stood alone.

use super::random::{gauss, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::allowance::Bounds;
use crate::generate::SmallProblem;
use crate::oracle::Exact;
use contattn_core::families::SinkKind;
use contattn_core::{Documents, Dtype, Feature, Request, Rule, Series, Spec, Tensor, Timeline, Window};

pub(super) const CHECKS: &[Check] = &[
    check("mask-removes-segments", "a masked node of huge value leaks nothing into its neighbours", mask_removes),
    check("documents-do-not-mix", "a neighbour document of huge scores and values changes nothing", documents_apart),
    check("packed-is-alone", "packed documents, padded documents and documents alone give the same", packed),
];

const RULES: [Rule; 4] = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)];

/// The tensor with `change` applied to (row, channel, value) of its sequence.
fn changed(tensor: &Tensor, change: impl Fn(usize, usize, f64) -> f64) -> Option<Tensor> {
    let shape = tensor.shape().to_vec();
    let (rows, width) = (shape[2], shape[3]);
    let values = tensor.to_f64();
    let values = values.iter().enumerate().map(|(at, &x)| change(at / width % rows, at % width, x));
    Tensor::from_f64(shape, tensor.dtype(), values).ok()
}

fn largest(dtype: Dtype) -> f64 {
    if dtype == Dtype::F16 { 3e4 } else { 1e6 }
}

fn mask_removes(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    if !trial.supports(Feature::KeyMask) {
        return;
    }
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            for masked in 0..5 {
                let kept = (0..5).map(|i| i != masked).collect();
                let spec =
                    Spec { rule, window: Window::full(), key_mask: Some(Series::shared(kept)), ..Spec::default() };
                let mut small = gauss(shape(2, 5, 3, 2), dtype, 51, spec);
                small.sink = sink;
                // -1e4 in place of removal leaks about 1e-4 of 1e6.
                let Some(v) = changed(&small.v, |row, _, x| if row == masked { largest(dtype) } else { x }) else {
                    return;
                };
                small.v = v;
                trial.check_both(&format!("{rule}, node {} masked, sink {sink:?}", masked + 1), &small);
            }
        }
    }
}

fn documents_apart(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    if !trial.supports(Feature::Documents) {
        return;
    }
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            for window in [Window::causal(), Window::full()] {
                let documents = Documents { keys: Series::shared(vec![0, 0, 0, 1, 1, 1]), queries: None };
                let spec = Spec { rule, window, documents: Some(documents), ..Spec::default() };
                let mut small = gauss(shape(6, 6, 3, 2), dtype, 52, spec);
                small.sink = sink;
                let loud = |row: usize, _, x: f64| if row == 2 || row == 3 { x * 20.0 } else { x };
                let huge = |row: usize, _, x: f64| if row == 2 { largest(dtype) } else { x };
                let (Some(k), Some(v)) = (changed(&small.k, loud), changed(&small.v, huge)) else { return };
                (small.k, small.v) = (k, v);
                trial.check_both(&format!("{rule}, two documents, sink {sink:?}"), &small);
            }
        }
    }
}

/// Rows `range` of the sequence of a tensor of one batch and one head.
fn rows(tensor: &Tensor, range: std::ops::Range<usize>) -> Option<Tensor> {
    let width = tensor.shape()[3];
    let values = tensor.to_f64()[range.start * width..range.end * width].to_vec();
    Tensor::from_f64(vec![1, 1, range.len(), width], tensor.dtype(), values).ok()
}

/// `before` rows of 7 in front.
fn padded(tensor: &Tensor, before: usize) -> Option<Tensor> {
    let (length, width) = (tensor.shape()[2], tensor.shape()[3]);
    let values = std::iter::repeat_n(7.0, before * width).chain(tensor.to_f64());
    Tensor::from_f64(vec![1, 1, before + length, width], tensor.dtype(), values).ok()
}

fn packed(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for sink in SinkKind::ALL {
            for irregular in [false, true] {
                if irregular && matches!(rule, Rule::Taylor(_)) {
                    continue;
                }
                one_packing(trial, dtype, rule, sink, irregular);
            }
        }
    }
}

fn one_packing(trial: &mut Trial<'_>, dtype: Dtype, rule: Rule, sink: SinkKind, irregular: bool) {
    let durations = [0.5, 1.0, 2.0, 0.25, 1.5, 0.75, 1.25];
    let timeline = |d: &[f64]| {
        if irregular { Timeline::Durations(Series::shared(d.to_vec())) } else { Timeline::Unit }
    };
    let ids = vec![3, 3, 3, 8, 8, 8, 8];
    let spec = Spec {
        rule,
        timeline: timeline(&durations),
        documents: Some(Documents { keys: Series::shared(ids), queries: None }),
        ..Spec::default()
    };
    let mut all = gauss(shape(7, 7, 3, 2), dtype, 53, spec);
    all.sink = sink;
    let request = Request::default();
    let case = format!("{rule}, sink {sink:?}, irregular {irregular}: packed");
    trial.check_both(&case, &all);
    let Some(problem) = trial.problem(&case, &all) else { return };
    let Some(together) = trial.forward(&case, &problem, &request) else { return };
    let bounds = Bounds::of(&Exact::of(&problem), &trial.precision(&problem, &request));
    for range in [0..3, 3..7] {
        let part = |q: &Tensor| rows(q, range.clone());
        let (Some(q), Some(k), Some(v)) = (part(&all.q), part(&all.k), part(&all.v)) else { return };
        let spec = Spec { rule, timeline: timeline(&durations[range.clone()]), ..Spec::default() };
        let alone = SmallProblem { q, k, v, spec, ..all.clone() };
        // The same with two rows of padding, which the mask removes, in front.
        let before = [&[4.0, 0.5], &durations[range.clone()]].concat();
        let keep = (0..before.len()).map(|i| i >= 2).collect();
        let (Some(k), Some(v)) = (padded(&alone.k, 2), padded(&alone.v, 2)) else { return };
        let spec = Spec { rule, timeline: timeline(&before), key_mask: Some(Series::shared(keep)), ..Spec::default() };
        let padded = SmallProblem { q: alone.q.clone(), k, v, spec, ..all.clone() };
        for (name, other) in [("alone", alone), ("padded", padded)] {
            let case = format!("{rule}, sink {sink:?}, irregular {irregular}: nodes {range:?} {name}");
            trial.check_both(&case, &other);
            let Some(problem) = trial.problem(&case, &other) else { return };
            let Some(found) = trial.forward(&case, &problem, &request) else { continue };
            let o = together.o.to_f64();
            let wanted = &o[range.start * 2..range.end * 2];
            trial.alike(&case, "o", &found.o, wanted, &bounds.o[range.start * 2..range.end * 2]);
            trial.alike(&case, "lse", &found.lse, &together.lse.to_f64()[range.clone()], &bounds.lse[range.clone()]);
        }
    }
}
