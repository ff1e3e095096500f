//! Microseconds per (query, key) pair of correctly rounded f64 outputs: causal, d = 64. Arguments: n, and anything to leave
//! the first stage out. One thread: RAYON_NUM_THREADS=1.
#![allow(clippy::print_stdout)]

use contattn_core::{Dtype, Layout, Problem, Request, Sink, Spec, Tensor, TensorName, Unattended};
use contattn_reference::Reference;
use std::time::Instant;

fn main() {
    let n: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(256);
    let d = 64;
    let mut state = 1u64;
    let mut normal = || {
        // The sum of twelve uniforms less six: close enough to a Gaussian for a timing.
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    };
    for dtype in [Dtype::F64, Dtype::F32] {
        let mut tensor =
            || Tensor::from_f64(vec![1, 1, n, d], dtype, (0..n * d).map(|_| normal())).expect("n x d numbers");
        let (q, k, v) = (tensor(), tensor(), tensor());
        let view = |t: &Tensor| t.clone();
        let (q, k, v) = (view(&q), view(&k), view(&v));
        let view = |t| Tensor::view(t, TensorName::Query, Layout::Bhsd).expect("rank 4");
        let problem = Problem::new(view(&q), view(&k), view(&v), Sink::Zeros, Spec::default()).expect("a problem");
        let request = Request { dtype: Some(Dtype::F64), ..Request::default() };
        let alone = std::env::args().nth(2).is_some();
        let engine = if alone { Reference::multiprecision_alone() } else { Reference::new() };
        let start = Instant::now();
        let (_, certificate) = engine.certify(&problem, &request, &Unattended).expect("a result");
        let pairs = (n * (n + 1) / 2) as f64;
        let micros = start.elapsed().as_secs_f64() * 1e6;
        println!("{dtype} n {n}: {:.3} us per pair, {certificate:?}", micros / pairs);
    }
}
