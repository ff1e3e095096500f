//! Whether results are right: a sample of rows against the plain engine in f64. Nothing is timed before it has passed here.

use super::inputs::{Contender, Inputs, Rows, upstream};
use crate::exit::Exit;
use crate::refusal::Refusal;
use contattn_core::{CancelToken, Dtype, Engine, Problem, Request, Tensor};
use contattn_cpu::Plain;

/// A kernel sums in another order than the plain engine in f32, its twin, and so has other errors of the same size: allowed is
/// this multiple of the twin's largest error, and as many roundings of the largest number, for where the twin happens to be
/// nearly exact.
const MULTIPLE: f64 = 8.0;

/// Others may be off by as many times what is allowed here: libraries have their own e^x and order of sums (PyTorch's dv was seen
/// at 1.03 times). A wrong formula is off by far more.
const OTHERS: f64 = 4.0;

/// Whose results are judged.
#[derive(Clone, Copy)]
pub(super) enum Whose<'n> {
    /// this project's, by name
    Own(&'n str),
    /// another library's, by name
    Other(&'n str),
}

impl<'n> Whose<'n> {
    fn name(self) -> &'n str {
        let (Whose::Own(name) | Whose::Other(name)) = self;
        name
    }

    fn margin(self) -> f64 {
        match self {
            Whose::Own(_) => 1.0,
            Whose::Other(_) => OTHERS,
        }
    }
}

/// A tensor that is judged.
struct Target {
    name: &'static str,
    exact: Vec<f64>,
    /// how far from them a result may be
    limit: f64,
    /// the rows that these are, or all
    rows: Option<Vec<usize>>,
}

/// What the results of a contender are judged by.
pub(super) struct Judge {
    o: Target,
    /// dq of the rows; dk and dv for upstream gradients that are 0 elsewhere
    gradient: Option<[Target; 3]>,
}

impl Target {
    fn new(name: &'static str, exact: &Tensor, twin: &Tensor, rows: Option<&Rows>) -> Target {
        let (exact, twin) = (exact.to_f64(), twin.to_f64());
        let largest = exact.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let off = exact.iter().zip(&twin).fold(0.0, |off: f64, (x, y)| off.max((x - y).abs()));
        let limit = MULTIPLE * (off + Dtype::F32.unit_roundoff() * largest);
        Target { name, exact, limit, rows: rows.map(|rows| rows.rows.clone()) }
    }

    /// The largest error of a result of shape (1, heads, sequence, width).
    ///
    /// # Errors
    /// The first element that is further off than allowed.
    fn judge(&self, found: &Tensor, whose: Whose<'_>) -> anyhow::Result<f64> {
        let limit = self.limit * whose.margin();
        let wrong = |what: String| Refusal {
            exit: Exit::Failed,
            what: format!("{}: {what}", whose.name()),
            advice: "nothing was timed: a wrong result has no speed; `contattn compare` shows more of it".to_owned(),
        };
        let [1, heads, sequence, width] = *found.shape() else {
            return Err(wrong(format!("{} has shape {:?}", self.name, found.shape())).into());
        };
        let rows = self.rows.clone().unwrap_or_else(|| (0..sequence).collect());
        if self.exact.len() != heads * rows.len() * width || rows.iter().any(|row| *row >= sequence) {
            return Err(wrong(format!("{} has shape {:?}", self.name, found.shape())).into());
        }
        let mut largest = 0.0f64;
        let places = (0..heads).flat_map(|head| rows.iter().map(move |row| (head, *row)));
        let places = places.flat_map(|(head, row)| (0..width).map(move |column| (head, row, column)));
        for ((head, row, column), &exact) in places.zip(&self.exact) {
            let value = found.elements().get((head * sequence + row) * width + column);
            let error = (value - exact).abs();
            // A NaN is no number below the limit.
            if !matches!(error.partial_cmp(&limit), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal)) {
                return Err(wrong(format!(
                    "{}[{head}, {row}, {column}] is {value:e}, expected {exact:e} within {limit:.1e}",
                    self.name
                ))
                .into());
            }
            largest = largest.max(error);
        }
        Ok(largest)
    }
}

