//! Scores at the limits of what a type holds, and score differences where formulas change.

use super::pull::Pull;
use super::random::{Random, gauss, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::generate::SmallProblem;
use contattn_core::families::SinkKind;
use contattn_core::{Dtype, Request, Rule, Scale, Series, Spec, Tensor, Timeline, Window};

pub(super) const CHECKS: &[Check] = &[
    check("score-differences", "differences from 1e-300 to 1e3, log-uniform, and around 1", differences),
    check("huge-differences", "differences of 2^100 in both directions", huge_differences),
    check(
        "exponential-range",
        "differences around 88, 103, 709 and 745, where exponentials overflow and vanish",
        exponents,
    ),
    check("low-scores", "all scores below -60000: no sentinel may undercut them", low_scores),
    check("finite-in-finite-out", "finite inputs whose scores overflow never give NaN", overflow),
    check("durations-of-all-sizes", "durations from 1e-300 to 1e300 beside each other", all_durations),
];

const RULES: [Rule; 3] = [Rule::Linear, Rule::Step, Rule::Trapezoid];

/// One query with these scores, by keys of width 1, q = 1 and the scale.
fn with_scores(dtype: Dtype, keys: &[f64], scale: f64, spec: Spec) -> Option<SmallProblem> {
    let spec = Spec { scale: Scale::Value(scale), window: Window::full(), ..spec };
    let mut small = gauss(shape(1, keys.len(), 1, 3), dtype, 61, spec);
    small.q = Tensor::from_f64(vec![1, 1, 1, 1], dtype, [1.0]).ok()?;
    small.k = Tensor::from_f64(vec![1, 1, keys.len(), 1], dtype, keys.iter().copied()).ok()?;
    small.sink = SinkKind::Absent;
    Some(small)
}

fn both(trial: &mut Trial<'_>, case: &str, small: Option<SmallProblem>) {
    match small {
        Some(small) => trial.check_both(case, &small),
        None => trial.judge(false, case, "problem", || "the suite's own tensors do not fit".to_owned()),
    }
}

fn differences(trial: &mut Trial<'_>) {
    let mut random = Random::new(62);
    for dtype in trial.dtypes() {
        for rule in trial.rules(&[Rule::Linear, Rule::Trapezoid, Rule::Taylor(3)]) {
            for round in 0..24 {
                // Every other node 0: each segment has the difference of its other node.
                let most = if matches!(rule, Rule::Taylor(_)) { 0.0 } else { 3.0 };
                let keys: Vec<f64> = (0..9)
                    .map(|i| {
                        let sign = if random.unit() < 0.5 { -1.0 } else { 1.0 };
                        let size = match round % 4 {
                            0 => libm::exp10(-300.0 + (300.0 + most) * random.unit()),
                            1 => 1.0 + libm::exp10(-16.0 * random.unit()) * sign,
                            2 => libm::exp10(-6.0 + (6.0 + most) * random.unit()),
                            _ => 0.9 + 0.2 * random.unit(),
                        };
                        if i % 2 == 0 { 0.0 } else { sign * size }
                    })
                    .collect();
                let small = with_scores(dtype, &keys, 1.0, Spec { rule, ..Spec::default() });
                both(trial, &format!("{rule}, {dtype}, scores {keys:?}"), small);
            }
        }
    }
}

fn huge_differences(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for rule in trial.rules(&RULES) {
            for keys in [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, -1.0, 1.0], [-1.0, -1.0, -1.0, -1.0], [2.0, 1.0, 1.0, 0.0]] {
                let small = with_scores(dtype, &keys, libm::ldexp(1.0, 100), Spec { rule, ..Spec::default() });
                both(trial, &format!("{rule}, {dtype}, scores 2^100 times {keys:?}"), small);
            }
        }
    }
}

fn exponents(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for rule in trial.rules(&RULES) {
            for size in [17.0, 40.0, 87.0, 88.5, 103.0, 104.0, 700.0, 709.75, 712.0, 716.0, 745.0, 746.0, 1000.0] {
                for keys in [[0.0, size, 0.0, -size], [size, 0.0, size, size]] {
                    let small = with_scores(dtype, &keys, 1.0, Spec { rule, ..Spec::default() });
                    both(trial, &format!("{rule}, {dtype}, scores {keys:?}"), small);
                }
            }
        }
    }
}

fn low_scores(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        for rule in trial.rules(&RULES) {
            for timeline in [Timeline::Unit, Timeline::Durations(Series::shared(vec![1.0, 0.5, 2.0, 0.0, 1.0]))] {
                let spec = Spec { rule, timeline, ..Spec::default() };
                let keys = [-60.0, -61.0, -60.0, -62.0, -60.5];
                both(trial, &format!("{rule}, {dtype}, scores about -61440"), with_scores(dtype, &keys, 1024.0, spec));
            }
        }
    }
}

/// Only that no result is NaN is required: the scores lie beyond the arithmetic.
fn overflow(trial: &mut Trial<'_>) {
    for dtype in trial.dtypes() {
        let large: f64 = match dtype {
            Dtype::F64 => 1e200,
            Dtype::F32 | Dtype::BF16 => 1e30,
            Dtype::F16 => 6e4,
        };
        for rule in trial.rules(&RULES) {
            for scale in [1.0, libm::ldexp(1.0, 1000)] {
                let spec = Spec { rule, scale: Scale::Value(scale), ..Spec::default() };
                let mut small = gauss(shape(3, 4, 2, 2), dtype, 63, spec);
                let scaled = |t: &Tensor| {
                    Tensor::from_f64(t.shape().to_vec(), dtype, t.to_f64().iter().map(|x| large.copysign(*x))).ok()
                };
                let (Some(q), Some(k)) = (scaled(&small.q), scaled(&small.k)) else { return };
                (small.q, small.k) = (q, k);
                let case = format!("{rule}, {dtype}, inputs of size {large:e}, scale {scale:e}");
                trial.check_forward(&case, &small);
                let Some(problem) = trial.problem(&case, &small) else { return };
                let Ok(pull) = Pull::new(&problem, 3) else { return };
                let Ok(upstream) = pull.upstream(&problem) else { return };
                if let Some(found) = trial.backward(&case, &problem, &upstream, None, &Request::default()) {
                    let numbers = found.dv.to_f64();
                    trial.judge(numbers.iter().all(|x| !x.is_nan()), &case, "dv", || {
                        "NaN from finite inputs".to_owned()
                    });
                }
            }
        }
    }
}

fn all_durations(trial: &mut Trial<'_>) {
    let Some(dtype) = trial.dtype() else { return };
    for rule in trial.rules(&RULES) {
        for durations in [
            vec![1e-300, 1.0, 1e300, 1e-5, 1.0],
            vec![1e-300, 1e-299, 3e-300, 1e-300, 2e-300],
            vec![1e300, 1e299, 3e300, 1e300, 2e300],
            vec![1e-12, 1e12, 1.0, 1e-12, 1e6],
            vec![f64::from_bits(1), 1e-310, 1e-305, 0.0, 1e-308],
        ] {
            let case = format!("{rule}, durations {durations:?}");
            let spec = Spec { rule, timeline: Timeline::Durations(Series::shared(durations)), ..Spec::default() };
            trial.check_forward(&case, &gauss(shape(5, 5, 3, 2), dtype, 64, spec));
        }
    }
}
