//! The engine on random problems, beside the plain engine in f64 and with the rules that engines keep.

mod cases;
mod numbers;

use cases::{Case, Mix, SinkKind, plain, random};
use contattn_core::{
    CancelToken, Documents, Dtype, Engine, EngineError, Feature, Layout, Monitor, Request, Rule, Series, Spec, Tensor,
    TensorName, Unattended, Upstream,
};
use contattn_cpu::plain::Plain;
use contattn_reference::Reference;
use numbers::Numbers;
use std::sync::atomic::{AtomicU64, Ordering};

fn bits(x: &Tensor) -> Vec<u64> {
    x.to_f64().into_iter().map(f64::to_bits).collect()
}

const WANT: Request = Request { weights: true, bias: true, dtype: Some(Dtype::F64) };

fn near(a: &Tensor, b: &Tensor, tolerance: f64, what: &str, case: &Case) {
    assert_eq!(a.shape(), b.shape(), "{what}");
    for (i, (x, y)) in a.to_f64().into_iter().zip(b.to_f64()).enumerate() {
        let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs()));
        assert!(same, "{what}[{i}]: {x:e} {y:e} {:?} {:?} k {:?}", case.sink, case.spec, case.k);
    }
}

fn upstream(case: &Case, numbers: &mut Numbers) -> (Tensor, Tensor) {
    let shape = case.problem().unwrap().shape();
    let mut draw = |width: usize| {
        let len = shape.batch * shape.heads * shape.queries * width;
        let values: Vec<f64> = (0..len).map(|_| numbers.between(-1.0, 1.0)).collect();
        Tensor::from_f64(vec![shape.batch, shape.heads, shape.queries, width], Dtype::F64, values).unwrap()
    };
    (draw(shape.value_dim), draw(1))
}

#[test]
fn close_to_the_plain_engine_on_random_problems() {
    let mut numbers = Numbers::new(12);
    for round in 0..500 {
        let case = random(&mut numbers, Mix { score: [2.0, 20.0][round % 2], ..Mix::default() });
        let problem = case.problem().unwrap();
        let (engine, peer) = (Reference::new(), Plain::<f64>::new());
        let a = engine.forward(&problem, &WANT, &Unattended).unwrap();
        let b = peer.forward(&problem, &WANT, &Unattended).unwrap();
        near(&a.o, &b.o, 1e-11, "o", &case);
        near(&a.lse, &b.lse, 1e-11, "lse", &case);
        near(a.weights.as_ref().unwrap(), b.weights.as_ref().unwrap(), 1e-11, "weights", &case);
        near(a.bias.as_ref().unwrap(), b.bias.as_ref().unwrap(), 1e-9, "bias", &case);
        let (g, g_lse) = upstream(&case, &mut numbers);
        let view = |t: &'static str| if t == "o" { &g } else { &g_lse };
        let o = view("o").view(TensorName::UpstreamOutput, Layout::Bhsd).unwrap();
        let lse = view("lse").view(TensorName::UpstreamLse, Layout::Bhsd).unwrap();
        let upstream = Upstream::new(&problem, o, Some(lse)).unwrap();
        let a = engine.backward(&problem, &upstream, None, &WANT, &Unattended).unwrap();
        let b = peer.backward(&problem, &upstream, None, &WANT, &Unattended).unwrap();
        near(&a.dq, &b.dq, 1e-8, "dq", &case);
        near(&a.dk, &b.dk, 1e-8, "dk", &case);
        near(&a.dv, &b.dv, 1e-8, "dv", &case);
        assert_eq!(a.sink.is_some(), b.sink.is_some());
        if let (Some(a), Some(b)) = (&a.sink, &b.sink) {
            near(&a.dk, &b.dk, 1e-8, "sink dk", &case);
            near(&a.dv, &b.dv, 1e-8, "sink dv", &case);
        }
        assert_eq!(a.durations.is_some(), b.durations.is_some());
        if let (Some(a), Some(b)) = (&a.durations, &b.durations) {
            near(a, b, 1e-8, "dD", &case);
        }
    }
}

