//! Ctrl-C in the middle of long work, and the progress bar.
#![cfg(target_os = "linux")]

use super::desk::{Desk, numbers};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Work for minutes: every query sees every node.
fn long() -> (Desk, &'static str) {
    let desk = Desk::new();
    let (rows, width) = (40_000, 8);
    for (name, seed) in [("q", 41), ("k", 42), ("v", 43)] {
        desk.put(&format!("{name}.npy"), &[rows, width], numbers(seed, rows * width));
    }
    (desk, "attend --q q.npy --k k.npy --v v.npy --window full --out o.npy --lse r.safetensors")
}

/// Waits until the process catches `signal`, so that it is not killed by it.
fn wait_until_caught(child: &Child, signal: u32) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        if caught >> (signal - 1) & 1 == 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("signal {signal} is not caught");
}

fn send(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn ctrl_c_leaves_no_file() {
    let (desk, arguments) = long();
    leaves_no_file(&desk, arguments);
}

#[cfg(feature = "reference")]
#[test]
fn ctrl_c_leaves_no_part_of_a_corpus() {
    leaves_no_file(&Desk::new(), "golden write corpus");
}

fn leaves_no_file(desk: &Desk, arguments: &str) {
    let before = desk.files();
    for (name, number) in [("-INT", 2), ("-TERM", 15)] {
        let child = desk.command(arguments).spawn().unwrap();
        wait_until_caught(&child, number);
        std::thread::sleep(Duration::from_millis(500));
        let asked = Instant::now();
        send(&child, name);
        let output = child.wait_with_output().unwrap();
        assert!(asked.elapsed() < Duration::from_secs(30), "took {:?}", asked.elapsed());
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: cancelled\n help: no file was written"), "{said}");
        assert_eq!(output.stdout, b"");
        assert_eq!(desk.files(), before);
    }
}

/// `script` gives the command a terminal.
#[test]
#[allow(clippy::print_stdout)] // a skipped test says so
fn a_terminal_sees_progress_and_a_pipe_does_not() {
    let (desk, arguments) = long();
    let terminal = Command::new("script").arg("--version").output();
    if terminal.is_err() {
        println!("skipped: no `script` to make a terminal with");
        return;
    }
    let binary = env!("CARGO_BIN_EXE_contattn");
    let inner = format!("timeout -s INT 3 {binary} {arguments}");
    let run = |command: &mut Command| {
        let output = command.current_dir(desk.path()).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let seen = run(Command::new("script").args(["-qec", &inner, "/dev/null"]));
    assert!(seen.contains("/40000 rows"), "{seen:?}");
    let seen = run(Command::new("sh").args(["-c", &inner]));
    assert!(!seen.contains("rows"), "{seen:?}");
}
