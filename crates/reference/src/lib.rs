//! Continuous attention in arbitrary precision: every number with a proof of how far off it can be, and correctly rounded
//! results.
//!
//! ```text
//!        ∫ e^a(s) v(s) ds         Σ e^(a_i + b_i) v_i
//! o  =  ──────────────────   =   ─────────────────────        b_i = log(φ2(a_(i-1) - a_i) + φ2(a_(i+1) - a_i))
//!          ∫ e^a(s) ds              Σ e^(a_i + b_i)
//! ```
//!
//! for the unit time line, the last by eqs (10) and (11) of the derivation. Correct rounding always ends: inputs are rational, so a
//! result compared with a border c between two numbers is the sign of a sum Σ γ_j e^(α_j) with algebraic γ_j and distinct algebraic
//! α_j, which is 0 where all γ_j are and nowhere else (Lindemann and Weierstrass); `docs/rounding.md` has the proof.
//!
//! # Words
//!
//! Those of `contattn_core` (node, segment, rule, window, sink, row), and:
//!
//! | word | meaning |
//! |---|---|
//! | enclosure | an interval with MPFR bounds, rounded outwards, that contains the exact number |
//! | row | one query with all that it sees: exact scores, times and cut fractions |
//! | piece, part | a segment, or what of one lies in the window: the fractions alpha to beta of it; or a piece of held curve |
//! | term | a piece with the scores at its ends |
//! | route | a way from a row to its integrals; three of them share no formula |
//! | anchor | the score that exponentials are measured from; the largest one, so that none overflows |
//! | gift | what a term adds to P_j of a node |
//! | field | the curve F whose integral int e^a F is differentiated for a gradient, by its values at the nodes |
//! | surd | a number p + q sqrt m with rational p and q: what scores, and coefficients of exponentials, are |
//! | settled | decided to be the nearest number of the type asked for; see docs/rounding.md |
//!
//! # Where things are
//!
//! - [`enclosure`] and [`phi`]: intervals, and the functions of a segment on them;
//! - [`exact`]: inputs as rationals and surds, windows resolved by exact comparisons;
//! - [`segments`], [`nodes`], [`quadrature`]: the three [`Route`]s; [`route`] has what is asked of them;
//! - [`rounding`]: correct rounding that always ends; [`gradient`]: gradients as enclosures, rounded where those tell;
//! - [`engine`]: the [`Reference`] engine. Most of its results are settled by a first stage in double-double arithmetic with a
//!   proven bound, which changes no bit;
//! - [`taylor`]: the expansion of the bias, its remainder proven;
//! - [`theorems`]: the derivation as theorems that run.
//!
//! # Example
//!
//! Softmax of scores 0 and 1 over values 0 and 1: the nearest `f64` to e/(1 + e).
//!
//! ```
//! use contattn_core::{Dtype, Engine, Layout, Problem, Request, Rule, Scale, Sink, Spec, Tensor, TensorName, Unattended, Window};
//! use contattn_reference::Reference;
//!
//! let q = Tensor::from_f64(vec![1, 1], Dtype::F64, [1.0])?;
//! let kv = Tensor::from_f64(vec![2, 1], Dtype::F64, [0.0, 1.0])?;
//! let spec = Spec { rule: Rule::Step, window: Window::full(), scale: Scale::Value(1.0), ..Spec::default() };
//! let view = |t, name| Tensor::view(t, name, Layout::Bhsd);
//! let (q, k, v) = (view(&q, TensorName::Query)?, view(&kv, TensorName::Key)?, view(&kv, TensorName::Value)?);
//! let problem = Problem::new(q, k, v, Sink::Absent, spec)?;
//! let output = Reference::new().forward(&problem, &Request::default(), &Unattended)?;
//! assert_eq!(output.o.to_f64(), [0.7310585786300049]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod decimal;
mod doubled;
pub mod enclosure;
pub mod engine;
pub mod exact;
pub mod gradient;
pub mod nodes;
pub mod phi;
pub mod quadrature;
pub mod rounding;
pub mod route;
pub mod segments;
pub mod taylor;
pub mod theorems;
pub mod value;

pub use enclosure::Enclosure;
pub use engine::{Certificate, Reference};
pub use exact::ExactProblem;
pub use route::Route;
pub use value::{Certified, RowGradient, RowValues};
