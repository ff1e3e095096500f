//! One result of an engine against what it should be.

use super::corpus::GoldenError;
use super::tolerance::{Tolerance, Tolerances};
use crate::report::{hex, ulps};
use contattn_core::{Dtype, Tensor};
use serde::Serialize;
use std::fmt;

/// A result of a case, correctly rounded to two types.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// its name
    pub output: String,
    /// correctly rounded to the case's type (lse, ddurations: to f32 at least)
    pub typed: Tensor,
    /// correctly rounded to f64
    pub exact: Tensor,
    /// how far off a result may be
    pub tolerances: Tolerances,
}

/// The element that comes closest to what is allowed, or exceeds it most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
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
    /// |actual - expected|
    pub error: f64,
    /// the same in units in the last place of the actual tensor's type
    pub ulps: f64,
    /// what is allowed there: the smaller one of both figures
    pub allowed: f64,
}

/// The comparison of one result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// name of the result
    pub output: String,
    /// element type of the actual tensor
    pub dtype: &'static str,
    /// its shape
    pub shape: Vec<usize>,
    /// arithmetic whose tolerance is used
    pub arithmetic: &'static str,
    /// that tolerance
    pub tolerance: Tolerance,
    /// elements compared
    pub elements: usize,
    /// elements that are the correctly rounded number, in the case's type or in f64
    pub correctly_rounded: usize,
    /// elements further off than the twin's limit
    pub beyond_twin: usize,
    /// elements further off than rtol and atol allow
    pub beyond_bounds: usize,
    /// elements that are NaN or infinite where they should not be, or the other way round; they count as beyond both
    pub not_finite: usize,
    /// the worst element
    pub worst: Option<Worst>,
}

impl Verdict {
    /// Whether every element is within both figures.
    pub fn passed(&self) -> bool {
        self.beyond_twin + self.beyond_bounds == 0
    }
}

impl Expected {
    /// Judges a tensor of any element type whose engine sums in `arithmetic`.
    ///
    /// An element is right where it equals the expected f64 number (NaN equals NaN, and an infinity itself), or where that is finite
    /// and it rounds to the expected number of the case's type, or where both are finite and within the tolerance's two figures.
    ///
    /// # Errors
    /// [`GoldenError::Shape`].
    pub fn judge(&self, actual: &Tensor, arithmetic: Dtype) -> Result<Verdict, GoldenError> {
        if actual.shape() != self.exact.shape() {
            return Err(GoldenError::Shape {
                output: self.output.clone(),
                expected: self.exact.shape().to_vec(),
                found: actual.shape().to_vec(),
            });
        }
        let tolerance = *self.tolerances.of(arithmetic);
        let mut verdict = Verdict {
            output: self.output.clone(),
            dtype: actual.dtype().name(),
            shape: actual.shape().to_vec(),
            arithmetic: if arithmetic == Dtype::F64 { "f64" } else { "f32" },
            tolerance,
            elements: actual.len(),
            correctly_rounded: 0,
            beyond_twin: 0,
            beyond_bounds: 0,
            not_finite: 0,
            worst: None,
        };
        let mut worst: Option<(f64, usize, f64)> = None;
        for at in 0..actual.len() {
            let (found, exact, typed) =
                (actual.elements().get(at), self.exact.elements().get(at), self.typed.elements().get(at));
            let same = |expected: f64| found == expected || (found.is_nan() && expected.is_nan());
            let rounded = self.typed.dtype().round(found);
            // -inf is not what a large negative number rounds to: only what is a number is rounded.
            let equal = same(exact) || (exact.is_finite() && rounded == typed);
            verdict.correctly_rounded += usize::from(equal);
            let allowed = tolerance.at(exact).map_or(tolerance.limit, |bound| bound.min(tolerance.limit));
            let error = (found - exact).abs();
            let excess = if equal {
                // A correct rounding is not measured against the tolerance; it still may be the worst there is.
                0.0
            } else if error.is_finite() {
                verdict.beyond_twin += usize::from(error > tolerance.limit);
                verdict.beyond_bounds += usize::from(tolerance.at(exact).is_some_and(|bound| error > bound));
                error / allowed
            } else {
                verdict.not_finite += 1;
                verdict.beyond_twin += 1;
                verdict.beyond_bounds += 1;
                f64::INFINITY
            };
            if worst.is_none_or(|(most, ..)| excess > most) {
                worst = Some((excess, at, allowed));
            }
        }
        verdict.worst = worst.map(|(_, at, allowed)| {
            let (found, exact) = (actual.elements().get(at), self.exact.elements().get(at));
            Worst {
                index: coordinates(at, actual.shape()),
                actual: found,
                expected: exact,
                actual_hex: hex(found),
                expected_hex: hex(exact),
                error: if found == exact { 0.0 } else { (found - exact).abs() },
                ulps: if found.is_nan() && exact.is_nan() { 0.0 } else { ulps(found, exact, actual.dtype()) },
                allowed,
            }
        });
        Ok(verdict)
    }
}

