//! What depends on the machine and the day, marked as such.
//!
//! Whoever runs a notebook again must get the stored outputs, but for times and names of machines. Those are shown between the signs
//! ‹ and ›, and nothing else is: the check of stored outputs leaves out what stands between them, and compares all the rest.

use cpu_time::ProcessTime;
use std::fmt::{self, Display};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A text that differs from run to run.
///
/// ```
/// use contattn_notebook::Measured;
/// assert_eq!(Measured::number(12.345, "ms").to_string(), "‹ 12.3 ms›");
/// assert_eq!(Measured::text("AVX-512").to_string(), "‹AVX-512›");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured(String);

impl Measured {
    /// A name of the machine or of a part of it.
    pub fn text(text: impl Display) -> Measured {
        Measured(text.to_string().replace(['‹', '›'], ""))
    }

    /// A number to three digits, in the same width whatever it is, so that plain tables keep their shape.
    pub fn number(x: f64, unit: &str) -> Measured {
        let digits = if x.abs() < 9.995 { 2 } else { usize::from(x.abs() < 99.95) };
        let space = if unit.is_empty() { "" } else { " " };
        Measured(format!("{x:>5.digits$}{space}{unit}"))
    }

    /// A time in the unit that suits it.
    pub fn time(time: Duration) -> Measured {
        let seconds = time.as_secs_f64();
        match seconds {
            s if s < 0.999_5e-3 => Measured::number(1e6 * s, "us"),
            s if s < 0.999_5 => Measured::number(1e3 * s, "ms"),
            s => Measured::number(s, "s "),
        }
    }
}

impl Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("‹{}›", self.0))
    }
}

/// The shortest of `rounds` runs after one that is not counted: what the machine can do when nothing else happens.
pub fn shortest<T>(rounds: u32, mut run: impl FnMut() -> T) -> Duration {
    black_box(run());
    let once = |_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    };
    (0..rounds.max(1)).map(once).min().unwrap_or_default()
}

/// The processor's time for each of several inputs: the shortest of `rounds` runs, in which they take turns, so that a disturbance
/// meets all of them alike. What other programs do meanwhile does not count.
pub fn shortest_in_turn<I, T>(rounds: u32, inputs: &[I], mut run: impl FnMut(&I) -> T) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; inputs.len()];
    for round in 0..=rounds.max(1) {
        for (input, best) in inputs.iter().zip(&mut best) {
            let start = ProcessTime::now();
            black_box(run(black_box(input)));
            let time = start.elapsed();
            // The first round is not counted.
            if round > 0 {
                *best = time.min(*best);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_do_not_depend_on_the_number() {
        for x in [0.0, 1.0, 9.994, 9.996, 12.34, 99.94, 99.96, 123.4, 999.4] {
            assert_eq!(Measured::number(x, "ms").to_string().chars().count(), 10, "{x}");
        }
        for time in [1e-6, 0.9994e-3, 0.9996e-3, 0.5, 0.9996, 42.0] {
            let text = Measured::time(Duration::from_secs_f64(time)).to_string();
            assert_eq!(text.chars().count(), 10, "{text}");
        }
    }

    #[test]
    fn a_mark_cannot_be_closed_from_inside() {
        assert_eq!(Measured::text("a›b").to_string(), "‹ab›");
    }

    #[test]
    fn inputs_take_turns() {
        let mut seen = Vec::new();
        let times = shortest_in_turn(2, &[1, 2], |&input| seen.push(input));
        assert_eq!((times.len(), seen), (2, vec![1, 2, 1, 2, 1, 2]));
        assert!(times.iter().all(|&time| time < Duration::from_secs(1)));
    }

    #[test]
    fn the_shortest_run_is_found() {
        let mut runs = 0;
        let time = shortest(3, || {
            runs += 1;
            std::thread::sleep(Duration::from_millis(if runs == 3 { 1 } else { 30 }));
        });
        assert_eq!(runs, 4);
        assert!(time < Duration::from_millis(30));
    }
}
