//! Computing off the frame: a thread for each [`Lane`], so that what follows the pointer never waits for what takes long.
//!
//! A result lives in a [`Slot`]. A request carries a key; asking again with the key that is computed already, or being
//! computed, does nothing, and another key replaces what waits in that slot, and cancels a long job that runs: the newest
//! request wins. What a slot held before stays until something better arrives, and [`Shown::is_current`] says whether it
//! answers the newest request.

use contattn_core::{CancelToken, EngineError, Monitor};
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The place of a result, by name: `"operator"`, `"sweep.duration"`.
pub type Slot = &'static str;

/// Which thread does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// a few milliseconds: what follows the pointer
    Prompt,
    /// tens of milliseconds: proofs, which follow the pointer too and must not hold up what is quicker
    Proof,
    /// anything longer
    Long,
}

impl Lane {
    const ALL: [Lane; 3] = [Lane::Prompt, Lane::Proof, Lane::Long];
}

/// Why a job gave no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Something newer was asked for, or somebody pressed cancel.
    #[error("cancelled")]
    Cancelled,
    /// What went wrong, and what to do.
    #[error("{what}")]
    Failed {
        /// what went wrong
        what: String,
        /// what to do about it; may be empty
        advice: String,
    },
}

impl Failure {
    /// A failure with advice.
    pub fn new(what: impl ToString, advice: impl ToString) -> Failure {
        Failure::Failed { what: what.to_string(), advice: advice.to_string() }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match error {
            EngineError::Cancelled => Failure::Cancelled,
            other => Failure::new(other, ""),
        }
    }
}

impl From<contattn_core::ProblemError> for Failure {
    fn from(error: contattn_core::ProblemError) -> Failure {
        Failure::new(error, "change the rule, the sink or the window, or undo")
    }
}

type Value = Arc<dyn Any + Send + Sync>;

type Run = dyn FnOnce(&Task) -> Result<Value, Failure> + Send;

/// Something to compute.
pub struct Job(Box<Run>);

impl Job {
    /// A job that gives a `T`.
    pub fn new<T: Send + Sync + 'static>(run: impl FnOnce(&Task) -> Result<T, Failure> + Send + 'static) -> Job {
        Job(Box::new(move |task| run(task).map(|value| Arc::new(value) as Value)))
    }
}

/// A running job's view of the worker. It is a [`Monitor`], so engines report to it and stop with it.
pub struct Task {
    slot: Slot,
    generation: u64,
    cancelled: CancelToken,
    reports: Sender<Report>,
    wake: Wake,
    /// when progress was last told
    told: Mutex<Option<Instant>>,
}

/// Between two reports of progress: engines report every row.
const BETWEEN_REPORTS: Duration = Duration::from_millis(40);

impl Task {
    /// The token that engines take.
    pub fn token(&self) -> &CancelToken {
        &self.cancelled
    }

    /// `Err` once the job should stop: `task.check()?` between steps.
    ///
    /// # Errors
    /// [`Failure::Cancelled`].
    pub fn check(&self) -> Result<(), Failure> {
        if self.cancelled.is_cancelled() { Err(Failure::Cancelled) } else { Ok(()) }
    }

    /// Shows what there is so far.
    pub fn partial<T: Send + Sync + 'static>(&self, value: T) {
        self.report(News::Partial(Arc::new(value)));
    }

    fn report(&self, news: News) {
        // A receiver that is gone means that the explorer is closing.
        let _ = self.reports.send(Report { slot: self.slot, generation: self.generation, news });
        (self.wake)();
    }
}

impl Monitor for Task {
    fn progress(&self, done: u64, total: u64) {
        let mut told = lock(&self.told);
        if done == total || told.is_none_or(|then| then.elapsed() >= BETWEEN_REPORTS) {
            *told = Some(Instant::now());
            self.report(News::Progress { done, total });
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }
}

enum News {
    Progress { done: u64, total: u64 },
    Partial(Value),
    Done(Result<Value, Failure>),
}

struct Report {
    slot: Slot,
    generation: u64,
    news: News,
}

/// Called when there is news: asks the window for a frame.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

struct Queued {
    job: Job,
    task: Task,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Queued>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic inside a job is caught before it could poison anything that matters.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

struct LaneThread {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl LaneThread {
    fn start(lane: Lane) -> LaneThread {
        let name = format!("explorer {lane:?}").to_lowercase();
        let shared = Arc::new(Shared::default());
        let queue = shared.clone();
        let thread = std::thread::Builder::new().name(name).spawn(move || work(&queue)).ok();
        LaneThread { shared, thread }
    }

    fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn close(&self) {
        lock(&self.shared.queue).closed = true;
        self.shared.ready.notify_all();
    }
}

fn work(shared: &Shared) {
    loop {
        let Queued { job, task } = {
            let mut queue = lock(&shared.queue);
            loop {
                if queue.closed {
                    return;
                }
                if !queue.waiting.is_empty() {
                    break queue.waiting.remove(0);
                }
                queue = shared.ready.wait(queue).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
        };
        if task.cancelled.is_cancelled() {
            continue;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| (job.0)(&task))).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
            let what = format!("a computation failed: {}", said.unwrap_or("no reason given"));
            Err(Failure::new(what, "undo the last step; the other views go on"))
        });
        task.report(News::Done(outcome));
    }
}

#[derive(Default)]
struct Entry {
    wanted: Option<u64>,
    /// of the newest request
    generation: u64,
    /// reports of requests before this one are not wanted
    floor: u64,
    cancel: CancelToken,
    running: bool,
    progress: Option<(u64, u64)>,
    /// since when the slot has been without its answer
    since: Option<Instant>,
    value: Option<Value>,
    /// the key that `value` answers, where it is complete
    answered: Option<u64>,
    failure: Option<Failure>,
}

/// What a slot shows.
pub struct Shown<'a, T> {
    /// the latest result, partial or whole, of this request or of one before it
    pub value: Option<&'a T>,
    /// whether it is the whole answer to the newest request; where not, show it dimmed
    pub is_current: bool,
    /// whether a job is queued or running
    pub is_running: bool,
    /// how far it is, where it says so: (done, total)
    pub progress: Option<(u64, u64)>,
    /// how long the newest request has been without its whole answer; `None` where there is one
    pub waiting: Option<Duration>,
    /// why the newest request gave nothing
    pub failure: Option<&'a Failure>,
}

/// The threads, and what they found.
pub struct Worker {
    lanes: HashMap<Lane, LaneThread>,
    wake: Wake,
    sender: Sender<Report>,
    reports: Receiver<Report>,
    entries: HashMap<Slot, Entry>,
    restarted: bool,
    failures: Vec<(Slot, Failure)>,
}

impl Worker {
    /// Starts the threads; `wake` is called from them when there is news.
    pub fn new(wake: Wake) -> Worker {
        let (sender, reports) = channel();
        let lanes = Lane::ALL.map(|lane| (lane, LaneThread::start(lane))).into();
        Worker { lanes, wake, sender, reports, entries: HashMap::new(), restarted: false, failures: Vec::new() }
    }

    /// The key of the newest request of a slot.
    pub fn wanted(&self, slot: Slot) -> Option<u64> {
        self.entries.get(slot).and_then(|entry| entry.wanted)
    }

    /// Asks for a result; what the slot computes at the moment is cancelled unless it has the same key.
    pub fn ask(&mut self, slot: Slot, lane: Lane, key: u64, job: Job) {
        let entry = self.entries.entry(slot).or_default();
        if entry.wanted == Some(key) {
            return;
        }
        if lane == Lane::Long {
            entry.cancel.cancel();
        }
        // A prompt job that runs may end: while a node is dragged every frame asks anew, and if each cancelled the one before,
        // nothing would ever be shown.
        entry.cancel = CancelToken::default();
        entry.generation += 1;
        // While a node is dragged every frame asks anew: what counts is how old the shown answer is.
        if entry.since.is_none() || entry.answered == entry.wanted {
            entry.since = Some(Instant::now());
        }
        entry.wanted = Some(key);
        entry.running = true;
        entry.progress = None;
        entry.failure = None;
        let task = Task {
            slot,
            generation: entry.generation,
            cancelled: entry.cancel.clone(),
            reports: self.sender.clone(),
            wake: self.wake.clone(),
            told: Mutex::new(None),
        };
        let thread = self.lanes.entry(lane).or_insert_with(|| LaneThread::start(lane));
        if !thread.is_alive() {
            *thread = LaneThread::start(lane);
            self.restarted = true;
        }
        let mut queue = lock(&thread.shared.queue);
        queue.waiting.retain(|queued| queued.task.slot != slot);
        queue.waiting.push(Queued { job, task });
        drop(queue);
        thread.shared.ready.notify_one();
    }

