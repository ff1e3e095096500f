//! `contattn bench cpu`, on sizes that take no time: tables, files, refusals, and the conversation with another program.

use super::desk::Desk;
use contattn_cpu::tiled::Isa;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

#[test]
fn a_table_and_a_file() {
    let desk = Desk::new();
    let text = desk.ok("bench cpu --shapes 2:1x50x8,1x33x5 --seconds 0 --isa portable --json bench.json");
    // Two shapes, two windows, two passes; decoding, which has no window, once for each shape.
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("fwd") || line.starts_with("decode")).collect();
    assert_eq!(lines.len(), 10, "{text}");
    assert!(text.starts_with("tiled kernels, portable, 1 thread(s), inputs peaked;"), "{text}");
    let document: Value = serde_json::from_slice(&std::fs::read(desk.path().join("bench.json")).unwrap()).unwrap();
    assert_eq!((&document["family"], &document["seed"]), (&json!("peaked"), &json!(1)));
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 8 * 3 + 2 * 4);
    for record in records {
        let mut names: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        let expected = "causal direction engine head_dim heads isa keys kv_heads max_error median_s min_s processor_s queries \
                        rounds rule threads time";
        assert_eq!(names.join(" "), expected);
        let number = |name: &str| record[name].as_f64().unwrap();
        assert!(number("median_s") >= number("min_s") && number("min_s") > 0.0, "{record}");
        assert!(number("processor_s") > 0.0 && number("rounds") >= 3.0);
        assert_eq!(record["isa"], "portable");
        if record["engine"] == "tiled" {
            assert!((0.0..1e-4).contains(&number("max_error")), "{record}");
        } else {
            assert_eq!((&record["engine"], &record["max_error"]), (&json!("read-and-add"), &Value::Null));
        }
    }
    let named = |rule: &str, time: &str| {
        let of = |record: &&Value| record["rule"] == rule && record["time"] == time;
        records.iter().filter(of).count()
    };
    assert_eq!((named("step", "unit"), named("linear", "unit"), named("linear", "irregular")), (10, 10, 10));
}

#[test]
fn several_threads_are_measured_by_the_day() {
    let desk = Desk::new();
    desk.ok("bench cpu --shapes 1x70x8 --threads 2 --directions decode --contenders linear --seconds 0 --json b.json");
    let document: Value = serde_json::from_slice(&std::fs::read(desk.path().join("b.json")).unwrap()).unwrap();
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!((&record["threads"], &record["processor_s"]), (&json!(2), &Value::Null));
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let desk = Desk::new();
    for (arguments, said) in [
        ("--shapes 64", "is not HEADS[:KV_HEADS]xKEYSxWIDTH"),
        ("--shapes 4:3x8x8", "3 key/value heads do not divide 4 heads"),
        ("--shapes 8x8 --full", "--full"),
        ("--isa sse", "--isa"),
        ("--threads 0", "--threads"),
        ("--seconds -1", "expected a number from 0 to 3600"),
        ("--family none", "--family"),
        ("--directions up", "--directions"),
        ("--contenders none", "--contenders"),
        ("--serve --json f.json", "--serve"),
        ("--shapes 8x8 --json nowhere/f.json", "--json: nowhere is not a folder"),
    ] {
        // Not `Desk::refuses`, which adds --json: here it takes a file.
        let run = desk.run(&format!("bench cpu {arguments}"));
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{arguments}");
        assert!(run.stderr.contains("error") && run.stderr.contains(said), "{arguments}: {}", run.stderr);
    }
    for isa in Isa::ALL.into_iter().filter(|isa| !isa.is_available()) {
        let run = desk.run(&format!("bench cpu --isa {isa}"));
        assert_eq!((run.code, &*run.stdout), (Some(3), ""));
        assert!(run.stderr.contains("this machine lacks") && run.stderr.contains("portable"), "{}", run.stderr);
    }
    assert!(desk.files().is_empty());
}

