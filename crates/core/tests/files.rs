//! Tensor files: round trips, files written by others, damage and malice.

use contattn_core::file::{Array, ArrayData, ArrayDtype, Fault, FileError};
use half::{bf16, f16};
use std::path::PathBuf;

#[path = "files/damage.rs"]
mod damage;
#[path = "files/foreign.rs"]
mod foreign;
#[path = "files/hostile_npy.rs"]
mod hostile_npy;
#[path = "files/hostile_npz.rs"]
mod hostile_npz;
#[path = "files/hostile_safetensors.rs"]
mod hostile_safetensors;
#[path = "files/on_disk.rs"]
mod on_disk;
#[path = "files/round_trip.rs"]
mod round_trip;

/// A file in tests/files, written by `write.py` there.
fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/files")).join(name)
}

fn fixture_bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).unwrap()
}

/// Type, shape and bit patterns, which tell -0 from 0 and one NaN from another.
fn bits(array: &Array) -> (ArrayDtype, Vec<usize>, Vec<u64>) {
    let bits = match array.data() {
        ArrayData::F64(x) => x.iter().map(|x| x.to_bits()).collect(),
        ArrayData::F32(x) => x.iter().map(|x| u64::from(x.to_bits())).collect(),
        ArrayData::F16(x) => x.iter().map(|x| u64::from(x.to_bits())).collect(),
        ArrayData::BF16(x) => x.iter().map(|x| u64::from(x.to_bits())).collect(),
        ArrayData::I64(x) => x.iter().map(|&x| x as u64).collect(),
        ArrayData::I32(x) => x.iter().map(|&x| x as u64).collect(),
        ArrayData::I16(x) => x.iter().map(|&x| x as u64).collect(),
        ArrayData::I8(x) => x.iter().map(|&x| x as u64).collect(),
        ArrayData::U64(x) => x.clone(),
        ArrayData::U32(x) => x.iter().map(|&x| u64::from(x)).collect(),
        ArrayData::U16(x) => x.iter().map(|&x| u64::from(x)).collect(),
        ArrayData::U8(x) => x.iter().map(|&x| u64::from(x)).collect(),
        ArrayData::Bool(x) => x.iter().map(|&x| u64::from(x)).collect(),
    };
    (array.dtype(), array.shape().to_vec(), bits)
}

fn array(shape: &[usize], data: impl Into<ArrayData>) -> Array {
    Array::new(shape.to_vec(), data.into()).unwrap()
}

/// `n` elements, among them the ends of the type's range, zeros of both signs, subnormals, infinities and NaNs with a
/// payload of either sign.
fn sample(dtype: ArrayDtype, n: usize) -> ArrayData {
    fn cycle<B: Copy, T>(patterns: &[B], n: usize, from_bits: impl Fn(B) -> T) -> Vec<T> {
        patterns.iter().copied().cycle().take(n).map(from_bits).collect()
    }
    const F64: [u64; 9] = [
        1 << 63,
        0,
        1,
        (1 << 63) | 1,
        0x7ff0 << 48,
        0xfff0 << 48,
        0x7ff8_0000_0000_1234,
        0xfff8_dead_beef_0001,
        0x3fb9_9999_9999_999a,
    ];
    const F32: [u32; 9] = [1 << 31, 0, 1, 0x807f_ffff, 0x7f80_0000, 0xff80_0000, 0x7fc0_1234, 0xffc0_4321, 0x3dcc_cccd];
    const F16: [u16; 9] = [0x8000, 0, 1, 0x83ff, 0x7c00, 0xfc00, 0x7e12, 0xfe34, 0x2e66];
    const BF16: [u16; 9] = [0x8000, 0, 1, 0x807f, 0x7f80, 0xff80, 0x7fc1, 0xffc2, 0x3dcd];
    match dtype {
        ArrayDtype::F64 => cycle(&F64, n, f64::from_bits).into(),
        ArrayDtype::F32 => cycle(&F32, n, f32::from_bits).into(),
        ArrayDtype::F16 => cycle(&F16, n, f16::from_bits).into(),
        ArrayDtype::BF16 => cycle(&BF16, n, bf16::from_bits).into(),
        ArrayDtype::I64 => cycle(&[i64::MIN, -1, 0, 1, i64::MAX], n, |x| x).into(),
        ArrayDtype::I32 => cycle(&[i32::MIN, -1, 0, 1, i32::MAX], n, |x| x).into(),
        ArrayDtype::I16 => cycle(&[i16::MIN, -1, 0, 1, i16::MAX], n, |x| x).into(),
        ArrayDtype::I8 => cycle(&[i8::MIN, -1, 0, 1, i8::MAX], n, |x| x).into(),
        ArrayDtype::U64 => cycle(&[0, 1, 1 << 63, u64::MAX], n, |x| x).into(),
        ArrayDtype::U32 => cycle(&[0, 1, 1 << 31, u32::MAX], n, |x| x).into(),
        ArrayDtype::U16 => cycle(&[0, 1, 1 << 15, u16::MAX], n, |x| x).into(),
        ArrayDtype::U8 => cycle(&[0, 1, 1 << 7, u8::MAX], n, |x| x).into(),
        ArrayDtype::Bool => cycle(&[true, false, false], n, |x| x).into(),
    }
}

/// The fault of a result that must be an error.
#[track_caller]
fn fault<T: std::fmt::Debug>(result: Result<T, FileError>) -> Fault {
    result.unwrap_err().fault().clone()
}

/// Fails unless a result is an error with a fault of this pattern, and shows it otherwise.
macro_rules! assert_fault {
    ($result:expr, $pattern:pat $(if $guard:expr)?) => {
        match crate::fault($result) {
            $pattern $(if $guard)? => {}
            other => panic!("found {other:?}, expected {}", stringify!($pattern $(if $guard)?)),
        }
    };
}
pub(crate) use assert_fault;
