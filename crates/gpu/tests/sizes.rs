//! Sizes around the edges of tiles, widths, counts past the limits of a dispatch, masked runs, and the same bits from run to run.

mod software;

use contattn_core::families::{Family, SinkKind};
use contattn_core::{
    Documents, Dtype, Engine, Layout, Lower, Open, Output, Problem, Request, Rule, Series, Shape, Spec, Tensor,
    TensorName, Unattended, Upper, Upstream, Window,
};
use contattn_cpu::{Plain, Tiled, tiled};
use contattn_gpu::{Gpu, Options, Variant};

fn numbers(tensors: &[&Tensor]) -> Vec<f64> {
    tensors.iter().flat_map(|t| t.to_f64()).collect()
}

/// o and lse of one engine.
fn forward(engine: &dyn Engine, problem: &Problem<'_>) -> Vec<f64> {
    let request = Request { dtype: Some(Dtype::F64), ..Request::default() };
    let Output { o, lse, .. } = engine.forward(problem, &request, &Unattended).unwrap();
    numbers(&[&o, &lse])
}

/// o, lse and all gradients of one engine, for one upstream gradient.
fn everything(engine: &dyn Engine, problem: &Problem<'_>) -> (Vec<f64>, Vec<f64>) {
    let request = Request { dtype: Some(Dtype::F64), ..Request::default() };
    let Output { o, lse, .. } = engine.forward(problem, &request, &Unattended).unwrap();
    let count = o.len();
    let g = Tensor::from_f64(o.shape().to_vec(), Dtype::F32, (0..count).map(|i| ((i * 7919) % 97) as f64 / 48.0 - 1.0));
    let g = g.unwrap();
    let upstream = Upstream::new(problem, g.view(TensorName::UpstreamOutput, Layout::Bhsd).unwrap(), None).unwrap();
    let gradient = engine.backward(problem, &upstream, None, &request, &Unattended).unwrap();
    let forward = numbers(&[&o, &lse]);
    (forward, numbers(&[&gradient.dq, &gradient.dk, &gradient.dv, gradient.durations.as_ref().unwrap()]))
}

fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    let size = expected.iter().filter(|x| x.is_finite()).fold(1.0, |m: f64, x| m.max(x.abs()));
    for (i, (&a, &b)) in found.iter().zip(expected).enumerate() {
        assert!(a == b || (a - b).abs() <= tolerance * size, "{what}, element {i}: {a} instead of {b}");
    }
}

fn variants(test: &str) -> Vec<Gpu> {
    Variant::ALL.into_iter().filter_map(|variant| software::variant(test, variant)).collect()
}

/// Every size beside a border of the tiles of 32 and 64 that overlap by one or two, against the plain engine; and the variants agree.
#[test]
fn sizes_beside_every_border() {
    let engines = variants("sizes beside every border");
    let sizes = [1, 2, 15, 16, 17, 29, 30, 31, 32, 33, 34, 61, 62, 63, 64, 65, 66, 94, 127, 129];
    for (i, &keys) in sizes.iter().enumerate() {
        let queries = sizes[(i * 7 + 3) % sizes.len()];
        let shape =
            Shape { batch: 1, heads: 2, kv_heads: 1, queries, keys, head_dim: 3 + i % 7, value_dim: 1 + i % 10 };
        let family = if i % 2 == 0 { Family::Gauss } else { Family::IrregularTimes };
        let sample = family.sample(shape, Dtype::F32, i as u64).unwrap();
        for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
            for (window, sink) in [
                (Window::causal(), SinkKind::Zeros),
                (Window::full(), SinkKind::Absent),
                (Window::sliding(5.3), SinkKind::Given),
            ] {
                let spec = Spec { rule, window: window.clone(), ..sample.spec() };
                let problem = sample.problem(sink, spec).unwrap();
                let (forward, backward) = everything(&Plain::<f64>::new(), &problem);
                for engine in &engines {
                    let what = format!("{} {rule} {window:?} {sink:?} {queries} x {keys}", engine.variant().name());
                    let (o, gradient) = everything(engine, &problem);
                    assert_close(&what, &o, &forward, 3e-6);
                    assert_close(&what, &gradient, &backward, 2e-5);
                }
            }
        }
    }
}

/// Widths from 1 to 256, odd ones among them, and past the columns that a workgroup holds.
#[test]
fn every_width() {
    let engines = variants("every width");
    for (head_dim, value_dim) in
        [(1, 1), (3, 80), (80, 3), (31, 33), (64, 64), (127, 129), (256, 256), (5, 300), (300, 5)]
    {
        let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: 35, keys: 67, head_dim, value_dim };
        let sample = Family::IrregularTimes.sample(shape, Dtype::F32, head_dim as u64).unwrap();
        let problem = sample.problem(SinkKind::Zeros, sample.spec()).unwrap();
        let (forward, backward) = everything(&Plain::<f64>::new(), &problem);
        for engine in &engines {
            let what = format!("{} d {head_dim} {value_dim}", engine.variant().name());
            let (o, gradient) = everything(engine, &problem);
            assert_close(&what, &o, &forward, 5e-6);
            assert_close(&what, &gradient, &backward, 3e-5);
        }
    }
}

