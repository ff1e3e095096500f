//! Bad input: each with its exit code, what is wrong, and what to do.

use super::desk::{Desk, array, array_of, numbers};
use contattn_core::Dtype;

/// q of 4 heads and 3 rows, k and v of 2 heads and 5 rows, width 6.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("q.npy", &[1, 4, 3, 6], numbers(1, 72));
    desk.put("k.npy", &[1, 2, 5, 6], numbers(2, 60));
    desk.put("v.npy", &[1, 2, 5, 6], numbers(3, 60));
    desk.put("do.npy", &[1, 4, 3, 6], numbers(4, 72));
    desk
}

const QKV: &str = "attend --q q.npy --k k.npy --v v.npy";

fn refuses(desk: &Desk, options: &str, said: &[&str]) {
    desk.refuses(2, &format!("{QKV} {options}"), said);
}

#[test]
fn command_lines() {
    let desk = desk();
    desk.refuses(
        2,
        "attend --q q.npy",
        &["required arguments were not provided", "--k <FILE>", "contattn attend --help"],
    );
    desk.refuses(2, "atend", &["unrecognized subcommand 'atend'", "'attend'", "contattn help"]);
    refuses(&desk, "--widow full", &["unexpected argument '--widow'", "'--window'"]);
    refuses(&desk, "--rule cubic", &["--rule", "softmax, linear, step, trapezoid or taylor:M"]);
    refuses(&desk, "--rule taylor:65", &["taylor:M with M from 0 to 64"]);
    refuses(&desk, "--sink some", &["--sink", "absent, zeros, copy, given"]);
    refuses(&desk, "--engine abacus", &["--engine", "plain, plain-f32"]);
    refuses(&desk, "--dtype f8", &["--dtype", "f64, f32, f16, bf16"]);
    refuses(&desk, "--layout sbhd", &["--layout", "bhsd, bshd"]);
    refuses(&desk, "--scale nan", &["--scale", "not a finite number"]);
    refuses(&desk, "--scale much", &["--scale", "not a finite number"]);
    refuses(&desk, "--durations d.npy --times t.npy", &["--durations <FILE>' cannot be used with '--times <FILE>"]);
    refuses(&desk, "--query-documents d.npy", &["required arguments", "--documents <FILE>"]);
    refuses(
        &desk,
        "--rule softmax --durations d.npy",
        &["--durations cannot be used with --rule softmax", "--rule step"],
    );
    refuses(&desk, "--rule softmax --times d.npy", &["--times cannot be used with --rule softmax"]);
    refuses(&desk, "--window 1..t --lower-edges e.npy", &["--lower-edges", "--window has a lower edge", "leave"]);
    refuses(&desk, "--window causal --upper-edges e.npy", &["--upper-edges", "--window has an upper edge"]);
    #[cfg(unix)]
    for place in [0, 2] {
        use std::os::unix::ffi::OsStrExt;
        let mut command = desk.command("attend --q");
        if place == 0 {
            command = desk.command("");
        }
        let output = command.arg(std::ffi::OsStr::from_bytes(b"\xff.npy")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(output.stderr.starts_with(b"error: "), "{output:?}");
    }
    let run = desk.run("");
    assert_eq!((run.code, run.stdout.is_empty()), (Some(2), true));
    assert!(run.stderr.contains("a subcommand is missing"));
}

#[test]
fn windows() {
    let desk = desk();
    refuses(&desk, "--window casual", &["--window", "causal, full, sliding:W or LOWER..UPPER"]);
    refuses(&desk, "--window 3..-1", &["reversed: 3 lies above -1"]);
    refuses(&desk, "--window sliding:-1", &["at least 0"]);
    refuses(&desk, "--window t-1..4", &["needs an upper edge with t in it"]);
    refuses(&desk, "--window inf..t", &["lower edge \"inf\""]);
    desk.put("lower.npy", &[3], vec![0.0, 3.0, 0.0]);
    desk.put("upper.npy", &[3], vec![1.0, 2.0, 2.0]);
    refuses(
        &desk,
        "--lower-edges lower.npy --upper-edges upper.npy",
        &["window[1]: lower edge 3 lies above upper edge 2", "exchange the edges"],
    );
    desk.put("lower.npy", &[3], vec![0.0, f64::NAN, 0.0]);
    refuses(&desk, "--lower-edges lower.npy", &["lower edges[1]: found NaN, expected a finite number"]);
    desk.put("lower.npy", &[2], vec![0.0; 2]);
    refuses(&desk, "--lower-edges lower.npy", &["lower edges: axis sequence has length 2, expected 3"]);
    refuses(&desk, "--rule taylor:1 --window 0.5..t", &["rule taylor:1: needs whole segments", "--rule linear"]);
}

#[test]
fn shapes() {
    let desk = desk();
    desk.put("other.npy", &[1, 2, 5, 7], numbers(5, 70));
    desk.refuses(2, "attend --q q.npy --k other.npy --v v.npy", &["k: axis head_dim has length 7, expected 6"]);
    desk.put("other.npy", &[1, 2, 4, 6], numbers(5, 48));
    desk.refuses(2, "attend --q q.npy --k k.npy --v other.npy", &["v: axis sequence has length 4, expected 5"]);
    desk.put("other.npy", &[1, 3, 5, 6], numbers(5, 90));
    desk.refuses(
        2,
        "attend --q q.npy --k other.npy --v other.npy",
        &["k: axis heads has length 3, expected a divisor of the 4 query heads", "each key/value head serves"],
    );
    desk.put("other.npy", &[2, 2, 5, 6], numbers(5, 120));
    desk.refuses(2, "attend --q q.npy --k other.npy --v v.npy", &["k: axis batch has length 2, expected 1"]);
    desk.put("other.npy", &[6], numbers(5, 6));
    desk.refuses(2, "attend --q other.npy --k k.npy --v v.npy", &["q: 1 axes, expected 2, 3 or 4"]);
    desk.put("other.npy", &[1, 2, 5, 0], numbers(5, 0));
    desk.refuses(
        2,
        "attend --q q.npy --k k.npy --v other.npy",
        &["v: axis head_dim has length 0, expected at least 1"],
    );
    desk.put("other.npy", &[1, 2, 0, 6], numbers(5, 0));
    desk.refuses(
        2,
        "attend --q q.npy --k other.npy --v other.npy --sink given",
        &["k: axis sequence has length 0, expected at least 1", "one row for the sink"],
    );
}

#[test]
fn the_other_order_of_axes_is_recognised() {
    let desk = desk();
    // Read as bhsd these have 3 heads beside 5.
    desk.put("q.npy", &[1, 3, 4, 6], numbers(1, 72));
    desk.put("k.npy", &[1, 5, 2, 6], numbers(2, 60));
    desk.put("v.npy", &[1, 5, 2, 6], numbers(3, 60));
    let advice = "looks like bshd: try --layout bshd, which reads 4 heads, 3 queries and 5 nodes";
    refuses(&desk, "", &["k: axis heads has length 5, expected a divisor of the 3 query heads", advice]);
    desk.ok(&format!("{QKV} --layout bshd"));
    let desk = self::desk();
    refuses(&desk, "--layout bshd", &["looks like bhsd: try --layout bhsd"]);
    // A gradient in another layout than q, k and v.
    desk.put("do.npy", &[1, 3, 4, 6], numbers(1, 72));
    desk.refuses(
        2,
        "grad --q q.npy --k k.npy --v v.npy --do do.npy",
        &["upstream gradient of o: axis heads has length 3, expected 4", "it looks like bshd"],
    );
}

#[test]
fn element_types() {
    let desk = desk();
    let single: Vec<f32> = vec![0.0; 60];
    desk.put("single.npy", &[1, 2, 5, 6], single);
    desk.refuses(
        2,
        "attend --q q.npy --k single.npy --v v.npy",
        &["k: element type f32, expected f64 as in q", "one element type"],
    );
    desk.put("whole.npy", &[1, 4, 3, 6], vec![1i64; 72]);
    desk.refuses(
        2,
        "attend --q whole.npy --k k.npy --v v.npy",
        &["--q: whole.npy: element type i64, expected f64, f32, f16 or bf16", "convert"],
    );
    desk.put("mask.npy", &[5], vec![1.0; 5]);
    refuses(&desk, "--mask mask.npy", &["--mask: mask.npy: element type f64, expected booleans"]);
    desk.put("mask.npy", &[5], vec![1u8, 0, 2, 1, 1]);
    refuses(&desk, "--mask mask.npy", &["--mask: mask.npy: element 2: 2, expected 0 or 1"]);
    desk.put("documents.npy", &[5], vec![1.0; 5]);
    refuses(&desk, "--documents documents.npy", &["--documents: documents.npy: element type f64, expected integers"]);
    desk.put("d.npy", &[5], vec![true; 5]);
    refuses(&desk, "--durations d.npy", &["--durations: d.npy: element type bool, expected real numbers"]);
    // bf16 has no name in .npy and .npz.
    refuses(&desk, "--dtype bf16 --out o.npy", &["--out: a .npy file cannot hold bf16", ".safetensors"]);
    refuses(&desk, "--dtype bf16 --lse r.npz --bias r.npz", &["--bias: a .npz file cannot hold bf16"]);
    let half = |shape: &[usize], seed| array_of(Dtype::BF16, shape, numbers(seed, shape.iter().product()));
    desk.put_many("half.safetensors", &[("x", half(&[3, 2], 1))]);
    desk.refuses(2, "attend --q half.safetensors --k half.safetensors:x --v half.safetensors --out o.npy", &["bf16"]);
}

#[test]
fn numbers_along_the_time_line() {
    let desk = desk();
    for (bad, shown) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        desk.put("d.npy", &[5], vec![1.0, 1.0, bad, 1.0, 1.0]);
        let said = format!("durations[2]: found {shown}, expected a finite number of at least 0");
        refuses(&desk, "--durations d.npy", &[&said, "correct the number"]);
    }
    desk.put("d.npy", &[1, 5], vec![1e308; 5]);
    refuses(&desk, "--durations d.npy", &["durations[0]", "durations with a finite sum"]);
    desk.put("d.npy", &[6], vec![1.0; 6]);
    refuses(&desk, "--durations d.npy", &["durations: axis sequence has length 6, expected 5", "use --times"]);
    desk.put("d.npy", &[2, 5], vec![1.0; 10]);
    refuses(&desk, "--durations d.npy", &["durations: axis batch has length 2, expected 1"]);
    desk.put("d.npy", &[1, 1, 5], vec![1.0; 5]);
    refuses(&desk, "--durations d.npy", &["durations: 3 axes, expected 1 or 2", "one row"]);
    desk.put("d.npy", &[5], vec![2.0; 5]);
    refuses(&desk, "--durations d.npy --rule taylor:2", &["rule taylor:2: needs the unit time line"]);
    desk.put("d.npy", &[5], vec![1.0; 5]);
    refuses(&desk, "--durations d.npy --sink given", &["durations: axis sequence has length 5, expected 4", "sink"]);
    desk.put("t.npy", &[6], vec![0.0, 1.0, 2.0, 1.5, 3.0, 4.0]);
    refuses(&desk, "--times t.npy", &["times[3]: found 1.5, expected a time that is not before its predecessor"]);
    desk.put("t.npy", &[5], vec![0.0, 1.0, 2.0, 3.0, 4.0]);
    refuses(&desk, "--times t.npy", &["times: axis sequence has length 5, expected 6", "use --durations"]);
    desk.put("t.npy", &[6], vec![0.0, 1.0, 2.0, 3.0, 4.0, f64::INFINITY]);
    refuses(&desk, "--times t.npy", &["times[5]: found inf"]);
    desk.put("t.npy", &[3], vec![0.0, f64::NAN, 2.0]);
    refuses(&desk, "--query-times t.npy", &["query times[1]: found NaN"]);
    desk.put("mask.npy", &[4], vec![true; 4]);
    refuses(&desk, "--mask mask.npy", &["key mask: axis sequence has length 4, expected 5"]);
    desk.put("documents.npy", &[5], vec![1i64, 1, 2, 1, 1]);
    refuses(&desk, "--documents documents.npy", &["documents[3]: document 1 returns", "sort the nodes"]);
    desk.put("documents.npy", &[5], vec![1i64; 5]);
    desk.put("asked.npy", &[5], vec![1i64; 5]);
    refuses(
        &desk,
        "--documents documents.npy --query-documents asked.npy",
        &["query documents: axis sequence has length 5, expected 3"],
    );
}

