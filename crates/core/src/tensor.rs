//! Tensors: owned arrays in row-major order, and four-dimensional views with any strides.

use crate::dtype::{Dtype, Element};
use crate::error::{Axis, ProblemError, TensorName};
use half::{bf16, f16};

/// The numbers of an owned tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// binary64
    F64(Vec<f64>),
    /// binary32
    F32(Vec<f32>),
    /// binary16
    F16(Vec<f16>),
    /// bfloat16
    BF16(Vec<bf16>),
}

/// Runs one expression for whichever element type a [`TensorView`] or [`Elements`] holds.
macro_rules! for_each_type {
    ($kind:ident, $value:expr, $x:ident => $body:expr) => {
        match $value {
            $kind::F64($x) => $body,
            $kind::F32($x) => $body,
            $kind::F16($x) => $body,
            $kind::BF16($x) => $body,
        }
    };
}

impl Elements {
    /// Element type.
    pub fn dtype(&self) -> Dtype {
        match self {
            Elements::F64(_) => Dtype::F64,
            Elements::F32(_) => Dtype::F32,
            Elements::F16(_) => Dtype::F16,
            Elements::BF16(_) => Dtype::BF16,
        }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        for_each_type!(Elements, self, x => x.len())
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `i`, widened exactly.
    ///
    /// # Panics
    /// If `i` is not below [`len`](Elements::len).
    pub fn get(&self, i: usize) -> f64 {
        for_each_type!(Elements, self, x => x[i].widen())
    }

    /// Each number rounded once from `f64` to `dtype`.
    pub fn from_f64(dtype: Dtype, values: impl IntoIterator<Item = f64>) -> Elements {
        let values = values.into_iter();
        match dtype {
            Dtype::F64 => Elements::F64(values.collect()),
            Dtype::F32 => Elements::F32(values.map(Element::rounded).collect()),
            Dtype::F16 => Elements::F16(values.map(Element::rounded).collect()),
            Dtype::BF16 => Elements::BF16(values.map(Element::rounded).collect()),
        }
    }
}

/// An owned array of any rank in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Vec<usize>,
    elements: Elements,
}

impl Tensor {
    /// `elements` read in row-major order as an array of `shape`.
    ///
    /// # Errors
    /// [`ProblemError::ElementCount`] where the shape asks for another number of elements.
    pub fn new(shape: Vec<usize>, elements: Elements) -> Result<Tensor, ProblemError> {
        let expected = shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s));
        if expected != Some(elements.len()) {
            return Err(ProblemError::ElementCount { shape, found: elements.len() });
        }
        Ok(Tensor { shape, elements })
    }

    /// Numbers rounded once to `dtype`, as an array of `shape`.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn from_f64(
        shape: Vec<usize>,
        dtype: Dtype,
        values: impl IntoIterator<Item = f64>,
    ) -> Result<Tensor, ProblemError> {
        Tensor::new(shape, Elements::from_f64(dtype, values))
    }

    /// An engine's numbers as an array of `shape` in `dtype`: as they are where they are of that type, else each rounded once.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn rounded<T: Element>(shape: Vec<usize>, dtype: Dtype, values: Vec<T>) -> Result<Tensor, ProblemError>
    where
        Elements: From<Vec<T>>,
    {
        if T::DTYPE == dtype {
            Tensor::new(shape, Elements::from(values))
        } else {
            Tensor::from_f64(shape, dtype, values.iter().map(|x| x.widen()))
        }
    }

    /// Length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The numbers in row-major order.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// Shape and numbers, given up.
    pub fn into_parts(self) -> (Vec<usize>, Elements) {
        (self.shape, self.elements)
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.elements.dtype()
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The numbers in row-major order, widened exactly.
    pub fn to_f64(&self) -> Vec<f64> {
        for_each_type!(Elements, &self.elements, x => x.iter().map(|e| e.widen()).collect())
    }

    /// The same numbers in another type, each rounded once.
    pub fn to_dtype(&self, dtype: Dtype) -> Tensor {
        if dtype == self.dtype() {
            return self.clone();
        }
        let elements = for_each_type!(Elements, &self.elements,
            x => Elements::from_f64(dtype, x.iter().map(|e| e.widen())));
        Tensor { shape: self.shape.clone(), elements }
    }

    /// Index of an element in row-major order, where every coordinate is within its axis.
    pub fn offset(&self, index: &[usize]) -> Option<usize> {
        if index.len() != self.shape.len() {
            return None;
        }
        index.iter().zip(&self.shape).try_fold(0, |at, (&i, &n)| (i < n).then_some(at * n + i))
    }

    /// The element at `index`, widened exactly; `None` outside the shape.
    pub fn get(&self, index: &[usize]) -> Option<f64> {
        self.offset(index).map(|at| self.elements.get(at))
    }

    /// A four-dimensional view in `layout`; a tensor of rank 3 is read as one batch, of rank 2 as one batch and one head
    /// (in either layout, so rank 3 is (heads, sequence, head_dim) or (sequence, heads, head_dim)).
    ///
    /// # Errors
    /// [`ProblemError::Rank`] for any other rank.
    pub fn view(&self, tensor: TensorName, layout: Layout) -> Result<TensorView<'_>, ProblemError> {
        let shape = match *self.shape {
            [b, x, y, d] => [b, x, y, d],
            [x, y, d] => [1, x, y, d],
            [s, d] if layout == Layout::Bhsd => [1, 1, s, d],
            [s, d] => [1, s, 1, d],
            _ => {
                return Err(ProblemError::Rank { tensor, expected: "2, 3 or 4", found: self.shape.len() });
            }
        };
        let view = for_each_type!(Elements, &self.elements, x => TensorView::from(View::contiguous(tensor, x, shape)?));
        Ok(match layout {
            Layout::Bhsd => view,
            Layout::Bshd => view.swap_heads_and_sequence(),
        })
    }
}

