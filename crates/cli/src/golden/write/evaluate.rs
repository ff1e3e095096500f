//! One case: its results in two types with what proves them, and its tolerances.

use contattn_check::allowance::{Bound, Bounds, GradientBounds, Precision};
use contattn_check::golden::{
    Certificate, Entry, GradientCertificate, Inputs, OutputEntry, Part, Recipe, Tolerance, Tolerances, UnresolvedEntry,
    contents, results,
};
use contattn_check::oracle::Exact;
use contattn_core::file::Array;
use contattn_core::{
    Dtype, Engine, Gradient, Monitor, Output, Problem, Request, Rule, SinkGradient, Tensor, Timeline, Upstream,
};
use contattn_cpu::Plain;
use contattn_reference::Reference;
use contattn_reference::gradient::{self, Gradients, Outcome};
use contattn_reference::nodes::Nodes;
use std::collections::BTreeMap;

/// The manifest's entry and the tensors of the case's file.
///
/// # Errors
/// Cancellation; memory.
pub(super) fn case(recipe: &Recipe, monitor: &dyn Monitor) -> anyhow::Result<(Entry, Vec<(String, Array)>)> {
    let inputs = recipe.inputs()?;
    let mut entry = recipe.entry(&inputs)?;
    let problem = inputs.problem.problem()?;
    let upstream = if recipe.differentiable { Some(inputs.upstream(&problem)?) } else { None };
    let call = Call { recipe, inputs: &inputs, problem: &problem, upstream, monitor };

    let exact = call.reference(Dtype::F64, &mut entry)?;
    let typed = if recipe.dtype == Dtype::F64 { exact.clone() } else { call.reference(recipe.dtype, &mut entry)? };
    let raw = call.pieces(&exact);
    let twins = [call.twin(&Plain::<f32>::new())?, call.twin(&Plain::<f64>::new())?];
    let twins = twins.map(|twin| call.pieces(&twin));
    let bounds = [Dtype::F32, Dtype::F64].map(|arithmetic| call.bounds(arithmetic));

    let mut arrays = contents(&inputs, recipe.differentiable)?;
    let stored_exact = results(&inputs, exact.output, exact.gradient)?;
    let unresolved = call.unresolved(&exact.open, &typed.open)?;
    for ((name, tensor), (_, exact)) in results(&inputs, typed.output, typed.gradient)?.into_iter().zip(stored_exact) {
        let dtype = if matches!(name, "lse" | "ddurations") { recipe.dtype.lse() } else { recipe.dtype };
        let tolerance = |arithmetic: usize| {
            let parts: Vec<Part<'_>> = raw[name]
                .iter()
                .zip(&twins[arithmetic][name])
                .zip(&bounds[arithmetic][name])
                .map(|((exact, twin), bounds)| Part { exact, twin, bounds })
                .collect();
            Tolerance::derive(&parts, dtype, [Dtype::F32, Dtype::F64][arithmetic])
        };
        let wide = if dtype == Dtype::F64 { name.to_owned() } else { format!("{name}_f64") };
        let output = OutputEntry {
            tensor: name.to_owned(),
            dtype: dtype.name().to_owned(),
            f64: wide.clone(),
            tolerance: Tolerances { f32: tolerance(0), f64: tolerance(1) },
            unresolved: unresolved.get(name).cloned().unwrap_or_default(),
        };
        entry.outputs.insert(name.to_owned(), output);
        if wide != name {
            arrays.push((wide, exact.into()));
        }
        arrays.push((name.to_owned(), tensor.into()));
    }
    Ok((entry, arrays))
}

/// Results of one evaluation.
#[derive(Clone)]
struct Evaluated {
    output: Output,
    gradient: Option<Gradient>,
    /// gradients whose rounding is open: their bounds, or NaN where it is settled
    open: Option<(Gradient, Gradient)>,
}

/// One case being evaluated.
struct Call<'c> {
    recipe: &'c Recipe,
    inputs: &'c Inputs,
    problem: &'c Problem<'c>,
    upstream: Option<Upstream<'c>>,
    monitor: &'c dyn Monitor,
}

