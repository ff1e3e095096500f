//! From results to files and to the summary on stdout.

mod plan;
mod summary;
mod write;

pub(crate) use plan::{Plan, Wanted};
pub(crate) use summary::Summary;

use contattn_core::Tensor;

/// A result under the name that it has in files and summaries.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) tensor: Tensor,
}
