//! Files that NumPy and the Python package safetensors wrote.

use crate::{array, assert_fault, bits, fixture, sample};
use contattn_core::file::{self, Array, ArrayDtype, Fault, FileError, Locator, StoredDtype};
use half::{bf16, f16};
use std::collections::BTreeMap;

fn read(name: &str) -> Result<Array, FileError> {
    file::read(&Locator::new(fixture(name), None).unwrap())
}

fn read_named(file: &str, name: &str) -> Result<Array, FileError> {
    file::read(&Locator::new(fixture(file), Some(name)).unwrap())
}

#[test]
fn orders_of_axes_and_bytes() {
    let doubles = array(&[2, 3, 4], (0..24).map(f64::from).collect::<Vec<_>>());
    let singles = array(&[2, 3, 4], (0..24u8).map(f32::from).collect::<Vec<_>>());
    assert_eq!(read("f8_c.npy").unwrap(), doubles);
    assert_eq!(read("f8_fortran.npy").unwrap(), doubles);
    assert_eq!(read("f4_big.npy").unwrap(), singles);
    assert_eq!(read("f4_big_fortran.npy").unwrap(), singles);
    assert_eq!(read("i4_big.npy").unwrap(), array(&[2], vec![-2i32, 258]));
}

#[test]
fn bit_patterns_survive() {
    let doubles = [1 << 63, 1, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff8_0000_0000_1234];
    let singles = [1 << 31, 1, 0x7f80_0000, 0xff80_0000, 0x7fc0_1234];
    let halves = [0x8000, 1, 0x7c00, 0xfc00, 0x7e12];
    for (file, name, dtype, expected) in [
        ("f8_special.npy", None, ArrayDtype::F64, doubles),
        ("f4_special.npy", None, ArrayDtype::F32, singles),
        ("f2_special.npy", None, ArrayDtype::F16, halves),
        ("types.safetensors", Some("f64"), ArrayDtype::F64, doubles),
        ("types.safetensors", Some("f32"), ArrayDtype::F32, singles),
        ("types.safetensors", Some("f16"), ArrayDtype::F16, halves),
    ] {
        let read = file::read(&Locator::new(fixture(file), name).unwrap()).unwrap();
        assert_eq!(bits(&read), (dtype, vec![5], expected.to_vec()), "{file}");
    }
    assert_eq!(bits(&read("scalar.npy").unwrap()), (ArrayDtype::F64, vec![], vec![1 << 63]));
}

#[test]
fn integers_booleans_and_shapes() {
    for dtype in ArrayDtype::ALL {
        let (letter, width) = (dtype.name().chars().next().unwrap(), dtype.size());
        if letter != 'i' && letter != 'u' {
            continue;
        }
        // The smallest, 0, 1 and the largest: all four are among the samples.
        let expected: Vec<u64> = if letter == 'i' {
            let (_, _, s) = bits(&array(&[5], sample(dtype, 5)));
            vec![s[0], s[2], s[3], s[4]]
        } else {
            let (_, _, s) = bits(&array(&[4], sample(dtype, 4)));
            vec![0, 0, 1, s[3]]
        };
        assert_eq!(bits(&read(&format!("{letter}{width}.npy")).unwrap()), (dtype, vec![4], expected));
    }
    assert_eq!(read("bool.npy").unwrap(), array(&[2, 2], vec![true, false, false, true]));
    assert_eq!(read("empty.npy").unwrap(), array(&[3, 0, 2], Vec::<f32>::new()));
    assert_eq!(read("rank6.npy").unwrap(), array(&[2, 1, 3, 1, 2, 2], (0..24).collect::<Vec<i16>>()));
    for version in 1..=3 {
        let x = read(&format!("version{version}.npy")).unwrap();
        assert_eq!(x, array(&[5], vec![0.0f32, 1.0, 2.0, 3.0, 4.0]));
    }
}

#[test]
fn types_that_no_tensor_holds() {
    for (name, written) in [
        ("structured.npy", "[('a', '<f4'), ('b', '<i4', (2,))]"),
        ("object.npy", "|O"),
        ("complex.npy", "<c16"),
        ("text.npy", "<U2"),
        ("bf16.npy", "<V2"),
    ] {
        assert_fault!(read(name), Fault::Dtype { found, .. } if found == written);
        assert_eq!(file::list(fixture(name)).unwrap()[0].dtype, StoredDtype::Other(written.to_owned()));
    }
    assert_fault!(read("bf16.npy"), Fault::Dtype { advice, .. } if advice.contains(".safetensors"));
}