impl Judge {
    /// Computes what is exact, to f64, and the limits.
    ///
    /// # Errors
    /// Cancellation; memory.
    pub(super) fn new(
        inputs: &Inputs,
        rows: &Rows,
        contender: Contender,
        gradient: bool,
        cancel: &CancelToken,
    ) -> anyhow::Result<Judge> {
        let problem = inputs.excerpt(contender, rows)?;
        let (plain, twin) = (Plain::<f64>::new(), Plain::<f32>::new());
        let exactly = Request { dtype: Some(Dtype::F64), ..Request::default() };
        let rounded = Request { dtype: Some(Dtype::F32), ..Request::default() };
        let o = |engine: &dyn Engine, request| Ok::<_, anyhow::Error>(engine.forward(&problem, request, cancel)?.o);
        let o = Target::new("o", &o(&plain, &exactly)?, &o(&twin, &rounded)?, Some(rows));
        let gradient = if gradient {
            let upstream = upstream(&problem, &rows.g)?;
            let exact = plain.backward(&problem, &upstream, None, &exactly, cancel)?;
            let twin = twin.backward(&problem, &upstream, None, &rounded, cancel)?;
            Some([
                Target::new("dq", &exact.dq, &twin.dq, Some(rows)),
                Target::new("dk", &exact.dk, &twin.dk, None),
                Target::new("dv", &exact.dv, &twin.dv, None),
            ])
        } else {
            None
        };
        Ok(Judge { o, gradient })
    }

    /// The largest error of o.
    ///
    /// # Errors
    /// A wrong element.
    pub(super) fn output(&self, o: &Tensor, whose: Whose<'_>) -> anyhow::Result<f64> {
        self.o.judge(o, whose)
    }

    /// Another's o beside this engine's, in every row: both may be off by what is allowed. The largest difference.
    ///
    /// # Errors
    /// An element further apart.
    pub(super) fn beside(&self, found: &Tensor, own: &Tensor, name: &str) -> anyhow::Result<f64> {
        let limit = (1.0 + OTHERS) * self.o.limit;
        let every = Target { name: "o", exact: own.to_f64(), limit, rows: None };
        every.judge(found, Whose::Own(&format!("{name} beside engine tiled")))
    }

    /// The largest error of dq, dk and dv of the gradient [`Rows::sparse`].
    ///
    /// # Errors
    /// A wrong element.
    pub(super) fn gradient(&self, found: [&Tensor; 3], whose: Whose<'_>) -> anyhow::Result<f64> {
        let targets = self.gradient.iter().flatten().zip(found);
        targets
            .map(|(target, found)| target.judge(found, whose))
            .try_fold(0.0, |largest: f64, error| Ok(largest.max(error?)))
    }

    /// The largest error of everything that an engine gives for a problem, and its o.
    ///
    /// # Errors
    /// A wrong element; what the engine refuses; cancellation.
    pub(super) fn engine(
        &self,
        engine: &dyn Engine,
        problem: &Problem<'_>,
        rows: &Rows,
        name: &str,
        cancel: &CancelToken,
    ) -> anyhow::Result<(f64, Tensor)> {
        let whose = Whose::Own(name);
        let request = Request::default();
        let output = engine.forward(problem, &request, cancel)?;
        let error = self.output(&output.o, whose)?;
        if self.gradient.is_none() {
            return Ok((error, output.o));
        }
        let upstream = upstream(problem, &rows.sparse)?;
        let found = engine.backward(problem, &upstream, Some(&output), &request, cancel)?;
        Ok((error.max(self.gradient([&found.dq, &found.dk, &found.dv], whose)?), output.o))
    }
}
