//! The attention map of a head, strip by strip, in levels of detail: only what is seen is computed.
//!
//! At level l a texel stands for 2^l x 2^l cells and holds the one of largest size among them, so that a lone peak never
//! vanishes; a cell that no weight belongs to (masked, in the future, outside of the window) is NaN. A **strip** is
//! [`STRIP`] rows of texels with all columns: a row's weights need all of its scores anyway.

use crate::logic::inputs::Inputs;
use crate::logic::state::State;
use crate::logic::worker::{Failure, Task};
use contattn_core::{Dtype, Engine, Request, Rule, Tensor};
use contattn_cpu::{Plain, plain::segment::shares};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Rows of texels in a strip.
pub const STRIP: usize = 128;
/// Bytes of strips that are kept.
pub const BUDGET: usize = 96 << 20;
/// Rows that are evaluated at once.
const ROWS: usize = 16;

/// What a map shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Quantity {
    /// w under the state's rule
    #[default]
    Weights,
    /// w of softmax
    Softmax,
    /// w - w of softmax
    Difference,
    /// b
    Bias,
    /// b minus its Taylor truncation
    TaylorError,
    /// db_i/da_{i-1} = h_i/P_i: the tap on the left neighbour's score, 1/6 where differences are small
    LeftTap,
    /// db_i/da_{i+1} = h_{i+1}/P_i: the tap on the right neighbour's score
    RightTap,
    /// a
    Scores,
}

impl Quantity {
    /// Every quantity, in the order of the menu.
    pub const ALL: [Quantity; 8] = [
        Quantity::Weights,
        Quantity::Softmax,
        Quantity::Difference,
        Quantity::Bias,
        Quantity::TaylorError,
        Quantity::LeftTap,
        Quantity::RightTap,
        Quantity::Scores,
    ];

    /// Its name in menus.
    pub const fn name(self) -> &'static str {
        match self {
            Quantity::Weights => "weights",
            Quantity::Softmax => "softmax weights",
            Quantity::Difference => "continuous minus softmax",
            Quantity::Bias => "bias b",
            Quantity::TaylorError => "b minus Taylor",
            Quantity::LeftTap => "effective tap, left",
            Quantity::RightTap => "effective tap, right",
            Quantity::Scores => "scores a",
        }
    }

    /// What it is.
    pub const fn hint(self) -> &'static str {
        match self {
            Quantity::Weights => "w under the chosen rule: the area under a node's hat over the whole",
            Quantity::Softmax => "w of softmax: every node counts 1",
            Quantity::Difference => "what reading the scores as a curve adds to a weight, or takes from it",
            Quantity::Bias => "weights are a softmax of a + b",
            Quantity::TaylorError => "what the truncated series of b misses",
            Quantity::LeftTap => {
                "db/da of the left neighbour: 1/6 where differences are small, as in the short convolution"
            }
            Quantity::RightTap => {
                "db/da of the right neighbour: 1/6 where differences are small, as in the short convolution"
            }
            Quantity::Scores => "a = q.k / sqrt(head_dim)",
        }
    }

    /// Whether its zero has a meaning that the colours must show.
    pub const fn is_signed(self) -> bool {
        matches!(self, Quantity::Difference | Quantity::Bias | Quantity::TaylorError | Quantity::Scores)
    }

    /// Whether a logarithmic scale makes sense.
    pub const fn is_positive(self) -> bool {
        !self.is_signed()
    }
}

/// Rows of a map, by node: NaN where a node is not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// texels across
    pub columns: usize,
    /// row by row
    pub texels: Vec<f32>,
    /// smallest finite one
    pub least: f32,
    /// largest finite one
    pub most: f32,
    /// smallest positive one
    pub least_positive: f32,
}

/// What there is of a map so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// rows of q
    pub rows: usize,
    /// n + 1: the sink is column 0
    pub columns: usize,
    /// fingerprint of what the strips belong to
    pub key: u64,
    /// by level and place from above
    pub strips: BTreeMap<(u32, usize), Arc<Strip>>,
    /// strips that were asked for and are still to come
    pub missing: usize,
}

