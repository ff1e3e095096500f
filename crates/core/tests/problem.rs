//! Everything that a problem refuses, by tensor, axis, expected and found.

use contattn_core::{
    Axis, Documents, Dtype, Edge, Elements, Layout, Lower, Problem, ProblemError, QueryTimes, Rule, Scale, Series,
    Sink, Spec, Tensor, TensorName, TensorView, Timeline, Upper, Window,
};

fn zeros(shape: [usize; 4], dtype: Dtype) -> Tensor {
    Tensor::from_f64(shape.to_vec(), dtype, vec![0.0; shape.iter().product()]).unwrap()
}

fn view(tensor: &Tensor) -> TensorView<'_> {
    tensor.view(TensorName::Query, Layout::Bhsd).unwrap()
}

/// q (2, 4, 3, 5), k (2, 2, 6, 5), v (2, 2, 6, 7) unless changed.
struct Shapes {
    q: [usize; 4],
    k: [usize; 4],
    v: [usize; 4],
}

const RIGHT: Shapes = Shapes { q: [2, 4, 3, 5], k: [2, 2, 6, 5], v: [2, 2, 6, 7] };

fn refusal(shapes: Shapes) -> (TensorName, Axis, String, usize) {
    let [q, k, v] = [shapes.q, shapes.k, shapes.v].map(|shape| zeros(shape, Dtype::F32));
    match Problem::new(view(&q), view(&k), view(&v), Sink::Zeros, Spec::default()) {
        Err(ProblemError::Shape { tensor, axis, expected, found }) => (tensor, axis, expected, found),
        other => panic!("{other:?}"),
    }
}

#[test]
fn shapes() {
    use Axis::{Batch, HeadDim, Heads, Sequence};
    use TensorName::{Key, Query, Value};
    let cases = [
        (Shapes { k: [3, 2, 6, 5], ..RIGHT }, (Key, Batch, "2", 3)),
        (Shapes { v: [1, 2, 6, 7], ..RIGHT }, (Value, Batch, "2", 1)),
        (Shapes { k: [2, 3, 6, 5], ..RIGHT }, (Key, Heads, "a divisor of the 4 query heads", 3)),
        (Shapes { k: [2, 0, 6, 5], ..RIGHT }, (Key, Heads, "at least 1", 0)),
        (Shapes { q: [2, 0, 3, 5], ..RIGHT }, (Query, Heads, "at least 1", 0)),
        (Shapes { v: [2, 4, 6, 7], ..RIGHT }, (Value, Heads, "2", 4)),
        (Shapes { v: [2, 2, 5, 7], ..RIGHT }, (Value, Sequence, "6", 5)),
        (Shapes { k: [2, 2, 6, 4], ..RIGHT }, (Key, HeadDim, "5", 4)),
        (Shapes { q: [2, 4, 3, 0], ..RIGHT }, (Query, HeadDim, "at least 1", 0)),
        (Shapes { v: [2, 2, 6, 0], ..RIGHT }, (Value, HeadDim, "at least 1", 0)),
    ];
    for (shapes, (tensor, axis, expected, found)) in cases {
        assert_eq!(refusal(shapes), (tensor, axis, expected.to_owned(), found));
    }
}

#[test]
fn element_types() {
    let (q, k, v) = (zeros(RIGHT.q, Dtype::F16), zeros(RIGHT.k, Dtype::F16), zeros(RIGHT.v, Dtype::F32));
    let refused = Problem::new(view(&q), view(&k), view(&v), Sink::Zeros, Spec::default()).unwrap_err();
    assert_eq!(refused, ProblemError::Dtype { tensor: TensorName::Value, expected: Dtype::F16, found: Dtype::F32 });
    assert_eq!(refused.to_string(), "v: element type f32, expected f16 as in q");
}

fn with(spec: Spec) -> Result<(), ProblemError> {
    let [q, k, v] = [RIGHT.q, RIGHT.k, RIGHT.v].map(|shape| zeros(shape, Dtype::F64));
    Problem::new(view(&q), view(&k), view(&v), Sink::Zeros, spec).map(|_| ())
}

