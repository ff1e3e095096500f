//! `contattn phi --kernels`: errors of the functions inside the kernels, as a figure.

use crate::context::Context;
use crate::print;
use crate::problem::open_tiled;
use contattn_cpu::tiled::{Function, Isa};
use contattn_figure::{Axis, Chart, Layer, Panels};
use contattn_reference::Enclosure;
use contattn_reference::phi::{phi2, psi};
use serde::Serialize;
use std::path::Path;

/// Numbers of each function, and how many of them are one point of its curve.
const NUMBERS: usize = 20_000;
const BIN: usize = 50;
/// Bits of the exact values, of which f32 shows 24.
const BITS: u32 = 96;

/// What was found of one function.
#[derive(Debug, Serialize)]
struct Line {
    function: &'static str,
    isa: &'static str,
    numbers: usize,
    /// largest relative error, in units of 2^-24, and where
    largest: f64,
    at: f32,
    /// largest part of the proven bound
    of_bound: f64,
}

/// Measures, draws and prints.
///
/// # Errors
/// An instruction set that is not here; files; cancellation.
pub(super) fn run(path: &Path, isa: Option<&str>, json: bool, context: &Context) -> anyhow::Result<()> {
    let isa = open_tiled(isa, Some(1))?.isa();
    let caption = format!(
        "{isa}; {NUMBERS} numbers of each, largest and smallest relative error of {BIN} neighbours; dashed: what is proven"
    );
    let mut panels = Panels::new("Errors of the functions inside the kernels", 1).caption(caption);
    let mut lines = Vec::new();
    for function in Function::ALL {
        let (line, chart) = measure(function, isa, context)?;
        lines.push(line);
        panels = panels.with(chart);
    }
    contattn_figure::save(&panels, path)?;
    if json {
        return print::json(&lines);
    }
    let text = |line: &Line| {
        let Line { function, isa, numbers, largest, at, of_bound } = line;
        format!(
            "{function:5} {isa}: largest of {numbers} errors {largest:.2} u, at {at}; at most {of_bound:.2} of what is proven\n"
        )
    };
    print::text(&lines.iter().map(text).collect::<String>())
}

fn exact(function: Function, x: f32) -> f64 {
    let x = Enclosure::from_f64(BITS, f64::from(x));
    let value = match function {
        Function::Exp => x.exp(),
        Function::Phi2 => phi2(&x),
        Function::Psi => psi(&x),
    };
    value.midpoint().to_f64()
}

fn measure(function: Function, isa: Isa, context: &Context) -> anyhow::Result<(Line, Chart)> {
    let (low, high) = function.domain();
    let place = |i: usize| low + (high - low) * (i as f32 / (NUMBERS - 1) as f32);
    let numbers: Vec<f32> = (0..NUMBERS).map(|i| place(i).clamp(low, high)).collect();
    let values = function.evaluate(isa, &numbers)?;
    let mut line =
        Line { function: function.name(), isa: isa.name(), numbers: NUMBERS, largest: 0.0, at: low, of_bound: 0.0 };
    let (mut range, mut bound) = (Vec::new(), Vec::new());
    for (numbers, values) in numbers.chunks(BIN).zip(values.chunks(BIN)) {
        context.go_on()?;
        let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
        for (&x, &value) in numbers.iter().zip(values) {
            let exact = exact(function, x);
            let error = (f64::from(value) - exact) / exact * f64::from(1u32 << 24);
            (lowest, highest) = (lowest.min(error), highest.max(error));
            if error.abs() > line.largest {
                (line.largest, line.at) = (error.abs(), x);
            }
            line.of_bound = line.of_bound.max(error.abs() / function.bound(f64::from(x)));
        }
        let middle = f64::from(numbers[numbers.len() / 2]);
        range.push((middle, lowest, highest));
        bound.push((middle, function.bound(middle)));
    }
    let below = bound.iter().map(|&(x, y)| (x, -y)).collect::<Vec<_>>();
    let chart = Chart::new(format!("{}: at most {:.2} u", function.name(), line.largest))
        .x(Axis::new("x"))
        .y(Axis::new("relative error / 2^-24"))
        .with(Layer::area("", range))
        .with(Layer::line("", bound).dashed())
        .with(Layer::line("", below).dashed())
        .without_legend()
        .sized(720, 260);
    Ok((line, chart))
}