fn coordinates(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (i, &n) in index.iter_mut().zip(shape).rev() {
        *i = at % n;
        at /= n;
    }
    index
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = if self.passed() { "ok" } else { "WRONG" };
        writeln!(
            f,
            "{:<11} {said:<5} {} {:?}: {} of {} elements correctly rounded",
            self.output, self.dtype, self.shape, self.correctly_rounded, self.elements
        )?;
        if self.not_finite > 0 {
            writeln!(f, "  NaN or infinite where it should not be, or the other way round: {}", self.not_finite)?;
        }
        if let Some(worst) = &self.worst {
            writeln!(f, "  worst at {:?}", worst.index)?;
            writeln!(f, "    actual   {:<24} {}", format!("{:e}", worst.actual), worst.actual_hex)?;
            writeln!(f, "    expected {:<24} {}", format!("{:e}", worst.expected), worst.expected_hex)?;
            writeln!(
                f,
                "    off by {:.3e}, {:.3} ulp of {}; allowed {:.3e}",
                worst.error, worst.ulps, self.dtype, worst.allowed
            )?;
        }
        let Tolerance { twin, limit, rtol, atol } = self.tolerance;
        writeln!(
            f,
            "  twin         {limit:.2e} (plain engine in {}: {twin:.2e}), {} beyond it",
            self.arithmetic, self.beyond_twin
        )?;
        match (rtol, atol) {
            (Some(rtol), Some(atol)) => {
                writeln!(f, "  rtol, atol   {rtol:.2e} |expected| + {atol:.2e}, {} beyond it", self.beyond_bounds)
            }
            _ => writeln!(f, "  rtol, atol   no bound: a score is beyond the arithmetic's range"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(values: &[f64]) -> Expected {
        let tolerance = Tolerance { twin: 0.0, limit: 0.5, rtol: Some(0.25), atol: Some(0.125) };
        let tensor = |dtype| Tensor::from_f64(vec![1, values.len()], dtype, values.iter().copied()).unwrap();
        Expected {
            output: "o".into(),
            typed: tensor(Dtype::BF16),
            exact: tensor(Dtype::F64),
            tolerances: Tolerances { f32: tolerance, f64: Tolerance { limit: 0.0, ..tolerance } },
        }
    }

    #[test]
    fn either_figure_fails_by_itself() {
        let expected = expected(&[1.0, 8.0, f64::NEG_INFINITY, f64::NAN]);
        let judge = |values: [f64; 4]| {
            let actual = Tensor::from_f64(vec![1, 4], Dtype::F64, values).unwrap();
            expected.judge(&actual, Dtype::F32).unwrap()
        };
        let (inf, nan) = (f64::NEG_INFINITY, f64::NAN);
        let right = judge([1.0, 8.0, inf, nan]);
        assert!(right.passed() && right.correctly_rounded == 4);
        // 0.375 is allowed at 1, 2.125 at 8 by rtol and atol, and 0.5 anywhere by the twin.
        assert!(judge([1.375, 8.5, inf, nan]).passed());
        let verdict = judge([1.4, 8.0, inf, nan]);
        assert_eq!((verdict.beyond_twin, verdict.beyond_bounds), (0, 1));
        let verdict = judge([1.3, 8.6, inf, nan]);
        assert_eq!((verdict.beyond_twin, verdict.beyond_bounds), (1, 0));
        assert_eq!(verdict.worst.as_ref().unwrap().index, [0, 1]);
        for wrong in [[1.0, 8.0, -1e300, nan], [1.0, 8.0, inf, 0.0], [1.0, nan, inf, nan], [inf, 8.0, inf, nan]] {
            let verdict = judge(wrong);
            assert_eq!((verdict.passed(), verdict.not_finite), (false, 1), "{verdict}");
        }
        let other = Tensor::from_f64(vec![4], Dtype::F64, [1.0, 8.0, inf, nan]).unwrap();
        assert!(matches!(expected.judge(&other, Dtype::F32), Err(GoldenError::Shape { .. })));
    }

    #[test]
    fn a_correct_rounding_is_right_whatever_the_tolerance() {
        // 1 + 2^-9 rounds to 1 in bf16, further off than f64's tolerance allows.
        let x = 1.0 + libm::ldexp(1.0, -9);
        let expected = expected(&[x]);
        let judge = |value| {
            let actual = Tensor::from_f64(vec![1, 1], Dtype::BF16, [value]).unwrap();
            expected.judge(&actual, Dtype::F64).unwrap().passed()
        };
        assert!(judge(1.0));
        assert!(!judge(1.0 + libm::ldexp(1.0, -7)));
    }
}
