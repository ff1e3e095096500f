//! A matrix as cells of colour that is panned and zoomed: tiles of texture, rebuilt only where something changed.

use crate::logic::matrix::{Map, STRIP, Strip};
use crate::ui::plot::short;
use crate::ui::theme::Theme;
use contattn_figure::ColorScale;
use eframe::egui::{self, Align2, Color32, FontId, Pos2, Rect, Sense, Stroke, pos2, vec2};
use std::collections::HashMap;
use std::sync::Arc;

/// Texels across of a tile.
const TILE: usize = 512;
/// Tiles that are coloured in one frame; the others follow.
const TILES_A_FRAME: usize = 4;
/// Frames without use after which a texture goes.
const FRAMES_KEPT: u64 = 120;
/// Steps of the colour scale.
const COLORS: usize = 1024;
/// Points of a cell, at most.
const LARGEST_CELL: f64 = 64.0;

/// Where one looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Look {
    /// column and row in the middle
    pub center: (f64, f64),
    /// points of a cell; 0 shows all
    pub cell: f64,
}

struct Tile {
    texture: egui::TextureHandle,
    strip: Arc<Strip>,
    colors: u64,
    used: u64,
}

/// The textures of a map.
#[derive(Default)]
pub struct Tiles {
    textures: HashMap<(u32, usize, usize), Tile>,
    frame: u64,
}

impl std::fmt::Debug for Tiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tiles", self.textures.len())
    }
}

// A clone of a view builds its own textures.
impl Clone for Tiles {
    fn clone(&self) -> Tiles {
        Tiles::default()
    }
}

/// Names of rows and columns, where they have some.
pub type Names<'a> = &'a dyn Fn(usize) -> Option<String>;

/// A map from numbers to colours, with a place on the colour bar for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    colors: ColorScale,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    Signed,
    /// logarithmic on both sides of 0, linear below the largest over [`DECADES`]
    SignedLog,
}

/// What a signed logarithmic scale spans.
const DECADES: f64 = 1e3;

impl Scale {
    /// For numbers of one sign.
    pub fn plain(colors: ColorScale) -> Scale {
        Scale { colors, kind: Kind::Plain }
    }

    /// For signed numbers up to this size: white at 0.
    pub fn signed(largest: f64, logarithmic: bool) -> Scale {
        Scale { colors: ColorScale::diverging(largest), kind: if logarithmic { Kind::SignedLog } else { Kind::Signed } }
    }

    /// The scale that exports use, which has no logarithm of signed numbers.
    pub fn for_export(&self) -> ColorScale {
        self.colors
    }

    /// Where a number lies on the bar, from 0 to 1; `None` for NaN and infinities.
    pub fn position(&self, x: f64) -> Option<f64> {
        match self.kind {
            Kind::SignedLog if x.is_finite() => {
                let u = (x / self.colors.range().1).clamp(-1.0, 1.0);
                Some(0.5 + 0.5 * u.signum() * (u.abs() * DECADES).ln_1p() / DECADES.ln_1p())
            }
            _ => self.colors.position(x),
        }
    }

    /// The number at a place of the bar.
    pub fn value(&self, t: f64) -> f64 {
        match self.kind {
            Kind::SignedLog => {
                let u = 2.0 * t - 1.0;
                self.colors.range().1 * u.signum() * (u.abs() * DECADES.ln_1p()).exp_m1() / DECADES
            }
            _ => self.colors.value(t),
        }
    }

    /// The colour at a place of the bar.
    fn color(&self, t: f64) -> Color32 {
        match self.kind {
            Kind::Plain => {
                let (r, g, b) = self.colors.color(self.colors.value(t));
                Color32::from_rgb(r, g, b)
            }
            Kind::Signed | Kind::SignedLog => {
                let u = 2.0 * t - 1.0;
                let (r, g, b) = ColorScale::diverging(1.0).color(u);
                // The scheme's middle is a light grey; towards 0 it becomes white without a step.
                let near = (1.0 - u.abs() / 0.15).max(0.0) as f32;
                let mix = |c: u8| (f32::from(c) + near * (255.0 - f32::from(c))).round() as u8;
                Color32::from_rgb(mix(r), mix(g), mix(b))
            }
        }
    }
}

