//! e^z and log z in double-double.

use super::dd::{Dd, two_sum};
use crate::enclosure::Enclosure;
use rug::{Float, Rational};
use std::sync::LazyLock;

/// Entries of the table of powers of two between 1 and 2.
const STEPS: i32 = 512;

struct Constants {
    /// 2^(j/512)
    powers: Vec<Dd>,
    /// (log 2)/512 as a sum of three numbers: two of 34 bits, so that products with whole numbers below 2^19 are exact
    step: [f64; 3],
    /// 512/log 2
    per_step: f64,
    sixth: Dd,
}

static CONSTANTS: LazyLock<Constants> = LazyLock::new(|| {
    let p = 300;
    let log2 = Enclosure::from_u32(p, 2).ln();
    let step = &log2 / Enclosure::from_u32(p, STEPS as u32);
    let power = |j: i32| Dd::of(&(&step * Enclosure::from_u32(p, j as u32)).exp());
    let mut rest = step.midpoint();
    let mut parts = [0.0; 3];
    for (i, part) in parts.iter_mut().enumerate() {
        *part = Float::with_val(if i < 2 { 34 } else { 53 }, &rest).to_f64();
        rest -= *part;
    }
    Constants {
        powers: (0..STEPS).map(power).collect(),
        step: parts,
        per_step: f64::from(STEPS) / std::f64::consts::LN_2,
        sixth: Dd::of(&Enclosure::from_rational(p, &Rational::from((1, 6)))),
    }
});

/// e^z for z in [-650, 1], off by at most 2^-95 relatively for the z that is given:
///
/// - z = n (log 2)/512 + r with |r| <= 2^-10.5. n times the first two parts of the step is exact, the third part's rounding
///   and the rest of the step are below 2^-112; |z.low| <= 2^-44, so its sum with the third part rounds by at most 2^-97,
///   the double-double sums by less.
/// - e^r - 1 = r + r^2/2 + r^3/6 + r^4 (1/24 + r/120 + r^2/720 + r^3/5040), the rest below |r|^8/8! (1 + ..) < 2^-99. The last
///   term is at most 2^-46.5 and evaluated in plain arithmetic: below 2^-97.5. The others: a few 2^-106 of 2^-10.
/// - times the power of two from the table, off by 2^-106, one product and one sum: 2^-102.
pub(super) fn exp(z: Dd) -> Dd {
    let c = &*CONSTANTS;
    let n = (z.high * c.per_step).round();
    let (h, l) = two_sum(z.high, -n * c.step[0]);
    let r = Dd { high: h, low: l } + Dd::sum(-n * c.step[1], z.low - n * c.step[2]);
    let square = r * r;
    let cube = square * r * c.sixth;
    let fourth = square.high * square.high;
    let x = r.high;
    let tail = fourth * (1.0 / 24.0 + x * (1.0 / 120.0 + x * (1.0 / 720.0 + x * (1.0 / 5040.0))));
    let rise = r + square.half() + (cube + Dd::new(tail));
    let n = n as i32;
    let power = c.powers[n.rem_euclid(STEPS) as usize];
    let scale = f64::from_bits(((1023 + i64::from(n.div_euclid(STEPS))) as u64) << 52);
    (power + power * rise).scaled(scale)
}

/// log z for z in [2^-900, 2^900], off by at most 2^-91: y = log z.high rounded, then y + log(1 + w) with
/// w = z e^-y - 1, |w| <= 2^-40, whose cube is left out. e^-y is found from [-650, 0] by a power of two.
pub(super) fn log(z: Dd) -> Dd {
    // z = m 2^k with m in [1, 2): log z = log m + k log 2, log m in [0, 0.7).
    let bits = z.high.to_bits();
    let k = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let half = |k: i32| f64::from_bits(((1023 + i64::from(k)) as u64) << 52);
    let m = z.scaled(half(-k / 2)).scaled(half(-(k - k / 2)));
    let y = m.high.ln();
    let w = m * exp(Dd::new(-y)) - Dd::new(1.0);
    let log_m = Dd::new(y) + (w - (w * w).half());
    let step = &CONSTANTS.step;
    let whole = f64::from(k) * f64::from(STEPS);
    let log2 = Dd::sum(whole * step[0], whole * step[1]) + Dd::new(whole * step[2]);
    log2 + log_m
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: Dd, exact: &Enclosure, relative: bool, bits: i32, at: f64) {
        let found = Enclosure::from_f64(300, found.high) + Enclosure::from_f64(300, found.low);
        let mut error = (found - exact).abs();
        if relative {
            error = error / exact.abs();
        }
        let size = error.upper().get_exp().unwrap_or(i32::MIN);
        assert!(size <= -bits, "at {at}: 2^{size}");
    }

    #[test]
    fn exponentials_and_logarithms_keep_their_bounds() {
        let mut state = 5u64;
        for round in 0..15_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
            let z = match round % 3 {
                0 => -650.0 * unit,
                1 => -(unit * -60.0).exp2() * unit,
                _ => -20.0 * unit,
            };
            let z = Dd::sum(z, z * f64::EPSILON * (unit - 0.5) * 0.9);
            let exact = (Enclosure::from_f64(300, z.high) + Enclosure::from_f64(300, z.low)).exp();
            check(exp(z), &exact, true, 95, z.high);
            let y = Dd::sum((1790.0 * (unit - 0.5)).exp2(), 0.0);
            let y = Dd::sum(y.high, y.high * f64::EPSILON * (unit - 0.5) * 0.9);
            let exact = (Enclosure::from_f64(300, y.high) + Enclosure::from_f64(300, y.low)).ln();
            check(log(y), &exact, false, 91, y.high);
        }
        assert_eq!(exp(Dd::ZERO), Dd::new(1.0));
        assert_eq!(log(Dd::new(1.0)), Dd::ZERO);
    }
}
