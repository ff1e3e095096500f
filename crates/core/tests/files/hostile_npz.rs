//! Archives that lie.

use crate::{array, assert_fault, fixture_bytes};
use contattn_core::file::{Fault, npy, npz};
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn archive(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Replaces every place of `from`, which must exist.
fn patch(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut patched = bytes.to_vec();
    let places: Vec<usize> = (0..=bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        patched[at..at + to.len()].copy_from_slice(to);
    }
    patched
}

fn set(bytes: &[u8], at: usize, to: &[u8]) -> Vec<u8> {
    let mut patched = bytes.to_vec();
    patched[at..at + to.len()].copy_from_slice(to);
    patched
}

/// Ten megabytes of zeros behind a header that claims four numbers, in ten kilobytes of archive.
#[test]
fn bomb() {
    let four = npy::to_bytes(&array(&[4], vec![0.0f32; 4])).unwrap();
    let swollen = [&four[..], &vec![0; 10_000_000]].concat();
    let bytes = archive(&[("a.npy", &swollen)], CompressionMethod::Deflated);
    assert!(bytes.len() < 30_000);
    let e = npz::from_bytes(&bytes).unwrap_err();
    assert_eq!(e.tensor(), Some("a"));
    assert!(matches!(e.fault(), Fault::Trailing { expected } if *expected == four.len() as u64));
    // The same with the size that the directory claims made to agree with the header.
    let (honest, lying) = ((swollen.len() as u32).to_le_bytes(), (four.len() as u32).to_le_bytes());
    let result = npz::from_bytes(&patch(&bytes, &honest, &lying));
    assert_fault!(result, Fault::Archive { message } if message.contains("larger than its declared"));
}

#[test]
fn sizes_that_the_archive_does_not_back() {
    let huge = "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967200,), }\n";
    let member = [b"\x93NUMPY\x01\0", &(huge.len() as u16).to_le_bytes()[..], huge.as_bytes()].concat();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let bytes = archive(&[("a.npy", &member)], method);
        assert_fault!(npz::from_bytes(&bytes), Fault::Truncated { what: "data", found: 0, .. });
    }
    // Header and directory agree on four gigabytes, and the compressed bytes hold none.
    let bytes = archive(&[("a.npy", &member)], CompressionMethod::Deflated);
    let claimed = (member.len() as u64 + 4_294_967_200) as u32;
    assert!(u64::from(claimed) == member.len() as u64 + 4_294_967_200);
    let directory = bytes.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    let lying = set(&set(&bytes, 22, &claimed.to_le_bytes()), directory + 24, &claimed.to_le_bytes());
    assert_fault!(npz::from_bytes(&lying), Fault::Truncated { what: "data", found: 0, .. });
}

#[test]
fn the_last_record() {
    let bytes = fixture_bytes("stored.npz");
    let end = bytes.len() - 22;
    let archive_fault = |bytes: &[u8], word: &str| {
        assert_fault!(npz::from_bytes(bytes), Fault::Archive { message } if message.contains(word));
    };
    archive_fault(&set(&bytes, end + 10, &60_000u16.to_le_bytes()), "room for as many members");
    archive_fault(&set(&bytes, end + 12, &u32::MAX.to_le_bytes()), "right before");
    archive_fault(&set(&bytes, end + 16, &5u32.to_le_bytes()), "right before");
    archive_fault(&set(&bytes, end + 20, &1u16.to_le_bytes()), "does not end the file");
    archive_fault(&[&bytes[..], b"x"].concat(), "does not end the file");
    archive_fault(&[&bytes[..], &bytes[..]].concat(), "right before");
    archive_fault(&[b"PK\x03\x04", &bytes[..]].concat(), "right before");
    // Fewer members than the directory holds, and more members than it holds.
    assert!(npz::from_bytes(&set(&bytes, end + 8, &[2, 0, 2, 0])).is_err());
    archive_fault(&set(&bytes, end + 8, &[4, 0, 4, 0]), "");
}