/// Bit for bit: a packed document is what it is alone, and so is a row whose leading keys are padding.
#[test]
fn packed_is_padded_is_alone() {
    let mut numbers = Numbers::new(13);
    for rule in cases::RULES {
        for sink in [SinkKind::Absent, SinkKind::Zeros, SinkKind::Copy, SinkKind::Given] {
            let (d, first, second) = (3, 4, 5);
            let n = first + second;
            let mut draw = |len: usize| -> Vec<f64> { (0..len).map(|_| numbers.between(-2.0, 2.0)).collect() };
            let (q, k, v) = (draw(n * d), draw(n * d), draw(n * 2));
            let packed_spec = Spec {
                rule,
                documents: Some(Documents {
                    keys: Series::shared((0..n).map(|i| i64::from(i >= first)).collect()),
                    queries: None,
                }),
                ..Spec::default()
            };
            let padded_spec =
                Spec { rule, key_mask: Some(Series::shared((0..n).map(|i| i >= first).collect())), ..Spec::default() };
            let packed = plain(Dtype::F32, d, 2, &q, &k, &v, sink, packed_spec);
            let tail = &q[first * d..];
            let padded = plain(Dtype::F32, d, 2, tail, &k, &v, sink, padded_spec);
            let alone =
                plain(Dtype::F32, d, 2, tail, &k[first * d..], &v[first * 2..], sink, Spec { rule, ..Spec::default() });
            let run = |case: &Case| {
                Reference::new().forward(&case.problem().unwrap(), &Request::default(), &Unattended).unwrap()
            };
            let (packed, padded, alone) = (run(&packed), run(&padded), run(&alone));
            assert_eq!(padded.o.to_f64(), alone.o.to_f64(), "{rule} {sink:?}");
            assert_eq!(padded.lse.to_f64(), alone.lse.to_f64(), "{rule} {sink:?}");
            assert_eq!(packed.o.to_f64()[first * 2..], alone.o.to_f64()[..], "{rule} {sink:?}");
            assert_eq!(packed.lse.to_f64()[first..], alone.lse.to_f64()[..], "{rule} {sink:?}");
        }
    }
}

/// NaN in what a row sees makes the row NaN, in a seen v one column; in what it does not see nothing.
#[test]
fn nan_and_infinity_reach_what_sees_them() {
    let (d, n) = (2, 4);
    for rule in cases::RULES {
        for bad in [f64::NAN, f64::INFINITY] {
            let q = [0.3, -0.2, 0.1, 0.7, 0.5, 0.5, -0.4, 0.2];
            let k = [0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, 0.8];
            let v = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
            let run = |q: &[f64], k: &[f64], v: &[f64]| {
                let case = plain(Dtype::F64, d, 2, q, k, v, SinkKind::Absent, Spec { rule, ..Spec::default() });
                Reference::new().forward(&case.problem().unwrap(), &WANT, &Unattended).unwrap()
            };
            let clean = run(&q, &k, &v);
            let with = |x: &[f64], at: usize| {
                let mut x = x.to_vec();
                x[at] = bad;
                x
            };
            // Node 3 (index 2) is seen by rows 2 and 3 of the causal window.
            let key = run(&q, &with(&k, 5), &v);
            let value = run(&q, &k, &with(&v, 5));
            let query = run(&with(&q, 2), &k, &v);
            for row in 0..n {
                let o = |output: &contattn_core::Output| output.o.to_f64()[row * 2..row * 2 + 2].to_vec();
                let lse = |output: &contattn_core::Output| output.lse.to_f64()[row];
                let sees = row >= 2;
                assert_eq!(o(&key).iter().all(|x| x.is_nan()), sees, "{rule}");
                assert_eq!(lse(&key).is_nan(), sees);
                assert_eq!(o(&value)[1].is_nan(), sees);
                assert_eq!(o(&value)[0], o(&clean)[0]);
                assert_eq!(lse(&value), lse(&clean));
                assert_eq!(o(&query)[0].is_nan(), row == 1);
                if !sees {
                    assert_eq!((o(&key), o(&value)), (o(&clean), o(&clean)));
                }
            }
        }
    }
}

#[test]
fn scores_of_1e11_are_like_any_other() {
    for rule in [Rule::Linear, Rule::Step, Rule::Trapezoid] {
        let case = plain(
            Dtype::BF16,
            1,
            1,
            &[2f64.powi(20)],
            &[2f64.powi(17), 2f64.powi(17), -(2f64.powi(17))],
            &[1.0, 3.0, 5.0],
            SinkKind::Absent,
            Spec { rule, window: contattn_core::Window::full(), ..Spec::default() },
        );
        let output = Reference::new().forward(&case.problem().unwrap(), &WANT, &Unattended).unwrap();
        let o = output.o.to_f64()[0];
        assert!((2.0..=7.0 / 3.0).contains(&o), "{rule} {o}");
        assert_eq!(output.lse.to_f64()[0], 2f64.powi(37) + (output.lse.to_f64()[0] - 2f64.powi(37)));
    }
}

struct Watch {
    calls: AtomicU64,
    largest: AtomicU64,
    stop_after: u64,
}

