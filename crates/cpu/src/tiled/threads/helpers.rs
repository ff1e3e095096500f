//! Work that a thread does itself, with others that help if they come in time.
//!
//! A scope, rayon's or the standard library's, waits for every job that was spawned in it, also for one that no thread has begun: a
//! thread that takes milliseconds to wake up, or a pool that is busy with something else, then costs more than help is worth.
//! Here the caller shuts the door when nothing is left to do, and waits only for helpers that are inside.

#![allow(unsafe_code)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a thread of a pool is given to do.
pub(super) type Job = Box<dyn FnOnce() + Send>;

type Work<'w> = dyn Fn() + Sync + 'w;

/// The bit of [`Door::state`] that says that nobody may come in any more; the others count those who are inside.
const SHUT: usize = 1 << (usize::BITS - 1);

/// For how long the caller looks out for the last helper before it falls asleep: waking up may take longer than a share of work.
const PATIENCE: Duration = Duration::from_micros(500);

struct Door {
    work: *const Work<'static>,
    state: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    empty: Condvar,
}

// SAFETY: `work` points to a `Fn` that is `Sync`, so that any thread may call it; when it may be called is `Door::help`'s matter.
// The rest is Send and Sync by itself.
unsafe impl Send for Door {}
// SAFETY: as above.
unsafe impl Sync for Door {}

impl Door {
    /// Does the work, unless the door is shut.
    fn help(&self) {
        let came_in = |state: usize| (state & SHUT == 0).then_some(state + 1);
        // Acquire: what the caller wrote before it asked for help is seen.
        if self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, came_in).is_err() {
            return;
        }
        // SAFETY: the work lives as long as `with_helpers` runs, and that ends when the door is shut and nobody is inside. This
        // thread came in before the door was shut, and counts as inside until after the call.
        let work = unsafe { &*self.work };
        let result = catch_unwind(AssertUnwindSafe(work));
        // Under the lock, so that a caller about to sleep cannot miss that the last one has left.
        let mut panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(what) = result {
            panic.get_or_insert(what);
        }
        // Release: the caller sees what was done here.
        self.state.fetch_sub(1, Ordering::Release);
        drop(panic);
        self.empty.notify_all();
    }

    fn is_empty(&self) -> bool {
        self.state.load(Ordering::Acquire) == SHUT
    }

    /// Lets nobody in any more, and waits until nobody is inside.
    fn shut(&self) {
        self.state.fetch_or(SHUT, Ordering::AcqRel);
        let start = Instant::now();
        while !self.is_empty() && start.elapsed() < PATIENCE {
            for _ in 0..32 {
                std::hint::spin_loop();
            }
            std::thread::yield_now();
        }
        let mut panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_empty() {
            panic = self.empty.wait(panic).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Shuts a door when it is dropped, so also where the work panics.
struct Shuts<'d>(&'d Door);

impl Drop for Shuts<'_> {
    fn drop(&mut self) {
        self.0.shut();
    }
}

/// Does `work` on the calling thread, and meanwhile on up to `helpers` others, each of which is sent as one job through `send`. Jobs
/// that are begun after the caller has done do nothing. A panic of any of them is that of the call.
///
/// `work` returns when nothing is left to be begun: each call takes its share from a common queue.
pub(super) fn with_helpers(helpers: usize, work: &Work<'_>, send: impl Fn(Job)) {
    let door = Arc::new(Door {
        // SAFETY: only the lifetime changes; `help` says why nobody calls it after its end.
        work: unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) },
        state: AtomicUsize::new(0),
        panic: Mutex::new(None),
        empty: Condvar::new(),
    });
    {
        let _shuts = Shuts(&door);
        for _ in 0..helpers {
            let door = Arc::clone(&door);
            send(Box::new(move || door.help()));
        }
        work();
    }
    let panic = door.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(what) = panic {
        resume_unwind(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;

    /// Nobody waits for helpers that do not come, and what comes late does nothing.
    #[test]
    fn the_caller_does_not_wait_for_who_has_not_begun() {
        let jobs: Mutex<Vec<Job>> = Mutex::new(Vec::new());
        let calls = AtomicUsize::new(0);
        with_helpers(
            3,
            &|| {
                calls.fetch_add(1, Ordering::Relaxed);
            },
            |job| jobs.lock().unwrap().push(job),
        );
        let jobs = jobs.into_inner().unwrap();
        assert_eq!(jobs.len(), 3);
        jobs.into_iter().for_each(|job| job());
        assert_eq!(calls.into_inner(), 1);
    }

    /// Who is inside is waited for, however long it takes; what it wrote is seen.
    #[test]
    fn the_caller_waits_for_who_is_inside() {
        for pause in [Duration::ZERO, 4 * PATIENCE] {
            let inside = AtomicBool::new(false);
            let done = AtomicUsize::new(0);
            let caller = std::thread::current().id();
            let work = || {
                if std::thread::current().id() == caller {
                    while !inside.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                } else {
                    inside.store(true, Ordering::Release);
                    std::thread::sleep(pause);
                }
                done.fetch_add(1, Ordering::Relaxed);
            };
            let (sent, threads) = mpsc::channel();
            with_helpers(1, &work, |job| sent.send(std::thread::spawn(job)).unwrap());
            assert_eq!(done.load(Ordering::Relaxed), 2);
            threads.recv().unwrap().join().unwrap();
        }
    }

    /// Many calls, one after another, with helpers that come early, late or never: every item is done once.
    #[test]
    fn everything_is_done_once() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for count in 0..2000usize {
            let items: Vec<AtomicUsize> = (0..count % 17).map(|_| AtomicUsize::new(0)).collect();
            let next = AtomicUsize::new(0);
            with_helpers(
                3,
                &|| {
                    while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                        item.fetch_add(1, Ordering::Relaxed);
                    }
                },
                |job| pool.spawn(job),
            );
            assert!(items.into_iter().all(|item| item.into_inner() == 1));
        }
    }

    /// A panic of a helper is that of the call, after everybody has left; so is the caller's own.
    #[test]
    fn panics_are_passed_on() {
        for of_helper in [true, false] {
            let inside = AtomicBool::new(false);
            let left = AtomicBool::new(false);
            let caller = std::thread::current().id();
            let work = || {
                let helps = std::thread::current().id() != caller;
                if helps {
                    inside.store(true, Ordering::Release);
                    std::thread::sleep(Duration::from_millis(5));
                    left.store(true, Ordering::Release);
                }
                while !inside.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                assert!(helps != of_helper, "planted");
            };
            let send = |job| drop(std::thread::spawn(job));
            let result = catch_unwind(AssertUnwindSafe(|| with_helpers(1, &work, send)));
            let what = *result.unwrap_err().downcast::<&str>().unwrap();
            assert_eq!(what, "planted");
            assert!(left.load(Ordering::Acquire));
        }
    }
}
