//! What an archive's last record claims, held against the file before anything is allocated by it.
//!
//! The zip crate reserves memory for as many members as that record says, limited by claims of the same record; it looks
//! for the record further up where bytes follow it, so that one file can be two archives; and it leaves out members that
//! the record does not count and the first of two with one name. Here the record must end the file, the directory must
//! lie right before it and hold as many members as the record says, each name once.

use super::super::error::{Fault, FileError};
use super::super::locator::Format;
use super::super::source;
use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};

const END: u64 = 22;
const END_64: u64 = 56;
const LOCATOR_64: u64 = 20;
const MEMBER: u64 = 46;

/// Leaves the reader where it then stands.
pub(super) fn check(reader: &mut (impl Read + Seek)) -> Result<(), FileError> {
    let len = reader.seek(SeekFrom::End(0))?;
    let mut start = [0; 4];
    reader.seek(SeekFrom::Start(0))?;
    let found = source::fill(reader, &mut start)?;
    // An archive begins with its first member, an empty one with the record of its end.
    if ![&b"PK\x03\x04"[..], b"PK\x05\x06"].iter().any(|magic| start[..found] == magic[..found]) {
        let reason = "it does not begin as a zip archive".to_owned();
        return Err(Fault::Foreign { format: Format::Npz, reason }.into());
    }
    let Some(end_at) = len.checked_sub(END) else {
        return Err(Fault::Truncated { what: "zip archive", expected: END, found: len }.into());
    };
    let end = record(reader, end_at, END as usize)?;
    if end[..4] != *b"PK\x05\x06" || u16_at(&end, 20) != 0 {
        return damaged("the record of its end does not end the file: it is cut short or bytes follow");
    }
    let (mut count, mut size, mut at) =
        (u64::from(u16_at(&end, 10)), u64::from(u32_at(&end, 12)), u64::from(u32_at(&end, 16)));
    let mut directory_end = end_at;
    if count == 0xffff || size == 0xffff_ffff || at == 0xffff_ffff {
        let (Some(locator_at), Some(end_64_at)) =
            (end_at.checked_sub(LOCATOR_64), end_at.checked_sub(LOCATOR_64 + END_64))
        else {
            return damaged("no room for the 64-bit record of its end");
        };
        let locator = record(reader, locator_at, LOCATOR_64 as usize)?;
        if locator[..4] == *b"PK\x06\x07" {
            let end_64 = record(reader, end_64_at, END_64 as usize)?;
            let placed = u64_at(&locator, 8) == end_64_at && end_64[..4] == *b"PK\x06\x06";
            if !placed || u64_at(&end_64, 4) != END_64 - 12 {
                return damaged("the 64-bit record of its end is not where it should be");
            }
            (count, size, at) = (u64_at(&end_64, 32), u64_at(&end_64, 40), u64_at(&end_64, 48));
            directory_end = end_64_at;
        }
    }
    if at.checked_add(size) != Some(directory_end) {
        return damaged("the directory does not lie right before the record of its end");
    }
    walk(reader, at, directory_end, count)
}

/// The members of the directory at `start..end`.
fn walk(reader: &mut (impl Read + Seek), start: u64, end: u64, count: u64) -> Result<(), FileError> {
    if count.checked_mul(MEMBER).is_none_or(|least| least > end - start) {
        return damaged("the directory has no room for as many members as it claims");
    }
    let mut names = BTreeSet::new();
    let mut at = start;
    for _ in 0..count {
        let member = record(reader, at, MEMBER as usize)?;
        if member[..4] != *b"PK\x01\x02" {
            return damaged("the directory holds something else than members");
        }
        let (name, extra, comment) = (u16_at(&member, 28), u16_at(&member, 30), u16_at(&member, 32));
        let name = source::take(reader, usize::from(name), "name of a member")?;
        at += MEMBER + name.len() as u64 + u64::from(extra) + u64::from(comment);
        if let Some(name) = names.replace(name) {
            return Err(FileError::from(Fault::DuplicateName).in_tensor(&String::from_utf8_lossy(&name)));
        }
    }
    match at == end {
        true => Ok(()),
        false => damaged("the directory holds more or fewer members than the record of its end says"),
    }
}

fn record(reader: &mut (impl Read + Seek), at: u64, len: usize) -> Result<Vec<u8>, FileError> {
    reader.seek(SeekFrom::Start(at))?;
    source::take(reader, len, "end of the zip archive")
}

fn damaged<T>(message: &str) -> Result<T, FileError> {
    Err(Fault::Archive { message: message.to_owned() }.into())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
