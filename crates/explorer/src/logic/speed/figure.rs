//! Times as charts and as a table.

use super::{Speed, Timed, Workload};
use crate::logic::export::{Table, number};
use contattn_core::Rule;
use contattn_figure::{Axis, Chart, Ink, Layer, Marker, Panels};

fn ran(speed: &Speed) -> impl Iterator<Item = &Timed> {
    speed.engines.iter().filter(|timed| timed.missing.is_none() && !timed.linear.is_empty())
}

/// What is timed, in words.
pub fn title(workload: &Workload) -> String {
    let Workload { n, d, heads, causal, .. } = workload;
    let window = if *causal { "causal" } else { "full" };
    format!("n = {n}, d = {d}, {heads} {}, {window}, forward", if *heads == 1 { "head" } else { "heads" })
}

/// Medians of softmax and continuous attention, engine beside engine.
pub fn bars(speed: &Speed) -> Chart {
    let list: Vec<&Timed> = ran(speed).collect();
    let heights =
        |rule| list.iter().map(|timed| timed.median(&speed.workload, rule).unwrap_or(f64::NAN)).collect::<Vec<_>>();
    Chart::new("time of all rows")
        .caption("medians; less is better")
        .x(Axis::new("").named(list.iter().map(|timed| timed.name)).range(-0.6, list.len().max(1) as f64 - 0.4))
        .y(Axis::log("milliseconds"))
        .with(Layer::bars("softmax (Step)", heights(Rule::Step)).ink(Ink::Series(6)))
        .with(Layer::bars("continuous (Linear)", heights(Rule::Linear)).ink(Ink::Series(0)))
}

/// Every engine under the roof of the machine.
pub fn roofline(speed: &Speed) -> Chart {
    let intensity = speed.workload.intensity();
    let (low, high) = (0.1f64.min(0.1 * intensity), 1e4f64.max(10.0 * intensity));
    let mut chart = Chart::new("roofline")
        .x(Axis::log("operations to a byte of memory").range(low, high))
        .y(Axis::log("operations in a second, 10\u{2079}"));
    if let Some(roof) = speed.roof {
        let ridge = roof.flops / roof.bytes;
        let line = [low, ridge.clamp(low, high), high].map(|x| (x, 1e-9 * roof.at(x)));
        let name = format!("roof: {} threads, {}", roof.threads, speed.isa);
        chart = chart.with(Layer::line(name, line).ink(Ink::Dark));
    }
    let markers = [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Cross];
    for (place, timed) in ran(speed).enumerate() {
        if let Some(rate) = timed.rate(&speed.workload) {
            chart = chart.with(Layer::points(timed.name, [(intensity, 1e-9 * rate)]).marked(markers[place % 5]));
        }
    }
    chart
}

/// Both charts on one sheet.
pub fn sheet(speed: &Speed) -> Panels {
    let caption = "Operations are those of the two matrix products, 4 n_q n d, half of them under a causal window; bytes are q, k, \
                   v and o once.";
    let title = format!("Speed: {}", title(&speed.workload));
    Panels::new(title, 2).caption(caption).with(bars(speed)).with(roofline(speed))
}

/// Every time.
pub fn table(speed: &Speed) -> Table {
    let columns = [
        "engine",
        "rule",
        "call",
        "milliseconds",
        "rows",
        "median_all_rows",
        "operations_per_second",
        "error",
        "missing",
    ];
    let mut table = Table::new(columns);
    for timed in &speed.engines {
        if let Some(reason) = &timed.missing {
            let mut cells = vec![timed.name.to_owned()];
            cells.resize(8, String::new());
            cells.push(reason.clone());
            table.push(cells);
        }
        for (rule, times) in [(Rule::Step, &timed.softmax), (Rule::Linear, &timed.linear)] {
            let median = timed.median(&speed.workload, rule);
            for (call, time) in times.iter().enumerate() {
                let rate = median.map(|ms| number(speed.workload.operations() / (1e-3 * ms))).unwrap_or_default();
                let cells = [
                    timed.name.to_owned(),
                    rule.to_string(),
                    call.to_string(),
                    number(*time),
                    timed.rows.to_string(),
                    median.map(number).unwrap_or_default(),
                    rate,
                    number(timed.error),
                ];
                table.push(cells);
            }
        }
    }
    table
}
