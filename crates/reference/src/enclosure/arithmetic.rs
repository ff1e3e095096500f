//! + - * / and negation.

use super::Enclosure;
use rug::Float;
use rug::float::Round::{self, Down, Up};
use rug::ops::AddAssignRound;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// x y rounded, where 0 times an infinite bound is 0: the bound stands for arbitrarily large numbers, not for infinity.
fn product(precision: u32, x: &Float, y: &Float, round: Round) -> Float {
    if x.is_zero() || y.is_zero() { Float::new(precision) } else { Float::with_val_round(precision, x * y, round).0 }
}

/// x / y rounded, for y != 0 and not both infinite.
fn quotient(precision: u32, x: &Float, y: &Float, round: Round) -> Float {
    Float::with_val_round(precision, x / y, round).0
}

impl Enclosure {
    fn common_precision(&self, other: &Enclosure) -> u32 {
        self.precision().max(other.precision())
    }

    fn sum(&self, other: &Enclosure) -> Enclosure {
        let p = self.common_precision(other);
        // No two opposite infinities meet: lower bounds are below +inf, upper bounds above -inf.
        Enclosure {
            lower: Float::with_val_round(p, &self.lower + &other.lower, Down).0,
            upper: Float::with_val_round(p, &self.upper + &other.upper, Up).0,
        }
    }

    fn difference(&self, other: &Enclosure) -> Enclosure {
        let p = self.common_precision(other);
        Enclosure {
            lower: Float::with_val_round(p, &self.lower - &other.upper, Down).0,
            upper: Float::with_val_round(p, &self.upper - &other.lower, Up).0,
        }
    }

    fn negative(&self) -> Enclosure {
        Enclosure {
            lower: Float::with_val(self.upper.prec(), -&self.upper),
            upper: Float::with_val(self.lower.prec(), -&self.lower),
        }
    }

    /// Which bounds make the extreme products follows from the signs:
    /// x >= 0: [min over y of (x.lower or x.upper) y.lower, ...]; both around 0: the extremes of two products each.
    fn times(&self, other: &Enclosure) -> Enclosure {
        let p = self.common_precision(other);
        let (a, b) = (&self.lower, &self.upper);
        let (c, d) = (&other.lower, &other.upper);
        if *a >= 0 {
            let lower = product(p, if *c >= 0 { a } else { b }, c, Down);
            let upper = product(p, if *d >= 0 { b } else { a }, d, Up);
            return Enclosure { lower, upper };
        }
        if *b <= 0 {
            let lower = product(p, if *d >= 0 { a } else { b }, d, Down);
            let upper = product(p, if *c >= 0 { b } else { a }, c, Up);
            return Enclosure { lower, upper };
        }
        // a < 0 < b
        if *c >= 0 {
            return Enclosure { lower: product(p, a, d, Down), upper: product(p, b, d, Up) };
        }
        if *d <= 0 {
            return Enclosure { lower: product(p, b, c, Down), upper: product(p, a, c, Up) };
        }
        let lower = product(p, a, d, Down).min(&product(p, b, c, Down));
        let upper = product(p, a, c, Up).max(&product(p, b, d, Up));
        Enclosure { lower, upper }
    }

    fn over(&self, other: &Enclosure) -> Enclosure {
        let p = self.common_precision(other);
        if other.upper <= 0 {
            return if other.upper.is_zero() && other.lower.is_zero() {
                Enclosure::whole(p)
            } else {
                self.negative().over(&other.negative())
            };
        }
        if other.lower < 0 {
            return Enclosure::whole(p);
        }
        let (a, b) = (&self.lower, &self.upper);
        let (c, d) = (&other.lower, &other.upper);
        let infinity = |sign: i32| Float::with_val(p, Float::with_val(p, rug::float::Special::Infinity) * sign);
        let lower = if *a >= 0 {
            quotient(p, a, d, Down) // a is finite here
        } else if c.is_zero() {
            infinity(-1)
        } else {
            quotient(p, a, c, Down)
        };
        let upper = if *b <= 0 {
            quotient(p, b, d, Up)
        } else if c.is_zero() {
            infinity(1)
        } else {
            quotient(p, b, c, Up)
        };
        Enclosure { lower, upper }
    }

