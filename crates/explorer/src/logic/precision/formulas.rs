//! phi2(x) = (e^x - 1 - x)/x^2 by formulas as one would first write them, against its enclosure: cancellation made visible.

use crate::logic::worker::Failure;
use contattn_core::{Monitor, Rule};
use contattn_cpu::plain::segment::shares;
use contattn_reference::{Enclosure, phi};

/// A way to compute phi2(-x) for x > 0: what a segment gives to the larger of its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// as written
    pub name: &'static str,
    /// relative error at each x, in f64 arithmetic; NaN where the formula gives no number
    pub double: Vec<f64>,
    /// the same in f32 arithmetic
    pub single: Vec<f64>,
}

/// Errors of all formulas.
#[derive(Clone, Debug, PartialEq)]
pub struct Formulas {
    /// differences of neighbouring scores, x > 0
    pub x: Vec<f64>,
    /// one for each formula
    pub formulas: Vec<Formula>,
    /// distances |x| that the row has
    pub met: Vec<f64>,
}

/// phi2(-x) for x > 0 in some ways, by the type of its numbers.
type Ways<T> = [(&'static str, fn(T) -> T); 3];

const DOUBLE: Ways<f64> = [
    ("(exp(x) - 1 - x) / x\u{b2}", |x| ((-x).exp() - 1.0 + x) / (x * x)),
    ("(expm1(x) - x) / x\u{b2}", |x| ((-x).exp_m1() + x) / (x * x)),
    ("library", |x| shares(Rule::Linear, x, 0.0).left),
];

const SINGLE: Ways<f32> = [
    ("(exp(x) - 1 - x) / x\u{b2}", |x| ((-x).exp() - 1.0 + x) / (x * x)),
    ("(expm1(x) - x) / x\u{b2}", |x| ((-x).exp_m1() + x) / (x * x)),
    ("library", |x| shares(Rule::Linear, x, 0.0).left),
];

/// Bits of the enclosures: enough for x = 2^-60, whose phi2 loses 120 bits by the formula itself and none by the enclosure's.
const PRECISION: u32 = 128;

/// Errors at `points` differences from 1e-10 to 1e3, even on a logarithmic axis, each exact in f32, and the distances that a
/// row's scores have.
///
/// # Errors
/// [`Failure::Cancelled`].
pub fn formulas(points: usize, scores: &[f64], monitor: &dyn Monitor) -> Result<Formulas, Failure> {
    let steps = points.max(2) - 1;
    let at = |i: usize| f64::from(10f64.powf(-10.0 + 13.0 * i as f64 / steps as f64) as f32);
    let x: Vec<f64> = (0..=steps).map(at).collect();
    let mut formulas: Vec<Formula> =
        DOUBLE.iter().map(|(name, _)| Formula { name, double: Vec::new(), single: Vec::new() }).collect();
    for &x in &x {
        if monitor.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        let exact = phi::phi2(&Enclosure::from_f64(PRECISION, -x));
        let error = |found: f64| {
            if !found.is_finite() {
                return f64::NAN;
            }
            let distance = &Enclosure::from_f64(PRECISION, found) - &exact;
            (distance.midpoint() / exact.midpoint()).to_f64().abs()
        };
        for (i, formula) in formulas.iter_mut().enumerate() {
            formula.double.push(error(DOUBLE[i].1(x)));
            formula.single.push(error(f64::from(SINGLE[i].1(x as f32))));
        }
    }
    let mut met: Vec<f64> = scores.windows(2).map(|pair| (pair[1] - pair[0]).abs()).filter(|x| *x > 0.0).collect();
    met.sort_by(f64::total_cmp);
    met.dedup();
    Ok(Formulas { x, formulas, met })
}

#[cfg(test)]
mod tests {
    use super::*;
    use contattn_core::Unattended;

    /// The library's way keeps its digits everywhere; the others lose all of them somewhere.
    #[test]
    fn cancellation_is_seen() {
        let found = formulas(200, &[0.0, 1.0, 1.0, 3.0], &Unattended).unwrap();
        let worst =
            |errors: &[f64]| errors.iter().fold(0.0, |most: f64, x| if x.is_nan() { 1.0 } else { most.max(*x) });
        let [plain, expm1, library] = &found.formulas[..] else { panic!() };
        assert!(worst(&plain.double) > 0.1 && worst(&plain.single) > 0.1);
        assert!(worst(&expm1.double) > 1e-8 && worst(&expm1.single) > 1e-3);
        assert!(
            worst(&library.double) < 1e-15 && worst(&library.single) < 1e-6,
            "{} {}",
            worst(&library.double),
            worst(&library.single)
        );
        assert_eq!(found.met, [1.0, 2.0]);
    }
}