impl Call<'_> {
    fn request(&self, dtype: Dtype) -> Request {
        Request { weights: self.recipe.weights, bias: self.recipe.weights, dtype: Some(dtype) }
    }

    /// Correctly rounded to a type, with the certificate.
    fn reference(&self, dtype: Dtype, entry: &mut Entry) -> anyhow::Result<Evaluated> {
        let (output, certificate) =
            Reference::multiprecision_alone().certify(self.problem, &self.request(dtype), self.monitor)?;
        let contattn_reference::Certificate { by_enclosure, exactly, without_exponentials, defined, bits, .. } =
            certificate;
        let certificate = Certificate { by_enclosure, exactly, without_exponentials, defined, bits };
        entry.certificates.forward.insert(dtype.name().to_owned(), certificate);
        let Some(upstream) = &self.upstream else { return Ok(Evaluated { output, gradient: None, open: None }) };
        let route = Nodes::new(self.problem.rule());
        let rounded = gradient::round(&route, self.problem, upstream, dtype, self.monitor)?;
        let unresolved = rounded.all().filter(|x| matches!(x, Outcome::Unresolved(_))).count() as u64;
        let certificate = GradientCertificate { rounded: rounded.all().count() as u64 - unresolved, unresolved };
        entry.certificates.gradients.insert(dtype.name().to_owned(), certificate);
        let values = rounded.map(|x| x.value(dtype), |x| x.value(dtype.lse()));
        let open = if unresolved > 0 {
            let side = |lower: bool| rounded.map(|x| bound(x, lower), |x| bound(x, lower));
            Some((self.gradient(side(true), Dtype::F64)?, self.gradient(side(false), Dtype::F64)?))
        } else {
            None
        };
        Ok(Evaluated { output, gradient: Some(self.gradient(values, dtype)?), open })
    }

    /// Numbers of `dtype` as tensors.
    fn gradient(&self, values: Gradients<f64>, dtype: Dtype) -> anyhow::Result<Gradient> {
        let s = self.problem.shape();
        let by_batch = match &self.problem.spec().timeline {
            Timeline::Durations(series) | Timeline::Times(series) => series.batch().is_some(),
            Timeline::Unit => false,
        };
        let durations = match self.problem.rule() {
            Rule::Taylor(_) => None,
            _ => {
                let shape = if by_batch { vec![s.batch, s.keys] } else { vec![s.keys] };
                Some(Tensor::from_f64(shape, dtype.lse(), values.durations)?)
            }
        };
        let sink = if self.problem.sink().name() == "given" {
            Some(SinkGradient {
                dk: Tensor::from_f64(vec![s.batch, s.kv_heads, 1, s.head_dim], dtype, values.sink_dk)?,
                dv: Tensor::from_f64(vec![s.batch, s.kv_heads, 1, s.value_dim], dtype, values.sink_dv)?,
            })
        } else {
            None
        };
        Ok(Gradient {
            dq: Tensor::from_f64(vec![s.batch, s.heads, s.queries, s.head_dim], dtype, values.dq)?,
            dk: Tensor::from_f64(vec![s.batch, s.kv_heads, s.keys, s.head_dim], dtype, values.dk)?,
            dv: Tensor::from_f64(vec![s.batch, s.kv_heads, s.keys, s.value_dim], dtype, values.dv)?,
            sink,
            durations,
        })
    }

    /// What a plain engine finds, in the case's type.
    fn twin(&self, engine: &dyn Engine) -> anyhow::Result<Evaluated> {
        let request = self.request(self.recipe.dtype);
        let output = engine.forward(self.problem, &request, self.monitor)?;
        let gradient = match &self.upstream {
            Some(upstream) => Some(engine.backward(self.problem, upstream, None, &request, self.monitor)?),
            None => None,
        };
        Ok(Evaluated { output, gradient, open: None })
    }

    /// Results by name, before they are stored: those of a given sink beside those of the nodes.
    fn pieces(&self, evaluated: &Evaluated) -> BTreeMap<&'static str, Vec<Vec<f64>>> {
        let Output { o, lse, weights, bias } = &evaluated.output;
        let mut all = BTreeMap::from([("o", vec![o.to_f64()]), ("lse", vec![lse.to_f64()])]);
        all.extend(weights.iter().map(|tensor| ("weights", vec![tensor.to_f64()])));
        all.extend(bias.iter().map(|tensor| ("bias", vec![tensor.to_f64()])));
        if let Some(Gradient { dq, dk, dv, sink, durations }) = &evaluated.gradient {
            let with_sink = |nodes: &Tensor, first: Option<&Tensor>| {
                [Some(nodes), first].into_iter().flatten().map(Tensor::to_f64).collect()
            };
            all.insert("dq", vec![dq.to_f64()]);
            all.insert("dk", with_sink(dk, sink.as_ref().map(|sink| &sink.dk)));
            all.insert("dv", with_sink(dv, sink.as_ref().map(|sink| &sink.dv)));
            all.extend(durations.iter().map(|tensor| ("ddurations", vec![tensor.to_f64()])));
        }
        all
    }

    /// The allowances of an engine of this arithmetic, in the order of [`pieces`](Call::pieces).
    fn bounds(&self, arithmetic: Dtype) -> BTreeMap<&'static str, Vec<Vec<Bound>>> {
        let exact = Exact::of(self.problem);
        let precision = Precision::new(arithmetic, self.recipe.dtype);
        let Bounds { o, lse, weights, bias } = Bounds::of(&exact, &precision);
        let mut all =
            BTreeMap::from([("o", vec![o]), ("lse", vec![lse]), ("weights", vec![weights]), ("bias", vec![bias])]);
        if let Some(upstream) = &self.upstream {
            let gradient = GradientBounds::of(&exact, &exact.gradient(upstream), &precision);
            all.extend([
                ("dq", vec![gradient.dq]),
                ("dk", vec![gradient.dk, gradient.sink_dk]),
                ("dv", vec![gradient.dv, gradient.sink_dv]),
                ("ddurations", vec![gradient.durations]),
            ]);
        }
        all
    }

    /// Gradients that are open in either type, by name, where they are stored.
    fn unresolved(
        &self,
        exact: &Option<(Gradient, Gradient)>,
        typed: &Option<(Gradient, Gradient)>,
    ) -> anyhow::Result<BTreeMap<&'static str, Vec<UnresolvedEntry>>> {
        let mut all: BTreeMap<&'static str, Vec<UnresolvedEntry>> = BTreeMap::new();
        for (lower, upper) in [exact, typed].into_iter().flatten() {
            // The way that results take to their file, for their bounds.
            let place = |gradient: &Gradient| {
                let none = Tensor::from_f64(vec![0, 1, 0, 1], Dtype::F64, [])?;
                let output = Output { o: none.clone(), lse: none, weights: None, bias: None };
                results(self.inputs, output, Some(gradient.clone()))
            };
            for ((name, lower), (_, upper)) in place(lower)?.into_iter().zip(place(upper)?).skip(2) {
                let known = all.entry(name).or_default();
                for (at, (lower, upper)) in lower.to_f64().into_iter().zip(upper.to_f64()).enumerate() {
                    if !lower.is_nan() && known.iter().all(|entry| entry.at != at) {
                        known.push(UnresolvedEntry { at, lower, upper });
                    }
                }
                known.sort_by_key(|entry| entry.at);
            }
        }
        all.retain(|_, known| !known.is_empty());
        Ok(all)
    }
}

/// A number that is not above (not below) an unresolved gradient; NaN for one that is rounded.
fn bound(outcome: &Outcome, lower: bool) -> f64 {
    let finite = |x: f64| x.clamp(f64::MIN, f64::MAX);
    match outcome {
        Outcome::Resolved(_) => f64::NAN,
        Outcome::Unresolved(x) if lower => finite(x.lower().to_f64().next_down()),
        Outcome::Unresolved(x) => finite(x.upper().to_f64().next_up()),
    }
}
