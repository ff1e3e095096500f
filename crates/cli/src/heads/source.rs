//! Where the heads come from: a file, or those that the program carries.

use crate::refusal::Refusal;
use contattn_core::Tensor;
use contattn_core::families::real;
use contattn_core::file::{self, Locator};
use std::path::Path;

/// Layers with the tokens that they were computed on.
pub(super) struct Source {
    pub(super) what: String,
    pub(super) layers: Vec<Layer>,
    /// empty where they are not known
    pub(super) tokens: Vec<String>,
}

/// q, k, v of one layer.
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) q: Tensor,
    pub(super) k: Tensor,
    pub(super) v: Tensor,
}

pub(super) fn read(path: Option<&Path>) -> anyhow::Result<Source> {
    match path {
        Some(path) => read_file(path),
        None => Ok(carried()),
    }
}

fn carried() -> Source {
    let layers = real::layers().iter().map(|layer| Layer {
        name: layer.name.clone(),
        q: layer.q.clone(),
        k: layer.k.clone(),
        v: layer.v.clone(),
    });
    Source {
        what: "SmolLM2-135M-Instruct, layers 0, 10 and 29, one sentence of 26 tokens".to_owned(),
        layers: layers.collect(),
        tokens: real::tokens().iter().map(|token| readable(token)).collect(),
    }
}

fn read_file(path: &Path) -> anyhow::Result<Source> {
    let entries = file::list(path)?;
    let mut names: Vec<&str> = entries.iter().filter_map(|e| e.name.as_deref()?.strip_suffix(".q")).collect();
    names.sort_unstable();
    if names.is_empty() {
        let what = format!("{}: no tensor is called NAME.q", path.display());
        return Err(Refusal::bad_input(what, "give tensors NAME.q, NAME.k and NAME.v for each layer").into());
    }
    let mut layers = Vec::new();
    for name in names {
        let tensor = |part: &str| -> anyhow::Result<Tensor> {
            let locator = Locator::new(path, Some(&format!("{name}.{part}")))?;
            let array = file::read(&locator)?;
            array.into_tensor().map_err(|error| file::FileError::at(&locator, error).into())
        };
        layers.push(Layer { name: name.to_owned(), q: tensor("q")?, k: tensor("k")?, v: tensor("v")? });
    }
    let tokens = file::metadata(path)
        .ok()
        .and_then(|metadata| serde_json::from_str::<Vec<String>>(metadata.get("tokens")?).ok())
        .unwrap_or_default();
    let tokens = tokens.iter().map(|token| readable(token)).collect();
    Ok(Source { what: path.display().to_string(), layers, tokens })
}

/// Byte-level vocabularies write a leading space as U+0120, others as U+2581; shown as a middle dot, which fonts have.
fn readable(token: &str) -> String {
    token.replace(['\u{120}', '\u{2581}'], "\u{b7}")
}
