//! What is written, when, and what is not.

use super::desk::{Desk, array, numbers};
use contattn_core::file;
use std::process::Stdio;

fn desk() -> Desk {
    let desk = Desk::new();
    for (name, seed) in [("q", 1), ("k", 2), ("v", 3)] {
        desk.put(&format!("{name}.npy"), &[4, 2], numbers(seed, 8));
    }
    desk.put_many("heads.npz", &[("q", array(&[4, 2], numbers(1, 8))), ("extra", array(&[1], vec![5.0]))]);
    desk
}

const QKV: &str = "attend --q q.npy --k k.npy --v v.npy";

#[test]
fn results_that_name_one_file_are_written_together() {
    let desk = desk();
    desk.ok(&format!("{QKV} --out r.safetensors:o --lse ./r.safetensors:norm --bias b.npz --weights b.npz:w"));
    let names = |name: &str| -> Vec<_> {
        file::list(desk.path().join(name)).unwrap().into_iter().map(|entry| entry.name.unwrap()).collect()
    };
    assert_eq!(names("r.safetensors"), ["norm", "o"]);
    assert_eq!(names("b.npz"), ["bias", "w"]);
    let metadata = file::metadata(desk.path().join("r.safetensors")).unwrap();
    assert_eq!((&*metadata["rule"], &*metadata["command"]), ("linear", "attend"));
    // The same bytes every time, and nothing beside them.
    let bytes = || std::fs::read(desk.path().join("r.safetensors")).unwrap();
    let (before, files) = (bytes(), desk.files());
    desk.ok(&format!("{QKV} --out r.safetensors:o --lse r.safetensors:norm"));
    assert_eq!((bytes(), desk.files()), (before, files));
}

#[test]
fn an_array_may_replace_the_one_it_came_from() {
    let desk = desk();
    desk.ok(&format!("{QKV} --out other.npy"));
    desk.ok(&format!("{QKV} --out q.npy"));
    assert_eq!(desk.tensor("q.npy"), desk.tensor("other.npy"));
}

#[test]
fn an_archive_that_is_read_is_not_replaced() {
    let desk = desk();
    desk.refuses(
        2,
        "attend --q heads.npz:q --k k.npy --v v.npy --out ./heads.npz:o",
        &["--out would replace ./heads.npz, which --q reads", "other tensors would be lost"],
    );
}

#[test]
fn all_results_or_none() {
    let desk = desk();
    desk.put_bytes("o.npy", b"what was there before");
    // A name that the format cannot hold shows when the second file is written.
    desk.refuses(2, &format!("{QKV} --out o.npy --lse r.safetensors:__metadata__"), &["--lse", "__metadata__", "name"]);
}

#[cfg(target_os = "linux")]
#[test]
fn folders_and_pipes_that_take_nothing() {
    let desk = desk();
    desk.refuses(3, &format!("{QKV} --out /sys/o.npy"), &["--out: /sys/o.npy: "]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = desk.command(QKV).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let desk = desk();
    let mut child = desk.command("formats").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}
