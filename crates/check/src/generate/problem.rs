//! Whole small problems.

use super::{below, between, normal};
use contattn_core::families::SinkKind;
use contattn_core::{
    Documents, Dtype, Edge, Layout, Lower, Problem, ProblemError, QueryTimes, Rule, Scale, Series, Shape, Sink, Spec,
    Tensor, TensorName, Timeline, Upper, Window,
};
use quickcheck::{Arbitrary, Gen};

/// A small valid problem with all that it borrows.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallProblem {
    /// queries, stored in `layout`
    pub q: Tensor,
    /// keys, stored in `layout`
    pub k: Tensor,
    /// values, stored in `layout`
    pub v: Tensor,
    /// which node 0
    pub sink: SinkKind,
    /// key of a given sink
    pub sink_k: Tensor,
    /// value of a given sink
    pub sink_v: Tensor,
    /// how q, k, v and the sink are stored
    pub layout: Layout,
    /// everything but the tensors
    pub spec: Spec,
}

impl SmallProblem {
    /// Tensors filled by `number`, which is told nothing; a sink of zeros and the default specification.
    pub fn filled(shape: Shape, dtype: Dtype, layout: Layout, mut number: impl FnMut() -> f64) -> SmallProblem {
        let mut tensor = |heads, sequence, width| {
            let [a, b] = if layout == Layout::Bhsd { [heads, sequence] } else { [sequence, heads] };
            let values: Vec<f64> = (0..shape.batch * heads * sequence * width).map(|_| number()).collect();
            rank_4([shape.batch, a, b, width], dtype, values)
        };
        SmallProblem {
            q: tensor(shape.heads, shape.queries, shape.head_dim),
            k: tensor(shape.kv_heads, shape.keys, shape.head_dim),
            v: tensor(shape.kv_heads, shape.keys, shape.value_dim),
            sink: SinkKind::Zeros,
            sink_k: tensor(shape.kv_heads, 1, shape.head_dim),
            sink_v: tensor(shape.kv_heads, 1, shape.value_dim),
            layout,
            spec: Spec::default(),
        }
    }

    /// The problem.
    ///
    /// # Errors
    /// As [`Problem::new`]; none for what [`Arbitrary`] makes.
    pub fn problem(&self) -> Result<Problem<'_>, ProblemError> {
        let sink = match self.sink {
            SinkKind::Absent => Sink::Absent,
            SinkKind::Zeros => Sink::Zeros,
            SinkKind::Copy => Sink::Copy,
            SinkKind::Given => Sink::Given {
                key: self.sink_k.view(TensorName::SinkKey, self.layout)?,
                value: self.sink_v.view(TensorName::SinkValue, self.layout)?,
            },
        };
        Problem::new(
            self.q.view(TensorName::Query, self.layout)?,
            self.k.view(TensorName::Key, self.layout)?,
            self.v.view(TensorName::Value, self.layout)?,
            sink,
            self.spec.clone(),
        )
    }
}

/// A tensor whose shape holds its values by construction.
pub(super) fn rank_4(shape: [usize; 4], dtype: Dtype, values: Vec<f64>) -> Tensor {
    Tensor::from_f64(shape.to_vec(), dtype, values).expect("as many values as the shape asks for")
}

fn choose<T: Clone>(g: &mut Gen, from: &[T]) -> T {
    from[below(g, from.len())].clone()
}

