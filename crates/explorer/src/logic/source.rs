//! Where q, k and v of the Matrix view come from: the heads that the library carries, or a file.

use crate::logic::state::SourceChoice;
use crate::logic::worker::Failure;
use contattn_core::families::real;
use contattn_core::file::{self, Format, Locator};
use contattn_core::{Tensor, TensorName};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// q, k, v of one layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// as in the file
    pub name: String,
    /// (1, heads, n_q, head_dim)
    pub q: Tensor,
    /// (1, kv_heads, n, head_dim)
    pub k: Tensor,
    /// (1, kv_heads, n, value width)
    pub v: Tensor,
}

/// Lengths of the axes of a layer's first batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerShape {
    /// query heads
    pub heads: usize,
    /// key/value heads
    pub kv_heads: usize,
    /// rows of q
    pub queries: usize,
    /// n
    pub keys: usize,
    /// width of q and k
    pub head_dim: usize,
    /// width of v
    pub value_dim: usize,
}

impl Layer {
    /// Lengths of its axes.
    pub fn shape(&self) -> LayerShape {
        let axes = |tensor: &Tensor| match *tensor.shape() {
            [_, h, s, d] | [h, s, d] => (h, s, d),
            [s, d] => (1, s, d),
            _ => (0, 0, 0),
        };
        let ((heads, queries, head_dim), (kv_heads, keys, _), (_, _, value_dim)) =
            (axes(&self.q), axes(&self.k), axes(&self.v));
        LayerShape { heads, kv_heads, queries, keys, head_dim, value_dim }
    }
}

/// Layers with the tokens that they were computed on.
#[derive(Clone, Debug)]
pub struct Source {
    /// what it is
    pub title: String,
    /// at least one
    pub layers: Vec<Arc<Layer>>,
    /// one for each key, or none
    pub tokens: Vec<String>,
}

impl Source {
    /// The heads that the library carries.
    pub fn carried() -> Source {
        let layers = real::layers().iter().map(|layer| {
            let (q, k, v) = (layer.q.clone(), layer.k.clone(), layer.v.clone());
            Arc::new(Layer { name: layer.name.clone(), q, k, v })
        });
        Source {
            title: "SmolLM2-135M-Instruct on one sentence".to_owned(),
            layers: layers.collect(),
            tokens: real::tokens().iter().map(|token| readable(token)).collect(),
        }
    }

    /// Reads what a choice names.
    ///
    /// # Errors
    /// [`Failure`] with the file, the tensor and what to do.
    pub fn read(choice: &SourceChoice) -> Result<Source, Failure> {
        match choice {
            SourceChoice::Carried => Ok(Source::carried()),
            SourceChoice::File(path) => read_file(path),
        }
    }

    /// The layer of this index, or the last one.
    pub fn layer(&self, index: usize) -> &Arc<Layer> {
        &self.layers[index.min(self.layers.len() - 1)]
    }
}

/// Byte-level vocabularies write a leading space as U+0120, others as U+2581; shown as a middle dot, which fonts have.
fn readable(token: &str) -> String {
    token.replace(['\u{120}', '\u{2581}'], "\u{b7}")
}

const WHAT_FILES_HOLD: &str = "expected tensors NAME.q, NAME.k and NAME.v for each layer, or q, k and v; as .npy three files \
     whose names differ in q, k and v alone";

