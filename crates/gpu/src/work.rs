//! Calls as lists of dispatches, sent to the device a little at a time: a call can be watched, cancelled and polled between them.

use crate::device::{Device, failed};
use crate::params::Params;
use crate::source::{Kernel, Setup};
use crate::uploaded::{InUse, Inner};
use contattn_core::{EngineError, Monitor};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Multiply-adds of one submission: some tenths of a second of a software adapter, some milliseconds of a card.
const SUBMISSION_OF_SOFTWARE: f64 = 4e8;
const SUBMISSION: f64 = 2e11;
/// Bytes between the uniforms of dispatches: what dynamic offsets must be multiples of.
const UNIFORM_STRIDE: u64 = 256;

/// Dispatches of one kernel that differ in `work0` alone.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) kernel: Kernel,
    pub(crate) setup: Setup,
    pub(crate) params: Params,
    pub(crate) buffers: Vec<wgpu::Buffer>,
    pub(crate) groups: u64,
    /// threads of a workgroup where `work0` counts threads; 1 where it counts workgroups
    pub(crate) work_per_group: u64,
    /// multiply-adds of a workgroup
    pub(crate) cost: f64,
    /// rows that are done with the whole step
    pub(crate) rows: f64,
}

/// What is done before the dispatches.
#[derive(Debug)]
pub(crate) enum Before {
    /// fill with zeros
    Clear(wgpu::Buffer),
}

/// One submission: dispatches (step, first workgroup, workgroups).
#[derive(Debug, Default)]
struct Submission {
    slices: Vec<(usize, u64, u32)>,
    rows: f64,
}

/// What shared callbacks know.
#[derive(Debug, Default)]
struct Progress {
    submitted: AtomicUsize,
    mapped: AtomicUsize,
    failed: Mutex<Option<String>>,
    waker: Mutex<Option<Waker>>,
}

impl Progress {
    fn wake(&self) {
        if let Some(waker) = self.waker.lock().unwrap_or_else(|e| e.into_inner()).take() {
            waker.wake();
        }
    }
}

/// Makes the result of what was read; asks whether to stop while the host itself has work to do.
type Finish<T> = Box<dyn FnOnce(&Inner, Vec<Vec<u8>>, &dyn Fn() -> bool) -> Result<T, EngineError> + Send>;

/// A call on its way. It does nothing by itself: [`try_finish`](Pending::try_finish) moves it on without waiting, as a user interface
/// does once a frame; or it is awaited; or [`wait`](Pending::wait) blocks. Dropping it cancels what has not been sent.
pub struct Pending<T> {
    device: Arc<Device>,
    in_use: InUse,
    steps: Vec<(Step, Arc<crate::device::Pipeline>, wgpu::BindGroup)>,
    before: Vec<Before>,
    submissions: VecDeque<Submission>,
    sent: usize,
    total_rows: f64,
    done_rows: f64,
    in_flight: VecDeque<(wgpu::SubmissionIndex, f64)>,
    results: Vec<(wgpu::Buffer, wgpu::Buffer)>,
    timer: Option<Timer>,
    progress: Arc<Progress>,
    finish: Option<Finish<T>>,
    waited_for: usize,
}

impl<T> std::fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending")
            .field("sent", &self.sent)
            .field("left", &self.submissions.len())
            .finish_non_exhaustive()
    }
}

/// Time stamps around each submission.
#[derive(Debug)]
struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    copy: wgpu::Buffer,
    period: f64,
    count: u32,
}

/// Most submissions that are timed.
const TIMED: u32 = 2048;

/// A result, and how long the device worked on it.
#[derive(Clone, Debug)]
pub struct Timed<T> {
    /// the result
    pub value: T,
    /// seconds on the device, where it takes time stamps
    pub seconds: Option<f64>,
}

