//! The golden corpus: problems with correctly rounded results, as files that any language reads.
//!
//! A corpus is a folder with one `.safetensors` file for each case and a [`Manifest`] in `manifest.json`, which
//! `docs/schema/golden-manifest.schema.json` describes. `docs/golden.md` shows how to use it; `contattn golden write` makes it with
//! the verified reference. Reading and judging need neither the reference nor GMP.
//!
//! - [`cases()`]: what the corpus is made of, a function of nothing;
//! - [`Inputs`]: tensors and specification of a case, from its recipe or from its file;
//! - [`Corpus`]: a folder, opened;
//! - [`Expected::judge`]: results of an engine against a case, element by element;
//! - [`Corpus::try_kernels`]: kernels in f32 against all cases that they do not refuse;
//! - [`Tolerance`]: how far off a result may be, derived for each tensor in both ways that test suites use.
//!
//! ```
//! use contattn_check::golden::{Corpus, results};
//! use contattn_core::{Dtype, Engine, Request, Unattended};
//! use contattn_cpu::Plain;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");
//! let corpus = Corpus::open(folder)?;
//! let entry = corpus.entry("rounding-tie-step-f32")?;
//! let (inputs, expected) = corpus.load(entry)?;
//! let output = Plain::<f32>::new().forward(&inputs.problem.problem()?, &Request::default(), &Unattended)?;
//! for (name, actual) in results(&inputs, output, None)? {
//!     let verdict = expected[name].judge(&actual, Dtype::F32)?;
//!     assert!(verdict.passed(), "{name}: {verdict}");
//! }
//! # Ok(())
//! # }
//! ```

mod cases;
mod content;
mod corpus;
mod judge;
mod kernels;
mod manifest;
mod recipe;
mod tolerance;

pub use cases::cases;
pub use content::{Inputs, arguments, contents, results};
pub use corpus::{Corpus, GoldenError, MANIFEST};
pub use judge::{Expected, Verdict, Worst};
pub use kernels::KernelTrial;
pub use manifest::{
    Certificate, Certificates, Entry, GradientCertificate, Lengths, LowerEntry, Manifest, OutputEntry, SCHEMA,
    TimelineEntry, UnresolvedEntry, UpperEntry, WindowEntry,
};
pub use recipe::Recipe;
pub use tolerance::{Part, Tolerance, Tolerances};

/// Names of the results, as tensors of a case's file and as the command writes them.
pub const OUTPUTS: [&str; 8] = ["o", "lse", "weights", "bias", "dq", "dk", "dv", "ddurations"];
