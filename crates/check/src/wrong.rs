//! Deliberately wrong engines, and the right one that they are made from.
//!
//! A suite is worth what it catches. [`Textbook`] evaluates the operator in `f64` straight from its formulas; each
//! [`Mistake`] spoils one line of it in a way that has been seen in the wild, and names the check that must fail for it.

mod backward;
mod engine;
mod mistake;
mod row;
mod segment;

pub use engine::Textbook;
pub use mistake::Mistake;
