//! The header of a `.safetensors` file, with every claim held against the file.
//!
//! The safetensors crate parses each tensor's entry; the object around them is walked here, because the crate lets the
//! later of two equal names win without a word, and its errors do not say which tensor overlaps or leaves a gap.

use super::super::array::Array;
use super::super::dtype::{ArrayDtype, StoredDtype};
use super::super::error::{Fault, FileError, Offsets};
use super::super::source;
use super::super::stored;
use super::written;
use ::safetensors::Dtype;
use ::safetensors::tensor::TensorInfo;
use std::collections::BTreeMap;
use std::io::Read;

/// Longest header, as in the format's own reader.
const LONGEST: u64 = 100_000_000;
const METADATA: &str = "__metadata__";

/// What the header says, with its length in the file.
pub(super) struct Header {
    pub(super) tensors: BTreeMap<String, Info>,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) len: u64,
}

/// One tensor: bytes `start..end` behind the header are its elements.
pub(super) struct Info {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Info {
    pub(super) fn array_dtype(&self) -> Option<ArrayDtype> {
        ArrayDtype::ALL.into_iter().find(|&t| written(t) == self.dtype)
    }

    pub(super) fn stored_dtype(&self) -> StoredDtype {
        match self.array_dtype() {
            Some(dtype) => StoredDtype::Known(dtype),
            None => StoredDtype::Other(self.dtype.to_string()),
        }
    }

    /// Bytes that shape and type ask for; some types are narrower than a byte.
    fn bytes(&self) -> Option<usize> {
        let bits = stored::count(&self.shape)?.checked_mul(self.dtype.bitsize())?;
        Some(bits / 8).filter(|_| bits % 8 == 0)
    }
}

impl Header {
    /// Reads the header of a file of `len` bytes.
    pub(super) fn read(reader: &mut impl Read, len: u64) -> Result<Header, FileError> {
        let mut length = [0; 8];
        source::fill_all(reader, &mut length, "length of the header")?;
        let text = u64::from_le_bytes(length);
        if text > LONGEST {
            return Err(Fault::HeaderTooLong { limit: LONGEST, found: text }.into());
        }
        if text > len - 8 {
            return Err(Fault::Truncated { what: "header", expected: 8 + text, found: len }.into());
        }
        let text = source::take(reader, text as usize, "header")?;
        let header = Header::parse(&text)?;
        header.check(len - header.len)?;
        Ok(header)
    }

    fn parse(text: &[u8]) -> Result<Header, FileError> {
        let mut header = Header { tensors: BTreeMap::new(), metadata: BTreeMap::new(), len: 8 + text.len() as u64 };
        if let Err(e) = std::str::from_utf8(text) {
            return Err(Fault::Header { at: e.valid_up_to(), message: "not UTF-8".into() }.into());
        }
        let mut json = Json { text, at: 0 };
        let mut has_metadata = false;
        json.object(|json, name| {
            let twice = if name == METADATA {
                json.object(|json, key| match header.metadata.insert(key, json.value()?) {
                    Some(_) => Err(Fault::DuplicateName.into()),
                    None => Ok(()),
                })
                .map_err(|e| e.in_tensor(METADATA))?;
                std::mem::replace(&mut has_metadata, true)
            } else {
                let TensorInfo { dtype, shape, data_offsets: (start, end) } =
                    json.value().map_err(|e| e.in_tensor(&name))?;
                header.tensors.insert(name.clone(), Info { dtype, shape, start, end }).is_some()
            };
            match twice {
                true => Err(FileError::from(Fault::DuplicateName).in_tensor(&name)),
                false => Ok(()),
            }
        })?;
        json.skip_space();
        if json.at < text.len() {
            return Err(json.wrong("characters follow the object").into());
        }
        Ok(header)
    }