#[test]
fn gradients() {
    let desk = desk();
    let grad = "grad --q q.npy --k k.npy --v v.npy";
    let refuses = |options: &str, said: &[&str]| desk.refuses(2, &format!("{grad} {options}"), said);
    refuses("", &["--do <FILE>"]);
    refuses("--do k.npy", &["upstream gradient of o: axis heads has length 2, expected 4", "the shape of o"]);
    desk.put("short.npy", &[1, 4, 2, 6], numbers(1, 48));
    refuses(
        "--do short.npy",
        &["upstream gradient of o: axis sequence has length 2, expected 3", "a row for each query"],
    );
    desk.put("flat.npy", &[6], numbers(1, 6));
    refuses("--do flat.npy", &["upstream gradient of o: 1 axes, expected 2, 3 or 4"]);
    refuses("--do do.npy --dlse do.npy", &["upstream gradient of lse: 4 axes, expected 1, 2 or 3"]);
    desk.put("dlse.npy", &[1, 4, 2], numbers(1, 8));
    refuses("--do do.npy --dlse dlse.npy", &["upstream gradient of lse: axis sequence has length 2, expected 3"]);
    refuses("--do do.npy --rule taylor:1 --ddurations d.npy", &["rule taylor:1 has no durations"]);
    refuses("--do do.npy --dsink-k s.npy", &["--dsink-k: there is a gradient of the sink only with --sink given"]);
    refuses("--do do.npy --sink copy --dsink-v s.npy", &["--dsink-v"]);
}

