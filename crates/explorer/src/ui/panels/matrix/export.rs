//! The Matrix view as a table and a figure.

use super::Matrix;
use crate::logic::export::{Export, Table, number};
use crate::logic::matrix::{Map, STRIP};
use crate::ui::panel::Shared;
use contattn_figure::{Group, Heatmap, Sheet};

pub(super) fn export(view: &Matrix, shared: &Shared<'_>, map: &Map) -> Option<Export> {
    let level = view.seen.level;
    let block = 1usize << level;
    let (rows, columns) = (map.rows.div_ceil(block), map.columns.div_ceil(block));
    // What was seen, at the level at which it was seen; strips that were not are empty cells.
    let first = view.seen.first * STRIP;
    let end = (view.seen.end * STRIP).min(rows);
    let mut values = Vec::with_capacity((end.saturating_sub(first)) * columns);
    for at in view.seen.first..view.seen.end {
        match map.strips.get(&(level, at)) {
            Some(strip) => values.extend(strip.texels.iter().map(|&x| f64::from(x))),
            None => values.resize(values.len() + columns * STRIP.min(rows - at * STRIP), f64::NAN),
        }
    }
    let mut table = Table::new(["row", "column", "value"]);
    for (at, &x) in values.iter().enumerate().filter(|(_, x)| x.is_finite()) {
        let (row, column) = (first + at / columns, at % columns);
        table.push([(row * block).to_string(), (column * block).to_string(), number(x)]);
    }
    let tokens = &shared.source.tokens;
    let named = level == 0 && tokens.len() + 1 == columns && first == 0 && rows == tokens.len();
    let row_names = if named { tokens.clone() } else { Vec::new() };
    let column_names =
        if named { std::iter::once("sink".to_owned()).chain(tokens.iter().cloned()).collect() } else { Vec::new() };
    let matrix = contattn_figure::Matrix::new(end - first, columns, values).ok()?;
    let heat = Heatmap::new(matrix).labelled(row_names, column_names);
    let head = shared.state.head;
    let sheet = Sheet {
        title: view.quantity.name().to_owned(),
        caption: format!("{}, {}, head {}", shared.source.title, shared.layer().name, head.head),
        rows: vec![vec![Group { label: String::new(), scale: view.scale(map.range()).for_export(), maps: vec![heat] }]],
    };
    Some(Export::new("matrix", table, sheet))
}
