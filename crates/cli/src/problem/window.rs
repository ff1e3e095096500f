//! Windows as text: `causal`, `full`, `sliding:W`, `LOWER..UPPER`.

use contattn_core::{Edge, Lower, Upper, Window};

/// A finite number.
///
/// # Errors
/// What was expected.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("{text:?} is not a finite number")),
    }
}

/// A number of at least 0 without a sign, as it stands behind `t+`, `t-` and `sliding:`.
///
/// # Errors
/// What was expected.
pub(crate) fn size(text: &str) -> Result<f64, String> {
    match number(text) {
        Ok(size) if !text.starts_with(['-', '+']) => Ok(size),
        _ => Err(format!("{text:?} is not a finite number of at least 0")),
    }
}

/// A window from its text.
///
/// # Errors
/// What is wrong with it, and what was expected.
pub(crate) fn parse(text: &str) -> Result<Window, String> {
    match text {
        "causal" => return Ok(Window::causal()),
        "full" => return Ok(Window::full()),
        _ => {}
    }
    if let Some(width) = text.strip_prefix("sliding:") {
        return Ok(Window::sliding(size(width)?));
    }
    let Some((lower, upper)) = text.split_once("..") else {
        return Err("expected causal, full, sliding:W or LOWER..UPPER, for instance 0.5..t+0.5".to_owned());
    };
    if upper.starts_with('.') {
        return Err("three dots in a row: put a digit on either side of `..`, for instance 1.0..2".to_owned());
    }
    let window = Window { lower: parse_lower(lower)?, upper: parse_upper(upper)? };
    check(&window)?;
    Ok(window)
}

fn parse_lower(text: &str) -> Result<Lower, String> {
    match text {
        "" | "start" => Ok(Lower::Start),
        "t" => Ok(Lower::Sliding(0.0)),
        _ => match text.strip_prefix("t-") {
            Some(width) => Ok(Lower::Sliding(size(width)?)),
            None => match number(text) {
                Ok(edge) => Ok(Lower::At(Edge::All(edge))),
                Err(_) => Err(format!("lower edge {text:?}: expected start, a finite number or t-W")),
            },
        },
    }
}

fn parse_upper(text: &str) -> Result<Upper, String> {
    match text {
        "" | "end" => return Ok(Upper::End),
        "t" => return Ok(Upper::Query { offset: 0.0 }),
        _ => {}
    }
    if let Some(offset) = text.strip_prefix("t+") {
        return Ok(Upper::Query { offset: size(offset)? });
    }
    if let Some(offset) = text.strip_prefix("t-") {
        return Ok(Upper::Query { offset: -size(offset)? });
    }
    match number(text) {
        Ok(edge) => Ok(Upper::At(Edge::All(edge))),
        Err(_) => Err(format!("upper edge {text:?}: expected end, a finite number, t, t+OFFSET or t-OFFSET")),
    }
}

/// What can be wrong with two edges before any file is read.
fn check(window: &Window) -> Result<(), String> {
    let reversed = |lower: String, upper: String| Err(format!("reversed: {lower} lies above {upper}"));
    match (&window.lower, &window.upper) {
        (Lower::At(Edge::All(lower)), Upper::At(Edge::All(upper))) if lower > upper => {
            reversed(lower.to_string(), upper.to_string())
        }
        (Lower::Sliding(width), Upper::Query { offset }) if -width > *offset => {
            reversed(format!("t-{width}"), format!("t{offset}"))
        }
        (Lower::Sliding(_), Upper::End | Upper::At(_)) => {
            Err("a lower edge t-W needs an upper edge with t in it, for instance t-4..t".to_owned())
        }
        _ => Ok(()),
    }
}

/// A window's text; `parse` reads it back unless rows have their own edges.
pub(crate) fn describe(window: &Window) -> String {
    if *window == Window::causal() {
        return "causal".to_owned();
    }
    if *window == Window::full() {
        return "full".to_owned();
    }
    let lower = match &window.lower {
        Lower::Start => "start".to_owned(),
        Lower::At(Edge::All(t)) => t.to_string(),
        Lower::At(Edge::Rows(_)) => "(by row)".to_owned(),
        Lower::Sliding(width) => format!("t-{width}"),
    };
    let upper = match &window.upper {
        Upper::End => "end".to_owned(),
        Upper::At(Edge::All(t)) => t.to_string(),
        Upper::At(Edge::Rows(_)) => "(by row)".to_owned(),
        Upper::Query { offset } if *offset == 0.0 => "t".to_owned(),
        Upper::Query { offset } => format!("t{offset:+}"),
    };
    format!("{lower}..{upper}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let at = |t| Lower::At(Edge::All(t));
        let query = |offset| Upper::Query { offset };
        let cases = [
            ("causal", Window::causal()),
            ("full", Window::full()),
            ("sliding:2.5", Window::sliding(2.5)),
            ("1..2", Window::between(1.0, 2.0)),
            ("-1.5..-0.5", Window::between(-1.5, -0.5)),
            ("0.5..2.5", Window::between(0.5, 2.5)),
            ("1e-3..1e3", Window::between(1e-3, 1e3)),
            ("0.5..t+0.5", Window::causal_between(0.5, 0.5)),
            ("0..t", Window::causal_between(0.0, 0.0)),
            ("-2..t-0.5", Window::causal_between(-2.0, -0.5)),
            ("start..", Window::full()),
            ("..end", Window::full()),
            ("..", Window::full()),
            ("start..t", Window::causal()),
            ("..t", Window::causal()),
            ("..t+1e-2", Window { lower: Lower::Start, upper: query(0.01) }),
            ("2..", Window { lower: at(2.0), upper: Upper::End }),
            ("t-4..t", Window::sliding(4.0)),
            ("t..t+1", Window { lower: Lower::Sliding(0.0), upper: query(1.0) }),
            ("t-2..t-1", Window { lower: Lower::Sliding(2.0), upper: query(-1.0) }),
        ];
        for (text, window) in cases {
            assert_eq!(parse(text).as_ref(), Ok(&window), "{text}");
            assert_eq!(parse(&describe(&window)), Ok(window), "{text}");
        }
    }

    #[test]
    fn every_other_form_is_refused_with_its_reason() {
        let cases = [
            ("", "expected causal"),
            ("casual", "expected causal"),
            ("sliding:", "at least 0"),
            ("sliding:-1", "at least 0"),
            ("sliding:inf", "at least 0"),
            ("1...2", "three dots"),
            ("2..1", "reversed: 2 lies above 1"),
            ("t-1..t-2", "reversed"),
            ("t..t-2", "reversed"),
            ("t-1..5", "needs an upper edge"),
            ("t-1..", "needs an upper edge"),
            ("nan..1", "lower edge"),
            ("0..inf", "upper edge"),
            ("0..1e999", "upper edge"),
            ("0..t+-1", "at least 0"),
            ("0..t+nan", "at least 0"),
            ("a..b", "lower edge"),
            ("0..q", "upper edge"),
            ("t+1..t+2", "lower edge"),
            ("0..1..2", "upper edge"),
        ];
        for (text, reason) in cases {
            let error = parse(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
