//! What this machine could do at most: the roof under which kernels are judged.

use super::simd::{Backend, Isa, Kernel, Simd};
use contattn_core::EngineError;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Limits of a machine, measured (Williams, Waterman and Patterson 2009: the roofline).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceilings {
    /// f32 operations in a second, a multiply-add counting as two, with operands in registers
    pub flops: f64,
    /// bytes that are read from memory in a second
    pub bytes: f64,
    /// threads that shared the work
    pub threads: usize,
}

impl Ceilings {
    /// The most operations in a second for work with this many operations to a byte of memory.
    pub fn at(&self, intensity: f64) -> f64 {
        self.flops.min(self.bytes * intensity)
    }
}

/// Measures both limits with some threads, about a quarter of a second each; the best of several short runs counts, so that
/// other work on the machine disturbs little.
///
/// # Errors
/// [`EngineError::Unavailable`] where the machine lacks the instruction set.
pub fn ceilings(isa: Isa, threads: usize) -> Result<Ceilings, EngineError> {
    let backend = Backend::new(isa)?;
    let threads = threads.max(1);
    let rate = |work: &(dyn Fn(usize) -> f64 + Sync)| {
        let until = Instant::now() + Duration::from_millis(250);
        let mut best: f64 = 0.0;
        while Instant::now() < until {
            let start = Instant::now();
            let done: f64 = std::thread::scope(|scope| {
                let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
                running.into_iter().map(|thread| thread.join().unwrap_or(0.0)).sum()
            });
            best = best.max(done / start.elapsed().as_secs_f64());
        }
        best
    };
    let flops = rate(&|_| backend.run(MultiplyAdds));
    // Larger than caches, and each thread has its own.
    let memory = vec![1.0f32; threads * READ];
    let bytes = rate(&|thread| backend.run(Reads(&memory[thread * READ..(thread + 1) * READ])));
    Ok(Ceilings { flops, bytes, threads })
}

/// Numbers that a thread reads in one run: 64 MiB.
const READ: usize = 1 << 24;

/// Chains of multiply-adds that do not wait for one another: more than any machine's latency times its units.
const CHAINS: usize = 12;

/// Gives how many operations it did.
struct MultiplyAdds;

impl Kernel for MultiplyAdds {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        const STEPS: usize = 200_000;
        let (factor, term) = (s.splat(black_box(0.999)), s.splat(black_box(0.001)));
        let mut sums = [s.splat(1.0); CHAINS];
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = s.fma(*sum, factor, term);
            }
        }
        let total: f32 = sums.into_iter().map(|sum| s.total(sum)).sum();
        black_box(total);
        (2 * STEPS * CHAINS * S::LANES) as f64
    }
}

/// Gives how many bytes it read.
struct Reads<'a>(&'a [f32]);

impl Kernel for Reads<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        const STREAMS: usize = 4;
        let mut sums = [s.splat(0.0); STREAMS];
        for chunk in self.0.chunks_exact(STREAMS * S::LANES) {
            for (stream, sum) in sums.iter_mut().enumerate() {
                *sum = s.add(*sum, s.load(&chunk[stream * S::LANES..]));
            }
        }
        let total: f32 = sums.into_iter().map(|sum| s.total(sum)).sum();
        black_box(total);
        4.0 * self.0.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits are positive, in a range that any processor of this century has, and the roof has its two slopes.
    #[test]
    fn limits_are_sensible() {
        let found = ceilings(Isa::best(), 1).unwrap();
        assert!((1e7..1e14).contains(&found.flops) && (1e7..1e13).contains(&found.bytes), "{found:?}");
        let ridge = found.flops / found.bytes;
        assert!((found.at(0.5 * ridge) / found.flops - 0.5).abs() < 1e-9);
        assert_eq!(found.at(2.0 * ridge), found.flops);
    }
}
