//! Which tensor of which file, as written on a command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file format, told by the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// one array, as NumPy saves it
    Npy,
    /// a zip archive of `.npy` members
    Npz,
    /// named tensors behind a JSON header
    Safetensors,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 3] = [Format::Npy, Format::Npz, Format::Safetensors];

    /// The extension with its dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Npy => ".npy",
            Format::Npz => ".npz",
            Format::Safetensors => ".safetensors",
        }
    }

    /// The format that the end of a path says, in either case of letters.
    pub fn of_path(path: impl AsRef<Path>) -> Option<Format> {
        let name = path.as_ref().file_name()?.as_encoded_bytes();
        Format::ALL.into_iter().find(|f| ends_with(name, f.extension()))
    }
}

fn ends_with(text: &[u8], extension: &str) -> bool {
    text.len() >= extension.len() && text[text.len() - extension.len()..].eq_ignore_ascii_case(extension.as_bytes())
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extension())
    }
}

/// A tensor in a file: `file.npy`, `file.npz:name`, `file.safetensors:name`, or a file that holds only one tensor.
///
/// Paths and names may contain colons: the name begins behind the last colon that follows a known extension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Locator {
    path: PathBuf,
    name: Option<String>,
    format: Format,
}

/// Why a text names no tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocatorError {
    /// No known extension at the end of the path.
    #[error("{found:?}: expected FILE.npy, FILE.npz:NAME or FILE.safetensors:NAME")]
    UnknownExtension {
        /// the text
        found: String,
    },
    /// A colon without a name behind it.
    #[error("{found:?}: a name is missing behind the colon")]
    EmptyName {
        /// the text
        found: String,
    },
    /// A name for a `.npy` file.
    #[error("{}: a .npy file holds one array without a name, found name {name:?}", .path.display())]
    NameNotAllowed {
        /// the path
        path: PathBuf,
        /// the name
        name: String,
    },
}

impl Locator {
    /// The tensor `name` of the file at `path`.
    ///
    /// # Errors
    /// [`LocatorError`] for a path without a known extension, an empty name, or a name for `.npy`.
    pub fn new(path: impl AsRef<Path>, name: Option<&str>) -> Result<Locator, LocatorError> {
        let path = path.as_ref().to_owned();
        let found = || path.display().to_string();
        let Some(format) = Format::of_path(&path) else {
            return Err(LocatorError::UnknownExtension { found: found() });
        };
        match name {
            Some("") => Err(LocatorError::EmptyName { found: format!("{}:", found()) }),
            Some(name) if format == Format::Npy => Err(LocatorError::NameNotAllowed { path, name: name.to_owned() }),
            _ => Ok(Locator { path, name: name.map(str::to_owned), format }),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tensor within it; none for `.npy`, and where the file's only tensor is meant.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The file's format.
    pub fn format(&self) -> Format {
        self.format
    }
}

impl FromStr for Locator {
    type Err = LocatorError;

    fn from_str(text: &str) -> Result<Locator, LocatorError> {
        let colon = text
            .rmatch_indices(':')
            .map(|(at, _)| at)
            .find(|&at| Format::ALL.iter().any(|f| ends_with(&text.as_bytes()[..at], f.extension())));
        match colon {
            Some(at) => Locator::new(&text[..at], Some(&text[at + 1..])),
            None => Locator::new(text, None),
        }
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match &self.name {
            Some(name) => write!(f, ":{name}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, Option<String>, Format) {
        let locator: Locator = text.parse().unwrap();
        assert_eq!(locator.to_string(), text);
        (locator.path().display().to_string(), locator.name().map(str::to_owned), locator.format())
    }

    #[test]
    fn splits_behind_an_extension() {
        let named = |path: &str, name: &str, format| (path.to_owned(), Some(name.to_owned()), format);
        assert_eq!(parts("a/q.npy"), ("a/q.npy".to_owned(), None, Format::Npy));
        assert_eq!(parts("a.npz:q"), named("a.npz", "q", Format::Npz));
        assert_eq!(parts("at 12:30/a.NPZ:q"), named("at 12:30/a.NPZ", "q", Format::Npz));
        assert_eq!(parts("m.safetensors:block:0/q"), named("m.safetensors", "block:0/q", Format::Safetensors));
        assert_eq!(parts("a.npz:b.npz:c"), named("a.npz:b.npz", "c", Format::Npz));
        assert_eq!(parts("12:30.npy"), ("12:30.npy".to_owned(), None, Format::Npy));
        assert_eq!(parts("m.safetensors"), ("m.safetensors".to_owned(), None, Format::Safetensors));
        assert_eq!(parts("é.npz:ü"), named("é.npz", "ü", Format::Npz));
    }

    #[test]
    fn says_what_is_missing() {
        let error = |text: &str| text.parse::<Locator>().unwrap_err();
        assert!(matches!(error(""), LocatorError::UnknownExtension { .. }));
        assert!(matches!(error("q.txt"), LocatorError::UnknownExtension { .. }));
        assert!(matches!(error("q.pt:w"), LocatorError::UnknownExtension { .. }));
        assert!(matches!(error("a.npz:"), LocatorError::EmptyName { .. }));
        assert!(matches!(error("a.npy:x"), LocatorError::NameNotAllowed { name, .. } if name == "x"));
    }
}
