//! Problems in one line: heads from tensors, and curves of scores.

use crate::numbers::simpson;
use contattn_core::{
    Dtype, Engine, EngineError, Layout, Output, Problem, ProblemError, Request, Rule, Scale, Series, Sink, Spec,
    Tensor, TensorName, Timeline, Unattended, Upstream, Window,
};

/// Why a notebook has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotebookError {
    /// The problem is not one.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The engine did not evaluate it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The figure could not be drawn.
    #[error(transparent)]
    Figure(#[from] contattn_figure::FigureError),
    /// A sweep has no figure of smoothness.
    #[error(transparent)]
    Smoothness(#[from] contattn_check::smoothness::SmoothnessError),
    /// A program could not be started.
    #[error("{program}: {error}")]
    Program {
        /// its name
        program: String,
        /// why
        #[source]
        error: std::io::Error,
    },
}

/// All results in `f64` for queries, keys and values: o, lse, weights and bias where the engine returns them.
///
/// # Errors
/// Tensors that do not fit together; what the engine lacks.
pub fn attend(
    engine: &dyn Engine,
    (q, k, v): (&Tensor, &Tensor, &Tensor),
    sink: Sink<'_>,
    spec: Spec,
) -> Result<Output, NotebookError> {
    let view = |tensor, name| Tensor::view(tensor, name, Layout::Bhsd);
    let (q, k, v) = (view(q, TensorName::Query)?, view(k, TensorName::Key)?, view(v, TensorName::Value)?);
    let problem = Problem::new(q, k, v, sink, spec)?;
    let supports = |feature| engine.supports(feature);
    let request = Request {
        weights: supports(contattn_core::Feature::Weights),
        bias: supports(contattn_core::Feature::Bias),
        dtype: Some(Dtype::F64),
    };
    Ok(engine.forward(&problem, &request, &Unattended)?)
}

/// One query over nodes 0..=n on the time line, given by its scores: head_dim 1, q = 1, scale 1, so that keys are scores.
///
/// ```
/// use contattn_notebook::{Curve, contattn_core::Rule, contattn_reference::Reference};
/// let curve = Curve::uniform([0.0, 1.0, 0.5], [0.0, 1.0, 2.0]);
/// let row = curve.attend(&Reference::new(), Rule::Linear)?;
/// assert_eq!(row.weights.len(), 3);
/// assert!((row.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
/// # Ok::<(), contattn_notebook::NotebookError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// tau_0 <= ... <= tau_n
    pub times: Vec<f64>,
    /// a_0, ..., a_n
    pub scores: Vec<f64>,
    /// v_0, ..., v_n
    pub values: Vec<f64>,
}

/// Results of one query, by node 0..=n where there are several.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// the output
    pub o: f64,
    /// log Z
    pub lse: f64,
    /// w_0, ..., w_n
    pub weights: Vec<f64>,
    /// b_0, ..., b_n
    pub bias: Vec<f64>,
}

/// Gradients of one query, by node 0..=n, durations by segment 1..=n.
#[derive(Clone, Debug, PartialEq)]
pub struct RowGradient {
    /// dL/da
    pub scores: Vec<f64>,
    /// dL/dv
    pub values: Vec<f64>,
    /// dL/dD
    pub durations: Vec<f64>,
}

impl Curve {
    /// Nodes at the times 0, 1, 2, ...
    pub fn uniform(scores: impl Into<Vec<f64>>, values: impl Into<Vec<f64>>) -> Curve {
        let scores = scores.into();
        Curve { times: (0..scores.len()).map(|i| i as f64).collect(), scores, values: values.into() }
    }

    /// Nodes at these times.
    pub fn at(times: impl Into<Vec<f64>>, scores: impl Into<Vec<f64>>, values: impl Into<Vec<f64>>) -> Curve {
        Curve { times: times.into(), scores: scores.into(), values: values.into() }
    }

    /// The score at time s by linear interpolation, held constant outside the nodes.
    pub fn score(&self, s: f64) -> f64 {
        self.interpolated(s, |i| self.scores[i])
    }

    /// N_i(s): 1 at node i, 0 at all others, straight in between.
    pub fn hat(&self, i: usize, s: f64) -> f64 {
        self.interpolated(s, |j| f64::from(i == j))
    }

    /// The integral of e^{a(s)} f(s) over all segments, by Simpson's rule with 500 panels on each.
    pub fn integral(&self, f: impl Fn(f64) -> f64) -> f64 {
        let segment = |t: &[f64]| simpson(t[0], t[1], 500, |s| libm::exp(self.score(s)) * f(s));
        self.times.windows(2).map(segment).sum()
    }

    fn interpolated(&self, s: f64, at: impl Fn(usize) -> f64) -> f64 {
        let right = self.times.partition_point(|&t| t < s);
        match right {
            _ if self.times.is_empty() => f64::NAN,
            0 => at(0),
            i if i == self.times.len() => at(i - 1),
            i => {
                let u = (s - self.times[i - 1]) / (self.times[i] - self.times[i - 1]);
                (1.0 - u) * at(i - 1) + u * at(i)
            }
        }
    }

