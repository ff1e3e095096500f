//! Expansions as text and as LaTeX, one homogeneous part after another, each over its least common denominator.

use super::{End, Interior};
use rug::{Integer, Rational};
use std::fmt;

/// A monomial of a part without its coefficient: the exponents of u and w.
type Monomial = (usize, usize);

/// The two notations.
#[derive(Clone, Copy, PartialEq)]
enum Notation {
    Text,
    Latex,
}

impl Notation {
    fn power(self, name: &str, exponent: usize) -> String {
        match (self, exponent) {
            (_, 0) => String::new(),
            (_, 1) => name.to_owned(),
            (Notation::Text, n) => format!("{name}^{n}"),
            (Notation::Latex, n) => format!("{name}^{{{n}}}"),
        }
    }

    fn monomial(self, (i, j): Monomial) -> String {
        let factors = [self.power("u", i), self.power("w", j)];
        factors.into_iter().filter(|factor| !factor.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn fraction(self, numerator: &str, is_sum: bool, denominator: &Integer) -> String {
        match self {
            _ if *denominator == 1 => numerator.to_owned(),
            Notation::Text if is_sum => format!("({numerator})/{denominator}"),
            Notation::Text => format!("{numerator}/{denominator}"),
            Notation::Latex => format!("\\frac{{{numerator}}}{{{denominator}}}"),
        }
    }

    /// A part: whether it is subtracted, and what of.
    fn part(self, terms: &[(Rational, Monomial)]) -> Option<(bool, String)> {
        let terms: Vec<_> = terms.iter().filter(|(c, _)| !c.is_zero()).collect();
        let (leading, _) = terms.first()?;
        let negative = *leading < 0;
        let denominator = terms.iter().fold(Integer::from(1), |lcm, (c, _)| lcm.lcm(c.denom()));
        let mut numerator = String::new();
        for (at, (c, monomial)) in terms.iter().enumerate() {
            let whole = Rational::from(c * &denominator).into_numer_denom().0;
            let whole = if negative { -whole } else { whole };
            numerator += match (at, whole < 0) {
                (0, _) => "",
                (_, true) => " - ",
                (_, false) => " + ",
            };
            let size = whole.abs();
            if size != 1 {
                numerator += &format!("{size} ");
            }
            numerator += &self.monomial(*monomial);
        }
        Some((negative, self.fraction(&numerator, terms.len() > 1, &denominator)))
    }

    /// Parts joined by their signs, after `start`.
    fn join(self, start: &str, parts: impl Iterator<Item = Vec<(Rational, Monomial)>>) -> String {
        let mut all = start.to_owned();
        for (negative, part) in parts.filter_map(|part| self.part(&part)) {
            all += match (all.is_empty(), negative) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            all += &part;
        }
        if all.is_empty() { "0".to_owned() } else { all }
    }
}

impl Interior {
    fn written(&self, notation: Notation) -> String {
        let part =
            |d: usize| (0..=d).rev().map(|i| (self.coefficient(i, d - i), (i, d - i))).collect::<Vec<(Rational, _)>>();
        notation.join("", (1..=self.order() as usize).map(part))
    }

    /// As LaTeX.
    pub fn latex(&self) -> String {
        self.written(Notation::Latex)
    }
}

impl End {
    fn written(&self, notation: Notation) -> String {
        let start = if notation == Notation::Text { "-log 2" } else { "-\\log 2" };
        notation.join(start, (1..=self.order() as usize).map(|d| vec![(self.coefficient(d), (d, 0))]))
    }

    /// As LaTeX, with the constant -log 2.
    pub fn latex(&self) -> String {
        self.written(Notation::Latex)
    }
}

impl fmt::Display for Interior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(Notation::Text))
    }
}

impl fmt::Display for End {
    /// With the constant -log 2.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(Notation::Text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_written_in_the_derivation() {
        let interior = Interior::new(3);
        // (u+w)(19u^2 - 34uw + 19w^2) = 19u^3 - 15u^2w - 15uw^2 + 19w^3
        assert_eq!(
            interior.to_string(),
            "(u + w)/6 + (u^2 - u w + w^2)/36 + (19 u^3 - 15 u^2 w - 15 u w^2 + 19 w^3)/6480"
        );
        assert_eq!(Interior::new(1).latex(), "\\frac{u + w}{6}");
        assert_eq!(End::new(2).latex(), "-\\log 2 + \\frac{u}{3} + \\frac{u^{2}}{36}");
        assert_eq!(Interior::new(0).to_string(), "0");
        assert_eq!(End::new(0).to_string(), "-log 2");
    }
}
