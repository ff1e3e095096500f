// g/z and (g.o - g_lse)/z of each row, before the backward pass: one thread a row. Rows whose Z is out of range are left to the host.

#include params

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> o: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> g_lse: array<f32>;
@group(0) @binding(3) var<storage, read_write> state: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> g: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = params.work0 + id.x;
    if at >= params.tiles {
        return;
    }
    let sums = state[at];
    var share = 0.0;
    if sums.y >= SMALLEST && sums.y <= LARGEST {
        share = 1.0 / sums.y;
    }
    var through = -g_lse[at];
    let start = at * params.value_vectors;
    for (var c = 0u; c < params.value_vectors; c += 1u) {
        let x = g[start + c];
        let y = o[start + c];
        through = fma(x.x, y.x, through);
        through = fma(x.y, y.y, through);
        through = fma(x.z, y.z, through);
        through = fma(x.w, y.w, through);
        g[start + c] = x * share;
    }
    // m of a row without a sum is beyond any score: 0 keeps its exponentials within range.
    state[at] = vec4<f32>(select(0.0, sums.x, share > 0.0), sums.y, through * share, 0.0);
}
