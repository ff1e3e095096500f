//! What is printed: the problem as it was understood, and each result in one line.

use super::{Named, Plan};
use crate::print;
use contattn_core::{Problem, QueryTimes, Shape, Tensor};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// How many numbers of a result are shown.
const FIRST: usize = 4;

/// A number in JSON, which has none for NaN and infinity: those are the strings "nan", "inf" and "-inf".
#[derive(Clone, Copy, Debug)]
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_finite() => serializer.serialize_f64(x),
            x if x.is_nan() => serializer.serialize_str("nan"),
            x if x > 0.0 => serializer.serialize_str("inf"),
            _ => serializer.serialize_str("-inf"),
        }
    }
}

/// One result.
#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    shape: Vec<usize>,
    dtype: &'static str,
    /// least and largest finite number, and the mean of the finite numbers; null where there is none
    min: Option<Number>,
    max: Option<Number>,
    mean: Option<Number>,
    nan: usize,
    infinite: usize,
    first: Vec<Number>,
    /// where it was written
    file: Option<String>,
}

impl Line {
    fn new(named: &Named, plan: &Plan) -> Line {
        let Named { name, tensor } = named;
        let values = tensor.to_f64();
        let finite = || values.iter().copied().filter(|x| x.is_finite());
        let count = finite().count();
        // Halves, so that the sum of numbers near the largest one stays finite.
        let mean = 2.0 * finite().map(|x| x / 2.0 / count as f64).sum::<f64>();
        Line {
            name,
            shape: tensor.shape().to_vec(),
            dtype: tensor.dtype().name(),
            min: finite().reduce(f64::min).map(Number),
            max: finite().reduce(f64::max).map(Number),
            mean: (count > 0).then_some(Number(mean)),
            nan: values.iter().filter(|x| x.is_nan()).count(),
            infinite: values.iter().filter(|x| x.is_infinite()).count(),
            first: first(tensor),
            file: plan.place(name),
        }
    }

    fn text(&self, name_width: usize) -> String {
        let shape = format!("{:?}", self.shape).replace('[', "(").replace(']', ")");
        let mut text = format!("{:name_width$}  {shape} {}", self.name, self.dtype);
        if let (Some(min), Some(max), Some(mean)) = (self.min, self.max, self.mean) {
            text += &format!("  min {} max {} mean {}", short(min.0), short(max.0), short(mean.0));
        }
        if self.nan > 0 {
            text += &format!("  {} NaN", self.nan);
        }
        if self.infinite > 0 {
            text += &format!("  {} infinite", self.infinite);
        }
        if !self.first.is_empty() {
            let numbers: Vec<String> = self.first.iter().map(|x| short(x.0)).collect();
            let more = if self.shape.iter().product::<usize>() > FIRST { " ..." } else { "" };
            text += &format!("  [{}{more}]", numbers.join(" "));
        }
        if let Some(file) = &self.file {
            text += &format!("  -> {file}");
        }
        text
    }
}

fn first(tensor: &Tensor) -> Vec<Number> {
    (0..tensor.len().min(FIRST)).map(|i| Number(tensor.elements().get(i))).collect()
}

/// Six significant digits at most.
fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 {
        return "0".to_owned();
    }
    if !size.is_finite() || !(1e-4..1e6).contains(&size) {
        return if size.is_finite() { format!("{x:.5e}") } else { x.to_string().to_lowercase() };
    }
    let decimals = (5 - size.log10().floor() as i32).max(0) as usize;
    let digits = format!("{x:.decimals$}");
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits }
}

/// Lengths of the axes as they were read.
#[derive(Debug, Serialize)]
struct Lengths {
    batch: usize,
    heads: usize,
    kv_heads: usize,
    queries: usize,
    keys: usize,
    head_dim: usize,
    value_dim: usize,
    dtype: &'static str,
}

/// The whole summary.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    command: &'static str,
    /// rule, window, sink, layout and engine, by name
    #[serde(flatten)]
    settings: BTreeMap<String, String>,
    problem: Lengths,
    results: Vec<Line>,
    /// what its user may not have meant
    notes: Vec<String>,
}

impl Summary {
    pub(crate) fn new(
        command: &'static str,
        settings: BTreeMap<String, String>,
        problem: &Problem<'_>,
        results: &[Named],
        plan: &Plan,
    ) -> Summary {
        let Shape { batch, heads, kv_heads, queries, keys, head_dim, value_dim } = problem.shape();
        let dtype = problem.dtype().name();
        let lengths = Lengths { batch, heads, kv_heads, queries, keys, head_dim, value_dim, dtype };
        let results = results.iter().map(|named| Line::new(named, plan)).collect();
        Summary { command, settings, problem: lengths, results, notes: notes(problem) }
    }

    /// Prints it.
    ///
    /// # Errors
    /// Where stdout cannot be written.
    pub(crate) fn print(&self, as_json: bool) -> anyhow::Result<()> {
        if as_json { print::json(self) } else { print::text(&self.text()) }
    }

    fn text(&self) -> String {
        let Lengths { batch, heads, kv_heads, queries, keys, head_dim, value_dim, dtype } = self.problem;
        let width = self.results.iter().map(|line| line.name.len()).chain([self.command.len(), 7]).max().unwrap_or(7);
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let mut text = format!("{:width$}  {}\n", self.command, settings.join(", "));
        text += &format!(
            "{:width$}  batch {batch}, heads {heads} (kv {kv_heads}), queries {queries}, n {keys}, head_dim {head_dim}, \
             value width {value_dim}, {dtype}\n",
            "problem"
        );
        for line in &self.results {
            text += &line.text(width);
            text.push('\n');
        }
        for note in &self.notes {
            text += &format!("{:width$}  {note}\n", "note");
        }
        text
    }
}

/// Readings of the files that are valid and rarely meant.
fn notes(problem: &Problem<'_>) -> Vec<String> {
    let Shape { queries, keys, .. } = problem.shape();
    let spec = problem.spec();
    // Row r stands at node keys - queries + 1 + r.
    let before = queries.saturating_sub(keys + 1);
    let at_last_nodes = spec.query_times == QueryTimes::LastNodes && spec.window.is_causal();
    if at_last_nodes && before > 0 {
        vec![format!(
            "the first {before} of {queries} queries stand before node 0 and see nothing: see --query-times, or --layout if \
             the axes are in another order"
        )]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn six_digits() {
        let cases = [
            (0.0, "0"),
            (2.0, "2"),
            (-0.125, "-0.125"),
            (1.0 / 3.0, "0.333333"),
            (123456.7, "123457"),
            (1e-5, "1.00000e-5"),
            (1.5e300, "1.50000e300"),
            (100.0, "100"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (x, text) in cases {
            assert_eq!(short(x), text);
        }
    }
}
