//! Gradients: rounded ones against another route at many bits, and against differences of enclosures.

mod cases;
mod numbers;

use cases::{Case, Mix, SinkKind, plain, random};
use contattn_core::{
    Dtype, Layout, Rule, Scale, Series, Spec, Tensor, TensorName, Timeline, Unattended, Upstream, Window,
};
use contattn_reference::gradient::{self, Outcome};
use contattn_reference::nodes::Nodes;
use contattn_reference::quadrature::Quadrature;
use contattn_reference::rounding::round_enclosure;
use contattn_reference::route::values;
use contattn_reference::segments::Segments;
use contattn_reference::{Certified, Enclosure, ExactProblem};
use numbers::Numbers;
use rug::Float;

fn upstream(case: &Case, numbers: &mut Numbers) -> (Tensor, Tensor) {
    let shape = case.problem().unwrap().shape();
    let mut draw = |width: usize| {
        let len = shape.batch * shape.heads * shape.queries * width;
        let values: Vec<f64> = (0..len).map(|_| numbers.between(-1.0, 1.0)).collect();
        Tensor::from_f64(vec![shape.batch, shape.heads, shape.queries, width], Dtype::F64, values).unwrap()
    };
    (draw(shape.value_dim), draw(1))
}

#[test]
fn rounded_gradients_are_those_of_another_route() {
    let mut numbers = Numbers::new(19);
    let (mut resolved, mut unresolved) = (0, 0);
    for _ in 0..80 {
        let case = random(&mut numbers, Mix { largest: 5, ..Mix::default() });
        let problem = case.problem().unwrap();
        let (g, g_lse) = upstream(&case, &mut numbers);
        let o = g.view(TensorName::UpstreamOutput, Layout::Bhsd).unwrap();
        let lse = g_lse.view(TensorName::UpstreamLse, Layout::Bhsd).unwrap();
        let upstream = Upstream::new(&problem, o, Some(lse)).unwrap();
        let dtype = Dtype::ALL[numbers.below(4)];
        let rounded = gradient::round(&Nodes::new(problem.rule()), &problem, &upstream, dtype, &Unattended).unwrap();
        let precise = gradient::enclose(&Segments, &problem, &upstream, 700, &Unattended).unwrap();
        let mut check = |rounded: &[Outcome], precise: &[Certified], dtype: Dtype| {
            assert_eq!(rounded.len(), precise.len());
            for (r, p) in rounded.iter().zip(precise) {
                match (r, p) {
                    (Outcome::Resolved(x), Certified::Nan) => assert!(x.is_nan()),
                    (Outcome::Resolved(x), Certified::Number(p)) => {
                        resolved += 1;
                        assert!(round_enclosure(dtype, p).is_none_or(|y| y.to_bits() == x.to_bits()), "{x:e} {p:?}");
                    }
                    (Outcome::Unresolved(x), Certified::Number(p)) => {
                        unresolved += 1;
                        assert!(x.overlaps(p));
                    }
                    other => panic!("{other:?}"),
                }
            }
        };
        check(&rounded.dq, &precise.dq, dtype);
        check(&rounded.dk, &precise.dk, dtype);
        check(&rounded.dv, &precise.dv, dtype);
        check(&rounded.sink_dk, &precise.sink_dk, dtype);
        check(&rounded.sink_dv, &precise.sink_dv, dtype);
        check(&rounded.durations, &precise.durations, dtype.lse());
    }
    // What stays open are zeros by cancellation.
    assert!(resolved > 20 * unresolved, "{resolved} {unresolved}");
}

