//! Decoding: a cache of keys and values grows by a token at a time, each new query attends to all of it, and the results are
//! those of one pass over the whole sequence.
//!
//!     cargo run -p contattn-cpu --example decode

use contattn_core::families::SinkKind;
use contattn_core::{Dtype, Engine, Family, Layout, Open, Request, Shape, Sink, Spec, TensorName, Unattended};
use contattn_cpu::Tiled;
use contattn_cpu::tiled::{Cache, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shape = Shape { batch: 1, heads: 4, kv_heads: 2, queries: 200, keys: 200, head_dim: 64, value_dim: 64 };
    let sample = Family::Gauss.sample(shape, Dtype::F32, 3)?;
    let engine = Tiled::open(Options::default())?;
    let whole = engine.forward(&sample.problem(SinkKind::Zeros, Spec::default())?, &Request::default(), &Unattended)?;

    let (q, k, v) = (
        sample.q.view(TensorName::Query, Layout::Bhsd)?,
        sample.k.view(TensorName::Key, Layout::Bhsd)?,
        sample.v.view(TensorName::Value, Layout::Bhsd)?,
    );
    let mut cache = Cache::new(shape.batch, shape.kv_heads, shape.head_dim, shape.value_dim);
    let mut worst = 0.0f64;
    for token in 0..shape.keys {
        let now = token..token + 1;
        cache.append(&k.rows(TensorName::Key, now.clone())?, &v.rows(TensorName::Value, now.clone())?)?;
        // The one query sits at the last token by default.
        let problem = cache.problem(q.rows(TensorName::Query, now)?, Sink::Zeros, Spec::default())?;
        let step = engine.forward(&problem, &Request::default(), &Unattended)?;
        for head in 0..shape.heads {
            for channel in 0..shape.value_dim {
                let one = step.o.get(&[0, head, 0, channel]).ok_or("no such element")?;
                let all = whole.o.get(&[0, head, token, channel]).ok_or("no such element")?;
                worst = worst.max((one - all).abs());
            }
        }
    }
    print(&format!("{} tokens decoded; off from the whole pass by {worst:.1e} at most", cache.len()));
    assert!(worst < 1e-5);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn print(line: &str) {
    println!("{line}");
}
