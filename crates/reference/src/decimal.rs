//! Decimal digits that are proven: numbers in, numbers out.

use crate::enclosure::Enclosure;
use rug::float::Round;
use rug::ops::Pow;
use rug::{Integer, Rational};

/// Largest number of digits, and largest size of an exponent, that are read or written.
pub const MAX_DIGITS: u32 = 100_000;

/// A decimal number, exactly: `0.1`, `-3`, `2.5e-300`; `None` for anything else, and beyond [`MAX_DIGITS`].
///
/// ```
/// use contattn_reference::decimal::parse;
/// assert_eq!(parse("-2.50e-1").unwrap().to_string(), "-1/4");
/// assert_eq!(parse("1/3"), None);
/// ```
pub fn parse(text: &str) -> Option<Rational> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole).to_owned() + fraction;
    let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !all_digits || digits.len() > MAX_DIGITS as usize || exponent.unsigned_abs() > MAX_DIGITS {
        return None;
    }
    let number: Integer = digits.parse().ok()?;
    let exponent = exponent - i32::try_from(fraction.len()).ok()?;
    let power = Integer::from(10).pow(exponent.unsigned_abs());
    let size = if exponent < 0 { Rational::from((number, power)) } else { Rational::from(number * power) };
    Some(if whole.starts_with('-') { -size } else { size })
}

/// `digits` significant decimal digits, rounded to nearest, of the number that `enclose` encloses to any precision: bits are
/// doubled until both bounds round alike. `None` where 2^21 bits do not tell: a number that is itself the middle between two.
pub fn certified(digits: u32, enclose: impl Fn(u32) -> Enclosure) -> Option<String> {
    let digits = digits.clamp(1, MAX_DIGITS);
    // log2(10) < 3.33, and some bits to see on which side of a middle the number lies.
    let mut bits = digits * 10 / 3 + 64;
    while bits <= 1 << 21 {
        let x = enclose(bits);
        if x.is_bounded() {
            let text = |end: &rug::Float| end.to_string_radix_round(10, Some(digits as usize), Round::Nearest);
            let (lower, upper) = (text(x.lower()), text(x.upper()));
            if lower == upper {
                return Some(lower);
            }
        }
        bits *= 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_refused() {
        for (text, expected) in [
            ("0", "0"),
            ("-0.5", "-1/2"),
            ("+1.25", "5/4"),
            (".5", "1/2"),
            ("3.", "3"),
            ("1e3", "1000"),
            ("12E-1", "6/5"),
        ] {
            assert_eq!(parse(text).map(|x| x.to_string()).as_deref(), Some(expected), "{text}");
        }
        for text in
            ["", "-", ".", "e5", "1e", "nan", "inf", "0x1", "1_000", "1e100001", "--1", "1.2.3", "1e-999999999999"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn digits_are_rounded_once() {
        // 1/7 = 0.142857142857...; 2/3 rounds up; a number that has fewer digits shows zeros.
        let of = |n: u32, d: u32| move |p: u32| Enclosure::from_rational(p, &Rational::from((n, d)));
        assert_eq!(certified(7, of(1, 7)).as_deref(), Some("1.428571e-1"));
        assert_eq!(certified(3, of(2, 3)).as_deref(), Some("6.67e-1"));
        assert_eq!(certified(4, of(5, 2)).as_deref(), Some("2.500"));
        assert_eq!(certified(3, Enclosure::whole), None);
    }
}