impl Map {
    /// Smallest and largest number so far, and the smallest positive one; `None` where there is none.
    pub fn range(&self) -> Option<(f64, f64, f64)> {
        let mut range: Option<(f32, f32, f32)> = None;
        for strip in self.strips.values().filter(|strip| strip.least <= strip.most) {
            let (low, high, positive) = range.unwrap_or((f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY));
            range = Some((low.min(strip.least), high.max(strip.most), positive.min(strip.least_positive)));
        }
        range.map(|(low, high, positive)| (f64::from(low), f64::from(high), f64::from(positive)))
    }

    fn bytes(&self) -> usize {
        self.strips.values().map(|strip| 4 * strip.texels.len()).sum()
    }
}

/// Which strips are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Wanted {
    /// what is shown
    pub quantity: Quantity,
    /// level of detail
    pub level: u32,
    /// strips from above
    pub first: usize,
    /// the one behind the last
    pub end: usize,
}

/// The map of a head, ready to be asked for rows.
pub struct Evaluator {
    inputs: Inputs,
    softmax: Inputs,
    taylor: Option<Inputs>,
    scale: f64,
}

impl Evaluator {
    /// For a head of a layer under a state.
    ///
    /// # Errors
    /// [`Failure`] where the rule or the window does not fit.
    pub fn new(state: &State, layer: &crate::logic::source::Layer) -> Result<Evaluator, Failure> {
        let mut inputs = Inputs::of_head(state, layer, state.head.head)?;
        // Weights do not depend on v: one channel is enough.
        let keys = inputs.k.shape()[2];
        inputs.v = Tensor::from_f64(vec![1, 1, keys, 1], inputs.k.dtype(), vec![0.0; keys])?;
        let mut softmax = inputs.clone().with_rule(Rule::Step);
        softmax.spec.window.lower = contattn_core::Lower::Start;
        if let contattn_core::Upper::Query { offset } = &mut softmax.spec.window.upper {
            *offset = 0.0;
        }
        let taylor = inputs.clone().with_rule(Rule::Taylor(state.taylor));
        let taylor = taylor.problem().is_ok().then_some(taylor);
        inputs.problem()?;
        let scale = inputs.spec.scale.value(inputs.q.shape()[3]);
        Ok(Evaluator { inputs, softmax, taylor, scale })
    }

    /// Rows of q.
    pub fn rows(&self) -> usize {
        self.inputs.q.shape()[2]
    }

    /// n + 1.
    pub fn columns(&self) -> usize {
        self.inputs.k.shape()[2] + 1
    }

    /// w and b of some rows under `inputs`, row-major.
    fn weights(
        &self,
        inputs: &Inputs,
        rows: Range<usize>,
        bias: bool,
        task: &Task,
    ) -> Result<(Vec<f64>, Vec<f64>), Failure> {
        let inputs = inputs.rows(rows)?;
        let problem = inputs.problem()?;
        let request = Request { weights: true, bias, dtype: Some(Dtype::F64) };
        let output = Plain::<f64>::new().forward(&problem, &request, task.token())?;
        let list = |tensor: Option<Tensor>| tensor.map(|t| t.to_f64()).unwrap_or_default();
        Ok((list(output.weights), list(output.bias)))
    }

    /// a of some rows, by node; that of a sink of zeros is 0.
    fn scores(&self, rows: Range<usize>) -> Vec<f64> {
        let (q, k) = (self.inputs.q.to_f64_row(rows), self.inputs.k.to_f64());
        let width = self.inputs.q.shape()[3];
        let columns = self.columns();
        let mut scores = Vec::with_capacity(q.len() / width * columns);
        for q in q.chunks(width) {
            let dot = |k: &[f64]| self.scale * q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>();
            let sink = match self.inputs.sink {
                crate::logic::state::SinkChoice::Copy => k.chunks(width).next().map_or(0.0, dot),
                _ => 0.0,
            };
            scores.push(sink);
            scores.extend(k.chunks(width).map(dot));
        }
        scores
    }

