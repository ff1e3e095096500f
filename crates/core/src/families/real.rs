//! Families made of measured data, which the crate carries.

use super::Draft;
use crate::file::safetensors;
use crate::problem::Shape;
use crate::series::Series;
use crate::spec::Timeline;
use crate::tensor::Tensor;
use std::sync::OnceLock;

const HEADS: &[u8] = include_bytes!("../../data/smollm2-heads.safetensors");

/// Queries, keys and values of one layer.
pub struct Layer {
    /// as in the file: `layer00`
    pub name: String,
    /// (1, 9, 26, 64)
    pub q: Tensor,
    /// (1, 3, 26, 64)
    pub k: Tensor,
    /// (1, 3, 26, 64)
    pub v: Tensor,
}

/// Layers 0, 10 and 29 of SmolLM2-135M-Instruct (Apache-2.0) on one English sentence, after rotary embedding and before
/// scaling by 1/8.
pub fn layers() -> &'static [Layer] {
    static LAYERS: OnceLock<Vec<Layer>> = OnceLock::new();
    LAYERS.get_or_init(|| {
        let mut tensors = safetensors::from_bytes(HEADS).expect("the file that the crate carries is whole");
        let mut take = |name: String| {
            let at = tensors.iter().position(|(found, _)| *found == name).expect("the file holds three layers");
            tensors.swap_remove(at).1.into_tensor().expect("the file holds f32")
        };
        ["layer00", "layer10", "layer29"]
            .map(|name| Layer {
                name: name.to_owned(),
                q: take(format!("{name}.q")),
                k: take(format!("{name}.k")),
                v: take(format!("{name}.v")),
            })
            .into()
    })
}

/// The tokens of that sentence as the model's vocabulary writes them: a leading G with a dot stands for a space.
pub fn tokens() -> &'static [String] {
    static TOKENS: OnceLock<Vec<String>> = OnceLock::new();
    TOKENS.get_or_init(|| {
        let (_, header) =
            ::safetensors::SafeTensors::read_metadata(HEADS).expect("the file that the crate carries is whole");
        let tokens = header.metadata().as_ref().and_then(|metadata| metadata.get("tokens"));
        tokens.and_then(|list| serde_json::from_str(list).ok()).expect("the file names its tokens")
    })
}

/// Light curve of MACHO star 1.3567.1310, blue band: (Modified Julian Date, magnitude) of each of its 1249 observations.
pub fn observations() -> &'static [(f64, f64)] {
    static CURVE: OnceLock<Vec<(f64, f64)>> = OnceLock::new();
    CURVE.get_or_init(|| {
        let text = include_str!("../../data/macho-1.3567.1310-B.mjd");
        let number =
            |word: Option<&str>| word.and_then(|w| w.parse().ok()).expect("the file that the crate carries is whole");
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        lines
            .map(|line| {
                let mut words = line.split_whitespace();
                (number(words.next()), number(words.next()))
            })
            .collect()
    })
}

/// The layer is chosen by the seed; an axis that is too long repeats.
pub(super) fn heads(draft: &mut Draft, shape: Shape, seed: u64) {
    let layer = &layers()[(seed % 3) as usize];
    let fill = |out: &mut [f64], from: &Tensor, heads: usize, rows: usize, width: usize| {
        let available = from.shape();
        for (at, out) in out.iter_mut().enumerate() {
            let (c, row, head) = (at % width, at / width % rows.max(1), at / width / rows.max(1) % heads);
            let index = [0, head % available[1], row % available[2], c % available[3]];
            *out = from.get(&index).expect("the index is within the shape");
        }
    };
    fill(&mut draft.q, &layer.q, shape.heads, shape.queries, shape.head_dim);
    fill(&mut draft.k, &layer.k, shape.kv_heads, shape.keys, shape.head_dim);
    fill(&mut draft.v, &layer.v, shape.kv_heads, shape.keys, shape.value_dim);
    fill(&mut draft.sink_k, &layer.k, shape.kv_heads, 1, shape.head_dim);
    fill(&mut draft.sink_v, &layer.v, shape.kv_heads, 1, shape.value_dim);
}

/// Times in days from the first observation; beyond the last one the series repeats, a day later.
pub(super) fn light_curve(draft: &mut Draft, shape: Shape) {
    let curve = observations();
    let (first, last) = (curve[0].0, curve[curve.len() - 1].0);
    let period = last - first + 1.0;
    let times = (0..=shape.keys).map(|i| curve[i % curve.len()].0 - first + (i / curve.len()) as f64 * period);
    draft.timeline = Timeline::Times(Series::shared(times.collect()));
    for (row, v) in draft.v.chunks_mut(shape.value_dim).enumerate() {
        v[0] = curve[(row % shape.keys + 1) % curve.len()].1;
    }
    for v in draft.sink_v.chunks_mut(shape.value_dim) {
        v[0] = curve[0].1;
    }
}