/// Claims of the 64-bit record, whose numbers are not limited by their width.
#[test]
fn the_last_record_of_64_bits() {
    let bytes = fixture_bytes("stored.npz");
    let end = bytes.len() - 22;
    let number = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let (size, at) = (number(end + 12), number(end + 16));
    let file = |count: u64, size: u64, at: u64, record_at: u64| {
        let mut record = b"PK\x06\x06".to_vec();
        record.extend(44u64.to_le_bytes());
        record.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        [count, count, size, at].iter().for_each(|n| record.extend(n.to_le_bytes()));
        record.extend(b"PK\x06\x07\0\0\0\0");
        record.extend(record_at.to_le_bytes());
        record.extend(1u32.to_le_bytes());
        record.extend(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0");
        [&bytes[..end], &record].concat()
    };
    let end = end as u64;
    assert_eq!(npz::from_bytes(&file(3, size, at, end)).unwrap(), npz::from_bytes(&bytes).unwrap());
    for (count, size, at, record_at) in [
        (1 << 60, size, at, end),
        (u64::MAX, size, at, end),
        (3, u64::MAX, at, end),
        (3, size, u64::MAX, end),
        (3, size, 1 << 60, end),
        (3, size, at, 1 << 60),
        (4, size, at, end),
        (2, size, at, end),
        (0, size, at, end),
    ] {
        assert!(npz::from_bytes(&file(count, size, at, record_at)).is_err(), "{count} {size} {at} {record_at}");
    }
}

#[test]
fn members() {
    let x = npy::to_bytes(&array(&[2], vec![1.0f32, 2.0])).unwrap();
    let stored = CompressionMethod::Stored;
    // Two members of one name: the writer refuses, so the second is renamed afterwards.
    let twice = patch(&archive(&[("aa.npy", &x), ("bb.npy", &x)], stored), b"bb.npy", b"aa.npy");
    assert_fault!(npz::from_bytes(&twice), Fault::DuplicateName);
    // Two names that are one as far as the first NUL.
    let twice = patch(&archive(&[("a.npy-b", &x), ("a.npy", &x)], stored), b"a.npy-b", b"a.npy\0b");
    let e = npz::from_bytes(&twice).unwrap_err();
    assert_eq!((e.tensor(), e.fault()), (Some("a"), &Fault::DuplicateName));
    // The second entry of the directory points to the first member.
    let two = archive(&[("a.npy", &x), ("b.npy", &x)], stored);
    let second = two.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    assert_fault!(npz::from_bytes(&set(&two, second + 42, &0u32.to_le_bytes())), Fault::OverlappingMembers);
    // A wrong checksum, a wrong number, a method that is not there, an encrypted member.
    let one = archive(&[("a.npy", &x)], stored);
    let directory = one.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    assert_fault!(npz::from_bytes(&set(&one, directory + 16, &[1, 2, 3, 4])), Fault::Checksum);
    assert_fault!(npz::from_bytes(&patch(&one, &2.0f32.to_le_bytes(), &3.0f32.to_le_bytes())), Fault::Checksum);
    assert_fault!(npz::from_bytes(&set(&one, directory + 10, &[12, 0])), Fault::Archive { .. });
    assert_fault!(npz::from_bytes(&set(&one, directory + 8, &[1, 0])), Fault::Archive { .. });
    // Deflated bytes that are none.
    let deflated = archive(&[("a.npy", &[&x[..], &[0; 0]].concat())], CompressionMethod::Deflated);
    let data = 30 + "a.npy".len();
    assert_fault!(npz::from_bytes(&set(&deflated, data, &[0xff; 8])), Fault::Archive { .. });
    // Other files in the archive are no arrays; a member that only has the name of one is an error.
    let mixed = archive(&[("readme.txt", b"hello"), ("folder/", b""), ("a.npy", &x)], stored);
    assert_eq!(npz::from_bytes(&mixed).unwrap().len(), 1);
    assert_fault!(npz::from_bytes(&archive(&[("a.npy", b"hello, world")], stored)), Fault::Foreign { .. });
    assert_fault!(npz::from_bytes(&archive(&[("a.npy", b"")], stored)), Fault::Truncated { found: 0, .. });
}

#[test]
fn not_such_a_file() {
    assert_fault!(npz::from_bytes(b""), Fault::Truncated { found: 0, .. });
    assert_fault!(npz::from_bytes(b"PK"), Fault::Truncated { found: 2, .. });
    assert_fault!(npz::from_bytes(b"\x93NUMPY\x01\0v\0{'descr'"), Fault::Foreign { .. });
    assert_fault!(npz::from_bytes(&[b' '; 100]), Fault::Foreign { .. });
    assert!(npz::from_bytes(&npz::to_bytes(&[]).unwrap()).unwrap().is_empty());
    let x = array(&[1], vec![5u8]);
    let named = npz::from_bytes(&npz::to_bytes(&[("../a/b", &x), ("/c", &x)]).unwrap()).unwrap();
    assert_eq!(named, [("../a/b".to_owned(), x.clone()), ("/c".to_owned(), x)]);
}
