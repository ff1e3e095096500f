//! The functions inside the kernels, by themselves, for whoever measures their errors.

use super::coefficients::{EXP_HIGHEST, EXP_LOWEST};
use super::elementary::exp_within;
use super::segment::{phi2, psi};
use super::simd::{Backend, Isa, Kernel, Simd};
use contattn_core::EngineError;

/// A function of one number that kernels evaluate in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// e^x, on [-87.3, 88]
    Exp,
    /// phi2(x) = (e^x - 1 - x)/x^2, on [-1, 1]
    Phi2,
    /// psi(x) = the integral of e^{sx} s (1 - s) over [0, 1], on [-1, 1]
    Psi,
}

impl Function {
    /// All of them.
    pub const ALL: [Function; 3] = [Function::Exp, Function::Phi2, Function::Psi];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Function::Exp => "e^x",
            Function::Phi2 => "phi2",
            Function::Psi => "psi",
        }
    }

    /// The smallest and the largest number at which kernels evaluate it.
    pub const fn domain(self) -> (f32, f32) {
        match self {
            Function::Exp => (EXP_LOWEST, EXP_HIGHEST),
            Function::Phi2 | Function::Psi => (-1.0, 1.0),
        }
    }

    /// The largest relative error at x that is proven, in units of 2^-24. Proofs: `exp_f32_error`, `phi2_near_evaluated`,
    /// `psi_near_evaluated`.
    pub fn bound(self, x: f64) -> f64 {
        match self {
            Function::Exp => 4.0 + 0.25 * x.abs(),
            Function::Phi2 => 3.4,
            Function::Psi => 6.65,
        }
    }

    /// Its values as the kernels of an instruction set compute them.
    ///
    /// # Errors
    /// [`EngineError::Unavailable`] where the machine lacks the instruction set.
    pub fn evaluate(self, isa: Isa, numbers: &[f32]) -> Result<Vec<f32>, EngineError> {
        Ok(Backend::new(isa)?.run(Evaluation { function: self, numbers }))
    }
}

struct Evaluation<'a> {
    function: Function,
    numbers: &'a [f32],
}

impl Kernel for Evaluation<'_> {
    type Output = Vec<f32>;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Vec<f32> {
        let mut values = vec![0.0; self.numbers.len().next_multiple_of(S::LANES)];
        values[..self.numbers.len()].copy_from_slice(self.numbers);
        for chunk in values.chunks_exact_mut(S::LANES) {
            let x = s.load(chunk);
            let y = match self.function {
                Function::Exp => exp_within(s, x),
                Function::Phi2 => phi2(s, x),
                Function::Psi => psi(s, x),
            };
            s.store(y, chunk);
        }
        values.truncate(self.numbers.len());
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values are those of the functions, for any number of them, within the bound.
    #[test]
    fn values_are_within_their_bounds() {
        let exact = |function: Function, x: f64| match function {
            Function::Exp => libm::exp(x),
            // sum of x^k/(k + 2)!, and of (k + 1) x^k/(k + 3)!
            Function::Phi2 | Function::Psi => {
                let (mut sum, mut power_over_factorial) = (0.0, 0.5);
                for k in 0..25 {
                    let factor = if function == Function::Phi2 { 1.0 } else { f64::from(k + 1) / f64::from(k + 3) };
                    sum += factor * power_over_factorial;
                    power_over_factorial *= x / f64::from(k + 3);
                }
                sum
            }
        };
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            for function in Function::ALL {
                let (low, high) = function.domain();
                let numbers: Vec<f32> = (0..=1000).map(|i| low + (high - low) * i as f32 / 1000.0).collect();
                let found = function.evaluate(isa, &numbers).unwrap();
                assert_eq!(found.len(), numbers.len());
                for (&x, &y) in numbers.iter().zip(&found) {
                    let exact = exact(function, f64::from(x));
                    let error = (f64::from(y) / exact - 1.0).abs() * f64::from(1u32 << 24);
                    assert!(error <= function.bound(f64::from(x)), "{isa} {} at {x}: {error} u", function.name());
                }
            }
        }
    }
}
