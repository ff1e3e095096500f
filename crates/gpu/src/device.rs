//! A device with its pipelines, and what may go wrong with it.

use crate::adapter::{self, Adapter, Choice, Limits};
use crate::source::{Kernel, Setup};
use crate::variant::Variant;
use contattn_core::EngineError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// What can be chosen about an engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// the adapter
    pub adapter: Choice,
    /// the kernels; by default the best that the adapter can run
    pub variant: Option<Variant>,
    /// most bytes of one buffer, where less than the device allows: tensors are split into more parts
    pub largest_buffer: Option<u64>,
}

/// Bytes of the buffers through which numbers go to the device; a multiple of what copies are counted in.
const SENT_AT_ONCE: usize = 32 << 20;

/// An open device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) adapter: Adapter,
    pub(crate) variant: Variant,
    /// what the device was made for
    pub(crate) limits: Limits,
    /// most bytes of a buffer
    pub(crate) largest_buffer: u64,
    pub(crate) timestamps: bool,
    pipelines: Mutex<HashMap<(Kernel, Setup), Arc<Pipeline>>>,
    lost: Arc<OnceLock<String>>,
}

/// A kernel ready to run.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) bindings: wgpu::BindGroupLayout,
}

/// What a kernel does with its storage buffers, in the order of their bindings; true where it writes.
const fn accesses(kernel: Kernel) -> &'static [bool] {
    match kernel {
        Kernel::Forward | Kernel::Pieces => &[false, false, false, false, true, true],
        Kernel::BackwardQueries | Kernel::BackwardKeys | Kernel::PiecesBackward => {
            &[false, false, false, false, false, false, true]
        }
        Kernel::Gather => &[false, false, false, false, true],
        Kernel::Upstream => &[false, false, true, true],
        Kernel::Peak | Kernel::Lanes => &[true],
    }
}

/// Whether a kernel is told anything by uniforms, at binding 0.
const fn has_params(kernel: Kernel) -> bool {
    !matches!(kernel, Kernel::Peak | Kernel::Lanes)
}

fn unavailable(reason: String) -> EngineError {
    EngineError::Unavailable { engine: crate::NAME.to_owned(), reason }
}

/// A failure in the middle of a call.
pub(crate) fn failed(reason: impl ToString) -> EngineError {
    EngineError::Device { engine: crate::NAME.to_owned(), reason: reason.to_string() }
}