    /// Adds x y in place.
    pub fn add_product(&mut self, x: &Enclosure, y: f64) {
        if !y.is_finite() {
            *self = Enclosure::whole(self.precision());
            return;
        }
        if y == 0.0 {
            return;
        }
        let p = self.common_precision(x);
        let (low, high) = if y > 0.0 { (&x.lower, &x.upper) } else { (&x.upper, &x.lower) };
        let low = Float::with_val_round(p, low * y, Down).0;
        let high = Float::with_val_round(p, high * y, Up).0;
        self.add_bounds(p, &low, &high);
    }

    fn add_bounds(&mut self, p: u32, low: &Float, high: &Float) {
        if self.lower.prec() == p && self.upper.prec() == p {
            self.lower.add_assign_round(low, Down);
            self.upper.add_assign_round(high, Up);
        } else {
            self.lower = Float::with_val_round(p, &self.lower + low, Down).0;
            self.upper = Float::with_val_round(p, &self.upper + high, Up).0;
        }
    }

    /// x^2, never below 0.
    #[must_use]
    pub fn square(&self) -> Enclosure {
        let p = self.precision();
        let squared = |x: &Float, round| Float::with_val_round(p, x.square_ref(), round).0;
        if self.lower >= 0 {
            Enclosure { lower: squared(&self.lower, Down), upper: squared(&self.upper, Up) }
        } else if self.upper <= 0 {
            Enclosure { lower: squared(&self.upper, Down), upper: squared(&self.lower, Up) }
        } else {
            let upper = squared(&self.lower, Up).max(&squared(&self.upper, Up));
            Enclosure { lower: Float::new(p), upper }
        }
    }

    /// 1/x
    #[must_use]
    pub fn recip(&self) -> Enclosure {
        Enclosure::one(self.precision()).over(self)
    }

    /// x 2^n, exact but for overflow and underflow.
    #[must_use]
    pub fn shifted(&self, n: i32) -> Enclosure {
        let p = self.precision();
        Enclosure {
            lower: Float::with_val_round(p, &self.lower << n, Down).0,
            upper: Float::with_val_round(p, &self.upper << n, Up).0,
        }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $with:ident) => {
        impl $trait<&Enclosure> for &Enclosure {
            type Output = Enclosure;
            fn $method(self, other: &Enclosure) -> Enclosure {
                self.$with(other)
            }
        }
        impl $trait<Enclosure> for &Enclosure {
            type Output = Enclosure;
            fn $method(self, other: Enclosure) -> Enclosure {
                self.$with(&other)
            }
        }
        impl $trait<&Enclosure> for Enclosure {
            type Output = Enclosure;
            fn $method(self, other: &Enclosure) -> Enclosure {
                (&self).$with(other)
            }
        }
        impl $trait<Enclosure> for Enclosure {
            type Output = Enclosure;
            fn $method(self, other: Enclosure) -> Enclosure {
                (&self).$with(&other)
            }
        }
    };
}
operator!(Add, add, sum);
operator!(Sub, sub, difference);
operator!(Mul, mul, times);
operator!(Div, div, over);

impl Neg for &Enclosure {
    type Output = Enclosure;
    fn neg(self) -> Enclosure {
        self.negative()
    }
}

impl Neg for Enclosure {
    type Output = Enclosure;
    fn neg(self) -> Enclosure {
        self.negative()
    }
}

impl AddAssign<&Enclosure> for Enclosure {
    fn add_assign(&mut self, other: &Enclosure) {
        let p = self.common_precision(other);
        self.add_bounds(p, &other.lower, &other.upper);
    }
}

impl AddAssign<Enclosure> for Enclosure {
    fn add_assign(&mut self, other: Enclosure) {
        *self += &other;
    }
}
