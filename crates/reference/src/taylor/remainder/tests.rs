use super::*;

const P: u32 = 256;

fn number(x: &Rational) -> Enclosure {
    Enclosure::from_rational(P, x)
}

/// |b - truncated| at points of the box |u|, |w| <= r: its border and diagonals, where it is largest.
fn worst(order: u32, r: &Rational) -> [Float; 2] {
    let (interior, end) = (Interior::new(order), End::new(order));
    let mut worst = [Float::new(P), Float::new(P)];
    for i in -4..=4 {
        let u = Rational::from(r * i) / 4;
        let exact = phi2(&number(&u)).ln();
        let error = (exact - end.bias(&number(&u))).abs();
        worst[1] = Float::with_val(P, worst[1].max_ref(error.upper()));
        for j in -4..=4 {
            let w = Rational::from(r * j) / 4;
            let (u, w) = (number(&u), number(&w));
            let error = ((phi2(&u) + phi2(&w)).ln() - interior.value(&u, &w)).abs();
            worst[0] = Float::with_val(P, worst[0].max_ref(error.upper()));
        }
    }
    worst
}

#[test]
fn bounds_hold_and_are_not_vacuous() {
    for r in [(1, 1024), (1, 8), (1, 2), (1, 1), (2, 1), (3, 1), (9, 2)] {
        let r = Rational::from(r);
        for order in [0, 1, 2, 3, 4, 6, 9] {
            let [inside, at_end] = worst(order, &r);
            let bounds = [interior(order, &r).unwrap(), end(order, &r).unwrap()];
            for (kind, error, bound) in [("inside", inside, &bounds[0]), ("end", at_end, &bounds[1])] {
                assert!(error <= *bound, "{kind}, order {order}, r {r}: {error} > {bound}");
                // A thousandth of the bound is not one, at moderate r and order.
                if r >= 0.5 && order <= 2 {
                    let smaller = Float::with_val(P, bound / 1000);
                    assert!(error > smaller, "{kind}, order {order}, r {r}: {error} <= {smaller}");
                }
            }
        }
    }
    assert!(interior(3, &Rational::from(5)).is_none());
    assert!(end(3, &Rational::from((13, 2))).is_none());
}

/// The certificate finds no bound on a circle that a zero touches: z = 2 pi i with c = -1.
#[test]
fn the_certificate_sees_zeros() {
    let least = least_on_circle(&Rational::from(INTERIOR_RADIUS), 100_000).unwrap();
    // Numerically the least value is about 0.0573, at z = 5i, c = -1: (2 - 2 cos 5)/25 = 0.0573.
    assert!(least > 0.02 && least < 0.0574, "{least}");
    let close = Rational::from((6_283_185_307_u64, 1_000_000_000));
    assert!(least_on_circle(&close, 3_000).is_none());
}

#[test]
fn complex_values() {
    let at = |x: f64, y: f64| complex_phi2(&Enclosure::from_f64(BITS, x), &Enclosure::from_f64(BITS, y));
    // (e^{z} - 1 - z)/z^2 at 3i: ((cos 3 - 1) + i(sin 3 - 3))/(-9)
    let [re, im] = at(0.0, 3.0);
    let (cos, sin) = (3f64.cos(), 3f64.sin());
    assert!((re.midpoint().to_f64() - (1.0 - cos) / 9.0).abs() < 1e-15);
    assert!((im.midpoint().to_f64() - (3.0 - sin) / 9.0).abs() < 1e-15);
    let [re, im] = at(-5.0, 0.0);
    assert!(re.overlaps(&phi2(&Enclosure::from_f64(BITS, -5.0))) && im.contains_zero());
}

#[test]
fn expansions_enclose_b() {
    for (u, w) in [(0.0, 0.0), (0.25, -0.125), (-1.0, -1.0), (3.0, -2.0), (4.5, 4.5), (7.0, 0.0)] {
        let (u, w) = (Enclosure::from_f64(P, u), Enclosure::from_f64(P, w));
        for order in [0, 3, 20] {
            assert!(Interior::new(order).enclose(&u, &w).overlaps(&(phi2(&u) + phi2(&w)).ln()));
            assert!(End::new(order).enclose(&u).overlaps(&phi2(&u).ln()));
        }
    }
    let (u, w) = (Enclosure::from_f64(P, 0.25), Enclosure::from_f64(P, -0.125));
    assert!(*Interior::new(24).enclose(&u, &w).radius().as_abs() < 1e-30);
    assert!(!Interior::new(1).enclose(&Enclosure::from_f64(P, 7.0), &w).is_bounded());
}