    /// Some rows of a quantity, row-major, NaN where a node is not seen.
    ///
    /// # Errors
    /// [`Failure`] where the quantity does not exist for this rule and window, or when cancelled.
    pub fn evaluate(&self, quantity: Quantity, rows: Range<usize>, task: &Task) -> Result<Vec<f64>, Failure> {
        let (weights, bias) = self.weights(&self.inputs, rows.clone(), true, task)?;
        let seen = |i: usize| bias[i] > f64::NEG_INFINITY || weights[i] > 0.0;
        let masked =
            |f: &dyn Fn(usize) -> f64| (0..weights.len()).map(|i| if seen(i) { f(i) } else { f64::NAN }).collect();
        match quantity {
            Quantity::Weights => Ok(masked(&|i| weights[i])),
            Quantity::Bias => Ok(masked(&|i| bias[i])),
            Quantity::Softmax | Quantity::Difference => {
                // Softmax has no sink, and sees what it sees whatever the window cuts.
                let (softmax, own) = self.weights(&self.softmax, rows, true, task)?;
                let has = |i: usize| own[i] > f64::NEG_INFINITY;
                if quantity == Quantity::Softmax {
                    Ok((0..softmax.len()).map(|i| if has(i) { softmax[i] } else { f64::NAN }).collect())
                } else {
                    let either = |i: usize| seen(i) || has(i);
                    Ok((0..weights.len()).map(|i| if either(i) { weights[i] - softmax[i] } else { f64::NAN }).collect())
                }
            }
            Quantity::TaylorError => {
                let Some(taylor) = &self.taylor else {
                    return Err(Failure::new(
                        "the Taylor series needs a window that ends on nodes",
                        "choose a window from start to end",
                    ));
                };
                let (_, series) = self.weights(taylor, rows, true, task)?;
                Ok(masked(&|i| bias[i] - series[i]))
            }
            Quantity::Scores => {
                let scores = self.scores(rows);
                Ok(masked(&|i| scores[i]))
            }
            Quantity::LeftTap | Quantity::RightTap => {
                if self.inputs.spec.rule != Rule::Linear {
                    return Err(Failure::new("only the linear rule has effective taps", "choose the rule linear"));
                }
                let scores = self.scores(rows);
                let columns = self.columns();
                let tap = |i: usize| {
                    let column = i % columns;
                    let other = if quantity == Quantity::LeftTap {
                        column.checked_sub(1).map(|_| i - 1)
                    } else {
                        (column + 1 < columns).then_some(i + 1)
                    };
                    let Some(other) = other.filter(|&other| seen(other)) else { return 0.0 };
                    let (own, near) = (scores[i], scores[other]);
                    // psi(near - own) e^{-b}, with psi in units of the larger end.
                    let psi = shares(Rule::Linear, near, own).diffusion;
                    psi * (near.max(own) - own - bias[i]).exp()
                };
                Ok(masked(&tap))
            }
        }
    }