/// Order of the axes of a stored tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// (batch, heads, sequence, head_dim)
    #[default]
    Bhsd,
    /// (batch, sequence, heads, head_dim)
    Bshd,
}

/// A borrowed array of shape (batch, heads, sequence, head_dim) with any strides, negative and zero ones included.
///
/// Every index within the shape lies within `data`: checked when it is made.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    data: &'a [T],
    offset: usize,
    shape: [usize; 4],
    strides: [isize; 4],
}

impl<'a, T: Copy> View<'a, T> {
    /// `data` in row-major order.
    ///
    /// # Errors
    /// [`ProblemError::OutOfBounds`] where `data` is too short for `shape`.
    pub fn contiguous(tensor: TensorName, data: &'a [T], shape: [usize; 4]) -> Result<Self, ProblemError> {
        let mut strides = [0isize; 4];
        let mut step = 1usize;
        for axis in (0..4).rev() {
            strides[axis] = isize::try_from(step).map_err(|_| ProblemError::TooLarge { tensor })?;
            step = step.checked_mul(shape[axis].max(1)).ok_or(ProblemError::TooLarge { tensor })?;
        }
        View::strided(tensor, data, 0, shape, strides)
    }

    /// Element (b, h, s, c) is `data[offset + b*strides[0] + h*strides[1] + s*strides[2] + c*strides[3]]`, strides in elements.
    ///
    /// # Errors
    /// [`ProblemError::OutOfBounds`] where an index within `shape` would fall outside `data`.
    pub fn strided(
        tensor: TensorName,
        data: &'a [T],
        offset: usize,
        shape: [usize; 4],
        strides: [isize; 4],
    ) -> Result<Self, ProblemError> {
        if shape.iter().product_checked().is_none() {
            return Err(ProblemError::TooLarge { tensor });
        }
        if !shape.contains(&0) {
            // i128 holds any sum of four products of a usize and an isize.
            let reach = |negative: bool| -> i128 {
                shape
                    .iter()
                    .zip(strides)
                    .filter(|&(_, stride)| (stride < 0) == negative)
                    .map(|(&n, stride)| (n as i128 - 1) * stride as i128)
                    .sum()
            };
            let first = offset as i128 + reach(true);
            let last = offset as i128 + reach(false);
            if first < 0 || last >= data.len() as i128 {
                return Err(ProblemError::OutOfBounds { tensor, first, last, len: data.len() });
            }
        }
        Ok(View { data, offset, shape, strides })
    }

    /// Length of each axis: batch, heads, sequence, head_dim.
    pub fn shape(&self) -> [usize; 4] {
        self.shape
    }

    /// Distance in elements between neighbours along each axis.
    pub fn strides(&self) -> [isize; 4] {
        self.strides
    }

    /// The slice that the view reads.
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    /// Where (batch, head, row, 0) lies in [`data`](View::data).
    ///
    /// # Panics
    /// In debug builds, for an index outside the shape.
    #[inline]
    pub fn row_offset(&self, batch: usize, head: usize, row: usize) -> usize {
        debug_assert!(batch < self.shape[0] && head < self.shape[1] && row < self.shape[2]);
        (self.offset as isize
            + batch as isize * self.strides[0]
            + head as isize * self.strides[1]
            + row as isize * self.strides[2]) as usize
    }