/// What is drawn.
pub struct Heat<'a> {
    /// the numbers that there are
    pub map: &'a Map,
    /// rows and columns
    pub size: (usize, usize),
    /// their colours
    pub scale: Scale,
    /// fingerprint of the colours
    pub colors: u64,
    /// names of rows
    pub rows: Names<'a>,
    /// names of columns
    pub columns: Names<'a>,
    /// the cell that is locked
    pub locked: Option<(usize, usize)>,
    /// a column that another view marks
    pub marked_column: Option<usize>,
}

/// What the pointer did, and what is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// the cell under the pointer: row, column
    pub hovered: Option<(usize, usize)>,
    /// the cell that was clicked, or to which arrow keys moved
    pub chosen: Option<(usize, usize)>,
    /// level of detail
    pub level: u32,
    /// strips that are seen, from above
    pub first: usize,
    /// the one behind the last
    pub end: usize,
}

/// The colour of cells without a number.
pub fn masked(theme: &Theme) -> Color32 {
    if theme.dark { Color32::from_rgb(52, 54, 58) } else { Color32::from_rgb(225, 225, 222) }
}

/// The field between screen and matrix.
struct Field {
    rect: Rect,
    look: Look,
}

impl Field {
    fn x(&self, column: f64) -> f32 {
        self.rect.center().x + ((column - self.look.center.0) * self.look.cell) as f32
    }

    fn y(&self, row: f64) -> f32 {
        self.rect.center().y + ((row - self.look.center.1) * self.look.cell) as f32
    }

    fn place(&self, at: Pos2) -> (f64, f64) {
        let offset = at - self.rect.center();
        (
            self.look.center.0 + f64::from(offset.x) / self.look.cell,
            self.look.center.1 + f64::from(offset.y) / self.look.cell,
        )
    }

    fn cell(&self, at: Pos2, (rows, columns): (usize, usize)) -> Option<(usize, usize)> {
        let (x, y) = self.place(at);
        let inside = self.rect.contains(at) && x >= 0.0 && y >= 0.0 && x < columns as f64 && y < rows as f64;
        inside.then_some((y as usize, x as usize))
    }
}

/// The cell size at which all is seen.
fn fitting(rect: Rect, (rows, columns): (usize, usize)) -> f64 {
    let across = f64::from(rect.width()) / columns.max(1) as f64;
    let down = f64::from(rect.height()) / rows.max(1) as f64;
    across.min(down).clamp(1e-3, 32.0)
}

