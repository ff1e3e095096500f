//! The heads that the project carries, with tokens that last for a while and places that move.

use crate::Table;
use crate::problem::{NotebookError, attend};
use contattn_check::smoothness::{EXCEEDING, Peaks, excursion, normalised_slope};
use contattn_core::families::real::{self, Layer};
use contattn_core::{Dtype, Layout, Output, Pairing, Rotary, Rule, Series, Sink, Spec, Tensor, TensorName, Timeline};
use contattn_cpu::Plain;

/// SmolLM2's rotary embedding.
const ROTARY: Rotary = Rotary { base: 1e5, width: 64, pairing: Pairing::Halves };

/// The tokens of the sentence, without the sign that stands for a leading space.
pub fn tokens() -> Vec<String> {
    real::tokens().iter().map(|token| token.trim_start_matches('\u{120}').to_owned()).collect()
}

/// |a_{j+1} - a_j| for all neighbours that some causal row of some head sees, in rising order.
pub fn score_steps(layer: &Layer) -> Vec<f64> {
    let [heads, rows, width] = [1, 2, 3].map(|axis| layer.q.shape()[axis]);
    let group = heads / layer.k.shape()[1];
    let number = |x: &Tensor, head, row, c| x.get(&[0, head, row, c]).unwrap_or(f64::NAN);
    let scale = 1.0 / (width as f64).sqrt();
    let mut steps = Vec::new();
    for (head, row) in (0..heads).flat_map(|head| (0..rows).map(move |row| (head, row))) {
        let product = |j, c| number(&layer.q, head, row, c) * number(&layer.k, head / group, j, c);
        let scores: Vec<f64> = (0..=row).map(|j| scale * (0..width).map(|c| product(j, c)).sum::<f64>()).collect();
        steps.extend(scores.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
    }
    steps.sort_by(f64::total_cmp);
    steps
}

/// |a - b| / |b| of the outputs, in the Euclidean norm.
pub fn relative_change(a: &Output, b: &Output) -> f64 {
    let (a, b) = (a.o.to_f64(), b.o.to_f64());
    norm(a.iter().zip(&b).map(|(a, b)| a - b)) / norm(b.iter().copied())
}

/// |a - b| / |b| for each row of each head, in rising order.
pub fn row_changes(a: &Output, b: &Output) -> Vec<f64> {
    let width = b.o.shape().last().copied().unwrap_or(1);
    let (a, b) = (a.o.to_f64(), b.o.to_f64());
    let rows = a.chunks(width).zip(b.chunks(width));
    let mut all: Vec<f64> =
        rows.map(|(a, b)| norm(a.iter().zip(b).map(|(a, b)| a - b)) / norm(b.iter().copied())).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn norm(x: impl Iterator<Item = f64>) -> f64 {
    x.map(|x| x * x).sum::<f64>().sqrt()
}

/// Queries, keys and values of one layer before the rotary embedding, in `f64`.
///
/// ```
/// use contattn_notebook::{Heads, contattn_core::Rule, relative_change};
/// let heads = &Heads::carried()?[1];
/// let still = heads.lasting(&[1.0; 26], 0.0, Rule::Step)?;
/// let moved = heads.lasting(&[1.0; 26], 3.5, Rule::Step)?;
/// assert!(relative_change(&moved, &still) < 1e-12);
/// # Ok::<(), contattn_notebook::NotebookError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Heads {
    /// the layer's name
    pub name: String,
    q: Tensor,
    k: Tensor,
    v: Tensor,
}

impl Heads {
    /// The three layers, turned back from the whole positions 1, 2, ... at which they were stored.
    ///
    /// # Errors
    /// None for the data that the project carries.
    pub fn carried() -> Result<Vec<Heads>, NotebookError> {
        let bare = |layer: &Layer| {
            let edges: Vec<f64> = (1..=layer.q.shape()[2]).map(|i| i as f64).collect();
            let back = |x: &Tensor| {
                let x = x.to_dtype(Dtype::F64);
                ROTARY.turn_back(&x.view(TensorName::Query, Layout::Bhsd)?, &Series::shared(edges.clone()))
            };
            let (q, k) = (back(&layer.q)?, back(&layer.k)?);
            Ok(Heads { name: layer.name.clone(), q, k, v: layer.v.to_dtype(Dtype::F64) })
        };
        real::layers().iter().map(bare).collect()
    }

    /// Causal attention of the plain engine where tokens have these durations. Positions are right edges, moved by `shift`.
    /// Rules that join nodes get a copy of the first token as their sink.
    ///
    /// # Errors
    /// A wrong number of durations.
    pub fn lasting(&self, durations: &[f64], shift: f64, rule: Rule) -> Result<Output, NotebookError> {
        let mut edge = shift;
        let mut next = |d: &f64| {
            edge += d;
            edge
        };
        let edges = Series::shared(durations.iter().map(&mut next).collect());
        let turned = |x: &Tensor| ROTARY.turn(&x.view(TensorName::Query, Layout::Bhsd)?, &edges);
        attended((&turned(&self.q)?, &turned(&self.k)?, &self.v), durations, rule)
    }

    /// As [`lasting`](Heads::lasting), without any rotary embedding.
    ///
    /// # Errors
    /// A wrong number of durations.
    pub fn unturned(&self, durations: &[f64], rule: Rule) -> Result<Output, NotebookError> {
        attended((&self.q, &self.k, &self.v), durations, rule)
    }

    /// Key and value of the token at `place` on the straight line to those of the token at `other`, a part `lambda` of the way.
    ///
    /// # Errors
    /// None for the data that the project carries.
    pub fn walked(&self, place: usize, other: usize, lambda: f64) -> Result<Heads, NotebookError> {
        let mix = |x: &Tensor| {
            let (shape, old) = (x.shape().to_vec(), x.to_f64());
            let (rows, width) = (shape[2], shape[3]);
            let mut new = old.clone();
            for (head, c) in (0..shape[1]).flat_map(|head| (0..width).map(move |c| (head, c))) {
                let at = |row| (head * rows + row) * width + c;
                new[at(place)] = (1.0 - lambda) * old[at(place)] + lambda * old[at(other)];
            }
            Tensor::from_f64(shape, Dtype::F64, new)
        };
        Ok(Heads { k: mix(&self.k)?, v: mix(&self.v)?, ..self.clone() })
    }
}

fn attended(tensors: (&Tensor, &Tensor, &Tensor), durations: &[f64], rule: Rule) -> Result<Output, NotebookError> {
    let timeline = Timeline::Durations(Series::shared(durations.to_vec()));
    let sink = if rule == Rule::Step { Sink::Absent } else { Sink::Copy };
    attend(&Plain::<f64>::new(), tensors, sink, Spec { rule, timeline, ..Spec::default() })
}

/// The weights that the last query gives to the tokens, along a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// where along the sweep each sample stands
    pub places: Vec<f64>,
    /// the layers' names
    pub names: Vec<String>,
    /// by layer, head, token and sample
    pub weights: Vec<Vec<Vec<Vec<f64>>>>,
}

