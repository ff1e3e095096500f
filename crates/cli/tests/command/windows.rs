//! Windows and time on a curve that can be integrated by hand: all scores 0, and the value at time s is s.
//!
//! Then o is the mean of s over the window, (lower + upper) / 2, and lse the log of its length.

use super::desk::{Desk, close};

const N: usize = 4;

/// Nodes 1..4 behind a sink of zeros at 0, one query at each node.
fn ramp() -> Desk {
    let desk = Desk::new();
    desk.put("q.npy", &[N, 1], vec![1.0; N]);
    desk.put("k.npy", &[N, 1], vec![0.0; N]);
    desk.put("v.npy", &[N, 1], (1..=N).map(|i| i as f64).collect::<Vec<_>>());
    desk
}

fn o_and_lse(desk: &Desk, options: &str) -> (Vec<f64>, Vec<f64>) {
    desk.ok(&format!("attend --q q.npy --k k.npy --v v.npy --out r.npz --lse r.npz {options}"));
    (desk.numbers("r.npz:o"), desk.numbers("r.npz:lse"))
}

/// Checks rows against windows [lower, upper] that lie between the sink and the query.
#[track_caller]
fn check(desk: &Desk, options: &str, windows: [(f64, f64); N]) {
    let (o, lse) = o_and_lse(desk, options);
    close(&o, &windows.map(|(lower, upper)| (lower + upper) / 2.0), 1e-14);
    close(&lse, &windows.map(|(lower, upper)| (upper - lower).ln()), 1e-14);
}

#[test]
fn every_form_of_window() {
    let desk = ramp();
    let causal = [(0.0, 1.0), (0.0, 2.0), (0.0, 3.0), (0.0, 4.0)];
    for window in ["causal", "start..t", "..t", "0..t", "-0..t+0", "sliding:99", "t-99..t"] {
        check(&desk, &format!("--window {window}"), causal);
    }
    for window in ["full", "start..end", "start..", "..end", "..", "0..4"] {
        check(&desk, &format!("--window {window}"), [(0.0, 4.0); N]);
    }
    for window in ["sliding:1.5", "t-1.5..t"] {
        check(&desk, &format!("--window {window}"), [(0.0, 1.0), (0.5, 2.0), (1.5, 3.0), (2.5, 4.0)]);
    }
    check(&desk, "--window 0.25..2.75", [(0.25, 2.75); N]);
    check(&desk, "--window 1.5..", [(1.5, 4.0); N]);
    check(&desk, "--window ..t-0.5", [(0.0, 0.5), (0.0, 1.5), (0.0, 2.5), (0.0, 3.5)]);
    check(&desk, "--window=0.5..t", [(0.5, 1.0), (0.5, 2.0), (0.5, 3.0), (0.5, 4.0)]);
}

#[test]
fn edges_beyond_the_nodes_hold_the_curve() {
    let desk = ramp();
    // [t - 1, t] as above, then half a unit more at the value t that is seen last: ((t - 1/2) + t/2) / (3/2).
    let (o, _) = o_and_lse(&desk, "--window t-1..t+0.5");
    close(&o, &[1.0, 2.0, 3.0, 4.0].map(|t: f64| (t - 0.5 + t / 2.0) / 1.5), 1e-14);
    // One unit of 0 before the sink, [0, 4] with the integral 8, one unit of 4 after it.
    let (o, lse) = o_and_lse(&desk, "--window -1..5");
    close(&o, &[12.0 / 6.0; N], 1e-14);
    close(&lse, &[6f64.ln(); N], 1e-14);
}

#[test]
fn sliding_softmax_counts_tokens() {
    let desk = ramp();
    let (o, _) = o_and_lse(&desk, "--rule softmax --window sliding:2");
    close(&o, &[1.0, 1.5, 2.5, 3.5], 1e-14);
}

#[test]
fn edges_for_each_row() {
    let desk = ramp();
    desk.put("lower.npy", &[N], vec![0.0, 0.5, 1.0, 1.5]);
    desk.put("upper.npy", &[1, N], vec![4.0, 3.5, 3.0, 2.5]);
    check(&desk, "--lower-edges lower.npy", [(0.0, 1.0), (0.5, 2.0), (1.0, 3.0), (1.5, 4.0)]);
    check(&desk, "--upper-edges upper.npy", [(0.0, 4.0), (0.0, 3.5), (0.0, 3.0), (0.0, 2.5)]);
    let both = [(0.0, 4.0), (0.5, 3.5), (1.0, 3.0), (1.5, 2.5)];
    check(&desk, "--lower-edges lower.npy --upper-edges upper.npy", both);
    check(&desk, "--lower-edges lower.npy --upper-edges upper.npy --window full", both);
    check(&desk, "--lower-edges lower.npy --window full", [(0.0, 4.0), (0.5, 4.0), (1.0, 4.0), (1.5, 4.0)]);
    check(&desk, "--upper-edges upper.npy --window 0.5..", [(0.5, 4.0), (0.5, 3.5), (0.5, 3.0), (0.5, 2.5)]);
}

#[test]
fn irregular_times() {
    let desk = ramp();
    // The same ramp sampled elsewhere: the curve between the samples is the same.
    let times = [0.0, 0.5, 2.0, 2.25, 6.0];
    desk.put("v.npy", &[N, 1], times[1..].to_vec());
    desk.put("times.npy", &[N + 1], times.to_vec());
    desk.put("durations.npy", &[1, N], vec![0.5, 1.5, 0.25, 3.75]);
    let causal = [(0.0, 0.5), (0.0, 2.0), (0.0, 2.25), (0.0, 6.0)];
    check(&desk, "--times times.npy", causal);
    check(&desk, "--durations durations.npy", causal);
    // Integers and other types are taken exactly.
    desk.put("durations.npy", &[N], vec![1i32, 0, 2, 1]);
    desk.put("v.npy", &[N, 1], vec![1.0, 1.0, 3.0, 4.0]);
    check(&desk, "--durations durations.npy", [(0.0, 1.0), (0.0, 1.0), (0.0, 3.0), (0.0, 4.0)]);
    // Steps of the lengths 1, 0, 2, 1: (1 + 2 * 3 + 4) / 4 in the last row.
    let (o, _) = o_and_lse(&desk, "--durations durations.npy --rule step");
    close(&o[3..], &[11.0 / 4.0], 1e-14);
}

#[test]
fn given_query_times() {
    let desk = ramp();
    desk.put("t.npy", &[N], vec![2.0, 2.5, 0.5, 9.0]);
    let (o, lse) = o_and_lse(&desk, "--query-times t.npy");
    // At 2.5 the curve is known up to node 2 and held there: (2 + 2/2) / 2.5. At 0.5 only the sink is known, held at 0. At
    // 9: (8 + 5 * 4) / 9.
    close(&o, &[1.0, 3.0 / 2.5, 0.0, 28.0 / 9.0], 1e-14);
    close(&lse, &[2.0f64, 2.5, 0.5, 9.0].map(f64::ln), 1e-14);
}
