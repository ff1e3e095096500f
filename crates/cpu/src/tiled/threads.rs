//! How work is shared out, and watched.

mod helpers;

use contattn_core::{EngineError, Monitor};
use helpers::{Job, with_helpers};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where calls run.
#[derive(Clone, Debug)]
pub(crate) enum Threads {
    /// on the calling thread
    One,
    /// on the calling thread and others of the rayon pool from which the call is made
    Current,
    /// on the calling thread and those of a pool of their own
    Own(Arc<rayon::ThreadPool>),
}

/// Multiplications of a call that stays on one thread: fewer are done before another thread has woken up.
const FEW: u128 = 1 << 23;

impl Threads {
    pub(crate) fn new(threads: Option<usize>) -> Result<Threads, EngineError> {
        Ok(match threads {
            None => Threads::Current,
            Some(0 | 1) => Threads::One,
            Some(count) => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(count - 1).build();
                Threads::Own(Arc::new(pool.map_err(|error| EngineError::Unavailable {
                    engine: "tiled".to_owned(),
                    reason: format!("{count} threads could not be started: {error}"),
                })?))
            }
        })
    }

    /// How many there are, with the calling one.
    fn count(&self) -> usize {
        match self {
            Threads::One => 1,
            Threads::Current => rayon::current_num_threads(),
            Threads::Own(pool) => pool.current_num_threads() + 1,
        }
    }

    /// Calls `body` with the threads for a call of about this many multiplications, a number that the shape alone decides.
    pub(crate) fn run<T>(&self, work: u128, body: impl FnOnce(&Threads) -> T) -> T {
        body(if work < FEW { &Threads::One } else { self })
    }

    /// Calls `body` for every element with its index, on any thread and in any order.
    pub(crate) fn for_each<T: Send>(&self, items: &mut [T], body: impl Fn(usize, &mut T) + Sync) {
        let count = items.len();
        self.share(items.iter_mut().enumerate(), count, |(i, item)| body(i, item));
    }

    /// Calls `body` with runs of neighbouring elements, the last ones first, so that threads even out although later rows of a
    /// causal window cost more.
    ///
    /// A run is half of what a thread's equal part of the rest would be: long at first, for neighbours read the same keys and values, and
    /// of single elements in the end.
    pub(crate) fn for_each_chunk<T: Send>(&self, items: &mut [T], body: impl Fn(&mut [T]) + Sync) {
        let threads = self.count();
        let mut runs = Vec::new();
        let mut rest = items;
        while !rest.is_empty() {
            let length = if threads == 1 { rest.len() } else { rest.len().div_ceil(2 * threads) };
            let (others, run) = rest.split_at_mut(rest.len() - length);
            runs.push(run);
            rest = others;
        }
        let count = runs.len();
        self.share(runs.into_iter(), count, body);
    }

    /// Calls `body` for each of `count` items, on any thread and in any order.
    ///
    /// The calling thread takes part: it is awake. Were all of the work left to a pool, as `par_iter` does, the caller would fall
    /// asleep while two others wake up, which a kernel of Linux may put on one processor for some milliseconds. Nor does it wait for
    /// threads that wake up when all is done.
    fn share<I>(&self, items: I, count: usize, body: impl Fn(I::Item) + Sync)
    where
        I: Iterator + Send,
    {
        let helpers = self.count().min(count).saturating_sub(1);
        if helpers == 0 {
            items.for_each(body);
            return;
        }
        let queue = Mutex::new(items);
        let work = || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                match next {
                    Some(item) => body(item),
                    None => break,
                }
            }
        };
        match self {
            Threads::Own(pool) => with_helpers(helpers, &work, |job| pool.spawn(|| help(job))),
            Threads::One | Threads::Current => with_helpers(helpers, &work, |job| rayon::spawn(|| help(job))),
        }
    }
}

/// For how long a thread that has helped stays awake. Calls that follow one another, as those of a model's layers do, then need not wake
/// it up again, which takes as long as a short call; a thread of PyTorch's stays awake for some ten milliseconds.
const AWAKE: Duration = Duration::from_micros(500);

thread_local! {
    /// Whether this thread is on the lookout in [`help`] already.
    static LOOKS_OUT: Cell<bool> = const { Cell::new(false) };
}

/// Does a job on a thread of a pool, and looks out for more for a while, of this pool's, whoever it is from.
fn help(job: Job) {
    job();
    // What is found on the lookout is done inside of it; another one inside that would never end while calls keep coming.
    if LOOKS_OUT.replace(true) {
        return;
    }
    let mut since = Instant::now();
    while since.elapsed() < AWAKE {
        match rayon::yield_now() {
            Some(rayon::Yield::Executed) => since = Instant::now(),
            _ => std::thread::yield_now(),
        }
    }
    LOOKS_OUT.set(false);
}

/// Counts rows for whoever watches, from any thread.
pub(crate) struct Watch<'m> {
    monitor: &'m dyn Monitor,
    done: Mutex<u64>,
    total: u64,
    cancelled: AtomicBool,
    failure: Mutex<Option<EngineError>>,
}

impl<'m> Watch<'m> {
    pub(crate) fn new(monitor: &'m dyn Monitor, total: u64) -> Watch<'m> {
        Watch { monitor, done: Mutex::new(0), total, cancelled: AtomicBool::new(false), failure: Mutex::new(None) }
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

    /// Stops the call, with an error.
    pub(crate) fn fail(&self, error: EngineError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether all was done.
    pub(crate) fn finish(self) -> Result<(), EngineError> {
        if let Some(error) = self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        if self.cancelled.into_inner() { Err(EngineError::Cancelled) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    thread_local! {
        /// How many jobs this thread is inside of.
        static DEPTH: Cell<usize> = const { Cell::new(0) };
    }

    /// A thread on the lookout takes up what comes, from calls and from others, and does not go deeper and deeper by it.
    #[test]
    fn a_thread_on_the_lookout_takes_up_what_comes() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (send, receive) = mpsc::channel();
        let mut depths = Vec::new();
        for i in 0..500 {
            let send = send.clone();
            let job = move || send.send(DEPTH.get()).unwrap();
            pool.spawn(move || {
                DEPTH.set(DEPTH.get() + 1);
                if i % 5 == 4 {
                    job()
                } else {
                    help(Box::new(job))
                }
                DEPTH.set(DEPTH.get() - 1);
            });
            depths.push(receive.recv().unwrap());
        }
        assert!(depths.iter().all(|depth| (1..=2).contains(depth)), "{depths:?}");
        assert!(depths.contains(&2), "what comes is taken up on the lookout");
    }

    /// Whoever waits for a pool in which threads are on the lookout gets them all the same.
    #[test]
    fn a_pool_serves_others_meanwhile() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for _ in 0..50 {
            for _ in 0..2 {
                pool.spawn(|| help(Box::new(|| {})));
            }
            assert_eq!(pool.install(|| rayon::join(|| 1, || 2)), (1, 2));
        }
    }
}
