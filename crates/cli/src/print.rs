//! All that the command prints. Results go to stdout, errors to stderr.

use crate::refusal::Refusal;
use serde::Serialize;
use std::io::{self, Write};

/// Text to stdout, as it is.
///
/// # Errors
/// Where stdout cannot be written; see [`is_closed_pipe`].
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// One JSON document to stdout.
///
/// # Errors
/// As [`text`].
pub(crate) fn json(document: &impl Serialize) -> anyhow::Result<()> {
    text(&format!("{}\n", serde_json::to_string_pretty(document)?))
}

/// An error to stderr: two lines, or one JSON document.
pub(crate) fn refusal(refusal: &Refusal, as_json: bool) {
    let message = if as_json {
        serde_json::json!({ "error": {
            "exit": refusal.exit.code(),
            "kind": refusal.exit.name(),
            "what": refusal.what,
            "advice": refusal.advice,
        }})
        .to_string()
    } else {
        format!("error: {}\n help: {}", one_line(&refusal.what), one_line(&refusal.advice))
    };
    // Without stderr there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Names from outside may hold line breaks and escape sequences, which must not reach the terminal.
fn one_line(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// Whether whoever read our stdout went away.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn control_characters_are_shown_not_sent() {
        assert_eq!(one_line("a\nb\u{1b}[2Jé"), "a\\nb\\u{1b}[2Jé");
    }
}
