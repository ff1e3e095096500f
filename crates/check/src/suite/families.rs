//! The named input families of core, each with every rule and two windows, both passes.

use super::random::sample;
use super::trial::Trial;
use super::{Check, check};
use contattn_core::families::{Family, SinkKind};
use contattn_core::{Rule, Shape, Spec, Timeline, Window};

const ABOUT: &str = "this family of inputs with every rule, both passes";

/// One entry for each of `Family::ALL`, in its order: the test below keeps them alike.
pub(super) const CHECKS: &[Check] = &[
    check("family-gauss", ABOUT, family::<0>),
    check("family-peaked", ABOUT, family::<1>),
    check("family-ties", ABOUT, family::<2>),
    check("family-near-ties", ABOUT, family::<3>),
    check("family-tiny-differences", ABOUT, family::<4>),
    check("family-alternating-spikes", ABOUT, family::<5>),
    check("family-ramp", ABOUT, family::<6>),
    check("family-huge-scores", ABOUT, family::<7>),
    check("family-far-below", ABOUT, family::<8>),
    check("family-cancelling-values", ABOUT, family::<9>),
    check("family-constant-values", ABOUT, family::<10>),
    check("family-irregular-times", ABOUT, family::<11>),
    check("family-clustered-times", ABOUT, family::<12>),
    check("family-zero-durations", ABOUT, family::<13>),
    check("family-wide-durations", ABOUT, family::<14>),
    check("family-light-curve", ABOUT, family::<15>),
    check("family-real-heads", ABOUT, family::<16>),
];

fn family<const WHICH: usize>(trial: &mut Trial<'_>) {
    let family = Family::ALL[WHICH];
    let lengths = Shape { batch: 1, heads: 2, kv_heads: 1, queries: 7, keys: 33, head_dim: 8, value_dim: 4 };
    // The widest type, and one of the others in turn.
    let mut dtypes = trial.dtypes();
    if dtypes.len() > 2 {
        dtypes = vec![dtypes[0], dtypes[1 + WHICH % (dtypes.len() - 1)]];
    }
    for dtype in dtypes {
        let Some(mut small) = sample(family, lengths, dtype, 3) else { continue };
        let base = small.spec.clone();
        for rule in trial.rules(&[Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2)]) {
            if matches!(rule, Rule::Taylor(_)) && base.timeline != Timeline::Unit {
                continue;
            }
            for (window, sink) in [(Window::causal(), SinkKind::Zeros), (Window::full(), SinkKind::Given)] {
                small.spec = Spec { rule, window: window.clone(), ..base.clone() };
                small.sink = sink;
                trial.check_both(&format!("{family}, {rule}, {dtype}, {window:?}"), &small);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_check() {
        let names: Vec<String> = Family::ALL.iter().map(|family| format!("family-{family}")).collect();
        let found: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        assert_eq!(found, names);
    }
}
