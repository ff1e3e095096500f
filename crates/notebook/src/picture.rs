//! Any figure as the result of a cell.

use crate::problem::NotebookError;
use crate::show;
use contattn_figure::Figure;

/// A drawn figure with the words that stand for it where pictures are not shown.
///
/// ```
/// use contattn_notebook::{Picture, contattn_figure::{ColorScale, Group, Heatmap, Matrix, Sheet}};
/// let map = Heatmap::new(Matrix::new(1, 2, vec![0.25, 0.75])?);
/// let group = Group { label: "w".into(), scale: ColorScale::linear(0.0, 1.0), maps: vec![map] };
/// let sheet = Sheet { title: "Weights".into(), caption: "of one row".into(), rows: vec![vec![group]] };
/// assert!(Picture::of(&sheet, "Weights of one row")?.png().starts_with(b"\x89PNG"));
/// # Ok::<(), contattn_notebook::NotebookError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    png: Vec<u8>,
    words: String,
}

impl Picture {
    /// Draws it.
    ///
    /// # Errors
    /// A figure that is too large; what the drawing library reports.
    pub fn of(figure: &impl Figure, words: impl Into<String>) -> Result<Picture, NotebookError> {
        Ok(Picture { png: contattn_figure::png(figure)?, words: words.into() })
    }

    /// The file's bytes.
    pub fn png(&self) -> &[u8] {
        &self.png
    }

    /// Shows it as the result of a cell; evcxr calls this.
    pub fn evcxr_display(&self) {
        show::picture(&self.png, &self.words);
    }
}
