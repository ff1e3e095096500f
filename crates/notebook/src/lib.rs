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
//! - [`Curve`]: one query over nodes with given scores; [`attend`]: heads from tensors; [`Heads`]: those of a real model, whose
//!   tokens last and move, and a [`Sweep`] over them;
//! - [`grid`], [`sci`], [`simpson`] and the like: places on axes, numbers as text, integrals by a rule that knows no phi function;
//!   [`python`]: programs of another language;
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
mod heads;
mod measured;
mod numbers;
mod picture;
mod problem;
mod program;
mod show;
mod table;
pub mod theorem;

pub use chart::Chart;
pub use heads::{Heads, Sweep, relative_change, row_changes, score_steps, tokens};
pub use measured::{Measured, shortest, shortest_in_turn};
pub use numbers::{grid, log_grid, near, order, relative_error, sci, simpson};
pub use picture::Picture;
pub use problem::{Curve, NotebookError, Row, RowGradient, attend};
pub use program::{Transcript, python};
pub use table::Table;

pub use {contattn_check, contattn_core, contattn_cpu, contattn_figure, contattn_reference, libm};

/// What nearly every cell uses.
pub mod prelude {
    pub use crate::theorem::theorem;
    pub use crate::{
        Chart, Curve, Heads, Measured, NotebookError, Picture, Sweep, Table, attend, grid, log_grid, near, order,
        python, relative_change, relative_error, row_changes, sci, score_steps, shortest, shortest_in_turn, simpson,
        tokens,
    };
    pub use crate::{contattn_check, contattn_core, contattn_cpu, contattn_figure, contattn_reference, libm};
    pub use contattn_core::{
        Dtype, Engine, Layout, Open, Problem, Request, Rule, Scale, Series, Sink, Spec, Tensor, TensorName, Timeline,
        Unattended, Window,
    };
    pub use contattn_cpu::{Plain, Tiled};
    pub use contattn_reference::{Enclosure, Reference};
}
