//! The tiled engine on every back end of this machine: the common suite, sizes around the edges of tiles, identical bits for any
//! number of threads.

use contattn_check::suite;
use contattn_core::families::{Family, SinkKind};
use contattn_core::{
    Dtype, Engine, Layout, Open, Output, Problem, Request, Rule, Shape, Spec, Tensor, TensorName, Timeline, Unattended,
    Upstream, Window,
};
use contattn_cpu::tiled::{Isa, Options};
use contattn_cpu::{Plain, Tiled};

/// Every rule of the engine.
const RULES: [Rule; 5] = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(0), Rule::Taylor(1)];

fn engines(threads: Option<usize>) -> Vec<Tiled> {
    let open = |isa: Isa| Tiled::open(Options { isa: Some(isa), threads }).ok();
    Isa::ALL.into_iter().filter_map(open).collect()
}

fn suite_on(isa: Isa) {
    if !isa.is_available() {
        return;
    }
    let engine = Tiled::open(Options { isa: Some(isa), threads: None }).unwrap();
    let report = suite::run(&engine);
    assert!(report.passed(), "{isa}: {report}");
}

#[test]
fn the_suite_on_avx512() {
    suite_on(Isa::Avx512);
}

#[test]
fn the_suite_on_avx2() {
    suite_on(Isa::Avx2);
}

#[test]
fn the_suite_on_portable_vectors() {
    suite_on(Isa::Portable);
}

fn numbers(tensors: &[&Tensor]) -> Vec<f64> {
    tensors.iter().flat_map(|t| t.to_f64()).collect()
}

/// o, lse and all gradients of one engine, for an upstream gradient made of q and v themselves.
fn everything(engine: &dyn Engine, problem: &Problem<'_>) -> (Vec<f64>, Vec<f64>) {
    let request = Request { dtype: Some(Dtype::F64), ..Request::default() };
    let Output { o, lse, .. } = engine.forward(problem, &request, &Unattended).unwrap();
    let count = o.len();
    let g = Tensor::from_f64(o.shape().to_vec(), Dtype::F32, (0..count).map(|i| ((i * 7919) % 97) as f64 / 48.0 - 1.0));
    let g = g.unwrap();
    let upstream = Upstream::new(problem, g.view(TensorName::UpstreamOutput, Layout::Bhsd).unwrap(), None).unwrap();
    let gradient = engine.backward(problem, &upstream, None, &request, &Unattended).unwrap();
    let forward = numbers(&[&o, &lse]);
    let mut gradients = numbers(&[&gradient.dq, &gradient.dk, &gradient.dv]);
    gradients.extend(gradient.sink.iter().flat_map(|sink| numbers(&[&sink.dk, &sink.dv])));
    // The Taylor rule has no durations.
    gradients.extend(gradient.durations.iter().flat_map(|durations| durations.to_f64()));
    (forward, gradients)
}

fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    let size = expected.iter().filter(|x| x.is_finite()).fold(1.0, |m: f64, x| m.max(x.abs()));
    for (i, (&a, &b)) in found.iter().zip(expected).enumerate() {
        assert!(a == b || (a - b).abs() <= tolerance * size, "{what}, element {i}: {a} instead of {b}");
    }
}

