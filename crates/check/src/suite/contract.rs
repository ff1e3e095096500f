//! What the engine trait promises beyond numbers.

use super::pull::Pull;
use super::random::{gauss, shape};
use super::trial::Trial;
use super::{Check, check};
use crate::generate::SmallProblem;
use contattn_core::families::SinkKind;
use contattn_core::{
    CancelToken, Documents, EngineError, Feature, Lower, Monitor, QueryTimes, Request, Rule, Series, Spec, Timeline,
    Unattended, Upper, Window,
};
use std::sync::Mutex;

pub(super) const CHECKS: &[Check] = &[
    check("repeatable", "the same call twice gives the same bits", repeatable),
    check("cancellation", "a cancelled call returns Cancelled, both passes", cancellation),
    check("progress", "progress grows and never passes its total", progress),
    check("unsupported", "what the engine lacks is refused, by name", unsupported),
];

/// A case of which the engine supports everything, if there is one.
fn supported(trial: &mut Trial<'_>) -> Option<SmallProblem> {
    let dtype = trial.dtype()?;
    let rules = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(2), Rule::Taylor(1), Rule::Taylor(0)];
    let rule = trial.rules(&rules).first().copied()?;
    let sinks = [SinkKind::Zeros, SinkKind::Absent, SinkKind::Copy, SinkKind::Given];
    let names = ["zeros", "absent", "copy", "given"];
    let at = names.iter().position(|name| trial.engine().supports(Feature::Sink(name)))?;
    let mut small = gauss(shape(40, 40, 4, 4), dtype, 101, Spec { rule, ..Spec::default() });
    small.sink = sinks[at];
    Some(small)
}

fn repeatable(trial: &mut Trial<'_>) {
    let Some(small) = supported(trial) else { return };
    let Some(problem) = trial.problem("twice", &small) else { return };
    let request = trial.request();
    let (Some(one), Some(two)) =
        (trial.forward("twice", &problem, &request), trial.forward("twice", &problem, &request))
    else {
        return;
    };
    trial.same("twice", "o", &two.o, &one.o);
    trial.same("twice", "lse", &two.lse, &one.lse);
    if let (Some(one), Some(two)) = (&one.weights, &two.weights) {
        trial.same("twice", "weights", two, one);
    }
    let Ok(pull) = Pull::new(&problem, 13) else { return };
    let Ok(upstream) = pull.upstream(&problem) else { return };
    let mut again = || trial.backward("twice", &problem, &upstream, None, &Request::default());
    if let (Some(one), Some(two)) = (again(), again()) {
        trial.same("twice", "dq", &two.dq, &one.dq);
        trial.same("twice", "dk", &two.dk, &one.dk);
        trial.same("twice", "dv", &two.dv, &one.dv);
    }
}

fn cancellation(trial: &mut Trial<'_>) {
    let Some(small) = supported(trial) else { return };
    let Some(problem) = trial.problem("cancelled", &small) else { return };
    let request = Request::default();
    if !trial.takes(&problem, &request) {
        return;
    }
    let token = CancelToken::default();
    token.cancel();
    let engine = trial.engine();
    let found = engine.forward(&problem, &request, &token).map(|_| ());
    trial.judge(found == Err(EngineError::Cancelled), "cancelled", "forward", || format!("returned {found:?}"));
    if !trial.supports(Feature::Backward) {
        return;
    }
    let Ok(pull) = Pull::new(&problem, 13) else { return };
    let Ok(upstream) = pull.upstream(&problem) else { return };
    let found = engine.backward(&problem, &upstream, None, &request, &token).map(|_| ());
    trial.judge(found == Err(EngineError::Cancelled), "cancelled", "backward", || format!("returned {found:?}"));
}

/// Remembers what it was told.
#[derive(Default)]
struct Listener(Mutex<Vec<(u64, u64)>>);

impl Monitor for Listener {
    fn progress(&self, done: u64, total: u64) {
        if let Ok(mut heard) = self.0.lock() {
            heard.push((done, total));
        }
    }
}