    /// Stops what a slot computes; its last result stays. Asking again with the same key starts anew.
    pub fn cancel(&mut self, slot: Slot) {
        if let Some(entry) = self.entries.get_mut(slot) {
            entry.cancel.cancel();
            entry.generation += 1;
            entry.floor = entry.generation;
            entry.running = false;
            entry.progress = None;
            entry.failure = Some(Failure::Cancelled);
        }
    }

    /// Forgets the key of a slot, so that the next request runs again.
    pub fn forget(&mut self, slot: Slot) {
        self.cancel(slot);
        if let Some(entry) = self.entries.get_mut(slot) {
            entry.wanted = None;
            entry.failure = None;
        }
    }

    /// Takes in what the threads report. Returns the failures that arrived since this was last asked, with their slots.
    pub fn poll(&mut self) -> Vec<(Slot, Failure)> {
        self.receive();
        std::mem::take(&mut self.failures)
    }

    fn receive(&mut self) {
        while let Ok(Report { slot, generation, news }) = self.reports.try_recv() {
            let Some(entry) = self.entries.get_mut(slot) else { continue };
            if entry.generation != generation {
                // An answer to a request before the newest: better than an older one.
                if let News::Done(Ok(value)) = news
                    && generation >= entry.floor
                {
                    entry.floor = generation;
                    entry.value = Some(value);
                    entry.answered = None;
                    entry.since = Some(Instant::now());
                }
                continue;
            }
            match news {
                News::Progress { done, total } => entry.progress = Some((done, total)),
                News::Partial(value) => {
                    entry.value = Some(value);
                    entry.answered = None;
                }
                News::Done(outcome) => {
                    entry.running = false;
                    entry.progress = None;
                    match outcome {
                        Ok(value) => {
                            entry.value = Some(value);
                            entry.answered = entry.wanted;
                            entry.floor = generation;
                            entry.since = None;
                        }
                        Err(failure) => {
                            if failure != Failure::Cancelled {
                                self.failures.push((slot, failure.clone()));
                            }
                            entry.failure = Some(failure);
                        }
                    }
                }
            }
        }
    }

    /// What a slot shows, as a `T`.
    pub fn shown<T: Send + Sync + 'static>(&self, slot: Slot) -> Shown<'_, T> {
        let entry = self.entries.get(slot);
        let value = entry.and_then(|entry| entry.value.as_ref()).and_then(|value| value.downcast_ref());
        let is_current = entry.is_some_and(|e| e.answered.is_some() && e.answered == e.wanted);
        Shown {
            value,
            waiting: entry.filter(|_| !is_current).map(|e| e.since.map_or(Duration::ZERO, |since| since.elapsed())),
            is_current,
            is_running: entry.is_some_and(|e| e.running),
            progress: entry.and_then(|e| e.progress),
            failure: entry.and_then(|e| e.failure.as_ref()),
        }
    }

    /// Whether nothing is queued or running.
    pub fn is_idle(&self) -> bool {
        self.entries.values().all(|entry| !entry.running)
    }

    /// Whether a thread had to be started again since this was last asked.
    pub fn take_restarted(&mut self) -> bool {
        std::mem::take(&mut self.restarted)
    }

