//! Times of the tiled engine: softmax (Step) beside continuous attention (Linear), interleaved, checked against the plain engine
//! in f64 before anything is timed.
//!
//! `cargo run --release --example bench_tiled -- [repetitions] [isa] [threads] [largest n]`

#![allow(clippy::print_stdout)]

use contattn_core::{
    Dtype, Engine, Layout, Open, Problem, Request, Rule, Series, Sink, Spec, Tensor, TensorName, Timeline, Unattended,
    Upstream, View, Window,
};
use contattn_cpu::tiled::{Isa, Options};
use contattn_cpu::{Plain, Tiled};
use cpu_time::ThreadTime;
use std::time::Instant;

/// A linear congruential generator: sums of twelve uniform numbers, nearly Gaussian.
struct Numbers(u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn tensor(&mut self, heads: usize, n: usize, d: usize) -> Tensor {
        let values: Vec<f64> = (0..heads * n * d).map(|_| (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0).collect();
        Tensor::from_f64(vec![1, heads, n, d], Dtype::F32, values).expect("the shape fits")
    }
}

/// A clock in ms: time that this thread spent on a processor, where one thread does the work (a machine shared with others then
/// disturbs less); the time of day otherwise.
enum Clock {
    Processor(ThreadTime),
    Day(Instant),
}

impl Clock {
    fn start(threads: usize) -> Clock {
        if threads == 1 { Clock::Processor(ThreadTime::now()) } else { Clock::Day(Instant::now()) }
    }

    fn elapsed(&self) -> f64 {
        let elapsed = match self {
            Clock::Processor(start) => start.elapsed(),
            Clock::Day(start) => start.elapsed(),
        };
        1e3 * elapsed.as_secs_f64()
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let repetitions: usize = arguments.next().map_or(Ok(9), |r| r.parse())?;
    let isa: Option<Isa> = arguments.next().map(|isa| isa.parse()).transpose()?;
    let threads = arguments.next().map_or(Ok(1), |t| t.parse())?;
    let largest: usize = arguments.next().map_or(Ok(8192), |n| n.parse())?;
    let engine = Tiled::open(Options { isa, threads: Some(threads) })?;
    println!("isa {}, {threads} thread(s), {repetitions} repetitions; medians in ms", engine.isa());
    println!(
        "fwd: forward pass. both: forward and, from its results, backward. Ratios: time of the first over that of the second."
    );
    println!("times are {}", if threads == 1 { "processor times" } else { "times of day" });
    println!(
        "{:>6} {:>4} {:>7} | {:>9} {:>9} {:>7} {:>7} | {:>9} {:>9} {:>7} {:>7}",
        "n", "d", "window", "fwd sm", "linear", "sm/lin", "uni/irr", "both sm", "linear", "sm/lin", "uni/irr"
    );
    let all = [(512, 64), (2048, 64), (2048, 128), (2048, 256), (2048, 80), (8192, 64)];
    let sizes = all.into_iter().filter(|(n, _)| *n <= largest);
    for (n, d) in sizes {
        for causal in [false, true] {
            let mut numbers = Numbers(12345);
            let (q, k, v) = (numbers.tensor(1, n, d), numbers.tensor(1, n, d), numbers.tensor(1, n, d));
            let durations: Vec<f64> = (0..n).map(|_| 0.1 + 1.9 * numbers.uniform()).collect();
            let window = || if causal { Window::causal() } else { Window::full() };
            let problem = |rule, timeline| {
                Problem::new(
                    q.view(TensorName::Query, Layout::Bhsd)?,
                    k.view(TensorName::Key, Layout::Bhsd)?,
                    v.view(TensorName::Value, Layout::Bhsd)?,
                    Sink::Zeros,
                    Spec { rule, timeline, window: window(), ..Spec::default() },
                )
            };
            let problems = [
                problem(Rule::Step, Timeline::Unit)?,
                problem(Rule::Linear, Timeline::Unit)?,
                problem(Rule::Linear, Timeline::Durations(Series::shared(durations)))?,
            ];
            let request = Request::default();
            if n <= 2048 && d <= 64 {
                for problem in &problems {
                    let found = engine.forward(problem, &request, &Unattended)?.o.to_f64();
                    let exact = Plain::<f64>::new().forward(problem, &request, &Unattended)?.o.to_f64();
                    let worst = found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(worst < 1e-5, "wrong by {worst}");
                }
            }
            let g = numbers.tensor(1, n, d);
            // Softmax, continuous, continuous on an irregular time line; forward, then both passes.
            let mut times = [const { Vec::new() }; 6];
            for _ in 0..repetitions {
                for (i, problem) in problems.iter().enumerate() {
                    let upstream = Upstream::new(problem, g.view(TensorName::UpstreamOutput, Layout::Bhsd)?, None)?;
                    let clock = Clock::start(threads);
                    let output = std::hint::black_box(engine.forward(problem, &request, &Unattended)?);
                    times[i].push(clock.elapsed());
                    let saved = Some(&output);
                    std::hint::black_box(engine.backward(problem, &upstream, saved, &request, &Unattended)?);
                    times[3 + i].push(clock.elapsed());
                }
            }
            let [sm, linear, irregular, both_sm, both_linear, both_irregular] = times.each_mut().map(|t| median(t));
            let window = if causal { "causal" } else { "full" };
            println!(
                "{n:>6} {d:>4} {window:>7} | {sm:>9.3} {linear:>9.3} {:>7.3} {:>7.3} | {both_sm:>9.3} {both_linear:>9.3} {:>7.3} {:>7.3}",
                sm / linear,
                linear / irregular,
                both_sm / both_linear,
                both_linear / both_irregular
            );
        }
    }
    decode(&engine, repetitions, threads)
}

/// One query against 16384 keys of width 128, over 1 GiB of caches in turn, beside a loop that reads and adds the same numbers.
fn decode(engine: &Tiled, repetitions: usize, threads: usize) -> Result<(), Box<dyn std::error::Error>> {
    const KEYS: usize = 16384;
    const WIDTH: usize = 128;
    const CACHES: usize = 64;
    let mut numbers = Numbers(1);
    let q = numbers.tensor(1, 1, WIDTH);
    let caches: Vec<Vec<f32>> =
        (0..CACHES).map(|_| (0..2 * KEYS * WIDTH).map(|_| numbers.uniform() as f32 - 0.5).collect()).collect();
    let view = |cache: &'_ [f32]| View::contiguous(TensorName::Key, cache, [1, 1, KEYS, WIDTH]);
    let request = Request::default();
    let mut times = [const { Vec::new() }; 3];
    for i in 0..repetitions * 4 {
        let (k, v) = caches[i % CACHES].split_at(KEYS * WIDTH);
        for (at, rule) in [Rule::Step, Rule::Linear].into_iter().enumerate() {
            let other = caches[(i + (at + 1) * CACHES / 3) % CACHES].split_at(KEYS * WIDTH);
            let (k, v) = if at == 0 { (k, v) } else { other };
            let spec = Spec { rule, ..Spec::default() };
            let q = q.view(TensorName::Query, Layout::Bhsd)?;
            let problem = Problem::new(q, view(k)?.into(), view(v)?.into(), Sink::Zeros, spec)?;
            let clock = Clock::start(threads);
            std::hint::black_box(engine.forward(&problem, &request, &Unattended)?);
            times[at].push(clock.elapsed());
        }
        let clock = Clock::start(threads);
        let mut sums = [0.0f32; 64];
        for chunk in caches[(i + 2 * CACHES / 3 + 7) % CACHES].chunks_exact(64) {
            for (sum, x) in sums.iter_mut().zip(chunk) {
                *sum += x;
            }
        }
        std::hint::black_box(sums);
        times[2].push(clock.elapsed());
    }
    let [softmax, linear, read] = times.each_mut().map(|t| median(t));
    println!(
        "decode, {KEYS} keys, d {WIDTH}: softmax {softmax:.3}, linear {linear:.3}, reading {read:.3}; read/linear {:.3}",
        read / linear
    );
    Ok(())
}
