//! Generated problems: every family, rule, kind of window, sink, mask, division into documents, grouping of heads and type.

use contattn_check::generate::SmallProblem;
use contattn_core::families::{Family, SinkKind};
use contattn_core::{
    Documents, Dtype, Layout, Lower, QueryTimes, Rule, Series, Shape, Spec, Tensor, Timeline, Upper, Window,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A problem with its upstream gradients.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) family: Family,
    pub(crate) small: SmallProblem,
    pub(crate) g: Tensor,
    pub(crate) g_lse: Tensor,
}

/// Seeded numbers.
struct Random(ChaCha8Rng);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * libm::ldexp(1.0, -53)
    }

    fn choose<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn normal(&mut self) -> f64 {
        libm::sqrt(-2.0 * libm::log(1.0 - self.unit())) * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

/// Problem number `seed`.
pub(crate) fn case(seed: u64) -> Case {
    let mut random = Random(ChaCha8Rng::seed_from_u64(seed));
    let family = Family::ALL[seed as usize % Family::ALL.len()];
    let kv_heads = 1 + random.below(2);
    let shape = Shape {
        batch: 1 + random.below(2),
        heads: kv_heads * (1 + random.below(3)),
        kv_heads,
        queries: 1 + random.below(20),
        keys: 1 + random.below(70),
        head_dim: random.choose(&[1, 3, 8, 16, 33, 64]),
        value_dim: random.choose(&[1, 3, 8, 16, 24]),
    };
    let dtype = random.choose(&[Dtype::F32, Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::F64]);
    let sample = family.sample(shape, dtype, seed).expect("shapes are small");
    let rules = [Rule::Linear, Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(0), Rule::Taylor(1)];
    let rule = random.choose(&rules);
    let taylor = matches!(rule, Rule::Taylor(_));
    let mut spec = Spec { rule, window: window(&mut random, shape.keys as f64, taylor), ..sample.spec() };
    if taylor {
        spec.timeline = Timeline::Unit;
    } else if spec.timeline == Timeline::Unit && random.below(3) == 0 {
        spec.timeline = Timeline::Durations(Series::shared((0..shape.keys).map(|_| 0.2 + random.unit()).collect()));
    }
    if random.below(4) == 0 && !taylor {
        let times = (0..shape.queries).map(|_| random.unit() * (shape.keys as f64 + 1.0)).collect();
        spec.query_times = QueryTimes::At(Series::shared(times));
    }
    if random.below(4) == 0 {
        spec.key_mask = Some(Series::shared((0..shape.keys).map(|_| random.below(5) > 0).collect()));
    }
    if random.below(4) == 0 {
        let mut id = 1;
        let ids = (0..shape.keys).map(|_| {
            id += i64::from(random.below(12) == 0);
            id
        });
        spec.documents = Some(Documents { keys: Series::shared(ids.collect()), queries: None });
    }
    let name =
        format!("problem {seed}: {family}, {rule}, {dtype}, {shape:?}, {:?}, {:?}", spec.window, spec.query_times);
    let mut small = SmallProblem {
        q: sample.q,
        k: sample.k,
        v: sample.v,
        sink: random.choose(&SinkKind::ALL),
        sink_k: sample.sink_k,
        sink_v: sample.sink_v,
        layout: Layout::Bhsd,
        spec,
    };
    // Rows at nodes of other documents may cut what Taylor refuses to read.
    if small.problem().is_err() {
        small.spec = Spec { rule, ..Spec::default() };
    }
    let lengths = [shape.batch, shape.heads, shape.queries];
    let mut normal = |width: usize| {
        let shape = [&lengths[..], &[width]].concat();
        let count = shape.iter().product();
        Tensor::from_f64(shape, dtype, (0..count).map(|_| random.normal()).collect::<Vec<f64>>()).expect("it fits")
    };
    let (g, g_lse) = (normal(shape.value_dim), normal(1));
    Case { name, family, small, g, g_lse }
}

fn window(random: &mut Random, length: f64, whole: bool) -> Window {
    let mut place = |low: f64, high: f64| {
        let at = low + (high - low) * random.unit();
        if whole { libm::floor(at) } else { at }
    };
    let (a, b) = (place(0.0, length), place(0.0, length));
    let (width, offset) = (place(1.0, 12.0), place(-0.4, 0.9));
    match random.below(6) {
        0 => Window::full(),
        1 | 2 => Window::causal(),
        3 => Window::sliding(width),
        4 => Window::between(a.min(b), a.max(b)),
        _ if whole => Window::causal(),
        _ => Window { lower: Lower::Start, upper: Upper::Query { offset } },
    }
}
