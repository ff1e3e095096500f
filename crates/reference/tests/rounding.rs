//! Correct rounding: ties, near-ties, zeros, both ends of each type's range, and which way settled them.

mod cases;
mod numbers;

use cases::{Case, Mix, SinkKind, plain, random};
use contattn_core::{Dtype, Rule, Scale, Spec, Window};
use contattn_reference::nodes::Nodes;
use contattn_reference::rounding::{Grid, RoundedRow, Settled, round_enclosure, round_row};
use contattn_reference::route::values;
use contattn_reference::segments::Segments;
use contattn_reference::{Certified, ExactProblem};
use numbers::Numbers;

fn rounded(case: &Case, dtype: Dtype) -> RoundedRow {
    let problem = case.problem().unwrap();
    let exact = ExactProblem::new(&problem);
    round_row(&Nodes::new(problem.rule()), &exact.row(0, 0, 0), dtype, true, true)
}

fn ulp(dtype: Dtype) -> f64 {
    2.0 * dtype.unit_roundoff()
}

fn full(rule: Rule, scale: Scale) -> Spec {
    Spec { rule, window: Window::full(), scale, ..Spec::default() }
}

const ONE: Scale = Scale::Value(1.0);

/// Values whose mean under equal weights is the middle between two numbers of the type.
#[test]
fn ties_go_to_even() {
    for dtype in Dtype::ALL {
        let u = ulp(dtype);
        for (low, high, even) in [(1.0, 1.0 + u, 1.0), (1.0 + u, 1.0 + 2.0 * u, 1.0 + 2.0 * u)] {
            // Equal scores; Linear gives the inner nodes twice as much, so the pattern is symmetric.
            for rule in cases::RULES {
                let case =
                    plain(dtype, 1, 1, &[0.0], &[1.0; 4], &[low, low, high, high], SinkKind::Absent, full(rule, ONE));
                let o = rounded(&case, dtype).o[0];
                // With equal exponentials everything may be exact in binary; then the enclosure is the middle itself.
                assert!(matches!(o.settled, Settled::Exactly(0) | Settled::Enclosure(96)));
                assert_eq!(o.value, even, "{dtype} {rule}");
                let negative = plain(
                    dtype,
                    1,
                    1,
                    &[0.0],
                    &[1.0; 4],
                    &[-low, -low, -high, -high],
                    SinkKind::Absent,
                    full(rule, ONE),
                );
                assert_eq!(rounded(&negative, dtype).o[0].value, -even);
            }
        }
    }
}

/// Two groups of equal scores, each a tie by itself: irrational weights, rational result. With every kind of scale.
#[test]
fn groups_of_equal_scores_tie_whatever_the_scale() {
    for dtype in Dtype::ALL {
        let u = ulp(dtype);
        for (d, scale) in [(3, Scale::InverseSqrtHeadDim), (64, Scale::InverseSqrtHeadDim), (1, Scale::Value(0.3))] {
            for rule in cases::RULES {
                let mut k = vec![0.0; 4 * d];
                for node in [1, 2] {
                    k[node * d..(node + 1) * d].fill(1.0);
                }
                let v = [1.0, 1.0 + u, 1.0, 1.0 + u];
                let case = plain(dtype, d, 1, &vec![1.0; d], &k, &v, SinkKind::Absent, full(rule, scale));
                let row = rounded(&case, dtype);
                assert_eq!((row.o[0].value, row.o[0].settled), (1.0, Settled::Exactly(0)), "{dtype} {rule} {d}");
                assert!(row.weights[0].value != row.weights[1].value);
            }
        }
    }
}

/// Scores 0 and X, values v + X 2^-53 and v: o lies X e^{-X} 2^-53 below the middle between v and its successor, about X
/// bits further down than the values go.
#[test]
fn near_ties_are_decided_whatever_the_scores() {
    for exponent in [3, 5, 9, 14, 20, 28, 37] {
        let x = 2f64.powi(exponent);
        for v in [1.0, 1.0 + f64::EPSILON] {
            let values = [v + x * f64::EPSILON / 2.0, v];
            let case = plain(Dtype::F64, 1, 1, &[1.0], &[0.0, x], &values, SinkKind::Absent, full(Rule::Linear, ONE));
            let o = rounded(&case, Dtype::F64).o[0];
            assert_eq!(o.value, v, "X = 2^{exponent}");
            let by_enclosure = matches!(o.settled, Settled::Enclosure(_));
            assert_eq!(by_enclosure, exponent <= 5, "X = 2^{exponent}: {:?}", o.settled);
            // From the other side: the values mirrored at 0.
            let mirrored = values.map(|v| -v);
            let case = plain(Dtype::F64, 1, 1, &[1.0], &[0.0, x], &mirrored, SinkKind::Absent, full(Rule::Linear, ONE));
            assert_eq!(rounded(&case, Dtype::F64).o[0].value, -v);
        }
    }
}

#[test]
fn exact_zeros_are_positive_and_tiny_numbers_keep_their_sign() {
    for rule in cases::RULES {
        let v = [-1.0, -0.25, 0.25, 1.0];
        let k = [0.5, 2.0, 2.0, 0.5];
        let case = plain(Dtype::F32, 1, 1, &[1.0], &k, &v, SinkKind::Absent, full(rule, ONE));
        let o = rounded(&case, Dtype::F32).o[0];
        assert_eq!((o.value.to_bits(), o.settled), (0, Settled::Exactly(0)), "{rule}");
    }
    // Zero everywhere, and a negative number too small for the type.
    let case = plain(
        Dtype::F64,
        1,
        2,
        &[1.0],
        &[0.0, 1.0],
        &[0.0, -1e-300, 0.0, -1e-300],
        SinkKind::Absent,
        full(Rule::Linear, ONE),
    );
    let row = rounded(&case, Dtype::F32);
    assert_eq!(row.o[0].value.to_bits(), 0);
    assert_eq!(row.o[1].value.to_bits(), (-0.0f64).to_bits());
    // lse = log(1) = 0 exactly: one node at score 0 with duration 1.
    let case = plain(Dtype::F64, 1, 1, &[1.0], &[0.0], &[1.0], SinkKind::Absent, full(Rule::Step, ONE));
    let row = rounded(&case, Dtype::F64);
    assert_eq!((row.lse.value.to_bits(), row.bias[1].value.to_bits()), (0, 0));
    assert_eq!(row.weights[1].value, 1.0);
}

