//! Writing a file aside and renaming it when it is complete.

use super::error::{Fault, FileError};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Lets `content` write to a temporary file in the same folder, then puts it in the place of `path`. On an error the
/// temporary file is removed and `path` is as it was.
pub(super) fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<&File>) -> Result<(), FileError>,
) -> Result<(), FileError> {
    if path.is_dir() {
        return Err(Fault::NotAFile.into());
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".contattn-").suffix(".tmp");
    // A temporary file is readable by its owner alone; this one becomes an ordinary file, as far as the umask allows.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let aside = builder.tempfile_in(folder)?;
    let mut out = BufWriter::with_capacity(1 << 16, aside.as_file());
    content(&mut out)?;
    out.flush()?;
    drop(out);
    // Without this a crash of the machine may keep the rename and lose the content.
    aside.as_file().sync_all()?;
    aside.persist(path).map_err(|e| e.error)?;
    Ok(())
}