/// Every size beside a border of register tile, block or key tile of any back end, as number of keys and of queries, against the
/// plain engine. Errors here are those of a wrong index, not of rounding.
#[test]
fn sizes_beside_every_border() {
    let sizes = [
        1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 23, 24, 25, 47, 48, 49, 63, 64, 65, 71, 72, 73, 74, 143, 144,
        145,
    ];
    let engines = engines(Some(1));
    for (i, &keys) in sizes.iter().enumerate() {
        for queries in [1, sizes[(i * 5 + 3) % sizes.len()], keys] {
            let shape =
                Shape { batch: 1, heads: 2, kv_heads: 1, queries, keys, head_dim: 3 + i % 7, value_dim: 1 + i % 10 };
            let family = if i % 2 == 0 { Family::Gauss } else { Family::IrregularTimes };
            let sample = family.sample(shape, Dtype::F32, i as u64).unwrap();
            for rule in RULES {
                let taylor = matches!(rule, Rule::Taylor(_));
                for window in [Window::causal(), Window::full(), Window::sliding(if taylor { 5.0 } else { 5.3 })] {
                    for sink in SinkKind::ALL {
                        let mut spec = Spec { rule, window: window.clone(), ..sample.spec() };
                        if taylor {
                            spec.timeline = Timeline::Unit;
                        }
                        let problem = sample.problem(sink, spec).unwrap();
                        let (forward, backward) = everything(&Plain::<f64>::new(), &problem);
                        for engine in &engines {
                            let what = format!("{} {rule} {window:?} {sink:?} {queries} x {keys}", engine.isa());
                            let (o, gradient) = everything(engine, &problem);
                            assert_close(&what, &o, &forward, 3e-6);
                            assert_close(&what, &gradient, &backward, 2e-5);
                        }
                    }
                }
            }
        }
    }
}

/// 1025 keys, and 1030 queries of 17 keys: many tiles, and many blocks.
#[test]
fn long_and_wide() {
    for (queries, keys, head_dim) in [(1025, 1025, 16), (1030, 17, 80), (1, 70_000, 8), (5, 70_000, 8), (60, 1025, 24)]
    {
        let shape = Shape { batch: 1, heads: 3, kv_heads: 1, queries, keys, head_dim, value_dim: 8 };
        let sample = Family::IrregularTimes.sample(shape, Dtype::F32, 5).unwrap();
        let problem = sample.problem(SinkKind::Zeros, sample.spec()).unwrap();
        let (forward, backward) = everything(&Plain::<f64>::new(), &problem);
        for engine in engines(None) {
            let what = format!("{} {queries} x {keys}", engine.isa());
            let (o, gradient) = everything(&engine, &problem);
            assert_close(&what, &o, &forward, 1e-5);
            assert_close(&what, &gradient, &backward, 1e-4);
        }
    }
}

/// On problems large enough for more than one thread.
fn assert_same_bits(problem: &Problem<'_>) {
    let results: Vec<Vec<_>> = [1, 2, 7]
        .map(|threads| engines(Some(threads)).iter().map(|engine| everything(engine, problem)).collect())
        .into();
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let shape = Shape { batch: 2, heads: 4, kv_heads: 2, queries: 600, keys: 500, head_dim: 24, value_dim: 8 };
    let sample = Family::IrregularTimes.sample(shape, Dtype::F32, 11).unwrap();
    for window in [Window::causal(), Window::sliding(40.0)] {
        let problem = sample.problem(SinkKind::Given, Spec { window, ..sample.spec() }).unwrap();
        assert_same_bits(&problem);
    }
    let problem = sample.problem(SinkKind::Copy, Spec { rule: Rule::Taylor(1), ..Spec::default() }).unwrap();
    assert_same_bits(&problem);
    // One query, split by its keys.
    let shape = Shape { batch: 1, heads: 4, kv_heads: 2, queries: 1, keys: 50_000, head_dim: 24, value_dim: 8 };
    let sample = Family::IrregularTimes.sample(shape, Dtype::F32, 12).unwrap();
    assert_same_bits(&sample.problem(SinkKind::Given, sample.spec()).unwrap());
}