fn progress(trial: &mut Trial<'_>) {
    let Some(small) = supported(trial) else { return };
    let Some(problem) = trial.problem("watched", &small) else { return };
    let request = Request::default();
    if !trial.takes(&problem, &request) {
        return;
    }
    let listener = Listener::default();
    let found = trial.engine().forward(&problem, &request, &listener).map(|_| ());
    trial.judge(found.is_ok(), "watched", "forward", || format!("returned {found:?}"));
    let heard = listener.0.into_inner().unwrap_or_default();
    let right = heard.iter().all(|&(done, total)| done <= total && total == heard[0].1);
    trial.judge(right, "watched", "progress", || format!("reported {heard:?}"));
}

/// A case that needs this feature.
fn needing(feature: Feature, base: &SmallProblem) -> Option<(SmallProblem, Request)> {
    let mut small = base.clone();
    let mut request = Request::default();
    let keys = base.k.shape()[2];
    let queries = base.q.shape()[2];
    match feature {
        Feature::Rule(rule) => small.spec.rule = rule,
        Feature::Input(dtype) => {
            small = SmallProblem {
                q: base.q.to_dtype(dtype),
                k: base.k.to_dtype(dtype),
                v: base.v.to_dtype(dtype),
                sink_k: base.sink_k.to_dtype(dtype),
                sink_v: base.sink_v.to_dtype(dtype),
                ..small
            };
            // The results keep a type that the engine has.
            request.dtype = Some(base.q.dtype());
        }
        Feature::Results(dtype) => request.dtype = Some(dtype),
        Feature::Weights => request.weights = true,
        Feature::Bias => request.bias = true,
        Feature::IrregularTime => small.spec.timeline = Timeline::Durations(Series::shared(vec![0.5; keys])),
        Feature::QueryTimes => small.spec.query_times = QueryTimes::At(Series::shared(vec![1.0; queries])),
        Feature::FixedEdges => small.spec.window = Window::between(1.0, 2.0),
        Feature::SlidingWindow => small.spec.window.lower = Lower::Sliding(2.0),
        Feature::OffsetEdge => small.spec.window.upper = Upper::Query { offset: -1.0 },
        Feature::KeyMask => small.spec.key_mask = Some(Series::shared(vec![true; keys])),
        Feature::Documents => {
            small.spec.documents = Some(Documents { keys: Series::shared(vec![1; keys]), queries: None });
        }
        Feature::Sink("absent") => small.sink = SinkKind::Absent,
        Feature::Sink("zeros") => small.sink = SinkKind::Zeros,
        Feature::Sink("copy") => small.sink = SinkKind::Copy,
        Feature::Sink("given") => small.sink = SinkKind::Given,
        _ => return None,
    }
    Some((small, request))
}

fn unsupported(trial: &mut Trial<'_>) {
    let Some(base) = supported(trial) else { return };
    let engine = trial.engine();
    let refusal = |found: Result<(), EngineError>, case: &str, trial: &mut Trial<'_>| {
        let named = matches!(&found, Err(EngineError::Unsupported { feature, .. }) if !engine.supports(*feature));
        trial.judge(named, case, "refusal", || {
            format!("returned {found:?}, expected Unsupported with a feature it lacks")
        });
    };
    let mut lacking = 0;
    for feature in Feature::all() {
        if engine.supports(feature) {
            continue;
        }
        lacking += 1;
        let case = format!("without {feature}");
        if feature == Feature::Backward {
            let Some(problem) = trial.problem(&case, &base) else { return };
            let Ok(pull) = Pull::new(&problem, 13) else { return };
            let Ok(upstream) = pull.upstream(&problem) else { return };
            let found = engine.backward(&problem, &upstream, None, &Request::default(), &Unattended).map(|_| ());
            refusal(found, &case, trial);
            continue;
        }
        let Some((small, request)) = needing(feature, &base) else { continue };
        // The Taylor rule itself refuses some of these.
        let Ok(problem) = small.problem() else { continue };
        if !problem.features(&request).contains(&feature) {
            continue;
        }
        let found = engine.forward(&problem, &request, &Unattended).map(|_| ());
        refusal(found, &case, trial);
    }
    trial.judge(lacking < Feature::all().len(), "features", "support", || "the engine supports nothing".to_owned());
}
