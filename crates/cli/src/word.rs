//! Words of the system in our files: names of files, arguments, values of the environment. They are bytes, and stored as text where they are text.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A word.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub(crate) struct Word(pub(crate) OsString);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<Stored> for Word {
    fn from(stored: Stored) -> Self {
        Self(match stored {
            Stored::Text(text) => text.into(),
            Stored::Bytes(bytes) => OsString::from_vec(bytes),
        })
    }
}

impl From<Word> for Stored {
    fn from(word: Word) -> Self {
        word.0.into_string().map_or_else(|word| Self::Bytes(word.into_vec()), Self::Text)
    }
}

impl From<PathBuf> for Word {
    fn from(path: PathBuf) -> Self {
        Self(path.into())
    }
}

impl From<String> for Word {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// Stores a path, as a word is.
pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Word(path.into()).serialize(serializer)
}

/// Reads a path that was stored as a word.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(Word::deserialize(deserializer)?.0.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_text_are_stored_as_they_are() {
        for (bytes, stored) in [(&b"./app"[..], r#""./app""#), (b"./\xff", "[46,47,255]")] {
            let word = Word(OsString::from_vec(bytes.to_vec()));
            assert_eq!(serde_json::to_string(&word).expect("JSON"), stored);
            assert_eq!(serde_json::from_str::<Word>(stored).expect("a word"), word);
        }
    }
}
