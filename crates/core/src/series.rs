//! Sequences of numbers along the time line, shared by all batches or one for each.

use crate::error::{Axis, ProblemError, TensorName};

/// `len` numbers, or `batch` rows of `len` numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<T> {
    values: Vec<T>,
    batch: Option<usize>,
    len: usize,
}

impl<T> Series<T> {
    /// One row that every batch shares: shape (len).
    pub fn shared(values: Vec<T>) -> Series<T> {
        let len = values.len();
        Series { values, batch: None, len }
    }

    /// One row for each batch: `values` in row-major order, shape (batch, len).
    ///
    /// # Errors
    /// [`ProblemError::ElementCount`] where `values` does not hold batch x len numbers.
    pub fn batched(batch: usize, len: usize, values: Vec<T>) -> Result<Series<T>, ProblemError> {
        if batch.checked_mul(len) != Some(values.len()) {
            return Err(ProblemError::ElementCount { shape: vec![batch, len], found: values.len() });
        }
        Ok(Series { values, batch: Some(batch), len })
    }

    /// By the shape of an array: rank 1 is shared, rank 2 is (batch, len).
    ///
    /// # Errors
    /// [`ProblemError::Rank`] for any other rank, [`ProblemError::ElementCount`] where shape and values disagree.
    pub fn from_shape(tensor: TensorName, shape: &[usize], values: Vec<T>) -> Result<Series<T>, ProblemError> {
        match *shape {
            [len] if len == values.len() => Ok(Series::shared(values)),
            [len] => Err(ProblemError::ElementCount { shape: vec![len], found: values.len() }),
            [batch, len] => Series::batched(batch, len, values),
            _ => Err(ProblemError::Rank { tensor, expected: "1 or 2", found: shape.len() }),
        }
    }

    /// How many rows, where each batch has its own.
    pub fn batch(&self) -> Option<usize> {
        self.batch
    }

    /// Numbers in a row.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether a row has no number.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All numbers in row-major order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The row of one batch.
    ///
    /// # Panics
    /// For a batch that has no row.
    pub fn row(&self, batch: usize) -> &[T] {
        match self.batch {
            None => &self.values,
            Some(_) => &self.values[batch * self.len..(batch + 1) * self.len],
        }
    }

    /// Shape (len) or (batch, len).
    pub fn shape(&self) -> Vec<usize> {
        match self.batch {
            None => vec![self.len],
            Some(batch) => vec![batch, self.len],
        }
    }

    /// Coordinates of `values()[at]`.
    pub(crate) fn index(&self, at: usize) -> Vec<usize> {
        match self.batch {
            None => vec![at],
            Some(_) => vec![at / self.len, at % self.len],
        }
    }

    /// Checks that this belongs to a problem of `batch` batches and has `len` numbers in a row.
    pub(crate) fn check(&self, tensor: TensorName, batch: usize, len: usize) -> Result<(), ProblemError> {
        if let Some(found) = self.batch
            && found != batch
        {
            return Err(ProblemError::Shape { tensor, axis: Axis::Batch, expected: batch.to_string(), found });
        }
        if self.len != len {
            return Err(ProblemError::Shape {
                tensor,
                axis: Axis::Sequence,
                expected: len.to_string(),
                found: self.len,
            });
        }
        Ok(())
    }
}

impl Series<f64> {
    /// Checks every number with `right`; the first that fails is reported.
    pub(crate) fn check_numbers(
        &self,
        tensor: TensorName,
        expected: &'static str,
        right: impl Fn(f64) -> bool,
    ) -> Result<(), ProblemError> {
        match self.values.iter().position(|&x| !right(x)) {
            None => Ok(()),
            Some(at) => Err(ProblemError::Number { tensor, index: self.index(at), expected, found: self.values[at] }),
        }
    }
}
