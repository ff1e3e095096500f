//! Comparison of two tensors: where they differ most, by how much in every measure, and whether that is allowed.

mod hex;

pub use hex::hex;

use crate::allowance::Bound;
use contattn_core::{Dtype, Tensor};
use serde::Serialize;
use std::fmt;

/// What counts as equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// At most this many units in the last place of the actual tensor's type.
    Ulps(f64),
    /// At most `absolute + relative |expected|`.
    Distance {
        /// in units of |expected|
        relative: f64,
        /// in units of 1
        absolute: f64,
    },
}

impl Tolerance {
    /// The same numbers, apart from the sign of zero.
    pub const EXACT: Tolerance = Tolerance::Ulps(0.0);

    fn accepts(self, actual: f64, expected: f64, dtype: Dtype) -> bool {
        if actual.is_nan() || expected.is_nan() {
            return actual.is_nan() && expected.is_nan();
        }
        if actual == expected {
            return true;
        }
        match self {
            Tolerance::Ulps(most) => ulps(actual, expected, dtype) <= most,
            // An infinity equals itself alone.
            Tolerance::Distance { .. } if actual.is_infinite() || expected.is_infinite() => false,
            Tolerance::Distance { relative, absolute } => {
                (actual - expected).abs() <= absolute + relative * expected.abs()
            }
        }
    }
}

/// Tensors that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shapes differ: {actual:?} against {expected:?}")]
pub struct ShapeMismatch {
    /// shape of the first tensor
    pub actual: Vec<usize>,
    /// shape of the second one
    pub expected: Vec<usize>,
}

/// One pair of numbers and their distance. Numbers are repeated as C99 hexadecimal floats, which are exact and stand for infinities
/// and NaN in JSON, where the decimal ones are null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// coordinates
    pub index: Vec<usize>,
    /// what was found
    pub actual: f64,
    /// what it should be
    pub expected: f64,
    /// `actual` in hexadecimal
    pub actual_hex: String,
    /// `expected` in hexadecimal
    pub expected_hex: String,
    /// distance in units in the last place of the actual tensor's type at `expected`
    pub ulps: f64,
    /// |actual - expected|
    pub absolute: f64,
    /// |actual - expected| / |expected|
    pub relative: f64,
    /// the allowed distance, where each element has its own
    pub allowed: Option<f64>,
}

/// How many elements lie at most this far off and further than the bucket before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bucket {
    /// largest distance in it, in ulps; infinite for the last one
    pub most: f64,
    /// elements in it
    pub count: usize,
}

/// The comparison of two tensors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// shape of both
    pub shape: Vec<usize>,
    /// element type of the first one, whose ulps are counted
    pub dtype: &'static str,
    /// elements compared
    pub elements: usize,
    /// elements beyond what is allowed
    pub failures: usize,
    /// elements of which one is NaN and the other is not; they are among the failures
    pub nan_mismatches: usize,
    /// elements that are NaN in both
    pub nan_matches: usize,
    /// elements that are infinite in one and not the same infinity in the other
    pub infinity_mismatches: usize,
    /// the failure that lies furthest beyond what is allowed, or without one the pair furthest apart
    pub worst: Option<Difference>,
    /// distances in ulps; NaN pairs are not in it
    pub histogram: Vec<Bucket>,
}

/// Upper ends of the histogram's buckets, in ulps.
const BUCKETS: [f64; 11] = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 256.0, 65536.0, 1e9, f64::INFINITY];

/// Size of a unit in the last place of `dtype` at x.
pub fn unit_in_last_place(x: f64, dtype: Dtype) -> f64 {
    if x == 0.0 {
        return dtype.smallest_subnormal();
    }
    let (_, exponent) = libm::frexp(x.abs().min(dtype.max()));
    libm::ldexp(1.0, exponent - dtype.precision() as i32).max(dtype.smallest_subnormal())
}

/// |actual - expected| in units in the last place of `dtype` at `expected`; infinite where either is infinite alone or NaN.
pub fn ulps(actual: f64, expected: f64, dtype: Dtype) -> f64 {
    if actual == expected {
        return 0.0;
    }
    let distance = (actual - expected).abs();
    if distance.is_finite() { distance / unit_in_last_place(expected, dtype) } else { f64::INFINITY }
}

