//! Decoding: one query against caches that are not in a cache of the processor, beside a loop that reads and adds them.

use super::inputs::Inputs;
use contattn_core::{Elements, Problem, ProblemError, Sink, Spec, TensorName, View};
use rayon::prelude::*;
use std::hint::black_box;

/// All caches together, where that takes no more than [`MOST`] of them.
const BYTES: usize = 1 << 30;
const MOST: usize = 1024;

/// Numbers that are summed beside each other by the loop that reads and adds.
const SUMS: usize = 32;

/// Copies of one key/value cache, taken in turn.
pub(super) struct Caches {
    /// keys, then values, of each
    copies: Vec<Vec<f32>>,
    /// shape of keys and of values
    shape: [usize; 4],
    next: usize,
    /// for the loop that reads and adds, where it has more than one thread
    pool: Option<rayon::ThreadPool>,
}

impl Caches {
    /// Copies of the keys and values of these inputs: 1 GiB, or 1024 of them.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub(super) fn of(inputs: &Inputs, threads: usize) -> anyhow::Result<Caches> {
        let mut cache = Vec::with_capacity(inputs.k.len() + inputs.v.len());
        for tensor in [&inputs.k, &inputs.v] {
            match tensor.elements() {
                Elements::F32(numbers) => cache.extend_from_slice(numbers),
                other => cache.extend((0..other.len()).map(|i| other.get(i) as f32)),
            }
        }
        let count = (BYTES / size_of_val(&cache[..]).max(1)).clamp(2, MOST);
        let pool = (threads > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build()).transpose()?;
        let shape = [1, inputs.case.kv_heads, inputs.case.keys, inputs.case.head_dim];
        Ok(Caches { copies: vec![cache; count], shape, next: 0, pool })
    }

    /// The copy that was not used for longest.
    pub(super) fn next(&mut self) -> usize {
        self.next = (self.next + 1) % self.copies.len();
        self.next
    }

    /// The problem of a query and a copy.
    ///
    /// # Errors
    /// As [`Problem::new`].
    pub(super) fn problem<'a>(
        &'a self,
        copy: usize,
        of: &Problem<'a>,
        spec: &Spec,
    ) -> Result<Problem<'a>, ProblemError> {
        let (k, v) = self.copies[copy].split_at(self.shape.iter().product());
        let view = |name, numbers| View::contiguous(name, numbers, self.shape);
        let (k, v) = (view(TensorName::Key, k)?, view(TensorName::Value, v)?);
        Problem::new(*of.q(), k.into(), v.into(), Sink::Zeros, spec.clone())
    }

    /// Reads a copy and adds its numbers.
    pub(super) fn read(&self, copy: usize) {
        let numbers = &self.copies[copy];
        match &self.pool {
            None => black_box(sums(numbers)),
            Some(pool) => {
                let share = numbers.len().div_ceil(pool.current_num_threads()).next_multiple_of(SUMS).max(SUMS);
                black_box(pool.install(|| {
                    let parts = numbers.par_chunks(share).with_max_len(1).map(sums);
                    parts.reduce(|| [0.0; SUMS], |a, b| std::array::from_fn(|i| a[i] + b[i]))
                }))
            }
        };
    }
}

fn sums(numbers: &[f32]) -> [f32; SUMS] {
    let mut sums = [0.0f32; SUMS];
    let chunks = numbers.chunks_exact(SUMS);
    for (sum, x) in sums.iter_mut().zip(chunks.remainder()) {
        *sum += x;
    }
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::case::{Case, Direction, Sight};
    use super::*;
    use contattn_core::Family;

    #[test]
    fn every_number_is_added_once() {
        let numbers: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        assert_eq!(sums(&numbers).iter().sum::<f32>(), 499_500.0);
    }

    #[test]
    fn copies_come_in_turn() {
        let case = Case::new("1x40x8".parse().unwrap(), Direction::Decode, Sight::Full);
        let inputs = Inputs::sample(case, Family::Gauss, 3).unwrap();
        let mut caches = Caches::of(&inputs, 2).unwrap();
        assert_eq!(caches.copies.len(), MOST);
        assert_eq!(caches.copies[7].len(), 2 * 40 * 8);
        let order: Vec<usize> = (0..MOST + 2).map(|_| caches.next()).collect();
        assert_eq!((order[0], order[1], order[MOST - 1], order[MOST]), (1, 2, 0, 1));
        caches.read(5);
    }
}
