use super::*;
use crate::generate::SmallProblem;
use contattn_core::families::SinkKind;
use contattn_core::{
    Dtype, Layout, QueryTimes, Rule, Scale, Series, Shape, Spec, Tensor, TensorName, Timeline, Upstream, Window,
};

const SHAPE: Shape = Shape { batch: 1, heads: 2, kv_heads: 1, queries: 3, keys: 4, head_dim: 2, value_dim: 2 };

/// Numbers with few bits, so that steps of 2^-30 are exact.
fn small(spec: Spec, sink: SinkKind) -> SmallProblem {
    let mut state = 12345u32;
    let mut small = SmallProblem::filled(SHAPE, Dtype::F64, Layout::Bhsd, || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 20) / 1024.0 - 2.0
    });
    (small.spec, small.sink) = (spec, sink);
    small
}

fn tensor(values: Vec<f64>, width: usize) -> Tensor {
    Tensor::from_f64(vec![1, 2, 3, width], Dtype::F64, values).unwrap()
}

fn upstream() -> (Tensor, Tensor) {
    let g = tensor((0..12).map(|i| f64::from(i % 5) - 1.75).collect(), 2);
    let g_lse = tensor((0..6).map(|i| f64::from(i) * 0.5 - 1.0).collect(), 1);
    (g, g_lse)
}

fn with_upstream<T>(problem: &Problem<'_>, then: impl FnOnce(&Upstream<'_>) -> T) -> T {
    let (g, g_lse) = upstream();
    let view = |t| Tensor::view(t, TensorName::UpstreamOutput, Layout::Bhsd).unwrap();
    then(&Upstream::new(problem, view(&g), Some(view(&g_lse))).unwrap())
}

/// L = sum g o + sum g_lse lse.
fn loss(small: &SmallProblem) -> Wide {
    let problem = small.problem().unwrap();
    let (g, g_lse) = upstream();
    let (g, g_lse) = (g.to_f64(), g_lse.to_f64());
    let mut sum = Wide::ZERO;
    for (r, row) in Exact::of(&problem).rows().iter().enumerate() {
        for (c, &o) in row.o.iter().enumerate() {
            sum += o * g[r * 2 + c];
        }
        // A row that sees nothing has lse -infinity whatever moves.
        if row.lse.is_finite() {
            sum += row.lse * g_lse[r];
        }
    }
    sum
}

fn moved(t: &Tensor, at: usize, by: f64) -> Tensor {
    let mut values = t.to_f64();
    values[at] += by;
    Tensor::from_f64(t.shape().to_vec(), Dtype::F64, values).unwrap()
}

/// Central differences with a step of 2^-30 err by about 2^-62 of the third derivative, and by 2^-66 of L.
fn confirm(case: &str, small: &SmallProblem) {
    let problem = small.problem().unwrap();
    let gradient = with_upstream(&problem, |upstream| Exact::of(&problem).gradient(upstream));
    let step = 2f64.powi(-30);
    let check = |what: &str, found: Wide, change: &dyn Fn(f64) -> SmallProblem| {
        let difference = (loss(&change(step)) - loss(&change(-step))) / Wide::from_f64(2.0 * step);
        let error = (difference - found).to_f64().abs();
        assert!(error < 1e-14 * (1.0 + found.to_f64().abs()), "{case}, {what}: {found:?} against {difference:?}");
    };
    for at in 0..12 {
        check("dq", gradient.dq[at], &|by| SmallProblem { q: moved(&small.q, at, by), ..small.clone() });
    }
    for at in 0..8 {
        check("dk", gradient.dk[at], &|by| SmallProblem { k: moved(&small.k, at, by), ..small.clone() });
        check("dv", gradient.dv[at], &|by| SmallProblem { v: moved(&small.v, at, by), ..small.clone() });
    }
    if small.sink == SinkKind::Given {
        for at in 0..2 {
            let key = |by| SmallProblem { sink_k: moved(&small.sink_k, at, by), ..small.clone() };
            check("sink dk", gradient.sink_dk[at], &key);
            let value = |by| SmallProblem { sink_v: moved(&small.sink_v, at, by), ..small.clone() };
            check("sink dv", gradient.sink_dv[at], &value);
        }
    }
    if let Timeline::Durations(durations) = &small.spec.timeline {
        for at in 0..4 {
            check("d durations", gradient.durations[at], &|by| {
                let mut values = durations.values().to_vec();
                values[at] += by;
                let spec = Spec { timeline: Timeline::Durations(Series::shared(values)), ..small.spec.clone() };
                SmallProblem { spec, ..small.clone() }
            });
        }
    }
}

