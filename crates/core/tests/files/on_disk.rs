//! What happens to the file system: whole files or the old ones, and nothing but the tensor asked for is read.

use crate::{array, assert_fault, bits, sample};
use contattn_core::file::{self, ArrayDtype, ArrayError, Fault, FileError, Locator, LocatorError};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn written_and_read_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let x = array(&[2, 3], sample(ArrayDtype::F16, 6));
    for text in ["x.npy", "at 12:30.npz:a/b:c", "x.safetensors:../layer00.q"] {
        let locator: Locator = format!("{}/{text}", folder.path().display()).parse().unwrap();
        file::write(&locator, &x).unwrap();
        assert_eq!(bits(&file::read(&locator).unwrap()), bits(&x));
        let only = Locator::new(locator.path(), None).unwrap();
        assert_eq!(bits(&file::read(&only).unwrap()), bits(&x));
        let listed = file::list(locator.path()).unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].name.as_deref(), &listed[0].shape[..]), (locator.name(), &[2, 3][..]));
    }
    assert_eq!(names_in(folder.path()), ["at 12:30.npz", "x.npy", "x.safetensors"]);
}

#[test]
fn many_with_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let (x, y) = (array(&[1], vec![1.0f32]), array(&[1], vec![2i64]));
    let path = folder.path().join("m.safetensors");
    let metadata: BTreeMap<String, String> = (0..30).map(|i| (format!("key {i}"), format!("value {i}"))).collect();
    file::write_many(&path, &[("y", &y), ("x", &x)], &metadata).unwrap();
    let first = std::fs::read(&path).unwrap();
    assert_eq!(file::metadata(&path).unwrap(), metadata);
    file::write_many(&path, &[("x", &x), ("y", &y)], &metadata).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), first);

    let archive = folder.path().join("m.npz");
    assert_fault!(file::write_many(&archive, &[("x", &x)], &metadata), Fault::MetadataNotHeld { .. });
    let single = folder.path().join("m.npy");
    assert_fault!(file::write_many(&single, &[("x", &x)], &BTreeMap::new()), Fault::NameNotAllowed);
    let nameless = Locator::new(&archive, None).unwrap();
    assert_fault!(file::write(&nameless, &x), Fault::NameRequired { .. });
    assert_fault!(file::write_many(folder.path().join("m.txt"), &[], &BTreeMap::new()), Fault::UnknownExtension);
    assert_eq!(names_in(folder.path()), ["m.safetensors"]);
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let old = array(&[1], vec![1.0f32]);
    let bf16 = array(&[3], sample(ArrayDtype::BF16, 3));
    for text in ["x.npy", "x.npz:x"] {
        let locator: Locator = format!("{}/{text}", folder.path().display()).parse().unwrap();
        file::write(&locator, &old).unwrap();
        let e = file::write(&locator, &bf16).unwrap_err();
        assert_eq!(e.path(), Some(locator.path()));
        assert!(matches!(e.fault(), Fault::Dtype { advice, .. } if advice.contains(".safetensors")));
        assert_eq!(file::read(&locator).unwrap(), old);
    }
    let many = folder.path().join("x.safetensors");
    assert_fault!(file::write_many(&many, &[("x", &old), ("x", &old)], &BTreeMap::new()), Fault::DuplicateName);
    assert_eq!(names_in(folder.path()), ["x.npy", "x.npz"]);

    let missing = Locator::new(folder.path().join("no/x.npy"), None).unwrap();
    assert_fault!(file::write(&missing, &old), Fault::Io { kind: ErrorKind::NotFound, .. });
    let directory = folder.path().join("d.npy");
    std::fs::create_dir(&directory).unwrap();
    assert_fault!(file::write(&Locator::new(&directory, None).unwrap(), &old), Fault::NotAFile);
}

#[cfg(unix)]
#[test]
fn permissions_are_those_of_any_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    std::fs::write(folder.path().join("any"), "").unwrap();
    file::write(&Locator::new(folder.path().join("x.npy"), None).unwrap(), &array(&[], vec![1u8])).unwrap();
    assert_eq!(mode("x.npy"), mode("any"));
}

#[test]
fn what_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.npz");
    let e = file::list(&missing).unwrap_err();
    assert_eq!(e.path(), Some(missing.as_path()));
    assert!(matches!(e.fault(), Fault::Io { kind: ErrorKind::NotFound, .. }));
    assert_fault!(file::list(folder.path().join("x.txt")), Fault::UnknownExtension);
    for name in ["d.npy", "d.npz", "d.safetensors"] {
        let directory = folder.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        assert_fault!(file::list(&directory), Fault::NotAFile);
        assert_fault!(file::read(&Locator::new(&directory, None).unwrap()), Fault::NotAFile);
        let empty = folder.path().join(format!("empty-{name}"));
        std::fs::write(&empty, "").unwrap();
        assert_fault!(file::list(&empty), Fault::Truncated { found: 0, .. });
    }
    #[cfg(unix)]
    {
        let device = folder.path().join("zero.npy");
        std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
        assert_fault!(file::read(&Locator::new(&device, None).unwrap()), Fault::NotAFile);
    }
    assert!(matches!("x.npy:name".parse::<Locator>(), Err(LocatorError::NameNotAllowed { .. })));
}

/// A sparse file of 64 GiB: the small tensor behind the large one is read, and listed, without the large one.
#[test]
fn one_tensor_of_a_file_larger_than_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.safetensors");
    let large = 64u64 << 30;
    let header = format!(
        "{{\"large\":{{\"dtype\":\"U8\",\"shape\":[{large}],\"data_offsets\":[0,{large}]}},\
         \"small\":{{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[{large},{}]}}}}",
        large + 2
    );
    let mut out = std::fs::File::create(&path).unwrap();
    out.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
    out.write_all(header.as_bytes()).unwrap();
    out.seek(SeekFrom::Current(large as i64)).unwrap();
    out.write_all(&[3, 4]).unwrap();
    drop(out);
    let small = file::read(&Locator::new(&path, Some("small")).unwrap()).unwrap();
    assert_eq!(small, array(&[2], vec![3u8, 4]));
    assert_eq!(file::list(&path).unwrap()[0].shape, [large as usize]);
}

#[test]
fn errors_of_an_array_name_its_place() {
    let locator: Locator = "run/m.npz:mask".parse().unwrap();
    let error = array(&[3], vec![0u8, 1, 2]).to_bools().unwrap_err();
    let e = FileError::at(&locator, error.clone());
    assert_eq!((e.path(), e.tensor()), (Some(Path::new("run/m.npz")), Some("mask")));
    assert!(matches!(e.fault(), Fault::Array(ArrayError::Value { index: 2, found: 2, .. })));
    assert_eq!(e.to_string(), "run/m.npz: tensor \"mask\": element 2: 2, expected 0 or 1");
}
