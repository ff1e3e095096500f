//! The Operator view as a table and a figure.

use super::token;
use crate::logic::export::{Export, Table, number};
use crate::logic::operator::Evaluation;
use crate::ui::panel::Shared;
use contattn_figure::{ColorScale, Group, Heatmap, Matrix, Sheet};

pub(super) fn export(shared: &Shared<'_>, evaluation: &Evaluation) -> Option<Export> {
    let count = evaluation.scores.len();
    let mut columns = vec!["node", "token", "time", "score", "weight", "softmax", "step", "bias"];
    let orders: Vec<String> =
        (1..=evaluation.taylor.as_ref().map_or(0, Vec::len)).map(|m| format!("taylor_{m}")).collect();
    columns.extend(orders.iter().map(String::as_str));
    let mut table = Table::new(columns);
    for node in 0..count {
        let mut cells = vec![node.to_string(), token(shared, node).unwrap_or_default()];
        let own = [
            evaluation.times[node],
            evaluation.scores[node],
            evaluation.chosen.weights[node],
            evaluation.softmax.weights[node],
            evaluation.step.weights[node],
            evaluation.chosen.bias[node],
        ];
        cells.extend(own.map(number));
        if let Ok(orders) = &evaluation.taylor {
            cells.extend(orders.iter().map(|series| number(series[node])));
        }
        table.push(cells);
    }
    let names: Vec<String> = (0..count).map(|node| token(shared, node).unwrap_or_else(|| node.to_string())).collect();
    let rows = |list: &[&Vec<f64>], names_of_rows: &[&str]| {
        let values = list.iter().flat_map(|row| row.iter().copied()).collect();
        let matrix = Matrix::new(list.len(), count, values).ok()?;
        Some(
            Heatmap::new(matrix)
                .labelled(names_of_rows.iter().map(|n| (*n).to_owned()).collect(), names.clone())
                .with_cells_of(26),
        )
    };
    let (chosen, softmax, step) = (&evaluation.chosen, &evaluation.softmax, &evaluation.step);
    let weights = rows(&[&chosen.weights, &softmax.weights, &step.weights], &["continuous", "softmax", "step"])?;
    let bias = rows(&[&chosen.bias], &["bias"])?;
    let largest = [&chosen.weights, &softmax.weights, &step.weights].into_iter().flatten().copied().fold(0.0, f64::max);
    let groups = |label: &str, scale, map| vec![Group { label: label.to_owned(), scale, maps: vec![map] }];
    let of_bias = ColorScale::diverging(bias.matrix.largest());
    let sheet = Sheet {
        title: "One row of attention".to_owned(),
        caption: crate::ui::menu::origin(shared.state),
        rows: vec![groups("weights", ColorScale::linear(0.0, largest), weights), groups("bias b", of_bias, bias)],
    };
    Some(Export::new("operator", table, sheet))
}