#[test]
fn gradients_are_central_differences() {
    for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
        for sink in SinkKind::ALL {
            // No edge meets a node, so that every derivative exists.
            for window in [
                Window::full(),
                Window::causal(),
                Window::between(0.3, 2.9),
                Window::between(-0.7, 7.1),
                Window::sliding(1.3),
                Window::causal_between(0.3, 0.4),
            ] {
                for query_times in [QueryTimes::LastNodes, QueryTimes::At(Series::shared(vec![2.2, 0.7, 9.3]))] {
                    let case = format!("{rule}, sink {sink:?}, {window:?}, {query_times:?}");
                    let timeline = Timeline::Durations(Series::shared(vec![1.125, 0.5, 0.75, 1.5]));
                    let scale = Scale::Value(0.75);
                    let spec = Spec { rule, window: window.clone(), query_times, timeline, scale, ..Spec::default() };
                    confirm(&case, &small(spec, sink));
                }
            }
        }
    }
}

#[test]
fn gradients_of_the_taylor_rule() {
    for order in [0, 1, 2, 5] {
        for sink in SinkKind::ALL {
            let mask = Some(Series::shared(vec![true, true, false, true]));
            for key_mask in [None, mask] {
                let spec = Spec { rule: Rule::Taylor(order), key_mask, ..Spec::default() };
                confirm(&format!("order {order}, sink {sink:?}"), &small(spec, sink));
            }
        }
    }
}

/// q = k = 1 apart from the last node, one channel.
fn two_nodes(rule: Rule, score: f64) -> SmallProblem {
    let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: 1, keys: 2, head_dim: 1, value_dim: 1 };
    let mut numbers = [1.0, 0.0, score, 0.0, 1.0].into_iter();
    let mut small = SmallProblem::filled(shape, Dtype::F64, Layout::Bhsd, || numbers.next().unwrap_or(0.0));
    small.sink = SinkKind::Absent;
    small.spec = Spec { rule, window: Window::full(), scale: Scale::Value(1.0), ..Spec::default() };
    small
}

#[test]
fn two_nodes_have_a_closed_form() {
    // Scores 0 and x, values 0 and 1 over one unit of time: Z = (e^x - 1)/x, o = (e^x (x - 1) + 1)/(x (e^x - 1)).
    for x in [3.0, -2.0, 40.0, -700.0] {
        let small = two_nodes(Rule::Linear, x);
        let problem = small.problem().unwrap();
        let exact = Exact::of(&problem);
        let (wide, e) = (Wide::from_f64(x), Wide::from_f64(x).exp());
        let one = Wide::ONE;
        let o = (e * (wide - one) + one) / (wide * (e - one));
        let lse = ((e - one) / wide).ln();
        let row = &exact.rows()[0];
        assert!(((row.o[0] - o) / o).to_f64().abs() < 1e-26, "{x}: {:?} {o:?}", row.o[0]);
        assert!((row.lse - lse).to_f64().abs() < 1e-25, "{x}: {:?} {lse:?}", row.lse);
    }
    // The trapezoid: weights e^0 : e^x.
    let small = two_nodes(Rule::Trapezoid, 2.0);
    let problem = small.problem().unwrap();
    let e = Wide::from_f64(2.0).exp();
    let exact = Exact::of(&problem);
    assert!((exact.rows()[0].o[0] - e / (e + Wide::ONE)).to_f64().abs() < 1e-29);
    let bias: Vec<f64> = exact.rows()[0].bias.iter().map(|b| b.to_f64()).collect();
    assert_eq!(bias, [f64::NEG_INFINITY, -std::f64::consts::LN_2, -std::f64::consts::LN_2]);
}

#[test]
fn the_bias_of_a_node_that_weighs_nothing_is_known() {
    // Scores 0 and 3000: P of the first node is (e^x - 1 - x)/x^2, so b = 3000 - 2 log 3000 to 1e-1300.
    let small = two_nodes(Rule::Linear, 3000.0);
    let problem = small.problem().unwrap();
    let exact = Exact::of(&problem);
    let expected = Wide::from_f64(3000.0) - Wide::from_f64(3000.0).ln() * 2.0;
    assert!((exact.rows()[0].bias[1] - expected).to_f64().abs() < 1e-24);
}

#[test]
fn a_high_score_without_duration_weighs_nothing() {
    // Scores 1500 and 0, durations 0 and 1, under Step: node 2 alone, lse = 0.
    let mut small = two_nodes(Rule::Step, 0.0);
    small.k = Tensor::from_f64(vec![1, 1, 2, 1], Dtype::F64, [1500.0, 0.0]).unwrap();
    small.spec.timeline = Timeline::Durations(Series::shared(vec![0.0, 1.0]));
    let problem = small.problem().unwrap();
    let exact = Exact::of(&problem);
    let row = &exact.rows()[0];
    assert_eq!((row.lse.to_f64(), row.weights[1].to_f64(), row.weights[2].to_f64()), (0.0, 0.0, 1.0));
}