fn read_file(path: &Path) -> Result<Source, Failure> {
    let failed = |error: file::FileError| Failure::new(error, WHAT_FILES_HOLD);
    let locators = match Format::of_path(path) {
        None => {
            let what = format!("{}: not a .safetensors, .npz or .npy file", path.display());
            return Err(Failure::new(what, WHAT_FILES_HOLD));
        }
        Some(Format::Npy) => vec![(String::new(), siblings(path)?)],
        Some(Format::Npz | Format::Safetensors) => named(path)?,
    };
    let mut layers = Vec::new();
    for (name, [q, k, v]) in locators {
        let tensor = |locator: &Locator, tensor: TensorName| {
            let array = file::read(locator).map_err(failed)?;
            let read =
                array.into_tensor().map_err(|error| Failure::new(format!("{locator}: {error}"), WHAT_FILES_HOLD))?;
            // Rank is checked here, so that every layer has four axes.
            let view = read.view(tensor, contattn_core::Layout::Bhsd);
            Ok::<Tensor, Failure>(
                view.map_err(|error| Failure::new(format!("{locator}: {error}"), WHAT_FILES_HOLD))?.to_tensor(),
            )
        };
        let layer = Layer {
            q: tensor(&q, TensorName::Query)?,
            k: tensor(&k, TensorName::Key)?,
            v: tensor(&v, TensorName::Value)?,
            name,
        };
        check(path, &layer)?;
        layers.push(Arc::new(layer));
    }
    let tokens = file::metadata(path).ok();
    let tokens = tokens.and_then(|m| serde_json::from_str::<Vec<String>>(m.get("tokens")?).ok()).unwrap_or_default();
    let title = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(Source { title, layers, tokens: tokens.iter().map(|token| readable(token)).collect() })
}

/// The layers of a file with named tensors, in order of their names.
fn named(path: &Path) -> Result<Vec<(String, [Locator; 3])>, Failure> {
    let entries = file::list(path).map_err(|error| Failure::new(error, WHAT_FILES_HOLD))?;
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry.name.as_deref()).collect();
    let prefixes = names.iter().filter_map(|name| if *name == "q" { Some("") } else { name.strip_suffix(".q") });
    let mut layers = Vec::new();
    for prefix in prefixes {
        let locate = |part: &str| {
            let name = if prefix.is_empty() { part.to_owned() } else { format!("{prefix}.{part}") };
            Locator::new(path, Some(&name)).map_err(|error| Failure::new(error, WHAT_FILES_HOLD))
        };
        layers.push((prefix.to_owned(), [locate("q")?, locate("k")?, locate("v")?]));
    }
    if layers.is_empty() {
        let found = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let found: String = found.chars().take(200).collect();
        return Err(Failure::new(format!("{}: no q among its tensors: {found}", path.display()), WHAT_FILES_HOLD));
    }
    Ok(layers)
}

/// The three files of which `path` is one: their names differ in the last q, k or v of the stem.
fn siblings(path: &Path) -> Result<[Locator; 3], Failure> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let extension = path.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(at) = stem.rfind(['q', 'k', 'v']) else {
        return Err(Failure::new(format!("{}: its name has no q, k or v", path.display()), WHAT_FILES_HOLD));
    };
    let locate = |part: &str| {
        let name: PathBuf = path.with_file_name(format!("{}{part}{}.{extension}", &stem[..at], &stem[at + 1..]));
        Locator::new(name, None).map_err(|error| Failure::new(error, WHAT_FILES_HOLD))
    };
    Ok([locate("q")?, locate("k")?, locate("v")?])
}

/// What a layer must be so that every index of the pickers has a problem.
fn check(path: &Path, layer: &Layer) -> Result<(), Failure> {
    let shape = layer.shape();
    let refuse = |what: String| Err(Failure::new(format!("{}: {what}", path.display()), WHAT_FILES_HOLD));
    let [k, v] = [layer.k.shape(), layer.v.shape()];
    if layer.q.shape()[0] == 0 || k[0] != layer.q.shape()[0] || v[0] != k[0] {
        return refuse(format!("q, k, v have {}, {}, {} batches", layer.q.shape()[0], k[0], v[0]));
    }
    if shape.heads == 0 || shape.kv_heads == 0 || !shape.heads.is_multiple_of(shape.kv_heads) || v[1] != k[1] {
        return refuse(format!("{} query heads, {} key heads and {} value heads do not fit", shape.heads, k[1], v[1]));
    }
    if k[3] != shape.head_dim || shape.head_dim == 0 || shape.value_dim == 0 {
        return refuse(format!("q has head_dim {}, k {}, v {}", shape.head_dim, k[3], v[3]));
    }
    if shape.keys == 0 || shape.queries == 0 || v[2] != shape.keys {
        return refuse(format!("{} queries, {} keys and {} values", shape.queries, shape.keys, v[2]));
    }
    Ok(())
}