    /// A strip of a level.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    pub fn strip(&self, quantity: Quantity, level: u32, at: usize, task: &Task) -> Result<Strip, Failure> {
        let block = 1usize << level;
        let (rows, columns) = (self.rows(), self.columns());
        let texel_columns = columns.div_ceil(block);
        let from = (at * STRIP * block).min(rows);
        let to = ((at + 1) * STRIP * block).min(rows);
        let texel_rows = (to - from).div_ceil(block);
        // Parts of the strip on all cores; where the block is larger than a part, several parts fall into one row of texels.
        let parts: Vec<(usize, Vec<f32>)> = (from..to)
            .step_by(ROWS)
            .collect::<Vec<usize>>()
            .into_par_iter()
            .map(|start| {
                task.check()?;
                let end = (start + ROWS).min(to);
                let first = (start - from) / block;
                let mut part = vec![f32::NAN; ((end - 1 - from) / block + 1 - first) * texel_columns];
                let cells = self.evaluate(quantity, start..end, task)?;
                for (row, cells) in (start..end).zip(cells.chunks(columns)) {
                    let line = &mut part[((row - from) / block - first) * texel_columns..][..texel_columns];
                    for (column, &cell) in cells.iter().enumerate() {
                        keep_larger(&mut line[column / block], cell as f32);
                    }
                }
                Ok((first * texel_columns, part))
            })
            .collect::<Result<_, Failure>>()?;
        let mut texels = vec![f32::NAN; texel_rows * texel_columns];
        for (at, part) in parts {
            texels[at..].iter_mut().zip(part).for_each(|(texel, cell)| keep_larger(texel, cell));
        }
        let finite = || texels.iter().copied().filter(|x| x.is_finite());
        Ok(Strip {
            columns: texel_columns,
            least: finite().fold(f32::INFINITY, f32::min),
            most: finite().fold(f32::NEG_INFINITY, f32::max),
            least_positive: finite().filter(|x| *x > 0.0).fold(f32::INFINITY, f32::min),
            texels,
        })
    }
}

/// A texel stands for the largest of its cells that are seen.
fn keep_larger(texel: &mut f32, cell: f32) {
    if !cell.is_nan() && (texel.is_nan() || cell.abs() > texel.abs()) {
        *texel = cell;
    }
}

/// Some rows of a tensor (1, 1, rows, width) as f64.
trait Rows {
    fn to_f64_row(&self, rows: Range<usize>) -> Vec<f64>;
}

impl Rows for Tensor {
    fn to_f64_row(&self, rows: Range<usize>) -> Vec<f64> {
        let width = self.shape()[3];
        (rows.start * width..rows.end * width).map(|i| self.elements().get(i)).collect()
    }
}

/// Computes the wanted strips that `known` lacks, the middle ones first, and shows each as it comes.
///
/// # Errors
/// As [`Evaluator::evaluate`].
pub fn compute(evaluator: &Evaluator, known: Map, wanted: &Wanted, key: u64, task: &Task) -> Result<Map, Failure> {
    let (rows, columns) = (evaluator.rows(), evaluator.columns());
    let mut map = if known.key == key { known } else { Map { key, ..Map::default() } };
    (map.rows, map.columns) = (rows, columns);
    let strips = rows.div_ceil(STRIP << wanted.level);
    let end = wanted.end.min(strips);
    let middle = (wanted.first + end) / 2;
    let mut missing: Vec<usize> =
        (wanted.first..end).filter(|&at| !map.strips.contains_key(&(wanted.level, at))).collect();
    missing.sort_by_key(|&at| at.abs_diff(middle));
    let count = missing.len();
    for (done, at) in missing.into_iter().enumerate() {
        let strip = evaluator.strip(wanted.quantity, wanted.level, at, task)?;
        map.strips.insert((wanted.level, at), Arc::new(strip));
        // What is farthest from what is seen goes first.
        while map.bytes() > BUDGET {
            let distance = |(level, at): &(u32, usize)| (level.abs_diff(wanted.level), at.abs_diff(middle));
            let Some(farthest) = map.strips.keys().copied().max_by_key(distance) else { break };
            map.strips.remove(&farthest);
        }
        map.missing = count - done - 1;
        if map.missing > 0 {
            task.partial(map.clone());
        }
    }
    map.missing = 0;
    Ok(map)
}

/// The numbers of one row for reading off, by node: NaN where a node is not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct RowNumbers {
    /// the row
    pub row: usize,
    /// a
    pub scores: Vec<f64>,
    /// w
    pub weights: Vec<f64>,
    /// w of softmax
    pub softmax: Vec<f64>,
    /// b
    pub bias: Vec<f64>,
    /// the truncated series of b, where it exists
    pub taylor: Option<Vec<f64>>,
}

