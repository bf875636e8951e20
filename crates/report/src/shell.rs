//! Words and commands as a shell reads them: what is offered to be typed must mean what is meant.

use std::borrow::Cow;
use std::path::Path;

/// A word that a POSIX shell reads as this text; quoted where it has to be.
#[must_use]
pub fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |character: char| character.is_alphanumeric() || "_-.,:/@%+=".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) { text.into() } else { format!("'{}'", text.replace('\'', r"'\''")).into() }
}

/// A path, which is no option where it begins with a hyphen.
#[must_use]
pub fn path(path: impl AsRef<Path>) -> String {
    let text = path.as_ref().display().to_string();
    word(&if text.starts_with('-') { format!("./{text}") } else { text }).into_owned()
}

/// A command.
#[must_use]
pub fn line(words: &[impl AsRef<str>]) -> String {
    words.iter().map(|text| word(text.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{line, path, word};

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(word("runs/app-20261123"), "runs/app-20261123");
        assert_eq!(word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!((word(""), word("~x"), word("*")), ("''".into(), "'~x'".into(), "'*'".into()));
        assert_eq!((path("my run"), path("-n")), ("'my run'".into(), "./-n".into()));
        assert_eq!(line(&["./app", "-n", "a b"]), "./app -n 'a b'");
    }
}
