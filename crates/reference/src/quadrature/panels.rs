//! A part of a segment as points, weights and a bound of the error.

use super::legendre::{Legendre, power};
use crate::enclosure::Enclosure;
use crate::exact::{Radicand, Term};
use rug::Rational;

/// How far the exponent may run on a panel.
pub(super) const REACH: u32 = 4;

/// int_0^1 e^{a(s) - peak} Q(s) ds = sum weight Q(point) + error, where
/// |error| <= `bounds[0]` max|Q| + `bounds[1]` max|Q'| + `bounds[2]` max|Q''|, for polynomials Q of degree at most 2.
pub(super) struct Panels {
    pub(super) points: Vec<(Enclosure, Enclosure)>,
    pub(super) bounds: [Enclosure; 3],
}

impl Panels {
    /// Of a part on which the curve is read as having no exponential.
    pub(super) fn flat(rule: &Legendre, p: u32) -> Panels {
        // Degree 2 is integrated exactly.
        Panels { points: rule.points.clone(), bounds: [Enclosure::zero(p), Enclosure::zero(p), Enclosure::zero(p)] }
    }

    /// Panels run from the larger end, each long enough for the exponent to fall by REACH or less, until it has fallen by
    /// `bits` powers of two; what is left is bounded by its length times its largest value.
    ///
    /// On a panel with exponent a_0 + y t the derivative of order 2N of e^{yt} Q is at most
    /// e^max (|y|^{2N} |Q| + 2N |y|^{2N-1} |Q'| + N(2N-1) |y|^{2N-2} |Q''|), derivatives of Q taken along t; those along s
    /// are not smaller.
    pub(super) fn of(rule: &Legendre, term: &Term, radicand: Radicand, bits: u32, p: u32) -> Panels {
        let rise = Rational::from(&term.to - &term.from);
        if rise.is_zero() {
            return Panels::flat(rule, p);
        }
        let falls = rise < 0;
        let fall = Enclosure::from_rational(p, &rise.abs()) * radicand.root(p); // y > 0 along the way down
        let whole = fall.upper().to_f64();
        let needed = (f64::from(bits) * std::f64::consts::LN_2 / f64::from(REACH)).ceil() + 1.0;
        let all = (whole / f64::from(REACH)).ceil().max(1.0);
        let count = all.min(needed) as u32;
        // Each panel has the width 1/count of the part, or REACH/y where a tail is left.
        let cut = all > needed;
        let step = if cut { Enclosure::from_u32(p, REACH) / &fall } else { Enclosure::from_u32(p, count).recip() };
        let y = &fall * &step;
        let falling: Vec<Enclosure> = rule.points.iter().map(|(t, _)| (-(&y * t)).exp()).collect();
        let drop = (-&y).exp();
        let mut height = Enclosure::one(p);
        let mut points = Vec::new();
        let mut heights = Enclosure::zero(p);
        for panel in 0..count {
            for ((t, weight), fallen) in rule.points.iter().zip(&falling) {
                let along = (Enclosure::from_u32(p, panel) + t) * &step;
                let s = if falls { along } else { Enclosure::one(p) - along };
                points.push((s, &height * fallen * weight * &step));
            }
            heights += &height;
            height = height * &drop;
        }
        let n = 2 * rule.points.len() as u32;
        let scale = heights * &step * &rule.remainder;
        let number = |n: u32| Enclosure::from_u32(p, n);
        let mut bounds = [
            &scale * power(&y, n),
            &scale * number(n) * power(&y, n - 1),
            &scale * number(n / 2) * number(n - 1) * power(&y, n - 2),
        ];
        if cut {
            bounds[0] += height;
        }
        Panels { points, bounds }
    }

    /// The integral of e^{a - peak} A B for two linear functions by their values at both ends.
    pub(super) fn integral(&self, a: (&Enclosure, &Enclosure), b: (&Enclosure, &Enclosure)) -> Enclosure {
        let p = a.0.precision();
        let (a_slope, b_slope) = (a.1 - a.0, b.1 - b.0);
        let mut sum = Enclosure::zero(p);
        for (s, weight) in &self.points {
            sum += weight * (a.0 + &a_slope * s) * (b.0 + &b_slope * s);
        }
        let size = |x: (&Enclosure, &Enclosure)| Enclosure::zero(p).hull(&x.0.abs()).hull(&x.1.abs());
        let (a_size, b_size) = (size(a), size(b));
        let first = &a_slope.abs() * &b_size + &b_slope.abs() * &a_size;
        let second = (a_slope.abs() * b_slope.abs()).shifted(1);
        let error = &self.bounds[0] * a_size * b_size + &self.bounds[1] * first + &self.bounds[2] * second;
        sum + (-&error).hull(&error)
    }
}
