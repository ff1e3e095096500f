// dK, dV and dD of a tile of keys over the tiles of queries that see it.
//
// Of the SIDE nodes of a tile the inner ones are its own; a halo node at each side gives it the segments that it shares with its
// neighbours (under Step no segment is shared, and all nodes are its own). The product over queries sums every gradient in one order:
// nothing is added by two workgroups.
//
//     for each tile of queries:
//         A^T = K Q^T,  Y^T = V G^T                            G here is g/z, E is e^(A - m)
//         for each node j:  P_j, dA_j as in the passes over queries;  dD of segment j += (L c_left + R c_j)/D
//         dV += P G,  dK += dA Q

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
// rows of dk, dv, and a vector whose first number is dD of the segment that ends there
@group(0) @binding(7) var<storage, read_write> sums: array<vec4<f32>>;

var<workgroup> stage: array<vec4<f32>, STAGE>;
var<workgroup> tile: array<f32, TILE>;
var<workgroup> pulls: array<f32, TILE>;
var<workgroup> changes: array<f32, TILE>;

#include sweep
#include product
#use dots name=score_tile left=q right=k vectors=key_vectors out=tile
#use dots name=pull_tile left=g right=v vectors=value_vectors out=pulls

fn duration_of(base: u32, node: i32, slot_from: i32) -> f32 {
    if node < max(slot_from, 0) || node >= params.slot0 + i32(params.slots) {
        return 0.0;
    }
    return bitcast<f32>(table[base + params.durations_at + u32(node)]);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let tx = t % T;
    let ty = t / T;
    let work = params.work0 + group.x;
    // a key/value head of the block of k, and the node of column 0
    let kv = params.head_from + work / params.tiles;
    let own = i32(SIDE) - 2 * LEFT;
    let at = params.owned_from + i32(work % params.tiles) * own - LEFT;
    let kv_row = i32(kv * params.slots);
    let slot = at - params.slot0;
    let rows_from = max(0, -slot);
    let rows_to = i32(params.slots) - slot;
    let row_in_tile = t % SIDE;
    let part = t / SIDE;
    let c0 = i32(part * RUN);
    let first_head = max((params.kv0 + kv) * params.heads_per_kv, params.head0);
    let last_head = min((params.kv0 + kv + 1u) * params.heads_per_kv, params.head0 + params.head_count);
    let base = table_of(first_head);
    let query_tiles = (params.queries + SIDE - 1u) / SIDE;
    var change_sum = 0.0;
    #for i in 0..4
    #for c in 0..VALUE_COUNT
    var dv_$i_$c = vec4<f32>(0.0);
    #end
    #for c in 0..KEY_COUNT
    var dk_$i_$c = vec4<f32>(0.0);
    #end
    #end
    let end_tile = min(params.part_from + params.part_count, (last_head - first_head) * query_tiles);
    for (var work_tile = params.part_from; work_tile < end_tile; work_tile += 1u) {
        let head = first_head - params.head0 + work_tile / query_tiles;
        let tile_row = (work_tile % query_tiles) * SIDE;
        let reach_at = base + params.ranges_at + 2u * ((params.row0 + tile_row) / SIDE);
        let reach_first = i32(table[reach_at]);
        let reach_last = i32(table[reach_at + 1u]);
        // Not one row sees a segment of this tile.
        if reach_first > at + i32(SIDE) - 1 || reach_last < at + LEFT {
            continue;
        }
        let left_row = head * params.queries + tile_row;
        let left_count = params.queries - tile_row;
        score_tile(t, left_row, left_count, kv_row + slot, rows_from, rows_to);
        pull_tile(t, left_row, left_count, kv_row + slot, rows_from, rows_to);
        var m = 0.0;
        var delta = 0.0;
        let row = tile_row + row_in_tile;
        if row < params.queries {
            let known = state[left_row + row_in_tile];
            m = known.x;
            delta = known.z;
        }
        let seen = segments_of(base, row);
        let first = seen.x - at;
        let last = seen.y - at;
        workgroupBarrier();
        // What the neighbouring runs hold is read before it is overwritten.
        var before = 0.0;
        var after = 0.0;
        var c_before = 0.0;
        var c_after = 0.0;
        if part > 0u {
            before = tile[u32(c0 - 1) * STRIDE + row_in_tile];
            c_before = pulls[u32(c0 - 1) * STRIDE + row_in_tile];
        }
        if part + 1u < PARTS {
            after = tile[u32(c0 + i32(RUN)) * STRIDE + row_in_tile];
            c_after = pulls[u32(c0 + i32(RUN)) * STRIDE + row_in_tile];
        }
        workgroupBarrier();
        #if READS_LEFT
        var a = select(m, before, part > 0u && sees_node(c0 - 1, first, last));
        var e = exp_of(a - m);
        #if MISTAKE == 6
        // the change of the node before a run is taken from elsewhere
        c_before = pulls[u32(c0) * STRIDE + row_in_tile];
        #end
        var c = c_before - delta;
        var b = select(m, tile[u32(c0) * STRIDE + row_in_tile], sees_node(c0, first, last));
        var e_b = exp_of(b - m);
        var c_b = pulls[u32(c0) * STRIDE + row_in_tile] - delta;
        var counts = sees_segment(c0, first, last);
        // Shares for unit durations first: dD needs them so, also where D = 0.
        var share = rule_diffusing(b - a, e, e_b);
        var d = select(0.0, duration_of(base, at + c0, at), counts);
        var change = share.left * c + share.right * c_b;
        var weight = d * share.right;
        var da = d * (share.right * c_b - share.diffusion * (c_b - c));
        for (var j = 0; j < i32(RUN); j += 1) {
            let column = c0 + j;
            let here = u32(column) * STRIDE + row_in_tile;
            changes[here] = select(0.0, change, counts);
            a = b;
            e = e_b;
            c = c_b;
            var raw = after;
            c_b = c_after;
            if j + 1 < i32(RUN) {
                raw = tile[here + STRIDE];
                c_b = pulls[here + STRIDE];
            }
            c_b -= delta;
            b = select(m, raw, column + 1 < i32(SIDE) && sees_node(column + 1, first, last));
            e_b = exp_of(b - m);
            counts = sees_segment(column + 1, first, last);
            share = rule_diffusing(b - a, e, e_b);
            d = select(0.0, duration_of(base, at + column + 1, at), counts);
            let from_left = share.left * c;
            let from_right = share.right * c_b;
            let flow = share.diffusion * (c_b - c);
            change = from_left + from_right;
            let own_node = column >= 1 && column < i32(SIDE) - 1;
            tile[here] = select(0.0, fma(d, share.left, weight), own_node);
            pulls[here] = select(0.0, fma(d, from_left + flow, da), own_node);
            weight = d * share.right;
            da = d * (from_right - flow);
        }
        #else
        for (var j = 0; j < i32(RUN); j += 1) {
            let column = c0 + j;
            let here = u32(column) * STRIDE + row_in_tile;
            var weight = 0.0;
            var change = 0.0;
            if sees_segment(column, first, last) {
                weight = exp_of(tile[here] - m);
                change = weight * (pulls[here] - delta);
            }
            let d = duration_of(base, at + column, at);
            tile[here] = d * weight;
            pulls[here] = d * change;
            changes[here] = change;
        }
        #end
        workgroupBarrier();
        // dD: columns on threads, queries shared between those of a column.
        for (var i = 0u; i < SIDE / (THREADS / SIDE); i += 1u) {
            change_sum += changes[(t % SIDE) * STRIDE + (t / SIDE) * (SIDE / (THREADS / SIDE)) + i];
        }
        let query_count = i32(left_count);
        let query_row = i32(left_row);
        #use accumulate sum=dv tile=tile from=g vectors=value_vectors along=queries columns=VALUE first=query_row from_row=0 to_row=query_count
        #use accumulate sum=dk tile=pulls from=q vectors=key_vectors along=queries columns=KEY first=query_row from_row=0 to_row=query_count
    }

    workgroupBarrier();
    changes[t] = change_sum;
    workgroupBarrier();
    let width = params.key_vectors + params.value_vectors + 1u;
    let adds = (params.flags & ACCUMULATE) != 0u;
    #for i in 0..4
    {
        let column = i32(ty + T * $iu);
        let node = at + column;
        if column >= LEFT && column < i32(SIDE) - LEFT && node >= params.owned_from && node <= params.owned_to {
            let to = u32(kv_row + node - params.slot0) * width;
            #for c in 0..KEY_COUNT
            {
                let c = params.column0 + tx + T * $cu;
                if c < params.key_vectors {
                    var x = dk_$i_$c;
                    if adds {
                        x += sums[to + c];
                    }
                    sums[to + c] = x;
                }
            }
            #end
            #for c in 0..VALUE_COUNT
            {
                let c = params.column0 + tx + T * $cu;
                if c < params.value_vectors {
                    var x = dv_$i_$c;
                    if adds {
                        x += sums[to + params.key_vectors + c];
                    }
                    sums[to + params.key_vectors + c] = x;
                }
            }
            #end
        }
    }
    #end
    if t < SIDE && params.column0 == 0u {
        let column = i32(t);
        let node = at + column;
        if column >= LEFT && column < i32(SIDE) - LEFT && node >= params.owned_from && node <= params.owned_to {
            var change = 0.0;
            #for s in 0..PARTS
            change += changes[t + $su * SIDE];
            #end
            let to = u32(kv_row + node - params.slot0) * width + width - 1u;
            if adds {
                change += sums[to].x;
            }
            sums[to] = vec4<f32>(change, 0.0, 0.0, 0.0);
        }
    }
}
