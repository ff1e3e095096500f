//! Gradients whose values are known, and differences of `contattn attend` itself.

use super::desk::{Desk, close, numbers};

/// All scores 0, one query, nodes of value 2 and 4.
fn flat() -> Desk {
    let desk = Desk::new();
    desk.put("q.npy", &[1, 1], vec![1.0]);
    desk.put("k.npy", &[2, 1], vec![0.0, 0.0]);
    desk.put("v.npy", &[2, 1], vec![2.0, 4.0]);
    desk.put("do.npy", &[1, 1], vec![1.0]);
    desk.put("zero.npy", &[1, 1], vec![0.0]);
    desk.put("one.npy", &[1], vec![1.0]);
    desk
}

#[test]
fn softmax_by_hand() {
    let desk = flat();
    desk.ok("grad --q q.npy --k k.npy --v v.npy --do do.npy --rule softmax --dq g.npz --dk g.npz --dv g.npz:values");
    // Weights 1/2; dv_i = w_i g; dL/da_i = w_i (v_i - o) g = -+1/2, times q for k; dq = sum of dL/da_i k_i = 0.
    close(&desk.numbers("g.npz:values"), &[0.5, 0.5], 1e-15);
    close(&desk.numbers("g.npz:dk"), &[-0.5, 0.5], 1e-15);
    close(&desk.numbers("g.npz:dq"), &[0.0], 1e-15);
    // The gradient of lse by a score is its weight.
    desk.ok("grad --q q.npy --k k.npy --v v.npy --do zero.npy --dlse one.npy --rule softmax --dk dk.npy");
    close(&desk.numbers("dk.npy"), &[0.5, 0.5], 1e-15);
}

#[test]
fn lse_by_durations_is_one_over_their_sum() {
    let desk = flat();
    desk.put("d.npy", &[2], vec![1.0, 3.0]);
    for rule in ["linear", "step", "trapezoid"] {
        // All scores 0: lse = log(D_1 + D_2).
        let options = format!("--rule {rule} --durations d.npy --ddurations dd.npy");
        desk.ok(&format!("grad --q q.npy --k k.npy --v v.npy --do zero.npy --dlse one.npy {options}"));
        close(&desk.numbers("dd.npy"), &[0.25, 0.25], 1e-15);
    }
    desk.put("times.npy", &[1, 3], vec![0.0, 1.0, 4.0]);
    desk.ok("grad --q q.npy --k k.npy --v v.npy --do zero.npy --dlse one.npy --times times.npy --ddurations dd.npy");
    assert_eq!(desk.tensor("dd.npy").shape(), [1, 2]);
}

#[test]
fn a_given_sink_has_the_first_row() {
    let desk = flat();
    desk.put("k.npy", &[3, 1], vec![0.0; 3]);
    desk.put("v.npy", &[3, 1], vec![6.0, 2.0, 4.0]);
    desk.ok(
        "grad --q q.npy --k k.npy --v v.npy --do do.npy --sink given --dk g.npz --dv g.npz --dsink-k g.npz --dsink-v g.npz:s",
    );
    // Equal scores: the weights of the curve over [0, 2] are 1/4, 1/2, 1/4.
    close(&desk.numbers("g.npz:dv"), &[0.25, 0.5, 0.25], 1e-15);
    close(&desk.numbers("g.npz:s"), &[0.25], 1e-15);
    assert_eq!(desk.numbers("g.npz:dk")[..1], desk.numbers("g.npz:dsink_k"));
    assert_eq!(desk.tensor("g.npz:dk").shape(), [3, 1]);
    assert_eq!(desk.tensor("g.npz:s").shape(), [1, 1]);
    let summary = desk.json("grad --q q.npy --k k.npy --v v.npy --do do.npy --sink given");
    let names: Vec<_> =
        summary["results"].as_array().unwrap().iter().map(|line| line["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["dq", "dk", "dv", "dsink_k", "dsink_v", "ddurations"]);
}

/// Loss = sum of do * o + sum of dlse * lse, so its differences by an input are what `grad` returns.
#[test]
fn differences_of_attend() {
    let desk = Desk::new();
    let (heads, kv_heads, rows, keys, width) = (2, 1, 3, 4, 2);
    let inputs = [
        ("q", vec![rows, heads, width], 31),
        ("k", vec![keys + 1, kv_heads, width], 32),
        ("v", vec![keys + 1, kv_heads, width], 33),
    ];
    let mut values: Vec<Vec<f64>> = Vec::new();
    for (name, shape, seed) in &inputs {
        values.push(numbers(*seed, shape.iter().product()));
        desk.put(&format!("{name}.npy"), shape, values[values.len() - 1].clone());
    }
    let (d_o, dlse) = (numbers(34, rows * heads * width), numbers(35, heads * rows));
    desk.put("do.npy", &[rows, heads, width], d_o.clone());
    desk.put("dlse.npy", &[heads, rows], dlse.clone());
    let durations = vec![0.5, 2.0, 0.0, 1.25];
    desk.put("d.npy", &[keys], durations.clone());
    let problem = "--layout bshd --sink given --window t-2.3..t+0.5 --scale 0.8 --engine plain";
    desk.ok(&format!(
        "grad --q q.npy --k k.npy --v v.npy --do do.npy --dlse dlse.npy --durations d.npy {problem} \
         --dq g.npz --dk g.npz --dv g.npz --ddurations g.npz"
    ));
    let loss = || {
        let options = format!("{problem} --durations d.npy --out r.npz --lse r.npz");
        desk.ok(&format!("attend --q q.npy --k k.npy --v v.npy {options}"));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(&desk.numbers("r.npz:o"), &d_o) + dot(&desk.numbers("r.npz:lse"), &dlse)
    };
    let step = 1e-5;
    let difference = |file: &str, shape: &[usize], numbers: &[f64], at: usize| {
        let at_distance = |distance: f64| {
            let mut moved = numbers.to_vec();
            moved[at] += distance;
            desk.put(file, shape, moved);
            loss()
        };
        let slope = (at_distance(step) - at_distance(-step)) / (2.0 * step);
        desk.put(file, shape, numbers.to_vec());
        slope
    };
    for ((name, shape, _), values) in inputs.iter().zip(&values) {
        let gradient = desk.tensor(&format!("g.npz:d{name}"));
        assert_eq!(gradient.shape(), shape);
        for at in [0, values.len() / 2, values.len() - 1] {
            let slope = difference(&format!("{name}.npy"), shape, values, at);
            // The error of a central difference is of the order of step^2.
            close(&[gradient.to_f64()[at]], &[slope], 1e-8);
        }
    }
    let gradient = desk.numbers("g.npz:ddurations");
    for at in [0, 1, 3] {
        close(&[gradient[at]], &[difference("d.npy", &[keys], &durations, at)], 1e-8);
    }
}

#[test]
fn types_of_gradients() {
    let desk = flat();
    desk.ok(
        "grad --q q.npy --k k.npy --v v.npy --do do.npy --dtype bf16 --dv g.safetensors --ddurations g.safetensors",
    );
    assert_eq!(desk.tensor("g.safetensors:dv").dtype().name(), "bf16");
    assert_eq!(desk.tensor("g.safetensors:ddurations").dtype().name(), "f32");
    let text = desk.ok("grad --q q.npy --k k.npy --v v.npy --do do.npy --engine plain-f32");
    assert!(text.contains("ddurations"), "{text}");
}
