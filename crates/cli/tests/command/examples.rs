//! Help that is true: every example in it runs.

use super::desk::{Desk, array, numbers};
use contattn_core::file;

const SUBCOMMANDS: &[&str] = &[
    "attend",
    "grad",
    "compare",
    "engines",
    #[cfg(feature = "gpu")]
    "devices",
    "formats",
    "heads",
    "golden",
    #[cfg(feature = "reference")]
    "phi",
    #[cfg(feature = "reference")]
    "taylor",
    #[cfg(feature = "reference")]
    "verify",
    "bench",
];

const NESTED: &[&str] = &[
    "golden list",
    "golden check",
    #[cfg(feature = "reference")]
    "golden write",
    "bench cpu",
    #[cfg(feature = "reference")]
    "bench reference",
    #[cfg(feature = "gpu")]
    "bench gpu",
];

/// The files that the examples speak of: two heads of four nodes for q, k, v; times and durations to go with them.
fn desk() -> Desk {
    let desk = Desk::new();
    let of = |shape: &[usize], seed| array(shape, numbers(seed, shape.iter().product()));
    for (name, seed) in [("q", 1), ("k", 2), ("v", 3), ("do", 4)] {
        desk.put(&format!("{name}.npy"), &[2, 4, 3], numbers(seed, 24));
    }
    desk.put("dlse.npy", &[2, 4], numbers(5, 8));
    desk.put("times.npy", &[5], vec![0.0, 0.5, 1.5, 1.75, 3.0]);
    desk.put("d.npy", &[4], vec![0.5, 1.0, 0.25, 1.25]);
    desk.put("mine.npy", &[2], vec![0.1f32, 0.2]);
    desk.put("theirs.npy", &[2], vec![0.1, 0.2]);
    let shape = [1, 2, 4, 3];
    desk.put_many("heads.npz", &[("q", of(&shape, 1)), ("k", of(&shape, 2)), ("v", of(&shape, 3))]);
    let shape = [1, 4, 2, 3];
    desk.put_many("bshd.npz", &[("q", of(&shape, 1)), ("k", of(&shape, 2)), ("v", of(&shape, 3))]);
    // A corpus with one case, and its results.
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");
    let case = "family-gauss-linear-f32.safetensors";
    std::fs::create_dir(desk.path().join("golden")).unwrap();
    for name in ["manifest.json", case] {
        std::fs::copy(format!("{corpus}/{name}"), desk.path().join("golden").join(name)).unwrap();
    }
    let result = |name: &str| file::read(&format!("{corpus}/{case}:{name}").parse().unwrap()).unwrap();
    desk.put_many("mine.npz", &[("o", result("o")), ("dq", result("dq"))]);
    desk
}

/// Lines that begin with `contattn`, with or without a prompt; a backslash at the end of one continues it.
fn examples(help: &str) -> Vec<String> {
    let joined = help.replace("\\\n", " ");
    let commands = joined.lines().map(|line| line.trim().trim_start_matches("$ "));
    commands.filter_map(|line| line.strip_prefix("contattn ")).map(str::to_owned).collect()
}

#[test]
fn every_example_runs() {
    let desk = desk();
    let mut count = 0;
    for subcommand in SUBCOMMANDS.iter().chain(NESTED) {
        #[cfg(feature = "gpu")]
        if *subcommand == "bench gpu" && !super::gpu::software("examples of contattn bench gpu", &desk) {
            continue;
        }
        let help = desk.ok(&format!("{subcommand} --help"));
        assert_eq!(help, desk.ok(&format!("help {subcommand}")));
        for example in examples(&help) {
            let stdout = desk.ok(&example);
            assert!(!stdout.is_empty(), "{example}");
            count += 1;
        }
    }
    assert!(count >= 14, "{count} examples");
}

#[test]
fn help_is_complete() {
    let desk = desk();
    let front = desk.ok("--help");
    for subcommand in SUBCOMMANDS {
        assert!(front.contains(&format!("\n  {subcommand} ")), "{front}");
        assert!(!desk.ok(&format!("{subcommand} -h")).is_empty());
    }
    for code in ["0 ", "1 ", "2 ", "3 ", "130 "] {
        assert!(front.contains(&format!("\n  {code}")), "{front}");
    }
    for long in ["attend --help", "grad --help", "compare --help", "golden check --help", "bench cpu --help"] {
        let help = desk.ok(long);
        assert!(help.contains("Exit codes:") && help.contains("Examples:"));
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
    assert_eq!(desk.ok("formats").trim(), desk.ok("help formats").split("\n\nUsage:").next().unwrap().trim());
    assert!(desk.ok("--version").starts_with("contattn "));
}

#[test]
fn engines_are_listed() {
    let desk = desk();
    let text = desk.ok("engines");
    for said in ["plain", "plain-f32", "(default", "rule linear", "gradients", "sink given"] {
        assert!(text.contains(said), "{said:?} is not in\n{text}");
    }
    let document: serde_json::Value = serde_json::from_str(&desk.ok("engines --json")).unwrap();
    let engines = document.as_array().unwrap();
    let named = |name: &str| engines.iter().find(|engine| engine["name"] == name).unwrap();
    let arithmetic = |name: &str| named(name)["arithmetic"].as_str().unwrap().to_owned();
    assert_eq!((arithmetic("plain").as_str(), arithmetic("plain-f32").as_str()), ("f64", "f32"));
    assert_eq!(engines.iter().any(|engine| engine["name"] == "reference"), cfg!(feature = "reference"));
    for engine in engines.iter().filter(|engine| engine["available"] == true) {
        assert!(engine["supports"].as_array().unwrap().contains(&"rule linear".into()));
        // Every engine that is listed can be chosen.
        desk.ok(&format!("attend --q q.npy --k k.npy --v v.npy --engine {}", engine["name"].as_str().unwrap()));
    }
}
