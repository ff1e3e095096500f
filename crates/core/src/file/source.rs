//! Opening a file for reading, and exact reads whose shortfall is a typed error.

use super::error::{Fault, FileError};
use super::locator::Format;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The format that the path's extension says.
pub(super) fn format(path: &Path) -> Result<Format, FileError> {
    Format::of_path(path).ok_or_else(|| Fault::UnknownExtension.into())
}

/// A regular file and its length. Opening a pipe could wait for ever and a device need not end, so both are refused
/// before they are opened.
pub(super) fn open(path: &Path) -> Result<(File, u64), FileError> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Fault::NotAFile.into());
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Fault::NotAFile.into());
    }
    Ok((file, metadata.len()))
}

/// Fills `bytes` as far as the reader goes; how far that was.
pub(super) fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match reader.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// Fills all of `bytes`.
pub(super) fn fill_all(reader: &mut impl Read, bytes: &mut [u8], what: &'static str) -> Result<(), FileError> {
    let found = fill(reader, bytes)?;
    if found < bytes.len() {
        return Err(Fault::Truncated { what, expected: bytes.len() as u64, found: found as u64 }.into());
    }
    Ok(())
}

/// The next `len` bytes, with memory taken as they arrive.
pub(super) fn take(reader: &mut impl Read, len: usize, what: &'static str) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    reader.take(len as u64).read_to_end(&mut bytes)?;
    if bytes.len() < len {
        return Err(Fault::Truncated { what, expected: len as u64, found: bytes.len() as u64 }.into());
    }
    Ok(bytes)
}
