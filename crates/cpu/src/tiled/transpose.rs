//! Blocks of queries between rows, as tensors have them, and lanes, as kernels do.

/// `to[c to_stride + r] = from[r from_stride + c]` for all r below `rows` and c below `columns`, four by four.
#[inline(always)]
pub(crate) fn transpose(
    from: &[f32],
    from_stride: usize,
    to: &mut [f32],
    to_stride: usize,
    rows: usize,
    columns: usize,
) {
    let (whole_rows, whole_columns) = (rows / 4 * 4, columns / 4 * 4);
    for r in (0..whole_rows).step_by(4) {
        for c in (0..whole_columns).step_by(4) {
            four_by_four(&from[r * from_stride + c..], from_stride, &mut to[c * to_stride + r..], to_stride);
        }
    }
    for r in 0..rows {
        let rest = if r < whole_rows { whole_columns } else { 0 };
        for c in rest..columns {
            to[c * to_stride + r] = from[r * from_stride + c];
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn four_by_four(from: &[f32], from_stride: usize, to: &mut [f32], to_stride: usize) {
    use std::arch::x86_64::*;
    let (from, to) = (&from[..3 * from_stride + 4], &mut to[..3 * to_stride + 4]);
    // SAFETY: the processor has SSE, as every one of this architecture; four numbers from 0, 1, 2 and 3 strides on lie within the
    // slices, which were cut to that length.
    unsafe {
        let (from, to) = (from.as_ptr(), to.as_mut_ptr());
        let mut a = _mm_loadu_ps(from);
        let mut b = _mm_loadu_ps(from.add(from_stride));
        let mut c = _mm_loadu_ps(from.add(2 * from_stride));
        let mut d = _mm_loadu_ps(from.add(3 * from_stride));
        _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
        _mm_storeu_ps(to, a);
        _mm_storeu_ps(to.add(to_stride), b);
        _mm_storeu_ps(to.add(2 * to_stride), c);
        _mm_storeu_ps(to.add(3 * to_stride), d);
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn four_by_four(from: &[f32], from_stride: usize, to: &mut [f32], to_stride: usize) {
    for r in 0..4 {
        for c in 0..4 {
            to[c * to_stride + r] = from[r * from_stride + c];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every size beside a multiple of four, with room between rows that must stay as it was.
    #[test]
    fn rows_become_columns() {
        for rows in 0..10 {
            for columns in 0..10 {
                let (from_stride, to_stride) = (columns + 3, rows + 2);
                let from: Vec<f32> = (0..rows * from_stride).map(|i| i as f32).collect();
                let mut to = vec![-1.0; columns * to_stride];
                transpose(&from, from_stride, &mut to, to_stride, rows, columns);
                for c in 0..columns {
                    for r in 0..to_stride {
                        let expected = if r < rows { from[r * from_stride + c] } else { -1.0 };
                        assert_eq!(to[c * to_stride + r], expected, "{rows} x {columns}: {r}, {c}");
                    }
                }
            }
        }
    }
}
