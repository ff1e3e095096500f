// dQ of a tile of queries over the tiles of keys that it sees.
//
//     for each tile of SIDE nodes (neighbouring tiles share one):
//         A^T = K Q^T,  Y^T = V G^T                            G here is g/z, E is e^(A - m)
//         for each node j, c = Y - (g.o - g_lse)/z:
//             dA_j = R c_j - flow of segment j + L c_j + flow of segment j + 1       flow = h (c_right - c_left)
//         dQ += dA K
//
// dQ is left in units of 1/scale.

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
@group(0) @binding(7) var<storage, read_write> dq: array<vec4<f32>>;

var<workgroup> stage: array<vec4<f32>, STAGE>;
var<workgroup> tile: array<f32, TILE>;
var<workgroup> pulls: array<f32, TILE>;
var<workgroup> durations: array<f32, SIDE>;
var<workgroup> reach: array<vec2<i32>, SIDE>;
var<workgroup> shared_range: vec2<i32>;

#include sweep
#include product
#use dots name=score_tile left=q right=k vectors=key_vectors out=tile
#use dots name=pull_tile left=g right=v vectors=value_vectors out=pulls

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let tx = t % T;
    let ty = t / T;
    let work = params.work0 + group.x;
    let head = params.head_from + work / params.tiles;
    let tile_row = (work % params.tiles) * SIDE;
    let global_head = params.head0 + head;
    let kv_row = i32((global_head / params.heads_per_kv - params.kv0) * params.slots);
    let base = table_of(global_head);
    let row_in_tile = t % SIDE;
    let part = t / SIDE;
    let row = tile_row + row_in_tile;
    let c0 = i32(part * RUN);
    let seen = segments_of(base, row);
    if part == 0u {
        reach[row_in_tile] = seen;
    }
    workgroupBarrier();
    if t == 0u {
        var range = reach[0];
        for (var i = 1u; i < SIDE; i += 1u) {
            range = vec2<i32>(min(range.x, reach[i].x), max(range.y, reach[i].y));
        }
        shared_range = range;
    }
    let range = workgroupUniformLoad(&shared_range);
    var m = 0.0;
    var delta = 0.0;
    if row < params.queries {
        let sums = state[head * params.queries + row];
        m = sums.x;
        delta = sums.z;
    }
    #for i in 0..4
    #for c in 0..KEY_COUNT
    var dq_$i_$c = vec4<f32>(0.0);
    #end
    #end
    if (params.flags & RESUME) != 0u {
        #for i in 0..4
        if tile_row + ty + T * $iu < params.queries {
            let start = (head * params.queries + tile_row + ty + T * $iu) * params.key_vectors;
            #for c in 0..KEY_COUNT
            if params.column0 + tx + T * $cu < params.key_vectors {
                dq_$i_$c = dq[start + params.column0 + tx + T * $cu];
            }
            #end
        }
        #end
    }

    var at = range.x - LEFT;
    while at + LEFT <= range.y {
        let slot = at - params.slot0;
        let rows = i32(params.slots) - slot;
        if t < SIDE {
            var duration = 0.0;
            if i32(t) < rows {
                duration = bitcast<f32>(table[base + params.durations_at + u32(at) + t]);
            }
            durations[t] = duration;
        }
        score_tile(t, head * params.queries + tile_row, params.queries - tile_row, kv_row + slot, 0, rows);
        pull_tile(t, head * params.queries + tile_row, params.queries - tile_row, kv_row + slot, 0, rows);
        workgroupBarrier();
        let first = seen.x - at;
        let last = seen.y - at;
        // Scores of the neighbouring runs, read before they are overwritten.
        var before = 0.0;
        var after = 0.0;
        if part > 0u {
            before = tile[u32(c0 - 1) * STRIDE + row_in_tile];
        }
        if part + 1u < PARTS {
            after = tile[u32(c0 + i32(RUN)) * STRIDE + row_in_tile];
        }
        workgroupBarrier();
        #if READS_LEFT
        var a = select(m, before, part > 0u && sees_node(c0 - 1, first, last));
        var e = exp_of(a - m);
        var c = pulls[u32(max(c0 - 1, 0)) * STRIDE + row_in_tile] - delta;
        var b = select(m, tile[u32(c0) * STRIDE + row_in_tile], sees_node(c0, first, last));
        var e_b = exp_of(b - m);
        var c_b = pulls[u32(c0) * STRIDE + row_in_tile] - delta;
        var d = select(0.0, durations[c0], sees_segment(c0, first, last));
        var share = rule_diffusing(b - a, d * e, d * e_b);
        var right = share.right * c_b - share.diffusion * (c_b - c);
        for (var j = 0; j < i32(RUN); j += 1) {
            let column = c0 + j;
            let next = u32(min(column + 1, i32(SIDE) - 1));
            a = b;
            e = e_b;
            c = c_b;
            var raw = after;
            if j + 1 < i32(RUN) {
                raw = tile[next * STRIDE + row_in_tile];
            }
            b = select(m, raw, column + 1 < i32(SIDE) && sees_node(column + 1, first, last));
            e_b = exp_of(b - m);
            c_b = pulls[next * STRIDE + row_in_tile] - delta;
            d = select(0.0, durations[next], sees_segment(column + 1, first, last));
            share = rule_diffusing(b - a, d * e, d * e_b);
            let flow = share.diffusion * (c_b - c);
            tile[u32(column) * STRIDE + row_in_tile] = right + (share.left * c + flow);
            right = share.right * c_b - flow;
        }
        #else
        for (var j = 0; j < i32(RUN); j += 1) {
            let column = c0 + j;
            let here = u32(column) * STRIDE + row_in_tile;
            var da = 0.0;
            if sees_segment(column, first, last) {
                let e = exp_of(tile[here] - m);
                da = rule_diffusing(0.0, 0.0, durations[column] * e).right * (pulls[here] - delta);
            }
            tile[here] = da;
        }
        #end
        workgroupBarrier();
        let key_row = kv_row + slot;
        #use accumulate sum=dq tile=tile from=k vectors=key_vectors along=keys columns=KEY first=key_row from_row=0 to_row=rows
        at += i32(SIDE) - LEFT;
    }
    #for i in 0..4
    if tile_row + ty + T * $iu < params.queries {
        let to = (head * params.queries + tile_row + ty + T * $iu) * params.key_vectors;
        #for c in 0..KEY_COUNT
        if params.column0 + tx + T * $cu < params.key_vectors {
            dq[to + params.column0 + tx + T * $cu] = dq_$i_$c;
        }
        #end
    }
    #end
}