    /// One element.
    ///
    /// # Panics
    /// For an index outside the shape.
    #[inline]
    pub fn get(&self, batch: usize, head: usize, row: usize, channel: usize) -> T {
        debug_assert!(channel < self.shape[3]);
        let at = self.row_offset(batch, head, row) as isize + channel as isize * self.strides[3];
        self.data[at as usize]
    }

    /// The row (batch, head, row, ..) as a slice, where its elements are adjacent.
    #[inline]
    pub fn row_slice(&self, batch: usize, head: usize, row: usize) -> Option<&'a [T]> {
        if self.shape[3] == 0 {
            return Some(&[]);
        }
        let start = self.row_offset(batch, head, row);
        (self.strides[3] == 1 || self.shape[3] == 1).then(|| &self.data[start..start + self.shape[3]])
    }

    /// The elements of row (batch, head, row, ..) in order.
    pub fn row(&self, batch: usize, head: usize, row: usize) -> impl Iterator<Item = T> + '_ {
        (0..self.shape[3]).map(move |c| self.get(batch, head, row, c))
    }

    /// The same elements with the axes of heads and sequence exchanged: reads (batch, sequence, heads, head_dim) storage
    /// as (batch, heads, sequence, head_dim) without a copy.
    pub fn swap_heads_and_sequence(self) -> Self {
        let [b, h, s, d] = self.shape;
        let [sb, sh, ss, sd] = self.strides;
        View { shape: [b, s, h, d], strides: [sb, ss, sh, sd], ..self }
    }

    /// Rows `range` of the sequence axis.
    ///
    /// # Errors
    /// [`ProblemError::Shape`] where the range does not lie within the axis.
    pub fn rows(self, tensor: TensorName, range: std::ops::Range<usize>) -> Result<Self, ProblemError> {
        if range.start > range.end || range.end > self.shape[2] {
            return Err(ProblemError::Shape {
                tensor,
                axis: Axis::Sequence,
                expected: format!("at least {}", range.end.max(range.start)),
                found: self.shape[2],
            });
        }
        let [b, h, _, d] = self.shape;
        let mut view = View { shape: [b, h, range.len(), d], ..self };
        if b > 0 && h > 0 && d > 0 && !range.is_empty() {
            view.offset = (self.offset as isize + range.start as isize * self.strides[2]) as usize;
        }
        Ok(view)
    }
}

/// A product that may overflow.
trait ProductChecked {
    fn product_checked(self) -> Option<usize>;
}
impl<'n, I: Iterator<Item = &'n usize>> ProductChecked for I {
    fn product_checked(mut self) -> Option<usize> {
        self.try_fold(1usize, |n, &s| n.checked_mul(s))
    }
}

