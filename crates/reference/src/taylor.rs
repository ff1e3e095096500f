//! The Taylor expansion of the bias b, with exact coefficients.
//!
//! A node with two neighbours on the unit time line has b = log(phi2(u) + phi2(w)), u and w the neighbours' scores less its
//! own (equation (13)); a node with one has b = log phi2(u) = -log 2 + log(2 phi2(u)).
//!
//! S = phi2(u) + phi2(w) has the homogeneous parts S_d = (u^d + w^d)/(d+2)!, S_0 = 1. Applying u d/du + w d/dw to S = e^b
//! and taking parts of degree d gives those of b:
//!
//! ```text
//! d B_d = d S_d - sum_{j=1}^{d-1} j B_j S_{d-j}
//! ```
//!
//! and the same in one variable with S_d = 2 u^d/(d+2)!.
//!
//! What a truncated expansion leaves out is bounded in [`remainder`]; its first order as a short convolution along the key
//! axis is [`ShortConvolution`].
//!
//! ```
//! use contattn_reference::taylor::{End, Interior};
//! assert_eq!(Interior::new(2).to_string(), "(u + w)/6 + (u^2 - u w + w^2)/36");
//! assert_eq!(End::new(3).to_string(), "-log 2 + u/3 + u^2/36 + u^3/810");
//! ```

pub mod convolution;
mod print;
pub mod remainder;

pub use convolution::ShortConvolution;

use crate::enclosure::Enclosure;
use crate::exact::{Radicand, Surd};
use rug::{Integer, Rational};

fn over_factorial(numerator: u32, n: u32) -> Rational {
    Rational::from((Integer::from(numerator), Integer::from(Integer::factorial(n))))
}

/// b in u and w up to a total degree.
#[derive(Clone, Debug, PartialEq)]
pub struct Interior {
    /// `parts[d][i]` is the coefficient of u^i w^(d-i)
    parts: Vec<Vec<Rational>>,
}

impl Interior {
    /// Coefficients up to total degree `order`.
    pub fn new(order: u32) -> Interior {
        let mut parts: Vec<Vec<Rational>> = vec![vec![Rational::new()]];
        for d in 1..=order {
            let size = d as usize;
            let mut part = vec![Rational::new(); size + 1];
            let s = over_factorial(d, d + 2);
            part[0] += &s;
            part[size] += &s;
            for j in 1..d {
                let s = over_factorial(j, d - j + 2);
                for (i, b) in parts[j as usize].iter().enumerate() {
                    let term = Rational::from(b * &s);
                    // B_j times u^(d-j), and times w^(d-j).
                    part[i + size - j as usize] -= &term;
                    part[i] -= &term;
                }
            }
            for c in &mut part {
                *c /= d;
            }
            parts.push(part);
        }
        Interior { parts }
    }

    /// The total degree up to which it goes.
    pub fn order(&self) -> u32 {
        self.parts.len() as u32 - 1
    }

    /// Coefficient of u^i w^j; 0 beyond the order.
    pub fn coefficient(&self, i: usize, j: usize) -> Rational {
        self.parts.get(i + j).map_or_else(Rational::new, |part| part[i].clone())
    }

    /// The sum up to the order.
    pub fn value(&self, u: &Enclosure, w: &Enclosure) -> Enclosure {
        self.sum(u, w, |part, i| part[i].clone(), 0)
    }

    /// Its derivative with respect to u; that with respect to w is the same with u and w exchanged.
    pub fn by_u(&self, u: &Enclosure, w: &Enclosure) -> Enclosure {
        self.sum(u, w, |part, i| Rational::from(&part[i + 1] * (i as u32 + 1)), 1)
    }