impl Sweep {
    /// Evaluates every layer at every place.
    ///
    /// # Errors
    /// What `run` reports.
    pub fn of(
        layers: &[Heads],
        places: &[f64],
        run: impl Fn(&Heads, f64) -> Result<Output, NotebookError>,
    ) -> Result<Sweep, NotebookError> {
        let mut weights = Vec::new();
        for layer in layers {
            let sample = |&x: &f64| run(layer, x).map(|output| last_row(&output));
            weights.push(transposed(&places.iter().map(sample).collect::<Result<Vec<_>, _>>()?));
        }
        let names = layers.iter().map(|layer| layer.name.clone()).collect();
        Ok(Sweep { places: places.to_vec(), names, weights })
    }

    /// Of the curves of one layer: (head, token), that whose weight moves over the widest range first.
    pub fn widest(&self, layer: usize) -> Vec<(usize, usize)> {
        let heads = &self.weights[layer];
        let mut all: Vec<(usize, usize)> =
            (0..heads.len()).flat_map(|head| (0..heads[head].len()).map(move |token| (head, token))).collect();
        all.sort_by(|&(a, b), &(c, d)| range(&heads[c][d]).total_cmp(&range(&heads[a][b])));
        all
    }

    /// The figures of smoothness by layer, over the weights whose range is at least `least`.
    ///
    /// # Errors
    /// Fewer than two places.
    pub fn smoothness(&self, caption: &str, least: f64) -> Result<Table, NotebookError> {
        let limit = format!("m_max ≥ {EXCEEDING}");
        let columns =
            ["layer", "weights", "slope: median", "largest", "m_max: largest", &limit, "heads with 2 peaks or more"];
        let mut table = Table::new(caption, columns);
        for (name, heads) in self.names.iter().zip(&self.weights) {
            let moving: Vec<&Vec<f64>> = heads.iter().flatten().filter(|weight| range(weight) >= least).collect();
            let (mut slopes, mut excursions, mut many) = (Vec::new(), Vec::new(), 0);
            for weight in &moving {
                slopes.extend(normalised_slope(&self.places, weight)?);
                excursions.push(excursion(weight)?);
            }
            for head in heads {
                many += usize::from(Peaks::among(head)?.number() > 1);
            }
            slopes.sort_by(f64::total_cmp);
            let slope = |at: usize| slopes.get(at).map_or_else(String::new, |slope| format!("{slope:.2}"));
            table.row([
                name.clone(),
                moving.len().to_string(),
                slope(slopes.len() / 2),
                slope(slopes.len().saturating_sub(1)),
                format!("{:.4}", excursions.iter().fold(0.0, |most: f64, &e| most.max(e))),
                excursions.iter().filter(|&&e| e >= EXCEEDING).count().to_string(),
                format!("{many} of {}", heads.len()),
            ]);
        }
        Ok(table)
    }
}

