//! An array of any type that files hold, and its exact conversions.

use crate::dtype::Dtype;
use crate::tensor::{Elements, Tensor};
use half::{bf16, f16};
use std::fmt;

/// Element type of an [`Array`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArrayDtype {
    /// binary64
    F64,
    /// binary32
    F32,
    /// binary16
    F16,
    /// bfloat16
    BF16,
    /// signed, 64 bits
    I64,
    /// signed, 32 bits
    I32,
    /// signed, 16 bits
    I16,
    /// signed, 8 bits
    I8,
    /// unsigned, 64 bits
    U64,
    /// unsigned, 32 bits
    U32,
    /// unsigned, 16 bits
    U16,
    /// unsigned, 8 bits
    U8,
    /// one byte, 0 or 1
    Bool,
}

impl ArrayDtype {
    /// Every type.
    pub const ALL: [ArrayDtype; 13] = [
        ArrayDtype::F64,
        ArrayDtype::F32,
        ArrayDtype::F16,
        ArrayDtype::BF16,
        ArrayDtype::I64,
        ArrayDtype::I32,
        ArrayDtype::I16,
        ArrayDtype::I8,
        ArrayDtype::U64,
        ArrayDtype::U32,
        ArrayDtype::U16,
        ArrayDtype::U8,
        ArrayDtype::Bool,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            ArrayDtype::F64 | ArrayDtype::I64 | ArrayDtype::U64 => 8,
            ArrayDtype::F32 | ArrayDtype::I32 | ArrayDtype::U32 => 4,
            ArrayDtype::F16 | ArrayDtype::BF16 | ArrayDtype::I16 | ArrayDtype::U16 => 2,
            ArrayDtype::I8 | ArrayDtype::U8 | ArrayDtype::Bool => 1,
        }
    }

    /// The name shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            ArrayDtype::F64 => "f64",
            ArrayDtype::F32 => "f32",
            ArrayDtype::F16 => "f16",
            ArrayDtype::BF16 => "bf16",
            ArrayDtype::I64 => "i64",
            ArrayDtype::I32 => "i32",
            ArrayDtype::I16 => "i16",
            ArrayDtype::I8 => "i8",
            ArrayDtype::U64 => "u64",
            ArrayDtype::U32 => "u32",
            ArrayDtype::U16 => "u16",
            ArrayDtype::U8 => "u8",
            ArrayDtype::Bool => "bool",
        }
    }

    /// The type as that of a tensor, where it is a floating-point one.
    pub const fn float(self) -> Option<Dtype> {
        match self {
            ArrayDtype::F64 => Some(Dtype::F64),
            ArrayDtype::F32 => Some(Dtype::F32),
            ArrayDtype::F16 => Some(Dtype::F16),
            ArrayDtype::BF16 => Some(Dtype::BF16),
            _ => None,
        }
    }
}

impl fmt::Display for ArrayDtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
    shape: Vec<usize>,
    data: ArrayData,
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

    /// The same numbers as a tensor.
    ///
    /// # Errors
    /// [`ArrayError::Type`] for integers and booleans.
    pub fn into_tensor(self) -> Result<Tensor, ArrayError> {
        let elements = match self.data {
            ArrayData::F64(x) => Elements::F64(x),
            ArrayData::F32(x) => Elements::F32(x),
            ArrayData::F16(x) => Elements::F16(x),
            ArrayData::BF16(x) => Elements::BF16(x),
            other => return Err(ArrayError::Type { expected: "f64, f32, f16 or bf16", found: other.dtype() }),
        };
        let found = elements.len();
        Tensor::new(self.shape.clone(), elements).map_err(|_| ArrayError::ElementCount { shape: self.shape, found })
    }

    /// The numbers as `f64`, exactly: durations and times.
    ///
    /// # Errors
    /// [`ArrayError::Value`] for an integer that `f64` does not hold, [`ArrayError::Type`] for booleans.
    pub fn to_reals(&self) -> Result<Vec<f64>, ArrayError> {
        match &self.data {
            ArrayData::F64(x) => return Ok(x.clone()),
            ArrayData::F32(x) => return Ok(x.iter().map(|&x| f64::from(x)).collect()),
            ArrayData::F16(x) => return Ok(x.iter().map(|&x| f64::from(x)).collect()),
            ArrayData::BF16(x) => return Ok(x.iter().map(|&x| f64::from(x)).collect()),
            ArrayData::Bool(_) => {
                return Err(ArrayError::Type { expected: "real numbers", found: ArrayDtype::Bool });
            }
            _ => {}
        }
        self.integers("real numbers", |x| {
            let real = x as f64;
            (real as i128 == x).then_some(real).ok_or("an integer that f64 holds exactly")
        })
    }

    /// The numbers as integers: documents.
    ///
    /// # Errors
    /// [`ArrayError::Type`] for floating-point numbers and booleans, [`ArrayError::Value`] above 2^63 - 1.
    pub fn to_ids(&self) -> Result<Vec<i64>, ArrayError> {
        self.integers("integers", |x| i64::try_from(x).map_err(|_| "an integer below 2^63"))
    }

    /// The elements as truth values: masks. Integers 0 and 1 count.
    ///
    /// # Errors
    /// [`ArrayError::Type`] for floating-point numbers, [`ArrayError::Value`] for any other integer.
    pub fn to_bools(&self) -> Result<Vec<bool>, ArrayError> {
        if let ArrayData::Bool(x) = &self.data {
            return Ok(x.clone());
        }
        self.integers("booleans, or integers 0 and 1", |x| match x {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("0 or 1"),
        })
    }

    /// Each integer through `convert`, whose error says what would be right.
    fn integers<T>(
        &self,
        expected: &'static str,
        convert: impl Fn(i128) -> Result<T, &'static str>,
    ) -> Result<Vec<T>, ArrayError> {
        fn each<I: Copy + Into<i128>, T>(
            integers: &[I],
            convert: impl Fn(i128) -> Result<T, &'static str>,
        ) -> Result<Vec<T>, ArrayError> {
            let convert = |(index, &x): (usize, &I)| {
                let found = x.into();
                convert(found).map_err(|expected| ArrayError::Value { index, expected, found })
            };
            integers.iter().enumerate().map(convert).collect()
        }
        match &self.data {
            ArrayData::I64(x) => each(x, convert),
            ArrayData::I32(x) => each(x, convert),
            ArrayData::I16(x) => each(x, convert),
            ArrayData::I8(x) => each(x, convert),
            ArrayData::U64(x) => each(x, convert),
            ArrayData::U32(x) => each(x, convert),
            ArrayData::U16(x) => each(x, convert),
            ArrayData::U8(x) => each(x, convert),
            other => Err(ArrayError::Type { expected, found: other.dtype() }),
        }
    }
}

