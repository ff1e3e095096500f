//! Which adapters there are, and the choice between them.

use contattn_core::EngineError;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// An adapter by what it can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapter {
    /// its name
    pub name: String,
    /// the interface through which it is used: vulkan, metal, dx12
    pub backend: String,
    /// discrete, integrated, virtual, software or other
    pub kind: Kind,
    /// its driver, with version
    pub driver: String,
    /// what matters here of its limits
    pub limits: Limits,
    /// whether threads of a subgroup can pass numbers on
    pub subgroups: bool,
    /// smallest and largest subgroup
    pub subgroup_sizes: (u32, u32),
    /// whether time on the device can be taken
    pub timestamps: bool,
}

/// Limits of an adapter, or of a device made from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// bytes of memory that the threads of a workgroup share
    pub workgroup_storage: u32,
    /// threads of a workgroup
    pub invocations: u32,
    /// workgroups along one dimension of a dispatch
    pub workgroups: u32,
    /// bytes of a buffer that a shader can see at a time
    pub binding: u64,
    /// bytes of a buffer
    pub buffer: u64,
    /// buffers that a shader can see
    pub storage_buffers: u32,
}

impl Limits {
    pub(crate) fn of(limits: &wgpu::Limits) -> Limits {
        Limits {
            workgroup_storage: limits.max_compute_workgroup_storage_size,
            invocations: limits.max_compute_invocations_per_workgroup,
            workgroups: limits.max_compute_workgroups_per_dimension,
            binding: limits.max_storage_buffer_binding_size,
            buffer: limits.max_buffer_size,
            storage_buffers: limits.max_storage_buffers_per_shader_stage,
        }
    }
}

/// What an adapter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// a card with memory of its own
    Discrete,
    /// shares the memory of the CPU
    Integrated,
    /// a virtual machine's
    Virtual,
    /// runs on the CPU
    Software,
    /// unknown
    Other,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Discrete => "discrete",
            Kind::Integrated => "integrated",
            Kind::Virtual => "virtual",
            Kind::Software => "software",
            Kind::Other => "other",
        })
    }
}

impl From<wgpu::DeviceType> for Kind {
    fn from(kind: wgpu::DeviceType) -> Kind {
        match kind {
            wgpu::DeviceType::DiscreteGpu => Kind::Discrete,
            wgpu::DeviceType::IntegratedGpu => Kind::Integrated,
            wgpu::DeviceType::VirtualGpu => Kind::Virtual,
            wgpu::DeviceType::Cpu => Kind::Software,
            wgpu::DeviceType::Other => Kind::Other,
        }
    }
}

impl Adapter {
    pub(crate) fn of(adapter: &wgpu::Adapter) -> Adapter {
        Adapter::new(&adapter.get_info(), &adapter.limits(), adapter.features())
    }

    pub(crate) fn new(info: &wgpu::AdapterInfo, limits: &wgpu::Limits, features: wgpu::Features) -> Adapter {
        Adapter {
            name: info.name.clone(),
            backend: info.backend.to_string(),
            kind: info.device_type.into(),
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            limits: Limits::of(limits),
            subgroups: features.contains(wgpu::Features::SUBGROUP),
            subgroup_sizes: (info.subgroup_min_size, info.subgroup_max_size),
            timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
        }
    }

    /// Whether it runs on the CPU: its times say nothing about a card.
    pub fn is_software(&self) -> bool {
        self.kind == Kind::Software
    }
}

/// Which adapter to take.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Choice {
    /// a card before a software adapter
    #[default]
    Best,
    /// one that runs on the CPU
    Software,
    /// the first whose name contains this, in small or large letters
    Named(String),
}

impl FromStr for Choice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Choice, Infallible> {
        Ok(if text.eq_ignore_ascii_case("software") { Choice::Software } else { Choice::Named(text.to_owned()) })
    }
}

impl Choice {
    fn takes(&self, adapter: &Adapter) -> bool {
        match self {
            Choice::Best => true,
            Choice::Software => adapter.is_software(),
            Choice::Named(name) => adapter.name.to_lowercase().contains(&name.to_lowercase()),
        }
    }
}

fn instance() -> wgpu::Instance {
    let mut description = wgpu::InstanceDescriptor::new_without_display_handle();
    // GL lacks what the kernels need; the others are those of each system.
    description.backends = wgpu::Backends::PRIMARY;
    wgpu::Instance::new(description)
}

fn rank(adapter: &Adapter) -> usize {
    match adapter.kind {
        Kind::Discrete => 0,
        Kind::Integrated => 1,
        Kind::Virtual => 2,
        Kind::Other => 3,
        Kind::Software => 4,
    }
}

async fn found() -> Vec<(Adapter, wgpu::Adapter)> {
    let adapters = instance().enumerate_adapters(wgpu::Backends::PRIMARY).await;
    let mut found: Vec<_> = adapters.into_iter().map(|adapter| (Adapter::of(&adapter), adapter)).collect();
    found.sort_by_key(|(shown, _)| rank(shown));
    found
}

/// Every adapter of this machine, the best first.
pub fn adapters() -> Vec<Adapter> {
    pollster::block_on(found()).into_iter().map(|(shown, _)| shown).collect()
}

/// What to do where there is no adapter.
pub const HOW_TO_GET_ONE: &str = "install the driver of the graphics card, or software Vulkan (Debian: \
     apt-get install libvulkan1 mesa-vulkan-drivers)";

/// The adapter chosen.
pub(crate) async fn choose(choice: &Choice) -> Result<(Adapter, wgpu::Adapter), EngineError> {
    let found = found().await;
    let names: Vec<String> = found.iter().map(|(adapter, _)| format!("{:?}", adapter.name)).collect();
    found.into_iter().find(|(adapter, _)| choice.takes(adapter)).ok_or_else(|| {
        let reason = match (choice, names.is_empty()) {
            (_, true) => format!("no GPU adapter was found; {HOW_TO_GET_ONE}"),
            (Choice::Software, _) => {
                format!("no software adapter was found among {}; {HOW_TO_GET_ONE}", names.join(", "))
            }
            (Choice::Named(name), _) => format!("no adapter's name contains {name:?}; there are {}", names.join(", ")),
            (Choice::Best, _) => unreachable!("the best of some adapters is one of them"),
        };
        EngineError::Unavailable { engine: crate::NAME.to_owned(), reason }
    })
}
