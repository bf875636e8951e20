//! Words and commands as a shell reads them: what is offered to be typed must mean what is meant.

use std::borrow::Cow;
use std::fmt::Write;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use crate::layout::is_shown;

/// A word that a shell reads as this text; quoted where it has to be, and what no line shows by its number (`$'…'`, POSIX 2024).
#[must_use]
pub fn word(text: &str) -> Cow<'_, str> {
    if !text.chars().all(is_shown) {
        return format!("$'{}'", text.chars().map(escaped).collect::<String>()).into();
    }
    let is_plain = |character: char| character.is_alphanumeric() || "_-.,:/@%+=".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) { text.into() } else { format!("'{}'", text.replace('\'', r"'\''")).into() }
}

fn escaped(character: char) -> String {
    match character {
        '\n' => r"\n".into(),
        '\t' => r"\t".into(),
        '\\' | '\'' => format!("\\{character}"),
        shown if is_shown(shown) => shown.into(),
        // Three digits: what follows may be a digit, too.
        other => other.encode_utf8(&mut [0; 4]).bytes().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "\\{byte:03o}");
            text
        }),
    }
}

/// The words of a line as [`line()`] writes it; `None` where a quotation mark is not closed.
#[must_use]
pub fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            ' ' => words.extend(word.take()),
            '\'' => word.get_or_insert_default().push_str(&quoted(&mut rest)?),
            '$' if rest.next_if_eq(&'\'').is_some() => word.get_or_insert_default().push_str(&unescaped(&mut rest)?),
            '\\' => word.get_or_insert_default().push(rest.next()?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

fn quoted(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    loop {
        match rest.next()? {
            '\'' => return Some(text),
            other => text.push(other),
        }
    }
}

/// What stands up to the end of `$'…'`.
fn unescaped(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut bytes = Vec::new();
    let push = |bytes: &mut Vec<u8>, character: char| bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    loop {
        match rest.next()? {
            '\'' => return String::from_utf8(bytes).ok(),
            '\\' => match rest.next()? {
                'n' => bytes.push(b'\n'),
                't' => bytes.push(b'\t'),
                first if first.is_digit(8) => {
                    let digits: String = [Some(first), rest.next(), rest.next()].into_iter().flatten().collect();
                    bytes.push(u8::from_str_radix(&digits, 8).ok()?);
                }
                other => push(&mut bytes, other),
            },
            other => push(&mut bytes, other),
        }
    }
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
    use super::{line, path, word, words};

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(word("runs/app-20261123"), "runs/app-20261123");
        assert_eq!(word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!((word(""), word("~x"), word("*")), ("''".into(), "'~x'".into(), "'*'".into()));
        assert_eq!((path("my run"), path("-n")), ("'my run'".into(), "./-n".into()));
        assert_eq!(line(&["./app", "-n", "a b"]), "./app -n 'a b'");
        assert_eq!(path("it's\nnl\u{1}7"), r"$'it\'s\nnl\0017'");
    }

    #[test]
    fn a_line_is_read_as_the_words_that_it_was_made_of() {
        for all in [&["./na me", "it's", "a  b", "", "$x"][..], &["r\nnl", "\u{202e}7\u{85}\\'", "ü \t"], &[r"\", "'", "$'"]] {
            assert_eq!(words(&line(all)).as_deref(), Some(&all.iter().map(|word| word.to_string()).collect::<Vec<_>>()[..]), "{}", line(all));
        }
        assert_eq!(words("./app it's"), None);
    }
}
