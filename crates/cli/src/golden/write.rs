//! `contattn golden write`: evaluates every case with the reference and writes the corpus.

mod evaluate;

use crate::context::Context;
use crate::exit::Exit;
use crate::print;
use crate::refusal::Refusal;
use anyhow::Context as _;
use contattn_check::golden::{Entry, MANIFEST, Manifest, Recipe, cases};
use contattn_core::Monitor;
use contattn_core::file::{self, Array, safetensors};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Evaluates every case with the reference and writes the corpus: the same bits from every run.
#[derive(Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Args {
    /// Folder of the corpus; made if it is not there
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Only cases whose name has this text in it
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Print the counts, and any error, as JSON
    #[arg(long)]
    json: bool,
}

/// What was written.
#[derive(Debug, Serialize)]
struct Summary {
    command: &'static str,
    folder: String,
    cases: usize,
    /// of all cases' files
    bytes: usize,
    /// results that are correctly rounded, and how many of them an exact comparison settled
    rounded: u64,
    exactly: u64,
    /// the same of gradients, and those of which an enclosure alone is known
    gradients_rounded: u64,
    gradients_unresolved: u64,
}

const HELP: &str = "\
The corpus is written aside and put in place when it is complete. Files of cases that an older corpus
in DIR has and the new one has not are removed; other files are left alone.

Examples:
  $ contattn golden write out --only rounding";

/// Writes the corpus.
///
/// # Errors
/// No such case; files; cancellation.
pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let wanted = |recipe: &Recipe| args.only.as_ref().is_none_or(|text| recipe.name.contains(text));
    let recipes: Vec<Recipe> = cases().into_iter().filter(wanted).collect();
    if recipes.is_empty() {
        return Err(Refusal::bad_input("no case has that text in its name", "leave --only out for all cases").into());
    }
    let monitor = context.monitor_of("golden", "cases");
    let mut written = Vec::with_capacity(recipes.len());
    for (done, recipe) in recipes.iter().enumerate() {
        monitor.progress(done as u64, recipes.len() as u64);
        let (mut entry, arrays) = evaluate::case(recipe, &context.quiet()).with_context(|| recipe.name.clone())?;
        let arrays: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (&**name, array)).collect();
        let metadata = [("case", &*recipe.name), ("schema", contattn_check::golden::SCHEMA)];
        let metadata = metadata.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let bytes = safetensors::to_bytes(&arrays, &BTreeMap::from(metadata))?;
        entry.bytes = bytes.len() as u64;
        context.go_on()?;
        written.push((entry, bytes));
    }
    drop(monitor);
    let bytes: usize = written.iter().map(|(_, bytes)| bytes.len()).sum();
    let (entries, files): (Vec<Entry>, Vec<Vec<u8>>) = written.into_iter().unzip();
    let manifest = Manifest::new(entries);
    context.commit(|| put(&args.dir, &manifest, &files))?;
    let count = |f: fn(&Entry) -> u64| manifest.cases.iter().map(f).sum::<u64>();
    let summary = Summary {
        command: "golden write",
        folder: args.dir.display().to_string(),
        cases: manifest.cases.len(),
        bytes,
        rounded: count(|e| e.certificates.forward.values().map(|c| c.by_enclosure + c.exactly).sum()),
        exactly: count(|e| e.certificates.forward.values().map(|c| c.exactly).sum()),
        gradients_rounded: count(|e| e.certificates.gradients.values().map(|c| c.rounded).sum()),
        gradients_unresolved: count(|e| e.certificates.gradients.values().map(|c| c.unresolved).sum()),
    };
    if args.json {
        print::json(&summary)?
    } else {
        print::text(&summary.text())?
    }
    Ok(Exit::Success.into())
}

impl Summary {
    fn text(&self) -> String {
        let Summary { folder, cases, bytes, rounded, exactly, gradients_rounded, gradients_unresolved, .. } = self;
        format!(
            "golden  {cases} cases, {bytes} bytes in {folder}\n        {rounded} results rounded, {exactly} of them by exact \
             comparison; {gradients_rounded} gradients rounded, {gradients_unresolved} unresolved\n"
        )
    }
}

/// Everything into a folder aside, then file by file into place, the manifest last.
fn put(folder: &Path, manifest: &Manifest, files: &[Vec<u8>]) -> anyhow::Result<()> {
    let shown = || folder.display().to_string();
    std::fs::create_dir_all(folder).with_context(shown)?;
    let aside = tempfile::Builder::new().prefix(".contattn-").suffix(".tmp").tempdir_in(folder).with_context(shown)?;
    for (entry, bytes) in manifest.cases.iter().zip(files) {
        file::write_bytes(aside.path().join(&entry.file), bytes)?;
    }
    file::write_bytes(aside.path().join(MANIFEST), manifest.to_text().as_bytes())?;
    let fresh: BTreeSet<&str> = manifest.cases.iter().map(|entry| &*entry.file).collect();
    let old = contattn_check::golden::Corpus::open(folder).ok();
    for name in fresh.iter().copied().chain([MANIFEST]) {
        std::fs::rename(aside.path().join(name), folder.join(name)).with_context(shown)?;
    }
    let gone = old.iter().flat_map(|old| &old.manifest().cases).filter(|entry| !fresh.contains(&*entry.file));
    for entry in gone {
        match std::fs::remove_file(folder.join(&entry.file)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e).with_context(shown),
            _ => {}
        }
    }
    Ok(())
}
