//! The allowances bite: what lies four times as far off fails, and a good engine needs a good part of them.

use contattn_check::allowance::{Bound, Bounds, GradientBounds, Precision};
use contattn_check::oracle::{Exact, Wide};
use contattn_check::report::{compare_with_bounds, unit_in_last_place};
use contattn_core::families::{Family, Sample, SinkKind};
use contattn_core::{
    Dtype, Engine, Layout, Problem, Request, Rule, Shape, Spec, Tensor, TensorName, Unattended, Upstream,
};
use contattn_cpu::Plain;

const SHAPE: Shape = Shape { batch: 1, heads: 2, kv_heads: 1, queries: 5, keys: 17, head_dim: 8, value_dim: 3 };

fn sample(family: Family, dtype: Dtype) -> Sample {
    family.sample(SHAPE, dtype, 1).unwrap()
}

fn problem(sample: &Sample, rule: Rule) -> Problem<'_> {
    sample.problem(SinkKind::Given, Spec { rule, ..sample.spec() }).unwrap()
}

/// g is the first rows of v.
fn with_upstream<T>(sample: &Sample, problem: &Problem<'_>, then: impl FnOnce(&Upstream<'_>) -> T) -> T {
    let numbers: Vec<f64> = sample.k.to_f64();
    let g = Tensor::from_f64(vec![1, 2, 5, 3], Dtype::F64, numbers[..30].iter().copied()).unwrap();
    let g_lse = Tensor::from_f64(vec![1, 2, 5, 1], Dtype::F64, numbers[30..40].iter().copied()).unwrap();
    let view = |t| Tensor::view(t, TensorName::UpstreamOutput, Layout::Bhsd).unwrap();
    then(&Upstream::new(problem, view(&g), Some(view(&g_lse))).unwrap())
}

/// Every list of bounds of a problem, by name.
fn all_bounds(sample: &Sample, rule: Rule, precision: &Precision) -> Vec<(&'static str, Vec<Bound>)> {
    let problem = problem(sample, rule);
    let exact = Exact::of(&problem);
    let bounds = Bounds::of(&exact, precision);
    let gradient = with_upstream(sample, &problem, |u| GradientBounds::of(&exact, &exact.gradient(u), precision));
    vec![
        ("o", bounds.o),
        ("lse", bounds.lse),
        ("weights", bounds.weights),
        ("bias", bounds.bias),
        ("dq", gradient.dq),
        ("dk", gradient.dk),
        ("dv", gradient.dv),
        ("sink dk", gradient.sink_dk),
        ("sink dv", gradient.sink_dv),
        ("durations", gradient.durations),
    ]
}

#[test]
fn four_times_the_allowance_fails_in_every_result() {
    for family in [Family::Gauss, Family::IrregularTimes, Family::CancellingValues, Family::AlternatingSpikes] {
        for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
            for dtype in [Dtype::F64, Dtype::F32] {
                let sample = sample(family, dtype);
                for (what, bounds) in all_bounds(&sample, rule, &Precision::new(dtype, dtype)) {
                    let exact: Vec<f64> = bounds.iter().map(|b| b.value.to_f64()).collect();
                    let count = exact.len();
                    let judge = |factor: f64| {
                        let numbers = bounds.iter().zip(&exact).map(|(b, &x)| {
                            let unit = if x.is_finite() { unit_in_last_place(x, dtype) } else { 0.0 };
                            let half = (0.5 * unit).max(dtype.smallest_subnormal());
                            if b.allowed.is_finite() { x + factor * (b.allowed + half) } else { x }
                        });
                        let actual = Tensor::from_f64(vec![count], dtype, numbers).unwrap();
                        compare_with_bounds(&actual, &bounds).unwrap().failures
                    };
                    let finite = exact.iter().filter(|x| x.is_finite()).count();
                    let known = bounds.iter().filter(|b| b.value.is_finite() && b.allowed.is_finite()).count();
                    assert_eq!(judge(0.0), 0, "{family} {rule} {dtype} {what}");
                    assert_eq!(judge(4.0), known, "{family} {rule} {dtype} {what}: {finite} finite");
                    assert_eq!(judge(-4.0), known, "{family} {rule} {dtype} {what}: {finite} finite");
                }
            }
        }
    }
}

/// The largest error of an engine, in units of what is allowed, for every result.
fn use_of(engine: &dyn Engine, family: Family, rule: Rule) -> Vec<(&'static str, f64)> {
    let dtype = engine.arithmetic();
    let sample = sample(family, dtype);
    let problem = problem(&sample, rule);
    let request = Request { weights: true, bias: true, dtype: None };
    let output = engine.forward(&problem, &request, &Unattended).unwrap();
    let found = with_upstream(&sample, &problem, |u| {
        engine.backward(&problem, u, None, &Request::default(), &Unattended).unwrap()
    });
    let sink = found.sink.unwrap();
    let results = [
        output.o,
        output.lse,
        output.weights.unwrap(),
        output.bias.unwrap(),
        found.dq,
        found.dk,
        found.dv,
        sink.dk,
        sink.dv,
        found.durations.unwrap(),
    ];
    let bounds = all_bounds(&sample, rule, &Precision::new(dtype, dtype));
    bounds
        .into_iter()
        .zip(results)
        .map(|((what, bounds), actual)| {
            let error = |(x, b): (f64, &Bound)| {
                if !b.value.is_finite() {
                    return 0.0;
                }
                (Wide::from_f64(x) - b.value).to_f64().abs() / (b.allowed + 0.5 * unit_in_last_place(x, dtype))
            };
            (what, actual.to_f64().into_iter().zip(&bounds).map(error).fold(0.0, f64::max))
        })
        .collect()
}

#[test]
fn a_good_engine_needs_a_good_part_of_the_allowance() {
    for engine in [&Plain::<f64>::new() as &dyn Engine, &Plain::<f32>::new()] {
        let mut shares = std::collections::BTreeMap::new();
        for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
            for family in [Family::Gauss, Family::IrregularTimes, Family::Peaked] {
                for (what, share) in use_of(engine, family, rule) {
                    assert!(share <= 1.0, "{} {family} {rule} {what} uses {share}", engine.name());
                    let largest: &mut f64 = shares.entry(what).or_default();
                    *largest = largest.max(share);
                }
            }
        }
        assert!(shares.values().all(|&share| share > 0.003), "{}: {shares:?}", engine.name());
    }
}

#[test]
fn exact_scores_are_allowed_no_error() {
    // Scores of 10^11 that are exact: the weights of nodes that tie must be right to roundings, not to u 10^11.
    let sample = sample(Family::HugeScores, Dtype::F64);
    let (_, weights) = all_bounds(&sample, Rule::Linear, &Precision::new(Dtype::F64, Dtype::F64)).swap_remove(2);
    let worst = weights.iter().map(|b| b.allowed).fold(0.0, f64::max);
    assert!(worst < 1e-13, "{worst:e}");
}