fn number(result: Result<(), ProblemError>) -> (TensorName, Vec<usize>, f64) {
    match result {
        Err(ProblemError::Number { tensor, index, found, .. }) => (tensor, index, found),
        other => panic!("{other:?}"),
    }
}

#[test]
fn numbers_on_the_time_line() {
    let durations = |values: &[f64]| {
        with(Spec { timeline: Timeline::Durations(Series::shared(values.to_vec())), ..Spec::default() })
    };
    assert!(durations(&[0.0; 6]).is_ok());
    let (tensor, index, found) = number(durations(&[1.0, 1.0, -0.5, 1.0, 1.0, 1.0]));
    assert_eq!((tensor, index, found), (TensorName::Durations, vec![2], -0.5));
    assert!(number(durations(&[1.0, f64::NAN, 1.0, 1.0, 1.0, 1.0])).2.is_nan());
    assert_eq!(number(durations(&[f64::INFINITY, 1.0, 1.0, 1.0, 1.0, 1.0])).1, [0]);
    assert_eq!(number(durations(&[f64::MAX; 6])).2, f64::INFINITY);
    assert!(matches!(durations(&[1.0; 7]), Err(ProblemError::Shape { tensor: TensorName::Durations, found: 7, .. })));

    let times =
        |values: &[f64]| with(Spec { timeline: Timeline::Times(Series::shared(values.to_vec())), ..Spec::default() });
    assert!(times(&[-3.0, -3.0, 0.0, 1.0, 2.0, 2.0, 9.0]).is_ok());
    assert_eq!(number(times(&[0.0, 2.0, 1.0, 3.0, 4.0, 5.0, 6.0])), (TensorName::Times, vec![2], 1.0));
    assert_eq!(number(times(&[-f64::MAX, f64::MAX, f64::MAX, f64::MAX, f64::MAX, f64::MAX, f64::MAX])).1, [1]);
    assert!(matches!(times(&[0.0; 6]), Err(ProblemError::Shape { found: 6, .. })));
    // Each batch has its own order.
    let two = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 4.5];
    let batched = Series::batched(2, 7, two.to_vec()).unwrap();
    let (_, index, found) = number(with(Spec { timeline: Timeline::Times(batched), ..Spec::default() }));
    assert_eq!((index, found), (vec![1, 6], 4.5));
    let three = Series::batched(3, 6, vec![1.0; 18]).unwrap();
    let refused = with(Spec { timeline: Timeline::Durations(three), ..Spec::default() });
    assert!(matches!(refused, Err(ProblemError::Shape { axis: Axis::Batch, found: 3, .. })));
}

#[test]
fn queries_windows_masks_and_scale() {
    let query_times =
        |t: f64| with(Spec { query_times: QueryTimes::At(Series::shared(vec![0.0, t, 1.0])), ..Spec::default() });
    assert!(query_times(-7.0).is_ok());
    assert_eq!(number(query_times(f64::INFINITY)).0, TensorName::QueryTimes);
    let window = |window| with(Spec { window, ..Spec::default() });
    assert_eq!(number(window(Window::sliding(-1.0))).2, -1.0);
    assert!(number(window(Window::causal_between(0.0, f64::NAN))).2.is_nan());
    let reversed = window(Window::between(3.0, 2.0)).unwrap_err();
    assert_eq!(reversed, ProblemError::WindowReversed { index: vec![], lower: 3.0, upper: 2.0 });
    let rows = |values: [f64; 3]| Edge::Rows(Series::shared(values.to_vec()));
    let by_row = Window { lower: Lower::At(rows([0.0, 5.0, 1.0])), upper: Upper::At(Edge::All(4.0)) };
    assert_eq!(window(by_row).unwrap_err(), ProblemError::WindowReversed { index: vec![1], lower: 5.0, upper: 4.0 });
    let sliding_full = Window { lower: Lower::Sliding(1.0), upper: Upper::End };
    assert!(matches!(window(sliding_full), Err(ProblemError::Conflict(_))));
    let mask = with(Spec { key_mask: Some(Series::shared(vec![true; 5])), ..Spec::default() });
    assert!(matches!(mask, Err(ProblemError::Shape { tensor: TensorName::KeyMask, found: 5, .. })));
    let scale = with(Spec { scale: Scale::Value(f64::NAN), ..Spec::default() });
    assert_eq!(number(scale).0, TensorName::Scale);
    let keys = Series::shared(vec![1, 1, 2, 2, 1, 1]);
    let split = with(Spec { documents: Some(Documents { keys, queries: None }), ..Spec::default() });
    assert_eq!(split.unwrap_err(), ProblemError::DocumentSplit { index: vec![4], document: 1 });
}

