//! An array of any type that files hold.

use super::dtype::ArrayDtype;
use half::{bf16, f16};

/// The elements of an [`Array`].
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayData {
    /// binary64
    F64(Vec<f64>),
    /// binary32
    F32(Vec<f32>),
    /// binary16
    F16(Vec<f16>),
    /// bfloat16
    BF16(Vec<bf16>),
    /// signed, 64 bits
    I64(Vec<i64>),
    /// signed, 32 bits
    I32(Vec<i32>),
    /// signed, 16 bits
    I16(Vec<i16>),
    /// signed, 8 bits
    I8(Vec<i8>),
    /// unsigned, 64 bits
    U64(Vec<u64>),
    /// unsigned, 32 bits
    U32(Vec<u32>),
    /// unsigned, 16 bits
    U16(Vec<u16>),
    /// unsigned, 8 bits
    U8(Vec<u8>),
    /// truth values
    Bool(Vec<bool>),
}

/// Runs one expression for whichever element type an [`ArrayData`] holds.
macro_rules! for_each_data {
    ($data:expr, $x:ident => $body:expr) => {
        match $data {
            ArrayData::F64($x) => $body,
            ArrayData::F32($x) => $body,
            ArrayData::F16($x) => $body,
            ArrayData::BF16($x) => $body,
            ArrayData::I64($x) => $body,
            ArrayData::I32($x) => $body,
            ArrayData::I16($x) => $body,
            ArrayData::I8($x) => $body,
            ArrayData::U64($x) => $body,
            ArrayData::U32($x) => $body,
            ArrayData::U16($x) => $body,
            ArrayData::U8($x) => $body,
            ArrayData::Bool($x) => $body,
        }
    };
}
pub(super) use for_each_data;

impl ArrayData {
    /// Element type.
    pub fn dtype(&self) -> ArrayDtype {
        match self {
            ArrayData::F64(_) => ArrayDtype::F64,
            ArrayData::F32(_) => ArrayDtype::F32,
            ArrayData::F16(_) => ArrayDtype::F16,
            ArrayData::BF16(_) => ArrayDtype::BF16,
            ArrayData::I64(_) => ArrayDtype::I64,
            ArrayData::I32(_) => ArrayDtype::I32,
            ArrayData::I16(_) => ArrayDtype::I16,
            ArrayData::I8(_) => ArrayDtype::I8,
            ArrayData::U64(_) => ArrayDtype::U64,
            ArrayData::U32(_) => ArrayDtype::U32,
            ArrayData::U16(_) => ArrayDtype::U16,
            ArrayData::U8(_) => ArrayDtype::U8,
            ArrayData::Bool(_) => ArrayDtype::Bool,
        }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        for_each_data!(self, x => x.len())
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An array of any type and rank, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) data: ArrayData,
}

/// Why an array is not what it is used for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// A shape asks for another number of elements than there are.
    #[error("shape {shape:?} does not hold {found} elements")]
    ElementCount {
        /// the shape asked for
        shape: Vec<usize>,
        /// the elements there are
        found: usize,
    },
    /// The element type does not fit the use.
    #[error("element type {found}, expected {expected}")]
    Type {
        /// what would be right
        expected: &'static str,
        /// the type found
        found: ArrayDtype,
    },
    /// A number that the wanted type does not hold exactly.
    #[error("element {index}: {found}, expected {expected}")]
    Value {
        /// place in row-major order
        index: usize,
        /// what would be right
        expected: &'static str,
        /// the number found
        found: i128,
    },
}

impl Array {
    /// `data` read in row-major order as an array of `shape`.
    ///
    /// # Errors
    /// [`ArrayError::ElementCount`] where the shape asks for another number of elements.
    pub fn new(shape: Vec<usize>, data: ArrayData) -> Result<Array, ArrayError> {
        let expected = shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s));
        if expected != Some(data.len()) {
            return Err(ArrayError::ElementCount { shape, found: data.len() });
        }
        Ok(Array { shape, data })
    }

    /// Length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements in row-major order.
    pub fn data(&self) -> &ArrayData {
        &self.data
    }

    /// Shape and elements, given up.
    pub fn into_parts(self) -> (Vec<usize>, ArrayData) {
        (self.shape, self.data)
    }

    /// Element type.
    pub fn dtype(&self) -> ArrayDtype {
        self.data.dtype()
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
}

macro_rules! data_from {
    ($($variant:ident $t:ty),*) => {$(
        impl From<Vec<$t>> for ArrayData {
            fn from(values: Vec<$t>) -> ArrayData {
                ArrayData::$variant(values)
            }
        }
    )*};
}
data_from!(F64 f64, F32 f32, F16 f16, BF16 bf16, I64 i64, I32 i32, I16 i16, I8 i8, U64 u64, U32 u32, U16 u16, U8 u8, Bool bool);
