//! Heat maps of a layer, and of one head with its tokens.

use super::measure::{Maps, Measured};
use contattn_core::Rule;
use contattn_figure::{ColorScale, FigureError, Heatmap, Matrix, Sheet, SheetRow};

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
    let mut sheet = sheet(&format!("{}, head {head}: the head whose output changes most", layer.name), &maps, rule, draw)?;
    // The weights of both sides stand beside each other, and so do bias and difference: compared along a row of tokens.
    let [softmax, continuous, bias, difference] = <[SheetRow; 4]>::try_from(std::mem::take(&mut sheet.rows))
        .map_err(|_| FigureError::Drawing("a head has four maps".to_owned()))?;
    let titled = |row: SheetRow| row.maps.into_iter().map(move |map| map.titled(row.label.clone()));
    let (weights, bias_scale, difference_scale) = (softmax.scale, bias.scale, difference.scale);
    sheet.rows = vec![
        SheetRow { label: String::new(), scale: weights, maps: titled(softmax).chain(titled(continuous)).collect() },
        SheetRow { label: String::new(), scale: bias_scale, maps: titled(bias).collect() },
        SheetRow { label: String::new(), scale: difference_scale, maps: titled(difference).collect() },
    ];
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
        Ok::<_, FigureError>(SheetRow { label: label.to_owned(), scale, maps })
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
