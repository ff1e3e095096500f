//! How work is shared out, and watched.

use contattn_core::{EngineError, Monitor};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where calls run.
#[derive(Clone, Debug)]
pub(crate) enum Threads {
    /// on the calling thread
    One,
    /// in the rayon pool from which the call is made
    Current,
    /// in a pool of their own
    Own(Arc<rayon::ThreadPool>),
}

/// Multiplications of a call that stays on one thread: fewer are done before another thread has woken up.
const FEW: u128 = 1 << 26;

/// Shares of work for each thread: enough that threads which are done early find more.
const SHARES: usize = 8;

impl Threads {
    pub(crate) fn new(threads: Option<usize>) -> Result<Threads, EngineError> {
        Ok(match threads {
            None => Threads::Current,
            Some(0 | 1) => Threads::One,
            Some(count) => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
                Threads::Own(Arc::new(pool.map_err(|error| EngineError::Unavailable {
                    engine: "tiled".to_owned(),
                    reason: format!("{count} threads could not be started: {error}"),
                })?))
            }
        })
    }

    /// Calls `body` with the threads for a call of about this many multiplications, a number that the shape alone decides. The work
    /// is handed to a pool once.
    pub(crate) fn run<T: Send>(&self, work: u128, body: impl FnOnce(&Threads) -> T + Send) -> T {
        match self {
            _ if work < FEW => body(&Threads::One),
            Threads::Own(pool) => pool.install(|| body(&Threads::Current)),
            Threads::One | Threads::Current => body(self),
        }
    }

    /// Calls `body` for every element with its index, on any thread and in any order.
    pub(crate) fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(usize, &mut T) + Sync) {
        match self {
            Threads::One => items.iter_mut().enumerate().for_each(|(i, item)| body(i, item)),
            Threads::Current => items.par_iter_mut().enumerate().for_each(|(i, item)| body(i, item)),
            Threads::Own(pool) => pool.install(|| items.par_iter_mut().enumerate().for_each(|(i, item)| body(i, item))),
        }
    }

    /// Calls `body` with runs of neighbouring elements, each a small share of the work, so that threads even out although
    /// later rows of a causal window cost more.
    pub(crate) fn for_each_chunk<T: Send>(&self, items: &mut [T], body: impl Fn(&mut [T]) + Sync) {
        let split = |items: &mut [T]| {
            let shares = rayon::current_num_threads() * SHARES;
            let length = items.len().div_ceil(shares).max(1);
            items.par_chunks_mut(length).with_max_len(1).for_each(&body);
        };
        match self {
            Threads::One => body(items),
            Threads::Current if rayon::current_num_threads() == 1 => body(items),
            Threads::Current => split(items),
            Threads::Own(pool) => pool.install(|| split(items)),
        }
    }
}

/// Counts rows for whoever watches, from any thread.
pub(crate) struct Watch<'m> {
    monitor: &'m dyn Monitor,
    done: Mutex<u64>,
    total: u64,
    cancelled: AtomicBool,
}

impl<'m> Watch<'m> {
    pub(crate) fn new(monitor: &'m dyn Monitor, total: u64) -> Watch<'m> {
        Watch { monitor, done: Mutex::new(0), total, cancelled: AtomicBool::new(false) }
    }

    /// Counts rows that are done; true where the call is to stop.
    pub(crate) fn done(&self, rows: usize) -> bool {
        {
            // Reported under the lock, so that the count never goes back.
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += rows as u64;
            self.monitor.progress(*done, self.total);
        }
        if self.monitor.is_cancelled() {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Whether all was done.
    pub(crate) fn finish(self) -> Result<(), EngineError> {
        if self.cancelled.into_inner() { Err(EngineError::Cancelled) } else { Ok(()) }
    }
}