impl<T> Pending<T> {
    pub(crate) fn new(
        in_use: InUse,
        before: Vec<Before>,
        steps: Vec<Step>,
        results: Vec<wgpu::Buffer>,
        finish: Finish<T>,
    ) -> Result<Pending<T>, EngineError> {
        let device = in_use.0.device.clone();
        let software = device.adapter.is_software();
        let budget = if software { SUBMISSION_OF_SOFTWARE } else { SUBMISSION };
        let submissions = slice(&steps, budget, device.limits.workgroups);
        let count: usize = submissions.iter().map(|submission| submission.slices.len()).sum();
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let uniforms = device.make_buffer("uniforms", UNIFORM_STRIDE * count as u64, usage)?;
        let mut bytes = vec![0u8; UNIFORM_STRIDE as usize * count];
        for (at, &(step, first, _)) in submissions.iter().flat_map(|s| &s.slices).enumerate() {
            let work0 = u32::try_from(first * steps[step].work_per_group).map_err(failed)?;
            let params = Params { work0, ..steps[step].params };
            bytes[UNIFORM_STRIDE as usize * at..][..size_of::<Params>()].copy_from_slice(bytemuck::bytes_of(&params));
        }
        let mut made = Vec::with_capacity(steps.len());
        for step in steps {
            let pipeline = device.pipeline(step.kernel, step.setup)?;
            let buffers: Vec<&wgpu::Buffer> = step.buffers.iter().collect();
            let group = device.guarded("bindings", 0, || device.bind(&pipeline, Some(&uniforms), &buffers))?;
            made.push((step, pipeline, group));
        }
        let mut copies = Vec::with_capacity(results.len());
        for buffer in results {
            let copy = device.staging(buffer.size())?;
            copies.push((buffer, copy));
        }
        let timer = if device.timestamps { Some(Timer::new(&device, submissions.len())?) } else { None };
        device.send("uniforms", &uniforms, &bytes)?;
        Ok(Pending {
            total_rows: submissions.iter().map(|s| s.rows).sum(),
            done_rows: 0.0,
            device,
            in_use,
            steps: made,
            before,
            submissions,
            sent: 0,
            in_flight: VecDeque::new(),
            results: copies,
            timer,
            progress: Arc::default(),
            finish: Some(finish),
            waited_for: 0,
        })
    }

    /// Share of the work that is done, from 0 to 1.
    pub fn progress(&self) -> f64 {
        if self.total_rows > 0.0 { (self.done_rows / self.total_rows).min(1.0) } else { 1.0 }
    }