#[test]
fn files_to_read() {
    let desk = desk();
    let refuses = |file: &str, said: &[&str]| desk.refuses(2, &format!("attend --q {file} --k k.npy --v v.npy"), said);
    refuses("nowhere.npy", &["--q: nowhere.npy: ", "check the path"]);
    refuses("nowhere/q.npz:q", &["--q: nowhere/q.npz: ", "check the path"]);
    refuses("q.txt", &["q.txt", "expected FILE.npy, FILE.npz:NAME or FILE.safetensors:NAME"]);
    refuses("q.npy:q", &["holds one array without a name"]);
    refuses("q.npz:", &["a name is missing behind the colon"]);
    std::fs::create_dir(desk.path().join("folder.npy")).unwrap();
    refuses("folder.npy", &["folder.npy: not a regular file"]);
    desk.put_many("two.npz", &[("a", array(&[1], vec![0.0])), ("b", array(&[1], vec![0.0]))]);
    refuses("two.npz", &["say which tensor, as file:name; the file has a, b", "FILE:NAME"]);
    refuses("two.npz:c", &["no such tensor; the file has a, b"]);
    let whole = std::fs::read(desk.path().join("q.npy")).unwrap();
    desk.put_bytes("cut.npy", &whole[..whole.len() - 8]);
    refuses("cut.npy", &["cut.npy: data: 568 bytes, expected 576", "save the file again"]);
    desk.put_bytes("empty.npy", b"");
    refuses("empty.npy", &["empty.npy: "]);
    desk.put_bytes("foreign.npy", b"PK\x03\x04 this is something else");
    refuses("foreign.npy", &["not a .npy file", "save the file again"]);
    desk.put_bytes("foreign.npz", &whole);
    refuses("foreign.npz:q", &["foreign.npz: "]);
    // A header that claims 2^60 bytes.
    let mut huge = (1u64 << 60).to_le_bytes().to_vec();
    huge.extend(b"{}");
    desk.put_bytes("huge.safetensors", &huge);
    refuses("huge.safetensors:q", &["huge.safetensors: header of 1152921504606846976 bytes"]);
    let header = br#"{"q":{"dtype":"F64","shape":[1,4,3,6],"data_offsets":[0,1152921504606846976]}}"#;
    let mut lies = (header.len() as u64).to_le_bytes().to_vec();
    lies.extend(header);
    desk.put_bytes("lies.safetensors", &lies);
    refuses("lies.safetensors:q", &["lies.safetensors: "]);
    // What a terminal would obey is shown, not sent.
    let run = desk.run("attend --q \u{1b}[2J.npy --k k.npy --v v.npy");
    assert!(run.stderr.contains("\\u{1b}[2J.npy") && !run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
}

#[test]
fn files_to_write() {
    let desk = desk();
    refuses(&desk, "--out r.npy --lse ./r.npy", &["--out and --lse both go to ./r.npy", "one array"]);
    refuses(&desk, "--out r.npz:x --lse r.npz:x", &["--out and --lse both go to r.npz:x", "different names"]);
    refuses(&desk, "--out r.npz --lse r.npz:o", &["--out and --lse both go to"]);
    refuses(&desk, "--out nowhere/r.npy", &["--out: there is no folder nowhere", "make the folder"]);
    refuses(&desk, "--out r.csv", &["r.csv", "expected FILE.npy"]);
    std::fs::create_dir(desk.path().join("taken.npz")).unwrap();
    refuses(&desk, "--out taken.npz:o", &["--out: taken.npz is a folder"]);
}
