//! One row of a problem, written down by its scores.

use super::plant::Side;
use super::trial::Trial;
use crate::enclosure::Enclosure;
use crate::exact::{ExactProblem, Row};
use crate::quadrature::Quadrature;
use crate::route::{Route, values};
use crate::value::{Certified, RowValues};
use contattn_core::{
    Documents, Dtype, Layout, Problem, ProblemError, QueryTimes, Rule, Scale, Series, Sink, Spec, Tensor, TensorName,
    Timeline, Window,
};
use std::sync::LazyLock;

/// Integrates for all theorems: it keeps the points of the precisions it met.
static QUADRATURE: LazyLock<Quadrature> = LazyLock::new(Quadrature::default);

/// The route that integrates.
pub(super) fn quadrature() -> &'static dyn Route {
    &*QUADRATURE
}

/// Node 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    Absent,
    Zeros,
    Copy,
    /// score and value
    Given(f64, f64),
}

/// A row with one channel of v: head_dim 1, q = 1, scale 1, so that keys are scores.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) rule: Rule,
    pub(super) start: Start,
    pub(super) scores: Vec<f64>,
    pub(super) values: Vec<f64>,
    pub(super) timeline: Timeline,
    pub(super) window: Window,
    /// t; by default that of the last node
    pub(super) time: Option<f64>,
    pub(super) mask: Option<Vec<bool>>,
    /// of the nodes, and of the query
    pub(super) documents: Option<(Vec<i64>, i64)>,
}

/// Results of a row; what is no number is enclosed by all of them.
#[derive(Clone, Debug)]
pub(super) struct Results {
    pub(super) o: Enclosure,
    pub(super) lse: Enclosure,
    pub(super) weights: Vec<Enclosure>,
    /// `None` for nodes that get nothing
    pub(super) bias: Vec<Option<Enclosure>>,
}

impl Curve {
    /// All nodes on the unit time line.
    pub(super) fn unit(rule: Rule, start: Start, scores: Vec<f64>, values: Vec<f64>) -> Curve {
        let (timeline, window) = (Timeline::Unit, Window::full());
        Curve { rule, start, scores, values, timeline, window, time: None, mask: None, documents: None }
    }

    pub(super) fn nodes(&self) -> usize {
        self.scores.len()
    }

