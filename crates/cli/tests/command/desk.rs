//! A folder with files in it, and the command run there.

use contattn_core::Dtype;
use contattn_core::Tensor;
use contattn_core::file::{self, Array, ArrayData, Locator};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder of its own.
pub(crate) struct Desk {
    folder: tempfile::TempDir,
}

/// What a run left behind.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn locator(&self, place: &str) -> Locator {
        format!("{}/{place}", self.path().display()).parse().unwrap()
    }

    /// A file with one array.
    pub(crate) fn put(&self, place: &str, shape: &[usize], data: impl Into<ArrayData>) {
        let array = Array::new(shape.to_vec(), data.into()).unwrap();
        file::write(&self.locator(place), &array).unwrap();
    }

    /// A file with several arrays.
    pub(crate) fn put_many(&self, name: &str, arrays: &[(&str, Array)]) {
        let arrays: Vec<_> = arrays.iter().map(|(name, array)| (*name, array)).collect();
        file::write_many(self.path().join(name), &arrays, &Default::default()).unwrap();
    }

    /// A file with these bytes.
    pub(crate) fn put_bytes(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path().join(name), bytes).unwrap();
    }

    pub(crate) fn tensor(&self, place: &str) -> Tensor {
        file::read(&self.locator(place)).unwrap().into_tensor().unwrap()
    }

    pub(crate) fn numbers(&self, place: &str) -> Vec<f64> {
        self.tensor(place).to_f64()
    }

    /// Every path below the folder.
    pub(crate) fn files(&self) -> BTreeSet<PathBuf> {
        fn collect(folder: &Path, found: &mut BTreeSet<PathBuf>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    collect(&path, found);
                }
                found.insert(path);
            }
        }
        let mut found = BTreeSet::new();
        collect(self.path(), &mut found);
        found
    }

    /// The command, not yet started.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contattn"));
        command.args(arguments.split_whitespace()).current_dir(self.path());
        // Without it Vulkan's layers complain on stderr.
        command.env("XDG_RUNTIME_DIR", self.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Run {
        let output = self.command(arguments).output().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs what must work; nothing appears on stderr of a pipe, no progress bar either. Returns stdout.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &str) -> String {
        let run = self.run(arguments);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{arguments}");
        run.stdout
    }

    /// Runs what must work with --json and returns the document.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &str) -> serde_json::Value {
        serde_json::from_str(&self.ok(&format!("{arguments} --json"))).unwrap()
    }

    /// Runs what must be refused with this code: in two lines that hold all of `said`, nothing on stdout, no file made or
    /// changed; and the same as JSON.
    #[track_caller]
    pub(crate) fn refuses(&self, code: i32, arguments: &str, said: &[&str]) {
        let state = |desk: &Desk| -> Vec<_> {
            let files = desk.files().into_iter();
            files.map(|path| (path.is_file().then(|| std::fs::read(&path).unwrap()), path)).collect()
        };
        let before = state(self);
        let run = self.run(arguments);
        assert_eq!(run.code, Some(code), "{arguments}\n{}", run.stderr);
        assert_eq!(run.stdout, "", "{arguments}");
        let lines: Vec<&str> = run.stderr.lines().collect();
        assert!(
            matches!(*lines, [what, advice] if what.starts_with("error: ") && advice.starts_with(" help: ")),
            "{arguments}\n{}",
            run.stderr
        );
        for text in said {
            assert!(run.stderr.contains(text), "{arguments}: {text:?} is not in\n{}", run.stderr);
        }
        assert!(state(self) == before, "{arguments}: files changed");

        let run = self.run(&format!("{arguments} --json"));
        assert_eq!((run.code, &*run.stdout), (Some(code), ""), "{arguments} --json");
        let document: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
        let error = &document["error"];
        assert_eq!(error["exit"], code);
        assert_eq!(error["kind"], if code == 2 { "bad input" } else { "machine" });
        let text = |key: &str| error[key].as_str().unwrap().to_owned();
        let text = format!("{}\n{}", text("what"), text("advice"));
        for said in said {
            // The parser's messages show the whole line, which now ends in --json.
            assert!(text.contains(said), "{arguments} --json: {said:?} is not in\n{text}");
        }
        assert!(state(self) == before, "{arguments} --json: files changed");
    }
}

/// `count` numbers in [-1, 1), the same for the same seed: a linear congruential generator (Knuth's MMIX constants).
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

pub(crate) fn array(shape: &[usize], numbers: Vec<f64>) -> Array {
    Array::new(shape.to_vec(), numbers.into()).unwrap()
}

/// An array of `dtype`.
pub(crate) fn array_of(dtype: Dtype, shape: &[usize], numbers: Vec<f64>) -> Array {
    Tensor::from_f64(shape.to_vec(), dtype, numbers).unwrap().into()
}

#[track_caller]
pub(crate) fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?} beside {expected:?}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let same = found == expected || (found - expected).abs() <= tolerance;
        assert!(same, "element {i}: {found}, expected {expected}");
    }
}
