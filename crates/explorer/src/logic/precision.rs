//! How far an engine's results are from the exact ones, and what formulas lose that are written down as they stand.

mod figure;
mod formulas;

pub use figure::{along, cancellation, histogram, sheet, table};
pub use formulas::{Formula, Formulas, formulas};

use crate::logic::inputs::Inputs;
use crate::logic::source::Source;
use crate::logic::state::State;
use crate::logic::worker::Failure;
use contattn_check::report::{Report, Tolerance, compare, hex, unit_in_last_place};
use contattn_check::statistics::{KolmogorovSmirnov, rounding_is_uniform};
use contattn_core::{Dtype, Engine, Feature, Monitor, Output, Request, Tensor};
use contattn_reference::Reference;
use serde::{Deserialize, Serialize};
use statrs::stats_tests::chisquare::chisquare;

/// On which problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// the row of the Operator view
    #[default]
    Row,
    /// all rows of the chosen head
    Head,
}

impl Scope {
    /// Every choice.
    pub const ALL: [Scope; 2] = [Scope::Row, Scope::Head];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Row => "the row",
            Scope::Head => "the head",
        }
    }
}

/// Which results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Quantity {
    /// o
    Output,
    /// lse
    Lse,
    /// w
    #[default]
    Weights,
    /// b
    Bias,
}

impl Quantity {
    /// Every choice.
    pub const ALL: [Quantity; 4] = [Quantity::Output, Quantity::Lse, Quantity::Weights, Quantity::Bias];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Quantity::Output => "o",
            Quantity::Lse => "lse",
            Quantity::Weights => "w",
            Quantity::Bias => "b",
        }
    }

    /// What its last axis counts.
    pub const fn axis(self) -> &'static str {
        match self {
            Quantity::Output => "channel",
            Quantity::Lse => "row",
            Quantity::Weights | Quantity::Bias => "node",
        }
    }

    fn request(self, dtype: Option<Dtype>) -> Request {
        Request { weights: self == Quantity::Weights, bias: self == Quantity::Bias, dtype }
    }

    fn of(self, output: Output) -> Option<Tensor> {
        match self {
            Quantity::Output => Some(output.o),
            Quantity::Lse => Some(output.lse),
            Quantity::Weights => output.weights,
            Quantity::Bias => output.bias,
        }
    }
}

/// One result and how far off it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorAt {
    /// place in the tensor, row-major
    pub at: usize,
    /// place on its last axis
    pub along: usize,
    /// the result
    pub found: f64,
    /// the exact number, rounded to f64
    pub exact: f64,
    /// (found - exact) in units in the last place of the result's type at the exact number
    pub ulps: f64,
}

/// Errors of one engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// name of the engine
    pub engine: String,
    /// which results
    pub quantity: Quantity,
    /// their type
    pub dtype: Dtype,
    /// results that are numbers on both sides, with their errors
    pub errors: Vec<ErrorAt>,
    /// length of the last axis
    pub length: usize,
    /// results that are exact in every type: zeros, infinities, NaN; they have no error to show
    pub defined: usize,
    /// the comparison as the command line prints it, with the worst pair in hexadecimal
    pub report: Report,
    /// what the errors are like if every result were the nearest number of its type
    pub rounding: Rounding,
}

/// Whether errors look like those of one rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Kolmogorov and Smirnov's test against the uniform distribution on [-1/2, 1/2]; `None` without errors
    pub uniform: Option<KolmogorovSmirnov>,
    /// p-value of Pearson's test on ten bins of [-1/2, 1/2]; `None` where an error lies outside or there are fewer than 50
    pub chi_square: Option<f64>,
    /// how many are the nearest number of their type
    pub nearest: usize,
    /// mean of the errors: their bias
    pub mean: f64,
    /// root of their mean square; 1/sqrt(12) = 0.2887 for one rounding
    pub rms: f64,
}

/// The inputs of a scope.
///
/// # Errors
/// [`Failure`] where the state has none.
pub fn inputs(scope: Scope, state: &State, source: &Source) -> Result<Inputs, Failure> {
    Ok(match scope {
        Scope::Row => Inputs::of_row(state, source)?,
        Scope::Head => Inputs::of_head(state, source.layer(state.head.layer), state.head.head)?,
    })
}

