//! Values whose answers are known without us.

use super::desk::{Desk, array, array_of, close, numbers};
use contattn_core::Dtype;

/// Two nodes of value 2 and 4 and one query, all scores 0: o is the mean of the value curve.
fn flat() -> Desk {
    let desk = Desk::new();
    desk.put("q.npy", &[1, 1], vec![1.0]);
    desk.put("k.npy", &[2, 1], vec![0.0, 0.0]);
    desk.put("v.npy", &[2, 1], vec![2.0, 4.0]);
    desk
}

const FLAT: &str = "attend --q q.npy --k k.npy --v v.npy --out o.npy --lse lse.npy";

/// o and lse of a run.
#[track_caller]
fn o_and_lse(desk: &Desk, arguments: &str) -> (f64, f64) {
    desk.ok(arguments);
    (desk.numbers("o.npy")[0], desk.numbers("lse.npy")[0])
}

#[test]
fn every_rule_on_a_flat_score() {
    let desk = flat();
    // The curve 0, 2, 4 over [0, 2] has the mean 2, whether integrated exactly or by trapezoids; two steps have the mean 3.
    let cases =
        [("linear", 2.0), ("trapezoid", 2.0), ("taylor:0", 2.0), ("taylor:4", 2.0), ("step", 3.0), ("softmax", 3.0)];
    for (rule, mean) in cases {
        let (o, lse) = o_and_lse(&desk, &format!("{FLAT} --rule {rule}"));
        close(&[o, lse], &[mean, 2f64.ln()], 1e-15);
    }
    assert_eq!(o_and_lse(&desk, FLAT), o_and_lse(&desk, &format!("{FLAT} --rule linear --sink zeros --window causal")));
}

#[test]
fn every_sink() {
    let desk = flat();
    // Means of the curves 2, 4 over [1, 2]; 0, 2, 4 and 2, 2, 4 over [0, 2].
    for (sink, mean, length) in [("absent", 3.0, 1.0), ("zeros", 2.0, 2.0), ("copy", 2.5, 2.0)] {
        let (o, lse) = o_and_lse(&desk, &format!("{FLAT} --sink {sink}"));
        close(&[o, lse], &[mean, f64::ln(length)], 1e-15);
    }
    // Given in the first row: 6, 2, 4 over [0, 2]; two durations for the two nodes behind the sink.
    desk.put("k.npy", &[3, 1], vec![0.0; 3]);
    desk.put("v.npy", &[3, 1], vec![6.0, 2.0, 4.0]);
    close(&[o_and_lse(&desk, &format!("{FLAT} --sink given")).0], &[3.5], 1e-15);
    // The first segment three times as long: (3 * 4 + 3) / 4.
    desk.put("d.npy", &[2], vec![3.0, 1.0]);
    let (o, lse) = o_and_lse(&desk, &format!("{FLAT} --sink given --durations d.npy"));
    close(&[o, lse], &[3.75, 4f64.ln()], 1e-15);
    // The step rule reads no node 0.
    close(&[o_and_lse(&desk, &format!("{FLAT} --sink given --rule step")).0], &[3.0], 1e-15);
}

#[test]
fn the_scale_multiplies_scores() {
    let desk = flat();
    desk.put("k.npy", &[2, 1], vec![0.0, 1.0]);
    // Softmax of scores 0 and s over the values 2 and 4 is 2 + 2 / (1 + e^-s); width 1 has the default scale 1.
    let expected = |s: f64| 2.0 + 2.0 / (1.0 + (-s).exp());
    for (option, scale) in
        [("", 1.0), ("--scale 0", 0.0), ("--scale 2.5", 2.5), ("--scale -2", -2.0), ("--scale=-1e-3", -1e-3)]
    {
        close(&[o_and_lse(&desk, &format!("{FLAT} --rule softmax {option}")).0], &[expected(scale)], 1e-14);
    }
}

