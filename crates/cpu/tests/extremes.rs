//! Scores and durations at the ends of their ranges, together.

use contattn_core::{
    Dtype, Engine, Layout, Problem, Real, Request, Rule, Series, Sink, Spec, Tensor, TensorName, Timeline, Unattended,
    Window,
};
use contattn_cpu::Plain;

/// o and lse of one query 1 on one head of width 1.
fn attend<T: Real>(keys: &[f64], values: &[f64], durations: &[f64], rule: Rule) -> (f64, f64) {
    let column = |x: &[f64]| Tensor::from_f64(vec![x.len(), 1], Dtype::F64, x.iter().copied()).unwrap();
    let (q, k, v) = (column(&[1.0]), column(keys), column(values));
    let view = |x| Tensor::view(x, TensorName::Query, Layout::Bhsd).unwrap();
    let timeline = Timeline::Durations(Series::shared(durations.to_vec()));
    let spec = Spec { rule, timeline, window: Window::full(), ..Spec::default() };
    let problem = Problem::new(view(&q), view(&k), view(&v), Sink::Absent, spec).unwrap();
    let output = Plain::<T>::new().forward(&problem, &Request::default(), &Unattended).unwrap();
    (output.o.to_f64()[0], output.lse.to_f64()[0])
}

/// Equal scores, so the second duration, 600 orders of magnitude longer, decides; beside a score of 10^20 its logarithm, 690,
/// is far below a unit in the last place.
#[test]
fn long_durations_decide_between_equal_huge_scores() {
    assert_eq!(attend::<f64>(&[1e20, 1e20], &[1.0, 2.0], &[1e-300, 1e300], Rule::Step), (2.0, 1e20));
    assert_eq!(attend::<f32>(&[1e20, 1e20], &[1.0, 2.0], &[1e-300, 1e300], Rule::Step).0, 2.0);
}

/// Finite inputs never give NaN, whatever their sizes.
#[test]
fn no_nan_from_finite_inputs() {
    let sizes = [0.0, 1e-320, 1e-30, 1.0, 700.0, 1e5, 1e20, 1e38, 1e200, 1.7e308];
    let durations = [0.0, 5e-324, 1e-300, 1e-40, 1.0, 1e40, 1e300];
    for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
        for (i, &a) in sizes.iter().enumerate() {
            for &b in &sizes[i..] {
                for &d in &durations {
                    for &e in &durations {
                        for sign in [-1.0, 1.0] {
                            let (keys, lengths) = ([a, sign * b, -a], [1.0, d, e]);
                            let values = [1.7e308, -1.7e308, 3.0];
                            let (o, lse) = attend::<f64>(&keys, &values, &lengths, rule);
                            assert!(!o.is_nan() && !lse.is_nan(), "{rule} {keys:?} {lengths:?}: {o} {lse}");
                            let (o, lse) = attend::<f32>(&keys, &values, &lengths, rule);
                            assert!(!o.is_nan() && !lse.is_nan(), "f32 {rule} {keys:?} {lengths:?}: {o} {lse}");
                        }
                    }
                }
            }
        }
    }
}
