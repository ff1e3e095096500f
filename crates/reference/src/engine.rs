//! The reference as an engine.

use crate::doubled::{Tables, evaluate};
use crate::exact::ExactProblem;
use crate::gradient;
use crate::nodes::Nodes;
use crate::rounding::{Known, RoundedRow, Settled, round_rest};
use contattn_core::engine::reserve;
use contattn_core::{
    Dtype, Engine, EngineError, Feature, Gradient, Monitor, Open, Output, Problem, Request, Rule, SinkGradient, Tensor,
    Timeline, Upstream,
};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Evaluates any problem; forward results are correctly rounded to the type asked for, gradients wherever an enclosure of
/// 512 bits tells (else their best guess; [`gradient::round`] says which those are).
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference {
    multiprecision_alone: bool,
}

/// What settled the results of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// results settled by enclosures in double-double arithmetic
    pub by_double_double: u64,
    /// results settled by enclosures of more bits
    pub by_enclosure: u64,
    /// results settled by the exact decision
    pub exactly: u64,
    /// of those, how many needed no exponential: ties, zeros, rational results
    pub without_exponentials: u64,
    /// NaN, -infinity and the weight 0 of what is not visible
    pub defined: u64,
    /// the largest precision that any result needed
    pub bits: u32,
}

impl Certificate {
    fn count(&mut self, settled: Settled) {
        match settled {
            Settled::DoubleDouble => self.by_double_double += 1,
            Settled::Enclosure(bits) => {
                self.by_enclosure += 1;
                self.bits = self.bits.max(bits);
            }
            Settled::Exactly(bits) => {
                self.exactly += 1;
                self.without_exponentials += u64::from(bits == 0);
                self.bits = self.bits.max(bits);
            }
            Settled::Defined => self.defined += 1,
        }
    }

    fn count_row(&mut self, row: &RoundedRow) {
        for rounded in row.o.iter().chain([&row.lse]).chain(&row.weights).chain(&row.bias) {
            self.count(rounded.settled);
        }
    }
}

/// Rows between two looks at memory and progress.
const CHUNK: usize = 64;

fn count(lengths: &[usize]) -> u128 {
    lengths.iter().map(|&n| n as u128).product()
}

fn tensor(shape: &[usize], dtype: Dtype, values: Vec<f64>) -> Result<Tensor, EngineError> {
    // The numbers are of this type already, so the conversion is exact.
    let len = values.len();
    Tensor::from_f64(shape.to_vec(), dtype, values)
        .map_err(|_| EngineError::OutOfMemory { what: "a result", bytes: len as u128 * 8 })
}

impl Reference {
    /// The engine; there is nothing to choose.
    pub const fn new() -> Reference {
        Reference { multiprecision_alone: false }
    }

    /// Without the first stage in double-double arithmetic: the same bits, some hundred times slower.
    pub const fn multiprecision_alone() -> Reference {
        Reference { multiprecision_alone: true }
    }