impl From<Tensor> for Array {
    fn from(tensor: Tensor) -> Array {
        let (shape, elements) = tensor.into_parts();
        let data = match elements {
            Elements::F64(x) => ArrayData::F64(x),
            Elements::F32(x) => ArrayData::F32(x),
            Elements::F16(x) => ArrayData::F16(x),
            Elements::BF16(x) => ArrayData::BF16(x),
        };
        Array { shape, data }
    }
}

impl TryFrom<Array> for Tensor {
    type Error = ArrayError;
    fn try_from(array: Array) -> Result<Tensor, ArrayError> {
        array.into_tensor()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn array(data: impl Into<ArrayData>) -> Array {
        let data = data.into();
        Array::new(vec![data.len()], data).unwrap()
    }

    #[test]
    fn reals_are_exact_or_refused() {
        assert_eq!(array(vec![0.1f32]).to_reals().unwrap(), [f64::from(0.1f32)]);
        assert_eq!(array(vec![i64::MIN, 1 << 53, -3]).to_reals().unwrap(), [-(2f64.powi(63)), 2f64.powi(53), -3.0]);
        let odd = (1i64 << 53) + 1;
        assert!(matches!(
            array(vec![0, odd]).to_reals(),
            Err(ArrayError::Value { index: 1, found, .. }) if found == i128::from(odd)
        ));
        assert!(array(vec![u64::MAX]).to_reals().is_err());
        assert!(array(vec![true]).to_reals().is_err());
    }

    #[test]
    fn ids_and_masks() {
        assert_eq!(array(vec![1u8, 255]).to_ids().unwrap(), [1, 255]);
        assert_eq!(array(vec![i64::MIN]).to_ids().unwrap(), [i64::MIN]);
        assert!(matches!(array(vec![1u64 << 63]).to_ids(), Err(ArrayError::Value { index: 0, .. })));
        assert!(matches!(array(vec![1.0f64]).to_ids(), Err(ArrayError::Type { found: ArrayDtype::F64, .. })));
        assert_eq!(array(vec![0i32, 1]).to_bools().unwrap(), [false, true]);
        assert!(matches!(array(vec![0i8, -1]).to_bools(), Err(ArrayError::Value { index: 1, found: -1, .. })));
        assert!(array(vec![1.0f32]).to_bools().is_err());
    }

    #[test]
    fn tensors_hold_floats_only() {
        let tensor = array(vec![1.5f32, 2.5]).into_tensor().unwrap();
        assert_eq!(Array::from(tensor), array(vec![1.5f32, 2.5]));
        assert!(matches!(
            array(vec![1i32]).into_tensor(),
            Err(ArrayError::Type { expected: "f64, f32, f16 or bf16", found: ArrayDtype::I32 })
        ));
        assert!(Array::new(vec![usize::MAX, 2], vec![0u8].into()).is_err());
    }
}