/// Evaluates one row.
///
/// # Errors
/// As [`Evaluator::evaluate`].
pub fn row_numbers(evaluator: &Evaluator, row: usize, task: &Task) -> Result<RowNumbers, Failure> {
    let rows = row..row + 1;
    let (weights, bias) = evaluator.weights(&evaluator.inputs, rows.clone(), true, task)?;
    let (softmax, _) = evaluator.weights(&evaluator.softmax, rows.clone(), false, task)?;
    let taylor = match &evaluator.taylor {
        Some(taylor) => Some(evaluator.weights(taylor, rows.clone(), true, task)?.1),
        None => None,
    };
    Ok(RowNumbers { row, scores: evaluator.scores(rows), weights, softmax, bias, taylor })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::source::{Layer, Source};
    use crate::logic::worker::{Job, Lane, Worker};
    use contattn_core::{Family, Shape};
    use std::time::Duration;

    fn run<T: Clone + Send + Sync + 'static>(job: impl FnOnce(&Task) -> Result<T, Failure> + Send + 'static) -> T {
        let mut worker = Worker::new(Arc::new(|| {}));
        worker.ask("test", Lane::Long, 1, Job::new(job));
        assert!(worker.settle(Duration::from_secs(60)));
        let shown = worker.shown::<T>("test");
        assert_eq!(shown.failure, None);
        shown.value.unwrap().clone()
    }

    fn layer(n: usize) -> Layer {
        let shape = Shape { batch: 1, heads: 2, kv_heads: 1, queries: n, keys: n, head_dim: 8, value_dim: 8 };
        let sample = Family::Gauss.sample(shape, Dtype::F32, 5).unwrap();
        Layer { name: "x".into(), q: sample.q, k: sample.k, v: sample.v }
    }

    fn map(n: usize, quantity: Quantity, level: u32, change: impl FnOnce(&mut State)) -> Map {
        let mut state = State::default();
        change(&mut state);
        run(move |task| {
            let evaluator = Evaluator::new(&state, &layer(n))?;
            let wanted = Wanted { quantity, level, first: 0, end: 1000 };
            compute(&evaluator, Map::default(), &wanted, 7, task)
        })
    }

    fn cells(map: &Map, level: u32) -> Vec<f32> {
        let strips = map.strips.iter().filter(|((l, _), _)| *l == level);
        strips.flat_map(|(_, strip)| strip.texels.iter().copied()).collect()
    }

    #[test]
    fn rows_are_weights_and_the_future_is_masked() {
        let n = 150;
        let map = map(n, Quantity::Weights, 0, |_| {});
        let cells = cells(&map, 0);
        assert_eq!((map.rows, map.columns, map.strips.len(), cells.len()), (n, n + 1, 2, n * (n + 1)));
        for (row, cells) in cells.chunks(n + 1).enumerate() {
            let sum: f32 = cells.iter().filter(|w| !w.is_nan()).sum();
            assert!((sum - 1.0).abs() < 1e-5, "row {row}: {sum}");
            // Row r sits at node r + 1.
            assert!(cells.iter().enumerate().all(|(node, w)| w.is_nan() == (node > row + 1)), "row {row}");
        }
        let (low, high, positive) = map.range().unwrap();
        assert!(low >= 0.0 && high <= 1.0 && positive > 0.0);
    }

    /// A coarse texel is the largest of its cells.
    #[test]
    fn peaks_survive_in_coarse_levels() {
        let n = 150;
        // Blocks that are smaller than the parts of a strip, and larger ones.
        for (quantity, level) in [(Quantity::Weights, 3), (Quantity::Difference, 3), (Quantity::Difference, 6)] {
            let (fine, coarse) = (map(n, quantity, 0, |_| {}), map(n, quantity, level, |_| {}));
            let (fine, coarse) = (cells(&fine, 0), cells(&coarse, level));
            let block = 1usize << level;
            let across = (n + 1usize).div_ceil(block);
            assert_eq!(coarse.len(), across * n.div_ceil(block));
            let largest = |list: &[f32]| list.iter().filter(|x| !x.is_nan()).fold(0.0f32, |m, x| m.max(x.abs()));
            assert_eq!(largest(&fine), largest(&coarse));
            for (at, &texel) in coarse.iter().enumerate() {
                let (row, column) = (at / across * block, at % across * block);
                let cells = (row..(row + block).min(n))
                    .flat_map(|r| (column..(column + block).min(n + 1)).map(move |c| (r, c)));
                let expected = cells.map(|(r, c)| fine[r * (n + 1) + c]).filter(|x| !x.is_nan());
                let expected = expected.fold(f32::NAN, |m, x| if m.is_nan() || x.abs() > m.abs() { x } else { m });
                assert!(texel == expected || (texel.is_nan() && expected.is_nan()), "{at}: {texel} {expected}");
            }
        }
    }

    #[test]
    fn only_what_is_missing_is_computed() {
        let state = State::default();
        let wanted = |first, end| Wanted { quantity: Quantity::Bias, level: 0, first, end };
        let both = run(move |task| {
            let evaluator = Evaluator::new(&state, &layer(300))?;
            let first = compute(&evaluator, Map::default(), &wanted(0, 1), 1, task)?;
            let second = compute(&evaluator, first.clone(), &wanted(0, 2), 1, task)?;
            let other = compute(&evaluator, second.clone(), &wanted(2, 3), 9, task)?;
            Ok((first, second, other))
        });
        let (first, second, other) = both;
        assert_eq!((first.strips.len(), second.strips.len()), (1, 2));
        assert!(Arc::ptr_eq(&first.strips[&(0, 0)], &second.strips[&(0, 0)]));
        assert_eq!(other.strips.keys().copied().collect::<Vec<_>>(), [(0, 2)], "another key begins anew");
    }

    /// The tap is the derivative of b: central differences of the bias of a head with one channel.
    #[test]
    fn taps_are_derivatives() {
        let n = 6;
        let shape = Shape { batch: 1, heads: 1, kv_heads: 1, queries: n, keys: n, head_dim: 1, value_dim: 1 };
        let sample = Family::Gauss.sample(shape, Dtype::F64, 3).unwrap();
        let at = |k: Tensor, quantity| {
            let layer = Layer { name: "x".into(), q: sample.q.clone(), k, v: sample.v.clone() };
            run(move |task| {
                let evaluator = Evaluator::new(&State::default(), &layer)?;
                evaluator.evaluate(quantity, n - 1..n, task)
            })
        };
        let q = sample.q.to_f64()[n - 1];
        let moved = |node: usize, by: f64| {
            let mut k = sample.k.to_f64();
            k[node - 1] += by / q;
            Tensor::from_f64(sample.k.shape().to_vec(), Dtype::F64, k).unwrap()
        };
        let (left, right) = (at(sample.k.clone(), Quantity::LeftTap), at(sample.k.clone(), Quantity::RightTap));
        for i in 2..n {
            let h = 1e-5;
            let slope =
                |node| (at(moved(node, h), Quantity::Bias)[i] - at(moved(node, -h), Quantity::Bias)[i]) / (2.0 * h);
            assert!((left[i] - slope(i - 1)).abs() < 1e-8, "{i}: {} {}", left[i], slope(i - 1));
            assert!((right[i] - slope(i + 1)).abs() < 1e-8, "{i}");
        }
        assert!(left.iter().all(|t| *t >= 0.0));
    }

    /// Query heads 0..2 read key head 0, 3..5 key head 1, 6..8 key head 2 in the carried layers.
    #[test]
    fn grouped_heads_read_their_own_keys() {
        let source = Source::carried();
        let layer = source.layer(0).clone();
        let (k, q) = (layer.k.to_f64(), layer.q.to_f64());
        for head in 0..9 {
            let (of_layer, mut state) = (layer.clone(), State::default());
            state.head.head = head;
            let row = run(move |task| row_numbers(&Evaluator::new(&state, &of_layer)?, 25, task));
            let dot: f64 = (0..64).map(|c| q[(head * 26 + 25) * 64 + c] * k[(head / 3 * 26 + 4) * 64 + c]).sum();
            assert!((row.scores[5] - dot / 8.0).abs() < 1e-12);
            assert!((row.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
