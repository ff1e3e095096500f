//! One smooth series, sampled evenly, at random and in clusters.
//!
//! Scores a(s) and values v(s) are sums of three sinusoids on [0, 1]; the answer is int e^a v / int e^a over [0, 1], by
//! Simpson's rule on the formulas themselves, so no engine has a part in it. Every sampling has a node at 0 and one at 1.

use super::{COMPARED, Curve, Plot, Sweep, Swept};
use crate::logic::state::{LowerEdge, Origin, Row, SinkChoice, State, UpperEdge};
use crate::logic::worker::Failure;
use contattn_core::{
    Dtype, Engine, Family, Layout, Monitor, Problem, Request, Rule, Scale, Shape, Sink, Spec, Tensor, TensorName,
    Timeline, Unattended, Window,
};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// How samples lie in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sampling {
    /// at even distances
    #[default]
    Even,
    /// at distances that are exponentially distributed
    Random,
    /// most of them close together, with wide gaps between
    Clustered,
}

impl Sampling {
    /// Every way.
    pub const ALL: [Sampling; 3] = [Sampling::Even, Sampling::Random, Sampling::Clustered];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Sampling::Even => "evenly",
            Sampling::Random => "at random",
            Sampling::Clustered => "in clusters",
        }
    }

    /// n times from 0 to 1.
    fn times(self, n: usize, seed: u64) -> Result<Vec<f64>, Failure> {
        let steps = n - 1;
        let family = match self {
            Sampling::Even => return Ok((0..n).map(|i| i as f64 / steps as f64).collect()),
            Sampling::Random => Family::IrregularTimes,
            Sampling::Clustered => Family::ClusteredTimes,
        };
        let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: 1, keys: steps, head_dim: 1, value_dim: 1 };
        let Timeline::Durations(durations) = family.sample(shape, Dtype::F64, seed)?.timeline else {
            return Ok(Vec::new());
        };
        let total: f64 = durations.row(0).iter().sum();
        let mut times = vec![0.0];
        let mut time = 0.0;
        for duration in durations.row(0) {
            time += duration;
            times.push((time / total).min(1.0));
        }
        times[n - 1] = 1.0;
        Ok(times)
    }
}

/// A smooth series and how it is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// which series
    pub seed: u64,
    /// size of the scores: how unevenly the answer weighs
    pub sharpness: f64,
    /// whole waves of the fastest sinusoid
    pub waves: u32,
    /// draws of random times over which errors are averaged
    pub draws: u32,
    /// which sampling a chosen point is shown with in the other views
    pub shown: Sampling,
}

impl Default for Series {
    fn default() -> Series {
        Series { seed: 1, sharpness: 1.5, waves: 5, draws: 16, shown: Sampling::Random }
    }
}

/// Three sinusoids: amplitude, frequency and phase of each.
type Waves = [(f64, f64, f64); 3];

fn value(waves: &Waves, s: f64) -> f64 {
    waves.iter().map(|(amplitude, frequency, phase)| amplitude * (TAU * frequency * s + phase).sin()).sum()
}

impl Series {
    /// The same with every setting in its range.
    #[must_use]
    pub fn within(mut self) -> Series {
        self.sharpness = if self.sharpness.is_finite() { self.sharpness.clamp(0.0, 20.0) } else { 1.5 };
        self.waves = self.waves.clamp(1, 20);
        self.draws = self.draws.clamp(1, 200);
        self
    }

