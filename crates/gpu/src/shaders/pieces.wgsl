// What cut segments and held curve give to a row, before its tiles: one thread a row.
//
// A record is 12 numbers: row, left slot, right slot, kind, length, alpha, 1 - alpha, beta, 1 - beta, lambda, and two unused.
// Both ends of a record lie in one block of k and v; the block that owns its right end adds it.

#include params
#include elementary
#include segment

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> state: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> o: array<vec4<f32>>;

#include record

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let work = params.work0 + id.x;
    let head = params.head_from + work / params.queries;
    if work >= params.tiles {
        return;
    }
    let row = work % params.queries;
    let global_head = params.head0 + head;
    let kv_row = (global_head / params.heads_per_kv - params.kv0) * params.slots;
    let base = (global_head / params.heads) * params.table_stride;
    let row_at = base + 4u * (params.row0 + row);
    let begin = table[row_at + 2u];
    let count = table[row_at + 3u];
    let query = (head * params.queries + row) * params.key_vectors;
    let state_at = head * params.queries + row;

    var m = NOTHING;
    var z = 0.0;
    let resumes = (params.flags & RESUME) != 0u;
    if resumes {
        m = state[state_at].x;
        z = state[state_at].y;
    }
    let m_before = m;
    for (var i = 0u; i < count; i += 1u) {
        let record = read_record(base, begin + i);
        if record.kind <= HELD && owns(record) {
            let ends = record_scores(record, query, kv_row);
            m = max(m, max(ends.from_score, ends.to_score));
        }
    }
    let factor = exp_of(m_before - m);
    z *= factor;
    let out = state_at * params.value_vectors;
    for (var c = params.column0; c < min(params.column0 + params.columns, params.value_vectors); c += 1u) {
        var x = vec4<f32>(0.0);
        if resumes {
            x = o[out + c] * factor;
        }
        o[out + c] = x;
    }
    for (var i = 0u; i < count; i += 1u) {
        let record = read_record(base, begin + i);
        if record.kind <= HELD && owns(record) {
            let ends = record_scores(record, query, kv_row);
            let shares = record_shares(record, ends, m);
            let left = record.length * shares.left;
            let right = record.length * shares.right;
            z += left + right;
            let left_value = (kv_row + u32(record.left - params.slot0)) * params.value_vectors;
            let right_value = (kv_row + u32(record.right - params.slot0)) * params.value_vectors;
            for (var c = params.column0; c < min(params.column0 + params.columns, params.value_vectors); c += 1u) {
                o[out + c] = fma(vec4<f32>(right), v[right_value + c], fma(vec4<f32>(left), v[left_value + c], o[out + c]));
            }
        }
    }
    state[state_at] = vec4<f32>(m, z, 0.0, 0.0);
}
