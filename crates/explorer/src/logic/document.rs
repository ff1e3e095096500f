//! What undo goes back over, and what is kept between starts.

use crate::logic::state::State;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The shared inputs and each panel's own settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Document {
    /// the inputs
    pub state: State,
    /// settings by name of the panel
    pub panels: BTreeMap<String, serde_json::Value>,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// as the system has it
    #[default]
    System,
    /// dark on light
    Light,
    /// light on dark
    Dark,
}

/// A document and how it is shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// what is shown
    pub document: Document,
    /// how panels are docked
    pub layout: Option<egui_tiles::Tree<String>>,
    /// light or dark
    pub mode: Mode,
    /// size of everything, 1 being usual
    pub zoom: Option<f32>,
}
