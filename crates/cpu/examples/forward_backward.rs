//! Continuous attention and its gradients on samples at irregular times, by both engines of this crate.
//!
//!     cargo run -p contattn-cpu --example forward_backward

use contattn_core::families::SinkKind;
use contattn_core::{Dtype, Engine, Family, Layout, Open, Request, Shape, Tensor, TensorName, Unattended, Upstream};
use contattn_cpu::tiled::Options;
use contattn_cpu::{Plain, Tiled};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 2 batches, 4 query heads on 2 key/value heads, 96 tokens at random times; any named family of inputs would do.
    let shape = Shape { batch: 2, heads: 4, kv_heads: 2, queries: 96, keys: 96, head_dim: 32, value_dim: 32 };
    let sample = Family::IrregularTimes.sample(shape, Dtype::F32, 7)?;
    let problem = sample.problem(SinkKind::Zeros, sample.spec())?;

    // The readable engine in f64, and the fast one in f32.
    let plain = Plain::<f64>::new();
    let tiled = Tiled::open(Options::default())?;
    let exact = plain.forward(&problem, &Request { dtype: Some(Dtype::F64), ..Request::default() }, &Unattended)?;
    let fast = tiled.forward(&problem, &Request::default(), &Unattended)?;
    let off = largest_difference(&fast.o, &exact.o);
    print(&format!("o {:?}: {} is off by {off:.1e} at most", fast.o.shape(), tiled.name()));
    assert!(off < 1e-5);

    // A loss whose gradient by o is 1 everywhere; the forward results need not be computed again.
    let ones = Tensor::from_f64(fast.o.shape().to_vec(), Dtype::F32, vec![1.0; fast.o.len()])?;
    let upstream = Upstream::new(&problem, ones.view(TensorName::UpstreamOutput, Layout::Bhsd)?, None)?;
    let gradient = tiled.backward(&problem, &upstream, Some(&fast), &Request::default(), &Unattended)?;
    let expected = plain.backward(
        &problem,
        &upstream,
        None,
        &Request { dtype: Some(Dtype::F64), ..Request::default() },
        &Unattended,
    )?;
    for (name, found, exact) in
        [("dq", &gradient.dq, &expected.dq), ("dk", &gradient.dk, &expected.dk), ("dv", &gradient.dv, &expected.dv)]
    {
        let off = largest_difference(found, exact);
        print(&format!("{name} {:?}: off by {off:.1e} at most", found.shape()));
        assert!(off < 1e-4);
    }
    // Durations have gradients too, one for each segment.
    let durations = gradient.durations.ok_or("durations were given")?;
    assert_eq!(durations.shape().last(), Some(&shape.keys));
    print(&format!("dD {:?}", durations.shape()));
    Ok(())
}

fn largest_difference(a: &Tensor, b: &Tensor) -> f64 {
    a.to_f64().iter().zip(b.to_f64()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn print(line: &str) {
    println!("{line}");
}