#[test]
fn taylor_needs_the_unit_time_line_and_whole_segments() {
    let taylor = |spec: Spec| with(Spec { rule: Rule::Taylor(2), ..spec });
    assert!(taylor(Spec::default()).is_ok());
    assert!(taylor(Spec { window: Window::sliding(2.0), ..Spec::default() }).is_ok());
    assert!(taylor(Spec { timeline: Timeline::Durations(Series::shared(vec![1.0; 6])), ..Spec::default() }).is_ok());
    for refused in [
        Spec { timeline: Timeline::Durations(Series::shared(vec![1.0, 1.0, 2.0, 1.0, 1.0, 1.0])), ..Spec::default() },
        Spec { window: Window::sliding(1.5), ..Spec::default() },
        Spec { window: Window::causal_between(0.0, 0.5), ..Spec::default() },
        Spec { window: Window::between(-1.0, 2.0), ..Spec::default() },
    ] {
        assert!(matches!(taylor(refused), Err(ProblemError::Rule { .. })));
    }
    assert!(matches!(with(Spec { rule: Rule::Taylor(65), ..Spec::default() }), Err(ProblemError::Rule { .. })));
}

#[test]
fn given_sinks() {
    let [q, k, v] = [RIGHT.q, RIGHT.k, RIGHT.v].map(|shape| zeros(shape, Dtype::F64));
    let given = |key: [usize; 4], value: [usize; 4]| {
        let (key, value) = (zeros(key, Dtype::F64), zeros(value, Dtype::F64));
        let sink = Sink::Given { key: view(&key), value: view(&value) };
        Problem::new(view(&q), view(&k), view(&v), sink, Spec::default()).map(|_| ())
    };
    assert!(given([2, 2, 1, 5], [2, 2, 1, 7]).is_ok());
    assert!(matches!(
        given([2, 2, 2, 5], [2, 2, 1, 7]),
        Err(ProblemError::Shape { tensor: TensorName::SinkKey, axis: Axis::Sequence, found: 2, .. })
    ));
    assert!(matches!(
        given([2, 2, 1, 5], [2, 2, 1, 5]),
        Err(ProblemError::Shape { tensor: TensorName::SinkValue, axis: Axis::HeadDim, found: 5, .. })
    ));
}

#[test]
fn rule_names() {
    for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(0), Rule::Taylor(64)] {
        assert_eq!(rule.to_string().parse(), Ok(rule));
    }
    for name in ["softmax ", "taylor", "taylor:", "taylor:-1", "taylor:+1", "taylor:65", "taylor:99999999999", "Linear"]
    {
        assert!(name.parse::<Rule>().is_err(), "{name}");
    }
}

#[test]
fn empty_axes_are_problems_too() {
    for (batch, queries, keys) in [(0, 3, 6), (2, 0, 6), (2, 3, 0), (0, 0, 0)] {
        let tensor = |heads, rows, width| {
            Tensor::new(vec![batch, heads, rows, width], Elements::F32(vec![0.0; batch * heads * rows * width]))
                .unwrap()
        };
        let (q, k, v) = (tensor(4, queries, 5), tensor(2, keys, 5), tensor(2, keys, 7));
        let problem = Problem::new(view(&q), view(&k), view(&v), Sink::Copy, Spec::default()).unwrap();
        assert_eq!((problem.shape().batch, problem.shape().queries, problem.shape().keys), (batch, queries, keys));
    }
}
