//! How fast the engines are on this machine, softmax beside continuous attention, under the roof of what the machine could do.

mod figure;

pub use figure::{bars, roofline, sheet, table, title};

use crate::logic::engines::Entry;
use crate::logic::worker::Failure;
use contattn_core::{
    Dtype, Engine, EngineError, Family, Monitor, Problem, Request, Rule, Sample, Shape, SinkKind, Spec, Unattended,
    Window,
};
use contattn_cpu::Plain;
use contattn_cpu::tiled::{Ceilings, Isa, ceilings};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Workload {
    /// nodes, and as many queries
    pub n: usize,
    /// width of q, k and v
    pub d: usize,
    /// heads, each with its own keys and values
    pub heads: usize,
    /// whether a query sees the nodes up to its own alone
    pub causal: bool,
    /// times of each engine
    pub repetitions: usize,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload { n: 512, d: 64, heads: 1, causal: true, repetitions: 9 }
    }
}

/// Lengths of sequences that can be chosen.
pub const LENGTHS: [usize; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
/// Widths that can be chosen.
pub const WIDTHS: [usize; 5] = [16, 32, 64, 128, 256];
/// Seconds that one call may take; an engine that needs more is timed on some of the rows.
const CALL: f64 = 0.5;
/// Rows on which an engine is checked, and its time foreseen.
const PROBE: usize = 4;

impl Workload {
    /// The same with every setting in its range.
    #[must_use]
    pub fn within(self) -> Workload {
        Workload {
            n: self.n.clamp(8, 4096),
            d: self.d.clamp(1, 256),
            heads: self.heads.clamp(1, 32),
            causal: self.causal,
            repetitions: self.repetitions.clamp(1, 99),
        }
    }

    /// Operations of the two products for all rows, a multiply-add counting as two; half of them where rows see half the nodes.
    pub fn operations(&self) -> f64 {
        let pairs = (self.heads * self.n * self.n) as f64 * if self.causal { 0.5 } else { 1.0 };
        4.0 * pairs * self.d as f64
    }

    /// Bytes that must move at least: q, k, v and o in f32, once.
    pub fn bytes(&self) -> f64 {
        16.0 * (self.heads * self.n * self.d) as f64
    }

    /// Operations to a byte.
    pub fn intensity(&self) -> f64 {
        self.operations() / self.bytes()
    }

    /// The last `queries` rows of it.
    fn sample(&self, queries: usize) -> Result<Sample, Failure> {
        let shape = Shape {
            batch: 1,
            heads: self.heads,
            kv_heads: self.heads,
            queries,
            keys: self.n,
            head_dim: self.d,
            value_dim: self.d,
        };
        Ok(Family::Gauss.sample(shape, Dtype::F32, 1)?)
    }

    fn spec(&self, rule: Rule) -> Spec {
        Spec { rule, window: if self.causal { Window::causal() } else { Window::full() }, ..Spec::default() }
    }
}

/// Times of one engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// its name
    pub name: &'static str,
    /// rows of each call
    pub rows: usize,
    /// milliseconds of each call under Step, which is softmax here
    pub softmax: Vec<f64>,
    /// milliseconds of each call under Linear
    pub linear: Vec<f64>,
    /// largest distance of o from the plain engine's in f64, on some rows
    pub error: f64,
    /// why it has no times
    pub missing: Option<String>,
}

impl Timed {
    /// Whether times are of some rows, and that of all rows is foreseen from them.
    pub fn is_extrapolated(&self, workload: &Workload) -> bool {
        self.rows < workload.n
    }

    /// The median in milliseconds for all rows.
    pub fn median(&self, workload: &Workload, rule: Rule) -> Option<f64> {
        let times = if rule == Rule::Step { &self.softmax } else { &self.linear };
        let mut times = times.clone();
        times.sort_by(f64::total_cmp);
        // The last rows of a causal window see nearly all nodes, where rows see half of them on average.
        let share = |rows: usize| {
            let (rows, n) = (rows as f64, workload.n as f64);
            if workload.causal { rows * (n - 0.5 * rows) / (0.5 * n * n) } else { rows / n }
        };
        times.get(times.len() / 2).map(|time| time / share(self.rows))
    }

