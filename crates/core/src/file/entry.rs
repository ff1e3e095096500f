//! What a file says about one of its tensors.

use super::dtype::StoredDtype;

/// A tensor of a file, as [`list`](super::list) shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// its name; none in a `.npy` file
    pub name: Option<String>,
    /// its element type
    pub dtype: StoredDtype,
    /// length of each axis
    pub shape: Vec<usize>,
}
