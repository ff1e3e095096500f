//! Seeded problems of every kind, small enough to be evaluated in thousands of bits.
#![allow(dead_code, unreachable_pub, clippy::too_many_arguments)]

use super::numbers::Numbers;
use contattn_core::{
    Documents, Dtype, Edge, Layout, Lower, Problem, ProblemError, QueryTimes, Rule, Scale, Series, Sink, Spec, Tensor,
    TensorName, Timeline, Upper, Window,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SinkKind {
    Absent,
    Zeros,
    Copy,
    Given,
}

/// A problem that owns its tensors.
#[derive(Clone, Debug)]
pub struct Case {
    pub q: Tensor,
    pub k: Tensor,
    pub v: Tensor,
    pub sink: SinkKind,
    pub sink_k: Tensor,
    pub sink_v: Tensor,
    pub spec: Spec,
}

impl Case {
    pub fn problem(&self) -> Result<Problem<'_>, ProblemError> {
        let view = |t: &'static str, x| {
            let name = match t {
                "q" => TensorName::Query,
                "k" => TensorName::Key,
                _ => TensorName::Value,
            };
            Tensor::view(x, name, Layout::Bhsd)
        };
        let sink = match self.sink {
            SinkKind::Absent => Sink::Absent,
            SinkKind::Zeros => Sink::Zeros,
            SinkKind::Copy => Sink::Copy,
            SinkKind::Given => Sink::Given { key: view("k", &self.sink_k)?, value: view("v", &self.sink_v)? },
        };
        Problem::new(view("q", &self.q)?, view("k", &self.k)?, view("v", &self.v)?, sink, self.spec.clone())
    }
}

/// One head, one batch, from plain numbers: q (n_q x d), k (n x d), v (n x e).
pub fn plain(dtype: Dtype, d: usize, e: usize, q: &[f64], k: &[f64], v: &[f64], sink: SinkKind, spec: Spec) -> Case {
    let tensor = |width: usize, x: &[f64]| {
        Tensor::from_f64(vec![1, 1, x.len() / width, width], dtype, x.iter().copied()).expect("whole rows")
    };
    Case {
        q: tensor(d, q),
        k: tensor(d, k),
        v: tensor(e, v),
        sink,
        sink_k: tensor(d, &vec![0.25; d]),
        sink_v: tensor(e, &vec![-0.5; e]),
        spec,
    }
}

pub const RULES: [Rule; 6] =
    [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(0), Rule::Taylor(1), Rule::Taylor(4)];

/// Times on a grid of quarters, so that edges meet nodes often.
fn quarter(numbers: &mut Numbers, below: usize) -> f64 {
    numbers.below(below) as f64 / 4.0
}

fn window(numbers: &mut Numbers, rows: usize, end: f64, coarse: bool) -> Window {
    let mut time = |numbers: &mut Numbers| {
        if coarse { quarter(numbers, (4.0 * end) as usize + 9) - 1.0 } else { numbers.between(-1.0, end + 1.0) }
    };
    let edge = |numbers: &mut Numbers, time: &mut dyn FnMut(&mut Numbers) -> f64, by_row: bool| {
        if by_row {
            Edge::Rows(Series::shared((0..rows).map(|_| time(numbers)).collect()))
        } else {
            Edge::All(time(numbers))
        }
    };
    match numbers.below(8) {
        0 => Window::full(),
        1 => Window::causal(),
        2 => Window::sliding(time(numbers).abs()),
        3 => {
            let (a, b) = (time(numbers), time(numbers));
            Window::between(a.min(b), a.max(b))
        }
        4 => Window::causal_between(time(numbers), quarter(numbers, 9) - 1.0),
        5 => Window {
            lower: Lower::Sliding(time(numbers).abs()),
            upper: Upper::Query { offset: quarter(numbers, 9) - 1.0 },
        },
        6 => Window { lower: Lower::Start, upper: Upper::At(edge(numbers, &mut time, true)) },
        _ => Window { lower: Lower::At(edge(numbers, &mut time, true)), upper: Upper::End },
    }
}

/// What a random case may contain.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    pub largest: usize,
    /// sizes of the scores, about
    pub score: f64,
    pub coarse: bool,
    /// masks and documents
    pub gaps: bool,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix { largest: 7, score: 2.0, coarse: true, gaps: true }
    }
}

