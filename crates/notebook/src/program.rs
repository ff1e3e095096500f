//! Programs in other languages, as cells run them.

use crate::problem::NotebookError;
use crate::show;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What a program printed, and whether it ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// its standard output, then its standard error
    pub text: String,
    /// whether its exit code was 0
    pub succeeded: bool,
}

/// Runs Python code in a folder, with the arguments that `sys.argv[1:]` holds.
///
/// # Errors
/// [`NotebookError::Program`] where there is no `python3`.
pub fn python(folder: &std::path::Path, code: &str, arguments: &[&str]) -> Result<Transcript, NotebookError> {
    run(Command::new("python3").arg("-").args(arguments).current_dir(folder), "python3", code)
}

fn run(command: &mut Command, program: &str, input: &str) -> Result<Transcript, NotebookError> {
    let failed = |error| NotebookError::Program { program: program.to_owned(), error };
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends before it has read everything says why in what it prints.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok(Transcript { text, succeeded: output.status.success() })
}

impl Transcript {
    /// Shows the text as the result of a cell; evcxr calls this.
    pub fn evcxr_display(&self) {
        show::content("text/plain", &self.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_failure_come_back() {
        let transcript = run(Command::new("sh").arg("-s"), "sh", "echo out; echo err >&2; exit 3").unwrap();
        assert_eq!(transcript, Transcript { text: "out\nerr\n".into(), succeeded: false });
        let missing = run(&mut Command::new("no-such-program-at-all"), "no-such-program-at-all", "");
        assert!(missing.unwrap_err().to_string().starts_with("no-such-program-at-all: "));
    }
}
