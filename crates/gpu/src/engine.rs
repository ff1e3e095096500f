//! The engine: core's trait over the calls that do not block.

use crate::adapter::Adapter;
use crate::backward::{self, OwnedUpstream};
use crate::device::{Device, Options};
use crate::forward;
use crate::owned::Owned;
use crate::uploaded::{Inner, Uploaded};
use crate::uploading::Uploading;
use crate::variant::Variant;
use crate::work::Pending;
use contattn_core::{
    Dtype, Engine, EngineError, Feature, Gradient, Monitor, Open, Output, Problem, Request, Rule, Upstream,
};
use std::sync::{Arc, Mutex};

/// The engine on a GPU, in f32: results have the same bits from run to run on one adapter with one variant.
#[derive(Debug)]
pub struct Gpu(Arc<Opened>);

/// What uploads on threads of their own share with the engine.
#[derive(Debug)]
struct Opened {
    options: Options,
    device: Mutex<Arc<Device>>,
    /// whether somebody else opened the device
    shared: bool,
}

impl Open for Gpu {
    type Options = Options;

    fn open(options: Options) -> Result<Gpu, EngineError> {
        pollster::block_on(Gpu::open_async(options))
    }
}

impl Gpu {
    /// Opens a device of its own.
    ///
    /// # Errors
    /// [`EngineError::Unavailable`] where there is no such adapter, or it cannot run the variant asked for.
    pub async fn open_async(options: Options) -> Result<Gpu, EngineError> {
        let device = Device::open(&options).await?;
        Ok(Gpu::of(device, options, false))
    }

    /// Takes a device that is in use already, for instance that of a user interface; `options.adapter` is not looked at.
    ///
    /// # Errors
    /// As [`Gpu::open_async`].
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue, options: Options) -> Result<Gpu, EngineError> {
        let device = Device::share(device, queue, &options)?;
        Ok(Gpu::of(device, options, true))
    }

    fn of(device: Device, options: Options, shared: bool) -> Gpu {
        Gpu(Arc::new(Opened { options, device: Mutex::new(Arc::new(device)), shared }))
    }

    /// The adapter in use, with the limits that the device was opened with.
    pub fn adapter(&self) -> Adapter {
        self.current().adapter.clone()
    }

    /// The kernels in use.
    pub fn variant(&self) -> Variant {
        self.current().variant
    }

    pub(crate) fn current(&self) -> Arc<Device> {
        self.0.current()
    }

    /// Sends a problem to the device, to be attended many times; the caller's thread does the work.
    ///
    /// # Errors
    /// What the engine lacks; memory; devices.
    pub fn upload(&self, problem: &Problem<'_>) -> Result<Uploaded, EngineError> {
        self.check(problem, &Request::default())?;
        self.0.place(Owned::of(problem)?, &|| false)
    }

    /// Begins to send a problem to the device. The tensors are copied before this returns, in O((queries + keys) width); a thread of
    /// its own does the rest, a lost device opened again and kernels of the forward pass compiled among it.
    ///
    /// # Errors
    /// What the engine lacks; memory for the copy; threads. All else the upload itself says.
    pub fn upload_later(&self, problem: &Problem<'_>) -> Result<Uploading, EngineError> {
        self.check(problem, &Request::default())?;
        let (owned, opened) = (Owned::of(problem)?, self.0.clone());
        Uploading::begin(move |cancelled| {
            let uploaded = opened.place(owned, cancelled)?;
            uploaded.0.compile_forward(cancelled)?;
            Ok(uploaded)
        })
    }

    /// Frees what the device holds as if it had been lost: for tests of what comes after.
    #[doc(hidden)]
    pub fn lose_device(&self) {
        let device = self.current();
        device.device.destroy();
        // The loss is told once nothing is under way any more.
        let _ = device.device.poll(wgpu::PollType::wait_indefinitely());
    }
}

impl Opened {
    fn current(&self) -> Arc<Device> {
        self.device.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// The device; opened again where it was lost.
    fn device(&self) -> Result<Arc<Device>, EngineError> {
        let mut current = self.device.lock().unwrap_or_else(|e| e.into_inner());
        if current.is_lost() {
            if self.shared {
                return Err(current.explain(""));
            }
            *current = Arc::new(pollster::block_on(Device::open(&self.options))?);
        }
        Ok(current.clone())
    }

    /// Lays a problem out and sends it.
    fn place(&self, owned: Owned, cancelled: &dyn Fn() -> bool) -> Result<Uploaded, EngineError> {
        Ok(Uploaded(Arc::new(Inner::new(self.device()?, owned, cancelled)?)))
    }
}

impl Uploaded {
    /// Begins the forward pass, for results of type `dtype`.
    ///
    /// # Errors
    /// Devices; memory; another call on the same problem under way.
    pub fn attend(&self, dtype: Dtype) -> Result<Pending<Output>, EngineError> {
        forward::attend(self.take()?, dtype)
    }

    /// Begins the backward pass; the forward pass comes first where it has not been made.
    ///
    /// # Errors
    /// As [`Uploaded::attend`].
    pub fn pull(&self, upstream: &Upstream<'_>, dtype: Dtype) -> Result<Pending<Gradient>, EngineError> {
        backward::pull(self.take()?, OwnedUpstream::of(upstream)?, dtype)
    }
}

impl Engine for Gpu {
    fn name(&self) -> &str {
        crate::NAME
    }

    fn arithmetic(&self) -> Dtype {
        Dtype::F32
    }

    fn supports(&self, feature: Feature) -> bool {
        match feature {
            Feature::Rule(rule) => matches!(rule, Rule::Linear | Rule::Step | Rule::Trapezoid),
            Feature::Weights | Feature::Bias => false,
            _ => true,
        }
    }

    fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
        self.check(problem, request)?;
        if monitor.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        let (rows, uploaded) = (rows(problem), self.0.place(Owned::of(problem)?, &|| monitor.is_cancelled())?);
        uploaded.attend(request.dtype(problem))?.watched(monitor, rows)
    }

    fn backward(
        &self,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        _saved: Option<&Output>,
        request: &Request,
        monitor: &dyn Monitor,
    ) -> Result<Gradient, EngineError> {
        self.check(problem, request)?;
        if monitor.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        let (rows, uploaded) = (rows(problem), self.0.place(Owned::of(problem)?, &|| monitor.is_cancelled())?);
        uploaded.pull(upstream, request.dtype(problem))?.watched(monitor, rows)
    }
}

fn rows(problem: &Problem<'_>) -> u64 {
    let shape = problem.shape();
    shape.batch as u64 * shape.heads as u64 * shape.queries as u64
}