impl Device {
    /// Opens a device of its own.
    pub(crate) async fn open(options: &Options) -> Result<Device, EngineError> {
        let (shown, adapter) = adapter::choose(&options.adapter).await?;
        let mut limits = wgpu::Limits::defaults();
        let all = adapter.limits();
        if options.variant != Some(Variant::Portable) {
            limits.max_compute_workgroup_storage_size = all.max_compute_workgroup_storage_size;
            limits.max_storage_buffer_binding_size = all.max_storage_buffer_binding_size;
            limits.max_buffer_size = all.max_buffer_size;
        }
        let wanted = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SUBGROUP;
        let request = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("contattn"),
                required_features: adapter.features() & wanted,
                required_limits: limits,
                ..Default::default()
            })
            .await;
        let (device, queue) = request.map_err(|e| unavailable(format!("adapter {:?}: {e}", shown.name)))?;
        let device = Device::of(device, queue, shown, options)?;
        let lost = device.lost.clone();
        device.device.set_device_lost_callback(move |reason, text| {
            let _ = lost.set(format!("the device was lost ({reason:?}): {text}"));
        });
        Ok(device)
    }

    /// Takes a device that somebody else opened.
    pub(crate) fn share(device: wgpu::Device, queue: wgpu::Queue, options: &Options) -> Result<Device, EngineError> {
        let shown = Adapter::new(&device.adapter_info(), &device.limits(), device.features());
        Device::of(device, queue, shown, options)
    }

    fn of(
        device: wgpu::Device,
        queue: wgpu::Queue,
        adapter: Adapter,
        options: &Options,
    ) -> Result<Device, EngineError> {
        let features = device.features();
        let limits = Limits::of(&device.limits());
        let subgroups = features.contains(wgpu::Features::SUBGROUP);
        let mut made = Device {
            device,
            queue,
            adapter,
            variant: Variant::Portable,
            limits,
            largest_buffer: limits.binding.min(limits.buffer).min(options.largest_buffer.unwrap_or(u64::MAX)),
            timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
            pipelines: Mutex::default(),
            lost: Arc::default(),
        };
        let fits = |variant: Variant| {
            let setup = Setup::forward("linear", variant, 1);
            let (bytes, threads) = (setup.workgroup_bytes(Kernel::Forward), setup.threads * setup.threads);
            let needs = format!(
                "needs {bytes} bytes of workgroup memory, {threads} threads and 8 storage buffers; the device has {}, {} and {}",
                limits.workgroup_storage, limits.invocations, limits.storage_buffers
            );
            let enough = bytes <= limits.workgroup_storage as usize
                && threads <= limits.invocations as usize
                && limits.storage_buffers >= 7;
            if enough { Ok(()) } else { Err(needs) }
        };
        fits(Variant::Portable).map_err(|needs| unavailable(format!("adapter {:?} {needs}", made.adapter.name)))?;
        let lanes = || if subgroups { made.check_lanes() } else { Err("has no subgroup operations".to_owned()) };
        made.variant = match options.variant {
            Some(Variant::Portable) => Variant::Portable,
            Some(Variant::Subgroups) => match lanes() {
                Ok(()) => Variant::Subgroups,
                Err(why) => {
                    return Err(unavailable(format!("variant subgroups: adapter {:?} {why}", made.adapter.name)));
                }
            },
            Some(Variant::Wide) => match fits(Variant::Wide) {
                Ok(()) => Variant::Wide,
                Err(why) => return Err(unavailable(format!("variant wide: adapter {:?} {why}", made.adapter.name))),
            },
            None if fits(Variant::Wide).is_ok() => Variant::Wide,
            None if lanes().is_ok() => Variant::Subgroups,
            None => Variant::Portable,
        };
        Ok(made)
    }

    /// That threads lie in subgroups in their order, which WGSL does not promise.
    fn check_lanes(&self) -> Result<(), String> {
        let count = 256;
        let buffer = self.buffer("lanes", 8 * count).map_err(|e| e.to_string())?;
        let pipeline =
            self.pipeline(Kernel::Lanes, Setup::simple(Kernel::Lanes, "linear")).map_err(|e| e.to_string())?;
        let group = self.bind(&pipeline, None, &[&buffer]);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        }
        let found = self.read_now(encoder, &buffer, 8 * count).map_err(|e| e.to_string())?;
        let numbers: &[u32] = bytemuck::cast_slice(&found);
        let in_order = numbers
            .chunks_exact(2)
            .enumerate()
            .all(|(t, pair)| pair[1].is_power_of_two() && pair[1] >= 4 && pair[0] == t as u32 % pair[1]);
        if in_order { Ok(()) } else { Err("does not keep threads in order within subgroups".to_owned()) }
    }

    /// Runs what was recorded and reads a buffer, waiting for both.
    pub(crate) fn read_now(
        &self,
        mut encoder: wgpu::CommandEncoder,
        buffer: &wgpu::Buffer,
        bytes: u64,
    ) -> Result<Vec<u8>, EngineError> {
        let staging = self.staging(bytes)?;
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
        self.queue.submit([encoder.finish()]);
        let outcome = Arc::new(OnceLock::new());
        let told = outcome.clone();
        staging.map_async(wgpu::MapMode::Read, .., move |result| {
            let _ = told.set(result);
        });
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(failed)?;
        match outcome.get() {
            Some(Ok(())) => Ok(staging.get_mapped_range(..).map_err(failed)?.to_vec()),
            Some(Err(error)) => Err(self.explain(error)),
            None => Err(self.explain("a buffer was not mapped")),
        }
    }

    /// Passes through loops that a thread may make in one dispatch: software Vulkan of Mesa leaves every loop after 65535 of them.
    pub(crate) fn most_iterations(&self) -> usize {
        if self.adapter.is_software() { 60_000 } else { usize::MAX }
    }

    /// The loss of the device, if that is what happened, or else this.
    pub(crate) fn explain(&self, otherwise: impl ToString) -> EngineError {
        match self.lost.get() {
            Some(lost) => failed(lost),
            None => failed(otherwise),
        }
    }

    /// Whether the device is gone.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Catches what wgpu says about some calls.
    pub(crate) fn guarded<T>(
        &self,
        what: &'static str,
        bytes: u64,
        calls: impl FnOnce() -> T,
    ) -> Result<T, EngineError> {
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let made = calls();
        // Natively, scopes answer at once.
        let wrong = pollster::block_on(internal.pop()).or(pollster::block_on(validation.pop()));
        let memory = pollster::block_on(memory.pop());
        if self.is_lost() {
            return Err(self.explain(""));
        }
        if memory.is_some() {
            return Err(EngineError::OutOfMemory { what, bytes: u128::from(bytes) });
        }
        match wrong {
            Some(error) => Err(failed(error)),
            None => Ok(made),
        }
    }

    /// A buffer for shaders, of at least some bytes, filled with zeros.
    pub(crate) fn buffer(&self, what: &'static str, bytes: u64) -> Result<wgpu::Buffer, EngineError> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        self.make_buffer(what, bytes, usage)
    }

    /// A buffer for reading.
    pub(crate) fn staging(&self, bytes: u64) -> Result<wgpu::Buffer, EngineError> {
        self.make_buffer("a copy of results", bytes, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST)
    }

    /// Fills a buffer from its beginning, in parts that go by way of buffers of our own: where there is no memory for one that wgpu
    /// makes by itself (for a buffer that is mapped when it is made, for `write_buffer`), it gives up the device.
    pub(crate) fn send(&self, what: &'static str, buffer: &wgpu::Buffer, bytes: &[u8]) -> Result<(), EngineError> {
        for (at, part) in bytes.chunks(SENT_AT_ONCE).enumerate() {
            let size = part.len() as u64;
            let made = self.guarded(what, size, || {
                self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some(what),
                    size,
                    usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: true,
                })
            })?;
            // Of a lost device buffers are made without an error, and are none.
            made.get_mapped_range_mut(..).map_err(|error| self.explain(error))?.copy_from_slice(part);
            made.unmap();
            self.guarded(what, size, || {
                let mut encoder = self.device.create_command_encoder(&Default::default());
                encoder.copy_buffer_to_buffer(&made, 0, buffer, (at * SENT_AT_ONCE) as u64, size);
                self.queue.submit([encoder.finish()]);
            })?;
        }
        Ok(())
    }

    pub(crate) fn make_buffer(
        &self,
        what: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, EngineError> {
        let size = bytes.max(16).next_multiple_of(16);
        if size > self.limits.buffer {
            return Err(EngineError::OutOfMemory { what, bytes: u128::from(size) });
        }
        self.guarded(what, size, || {
            let description = wgpu::BufferDescriptor { label: Some(what), size, usage, mapped_at_creation: false };
            self.device.create_buffer(&description)
        })
    }

    /// A kernel, compiled when it is first asked for.
    pub(crate) fn pipeline(&self, kernel: Kernel, setup: Setup) -> Result<Arc<Pipeline>, EngineError> {
        let key = (kernel, setup);
        let mut pipelines = self.pipelines.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(pipeline) = pipelines.get(&key) {
            return Ok(pipeline.clone());
        }
        debug_assert!(
            crate::setups::every().into_iter().chain(crate::setups::with_mistakes()).any(|listed| listed == key),
            "{key:?} is not in the list of setups"
        );
        let text = setup.assemble(kernel).map_err(failed)?;
        let storage = accesses(kernel).iter().enumerate().map(|(at, &writes)| {
            let binding = at as u32 + u32::from(has_params(kernel));
            let ty = wgpu::BufferBindingType::Storage { read_only: !writes };
            entry(binding, ty, false, None)
        });
        let size = wgpu::BufferSize::new(size_of::<crate::params::Params>() as u64);
        let uniform = has_params(kernel).then(|| entry(0, wgpu::BufferBindingType::Uniform, true, size));
        let entries: Vec<_> = uniform.into_iter().chain(storage).collect();
        let made = self.guarded("a pipeline", 0, || {
            let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(kernel.file()),
                source: wgpu::ShaderSource::Wgsl(text.into()),
            });
            let bindings = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some(kernel.file()),
                entries: &entries,
            });
            let layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(kernel.file()),
                bind_group_layouts: &[Some(&bindings)],
                immediate_size: 0,
            });
            let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(kernel.file()),
                layout: Some(&layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    // Every kernel writes what it reads.
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            });
            Pipeline { pipeline, bindings }
        })?;
        let made = Arc::new(made);
        pipelines.insert(key, made.clone());
        Ok(made)
    }

    /// Buffers of a kernel.
    pub(crate) fn bind(
        &self,
        pipeline: &Pipeline,
        uniforms: Option<&wgpu::Buffer>,
        buffers: &[&wgpu::Buffer],
    ) -> wgpu::BindGroup {
        let size = wgpu::BufferSize::new(size_of::<crate::params::Params>() as u64);
        let uniforms =
            uniforms.map(|buffer| wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size }));
        let storage = buffers.iter().map(|buffer| buffer.as_entire_binding());
        let entries: Vec<_> = uniforms
            .into_iter()
            .chain(storage)
            .enumerate()
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.bindings,
            entries: &entries,
        })
    }
}

fn entry(
    binding: u32,
    ty: wgpu::BufferBindingType,
    has_dynamic_offset: bool,
    min_binding_size: Option<wgpu::BufferSize>,
) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size },
        count: None,
    }
}
