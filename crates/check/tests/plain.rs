//! The plain engine against the oracle on arbitrary small problems.

use contattn_check::allowance::{Bounds, GradientBounds, Precision};
use contattn_check::generate::SmallProblem;
use contattn_check::oracle::Exact;
use contattn_check::report::compare_with_bounds;
use contattn_core::{Dtype, Engine, Layout, Request, Tensor, TensorName, Unattended, Upstream};
use contattn_cpu::Plain;
use quickcheck::{QuickCheck, TestResult};

fn forward(engine: &dyn Engine, small: &SmallProblem) -> Result<(), String> {
    let problem = small.problem().map_err(|e| e.to_string())?;
    let exact = Exact::of(&problem);
    let precision = Precision::new(engine.arithmetic(), problem.dtype());
    let bounds = Bounds::of(&exact, &precision);
    let request = Request { weights: true, bias: true, dtype: None };
    let output = engine.forward(&problem, &request, &Unattended).map_err(|e| e.to_string())?;
    let parts = [
        ("o", &output.o, &bounds.o),
        ("lse", &output.lse, &bounds.lse),
        ("weights", output.weights.as_ref().ok_or("weights are missing")?, &bounds.weights),
        ("bias", output.bias.as_ref().ok_or("the bias is missing")?, &bounds.bias),
    ];
    for (what, actual, bounds) in parts {
        let report = compare_with_bounds(actual, bounds).map_err(|e| e.to_string())?;
        if !report.passed() {
            return Err(format!("{what}: {report}"));
        }
    }
    Ok(())
}

fn backward(engine: &dyn Engine, small: &SmallProblem) -> Result<(), String> {
    let problem = small.problem().map_err(|e| e.to_string())?;
    let shape = problem.shape();
    let ramp = |count: usize| (0..count).map(|i| libm_sin(i as f64 + 1.0));
    let rows = shape.batch * shape.heads * shape.queries;
    let g = Tensor::from_f64(
        vec![shape.batch, shape.heads, shape.queries, shape.value_dim],
        Dtype::F64,
        ramp(rows * shape.value_dim),
    )
    .map_err(|e| e.to_string())?;
    let g_lse = Tensor::from_f64(vec![shape.batch, shape.heads, shape.queries, 1], Dtype::F64, ramp(rows))
        .map_err(|e| e.to_string())?;
    let view = |t: &'_ Tensor| {
        t.view(TensorName::UpstreamOutput, Layout::Bhsd).map_err(|e| e.to_string()).map(|v| v.to_tensor())
    };
    let _ = view;
    let upstream = Upstream::new(
        &problem,
        g.view(TensorName::UpstreamOutput, Layout::Bhsd).map_err(|e| e.to_string())?,
        Some(g_lse.view(TensorName::UpstreamLse, Layout::Bhsd).map_err(|e| e.to_string())?),
    )
    .map_err(|e| e.to_string())?;
    let exact = Exact::of(&problem);
    let gradient = exact.gradient(&upstream);
    let precision = Precision::new(engine.arithmetic(), problem.dtype());
    let bounds = GradientBounds::of(&exact, &gradient, &precision);
    let found =
        engine.backward(&problem, &upstream, None, &Request::default(), &Unattended).map_err(|e| e.to_string())?;
    let mut parts = vec![("dq", &found.dq, &bounds.dq), ("dk", &found.dk, &bounds.dk), ("dv", &found.dv, &bounds.dv)];
    if let Some(sink) = &found.sink {
        parts.extend([("sink dk", &sink.dk, &bounds.sink_dk), ("sink dv", &sink.dv, &bounds.sink_dv)]);
    }
    if let Some(durations) = &found.durations {
        parts.push(("durations", durations, &bounds.durations));
    }
    for (what, actual, bounds) in parts {
        let report = compare_with_bounds(actual, bounds).map_err(|e| format!("{what}: {e}"))?;
        if !report.passed() {
            return Err(format!("{what}: {report}"));
        }
    }
    Ok(())
}

fn libm_sin(x: f64) -> f64 {
    x.sin()
}

fn check(run: fn(&dyn Engine, &SmallProblem) -> Result<(), String>, engine: &'static (dyn Engine + Sync), tests: u64) {
    thread_local!(static ENGINE: std::cell::Cell<Option<(&'static dyn Engine, fn(&dyn Engine, &SmallProblem) -> Result<(), String>)>> = const { std::cell::Cell::new(None) });
    ENGINE.with(|e| e.set(Some((engine, run))));
    fn property(small: SmallProblem) -> TestResult {
        let (engine, run) = ENGINE.with(|e| e.get()).expect("set above");
        match run(engine, &small) {
            Ok(()) => TestResult::passed(),
            Err(text) => TestResult::error(text),
        }
    }
    QuickCheck::new().tests(tests).max_tests(2 * tests).quickcheck(property as fn(SmallProblem) -> TestResult);
}

static F64: Plain<f64> = Plain::new();
static F32: Plain<f32> = Plain::new();

#[test]
fn forward_in_f64() {
    check(forward, &F64, 2000);
}

#[test]
fn forward_in_f32() {
    check(forward, &F32, 2000);
}

#[test]
fn backward_in_f64() {
    check(backward, &F64, 2000);
}

#[test]
fn backward_in_f32() {
    check(backward, &F32, 2000);
}
