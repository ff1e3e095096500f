//! How panels are docked.

use crate::ui::panel::{Commands, Panel, Shared};
use eframe::egui;
use egui_tiles::{Container, Linear, LinearDir, Tile, TileId, Tiles, Tree};

/// The tree of panels, by name.
pub type Layout = Tree<String>;

/// What egui calls the tree.
pub fn id() -> egui::Id {
    egui::Id::unique("explorer")
}

/// Every panel a tab of one group.
pub fn first_layout(names: &[&'static str]) -> Layout {
    let mut tiles = Tiles::default();
    let panes: Vec<TileId> = names.iter().map(|name| tiles.insert_pane((*name).to_owned())).collect();
    let root = tiles.insert_tab_tile(panes);
    Tree::new(id(), root, tiles)
}

/// Makes a layout that came from outside one of these panels, each exactly once; `None` where nothing of it is left.
pub fn repaired(mut layout: Layout, names: &[&'static str]) -> Option<Layout> {
    let root = layout.root()?;
    // Only what hangs below the root, each tile once: a loop or a shared child would be drawn for ever.
    let mut seen = std::collections::HashSet::new();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if !seen.insert(id) || seen.len() > 1000 {
            return None;
        }
        match layout.tiles.get(id)? {
            Tile::Pane(_) => {}
            Tile::Container(container) => stack.extend(container.children().copied()),
        }
    }
    let mut there = std::collections::HashSet::new();
    let ids: Vec<TileId> = layout.tiles.tile_ids().collect();
    for id in ids {
        let keep = match layout.tiles.get(id) {
            Some(Tile::Pane(name)) => {
                names.contains(&name.as_str()) && seen.contains(&id) && there.insert(name.clone())
            }
            _ => seen.contains(&id),
        };
        if !keep {
            layout.tiles.remove(id);
        }
    }
    let missing: Vec<TileId> = names
        .iter()
        .filter(|name| !there.contains(**name))
        .map(|name| layout.tiles.insert_pane((*name).to_owned()))
        .collect();
    if there.is_empty() {
        return None;
    }
    if !missing.is_empty() {
        // Panels that the layout does not know go to the first group of tabs, or beside everything.
        let tabs =
            seen.iter().copied().find(|&id| matches!(layout.tiles.get(id), Some(Tile::Container(Container::Tabs(_)))));
        if let Some(Tile::Container(container)) = tabs.and_then(|id| layout.tiles.get_mut(id)) {
            missing.into_iter().for_each(|id| container.add_child(id));
        } else {
            let tabs = layout.tiles.insert_tab_tile(missing);
            let both = Container::Linear(Linear::new(LinearDir::Horizontal, vec![root, tabs]));
            layout.root = Some(layout.tiles.insert_container(both));
        }
    }
    Some(layout)
}

/// What the tree asks while it is drawn.
pub struct Dock<'a> {
    /// all panels
    pub panels: &'a mut [Box<dyn Panel>],
    /// what they read
    pub shared: Shared<'a>,
    /// what they send
    pub commands: &'a mut Commands,
    /// names of those that were drawn
    pub shown: &'a mut Vec<String>,
}

impl egui_tiles::Behavior<String> for Dock<'_> {
    fn pane_ui(&mut self, ui: &mut egui::Ui, _: TileId, name: &mut String) -> egui_tiles::UiResponse {
        if let Some(panel) = self.panels.iter_mut().find(|panel| panel.name() == name) {
            let fill = ui.visuals().panel_fill;
            egui::Frame::NONE.fill(fill).inner_margin(8.0).show(ui, |ui| panel.ui(ui, &self.shared, self.commands));
            self.shown.push(name.clone());
        }
        egui_tiles::UiResponse::None
    }

    fn tab_title_for_pane(&mut self, name: &String) -> egui::WidgetText {
        name.as_str().into()
    }

    fn on_tab_button(&mut self, tiles: &mut Tiles<String>, tile: TileId, response: egui::Response) -> egui::Response {
        let hint = tiles.get_pane(&tile).and_then(|name| self.panels.iter().find(|panel| panel.name() == name));
        match hint {
            Some(panel) => response.on_hover_text(format!("{}. Drag the tab to dock it elsewhere.", panel.hint())),
            None => response,
        }
    }

    fn tab_bar_height(&self, _: &egui::Style) -> f32 {
        26.0
    }

    fn simplification_options(&self) -> egui_tiles::SimplificationOptions {
        egui_tiles::SimplificationOptions { all_panes_must_have_tabs: true, ..Default::default() }
    }
}
