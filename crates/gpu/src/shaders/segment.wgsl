// What a segment gives to its two nodes, one function for each rule: the twins of the CPU's `tiled/segment.rs`.
//
// The closed forms divide by x where |x| >= 1 alone, and the series take x held to [-1, 1]: no branch that is not taken makes
// an infinity. A quotient of WGSL is good to 2.5 units in the last place; with exponentials good to 3 u, L and R are good to 40 u.
struct Shares {
    left: f32,
    right: f32,
}

struct Diffusing {
    left: f32,
    right: f32,
    diffusion: f32,
}

// phi2(x) on [-1, 1]: degree 6, minimax in relative error, 1.5 u.
fn phi2(x: f32) -> f32 {
    var p = 2.4960813e-5;
    p = fma(p, x, 2.0325484e-4);
    p = fma(p, x, 1.3891335e-3);
    p = fma(p, x, 8.33093e-3);
    p = fma(p, x, 4.1666515e-2);
    p = fma(p, x, 1.6666695e-1);
    return fma(p, x, 0.5);
}

// psi(x) on [-1, 1]: degree 6, minimax in relative error, 3.5 u.
fn psi(x: f32) -> f32 {
    var p = 1.924577e-5;
    p = fma(p, x, 1.5265262e-4);
    p = fma(p, x, 9.925223e-4);
    p = fma(p, x, 5.5536726e-3);
    p = fma(p, x, 2.499978e-2);
    p = fma(p, x, 8.333356e-2);
    return fma(p, x, 1.6666669e-1);
}

// Linear: from x = a_1 - a_0, D E_0 and D E_1.
//
//     |x| < 1     L = D E0 phi2(x)         mass = D E0 + x L         R = mass - L            h = D E0 psi(x)
//     |x| >= 1    mass = (D E1 - D E0)/x   L = (mass - D E0)/x       R = (D E1 - mass)/x     h = (R - L)/x
fn linear_shares(x: f32, e0: f32, e1: f32) -> Shares {
    let near = abs(x) < 1.0;
    let r = 1.0 / select(x, 1.0, near);
    let t = clamp(x, -1.0, 1.0);
    let far_mass = (e1 - e0) * r;
    let near_left = e0 * phi2(t);
    let left = select((far_mass - e0) * r, near_left, near);
    let right = select((e1 - far_mass) * r, fma(t, near_left, e0) - near_left, near);
    return Shares(left, right);
}

fn linear_diffusing(x: f32, e0: f32, e1: f32) -> Diffusing {
    let near = abs(x) < 1.0;
    let r = 1.0 / select(x, 1.0, near);
    let t = clamp(x, -1.0, 1.0);
    let far_mass = (e1 - e0) * r;
    let far_left = (far_mass - e0) * r;
    let far_right = (e1 - far_mass) * r;
    let near_left = e0 * phi2(t);
    #if MISTAKE == 5
    let near_diffusion = 0.99 * e0 * psi(t);
    #else
    let near_diffusion = e0 * psi(t);
    #end
    let diffusion = select((far_right - far_left) * r, near_diffusion, near);
    let left = select(far_left, near_left, near);
    // R - L = x h
    let right = select(far_right, fma(t, near_diffusion, near_left), near);
    return Diffusing(left, right, diffusion);
}

// Step: L = 0, R = D E1, h = 0.
fn step_shares(x: f32, e0: f32, e1: f32) -> Shares {
    return Shares(0.0, e1);
}

fn step_diffusing(x: f32, e0: f32, e1: f32) -> Diffusing {
    return Diffusing(0.0, e1, 0.0);
}

// Trapezoid: L = D E0/2, R = D E1/2, h = 0.
fn trapezoid_shares(x: f32, e0: f32, e1: f32) -> Shares {
    return Shares(0.5 * e0, 0.5 * e1);
}

fn trapezoid_diffusing(x: f32, e0: f32, e1: f32) -> Diffusing {
    return Diffusing(0.5 * e0, 0.5 * e1, 0.0);
}

// The rule of this shader.
fn rule_shares(x: f32, e0: f32, e1: f32) -> Shares {
    return $rule_shares(x, e0, e1);
}

fn rule_diffusing(x: f32, e0: f32, e1: f32) -> Diffusing {
    return $rule_diffusing(x, e0, e1);
}
