//! Checks for engines of continuous attention.

pub mod allowance;
pub mod generate;
pub mod golden;
pub mod oracle;
pub mod report;
pub mod statistics;