    /// The sinusoids of the scores and of the values.
    fn waves(&self) -> Result<(Waves, Waves), Failure> {
        let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: 1, keys: 1, head_dim: 12, value_dim: 1 };
        let numbers = Family::Gauss.sample(shape, Dtype::F64, self.seed)?.q.to_f64();
        let fastest = f64::from(self.waves);
        let waves = |from: usize, size: f64| -> Waves {
            std::array::from_fn(|i| {
                // Slower waves are not multiples of one another, so nothing repeats.
                let frequency = fastest / [1.0, 1.618_033_988_749_895, 3.146_264_369_941_973][i];
                (
                    size / (1.0 + i as f64) * (1.0 + 0.3 * numbers[from + i].tanh()),
                    frequency,
                    TAU * numbers[from + 3 + i],
                )
            })
        };
        Ok((waves(0, self.sharpness), waves(6, 1.0)))
    }

    /// int e^a v / int e^a over [0, 1] (Simpson's rule, 2^14 steps: an error of about 1e-12 at 20 waves).
    fn answer(&self) -> Result<f64, Failure> {
        const STEPS: usize = 1 << 14;
        let (scores, values) = self.waves()?;
        let (mut mass, mut output) = (0.0, 0.0);
        for i in 0..=STEPS {
            let s = i as f64 / STEPS as f64;
            let weight = if i == 0 || i == STEPS { 1.0 } else { f64::from(2 + 2 * u32::from(i % 2 == 1)) };
            let e = weight * value(&scores, s).exp();
            mass += e;
            output += e * value(&values, s);
        }
        Ok(output / mass)
    }
}

/// One rule's output on samples at these times. The samples are nodes 1..n; there is no sink.
fn output(
    engine: &dyn Engine,
    rule: Option<Rule>,
    times: &[f64],
    keys: &[f64],
    values: &[f64],
) -> Result<f64, Failure> {
    let dtype = if engine.supports(contattn_core::Feature::Input(Dtype::F64)) { Dtype::F64 } else { Dtype::F32 };
    let n = times.len();
    let held = |shape: Vec<usize>, numbers: &[f64]| Tensor::from_f64(shape, dtype, numbers.iter().copied());
    let (q, k, v) = (held(vec![1, 1], &[1.0])?, held(vec![n, 1], keys)?, held(vec![n, 1], values)?);
    // Node 0 stands at the time of node 1: under Step the first sample holds on nothing.
    let line = std::iter::once(times[0]).chain(times.iter().copied()).collect();
    let spec = Spec {
        rule: rule.unwrap_or(Rule::Step),
        window: Window::full(),
        timeline: if rule.is_none() { Timeline::Unit } else { Timeline::Times(contattn_core::Series::shared(line)) },
        scale: Scale::Value(1.0),
        ..Spec::default()
    };
    let problem = Problem::new(
        q.view(TensorName::Query, Layout::Bhsd)?,
        k.view(TensorName::Key, Layout::Bhsd)?,
        v.view(TensorName::Value, Layout::Bhsd)?,
        Sink::Absent,
        spec,
    )?;
    Ok(engine.forward(&problem, &Request::default(), &Unattended)?.o.elements().get(0))
}

/// Errors of four rules over the number of samples, for each way of sampling.
pub(super) fn run(
    series: &Series,
    positions: &[f64],
    engine: &dyn Engine,
    monitor: &dyn Monitor,
    grown: &mut dyn FnMut(&Swept),
) -> Result<Swept, Failure> {
    let (scores, values) = series.waves()?;
    let answer = series.answer()?;
    let rules: Vec<(Option<Rule>, &str)> =
        std::iter::once((None, "softmax")).chain(COMPARED.iter().map(|(rule, name)| (Some(*rule), *name))).collect();
    let plots = Sampling::ALL.map(|sampling| Plot {
        title: format!("sampled {}", sampling.name()),
        axis: "error of o",
        logarithmic: true,
        curves: rules
            .iter()
            .map(|(_, name)| Curve { name: (*name).to_owned(), y: Vec::new(), faint: false, figures: None })
            .collect(),
        competing: 0..0,
        peaks: None,
    });
    let mut swept = Swept {
        sweep: Sweep { series: *series, ..Sweep::of(super::Kind::Sampling) },
        x: Vec::new(),
        planned: positions.len(),
        plots: plots.to_vec(),
        engine: engine.name().to_owned(),
        notes: vec![
            format!("The answer is {answer:.12}, by Simpson's rule on the series itself."),
            format!(
                "Errors are root mean squares over {} draws of times; samples lie at both ends always.",
                series.draws
            ),
        ],
    };
    for &n in positions {
        let n = (n as usize).max(2);
        for (which, sampling) in Sampling::ALL.into_iter().enumerate() {
            let draws = if sampling == Sampling::Even { 1 } else { u64::from(series.draws) };
            let mut squares = vec![0.0; rules.len()];
            for draw in 0..draws {
                if monitor.is_cancelled() {
                    return Err(Failure::Cancelled);
                }
                let times = sampling.times(n, series.seed.wrapping_mul(1000).wrapping_add(draw))?;
                let keys: Vec<f64> = times.iter().map(|s| value(&scores, *s)).collect();
                let sampled: Vec<f64> = times.iter().map(|s| value(&values, *s)).collect();
                for (square, (rule, _)) in squares.iter_mut().zip(&rules) {
                    *square += (output(engine, *rule, &times, &keys, &sampled)? - answer).powi(2);
                }
            }
            for (curve, square) in swept.plots[which].curves.iter_mut().zip(squares) {
                curve.y.push((square / draws as f64).sqrt());
            }
        }
        swept.x.push(n as f64);
        monitor.progress(swept.x.len() as u64, positions.len() as u64);
        grown(&swept);
    }
    Ok(swept)
}

