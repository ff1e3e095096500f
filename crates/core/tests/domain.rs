//! What rows see, on cases worked out by hand from docs/operator.md.

use contattn_core::{
    Documents, Domain, Dtype, Edge, Interval, Layout, Lower, Part, Piece, Place, Point, Problem, QueryTimes, Rule,
    Series, Sink, Spec, Tensor, TensorName, Timeline, Upper, Window,
};

fn tensor(rows: usize) -> Tensor {
    Tensor::from_f64(vec![rows, 1], Dtype::F64, vec![0.5; rows]).unwrap()
}

/// The domain of one row of a problem of `queries` queries and `keys` keys.
fn domain(queries: usize, keys: usize, row: usize, sink: Sink<'_>, spec: Spec) -> Domain {
    let (q, k) = (tensor(queries), tensor(keys));
    let view = |x| Tensor::view(x, TensorName::Query, Layout::Bhsd).unwrap();
    Problem::new(view(&q), view(&k), view(&k), sink, spec).unwrap().domain(0, row)
}

fn pieces(queries: usize, keys: usize, row: usize, sink: Sink<'_>, spec: Spec) -> (Interval, Vec<Piece>) {
    let (q, k) = (tensor(queries), tensor(keys));
    let view = |x| Tensor::view(x, TensorName::Query, Layout::Bhsd).unwrap();
    let problem = Problem::new(view(&q), view(&k), view(&k), sink, spec).unwrap();
    match problem.domain(0, row) {
        Domain::Interval(interval) => {
            let pieces = interval.pieces(problem.nodes(0)).collect();
            (interval, pieces)
        }
        other => panic!("expected an interval, found {other:?}"),
    }
}

fn whole(segment: usize, left: usize, duration: f64) -> Piece {
    Piece::Segment { segment, left, right: segment, duration, part: Part::WHOLE }
}

fn node(node: usize) -> Domain {
    Domain::Point(Point { left: node, right: node, fraction: 0.0 })
}

fn shared(values: &[f64]) -> Series<f64> {
    Series::shared(values.to_vec())
}

#[test]
fn causal_rows_sit_at_the_last_nodes() {
    let spec = Spec::default();
    // Two queries on four nodes sit at nodes 3 and 4.
    let (_, first) = pieces(2, 4, 0, Sink::Zeros, spec.clone());
    assert_eq!(first, [whole(1, 0, 1.0), whole(2, 1, 1.0), whole(3, 2, 1.0)]);
    let (_, absent) = pieces(2, 4, 0, Sink::Absent, spec.clone());
    assert_eq!(absent, [whole(2, 1, 1.0), whole(3, 2, 1.0)]);
    // Six queries on four nodes sit at -1, 0, 1, ...: the first sees nothing, the second the sink alone.
    assert_eq!(domain(6, 4, 0, Sink::Zeros, spec.clone()), Domain::Empty);
    assert_eq!(domain(6, 4, 1, Sink::Zeros, spec.clone()), node(0));
    assert_eq!(domain(6, 4, 1, Sink::Absent, spec.clone()), Domain::Empty);
    assert_eq!(domain(6, 4, 2, Sink::Absent, spec.clone()), node(1));
    // A full window does not refer to t.
    let full = Spec { window: Window::full(), ..spec };
    assert_eq!(pieces(6, 4, 0, Sink::Zeros, full).1.len(), 4);
}

#[test]
fn step_reads_own_nodes_alone() {
    let spec = Spec { rule: Rule::Step, ..Spec::default() };
    for sink in [Sink::Zeros, Sink::Absent] {
        let (_, seen) = pieces(3, 3, 1, sink, spec.clone());
        assert_eq!(seen, [whole(1, 1, 1.0), whole(2, 2, 1.0)]);
    }
    // t = 1.25 lies in segment 2, which is visible with a quarter of its duration.
    let spec = Spec { query_times: QueryTimes::At(shared(&[1.25])), ..spec };
    let (_, seen) = pieces(1, 3, 0, Sink::Absent, spec);
    let part = Part { beta: 0.25, one_minus_beta: 0.75, lambda: 0.25, ..Part::WHOLE };
    assert_eq!(seen[1], Piece::Segment { segment: 2, left: 2, right: 2, duration: 1.0, part });
    assert_eq!(seen.len(), 2);
}