/// Compares two tensors of the same shape element by element. NaN equals NaN, an infinity equals itself, -0 equals 0.
///
/// Types may differ: ulps are those of `actual`'s, so an f32 result can be judged against an f64 one.
///
/// # Errors
/// [`ShapeMismatch`].
pub fn compare(actual: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Result<Report, ShapeMismatch> {
    same_shape(actual, expected.shape())?;
    let expected = expected.to_f64();
    Ok(Report::collect(actual, |i, found| {
        let right = tolerance.accepts(found, expected[i], actual.dtype());
        Judged {
            expected: expected[i],
            allowed: None,
            excess: if right { 0.0 } else { excess(found, expected[i], actual.dtype()) },
        }
    }))
}

/// Compares a tensor with exact values and their allowances, given in row-major order.
///
/// # Errors
/// [`ShapeMismatch`] where there is another number of bounds than of elements.
pub fn compare_with_bounds(actual: &Tensor, bounds: &[Bound]) -> Result<Report, ShapeMismatch> {
    if actual.len() != bounds.len() {
        return Err(ShapeMismatch { actual: actual.shape().to_vec(), expected: vec![bounds.len()] });
    }
    let dtype = actual.dtype();
    Ok(Report::collect(actual, |i, found| {
        let bound = &bounds[i];
        let expected = bound.value.to_f64();
        let half = 0.5 * unit_in_last_place(expected, dtype);
        let excess = if bound.accepts(found, dtype) {
            0.0
        } else {
            let distance = (found - expected).abs();
            if distance.is_finite() {
                (distance / (bound.allowed + half)).max(f64::MIN_POSITIVE)
            } else {
                f64::INFINITY
            }
        };
        Judged { expected, allowed: Some(bound.allowed), excess }
    }))
}

fn same_shape(actual: &Tensor, expected: &[usize]) -> Result<(), ShapeMismatch> {
    if actual.shape() == expected {
        Ok(())
    } else {
        Err(ShapeMismatch { actual: actual.shape().to_vec(), expected: expected.to_vec() })
    }
}

/// How far beyond: by ulps, NaN and lone infinities first.
fn excess(actual: f64, expected: f64, dtype: Dtype) -> f64 {
    ulps(actual, expected, dtype).max(f64::MIN_POSITIVE)
}

/// The verdict on one element; `excess` is 0 where it is right.
struct Judged {
    expected: f64,
    allowed: Option<f64>,
    excess: f64,
}

impl Report {
    /// Whether everything is as it should be.
    pub fn passed(&self) -> bool {
        self.failures == 0
    }

    fn collect(actual: &Tensor, judge: impl Fn(usize, f64) -> Judged) -> Report {
        let dtype = actual.dtype();
        let mut report = Report {
            shape: actual.shape().to_vec(),
            dtype: dtype.name(),
            elements: actual.len(),
            failures: 0,
            nan_mismatches: 0,
            nan_matches: 0,
            infinity_mismatches: 0,
            worst: None,
            histogram: BUCKETS.iter().map(|&most| Bucket { most, count: 0 }).collect(),
        };
        let mut worst: Option<(f64, f64, usize)> = None;
        for at in 0..actual.len() {
            let found = actual.elements().get(at);
            let judged = judge(at, found);
            report.failures += usize::from(judged.excess > 0.0);
            if found.is_nan() && judged.expected.is_nan() {
                report.nan_matches += 1;
                continue;
            }
            report.nan_mismatches += usize::from(found.is_nan() != judged.expected.is_nan());
            let infinite = found.is_infinite() || judged.expected.is_infinite();
            report.infinity_mismatches += usize::from(infinite && found != judged.expected);
            let distance = ulps(found, judged.expected, dtype);
            if let Some(bucket) = report.histogram.iter_mut().find(|b| distance <= b.most)
                && !found.is_nan()
                && !judged.expected.is_nan()
            {
                bucket.count += 1;
            }
            if worst.is_none_or(|(excess, furthest, _)| (judged.excess, distance) > (excess, furthest)) {
                worst = Some((judged.excess, distance, at));
            }
        }
        report.worst = worst.map(|(_, _, at)| {
            let found = actual.elements().get(at);
            Difference::new(coordinates(at, actual.shape()), found, &judge(at, found), dtype)
        });
        report
    }
}

impl Difference {
    fn new(index: Vec<usize>, actual: f64, judged: &Judged, dtype: Dtype) -> Difference {
        let expected = judged.expected;
        let absolute = if actual == expected { 0.0 } else { (actual - expected).abs() };
        Difference {
            index,
            actual,
            expected,
            actual_hex: hex(actual),
            expected_hex: hex(expected),
            ulps: ulps(actual, expected, dtype),
            absolute,
            relative: if absolute == 0.0 { 0.0 } else { absolute / expected.abs() },
            allowed: judged.allowed,
        }
    }
}

fn coordinates(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&n| {
            let i = at % n.max(1);
            at /= n.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed() { "equal within what is allowed" } else { "DIFFERENT" };
        writeln!(
            f,
            "{verdict}: {} of {} elements beyond it, {} {:?}",
            self.failures, self.elements, self.dtype, self.shape
        )?;
        if self.nan_mismatches + self.nan_matches + self.infinity_mismatches > 0 {
            let (alone, both, infinite) = (self.nan_mismatches, self.nan_matches, self.infinity_mismatches);
            writeln!(f, "  NaN in one alone {alone}, in both {both}; infinite in one alone {infinite}")?;
        }
        if let Some(worst) = &self.worst {
            writeln!(f, "  worst at {:?}", worst.index)?;
            writeln!(f, "    actual   {:<24} {}", format!("{:e}", worst.actual), worst.actual_hex)?;
            writeln!(f, "    expected {:<24} {}", format!("{:e}", worst.expected), worst.expected_hex)?;
            write!(f, "    off by {:.3e}, relative {:.3e}, {:.3} ulp", worst.absolute, worst.relative, worst.ulps)?;
            match worst.allowed {
                Some(allowed) => writeln!(f, "; allowed {allowed:.3e} and half an ulp")?,
                None => writeln!(f)?,
            }
        }
        write!(f, "  ulps:")?;
        for bucket in self.histogram.iter().filter(|b| b.count > 0) {
            if bucket.most == 0.0 {
                write!(f, "  0: {}", bucket.count)?;
            } else {
                write!(f, "  <={}: {}", bucket.most, bucket.count)?;
            }
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests;