    /// [`Engine::forward`], and what settled its results.
    ///
    /// # Errors
    /// As there.
    pub fn certify(
        &self,
        problem: &Problem<'_>,
        request: &Request,
        monitor: &dyn Monitor,
    ) -> Result<(Output, Certificate), EngineError> {
        self.check(problem, request)?;
        let shape = problem.shape();
        let dtype = request.dtype(problem);
        let exact = ExactProblem::new(problem);
        let route = Nodes::new(problem.rule());
        let (batch, heads, queries) = (shape.batch, shape.heads, shape.queries);
        let per_row = [batch, heads, queries, shape.keys + 1];
        let mut o: Vec<f64> = reserve("o", count(&[batch, heads, queries, shape.value_dim]))?;
        let mut lse: Vec<f64> = reserve("lse", count(&[batch, heads, queries]))?;
        let mut weights: Vec<f64> = reserve("weights", if request.weights { count(&per_row) } else { 0 })?;
        let mut bias: Vec<f64> = reserve("bias", if request.bias { count(&per_row) } else { 0 })?;
        let mut certificate = Certificate::default();
        let total = batch * heads * queries;
        let done = AtomicU64::new(0);
        let mut tables: Option<((usize, usize), Option<Tables>)> = None;
        for (batch, head) in (0..batch).flat_map(|b| (0..heads).map(move |h| (b, h))) {
            let kv_head = (batch, shape.kv_head(head));
            if !self.multiprecision_alone && tables.as_ref().is_none_or(|(of, _)| *of != kv_head) {
                tables = Some((kv_head, Tables::new(&exact, kv_head.0, kv_head.1)));
            }
            let tables = tables.as_ref().and_then(|(_, tables)| tables.as_ref());
            for start in (0..queries).step_by(CHUNK) {
                let rows: Vec<RoundedRow> = (start..(start + CHUNK).min(queries))
                    .into_par_iter()
                    .map(|index| {
                        if monitor.is_cancelled() {
                            return Err(EngineError::Cancelled);
                        }
                        let at = (batch, head, index);
                        let known =
                            tables.map_or_else(Known::default, |tables| evaluate(tables, &exact, at, dtype, request));
                        let row = known.complete(request.weights, request.bias).unwrap_or_else(|| {
                            let row = exact.row(batch, head, index);
                            round_rest(&route, &row, dtype, request.weights, request.bias, &known)
                        });
                        monitor.progress(done.fetch_add(1, Ordering::Relaxed) + 1, total as u64);
                        Ok(row)
                    })
                    .collect::<Result<_, _>>()?;
                for row in &rows {
                    certificate.count_row(row);
                    o.extend(row.o.iter().map(|x| x.value));
                    lse.push(row.lse.value);
                    weights.extend(row.weights.iter().map(|x| x.value));
                    bias.extend(row.bias.iter().map(|x| x.value));
                }
            }
        }
        let output = Output {
            o: tensor(&[batch, heads, queries, shape.value_dim], dtype, o)?,
            lse: tensor(&[batch, heads, queries], dtype.lse(), lse)?,
            weights: if request.weights { Some(tensor(&per_row, dtype, weights)?) } else { None },
            bias: if request.bias { Some(tensor(&per_row, dtype, bias)?) } else { None },
        };
        Ok((output, certificate))
    }
}

impl Engine for Reference {
    fn name(&self) -> &str {
        "reference"
    }

    fn arithmetic(&self) -> Dtype {
        Dtype::F64
    }

    fn supports(&self, feature: Feature) -> bool {
        match feature {
            Feature::Rule(Rule::Taylor(order)) => order <= Rule::MAX_TAYLOR_ORDER,
            _ => true,
        }
    }

    fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
        self.certify(problem, request, monitor).map(|(output, _)| output)
    }

    fn backward(
        &self,
        problem: &Problem<'_>,
        upstream: &Upstream<'_>,
        _saved: Option<&Output>, // rounded results are no help to enclosures
        request: &Request,
        monitor: &dyn Monitor,
    ) -> Result<Gradient, EngineError> {
        self.check(problem, request)?;
        let shape = problem.shape();
        let dtype = request.dtype(problem);
        let rounded = gradient::round(&Nodes::new(problem.rule()), problem, upstream, dtype, monitor)?;
        let values = rounded.map(|x| x.value(dtype), |x| x.value(dtype.lse()));
        let (batch, kv_heads, n) = (shape.batch, shape.kv_heads, shape.keys);
        let (d, e) = (shape.head_dim, shape.value_dim);
        let durations = match problem.rule() {
            Rule::Taylor(_) => None,
            _ => {
                let batched = match &problem.spec().timeline {
                    Timeline::Durations(series) | Timeline::Times(series) => series.batch().is_some(),
                    Timeline::Unit => false,
                };
                let shape = if batched { vec![batch, n] } else { vec![n] };
                Some(tensor(&shape, dtype.lse(), values.durations)?)
            }
        };
        let sink = match problem.sink() {
            contattn_core::Sink::Given { .. } => Some(SinkGradient {
                dk: tensor(&[batch, kv_heads, 1, d], dtype, values.sink_dk)?,
                dv: tensor(&[batch, kv_heads, 1, e], dtype, values.sink_dv)?,
            }),
            _ => None,
        };
        Ok(Gradient {
            dq: tensor(&[batch, shape.heads, shape.queries, d], dtype, values.dq)?,
            dk: tensor(&[batch, kv_heads, n, d], dtype, values.dk)?,
            dv: tensor(&[batch, kv_heads, n, e], dtype, values.dv)?,
            sink,
            durations,
        })
    }
}

impl Open for Reference {
    type Options = ();

    fn open((): ()) -> Result<Reference, EngineError> {
        Ok(Reference::new())
    }
}