/// Few queries against many keys take a way of their own: every rule, window and sink, masks and documents, NaN that is seen and
/// that is not.
#[test]
fn few_queries_against_many_keys() {
    use contattn_core::{Documents, Lower, Series, Upper};
    let mut windows = vec![Window::causal(), Window::full(), Window::sliding(300.3), Window::between(10.4, 2000.2)];
    windows.push(Window { lower: Lower::Start, upper: Upper::Query { offset: 0.5 } });
    windows.extend([Window::sliding(700.0), Window::between(60.0, 1100.0)]);
    for (i, (queries, keys)) in [(1, 128), (2, 1025), (4, 2050), (1, 3073)].into_iter().enumerate() {
        let shape = Shape {
            batch: 2,
            heads: 4,
            kv_heads: 2,
            queries,
            keys,
            head_dim: [8, 64, 5, 72][i],
            value_dim: [3, 8, 40, 136][i],
        };
        let family = if i % 2 == 0 { Family::IrregularTimes } else { Family::Peaked };
        let mut sample = family.sample(shape, Dtype::F32, i as u64).unwrap();
        for poisoned in [false, true] {
            if poisoned {
                let (shape, elements) = sample.v.clone().into_parts();
                let contattn_core::Elements::F32(mut values) = elements else { panic!("f32 was asked for") };
                values[40 * shape[3] + 1] = f32::NAN;
                sample.v = Tensor::new(shape, values.into()).unwrap();
            }
            for rule in RULES {
                for window in &windows {
                    for sink in SinkKind::ALL {
                        for masks in 0..3 {
                            let mut spec = Spec { rule, window: window.clone(), ..sample.spec() };
                            if matches!(rule, Rule::Taylor(_)) {
                                spec.timeline = Timeline::Unit;
                            }
                            if masks == 1 {
                                spec.key_mask = Some(Series::shared((0..keys).map(|k| k % 41 != 40).collect()));
                            }
                            if masks == 2 {
                                let ids = (0..keys).map(|k| i64::from(k > keys / 3)).collect();
                                spec.documents = Some(Documents { keys: Series::shared(ids), queries: None });
                            }
                            let Ok(problem) = sample.problem(sink, spec) else {
                                assert!(matches!(rule, Rule::Taylor(_)), "which refuses cut segments");
                                continue;
                            };
                            let what = format!("{rule} {window:?} {sink:?} {queries} x {keys} mask {masks}");
                            assert_exact(&what, &engines(None), &problem);
                        }
                    }
                }
            }
        }
    }
}

/// The forward results of engines are those of the plain one in f64, NaN where they are NaN.
fn assert_exact(what: &str, engines: &[Tiled], problem: &Problem<'_>) {
    let request = Request { dtype: Some(Dtype::F64), ..Request::default() };
    let exact = Plain::<f64>::new().forward(problem, &request, &Unattended).unwrap();
    for engine in engines {
        let found = engine.forward(problem, &request, &Unattended).unwrap();
        for (found, exact) in [(&found.o, &exact.o), (&found.lse, &exact.lse)] {
            let (found, exact) = (found.to_f64(), exact.to_f64());
            for (at, (a, b)) in found.iter().zip(&exact).enumerate() {
                let close = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 2e-5 * (1.0 + b.abs());
                assert!(close, "{} {what}, element {at}: {a} instead of {b}", engine.isa());
            }
        }
    }
}

/// Keys and values are looked at tile by tile: NaN and infinity in one that a later block sees first, in the last node, in nodes that
/// nobody sees, on several threads.
#[test]
fn what_is_not_finite_is_found_wherever_it_is() {
    let shape = Shape { batch: 1, heads: 4, kv_heads: 2, queries: 290, keys: 290, head_dim: 8, value_dim: 16 };
    let sample = Family::Gauss.sample(shape, Dtype::F32, 5).unwrap();
    let planted = |tensor: &Tensor, node: usize, x: f32| {
        let (shape, elements) = tensor.clone().into_parts();
        let contattn_core::Elements::F32(mut values) = elements else { panic!("f32 was asked for") };
        // In the second key/value head.
        values[(shape[2] + node) * shape[3] + 1] = x;
        Tensor::new(shape, values.into()).unwrap()
    };
    let windows = [Window::causal(), Window::full(), Window::sliding(30.0), Window::sliding(29.5)];
    for threads in [1, 3] {
        let engines = engines(Some(threads));
        for (node, x) in [(0, f32::NAN), (150, f32::NEG_INFINITY), (216, f32::INFINITY), (289, f32::NAN)] {
            for of_keys in [true, false] {
                let mut sample = sample.clone();
                if of_keys {
                    sample.k = planted(&sample.k, node, x);
                } else {
                    sample.v = planted(&sample.v, node, x);
                }
                for rule in RULES {
                    for window in &windows {
                        let spec = Spec { rule, window: window.clone(), ..Spec::default() };
                        let Ok(problem) = sample.problem(SinkKind::Zeros, spec) else {
                            assert!(matches!(rule, Rule::Taylor(_)), "which refuses cut segments");
                            continue;
                        };
                        let what = format!("{rule} {window:?}, {x} in node {node}, keys: {of_keys}, {threads} threads");
                        assert_exact(&what, &engines, &problem);
                    }
                }
            }
        }
    }
}

