//! How far a truncated expansion can be from b: proven bounds.
//!
//! **Slices.** For real u, w with |u|, |w| <= r and rho > r let U = u rho/r, W = w rho/r and g(t) = log S(tU, tW), with
//! S = phi2 + phi2 inside and S = 2 phi2 at an end. The part of degree d of b at (u, w) is g_d (r/rho)^d, where
//! g(t) = sum g_d t^d. If S(tU, tW) has no zero for |t| <= 1, then g is analytic there with g(0) = 0, and
//! Re g = log |S| <= A = log(2 phi2(rho)), because |phi2(z)| <= phi2(Re z) <= phi2(rho). Now (Caratheodory)
//!
//! ```text
//! (1/2 pi) int (A - Re g(e^{is})) e^{-ids} ds = -g_d/2 for d >= 1,    so |g_d| <= 2 (1/2 pi) int (A - Re g) ds = 2A,
//! |b - its parts up to degree m| <= sum_{d > m} 2A (r/rho)^d = 2A q^{m+1}/(1 - q),    q = r/rho.
//! ```
//!
//! **No zeros, at an end.** phi2(z) = 0 means e^z = 1 + z, z != 0. For real z only z = 0 solves this. For z = x + iy, y > 0:
//! e^x sin y = y and e^x cos y = 1 + x, so sin y > 0, x = log(y/sin y) >= log y, and y cot y = 1 + x. For 0 < y < pi the left
//! side is below 1 and the right one above. So y > 2 pi, x > log(2 pi), and |z|^2 > 4 pi^2 + log^2(2 pi) > 42.8: there is no
//! zero with |z| <= 13/2. (The nearest ones have |z| = 7.748...)
//!
//! **No zeros, inside.** For (U, W) = rho (1, c), -1 <= c <= 1, or the same with U and W exchanged, the number of zeros of
//! t -> S(tU, tW) in the disc is the same for all c as long as none lies on its border, and for c = 1 it is 0 by the above.
//! That none lies on |t| = 1 is shown for rho = 5 by covering the border and the range of c with cells on which
//! |S| >= |S at the centre| - (bound of the derivative) (distance) > 0, with |phi2'(z)| <= psi(Re z). (Pairs in which both are
//! smaller than rho are covered by larger |t|.)
//!
//! The homogeneous parts converge for real u, w up to about 5.7; as a double series b converges absolutely only where both
//! are below 3.996, the smallest |z| with Re phi2(z) = 0, because phi2(z) + phi2(conj z) is 0 there.

use super::{End, Interior};
use crate::enclosure::Enclosure;
use crate::phi::{phi2, psi};
use rug::float::Round;
use rug::{Float, Rational};
use std::sync::OnceLock;

/// Precision of bounds.
const BITS: u32 = 64;

/// The largest rho for interior nodes.
pub const INTERIOR_RADIUS: u32 = 5;

/// Twice the largest rho for ends.
const TWICE_END_RADIUS: u32 = 13;

fn exact(x: &Rational) -> Enclosure {
    Enclosure::from_rational(BITS, x)
}

/// phi2 at x + iy with |x|, |y| <= 7: sum z^n/(n+2)!. After n = 96 what follows is below 10^97/98! < 2^-180.
fn complex_phi2(x: &Enclosure, y: &Enclosure) -> [Enclosure; 2] {
    let (mut re, mut im) = (Enclosure::one(BITS).shifted(-1), Enclosure::zero(BITS));
    let (mut sum_re, mut sum_im) = (re.clone(), im.clone());
    for n in 1..=96 {
        let by = Enclosure::from_u32(BITS, n + 2);
        (re, im) = ((&re * x - &im * y) / &by, (&re * y + &im * x) / &by);
        sum_re += &re;
        sum_im += &im;
    }
    let tail = Float::with_val(BITS, 1) >> 150u32;
    let tail = Enclosure::between(Float::with_val(BITS, -&tail), tail);
    [sum_re + &tail, sum_im + tail]
}

/// Points z = rho (+-(1 - t^2) + 2ti)/(1 + t^2), 0 <= t <= 1, run over the upper half of the circle with |dz/dt| <= 2 rho;
/// the lower half is its mirror image, and so is S.
#[derive(Clone)]
struct Cell {
    mirrored: bool,
    t: [Rational; 2],
    c: [Rational; 2],
}

impl Cell {
    fn middle([a, b]: &[Rational; 2]) -> Rational {
        Rational::from(a + b) / 2
    }

    fn width([a, b]: &[Rational; 2]) -> Rational {
        Rational::from(b - a)
    }

