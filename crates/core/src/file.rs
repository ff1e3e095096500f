//! Tensor files: `.safetensors`, `.npy` and `.npz`, read and written.
//!
//! A [`Locator`] says which tensor: `q.npy`, `heads.npz:q`, `heads.safetensors:layer00.q`. [`read`] gives an [`Array`],
//! which holds whatever element type the file has (integers and booleans too) and converts into what a problem needs: a
//! [`Tensor`](crate::Tensor), real numbers for durations and times, integers for documents, booleans for masks. Each
//! conversion is exact or a typed error.
//!
//! Files come from outside, so nothing in them is believed before it is checked: every fault is a [`FileError`] that
//! names the file, the tensor, what was expected and what was found. Memory is taken as bytes arrive, never because a
//! header says so; a header is read without recursion or up to a stated depth; one tensor of a `.safetensors` file is
//! read without the others.
//!
//! Files are written aside and renamed when complete, so a reader sees the old file or the whole new one, and the same
//! arrays give the same bytes.
//!
//! ```
//! use contattn_core::file::{self, Array, Locator};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("heads.safetensors");
//! let q = Array::new(vec![2, 3], vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0].into())?;
//! file::write(&Locator::new(&path, Some("q"))?, &q)?;
//!
//! let locator: Locator = format!("{}:q", path.display()).parse()?;
//! assert_eq!(file::read(&locator)?.into_tensor()?.shape(), [2, 3]);
//! # Ok(())
//! # }
//! ```

mod array;
mod aside;
mod convert;
mod dtype;
mod entry;
mod error;
mod locator;
pub mod npy;
pub mod npz;
pub mod safetensors;
mod source;
mod stored;

pub use array::{Array, ArrayData, ArrayError};
pub use dtype::{ArrayDtype, StoredDtype};
pub use entry::Entry;
pub use error::{Fault, FileError, Offsets};
pub use locator::{Format, Locator, LocatorError};

use std::collections::BTreeMap;
use std::path::Path;

/// Reads the tensor that `locator` names; without a name, the only one in the file.
///
/// # Errors
/// [`FileError`], with the path and, where known, the tensor: [`Fault::NoSuchName`] and [`Fault::NameRequired`] list the
/// names that the file has.
pub fn read(locator: &Locator) -> Result<Array, FileError> {
    let name = locator.name();
    let array = source::open(locator.path()).and_then(|(mut file, len)| match locator.format() {
        Format::Npy => npy::read(&mut file, len),
        Format::Npz => npz::read(file, name),
        Format::Safetensors => safetensors::read(&mut file, len, name),
    });
    array.map_err(|e| e.in_file(locator.path()))
}

/// The tensors of a file, sorted by name, with their types and shapes; no tensor's numbers are read. A `.npy` file has
/// one entry without a name; members of a `.npz` archive that are not `.npy` files are left out.
///
/// # Errors
/// [`FileError`] for a file that is not of the format which its extension says, or is damaged.
pub fn list(path: impl AsRef<Path>) -> Result<Vec<Entry>, FileError> {
    let path = path.as_ref();
    let entries = source::format(path).and_then(|format| {
        let (mut file, len) = source::open(path)?;
        match format {
            Format::Npy => npy::entry(&mut file, len).map(|e| vec![e]),
            Format::Npz => npz::list(file),
            Format::Safetensors => safetensors::list(&mut file, len),
        }
    });
    entries.map_err(|e| e.in_file(path))
}

/// The `__metadata__` of a `.safetensors` file; empty where it has none, and for the other formats, which hold none.
///
/// # Errors
/// As [`list`].
pub fn metadata(path: impl AsRef<Path>) -> Result<BTreeMap<String, String>, FileError> {
    let path = path.as_ref();
    let metadata = source::format(path).and_then(|format| {
        let (mut file, len) = source::open(path)?;
        match format {
            Format::Npy | Format::Npz => Ok(BTreeMap::new()),
            Format::Safetensors => safetensors::metadata(&mut file, len),
        }
    });
    metadata.map_err(|e| e.in_file(path))
}

/// Writes one tensor as the whole file: what the file held before is replaced.
///
/// # Errors
/// [`Fault::NameRequired`] for `.npz` and `.safetensors` without a name; [`Fault::Dtype`] for bf16 in `.npy` and `.npz`;
/// [`Fault::Io`] where the folder cannot be written. On any error the file is as it was before.
pub fn write(locator: &Locator, array: &Array) -> Result<(), FileError> {
    let written = match (locator.format(), locator.name()) {
        (Format::Npy, _) => aside::write(locator.path(), |out| npy::write(out, array)),
        (_, None) => Err(Fault::NameRequired { available: Vec::new() }.into()),
        (_, Some(name)) => return write_many(locator.path(), &[(name, array)], &BTreeMap::new()),
    };
    written.map_err(|e| e.in_file(locator.path()))
}

/// Writes `bytes` as the file `path`, as every writer here does: aside first, then renamed, so that nothing half-written is
/// ever seen under that name.
///
/// # Errors
/// [`FileError`] with the path where that fails.
pub fn write_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), FileError> {
    use std::io::Write as _;
    let path = path.as_ref();
    aside::write(path, |out| Ok(out.write_all(bytes)?)).map_err(|e| e.in_file(path))
}

/// Writes named tensors as the whole file; `metadata` only where the format is `.safetensors`.
///
/// # Errors
/// As [`write()`]; [`Fault::DuplicateName`] and [`Fault::BadName`] for names, [`Fault::NameNotAllowed`] for `.npy`,
/// [`Fault::MetadataNotHeld`] for metadata in the other formats.
pub fn write_many(
    path: impl AsRef<Path>,
    arrays: &[(&str, &Array)],
    metadata: &BTreeMap<String, String>,
) -> Result<(), FileError> {
    let path = path.as_ref();
    let written = source::format(path).and_then(|format| match format {
        Format::Npy => Err(Fault::NameNotAllowed.into()),
        Format::Npz if !metadata.is_empty() => Err(Fault::MetadataNotHeld { format }.into()),
        Format::Npz => aside::write(path, |out| npz::write(out, arrays)),
        Format::Safetensors => aside::write(path, |out| safetensors::write(out, arrays, metadata)),
    });
    written.map_err(|e| e.in_file(path))
}
