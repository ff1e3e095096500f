//! What a file says about one of its tensors.

use super::array::ArrayDtype;
use std::fmt;

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

/// The element type of a tensor in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredDtype {
    /// one that an [`Array`](super::Array) holds
    Known(ArrayDtype),
    /// another one, as the file writes it
    Other(String),
}

impl fmt::Display for StoredDtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoredDtype::Known(dtype) => dtype.fmt(f),
            StoredDtype::Other(name) => f.write_str(name),
        }
    }
}