/// Draws the map in a rectangle, with labels and a colour bar.
pub fn heatmap(
    ui: &mut egui::Ui,
    outer: Rect,
    heat: &Heat<'_>,
    look: &mut Look,
    tiles: &mut Tiles,
    theme: &Theme,
) -> Seen {
    const LEFT: f32 = 74.0;
    const TOP: f32 = 62.0;
    const RIGHT: f32 = 92.0;
    let field = Rect::from_min_max(
        outer.min + vec2(LEFT.min(0.4 * outer.width()), TOP.min(0.4 * outer.height())),
        outer.max - vec2(RIGHT.min(0.4 * outer.width()), 6.0f32.min(0.1 * outer.height())),
    );
    if field.width() < 4.0 || field.height() < 4.0 {
        return Seen::default();
    }
    let response = ui.interact(field, ui.scope_id().with("map"), Sense::click_and_drag());
    let (rows, columns) = heat.size;
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Image, true, format!("Attention map, {rows} rows, {columns} columns"))
    });
    let fit = fitting(field, heat.size);
    let all = Look { center: (columns as f64 / 2.0, rows as f64 / 2.0), cell: fit };
    let mut here = Field { rect: field, look: if look.cell > 0.0 { *look } else { all } };
    navigate(ui, &response, &mut here, look, all, fit);
    let painter = ui.painter_at(field);
    painter.rect_filled(field, 0.0, theme.plot);
    let mut seen = draw(ui, &painter, heat, &here, tiles, theme);
    labels(ui.painter(), heat, &here, theme, outer);
    color_bar(ui.painter(), heat, theme, Rect::from_min_max(pos2(field.right() + 14.0, field.top()), outer.max));
    painter.rect_stroke(field, 0.0, Stroke::new(1.0, theme.faint), egui::StrokeKind::Inside);
    seen.hovered = response.hover_pos().and_then(|at| here.cell(at, heat.size));
    if response.clicked() {
        response.request_focus();
        seen.chosen = response.interact_pointer_pos().and_then(|at| here.cell(at, heat.size));
    }
    if response.has_focus() {
        seen.chosen = seen.chosen.or_else(|| arrows(ui, response.id, heat));
    }
    if let Some(column) = heat.marked_column.filter(|_| seen.hovered.is_none()) {
        cross(&painter, &here, None, Some(column), theme);
    }
    if let Some((row, column)) = heat.locked {
        cross(&painter, &here, Some(row), Some(column), theme);
        let cell = Rect::from_min_max(
            pos2(here.x(column as f64), here.y(row as f64)),
            pos2(here.x(column as f64 + 1.0), here.y(row as f64 + 1.0)),
        );
        painter.rect_stroke(cell.expand(1.0), 0.0, Stroke::new(2.0, theme.marked), egui::StrokeKind::Outside);
    }
    if let Some((row, column)) = seen.hovered {
        cross(&painter, &here, Some(row), Some(column), theme);
    }
    seen
}

/// Drag moves, the wheel zooms around the pointer, a double click shows all.
fn navigate(ui: &egui::Ui, response: &egui::Response, here: &mut Field, look: &mut Look, all: Look, fit: f64) {
    let mut moved = false;
    if response.dragged() {
        let delta = response.drag_delta();
        here.look.center.0 -= f64::from(delta.x) / here.look.cell;
        here.look.center.1 -= f64::from(delta.y) / here.look.cell;
        moved = delta != egui::Vec2::ZERO;
    }
    if let Some(pointer) = response.hover_pos() {
        let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta.y, input.zoom_delta()));
        let factor = f64::from(pinch) * f64::from(scroll / 240.0).exp2();
        if factor != 1.0 && factor.is_finite() {
            let before = here.place(pointer);
            here.look.cell = (here.look.cell * factor).clamp((0.5 * fit).min(LARGEST_CELL), LARGEST_CELL);
            let after = here.place(pointer);
            here.look.center.0 += before.0 - after.0;
            here.look.center.1 += before.1 - after.1;
            moved = true;
        }
    }
    // Never so far that nothing is seen.
    here.look.center.0 = here.look.center.0.clamp(0.0, 2.0 * all.center.0);
    here.look.center.1 = here.look.center.1.clamp(0.0, 2.0 * all.center.1);
    if response.double_clicked() {
        (*look, here.look) = (Look::default(), all);
    } else if moved {
        *look = here.look;
    }
}

