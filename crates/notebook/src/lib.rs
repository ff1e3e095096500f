//! Prelude of the notebooks: everything that a cell needs, from one dependency.
//!
//! A notebook begins with
//!
//! ```text
//! :dep contattn-notebook = { path = "../crates/notebook" }
//! use contattn_notebook::prelude::*;
//! ```
//!
//! and has the crates of this project under their own names, and besides:
//!
//! - [`Table`] and [`Chart`], which the kernel shows where a cell ends with one, and [`Picture`] for any other figure;
//! - [`Measured`]: what differs from run to run, between the signs ‹ and ›. Everything else that a cell shows is the same from every
//!   run on every machine, and `make notebooks` compares it with what is stored;
//! - [`Curve`]: one query over nodes with given scores; [`attend`]: heads from tensors;
//! - [`grid`], [`sci`] and the like: places on axes, numbers as text; [`python`]: programs of another language;
//! - [`Verdict`](theorem::Verdict): a numbered equation of the derivation, run against the reference.
//!
//! Elementary functions in cells come from [`libm`], which has the same bits on every platform.
//!
//! ```
//! use contattn_notebook::prelude::*;
//!
//! let curve = Curve::uniform([0.0, 2.0, 1.0], [1.0, 2.0, 3.0]);
//! let row = curve.attend(&Reference::new(), Rule::Linear)?;
//! let mut table = Table::new("Weights of three nodes", ["node", "weight"]);
//! for (node, weight) in row.weights.iter().enumerate() {
//!     table.row([node.to_string(), format!("{weight:.6}")]);
//! }
//! assert!(table.to_string().contains("0.612252"), "{table}");
//! # Ok::<(), NotebookError>(())
//! ```

mod chart;
mod measured;
mod numbers;
mod picture;
mod problem;
mod program;
mod show;
mod table;
pub mod theorem;

pub use chart::Chart;
pub use measured::{Measured, shortest};
pub use numbers::{grid, log_grid, near, relative_error, sci};
pub use picture::Picture;
pub use problem::{Curve, NotebookError, Row, RowGradient, attend};
pub use program::{Transcript, python};
pub use table::Table;

pub use {contattn_check, contattn_core, contattn_cpu, contattn_figure, contattn_reference, libm};

/// What nearly every cell uses.
pub mod prelude {
    pub use crate::theorem::theorem;
    pub use crate::{
        Chart, Curve, Measured, NotebookError, Picture, Table, attend, grid, log_grid, near, python, relative_error,
        sci, shortest,
    };
    pub use crate::{contattn_check, contattn_core, contattn_cpu, contattn_figure, contattn_reference, libm};
    pub use contattn_core::{
        Dtype, Engine, Layout, Open, Problem, Request, Rule, Scale, Series, Sink, Spec, Tensor, TensorName, Timeline,
        Unattended, Window,
    };
    pub use contattn_cpu::{Plain, Tiled};
    pub use contattn_reference::{Enclosure, Reference};
}
