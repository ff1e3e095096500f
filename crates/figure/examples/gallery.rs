//! One figure of each kind, written to a folder: `cargo run -p contattn-figure --example gallery -- FOLDER`.

use contattn_figure::{
    Axis, Chart, ColorScale, Figure, Group, Heatmap, Histogram, Ink, Layer, Marker, Matrix, Panels, Sheet, save,
};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Scores of a row, read as a curve.
const SCORES: [f64; 7] = [0.0, 0.8, 2.6, 1.0, -0.5, 1.4, 0.2];

fn curve(s: f64) -> f64 {
    let i = (s.floor() as usize).min(SCORES.len() - 2);
    let t = s - i as f64;
    ((1.0 - t) * SCORES[i] + t * SCORES[i + 1]).exp()
}

/// The integrand and the hat functions whose areas are the weights.
fn integrand() -> Chart {
    let places = || (0..=600).map(|i| f64::from(i) * 0.01);
    let mut chart = Chart::new("e^a(s) and its hat functions")
        .caption("Each hat's area is the weight of its node, before division by the area of all.")
        .x(Axis::new("time s"))
        .y(Axis::new("e^a(s)"));
    for node in 0..SCORES.len() {
        let hat = |s: f64| (1.0 - (s - node as f64).abs()).max(0.0) * curve(s);
        let points = places().filter(|s| (s - node as f64).abs() <= 1.0).map(|s| (s, 0.0, hat(s)));
        chart = chart.with(Layer::area("", points).ink(Ink::Series(node % 2)).opacity(0.35));
    }
    chart = chart.with(Layer::line("integrand", places().map(|s| (s, curve(s)))).ink(Ink::Dark));
    let nodes = SCORES.iter().enumerate().map(|(i, a)| (i as f64, a.exp()));
    chart.with(Layer::points("nodes", nodes).ink(Ink::Dark))
}

/// Continuous weights beside softmax's.
fn weights() -> Chart {
    let hats: Vec<f64> = (0..SCORES.len())
        .map(|node| {
            let part = |i: i32| (f64::from(i) + 0.5) * 0.001 - 1.0;
            let inside = |s: f64| (0.0..=6.0).contains(&s);
            let sum: f64 = (0..2000)
                .map(|i| (part(i), node as f64 + part(i)))
                .filter(|(_, s)| inside(*s))
                .map(|(u, s)| (1.0 - u.abs()) * curve(s))
                .sum();
            sum * 0.001
        })
        .collect();
    let (hat_sum, sum): (f64, f64) = (hats.iter().sum(), SCORES.iter().map(|a| a.exp()).sum());
    Chart::new("Weights of one row")
        .x(Axis::new("node").named((0..SCORES.len()).map(|i| format!("a{i}"))))
        .y(Axis::new("weight"))
        .with(Layer::bars("continuous", hats.iter().map(|p| p / hat_sum)))
        .with(Layer::bars("softmax", SCORES.iter().map(|a| a.exp() / sum)))
        .with(
            Layer::points(
                "difference",
                (0..SCORES.len()).map(|i| (i as f64, hats[i] / hat_sum - SCORES[i].exp() / sum)),
            )
            .marked(Marker::Diamond)
            .ink(Ink::Dark),
        )
}

/// Lines on logarithmic axes, a gap, an infinite value, rules with names.
fn errors() -> Chart {
    let n = || (0..17).map(|i| 2f64.powi(i));
    Chart::new("Error against length")
        .caption("A gap where there is no number; a tip at the edge where the error is infinite.")
        .x(Axis::log("nodes"))
        .y(Axis::log("largest relative error").range(1e-9, 1e-2))
        .with(
            Layer::line("f32, naive", n().map(|n| (n, if n == 256.0 { f64::INFINITY } else { 6e-8 * n.powf(0.9) })))
                .marked(Marker::Square),
        )
        .with(
            Layer::line(
                "f32, tiled",
                n().map(|n| (n, if n == 64.0 { f64::NAN } else { 1.1e-7 * (1.0 + n.log2() / 9.0) })),
            )
            .marked(Marker::Disc),
        )
        .with(Layer::line("bound", n().map(|n| (n, 1.2e-7 * n))).dashed().ink(Ink::Grey))
        .with(Layer::horizontal("rounding of f32", 2f64.powi(-24)))
        .with(Layer::vertical("tile", 64.0))
}

/// Numbers spread like a bell, counted.
fn histogram() -> Chart {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let values: Vec<f64> = (0..20_000).map(|_| (0..6).map(|_| uniform()).sum()).collect();
    let flat: Vec<f64> = (0..20_000).map(|_| uniform()).collect();
    Chart::new("Errors in units of the last place")
        .x(Axis::new("error, ulp"))
        .y(Axis::new("density"))
        .with(Layer::histogram("sum of six", Histogram::of(&values, 60).density()))
        .with(Layer::histogram("one rounding", Histogram::between(&flat, -0.5, 0.5, 20).density()))
        .with(Layer::vertical("half an ulp", 0.5))
}

/// Points around a line.
fn scatter() -> Chart {
    let points = |k: i32, slope: f64| {
        (0..60).map(move |i| {
            let x = f64::from((i * 37 + 11 * k) % 101) / 100.0;
            (x, slope * x + 0.15 * (f64::from(i * k) * 1.7).sin())
        })
    };
    Chart::new("Points")
        .x(Axis::new("time"))
        .y(Axis::new("drift"))
        .with(Layer::points("Linear", points(1, 0.4)))
        .with(Layer::points("Step", points(2, 1.2)).marked(Marker::Cross))
        .with(Layer::line("slope 1", [(0.0, 0.0), (1.0, 1.0)]).dashed().ink(Ink::Grey))
        .with(Layer::note("a note", 0.2, 1.1))
}

/// Three differences over many nodes, and their map.
fn map() -> Result<Sheet, Box<dyn Error>> {
    let side = 24;
    let value = |i: usize| {
        let (row, column) = (i / side, i % side);
        if column > row { f64::NAN } else { (-(row as f64 - column as f64) / 4.0).exp() * (column as f64 * 0.9).cos() }
    };
    let map = Heatmap::new(Matrix::new(side, side, (0..side * side).map(value).collect())?).titled("head 0");
    let group = Group { label: "bias b".into(), scale: ColorScale::diverging(1.0), maps: vec![map] };
    Ok(Sheet { title: "A map".into(), caption: "rows are queries".into(), rows: vec![vec![group]] })
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery".into()));
    std::fs::create_dir_all(&folder)?;
    let all = Panels::new("Gallery", 3)
        .caption("Each figure alone and all on one sheet, from the same description.")
        .with(integrand())
        .with(weights())
        .with(errors())
        .with(histogram())
        .with(scatter())
        .with(map()?);
    let write = |figure: &dyn Figure, folder: &Path, name: &str| {
        ["png", "svg", "csv"].iter().try_for_each(|kind| save(figure, &folder.join(format!("{name}.{kind}"))))
    };
    for (i, name) in ["integrand", "weights", "errors", "histogram", "scatter", "map"].iter().enumerate() {
        write(all.figures[i].as_ref(), &folder, name)?;
    }
    write(&all, &folder, "gallery")?;
    Ok(())
}