/// Compares an engine's results with the reference's, which are correct to the last bit of f64.
///
/// # Errors
/// [`Failure`] where the engine cannot have the problem, or when cancelled.
pub fn errors(
    inputs: &Inputs,
    quantity: Quantity,
    engine: &dyn Engine,
    monitor: &dyn Monitor,
) -> Result<Errors, Failure> {
    let problem = inputs.problem()?;
    let lacking = match quantity {
        Quantity::Weights => Some(Feature::Weights),
        Quantity::Bias => Some(Feature::Bias),
        Quantity::Output | Quantity::Lse => None,
    };
    if let Some(feature) = lacking.filter(|feature| !engine.supports(*feature)) {
        let what = format!("engine {} does not support {feature}", engine.name());
        return Err(Failure::new(what, "choose o or lse, or another engine"));
    }
    // An engine's own type: what it can hold at most, and no more than it was given.
    let dtype = if engine.arithmetic() == Dtype::F64 {
        problem.dtype()
    } else {
        narrower(problem.dtype(), engine.arithmetic())
    };
    let none = || Failure::new("the engine returned nothing of the kind", "choose another engine");
    let found = quantity.of(engine.forward(&problem, &quantity.request(Some(dtype)), monitor)?).ok_or_else(none)?;
    let exact = quantity
        .of(Reference::new().forward(&problem, &quantity.request(Some(Dtype::F64)), monitor)?)
        .ok_or_else(none)?;
    let report = compare(&found, &exact, Tolerance::Ulps(0.5)).map_err(|error| Failure::new(error, ""))?;
    let length = found.shape().last().copied().unwrap_or(1).max(1);
    let dtype = found.dtype();
    let mut errors = Vec::new();
    for (at, exact) in exact.to_f64().into_iter().enumerate() {
        let found = found.elements().get(at);
        if exact.is_finite() && found.is_finite() && (exact != 0.0 || found != 0.0) {
            let ulps = (found - exact) / unit_in_last_place(exact, dtype);
            errors.push(ErrorAt { at, along: at % length, found, exact, ulps });
        }
    }
    Ok(Errors {
        engine: engine.name().to_owned(),
        quantity,
        dtype,
        defined: found.len() - errors.len(),
        rounding: rounding(&errors),
        errors,
        length,
        report,
    })
}

fn narrower(a: Dtype, b: Dtype) -> Dtype {
    if a.precision() <= b.precision() { a } else { b }
}

fn rounding(errors: &[ErrorAt]) -> Rounding {
    let ulps: Vec<f64> = errors.iter().map(|error| error.ulps).collect();
    let count = ulps.len().max(1) as f64;
    let inside = ulps.iter().all(|x| x.abs() <= 0.5);
    let chi_square = (inside && ulps.len() >= 50).then(|| {
        let mut bins = [0usize; 10];
        ulps.iter().for_each(|x| bins[(((x + 0.5) * 10.0) as usize).min(9)] += 1);
        chisquare(&bins, None, None).ok().map(|(_, p)| p)
    });
    Rounding {
        uniform: rounding_is_uniform(&ulps).ok(),
        chi_square: chi_square.flatten(),
        nearest: ulps.iter().filter(|x| x.abs() <= 0.5).count(),
        mean: ulps.iter().sum::<f64>() / count,
        rms: (ulps.iter().map(|x| x * x).sum::<f64>() / count).sqrt(),
    }
}

impl Errors {
    /// The largest error at each place of the last axis, with its sign; `None` where there is no number.
    pub fn along(&self) -> Vec<Option<f64>> {
        let mut most: Vec<Option<f64>> = vec![None; self.length];
        for error in &self.errors {
            let most = &mut most[error.along];
            if most.is_none_or(|most| error.ulps.abs() > most.abs()) {
                *most = Some(error.ulps);
            }
        }
        most
    }

    /// The worst element in words: where, both numbers in decimal and hexadecimal, and how far.
    pub fn worst(&self) -> Option<String> {
        let error = self.errors.iter().max_by(|a, b| a.ulps.abs().total_cmp(&b.ulps.abs()))?;
        let place = if self.report.shape.len() > 1 && self.report.elements > self.length {
            format!("row {}, {} {}", error.at / self.length, self.quantity.axis(), error.along)
        } else {
            format!("{} {}", self.quantity.axis(), error.along)
        };
        Some(format!(
            "{place}: {:e} = {}, exact {:e} = {}: {:+.3} ulp of {}",
            error.found,
            hex(error.found),
            error.exact,
            hex(error.exact),
            error.ulps,
            self.dtype
        ))
    }

