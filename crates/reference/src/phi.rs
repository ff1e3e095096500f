//! The functions of a segment: phi1, phi2, phi3, psi and the first moment, for every real argument.
//!
//! All are integrals over the unit segment of e^{sx} times something that is not negative:
//!
//! | function | integrand | closed form | power series | at 0 |
//! |---|---|---|---|---|
//! | phi1(x) | 1 | (e^x - 1)/x | sum x^n / (n+1)! | 1 |
//! | phi2(x) | 1 - s | (e^x - 1 - x)/x^2 | sum x^n / (n+2)! | 1/2 |
//! | phi3(x) | (1-s)^2/2 | (e^x - 1 - x - x^2/2)/x^3 | sum x^n / (n+3)! | 1/6 |
//! | moment(x) | s | (1 - e^x (1 - x))/x^2 | sum x^n (n+1) / (n+2)! | 1/2 |
//! | psi(x) | s (1-s) | (e^x (x - 2) + x + 2)/x^3 | sum x^n (n+1) / (n+3)! | 1/6 |
//!
//! so each is positive and increasing, and its logarithmic derivative lies in (0, 1), being a mean of s. moment(x) =
//! phi1(x) - phi2(x) = e^x phi2(-x), equation (7).
//!
//! **Intervals** are mapped end by end, or, where their radius r is at most 2^-8, to f(middle) (1 +- 2r), which contains
//! f(middle) e^{+-r}.
//!
//! **|x| < 2^-64: the series.** From the second coefficient on each is at most half of its predecessor (the largest ratio is
//! that of the moment, (n+2)/((n+1)(n+3)) <= 3/8), so what follows the term t_n is at most |t_n| (1/2 + 1/4 + ...) = |t_n|
//! for n >= 1. The value is about that at 0, at least 1/6.
//!
//! **Elsewhere the closed form**, with numerators as they stand in the table. Near 0 a numerator loses k log2(1/|x|) bits, k <= 3
//! the power of x below it, which are added. The largest cancellation on |x| >= 1: psi at -1, where e^{-1} (-3) + 1 = -0.104 is
//! what is left of 1.1, four bits; and phi3 at -1, where -0.132 is left of terms up to 1, three bits. An argument of size 2^k
//! costs k more bits through the exponential, as long as it is not out of MPFR's range.

use crate::enclosure::Enclosure;
use rug::{Float, Integer};

/// Bits that the analysis above can lose, and some to spare.
const GUARD: u32 = 32;

/// Arguments below this power of two take the series.
const SERIES_BELOW: i32 = -64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Phi(u32),
    Moment,
    Psi,
}

/// int_0^1 e^{sx} ds = (e^x - 1)/x, equation (6).
///
/// Proofs: `phi1_recurrence`, `phi1_closed`, `phi1_0`, `phi1_derive`, `phi1_lim`, `phi1_pos`, `phi1_increasing`,
/// `phi1_reflect`.
pub fn phi1(x: &Enclosure) -> Enclosure {
    increasing(Function::Phi(1), x)
}

/// int_0^1 e^{sx} (1 - s) ds = (e^x - 1 - x)/x^2, equation (6).
///
/// Proofs: `phi2_recurrence`, `phi2_closed`, `phi2_0`, `phi2_derive`, `phi2_derive_closed`, `phi2_lim`, `phi2_pos`,
/// `phi2_increasing`, `phin_1`.
pub fn phi2(x: &Enclosure) -> Enclosure {
    increasing(Function::Phi(2), x)
}

/// int_0^1 e^{sx} (1 - s)^2/2 ds = (e^x - 1 - x - x^2/2)/x^3.
///
/// Proofs: `phi3_recurrence`, `phi3_closed`, `phi3_0`, `phi3_derive`, `phi3_lim`, `phi3_pos`, `phi3_increasing`,
/// `phin_recurrence`, `phin_bounds`.
pub fn phi3(x: &Enclosure) -> Enclosure {
    increasing(Function::Phi(3), x)
}

