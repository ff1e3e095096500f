//! What can be wrong with a file, as data: which file, which tensor, expected and found.

use super::array::ArrayError;
use super::dtype::ArrayDtype;
use super::locator::{Format, Locator};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A [`Fault`], with the file and the tensor where they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct FileError {
    path: Option<PathBuf>,
    tensor: Option<String>,
    fault: Box<Fault>,
}

impl FileError {
    /// An error of an array that was read from `locator`, such as a mask that holds a 2.
    pub fn at(locator: &Locator, error: ArrayError) -> FileError {
        let e = FileError::from(Fault::Array(error)).in_file(locator.path());
        match locator.name() {
            Some(name) => e.in_tensor(name),
            None => e,
        }
    }

    /// The file, unless it was read from memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The tensor within the file, where the fault concerns one.
    pub fn tensor(&self) -> Option<&str> {
        self.tensor.as_deref()
    }

    /// What is wrong.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    pub(super) fn in_file(mut self, path: &Path) -> FileError {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }

    pub(super) fn in_tensor(mut self, name: &str) -> FileError {
        self.tensor.get_or_insert_with(|| name.to_owned());
        self
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(tensor) = &self.tensor {
            write!(f, "tensor {tensor:?}: ")?;
        }
        self.fault.fmt(f)
    }
}

impl std::error::Error for FileError {}

impl From<Fault> for FileError {
    fn from(fault: Fault) -> FileError {
        FileError { path: None, tensor: None, fault: Box::new(fault) }
    }
}

impl From<io::Error> for FileError {
    fn from(e: io::Error) -> FileError {
        Fault::Io { kind: e.kind(), message: e.to_string() }.into()
    }
}

impl From<ArrayError> for FileError {
    fn from(e: ArrayError) -> FileError {
        Fault::Array(e).into()
    }
}

/// Why a file cannot be read or written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The operating system refused.
    #[error("{message}")]
    Io {
        /// its reason
        kind: io::ErrorKind,
        /// its words
        message: String,
    },
    /// A directory, a device or a pipe.
    #[error("not a regular file")]
    NotAFile,
    /// The path does not end in an extension that says the format.
    #[error("ends in neither .npy, .npz nor .safetensors")]
    UnknownExtension,
    /// The content is not what the extension says.
    #[error("not a {format} file: {reason}")]
    Foreign {
        /// the format that the extension says
        format: Format,
        /// what is missing
        reason: String,
    },
    /// The file, or a member of it, ends too early.
    #[error("{what}: {found} bytes, expected {expected}: the file is cut short or its header lies")]
    Truncated {
        /// which part
        what: &'static str,
        /// bytes that it should have
        expected: u64,
        /// bytes there are
        found: u64,
    },
    /// Bytes follow the last one that the header accounts for.
    #[error("bytes follow the {expected} that the header accounts for")]
    Trailing {
        /// bytes that the header accounts for
        expected: u64,
    },
    /// A version of the format that is not known here.
    #[error("version {major}.{minor} of the .npy format, expected 1.0, 2.0 or 3.0")]
    Version {
        /// major version
        major: u8,
        /// minor version
        minor: u8,
    },
    /// A header longer than any tensor needs.
    #[error("header of {found} bytes, expected at most {limit}")]
    HeaderTooLong {
        /// longest accepted
        limit: u64,
        /// length claimed
        found: u64,
    },
    /// A header that does not follow the format's grammar.
    #[error("malformed header at byte {at}: {message}")]
    Header {
        /// place in the header's text
        at: usize,
        /// what is wrong there
        message: String,
    },
    /// An element type that an array, or a file of this format, cannot hold.
    #[error("element type {found} in a {format} file{}{advice}", if advice.is_empty() { "" } else { ": " })]
    Dtype {
        /// format of the file
        format: Format,
        /// the type found
        found: String,
        /// what to do about it
        advice: &'static str,
    },
    /// A shape with more bytes than can be addressed.
    #[error("shape {shape:?} asks for more bytes than can be addressed")]
    ShapeOverflow {
        /// the shape claimed
        shape: Vec<usize>,
    },
    /// Data offsets that span another number of bytes than shape and type ask for.
    #[error("data of {found} bytes, expected {expected} for shape {shape:?} of {dtype}")]
    Span {
        /// the shape claimed
        shape: Vec<usize>,
        /// the element type claimed
        dtype: String,
        /// bytes that they ask for
        expected: u64,
        /// bytes between the offsets
        found: u64,
    },
    /// Data offsets that do not follow on the tensor before.
    #[error("data at {start}..{end}, expected to start at {expected}: {kind}")]
    Offsets {
        /// in which way
        kind: Offsets,
        /// where the tensor before ends
        expected: u64,
        /// start claimed
        start: u64,
        /// end claimed
        end: u64,
    },
    /// Two tensors of one name.
    #[error("the name stands twice")]
    DuplicateName,
    /// A name that the format cannot hold.
    #[error("not a usable name: {reason}")]
    BadName {
        /// why
        reason: &'static str,
    },
    /// The file has no tensor of this name.
    #[error("no such tensor; the file has {}", names(available))]
    NoSuchName {
        /// names there are
        available: Vec<String>,
    },
    /// A name is needed to say which tensor.
    #[error("say which tensor, as file:name{}", if available.is_empty() { String::new() } else { format!("; the file has {}", names(available)) })]
    NameRequired {
        /// names there are
        available: Vec<String>,
    },
    /// `.npy` files hold one array without a name.
    #[error("a .npy file holds one array without a name")]
    NameNotAllowed,
    /// Only `.safetensors` holds metadata.
    #[error("a {format} file holds no metadata; use .safetensors")]
    MetadataNotHeld {
        /// format of the file
        format: Format,
    },
    /// A byte of a boolean array that is neither 0 nor 1.
    #[error("element {index}: byte {found}, expected 0 or 1")]
    NotABool {
        /// place in the order of the file
        index: usize,
        /// the byte
        found: u8,
    },
    /// A damaged or unusable archive.
    #[error("archive: {message}")]
    Archive {
        /// what is wrong
        message: String,
    },
    /// Bytes of an archive that belong to two members.
    #[error("members of the archive overlap")]
    OverlappingMembers,
    /// A member that does not match its checksum.
    #[error("the member does not match its checksum")]
    Checksum,
    /// The operating system gave no memory for the bytes that arrived.
    #[error("no memory for {elements} elements of {dtype}")]
    Memory {
        /// elements to be held
        elements: usize,
        /// their type
        dtype: ArrayDtype,
    },
    /// The array that was read is not what it is used for.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// How data offsets fail to follow on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// the end lies before the start
    Reversed,
    /// the tensor begins before the one before it ends
    Overlap,
    /// bytes belong to no tensor
    Gap,
}

impl fmt::Display for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Offsets::Reversed => "the end lies before the start",
            Offsets::Overlap => "it overlaps the tensor before",
            Offsets::Gap => "the bytes between belong to no tensor",
        })
    }
}

/// Names for a message; a file may have thousands.
fn names(available: &[String]) -> String {
    const SHOWN: usize = 20;
    match available {
        [] => "none".to_owned(),
        few if few.len() <= SHOWN => few.join(", "),
        many => format!("{}, ... ({} in all)", many[..SHOWN].join(", "), many.len()),
    }
}