/// A random case; some are refused by `Problem::new` and drawn again.
pub fn random(numbers: &mut Numbers, mix: Mix) -> Case {
    loop {
        let case = draw(numbers, mix);
        if case.problem().is_ok() {
            return case;
        }
    }
}

fn draw(numbers: &mut Numbers, mix: Mix) -> Case {
    let n = numbers.below(mix.largest + 1);
    let rows = 1 + numbers.below(4);
    let kv_heads = 1 + numbers.below(2);
    let heads = kv_heads * (1 + numbers.below(2));
    let batch = 1 + numbers.below(2);
    let d = [1, 2, 3, 4][numbers.below(4)];
    let e = 1 + numbers.below(3);
    let dtype = Dtype::ALL[numbers.below(4)];
    let rule = RULES[numbers.below(RULES.len())];
    let mut tensor = |shape: [usize; 4], size: f64| {
        let len = shape.iter().product();
        let whole = numbers.below(3) == 0; // equal and opposite scores
        let values: Vec<f64> = (0..len)
            .map(|_| if whole { numbers.below(3) as f64 - 1.0 } else { size * (2.0 * numbers.unit() - 1.0) })
            .collect();
        Tensor::from_f64(shape.to_vec(), dtype, values).expect("as many numbers as the shape asks for")
    };
    let q = tensor([batch, heads, rows, d], mix.score);
    let k = tensor([batch, kv_heads, n, d], 1.5);
    let v = tensor([batch, kv_heads, n, e], 1.0);
    let sink_k = tensor([batch, kv_heads, 1, d], 1.0);
    let sink_v = tensor([batch, kv_heads, 1, e], 1.0);
    let duration = |numbers: &mut Numbers| match numbers.below(4) {
        0 => 0.0,
        1 => 1.0,
        _ if mix.coarse => quarter(numbers, 6),
        _ => numbers.unit(),
    };
    let timeline = if matches!(rule, Rule::Taylor(_)) {
        Timeline::Unit
    } else {
        match numbers.below(4) {
            0 => Timeline::Unit,
            1 => Timeline::Durations(
                Series::batched(batch, n, (0..batch * n).map(|_| duration(numbers)).collect()).expect("a full grid"),
            ),
            2 => Timeline::Durations(Series::shared((0..n).map(|_| duration(numbers)).collect())),
            _ => {
                let mut t = quarter(numbers, 9) - 1.0;
                let mut times = vec![t];
                for _ in 0..n {
                    t += duration(numbers);
                    times.push(t);
                }
                Timeline::Times(Series::shared(times))
            }
        }
    };
    let end = n as f64;
    let query_times = if numbers.below(2) == 0 {
        QueryTimes::LastNodes
    } else {
        let time = |numbers: &mut Numbers| {
            if mix.coarse { quarter(numbers, 4 * n + 9) - 1.0 } else { numbers.between(-1.0, end + 1.0) }
        };
        QueryTimes::At(Series::shared((0..rows).map(|_| time(numbers)).collect()))
    };
    let key_mask =
        (mix.gaps && numbers.below(2) == 0).then(|| Series::shared((0..n).map(|_| numbers.below(4) != 0).collect()));
    let documents = (mix.gaps && numbers.below(3) == 0).then(|| {
        let mut id = 0;
        let keys = (0..n)
            .map(|_| {
                id += i64::from(numbers.below(3) == 0);
                id
            })
            .collect();
        let queries =
            (numbers.below(2) == 0).then(|| Series::shared((0..rows).map(|_| numbers.below(3) as i64).collect()));
        Documents { keys: Series::shared(keys), queries }
    });
    let window = window(numbers, rows, end, mix.coarse);
    let scale = if numbers.below(2) == 0 { Scale::InverseSqrtHeadDim } else { Scale::Value(0.75) };
    let sink = [SinkKind::Absent, SinkKind::Zeros, SinkKind::Copy, SinkKind::Given][numbers.below(4)];
    let spec = Spec { rule, window, timeline, query_times, key_mask, documents, scale };
    Case { q, k, v, sink, sink_k, sink_v, spec }
}
