//! One case, opened: inputs made and results judged, so that its contenders can be timed in any order.

use super::case::{Case, Direction};
use super::clock::{Clock, Elapsed};
use super::decoding::Caches;
use super::inputs::{Contender, Inputs, Rows, upstream};
use super::judge::Judge;
use contattn_core::{CancelToken, Engine, EngineError, Family, Monitor, Request, Rule, Tensor};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runner {
    /// the engine, by a rule
    Engine(Contender),
    /// a loop that reads and adds keys and values
    Read,
}

impl Runner {
    /// The name in records.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Runner::Engine(_) => "tiled",
            Runner::Read => "read-and-add",
        }
    }
}

/// A case whose results have been judged.
pub(super) struct Bench<'e> {
    engine: &'e dyn Engine,
    threads: usize,
    pub(super) inputs: Inputs,
    pub(super) rows: Rows,
    /// who runs, with the largest error
    pub(super) runners: Vec<(Runner, Option<f64>)>,
    judged: Vec<Judged>,
    caches: Option<Caches>,
}

/// Exact results of a rule at unit times, and what the engine gave, for judging others.
pub(super) struct Judged {
    pub(super) contender: Contender,
    pub(super) judge: Judge,
    pub(super) o: Tensor,
}

/// What is the same for all cases.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) contenders: Vec<Contender>,
    pub(super) family: Family,
    pub(super) seed: u64,
    pub(super) threads: usize,
}