    /// The result, if it is there; never waits for the device. What the host itself has to evaluate it does in the last call.
    ///
    /// # Errors
    /// Devices; memory. After an error or a result there is nothing more to be had.
    pub fn try_finish(&mut self) -> Option<Result<Timed<T>, EngineError>> {
        if let Err(error) = self.device.device.poll(wgpu::PollType::Poll) {
            return Some(Err(self.device.explain(error)));
        }
        self.advance(&|| false)
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// Devices; memory.
    pub fn wait(mut self) -> Result<Timed<T>, EngineError> {
        loop {
            if let Some(result) = self.advance(&|| false) {
                return result;
            }
            self.block()?;
        }
    }

    /// The same, watched: progress in `rows` rows, and cancellation between submissions.
    pub(crate) fn watched(mut self, monitor: &dyn Monitor, rows: u64) -> Result<T, EngineError> {
        loop {
            if monitor.is_cancelled() {
                return Err(EngineError::Cancelled);
            }
            if let Some(result) = self.advance(&|| monitor.is_cancelled()) {
                if result.is_ok() {
                    monitor.progress(rows, rows);
                }
                return Ok(result?.value);
            }
            monitor.progress((self.progress() * rows as f64) as u64, rows);
            self.block()?;
        }
    }

    /// Waits for the oldest submission under way.
    fn block(&mut self) -> Result<(), EngineError> {
        let submission_index = self.in_flight.front().map(|(index, _)| index.clone());
        let wait = wgpu::PollType::Wait { submission_index, timeout: None };
        self.device.device.poll(wait).map(|_| ()).map_err(|error| self.device.explain(error))
    }

    /// Counts what is done, sends what may be sent.
    fn advance(&mut self, cancelled: &dyn Fn() -> bool) -> Option<Result<Timed<T>, EngineError>> {
        if self.finish.is_none() {
            return Some(Err(failed("this call has ended")));
        }
        match self.step() {
            Ok(false) => None,
            Ok(true) => {
                let finish = self.finish.take();
                Some(self.collect(finish, cancelled))
            }
            Err(error) => {
                self.finish = None;
                Some(Err(error))
            }
        }
    }

    /// Whether everything is there.
    fn step(&mut self) -> Result<bool, EngineError> {
        if let Some(error) = self.progress.failed.lock().unwrap_or_else(|e| e.into_inner()).take() {
            return Err(self.device.explain(error));
        }
        if self.device.is_lost() {
            return Err(self.device.explain(""));
        }
        while self.sent - self.in_flight.len() < self.progress.submitted.load(Ordering::Acquire) {
            match self.in_flight.pop_front() {
                Some((_, rows)) => self.done_rows += rows,
                None => break,
            }
        }
        // Two at a time: one that the device works on, one that waits for it.
        while self.in_flight.len() < 2 && self.sent < self.submissions.len().max(1) {
            self.send()?;
        }
        Ok(self.sent >= self.submissions.len().max(1)
            && self.progress.mapped.load(Ordering::Acquire) == self.results.len() + usize::from(self.timer.is_some()))
    }

    fn send(&mut self) -> Result<(), EngineError> {
        let device = self.device.clone();
        let at = self.sent;
        let is_last = at + 1 >= self.submissions.len();
        let first_uniform: usize = self.submissions.iter().take(at).map(|s| s.slices.len()).sum();
        let index = device.guarded("commands", 0, || {
            let mut encoder = device.device.create_command_encoder(&Default::default());
            for Before::Clear(buffer) in self.before.drain(..) {
                encoder.clear_buffer(&buffer, 0, None);
            }
            if let Some(submission) = self.submissions.get(at) {
                let timer = self.timer.as_ref().filter(|_| (at as u32) < TIMED);
                let timestamp_writes = timer.map(|timer| wgpu::ComputePassTimestampWrites {
                    query_set: &timer.queries,
                    beginning_of_pass_write_index: Some(2 * at as u32),
                    end_of_pass_write_index: Some(2 * at as u32 + 1),
                });
                let description = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
                let mut pass = encoder.begin_compute_pass(&description);
                for (i, &(step, _, groups)) in submission.slices.iter().enumerate() {
                    let (_, pipeline, bindings) = &self.steps[step];
                    let offset = UNIFORM_STRIDE as u32 * (first_uniform + i) as u32;
                    pass.set_pipeline(&pipeline.pipeline);
                    pass.set_bind_group(0, bindings, &[offset]);
                    pass.dispatch_workgroups(groups, 1, 1);
                }
            }
            if is_last {
                for (buffer, copy) in &self.results {
                    encoder.copy_buffer_to_buffer(buffer, 0, copy, 0, buffer.size());
                }
                if let Some(timer) = &self.timer {
                    timer.resolve(&mut encoder);
                }
            }
            device.queue.submit([encoder.finish()])
        })?;
        let progress = self.progress.clone();
        device.queue.on_submitted_work_done(move || {
            progress.submitted.fetch_add(1, Ordering::AcqRel);
            progress.wake();
        });
        if is_last {
            for copy in self.results.iter().map(|(_, copy)| copy).chain(self.timer.as_ref().map(|timer| &timer.copy)) {
                let progress = self.progress.clone();
                copy.map_async(wgpu::MapMode::Read, .., move |mapped| {
                    match mapped {
                        Ok(()) => {
                            progress.mapped.fetch_add(1, Ordering::AcqRel);
                        }
                        Err(error) => {
                            *progress.failed.lock().unwrap_or_else(|e| e.into_inner()) = Some(error.to_string());
                        }
                    }
                    progress.wake();
                });
            }
        }
        self.in_flight.push_back((index, self.submissions.get(at).map_or(0.0, |s| s.rows)));
        self.sent += 1;
        Ok(())
    }

    fn collect(&mut self, finish: Option<Finish<T>>, cancelled: &dyn Fn() -> bool) -> Result<Timed<T>, EngineError> {
        let mut read = Vec::with_capacity(self.results.len());
        for (_, copy) in &self.results {
            read.push(copy.get_mapped_range(..).map_err(failed)?.to_vec());
            copy.unmap();
        }
        let seconds = match &self.timer {
            Some(timer) => timer.seconds()?,
            None => None,
        };
        let finish = finish.ok_or_else(|| failed("this call has ended"))?;
        Ok(Timed { value: finish(&self.in_use.0, read, cancelled)?, seconds })
    }
}

/// Awaiting a call waits for the device on a thread of its own, so that any executor will do.
impl<T: Unpin> Future for Pending<T> {
    type Output = Result<Timed<T>, EngineError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        *self.progress.waker.lock().unwrap_or_else(|e| e.into_inner()) = Some(context.waker().clone());
        if let Some(result) = self.try_finish() {
            return Poll::Ready(result);
        }
        if self.waited_for < self.sent
            && let Some((index, _)) = self.in_flight.back()
        {
            let (device, index, progress) = (self.device.clone(), index.clone(), self.progress.clone());
            std::thread::spawn(move || {
                let wait = wgpu::PollType::Wait { submission_index: Some(index), timeout: None };
                if let Err(error) = device.device.poll(wait) {
                    *progress.failed.lock().unwrap_or_else(|e| e.into_inner()) = Some(error.to_string());
                }
                progress.wake();
            });
            self.waited_for = self.sent;
        }
        Poll::Pending
    }
}

