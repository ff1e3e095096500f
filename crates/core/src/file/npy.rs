//! `.npy`: one array behind a header that is written as a Python dictionary.
//!
//! Read: versions 1 to 3, both orders of axes and of bytes, every type that an [`Array`] holds but bf16, for which
//! NumPy has no type. Written: the lowest version that fits, row-major, lowest byte first.

mod header;

use super::array::Array;
use super::dtype::{ArrayDtype, StoredDtype};
use super::entry::Entry;
use super::error::{Fault, FileError};
use super::locator::Format;
use super::{source, stored};
use header::Header;
use npyz::WriterBuilder;
use std::io::{Read, Write};

/// The array in `bytes`, which are a whole file.
///
/// # Errors
/// [`FileError`] for anything else; never more memory than a few times what `bytes` backs.
pub fn from_bytes(bytes: &[u8]) -> Result<Array, FileError> {
    read(&mut &bytes[..], bytes.len() as u64)
}

/// The bytes of a file that holds `array`.
///
/// # Errors
/// [`Fault::Dtype`] for bf16.
pub fn to_bytes(array: &Array) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    write(&mut bytes, array)?;
    Ok(bytes)
}

/// Reads a file of `len` bytes.
pub(super) fn read(reader: &mut impl Read, len: u64) -> Result<Array, FileError> {
    let header = Header::read(reader, len)?;
    let (dtype, order) = header.dtype.as_ref().map_err(Fault::clone)?;
    let count = stored::count(&header.shape);
    let (Some(count), Some(bytes)) = (count, count.and_then(|n| n.checked_mul(dtype.size()))) else {
        return Err(Fault::ShapeOverflow { shape: header.shape }.into());
    };
    let found = len - header.len;
    if found < bytes as u64 {
        return Err(Fault::Truncated { what: "data", expected: bytes as u64, found }.into());
    }
    if found > bytes as u64 {
        return Err(Fault::Trailing { expected: len - found + bytes as u64 }.into());
    }
    let mut data = stored::read(reader, *dtype, *order, count)?;
    // In an archive `len` is a claim as well: look for the end. This also makes the archive check its checksum.
    if source::fill(reader, &mut [0])? > 0 {
        return Err(Fault::Trailing { expected: len }.into());
    }
    if header.fortran_order && header.shape.iter().filter(|&&n| n > 1).count() > 1 {
        data = stored::to_row_major(&header.shape, data)?;
    }
    Ok(Array::new(header.shape, data)?)
}

/// What the header of a file of `len` bytes says.
pub(super) fn entry(reader: &mut impl Read, len: u64) -> Result<Entry, FileError> {
    let header = Header::read(reader, len)?;
    let dtype = match header.dtype {
        Ok((dtype, _)) => StoredDtype::Known(dtype),
        Err(Fault::Dtype { found, .. }) => StoredDtype::Other(found),
        Err(fault) => return Err(fault.into()),
    };
    Ok(Entry { name: None, dtype, shape: header.shape })
}

/// Writes a file that holds `array`.
pub(super) fn write(out: &mut impl Write, array: &Array) -> Result<(), FileError> {
    let dtype = type_string(array.dtype())?;
    let dtype = npyz::DType::Plain(dtype.parse().map_err(|_| unsupported(dtype, ""))?);
    let shape: Vec<u64> = array.shape().iter().map(|&n| n as u64).collect();
    npyz::WriteOptions::new_header_only().dtype(dtype).shape(&shape).writer(&mut *out).write_header_only()?;
    Ok(stored::write(out, array.data())?)
}

fn unsupported(found: impl Into<String>, advice: &'static str) -> Fault {
    Fault::Dtype { format: Format::Npy, found: found.into(), advice }
}

const NO_BF16: &str = "NumPy has no such type; use .safetensors";

fn type_string(dtype: ArrayDtype) -> Result<&'static str, Fault> {
    Ok(match dtype {
        ArrayDtype::F64 => "<f8",
        ArrayDtype::F32 => "<f4",
        ArrayDtype::F16 => "<f2",
        ArrayDtype::BF16 => return Err(unsupported("bf16", NO_BF16)),
        ArrayDtype::I64 => "<i8",
        ArrayDtype::I32 => "<i4",
        ArrayDtype::I16 => "<i2",
        ArrayDtype::I8 => "|i1",
        ArrayDtype::U64 => "<u8",
        ArrayDtype::U32 => "<u4",
        ArrayDtype::U16 => "<u2",
        ArrayDtype::U8 => "|u1",
        ArrayDtype::Bool => "|b1",
    })
}
