//! An upload on its way: the host's part of it on a thread of its own.

use crate::device::failed;
use crate::uploaded::Uploaded;
use contattn_core::EngineError;
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// An upload on its way. It goes on by itself: [`try_finish`](Uploading::try_finish) looks whether it is done, as a user interface does
/// once a frame; or it is awaited, by any executor; or [`wait`](Uploading::wait) blocks. Dropping it cancels it: what has reached the
/// device by then is freed there.
pub struct Uploading(Background<Uploaded>);

impl Uploading {
    pub(crate) fn begin(
        work: impl FnOnce(&dyn Fn() -> bool) -> Result<Uploaded, EngineError> + Send + 'static,
    ) -> Result<Uploading, EngineError> {
        Background::begin("contattn upload", work).map(Uploading)
    }

    /// The uploaded problem, if it is there; never waits.
    ///
    /// # Errors
    /// As [`Gpu::upload`](crate::Gpu::upload), and what made the thread panic. After an error or a result there is nothing more to be had.
    pub fn try_finish(&mut self) -> Option<Result<Uploaded, EngineError>> {
        self.0.try_finish()
    }

    /// Waits for the uploaded problem.
    ///
    /// # Errors
    /// As [`try_finish`](Uploading::try_finish).
    pub fn wait(self) -> Result<Uploaded, EngineError> {
        self.0.wait()
    }
}

impl Future for Uploading {
    type Output = Result<Uploaded, EngineError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context)
    }
}

impl fmt::Debug for Uploading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uploading").finish_non_exhaustive()
    }
}

/// Work on a thread of its own, which is told when its result is not wanted any more.
struct Background<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    outcome: Mutex<Outcome<T>>,
    changed: Condvar,
    cancelled: AtomicBool,
}

struct Outcome<T> {
    /// none while the work goes on, and after the result was taken
    result: Option<Result<T, EngineError>>,
    ended: bool,
    waker: Option<Waker>,
}

impl<T> Shared<T> {
    fn outcome(&self) -> MutexGuard<'_, Outcome<T>> {
        self.outcome.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl<T> Outcome<T> {
    /// The result, once.
    fn take(&mut self) -> Option<Result<T, EngineError>> {
        self.ended.then(|| self.result.take().unwrap_or_else(|| Err(failed("this upload has ended"))))
    }
}

impl<T: Send + 'static> Background<T> {
    fn begin(
        name: &str,
        work: impl FnOnce(&dyn Fn() -> bool) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<Background<T>, EngineError> {
        let outcome = Outcome { result: None, ended: false, waker: None };
        let shared = Arc::new(Shared {
            outcome: Mutex::new(outcome),
            changed: Condvar::new(),
            cancelled: AtomicBool::new(false),
        });
        let told = shared.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let cancelled = || told.cancelled.load(Ordering::Relaxed);
            // What the work leaves half-done is its own, and dropped.
            let result = catch_unwind(AssertUnwindSafe(|| work(&cancelled)));
            let result = result.unwrap_or_else(|panic| Err(failed(format!("the upload panicked: {}", text(&*panic)))));
            let waker = {
                let mut outcome = told.outcome();
                (outcome.result, outcome.ended) = (Some(result), true);
                outcome.waker.take()
            };
            told.changed.notify_all();
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        thread.map_err(|error| failed(format!("no thread for an upload: {error}")))?;
        Ok(Background { shared })
    }
}

impl<T> Background<T> {
    fn try_finish(&mut self) -> Option<Result<T, EngineError>> {
        self.shared.outcome().take()
    }

    fn wait(self) -> Result<T, EngineError> {
        let mut outcome = self.shared.outcome();
        loop {
            if let Some(result) = outcome.take() {
                return result;
            }
            outcome = self.shared.changed.wait(outcome).unwrap_or_else(|e| e.into_inner());
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<T, EngineError>> {
        let mut outcome = self.shared.outcome();
        match outcome.take() {
            Some(result) => Poll::Ready(result),
            None => {
                outcome.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }
}

/// What a panic said.
fn text(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    /// Work that waits until it is let go.
    fn held(go: Receiver<()>) -> Background<u32> {
        let work = move |_: &dyn Fn() -> bool| {
            let _ = go.recv();
            Ok(7)
        };
        Background::begin("test", work).unwrap()
    }

    #[test]
    fn work_is_polled_awaited_or_waited_for() {
        let (let_go, go) = channel();
        let mut polled = held(go);
        assert!(polled.try_finish().is_none(), "it begins, and returns");
        let_go.send(()).unwrap();
        let found = loop {
            if let Some(result) = polled.try_finish() {
                break result;
            }
            std::thread::yield_now();
        };
        assert_eq!(found, Ok(7));
        assert!(polled.try_finish().is_some_and(|ended| ended.is_err()), "a result is given once");

        let (let_go, go) = channel();
        let waited = held(go);
        let_go.send(()).unwrap();
        assert_eq!(waited.wait(), Ok(7));

        let (let_go, go) = channel();
        let mut awaited = held(go);
        let mut was_pending = false;
        let result = pollster::block_on(std::future::poll_fn(|context| {
            let poll = awaited.poll(context);
            if poll.is_pending() && !was_pending {
                was_pending = true;
                let_go.send(()).unwrap();
            }
            poll
        }));
        assert!(result == Ok(7) && was_pending, "the waker was called");
    }

    #[test]
    fn a_panic_is_an_error() {
        let fixed = Background::<()>::begin("test", |_| panic!("with a word")).unwrap();
        let made = Background::<()>::begin("test", |_| panic!("with {}", 2 + 2)).unwrap();
        let other = Background::<()>::begin("test", |_| std::panic::panic_any(3)).unwrap();
        for (work, word) in [(fixed, "with a word"), (made, "with 4"), (other, "without a word")] {
            let found = pollster::block_on(std::future::poll_fn({
                let mut work = work;
                move |context| work.poll(context)
            }));
            assert!(
                matches!(&found, Err(EngineError::Device { reason, .. }) if reason.contains("panicked") && reason.contains(word)),
                "{found:?}"
            );
        }
    }

    #[test]
    fn what_is_dropped_is_told() {
        let (tell, told) = channel();
        let work = Background::<()>::begin("test", move |cancelled| {
            while !cancelled() {
                std::thread::yield_now();
            }
            tell.send(()).unwrap();
            Err(EngineError::Cancelled)
        });
        drop(work.unwrap());
        told.recv().unwrap();
    }
}
