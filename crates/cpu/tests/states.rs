//! Partial results of the plain engine merge to the whole, for any split of the window.

use contattn_core::{Dtype, Family, Real, RowState, Rule, Shape, SinkKind, Spec, Window};
use contattn_cpu::Plain;

const SHAPE: Shape = Shape { batch: 1, heads: 2, kv_heads: 1, queries: 1, keys: 24, head_dim: 4, value_dim: 3 };

fn state<T: Real>(family: Family, rule: Rule, window: Window) -> RowState<T> {
    let sample = family.sample(SHAPE, Dtype::F64, 5).unwrap();
    let spec = Spec { rule, window, ..sample.spec() };
    let problem = sample.problem(SinkKind::Given, spec).unwrap();
    Plain::<T>::new().row_state(&problem, 0, 1, 0).unwrap()
}

/// Cutting a window at any time leaves the whole, where the rule is additive in parts of a segment: for Linear and Step.
/// The cut of a part errs by a few roundings of the scores, which stay below 500 in these families.
#[test]
fn any_cut_leaves_the_whole() {
    for family in [Family::Gauss, Family::Peaked, Family::Ramp, Family::IrregularTimes, Family::ZeroDurations] {
        for rule in [Rule::Linear, Rule::Step] {
            let whole = state::<f64>(family, rule, Window::between(0.0, 9.0));
            for cut in [0.0, 0.25, 1.0, 3.7, 8.999, 9.0] {
                let parts = state::<f64>(family, rule, Window::between(0.0, cut)).merge(state(
                    family,
                    rule,
                    Window::between(cut, 9.0),
                ));
                assert!((parts.lse() - whole.lse()).abs() < 1e-12, "{family} {rule} {cut}");
                let (a, b) = (parts.output().unwrap(), whole.output().unwrap());
                assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{family} {rule} {cut}: {a:?} {b:?}");
            }
        }
    }
}

/// A run without duration gives its latest value to a run that follows without duration, and nothing to one with mass.
#[test]
fn points_merge_in_time_order() {
    let point = |at: f64| state::<f32>(Family::Gauss, Rule::Linear, Window::between(at, at));
    let later = point(3.0);
    assert_eq!(point(2.0).merge(later.clone()), later);
    let massive = state::<f32>(Family::Gauss, Rule::Linear, Window::between(1.0, 2.0));
    assert_eq!(massive.clone().merge(later), massive);
}