#[test]
fn softmax_agrees_with_softmax_written_out() {
    let desk = Desk::new();
    let (batch, heads, kv_heads, rows, keys, width, value_width) = (2, 4, 2, 3, 5, 3, 2);
    let q = numbers(1, batch * heads * rows * width);
    let k = numbers(2, batch * kv_heads * keys * width);
    let v = numbers(3, batch * kv_heads * keys * value_width);
    desk.put("q.npy", &[batch, heads, rows, width], q.clone());
    desk.put("k.npy", &[batch, kv_heads, keys, width], k.clone());
    desk.put("v.npy", &[batch, kv_heads, keys, value_width], v.clone());
    desk.ok("attend --q q.npy --k k.npy --v v.npy --rule softmax --out r.npz --lse r.npz --weights r.npz:w");
    let (mut o, mut lse, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..batch * heads * rows {
        let (row, head, b) = (at % rows, at / rows % heads, at / rows / heads);
        let kv = b * kv_heads + head / (heads / kv_heads);
        // Row r of the last 3 of 5 tokens sees tokens 1..=r + 3.
        let scores = (0..row + 3).map(|i| {
            let dot: f64 = (0..width).map(|c| q[at * width + c] * k[(kv * keys + i) * width + c]).sum();
            dot / (width as f64).sqrt()
        });
        let exponentials: Vec<f64> = scores.map(f64::exp).collect();
        let sum: f64 = exponentials.iter().sum();
        lse.push(sum.ln());
        let value = |i: usize, c: usize| v[(kv * keys + i) * value_width + c];
        o.extend(
            (0..value_width).map(|c| exponentials.iter().enumerate().map(|(i, e)| e / sum * value(i, c)).sum::<f64>()),
        );
        weights.push(0.0);
        weights.extend((0..keys).map(|i| exponentials.get(i).map_or(0.0, |e| e / sum)));
    }
    close(&desk.numbers("r.npz:o"), &o, 1e-14);
    close(&desk.numbers("r.npz:lse"), &lse, 1e-14);
    close(&desk.numbers("r.npz:w"), &weights, 1e-14);
    assert_eq!(desk.tensor("r.npz:o").shape(), [batch, heads, rows, value_width]);
    assert_eq!(desk.tensor("r.npz:lse").shape(), [batch, heads, rows]);
    assert_eq!(desk.tensor("r.npz:w").shape(), [batch, heads, rows, keys + 1]);
}

#[test]
fn equal_scores_have_the_bias_of_the_curve_s_ends() {
    let desk = flat();
    desk.ok("attend --q q.npy --k k.npy --v v.npy --weights r.safetensors --bias r.safetensors");
    // b = 0 inside and -log 2 at either end (the series of b at equal scores); weights 1/4, 1/2, 1/4.
    close(&desk.numbers("r.safetensors:bias"), &[-(2f64.ln()), 0.0, -(2f64.ln())], 1e-15);
    close(&desk.numbers("r.safetensors:weights"), &[0.25, 0.5, 0.25], 1e-15);
    assert_eq!(desk.tensor("r.safetensors:bias").shape(), [1, 3]);
}

#[test]
fn masks_and_documents() {
    let desk = Desk::new();
    desk.put("q.npy", &[3, 1], vec![0.0; 3]);
    desk.put("k.npy", &[3, 1], vec![0.0; 3]);
    desk.put("v.npy", &[3, 1], vec![1.0, 2.0, 4.0]);
    let o = |options: &str| {
        desk.ok(&format!("attend --q q.npy --k k.npy --v v.npy --rule softmax --out o.npy {options}"));
        desk.numbers("o.npy")
    };
    // Means of the tokens that each row sees.
    close(&o(""), &[1.0, 1.5, 7.0 / 3.0], 1e-15);
    desk.put("mask.npy", &[3], vec![true, false, true]);
    close(&o("--mask mask.npy"), &[1.0, 1.0, 2.5], 1e-15);
    desk.put("mask.npy", &[1, 3], vec![0u8, 1, 1]);
    close(&o("--mask mask.npy"), &[0.0, 2.0, 3.0], 1e-15);
    desk.put("documents.npy", &[3], vec![7i64, 7, -9]);
    close(&o("--documents documents.npy"), &[1.0, 1.5, 4.0], 1e-15);
    // The first row asks for the last document, all of which lies after it; a full window shows it.
    desk.put("asked.npy", &[3], vec![-9i32, 7, 8]);
    let asked = "--documents documents.npy --query-documents asked.npy --window full";
    close(&o(asked), &[4.0, 1.5, 0.0], 1e-15);
}

#[test]
fn ranks_and_layouts_are_the_same_numbers() {
    let desk = Desk::new();
    let (heads, rows, width) = (2, 3, 4);
    let stored = |seed| {
        let bhsd = numbers(seed, heads * rows * width);
        let index = |s: usize, h: usize, c: usize| (h * rows + s) * width + c;
        let places = (0..rows * heads * width).map(|at| index(at / width / heads, at / width % heads, at % width));
        let bshd = places.map(|at| bhsd[at]).collect();
        (bhsd, bshd)
    };
    for (name, seed) in [("q", 11), ("k", 12), ("v", 13)] {
        let (bhsd, bshd): (_, Vec<f64>) = stored(seed);
        desk.put(&format!("{name}4.npy"), &[1, heads, rows, width], bhsd.clone());
        desk.put(&format!("{name}3.npy"), &[heads, rows, width], bhsd.clone());
        desk.put(&format!("{name}2.npy"), &[rows, width], bhsd[..rows * width].to_vec());
        desk.put(&format!("{name}s4.npy"), &[1, rows, heads, width], bshd.clone());
        desk.put(&format!("{name}s3.npy"), &[rows, heads, width], bshd);
    }
    let run = |kind: &str, options: &str| {
        let results = format!("--out {kind}.npz --lse {kind}.npz --weights {kind}.npz");
        desk.ok(&format!("attend --q q{kind}.npy --k k{kind}.npy --v v{kind}.npy {results} {options}"));
        let result = |name: &str| desk.tensor(&format!("{kind}.npz:{name}"));
        (result("o"), result("lse"), result("weights"))
    };
    let (o4, lse4, weights4) = run("4", "");
    assert_eq!((o4.shape(), lse4.shape(), weights4.shape()), (&[1, 2, 3, 4][..], &[1, 2, 3][..], &[1, 2, 3, 4][..]));
    let (o3, lse3, weights3) = run("3", "--layout bhsd");
    assert_eq!((o3.shape(), lse3.shape(), weights3.shape()), (&[2, 3, 4][..], &[2, 3][..], &[2, 3, 4][..]));
    assert_eq!((o3.to_f64(), lse3.to_f64()), (o4.to_f64(), lse4.to_f64()));
    for layout in ["bhsd", "bshd"] {
        let (o2, lse2, weights2) = run("2", &format!("--layout {layout}"));
        assert_eq!((o2.shape(), lse2.shape(), weights2.shape()), (&[3, 4][..], &[3][..], &[3, 4][..]));
        assert_eq!(o2.to_f64(), o4.to_f64()[..rows * width]);
    }
    let (os4, lses4, weightss4) = run("s4", "--layout bshd");
    assert_eq!((os4.shape(), lses4.shape()), (&[1, 3, 2, 4][..], &[1, 2, 3][..]));
    assert_eq!((lses4.to_f64(), weightss4.to_f64()), (lse4.to_f64(), weights4.to_f64()));
    for (h, s, c) in (0..heads * rows * width).map(|at| (at / width / rows, at / width % rows, at % width)) {
        assert_eq!(os4.get(&[0, s, h, c]), o4.get(&[0, h, s, c]));
    }
    let (os3, lses3, _) = run("s3", "--layout bshd");
    assert_eq!((os3.shape(), lses3.shape()), (&[3, 2, 4][..], &[2, 3][..]));
    assert_eq!(os3.to_f64(), os4.to_f64());
}

#[test]
fn element_types_and_engines() {
    let desk = Desk::new();
    for dtype in Dtype::ALL {
        let heads =
            [("q", 21), ("k", 22), ("v", 23)].map(|(name, seed)| (name, array_of(dtype, &[4, 2], numbers(seed, 8))));
        desk.put_many(&format!("{dtype}.safetensors"), &heads);
    }
    let run = |inputs: Dtype, options: &str| {
        let file = format!("{inputs}.safetensors");
        let tensors = format!("--q {file}:q --k {file}:k --v {file}:v");
        desk.ok(&format!("attend {tensors} --out r.safetensors --lse r.safetensors {options}"));
        (desk.tensor("r.safetensors:o"), desk.tensor("r.safetensors:lse"))
    };
    for dtype in Dtype::ALL {
        let (o, lse) = run(dtype, "");
        assert_eq!((o.dtype(), lse.dtype()), (dtype, dtype.lse()));
        for other in Dtype::ALL {
            let (rounded, lse) = run(dtype, &format!("--dtype {other}"));
            assert_eq!((rounded.dtype(), lse.dtype()), (other, other.lse()));
            // Sums in f64, each result rounded once: narrowing the wider result is the narrower result.
            let (exact, _) = run(dtype, "--dtype f64");
            assert_eq!(rounded, exact.to_dtype(other));
        }
    }
    let (plain, _) = run(Dtype::F64, "--engine plain");
    let (single, _) = run(Dtype::F64, "--engine plain-f32");
    assert_ne!(plain, single);
    close(&single.to_f64(), &plain.to_f64(), 1e-6);
}

#[test]
fn empty_sequences_have_values_too() {
    let desk = Desk::new();
    desk.put("q.npy", &[2, 3], vec![1.0; 6]);
    desk.put("none.npy", &[0, 3], Vec::<f64>::new());
    // No key: the last query stands at the sink of zeros, the one before it nowhere; neither sees any duration.
    desk.ok("attend --q q.npy --k none.npy --v none.npy --out o.npy --lse lse.npy --weights w.npy");
    assert_eq!(desk.numbers("o.npy"), [0.0; 6]);
    assert_eq!(desk.numbers("lse.npy"), [f64::NEG_INFINITY; 2]);
    assert_eq!(desk.numbers("w.npy"), [0.0, 1.0]);
    // No query.
    desk.ok("attend --q none.npy --k q.npy --v q.npy --out o.npy");
    assert_eq!(desk.tensor("o.npy").shape(), [0, 3]);
}

#[test]
fn not_a_number_reaches_only_those_who_see_it() {
    let desk = Desk::new();
    desk.put("q.npy", &[3, 1], vec![1.0; 3]);
    desk.put("k.npy", &[3, 1], vec![0.0, 0.0, f64::NAN]);
    desk.put("v.npy", &[3, 2], vec![1.0, 1.0, 2.0, f64::INFINITY, 3.0, 3.0]);
    desk.ok("attend --q q.npy --k k.npy --v v.npy --rule softmax --out o.npy --lse lse.npy");
    let o = desk.numbers("o.npy");
    close(&o[..3], &[1.0, 1.0, 1.5], 1e-15);
    assert!(o[3..].iter().all(|x| x.is_nan()));
    let summary = desk.json("attend --q q.npy --k k.npy --v v.npy --rule softmax");
    assert_eq!(summary["results"][0]["nan"], 3);
}

#[test]
fn the_summary_says_what_was_read_and_found() {
    let desk = flat();
    let text = desk.ok("attend --q q.npy --k k.npy --v v.npy");
    let engine = if cfg!(feature = "reference") { "engine reference" } else { "engine plain" };
    for said in [engine, "rule linear", "window causal", "n 2", "o        (1, 1) f64", "mean 2", "lse"] {
        assert!(text.contains(said), "{said:?} is not in\n{text}");
    }
    assert_eq!(text.lines().count(), 4, "{text}");
    let summary =
        desk.json("attend --q q.npy --k k.npy --v v.npy --window 0.5..t+0.5 --lse r.npz:l --engine plain-f32");
    assert_eq!(summary["command"], "attend");
    assert_eq!(summary["engine"], "plain-f32");
    assert_eq!(summary["window"], "0.5..t+0.5");
    let problem = serde_json::json!({ "batch": 1, "heads": 1, "kv_heads": 1, "queries": 1, "keys": 2, "head_dim": 1,
        "value_dim": 1, "dtype": "f64" });
    assert_eq!(summary["problem"], problem);
    let [lse] = summary["results"].as_array().unwrap().as_slice() else { panic!("{summary}") };
    assert_eq!((&lse["name"], &lse["dtype"], &lse["file"]), (&"lse".into(), &"f64".into(), &"r.npz:l".into()));
    assert_eq!(lse["shape"], serde_json::json!([1]));
    // Infinity is a string in JSON.
    desk.put("none.npy", &[0, 1], Vec::<f64>::new());
    let summary = desk.json("attend --q q.npy --k none.npy --v none.npy");
    assert_eq!(summary["results"][1]["first"], serde_json::json!(["-inf"]));
    assert_eq!(summary["results"][1]["min"], serde_json::Value::Null);
}

#[test]
fn more_queries_than_nodes_are_pointed_out() {
    let desk = Desk::new();
    desk.put_many("x.npz", &[("q", array(&[5, 1], vec![1.0; 5])), ("k", array(&[2, 1], vec![1.0; 2]))]);
    let text = desk.ok("attend --q x.npz:q --k x.npz:k --v x.npz:k");
    assert!(text.contains("the first 2 of 5 queries stand before node 0"), "{text}");
    let text = desk.ok("attend --q x.npz:q --k x.npz:k --v x.npz:k --window full");
    assert!(!text.contains("note"), "{text}");
}

#[test]
fn instruction_sets_and_threads_of_the_tiled_engine() {
    use contattn_cpu::tiled::Isa;
    let desk = Desk::new();
    let (heads, rows, width) = (2, 150, 9);
    for (name, seed) in [("q", 91), ("k", 92), ("v", 93), ("do", 94)] {
        let values: Vec<f32> = numbers(seed, heads * rows * width).iter().map(|&x| x as f32).collect();
        desk.put(&format!("{name}.npy"), &[1, heads, rows, width], values);
    }
    let qkv = "--q q.npy --k k.npy --v v.npy";
    desk.ok(&format!("attend {qkv} --engine plain --out exact.npy"));
    let exact = desk.numbers("exact.npy");
    for isa in Isa::ALL {
        let tiled = format!("--engine tiled --isa {isa} --threads");
        if !isa.is_available() {
            let asked = format!("attend {qkv} {tiled} 2");
            desk.refuses(3, &asked, &["this machine lacks", isa.name(), "leave --isa out, or choose of", "portable"]);
            continue;
        }
        let mut found = Vec::new();
        for threads in [1, 3] {
            desk.ok(&format!("attend {qkv} {tiled} {threads} --out o.npy"));
            desk.ok(&format!("grad {qkv} --do do.npy {tiled} {threads} --dk dk.npy"));
            found.push((desk.tensor("o.npy"), desk.tensor("dk.npy")));
        }
        // The same bits for any number of threads.
        assert_eq!(found[0], found[1]);
        let off = found[0].0.to_f64().iter().zip(&exact).fold(0.0, |off: f64, (a, b)| off.max((a - b).abs()));
        assert!(off > 0.0 && off < 1e-5, "{isa}: {off}");
    }
    for (options, said) in [
        ("--isa portable", ["--isa: engine", "add --engine tiled"]),
        ("--engine plain --threads 2", ["--threads: engine plain", "leave --threads out"]),
        ("--engine tiled --isa sse", ["--isa", "avx512, avx2, portable"]),
        ("--engine tiled --threads 0", ["--threads", "0"]),
    ] {
        desk.refuses(2, &format!("attend {qkv} {options}"), &said);
        desk.refuses(2, &format!("grad {qkv} --do do.npy {options}"), &said);
    }
}
