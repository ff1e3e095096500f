// Gradients of cut segments, held curve and moving edges: one thread a row.
//
// dq begins with what they give; for each record two vectors go to `pulls`: (weight left, weight right, dA left, dA right), and
// (dL/dD of the cut segment, or what L gains when an edge moves later by a unit of time). `gather.wgsl` adds up the former by node.

#include params
#include elementary
#include segment

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> state: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> g: array<vec4<f32>>;
// dq, and behind it two vectors for each record of each head
@group(0) @binding(7) var<storage, read_write> dq: array<vec4<f32>>;

#include record

fn pull(upstream: u32, value: u32) -> f32 {
    var y = 0.0;
    for (var c = 0u; c < params.value_vectors; c += 1u) {
        let a = g[upstream + c];
        let b = v[value + c];
        y = fma(a.x, b.x, y);
        y = fma(a.y, b.y, y);
        y = fma(a.z, b.z, y);
        y = fma(a.w, b.w, y);
    }
    return y;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let work = params.work0 + id.x;
    if work >= params.tiles {
        return;
    }
    let head = params.head_from + work / params.queries;
    let row = work % params.queries;
    let global_head = params.head0 + head;
    let kv_row = (global_head / params.heads_per_kv - params.kv0) * params.slots;
    let base = (global_head / params.heads) * params.table_stride;
    let row_at = base + 4u * (params.row0 + row);
    let begin = table[row_at + 2u];
    let count = table[row_at + 3u];
    let query = (head * params.queries + row) * params.key_vectors;
    let upstream = (head * params.queries + row) * params.value_vectors;
    let sums = state[head * params.queries + row];
    let m = sums.x;
    let delta = sums.z;
    let results = params.head_count * params.queries * params.key_vectors;

    if (params.flags & RESUME) == 0u {
        for (var c = 0u; c < params.key_vectors; c += 1u) {
            dq[query + c] = vec4<f32>(0.0);
        }
    }
    for (var i = 0u; i < count; i += 1u) {
        let record = read_record(base, begin + i);
        if !owns(record) {
            continue;
        }
        let ends = record_scores(record, query, kv_row);
        let left_at = kv_row + u32(record.left - params.slot0);
        let right_at = kv_row + u32(record.right - params.slot0);
        let c_left = pull(upstream, left_at * params.value_vectors) - delta;
        let c_right = pull(upstream, right_at * params.value_vectors) - delta;
        var pulls = vec4<f32>(0.0);
        var gain = 0.0;
        if record.kind <= HELD {
            let shares = record_shares(record, ends, m);
            let flow = record.length * shares.diffusion * (c_right - c_left);
            let left = record.length * shares.left;
            let right = record.length * shares.right;
            pulls = vec4<f32>(left, right, left * c_left + flow, right * c_right - flow);
            gain = record.lambda * (shares.left * c_left + shares.right * c_right);
            for (var c = 0u; c < params.key_vectors; c += 1u) {
                dq[query + c] = fma(vec4<f32>(pulls.w), k[right_at * params.key_vectors + c],
                    fma(vec4<f32>(pulls.z), k[left_at * params.key_vectors + c], dq[query + c]));
            }
        } else {
            let upper = record.kind == UPPER || record.kind == UPPER_HELD;
            let sign = select(-1.0, 1.0, upper);
            let e_right = exp_of(min(ends.right - m, 80.0));
            gain = sign * e_right * c_right;
            #if READS_LEFT
            if record.kind == UPPER || record.kind == LOWER {
                let e_from = exp_of(min(ends.from_score - m, 80.0));
                let e_to = exp_of(min(ends.to_score - m, 80.0));
                let c_from = record.not_alpha * c_left + record.alpha * c_right;
                let c_to = record.not_beta * c_left + record.beta * c_right;
                let e = select(e_from, e_to, upper);
                let c = select(c_from, c_to, upper);
                gain = sign * e * c;
                #if TRAPEZOID
                // d/du of (lambda/2)(f(alpha) + f(beta)), f = e^a c, f' = e^a (x c + c_1 - c_0)
                let x = ends.right - ends.left;
                gain = sign * 0.5 * (e_from * c_from + e_to * c_to) + 0.5 * record.lambda * e * (x * c + c_right - c_left);
                #end
            }
            #end
        }
        let to = results + 2u * (head * params.records + begin + i);
        dq[to] = pulls;
        dq[to + 1u] = vec4<f32>(gain, 0.0, 0.0, 0.0);
    }
}