/// Shapes for blocks of queries, and for few queries against many keys, with values that are all 1.1.
fn samples_of_equal_values() -> impl Iterator<Item = contattn_core::families::Sample> {
    [(290, 290, 16), (1, 2000, 72), (4, 300, 21)].into_iter().map(|(queries, keys, value_dim)| {
        let shape = Shape { batch: 1, heads: 4, kv_heads: 2, queries, keys, head_dim: 8, value_dim };
        Family::ConstantValues.sample(shape, Dtype::F32, 11).unwrap()
    })
}

/// A mean lies between the smallest and the largest of its values, so that the mean of equal ones is none but theirs.
#[test]
fn the_mean_of_equal_values_is_exact() {
    let windows = [Window::causal(), Window::full(), Window::sliding(70.0), Window::sliding(50.3)];
    for sample in samples_of_equal_values() {
        for rule in RULES {
            for window in &windows {
                for sink in [SinkKind::Absent, SinkKind::Copy, SinkKind::Given] {
                    let spec = Spec { rule, window: window.clone(), ..Spec::default() };
                    let Ok(problem) = sample.problem(sink, spec) else {
                        assert!(matches!(rule, Rule::Taylor(_)), "which refuses cut segments");
                        continue;
                    };
                    for engine in engines(Some(2)) {
                        let o = engine.forward(&problem, &Request::default(), &Unattended).unwrap().o.to_f64();
                        let all = o.iter().all(|&o| o == f64::from(1.1f32));
                        assert!(all, "{} {rule} {window:?} {sink:?}: {:?}", engine.isa(), problem.shape());
                    }
                }
            }
        }
    }
}

/// Values that a row does not see have no part in it, to the last bit: not in what it is kept between either.
#[test]
fn later_values_leave_earlier_rows_as_they_are() {
    let shape = Shape { batch: 1, heads: 2, kv_heads: 2, queries: 290, keys: 290, head_dim: 8, value_dim: 16 };
    let sample = Family::ConstantValues.sample(shape, Dtype::F32, 12).unwrap();
    for seen in [1, 33, 150, 288] {
        let mut changed = sample.clone();
        let numbers = sample.v.to_f64().into_iter().enumerate();
        // Some larger and some smaller than all that the rows before see.
        let later = numbers.map(|(at, v)| if at / 16 % 290 < seen { v } else { v + [1.0, -1.0][at / 16 % 2] });
        changed.v = Tensor::from_f64(vec![1, 2, 290, 16], Dtype::F32, later.collect::<Vec<_>>()).unwrap();
        for rule in RULES {
            for window in [Window::causal(), Window::sliding(40.0)] {
                let spec = Spec { rule, window, ..Spec::default() };
                for engine in engines(Some(1)) {
                    let [before, after] = [&sample, &changed].map(|sample| {
                        let problem = sample.problem(SinkKind::Copy, spec.clone()).unwrap();
                        engine.forward(&problem, &Request::default(), &Unattended).unwrap().o.to_f64()
                    });
                    for at in (0..before.len()).filter(|at| at / 16 % 290 < seen) {
                        assert_eq!(before[at], after[at], "{} {spec:?}: element {at}", engine.isa());
                    }
                    assert_ne!(before, after);
                }
            }
        }
    }
}

