//! The engine gpu: adapters, the engine on software Vulkan, and what is said where there is none.

use super::desk::{Desk, close, numbers};
use serde_json::{Value, json};
use std::io::Write;

/// Whether the tests of a name can run here; a line says so where they cannot.
pub(super) fn software(test: &str, desk: &Desk) -> bool {
    let document: Value = serde_json::from_str(&desk.ok("devices --json")).unwrap();
    let there = document.as_array().unwrap().iter().any(|adapter| adapter["kind"] == "software");
    if !there {
        let line = format!("skipped: {test}: no GPU adapter\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    there
}

fn desk() -> Desk {
    let desk = Desk::new();
    for (name, seed) in [("q", 1), ("k", 2), ("v", 3), ("do", 4)] {
        let data: Vec<f32> = numbers(seed, 2 * 40 * 6).into_iter().map(|x| x as f32).collect();
        desk.put(&format!("{name}.npy"), &[2, 40, 6], data);
    }
    desk
}

#[test]
fn adapters_are_listed_with_their_limits() {
    let desk = desk();
    if !software("contattn devices", &desk) {
        return;
    }
    let text = desk.ok("devices");
    for said in ["software", "workgroup", "threads", "subgroups", "time stamps"] {
        assert!(text.contains(said), "{said:?} is not in\n{text}");
    }
}

#[test]
fn it_attends_as_the_plain_engine_does() {
    let desk = desk();
    if !software("contattn attend --engine gpu", &desk) {
        return;
    }
    let files = "--q q.npy --k k.npy --v v.npy";
    desk.ok(&format!("attend {files} --engine plain --out a.npy --lse b.npy"));
    desk.ok(&format!("attend {files} --engine gpu --adapter software --out c.npy --lse d.npy"));
    close(&desk.numbers("c.npy"), &desk.numbers("a.npy"), 1e-6);
    close(&desk.numbers("d.npy"), &desk.numbers("b.npy"), 2e-6);
    desk.ok(&format!("grad {files} --do do.npy --engine plain --dq a.npy --dk b.npy"));
    desk.ok(&format!("grad {files} --do do.npy --engine gpu --adapter software --dq c.npy --dk d.npy"));
    close(&desk.numbers("c.npy"), &desk.numbers("a.npy"), 3e-6);
    close(&desk.numbers("d.npy"), &desk.numbers("b.npy"), 3e-6);
    desk.refuses(3, &format!("attend {files} --engine gpu --adapter nonesuch"), &["nonesuch", "there are"]);
    desk.refuses(2, &format!("attend {files} --engine gpu --rule taylor:1"), &["taylor:1"]);
}

/// Softmax and continuous attention side by side; on software no ratio counts, and it says so.
#[test]
fn it_is_measured_after_it_was_checked() {
    let desk = desk();
    if !software("contattn bench gpu", &desk) {
        return;
    }
    let text =
        desk.ok("bench gpu --adapter software --length 40,33 --head-dim 5 --heads 2 --seconds 1 --json bench.json");
    for said in ["multiply-adds alone", "checked against", "GFLOP/s", "GB/s", "ratio", "prove nothing about a card"] {
        assert!(text.contains(said), "{said:?} is not in\n{text}");
    }
    let document: Value = serde_json::from_slice(&std::fs::read(desk.path().join("bench.json")).unwrap()).unwrap();
    assert_eq!((&document["command"], &document["software"]), (&json!("bench gpu"), &json!(true)));
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap_or(f64::NAN);
    assert!(number(&document, "peak_flops") > 0.0 && number(&document, "checked") >= 40.0);
    assert!((0.0..2e-5).contains(&number(&document, "largest_difference")));
    let figures = document["figures"].as_array().unwrap();
    // Two lengths, two windows, two passes for each variant, unless time ran out, which a note says.
    assert!(figures.len().is_multiple_of(2) && !figures.is_empty());
    assert!(figures.len() >= 8 || text.contains("cases were left out"), "{text}");
    for figure in figures {
        let positive =
            ["softmax_milliseconds", "continuous_milliseconds", "softmax_flops", "continuous_bytes", "ratio"];
        assert!(positive.iter().all(|name| number(figure, name) > 0.0), "{figure}");
        assert_eq!((&figure["head_dim"], &figure["heads"], &figure["counts"]), (&json!(5), &json!(2), &json!(false)));
        assert!(number(figure, "rounds") >= 3.0);
    }
    // Not `Desk::refuses`, which adds --json: here it takes a file.
    let refused = desk.run("bench gpu --adapter nonesuch");
    assert_eq!((refused.code, &*refused.stdout), (Some(3), ""));
    assert!(refused.stderr.contains("nonesuch"), "{}", refused.stderr);
}

/// Results of the two engines as users compare them.
#[test]
fn its_results_compare_with_the_references() {
    let desk = desk();
    if !software("contattn compare with results of the engine gpu", &desk) {
        return;
    }
    let files = "--q q.npy --k k.npy --v v.npy";
    desk.ok(&format!("attend {files} --engine plain --out plain.npy"));
    desk.ok(&format!("attend {files} --engine gpu --adapter software --out gpu.npy"));
    let text = desk.ok("compare gpu.npy plain.npy --rtol 0 --atol 1e-6");
    assert!(!text.is_empty());
    assert_eq!(desk.run("compare gpu.npy plain.npy --rtol 0 --atol 1e-12").code, Some(1));
}

#[test]
fn an_adapter_is_for_engines_that_run_on_one() {
    let desk = desk();
    let files = "--q q.npy --k k.npy --v v.npy";
    desk.refuses(2, &format!("attend {files} --engine plain --adapter software"), &["--adapter", "plain"]);
}

/// Drivers are found through files; with none of them every other engine works, and the error says what to install.
#[test]
fn without_an_adapter_the_error_says_what_to_install() {
    let desk = desk();
    let run = |arguments: &str| {
        let mut command = desk.command(arguments);
        for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
            command.env(variable, desk.path().join("no-driver.json"));
        }
        command.output().unwrap()
    };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let files = "--q q.npy --k k.npy --v v.npy";
    let refused = run(&format!("attend {files} --engine gpu"));
    assert_eq!(refused.status.code(), Some(3));
    let said = text(&refused.stderr);
    assert!(said.contains("no GPU adapter was found") && said.contains("mesa-vulkan-drivers"), "{said}");
    let devices = run("devices");
    assert!(devices.status.success() && text(&devices.stdout).contains("no GPU adapter was found"));
    let engines = run("engines");
    assert!(engines.status.success() && text(&engines.stdout).contains("not available"));
    assert!(run(&format!("attend {files} --engine tiled")).status.success());
}
