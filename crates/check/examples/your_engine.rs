//! An engine from outside, put through the suite and the golden corpus: what you would write around your own kernel.
//!
//! It computes the rule Linear in f64, row by row, on the unit time line, and says that it can do nothing else. What a row sees,
//! core has worked out, so masks, documents and sinks cost it no code.
//!
//!     cargo run -p contattn-check --example your_engine

use contattn_check::golden::{Corpus, results};
use contattn_check::suite;
use contattn_core::{
    Domain, Dtype, Engine, EngineError, Feature, Gradient, Monitor, Output, Piece, Problem, Request, Rule, Sink,
    Tensor, Unattended, Upstream,
};

struct Mine;

/// int_0^1 e^{sx} (1 - s) ds and int_0^1 e^{sx} s ds for x <= 0.
fn integrals(x: f64) -> (f64, f64) {
    if x > -1.0 {
        // The quotients cancel here. phi2 is the sum of x^k/(k + 2)!, and phi1 = 1 + x phi2.
        let phi2 = (0..18).rev().fold(0.0, |sum, k| (1.0 + x * sum) / f64::from(k + 2));
        (phi2, 1.0 + x * phi2 - phi2)
    } else {
        let phi1 = x.exp_m1() / x;
        ((phi1 - 1.0) / x, (x.exp() - phi1) / x)
    }
}

/// Row of a problem: key or value of a node, 0 for those of a sink of zeros.
fn number(problem: &Problem<'_>, of_key: bool, (batch, head): (usize, usize), node: usize, channel: usize) -> f64 {
    let view = if of_key { problem.k() } else { problem.v() };
    if node == 0 { 0.0 } else { view.get(batch, problem.shape().kv_head(head), node - 1, channel) }
}

/// o and lse of one row.
fn row(problem: &Problem<'_>, (batch, head): (usize, usize), row: usize) -> (Vec<f64>, f64) {
    let shape = problem.shape();
    let at = (batch, head);
    let value = |node: usize, channel: usize| {
        // Infinity in a value makes NaN of its column, as the conventions have it.
        let v = number(problem, false, at, node, channel);
        if v.is_finite() { v } else { f64::NAN }
    };
    let interval = match problem.domain(batch, row) {
        Domain::Empty => return (vec![0.0; shape.value_dim], f64::NEG_INFINITY),
        Domain::Point(point) => {
            return ((0..shape.value_dim).map(|c| value(point.left, c)).collect(), f64::NEG_INFINITY);
        }
        Domain::Interval(interval) => interval,
    };
    let score = |node: usize| -> f64 {
        let pair = |c| (problem.q().get(batch, head, row, c), number(problem, true, at, node, c));
        if (0..shape.head_dim).map(pair).any(|(q, k)| !q.is_finite() || !k.is_finite()) {
            return f64::NAN;
        }
        // Finite inputs never give NaN: what overflows is held at the largest number.
        let score = problem.scale() * (0..shape.head_dim).map(pair).map(|(q, k)| q * k).sum::<f64>();
        if score.is_nan() { 0.0 } else { score.clamp(-f64::MAX, f64::MAX) }
    };
    // A piece of constant curve is a segment between equal scores, as long as it lasts.
    let nodes = problem.nodes(batch);
    let ends = interval.pieces(nodes).map(|piece| match piece {
        Piece::Segment { left, right, duration, .. } => (left, right, duration),
        Piece::Hold(hold) => (hold.node, hold.node, hold.length),
    });
    let segments: Vec<_> = ends.map(|(l, r, length)| (l, r, score(l), score(r), length)).collect();
    if segments.iter().any(|(_, _, a, b, _)| a.is_nan() || b.is_nan()) {
        return (vec![f64::NAN; shape.value_dim], f64::NAN);
    }
    let max = segments.iter().fold(f64::NEG_INFINITY, |max, (_, _, a, b, _)| max.max(*a).max(*b));
    let (mut o, mut z) = (vec![0.0; shape.value_dim], 0.0);
    for (left, right, a, b, length) in segments {
        let (near, far) = integrals((-(a - b).abs()).max(-f64::MAX));
        let top = length * (a.max(b) - max).exp();
        let (to_left, to_right) = if a >= b { (top * near, top * far) } else { (top * far, top * near) };
        z += to_left + to_right;
        for (c, o) in o.iter_mut().enumerate() {
            *o += to_left * value(left, c) + to_right * value(right, c);
        }
    }
    (o.into_iter().map(|o| o / z).collect(), max + z.ln())
}

impl Engine for Mine {
    fn name(&self) -> &str {
        "mine"
    }
    fn arithmetic(&self) -> Dtype {
        Dtype::F64
    }
    fn supports(&self, feature: Feature) -> bool {
        use Feature::{Documents, Input, KeyMask, Results};
        match feature {
            Input(_) | Results(_) | KeyMask | Documents => true,
            Feature::Rule(rule) => rule == Rule::Linear,
            Feature::Sink(kind) => kind == Sink::Absent.name() || kind == Sink::Zeros.name(),
            _ => false,
        }
    }
    fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
        self.check(problem, request)?;
        let s = problem.shape();
        let (mut o, mut lse) = (Vec::new(), Vec::new());
        for (batch, head) in (0..s.batch).flat_map(|b| (0..s.heads).map(move |h| (b, h))) {
            if monitor.is_cancelled() {
                return Err(EngineError::Cancelled);
            }
            for r in 0..s.queries {
                let (of_row, of_mass) = row(problem, (batch, head), r);
                o.extend(of_row);
                lse.push(of_mass);
            }
        }
        let dtype = request.dtype(problem);
        let tensor = |shape: Vec<usize>, dtype, values| Tensor::from_f64(shape, dtype, values).expect("sizes agree");
        Ok(Output {
            o: tensor(vec![s.batch, s.heads, s.queries, s.value_dim], dtype, o),
            lse: tensor(vec![s.batch, s.heads, s.queries], dtype.lse(), lse),
            weights: None,
            bias: None,
        })
    }
    fn backward(
        &self,
        _: &Problem<'_>,
        _: &Upstream<'_>,
        _: Option<&Output>,
        _: &Request,
        _: &dyn Monitor,
    ) -> Result<Gradient, EngineError> {
        Err(EngineError::Unsupported { engine: self.name().to_owned(), feature: Feature::Backward })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Every rule, window, sink, mask and type that the engine says it supports; what it does not is skipped, by name.
    let report = suite::run(&Mine);
    print(&report.to_string());
    assert!(report.passed());

    // The golden corpus: correctly rounded results.
    let corpus = Corpus::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden"))?;
    let mut judged = 0;
    for entry in &corpus.manifest().cases {
        let (inputs, expected) = corpus.load(entry)?;
        let problem = inputs.problem.problem()?;
        if Mine.check(&problem, &Request::default()).is_err() {
            continue;
        }
        let output = Mine.forward(&problem, &Request::default(), &Unattended)?;
        for (name, actual) in results(&inputs, output, None)? {
            let verdict = expected[name].judge(&actual, Dtype::F64)?;
            assert!(verdict.passed(), "{}, {name}: {verdict}", entry.name);
        }
        judged += 1;
    }
    print(&format!("golden corpus: {judged} cases, all right"));
    assert!(judged > 30);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example shows what it finds")]
fn print(line: &str) {
    println!("{line}");
}