/// Arrow keys move the locked cell.
fn arrows(ui: &egui::Ui, id: egui::Id, heat: &Heat<'_>) -> Option<(usize, usize)> {
    let filter = egui::EventFilter { vertical_arrows: true, horizontal_arrows: true, ..Default::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
    let (row, column) = heat.locked.unwrap_or((0, 0));
    let step = |key| ui.input(|input| input.num_presses(key));
    let (up, down) = (step(egui::Key::ArrowUp), step(egui::Key::ArrowDown));
    let (left, right) = (step(egui::Key::ArrowLeft), step(egui::Key::ArrowRight));
    if up + down + left + right == 0 {
        return None;
    }
    let to = |at: usize, less: usize, more: usize, count: usize| {
        (at + more).saturating_sub(less).min(count.saturating_sub(1))
    };
    Some((to(row, up, down, heat.size.0), to(column, left, right, heat.size.1)))
}

fn cross(painter: &egui::Painter, here: &Field, row: Option<usize>, column: Option<usize>, theme: &Theme) {
    let stroke = Stroke::new(1.0, theme.marked);
    if let Some(row) = row {
        painter.hline(here.rect.x_range(), here.y(row as f64 + 0.5), stroke);
    }
    if let Some(column) = column {
        painter.vline(here.x(column as f64 + 0.5), here.rect.y_range(), stroke);
    }
}

/// Draws the tiles that are seen; returns which those are.
fn draw(
    ui: &egui::Ui,
    painter: &egui::Painter,
    heat: &Heat<'_>,
    here: &Field,
    tiles: &mut Tiles,
    theme: &Theme,
) -> Seen {
    tiles.frame += 1;
    let (rows, columns) = heat.size;
    // A texel is at least a pixel.
    let pixels = here.look.cell * f64::from(ui.pixels_per_point());
    let level = (1.0 / pixels).log2().ceil().clamp(0.0, 12.0) as u32;
    let block = 1usize << level;
    let (x0, y0) = here.place(here.rect.min);
    let (x1, y1) = here.place(here.rect.max);
    let index = |x: f64, size: usize, most: usize| ((x.max(0.0) as usize) / size).min(most);
    let strips = rows.div_ceil(STRIP * block);
    let (first, end) = (index(y0, STRIP * block, strips), (index(y1, STRIP * block, strips) + 1).min(strips));
    let across = columns.div_ceil(TILE * block);
    let (left, right) = (index(x0, TILE * block, across), (index(x1, TILE * block, across) + 1).min(across));
    let table = colors(&heat.scale);
    let mut made = 0;
    let mut left_out = false;
    for strip_at in first..end {
        let Some(strip) = heat.map.strips.get(&(level, strip_at)) else {
            stand_in(painter, heat, here, tiles, (level, strip_at));
            continue;
        };
        for tile_at in left..right {
            let id = (level, strip_at, tile_at);
            let ready =
                tiles.textures.get(&id).is_some_and(|t| t.colors == heat.colors && Arc::ptr_eq(&t.strip, strip));
            if !ready {
                if made >= TILES_A_FRAME {
                    left_out = true;
                } else {
                    made += 1;
                    let image = paint(strip, tile_at, &heat.scale, &table, masked(theme));
                    let texture = ui.ctx().load_texture("map tile", image, egui::TextureOptions::NEAREST);
                    let tile = Tile { texture, strip: strip.clone(), colors: heat.colors, used: 0 };
                    tiles.textures.insert(id, tile);
                }
            }
            if let Some(tile) = tiles.textures.get_mut(&id) {
                tile.used = tiles.frame;
                place_tile(painter, here, tile, id);
            }
        }
    }
    let oldest = tiles.frame.saturating_sub(FRAMES_KEPT);
    tiles.textures.retain(|_, tile| tile.used >= oldest);
    if left_out {
        ui.ctx().request_repaint();
    }
    Seen { level, first, end, ..Seen::default() }
}

fn place_tile(painter: &egui::Painter, here: &Field, tile: &Tile, (level, strip_at, tile_at): (u32, usize, usize)) {
    let block = 1usize << level;
    let [width, height] = tile.texture.size();
    let (left, top) = (tile_at * TILE * block, strip_at * STRIP * block);
    let corner = |column: usize, row: usize| pos2(here.x(column as f64), here.y(row as f64));
    // The last texels may reach past the matrix.
    let rect = Rect::from_min_max(corner(left, top), corner(left + width * block, top + height * block));
    let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    painter.image(tile.texture.id(), rect, whole, Color32::WHITE);
}

/// Where a strip is still to come, tiles of other levels that are there already.
fn stand_in(
    painter: &egui::Painter,
    heat: &Heat<'_>,
    here: &Field,
    tiles: &mut Tiles,
    (level, strip_at): (u32, usize),
) {
    let rows = |level: u32, at: usize| (at * (STRIP << level), (at + 1) * (STRIP << level));
    let (from, to) = rows(level, strip_at);
    let clip = Rect::from_min_max(
        pos2(here.rect.left(), here.y(from as f64)),
        pos2(here.rect.right(), here.y(to.min(heat.size.0) as f64)),
    );
    let painter = painter.with_clip_rect(clip.intersect(painter.clip_rect()));
    let mut others: Vec<_> = tiles
        .textures
        .iter()
        .filter(|((other, at, _), tile)| {
            let (a, b) = rows(*other, *at);
            *other != level && a < to && b > from && tile.colors == heat.colors
        })
        .map(|(id, _)| *id)
        .collect();
    // The coarsest below, finer ones over it.
    others.sort_by_key(|(other, ..)| std::cmp::Reverse(*other));
    for id in others {
        if let Some(tile) = tiles.textures.get_mut(&id) {
            tile.used = tiles.frame;
            place_tile(&painter, here, tile, id);
        }
    }
}

/// The colours of a scale in steps.
fn colors(scale: &Scale) -> Vec<Color32> {
    (0..=COLORS).map(|i| scale.color(i as f64 / COLORS as f64)).collect()
}

fn paint(strip: &Strip, tile_at: usize, scale: &Scale, table: &[Color32], masked: Color32) -> egui::ColorImage {
    let left = tile_at * TILE;
    let width = TILE.min(strip.columns - left);
    let height = strip.texels.len() / strip.columns;
    let mut pixels = Vec::with_capacity(width * height);
    for row in strip.texels.chunks(strip.columns) {
        for &x in &row[left..left + width] {
            let color = scale.position(f64::from(x)).map_or(masked, |t| table[(t * COLORS as f64).round() as usize]);
            pixels.push(color);
        }
    }
    egui::ColorImage::new([width, height], pixels)
}

/// Names or numbers of rows and columns, as many as fit.
fn labels(painter: &egui::Painter, heat: &Heat<'_>, here: &Field, theme: &Theme, outer: Rect) {
    let font = FontId::proportional(11.0);
    let (x0, y0) = here.place(here.rect.min);
    let (x1, y1) = here.place(here.rect.max);
    let step = |room: f32| ((f64::from(room) / here.look.cell).ceil().max(1.0)) as usize;
    let round = |step: usize| {
        let power = 10usize.pow((step as f64).log10().floor().max(0.0) as u32);
        [1, 2, 5, 10].map(|m| m * power).into_iter().find(|s| *s >= step).unwrap_or(step)
    };
    let range = |from: f64, to: f64, count: usize| (from.max(0.0) as usize)..(to.ceil().max(0.0) as usize).min(count);
    let down = round(step(13.0));
    for row in range(y0, y1, heat.size.0).filter(|row| row.is_multiple_of(down)) {
        let text = (heat.rows)(row).unwrap_or_else(|| row.to_string());
        let y = here.y(row as f64 + 0.5);
        if here.rect.y_range().contains(y) {
            let painter = painter.with_clip_rect(Rect::from_min_max(outer.min, pos2(here.rect.left(), outer.max.y)));
            painter.text(pos2(here.rect.left() - 5.0, y), Align2::RIGHT_CENTER, text, font.clone(), theme.ink);
        }
    }
    let has_names = (heat.columns)(1).is_some();
    let across = round(step(if has_names { 13.0 } else { 44.0 }));
    for column in range(x0, x1, heat.size.1).filter(|column| column.is_multiple_of(across)) {
        let x = here.x(column as f64 + 0.5);
        if !here.rect.x_range().contains(x) {
            continue;
        }
        let text = (heat.columns)(column).unwrap_or_else(|| column.to_string());
        if has_names {
            let galley = painter.layout_no_wrap(text, font.clone(), theme.ink);
            let at = pos2(x - galley.size().y / 2.0, here.rect.top() - 5.0);
            let shape = egui::epaint::TextShape::new(at, galley, theme.ink).with_angle(-std::f32::consts::FRAC_PI_2);
            painter.add(shape);
        } else {
            painter.text(pos2(x, here.rect.top() - 5.0), Align2::CENTER_BOTTOM, text, font.clone(), theme.ink);
        }
    }
    painter.text(outer.min + vec2(2.0, 2.0), Align2::LEFT_TOP, "query \\ key", FontId::proportional(11.0), theme.ink);
}

/// The scale with its real range.
fn color_bar(painter: &egui::Painter, heat: &Heat<'_>, theme: &Theme, rect: Rect) {
    let bar = Rect::from_min_size(rect.min, vec2(16.0, (rect.height() - 40.0).clamp(10.0, 320.0)));
    let steps = 64;
    for i in 0..steps {
        let color = heat.scale.color(1.0 - (f64::from(i) + 0.5) / f64::from(steps));
        let top = bar.top() + bar.height() * i as f32 / steps as f32;
        let slice = Rect::from_min_size(pos2(bar.left(), top), vec2(bar.width(), bar.height() / steps as f32 + 0.6));
        painter.rect_filled(slice, 0.0, color);
    }
    painter.rect_stroke(bar, 0.0, Stroke::new(1.0, theme.faint), egui::StrokeKind::Outside);
    let font = FontId::proportional(11.0);
    for i in 0..=4 {
        let t = f64::from(i) / 4.0;
        let y = bar.bottom() - (t * f64::from(bar.height())) as f32;
        painter.hline(bar.right()..=bar.right() + 3.0, y, Stroke::new(1.0, theme.ink));
        painter.text(
            pos2(bar.right() + 6.0, y),
            Align2::LEFT_CENTER,
            short(heat.scale.value(t)),
            font.clone(),
            theme.ink,
        );
    }
    let swatch = Rect::from_min_size(pos2(bar.left(), bar.bottom() + 12.0), vec2(16.0, 12.0));
    painter.rect(swatch, 0.0, masked(theme), Stroke::new(1.0, theme.faint), egui::StrokeKind::Outside);
    painter.text(swatch.right_center() + vec2(6.0, 0.0), Align2::LEFT_CENTER, "not visible", font, theme.ink);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_numbers_are_inverse_and_zero_is_white() {
        for scale in [
            Scale::signed(0.4, true),
            Scale::signed(0.4, false),
            Scale::plain(ColorScale::linear(0.0, 2.0)),
            Scale::plain(ColorScale::logarithmic(1e-6, 1.0)),
        ] {
            for t in [0.0, 0.2, 0.5, 0.77, 1.0] {
                let back = scale.position(scale.value(t)).unwrap();
                assert!((back - t).abs() < 1e-9, "{scale:?} {t} {back}");
            }
            assert_eq!(scale.position(f64::NAN), None);
        }
        for logarithmic in [true, false] {
            let scale = Scale::signed(3.0, logarithmic);
            assert_eq!(scale.color(scale.position(0.0).unwrap()), Color32::WHITE);
            let (low, high) = (scale.color(0.1), scale.color(0.9));
            assert!(low.b() > low.r() && high.r() > high.b());
            // Colours change step by step.
            for i in 0..COLORS {
                let (a, b) = (scale.color(i as f64 / COLORS as f64), scale.color((i + 1) as f64 / COLORS as f64));
                assert!(a.r().abs_diff(b.r()) <= 4 && a.g().abs_diff(b.g()) <= 4 && a.b().abs_diff(b.b()) <= 4, "{i}");
            }
        }
    }
}