/// The first draw of n samples as a row.
pub(super) fn state(series: &Series, n: usize, state: &State) -> Result<State, Failure> {
    let (scores, values) = series.waves()?;
    let times = series.shown.times(n.clamp(2, 4096), series.seed.wrapping_mul(1000))?;
    let with_node_0 = |numbers: Vec<f64>, node_0: f64| std::iter::once(node_0).chain(numbers).collect::<Vec<f64>>();
    let row = Row {
        keys: with_node_0(times.iter().map(|s| value(&scores, *s)).collect(), 0.0),
        values: with_node_0(times.iter().map(|s| value(&values, *s)).collect(), 0.0),
        times: with_node_0(times, 0.0),
        query: 1.0,
        origin: Origin::Typed,
        edited: true,
    };
    let (lower, upper) = (LowerEdge::Start, UpperEdge::End);
    Ok(State { row, sink: SinkChoice::Absent, lower, upper, ..state.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use contattn_cpu::Plain;

    #[test]
    fn times_run_from_0_to_1() {
        for sampling in Sampling::ALL {
            for n in [2, 3, 17, 300] {
                let times = sampling.times(n, 3).unwrap();
                assert_eq!((times.len(), times[0], times[n - 1]), (n, 0.0, 1.0));
                assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
            }
        }
    }

    /// With many samples every rule that knows time comes to the answer; softmax does on even times alone. Linear is exact for its
    /// own curve and not for one that is smooth between the samples, so no rule is always the nearest.
    #[test]
    fn rules_converge_to_the_answer() {
        let series = Series { draws: 4, ..Series::default() };
        let swept = run(&series, &[64.0, 512.0], &Plain::<f64>::new(), &Unattended, &mut |_| ()).unwrap();
        let errors = |sampling: usize, rule: usize| {
            let y = &swept.plots[sampling].curves[rule].y;
            (y[0], y[1])
        };
        let (softmax, step, trapezoid, linear) = (0, 1, 2, 3);
        for sampling in 0..3 {
            for rule in [step, trapezoid, linear] {
                let (few, many) = errors(sampling, rule);
                assert!(many < 0.15 * few, "{sampling} {rule}: {few} {many}");
            }
        }
        for sampling in 1..3 {
            let many = |rule| errors(sampling, rule).1;
            assert!(many(softmax) > 10.0 * many(trapezoid) && many(softmax) > 1.5 * many(linear), "{sampling}");
        }
        // Second order: 8 times as many samples, about 64 times closer.
        let y = &swept.plots[0].curves[linear].y;
        assert!((30.0..130.0).contains(&(y[0] / y[1])), "{y:?}");
    }

    #[test]
    fn a_point_is_a_row() {
        for shown in Sampling::ALL {
            let at = state(&Series { shown, ..Series::default() }, 40, &State::default()).unwrap();
            at.check().unwrap();
            assert_eq!(at.row.len(), 41);
        }
    }
}
