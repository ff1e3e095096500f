//! Heat maps of a layer, and of one head with its tokens.

use super::measure::{Maps, Measured};
use contattn_core::Rule;
use contattn_figure::{ColorScale, FigureError, Group, Heatmap, Matrix, Sheet};

/// Weights below this have the darkest colour: softer shades would hide the structure above it.
const FAINTEST_WEIGHT: f64 = 1e-4;

/// All heads of a layer: softmax's weights, the rule's, its bias, and the difference of the weights.
pub(super) fn layer(layer: &Measured, rule: Rule) -> Result<Sheet, FigureError> {
    let heads: Vec<Maps> = (0..layer.shape.heads).map(|head| layer.maps(head)).collect();
    let draw = |head: usize, values: &[f64]| {
        let map = Heatmap::new(Matrix::new(layer.shape.queries, layer.shape.keys + 1, values.to_vec())?);
        Ok(map.titled(format!("head {head}")))
    };
    sheet(&format!("{}: softmax beside {rule}", layer.name), &heads, rule, draw)
}

/// One head with its tokens.
pub(super) fn head(layer: &Measured, head: usize, tokens: &[String], rule: Rule) -> Result<Sheet, FigureError> {
    let maps = [layer.maps(head)];
    let mut columns = vec!["node 0".to_owned()];
    columns.extend_from_slice(tokens);
    if tokens.is_empty() {
        columns.clear();
    }
    let draw = |_, values: &[f64]| {
        let map = Heatmap::new(Matrix::new(layer.shape.queries, layer.shape.keys + 1, values.to_vec())?);
        let cell = (20 * 32 / layer.shape.keys.max(1) as u32).clamp(1, 20);
        Ok(map.with_cells_of(cell).labelled(tokens.to_vec(), columns.clone()))
    };
    let mut sheet =
        sheet(&format!("{}, head {head}: the head whose output changes most", layer.name), &maps, rule, draw)?;
    // Two by two, each map under its own name.
    let groups = std::mem::take(&mut sheet.rows).into_iter().flatten().map(|group| {
        let maps = group.maps.into_iter().map(|map| map.titled(group.label.clone())).collect();
        Group { label: String::new(), maps, ..group }
    });
    let groups: Vec<Group> = groups.collect();
    sheet.rows = groups.chunks(2).map(<[Group]>::to_vec).collect();
    Ok(sheet)
}

fn sheet(
    title: &str,
    heads: &[Maps],
    rule: Rule,
    draw: impl Fn(usize, &[f64]) -> Result<Heatmap, FigureError>,
) -> Result<Sheet, FigureError> {
    let largest = |values: fn(&Maps) -> &Vec<f64>| {
        let all = heads.iter().flat_map(values).filter(|x| x.is_finite());
        all.fold(0.0, |m: f64, x| m.max(x.abs()))
    };
    let row = |label: &str, scale, values: fn(&Maps) -> &Vec<f64>| {
        let maps = heads.iter().enumerate().map(|(head, maps)| draw(head, values(maps))).collect::<Result<_, _>>()?;
        Ok::<_, FigureError>(vec![Group { label: label.to_owned(), scale, maps }])
    };
    let weights = ColorScale::logarithmic(FAINTEST_WEIGHT, 1.0);
    Ok(Sheet {
        title: title.to_owned(),
        caption: "rows are queries, columns are nodes from 0; weights on a logarithmic scale, b and differences around a white zero"
            .to_owned(),
        rows: vec![
            row("weights of softmax", weights, |maps| &maps.softmax)?,
            row(&format!("weights of {rule}"), weights, |maps| &maps.continuous)?,
            row(&format!("bias b of {rule}"), ColorScale::diverging(largest(|maps| &maps.bias)), |maps| &maps.bias)?,
            row(
                &format!("weights of {rule} minus those of softmax"),
                ColorScale::diverging(largest(|maps| &maps.difference)),
                |maps| &maps.difference,
            )?,
        ],
    })
}
