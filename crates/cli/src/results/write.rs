//! All files or none: each is written aside, and they are put in place when the last one is complete.

use super::plan::Destination;
use super::{Named, Plan};
use crate::context::Context;
use anyhow::Context as _;
use contattn_core::file::{self, Array, FileError, Format, Locator};
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

impl Plan {
    /// Writes every file with the results that it asks for; `.safetensors` files carry `metadata`.
    ///
    /// # Errors
    /// [`file::FileError`], [`std::io::Error`], or cancellation: then no file has changed, unless putting a complete file in
    /// place failed after another one was.
    pub(crate) fn write(
        &self,
        results: &[Named],
        metadata: &BTreeMap<String, String>,
        context: &Context,
    ) -> anyhow::Result<()> {
        context.commit(|| {
            let mut aside = Vec::with_capacity(self.files.len());
            for file in &self.files {
                aside.push((write_aside(file, results, metadata)?, file));
                context.go_on()?;
            }
            for (folder, file) in &aside {
                std::fs::rename(folder.path().join(complete(file)), &file.path)
                    .with_context(|| file.path.display().to_string())?;
            }
            Ok(())
        })
    }
}

/// Name of a complete file in its folder aside.
fn complete(file: &Destination) -> String {
    format!("complete{}", file.format.extension())
}

/// The complete file in a folder of its own, next to where it will stand, so that the last step is a rename. Dropping the
/// folder removes it.
fn write_aside(file: &Destination, results: &[Named], metadata: &BTreeMap<String, String>) -> anyhow::Result<TempDir> {
    let flags: Vec<&str> = file.targets.iter().map(|target| target.flag).collect();
    let shown = || format!("{}: {}", flags.join(", "), file.path.display());
    let parent = match file.path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let folder = tempfile::Builder::new().prefix(".contattn-").suffix(".tmp").tempdir_in(parent).with_context(shown)?;
    let path = folder.path().join(complete(file));
    let content: Vec<(&str, Array)> = Plan::content(file, results)
        .map(|(target, named)| (target.name.as_deref().unwrap_or_default(), Array::from(named.tensor.clone())))
        .collect();
    match (file.format, &*content) {
        (Format::Npy, [(_, array)]) => file::write(&Locator::new(&path, None)?, array),
        _ => {
            let arrays: Vec<_> = content.iter().map(|(name, array)| (*name, array)).collect();
            let none = BTreeMap::new();
            let held = if file.format == Format::Safetensors { metadata } else { &none };
            file::write_many(&path, &arrays, held)
        }
    }
    .map_err(|e| in_place(&e).context(shown()))?;
    Ok(folder)
}

/// The error without the path of the folder aside, which means nothing to anybody.
fn in_place(error: &FileError) -> anyhow::Error {
    let bare = anyhow::Error::from(FileError::from(error.fault().clone()));
    match error.tensor() {
        Some(tensor) => bare.context(format!("tensor {tensor:?}")),
        None => bare,
    }
}