impl Arbitrary for SmallProblem {
    fn arbitrary(g: &mut Gen) -> SmallProblem {
        let kv_heads = 1 + below(g, 2);
        let shape = Shape {
            batch: 1 + below(g, 2),
            heads: kv_heads * (1 + below(g, 2)),
            kv_heads,
            queries: below(g, 7),
            keys: below(g, 8),
            head_dim: choose(g, &[1, 3, 8, 80]),
            value_dim: choose(g, &[1, 2, 5]),
        };
        let dtype = choose(g, &Dtype::ALL);
        let layout = choose(g, &[Layout::Bhsd, Layout::Bshd]);
        // Sizes of q and k that make scores from tiny to peaked.
        let size = libm::exp10(between(g, -1.5, 0.7));
        let mut small = SmallProblem::filled(shape, dtype, layout, || normal(g) * size);
        small.sink = choose(g, &SinkKind::ALL);
        let taylor = Rule::Taylor(below(g, 7) as u32);
        let rule = choose(g, &[Rule::Linear, Rule::Linear, Rule::Step, Rule::Trapezoid, taylor]);
        small.spec = spec(g, rule, shape);
        // The Taylor rule refuses what would cut a segment or hold the curve.
        if small.problem().is_err() {
            small.spec = Spec { rule, ..Spec::default() };
        }
        small
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = SmallProblem>> {
        Box::new(self.simpler().into_iter().filter(|small| small.problem().is_ok()))
    }
}

/// `len` numbers, or one row of them for each batch.
fn series<T>(g: &mut Gen, batch: usize, len: usize, mut row: impl FnMut(&mut Gen) -> Vec<T>) -> Series<T> {
    if below(g, 4) > 0 {
        return Series::shared(row(g));
    }
    let values: Vec<T> = (0..batch).flat_map(|_| row(g)).collect();
    Series::batched(batch, len, values).expect("a row for each batch")
}

fn spec(g: &mut Gen, rule: Rule, shape: Shape) -> Spec {
    let Shape { batch, queries, keys, .. } = shape;
    let taylor = matches!(rule, Rule::Taylor(_));
    let timeline = match below(g, 4) {
        _ if taylor => Timeline::Unit,
        0 => Timeline::Unit,
        1 => Timeline::Times(series(g, batch, keys + 1, |g| {
            let mut times: Vec<f64> = (0..=keys).map(|_| between(g, -2.0, 6.0)).collect();
            times.sort_unstable_by(f64::total_cmp);
            times
        })),
        _ => Timeline::Durations(series(g, batch, keys, |g| (0..keys).map(|_| duration(g)).collect())),
    };
    let length = keys as f64;
    let time = |g: &mut Gen| if taylor { below(g, keys + 1) as f64 } else { place(g, length) };
    let query_times = if bool::arbitrary(g) {
        QueryTimes::LastNodes
    } else {
        QueryTimes::At(series(g, batch, queries, |g| (0..queries).map(|_| time(g)).collect()))
    };
    let key_mask = (below(g, 3) == 0).then(|| series(g, batch, keys, |g| (0..keys).map(|_| below(g, 4) > 0).collect()));
    let documents = (below(g, 3) == 0).then(|| documents(g, shape));
    let scale =
        if bool::arbitrary(g) { Scale::InverseSqrtHeadDim } else { Scale::Value(choose(g, &[1.0, 0.125, -0.3])) };
    let window = if taylor { whole_window(g, shape) } else { window(g, shape) };
    Spec { rule, window, timeline, query_times, key_mask, documents, scale }
}

fn duration(g: &mut Gen) -> f64 {
    match below(g, 5) {
        0 => 0.0,
        1 => 1.0,
        2 => libm::exp10(between(g, -6.0, 3.0)),
        _ => between(g, 0.1, 2.0),
    }
}

/// A time: often on a node of the unit time line, sometimes outside all of them.
fn place(g: &mut Gen, length: f64) -> f64 {
    match below(g, 3) {
        0 => libm::floor(between(g, -1.0, length + 2.0)),
        _ => between(g, -1.0, length + 1.5),
    }
}

fn documents(g: &mut Gen, shape: Shape) -> Documents {
    let keys = series(g, shape.batch, shape.keys, |g| {
        let mut id = 7;
        (0..shape.keys)
            .map(|_| {
                id -= i64::from(below(g, 3) == 0);
                id
            })
            .collect()
    });
    let queries = bool::arbitrary(g).then(|| {
        series(g, shape.batch, shape.queries, |g| (0..shape.queries).map(|_| 7 - below(g, 4) as i64).collect())
    });
    Documents { keys, queries }
}

fn window(g: &mut Gen, shape: Shape) -> Window {
    let length = shape.keys as f64;
    match below(g, 8) {
        0 => Window::full(),
        1 => Window::causal(),
        2 => Window::sliding(choose(g, &[0.0, 1.0, 0.7, 2.5])),
        3 => {
            let (a, b) = (place(g, length), place(g, length));
            Window::between(a.min(b), a.max(b))
        }
        4 => Window::causal_between(place(g, length), between(g, -1.0, 1.0)),
        5 => Window {
            lower: Lower::Sliding(between(g, 0.0, 3.0)),
            upper: Upper::Query { offset: between(g, -0.5, 0.5) },
        },
        6 => Window { lower: Lower::Start, upper: Upper::At(Edge::All(place(g, length))) },
        _ => {
            let pairs: Vec<(f64, f64)> = (0..shape.queries).map(|_| (place(g, length), place(g, length))).collect();
            let side = |f: fn(f64, f64) -> f64| Edge::Rows(Series::shared(pairs.iter().map(|p| f(p.0, p.1)).collect()));
            Window { lower: Lower::At(side(f64::min)), upper: Upper::At(side(f64::max)) }
        }
    }
}

/// Edges on nodes of the unit time line.
fn whole_window(g: &mut Gen, shape: Shape) -> Window {
    let node = |g: &mut Gen| below(g, shape.keys + 1) as f64;
    match below(g, 4) {
        0 => Window::full(),
        1 => Window::sliding(node(g)),
        2 => {
            let (a, b) = (node(g), node(g));
            Window::between(a.min(b), a.max(b))
        }
        _ => Window::causal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_valid_and_shrink_to_valid_ones() {
        let mut g = Gen::new(20);
        let mut features = std::collections::HashSet::new();
        for _ in 0..600 {
            let small = SmallProblem::arbitrary(&mut g);
            let problem = small.problem().expect("an arbitrary problem is valid");
            features.extend(problem.features(&contattn_core::Request::default()).iter().map(ToString::to_string));
        }
        for feature in [
            "rule linear",
            "rule step",
            "rule trapezoid",
            "packed documents",
            "a key mask",
            "sink given",
            "bf16 inputs",
        ] {
            assert!(features.contains(feature), "{feature} never came up");
        }
        for feature in
            ["sliding windows", "windows with fixed edges", "an upper edge off the query's time", "given query times"]
        {
            assert!(features.contains(feature), "{feature} never came up");
        }
        for _ in 0..60 {
            let mut small = SmallProblem::arbitrary(&mut g);
            // Whatever a test calls wrong, shrinking ends at something small.
            let mut steps = 0;
            while let Some(next) = small.shrink().next() {
                small = next;
                steps += 1;
                assert!(steps < 500, "still shrinking: {small:?}");
            }
            assert_eq!((small.q.len(), small.k.len()), (0, 0));
        }
    }
}
