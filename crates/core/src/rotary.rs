//! Rotary position embedding at real positions.

use crate::error::{Axis, ProblemError, TensorName};
use crate::series::Series;
use crate::tensor::{Tensor, TensorView};

/// Which two channels turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pairing {
    /// c and c + r/2 (Llama, GPT-NeoX).
    #[default]
    Halves,
    /// 2c and 2c + 1 (the RoFormer paper, GPT-J).
    Adjacent,
}

/// Rotary embedding (Su et al., RoFormer): pair c of the first `width` channels is turned by the angle
/// position * base^(-2c/width); the other channels pass unchanged. Positions are any real numbers, so that it follows the
/// time line; angles are computed in `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotary {
    /// base of the frequencies: finite, positive; 10000 in the paper
    pub base: f64,
    /// how many channels turn: even, at most head_dim
    pub width: usize,
    /// which channels form a pair
    pub pairing: Pairing,
}

impl Rotary {
    /// `x` (batch, heads, sequence, head_dim) turned by its positions, shape (sequence) or (batch, sequence); row-major, of
    /// the element type of `x`, each number rounded once from `f64`.
    ///
    /// # Errors
    /// [`ProblemError`] for a width that is odd or larger than head_dim, a base that is not positive, positions of another
    /// shape or not finite.
    pub fn turn(&self, x: &TensorView<'_>, positions: &Series<f64>) -> Result<Tensor, ProblemError> {
        self.apply(x, positions, 1.0)
    }

    /// The inverse of [`turn`](Rotary::turn), which is also its transpose: takes gradients back through it.
    ///
    /// # Errors
    /// As [`turn`](Rotary::turn).
    pub fn turn_back(&self, x: &TensorView<'_>, positions: &Series<f64>) -> Result<Tensor, ProblemError> {
        self.apply(x, positions, -1.0)
    }

    fn apply(&self, x: &TensorView<'_>, positions: &Series<f64>, sign: f64) -> Result<Tensor, ProblemError> {
        let [batch, heads, sequence, head_dim] = x.shape();
        if !self.width.is_multiple_of(2) || self.width > head_dim {
            return Err(ProblemError::Shape {
                tensor: TensorName::Rotary,
                axis: Axis::HeadDim,
                expected: format!("at least the even rotary width, which is {}", self.width),
                found: head_dim,
            });
        }
        if !(self.base.is_finite() && self.base > 0.0) {
            return Err(ProblemError::Number {
                tensor: TensorName::Rotary,
                index: Vec::new(),
                expected: "a finite positive base",
                found: self.base,
            });
        }
        positions.check(TensorName::Positions, batch, sequence)?;
        positions.check_numbers(TensorName::Positions, "a finite number", f64::is_finite)?;
        let pairs = self.width / 2;
        let frequencies: Vec<f64> =
            (0..pairs).map(|c| libm::pow(self.base, -2.0 * c as f64 / self.width as f64)).collect();
        let mut turned = Vec::with_capacity(batch * heads * sequence * head_dim);
        let mut row = vec![0.0; head_dim];
        for b in 0..batch {
            for h in 0..heads {
                for s in 0..sequence {
                    x.read_row(b, h, s, &mut row);
                    for (c, frequency) in frequencies.iter().enumerate() {
                        let (i, j) = match self.pairing {
                            Pairing::Halves => (c, c + pairs),
                            Pairing::Adjacent => (2 * c, 2 * c + 1),
                        };
                        let (sin, cos) = libm::sincos(sign * positions.row(b)[s] * frequency);
                        (row[i], row[j]) = (row[i] * cos - row[j] * sin, row[i] * sin + row[j] * cos);
                    }
                    turned.extend_from_slice(&row);
                }
            }
        }
        Tensor::from_f64(x.shape().to_vec(), x.dtype(), turned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::tensor::Layout;

    fn dot(a: &Tensor, b: &Tensor) -> f64 {
        a.to_f64().iter().zip(b.to_f64()).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn scores_depend_on_the_distance_alone_and_back_undoes_it() {
        for pairing in [Pairing::Halves, Pairing::Adjacent] {
            let rotary = Rotary { base: 10000.0, width: 6, pairing };
            let x = Tensor::from_f64(vec![1, 7], Dtype::F64, (0..7).map(|c| 0.3 * f64::from(c) - 1.0)).unwrap();
            let y = Tensor::from_f64(vec![1, 7], Dtype::F64, (0..7).map(|c| 1.0 / f64::from(c + 2))).unwrap();
            let turn = |x: &Tensor, p: f64| {
                rotary.turn(&x.view(TensorName::Query, Layout::Bhsd).unwrap(), &Series::shared(vec![p])).unwrap()
            };
            let near = dot(&turn(&x, 2.25), &turn(&y, 0.5));
            let far = dot(&turn(&x, 12.25), &turn(&y, 10.5));
            assert!((near - far).abs() < 1e-14, "{near} {far}");
            let turned = turn(&x, 2.25);
            assert!((dot(&turned, &turned) - dot(&x, &x)).abs() < 1e-14);
            let turned = turned.view(TensorName::Query, Layout::Bhsd).unwrap();
            let back = rotary.turn_back(&turned, &Series::shared(vec![2.25])).unwrap();
            assert!(back.to_f64().iter().zip(x.to_f64()).all(|(a, b)| (a - b).abs() < 1e-15));
        }
    }

    /// By hand: width 2 has the single frequency 1, so position pi/2 turns (1, 0) into (0, 1).
    #[test]
    fn a_quarter_turn() {
        let rotary = Rotary { base: 10000.0, width: 2, pairing: Pairing::Halves };
        let x = Tensor::from_f64(vec![1, 3], Dtype::F64, [1.0, 0.0, 5.0]).unwrap();
        let quarter = Series::shared(vec![std::f64::consts::FRAC_PI_2]);
        let y = rotary.turn(&x.view(TensorName::Query, Layout::Bhsd).unwrap(), &quarter).unwrap().to_f64();
        assert!(y[0].abs() < 1e-16 && y[1] == 1.0 && y[2] == 5.0, "{y:?}");
    }

    #[test]
    fn bad_input_is_named() {
        let x = Tensor::from_f64(vec![1, 3], Dtype::F32, [1.0, 0.0, 5.0]).unwrap();
        let x = x.view(TensorName::Query, Layout::Bhsd).unwrap();
        let one = Series::shared(vec![1.0]);
        let rotary = Rotary { base: 10000.0, width: 2, pairing: Pairing::Halves };
        assert!(Rotary { width: 3, ..rotary }.turn(&x, &one).is_err());
        assert!(Rotary { width: 4, ..rotary }.turn(&x, &one).is_err());
        assert!(Rotary { base: 0.0, ..rotary }.turn(&x, &one).is_err());
        assert!(rotary.turn(&x, &Series::shared(vec![1.0, 2.0])).is_err());
        assert!(rotary.turn(&x, &Series::shared(vec![f64::NAN])).is_err());
    }
}
