//! Time, taken and summed up.

use cpu_time::ThreadTime;
use serde::Serialize;
use std::time::Instant;

/// A running clock: the time of day and, where one thread does all the work, the time that this thread has had a processor.
/// The latter does not count what other programs took.
pub(super) struct Clock {
    day: Instant,
    processor: Option<ThreadTime>,
}

/// What a clock showed, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Elapsed {
    pub(super) wall_s: f64,
    /// of the calling thread, where it does all the work
    pub(super) processor_s: Option<f64>,
}

impl Clock {
    /// Starts one for work by so many threads.
    pub(super) fn start(threads: usize) -> Clock {
        let processor = (threads == 1).then(ThreadTime::now);
        Clock { day: Instant::now(), processor }
    }

    pub(super) fn elapsed(&self) -> Elapsed {
        let wall_s = self.day.elapsed().as_secs_f64();
        let processor_s = self.processor.as_ref().map(|start| start.elapsed().as_secs_f64());
        Elapsed { wall_s, processor_s }
    }
}

impl Elapsed {
    /// What ratios are made of: the processor's time, or else the time of day.
    pub(super) fn fair(&self) -> f64 {
        self.processor_s.unwrap_or(self.wall_s)
    }
}

/// The number in the middle, or the mean of the two there; NaN of none.
pub(in crate::bench) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => numbers[middle],
        _ => 0.5 * (numbers[middle - 1] + numbers[middle]),
    }
}

/// The median of the ratios within rounds: what slowed a whole round down cancels.
pub(super) fn ratio(above: &[Elapsed], below: &[Elapsed]) -> f64 {
    median(above.iter().zip(below).map(|(a, b)| a.fair() / b.fair()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
        let times = |of: [f64; 3]| of.map(|wall_s| Elapsed { wall_s, processor_s: None });
        // The second round was slow for both.
        assert_eq!(ratio(&times([2.0, 20.0, 2.2]), &times([1.0, 10.0, 1.0])), 2.0);
    }

    #[test]
    fn processor_time_is_that_of_one_thread() {
        let clock = Clock::start(1);
        let sum: u64 = std::hint::black_box((0..1_000_000u64).map(std::hint::black_box).sum());
        assert!(sum > 0);
        let elapsed = clock.elapsed();
        assert!(elapsed.fair() > 0.0 && elapsed.processor_s.is_some());
        assert!(Clock::start(2).elapsed().processor_s.is_none());
    }
}