/// More heads than a dispatch has workgroups.
#[test]
fn more_heads_than_workgroups() {
    let Some(engine) = software::variant("more heads than workgroups", Variant::Portable) else { return };
    let shape = Shape { batch: 2, heads: 32_900, kv_heads: 32_900, queries: 1, keys: 2, head_dim: 2, value_dim: 1 };
    let sample = Family::Gauss.sample(shape, Dtype::F32, 7).unwrap();
    let problem = sample.problem(SinkKind::Zeros, sample.spec()).unwrap();
    let twin = Tiled::open(tiled::Options::default()).unwrap();
    let (found, expected) = (forward(&engine, &problem), forward(&twin, &problem));
    assert_close("65800 heads", &found, &expected, 3e-6);
}

/// More keys than a dispatch has workgroups, and than software Vulkan lets a loop have passes.
#[test]
fn more_keys_than_workgroups() {
    let Some(engine) = software::variant("more keys than workgroups", Variant::Portable) else { return };
    let twin = Tiled::open(tiled::Options::default()).unwrap();
    let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: 2, keys: 66_000, head_dim: 2, value_dim: 1 };
    let sample = Family::Gauss.sample(shape, Dtype::F32, 7).unwrap();
    for rule in [Rule::Linear, Rule::Step] {
        let problem = sample.problem(SinkKind::Zeros, Spec { rule, ..sample.spec() }).unwrap();
        let (forward, backward) = everything(&twin, &problem);
        let (o, gradient) = everything(&engine, &problem);
        assert_close("66000 keys", &o, &forward, 3e-6);
        assert_close("66000 keys", &gradient, &backward, 3e-4);
    }
}

/// More queries than software Vulkan lets a loop have passes, of which each is cut at the same segment.
#[test]
fn many_queries_with_pieces() {
    let Some(engine) = software::variant("many queries with pieces", Variant::Portable) else { return };
    let twin = Tiled::open(tiled::Options::default()).unwrap();
    let shape = Shape { batch: 1, heads: 2, kv_heads: 1, queries: 34_000, keys: 9, head_dim: 4, value_dim: 4 };
    let sample = Family::Gauss.sample(shape, Dtype::F32, 7).unwrap();
    let problem = sample.problem(SinkKind::Zeros, Spec { window: Window::between(0.3, 7.6), ..sample.spec() }).unwrap();
    let (forward, backward) = everything(&twin, &problem);
    let (o, gradient) = everything(&engine, &problem);
    assert_close("34000 queries", &o, &forward, 3e-6);
    assert_close("34000 queries", &gradient, &backward, 3e-4);
}

/// Empty rows, one key, masked runs longer than a tile, documents, peaked scores.
#[test]
fn masks_documents_and_peaks() {
    let engines = variants("masks, documents and peaks");
    let (queries, keys) = (90, 210);
    let shape = Shape { batch: 2, heads: 2, kv_heads: 1, queries, keys, head_dim: 8, value_dim: 5 };
    for (family, seed) in [(Family::Peaked, 3), (Family::IrregularTimes, 4)] {
        let sample = family.sample(shape, Dtype::F32, seed).unwrap();
        for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
            for masks in 0..4 {
                for window in
                    [Window::causal(), Window { lower: Lower::Sliding(17.3), upper: Upper::Query { offset: 0.4 } }]
                {
                    let mut spec = Spec { rule, window: window.clone(), ..sample.spec() };
                    if masks % 2 == 1 {
                        spec.key_mask =
                            Some(Series::shared((0..keys).map(|k| !(40..125).contains(&k) && k != 0).collect()));
                    }
                    if masks / 2 == 1 {
                        let ids = (0..keys).map(|k| i64::from(k > 130) + i64::from(k > 170)).collect();
                        spec.documents = Some(Documents { keys: Series::shared(ids), queries: None });
                    }
                    let problem = sample.problem(SinkKind::Copy, spec).unwrap();
                    let (forward, backward) = everything(&Plain::<f64>::new(), &problem);
                    for engine in &engines {
                        let what = format!("{} {rule} {family:?} masks {masks} {window:?}", engine.variant().name());
                        let (o, gradient) = everything(engine, &problem);
                        assert_close(&what, &o, &forward, 2e-5);
                        assert_close(&what, &gradient, &backward, 2e-4);
                    }
                }
            }
        }
    }
}

/// The same bits from run to run, forward and backward; and however tensors are split, the same but for rounding.
#[test]
fn the_same_bits_from_run_to_run() {
    let shape = Shape { batch: 2, heads: 4, kv_heads: 2, queries: 100, keys: 150, head_dim: 24, value_dim: 8 };
    let sample = Family::IrregularTimes.sample(shape, Dtype::F32, 11).unwrap();
    for window in [Window::causal(), Window::sliding(40.0)] {
        let problem = sample.problem(SinkKind::Given, Spec { window, ..sample.spec() }).unwrap();
        for engine in variants("the same bits from run to run") {
            let first = everything(&engine, &problem);
            assert!((0..3).all(|_| everything(&engine, &problem) == first));
            let options = Options { variant: Some(engine.variant()), largest_buffer: Some(8192), ..Options::default() };
            let Some(split) = software::open("the same bits from run to run", options) else { return };
            let (o, gradient) = everything(&split, &problem);
            assert_close("split", &o, &first.0, 3e-6);
            assert_close("split", &gradient, &first.1, 2e-5);
        }
    }
}
