//! Other people's arbitrary precision, measured through Python.

use super::reference::Figure;
use crate::context::Context;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// What the peers run.
const SCRIPT: &str = include_str!("peers.py");

/// Their versions.
const PACKAGES: [&str; 2] = ["python-flint==0.9.0", "mpmath==1.4.1"];

#[derive(Debug, Deserialize)]
struct Line {
    what: String,
    length: usize,
    head_dim: usize,
    microseconds_per_pair: f64,
}

/// Their figures, or why there are none.
///
/// # Errors
/// Cancellation.
pub(super) fn measure(head_dim: u32, context: &Context) -> anyhow::Result<Result<Vec<Figure>, String>> {
    let folder = environment();
    let python = folder.join("bin").join("python3");
    let marker = folder.join("installed");
    if std::fs::read_to_string(&marker).ok().as_deref() != Some(&*PACKAGES.join(" ")) {
        let made = run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder), context)?;
        if let Err(why) = made {
            return Ok(Err(format!("python3 with venv is not here ({why})")));
        }
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"])
            .args(PACKAGES);
        if let Err(why) = run(&mut pip, context)? {
            return Ok(Err(format!("pip could not install {} ({why})", PACKAGES.join(" "))));
        }
        if let Err(why) = std::fs::write(&marker, PACKAGES.join(" ")) {
            return Ok(Err(why.to_string()));
        }
    }
    let answer = run(Command::new(&python).args(["-c", SCRIPT]).arg(head_dim.to_string()), context)?;
    Ok(answer.and_then(|output| {
        let lines: Vec<Line> = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        let figure = |Line { what, length, head_dim, microseconds_per_pair }| Figure {
            what,
            threads: 1,
            length,
            head_dim,
            microseconds_per_pair,
        };
        Ok(lines.into_iter().map(figure).collect())
    }))
}

/// Below the target folder of the project in which the command was started.
fn environment() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new("target").to_owned(), PathBuf::from);
    target.join("bench-venv")
}

/// Runs a program to its end, or until cancelled; the last line that it complained with where it failed.
fn run(command: &mut Command, context: &Context) -> anyhow::Result<Result<Output, String>> {
    let mut child = match command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(why) => return Ok(Err(why.to_string())),
    };
    // What these programs print fits into a pipe.
    while child.try_wait()?.is_none() {
        if let Err(cancelled) = context.go_on() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(cancelled);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(Ok(output));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Ok(Err(said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed").trim().to_owned()))
}