    /// In one sentence, whether the results are the nearest numbers of their type.
    pub fn verdict(&self) -> String {
        let (all, nearest) = (self.errors.len(), self.rounding.nearest);
        let p = match self.rounding.uniform {
            Some(test) if all >= 5 => {
                format!("; uniform on half an ulp: D = {:.3}, p = {:.2}", test.distance, test.p_value)
            }
            _ => String::new(),
        };
        format!("{nearest} of {all} results are the nearest {}{p}", self.dtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contattn_core::{Monitor, Unattended, Upstream};
    use contattn_cpu::Plain;

    fn head(engine: &dyn Engine, quantity: Quantity) -> Errors {
        let state = State::default();
        let inputs = inputs(Scope::Head, &state, &Source::carried()).unwrap();
        errors(&inputs, quantity, engine, &Unattended).unwrap()
    }

    /// The reference rounds once: half an ulp at most, and spread as one rounding spreads.
    #[test]
    fn the_reference_rounds_once() {
        for quantity in Quantity::ALL {
            let errors = head(&Reference::new(), quantity);
            assert_eq!(errors.rounding.nearest, errors.errors.len(), "{quantity:?}");
        }
        let errors = head(&Reference::new(), Quantity::Output);
        assert!(errors.errors.len() > 1000);
        assert!(errors.rounding.uniform.unwrap().p_value > 1e-3 && errors.rounding.chi_square.unwrap() > 1e-3);
        assert!((errors.rounding.rms - 12f64.powf(-0.5)).abs() < 0.02);
    }

    #[test]
    fn arithmetic_in_f32_shows() {
        let errors = head(&Plain::<f32>::new(), Quantity::Output);
        assert!(errors.rounding.nearest < errors.errors.len());
        assert!(errors.rounding.uniform.unwrap().p_value < 1e-3);
        let worst = errors.along().into_iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
        assert!(worst > 0.5 && worst < 1000.0, "{worst}");
        assert!(errors.worst().unwrap().contains("0x1."), "{:?}", errors.worst());
        let report = errors.report.worst.as_ref().unwrap();
        assert!((report.ulps - worst).abs() < 1e-9, "the report and the list agree on the worst");
    }

    /// An engine that is one ulp off in one place, everywhere else the reference.
    struct OffByOne;

    impl Engine for OffByOne {
        fn name(&self) -> &str {
            "off by one"
        }
        fn arithmetic(&self) -> Dtype {
            Dtype::F64
        }
        fn supports(&self, feature: Feature) -> bool {
            Reference::new().supports(feature)
        }
        fn forward(
            &self,
            problem: &contattn_core::Problem<'_>,
            request: &Request,
            monitor: &dyn Monitor,
        ) -> Result<Output, contattn_core::EngineError> {
            let mut output = Reference::new().forward(problem, request, monitor)?;
            let mut numbers = output.o.to_f64();
            numbers[70] += unit_in_last_place(numbers[70], output.o.dtype());
            output.o = Tensor::from_f64(output.o.shape().to_vec(), output.o.dtype(), numbers).expect("the same shape");
            Ok(output)
        }
        fn backward(
            &self,
            problem: &contattn_core::Problem<'_>,
            upstream: &Upstream<'_>,
            saved: Option<&Output>,
            request: &Request,
            monitor: &dyn Monitor,
        ) -> Result<contattn_core::Gradient, contattn_core::EngineError> {
            Reference::new().backward(problem, upstream, saved, request, monitor)
        }
    }

    #[test]
    fn a_planted_error_is_found_where_it_is() {
        let errors = head(&OffByOne, Quantity::Output);
        assert_eq!(errors.errors.len() - errors.rounding.nearest, 1);
        let along = errors.along();
        let worst = (0..along.len()).max_by(|&a, &b| along[a].unwrap().abs().total_cmp(&along[b].unwrap().abs()));
        assert_eq!(worst, Some(70 % errors.length));
        assert_eq!(errors.report.worst.as_ref().unwrap().index, [0, 0, 70 / errors.length, 70 % errors.length]);
        assert_eq!(errors.rounding.chi_square, None);
    }
}