    /// |S| at the centre, and by how much it can be less elsewhere in the cell.
    fn bounds(&self, rho: &Rational) -> (Enclosure, Enclosure) {
        let (t, c) = (Cell::middle(&self.t), Cell::middle(&self.c));
        let square = Rational::from(t.square_ref());
        let over: Rational = rho / Rational::from(1 + &square);
        let x: Rational = (1 - square) * &over;
        let x = if self.mirrored { -x } else { x };
        let y: Rational = 2 * t * over;
        let (cx, cy) = (Rational::from(&c * &x), Rational::from(&c * &y));
        let [a, b] = complex_phi2(&exact(&x), &exact(&y));
        let [d, e] = complex_phi2(&exact(&cx), &exact(&cy));
        let size = ((a + d).square() + (b + e).square()).sqrt();
        // |z - centre| <= 2 rho (width of t)/2, and |cz - centre| <= that + rho (width of c)/2.
        let first: Rational = rho * Cell::width(&self.t);
        let second: Rational = rho * Cell::width(&self.c) / 2 + &first;
        let loss = |x: &Rational, distance: &Rational| psi(&exact(&Rational::from(x + distance))) * exact(distance);
        (size, loss(&x, &first) + loss(&cx, &second))
    }

    fn halves(&self) -> [Cell; 2] {
        let (mut low, mut high) = (self.clone(), self.clone());
        let along_t = 2 * Cell::width(&self.t) > Cell::width(&self.c);
        let range = if along_t { &self.t } else { &self.c };
        let middle = Cell::middle(range);
        if along_t {
            low.t[1].clone_from(&middle);
            high.t[0] = middle;
        } else {
            low.c[1].clone_from(&middle);
            high.c[0] = middle;
        }
        [low, high]
    }
}

/// A proven lower bound of |phi2(z) + phi2(cz)| for |z| = rho and -1 <= c <= 1; `None` where `cells` do not suffice to
/// find a positive one.
pub fn least_on_circle(rho: &Rational, cells: usize) -> Option<Float> {
    let whole = |mirrored| Cell {
        mirrored,
        t: [Rational::new(), Rational::from(1)],
        c: [Rational::from(-1), Rational::from(1)],
    };
    let mut open = vec![whole(false), whole(true)];
    let mut least: Option<Float> = None;
    let mut seen = 0;
    while let Some(cell) = open.pop() {
        seen += 1;
        if seen > cells {
            return None;
        }
        let (size, loss) = cell.bounds(rho);
        let bound = &size - &loss;
        // At least half of it is left, so that the bound is worth something.
        if *bound.lower() > 0 && bound.lower() >= loss.upper() {
            if least.as_ref().is_none_or(|least| bound.lower() < least) {
                least = Some(bound.lower().clone());
            }
        } else {
            open.extend(cell.halves());
        }
    }
    least
}

/// Whether S has no zero for real directions up to [`INTERIOR_RADIUS`]; proven once.
fn interior_is_certified() -> bool {
    static CERTIFIED: OnceLock<bool> = OnceLock::new();
    *CERTIFIED.get_or_init(|| least_on_circle(&Rational::from(INTERIOR_RADIUS), 100_000).is_some())
}

/// min over some rho of 2A q^{m+1}/(1 - q), rounded up.
fn bound(order: u32, r: &Rational, radius: &Rational) -> Option<Float> {
    if *r < 0 || r >= radius {
        return None;
    }
    let step = Rational::from(radius - r) / 16;
    let at = |k: u32| {
        let rho = Rational::from(&step * k) + r;
        let q = Rational::from(r / &rho);
        let a = phi2(&exact(&rho)).shifted(1).ln();
        let rest = exact(&Rational::from(1 - &q));
        let q = exact(&q);
        let power = (0..=order).fold(Enclosure::one(BITS), |power, _| power * &q);
        (a.shifted(1) * power / rest).upper().clone()
    };
    (1..=16).map(at).reduce(|a, b| if a <= b { a } else { b })
}

/// How far [`Interior`] of this order can be from b where both distances are real and at most r; `None` from
/// [`INTERIOR_RADIUS`] on.
///
/// Proofs: `bias_perturbation`, `taylor2_output_error`.
pub fn interior(order: u32, r: &Rational) -> Option<Float> {
    if interior_is_certified() { bound(order, r, &Rational::from(INTERIOR_RADIUS)) } else { None }
}

/// How far [`End`] of this order can be from b where the distance is real and at most r; `None` from 13/2 on.
pub fn end(order: u32, r: &Rational) -> Option<Float> {
    bound(order, r, &Rational::from((TWICE_END_RADIUS, 2)))
}

/// value +- bound; no information without one.
fn widened(value: Enclosure, bound: Option<Float>) -> Enclosure {
    let p = value.precision();
    match bound {
        None => Enclosure::whole(p),
        Some(bound) => {
            let upper = Float::with_val_round(p, &bound, Round::Up).0;
            value + Enclosure::between(Float::with_val(p, -&upper), upper)
        }
    }
}

fn size(x: &Enclosure) -> Option<Rational> {
    x.abs().upper().to_rational()
}

impl Interior {
    /// b itself, enclosed by the truncated expansion and its remainder.
    pub fn enclose(&self, u: &Enclosure, w: &Enclosure) -> Enclosure {
        let r = size(u).zip(size(w)).map(|(u, w)| u.max(w));
        widened(self.value(u, w), r.and_then(|r| interior(self.order(), &r)))
    }
}

impl End {
    /// b itself, enclosed by the truncated expansion and its remainder.
    pub fn enclose(&self, u: &Enclosure) -> Enclosure {
        widened(self.bias(u), size(u).and_then(|r| end(self.order(), &r)))
    }
}

#[cfg(test)]
mod tests;