#[test]
fn edges_cut_segments_and_hold_the_curve() {
    // [1/2, t + 1/2], the interval that Su mentions.
    let spec = Spec { window: Window::causal_between(0.5, 0.5), ..Spec::default() };
    let (interval, seen) = pieces(3, 3, 1, Sink::Zeros, spec);
    let part = Part { alpha: 0.5, one_minus_alpha: 0.5, lambda: 0.5, ..Part::WHOLE };
    assert_eq!(seen[0], Piece::Segment { segment: 1, left: 0, right: 1, duration: 1.0, part });
    assert_eq!(seen[1], whole(2, 1, 1.0));
    let Piece::Hold(hold) = seen[2] else { panic!("held after node 2") };
    assert_eq!((hold.node, hold.length, seen.len()), (2, 0.5, 3));
    assert_eq!(interval.lower.place, Place::Segment(1));
    assert_eq!((interval.upper.place, interval.upper.moves_with), (Place::After(2), Some(2)));

    // Both edges in one segment, and both before the first node.
    let spec = Spec { window: Window::between(1.25, 1.75), ..Spec::default() };
    let (_, seen) = pieces(1, 3, 0, Sink::Zeros, spec);
    let part = Part { alpha: 0.25, one_minus_alpha: 0.75, beta: 0.75, one_minus_beta: 0.25, lambda: 0.5 };
    assert_eq!(seen, [Piece::Segment { segment: 2, left: 1, right: 2, duration: 1.0, part }]);
    let spec = Spec { window: Window::between(-5.0, -3.0), ..Spec::default() };
    let (_, seen) = pieces(1, 3, 0, Sink::Absent, spec);
    let [Piece::Hold(hold)] = seen[..] else { panic!("held before node 1") };
    assert_eq!((hold.node, hold.length), (1, 2.0));
}

#[test]
fn a_point_is_the_curve_at_the_latest_visible_time() {
    let point = |window| domain(1, 3, 0, Sink::Zeros, Spec { window, ..Spec::default() });
    assert_eq!(point(Window::between(1.25, 1.25)), Domain::Point(Point { left: 1, right: 2, fraction: 0.25 }));
    assert_eq!(point(Window::between(2.0, 2.0)), node(2));
    assert_eq!(point(Window::between(0.0, 0.0)), node(0));
    assert_eq!(point(Window::between(9.0, 9.0)), node(3));
    assert_eq!(point(Window::sliding(0.0)), node(3));
    // All durations 0: the highest index.
    let still = Spec { timeline: Timeline::Durations(shared(&[0.0; 3])), ..Spec::default() };
    assert_eq!(domain(1, 3, 0, Sink::Zeros, still.clone()), node(3));
    let full = Spec { window: Window::full(), rule: Rule::Step, ..still };
    assert_eq!(domain(1, 3, 0, Sink::Zeros, full), node(3));
}

#[test]
fn masks_remove_segments() {
    let keep = |kept: &[bool]| Spec {
        key_mask: Some(Series::shared(kept.to_vec())),
        window: Window::full(),
        ..Spec::default()
    };
    // Node 2 masked: segments 2 and 3 go, under Step segment 2 alone.
    let spec = keep(&[true, false, true, true]);
    assert_eq!(pieces(1, 4, 0, Sink::Zeros, spec.clone()).1, [whole(1, 0, 1.0), whole(4, 3, 1.0)]);
    let step = Spec { rule: Rule::Step, ..spec };
    assert_eq!(pieces(1, 4, 0, Sink::Zeros, step).1, [whole(1, 1, 1.0), whole(3, 3, 1.0), whole(4, 4, 1.0)]);
    // Leading padding: the sink joins the first kept node by that node's duration.
    let spec = keep(&[false, false, true, true]);
    assert_eq!(pieces(1, 4, 0, Sink::Zeros, spec.clone()).1, [whole(3, 0, 1.0), whole(4, 3, 1.0)]);
    assert_eq!(pieces(1, 4, 0, Sink::Absent, spec.clone()).1, [whole(4, 3, 1.0)]);
    // A causal row at padding before it: the sink's time is that of node 2, so a row there sees the sink, one before nothing.
    let causal = Spec { window: Window::causal(), ..spec };
    assert_eq!(domain(4, 4, 1, Sink::Zeros, causal.clone()), node(0));
    assert_eq!(domain(4, 4, 0, Sink::Zeros, causal), Domain::Empty);
    // One kept node is a point; none is nothing.
    assert_eq!(domain(1, 4, 0, Sink::Absent, keep(&[false, true, false, false])), node(2));
    assert_eq!(domain(1, 4, 0, Sink::Zeros, keep(&[false; 4])), Domain::Empty);
}

