#![forbid(unsafe_code)]
//! Continuous attention in arbitrary precision.

pub mod enclosure;
pub mod phi;

pub use enclosure::Enclosure;
