//! Figures without a window system: heat maps of attention and charts, as PNG, SVG and CSV.
//!
//! A [`Figure`] is described by plain data and turns into a [`Picture`], a list of shapes; [`png()`] and [`svg()`] are written from
//! the same picture, [`csv()`] from the numbers behind it, and [`save`] writes a file whose name says which. The same description
//! gives the same bytes. The fonts are inside, so a picture looks the same on every machine.
//!
//! - [`Chart`]: lines, points, filled areas, bars, histograms, rules and notes over linear or logarithmic axes.
//! - [`Sheet`]: heat maps in groups that share a colour scale.
//! - [`Panels`]: figures in a grid on one sheet.
//!
//! A [`ColorScale`] from low to high gives the number x the colour at t, kept within 0 and 1:
//!
//! ```text
//! linear, diverging   t = (x - low)/(high - low)        logarithmic   t = log(x/low) / log(high/low)
//! ```
//!
//! ```
//! use contattn_figure::{Axis, Chart, ColorScale, Group, Heatmap, Layer, Matrix, Panels, Sheet, csv, png};
//!
//! let chart = Chart::new("weights of one row")
//!     .x(Axis::new("node"))
//!     .with(Layer::bars("continuous", [0.1, 0.7, 0.2]))
//!     .with(Layer::bars("softmax", [0.2, 0.6, 0.2]));
//! let map = Heatmap::new(Matrix::new(2, 3, vec![0.1, 0.9, f64::NAN, 0.3, 0.3, 0.4])?).titled("head 0");
//! let sheet = Sheet {
//!     title: "weights".into(),
//!     caption: String::new(),
//!     rows: vec![vec![Group { label: "w".into(), scale: ColorScale::linear(0.0, 1.0), maps: vec![map] }]],
//! };
//! let both = Panels::new("one row and its head", 2).with(chart).with(sheet);
//! assert!(png(&both)?.starts_with(b"\x89PNG"));
//! assert!(csv(&both)?.contains("weights of one row,softmax,bar,1.0,0.6"));
//! # Ok::<(), contattn_figure::FigureError>(())
//! ```

mod axis;
mod chart;
mod clip;
mod color;
mod heatmap;
mod histogram;
mod layer;
mod panels;
mod picture;
mod raster;
mod sheet;
mod svg;
mod table;
mod text;

pub use axis::{Axis, Scale};
pub use chart::{Chart, Field};
pub use color::{Color, ColorScale, MASKED, PALETTE};
pub use heatmap::{Heatmap, Matrix};
pub use histogram::Histogram;
pub use layer::{Data, Ink, Layer, Marker};
pub use panels::Panels;
pub use picture::{Anchor, Paint, Picture, Point, Shape};
pub use sheet::{Group, Sheet};
pub use table::{Row, csv, records};

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
    /// So few pixels to a unit that there are none, or no number.
    #[error("a scale of {0} leaves no picture")]
    Scale(f64),
    /// A file's format could not be written.
    #[error("encoding failed: {0}")]
    Encoding(String),
    /// A name that does not say what to write.
    #[error("{}: expected a name that ends in .png, .svg or .csv", .0.display())]
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
    /// Width and height in units; a unit is a pixel at scale 1.
    fn size(&self) -> (u32, u32);

    /// The shapes, on a picture of that size.
    fn picture(&self) -> Picture;

    /// The numbers behind it.
    fn rows(&self) -> Vec<Row>;
}

const MOST_PIXELS: u64 = 100_000_000;

/// Pixels to a unit where nothing else is asked: sharp in print and on fine screens.
pub const PIXELS: f64 = 2.0;

/// Width and height in pixels at a scale.
fn pixels(figure: &dyn Figure, scale: f64) -> Result<(u32, u32), FigureError> {
    let (width, height) = figure.size();
    let side = |units: u32| (f64::from(units) * scale).round();
    if !(side(width) >= 1.0 && side(height) >= 1.0) {
        return Err(FigureError::Scale(scale));
    }
    if side(width) * side(height) > MOST_PIXELS as f64 {
        let (width, height) = (side(width) as u32, side(height) as u32);
        return Err(FigureError::TooLarge { width, height, limit: MOST_PIXELS });
    }
    Ok((side(width) as u32, side(height) as u32))
}

/// The figure as a PNG file's bytes, with [`PIXELS`] pixels to a unit.
///
/// # Errors
/// [`FigureError::TooLarge`], [`FigureError::Encoding`].
pub fn png(figure: &dyn Figure) -> Result<Vec<u8>, FigureError> {
    png_at(figure, PIXELS)
}

/// The figure as a PNG file's bytes, with `scale` pixels to a unit.
///
/// # Errors
/// [`FigureError::Scale`], [`FigureError::TooLarge`], [`FigureError::Encoding`].
pub fn png_at(figure: &dyn Figure, scale: f64) -> Result<Vec<u8>, FigureError> {
    let (width, height) = pixels(figure, scale)?;
    encode(&raster::pixels(&figure.picture(), width, height, scale)?, width, height)
}

/// Red, green and blue of every pixel as a PNG file.
fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, FigureError> {
    let failed = |error: png::EncodingError| FigureError::Encoding(error.to_string());
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

/// The figure as SVG text.
///
/// # Errors
/// [`FigureError::TooLarge`] where even one pixel to a unit would be too many.
pub fn svg(figure: &dyn Figure) -> Result<String, FigureError> {
    pixels(figure, 1.0)?;
    Ok(svg::svg(&figure.picture()))
}

/// Writes the figure as `.png` or `.svg`, or the numbers behind it as `.csv`: aside first and then under its name, so that no
/// half-written file is left.
///
/// # Errors
/// [`FigureError::Format`] for any other name, [`FigureError::File`], and as [`png()`].
pub fn save(figure: &dyn Figure, path: &Path) -> Result<(), FigureError> {
    let bytes = match path.extension().and_then(|e| e.to_str()) {
        Some("png") => png(figure)?,
        Some("svg") => svg(figure)?.into_bytes(),
        Some("csv") => csv(figure)?.into_bytes(),
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
