// How the threads of a workgroup lie in subgroups: for each its place in its subgroup, and the size of that.

@group(0) @binding(0) var<storage, read_write> out: array<vec2<u32>>;

@compute @workgroup_size(256)
fn main(
    @builtin(local_invocation_index) t: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) size: u32,
) {
    out[t] = vec2<u32>(lane, size);
}
