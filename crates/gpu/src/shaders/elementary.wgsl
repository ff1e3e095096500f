// e^x for x <= 80; 0 below -87.3, where it leaves the normal numbers.
//
//     n = round(x / log 2)     r = x - n log 2  in [-0.347, 0.347]     e^x = 2^n e^r
//
// log 2 is taken in two parts, of which n times the first is exact, so that r is good to one rounding whether or not products and
// sums are fused. e^r = 1 + r p(r), p minimax of degree 5: 0.18 u (u = 2^-24). With its evaluation the error is at most 3 u.
// WGSL's own exp is only promised to (3 + 2|x|) units in the last place.
fn exp_of(x: f32) -> f32 {
    let y = clamp(x, -87.3, 80.0);
    let n = round(y * 1.44269504);
    let r = (y - n * 0.693359375) + n * 2.12194440e-4;
    var p = 1.3933820882812142e-3;
    p = fma(p, r, 8.369292132556438e-3);
    p = fma(p, r, 4.1666463017463684e-2);
    p = fma(p, r, 0.16666503250598907);
    p = fma(p, r, 0.5);
    p = fma(p, r, 1.0);
    p = fma(p, r, 1.0);
    let scale = bitcast<f32>(u32(i32(n) + 127) << 23u);
    return select(0.0, p * scale, x >= -87.3);
}
