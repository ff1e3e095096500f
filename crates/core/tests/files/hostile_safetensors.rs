//! `.safetensors` headers that lie.

use crate::{array, assert_fault};
use contattn_core::file::{Fault, FileError, Offsets, safetensors};

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn read(header: &str, data: &[u8]) -> Result<usize, FileError> {
    safetensors::from_bytes(&file(header, data)).map(|tensors| tensors.len())
}

/// The entry of a tensor of bytes.
fn bytes(name: &str, shape: &str, start: u64, end: u64) -> String {
    format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[{shape}],\"data_offsets\":[{start},{end}]}}")
}

#[test]
fn claims_that_the_file_does_not_back() {
    let huge = 1u64 << 60;
    for length in [u64::MAX, huge, 100_000_001] {
        let lying = [&length.to_le_bytes()[..], b"{}"].concat();
        assert_fault!(safetensors::from_bytes(&lying), Fault::HeaderTooLong { found, .. } if found == length);
    }
    let lying = [&100_000_000u64.to_le_bytes()[..], b"{}"].concat();
    assert_fault!(safetensors::from_bytes(&lying), Fault::Truncated { what: "header", found: 10, .. });
    assert_fault!(read(&format!("{{{}}}", bytes("a", &huge.to_string(), 0, huge)), b"x"),
        Fault::Truncated { what: "data", expected, found: 1 } if expected == huge);
    assert_fault!(
        read(&format!("{{{}}}", bytes("a", "4294967296,4294967296", 0, 1)), b"x"),
        Fault::ShapeOverflow { .. }
    );
    let wide = "{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]}}";
    assert_fault!(read(wide, b""), Fault::ShapeOverflow { shape } if shape == [1 << 61]);
    assert_fault!(
        read(&format!("{{{}}}", bytes("a", "3", 0, 3)), b"xy"),
        Fault::Truncated { expected: 3, found: 2, .. }
    );
    assert_fault!(read(&format!("{{{}}}", bytes("a", "3", 0, 3)), b"wxyz"), Fault::Trailing { .. });
    assert_fault!(read("{}", b"x"), Fault::Trailing { expected: 10 });
}

#[test]
fn offsets_follow_on_each_other() {
    let two = |first: String, second: String| format!("{{{first},{second}}}");
    let offsets = |header: &str, expected: Offsets, tensor: &str| {
        let e = safetensors::from_bytes(&file(header, b"12345678")).unwrap_err();
        assert_eq!(e.tensor(), Some(tensor));
        assert!(matches!(e.fault(), Fault::Offsets { kind, .. } if *kind == expected), "{e}");
    };
    offsets(&two(bytes("a", "4", 0, 4), bytes("b", "5", 3, 8)), Offsets::Overlap, "b");
    offsets(&two(bytes("a", "8", 0, 8), bytes("b", "8", 0, 8)), Offsets::Overlap, "b");
    offsets(&two(bytes("a", "4", 0, 4), bytes("b", "3", 5, 8)), Offsets::Gap, "b");
    offsets(&format!("{{{}}}", bytes("a", "4", 4, 8)), Offsets::Gap, "a");
    offsets(&format!("{{{}}}", bytes("a", "4", 8, 4)), Offsets::Reversed, "a");
    offsets(&two(bytes("a", "8", 0, 8), bytes("b", "1", u64::MAX, u64::MAX)), Offsets::Gap, "b");
    assert_fault!(
        read(&format!("{{{}}}", bytes("a", "7", 0, 8)), b"12345678"),
        Fault::Span { expected: 7, found: 8, .. }
    );
    assert_eq!(read(&two(bytes("b", "4", 4, 8), bytes("a", "4", 0, 4)), b"12345678").unwrap(), 2);
    assert_eq!(read(&two(bytes("b", "8", 0, 8), bytes("a", "0", 8, 8)), b"12345678").unwrap(), 2);
}

#[test]
fn names_stand_once() {
    let a = bytes("a", "0", 0, 0);
    assert_fault!(read(&format!("{{{a},{a}}}"), b""), Fault::DuplicateName);
    let escaped = bytes("\\u0061", "0", 0, 0);
    let e = safetensors::from_bytes(&file(&format!("{{{a},{escaped}}}"), b"")).unwrap_err();
    assert_eq!((e.tensor(), e.fault()), (Some("a"), &Fault::DuplicateName));
    assert_fault!(read("{\"__metadata__\":{},\"__metadata__\":{}}", b""), Fault::DuplicateName);
    assert_fault!(read("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", b""), Fault::DuplicateName);
}

#[test]
fn grammar() {
    for header in [
        "",
        "   ",
        "[]",
        "null",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":{}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1e3],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551616],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}",
        "{\"a\":{\"dtype\":\"X9\",\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"__metadata__\":{\"k\":1}}",
        "{\"__metadata__\":[]}",
        "{\"__metadata__\":null}",
        "{} {}",
        "{},",
        "{,}",
        "{1:2}",
    ] {
        assert_fault!(read(header, b""), Fault::Header { .. });
    }
    let trailing_comma = format!("{{{},}}", bytes("a", "0", 0, 0));
    assert_fault!(read(&trailing_comma, b""), Fault::Header { .. });
    let not_utf8 = [&2u64.to_le_bytes()[..], b"\xff\xfe"].concat();
    assert_fault!(safetensors::from_bytes(&not_utf8), Fault::Header { at: 0, .. });
    assert_eq!(read(" { \"__metadata__\" : { } } \n", b"").unwrap(), 0);
    let odd = "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    assert_fault!(read(odd, b"x"), Fault::Dtype { found, .. } if found == "F8_E4M3");
    let narrow = "{\"a\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    assert_fault!(read(narrow, b"x"), Fault::ShapeOverflow { .. });
}

#[test]
fn deep_json() {
    for n in [200usize, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = format!("{}0{}", open.repeat(n), close.repeat(n));
            assert_fault!(read(&nested, b""), Fault::Header { .. });
            assert_fault!(read(&format!("{{\"a\":{nested}}}"), b""), Fault::Header { .. });
            assert_fault!(read(&format!("{{\"__metadata__\":{{\"k\":{nested}}}}}"), b""), Fault::Header { .. });
            assert_fault!(read(&format!("{{\"a\":{{\"shape\":{nested}}}}}"), b""), Fault::Header { .. });
            assert_fault!(read(&open.repeat(n), b""), Fault::Header { .. });
        }
    }
}

#[test]
fn not_such_a_file() {
    assert_fault!(safetensors::from_bytes(b""), Fault::Truncated { found: 0, .. });
    assert_fault!(safetensors::from_bytes(b"\x02\0\0"), Fault::Truncated { found: 3, .. });
    assert_fault!(safetensors::from_bytes(b"\x93NUMPY\x01\0v\0{'descr'"), Fault::HeaderTooLong { .. });
    assert_fault!(safetensors::from_bytes(&[b'\n'; 400]), Fault::HeaderTooLong { .. });
    let bools = "{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}";
    assert_fault!(read(bools, &[1, 7]), Fault::NotABool { index: 1, found: 7 });
    let named = safetensors::from_bytes(&file(&format!("{{{}}}", bytes("../a/b", "1", 0, 1)), b"\x05")).unwrap();
    assert_eq!(named, [("../a/b".to_owned(), array(&[1], vec![5u8]))]);
}
