use super::*;
use crate::domain::Domain;
use crate::rule::Rule;
use crate::spec::Window;

const SHAPE: Shape = Shape { batch: 2, heads: 4, kv_heads: 2, queries: 5, keys: 40, head_dim: 6, value_dim: 3 };

/// FNV-1a over the bits, to pin samples down.
fn fingerprint(tensor: &Tensor) -> u64 {
    tensor.to_f64().iter().fold(0xcbf2_9ce4_8422_2325, |h, x| (h ^ x.to_bits()).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn every_family_gives_finite_problems_in_every_type() {
    for family in Family::ALL {
        assert_eq!(Family::from_name(family.name()), Some(family));
        for dtype in Dtype::ALL {
            let sample = family.sample(SHAPE, dtype, 7).unwrap();
            for tensor in [&sample.q, &sample.k, &sample.v, &sample.sink_k, &sample.sink_v] {
                assert!(tensor.to_f64().iter().all(|x| x.is_finite()), "{family} {dtype}");
            }
            for sink in SinkKind::ALL {
                let problem = sample.problem(sink, sample.spec()).unwrap();
                assert_eq!(problem.shape(), SHAPE);
                assert!(matches!(problem.domain(1, 4), Domain::Interval(_)));
            }
        }
    }
}

#[test]
fn samples_depend_on_the_seed_alone() {
    for family in Family::ALL {
        let sample = |seed| family.sample(SHAPE, Dtype::F32, seed).unwrap();
        assert_eq!(sample(3), sample(3));
        if !matches!(family, Family::RealHeads) {
            assert_ne!(sample(3).q, sample(4).q, "{family}");
        }
    }
}

/// The bits are part of the interface: golden files are made from them. The numbers were printed by this code once; a change
/// here means that every stored case changes.
#[test]
fn bits_are_pinned() {
    let sample = Family::Gauss.sample(SHAPE, Dtype::F64, 1).unwrap();
    assert_eq!(fingerprint(&sample.q), GAUSS_Q, "{:#x}", fingerprint(&sample.q));
    let mean: f64 = sample.q.to_f64().iter().sum::<f64>() / sample.q.len() as f64;
    let square: f64 = sample.q.to_f64().iter().map(|x| x * x).sum::<f64>() / sample.q.len() as f64;
    // 240 standard normal numbers: the mean has the standard deviation 0.065, the mean square 0.091.
    assert!(mean.abs() < 0.26 && (square - 1.0).abs() < 0.37, "{mean} {square}");
}

const GAUSS_Q: u64 = 0xe2c1_87fd_209e_3d14;

/// q . k in f64 is exact for these families, so the scores are what the family promises.
fn scores(family: Family, dtype: Dtype) -> Vec<Vec<f64>> {
    let sample = family.sample(SHAPE, dtype, 11).unwrap();
    let problem = sample.problem(SinkKind::Absent, sample.spec()).unwrap();
    let mut rows = Vec::new();
    for head in 0..SHAPE.heads {
        for row in 0..SHAPE.queries {
            let score = |node| {
                let dot: f64 = (0..SHAPE.head_dim)
                    .map(|c| problem.q().get(0, head, row, c) * problem.k().get(0, SHAPE.kv_head(head), node, c))
                    .sum();
                dot * problem.scale()
            };
            rows.push((0..SHAPE.keys).map(score).collect());
        }
    }
    rows
}

#[test]
fn families_keep_their_promises() {
    for dtype in Dtype::ALL {
        assert!(scores(Family::Ties, dtype).iter().all(|row| row.iter().all(|a| *a == row[0])));
        assert!(scores(Family::FarBelow, dtype).iter().flatten().all(|a| *a < -6e4));
        let huge = scores(Family::HugeScores, dtype);
        let largest = huge.iter().flatten().fold(0.0f64, |m, a| m.max(a.abs()));
        assert!((2e10..=1.1e11).contains(&largest), "{largest}");
        assert!(huge.iter().flatten().all(|a| f64::from(*a as f32) == *a && a % 536_870_912.0 == 0.0));
        let near = scores(Family::NearTies, dtype);
        let u = dtype.unit_roundoff();
        assert!(near.iter().all(|row| row.iter().all(|a| (a - row[0]).abs() <= 16.0 * u * row[0].abs())));
        assert!(near.iter().any(|row| row.iter().any(|a| *a != row[0])));
    }
    let tiny = scores(Family::TinyDifferences, Dtype::F64);
    let smallest = tiny.iter().flatten().filter(|a| **a != 0.0).fold(1.0f64, |m, a| m.min(a.abs()));
    assert!(smallest < 1e-250, "{smallest}");
    let zero = Family::ZeroDurations.sample(SHAPE, Dtype::F32, 1).unwrap();
    let Timeline::Durations(durations) = &zero.timeline else { panic!("durations") };
    assert_eq!((durations.values()[0], durations.values()[39]), (0.0, 0.0));
    let count = durations.values().iter().filter(|d| **d == 0.0).count();
    assert!((4..30).contains(&count), "{count}");
}

#[test]
fn real_data_is_what_the_file_says() {
    assert_eq!(real::layers().len(), 3);
    assert_eq!(real::layers()[0].q.shape(), [1, 9, 26, 64]);
    assert_eq!((real::tokens().len(), real::tokens()[0].as_str(), real::tokens()[25].as_str()), (26, "The", "."));
    // First and last lines of the file, and the number of observations that its source states.
    let curve = real::observations();
    assert_eq!((curve.len(), curve[0]), (1249, (48823.477419, -6.051)));
    let long = Family::LightCurve.sample(Shape { keys: 3000, ..SHAPE }, Dtype::F32, 0).unwrap();
    assert!(long.problem(SinkKind::Zeros, Spec { rule: Rule::Step, window: Window::full(), ..long.spec() }).is_ok());
}
