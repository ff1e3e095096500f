//! `contattn golden`: the committed corpus through the real binary.

use super::desk::Desk;
use contattn_core::file::{self, Array, Locator};
#[cfg(feature = "reference")]
use std::path::Path;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");

fn manifest() -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(format!("{CORPUS}/manifest.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["cases"].as_array().unwrap().clone()
}

fn text<'v>(case: &'v serde_json::Value, key: &str) -> &'v str {
    case[key].as_str().unwrap()
}

/// A result of a case, as it is stored.
fn stored(case: &serde_json::Value, output: &str) -> Array {
    let path = format!("{CORPUS}/{}", text(case, "file"));
    file::read(&Locator::new(path, Some(output)).unwrap()).unwrap()
}

/// The options that state a case's problem.
fn arguments(case: &serde_json::Value) -> String {
    let path = format!("{CORPUS}/{}", text(case, "file"));
    let all = case["arguments"].as_array().unwrap().iter();
    all.map(|argument| argument.as_str().unwrap().replace("{file}", &path)).collect::<Vec<_>>().join(" ")
}

/// Where each of some results goes.
fn into_file(names: &[&str]) -> String {
    let option = |name: &&str| format!("--{}=r.safetensors:{name}", if **name == *"o" { "out" } else { name });
    names.iter().map(option).collect::<Vec<_>>().join(" ")
}

/// The numbers of both tensors have the same bits, NaN apart, which has many.
#[cfg(feature = "reference")]
fn same_bits(a: &Array, b: &Array) -> bool {
    let (a, b) = (a.clone().into_tensor().unwrap(), b.clone().into_tensor().unwrap());
    let same = |(x, y): (f64, f64)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    a.dtype() == b.dtype() && a.shape() == b.shape() && a.to_f64().into_iter().zip(b.to_f64()).all(same)
}

#[cfg(feature = "reference")]
#[test]
fn attend_gives_the_correctly_rounded_bits_of_every_case() {
    let desk = Desk::new();
    for case in manifest() {
        let weights = case["outputs"].get("weights").is_some();
        let names: &[&str] = if weights { &["o", "lse", "weights", "bias"] } else { &["o", "lse"] };
        desk.ok(&format!("attend {} {}", arguments(&case), into_file(names)));
        for name in names {
            let found = file::read(&desk.locator(&format!("r.safetensors:{name}"))).unwrap();
            assert!(same_bits(&found, &stored(&case, name)), "{}: {name}", text(&case, "name"));
        }
        let said = desk.ok(&format!("golden check {} --actual r.safetensors --dir {CORPUS}", text(&case, "name")));
        assert!(said.ends_with("verdict: right\n"), "{said}");
    }
}

#[test]
fn gradients_pass() {
    let desk = Desk::new();
    for case in manifest().iter().filter(|case| case["differentiable"] == true).step_by(5) {
        let path = format!("{CORPUS}/{}", text(case, "file"));
        let all = ["dq", "dk", "dv", "ddurations"];
        let names: Vec<&str> = all.into_iter().filter(|name| case["outputs"].get(*name).is_some()).collect();
        let upstream = format!("--do {path}:g --dlse {path}:g_lse");
        for (engine, arithmetic) in [("plain", "f64"), ("plain-f32", "f32")] {
            desk.ok(&format!("grad {} {upstream} {} --engine {engine}", arguments(case), into_file(&names)));
            let check = format!("golden check {} --actual r.safetensors --dir {CORPUS}", text(case, "name"));
            desk.ok(&format!("{check} --arithmetic {arithmetic}"));
        }
    }
}

