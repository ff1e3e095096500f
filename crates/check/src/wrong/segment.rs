//! What a segment gives to its two nodes, in `f64`, anchored at the higher one.
//!
//! With y = -|x| and t the way from the higher end:
//!
//! ```text
//! high = int e^{yt} (1-t) dt = (e^y - 1 - y)/y^2 = sum y^n/(n+2)!
//! low  = int e^{yt} t dt     = (e^y (y-1) + 1)/y^2 = sum y^n (n+1)/(n+2)!
//! both = int e^{yt} t (1-t) dt = (y (e^y + 1) - 2 (e^y - 1))/y^3 = sum y^n (n+1)/(n+3)!
//! ```

use super::Mistake;
use contattn_core::Part;
use contattn_core::Rule;

/// L, R and h for a duration of 1, in units of e^{the larger score}.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) both: f64,
}

/// sum over n of y^n c(n)/(n+2)!, for |y| < 2: the 30 terms reach below 2^-60.
fn series(y: f64, coefficient: fn(f64) -> f64) -> f64 {
    let (mut sum, mut power) = (0.0, 0.5);
    for n in 0..30 {
        let n = f64::from(n);
        sum += power * coefficient(n);
        power *= y / (n + 3.0);
    }
    sum
}

/// (high, low, both) at y <= 0.
fn moments(y: f64, mistake: Option<Mistake>) -> (f64, f64, f64) {
    let e = libm::exp(y);
    if mistake == Some(Mistake::NaivePhi) {
        let high = if y == 0.0 { 0.5 } else { (libm::expm1(y) - y) / (y * y) };
        let mass = if y == 0.0 { 1.0 } else { libm::expm1(y) / y };
        return (high, mass - high, series(y.max(-2.0), |n| (n + 1.0) / (n + 3.0)));
    }
    let both = if y > -2.0 {
        series(y, |n| (n + 1.0) / (n + 3.0))
    } else {
        // By halves, so that y^3 cannot overflow.
        ((e + 1.0) - 2.0 * ((e - 1.0) / y)) / y / y
    };
    if y > -1.0 {
        (series(y, |_| 1.0), series(y, |n| n + 1.0), both)
    } else {
        let mass = (e - 1.0) / y;
        let high = (mass - 1.0) / y;
        let low = if mistake == Some(Mistake::MassMinusLeft) { mass - high } else { (e - mass) / y };
        (high, low, both)
    }
}

/// The shares of a whole segment whose scores rise by x.
pub(super) fn whole(rule: Rule, x: f64, mistake: Option<Mistake>) -> Shares {
    match rule {
        Rule::Step => Shares { right: 1.0, ..Shares::default() },
        Rule::Trapezoid => {
            let low = 0.5 * libm::exp(-x.abs());
            if x > 0.0 {
                Shares { left: low, right: 0.5, both: 0.0 }
            } else {
                Shares { left: 0.5, right: low, both: 0.0 }
            }
        }
        Rule::Linear | Rule::Taylor(_) => {
            if mistake == Some(Mistake::LeftAnchor) && x > 0.0 {
                // e^{-x} (phi2(x), phi1(x) - phi2(x), psi(x)), each of which overflows with e^x.
                let e = libm::exp(x);
                let back = 1.0 / e;
                let (high, low, both) = moments(-x, None);
                return Shares { left: low * e * back, right: high * e * back, both: both * e * back };
            }
            let (high, low, both) = moments(-x.abs(), mistake);
            if x > 0.0 { Shares { left: low, right: high, both } } else { Shares { left: high, right: low, both } }
        }
    }
}

/// L = L'(1-alpha) + R'(1-beta), R = L' alpha + R' beta, h = alpha (1-alpha) L' + beta (1-beta) R' + lambda^2 h', all times
/// lambda, of the shares for the part's own rise.
pub(super) fn cut(rule: Rule, part: &Part, own: Shares, mistake: Option<Mistake>) -> Shares {
    if rule == Rule::Step {
        return Shares { right: part.lambda, ..Shares::default() };
    }
    if part.is_whole() {
        return own;
    }
    if mistake == Some(Mistake::CutByLength) {
        return Shares { left: own.left * part.lambda, right: own.right * part.lambda, both: own.both * part.lambda };
    }
    let (l, r) = (own.left * part.lambda, own.right * part.lambda);
    let both = match rule {
        Rule::Trapezoid => 0.0,
        _ => part.lambda * part.lambda * part.lambda * own.both,
    };
    Shares {
        left: l * part.one_minus_alpha + r * part.one_minus_beta,
        right: l * part.alpha + r * part.beta,
        both: part.alpha * part.one_minus_alpha * l + part.beta * part.one_minus_beta * r + both,
    }
}
