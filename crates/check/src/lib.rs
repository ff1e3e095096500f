//! Checks for engines of continuous attention, for the engines here and for anybody's.
//!
//! - [`suite`]: the one suite that every engine runs: [`suite::run`] takes anything that implements
//!   [`Engine`](contattn_core::Engine);
//! - [`oracle`]: the exact results of a problem, by quadrature of the integrals that define them;
//! - [`allowance`]: the one table of how far rounding may carry a result from them;
//! - [`report`]: comparison of two tensors, as text and as data;
//! - [`generate`]: score differences and whole problems for property tests;
//! - [`statistics`]: what a sample of errors proves;
//! - [`wrong`]: engines with one mistake each, to see that the suite catches it.
//!
//! Terms are those of `contattn_core`: node, segment, rule, window, sink, L and R of a segment, P, Z, w, o, lse, b. A *bound*
//! is an exact value with what is allowed around it; a *strand* is a segment, a part of one, or a piece of constant curve.
//!
//! # What is checked
//!
//! Whatever an engine computes has to be these numbers, within a bound on the rounding errors of any sensible way to add them up:
//!
//! ```text
//!        ∫ e^a(s) v(s) ds                                       ∫ e^a(s) N_i(s) ds
//! o  =  ──────────────────     lse = log ∫ e^a(s) ds     w_i = ────────────────────     b_i = log ∫ e^a(s) N_i(s) ds - a_i
//!          ∫ e^a(s) ds                                             ∫ e^a(s) ds
//! ```
//!
//! over the window of each query, a(s) = scale (q · k(s)) the score curve and N_i the hat function of node i; and the derivatives
//! of g · o + g_lse lse by q, k, v and the durations.
//!
//! # An engine from outside
//!
//! Ordinary softmax attention is the Step rule on the unit time line. This engine knows nothing else, says so, and passes:
//!
//! ```
//! use contattn_check::suite::{self, Outcome};
//! use contattn_core::{
//!     Dtype, Engine, EngineError, Feature, Gradient, Monitor, Output, Problem, Request, Rule, Tensor, Upstream,
//! };
//!
//! struct Softmax;
//!
//! impl Engine for Softmax {
//!     fn name(&self) -> &str {
//!         "softmax"
//!     }
//!     fn arithmetic(&self) -> Dtype {
//!         Dtype::F64
//!     }
//!     fn supports(&self, feature: Feature) -> bool {
//!         matches!(feature, Feature::Rule(Rule::Step) | Feature::Input(_) | Feature::Results(_) | Feature::Sink(_))
//!     }
//!     fn forward(&self, problem: &Problem<'_>, request: &Request, monitor: &dyn Monitor) -> Result<Output, EngineError> {
//!         self.check(problem, request)?;
//!         let s = problem.shape();
//!         let (mut o, mut lse) = (Vec::new(), Vec::new());
//!         for (b, h, r) in (0..s.batch).flat_map(|b| (0..s.heads).flat_map(move |h| (0..s.queries).map(move |r| (b, h, r)))) {
//!             if monitor.is_cancelled() {
//!                 return Err(EngineError::Cancelled);
//!             }
//!             // The row sits at node n - n_q + 1 + r and sees tokens up to there, or all of them.
//!             let own = (s.keys + 1 + r).saturating_sub(s.queries);
//!             let seen = 0..if problem.spec().window.is_causal() { own } else { s.keys };
//!             let dot = |i: usize| -> f64 {
//!                 (0..s.head_dim).map(|c| problem.q().get(b, h, r, c) * problem.k().get(b, s.kv_head(h), i, c)).sum()
//!             };
//!             let poisoned = !seen.is_empty()
//!                 && (0..s.head_dim).any(|c| {
//!                     let q = problem.q().get(b, h, r, c);
//!                     !q.is_finite() || seen.clone().any(|i| !problem.k().get(b, s.kv_head(h), i, c).is_finite())
//!                 });
//!             // Finite inputs never give NaN: what overflows is held at the largest number.
//!             let held = |a: f64| if a.is_nan() { 0.0 } else { a.clamp(-f64::MAX, f64::MAX) };
//!             let scores: Vec<f64> = seen.clone().map(|i| held(problem.scale() * dot(i))).collect();
//!             let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
//!             let weights: Vec<f64> = scores.iter().map(|a| (a - max).exp()).collect();
//!             let sum: f64 = weights.iter().sum();
//!             for c in 0..s.value_dim {
//!                 let v = |i: usize| problem.v().get(b, s.kv_head(h), i, c);
//!                 let mean = |o: f64, i: usize| o + weights[i] / sum * if v(i).is_finite() { v(i) } else { f64::NAN };
//!                 o.push(if poisoned { f64::NAN } else { seen.clone().fold(0.0, mean) });
//!             }
//!             lse.push(if poisoned { f64::NAN } else { max + sum.ln() });
//!         }
//!         let dtype = request.dtype(problem);
//!         let tensor = |shape: Vec<usize>, dtype, values| Tensor::from_f64(shape, dtype, values).expect("sizes agree");
//!         Ok(Output {
//!             o: tensor(vec![s.batch, s.heads, s.queries, s.value_dim], dtype, o),
//!             lse: tensor(vec![s.batch, s.heads, s.queries], dtype.lse(), lse),
//!             weights: None,
//!             bias: None,
//!         })
//!     }
//!     fn backward(
//!         &self,
//!         _: &Problem<'_>,
//!         _: &Upstream<'_>,
//!         _: Option<&Output>,
//!         _: &Request,
//!         _: &dyn Monitor,
//!     ) -> Result<Gradient, EngineError> {
//!         Err(EngineError::Unsupported { engine: self.name().to_owned(), feature: Feature::Backward })
//!     }
//! }
//!
//! let report = suite::run(&Softmax);
//! assert!(report.passed(), "{report}");
//! let passed = report.results.iter().filter(|check| check.outcome == Outcome::Passed).count();
//! assert!(passed > 20, "{report}");
//! ```

pub mod allowance;
pub mod generate;
pub mod golden;
pub mod oracle;
pub mod report;
pub mod statistics;
pub mod suite;
pub mod wrong;