/// The other end of `--serve`.
struct Talk {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Talk {
    fn new(desk: &Desk) -> Talk {
        let mut command = desk.command("bench cpu --serve");
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let (questions, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Talk { child, questions, answers }
    }

    fn ask(&mut self, question: &str) -> Value {
        writeln!(self.questions, "{question}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn refuses(&mut self, question: &str, said: &str) {
        let answer = self.ask(question);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(said)), "{question}: {answer}");
    }
}

const OPEN: &str = r#"{"do": "open", "direction": "fwdbwd", "heads": 2, "kv_heads": 1, "queries": 40, "keys": 40,
    "head_dim": 4, "causal": true, "threads": 1, "isa": "portable", "folder": "."}"#;

#[test]
fn others_take_turns_and_are_judged_on_the_same_inputs() {
    let desk = Desk::new();
    let mut talk = Talk::new(&desk);
    let open = OPEN.replace('\n', " ");
    let opened = talk.ask(&open);
    assert_eq!(opened["isa"], "portable");
    let runners = opened["runners"].as_array().unwrap();
    assert_eq!(runners.len(), 3);
    assert_eq!((&runners[1]["rule"], &runners[2]["time"]), (&json!("linear"), &json!("irregular")));
    let elapsed = talk.ask(r#"{"do": "time", "runner": 1}"#);
    assert!(elapsed["wall_s"].as_f64().unwrap() > 0.0 && elapsed["processor_s"].as_f64().unwrap() > 0.0);

    // Another's results: those of the plain engine for the files that were left. All rows are judged of so short a problem.
    assert_eq!(desk.tensor("g.npy"), desk.tensor("g_judged.npy"));
    let tensors = "--q q.npy --k k.npy --v v.npy";
    desk.ok(&format!("attend {tensors} --engine plain --out o.npy"));
    desk.ok(&format!("grad {tensors} --do g_judged.npy --dq dq.npy --dk dk.npy --dv dv.npy"));
    let judge = |o: &str, dk: &str| {
        format!(
            r#"{{"do": "judge", "whose": "theirs", "rule": "linear", "o": "{o}", "dq": "dq.npy", "dk": "{dk}", "dv": "dv.npy"}}"#
        )
    };
    let judged = talk.ask(&judge("o.npy", "dk.npy"));
    assert!((0.0..1e-5).contains(&judged["max_error"].as_f64().unwrap()), "{judged}");

    // Softmax instead of continuous attention, a gradient of something else, one number that is none.
    desk.ok(&format!("attend {tensors} --engine plain --rule softmax --out softmax.npy"));
    talk.refuses(&judge("softmax.npy", "dk.npy"), "theirs: o[");
    talk.refuses(&judge("o.npy", "v.npy"), "theirs: dk[");
    talk.refuses(&judge("o.npy", "q.npy"), "dk has shape [1, 2, 40, 4]");
    let mut spoilt = desk.numbers("o.npy");
    spoilt[161] = f64::NAN;
    desk.put("spoilt.npy", &[1, 2, 40, 4], spoilt.iter().map(|&x| x as f32).collect::<Vec<f32>>());
    talk.refuses(&judge("spoilt.npy", "dk.npy"), "theirs: o[1, 0, 1] is NaN");

    talk.refuses(&judge("nowhere.npy", "dk.npy"), "nowhere.npy");
    talk.refuses(r#"{"do": "judge", "whose": "x", "rule": "trapezoid", "o": "o.npy"}"#, "rule trapezoid is not timed");
    talk.refuses(r#"{"do": "judge", "whose": "x", "rule": "linear", "o": "o.npy", "dq": "dq.npy"}"#, "judged together");
    talk.refuses(r#"{"do": "time", "runner": 3}"#, "there is no runner 3");
    talk.refuses(&open, "a case is open");
    talk.refuses("nonsense", "not understood");
    assert_eq!(talk.ask(r#"{"do": "close"}"#), json!({}));
    talk.refuses(r#"{"do": "time", "runner": 0}"#, "no case is open");
    talk.refuses(&open.replace(r#""queries": 40"#, r#""queries": 41"#), "queries: found 41");
    talk.refuses(&open.replace("portable", "sse"), "no instruction set is called");
    talk.refuses(&open.replace(r#""folder": ".""#, r#""contenders": ["none"]"#), "no contender");
    drop(talk.questions);
    assert!(talk.child.wait().unwrap().success());
}
