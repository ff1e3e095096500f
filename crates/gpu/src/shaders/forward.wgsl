// The forward pass of a tile of queries over the tiles of keys that it sees: the twin of the CPU's `tiled/forward.rs`.
//
//     m, Z, O = nothing, or what pieces and earlier blocks of keys gave
//     for each tile of SIDE nodes (neighbouring tiles share one):
//         A^T = K Q^T                                          4 x 4 scores a thread, into workgroup memory
//         m' = max(m, A) over what is visible                  PARTS threads a row, RUN nodes each
//         for each node j:  P_j = R of segment j + L of segment j + 1, in place of A;  Z += P_j
//         O = O e^(m - m') + P V                               4 rows x columns a thread
//     o = O/Z
//
// Tiles overlap by one node, so that all that a segment gives stays in its tile: nothing is carried from tile to tile but m, Z and O.

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

var<workgroup> stage: array<vec4<f32>, STAGE>;
var<workgroup> tile: array<f32, TILE>;
var<workgroup> durations: array<f32, SIDE>;
var<workgroup> reach: array<vec2<i32>, SIDE>;
var<workgroup> shared_range: vec4<i32>;
var<workgroup> factors: array<f32, SIDE>;
var<workgroup> part_sums: array<f32, THREADS>;

#include sweep
#include product
#use dots name=score_tile left=q right=k vectors=key_vectors out=tile

// From scores to weights, in place: m, Z and the factors of O. `edges` is 0 where every row sees all of the tile.
#def sweep edges
    #if $edges == 1
    let first = seen.x - at;
    let last = seen.y - at;
    #end
    var top = m;
    for (var j = 0; j < i32(RUN); j += 1) {
        #if $edges == 1
        if !sees_node(c0 + j, first, last) {
            continue;
        }
        #end
        top = max(top, tile[u32(c0 + j) * STRIDE + row_in_tile]);
    }
    #if SUBGROUPS
    // The threads of a row are neighbours: what one of them has to know of the others goes from register to register.
    let before = subgroupShuffleUp(tile[u32(c0 + i32(RUN) - 1) * STRIDE + row_in_tile], 1u);
    let after = subgroupShuffleDown(tile[u32(c0) * STRIDE + row_in_tile], 1u);
    #for s in 0..PARTS_LOG
    top = max(top, subgroupShuffleXor(top, 1u << $su));
    #end
    #else
    // Scores of the neighbouring runs, read before they are overwritten.
    var before = 0.0;
    var after = 0.0;
    if part > 0u {
        before = tile[u32(c0 - 1) * STRIDE + row_in_tile];
    }
    if part + 1u < PARTS {
        after = tile[u32(c0 + i32(RUN)) * STRIDE + row_in_tile];
    }
    part_sums[t] = top;
    workgroupBarrier();
    #for s in 0..PARTS
    top = max(top, part_sums[$su * SIDE + row_in_tile]);
    #end
    #end
    let factor = exp_of(m - top);
    m = top;
    z *= factor;
    if part == 0u {
        factors[row_in_tile] = factor;
    }
    #if READS_LEFT
    #if MISTAKE == 2
    // the first segment of a run takes its left score from elsewhere
    before = tile[u32(c0 + 1) * STRIDE + row_in_tile];
    #end
    #if $edges == 1
    var a = select(m, before, part > 0u && sees_node(c0 - 1, first, last));
    #else
    var a = select(m, before, part > 0u);
    #end
    var e = exp_of(a - m);
    var b = tile[u32(c0) * STRIDE + row_in_tile];
    #if $edges == 1
    b = select(m, b, sees_node(c0, first, last));
    #end
    var e_b = exp_of(b - m);
    #if $edges == 1
    var d = select(0.0, durations[c0], sees_segment(c0, first, last));
    #else
    var d = select(0.0, durations[c0], part > 0u);
    #end
    var share = rule_shares(b - a, d * e, d * e_b);
    var right = share.right;
    #if MISTAKE == 1
    // what the node at the border of a run had is lost
    right = 0.0;
    #end
    for (var j = 0; j < i32(RUN); j += 1) {
        let column = c0 + j;
        a = b;
        e = e_b;
        var raw = after;
        if j + 1 < i32(RUN) {
            raw = tile[u32(column + 1) * STRIDE + row_in_tile];
        }
        #if $edges == 1
        b = select(m, raw, column + 1 < i32(SIDE) && sees_node(column + 1, first, last));
        d = select(0.0, durations[min(column + 1, i32(SIDE) - 1)], sees_segment(column + 1, first, last));
        #else
        b = select(m, raw, column + 1 < i32(SIDE));
        d = select(0.0, durations[min(column + 1, i32(SIDE) - 1)], column + 1 < i32(SIDE));
        #end
        e_b = exp_of(b - m);
        share = rule_shares(b - a, d * e, d * e_b);
        let weight = right + share.left;
        z += weight;
        tile[u32(column) * STRIDE + row_in_tile] = weight;
        right = share.right;
    }
    #else
    for (var j = 0; j < i32(RUN); j += 1) {
        let column = c0 + j;
        var weight = 0.0;
        #if $edges == 1
        if sees_segment(column, first, last) {
            let e = exp_of(tile[u32(column) * STRIDE + row_in_tile] - m);
            weight = rule_shares(0.0, 0.0, durations[column] * e).right;
        }
        #else
        let e = exp_of(tile[u32(column) * STRIDE + row_in_tile] - m);
        weight = rule_shares(0.0, 0.0, durations[column] * e).right;
        #end
        z += weight;
        tile[u32(column) * STRIDE + row_in_tile] = weight;
    }
    #end
