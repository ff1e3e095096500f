//! What is written is read back, bit for bit, and equal arrays give equal bytes.

use crate::{array, assert_fault, bits, sample};
use contattn_core::file::{Array, ArrayDtype, Fault, npy, npz, safetensors};
use std::collections::{BTreeMap, HashMap};

const SHAPES: [&[usize]; 8] =
    [&[], &[0], &[1], &[9], &[3, 0, 2], &[2, 3, 4], &[1, 2, 3, 1, 2, 2], &[2, 1, 1, 1, 1, 1, 1, 1, 1, 3]];

fn arrays() -> impl Iterator<Item = Array> {
    SHAPES.into_iter().flat_map(|shape| {
        let n = shape.iter().product();
        ArrayDtype::ALL.into_iter().map(move |dtype| array(shape, sample(dtype, n)))
    })
}

#[test]
fn npy_holds_every_type_but_bf16() {
    for x in arrays() {
        if x.dtype() == ArrayDtype::BF16 {
            assert_fault!(npy::to_bytes(&x), Fault::Dtype { advice, .. } if advice.contains(".safetensors"));
            continue;
        }
        let bytes = npy::to_bytes(&x).unwrap();
        assert_eq!(bits(&npy::from_bytes(&bytes).unwrap()), bits(&x));
    }
}

#[test]
fn npz_holds_every_type_but_bf16() {
    for x in arrays() {
        if x.dtype() == ArrayDtype::BF16 {
            let e = npz::to_bytes(&[("q", &x)]).unwrap_err();
            assert_eq!(e.tensor(), Some("q"));
            assert!(matches!(e.fault(), Fault::Dtype { .. }));
            continue;
        }
        let y = array(&[1], vec![7i32]);
        let bytes = npz::to_bytes(&[("x", &x), ("group/y", &y)]).unwrap();
        let read = npz::from_bytes(&bytes).unwrap();
        assert_eq!(read.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["group/y", "x"]);
        assert_eq!(bits(&read[0].1), bits(&y));
        assert_eq!(bits(&read[1].1), bits(&x));
        assert_eq!(bytes, npz::to_bytes(&[("group/y", &y), ("x", &x)]).unwrap());
    }
}

#[test]
fn safetensors_holds_every_type() {
    for x in arrays() {
        let y = array(&[1], vec![7i32]);
        let metadata = BTreeMap::from([("a".to_owned(), "\"\u{0}é\\".to_owned()), ("b".to_owned(), String::new())]);
        let bytes = safetensors::to_bytes(&[("x", &x), ("é\"/..\n", &y)], &metadata).unwrap();
        let read = safetensors::from_bytes(&bytes).unwrap();
        assert_eq!(read.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["x", "é\"/..\n"]);
        assert_eq!(bits(&read[0].1), bits(&x));
        assert_eq!(bits(&read[1].1), bits(&y));
        assert_eq!(bytes, safetensors::to_bytes(&[("é\"/..\n", &y), ("x", &x)], &metadata).unwrap());
    }
}

/// All arrays in one file, against the bytes of the format's own writer.
#[test]
fn safetensors_bytes_are_those_of_the_format() {
    use ::safetensors::tensor::{Dtype, TensorView, serialize};
    let all: Vec<(String, Array)> = arrays().enumerate().map(|(i, x)| (format!("t{i}"), x)).collect();
    let named: Vec<(&str, &Array)> = all.iter().map(|(name, x)| (name.as_str(), x)).collect();
    let metadata = BTreeMap::from([("note".to_owned(), "one line".to_owned())]);
    let ours = safetensors::to_bytes(&named, &metadata).unwrap();

    let stored: Vec<Vec<u8>> = all.iter().map(|(_, x)| little_endian(x)).collect();
    let theirs = all.iter().zip(&stored).map(|((name, x), bytes)| {
        let dtype = match x.dtype() {
            ArrayDtype::F64 => Dtype::F64,
            ArrayDtype::F32 => Dtype::F32,
            ArrayDtype::F16 => Dtype::F16,
            ArrayDtype::BF16 => Dtype::BF16,
            ArrayDtype::I64 => Dtype::I64,
            ArrayDtype::I32 => Dtype::I32,
            ArrayDtype::I16 => Dtype::I16,
            ArrayDtype::I8 => Dtype::I8,
            ArrayDtype::U64 => Dtype::U64,
            ArrayDtype::U32 => Dtype::U32,
            ArrayDtype::U16 => Dtype::U16,
            ArrayDtype::U8 => Dtype::U8,
            ArrayDtype::Bool => Dtype::BOOL,
        };
        (name.as_str(), TensorView::new(dtype, x.shape().to_vec(), bytes).unwrap())
    });
    let theirs = serialize(theirs, Some(HashMap::from_iter(metadata))).unwrap();
    assert_eq!(ours, theirs);
    assert_eq!(safetensors::to_bytes(&[], &BTreeMap::new()).unwrap(), b"\x08\0\0\0\0\0\0\0{}      ");
    assert!(safetensors::from_bytes(b"\x08\0\0\0\0\0\0\0{}      ").unwrap().is_empty());
}

fn little_endian(x: &Array) -> Vec<u8> {
    let (dtype, _, bits) = bits(x);
    bits.iter().flat_map(|b| b.to_le_bytes()[..dtype.size()].to_vec()).collect()
}

/// Longer than one step of the reader, so that steps join; sizes on either side of the step.
#[test]
fn steps_join() {
    for n in [65535usize, 65536, 65537, 200_003] {
        let x = array(&[n], (0..n).map(|i| i as u8).collect::<Vec<_>>());
        assert_eq!(npy::from_bytes(&npy::to_bytes(&x).unwrap()).unwrap(), x);
    }
    for n in [8191usize, 8192, 8193, 50_001] {
        let x = array(&[n], (0..n).map(|i| i as f64).collect::<Vec<_>>());
        let bytes = safetensors::to_bytes(&[("x", &x)], &BTreeMap::new()).unwrap();
        assert_eq!(safetensors::from_bytes(&bytes).unwrap()[0].1, x);
    }
}

#[test]
fn names_are_checked_on_writing() {
    let x = array(&[1], vec![1.0f32]);
    let none = BTreeMap::new();
    assert_fault!(safetensors::to_bytes(&[("a", &x), ("a", &x)], &none), Fault::DuplicateName);
    assert_fault!(safetensors::to_bytes(&[("__metadata__", &x)], &none), Fault::BadName { .. });
    assert_fault!(safetensors::to_bytes(&[("", &x)], &none), Fault::BadName { .. });
    assert_fault!(npz::to_bytes(&[("a", &x), ("b", &x), ("a", &x)]), Fault::DuplicateName);
    assert_fault!(npz::to_bytes(&[("", &x)]), Fault::BadName { .. });
    assert_fault!(npz::to_bytes(&[("a\0b", &x)]), Fault::BadName { .. });
    assert_fault!(npz::to_bytes(&[(&"n".repeat(70_000), &x)]), Fault::BadName { .. });
}
