//! The layouts of the kernels. Compiled into the build script, too.

/// How kernels are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Variant {
    /// Within the default limits of WebGPU: tiles of 32 x 32, workgroups of 64 threads, 16 KiB of their memory.
    #[default]
    Portable,
    /// The same tiles; threads that share a row of scores pass numbers on through their subgroup.
    Subgroups,
    /// Tiles of 64 x 64 forward, workgroups of 256 threads, 32 KiB.
    Wide,
}

impl Variant {
    /// Each of them.
    pub const ALL: [Variant; 3] = [Variant::Portable, Variant::Subgroups, Variant::Wide];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Portable => "portable",
            Variant::Subgroups => "subgroups",
            Variant::Wide => "wide",
        }
    }

    /// T of the forward pass.
    pub(crate) const fn threads(self) -> usize {
        match self {
            Variant::Portable | Variant::Subgroups => 8,
            Variant::Wide => 16,
        }
    }

    /// Whether the forward pass uses subgroups.
    pub(crate) const fn has_subgroups(self) -> bool {
        matches!(self, Variant::Subgroups)
    }
}