impl<'e> Bench<'e> {
    /// Makes the inputs and judges what the engine gives for them.
    ///
    /// # Errors
    /// A wrong result; what the engine refuses; memory; cancellation.
    pub(super) fn open(
        engine: &'e dyn Engine,
        case: Case,
        settings: &Settings,
        cancel: &CancelToken,
    ) -> anyhow::Result<Bench<'e>> {
        let Settings { contenders, family, seed, threads } = settings;
        let threads = *threads;
        let inputs = Inputs::sample(case, *family, *seed)?;
        let rows = Rows::of(&inputs)?;
        let (mut runners, mut judged) = (Vec::new(), Vec::new());
        for &contender in contenders {
            let judge = Judge::new(&inputs, &rows, contender, case.direction == Direction::Fwdbwd, cancel)?;
            let whose = format!(
                "engine {}, rule {}, {} time, {} {}",
                engine.name(),
                contender.rule,
                contender.time(),
                case.lengths(),
                case.direction.name()
            );
            let (error, o) = judge.engine(engine, &inputs.problem(contender)?, &rows, &whose, cancel)?;
            runners.push((Runner::Engine(contender), Some(error)));
            if !contender.irregular {
                judged.push(Judged { contender, judge, o });
            }
        }
        let caches = if case.direction == Direction::Decode {
            runners.push((Runner::Read, None));
            Some(Caches::of(&inputs, threads)?)
        } else {
            None
        };
        Ok(Bench { engine, threads, inputs, rows, runners, judged, caches })
    }

    /// What judges a rule at unit times.
    pub(super) fn judged(&self, rule: Rule) -> Option<&Judged> {
        self.judged.iter().find(|judged| judged.contender.rule == rule)
    }

    /// Runs one of [`runners`](Bench::runners) once.
    ///
    /// # Errors
    /// What the engine refuses; cancellation.
    pub(super) fn time(&mut self, at: usize, cancel: &CancelToken) -> anyhow::Result<Elapsed> {
        let runner = self.runners[at].0;
        let copy = self.caches.as_mut().map(Caches::next);
        let Runner::Engine(contender) = runner else {
            let clock = Clock::start(self.threads);
            if let (Some(caches), Some(copy)) = (&self.caches, copy) {
                caches.read(copy);
            }
            return Ok(clock.elapsed());
        };
        let problem = self.inputs.problem(contender)?;
        let problem = match (&self.caches, copy) {
            (Some(caches), Some(copy)) => caches.problem(copy, &problem, problem.spec())?,
            _ => problem,
        };
        let upstream = upstream(&problem, &self.inputs.g)?;
        let request = Request::default();
        let clock = Clock::start(self.threads);
        let output = self.engine.forward(&problem, &request, cancel)?;
        if self.inputs.case.direction == Direction::Fwdbwd {
            black_box(self.engine.backward(&problem, &upstream, Some(&output), &request, cancel)?);
        }
        black_box(output);
        Ok(clock.elapsed())
    }

    /// Rounds in each of which every runner runs once, until `budget` is spent: at least 3, at most 31. What each took.
    ///
    /// # Errors
    /// As [`time`](Bench::time).
    pub(super) fn rounds(&mut self, budget: Duration, cancel: &CancelToken) -> anyhow::Result<Vec<Vec<Elapsed>>> {
        let mut times = vec![Vec::new(); self.runners.len()];
        let began = Instant::now();
        for round in 0..31 {
            if round >= 3 && began.elapsed() > budget {
                break;
            }
            for (at, times) in times.iter_mut().enumerate() {
                times.push(self.time(at, cancel)?);
                if cancel.is_cancelled() {
                    return Err(EngineError::Cancelled.into());
                }
            }
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::Sight;
    use super::*;
    use crate::exit::Exit;
    use crate::refusal::Refusal;
    use contattn_core::{Dtype, Feature, Gradient, Open, Output, Problem, Upstream};
    use contattn_cpu::{Tiled, tiled::Options};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The tiled engine with one element of one result off.
    struct Off {
        engine: Tiled,
        spoilt: Option<&'static str>,
        by: f64,
        calls: AtomicUsize,
    }

    impl Off {
        fn new(spoilt: Option<&'static str>, by: f64) -> Off {
            let engine = Tiled::open(Options { isa: None, threads: Some(1) }).unwrap();
            Off { engine, spoilt, by, calls: AtomicUsize::new(0) }
        }

        fn spoil(&self, name: &str, tensor: Tensor) -> Tensor {
            if self.spoilt != Some(name) {
                return tensor;
            }
            let mut values = tensor.to_f64();
            *values.last_mut().unwrap() += self.by;
            Tensor::from_f64(tensor.shape().to_vec(), tensor.dtype(), values).unwrap()
        }
    }

    impl Engine for Off {
        fn name(&self) -> &str {
            "off"
        }
        fn arithmetic(&self) -> Dtype {
            Dtype::F32
        }
        fn supports(&self, feature: Feature) -> bool {
            self.engine.supports(feature)
        }
        fn forward(&self, p: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let output = self.engine.forward(p, request, monitor)?;
            Ok(Output { o: self.spoil("o", output.o), ..output })
        }
        fn backward(
            &self,
            p: &Problem<'_>,
            upstream: &Upstream<'_>,
            saved: Option<&Output>,
            request: &Request,
            monitor: &dyn Monitor,
        ) -> Result<Gradient, EngineError> {
            let Gradient { dq, dk, dv, sink, durations } =
                self.engine.backward(p, upstream, saved, request, monitor)?;
            let (dq, dk, dv) = (self.spoil("dq", dq), self.spoil("dk", dk), self.spoil("dv", dv));
            Ok(Gradient { dq, dk, dv, sink, durations })
        }
    }

    fn settings() -> Settings {
        Settings { contenders: Contender::ALL.to_vec(), family: Family::Peaked, seed: 1, threads: 1 }
    }

    fn case(direction: Direction) -> Case {
        Case::new("2:1x70x8".parse().unwrap(), direction, Sight::Causal)
    }

    #[test]
    fn a_wrong_result_is_refused_before_it_is_timed() {
        for spoilt in ["o", "dq", "dk", "dv"] {
            for by in [1e-3, f64::NAN] {
                let off = Off::new(Some(spoilt), by);
                let error =
                    Bench::open(&off, case(Direction::Fwdbwd), &settings(), &CancelToken::default()).err().unwrap();
                let refusal = error.downcast_ref::<Refusal>().unwrap();
                assert_eq!(refusal.exit, Exit::Failed);
                assert!(refusal.what.contains(&format!(": {spoilt}[")), "{spoilt}: {}", refusal.what);
                // It ran once, to be judged.
                assert_eq!(off.calls.load(Ordering::Relaxed), 1);
            }
        }
    }

    #[test]
    fn right_results_pass_and_are_timed() {
        for (direction, runners) in [(Direction::Fwd, 3), (Direction::Fwdbwd, 3), (Direction::Decode, 4)] {
            let good = Off::new(None, 0.0);
            let cancel = CancelToken::default();
            let mut bench = Bench::open(&good, case(direction), &settings(), &cancel).unwrap();
            assert_eq!(bench.runners.len(), runners);
            for (runner, error) in &bench.runners {
                assert_eq!(error.is_none(), *runner == Runner::Read);
                assert!(error.is_none_or(|error| error > 0.0 && error < 1e-4), "{error:?}");
            }
            let times = bench.rounds(Duration::ZERO, &cancel).unwrap();
            assert!(times.iter().all(|times| times.len() == 3 && times.iter().all(|t| t.fair() > 0.0)));
        }
    }

    #[test]
    fn cancelling_ends_it() {
        let good = Off::new(None, 0.0);
        let cancel = CancelToken::default();
        let mut bench = Bench::open(&good, case(Direction::Decode), &settings(), &cancel).unwrap();
        cancel.cancel();
        let error = bench.rounds(Duration::from_secs(60), &cancel).unwrap_err();
        assert_eq!(error.downcast_ref::<EngineError>(), Some(&EngineError::Cancelled));
    }
}