/// Decoding token by token from a cache gives the rows of the full pass.
#[test]
fn a_cache_answers_as_the_full_pass_does() {
    use contattn_cpu::tiled::Cache;
    let shape = Shape { batch: 1, heads: 4, kv_heads: 2, queries: 200, keys: 200, head_dim: 16, value_dim: 8 };
    let sample = Family::Gauss.sample(shape, Dtype::F32, 3).unwrap();
    let engine = Tiled::open(Options::default()).unwrap();
    let request = Request::default();
    let whole = sample.problem(SinkKind::Zeros, Spec::default()).unwrap();
    let whole = engine.forward(&whole, &request, &Unattended).unwrap();
    let view = |name, t| Tensor::view(t, name, Layout::Bhsd).unwrap();
    let (q, k, v) =
        (view(TensorName::Query, &sample.q), view(TensorName::Key, &sample.k), view(TensorName::Value, &sample.v));
    let mut cache = Cache::new(1, 2, 16, 8);
    for token in 0..200 {
        let row = token..token + 1;
        let (k, v) = (k.rows(TensorName::Key, row.clone()).unwrap(), v.rows(TensorName::Value, row.clone()).unwrap());
        cache.append(&k, &v).unwrap();
        assert_eq!(cache.len(), token + 1);
        let q = q.rows(TensorName::Query, row).unwrap();
        let problem = cache.problem(q, contattn_core::Sink::Zeros, Spec::default()).unwrap();
        let one = engine.forward(&problem, &request, &Unattended).unwrap();
        for head in 0..4 {
            for c in 0..8 {
                let (a, b) = (one.o.get(&[0, head, 0, c]).unwrap(), whole.o.get(&[0, head, token, c]).unwrap());
                assert!((a - b).abs() < 1e-5, "token {token}: {a} {b}");
            }
        }
    }
    assert!(cache.append(&v, &k).is_err(), "widths are checked");
}

/// Scores with a single peak, and alternating ones, of every height: under Taylor of order 1 the largest exponent lies far below the
/// largest score, and every row must stay what it is.
#[test]
fn taylor_is_anchored_at_its_own_exponents() {
    for height in [0.0, 1.0, 80.0, 300.0, 1e4, 1e7, 1e30, -1e30] {
        for period in [2, 50, 1000] {
            for sink in SinkKind::ALL {
                let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: 90, keys: 90, head_dim: 8, value_dim: 8 };
                let mut sample = Family::Gauss.sample(shape, Dtype::F32, 9).unwrap();
                // Channel 0 of the queries is 1, that of the keys the height.
                let change = |t: &Tensor, number: &dyn Fn(usize) -> f64| {
                    let mut values = t.to_f64();
                    values.iter_mut().step_by(8).enumerate().for_each(|(row, x)| *x = number(row));
                    Tensor::from_f64(t.shape().to_vec(), Dtype::F32, values).unwrap()
                };
                sample.q = change(&sample.q, &|_| 1.0);
                sample.k = change(&sample.k, &|row| if (row + 40) % period == 0 { height } else { 0.0 });
                for rule in [Rule::Taylor(0), Rule::Taylor(1)] {
                    for window in [Window::causal(), Window::full(), Window::sliding(7.0)] {
                        let spec = Spec { rule, window, scale: contattn_core::Scale::Value(1.0), ..sample.spec() };
                        let problem = sample.problem(sink, spec).unwrap();
                        let (forward, _) = everything(&Plain::<f64>::new(), &problem);
                        for engine in engines(Some(1)) {
                            let what = format!("{} {rule}, height {height}, period {period}, {sink:?}", engine.isa());
                            let (found, gradient) = everything(&engine, &problem);
                            assert!(gradient.iter().all(|x| x.is_finite()), "{what}");
                            // Scores are good to u of their size.
                            let tolerance = 1e-5 + 4e-7 * height.abs().min(1e6);
                            for (at, (a, b)) in found.iter().zip(&forward).enumerate() {
                                let close = a == b || (a - b).abs() <= tolerance * (1.0 + b.abs());
                                assert!(height.abs() > 1e6 || close, "{what}, element {at}: {a} instead of {b}");
                                assert!(a.is_finite() == b.is_finite(), "{what}, element {at}: {a} instead of {b}");
                            }
                        }
                    }
                }
            }
        }
    }
}
