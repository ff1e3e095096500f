//! `.npz`: a zip archive whose members `NAME.npy` are the arrays, as `numpy.savez` and `savez_compressed` write it.
//!
//! Names may hold anything that a zip archive can name, slashes too: nothing is ever extracted to a path. Written
//! archives are not compressed and carry no time, so equal arrays give equal bytes.

mod directory;

use super::array::Array;
use super::entry::Entry;
use super::error::{Fault, FileError};
use super::npy;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Cursor, Read, Seek, Write};
use zip::read::{ArchiveOffset, Config, ZipFile};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// The arrays in `bytes`, which are a whole file, sorted by name.
///
/// # Errors
/// [`FileError`] for anything else, and for a member that is not an array.
pub fn from_bytes(bytes: &[u8]) -> Result<Vec<(String, Array)>, FileError> {
    let mut archive = Archive::open(Cursor::new(bytes))?;
    let members: Vec<(String, usize)> = archive.members.clone().into_iter().collect();
    let arrays = members.into_iter().map(|(name, index)| {
        let array = archive.array(index).map_err(|e| e.in_tensor(&name))?;
        Ok((name, array))
    });
    arrays.collect()
}

/// The bytes of a file that holds `arrays`.
///
/// # Errors
/// [`Fault::Dtype`] for bf16, [`Fault::DuplicateName`], [`Fault::BadName`].
pub fn to_bytes(arrays: &[(&str, &Array)]) -> Result<Vec<u8>, FileError> {
    let mut bytes = Cursor::new(Vec::new());
    write(&mut bytes, arrays)?;
    Ok(bytes.into_inner())
}

/// Reads the array called `name`, or the only one.
pub(super) fn read(file: impl Read + Seek, name: Option<&str>) -> Result<Array, FileError> {
    let mut archive = Archive::open(BufReader::new(file))?;
    let (name, index) = choose(&archive.members, name).map(|(name, &index)| (name.clone(), index))?;
    archive.array(index).map_err(|e| e.in_tensor(&name))
}

/// Each array's name, type and shape.
pub(super) fn list(file: impl Read + Seek) -> Result<Vec<Entry>, FileError> {
    let mut archive = Archive::open(BufReader::new(file))?;
    let members: Vec<(String, usize)> = archive.members.clone().into_iter().collect();
    let entries = members.into_iter().map(|(name, index)| {
        let entry = archive.entry(index).map_err(|e| e.in_tensor(&name))?;
        Ok(Entry { name: Some(name), ..entry })
    });
    entries.collect()
}

/// The tensor called `name`, or the only one there is, among those of a file.
pub(super) fn choose<'a, T>(
    there: &'a BTreeMap<String, T>,
    name: Option<&str>,
) -> Result<(&'a String, &'a T), FileError> {
    let available = || there.keys().cloned().collect();
    match (name, there.first_key_value()) {
        (Some(name), _) => there
            .get_key_value(name)
            .ok_or_else(|| FileError::from(Fault::NoSuchName { available: available() }).in_tensor(name)),
        (None, Some(only)) if there.len() == 1 => Ok(only),
        (None, _) => Err(Fault::NameRequired { available: available() }.into()),
    }
}

/// An opened archive and where its arrays are in it.
struct Archive<R> {
    zip: ZipArchive<R>,
    members: BTreeMap<String, usize>,
}

impl<R: Read + Seek> Archive<R> {
    fn open(mut reader: R) -> Result<Archive<R>, FileError> {
        directory::check(&mut reader)?;
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let mut zip = ZipArchive::with_config(config, reader).map_err(damaged)?;
        // Members that share bytes let a small file expand to any size.
        if zip.has_overlapping_entries().map_err(damaged)? {
            return Err(Fault::OverlappingMembers.into());
        }
        let mut members = BTreeMap::new();
        for index in 0..zip.len() {
            let name = zip.by_index_data(index).and_then(|m| m.name().map(|n| n.into_owned())).map_err(damaged)?;
            if let Some(name) = npyz::npz::array_name_from_file_name(&name)
                && members.insert(name.to_owned(), index).is_some()
            {
                return Err(FileError::from(Fault::DuplicateName).in_tensor(name));
            }
        }
        Ok(Archive { zip, members })
    }

    fn array(&mut self, index: usize) -> Result<Array, FileError> {
        let mut member = self.member(index)?;
        let len = member.size();
        npy::read(&mut member, len).map_err(in_member)
    }

    fn entry(&mut self, index: usize) -> Result<Entry, FileError> {
        let mut member = self.member(index)?;
        let len = member.size();
        npy::entry(&mut member, len).map_err(in_member)
    }

    fn member(&mut self, index: usize) -> Result<ZipFile<'_, R>, FileError> {
        self.zip.by_index(index).map_err(damaged)
    }
}

/// What reading compressed bytes reports in place of the operating system's errors.
fn in_member(e: FileError) -> FileError {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof, Unsupported};
    match e.fault() {
        Fault::Io { message, .. } if message == "Invalid checksum" => Fault::Checksum.into(),
        Fault::Io { kind: InvalidData | InvalidInput | Unsupported | UnexpectedEof, message } => {
            Fault::Archive { message: message.clone() }.into()
        }
        _ => e,
    }
}

fn damaged(e: ZipError) -> FileError {
    match e {
        ZipError::Io(e) if e.kind() != io::ErrorKind::UnexpectedEof => in_member(e.into()),
        e => Fault::Archive { message: e.to_string() }.into(),
    }
}

/// Writes an archive of `arrays`.
pub(super) fn write(out: &mut (impl Write + Seek), arrays: &[(&str, &Array)]) -> Result<(), FileError> {
    let mut sorted = arrays.to_vec();
    sorted.sort_by_key(|&(name, _)| name);
    let mut seen = BTreeSet::new();
    let mut zip = ZipWriter::new(out);
    for (name, array) in sorted {
        let mut member = || -> Result<(), FileError> {
            if name.is_empty() || name.contains('\0') {
                return Err(Fault::BadName { reason: "a member's name has at least one character and no NUL" }.into());
            }
            if name.len() > 60_000 {
                return Err(Fault::BadName { reason: "a zip archive holds names below 64 KiB" }.into());
            }
            if !seen.insert(name) {
                return Err(Fault::DuplicateName.into());
            }
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Stored)
                .last_modified_time(DateTime::default())
                .unix_permissions(0o644)
                .system(zip::System::Unix)
                .large_file(array.len().saturating_mul(array.dtype().size()) > (u32::MAX / 2) as usize);
            zip.start_file(npyz::npz::file_name_from_array_name(name), options).map_err(damaged)?;
            npy::write(&mut zip, array)
        };
        member().map_err(|e| e.in_tensor(name))?;
    }
    zip.finish().map_err(damaged)?.flush()?;
    Ok(())
}