impl Monitor for Watch {
    fn progress(&self, done: u64, total: u64) {
        assert!(done <= total);
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.largest.fetch_max(done, Ordering::Relaxed);
    }
    fn is_cancelled(&self) -> bool {
        self.calls.load(Ordering::Relaxed) >= self.stop_after
    }
}

#[test]
fn it_reports_progress_and_stops_when_asked() {
    let case = plain(
        Dtype::F32,
        1,
        1,
        &[0.5; 200],
        &[0.25; 3],
        &[1.0, 2.0, 3.0],
        SinkKind::Zeros,
        Spec { window: contattn_core::Window::full(), ..Spec::default() },
    );
    let problem = case.problem().unwrap();
    let watch = Watch { calls: AtomicU64::new(0), largest: AtomicU64::new(0), stop_after: u64::MAX };
    Reference::new().forward(&problem, &Request::default(), &watch).unwrap();
    assert_eq!((watch.calls.into_inner(), watch.largest.into_inner()), (200, 200));
    let watch = Watch { calls: AtomicU64::new(0), largest: AtomicU64::new(0), stop_after: 5 };
    let stopped = Reference::new().forward(&problem, &Request::default(), &watch);
    assert_eq!(stopped, Err(EngineError::Cancelled));
    assert!(watch.calls.into_inner() < 100);
    let token = CancelToken::default();
    token.cancel();
    assert_eq!(Reference::new().forward(&problem, &Request::default(), &token), Err(EngineError::Cancelled));
}

#[test]
fn it_has_every_feature() {
    let engine = Reference::new();
    assert!(Feature::all().into_iter().all(|feature| engine.supports(feature)));
    assert!(!engine.supports(Feature::Rule(Rule::Taylor(65))));
    assert_eq!((engine.name(), engine.arithmetic()), ("reference", Dtype::F64));
}

/// The first stage only settles what MPFR settles alike.
#[test]
fn the_first_stage_changes_no_bit() {
    let mut numbers = Numbers::new(15);
    let (mut by_first, mut by_others) = (0, 0);
    for round in 0..1200 {
        let score = [2.0, 20.0, 1e-5, 900.0][round % 4];
        let case = random(&mut numbers, Mix { score, coarse: round % 3 > 0, largest: 12, ..Mix::default() });
        let problem = case.problem().unwrap();
        let (weights, bias) = (numbers.below(2) == 0, numbers.below(2) == 0);
        let request = Request { dtype: Some(Dtype::ALL[numbers.below(4)]), weights, bias };
        let (a, certificate) = Reference::new().certify(&problem, &request, &Unattended).unwrap();
        let (b, _) = Reference::multiprecision_alone().certify(&problem, &request, &Unattended).unwrap();
        assert_eq!(bits(&a.o), bits(&b.o), "{:?} {:?}", case.sink, case.spec);
        assert_eq!(bits(&a.lse), bits(&b.lse), "{:?} {:?}", case.sink, case.spec);
        assert_eq!(a.weights.as_ref().map(bits), b.weights.as_ref().map(bits), "{:?} {:?}", case.sink, case.spec);
        assert_eq!(a.bias.as_ref().map(bits), b.bias.as_ref().map(bits), "{:?} {:?}", case.sink, case.spec);
        by_first += certificate.by_double_double;
        by_others += certificate.by_enclosure + certificate.exactly;
    }
    assert!(by_first > by_others, "{by_first} {by_others}");
}

