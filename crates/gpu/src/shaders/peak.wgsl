// What the device can do: chains of fused multiply-adds in registers, 32 at a time, so that none waits for another.

@group(0) @binding(0) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let x = vec4<f32>(1.0 - f32(id.x % 7u) * 1e-7);
    let y = vec4<f32>(f32(id.x % 5u) * 1e-7);
    #for i in 0..8
    var a_$i = vec4<f32>(f32($i) + f32(id.x % 3u));
    #end
    for (var n = 0u; n < 256u; n += 1u) {
        #for u in 0..8
        #for i in 0..8
        a_$i = fma(a_$i, x, y);
        #end
        #end
    }
    #for i in 1..8
    a_0 += a_$i;
    #end
    out[id.x] = a_0.x + a_0.y + a_0.z + a_0.w;
}
