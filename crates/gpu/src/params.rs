//! What a dispatch is told: the twin of `shaders/params.wgsl`.

use bytemuck::{Pod, Zeroable};

/// Uniforms of every kernel. The fields are explained in the shader.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct Params {
    pub(crate) heads: u32,
    pub(crate) heads_per_kv: u32,
    pub(crate) head0: u32,
    pub(crate) row0: u32,
    pub(crate) queries: u32,
    pub(crate) kv0: u32,
    pub(crate) slot0: i32,
    pub(crate) slots: u32,
    pub(crate) segment_from: i32,
    pub(crate) segment_to: i32,
    pub(crate) owned_from: i32,
    pub(crate) owned_to: i32,
    pub(crate) key_vectors: u32,
    pub(crate) value_vectors: u32,
    pub(crate) column0: u32,
    pub(crate) work0: u32,
    pub(crate) head_from: u32,
    pub(crate) tiles: u32,
    pub(crate) flags: u32,
    pub(crate) table_stride: u32,
    pub(crate) durations_at: u32,
    pub(crate) ranges_at: u32,
    pub(crate) records_at: u32,
    pub(crate) gather_at: u32,
    pub(crate) records: u32,
    pub(crate) head_count: u32,
    pub(crate) columns: u32,
    pub(crate) part_from: u32,
    pub(crate) part_count: u32,
}

/// Sums go on from those in memory.
pub(crate) const RESUME: u32 = 1;
/// o is divided by Z.
pub(crate) const FINISH: u32 = 2;
/// Gradients are added to those in memory.
pub(crate) const ACCUMULATE: u32 = 4;

/// How the uniforms of the shaders lie in memory, found by the build script.
mod layout {
    include!(concat!(env!("OUT_DIR"), "/layout.rs"));
}

/// Whether this field begins where that of the same name and number does in the shaders.
const fn lies(at: usize, name: &str, offset: usize) -> bool {
    let (found, place) = layout::FIELDS[at];
    let (found, name) = (found.as_bytes(), name.as_bytes());
    if found.len() != name.len() || place != offset {
        return false;
    }
    let mut i = 0;
    while i < name.len() {
        if found[i] != name[i] {
            return false;
        }
        i += 1;
    }
    true
}

macro_rules! compare_layout {
    ($($field:ident)*) => {
        const _: () = {
            let mut at = 0;
            $(
                assert!(lies(at, stringify!($field), std::mem::offset_of!(Params, $field)));
                at += 1;
            )*
            assert!(at == layout::FIELDS.len() && size_of::<Params>() == layout::SIZE);
        };
    };
}

compare_layout!(
    heads heads_per_kv head0 row0 queries kv0 slot0 slots segment_from segment_to owned_from owned_to key_vectors
    value_vectors column0 work0 head_from tiles flags table_stride durations_at ranges_at records_at gather_at records
    head_count columns part_from part_count
);