fn range(curve: &[f64]) -> f64 {
    let (low, high) = curve.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &y| (l.min(y), h.max(y)));
    high - low
}

/// By head: the weights of the tokens for the last query. Node 0 is no token.
fn last_row(output: &Output) -> Vec<Vec<f64>> {
    let Some(weights) = &output.weights else { return Vec::new() };
    let [heads, rows, nodes] = [1, 2, 3].map(|axis| weights.shape()[axis]);
    let weight = |head, node| weights.elements().get((head * rows + rows - 1) * nodes + node);
    (0..heads).map(|head| (1..nodes).map(|node| weight(head, node)).collect()).collect()
}

/// (sample, head, token) to (head, token, sample).
fn transposed(samples: &[Vec<Vec<f64>>]) -> Vec<Vec<Vec<f64>>> {
    let Some(first) = samples.first() else { return Vec::new() };
    let curve = |head: usize, token: usize| samples.iter().map(|sample| sample[head][token]).collect();
    (0..first.len()).map(|head| (0..first[head].len()).map(|token| curve(head, token)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_durations_are_the_stored_heads() {
        for (heads, layer) in Heads::carried().unwrap().iter().zip(real::layers()) {
            let spec = Spec { rule: Rule::Step, ..Spec::default() };
            let stored = attend(&Plain::<f64>::new(), (&layer.q, &layer.k, &layer.v), Sink::Absent, spec).unwrap();
            let again = heads.lasting(&[1.0; 26], 0.0, Rule::Step).unwrap();
            assert!(relative_change(&again, &stored) < 1e-12);
            assert!(row_changes(&again, &stored).last().unwrap() < &1e-11);
        }
    }

    #[test]
    fn a_walk_begins_and_ends_at_tokens() {
        let heads = &Heads::carried().unwrap()[0];
        let by = |lambda| heads.walked(9, 16, lambda).unwrap().lasting(&[1.0; 26], 0.0, Rule::Step).unwrap();
        let still = heads.lasting(&[1.0; 26], 0.0, Rule::Step).unwrap();
        assert_eq!(relative_change(&by(0.0), &still), 0.0);
        assert!(relative_change(&by(1.0), &still) > 0.01);
        assert_eq!(heads.walked(9, 9, 0.5).unwrap().k, heads.k);
    }

    #[test]
    fn a_sweep_that_stands_still_has_no_slope() {
        let layers = Heads::carried().unwrap();
        let sweep =
            Sweep::of(&layers[..1], &[0.0, 1.0, 2.0], |heads, _| heads.unturned(&[1.0; 26], Rule::Step)).unwrap();
        assert_eq!((sweep.weights[0].len(), sweep.weights[0][0].len(), sweep.weights[0][0][0].len()), (9, 26, 3));
        let sums: Vec<f64> = (0..3).map(|x| sweep.weights[0][4].iter().map(|token| token[x]).sum()).collect();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-14));
        let text = sweep.smoothness("", 1e-3).unwrap().to_string();
        assert!(text.contains("layer00        0"), "{text}");
    }

    #[test]
    fn steps_of_scores_are_sorted_and_all_there() {
        let steps = score_steps(&real::layers()[0]);
        assert_eq!(steps.len(), 9 * (0..26).sum::<usize>());
        assert!(steps.is_sorted() && steps[0] >= 0.0);
    }
}
