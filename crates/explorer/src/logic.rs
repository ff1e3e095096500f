//! What the explorer computes and remembers; nothing here knows a window system.

pub mod command;
pub mod document;
pub mod engines;
pub mod export;
pub mod history;
pub mod inputs;
pub mod matrix;
pub mod operator;
pub mod precision;
pub mod preset;
pub mod proof;
pub mod share;
pub mod source;
pub mod speed;
pub mod state;
pub mod sweeps;
pub mod theorems;
pub mod worker;

use serde::Serialize;

/// A number that differs, for all practical purposes, where the value does: key of requests to the
/// [`Worker`](worker::Worker).
pub fn fingerprint(value: &impl Serialize) -> u64 {
    // FNV-1a over the JSON text, in which numbers keep their last bit.
    let text = serde_json::to_vec(value).unwrap_or_default();
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
