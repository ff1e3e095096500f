//! The window: panels, menus, and what holds them together.

pub mod chart;
pub mod explorer;
pub mod heatmap;
pub mod menu;
pub mod notices;
pub mod palette;
pub mod panel;
pub mod panels;
pub mod plot;
pub mod raster;
pub mod theme;
pub mod tiles;

pub use explorer::Explorer;
pub use panel::{Commands, Hover, Panel, Requests, Shared, View};
