//! The element types that an array holds, and those that a file may name.

use crate::dtype::Dtype;
use std::fmt;

/// Element type of an [`Array`](super::Array).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArrayDtype {
    /// binary64
    F64,
    /// binary32
    F32,
    /// binary16
    F16,
    /// bfloat16
    BF16,
    /// signed, 64 bits
    I64,
    /// signed, 32 bits
    I32,
    /// signed, 16 bits
    I16,
    /// signed, 8 bits
    I8,
    /// unsigned, 64 bits
    U64,
    /// unsigned, 32 bits
    U32,
    /// unsigned, 16 bits
    U16,
    /// unsigned, 8 bits
    U8,
    /// one byte, 0 or 1
    Bool,
}

impl ArrayDtype {
    /// Every type.
    pub const ALL: [ArrayDtype; 13] = [
        ArrayDtype::F64,
        ArrayDtype::F32,
        ArrayDtype::F16,
        ArrayDtype::BF16,
        ArrayDtype::I64,
        ArrayDtype::I32,
        ArrayDtype::I16,
        ArrayDtype::I8,
        ArrayDtype::U64,
        ArrayDtype::U32,
        ArrayDtype::U16,
        ArrayDtype::U8,
        ArrayDtype::Bool,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            ArrayDtype::F64 | ArrayDtype::I64 | ArrayDtype::U64 => 8,
            ArrayDtype::F32 | ArrayDtype::I32 | ArrayDtype::U32 => 4,
            ArrayDtype::F16 | ArrayDtype::BF16 | ArrayDtype::I16 | ArrayDtype::U16 => 2,
            ArrayDtype::I8 | ArrayDtype::U8 | ArrayDtype::Bool => 1,
        }
    }

    /// The name shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            ArrayDtype::F64 => "f64",
            ArrayDtype::F32 => "f32",
            ArrayDtype::F16 => "f16",
            ArrayDtype::BF16 => "bf16",
            ArrayDtype::I64 => "i64",
            ArrayDtype::I32 => "i32",
            ArrayDtype::I16 => "i16",
            ArrayDtype::I8 => "i8",
            ArrayDtype::U64 => "u64",
            ArrayDtype::U32 => "u32",
            ArrayDtype::U16 => "u16",
            ArrayDtype::U8 => "u8",
            ArrayDtype::Bool => "bool",
        }
    }

    /// The type as that of a tensor, where it is a floating-point one.
    pub const fn float(self) -> Option<Dtype> {
        match self {
            ArrayDtype::F64 => Some(Dtype::F64),
            ArrayDtype::F32 => Some(Dtype::F32),
            ArrayDtype::F16 => Some(Dtype::F16),
            ArrayDtype::BF16 => Some(Dtype::BF16),
            _ => None,
        }
    }
}

impl fmt::Display for ArrayDtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The element type of a tensor in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredDtype {
    /// one that an [`Array`](super::Array) holds
    Known(ArrayDtype),
    /// another one, as the file writes it
    Other(String),
}

impl fmt::Display for StoredDtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoredDtype::Known(dtype) => dtype.fmt(f),
            StoredDtype::Other(name) => f.write_str(name),
        }
    }
}