#[test]
fn documents_stand_alone() {
    let documents = |ids: &[i64]| Documents { keys: Series::shared(ids.to_vec()), queries: None };
    let spec = Spec { documents: Some(documents(&[7, 7, 3, 3, 3])), ..Spec::default() };
    // Row 3 sits at node 4: it sees nodes 3 and 4 behind a sink of its own at the time of node 2.
    assert_eq!(pieces(5, 5, 3, Sink::Zeros, spec.clone()).1, [whole(3, 0, 1.0), whole(4, 3, 1.0)]);
    assert_eq!(pieces(5, 5, 1, Sink::Zeros, spec.clone()).1, [whole(1, 0, 1.0), whole(2, 1, 1.0)]);
    let queries = Some(Series::shared(vec![3, 9]));
    let spec =
        Spec { documents: Some(Documents { queries, ..documents(&[7, 7, 3, 3, 3]) }), window: Window::full(), ..spec };
    assert_eq!(pieces(2, 5, 0, Sink::Absent, spec.clone()).1, [whole(4, 3, 1.0), whole(5, 4, 1.0)]);
    assert_eq!(domain(2, 5, 1, Sink::Absent, spec), Domain::Empty);
}

#[test]
fn without_nodes_the_sink_is_alone() {
    let spec = Spec { window: Window::full(), ..Spec::default() };
    assert_eq!(domain(1, 0, 0, Sink::Zeros, spec.clone()), node(0));
    assert_eq!(domain(1, 0, 0, Sink::Copy, spec.clone()), Domain::Empty);
    assert_eq!(domain(1, 0, 0, Sink::Absent, spec.clone()), Domain::Empty);
    let held = Spec { window: Window::between(-1.0, 2.0), ..spec };
    assert_eq!(pieces(1, 0, 0, Sink::Zeros, held).1.len(), 2);
}

#[test]
fn edges_on_nodes_move_with_them_and_derived_ones_with_t() {
    let (interval, _) = pieces(4, 4, 3, Sink::Zeros, Spec { window: Window::sliding(2.0), ..Spec::default() });
    // t - w = 2 meets node 2, but it moves with t, which sits at node 4: D_3 and D_4 move it relative to the curve.
    assert_eq!((interval.lower.place, interval.lower.moves_with), (Place::Segment(3), Some(4)));
    let moved: Vec<f64> = (1..=4).map(|i| interval.lower.velocity(i, interval.first_part.alpha)).collect();
    assert_eq!(moved, [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(interval.lower.moved_by(), 3..=4);
    // Given edges at 1 and 3 sit on nodes; given edges elsewhere do not move at all.
    let (interval, _) = pieces(1, 4, 0, Sink::Zeros, Spec { window: Window::between(1.0, 3.5), ..Spec::default() });
    assert_eq!(interval.lower.place, Place::Node);
    let moved: Vec<f64> = (1..=4).map(|i| interval.upper.velocity(i, interval.last_part.beta)).collect();
    assert_eq!(moved, [-1.0, -1.0, -1.0, -0.5]);
    assert_eq!(interval.upper.moved_by(), 1..=4);
    let rows = Edge::Rows(shared(&[1.0]));
    let window = Window { lower: Lower::At(rows), upper: Upper::End };
    assert_eq!(pieces(1, 4, 0, Sink::Zeros, Spec { window, ..Spec::default() }).0.lower.place, Place::Node);
}

/// A time that is given moves with a node of its own document alone; a default one is its node's, whosever that is.
#[test]
fn times_move_with_nodes_of_their_own_document() {
    let keys = Series::shared(vec![1, 1, 2, 2]);
    let documents = Some(Documents { keys, queries: Some(Series::shared(vec![1])) });
    let given =
        |t: f64| Spec { documents: documents.clone(), query_times: QueryTimes::At(shared(&[t])), ..Spec::default() };
    // Node 4 of document 2 stands at 4; the row belongs to document 1, whose last node stands at 2.
    let upper = |spec| pieces(1, 4, 0, Sink::Zeros, spec).0.upper;
    assert_eq!((upper(given(4.0)).place, upper(given(4.0)).moves_with), (Place::After(2), None));
    assert_eq!(upper(given(2.0)).moves_with, Some(2));
    assert_eq!(upper(Spec { documents: documents.clone(), ..Spec::default() }).moves_with, Some(4));
}
