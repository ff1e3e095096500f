//! Golden values for a test of your own: correctly rounded results of a problem that you state, with what proves them, and any
//! function of a segment to as many digits as you like.
//!
//!     cargo run -p contattn-reference --example golden_values

use contattn_core::{
    Dtype, Engine, Layout, Problem, Request, Series, Sink, Spec, Tensor, TensorName, Timeline, Unattended, Upstream,
};
use contattn_reference::decimal::{certified, parse};
use contattn_reference::phi::phi2;
use contattn_reference::{Enclosure, Reference};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two causal queries on two nodes after a sink of zeros, at irregular distances.
    let tensor = |values: &[f64]| Tensor::from_f64(vec![2, values.len() / 2], Dtype::F32, values.iter().copied());
    let (q, k, v) = (tensor(&[1.0, 0.5, -2.0, 0.25])?, tensor(&[3.0, 0.0, 1.0, -1.0])?, tensor(&[1.0, 2.0])?);
    let spec = Spec { timeline: Timeline::Durations(Series::shared(vec![0.5, 2.0])), ..Spec::default() };
    let problem = Problem::new(
        q.view(TensorName::Query, Layout::Bhsd)?,
        k.view(TensorName::Key, Layout::Bhsd)?,
        v.view(TensorName::Value, Layout::Bhsd)?,
        Sink::Zeros,
        spec,
    )?;

    // Forward: each number is the one of its type nearest to the exact result, and that is proven.
    let engine = Reference::new();
    let request = Request { weights: true, dtype: Some(Dtype::F64), ..Request::default() };
    let (output, certificate) = engine.certify(&problem, &request, &Unattended)?;
    for x in output.o.to_f64() {
        print(&format!("o = {x:.17e}"));
    }
    let settled = certificate.by_double_double + certificate.by_enclosure + certificate.exactly + certificate.defined;
    let weights = output.weights.as_ref().map_or(0, Tensor::len);
    assert_eq!(settled as usize, output.o.len() + output.lse.len() + weights);
    print(&format!("{certificate:?}"));

    // Gradients of the sum of o.
    let ones = Tensor::from_f64(output.o.shape().to_vec(), Dtype::F64, vec![1.0; output.o.len()])?;
    let upstream = Upstream::new(&problem, ones.view(TensorName::UpstreamOutput, Layout::Bhsd)?, None)?;
    let gradient = engine.backward(&problem, &upstream, None, &request, &Unattended)?;
    print(&format!("dv = {:?}", gradient.dv.to_f64()));
    // Each query's weights add up to 1, and so do their shares of dv, the sink's among them.
    assert!(gradient.dv.to_f64().iter().sum::<f64>() < 2.0);

    // phi2 at a tenth, to forty digits, the last one rounded.
    let tenth = parse("0.1").ok_or("a number")?;
    let digits = certified(40, |bits| phi2(&Enclosure::from_rational(bits, &tenth))).ok_or("an exact decimal")?;
    print(&format!("phi2(0.1) = {digits}"));
    assert!(digits.starts_with("5.170918075647624811707826490246668224547"));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn print(line: &str) {
    println!("{line}");
}
