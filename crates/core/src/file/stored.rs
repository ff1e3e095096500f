//! Elements as bytes: decoding what a reader gives, encoding what a writer takes.

use super::array::{ArrayData, for_each_data};
use super::dtype::ArrayDtype;
use super::error::{Fault, FileError};
use super::source;
use half::{bf16, f16};
use std::io::{self, Read, Write};

/// Order of the bytes of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// An element of a fixed number of bytes.
trait Stored: Copy {
    const DTYPE: ArrayDtype;
    /// From exactly `DTYPE.size()` bytes.
    fn decode(bytes: &[u8], order: ByteOrder) -> Self;
    /// Appends the bytes, lowest first.
    fn encode(self, out: &mut Vec<u8>);
}

macro_rules! stored {
    ($($variant:ident $t:ty),*) => {$(
        impl Stored for $t {
            const DTYPE: ArrayDtype = ArrayDtype::$variant;
            fn decode(bytes: &[u8], order: ByteOrder) -> Self {
                let mut exact = [0; ArrayDtype::$variant.size()];
                exact.copy_from_slice(bytes);
                match order {
                    ByteOrder::Little => <$t>::from_le_bytes(exact),
                    ByteOrder::Big => <$t>::from_be_bytes(exact),
                }
            }
            fn encode(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
stored!(F64 f64, F32 f32, F16 f16, BF16 bf16, I64 i64, I32 i32, I16 i16, I8 i8, U64 u64, U32 u32, U16 u16, U8 u8);

impl Stored for bool {
    const DTYPE: ArrayDtype = ArrayDtype::Bool;
    fn decode(bytes: &[u8], _: ByteOrder) -> Self {
        bytes[0] == 1
    }
    fn encode(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }
}

/// Bytes decoded or encoded at a time.
const STEP: usize = 1 << 16;

/// The next `count` elements. Memory is taken in steps as bytes arrive, so a `count` that the reader does not back
/// costs no more than twice what was read.
pub(super) fn read(
    reader: &mut impl Read,
    dtype: ArrayDtype,
    order: ByteOrder,
    count: usize,
) -> Result<ArrayData, FileError> {
    fn elements<T: Stored>(reader: &mut impl Read, order: ByteOrder, count: usize) -> Result<Vec<T>, FileError> {
        let size = T::DTYPE.size();
        let per_step = STEP / size;
        let mut bytes = vec![0; count.min(per_step) * size];
        let mut values: Vec<T> = Vec::new();
        while values.len() < count {
            let left = count - values.len();
            let step = &mut bytes[..left.min(per_step) * size];
            let found = source::fill(reader, step)?;
            if found < step.len() {
                let (expected, found) = (count as u64 * size as u64, (values.len() * size + found) as u64);
                return Err(Fault::Truncated { what: "data", expected, found }.into());
            }
            if values.capacity() - values.len() < step.len() / size {
                let more = left.min(values.len().max(per_step));
                let elements = values.len() + more;
                values.try_reserve_exact(more).map_err(|_| Fault::Memory { elements, dtype: T::DTYPE })?;
            }
            if T::DTYPE == ArrayDtype::Bool
                && let Some(at) = step.iter().position(|&b| b > 1)
            {
                return Err(Fault::NotABool { index: values.len() + at, found: step[at] }.into());
            }
            values.extend(step.chunks_exact(size).map(|element| T::decode(element, order)));
        }
        Ok(values)
    }
    Ok(match dtype {
        ArrayDtype::F64 => ArrayData::F64(elements(reader, order, count)?),
        ArrayDtype::F32 => ArrayData::F32(elements(reader, order, count)?),
        ArrayDtype::F16 => ArrayData::F16(elements(reader, order, count)?),
        ArrayDtype::BF16 => ArrayData::BF16(elements(reader, order, count)?),
        ArrayDtype::I64 => ArrayData::I64(elements(reader, order, count)?),
        ArrayDtype::I32 => ArrayData::I32(elements(reader, order, count)?),
        ArrayDtype::I16 => ArrayData::I16(elements(reader, order, count)?),
        ArrayDtype::I8 => ArrayData::I8(elements(reader, order, count)?),
        ArrayDtype::U64 => ArrayData::U64(elements(reader, order, count)?),
        ArrayDtype::U32 => ArrayData::U32(elements(reader, order, count)?),
        ArrayDtype::U16 => ArrayData::U16(elements(reader, order, count)?),
        ArrayDtype::U8 => ArrayData::U8(elements(reader, order, count)?),
        ArrayDtype::Bool => ArrayData::Bool(elements(reader, order, count)?),
    })
}

/// Writes the elements in order, lowest byte first.
pub(super) fn write(out: &mut impl Write, data: &ArrayData) -> io::Result<()> {
    fn elements<T: Stored>(out: &mut impl Write, values: &[T]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(STEP.min(values.len() * T::DTYPE.size()));
        for step in values.chunks(STEP / T::DTYPE.size()) {
            bytes.clear();
            step.iter().for_each(|x| x.encode(&mut bytes));
            out.write_all(&bytes)?;
        }
        Ok(())
    }
    for_each_data!(data, x => elements(out, x))
}

/// Elements of an array; `None` where they cannot be counted.
pub(super) fn count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s))
}

/// An array stored with its first axis fastest (Fortran order), in row-major order.
pub(super) fn to_row_major(shape: &[usize], data: ArrayData) -> Result<ArrayData, FileError> {
    fn permute<T: Stored>(shape: &[usize], stored: &[T]) -> Result<Vec<T>, FileError> {
        let mut values = Vec::new();
        let refused = |_| Fault::Memory { elements: stored.len(), dtype: T::DTYPE };
        values.try_reserve_exact(stored.len()).map_err(refused)?;
        // Axes of length 1 move nothing; without them there are at most 63, so each step of the index is cheap however
        // many axes the header claims.
        let lengths: Vec<usize> = shape.iter().copied().filter(|&n| n > 1).collect();
        let strides: Vec<usize> = lengths.iter().scan(1, |step, &n| Some(std::mem::replace(step, *step * n))).collect();
        let mut index = vec![0; lengths.len()];
        let mut at = 0;
        while values.len() < stored.len() {
            values.push(stored[at]);
            for axis in (0..lengths.len()).rev() {
                index[axis] += 1;
                at += strides[axis];
                if index[axis] < lengths[axis] {
                    break;
                }
                at -= strides[axis] * lengths[axis];
                index[axis] = 0;
            }
        }
        Ok(values)
    }
    Ok(for_each_data!(data, x => permute(shape, &x)?.into()))
}
