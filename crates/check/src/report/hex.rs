//! Hexadecimal floating-point numbers as C99 writes them.

/// x as C99's `%a` writes it: `0x1.8p-3` for 0.1875, subnormal numbers with a leading 0, `inf`, `-inf` and `nan`.
///
/// ```
/// use contattn_check::report::hex;
/// assert_eq!(hex(0.1875), "0x1.8p-3");
/// assert_eq!(hex(-1.0 / 3.0), "-0x1.5555555555555p-2");
/// ```
pub fn hex(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    let sign = if x.is_sign_negative() { "-" } else { "" };
    if x.is_infinite() {
        return format!("{sign}inf");
    }
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (lead, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, exponent - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn as_printf_writes_them() {
        // The C library's printf("%a") on the same numbers.
        for (x, expected) in [
            (0.0, "0x0p+0"),
            (-0.0, "-0x0p+0"),
            (1.0, "0x1p+0"),
            (-2.5, "-0x1.4p+1"),
            (0.1, "0x1.999999999999ap-4"),
            (f64::MAX, "0x1.fffffffffffffp+1023"),
            (f64::from_bits(1), "0x0.0000000000001p-1022"),
            (f64::MIN_POSITIVE, "0x1p-1022"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(hex(x), expected);
        }
        assert_eq!(hex(f64::NAN), "nan");
    }
}
