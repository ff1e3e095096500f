//! The share string: a whole session as one line of text.
//!
//! `contattn1:` and base64 (RFC 4648, for addresses, without padding) of the CRC-32 of a text, 4 bytes with the lowest first,
//! and the text itself, the session as JSON, compressed by DEFLATE (RFC 1951). Nothing in it is believed before it is checked.

use crate::logic::document::Session;
use crate::logic::state::StateError;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use flate2::Crc;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use std::io::Read;

/// What every share string of this version begins with.
pub const PREFIX: &str = "contattn1:";
/// The most characters that are read.
pub const MAX_CHARACTERS: usize = 1 << 20;
/// The most bytes of JSON that are unpacked.
pub const MAX_BYTES: u64 = 8 << 20;

/// Why a text is not a share string.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// Too long.
    #[error("the share string has {found} characters: at most {MAX_CHARACTERS} are read")]
    TooLong {
        /// how many it has
        found: usize,
    },
    /// It begins otherwise.
    #[error("a share string begins with {PREFIX}, this text with {found:?}")]
    Prefix {
        /// how it begins
        found: String,
    },
    /// Not base64.
    #[error("the share string was changed or cut: {0}")]
    Encoding(String),
    /// The check sum differs.
    #[error("the share string was changed or cut: its check sum is {found:08x}, expected {expected:08x}")]
    CheckSum {
        /// as written
        expected: u32,
        /// of what is there
        found: u32,
    },
    /// It unpacks to too much.
    #[error("the share string unpacks to more than {MAX_BYTES} bytes")]
    TooLarge,
    /// Not what a session looks like.
    #[error("the share string holds no session: {0}")]
    Content(String),
    /// A session that cannot be shown.
    #[error("the share string holds a session that cannot be shown: {0}")]
    State(#[from] StateError),
}

fn check_sum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A session as text.
pub fn encode(session: &Session) -> String {
    let text = serde_json::to_vec(session).unwrap_or_default();
    let mut bytes = check_sum(&text).to_le_bytes().to_vec();
    // Reading from memory cannot fail.
    let _ = DeflateEncoder::new(text.as_slice(), flate2::Compression::best()).read_to_end(&mut bytes);
    format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// The session of a text; spaces and line breaks, as mail programs add them, do not count.
///
/// # Errors
/// [`ShareError`] with what is wrong.
pub fn decode(text: &str) -> Result<Session, ShareError> {
    if text.len() > MAX_CHARACTERS {
        return Err(ShareError::TooLong { found: text.len() });
    }
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let Some(body) = text.strip_prefix(PREFIX) else {
        return Err(ShareError::Prefix { found: text.chars().take(PREFIX.len()).collect() });
    };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(body).map_err(|error| ShareError::Encoding(error.to_string()))?;
    let Some((sum, packed)) = bytes.split_first_chunk::<4>() else {
        return Err(ShareError::Encoding("nothing behind its beginning".to_owned()));
    };
    let mut json = Vec::new();
    let mut unpacked = DeflateDecoder::new(packed).take(MAX_BYTES + 1);
    unpacked.read_to_end(&mut json).map_err(|error| ShareError::Encoding(error.to_string()))?;
    if json.len() as u64 > MAX_BYTES {
        return Err(ShareError::TooLarge);
    }
    let (expected, found) = (u32::from_le_bytes(*sum), check_sum(&json));
    if expected != found {
        return Err(ShareError::CheckSum { expected, found });
    }
    let session: Session = serde_json::from_slice(&json).map_err(|error| ShareError::Content(error.to_string()))?;
    session.document.state.check()?;
    Ok(session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::preset::Preset;

    fn session() -> Session {
        let mut session = Session::default();
        session.document.state.row = Preset::Irregular.row();
        session.document.state.row.keys[3] = 0.1 + 0.2;
        session.document.panels.insert("Operator".to_owned(), serde_json::json!({ "drag": "Time" }));
        session
    }

    #[test]
    fn everything_comes_back_to_the_last_bit() {
        let text = encode(&session());
        let back = decode(&text).unwrap();
        assert_eq!(back.document, session().document);
        let wrapped: String =
            text.chars().enumerate().flat_map(|(i, c)| [Some(c), (i % 60 == 59).then_some('\n')]).flatten().collect();
        assert_eq!(decode(&wrapped).unwrap().document, session().document);
        assert!(text.len() < 1000, "{}", text.len());
    }

    /// Every cut and every changed character is noticed, and nothing panics.
    #[test]
    fn changed_strings_are_refused() {
        let text = encode(&session());
        for at in 0..text.len() {
            assert!(decode(&text[..at]).is_err(), "cut at {at}");
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            // The last character may hold bits that mean nothing; then the decoder refuses it or it is the same text.
            if let Ok(back) = decode(&changed) {
                assert_eq!(back.document, session().document, "changed at {at}");
            }
        }
    }

    #[test]
    fn hostile_strings_are_refused() {
        let pack = |json: &str| {
            let mut bytes = check_sum(json.as_bytes()).to_le_bytes().to_vec();
            DeflateEncoder::new(json.as_bytes(), flate2::Compression::best()).read_to_end(&mut bytes).unwrap();
            format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes))
        };
        assert!(matches!(decode("https://example.org"), Err(ShareError::Prefix { .. })));
        assert!(matches!(decode(&"x".repeat(MAX_CHARACTERS + 1)), Err(ShareError::TooLong { .. })));
        assert!(matches!(decode(&pack(&" ".repeat(9 << 20))), Err(ShareError::TooLarge)));
        assert!(matches!(decode(&pack("[1, 2")), Err(ShareError::Content(_))));
        let deep = "[".repeat(100_000);
        assert!(matches!(decode(&pack(&deep)), Err(ShareError::Content(_))));
        let mut bad = session();
        bad.document.state.row.times[2] = -5.0;
        assert!(matches!(decode(&encode(&bad)), Err(ShareError::State(StateError::Order { .. }))));
        let mut bad = session();
        bad.document.state.row.values.pop();
        assert!(matches!(decode(&encode(&bad)), Err(ShareError::State(StateError::Lengths { .. }))));
        let mut bad = session();
        bad.document.state.row.keys[1] = 1e300;
        assert!(matches!(decode(&encode(&bad)), Err(ShareError::State(StateError::Number { .. }))));
    }
}
