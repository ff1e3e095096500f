#![forbid(unsafe_code)]
//! Continuous attention in arbitrary precision.

pub mod enclosure;
pub mod exact;
pub mod phi;

pub use enclosure::Enclosure;