#[test]
fn archives() {
    for file in ["stored.npz", "deflated.npz"] {
        let q = array(&[2, 3], (0..6u8).map(f32::from).collect::<Vec<_>>());
        assert_eq!(read_named(file, "q").unwrap(), q);
        let k = array(&[3], vec![f16::from_f32(0.0), f16::from_f32(1.0), f16::from_f32(2.0)]);
        assert_eq!(read_named(file, "group/k").unwrap(), k);
        assert_eq!(read_named(file, "mask").unwrap().to_bools().unwrap(), [true, false]);
    }
    assert_eq!(read_named("deflated.npz", "zeros").unwrap(), array(&[40, 40], vec![0.0f32; 1600]));
    assert_eq!(read("single.npz").unwrap(), array(&[4], vec![0.0f64, 1.0, 2.0, 3.0]));
    let listed = file::list(fixture("stored.npz")).unwrap();
    let listed: Vec<_> =
        listed.iter().map(|e| (e.name.as_deref().unwrap(), e.dtype.to_string(), &e.shape[..])).collect();
    assert_eq!(
        listed,
        [("group/k", "f16".into(), &[3][..]), ("mask", "bool".into(), &[2]), ("q", "f32".into(), &[2, 3])]
    );
    assert_fault!(read("stored.npz"), Fault::NameRequired { available } if available == ["group/k", "mask", "q"]);
    let e = read_named("stored.npz", "v").unwrap_err();
    assert_eq!(e.tensor(), Some("v"));
    assert!(matches!(e.fault(), Fault::NoSuchName { available } if available == &["group/k", "mask", "q"]));
    assert!(e.to_string().ends_with("stored.npz: tensor \"v\": no such tensor; the file has group/k, mask, q"));
}

#[test]
fn safetensors_of_every_type() {
    let file = "types.safetensors";
    let bf: Vec<bf16> = (0..4u8).map(|i| bf16::from_f32(f32::from(i))).collect();
    assert_eq!(read_named(file, "bf16").unwrap(), array(&[2, 2], bf));
    assert_eq!(read_named(file, "bool").unwrap(), array(&[2], vec![true, false]));
    assert_eq!(read_named(file, "scalar").unwrap(), array(&[], vec![7i32]));
    assert_eq!(read_named(file, "empty").unwrap(), array(&[0, 3], Vec::<f32>::new()));
    assert_eq!(read_named(file, "rank6").unwrap(), array(&[1, 2, 1, 2, 1, 2], (0..8).collect::<Vec<u16>>()));
    assert_eq!(read_named(file, "i8").unwrap(), array(&[4], vec![i8::MIN, 0, 1, i8::MAX]));
    assert_eq!(read_named(file, "u8").unwrap(), array(&[4], vec![0, 0, 1, u8::MAX]));
    assert_eq!(read_named(file, "i16").unwrap(), array(&[4], vec![i16::MIN, 0, 1, i16::MAX]));
    assert_eq!(read_named(file, "u32").unwrap(), array(&[4], vec![0, 0, 1, u32::MAX]));
    assert_eq!(read_named(file, "i64").unwrap(), array(&[4], vec![i64::MIN, 0, 1, i64::MAX]));
    assert_eq!(read_named(file, "u64").unwrap(), array(&[4], vec![0, 0, 1, u64::MAX]));
    let note = BTreeMap::from([("note".to_owned(), "written by Python".to_owned())]);
    assert_eq!(file::metadata(fixture(file)).unwrap(), note);
    assert_eq!(read("single.safetensors").unwrap(), array(&[2, 2], vec![0.0f32, 1.0, 2.0, 3.0]));
    assert!(file::metadata(fixture("single.safetensors")).unwrap().is_empty());
    assert!(file::metadata(fixture("single.npz")).unwrap().is_empty());
}

/// The real heads that the project runs on, against the format's own reader.
#[test]
fn real_heads() {
    let path = fixture("../data/smollm2-heads.safetensors");
    let listed = file::list(&path).unwrap();
    assert_eq!(listed.len(), 9);
    let bytes = std::fs::read(&path).unwrap();
    let theirs = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
    for entry in listed {
        let name = entry.name.as_deref().unwrap();
        let heads = if name.ends_with('q') { 9 } else { 3 };
        assert_eq!((entry.dtype, &entry.shape[..]), (StoredDtype::Known(ArrayDtype::F32), &[1, heads, 26, 64][..]));
        let tensor = file::read(&Locator::new(&path, Some(name)).unwrap()).unwrap().into_tensor().unwrap();
        let expected = theirs.tensor(name).unwrap().data().chunks_exact(4);
        let expected: Vec<f64> = expected.map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect();
        assert_eq!(tensor.to_f64(), expected);
    }
    let metadata = file::metadata(&path).unwrap();
    assert_eq!(metadata.keys().collect::<Vec<_>>(), ["layout", "note", "source", "text", "tokens"]);
    assert!(metadata["text"].starts_with("The rain had stopped by noon"));
    let e = file::read(&Locator::new(&path, None).unwrap());
    assert_fault!(e, Fault::NameRequired { available } if available.len() == 9);
}