/// int_0^1 e^{sx} s ds = phi1(x) - phi2(x) = e^x phi2(-x), equation (7), without overflow where x is large and negative.
///
/// Proofs: `eq7`, `phi1_shares`.
pub fn moment(x: &Enclosure) -> Enclosure {
    increasing(Function::Moment, x)
}

/// int_0^1 e^{sx} s (1 - s) ds = phi2(x) - 2 phi3(x).
///
/// Proofs: `psi_phi`, `psi_closed`, `psi_0`, `psi_derive`, `psi_lim`, `psi_pos`, `psi_increasing`, `psi_reflect`.
pub fn psi(x: &Enclosure) -> Enclosure {
    increasing(Function::Psi, x)
}

fn increasing(function: Function, x: &Enclosure) -> Enclosure {
    let precision = x.precision();
    let at = |bound: &Float| at_point(function, bound, precision);
    if x.is_exact() {
        return at(x.lower());
    }
    let radius = x.radius();
    if radius.get_exp().is_none_or(|e| e <= -8) && x.is_bounded() {
        let wide = Enclosure::from_float(precision, &radius).shifted(1);
        let one = Enclosure::one(precision);
        return at(&x.midpoint()) * (&one - &wide).hull(&(one + wide));
    }
    let (lower, upper) = (at(x.lower()), at(x.upper()));
    Enclosure::between(lower.lower().clone(), upper.upper().clone())
}

/// The function at a number, or its limit at an infinite bound.
fn at_point(function: Function, x: &Float, precision: u32) -> Enclosure {
    if x.is_infinite() {
        return if x.is_sign_negative() { Enclosure::zero(precision) } else { Enclosure::whole(precision) };
    }
    let exponent = x.get_exp().unwrap_or(i32::MIN);
    let value = if exponent < SERIES_BELOW {
        series(function, x, precision + GUARD)
    } else {
        let lost = if exponent < 2 { 3 * (2 - exponent) } else { 2 * exponent.min(64) };
        closed_form(function, x, precision + GUARD + lost.unsigned_abs())
    };
    value.with_precision(precision)
}

fn series(function: Function, x: &Float, precision: u32) -> Enclosure {
    let x = Enclosure::from_float(precision.max(x.prec()), x).with_precision(precision);
    let order = match function {
        Function::Phi(k) => k,
        Function::Moment => 2,
        Function::Psi => 3,
    };
    // power = x^n / (n + order)!
    let factorial = Enclosure::between(
        Float::with_val(precision, Integer::from(Integer::factorial(order))),
        Float::with_val(precision, Integer::from(Integer::factorial(order))),
    );
    let mut power = Enclosure::one(precision) / factorial;
    let mut sum = power.clone();
    let mut n = 0;
    loop {
        n += 1;
        power = power * &x / Enclosure::from_u32(precision, n + order);
        let term = match function {
            Function::Phi(_) => power.clone(),
            Function::Moment | Function::Psi => &power * Enclosure::from_u32(precision, n + 1),
        };
        sum += &term;
        let size = term.abs();
        let small = size.upper().is_zero() || size.upper().get_exp().is_some_and(|e| e < -(precision as i32));
        if small {
            return sum + (-&size).hull(&size);
        }
    }
}

fn closed_form(function: Function, x: &Float, precision: u32) -> Enclosure {
    let x = Enclosure::from_float(precision.max(x.prec()), x).with_precision(precision);
    let n = |n| Enclosure::from_u32(precision, n);
    let e = x.exp();
    match function {
        Function::Phi(1) => (e - n(1)) / x,
        Function::Phi(2) => (e - n(1) - &x) / x.square(),
        Function::Phi(_) => (e - n(1) - &x - x.square().shifted(-1)) / (&x * x.square()),
        Function::Moment => (n(1) - e * (n(1) - &x)) / x.square(),
        Function::Psi => (e * (&x - n(2)) + &x + n(2)) / (&x * x.square()),
    }
}
