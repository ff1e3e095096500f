// Adds to dk and dv of a node what the pieces of all rows that refer to it give, in the order of the rows: one workgroup a node.
//
// The table lists, for each node that some piece refers to, (slot, begin, end) of its entries; an entry is 2 record + end.

#include params

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> g: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> pulls: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> sums: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let work = params.work0 + group.x;
    let kv = params.head_from + work / params.tiles;
    let first_head = max((params.kv0 + kv) * params.heads_per_kv, params.head0);
    let last_head = min((params.kv0 + kv + 1u) * params.heads_per_kv, params.head0 + params.head_count);
    let base = (first_head / params.heads) * params.table_stride;
    let at = base + params.gather_at + 3u * (work % params.tiles);
    let slot = i32(table[at]);
    let begin = table[at + 1u] + params.part_from;
    let end = min(table[at + 2u], begin + params.part_count);
    if slot < params.owned_from || slot > params.owned_to {
        return;
    }
    let width = params.key_vectors + params.value_vectors + 1u;
    let to = (kv * params.slots + u32(slot - params.slot0)) * width;
    let results = params.head_count * params.queries * params.key_vectors;
    for (var c = t; c < params.key_vectors + params.value_vectors; c += 64u) {
        let is_value = c >= params.key_vectors;
        var sum = sums[to + c];
        for (var head = first_head - params.head0; head < last_head - params.head0; head += 1u) {
            for (var i = begin; i < end; i += 1u) {
                let entry = table[base + i];
                let record = entry / 2u;
                let row = table[base + params.records_at + 12u * record];
                if row < params.row0 || row >= params.row0 + params.queries {
                    continue;
                }
                let start = head * params.queries + row - params.row0;
                let pull = pulls[results + 2u * (head * params.records + record)];
                if is_value {
                    let weight = select(pull.x, pull.y, entry % 2u == 1u);
                    sum = fma(vec4<f32>(weight), g[start * params.value_vectors + c - params.key_vectors], sum);
                } else {
                    let da = select(pull.z, pull.w, entry % 2u == 1u);
                    sum = fma(vec4<f32>(da), q[start * params.key_vectors + c], sum);
                }
            }
        }
        sums[to + c] = sum;
    }
}
