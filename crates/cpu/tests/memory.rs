//! Small problems of every shape that kernels cut differently, in allocations without a byte to spare: what an address sanitizer is
//! run over (`make asan`). Without one it is a test of the same results from every instruction set.

use contattn_core::families::{Family, SinkKind};
use contattn_core::{
    Dtype, Engine, Layout, Open, Request, Rule, Shape, Spec, Tensor, TensorName, Timeline, Unattended, Upstream, Window,
};
use contattn_cpu::tiled::{Isa, Options};
use contattn_cpu::{Plain, Tiled};

const RULES: [Rule; 4] = [Rule::Linear, Rule::Step, Rule::Trapezoid, Rule::Taylor(1)];

/// Forward and backward of one problem on every instruction set.
fn try_shape(shape: Shape, family: Family, window: &Window, seed: u64) {
    for rule in RULES {
        for sink in [SinkKind::Zeros, SinkKind::Given, SinkKind::Copy] {
            let sample = family.sample(shape, Dtype::F32, seed).unwrap();
            let mut spec = Spec { rule, window: window.clone(), ..sample.spec() };
            if matches!(rule, Rule::Taylor(_)) {
                spec.timeline = Timeline::Unit;
            }
            let Ok(problem) = sample.problem(sink, spec) else { continue };
            let request = Request::default();
            let exact = Plain::<f64>::new().forward(&problem, &request, &Unattended).unwrap().o.to_f64();
            for isa in Isa::ALL {
                let Ok(engine) = Tiled::open(Options { isa: Some(isa), threads: Some(1) }) else { continue };
                let output = engine.forward(&problem, &request, &Unattended).unwrap();
                for (at, (a, b)) in output.o.to_f64().iter().zip(&exact).enumerate() {
                    assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{isa} {rule} {shape:?} {at}: {a} instead of {b}");
                }
                let g = Tensor::from_f64(output.o.shape().to_vec(), Dtype::F32, vec![0.5; output.o.len()]).unwrap();
                let g = g.view(TensorName::UpstreamOutput, Layout::Bhsd).unwrap();
                let upstream = Upstream::new(&problem, g, None).unwrap();
                for saved in [None, Some(&output)] {
                    let gradient = engine.backward(&problem, &upstream, saved, &request, &Unattended).unwrap();
                    assert!(gradient.dk.to_f64().iter().all(|x| x.is_finite()));
                }
            }
        }
    }
}

/// Widths that are whole vectors, parts of them, and one number; numbers of queries and keys beside the edges of register tiles,
/// blocks and tiles.
#[test]
fn every_edge_is_inside_its_tensors() {
    let widths = [(1, 1), (3, 5), (8, 8), (17, 2), (16, 24), (40, 9), (64, 65)];
    for (i, (head_dim, value_dim)) in widths.into_iter().enumerate() {
        for (j, (queries, keys)) in
            [(1, 1), (2, 3), (13, 9), (25, 72), (24, 73), (49, 74), (5, 146)].into_iter().enumerate()
        {
            let shape = Shape { batch: 1, heads: 2, kv_heads: 1, queries, keys, head_dim, value_dim };
            let family = if (i + j) % 2 == 0 { Family::IrregularTimes } else { Family::Gauss };
            let windows = [Window::causal(), Window::full(), Window::sliding(4.0)];
            try_shape(shape, family, &windows[(i + 2 * j) % 3], i as u64);
        }
    }
}

/// Few queries, many keys: the way of decoding.
#[test]
fn runs_and_their_tiles_are_inside_their_tensors() {
    for (i, (queries, keys)) in [(1, 128), (4, 191), (2, 1025), (1, 1088)].into_iter().enumerate() {
        let (head_dim, value_dim) = [(8, 8), (5, 3), (24, 72), (128, 130)][i];
        let shape = Shape { batch: 1, heads: 2, kv_heads: 1, queries, keys, head_dim, value_dim };
        try_shape(shape, Family::IrregularTimes, &Window::causal(), i as u64);
    }
}
