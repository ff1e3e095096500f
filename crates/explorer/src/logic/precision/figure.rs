//! Errors as charts and as a table.

use super::{Errors, Formulas};
use crate::logic::export::{Table, number};
use contattn_check::report::hex;
use contattn_figure::{Axis, Chart, Histogram, Ink, Layer, Marker, Panels};

/// Bins of the histogram.
const BINS: usize = 41;

/// Errors counted, beside one rounding.
pub fn histogram(errors: &Errors) -> Chart {
    let ulps: Vec<f64> = errors.errors.iter().map(|error| error.ulps).collect();
    // Errors far out would leave one bin for all others: the chart holds 19 of 20, and tells how many lie outside.
    let mut sizes: Vec<f64> = ulps.iter().map(|x| x.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let most = sizes.get((sizes.len() * 95) / 100).copied().unwrap_or(0.5).max(0.5);
    let counted = Histogram::between(&ulps, -most, most, BINS);
    let outside: u64 = counted.outside.iter().sum();
    let mut chart = Chart::new(format!("errors of {} by {}", errors.quantity.name(), errors.engine))
        .x(Axis::new(format!("error, ulp of {}", errors.dtype)))
        .y(Axis::new("results"))
        .with(Layer::histogram("results", counted.clone()).ink(Ink::Series(0)));
    // One rounding spreads its errors evenly over an ulp.
    let width = counted.edges.windows(2).next().map_or(1.0, |edges| edges[1] - edges[0]);
    let height = ulps.len() as f64 * width.min(1.0);
    let once = [(-0.5, 0.0), (-0.5, height), (0.5, height), (0.5, 0.0)];
    chart = chart.with(Layer::line("correctly rounded", once).ink(Ink::Dark).dashed());
    if outside > 0 {
        chart.caption = format!("{outside} results lie further out");
    }
    chart
}

/// The largest errors along the last axis. Sizes on a logarithmic axis, because a few are often far larger than the others.
pub fn along(errors: &Errors) -> Chart {
    let most = errors.along();
    let side = |keep: fn(f64) -> bool| {
        let points = most.iter().enumerate().filter_map(|(i, error)| Some((i as f64, (*error)?)));
        points.filter(|(_, error)| keep(*error)).map(|(i, error)| (i, error.abs())).collect::<Vec<_>>()
    };
    Chart::new(format!("where they sit: the largest at each {}", errors.quantity.axis()))
        .x(Axis::new(errors.quantity.axis()).range(-0.5, errors.length as f64 - 0.5))
        .y(Axis::log(format!("size of the error, ulp of {}", errors.dtype)))
        .with(Layer::points("too large", side(|error| error >= 0.0)).marked(Marker::Triangle).ink(Ink::Series(0)))
        .with(Layer::points("too small", side(|error| error < 0.0)).ink(Ink::Series(1)))
        .with(Layer::line("half an ulp", [(-0.5, 0.5), (errors.length as f64 - 0.5, 0.5)]).ink(Ink::Grey).dashed())
}

/// Relative errors of formulas, in f64 or in f32, with the distances that the row has.
pub fn cancellation(formulas: &Formulas, single: bool) -> Chart {
    let floor = if single { 1e-9 } else { 1e-18 };
    let rounding = 2f64.powi(if single { -24 } else { -53 });
    let mut chart = Chart::new(format!("phi2 by formulas in {}", if single { "f32" } else { "f64" }))
        .x(Axis::log("distance |x| of neighbouring scores"))
        .y(Axis::log("relative error").range(floor, 10.0));
    for (place, formula) in formulas.formulas.iter().enumerate() {
        let errors = if single { &formula.single } else { &formula.double };
        // An exact result has no place on a logarithmic axis: it is shown at its foot.
        let points = formulas.x.iter().zip(errors).map(|(x, error)| (*x, error.max(floor)));
        chart = chart.with(Layer::line(formula.name, points).ink(Ink::Series([1, 4, 0][place % 3])).width(1.4));
    }
    let met = formulas.met.iter().map(|x| (*x, floor * 2.0));
    chart
        .with(Layer::horizontal("half an ulp", rounding).ink(Ink::Grey))
        .with(Layer::points("distances in the row", met).marked(Marker::Triangle).ink(Ink::Dark))
}

/// All charts on one sheet.
pub fn sheet(errors: &Errors, formulas: Option<&Formulas>, origin: &str) -> Panels {
    let caption = format!("{origin}; {}. {}", errors.verdict(), errors.worst().unwrap_or_default());
    let mut panels = Panels::new("Precision", 2).caption(caption).with(histogram(errors)).with(along(errors));
    if let Some(formulas) = formulas {
        panels = panels.with(cancellation(formulas, true)).with(cancellation(formulas, false));
    }
    panels
}

/// Every result with its error.
pub fn table(errors: &Errors) -> Table {
    let mut table = Table::new(["element", errors.quantity.axis(), "ulps", "found", "found_hex", "exact", "exact_hex"]);
    for error in &errors.errors {
        let cells = [
            error.at.to_string(),
            error.along.to_string(),
            number(error.ulps),
            number(error.found),
            hex(error.found),
            number(error.exact),
            hex(error.exact),
        ];
        table.push(cells);
    }
    table
}
