//! The order of axes, and how many of them: what is read, and the way back for results.

use clap::ValueEnum;
use contattn_core::{Layout, ProblemError, Tensor, TensorName};

/// Order of the axes, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutArg {
    /// (batch, heads, sequence, width)
    Bhsd,
    /// (batch, sequence, heads, width)
    Bshd,
}

impl LayoutArg {
    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            LayoutArg::Bhsd => "bhsd",
            LayoutArg::Bshd => "bshd",
        }
    }

    /// The other one.
    pub(crate) const fn other(self) -> LayoutArg {
        match self {
            LayoutArg::Bhsd => LayoutArg::Bshd,
            LayoutArg::Bshd => LayoutArg::Bhsd,
        }
    }

    /// A result of shape (batch, heads, sequence, width) as it is stored: in this layout, with `rank` axes.
    ///
    /// # Errors
    /// None for a result whose input had `rank` axes: the axes that fall away have length 1.
    pub(crate) fn store(self, result: Tensor, rank: usize) -> Result<Tensor, ProblemError> {
        let result = match self {
            LayoutArg::Bhsd => result,
            LayoutArg::Bshd => result.view(TensorName::Query, Layout::Bhsd)?.swap_heads_and_sequence().to_tensor(),
        };
        let [b, x, y, d] = *result.shape() else { return Ok(result) };
        let shape = match rank {
            2 => vec![x * y, d],
            3 => vec![x, y, d],
            _ => vec![b, x, y, d],
        };
        Tensor::new(shape, result.into_parts().1)
    }
}

impl From<LayoutArg> for Layout {
    fn from(layout: LayoutArg) -> Layout {
        match layout {
            LayoutArg::Bhsd => Layout::Bhsd,
            LayoutArg::Bshd => Layout::Bshd,
        }
    }
}

/// A result without a width or with one column for each node, (batch, heads, queries, ...), for an input of `rank` axes: the
/// layout does not concern it.
///
/// # Errors
/// As [`LayoutArg::store`].
pub(crate) fn store_rows(result: Tensor, rank: usize) -> Result<Tensor, ProblemError> {
    let dropped = 4usize.saturating_sub(rank);
    let (shape, elements) = result.into_parts();
    Tensor::new(shape[dropped.min(shape.len())..].to_vec(), elements)
}
