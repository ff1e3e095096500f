//! The tensors of a case, the same for every contender.

use super::case::Case;
use contattn_core::{
    Dtype, Family, Layout, Problem, ProblemError, QueryTimes, Rule, Sample, Scale, Series, Shape, Sink, Spec, Tensor,
    TensorName, Timeline, Upstream, Window,
};

/// Durations are multiples of this power of two, so that times, which are their sums, are exact in f64.
const TICK: f64 = 1.0 / 1024.0;

/// What is compared: a rule on a time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contender {
    pub(super) rule: Rule,
    pub(super) irregular: bool,
}

impl Contender {
    /// Softmax, continuous attention, and the same at irregular times.
    pub(super) const ALL: [Contender; 3] = [
        Contender { rule: Rule::Step, irregular: false },
        Contender { rule: Rule::Linear, irregular: false },
        Contender { rule: Rule::Linear, irregular: true },
    ];

    /// The name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match (self.rule, self.irregular) {
            (Rule::Step, _) => "softmax",
            (_, false) => "linear",
            (_, true) => "irregular",
        }
    }

    /// The contender of this name.
    pub(super) fn from_name(name: &str) -> Option<Contender> {
        Contender::ALL.into_iter().find(|contender| contender.name() == name)
    }

    /// The name of its time line in records.
    pub(super) const fn time(self) -> &'static str {
        if self.irregular { "irregular" } else { "unit" }
    }
}

/// q, k, v and an upstream gradient, f32, row-major.
pub(super) struct Inputs {
    pub(super) case: Case,
    pub(super) q: Tensor,
    pub(super) k: Tensor,
    pub(super) v: Tensor,
    pub(super) g: Tensor,
    scale: Scale,
    durations: Vec<f64>,
}

impl Inputs {
    /// A sample of the family, with normal upstream gradients and exponentially distributed durations.
    ///
    /// # Errors
    /// [`ProblemError::TooLarge`].
    pub(super) fn sample(case: Case, family: Family, seed: u64) -> Result<Inputs, ProblemError> {
        let shape = case.shape();
        let sample = family.sample(shape, Dtype::F32, seed)?;
        // Families draw queries first: a sample with one key is its queries.
        let g = Family::Gauss.sample(Shape { keys: 1, ..shape }, Dtype::F32, seed.wrapping_add(1))?.q;
        let narrow = Shape { heads: 1, kv_heads: 1, queries: 1, head_dim: 1, value_dim: 1, ..shape };
        let times = Family::IrregularTimes.sample(narrow, Dtype::F32, seed.wrapping_add(2))?;
        let durations = match times.timeline {
            Timeline::Durations(series) => series.row(0).iter().map(|d| TICK * (1.0 + (d / TICK).floor())).collect(),
            Timeline::Unit | Timeline::Times(_) => vec![1.0; shape.keys],
        };
        let Sample { q, k, v, scale, .. } = sample;
        Ok(Inputs { case, q, k, v, g, scale, durations })
    }

    fn spec(&self, contender: Contender) -> Spec {
        Spec {
            rule: contender.rule,
            timeline: if contender.irregular {
                Timeline::Durations(Series::shared(self.durations.clone()))
            } else {
                Timeline::Unit
            },
            window: if self.case.causal { Window::causal() } else { Window::full() },
            scale: self.scale,
            ..Spec::default()
        }
    }

    /// The problem that is timed.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub(super) fn problem(&self, contender: Contender) -> Result<Problem<'_>, ProblemError> {
        self.with_queries(&self.q, self.spec(contender))
    }

    /// Some rows of that problem, as one of its own.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub(super) fn excerpt<'a>(&'a self, contender: Contender, rows: &'a Rows) -> Result<Problem<'a>, ProblemError> {
        let at = |node: usize| -> f64 {
            if contender.irregular { self.durations[..node].iter().sum() } else { node as f64 }
        };
        // Row r sits at node keys - queries + 1 + r.
        let first = self.case.keys - self.case.queries + 1;
        let times = rows.rows.iter().map(|row| at(first + row)).collect();
        let query_times = QueryTimes::At(Series::shared(times));
        self.with_queries(&rows.q, Spec { query_times, ..self.spec(contender) })
    }

    fn with_queries<'a>(&'a self, q: &'a Tensor, spec: Spec) -> Result<Problem<'a>, ProblemError> {
        Problem::new(
            q.view(TensorName::Query, Layout::Bhsd)?,
            self.k.view(TensorName::Key, Layout::Bhsd)?,
            self.v.view(TensorName::Value, Layout::Bhsd)?,
            Sink::Zeros,
            spec,
        )
    }
}

/// A gradient from above, on o alone.
///
/// # Errors
/// As [`Upstream::new`].
pub(super) fn upstream<'a>(problem: &Problem<'_>, g: &'a Tensor) -> Result<Upstream<'a>, ProblemError> {
    Upstream::new(problem, g.view(TensorName::UpstreamOutput, Layout::Bhsd)?, None)
}

