//! What a part of a segment gives to its two ends per unit of its length.

use super::dd::Dd;
use contattn_core::Rule;

/// Below this |x| the series is used.
const SMALL: f64 = 1.0 / 64.0;

/// (L', R') for duration 1, from the exponentials at both ends and x = to - from, each exponential off by at most rho
/// relatively, x by 3 u^2. Off by at most theta = 2^-79 relatively, for rho = 2^-94.4.
///
/// **|x| >= 1/64**, M the larger exponential: the mass (E1 - E0)/x is off by (2 rho M)/|x| and some u^2, so L = (mass - E0)/x by
/// M (2 rho/x^2 + rho/|x|), and R alike. The larger end's share is at least M/(2 + |x|), the smaller end's at least
/// M/(2 + 2|x| + x^2) (both follow from 2 e^x >= 2 + 2x + x^2 and (2+x) e^{-x} >= 2 - x), where for the smaller end its own
/// exponential M e^{-|x|} stands in place of the last M. Either way the relative error is largest at |x| = 1/64, where it is
/// 2.02 (2^13 + 2^6) rho < 2^14.1 rho < 2^-80.2.
///
/// **|x| < 1/64**: L = E0 phi2(x) by its series to x^10, the rest below 2^-90; terms from x^6/8! < 2^-51 on in plain arithmetic.
/// R = E0 (1 - (1 - x) phi2(x)), where 0.49 is left of 1. Off by rho + 2^-90 at most.
#[inline(always)]
pub(super) fn shares(rule: Rule, e0: Dd, e1: Dd, x: Dd) -> (Dd, Dd) {
    match rule {
        Rule::Step => (Dd::ZERO, e1),
        Rule::Trapezoid => (e0.half(), e1.half()),
        _ if x.high.abs() >= SMALL => {
            let inverse = Dd::new(1.0) / x;
            let mass = (e1 - e0) * inverse;
            ((mass - e0) * inverse, (e1 - mass) * inverse)
        }
        _ => {
            let phi2 = phi2_small(x);
            let rest = Dd::new(1.0) - (Dd::new(1.0) - x) * phi2;
            (e0 * phi2, e0 * rest)
        }
    }
}

/// 1/n! as a double-double, from exact quotients: n! below is exact in an `f64`.
const fn inverse_factorial(n: u32) -> Dd {
    let mut factorial = 1.0;
    let mut i = 2;
    while i <= n {
        factorial *= i as f64;
        i += 1;
    }
    let high = 1.0 / factorial;
    // 1 - high n! is exact: split high into halves, n! has at most 26 bits here.
    let c = 134_217_729.0 * high;
    let top = c - (c - high);
    let low = ((1.0 - top * factorial) - (high - top) * factorial) / factorial;
    Dd { high, low }
}

const COEFFICIENTS: [Dd; 6] = [
    inverse_factorial(2),
    inverse_factorial(3),
    inverse_factorial(4),
    inverse_factorial(5),
    inverse_factorial(6),
    inverse_factorial(7),
];

fn phi2_small(x: Dd) -> Dd {
    let y = x.high;
    let tail =
        1.0 / 40320.0 + y * (1.0 / 362_880.0 + y * (1.0 / 3_628_800.0 + y * (1.0 / 39_916_800.0 + y / 479_001_600.0)));
    let mut sum = Dd::new(tail);
    for c in COEFFICIENTS.into_iter().rev() {
        sum = sum * x + c;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::exp::exp;
    use super::*;
    use crate::enclosure::Enclosure;
    use crate::phi::{moment, phi2};

    #[test]
    fn shares_keep_their_bound() {
        let mut state = 7u64;
        for round in 0..10_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
            let size = match round % 4 {
                0 => SMALL * (0.999 + 0.002 * unit),
                1 => 3.0 * unit,
                2 => (-60.0 * unit).exp2(),
                _ => 500.0 * unit,
            };
            let down = Dd::sum(-size, -size * f64::EPSILON * 0.3 * unit);
            let (one, small) = (Dd::new(1.0), exp(down));
            let y = Enclosure::from_f64(250, down.high) + Enclosure::from_f64(250, down.low);
            let exact = (phi2(&y), moment(&y)); // larger end, smaller end
            for (falls, found) in
                [(true, shares(Rule::Linear, one, small, down)), (false, shares(Rule::Linear, small, one, -down))]
            {
                let (larger, smaller) = if falls { found } else { (found.1, found.0) };
                for (found, exact) in [(larger, &exact.0), (smaller, &exact.1)] {
                    let found = Enclosure::from_f64(250, found.high) + Enclosure::from_f64(250, found.low);
                    let error = ((found - exact) / exact).abs();
                    let size = error.upper().get_exp().unwrap_or(i32::MIN);
                    assert!(size <= -79, "{down:?}: 2^{size}");
                }
            }
        }
    }

    #[test]
    fn inverse_factorials_are_accurate() {
        for (i, c) in COEFFICIENTS.into_iter().enumerate() {
            let n = rug::Integer::from(rug::Integer::factorial(i as u32 + 2));
            let exact = Enclosure::from_rational(250, &rug::Rational::from((rug::Integer::from(1), n)));
            let found = Enclosure::from_f64(250, c.high) + Enclosure::from_f64(250, c.low);
            let error = (found - exact).abs();
            assert!(error.upper().get_exp().is_none_or(|e| e < -100), "{i}: {error:?}");
        }
    }
}
