//! A sweep as charts and as a table: the same on screen and in files.

use super::{Kind, Plot, Swept};
use crate::logic::export::{Table, number};
use contattn_figure::{Axis, Chart, Ink, Layer, Marker, Panels};

/// Curves of one plot that are drawn; more could not be told apart.
const DRAWN: usize = 9;

/// Which curves are drawn: those that reach highest, in their own order.
pub fn drawn(plot: &Plot) -> Vec<usize> {
    if plot.curves.len() <= DRAWN {
        return (0..plot.curves.len()).collect();
    }
    let height = |i: usize| plot.curves[i].y.iter().copied().filter(|y| !y.is_nan()).fold(f64::NEG_INFINITY, f64::max);
    let mut order: Vec<usize> = (0..plot.curves.len()).collect();
    order.sort_by(|&a, &b| height(b).total_cmp(&height(a)));
    order.truncate(DRAWN);
    order.sort_unstable();
    order
}

/// One chart for each plot, with a rule at the chosen position.
pub fn charts(swept: &Swept, chosen: Option<f64>) -> Vec<Chart> {
    swept.plots.iter().map(|plot| chart(swept, plot, chosen)).collect()
}

fn chart(swept: &Swept, plot: &Plot, chosen: Option<f64>) -> Chart {
    let (first, last) = (swept.sweep.from, swept.sweep.to);
    let x = match (plot.logarithmic, swept.sweep.kind) {
        (true, _) => Axis::log(swept.sweep.kind.axis()),
        // Edges are in units of time, positions of the sweep in units of the whole time line.
        (false, Kind::Edge) => Axis::new(swept.sweep.kind.axis()),
        // The axis does not move while curves grow.
        (false, _) => Axis::new(swept.sweep.kind.axis()).range(first, last),
    };
    let y = if plot.logarithmic { Axis::log(plot.axis) } else { Axis::new(plot.axis) };
    let mut chart = Chart::new(plot.title.as_str()).x(x).y(y);
    let drawn = drawn(plot);
    if drawn.len() < plot.curves.len() {
        chart.caption = format!("the {} highest of {}", drawn.len(), plot.curves.len());
    }
    for (place, &at) in drawn.iter().enumerate() {
        let curve = &plot.curves[at];
        let mut layer = Layer::line(curve.name.as_str(), swept.x.iter().copied().zip(curve.y.iter().copied()));
        if curve.faint {
            layer = layer.ink(Ink::Grey).dashed();
        } else if place >= 7 {
            layer = layer.dashed();
        }
        if plot.logarithmic {
            layer = layer.marked([Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond][place % 4]);
        }
        chart = chart.with(layer);
    }
    match chosen {
        Some(position) => chart.with(Layer::vertical("", position)),
        None => chart,
    }
}

/// All charts on one sheet, under what was swept.
pub fn sheet(swept: &Swept, origin: &str) -> Panels {
    let caption = format!("{origin}; evaluated by {}. {}", swept.engine, swept.notes.join(" "));
    let columns = if swept.plots.len() == 3 { 3 } else { 2 };
    let title = format!("Sweep: {}", swept.sweep.kind.name());
    charts(swept, None).into_iter().fold(Panels::new(title, columns).caption(caption), Panels::with)
}

/// Every number with its position, and the figures of the curves.
pub fn table(swept: &Swept) -> Table {
    let mut table = Table::new(["plot", "curve", "position", "value", "normalised_slope", "excursion", "is_peak"]);
    for plot in &swept.plots {
        for (at, curve) in plot.curves.iter().enumerate() {
            let slope = curve.figures.and_then(|figures| figures.slope).map(number).unwrap_or_default();
            let excursion = curve.figures.map(|figures| number(figures.excursion)).unwrap_or_default();
            let peak = match &plot.peaks {
                Some((peaks, _)) if plot.competing.contains(&at) => {
                    peaks.winners.contains(&(at - plot.competing.start)).to_string()
                }
                _ => String::new(),
            };
            for (x, y) in swept.x.iter().zip(&curve.y) {
                let cells = [&plot.title, &curve.name, &number(*x), &number(*y), &slope, &excursion, &peak];
                table.push(cells);
            }
        }
    }
    table
}