    /// Waits until nothing is queued or running, at most this long; for pictures and tests. Returns whether it is so.
    pub fn settle(&mut self, longest: Duration) -> bool {
        let until = Instant::now() + longest;
        loop {
            self.receive();
            if self.is_idle() {
                return true;
            }
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops the threads, as when one of them died; the next request starts them again.
    pub fn close(&mut self) {
        for entry in self.entries.values_mut() {
            entry.cancel.cancel();
            entry.running = false;
            entry.wanted = None;
        }
        for lane in self.lanes.values_mut() {
            lane.close();
            if let Some(thread) = lane.thread.take() {
                // Jobs look at their token often; one that panicked was caught.
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        for entry in self.entries.values() {
            entry.cancel.cancel();
        }
        for lane in self.lanes.values() {
            lane.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker() -> Worker {
        Worker::new(Arc::new(|| {}))
    }

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn the_newest_request_wins() {
        let mut worker = worker();
        let (start, started) = channel();
        worker.ask(
            "a",
            Lane::Long,
            1,
            Job::new(move |task| {
                start.send(()).unwrap();
                while task.check().is_ok() {
                    std::thread::yield_now();
                }
                Ok(1)
            }),
        );
        started.recv_timeout(PATIENCE).unwrap();
        worker.ask("a", Lane::Long, 2, Job::new(|_| Ok(2)));
        assert!(worker.settle(PATIENCE));
        let shown = worker.shown::<i32>("a");
        assert_eq!((shown.value, shown.is_current), (Some(&2), true));
    }

    #[test]
    fn the_last_result_stays_until_there_is_another() {
        let mut worker = worker();
        worker.ask("a", Lane::Prompt, 1, Job::new(|_| Ok(1)));
        assert!(worker.settle(PATIENCE));
        let (go, wait) = channel::<()>();
        worker.ask(
            "a",
            Lane::Prompt,
            2,
            Job::new(move |task| {
                task.partial(7);
                let _ = wait.recv();
                Ok(2)
            }),
        );
        let shown = worker.shown::<i32>("a");
        assert!(shown.value.is_some() && !shown.is_current && shown.is_running);
        while worker.shown::<i32>("a").value != Some(&7) {
            worker.poll();
        }
        assert!(!worker.shown::<i32>("a").is_current);
        go.send(()).unwrap();
        assert!(worker.settle(PATIENCE));
        assert!(worker.shown::<i32>("a").is_current);
        assert_eq!(worker.shown::<String>("a").value, None, "another type than the slot holds");
    }

    /// Requests that come faster than answers: each answer is shown, and none is called current.
    #[test]
    fn a_drag_does_not_starve() {
        let mut worker = worker();
        let (start, started) = channel();
        let (go, wait) = channel::<()>();
        let slow = move |_: &Task| {
            start.send(()).unwrap();
            let _ = wait.recv();
            Ok(1)
        };
        worker.ask("a", Lane::Prompt, 1, Job::new(slow));
        started.recv_timeout(PATIENCE).unwrap();
        let (last_go, last_wait) = channel::<()>();
        worker.ask("a", Lane::Prompt, 2, Job::new(|_| Ok(2)));
        worker.ask(
            "a",
            Lane::Prompt,
            3,
            Job::new(move |_| {
                let _ = last_wait.recv();
                Ok(3)
            }),
        );
        go.send(()).unwrap();
        while worker.shown::<i32>("a").value != Some(&1) {
            worker.poll();
        }
        assert!(!worker.shown::<i32>("a").is_current);
        last_go.send(()).unwrap();
        assert!(worker.settle(PATIENCE));
        let shown = worker.shown::<i32>("a");
        assert_eq!((shown.value, shown.is_current), (Some(&3), true));
    }

    #[test]
    fn a_panic_is_a_failure_and_the_thread_goes_on() {
        let mut worker = worker();
        worker.ask("a", Lane::Long, 1, Job::new(|_| -> Result<i32, Failure> { panic!("oh") }));
        let until = Instant::now() + PATIENCE;
        let mut failures = Vec::new();
        while failures.is_empty() && Instant::now() < until {
            failures = worker.poll();
        }
        assert!(failures[0].1.to_string().contains("oh"));
        worker.ask("a", Lane::Long, 2, Job::new(|_| Ok(3)));
        assert!(worker.settle(PATIENCE));
        assert_eq!(worker.shown::<i32>("a").value, Some(&3));
    }

    #[test]
    fn a_closed_worker_starts_again() {
        let mut worker = worker();
        worker.close();
        worker.ask("a", Lane::Prompt, 1, Job::new(|_| Ok(5)));
        assert!(worker.take_restarted() && !worker.take_restarted());
        assert!(worker.settle(PATIENCE));
        assert_eq!(worker.shown::<i32>("a").value, Some(&5));
    }

    #[test]
    fn cancelling_keeps_the_result_and_can_be_repeated() {
        let mut worker = worker();
        worker.ask("a", Lane::Long, 1, Job::new(|_| Ok(1)));
        assert!(worker.settle(PATIENCE));
        worker.ask(
            "a",
            Lane::Long,
            2,
            Job::new(|task| {
                while task.check().is_ok() {
                    std::thread::yield_now();
                }
                Err::<i32, _>(Failure::Cancelled)
            }),
        );
        worker.cancel("a");
        let shown = worker.shown::<i32>("a");
        assert_eq!((shown.value, shown.failure), (Some(&1), Some(&Failure::Cancelled)));
        worker.forget("a");
        worker.ask("a", Lane::Long, 2, Job::new(|_| Ok(2)));
        assert!(worker.settle(PATIENCE));
        assert_eq!(worker.shown::<i32>("a").value, Some(&2));
    }
}