#end

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
    // In the sweep a row belongs to PARTS threads.
    #if SUBGROUPS
    let row_in_tile = t / PARTS;
    let part = t % PARTS;
    #else
    let row_in_tile = t % SIDE;
    let part = t / SIDE;
    #end
    let row = tile_row + row_in_tile;
    let c0 = i32(part * RUN);
    let seen = segments_of(base, row);
    if part == 0u {
        reach[row_in_tile] = seen;
    }
    workgroupBarrier();
    if t == 0u {
        // First and last segment that some row sees, and those that all rows see.
        var range = vec4<i32>(0x7fffffff, -1, -1, 0x7fffffff);
        for (var i = 0u; i < min(SIDE, params.queries - tile_row); i += 1u) {
            let own = reach[i];
            range = vec4<i32>(min(range.x, own.x), max(range.y, own.y), max(range.z, own.x), min(range.w, own.y));
        }
        shared_range = range;
    }
    let range = workgroupUniformLoad(&shared_range);

    var m = NOTHING;
    var z = 0.0;
    let resumes = (params.flags & RESUME) != 0u;
    let state_at = head * params.queries + row;
    if resumes && row < params.queries {
        let before = state[state_at];
        m = before.x;
        z = select(0.0, before.y, part == 0u);
    }
    #for i in 0..4
    #for c in 0..VALUE_COUNT
    var o_$i_$c = vec4<f32>(0.0);
    #end
    #end
    if resumes {
        #for i in 0..4
        if tile_row + ty + T * $iu < params.queries {
            let start = (head * params.queries + tile_row + ty + T * $iu) * params.value_vectors;
            #for c in 0..VALUE_COUNT
            if params.column0 + tx + T * $cu < params.value_vectors {
                o_$i_$c = o[start + params.column0 + tx + T * $cu];
            }
            #end
        }
        #end
    }

    // The node of column 0.
    var at = range.x - LEFT;
    while at + LEFT <= range.y {
        let slot = at - params.slot0;
        if t < SIDE {
            var duration = 0.0;
            if slot + i32(t) < i32(params.slots) {
                duration = bitcast<f32>(table[base + params.durations_at + u32(at) + t]);
            }
            durations[t] = duration;
        }
        score_tile(t, head * params.queries + tile_row, params.queries - tile_row, kv_row + slot, 0, i32(params.slots) - slot);
        workgroupBarrier();

        // Where every row sees all of the tile there is nothing to ask.
        if range.z <= at + LEFT && range.w >= at + i32(SIDE) - 1 {
            #use sweep edges=0
        } else {
            #use sweep edges=1
        }
        workgroupBarrier();
        #for i in 0..4
        let f_$i = vec4<f32>(factors[ty + T * $iu]);
        #for c in 0..VALUE_COUNT
        #if MISTAKE == 3
        #else
        o_$i_$c *= f_$i;
        #end
        #end
        #end
        let rows = i32(params.slots) - slot;
        let value_row = kv_row + slot;
        #use accumulate sum=o tile=tile from=v vectors=value_vectors along=keys columns=VALUE first=value_row from_row=0 to_row=rows
        at += i32(SIDE) - LEFT;
        #if MISTAKE == 4
        // a tile is not visited
        if at == range.x - LEFT + i32(SIDE) - LEFT {
            at += i32(SIDE) - LEFT;
        }
        #end
    }

    workgroupBarrier();
    part_sums[t] = z;
    workgroupBarrier();
    if part == 0u {
        var total = 0.0;
        #for s in 0..PARTS
        #if SUBGROUPS
        total += part_sums[row_in_tile * PARTS + $su];
        #else
        total += part_sums[$su * SIDE + row_in_tile];
        #end
        #end
        var share = 1.0;
        if (params.flags & FINISH) != 0u {
            // Rows without a sum, or whose sum is out of range, are left to the host.
            share = select(0.0, 1.0 / max(total, SMALLEST), total >= SMALLEST);
        }
        factors[row_in_tile] = share;
        if row < params.queries {
            state[state_at] = vec4<f32>(m, total, 0.0, 0.0);
        }
    }
    workgroupBarrier();
    #for i in 0..4
    if tile_row + ty + T * $iu < params.queries {
        let share = vec4<f32>(factors[ty + T * $iu]);
        let to = (head * params.queries + tile_row + ty + T * $iu) * params.value_vectors;
        #for c in 0..VALUE_COUNT
        if params.column0 + tx + T * $cu < params.value_vectors {
            o[to + params.column0 + tx + T * $cu] = o_$i_$c * share;
        }
        #end
    }
    #end
}
