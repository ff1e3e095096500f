//! Figures without a window system: heat maps of attention, drawn to PNG and SVG.
//!
//! A [`Figure`] has a size in pixels and draws itself with plotters; [`png()`] and [`svg()`] turn it into bytes, [`save`] into a
//! file whose name says which. The fonts are inside, so a picture looks the same on every machine.
//!
//! A [`ColorScale`] from low to high gives the number x the colour at t, kept within 0 and 1:
//!
//! ```text
//! linear, diverging   t = (x - low)/(high - low)        logarithmic   t = log(x/low) / log(high/low)
//! ```
//!
//! ```
//! use contattn_figure::{ColorScale, Group, Heatmap, Matrix, Sheet, png};
//!
//! let map = Heatmap::new(Matrix::new(2, 3, vec![0.1, 0.9, f64::NAN, 0.3, 0.3, 0.4])?).titled("head 0");
//! let sheet = Sheet {
//!     title: "weights".into(),
//!     caption: String::new(),
//!     rows: vec![vec![Group { label: "w".into(), scale: ColorScale::linear(0.0, 1.0), maps: vec![map] }]],
//! };
//! assert!(png(&sheet)?.starts_with(b"\x89PNG"));
//! # Ok::<(), contattn_figure::FigureError>(())
//! ```

mod canvas;
mod color;
mod heatmap;
mod sheet;
mod text;

pub use color::{Color, ColorScale, MASKED};
pub use heatmap::{Heatmap, Matrix};
pub use sheet::{Group, Sheet};

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend, IntoDrawingArea, SVGBackend};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// Fewer or more numbers than the shape asks for.
    #[error("a matrix of {rows} x {columns} does not hold {found} numbers")]
    Shape {
        /// rows asked for
        rows: usize,
        /// columns asked for
        columns: usize,
        /// numbers there are
        found: usize,
    },
    /// The figure would have more pixels than is sensible.
    #[error("a figure of {width} x {height} pixels is too large: at most {limit} in all")]
    TooLarge {
        /// pixels across
        width: u32,
        /// pixels down
        height: u32,
        /// most that are drawn
        limit: u64,
    },
    /// The drawing library failed.
    #[error("drawing failed: {0}")]
    Drawing(String),
    /// A name that does not say what to write.
    #[error("{}: expected a name that ends in .png or .svg", .0.display())]
    Format(PathBuf),
    /// The file could not be written.
    #[error("{}: {error}", path.display())]
    File {
        /// where
        path: PathBuf,
        /// why
        #[source]
        error: std::io::Error,
    },
}

/// Something that can be drawn.
pub trait Figure {
    /// Width and height in pixels.
    fn size(&self) -> (u32, u32);

    /// Draws on an area of that size, which is white.
    ///
    /// # Errors
    /// [`FigureError::Drawing`] where the back end fails.
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), FigureError>;
}

/// What a drawing back end reports.
pub(crate) fn drawing<E: std::fmt::Display>(error: E) -> FigureError {
    FigureError::Drawing(error.to_string())
}

const MOST_PIXELS: u64 = 100_000_000;

fn sized(figure: &impl Figure) -> Result<(u32, u32), FigureError> {
    let (width, height) = figure.size();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(FigureError::TooLarge { width, height, limit: MOST_PIXELS });
    }
    text::register();
    Ok((width, height))
}

/// The figure as a PNG file's bytes.
///
/// # Errors
/// [`FigureError::TooLarge`], [`FigureError::Drawing`].
pub fn png(figure: &impl Figure) -> Result<Vec<u8>, FigureError> {
    let (width, height) = sized(figure)?;
    let mut pixels = vec![255u8; width as usize * height as usize * 3];
    {
        let area = canvas::Canvas::new(&mut pixels, (width, height)).into_drawing_area();
        figure.draw(&area)?;
        area.present().map_err(drawing)?;
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(drawing)?;
    writer.write_image_data(&pixels).map_err(drawing)?;
    writer.finish().map_err(drawing)?;
    Ok(bytes)
}

/// The figure as SVG text.
///
/// # Errors
/// [`FigureError::TooLarge`], [`FigureError::Drawing`].
pub fn svg(figure: &impl Figure) -> Result<String, FigureError> {
    let size = sized(figure)?;
    let mut out = String::new();
    {
        let area = SVGBackend::with_string(&mut out, size).into_drawing_area();
        figure.draw(&area)?;
        area.present().map_err(drawing)?;
    }
    Ok(out)
}

/// Writes the figure as `.png` or `.svg`, aside first and then under its name, so that no half-written file is left.
///
/// # Errors
/// [`FigureError::Format`] for any other name, [`FigureError::File`], and as [`png()`].
pub fn save(figure: &impl Figure, path: &Path) -> Result<(), FigureError> {
    let bytes = match path.extension().and_then(|e| e.to_str()) {
        Some("png") => png(figure)?,
        Some("svg") => svg(figure)?.into_bytes(),
        _ => return Err(FigureError::Format(path.to_owned())),
    };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error| FigureError::File { path: path.to_owned(), error };
    let mut builder = tempfile::Builder::new();
    // Temporary files are private to their owner; a figure is as readable as any new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut aside = builder.tempfile_in(folder).map_err(failed)?;
    aside.write_all(&bytes).map_err(failed)?;
    aside.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}
