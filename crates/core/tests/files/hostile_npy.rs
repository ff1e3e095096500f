//! `.npy` headers that lie.

use crate::{array, assert_fault};
use contattn_core::file::{ArrayDtype, Fault, npy};

/// A file of this version, header text and data.
fn file(version: [u8; 2], text: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend(version);
    match version[0] {
        1 => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

fn plain(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    file([1, 0], &format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"), data)
}

#[test]
fn claims_that_the_file_does_not_back() {
    let huge = 1u64 << 60;
    assert_fault!(npy::from_bytes(&plain("|u1", &format!("({huge},)"), b"")),
        Fault::Truncated { what: "data", expected, found: 0 } if expected == huge);
    let eight = npy::from_bytes(&plain("<f8", &format!("({huge},)"), b""));
    assert_fault!(eight, Fault::Truncated { what: "data", expected, found: 0 } if expected == 8 * huge);
    let overflow = npy::from_bytes(&plain("<f8", "(2305843009213693952,)", b""));
    assert_fault!(overflow, Fault::ShapeOverflow { shape } if shape == [1 << 61]);
    assert_fault!(npy::from_bytes(&plain("|u1", "(4294967296, 4294967296)", b"")), Fault::ShapeOverflow { .. });
    assert_fault!(npy::from_bytes(&plain("|u1", "(18446744073709551615, 2)", b"")), Fault::ShapeOverflow { .. });
    assert_fault!(npy::from_bytes(&plain("|u1", "(4294967296, 4294967296, 0)", b"")), Fault::ShapeOverflow { .. });
    assert_fault!(npy::from_bytes(&plain("|u1", "(18446744073709551616,)", b"")), Fault::Header { .. });
    assert_fault!(npy::from_bytes(&plain("<f4", "(3,)", &[0; 11])), Fault::Truncated { expected: 12, found: 11, .. });
    let good = plain("<f4", "(3,)", &[0; 12]);
    let expected_len = good.len() as u64;
    assert_fault!(npy::from_bytes(&[&good[..], b"x"].concat()), Fault::Trailing { expected } if expected == expected_len);
    let mut claim = file([2, 0], "", b"");
    claim[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_fault!(npy::from_bytes(&claim), Fault::HeaderTooLong { found, .. } if found == u64::from(u32::MAX));
    claim[8..12].copy_from_slice(&60_000u32.to_le_bytes());
    assert_fault!(npy::from_bytes(&claim), Fault::Truncated { what: "header", .. });
}

#[test]
fn not_such_a_file() {
    assert_fault!(npy::from_bytes(b""), Fault::Truncated { found: 0, .. });
    assert_fault!(npy::from_bytes(b"\x93NUM"), Fault::Truncated { found: 4, .. });
    assert_fault!(npy::from_bytes(b"PK\x03\x04 and so on"), Fault::Foreign { .. });
    assert_fault!(npy::from_bytes(&[0; 300]), Fault::Foreign { .. });
    assert_fault!(npy::from_bytes(&file([4, 0], "{}", b"")), Fault::Version { major: 4, minor: 0 });
    assert_fault!(npy::from_bytes(&file([1, 1], "{}", b"")), Fault::Version { major: 1, minor: 1 });
}

#[test]
fn grammar() {
    let header = |text: &str| npy::from_bytes(&file([1, 0], text, &[0; 8]));
    for (text, word) in [
        ("", "expected '{'"),
        ("{}", "'descr' is missing"),
        ("{'descr': '<f8', 'shape': ()}", "'fortran_order' is missing"),
        ("{'descr': '<f8', 'fortran_order': False}", "'shape' is missing"),
        ("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}", "twice"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (), 'x': 1}", "unknown key"),
        ("{'descr': '<f8', 'fortran_order': 0, 'shape': ()}", "True or False"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", "expected a length"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1.0,)}", "expected ')'"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (,)}", "expected a length"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': 1}", "expected '('"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': ()", "expected '}'"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': ()} 1", "characters follow"),
        ("{'descr': '<f\\u0038', 'fortran_order': False, 'shape': ()}", "backslash"),
        ("{'descr': '<f8", "without an end"),
        ("{'descr': [('a', '<f8'", "without an end"),
        ("{'descr': 5}", "expected a string"),
    ] {
        assert_fault!(header(text), Fault::Header { message, .. } if message.contains(word));
    }
    for text in [
        "{'descr': '<f8', 'fortran_order': False, 'shape': ()}",
        "{\"shape\":(1L,),\"fortran_order\":True,\"descr\":\"<f8\"}",
        "{ 'descr' : '<f8' , 'fortran_order' : False , 'shape' : ( 1 , 1 , ) , }  \n",
    ] {
        assert_eq!(header(text).unwrap().to_reals().unwrap(), [0.0]);
    }
    for descr in ["f8", "=f8", "|f8", "<f16", "<i16", "<f", "", "<", "<m8[ns]", "V2", "é"] {
        assert_fault!(npy::from_bytes(&plain(descr, "()", &[0; 8])), Fault::Dtype { found, .. } if found == descr);
    }
}

/// Deep brackets and long shapes are read in one pass; a reader that recurses or tries again would not come back.
#[test]
fn deep_and_long() {
    for n in [10usize, 1000, 16_000] {
        for (open, close) in [("[", "]"), ("(", ")"), ("[(", ")]")] {
            let nested = format!("{}1{}", open.repeat(n), close.repeat(n));
            let text = format!("{{'descr': {nested}, 'fortran_order': False, 'shape': ()}}");
            let result = npy::from_bytes(&file([1, 0], &text, &[0; 8]));
            match open {
                "(" => assert_fault!(result, Fault::Header { .. }),
                _ => assert_fault!(result, Fault::Dtype { .. }),
            }
            let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {nested}}}");
            assert_fault!(npy::from_bytes(&file([1, 0], &text, &[0; 8])), Fault::Header { .. });
        }
        let text = "{".repeat(n);
        assert_fault!(npy::from_bytes(&file([1, 0], &text, &[0; 8])), Fault::Header { .. });
    }
    // 20,000 axes of length 1 before the last two, in Fortran order: the axes that move nothing cost nothing.
    let text = format!("{{'descr':'<u2','fortran_order':True,'shape':({}200,200)}}", "1,".repeat(20_000));
    let data: Vec<u8> = (0..40_000u16).flat_map(u16::to_le_bytes).collect();
    let x = npy::from_bytes(&file([1, 0], &text, &data)).unwrap();
    assert_eq!(x.shape().len(), 20_002);
    assert_eq!(x.to_ids().unwrap()[..3], [0, 200, 400]);
}

#[test]
fn booleans_are_zero_or_one() {
    assert_fault!(npy::from_bytes(&plain("|b1", "(3,)", &[0, 1, 2])), Fault::NotABool { index: 2, found: 2 });
    assert_eq!(npy::from_bytes(&plain("|b1", "(2,)", &[0, 1])).unwrap(), array(&[2], vec![false, true]));
    assert_eq!(npy::from_bytes(&plain(">i1", "(1,)", &[255])).unwrap().dtype(), ArrayDtype::I8);
}