#[test]
fn a_wrong_result_is_shown_where_it_is_worst() {
    let desk = Desk::new();
    let cases = manifest();
    let case = cases.iter().find(|case| text(case, "name") == "family-gauss-linear-f32").unwrap();
    let o = stored(case, "o").into_tensor().unwrap();
    let mut wrong = o.to_f64();
    wrong[5] += 1e-5;
    desk.put_many("right.npz", &[("o", o.clone().into()), ("lse", stored(case, "lse"))]);
    desk.put("wrong.npy", o.shape(), wrong.iter().map(|x| *x as f32).collect::<Vec<f32>>());
    let check = format!("golden check family-gauss-linear-f32 --dir {CORPUS} --actual");
    let said = desk.ok(&format!("{check} right.npz"));
    assert!(said.contains("o           ok") && said.contains("lse         ok"), "{said}");
    desk.ok(&format!("{check} right.npz:lse"));
    desk.ok(&format!("{check} right.npz --output lse"));

    let run = desk.run(&format!("{check} wrong.npy"));
    assert_eq!((run.code, &*run.stderr), (Some(1), ""), "{}", run.stdout);
    for said in ["worst at [0, 0, 1, 1]", "ulp of f32", "1 beyond it", "verdict: WRONG"] {
        assert!(run.stdout.contains(said), "{said:?} is not in\n{}", run.stdout);
    }
    let run = desk.run(&format!("{check} wrong.npy --arithmetic f64 --json"));
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &document["passed"]), (Some(1), &false.into()));
    let verdict = &document["verdicts"][0];
    assert_eq!(verdict["worst"]["index"], serde_json::json!([0, 0, 1, 1]));
    assert_eq!((&verdict["output"], &verdict["beyond_twin"]), (&"o".into(), &1.into()));
}

#[test]
fn what_cannot_be_checked_is_refused() {
    let desk = Desk::new();
    desk.put("o.npy", &[2, 2], vec![0.0; 4]);
    desk.put_many("named.npz", &[("output", Array::new(vec![1], vec![0.0].into()).unwrap())]);
    desk.put_many("none.npz", &[]);
    let check = |rest: &str| format!("golden check {rest} --dir {CORPUS}");
    desk.refuses(2, &check("no-such-case --actual o.npy"), &["no case is called", "golden list"]);
    desk.refuses(2, &check("family-gauss-linear --actual o.npy"), &["no case is called", "family-gauss-linear-f32"]);
    desk.refuses(2, &check("family-gauss-linear-f32 --actual o.npy"), &["shape [2, 2]", "layout"]);
    desk.refuses(2, &check("family-gauss-linear-f32 --actual named.npz"), &["\"output\" is no result", "--output"]);
    desk.refuses(2, &check("family-gauss-linear-f32 --actual none.npz"), &["no tensor"]);
    desk.refuses(2, &check("poison-key-f32 --actual o.npy --output dq"), &["has no result \"dq\""]);
    desk.refuses(2, "golden check x --actual o.npy --dir nowhere", &["nowhere", "--dir"]);
    desk.refuses(2, "golden list", &["tests/golden"]);
}

#[test]
fn the_list_shows_every_case() {
    let desk = Desk::new();
    let cases = manifest();
    let text = desk.ok(&format!("golden list --dir {CORPUS}"));
    assert_eq!(text.lines().count(), cases.len() + 1);
    assert!(text.lines().last().unwrap().starts_with(&format!("{} cases", cases.len())));
    let some = desk.json(&format!("golden list rounding --dir {CORPUS}"));
    let some = some.as_array().unwrap();
    assert!(some.len() >= 15 && some.iter().all(|case| case["group"] == "rounding"));
}

#[cfg(feature = "reference")]
#[test]
fn the_same_bytes_from_every_run() {
    let desk = Desk::new();
    desk.ok("golden write all");
    let committed = |name: &Path| std::fs::read(Path::new(CORPUS).join(name)).unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(desk.path().join("all")).unwrap() {
        let path = entry.unwrap().path();
        let name = Path::new(path.file_name().unwrap());
        assert!(std::fs::read(&path).unwrap() == committed(name), "{} differs", name.display());
        count += 1;
    }
    assert_eq!(count, manifest().len() + 1);

    // A second run of a part: the same files, those of the other cases removed, what is not the corpus's left alone.
    std::fs::write(desk.path().join("all/notes.txt"), "mine").unwrap();
    let said = desk.ok("golden write all --only rounding");
    let left: Vec<_> = std::fs::read_dir(desk.path().join("all")).unwrap().map(|e| e.unwrap().path()).collect();
    for path in &left {
        let name = Path::new(path.file_name().unwrap());
        if !["notes.txt", "manifest.json"].contains(&name.to_str().unwrap()) {
            assert!(std::fs::read(path).unwrap() == committed(name), "{} differs", name.display());
        }
    }
    let rounding = manifest().iter().filter(|case| case["group"] == "rounding").count();
    assert_eq!(left.len(), rounding + 2, "{said}");
    desk.refuses(2, "golden write all --only nonsense", &["--only"]);
}
