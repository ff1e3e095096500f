//! The plain engine against the oracle on arbitrary small problems, which shrink when they fail.

use contattn_check::allowance::{Bound, Bounds, GradientBounds, Precision};
use contattn_check::generate::SmallProblem;
use contattn_check::oracle::Exact;
use contattn_check::report::compare_with_bounds;
use contattn_core::{Dtype, Engine, Layout, Problem, Request, Tensor, TensorName, Unattended, Upstream};
use contattn_cpu::Plain;
use quickcheck::{QuickCheck, TestResult};
use std::error::Error;

fn judge(parts: &[(&str, &Tensor, &[Bound])]) -> Result<(), Box<dyn Error>> {
    for (what, actual, bounds) in parts {
        let report = compare_with_bounds(actual, bounds)?;
        if !report.passed() {
            return Err(format!("{what}: {report}").into());
        }
    }
    Ok(())
}

fn forward(engine: &dyn Engine, problem: &Problem<'_>) -> Result<(), Box<dyn Error>> {
    let bounds = Bounds::of(&Exact::of(problem), &Precision::new(engine.arithmetic(), problem.dtype()));
    let output = engine.forward(problem, &Request { weights: true, bias: true, dtype: None }, &Unattended)?;
    judge(&[
        ("o", &output.o, &bounds.o),
        ("lse", &output.lse, &bounds.lse),
        ("weights", output.weights.as_ref().ok_or("no weights")?, &bounds.weights),
        ("bias", output.bias.as_ref().ok_or("no bias")?, &bounds.bias),
    ])
}

fn backward(engine: &dyn Engine, problem: &Problem<'_>) -> Result<(), Box<dyn Error>> {
    let shape = problem.shape();
    let tensor = |width: usize| {
        let count = shape.batch * shape.heads * shape.queries * width;
        let numbers = (0..count).map(|i| (i as f64 + 1.0).sin());
        Tensor::from_f64(vec![shape.batch, shape.heads, shape.queries, width], Dtype::F64, numbers)
    };
    let (g, g_lse) = (tensor(shape.value_dim)?, tensor(1)?);
    let lse = g_lse.view(TensorName::UpstreamLse, Layout::Bhsd)?;
    let upstream = Upstream::new(problem, g.view(TensorName::UpstreamOutput, Layout::Bhsd)?, Some(lse))?;
    let exact = Exact::of(problem);
    let precision = Precision::new(engine.arithmetic(), problem.dtype());
    let bounds = GradientBounds::of(&exact, &exact.gradient(&upstream), &precision);
    let found = engine.backward(problem, &upstream, None, &Request::default(), &Unattended)?;
    judge(&[("dq", &found.dq, &bounds.dq), ("dk", &found.dk, &bounds.dk), ("dv", &found.dv, &bounds.dv)])?;
    if let Some(sink) = &found.sink {
        judge(&[("sink dk", &sink.dk, &bounds.sink_dk), ("sink dv", &sink.dv, &bounds.sink_dv)])?;
    }
    found.durations.as_ref().map_or(Ok(()), |d| judge(&[("d durations", d, &bounds.durations)]))
}

type Pass = fn(&dyn Engine, &Problem<'_>) -> Result<(), Box<dyn Error>>;

fn property(small: &SmallProblem, pass: Pass) -> TestResult {
    let tried = small.problem().map_err(Into::into).and_then(|problem| {
        pass(&Plain::<f64>::new(), &problem)?;
        pass(&Plain::<f32>::new(), &problem)
    });
    match tried {
        Ok(()) => TestResult::passed(),
        Err(error) => TestResult::error(error.to_string()),
    }
}

#[test]
fn forward_on_arbitrary_problems() {
    fn holds(small: SmallProblem) -> TestResult {
        property(&small, forward)
    }
    QuickCheck::new().tests(1000).quickcheck(holds as fn(SmallProblem) -> TestResult);
}

#[test]
fn backward_on_arbitrary_problems() {
    fn holds(small: SmallProblem) -> TestResult {
        property(&small, backward)
    }
    QuickCheck::new().tests(1000).quickcheck(holds as fn(SmallProblem) -> TestResult);
}