#[test]
fn subnormal_results_round_once() {
    for dtype in Dtype::ALL {
        let tiny = dtype.smallest_subnormal();
        // Equal scores: 0.75 and 1.5 and 2.5 of the smallest number, and half of it, which goes to 0.
        for (values, expected) in [
            ([tiny, 0.0], 0.0),
            ([2.0 * tiny, tiny], 2.0 * tiny),
            ([3.0 * tiny, 2.0 * tiny], 2.0 * tiny),
            ([-3.0 * tiny, -4.0 * tiny], -4.0 * tiny),
        ] {
            let case = plain(dtype, 1, 1, &[0.0], &[1.0; 2], &values, SinkKind::Absent, full(Rule::Linear, ONE));
            assert_eq!(rounded(&case, dtype).o[0].value, expected, "{dtype}");
        }
        // Unequal: just above half of the smallest number rounds up.
        let case =
            plain(dtype, 1, 1, &[1.0], &[0.0, 2f64.powi(-6)], &[0.0, tiny], SinkKind::Absent, full(Rule::Linear, ONE));
        let o = rounded(&case, dtype).o[0];
        assert_eq!((o.value, o.settled), (tiny, Settled::Enclosure(96)), "{dtype}");
    }
}

#[test]
fn past_the_largest_number_of_each_type() {
    for dtype in [Dtype::F32, Dtype::F16, Dtype::BF16] {
        let grid = Grid::of(dtype);
        let border = grid.border(dtype.max(), f64::INFINITY).to_f64();
        let below = f64::from_bits(border.to_bits() - 1);
        // The border itself is the middle between the largest number and the next power of two, which is even.
        for (v, expected) in
            [(border, f64::INFINITY), (below, dtype.max()), (-border, f64::NEG_INFINITY), (1.1 * border, f64::INFINITY)]
        {
            let case = plain(Dtype::F64, 1, 1, &[0.5], &[0.5; 3], &[v; 3], SinkKind::Absent, full(Rule::Linear, ONE));
            assert_eq!(rounded(&case, dtype).o[0].value, expected, "{dtype} {v:e}");
        }
    }
    // A score of 1e400: lse is past the largest f64, while o, w and b are what they are.
    let case =
        plain(Dtype::F64, 1, 1, &[1e200], &[1e200, 1e200], &[1.0, 3.0], SinkKind::Absent, full(Rule::Linear, ONE));
    let row = rounded(&case, Dtype::F64);
    assert_eq!((row.lse.value, row.o[0].value, row.weights[1].value), (f64::INFINITY, 2.0, 0.5));
    assert_eq!(row.bias[1].value, -std::f64::consts::LN_2);
    let case =
        plain(Dtype::F64, 1, 1, &[1e200], &[-1e200, 1e200], &[1.0, 3.0], SinkKind::Absent, full(Rule::Linear, ONE));
    let row = rounded(&case, Dtype::F64);
    assert_eq!((row.o[0].value, row.weights[1].value, row.weights[2].value), (3.0, 0.0, 1.0));
}

/// Random rows: the result rounded from one route lies where a much more precise enclosure of another says.
#[test]
fn random_rows_agree_with_another_route_at_many_bits() {
    let mut numbers = Numbers::new(11);
    let mut exactly = 0;
    for round in 0..600 {
        let mix = Mix { score: [2.0, 40.0, 1e-6][round % 3], ..Mix::default() };
        let case = random(&mut numbers, mix);
        let problem = case.problem().unwrap();
        let exact = ExactProblem::new(&problem);
        let row = exact.row(0, 0, numbers.below(problem.shape().queries));
        let dtype = Dtype::ALL[numbers.below(4)];
        let result = round_row(&Nodes::new(problem.rule()), &row, dtype, true, true);
        let precise = values(&Segments, &row, 500);
        let mut check = |rounded: &[contattn_reference::rounding::Rounded], certified: &[Certified], dtype: Dtype| {
            assert_eq!(rounded.len(), certified.len());
            for (r, c) in rounded.iter().zip(certified) {
                exactly += usize::from(matches!(r.settled, Settled::Exactly(_)));
                match c {
                    Certified::Nan => assert!(r.value.is_nan()),
                    Certified::NegInfinity => assert_eq!(r.value, f64::NEG_INFINITY),
                    Certified::Number(x) => {
                        // Ties and zeros stay open for any enclosure; all else must be the same.
                        let expected = round_enclosure(dtype, x);
                        let fits = expected.is_none_or(|e| e.to_bits() == r.value.to_bits());
                        assert!(fits, "{x:?} {r:?} {dtype} {:?}", case.spec);
                    }
                }
            }
        };
        check(&result.o, &precise.o, dtype);
        check(&[result.lse], std::slice::from_ref(&precise.lse), dtype.lse());
        check(&result.weights, &precise.weights, dtype);
        check(&result.bias, &precise.bias, dtype);
    }
    assert!(exactly > 100, "{exactly}");
}
