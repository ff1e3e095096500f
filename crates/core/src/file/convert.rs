//! From an array into what a problem needs, and back: exact, or a typed error.

use super::array::{Array, ArrayData, ArrayError};
use super::dtype::ArrayDtype;
use crate::tensor::{Elements, Tensor};

impl Array {
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