/// A [`View`] of whichever element type.
#[derive(Clone, Copy, Debug)]
pub enum TensorView<'a> {
    /// binary64
    F64(View<'a, f64>),
    /// binary32
    F32(View<'a, f32>),
    /// binary16
    F16(View<'a, f16>),
    /// bfloat16
    BF16(View<'a, bf16>),
}

impl<'a> TensorView<'a> {
    /// Element type.
    pub fn dtype(&self) -> Dtype {
        match self {
            TensorView::F64(_) => Dtype::F64,
            TensorView::F32(_) => Dtype::F32,
            TensorView::F16(_) => Dtype::F16,
            TensorView::BF16(_) => Dtype::BF16,
        }
    }

    /// Length of each axis: batch, heads, sequence, head_dim.
    pub fn shape(&self) -> [usize; 4] {
        for_each_type!(TensorView, self, x => x.shape())
    }

    /// One element, widened exactly.
    ///
    /// # Panics
    /// For an index outside the shape.
    #[inline]
    pub fn get(&self, batch: usize, head: usize, row: usize, channel: usize) -> f64 {
        for_each_type!(TensorView, self, x => x.get(batch, head, row, channel).widen())
    }

    /// The elements of row (batch, head, row, ..), widened exactly, into `out`.
    ///
    /// # Panics
    /// Where `out` is not as long as the last axis.
    pub fn read_row(&self, batch: usize, head: usize, row: usize, out: &mut [f64]) {
        assert_eq!(out.len(), self.shape()[3]);
        for_each_type!(TensorView, self, x => {
            for (c, o) in out.iter_mut().enumerate() {
                *o = x.get(batch, head, row, c).widen();
            }
        });
    }

    /// See [`View::swap_heads_and_sequence`].
    pub fn swap_heads_and_sequence(self) -> Self {
        for_each_type!(TensorView, self, x => x.swap_heads_and_sequence().into())
    }

    /// See [`View::rows`].
    ///
    /// # Errors
    /// As there.
    pub fn rows(self, tensor: TensorName, range: std::ops::Range<usize>) -> Result<Self, ProblemError> {
        Ok(for_each_type!(TensorView, self, x => x.rows(tensor, range)?.into()))
    }

    /// An owned copy in row-major order, of rank 4.
    pub fn to_tensor(&self) -> Tensor {
        fn copy<T: Copy>(x: &View<'_, T>) -> Vec<T> {
            let [b, h, s, d] = x.shape();
            let mut out = Vec::with_capacity(b * h * s * d);
            for (b, h, s) in (0..b).flat_map(|b| (0..h).flat_map(move |h| (0..s).map(move |s| (b, h, s)))) {
                out.extend(x.row(b, h, s));
            }
            out
        }
        let elements = match self {
            TensorView::F64(x) => Elements::F64(copy(x)),
            TensorView::F32(x) => Elements::F32(copy(x)),
            TensorView::F16(x) => Elements::F16(copy(x)),
            TensorView::BF16(x) => Elements::BF16(copy(x)),
        };
        Tensor { shape: self.shape().to_vec(), elements }
    }
}

macro_rules! view_from {
    ($($variant:ident $t:ty),*) => {$(
        impl<'a> From<View<'a, $t>> for TensorView<'a> {
            fn from(view: View<'a, $t>) -> Self {
                TensorView::$variant(view)
            }
        }
        impl From<Vec<$t>> for Elements {
            fn from(values: Vec<$t>) -> Self {
                Elements::$variant(values)
            }
        }
    )*};
}
view_from!(F64 f64, F32 f32, F16 f16, BF16 bf16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_checked_against_the_data() {
        let data = [0f32; 24];
        let view = |offset, shape, strides| View::strided(TensorName::Key, &data, offset, shape, strides);
        assert!(view(0, [1, 2, 3, 4], [24, 12, 4, 1]).is_ok());
        assert!(view(1, [1, 2, 3, 4], [24, 12, 4, 1]).is_err());
        assert!(view(23, [1, 2, 3, 4], [-24, -12, -4, -1]).is_ok());
        assert!(view(22, [1, 2, 3, 4], [-24, -12, -4, -1]).is_err());
        assert!(view(5, [7, 2, 3, 4], [0, 0, 0, 0]).is_ok());
        assert!(view(24, [1, 1, 1, 1], [0, 0, 0, 0]).is_err());
        assert!(view(99, [1, 0, 1, 1], [0, 0, 0, 0]).is_ok());
        assert!(view(0, [usize::MAX, 2, 1, 1], [0, 0, 0, 0]).is_err());
        assert!(view(0, [3, 2, 1, 1], [isize::MAX, isize::MAX, 0, 0]).is_err());
    }

    #[test]
    fn layouts_without_a_copy() {
        let numbers: Vec<f64> = (0..24).map(f64::from).collect();
        let stored = Tensor::from_f64(vec![1, 3, 2, 4], Dtype::F64, numbers).unwrap();
        let bshd = stored.view(TensorName::Query, Layout::Bshd).unwrap();
        assert_eq!(bshd.shape(), [1, 2, 3, 4]);
        assert_eq!(bshd.get(0, 1, 2, 3), 23.0);
        assert_eq!(bshd.get(0, 1, 0, 0), 4.0);
        let tail = bshd.rows(TensorName::Query, 1..3).unwrap();
        assert_eq!(tail.get(0, 0, 0, 0), 8.0);
        assert_eq!(
            tail.to_tensor().to_f64(),
            [8.0, 9.0, 10.0, 11.0, 16.0, 17.0, 18.0, 19.0, 12.0, 13.0, 14.0, 15.0, 20.0, 21.0, 22.0, 23.0]
        );
        assert!(bshd.rows(TensorName::Query, 1..4).is_err());
    }

    #[test]
    fn low_ranks_are_one_head_or_one_batch() {
        let t = Tensor::from_f64(vec![3, 4], Dtype::F16, (0..12).map(f64::from)).unwrap();
        assert_eq!(t.view(TensorName::Key, Layout::Bhsd).unwrap().shape(), [1, 1, 3, 4]);
        assert_eq!(t.view(TensorName::Key, Layout::Bshd).unwrap().shape(), [1, 1, 3, 4]);
        let t = Tensor::from_f64(vec![12], Dtype::F16, (0..12).map(f64::from)).unwrap();
        assert!(matches!(t.view(TensorName::Key, Layout::Bhsd), Err(ProblemError::Rank { .. })));
        assert!(Tensor::from_f64(vec![5, 5], Dtype::F32, [0.0; 24]).is_err());
    }
}