    /// Calls `use_it` with the problem of this curve: all nodes visible, node 0 as the given sink.
    fn with_problem<T>(
        &self,
        rule: Rule,
        use_it: impl FnOnce(&Problem<'_>) -> Result<T, NotebookError>,
    ) -> Result<T, NotebookError> {
        let column = |x: &[f64]| Tensor::from_f64(vec![1, 1, x.len(), 1], Dtype::F64, x.iter().copied());
        let (first_score, scores) = self.scores.split_at(self.scores.len().min(1));
        let (first_value, values) = self.values.split_at(self.values.len().min(1));
        let tensors = [column(&[1.0])?, column(scores)?, column(values)?, column(first_score)?, column(first_value)?];
        let names = [TensorName::Query, TensorName::Key, TensorName::Value, TensorName::SinkKey, TensorName::SinkValue];
        let mut views = Vec::new();
        for (tensor, name) in tensors.iter().zip(names) {
            views.push(tensor.view(name, Layout::Bhsd)?);
        }
        let spec = Spec {
            rule,
            window: Window::full(),
            timeline: Timeline::Times(Series::shared(self.times.clone())),
            scale: Scale::Value(1.0),
            ..Spec::default()
        };
        use_it(&Problem::new(views[0], views[1], views[2], Sink::Given { key: views[3], value: views[4] }, spec)?)
    }

    /// o, lse, weights and bias over the whole time line.
    ///
    /// # Errors
    /// Lengths that differ, times out of order; what the engine lacks.
    pub fn attend(&self, engine: &dyn Engine, rule: Rule) -> Result<Row, NotebookError> {
        self.with_problem(rule, |problem| {
            let request = Request { weights: true, bias: true, dtype: None };
            let output = engine.forward(problem, &request, &Unattended)?;
            let all = |tensor: &Option<Tensor>| tensor.as_ref().map(Tensor::to_f64).unwrap_or_default();
            Ok(Row {
                o: output.o.elements().get(0),
                lse: output.lse.elements().get(0),
                weights: all(&output.weights),
                bias: all(&output.bias),
            })
        })
    }

    /// The gradients of o.
    ///
    /// # Errors
    /// As [`attend`](Curve::attend).
    pub fn gradient(&self, engine: &dyn Engine, rule: Rule) -> Result<RowGradient, NotebookError> {
        self.with_problem(rule, |problem| {
            let one = Tensor::from_f64(vec![1, 1, 1, 1], Dtype::F64, [1.0])?;
            let upstream = Upstream::new(problem, one.view(TensorName::UpstreamOutput, Layout::Bhsd)?, None)?;
            let gradient = engine.backward(problem, &upstream, None, &Request::default(), &Unattended)?;
            let (mut scores, mut values) = (Vec::new(), Vec::new());
            if let Some(sink) = &gradient.sink {
                scores.extend(sink.dk.to_f64());
                values.extend(sink.dv.to_f64());
            }
            scores.extend(gradient.dk.to_f64());
            values.extend(gradient.dv.to_f64());
            let durations = gradient.durations.as_ref().map(Tensor::to_f64).unwrap_or_default();
            Ok(RowGradient { scores, values, durations })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contattn_cpu::Plain;

    #[test]
    fn step_reads_the_scores_that_were_given() {
        let curve = Curve::uniform([9.0, 0.0, 1.0], [7.0, 0.0, 1.0]);
        let row = curve.attend(&Plain::<f64>::new(), Rule::Step).unwrap();
        let e = std::f64::consts::E;
        assert!((row.o - e / (1.0 + e)).abs() < 1e-15 && row.weights[0] == 0.0);
        assert!((row.lse - (1.0 + e).ln()).abs() < 1e-15);
    }

    #[test]
    fn gradients_are_those_of_the_output() {
        let curve = Curve::at([0.0, 0.5, 2.0, 2.25], [0.3, -1.0, 2.0, 0.5], [1.0, -2.0, 0.5, 3.0]);
        let engine = Plain::<f64>::new();
        let gradient = curve.gradient(&engine, Rule::Linear).unwrap();
        let difference = |change: &dyn Fn(&mut Curve, f64)| {
            let at = |h: f64| {
                let mut moved = curve.clone();
                change(&mut moved, h);
                moved.attend(&engine, Rule::Linear).unwrap().o
            };
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        for i in 0..4 {
            assert!((gradient.scores[i] - difference(&|curve, h| curve.scores[i] += h)).abs() < 1e-9);
            assert!((gradient.values[i] - difference(&|curve, h| curve.values[i] += h)).abs() < 1e-9);
        }
        for i in 1..4 {
            let found = difference(&|curve, h| curve.times[i..].iter_mut().for_each(|t| *t += h));
            assert!((gradient.durations[i - 1] - found).abs() < 1e-9);
        }
    }

    #[test]
    fn weights_are_integrals_of_hats() {
        let curve = Curve::at([0.0, 0.5, 2.0, 2.25], [0.3, -1.0, 2.0, 0.5], [1.0, -2.0, 0.5, 3.0]);
        let row = curve.attend(&Plain::<f64>::new(), Rule::Linear).unwrap();
        let z = curve.integral(|_| 1.0);
        assert!((libm::log(z) - row.lse).abs() < 1e-12);
        for i in 0..4 {
            assert!((curve.integral(|s| curve.hat(i, s)) / z - row.weights[i]).abs() < 1e-12);
        }
    }

    #[test]
    fn lengths_that_differ_are_refused() {
        assert!(Curve::uniform([0.0, 1.0], [0.0]).attend(&Plain::<f64>::new(), Rule::Linear).is_err());
        assert!(Curve::uniform([], []).attend(&Plain::<f64>::new(), Rule::Linear).is_err());
    }

    #[test]
    fn curves_are_read_between_their_nodes() {
        let curve = Curve::at([0.0, 1.0, 3.0], [0.0, 2.0, 0.0], [0.0; 3]);
        let found = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0].map(|s| curve.score(s));
        assert_eq!(found, [0.0, 0.0, 1.0, 2.0, 1.0, 0.0, 0.0]);
        assert_eq!([0.0, 0.5, 1.0, 2.0, 3.0].map(|s| curve.hat(1, s)), [0.0, 0.5, 1.0, 0.5, 0.0]);
        assert!(Curve::uniform([], []).score(0.0).is_nan());
    }
}