/// L = g . o + g_lse lse of all rows, in 150 bits.
fn loss(case: &Case, g: &Tensor, g_lse: &Tensor) -> Enclosure {
    let problem = case.problem().unwrap();
    let exact = ExactProblem::new(&problem);
    let quadrature = Quadrature::default();
    let mut sum = Enclosure::zero(400);
    let number = |x: &Certified| x.number().cloned();
    for index in 0..problem.shape().queries {
        let row = values(&quadrature, &exact.row(0, 0, index), 150);
        for (c, o) in row.o.iter().enumerate() {
            sum += number(o).unwrap() * Enclosure::from_f64(150, g.get(&[0, 0, index, c]).unwrap());
        }
        if let Some(lse) = number(&row.lse) {
            sum += lse * Enclosure::from_f64(150, g_lse.get(&[0, 0, index, 0]).unwrap());
        }
    }
    sum
}

/// dL/dD, dL/dq, dL/dk, dL/dv against central differences of L by quadrature, in 150 bits with exactly representable
/// steps of 2^-30: they differ by about the square of that.
#[test]
fn gradients_are_differences() {
    let mut numbers = Numbers::new(20);
    let step = 2f64.powi(-30);
    let windows = [
        Window::causal(),
        Window::sliding(1.375),
        Window::causal_between(0.3125, 0.4375),
        Window::between(0.4375, 3.28125),
        Window { lower: contattn_core::Lower::Sliding(1.375), upper: contattn_core::Upper::Query { offset: -0.1875 } },
        Window::full(),
    ];
    for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
        for window in &windows {
            for sink in [SinkKind::Absent, SinkKind::Copy, SinkKind::Given] {
                let (n, d, e) = (4, 2, 2);
                // Coarse numbers, so that steps are exact.
                let mut draw =
                    |len: usize| -> Vec<f64> { (0..len).map(|_| numbers.below(129) as f64 / 64.0 - 1.0).collect() };
                let (q, k, v) = (draw(2 * d), draw(n * d), draw(n * e));
                let durations = vec![0.75, 1.0, 0.625, 1.125];
                let build = |q: &[f64], k: &[f64], v: &[f64], durations: &[f64]| {
                    let timeline = Timeline::Durations(Series::shared(durations.to_vec()));
                    let spec =
                        Spec { rule, window: window.clone(), timeline, scale: Scale::Value(0.5), ..Spec::default() };
                    plain(Dtype::F64, d, e, q, k, v, sink, spec)
                };
                let case = build(&q, &k, &v, &durations);
                let (g, g_lse) = upstream(&case, &mut numbers);
                let problem = case.problem().unwrap();
                let o = g.view(TensorName::UpstreamOutput, Layout::Bhsd).unwrap();
                let lse = g_lse.view(TensorName::UpstreamLse, Layout::Bhsd).unwrap();
                let upstream = Upstream::new(&problem, o, Some(lse)).unwrap();
                let found = gradient::enclose(&Nodes::new(rule), &problem, &upstream, 120, &Unattended).unwrap();
                let check = |found: &Certified, change: &dyn Fn(f64) -> Case, what: &str| {
                    let (above, below) = (loss(&change(step), &g, &g_lse), loss(&change(-step), &g, &g_lse));
                    let slope = (above - below) / Enclosure::from_f64(150, 2.0 * step);
                    let error = (slope - found.number().unwrap()).abs();
                    assert!(
                        *error.upper() < Float::with_val(60, 1e-15),
                        "{rule} {window:?} {sink:?} {what}: {error:?}"
                    );
                };
                let with = |x: &[f64], at: usize, by: f64| {
                    let mut x = x.to_vec();
                    x[at] += by;
                    x
                };
                for (i, dd) in found.durations.iter().enumerate() {
                    check(dd, &|by| build(&q, &k, &v, &with(&durations, i, by)), &format!("dD {i}"));
                }
                check(&found.dq[1], &|by| build(&with(&q, 1, by), &k, &v, &durations), "dq");
                for at in [0, 3, 6] {
                    check(&found.dk[at], &|by| build(&q, &with(&k, at, by), &v, &durations), &format!("dk {at}"));
                    check(&found.dv[at], &|by| build(&q, &k, &with(&v, at, by), &durations), &format!("dv {at}"));
                }
            }
        }
    }
}
