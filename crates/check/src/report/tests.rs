use super::*;

fn tensor(dtype: Dtype, values: &[f64]) -> Tensor {
    Tensor::from_f64(vec![1, values.len()], dtype, values.iter().copied()).unwrap()
}

#[test]
fn the_worst_element_is_named_with_all_its_distances() {
    let actual = tensor(Dtype::F32, &[1.0, 2.0 + 2f64.powi(-21), 3.0]);
    let expected = tensor(Dtype::F32, &[1.0, 2.0, 3.0]);
    let report = compare(&actual, &expected, Tolerance::Ulps(1.0)).unwrap();
    assert_eq!((report.failures, report.elements), (1, 3));
    let worst = report.worst.clone().unwrap();
    // One unit of f32 at 2 is 2^-22.
    assert_eq!((worst.index, worst.ulps, worst.absolute), (vec![0, 1], 2.0, 2f64.powi(-21)));
    assert_eq!((worst.actual_hex.as_str(), worst.expected_hex.as_str()), ("0x1.000004p+1", "0x1p+1"));
    assert!(compare(&actual, &expected, Tolerance::Ulps(2.0)).unwrap().passed());
    let text = report.to_string();
    assert!(
        text.contains("DIFFERENT: 1 of 3") && text.contains("0x1.000004p+1") && text.contains("2.000 ulp"),
        "{text}"
    );
}

#[test]
fn shapes_must_agree() {
    let error = compare(&tensor(Dtype::F64, &[1.0]), &tensor(Dtype::F64, &[1.0, 2.0]), Tolerance::EXACT).unwrap_err();
    assert_eq!(error.to_string(), "shapes differ: [1, 1] against [1, 2]");
}

#[test]
fn nan_and_infinity() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let a = tensor(Dtype::F64, &[nan, nan, inf, inf, inf, 0.0, 1e300]);
    let b = tensor(Dtype::F64, &[nan, 1.0, inf, -inf, 1.0, -0.0, 1e300]);
    for tolerance in [Tolerance::Ulps(1e18), Tolerance::Distance { relative: 1e300, absolute: 1e300 }] {
        let report = compare(&a, &b, tolerance).unwrap();
        assert_eq!(
            (report.failures, report.nan_matches, report.nan_mismatches, report.infinity_mismatches),
            (3, 1, 1, 2)
        );
    }
    let report = compare(&a, &b, Tolerance::EXACT).unwrap();
    assert_eq!(report.histogram.iter().map(|b| b.count).sum::<usize>(), 5);
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains("\"actual_hex\":\"nan\"") || json.contains("\"actual_hex\":\"inf\""), "{json}");
    let empty = compare(&tensor(Dtype::F64, &[]), &tensor(Dtype::F64, &[]), Tolerance::EXACT).unwrap();
    assert!(empty.passed() && empty.worst.is_none());
}

#[test]
fn distances_between_types_are_in_the_actual_ones_units() {
    let report = compare(&tensor(Dtype::BF16, &[1.0 / 3.0]), &tensor(Dtype::F64, &[1.0 / 3.0]), Tolerance::Ulps(0.5));
    let worst = report.unwrap().worst.unwrap();
    // bf16(1/3) = 0x1.56p-2 is above by 2^-2 (0x0.56 - 0.5555...h/...): 0.333984375 - 1/3, unit 2^-9.
    assert!((worst.ulps - (0.333984375 - 1.0 / 3.0) * 512.0).abs() < 1e-12);
    assert_eq!(ulps(f64::from_bits(3), 0.0, Dtype::F64), 3.0);
    assert_eq!(unit_in_last_place(65504.0, Dtype::F16), 32.0);
}

#[test]
fn relative_and_absolute() {
    let a = tensor(Dtype::F64, &[1.0 + 1e-6, 1e-9]);
    let b = tensor(Dtype::F64, &[1.0, 0.0]);
    let both = |relative, absolute| compare(&a, &b, Tolerance::Distance { relative, absolute }).unwrap().failures;
    assert_eq!((both(1e-5, 1e-8), both(1e-7, 1e-8), both(1e-5, 1e-10), both(1e-7, 0.0)), (0, 1, 1, 2));
}

#[test]
fn bounds_bite_at_four_times_what_is_allowed() {
    use crate::oracle::Wide;
    let bound = Bound { value: Wide::ONE, allowed: 1e-3 };
    let found = |x: f64| compare_with_bounds(&tensor(Dtype::F64, &[x]), &[bound]).unwrap();
    assert!(found(1.0 + 0.9e-3).passed());
    let report = found(1.0 + 4e-3);
    assert_eq!(report.failures, 1);
    assert_eq!(report.worst.unwrap().allowed, Some(1e-3));
}