/// Values and scores that tie, nearly tie, and reach both ends of what the first stage takes.
#[test]
fn the_first_stage_leaves_hard_rows_to_mpfr() {
    let mut numbers = Numbers::new(17);
    let mut exactly = 0;
    for round in 0..600 {
        let rule = cases::RULES[numbers.below(3)];
        let dtype = Dtype::ALL[numbers.below(4)];
        let u = 2.0 * dtype.unit_roundoff();
        let n = 2 + numbers.below(6);
        let group: Vec<f64> = (0..n).map(|_| numbers.below(3) as f64 - 1.0).collect();
        let extreme = [1e-80, 1e-75, 1e75, 1e80, 5e-324, 1e-160, 1e150];
        let v: Vec<f64> = (0..2 * n)
            .map(|i| match round % 4 {
                0 => 1.0 + u * numbers.below(2) as f64,
                // Half a unit, and a bit more or less of what an f64 can hold.
                1 => 1.0 + u / 2.0 + f64::EPSILON * (numbers.below(3) as f64 - 1.0),
                2 => extreme[numbers.below(extreme.len())] * numbers.sign(),
                _ => [0.0, 1.0, -1.0, 1e-30][(i + numbers.below(2)) % 4],
            })
            .collect();
        let scale = [1.0, 1e-3, 300.0, 1e60][numbers.below(4)];
        let sink = [SinkKind::Absent, SinkKind::Zeros, SinkKind::Copy][numbers.below(3)];
        let q: Vec<f64> = (0..3).map(|_| scale * [1.0, 0.0, -1.0, 1e-18][numbers.below(4)]).collect();
        let case = plain(Dtype::F64, 1, 2, &q, &group, &v, sink, Spec { rule, ..Spec::default() });
        let problem = case.problem().unwrap();
        let request = Request { dtype: Some(dtype), weights: true, bias: true };
        let (a, certificate) = Reference::new().certify(&problem, &request, &Unattended).unwrap();
        let (b, _) = Reference::multiprecision_alone().certify(&problem, &request, &Unattended).unwrap();
        assert_eq!(a.weights.as_ref().map(bits), b.weights.as_ref().map(bits), "{rule} {dtype} {q:?} {group:?}");
        assert_eq!(a.bias.as_ref().map(bits), b.bias.as_ref().map(bits), "{rule} {dtype} {q:?} {group:?}");
        assert_eq!(bits(&a.o), bits(&b.o), "{rule} {dtype} q {q:?} k {group:?} v {v:?}");
        assert_eq!(bits(&a.lse), bits(&b.lse), "{rule} {dtype} q {q:?} k {group:?}");
        exactly += certificate.exactly;
    }
    assert!(exactly > 100, "{exactly}");
}

/// Real queries, keys and values: three heads of a language model.
#[test]
fn the_first_stage_changes_no_bit_of_real_heads() {
    let tensor = |name: &str| {
        let path = format!("{}/../../tests/data/smollm2-heads.safetensors:layer10.{name}", env!("CARGO_MANIFEST_DIR"));
        contattn_core::file::read(&path.parse().unwrap()).unwrap().into_tensor().unwrap()
    };
    let (q, k, v) = (tensor("q"), tensor("k"), tensor("v"));
    for (rule, dtype) in [(Rule::Linear, Dtype::F64), (Rule::Step, Dtype::F32), (Rule::Linear, Dtype::BF16)] {
        let view = |t| Tensor::view(t, TensorName::Query, Layout::Bhsd).unwrap();
        let spec = Spec { rule, ..Spec::default() };
        let problem =
            contattn_core::Problem::new(view(&q), view(&k), view(&v), contattn_core::Sink::Zeros, spec).unwrap();
        let request = Request { dtype: Some(dtype), ..Request::default() };
        let (a, certificate) = Reference::new().certify(&problem, &request, &Unattended).unwrap();
        assert!(certificate.by_double_double > 9 * 26 * 64 * 9 / 10, "{certificate:?}");
        let (b, _) = Reference::multiprecision_alone().certify(&problem, &request, &Unattended).unwrap();
        assert_eq!((a.o.to_f64(), a.lse.to_f64()), (b.o.to_f64(), b.lse.to_f64()));
    }
}

/// NaN and infinity anywhere among random problems reach what they reach in the plain engine.
#[test]
fn nan_spreads_as_in_the_plain_engine() {
    let mut numbers = Numbers::new(18);
    for _ in 0..400 {
        let mut case = random(&mut numbers, Mix::default());
        let mut spoil = |t: &Tensor| {
            let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][numbers.below(3)];
            let at = numbers.below(t.len().max(1));
            let values = t.to_f64().into_iter().enumerate().map(|(i, x)| if i == at { bad } else { x });
            Tensor::from_f64(t.shape().to_vec(), t.dtype(), values.collect::<Vec<_>>()).unwrap()
        };
        let (q, k, v, sink_v) = (spoil(&case.q), spoil(&case.k), spoil(&case.v), spoil(&case.sink_v));
        match numbers.below(4) {
            0 => case.q = q,
            1 => case.k = k,
            2 => case.v = v,
            _ => case.sink_v = sink_v,
        }
        let problem = case.problem().unwrap();
        let a = Reference::new().forward(&problem, &WANT, &Unattended).unwrap();
        let b = Plain::<f64>::new().forward(&problem, &WANT, &Unattended).unwrap();
        near(&a.o, &b.o, 1e-11, "o", &case);
        near(&a.lse, &b.lse, 1e-11, "lse", &case);
        near(a.weights.as_ref().unwrap(), b.weights.as_ref().unwrap(), 1e-11, "weights", &case);
        near(a.bias.as_ref().unwrap(), b.bias.as_ref().unwrap(), 1e-9, "bias", &case);
    }
}
