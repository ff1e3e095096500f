//! `contattn compare`: verdicts by exit code, reports to read and to parse.

use super::desk::Desk;

fn desk() -> Desk {
    let desk = Desk::new();
    // 2 and its second neighbour in f32, whose unit in the last place there is 2^-22.
    desk.put("a.npy", &[1, 3], vec![1.0f32, 2.0 + 2f32.powi(-21), 3.0]);
    desk.put("b.npy", &[1, 3], vec![1.0f32, 2.0, 3.0]);
    desk
}

/// A failed comparison is an answer: a report on stdout, nothing on stderr.
#[track_caller]
fn differs(desk: &Desk, arguments: &str) -> String {
    let run = desk.run(arguments);
    assert_eq!((run.code, &*run.stderr), (Some(1), ""), "{arguments}");
    run.stdout
}

#[test]
fn every_tolerance() {
    let desk = desk();
    desk.ok("compare b.npy b.npy");
    differs(&desk, "compare a.npy b.npy");
    desk.ok("compare a.npy b.npy --ulp 2");
    differs(&desk, "compare a.npy b.npy --ulp 1.5");
    // The distance is 2^-21, about 4.8e-7, and half of that relative to 2.
    desk.ok("compare a.npy b.npy --atol 5e-7");
    differs(&desk, "compare a.npy b.npy --atol 4e-7");
    desk.ok("compare a.npy b.npy --rtol 2.5e-7");
    differs(&desk, "compare a.npy b.npy --rtol 2e-7");
    desk.ok("compare a.npy b.npy --rtol 1.5e-7 --atol 2e-7");
}

#[test]
fn the_report_names_the_worst_place() {
    let desk = desk();
    let text = differs(&desk, "compare a.npy b.npy --ulp 1");
    for said in ["a.npy (f32) with b.npy (f32), allowed: 1 ulp", "DIFFERENT: 1 of 3", "[0, 1]", "0x1.000004p+1"] {
        assert!(text.contains(said), "{said:?} is not in\n{text}");
    }
    let document: serde_json::Value = serde_json::from_str(&differs(&desk, "compare a.npy b.npy --json")).unwrap();
    assert_eq!((&document["passed"], &document["allowed"]), (&false.into(), &"equal numbers".into()));
    let worst = &document["report"]["worst"];
    assert_eq!((&worst["ulps"], &worst["index"]), (&2.0.into(), &serde_json::json!([0, 1])));
    let document = desk.json("compare a.npy b.npy --ulp 2");
    assert_eq!((&document["passed"], &document["actual"]), (&true.into(), &"a.npy".into()));
}

#[test]
fn not_a_number_and_infinity() {
    let desk = desk();
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    desk.put("c.npz:x", &[3], vec![nan, inf, 0.0]);
    desk.put("d.npz:x", &[3], vec![nan, inf, -0.0]);
    desk.ok("compare c.npz:x d.npz:x");
    desk.put("d.npz:x", &[3], vec![nan, -inf, 0.0]);
    differs(&desk, "compare c.npz:x d.npz --atol 1e300 --rtol 1e300");
    desk.put("d.npz:x", &[3], vec![0.0, inf, 0.0]);
    let text = differs(&desk, "compare c.npz d.npz:x --ulp 1e300 --json");
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
}

#[test]
fn what_cannot_be_compared() {
    let desk = desk();
    desk.put("flat.npy", &[3], vec![1.0f32, 2.0, 3.0]);
    desk.refuses(2, "compare a.npy flat.npy", &["shapes differ: [1, 3] against [3]", "one shape"]);
    desk.refuses(2, "compare a.npy nowhere.npy", &["B: nowhere.npy: ", "check the path"]);
    desk.refuses(2, "compare a.npy b.npy --ulp 1 --rtol 1", &["cannot be used with"]);
    desk.refuses(2, "compare a.npy b.npy --ulp -1", &["at least 0"]);
    desk.refuses(2, "compare a.npy b.npy --atol nan", &["at least 0"]);
    desk.refuses(2, "compare a.npy", &["<B>"]);
    desk.put("whole.npy", &[1, 3], vec![1i32; 3]);
    desk.refuses(2, "compare whole.npy b.npy", &["A: whole.npy: element type i32"]);
}
