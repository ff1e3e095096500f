//! What the table and the pictures show of a layer.

use super::Line;
use super::source::Layer;
use contattn_core::families::SinkKind;
use contattn_core::{Engine, Layout, Monitor, Output, Problem, Request, Rule, Shape, Sink, Spec, Tensor, TensorName};
use contattn_cpu::Plain;

/// Both sides of one layer, in `f64`. Cells that a row does not see are NaN.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) shape: Shape,
    softmax: Output,
    continuous: Output,
}

/// Evaluates softmax and the continuous rule on one layer, causally.
pub(super) fn measure(layer: &Layer, rule: Rule, sink: SinkKind, monitor: &dyn Monitor) -> anyhow::Result<Measured> {
    let view = |name: TensorName, tensor| Tensor::view(tensor, name, Layout::Bhsd);
    let (q, k, v) =
        (view(TensorName::Query, &layer.q)?, view(TensorName::Key, &layer.k)?, view(TensorName::Value, &layer.v)?);
    let sink = match sink {
        SinkKind::Absent => Sink::Absent,
        SinkKind::Zeros | SinkKind::Given => Sink::Zeros,
        SinkKind::Copy => Sink::Copy,
    };
    let attend = |rule, sink| -> anyhow::Result<(Shape, Output)> {
        let problem = Problem::new(q, k, v, sink, Spec { rule, ..Spec::default() })?;
        let request = Request { weights: true, bias: true, dtype: Some(contattn_core::Dtype::F64) };
        Ok((problem.shape(), Plain::<f64>::new().forward(&problem, &request, monitor)?))
    };
    // Step on the unit time line is softmax over nodes 1..n.
    let (shape, softmax) = attend(Rule::Step, Sink::Absent)?;
    let (_, continuous) = attend(rule, sink)?;
    Ok(Measured { name: layer.name.clone(), shape, softmax, continuous })
}

/// A square of one head: (n_q) x (n + 1), in row-major order.
pub(super) struct Maps {
    pub(super) softmax: Vec<f64>,
    pub(super) continuous: Vec<f64>,
    pub(super) bias: Vec<f64>,
    pub(super) difference: Vec<f64>,
}

impl Measured {
    fn rows(&self, head: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let shape = self.shape;
        (0..shape.batch).flat_map(move |batch| (0..shape.queries).map(move |row| (batch * shape.heads + head, row)))
    }

    /// A row of a tensor (batch, heads, n_q, width), `head` counted over batches.
    fn row(&self, tensor: &Tensor, head: usize, row: usize) -> Vec<f64> {
        let width = tensor.shape()[3];
        let start = (head * self.shape.queries + row) * width;
        (start..start + width).map(|at| tensor.elements().get(at)).collect()
    }

    /// One line of the table for each head.
    pub(super) fn lines(&self) -> Vec<Line> {
        (0..self.shape.heads).map(|head| self.line(head)).collect()
    }

    fn line(&self, head: usize) -> Line {
        let mut sums = [0.0; 4];
        let (mut largest_bias, mut inside, mut rows) = (0.0f64, 0u64, 0u64);
        for (at, row) in self.rows(head) {
            let of = |tensor: &Option<Tensor>| tensor.as_ref().map(|t| self.row(t, at, row)).unwrap_or_default();
            let bias = of(&self.continuous.bias);
            sums[0] += entropy(&of(&self.softmax.weights));
            sums[1] += entropy(&of(&self.continuous.weights));
            let (continuous, softmax) = (self.row(&self.continuous.o, at, row), self.row(&self.softmax.o, at, row));
            sums[2] += distance(&continuous, &softmax);
            let seen: Vec<f64> = bias.into_iter().filter(|b| b.is_finite()).collect();
            largest_bias = seen.iter().fold(largest_bias, |m, b| m.max(b.abs()));
            for b in seen.iter().skip(1).take(seen.len().saturating_sub(2)) {
                sums[3] += b.abs();
                inside += 1;
            }
            rows += 1;
        }
        let mean = |sum: f64, count: u64| if count == 0 { 0.0 } else { sum / count as f64 };
        Line {
            layer: self.name.clone(),
            head,
            kv_head: self.shape.kv_head(head),
            entropy_softmax: mean(sums[0], rows),
            entropy_continuous: mean(sums[1], rows),
            largest_bias,
            mean_bias_inside: mean(sums[3], inside),
            change_of_output: mean(sums[2], rows),
        }
    }

    /// The maps of one head of the first batch; NaN where a row does not see a node.
    pub(super) fn maps(&self, head: usize) -> Maps {
        let mut maps = Maps { softmax: vec![], continuous: vec![], bias: vec![], difference: vec![] };
        for row in 0..self.shape.queries {
            let of = |tensor: &Option<Tensor>| tensor.as_ref().map(|t| self.row(t, head, row)).unwrap_or_default();
            let seen = |values: Vec<f64>, bias: Vec<f64>| -> Vec<f64> {
                values.iter().zip(bias).map(|(&x, b)| if b == f64::NEG_INFINITY { f64::NAN } else { x }).collect()
            };
            let softmax = seen(of(&self.softmax.weights), of(&self.softmax.bias));
            let continuous = seen(of(&self.continuous.weights), of(&self.continuous.bias));
            let zero = |x: f64| if x.is_nan() { 0.0 } else { x };
            let difference = continuous
                .iter()
                .zip(&softmax)
                .map(|(&c, &s)| if c.is_nan() && s.is_nan() { f64::NAN } else { zero(c) - zero(s) });
            maps.difference.extend(difference);
            maps.bias.extend(seen(of(&self.continuous.bias), of(&self.continuous.bias)));
            maps.softmax.extend(softmax);
            maps.continuous.extend(continuous);
        }
        maps
    }
}

/// -sum w log w
fn entropy(weights: &[f64]) -> f64 {
    -weights.iter().filter(|&&w| w > 0.0).map(|w| w * w.ln()).sum::<f64>()
}

/// |a - b| / |b|; 0 where both are 0.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut a.iter().zip(b).map(|(a, b)| a - b));
    let size = norm(&mut b.iter().copied());
    if difference == 0.0 { 0.0 } else { difference / size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_of_equal_weights_is_the_logarithm_of_their_number() {
        assert!((entropy(&[0.25; 4]) - 4f64.ln()).abs() < 1e-15);
        assert_eq!(entropy(&[1.0, 0.0]), 0.0);
    }

    #[test]
    fn distances_are_relative() {
        assert_eq!(distance(&[3.0, 4.0], &[0.0, 4.0]), 0.75);
        assert_eq!(distance(&[0.0], &[0.0]), 0.0);
    }
}
