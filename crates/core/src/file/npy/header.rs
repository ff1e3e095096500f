//! The header of a `.npy` file, read by its own grammar.
//!
//! npyz reads it as any Python literal, which is not safe on files from outside: it takes memory by the length that the
//! header claims, recurses once per bracket, tries every bracket again after each failed alternative (time doubles with
//! each level of nesting) and multiplies the shape without looking for overflow. The header of a plain array is a
//! dictionary of three known keys, so that is all that is read here: one pass, no recursion.

use super::super::dtype::ArrayDtype;
use super::super::error::{Fault, FileError};
use super::super::locator::Format;
use super::super::source;
use super::super::stored::ByteOrder;
use super::unsupported;
use std::io::Read;

/// What the header says, with its length in the file.
pub(super) struct Header {
    pub(super) dtype: Result<(ArrayDtype, ByteOrder), Fault>,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
    pub(super) len: u64,
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// Longest text: what version 1 can hold. A plain array needs a few hundred bytes.
const LONGEST: u64 = 65535;

impl Header {
    /// Reads the header of a file of `len` bytes.
    pub(super) fn read(reader: &mut impl Read, len: u64) -> Result<Header, FileError> {
        let mut start = [0; 8];
        let found = source::fill(reader, &mut start)?;
        if start[..found.min(MAGIC.len())] != MAGIC[..found.min(MAGIC.len())] {
            return Err(
                Fault::Foreign { format: Format::Npy, reason: "it does not begin with \\x93NUMPY".into() }.into()
            );
        }
        if found < start.len() {
            return Err(Fault::Truncated { what: "start of the file", expected: 8, found: found as u64 }.into());
        }
        let mut length = [0; 4];
        let width = match start[6..] {
            [1, 0] => 2,
            [2 | 3, 0] => 4,
            [major, minor] => return Err(Fault::Version { major, minor }.into()),
            _ => unreachable!("two bytes of eight follow the first six"),
        };
        source::fill_all(reader, &mut length[..width], "length of the header")?;
        let text = u64::from(u32::from_le_bytes(length));
        if text > LONGEST {
            return Err(Fault::HeaderTooLong { limit: LONGEST, found: text }.into());
        }
        let header_len = (start.len() + width) as u64 + text;
        if header_len > len {
            return Err(Fault::Truncated { what: "header", expected: header_len, found: len }.into());
        }
        let text = source::take(reader, text as usize, "header")?;
        Parser { text: &text, at: 0 }.header(header_len).map_err(FileError::from)
    }
}

/// A place in the header's text. Versions 1 and 2 are Latin-1 and 3 is UTF-8, but every character of a plain header is
/// ASCII, so bytes do for all.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    /// `{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }`, keys in any order.
    fn header(mut self, len: u64) -> Result<Header, Fault> {
        let (mut dtype, mut fortran_order, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.accept(b'}') {
            let key_at = self.at;
            let key = self.string()?;
            self.expect(b':')?;
            let twice = match key {
                b"descr" => dtype.replace(self.descr()?).is_some(),
                b"fortran_order" => fortran_order.replace(self.boolean()?).is_some(),
                b"shape" => shape.replace(self.shape()?).is_some(),
                other => return Err(self.wrong(key_at, format!("unknown key {:?}", String::from_utf8_lossy(other)))),
            };
            if twice {
                return Err(self.wrong(key_at, "a key stands twice"));
            }
            if !self.accept(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.wrong(self.at, "characters follow the dictionary"));
        }
        let missing = |key: &str| self.wrong(self.at, format!("the key '{key}' is missing"));
        Ok(Header {
            dtype: dtype.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
            len,
        })
    }

    /// The element type; one that an array does not hold is kept as the fault that reading the data would be.
    fn descr(&mut self) -> Result<Result<(ArrayDtype, ByteOrder), Fault>, Fault> {
        self.skip_space();
        if self.text.get(self.at) == Some(&b'[') {
            let fields = self.brackets()?;
            return Ok(Err(unsupported(String::from_utf8_lossy(fields), "a tensor has one number per element")));
        }
        let text = self.string()?;
        let (order, rest) = match text.split_first() {
            Some((b'<', rest)) => (ByteOrder::Little, rest),
            Some((b'>', rest)) => (ByteOrder::Big, rest),
            Some((b'|', rest)) if matches!(rest, b"b1" | b"i1" | b"u1") => (ByteOrder::Little, rest),
            _ => (ByteOrder::Little, &b""[..]),
        };
        let dtype = match rest {
            b"f8" => ArrayDtype::F64,
            b"f4" => ArrayDtype::F32,
            b"f2" => ArrayDtype::F16,
            b"i8" => ArrayDtype::I64,
            b"i4" => ArrayDtype::I32,
            b"i2" => ArrayDtype::I16,
            b"i1" => ArrayDtype::I8,
            b"u8" => ArrayDtype::U64,
            b"u4" => ArrayDtype::U32,
            b"u2" => ArrayDtype::U16,
            b"u1" => ArrayDtype::U8,
            b"b1" => ArrayDtype::Bool,
            _ => {
                let advice = match text {
                    b"<V2" | b"|V2" => "if these bytes are bf16: NumPy has no such type; use .safetensors",
                    b"|O" => "Python objects are not read",
                    _ => "expected floating-point numbers of 16 to 64 bits, integers or booleans",
                };
                return Ok(Err(unsupported(String::from_utf8_lossy(text), advice)));
            }
        };
        Ok(Ok((dtype, order)))
    }

    /// The text of a structured type, up to the bracket that closes it.
    fn brackets(&mut self) -> Result<&'a [u8], Fault> {
        let start = self.at;
        let mut depth = 0usize;
        loop {
            match self.text.get(self.at) {
                Some(b'\'' | b'"') => {
                    self.string()?;
                    continue;
                }
                Some(b'[' | b'(') => depth += 1,
                Some(b']' | b')') => depth -= 1,
                Some(_) => {}
                None => return Err(self.wrong(start, "a bracket without an end")),
            }
            self.at += 1;
            if depth == 0 {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// `()`, `(3,)`, `(2, 3)`; Python 2 wrote `3L`.
    fn shape(&mut self) -> Result<Vec<usize>, Fault> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.accept(b')') {
            self.skip_space();
            let start = self.at;
            let mut length = 0usize;
            while let Some(digit) = self.text.get(self.at).filter(|c| c.is_ascii_digit()) {
                let next = length.checked_mul(10).and_then(|n| n.checked_add(usize::from(digit - b'0')));
                length = next.ok_or_else(|| self.wrong(start, "a length that cannot be addressed"))?;
                self.at += 1;
            }
            if self.at == start {
                return Err(self.wrong(start, "expected a length"));
            }
            if self.text.get(self.at) == Some(&b'L') {
                self.at += 1;
            }
            shape.push(length);
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn boolean(&mut self) -> Result<bool, Fault> {
        self.skip_space();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wrong(self.at, "expected True or False"))
    }

    /// A string in quotes of either kind; a backslash has no place in a plain header.
    fn string(&mut self) -> Result<&'a [u8], Fault> {
        self.skip_space();
        let Some(&quote @ (b'\'' | b'"')) = self.text.get(self.at) else {
            return Err(self.wrong(self.at, "expected a string"));
        };
        let start = self.at + 1;
        let rest = &self.text[start..];
        match rest.iter().position(|&c| c == quote || c == b'\\') {
            Some(end) if rest[end] == quote => {
                self.at = start + end + 1;
                Ok(&rest[..end])
            }
            Some(end) => Err(self.wrong(start + end, "unexpected backslash")),
            None => Err(self.wrong(start, "a string without an end")),
        }
    }

    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(|c| matches!(c, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')) {
            self.at += 1;
        }
    }

    fn accept(&mut self, c: u8) -> bool {
        self.skip_space();
        let found = self.text.get(self.at) == Some(&c);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, c: u8) -> Result<(), Fault> {
        match self.accept(c) {
            true => Ok(()),
            false => Err(self.wrong(self.at, format!("expected '{}'", c as char))),
        }
    }

    fn wrong(&self, at: usize, message: impl Into<String>) -> Fault {
        Fault::Header { at, message: message.into() }
    }
}
