//! `contattn phi`, `taylor`, `verify` and `bench`: what the reference knows, at the command line.

use super::desk::Desk;

#[test]
fn digits_of_phi() {
    let desk = Desk::new();
    // (e - 1, e - 2, e - 5/2, 3 - e) from the digits of e, rounded by hand.
    let text = desk.ok("phi 1 --digits 20");
    assert_eq!(
        text,
        "x     1\nphi1  1.7182818284590452354\nphi2  7.1828182845904523536e-1\nphi3  2.1828182845904523536e-1\n\
         psi   2.8171817154095476464e-1\n"
    );
    // phi1(x) = 1 + x/2 + x^2/6 + ..., where expm1(x)/x rounds to 1 and (expm1(x) - x)/x^2 to 0.
    let document = desk.json("phi 1e-16 0 -1e15 --digits 25");
    assert_eq!(document[0]["phi1"], "1.000000000000000050000000");
    assert_eq!(document[1]["phi2"], "5.000000000000000000000000e-1");
    assert_eq!(document[2]["phi1"], "1.000000000000000000000000e-15");
    // exprel overflows there in double precision, although the value does not.
    assert!(desk.ok("phi 712 --digits 5").contains("phi1  2.3184e306"));
    let digits = desk.ok("phi 0.1 --digits 2000");
    assert!(digits.lines().nth(1).unwrap().len() > 2000);
    for (arguments, said) in [
        ("phi one", "\"one\" is not a decimal number"),
        ("phi 1e16", "beyond 10^15"),
        ("phi 1 --digits 0", "--digits"),
        ("phi", "<X>"),
    ] {
        desk.refuses(2, arguments, &[said]);
    }
}

#[test]
fn errors_of_the_functions_inside_the_kernels() {
    let desk = Desk::new();
    let document = desk.json("phi --kernels errors.csv --isa portable");
    let lines = document.as_array().unwrap();
    assert_eq!(lines.iter().map(|line| line["function"].as_str().unwrap()).collect::<Vec<_>>(), ["e^x", "phi2", "psi"]);
    for line in lines {
        let [largest, part] = ["largest", "of_bound"].map(|name| line[name].as_f64().unwrap());
        // No f32 value is exact everywhere, and none may be beyond what is proven.
        assert!(largest > 0.5 && part > 0.3 && part <= 1.0, "{line}");
    }
    assert!(std::fs::read_to_string(desk.path().join("errors.csv")).unwrap().contains("phi2"));
    desk.refuses(2, "phi 1 --kernels errors.csv", &["--kernels"]);
    desk.refuses(2, "phi 1 --isa avx2", &["--isa"]);
    desk.refuses(2, "phi --isa avx2", &["X"]);
}

#[test]
fn the_expansion_as_text_latex_and_json() {
    let desk = Desk::new();
    let text = desk.ok("taylor --order 3");
    assert!(text.starts_with(
        "inside  (u + w)/6 + (u^2 - u w + w^2)/36 + (19 u^3 - 15 u^2 w - 15 u w^2 + 19 w^3)/6480\n\
         end     -log 2 + u/3 + u^2/36 + u^3/810\n"
    ));
    assert!(desk.ok("taylor --order 1 --latex").contains("\\frac{u + w}{6}"));
    let document = desk.json("taylor --order 2");
    // The error at u = w = 1/4 is b - 1/12 - 1/576, b = log(2 phi2(1/4)); bounds are above it, and fall with the order.
    let phi2 = ((0.25f64).exp() - 1.25) * 16.0;
    let error = ((2.0 * phi2).ln() - 1.0 / 12.0 - 1.0 / 576.0).abs();
    let bound = |document: &serde_json::Value| document["bounds"][0]["interior"].as_f64().unwrap();
    assert!(bound(&document) >= error);
    assert!(bound(&desk.json("taylor --order 6")) < bound(&document));
    desk.refuses(2, "taylor --order 65", &["--order"]);
}

#[test]
fn every_theorem_holds() {
    let desk = Desk::new();
    let text = desk.ok("verify --rounds 1 --json theorems.json");
    let document: serde_json::Value =
        serde_json::from_slice(&std::fs::read(desk.path().join("theorems.json")).unwrap()).unwrap();
    let theorems = document["theorems"].as_array().unwrap();
    assert_eq!(document["holds"], true, "{text}");
    for equation in 4..=13 {
        let named = |theorem: &&serde_json::Value| {
            theorem["equation"].as_str().is_some_and(|e| e.trim_matches(['(', ')']) == equation.to_string())
        };
        assert!(theorems.iter().any(|theorem| named(&theorem)), "equation {equation} has no theorem");
        assert!(text.contains(&format!("({equation})")), "{text}");
    }
    assert!(text.ends_with("comparisons\n") && !text.contains("FAILS"), "{text}");
    desk.refuses(2, "verify --rounds x", &["--rounds"]);
}

#[test]
fn the_benchmark_prints_a_table_and_a_file() {
    let desk = Desk::new();
    let text = desk.ok("bench reference --length 16 --head-dim 4 --no-peers --json bench.json");
    assert!(text.contains("reference, MPFR alone") && text.contains("peers were left out"), "{text}");
    let document: serde_json::Value =
        serde_json::from_slice(&std::fs::read(desk.path().join("bench.json")).unwrap()).unwrap();
    let figures = document["figures"].as_array().unwrap();
    assert!(figures.len() >= 4 && figures.iter().all(|f| f["microseconds_per_pair"].as_f64().unwrap() > 0.0));
}
