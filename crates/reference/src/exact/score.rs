//! q . k exactly, and the square-free part of head_dim.

use crate::enclosure::Enclosure;
use rug::{Integer, Rational};

/// A square-free whole number m.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Radicand(u64);

impl Radicand {
    /// sqrt 1: everything is rational.
    pub const ONE: Radicand = Radicand(1);

    /// 1/sqrt(head_dim) = factor sqrt m: with head_dim = f^2 m the factor is 1/(f m).
    pub fn inverse_root(head_dim: usize) -> (Radicand, Rational) {
        let (mut m, mut f) = (head_dim as u64, 1u64);
        let mut p = 2;
        while p * p <= m {
            while m.is_multiple_of(p * p) {
                m /= p * p;
                f *= p;
            }
            p += 1;
        }
        (Radicand(m), Rational::from((1, f * m)))
    }

    /// m
    pub fn value(self) -> u64 {
        self.0
    }

    /// Bounds of sqrt m.
    pub fn root(self, precision: u32) -> Enclosure {
        let m = Enclosure::from_rational(precision.max(64), &Rational::from(self.0));
        m.with_precision(precision.max(64)).sqrt().with_precision(precision)
    }
}

/// x = mantissa 2^exponent with |mantissa| < 2^53, for finite x.
fn parts(x: f64) -> (i64, i32) {
    let bits = x.to_bits();
    let biased = ((bits >> 52) & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (mantissa, exponent) = if biased == 0 { (fraction, -1074) } else { (fraction | (1 << 52), biased - 1075) };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    let mantissa = mantissa >> zeros;
    (if x < 0.0 { -mantissa } else { mantissa }, exponent + zeros as i32)
}

/// sum x_c y_c, or `None` where one of the numbers is NaN or infinite.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> Option<Rational> {
    if !x.iter().chain(y).all(|x| x.is_finite()) {
        return None;
    }
    let products = || {
        x.iter().zip(y).map(|(&x, &y)| {
            let ((m, e), (n, f)) = (parts(x), parts(y));
            (i128::from(m) * i128::from(n), e + f)
        })
    };
    let smallest = products().filter(|p| p.0 != 0).map(|p| p.1).min();
    let Some(smallest) = smallest else { return Some(Rational::new()) };
    // Shifted to the common exponent; in 128 bits as long as that surely fits, with room for 2^15 summands.
    let fits = x.len() < 1 << 15
        && products().all(|(m, e)| m == 0 || (128 - m.unsigned_abs().leading_zeros() as i32) + (e - smallest) < 112);
    let sum = if fits {
        Integer::from(products().filter(|p| p.0 != 0).map(|(m, e)| m << (e - smallest)).sum::<i128>())
    } else {
        products()
            .filter(|p| p.0 != 0)
            .fold(Integer::new(), |sum, (m, e)| sum + (Integer::from(m) << (e - smallest).unsigned_abs()))
    };
    Some(Rational::from(sum) << smallest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_free_parts() {
        for (d, m, f) in
            [(1, 1, 1), (3, 3, 1), (64, 1, 8), (80, 5, 4), (72, 2, 6), (256, 1, 16), (128, 2, 8), (97, 97, 1)]
        {
            assert_eq!(Radicand::inverse_root(d), (Radicand(m), Rational::from((1, f * m))), "{d}");
        }
    }

    #[test]
    fn dot_products_are_those_of_rationals() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 11
        };
        for round in 0..500 {
            let spread = if round % 2 == 0 { 20 } else { 900 };
            let mut number = || {
                let x = (next() as f64 / (1u64 << 52) as f64) - 1.0;
                let e = (next() % (2 * spread + 1)) as i32 - spread as i32;
                if next().is_multiple_of(7) { 0.0 } else { x * 2f64.powi(e) }
            };
            let x: Vec<f64> = (0..9).map(|_| number()).collect();
            let y: Vec<f64> = (0..9).map(|_| number()).collect();
            let rational = |x: f64| Rational::from_f64(x).unwrap();
            let expected = x.iter().zip(&y).fold(Rational::new(), |s, (&x, &y)| s + rational(x) * rational(y));
            assert_eq!(dot(&x, &y), Some(expected));
        }
        assert_eq!(dot(&[5e-324, f64::MAX], &[5e-324, f64::MAX]).map(|r| r > 0), Some(true));
        assert_eq!(dot(&[1.0], &[f64::NAN]), None);
        assert_eq!(dot(&[f64::INFINITY], &[0.0]), None);
    }
}