impl Timer {
    fn new(device: &Device, submissions: usize) -> Result<Timer, EngineError> {
        let count = 2 * (submissions as u32).clamp(1, TIMED);
        let bytes = 8 * u64::from(count);
        let queries = device.guarded("time stamps", bytes, || {
            device.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count,
            })
        })?;
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let resolved = device.make_buffer("time stamps", bytes, usage)?;
        let copy = device.staging(bytes)?;
        let period = f64::from(device.queue.get_timestamp_period()) * 1e-9;
        Ok(Timer { queries, resolved, copy, period, count: if submissions == 0 { 0 } else { count } })
    }

    fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        if self.count > 0 {
            encoder.resolve_query_set(&self.queries, 0..self.count, &self.resolved, 0);
            encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.copy, 0, 8 * u64::from(self.count));
        }
    }

    fn seconds(&self) -> Result<Option<f64>, EngineError> {
        let bytes = self.copy.get_mapped_range(..).map_err(failed)?.to_vec();
        self.copy.unmap();
        let stamps: Vec<u64> =
            bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap_or_default())).collect();
        let ticks = |pair: &[u64]| pair[1].checked_sub(pair[0]);
        let sum: Option<u64> = stamps[..self.count as usize].chunks_exact(2).map(ticks).sum();
        Ok(sum.filter(|&ticks| ticks > 0).map(|ticks| ticks as f64 * self.period))
    }
}

/// Splits steps into submissions of about `budget` multiply-adds, and dispatches of at most `most` workgroups.
fn slice(steps: &[Step], budget: f64, most: u32) -> VecDeque<Submission> {
    let mut submissions = VecDeque::new();
    let mut current = Submission::default();
    let mut spent = 0.0;
    for (at, step) in steps.iter().enumerate() {
        let mut first = 0;
        while first < step.groups {
            let fitting = ((budget - spent).max(0.0) / step.cost.max(1.0)) as u64;
            if fitting == 0 && !current.slices.is_empty() {
                submissions.push_back(std::mem::take(&mut current));
                spent = 0.0;
                continue;
            }
            let count = fitting.max(1).min(step.groups - first).min(u64::from(most));
            current.slices.push((at, first, count as u32));
            let share = count as f64 / step.groups as f64;
            current.rows += share * step.rows;
            spent += count as f64 * step.cost;
            first += count;
        }
    }
    if !current.slices.is_empty() {
        submissions.push_back(current);
    }
    submissions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_each_step_once() {
        let step = |groups, cost| Step {
            kernel: Kernel::Forward,
            setup: Setup::plain("linear"),
            params: Params::default(),
            buffers: Vec::new(),
            groups,
            work_per_group: 1,
            cost,
            rows: groups as f64,
        };
        for (steps, budget, most) in [
            (vec![step(100, 7.0), step(3, 1000.0), step(0, 1.0), step(70_000, 0.001)], 50.0, 65_535),
            (vec![step(10, 1.0)], 1e9, 3),
            (vec![], 1.0, 1),
        ] {
            let submissions = slice(&steps, budget, most);
            let slices: Vec<_> = submissions.iter().flat_map(|s| &s.slices).collect();
            for (at, step) in steps.iter().enumerate() {
                let mut next = 0;
                for &&(_, first, count) in slices.iter().filter(|(i, _, _)| *i == at) {
                    assert!(first == next && count > 0 && count <= most);
                    next += u64::from(count);
                }
                assert_eq!(next, step.groups);
            }
            let rows: f64 = submissions.iter().map(|s| s.rows).sum();
            assert!((rows - steps.iter().map(|s| s.rows).sum::<f64>()).abs() < 1e-9);
        }
    }
}
