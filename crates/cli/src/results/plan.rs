//! Where results go, checked before any work is done.

use super::Named;
use crate::refusal::Refusal;
use contattn_core::Dtype;
use contattn_core::file::{Format, Locator};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// One result that may be asked for.
pub(crate) struct Wanted<'a> {
    /// the option
    pub(crate) flag: &'static str,
    /// the result's name, also in a file where the option gives none
    pub(crate) name: &'static str,
    /// the option's value
    pub(crate) file: Option<&'a Locator>,
}

/// A result and its place.
pub(super) struct Target {
    pub(super) flag: &'static str,
    pub(super) result: &'static str,
    /// name within the file; none for `.npy`
    pub(super) name: Option<String>,
}

/// A file and all that goes into it.
pub(super) struct Destination {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) targets: Vec<Target>,
    /// what tells it from other files
    identity: (PathBuf, OsString),
}

/// All files that will be written.
pub(crate) struct Plan {
    pub(super) files: Vec<Destination>,
}

impl Plan {
    /// Sorts the results asked for by file.
    ///
    /// # Errors
    /// A [`Refusal`] where a file cannot take what is to go into it.
    pub(crate) fn new(wanted: &[Wanted<'_>], inputs: &[(&'static str, &Locator)]) -> anyhow::Result<Plan> {
        let mut plan = Plan { files: Vec::new() };
        for Wanted { flag, name, file } in wanted {
            if let Some(file) = file {
                plan.add(flag, name, file)?;
            }
        }
        for destination in &plan.files {
            destination.spare_inputs(inputs)?;
        }
        Ok(plan)
    }

    fn add(&mut self, flag: &'static str, result: &'static str, file: &Locator) -> anyhow::Result<()> {
        let identity = identity(flag, file.path())?;
        let format = file.format();
        let name = (format != Format::Npy).then(|| file.name().unwrap_or(result).to_owned());
        let target = Target { flag, result, name };
        let Some(known) = self.files.iter_mut().find(|known| known.identity == identity) else {
            let path = file.path().to_owned();
            self.files.push(Destination { path, format, targets: vec![target], identity });
            return Ok(());
        };
        if let Some(other) = known.targets.iter().find(|other| other.name == target.name) {
            let advice = match format {
                Format::Npy => "a .npy file holds one array; use two files, or one .npz or .safetensors",
                Format::Npz | Format::Safetensors => "put different names behind the colon",
            };
            return Err(Refusal::bad_input(format!("{} and {flag} both go to {file}", other.flag), advice).into());
        }
        known.targets.push(target);
        Ok(())
    }

    /// Whether nothing is to be written.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether this result is to be written.
    pub(crate) fn has(&self, result: &str) -> bool {
        self.files.iter().any(|file| file.targets.iter().any(|target| target.result == result))
    }

    /// Where a result goes, as text.
    pub(super) fn place(&self, result: &str) -> Option<String> {
        self.files.iter().find_map(|file| {
            let target = file.targets.iter().find(|target| target.result == result)?;
            let path = file.path.display();
            Some(target.name.as_ref().map_or_else(|| path.to_string(), |name| format!("{path}:{name}")))
        })
    }

    /// Refuses results of `dtype` in files that cannot hold it; lse and ddurations are never of 16 bits.
    ///
    /// # Errors
    /// A [`Refusal`] that names the option.
    pub(crate) fn check_dtype(&self, dtype: Dtype) -> anyhow::Result<()> {
        let of = |result| if matches!(result, "lse" | "ddurations") { dtype.lse() } else { dtype };
        for file in self.files.iter().filter(|file| file.format != Format::Safetensors) {
            if let Some(target) = file.targets.iter().find(|target| of(target.result) == Dtype::BF16) {
                return Err(Refusal::bad_input(
                    format!("{}: a {} file cannot hold bf16", target.flag, file.format),
                    "use .safetensors, or another --dtype",
                )
                .into());
            }
        }
        Ok(())
    }

    /// The results that go into `file`, in the order asked for.
    pub(super) fn content<'r>(
        file: &'r Destination,
        results: &'r [Named],
    ) -> impl Iterator<Item = (&'r Target, &'r Named)> {
        let find = |target: &Target| results.iter().find(|named| named.name == target.result);
        file.targets.iter().filter_map(move |target| find(target).map(|named| (target, named)))
    }
}

impl Destination {
    /// Replacing a single array that is read is what its user asked for; replacing an archive would lose its other tensors.
    fn spare_inputs(&self, inputs: &[(&'static str, &Locator)]) -> anyhow::Result<()> {
        let real = |path: &Path| path.canonicalize().ok();
        let Some(own) = real(&self.path).filter(|_| self.format != Format::Npy) else { return Ok(()) };
        match inputs.iter().find(|(_, input)| real(input.path()).as_ref() == Some(&own)) {
            None => Ok(()),
            Some((input, _)) => Err(Refusal::bad_input(
                format!("{} would replace {}, which {input} reads", self.targets[0].flag, self.path.display()),
                "a file is replaced as a whole, and its other tensors would be lost: write to another file",
            )
            .into()),
        }
    }
}

/// Tells files apart that may not exist yet: their folder, which must exist, and their name in it.
fn identity(flag: &str, path: &Path) -> anyhow::Result<(PathBuf, OsString)> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if path.is_dir() {
        return Err(Refusal::bad_input(format!("{flag}: {} is a folder", path.display()), "name a file").into());
    }
    let (Ok(folder), Some(name)) = (folder.canonicalize(), path.file_name()) else {
        return Err(Refusal::bad_input(
            format!("{flag}: there is no folder {}", folder.display()),
            "make the folder first, or choose another",
        )
        .into());
    };
    Ok((folder, name.to_owned()))
}
