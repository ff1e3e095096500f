//! Files cut short at every length, and with every byte changed: always an error or an answer, never a panic.

use crate::{array, bits, fixture_bytes, sample};
use contattn_core::file::{Array, ArrayDtype, FileError, npy, npz, safetensors};
use std::collections::BTreeMap;

type Reader = fn(&[u8]) -> Result<Vec<(String, Array)>, FileError>;

fn one(bytes: &[u8]) -> Result<Vec<(String, Array)>, FileError> {
    npy::from_bytes(bytes).map(|x| vec![(String::new(), x)])
}

fn files() -> Vec<(&'static str, Reader, Vec<u8>)> {
    let (x, y) = (array(&[2, 3], sample(ArrayDtype::F32, 6)), array(&[], sample(ArrayDtype::Bool, 1)));
    let metadata = BTreeMap::from([("note".to_owned(), "text".to_owned())]);
    let named = [("x", &x), ("y", &y)];
    let mut files: Vec<(_, Reader, _)> = vec![
        ("our npy", one, npy::to_bytes(&x).unwrap()),
        ("our npz", npz::from_bytes, npz::to_bytes(&named).unwrap()),
        ("our safetensors", safetensors::from_bytes, safetensors::to_bytes(&named, &metadata).unwrap()),
    ];
    for name in ["f4_big_fortran.npy", "bool.npy", "scalar.npy", "empty.npy", "structured.npy", "version2.npy"] {
        files.push((name, one, fixture_bytes(name)));
    }
    for name in ["stored.npz", "deflated.npz", "single.npz"] {
        files.push((name, npz::from_bytes, fixture_bytes(name)));
    }
    for name in ["single.safetensors", "types.safetensors"] {
        files.push((name, safetensors::from_bytes, fixture_bytes(name)));
    }
    files
}

#[test]
fn cut_short_at_every_length() {
    for (name, read, bytes) in files() {
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "{name} cut to {len} bytes");
        }
    }
}

#[test]
fn bytes_behind_the_end() {
    for (name, read, bytes) in files() {
        for extra in [&b"\0"[..], b"PK", &bytes] {
            assert!(read(&[&bytes[..], extra].concat()).is_err(), "{name} and {} bytes", extra.len());
        }
    }
}

/// A changed byte of a number is another number, which no format but the archive can know; there the checksum must.
#[test]
fn every_byte_changed() {
    for (name, read, bytes) in files() {
        let original: Vec<_> = read(&bytes).unwrap_or_default().iter().map(|(_, x)| bits(x)).collect();
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, b'9', b'{', b'[', b'\'', bytes[at] ^ 1, bytes[at] ^ 0x40, !bytes[at]]
            {
                let mut changed = bytes.clone();
                changed[at] = value;
                let result = read(&changed);
                if let (true, Ok(arrays)) = (name.ends_with("npz"), result) {
                    for (_, x) in arrays {
                        assert!(original.contains(&bits(&x)), "{name}, byte {at} set to {value}");
                    }
                }
            }
        }
    }
}
