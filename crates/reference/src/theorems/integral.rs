//! Integrals of an exponential times a polynomial over the unit segment, by Taylor models on panels.
//!
//! Shares nothing with the closed forms, the power series of phi, or the Gauss-Legendre quadrature.

use crate::enclosure::Enclosure;
use rug::{Float, Rational};

/// int_0^1 e^{xs - max(x, 0)} Q(s) ds for Q(s) = q_0 + q_1 s + ...
///
/// Measured from its larger end the exponential falls: e^{-yt}, y = |x|, t = s or 1 - s. The unit segment is cut into
/// panels [t_0, t_0 + h] with yh <= 2; there, with tau = (t - t_0)/h,
///
/// ```text
/// h e^{-y t_0} sum_{n <= N} (-yh)^n/n! int_0^1 tau^n Q(t_0 + h tau) dtau
/// ```
///
/// and what follows the N-th term is at most (yh)^{N+1}/(N+1)! max|Q| h e^{-y t_0}, the Lagrange remainder of e^{-yh tau}.
/// Panels end once the exponential has fallen below 2^-bits; what is left is at most that times max|Q|.
pub(super) fn integral(x: &Rational, q: &[Enclosure], precision: u32) -> Enclosure {
    let p = precision + 48;
    let y = Rational::from(x.abs_ref());
    let q: Vec<Enclosure> = q.iter().map(|c| c.with_precision(p)).collect();
    let q = if *x > 0 { shifted(&q, &Enclosure::one(p), &-Enclosure::one(p)) } else { q };
    let size = q.iter().fold(Enclosure::zero(p), |sum, c| sum + c.abs()); // max|Q| on [0, 1]
    let reach = Rational::from(&y / 2u32);
    let whole = reach.ceil_ref();
    let whole = rug::Integer::from(whole).max(rug::Integer::from(1));
    // A polynomial that is 0 at the larger end leaves 1/y^2 of it; e^{-2 n} < 2^-bits for n > 0.347 bits.
    let bits = p + 2 * u32::try_from(magnitude(&y) + 1).unwrap_or(0) + 8;
    let enough = bits * 35 / 100 + 1;
    let cut = whole > enough;
    let panels = if cut { enough } else { whole.to_u32().unwrap_or(enough) };
    let h = if cut { Rational::from(2) / &y } else { Rational::from((1, panels)) };
    let step = Enclosure::from_rational(p, &Rational::from(&y * &h));
    let drop = (-&step).exp();
    let width = Enclosure::from_rational(p, &h);
    let mut height = Enclosure::one(p);
    let mut sum = Enclosure::zero(p);
    for panel in 0..panels {
        let start = Enclosure::from_rational(p, &Rational::from(&h * panel));
        let local = shifted(&q, &start, &width);
        let mut power = Enclosure::one(p); // (-yh)^n/n!
        let mut inner = Enclosure::zero(p);
        for n in 0.. {
            for (k, c) in local.iter().enumerate() {
                inner += &power * c / Enclosure::from_u32(p, n + k as u32 + 1);
            }
            power = -(power * &step) / Enclosure::from_u32(p, n + 1);
            let rest = power.abs() * &size;
            if rest.upper().is_zero() || rest.upper().get_exp().is_some_and(|e| e < -(bits as i32)) {
                inner += (-&rest).hull(&rest);
                break;
            }
        }
        sum += &height * inner * &width;
        height = height * &drop;
    }
    if cut {
        let rest = height * size;
        sum += (-&rest).hull(&rest);
    }
    sum.with_precision(precision)
}

/// The coefficients of Q(a + b tau) in tau, by Horner's rule.
fn shifted(q: &[Enclosure], a: &Enclosure, b: &Enclosure) -> Vec<Enclosure> {
    let p = a.precision();
    let mut result: Vec<Enclosure> = Vec::new();
    for c in q.iter().rev() {
        let mut next = vec![Enclosure::zero(p); result.len() + 1];
        for (k, r) in result.iter().enumerate() {
            next[k] += r * a;
            next[k + 1] += r * b;
        }
        next[0] += c;
        result = next;
    }
    result.truncate(q.len());
    result
}

/// e^{max(x, 0)}, the unit of [`integral`].
pub(super) fn unit(x: &Rational, precision: u32) -> Enclosure {
    if *x > 0 { Enclosure::from_rational(precision, x).exp() } else { Enclosure::one(precision) }
}

/// About log2 |x|, from either side by at most 1; 0 for 0.
pub(super) fn magnitude(x: &Rational) -> i64 {
    if x.is_zero() {
        return 0;
    }
    i64::from(x.numer().significant_bits()) - i64::from(x.denom().significant_bits())
}

/// An enclosure of the larger size of some numbers, at least 2^-bits of it from below.
pub(super) fn largest(numbers: &[&Enclosure]) -> Enclosure {
    let p = numbers.iter().map(|x| x.precision()).max().unwrap_or(64);
    let mut largest = Float::new(p);
    for x in numbers {
        let size = x.abs();
        if *size.lower() > largest {
            largest.clone_from(size.lower());
        }
    }
    Enclosure::from_float(p, &largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phi::{moment, phi1, phi2, psi};

    #[test]
    fn against_the_functions() {
        let p = 128;
        for x in [0.0, 1e-300, -0.3, 0.7, -5.0, 12.5, -1e3, 1e3, -1e7, 268_435_456.0] {
            let exact = Rational::from_f64(x).unwrap();
            let number = |n: i32| Enclosure::from_rational(p, &Rational::from(n));
            let arg = Enclosure::from_f64(p, x);
            let unit = unit(&exact, p);
            for (q, f) in [
                (vec![number(1)], phi1(&arg)),
                (vec![number(1), number(-1)], phi2(&arg)),
                (vec![number(0), number(1)], moment(&arg)),
                (vec![number(0), number(1), number(-1)], psi(&arg)),
            ] {
                let value = integral(&exact, &q, p) * &unit;
                assert!(value.overlaps(&f), "{x}: {value:?} {f:?}");
                assert!(value.relative_width() < 2f64.powi(-80), "{x}: {value:?}");
            }
        }
    }
}