    /// Hands the row to `f`; an error where this is no problem.
    pub(super) fn row<T>(&self, f: impl FnOnce(&Row<'_>) -> T) -> Result<T, ProblemError> {
        let n = self.nodes();
        let tensor = |x: &[f64]| Tensor::from_f64(vec![1, 1, x.len(), 1], Dtype::F64, x.iter().copied());
        let (q, k, v) = (tensor(&[1.0])?, tensor(&self.scores)?, tensor(&self.values)?);
        let (first_k, first_v) = match self.start {
            Start::Given(score, value) => (tensor(&[score])?, tensor(&[value])?),
            _ => (tensor(&[0.0])?, tensor(&[0.0])?),
        };
        let sink = match self.start {
            Start::Absent => Sink::Absent,
            Start::Zeros => Sink::Zeros,
            Start::Copy => Sink::Copy,
            Start::Given(..) => Sink::Given {
                key: first_k.view(TensorName::SinkKey, Layout::Bhsd)?,
                value: first_v.view(TensorName::SinkValue, Layout::Bhsd)?,
            },
        };
        let query_times = self.time.map_or(QueryTimes::LastNodes, |t| QueryTimes::At(Series::shared(vec![t])));
        let documents = self.documents.as_ref().map(|(keys, query)| Documents {
            keys: Series::shared(keys.clone()),
            queries: Some(Series::shared(vec![*query])),
        });
        debug_assert!(self.mask.as_ref().is_none_or(|mask| mask.len() == n));
        let spec = Spec {
            rule: self.rule,
            window: self.window.clone(),
            timeline: self.timeline.clone(),
            query_times,
            key_mask: self.mask.clone().map(Series::shared),
            documents,
            scale: Scale::Value(1.0),
        };
        let view = |x, name| Tensor::view(x, name, Layout::Bhsd);
        let (q, k, v) = (view(&q, TensorName::Query)?, view(&k, TensorName::Key)?, view(&v, TensorName::Value)?);
        let problem = Problem::new(q, k, v, sink, spec)?;
        let exact = ExactProblem::new(&problem);
        let row = exact.row(0, 0, 0);
        Ok(f(&row))
    }

    /// o, lse, w and b by a route.
    pub(super) fn results(&self, trial: &Trial<'_>, route: &dyn Route) -> Results {
        let p = trial.precision();
        let found = match self.row(|row| values(route, row, p)) {
            Ok(found) => found,
            Err(error) => {
                trial.fail(format_args!("not a problem: {error}"));
                let nan = |n| vec![Certified::Nan; n];
                let n = self.nodes() + 1;
                RowValues { o: nan(1), lse: Certified::Nan, weights: nan(n), bias: nan(n) }
            }
        };
        let number = |x: &Certified| x.number().cloned().unwrap_or_else(|| Enclosure::whole(p));
        Results {
            o: found.o.first().map_or_else(|| Enclosure::whole(p), number),
            lse: number(&found.lse),
            weights: found.weights.iter().map(number).collect(),
            bias: found.bias.iter().map(|b| b.number().cloned()).collect(),
        }
    }

    /// The same row with one score passed through a side, in the middle of the row: for results that do not depend on v.
    pub(super) fn scored_by(mut self, side: Side<'_>) -> Curve {
        let middle = self.nodes() / 2;
        if let Some(a) = self.scores.get_mut(middle) {
            *a = side.input("a score", *a);
        }
        self
    }

    /// The same row with one score, one value and one duration passed through a side, in the middle of the row.
    pub(super) fn seen_by(self, side: Side<'_>) -> Curve {
        let mut curve = self.scored_by(side);
        let middle = curve.nodes() / 2;
        if let Some(v) = curve.values.get_mut(middle) {
            *v = side.input("a value", *v);
        }
        if let Timeline::Durations(series) = &curve.timeline {
            let mut durations = series.values().to_vec();
            if let Some(d) = durations.get_mut(middle) {
                *d = side.input("a duration", *d);
            }
            curve.timeline = Timeline::Durations(Series::shared(durations));
        }
        curve
    }

    /// The largest |v| that may be seen, as the size beside which o is compared; 1 where all are 0.
    pub(super) fn value_size(&self, p: u32) -> Enclosure {
        let start = if let Start::Given(_, v) = self.start { v.abs() } else { 0.0 };
        let largest = self.values.iter().fold(start, |m, v| m.max(v.abs()));
        Enclosure::from_f64(p, if largest > 0.0 { largest } else { 1.0 })
    }

    /// Scores of nodes 0..=n and their values, for formulas on the unit time line with node 0 given.
    pub(super) fn numbers(&self, p: u32) -> (Vec<Enclosure>, Vec<Enclosure>) {
        let Start::Given(score, value) = self.start else {
            let of = |x: &[f64]| x.iter().map(|&x| Enclosure::from_f64(p, x)).collect();
            return (of(&self.scores), of(&self.values));
        };
        let of = |first: f64, x: &[f64]| [first].iter().chain(x).map(|&x| Enclosure::from_f64(p, x)).collect();
        (of(score, &self.scores), of(value, &self.values))
    }
}

/// Rows of scores and values: ties, differences of a few units in the last place and below the normal range, spikes,
/// huge ramps, zeros, one node alone, then random ones.
pub(super) fn rows(trial: &Trial<'_>) -> Vec<(Vec<f64>, Vec<f64>)> {
    let ulp = 2f64.powi(-51);
    let huge = 2f64.powi(20);
    let mut scores: Vec<Vec<f64>> = vec![
        vec![0.75; 4],
        vec![0.5, 0.5 + ulp, 0.5, 0.5 - ulp, 0.5],
        vec![0.0, 3.0 * f64::from_bits(1), f64::from_bits(1), 0.0],
        vec![1000.0, -1000.0, 1000.0, -1000.0],
        vec![huge, -2.0 * huge, 64.0 * huge, 0.0],
        vec![0.0; 3],
        vec![-2.5],
        vec![-60000.0, -59000.0, -59999.0],
    ];
    let mut numbers = trial.numbers();
    for at in 0..trial.rounds() {
        let n = 2 + numbers.below(5);
        let size = [1.0, 4.0, 32.0][at % 3];
        scores.push((0..n).map(|_| numbers.short(size)).collect());
    }
    scores.into_iter().map(|a| (a.clone(), a.iter().map(|_| numbers.short(2.0)).collect())).collect()
}

/// Durations for n nodes: ones, short random ones, some zero (but not all), of very different size.
pub(super) fn durations(trial: &Trial<'_>, n: usize, kind: usize) -> Vec<f64> {
    let mut numbers = trial.numbers();
    let mut all: Vec<f64> = (0..n)
        .map(|i| match kind % 4 {
            0 => 1.0,
            1 => numbers.short_positive(2.0),
            2 if i % 3 == 0 || numbers.below(3) == 0 => 0.0,
            2 => numbers.short_positive(1.0),
            _ => numbers.short_positive(1.0) * f64::from(numbers.below(40) as i32 - 20).exp2(),
        })
        .collect();
    if let Some(last) = all.last_mut()
        && *last == 0.0
    {
        *last = 0.5;
    }
    all
}

/// A time line of these durations from 0.
pub(super) fn timeline(durations: Vec<f64>) -> Timeline {
    Timeline::Durations(Series::shared(durations))
}

/// A part of [0, end] as a number of at most 13 bits.
pub(super) fn inside(part: f64, end: f64) -> f64 {
    f64::from_bits((end * part).to_bits() & !((1 << 40) - 1))
}
