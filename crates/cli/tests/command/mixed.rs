//! Options and files thrown together: whatever comes of it is a result or two lines, never a panic, never a leftover.

use super::desk::{Desk, numbers};

#[cfg(feature = "reference")]
const ENGINES: &[&str] = &["plain", "plain-f32", "reference"];
#[cfg(not(feature = "reference"))]
const ENGINES: &[&str] = &["plain", "plain-f32"];

/// Picks from lists, the same way every time.
struct Dice(std::vec::IntoIter<f64>);

impl Dice {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let throw = (self.0.next().unwrap() + 1.0) / 2.0;
        from[(throw * from.len() as f64) as usize % from.len()]
    }
}

/// Tensors in which everything that a file can hold stands somewhere.
fn desk() -> Desk {
    let desk = Desk::new();
    let odd = [0.0, -0.0, 1e308, -1e308, 1e-308, 5e-324, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0];
    for (name, shape) in [("a", vec![1, 2, 3, 2]), ("b", vec![2, 3, 2]), ("c", vec![3, 2]), ("e", vec![0, 2])] {
        let count = shape.iter().product();
        desk.put(&format!("{name}.npy"), &shape, numbers(61, count));
        let strange: Vec<f64> = odd.iter().cycle().skip(3).take(count).copied().collect();
        desk.put(&format!("{name}x.npy"), &shape, strange);
    }
    for (n, series) in [(2, "s2.npy"), (3, "s3.npy"), (4, "s4.npy")] {
        desk.put(series, &[n], (0..n).map(|i| i as f64 / 2.0).collect::<Vec<_>>());
    }
    desk.put("large.npy", &[3], vec![1e308, 0.0, 1e-308]);
    desk.put("zero.npy", &[3], vec![0.0; 3]);
    desk.put("back.npy", &[3], vec![3.0, -2.0, 1e300]);
    desk.put("ids.npy", &[3], vec![4i64, 4, i64::MIN]);
    desk.put("bits.npy", &[3], vec![false, true, true]);
    desk.put("none.npy", &[3], vec![false; 3]);
    desk
}

#[test]
fn any_mixture_ends_well() {
    let desk = desk();
    let mut dice = Dice(numbers(62, 100_000).into_iter());
    let tensors =
        ["a.npy", "a.npy", "b.npy", "b.npy", "c.npy", "c.npy", "e.npy", "ax.npy", "bx.npy", "cx.npy", "s3.npy"];
    let series = ["s2.npy", "s3.npy", "s3.npy", "s4.npy", "large.npy", "zero.npy", "back.npy", "ids.npy", "bits.npy"];
    let windows =
        ["causal", "full", "sliding:0", "sliding:1e308", "0..t", "t-1.5..t+0.5", "-1e308..1e308", "1..1", "0.3..2"];
    let (mut done, mut refused) = (0, 0);
    for _ in 0..400 {
        let shared = dice.pick(&tensors);
        let mut tensor =
            || if dice.pick(&["same", "same", "same", "other"]) == "same" { shared } else { dice.pick(&tensors) };
        let mut line = format!("--q {} --k {} --v {}", tensor(), tensor(), tensor());
        for (option, values) in [
            ("--rule", &["linear", "step", "softmax", "trapezoid", "taylor:0", "taylor:3"][..]),
            ("--sink", &["absent", "zeros", "copy", "given"]),
            ("--window", &windows),
            ("--scale", &["0", "1e308", "-1e308", "5e-324", "-1"]),
            ("--engine", ENGINES),
            ("--dtype", &["f64", "f32", "f16", "bf16"]),
            ("--layout", &["bhsd", "bshd"]),
        ] {
            if dice.pick(&["on", "off"]) == "on" {
                line += &format!(" {option} {}", dice.pick(values));
            }
        }
        for option in ["--durations", "--times", "--query-times", "--lower-edges", "--upper-edges"] {
            if dice.pick(&["on", "off", "off", "off"]) == "on" {
                line += &format!(" {option} {}", dice.pick(&series));
            }
        }
        for (option, files) in
            [("--mask", &["bits.npy", "none.npy", "s3.npy"][..]), ("--documents", &["ids.npy", "bits.npy"])]
        {
            if dice.pick(&["on", "off", "off"]) == "on" {
                line += &format!(" {option} {}", dice.pick(files));
            }
        }
        let before = desk.files();
        let line = match dice.pick(&["attend", "grad"]) {
            "grad" => format!("grad --do {shared} {line}"),
            attend => format!("{attend} {line}"),
        };
        let run = desk.run(&line);
        match run.code {
            Some(0) => done += 1,
            Some(2) => refused += 1,
            code => panic!("{line}\n{code:?} {}", run.stderr),
        }
        assert_eq!(run.stderr.lines().count(), if run.code == Some(0) { 0 } else { 2 }, "{line}\n{}", run.stderr);
        assert_eq!(desk.files(), before);
    }
    // Both ends are reached often enough for this to be a test of either.
    assert!(done > 50 && refused > 50, "{done} done, {refused} refused");
}