    /// Sum over degrees d >= lost of coefficient(part d, i) u^i w^(d - lost - i).
    fn sum(
        &self,
        u: &Enclosure,
        w: &Enclosure,
        coefficient: impl Fn(&[Rational], usize) -> Rational,
        lost: usize,
    ) -> Enclosure {
        let p = u.precision().max(w.precision());
        let (u_powers, w_powers) = (powers(u, self.parts.len()), powers(w, self.parts.len()));
        let mut sum = Enclosure::zero(p);
        for (d, part) in self.parts.iter().enumerate().skip(lost.max(1)) {
            for i in 0..=d - lost {
                let c = Enclosure::from_rational(p, &coefficient(part, i));
                sum += c * &u_powers[i] * &w_powers[d - lost - i];
            }
        }
        sum
    }

    /// The sum up to the order, exactly.
    pub fn exact(&self, u: &Surd, w: &Surd, radicand: Radicand) -> Surd {
        // Horner in u, of polynomials in w.
        let order = self.parts.len() - 1;
        let mut sum = Surd::default();
        for i in (0..=order).rev() {
            let mut inner = Surd::default();
            for j in (0..=order - i).rev() {
                inner = inner.times(w, radicand);
                inner += &Surd::from_rational(self.coefficient(i, j));
            }
            sum = sum.times(u, radicand);
            sum += &inner;
        }
        sum
    }
}

fn powers(x: &Enclosure, count: usize) -> Vec<Enclosure> {
    let mut powers = vec![Enclosure::one(x.precision())];
    for i in 1..count.max(1) {
        let next = &powers[i - 1] * x;
        powers.push(next);
    }
    powers
}

/// log(2 phi2(u)) in u up to a degree: b of a node with one neighbour, less the constant -log 2.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// coefficient of u^d at index d; that of degree 0 is 0
    coefficients: Vec<Rational>,
}

impl End {
    /// Coefficients up to degree `order`.
    pub fn new(order: u32) -> End {
        let mut coefficients = vec![Rational::new()];
        for d in 1..=order {
            let mut c = over_factorial(2 * d, d + 2);
            for j in 1..d {
                c -= over_factorial(2 * j, d - j + 2) * &coefficients[j as usize];
            }
            coefficients.push(c / d);
        }
        End { coefficients }
    }

    /// The degree up to which it goes.
    pub fn order(&self) -> u32 {
        self.coefficients.len() as u32 - 1
    }

    /// Coefficient of u^d; 0 beyond the order, and for d = 0, where the constant is -log 2.
    pub fn coefficient(&self, d: usize) -> Rational {
        self.coefficients.get(d).cloned().unwrap_or_default()
    }

    /// The sum from degree 1 on; b is this less log 2.
    pub fn value(&self, u: &Enclosure) -> Enclosure {
        self.coefficients
            .iter()
            .rev()
            .fold(Enclosure::zero(u.precision()), |sum, c| sum * u + Enclosure::from_rational(u.precision(), c))
    }

    /// b cut after the order: -log 2 and [`value`](End::value).
    pub fn bias(&self, u: &Enclosure) -> Enclosure {
        self.value(u) - Enclosure::from_u32(u.precision(), 2).ln()
    }

    /// Its derivative.
    pub fn by_u(&self, u: &Enclosure) -> Enclosure {
        let p = u.precision();
        self.coefficients.iter().enumerate().skip(1).rev().fold(Enclosure::zero(p), |sum, (d, c)| {
            sum * u + Enclosure::from_rational(p, &Rational::from(c * d as u32))
        })
    }

    /// The sum from degree 1 on, exactly.
    pub fn exact(&self, u: &Surd, radicand: Radicand) -> Surd {
        self.coefficients.iter().rev().fold(Surd::default(), |sum, c| {
            let mut next = sum.times(u, radicand);
            next += &Surd::from_rational(c.clone());
            next
        })
    }
}

/// Both expansions to one order.
#[derive(Clone, Debug, PartialEq)]
pub struct Expansion {
    /// of nodes with two neighbours
    pub interior: Interior,
    /// of nodes with one
    pub end: End,
}

impl Expansion {
    /// Both to this order.
    pub fn new(order: u32) -> Expansion {
        Expansion { interior: Interior::new(order), end: End::new(order) }
    }
}
