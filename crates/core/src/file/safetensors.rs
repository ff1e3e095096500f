//! `.safetensors`: named tensors behind a JSON header, with free text as metadata.
//!
//! One tensor is read by seeking to it; the others, and so files larger than memory, cost nothing. Written files have
//! the layout of the safetensors crate (widest type first, then by name, header padded to 8 bytes) with the metadata in
//! order, so equal tensors give equal bytes.

mod header;

use super::array::Array;
use super::dtype::ArrayDtype;
use super::entry::Entry;
use super::error::{Fault, FileError};
use super::locator::Format;
use super::npz::choose;
use super::stored::{self, ByteOrder};
use ::safetensors::Dtype;
use header::{Header, Info};
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};

/// The tensors in `bytes`, which are a whole file, sorted by name.
///
/// # Errors
/// [`FileError`] for anything else, and for a tensor of a type that an [`Array`] does not hold.
pub fn from_bytes(bytes: &[u8]) -> Result<Vec<(String, Array)>, FileError> {
    let mut reader = Cursor::new(bytes);
    let header = Header::read(&mut reader, bytes.len() as u64)?;
    let arrays = header.tensors.iter().map(|(name, info)| {
        let array = tensor(&mut reader, &header, info).map_err(|e| e.in_tensor(name))?;
        Ok((name.clone(), array))
    });
    arrays.collect()
}

/// The bytes of a file that holds `arrays` and `metadata`.
///
/// # Errors
/// [`Fault::DuplicateName`], [`Fault::BadName`].
pub fn to_bytes(arrays: &[(&str, &Array)], metadata: &BTreeMap<String, String>) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    write(&mut bytes, arrays, metadata)?;
    Ok(bytes)
}

/// Reads the tensor called `name`, or the only one, of a file of `len` bytes.
pub(super) fn read(reader: &mut (impl Read + Seek), len: u64, name: Option<&str>) -> Result<Array, FileError> {
    let header = Header::read(reader, len)?;
    let (name, info) = choose(&header.tensors, name)?;
    tensor(reader, &header, info).map_err(|e| e.in_tensor(name))
}

/// Each tensor's name, type and shape.
pub(super) fn list(reader: &mut impl Read, len: u64) -> Result<Vec<Entry>, FileError> {
    let header = Header::read(reader, len)?;
    let entries = header.tensors.into_iter().map(|(name, info)| Entry {
        name: Some(name),
        dtype: info.stored_dtype(),
        shape: info.shape,
    });
    Ok(entries.collect())
}

/// The free text of the header.
pub(super) fn metadata(reader: &mut impl Read, len: u64) -> Result<BTreeMap<String, String>, FileError> {
    Ok(Header::read(reader, len)?.metadata)
}

fn tensor(reader: &mut (impl Read + Seek), header: &Header, info: &Info) -> Result<Array, FileError> {
    let Some(dtype) = info.array_dtype() else {
        let advice = "expected floating-point numbers of 16 to 64 bits, integers or booleans";
        let found = info.dtype.to_string();
        return Err(Fault::Dtype { format: Format::Safetensors, found, advice }.into());
    };
    // The header was checked: shape, type and offsets agree, and the file reaches so far.
    let count = (info.end - info.start) / dtype.size();
    reader.seek(SeekFrom::Start(header.len + info.start as u64))?;
    let data = stored::read(reader, dtype, ByteOrder::Little, count)?;
    Ok(Array::new(info.shape.clone(), data)?)
}

/// Writes a file that holds `arrays` and `metadata`.
pub(super) fn write(
    out: &mut impl Write,
    arrays: &[(&str, &Array)],
    metadata: &BTreeMap<String, String>,
) -> Result<(), FileError> {
    let mut sorted = arrays.to_vec();
    sorted.sort_by(|(a, x), (b, y)| written(y.dtype()).cmp(&written(x.dtype())).then(a.cmp(b)));
    let header = header::write(&sorted, metadata)?;
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    for (_, array) in sorted {
        stored::write(out, array.data())?;
    }
    Ok(())
}

/// The type as the format names it.
fn written(dtype: ArrayDtype) -> Dtype {
    match dtype {
        ArrayDtype::F64 => Dtype::F64,
        ArrayDtype::F32 => Dtype::F32,
        ArrayDtype::F16 => Dtype::F16,
        ArrayDtype::BF16 => Dtype::BF16,
        ArrayDtype::I64 => Dtype::I64,
        ArrayDtype::I32 => Dtype::I32,
        ArrayDtype::I16 => Dtype::I16,
        ArrayDtype::I8 => Dtype::I8,
        ArrayDtype::U64 => Dtype::U64,
        ArrayDtype::U32 => Dtype::U32,
        ArrayDtype::U16 => Dtype::U16,
        ArrayDtype::U8 => Dtype::U8,
        ArrayDtype::Bool => Dtype::BOOL,
    }
}
