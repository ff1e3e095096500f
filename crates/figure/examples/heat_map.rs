//! Draws two heat maps with one colour bar, as PNG and as SVG.
//!
//!     cargo run -p contattn-figure --example heat_map -- weights.png

use contattn_figure::{ColorScale, Group, Heatmap, Matrix, Sheet, png, save, svg};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Softmax of a ridge of scores over the keys, causal: NaN is what a row does not see.
    let n = 24;
    let weights = |sharpness: f64| {
        let mut all = Vec::new();
        for row in 0..n {
            let score = |key: usize| -sharpness * (row as f64 * 0.7 - key as f64).powi(2);
            let sum: f64 = (0..=row).map(|key| score(key).exp()).sum();
            all.extend((0..n).map(|key| if key <= row { score(key).exp() / sum } else { f64::NAN }));
        }
        Matrix::new(n, n, all)
    };
    let maps = vec![Heatmap::new(weights(0.05)?).titled("broad"), Heatmap::new(weights(0.5)?).titled("sharp")];
    let sheet = Sheet {
        title: "Weights".into(),
        caption: "two rows of heads on one scale".into(),
        rows: vec![vec![Group { label: "w".into(), scale: ColorScale::linear(0.0, 1.0), maps }]],
    };
    assert!(png(&sheet)?.starts_with(b"\x89PNG"));
    assert!(svg(&sheet)?.starts_with("<svg"));
    if let Some(path) = std::env::args().nth(1) {
        save(&sheet, Path::new(&path))?;
    }
    Ok(())
}