/// The rows of each head that are compared with exact results.
pub(super) struct Rows {
    /// in order
    pub(super) rows: Vec<usize>,
    /// their queries
    pub(super) q: Tensor,
    /// their upstream gradients
    pub(super) g: Tensor,
    /// the upstream gradients of all rows, 0 outside of these: dk and dv are sums over rows, which so are those of these alone
    pub(super) sparse: Tensor,
}

impl Rows {
    /// All rows where that is a moment's work for the plain engine; otherwise the first, the last and some between.
    ///
    /// # Errors
    /// Never, of tensors that belong together.
    pub(super) fn of(inputs: &Inputs) -> Result<Rows, ProblemError> {
        const PRODUCTS: usize = 1 << 22;
        const FEWEST: usize = 6;
        let Case { heads, queries, keys, head_dim, .. } = inputs.case;
        let count = (PRODUCTS / (heads * keys * head_dim)).max(FEWEST).min(queries);
        // Where not all are taken the step is at least 1, so that none comes twice.
        let rows: Vec<usize> =
            (0..count).map(|i| if count == 1 { 0 } else { i * (queries - 1) / (count - 1) }).collect();
        let excerpt = |of: &Tensor| {
            let kept = (0..heads).flat_map(|head| rows.iter().map(move |row| head * queries + row));
            let values = kept.flat_map(|row| (row * head_dim..(row + 1) * head_dim).map(|at| of.elements().get(at)));
            Tensor::from_f64(vec![1, heads, count, head_dim], of.dtype(), values)
        };
        let (q, g) = (excerpt(&inputs.q)?, excerpt(&inputs.g)?);
        let mut sparse = vec![0.0; inputs.g.len()];
        for row in (0..heads).flat_map(|head| rows.iter().map(move |row| head * queries + row)) {
            for at in row * head_dim..(row + 1) * head_dim {
                sparse[at] = inputs.g.elements().get(at);
            }
        }
        let sparse = Tensor::from_f64(inputs.g.shape().to_vec(), inputs.g.dtype(), sparse)?;
        Ok(Rows { rows, q, g, sparse })
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::{Direction, Sight};
    use super::*;
    use contattn_core::{Engine, Request, Unattended};
    use contattn_cpu::Plain;

    fn inputs(lengths: &str, sight: Sight) -> Inputs {
        let case = Case::new(lengths.parse().unwrap(), Direction::Fwdbwd, sight);
        Inputs::sample(case, Family::Peaked, 1).unwrap()
    }

    #[test]
    fn an_excerpt_has_the_rows_of_the_whole() {
        for sight in [Sight::Full, Sight::Causal] {
            let inputs = inputs("4:2x33x3", sight);
            let all = Rows::of(&inputs).unwrap();
            assert_eq!(all.rows, (0..33).collect::<Vec<_>>());
            assert_eq!(all.sparse, inputs.g);
            for contender in Contender::ALL {
                let run = |problem: &Problem<'_>| {
                    Plain::<f64>::new().forward(problem, &Request::default(), &Unattended).unwrap()
                };
                let (whole, part) = (inputs.problem(contender).unwrap(), inputs.excerpt(contender, &all).unwrap());
                assert_eq!(run(&whole), run(&part), "{contender:?}");
            }
        }
    }

    #[test]
    fn a_sample_of_rows_has_both_ends_and_nothing_twice() {
        let inputs = inputs("2x4096x64", Sight::Full);
        let rows = Rows::of(&inputs).unwrap();
        assert_eq!((rows.rows[0], rows.rows.last()), (0, Some(&4095)));
        assert!(rows.rows.windows(2).all(|pair| pair[0] < pair[1]));
        let count = rows.rows.len();
        assert!((6..100).contains(&count));
        assert_eq!(rows.q.shape(), [1, 2, count, 64]);
        let (head, row, at) = (1, rows.rows[3], 3);
        assert_eq!(rows.q.get(&[0, head, at, 5]), inputs.q.get(&[0, head, row, 5]));
        assert_eq!(rows.g.get(&[0, head, at, 5]), rows.sparse.get(&[0, head, row, 5]));
        let others: usize = (0..4096).filter(|row| rows.sparse.get(&[0, 0, *row, 0]) == Some(0.0)).count();
        assert_eq!(others, 4096 - count);
    }

    #[test]
    fn times_are_exact() {
        let inputs = inputs("1x300x2", Sight::Causal);
        assert!(inputs.durations.iter().all(|d| *d > 0.0 && (d / TICK).fract() == 0.0));
        assert!(inputs.durations.iter().any(|d| *d < 0.2) && inputs.durations.iter().any(|d| *d > 2.0));
    }
}