    /// The tensors' bytes must follow on each other without a gap and fill the rest of the file, `len` bytes.
    fn check(&self, len: u64) -> Result<(), FileError> {
        let mut in_order: Vec<(&String, &Info)> = self.tensors.iter().collect();
        in_order.sort_by_key(|(_, info)| (info.start, info.end));
        let mut expected = 0;
        for (name, info) in in_order {
            let fault = |fault: Fault| Err(FileError::from(fault).in_tensor(name));
            let kind = match info.start.cmp(&expected) {
                _ if info.end < info.start => Some(Offsets::Reversed),
                std::cmp::Ordering::Less => Some(Offsets::Overlap),
                std::cmp::Ordering::Greater => Some(Offsets::Gap),
                std::cmp::Ordering::Equal => None,
            };
            if let Some(kind) = kind {
                let (start, end) = (info.start as u64, info.end as u64);
                return fault(Fault::Offsets { kind, expected: expected as u64, start, end });
            }
            let Some(bytes) = info.bytes() else {
                return fault(Fault::ShapeOverflow { shape: info.shape.clone() });
            };
            if bytes != info.end - info.start {
                return fault(Fault::Span {
                    shape: info.shape.clone(),
                    dtype: info.dtype.to_string(),
                    expected: bytes as u64,
                    found: (info.end - info.start) as u64,
                });
            }
            if info.end as u64 > len {
                return fault(Fault::Truncated { what: "data", expected: info.end as u64, found: len });
            }
            expected = info.end;
        }
        if (expected as u64) < len {
            return Err(Fault::Trailing { expected: self.len + expected as u64 }.into());
        }
        Ok(())
    }
}

/// A place in the header's text. Values are parsed by `serde_json`, whose depth is limited.
struct Json<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Json<'a> {
    /// `{"name": value, ...}`; `entry` takes each name and must consume its value.
    fn object(
        &mut self,
        mut entry: impl FnMut(&mut Json<'a>, String) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.expect(b'{')?;
        if self.accept(b'}') {
            return Ok(());
        }
        loop {
            let name = self.value()?;
            self.expect(b':')?;
            entry(self, name)?;
            if !self.accept(b',') {
                return Ok(self.expect(b'}')?);
            }
        }
    }

    fn value<T: for<'de> serde::Deserialize<'de>>(&mut self) -> Result<T, FileError> {
        let mut values = serde_json::Deserializer::from_slice(&self.text[self.at..]).into_iter::<T>();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            Some(Err(e)) => Err(self.wrong(e.to_string()).into()),
            None => Err(self.wrong("the text ends").into()),
        }
    }

    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(|c| matches!(c, b' ' | b'\t' | b'\n' | b'\r')) {
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
            false => Err(self.wrong(format!("expected '{}'", c as char))),
        }
    }

    fn wrong(&self, message: impl Into<String>) -> Fault {
        Fault::Header { at: self.at, message: message.into() }
    }
}

/// The text of a header for `arrays`, stored in this order, padded with spaces to a multiple of 8 bytes.
pub(super) fn write(arrays: &[(&str, &Array)], metadata: &BTreeMap<String, String>) -> Result<Vec<u8>, FileError> {
    let mut entries = Vec::new();
    if !metadata.is_empty() {
        entries.push(format!("{}:{}", quoted(METADATA), serde_json::json!(metadata)));
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut start = 0usize;
    for (name, array) in arrays {
        let fault = |fault: Fault| Err(FileError::from(fault).in_tensor(name));
        if *name == METADATA || name.is_empty() {
            return fault(Fault::BadName { reason: "it is empty or the one that the format keeps for metadata" });
        }
        if !seen.insert(name) {
            return fault(Fault::DuplicateName);
        }
        let end = start + array.len() * array.dtype().size();
        let (dtype, shape) = (written(array.dtype()), serde_json::json!(array.shape()));
        entries.push(format!(
            "{}:{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{start},{end}]}}",
            quoted(name)
        ));
        start = end;
    }
    let mut text = format!("{{{}}}", entries.join(",")).into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    if text.len() as u64 > LONGEST {
        return Err(Fault::HeaderTooLong { limit: LONGEST, found: text.len() as u64 }.into());
    }
    Ok(text)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