    /// Operations in a second under Linear.
    pub fn rate(&self, workload: &Workload) -> Option<f64> {
        self.median(workload, Rule::Linear).map(|ms| workload.operations() / (1e-3 * ms))
    }

    /// Time of softmax over time of continuous attention.
    pub fn ratio(&self, workload: &Workload) -> Option<f64> {
        Some(self.median(workload, Rule::Step)? / self.median(workload, Rule::Linear)?)
    }
}

/// What has been measured so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// of what
    pub workload: Workload,
    /// one for each engine
    pub engines: Vec<Timed>,
    /// limits of the machine; `None` until they are measured
    pub roof: Option<Ceilings>,
    /// the instruction set of the roof
    pub isa: &'static str,
}

fn problem(sample: &Sample, spec: Spec) -> Result<Problem<'_>, Failure> {
    Ok(sample.problem(SinkKind::Zeros, spec)?)
}

/// Times all engines in turns, so that what disturbs the machine disturbs them alike; what there is after every turn is handed
/// over.
///
/// # Errors
/// Cancellation.
pub fn run(
    workload: &Workload,
    engines: &[Entry],
    monitor: &dyn Monitor,
    grown: &mut dyn FnMut(&Speed),
) -> Result<Speed, Failure> {
    let workload = workload.within();
    let isa = Isa::best();
    let mut speed = Speed { workload, engines: Vec::new(), roof: None, isa: isa.name() };
    let probe = workload.sample(PROBE.min(workload.n))?;
    let exact =
        Plain::<f64>::new().forward(&problem(&probe, workload.spec(Rule::Linear))?, &Request::default(), monitor)?;
    let exact = exact.o.to_f64();
    for entry in engines {
        let mut timed = Timed {
            name: entry.name,
            rows: workload.n,
            softmax: Vec::new(),
            linear: Vec::new(),
            error: 0.0,
            missing: None,
        };
        match &entry.engine {
            Ok(engine) => match probed(engine.as_ref(), &workload, &probe, &exact, monitor) {
                Ok((rows, error)) => (timed.rows, timed.error) = (rows, error),
                Err(Failure::Cancelled) => return Err(Failure::Cancelled),
                Err(failure) => timed.missing = Some(failure.to_string()),
            },
            Err(error) => timed.missing = Some(error.to_string()),
        }
        speed.engines.push(timed);
        grown(&speed);
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    speed.roof = ceilings(isa, threads).ok();
    grown(&speed);
    for turn in 0..workload.repetitions {
        for (at, entry) in engines.iter().enumerate() {
            let Ok(engine) = &entry.engine else { continue };
            if speed.engines[at].missing.is_some() {
                continue;
            }
            let sample = workload.sample(speed.engines[at].rows)?;
            // What comes first finds the caches full of another engine's numbers: each rule does in every other turn. Before
            // the first turn both run once for nothing: shaders are compiled then, and threads started.
            let rules = if turn % 2 == 0 { [Rule::Step, Rule::Linear] } else { [Rule::Linear, Rule::Step] };
            for rule in rules {
                let problem = problem(&sample, workload.spec(rule))?;
                let warmed = if turn == 0 { time(engine.as_ref(), &problem, monitor).map(drop) } else { Ok(()) };
                match warmed.and_then(|()| time(engine.as_ref(), &problem, monitor)) {
                    Ok(ms) if rule == Rule::Step => speed.engines[at].softmax.push(ms),
                    Ok(ms) => speed.engines[at].linear.push(ms),
                    Err(EngineError::Cancelled) => return Err(Failure::Cancelled),
                    Err(error) => speed.engines[at].missing = Some(error.to_string()),
                }
            }
            grown(&speed);
        }
        monitor.progress(turn as u64 + 1, workload.repetitions as u64);
    }
    Ok(speed)
}

/// Milliseconds of one call.
fn time(engine: &dyn Engine, problem: &Problem<'_>, monitor: &dyn Monitor) -> Result<f64, EngineError> {
    if monitor.is_cancelled() {
        return Err(EngineError::Cancelled);
    }
    let start = Instant::now();
    engine.forward(problem, &Request::default(), &Unattended)?;
    Ok(1e3 * start.elapsed().as_secs_f64())
}

/// Whether the engine is right on some rows, and how many rows a call can have.
fn probed(
    engine: &dyn Engine,
    workload: &Workload,
    probe: &Sample,
    exact: &[f64],
    monitor: &dyn Monitor,
) -> Result<(usize, f64), Failure> {
    let problem = problem(probe, workload.spec(Rule::Linear))?;
    let output = engine.forward(&problem, &Request::default(), monitor)?;
    // What is no number is as wrong as can be, and `max` would pass over it.
    let distance = |(a, b): (&f64, &f64)| if a.is_nan() { f64::INFINITY } else { (a - b).abs() };
    let error = output.o.to_f64().iter().zip(exact).map(distance).fold(0.0, f64::max);
    if error >= 1e-3 {
        return Err(Failure::new(format!("wrong by {error:.1e}: not timed"), "look at it in the Precision view"));
    }
    let ms = time(engine, &problem, monitor)?;
    let rows = problem.shape().queries as f64 * CALL / (1e-3 * ms).max(1e-9);
    Ok(((rows as usize).clamp(1, workload.n), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::engines;

    #[test]
    fn every_engine_is_timed_or_says_why() {
        let workload = Workload { n: 64, d: 16, repetitions: 3, ..Workload::default() };
        let mut seen = 0;
        let speed =
            run(&workload, &engines::all(Box::new(engines::gpu_of_its_own)), &Unattended, &mut |_| seen += 1).unwrap();
        assert!(seen > speed.engines.len());
        for timed in &speed.engines {
            match &timed.missing {
                Some(reason) => assert!(!reason.is_empty()),
                None => {
                    assert_eq!((timed.softmax.len(), timed.linear.len()), (3, 3), "{}", timed.name);
                    assert!(timed.rate(&workload).unwrap() > 0.0 && timed.error < 1e-4);
                    // No engine goes through the roof, which is the processor's: a card has another.
                    let roof = speed.roof.unwrap();
                    let below = timed.rate(&workload).unwrap() < 1.5 * roof.flops;
                    assert!(below || timed.name == "gpu", "{}", timed.name);
                }
            }
        }
        assert!(speed.engines.iter().filter(|timed| timed.missing.is_none()).count() >= 3);
    }

    #[test]
    fn times_of_some_rows_stand_for_all() {
        let workload = Workload { n: 100, causal: false, ..Workload::default() };
        let timed =
            |rows| Timed { name: "", rows, softmax: vec![1.0], linear: vec![3.0, 1.0, 2.0], error: 0.0, missing: None };
        assert_eq!(timed(100).median(&workload, Rule::Linear), Some(2.0));
        assert_eq!(timed(25).median(&workload, Rule::Linear), Some(8.0));
        // The last quarter of causal rows sees 87.5 % of the nodes on average, all rows 50 %.
        let causal = Workload { causal: true, ..workload };
        let all = timed(25).median(&causal, Rule::Linear).unwrap();
        assert!((all - 2.0 * (100.0 * 50.0) / (25.0 * 87.5)).abs() < 1e-9, "{all}");
    }

    #[test]
    fn a_cancelled_run_stops() {
        let token = contattn_core::CancelToken::default();
        token.cancel();
        let found = run(&Workload::default(), &engines::all(Box::new(engines::gpu_of_its_own)), &token, &mut |_| ());
        assert!(matches!(found, Err(Failure::Cancelled)));
    }
}
