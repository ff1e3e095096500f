//! A corpus on disc, opened.

use super::content::{self, Inputs};
use super::judge::Expected;
use super::manifest::{Entry, Manifest, SCHEMA};
use contattn_core::file::{self, Array, ArrayError, FileError};
use contattn_core::{EngineError, ProblemError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name of the manifest within the folder.
pub const MANIFEST: &str = "manifest.json";

/// Why a corpus, or a case of it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GoldenError {
    /// A file that cannot be read.
    #[error("{}: {source}", .path.display())]
    Io {
        /// the file
        path: PathBuf,
        /// what went wrong
        source: std::io::Error,
    },
    /// A manifest that is none.
    #[error("{}: {reason}", .path.display())]
    Manifest {
        /// the file
        path: PathBuf,
        /// what is wrong
        reason: String,
    },
    /// No case of this name.
    #[error("no case is called {name:?}")]
    NoSuchCase {
        /// the name
        name: String,
        /// names that look like it
        similar: Vec<String>,
    },
    /// A case has no such result.
    #[error("case {case} has no result {output:?}: expected one of {}", .available.join(", "))]
    NoSuchOutput {
        /// the case
        case: String,
        /// the name
        output: String,
        /// the results that it has
        available: Vec<String>,
    },
    /// A result of another shape.
    #[error("{output}: shape {found:?}, expected {expected:?}")]
    Shape {
        /// the result
        output: String,
        /// the shape that it should have
        expected: Vec<usize>,
        /// the shape found
        found: Vec<usize>,
    },
    /// A case's file is damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// A case's file lacks a tensor, or has it in another type.
    #[error("case {case}, tensor {tensor}: {reason}")]
    Tensor {
        /// the case
        case: String,
        /// the tensor
        tensor: String,
        /// what is wrong
        reason: String,
    },
    /// A case's file states no problem.
    #[error("case {case}: {source}")]
    Problem {
        /// the case
        case: String,
        /// what is wrong
        source: ProblemError,
    },
    /// An engine failed on a case that it did not refuse.
    #[error("case {case}: {source}")]
    Engine {
        /// the case
        case: String,
        /// what went wrong
        source: EngineError,
    },
}

impl GoldenError {
    pub(super) fn tensor(case: &str, tensor: &str, reason: impl ToString) -> GoldenError {
        GoldenError::Tensor { case: case.to_owned(), tensor: tensor.to_owned(), reason: reason.to_string() }
    }
}

/// A folder of golden files.
#[derive(Clone, Debug)]
pub struct Corpus {
    folder: PathBuf,
    manifest: Manifest,
}

impl Corpus {
    /// Reads the manifest.
    ///
    /// # Errors
    /// [`GoldenError::Io`], [`GoldenError::Manifest`].
    pub fn open(folder: impl AsRef<Path>) -> Result<Corpus, GoldenError> {
        let folder = folder.as_ref().to_owned();
        let path = folder.join(MANIFEST);
        let text = std::fs::read_to_string(&path).map_err(|source| GoldenError::Io { path: path.clone(), source })?;
        let damaged = |reason: String| GoldenError::Manifest { path: path.clone(), reason };
        let manifest: Manifest = serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
        if manifest.schema != SCHEMA {
            return Err(damaged(format!("schema {:?}, expected {SCHEMA:?}", manifest.schema)));
        }
        // A name from outside must not lead out of the folder.
        let plain = |name: &str| Path::new(name).components().count() == 1 && Path::new(name).file_name().is_some();
        if let Some(case) = manifest.cases.iter().find(|case| !plain(&case.file)) {
            return Err(damaged(format!("case {}: {:?} is no name of a file in this folder", case.name, case.file)));
        }
        Ok(Corpus { folder, manifest })
    }

    /// What it holds.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The entry of this name.
    ///
    /// # Errors
    /// [`GoldenError::NoSuchCase`] with names that look like it.
    pub fn entry(&self, name: &str) -> Result<&Entry, GoldenError> {
        let found = self.manifest.cases.iter().find(|case| case.name == name);
        found.ok_or_else(|| {
            let names = self.manifest.cases.iter().map(|case| &case.name);
            let alike = |other: &str| name.split('-').filter(|part| other.split('-').any(|p| p == *part)).count();
            let most = names.clone().map(|n| alike(n)).max().unwrap_or(0);
            let similar = names.filter(|n| most > 0 && alike(n) == most).take(4).cloned().collect();
            GoldenError::NoSuchCase { name: name.to_owned(), similar }
        })
    }

    /// Path of a case's file.
    pub fn path(&self, entry: &Entry) -> PathBuf {
        self.folder.join(&entry.file)
    }

    /// The problem of a case and its results by name.
    ///
    /// # Errors
    /// [`GoldenError::File`], [`GoldenError::Tensor`], [`GoldenError::Problem`].
    pub fn load(&self, entry: &Entry) -> Result<(Inputs, BTreeMap<String, Expected>), GoldenError> {
        let path = self.path(entry);
        let bytes = std::fs::read(&path).map_err(|source| GoldenError::Io { path, source })?;
        let arrays: BTreeMap<String, Array> = file::safetensors::from_bytes(&bytes)?.into_iter().collect();
        let inputs = content::read_inputs(entry, &arrays)?;
        let mut expected = BTreeMap::new();
        for (name, output) in &entry.outputs {
            let tensor = |tensor: &str| {
                let array = arrays.get(tensor).ok_or_else(|| GoldenError::tensor(&entry.name, tensor, "missing"))?;
                let wrong = |e: ArrayError| GoldenError::tensor(&entry.name, tensor, e);
                array.clone().into_tensor().map_err(wrong)
            };
            let (typed, exact) = (tensor(&output.tensor)?, tensor(&output.f64)?);
            let types = (typed.dtype().name(), exact.dtype().name());
            if types != (&*output.dtype, "f64") || typed.shape() != exact.shape() {
                let reason = format!("{types:?}, expected {} and f64 of one shape", output.dtype);
                return Err(GoldenError::tensor(&entry.name, &output.tensor, reason));
            }
            let tolerances = output.tolerance;
            expected.insert(name.clone(), Expected { output: name.clone(), typed, exact, tolerances });
        }
        Ok((inputs, expected))
    }

    /// One result of a case that was loaded.
    ///
    /// # Errors
    /// [`GoldenError::NoSuchOutput`] with the results that there are.
    pub fn output<'e>(
        entry: &Entry,
        expected: &'e BTreeMap<String, Expected>,
        output: &str,
    ) -> Result<&'e Expected, GoldenError> {
        expected.get(output).ok_or_else(|| GoldenError::NoSuchOutput {
            case: entry.name.clone(),
            output: output.to_owned(),
            available: expected.keys().cloned().collect(),
        })
    }
}
