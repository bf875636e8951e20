//! A question as words: plain ones, quoted names, regular expressions, and commas.

use crate::Puzzle;
use crate::question::Measure;

/// A measure where it is of something, else a kind of event.
pub(crate) const CALLS: &str = "calls";

/// A word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    /// As it stands.
    Plain(String),
    /// Between quotation marks.
    Quoted(String),
    /// Between slashes.
    Expression(String),
    /// A comma.
    Comma,
}

impl Word {
    /// As it is said in a message.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Plain(text) | Self::Quoted(text) => text.clone(),
            Self::Expression(text) => format!("/{text}/"),
            Self::Comma => ",".to_string(),
        }
    }
}

/// Takes a question apart. A word that begins and ends with a slash is a regular expression; a path does not end with one. A comma
/// without a blank ends a measure and nothing else: names of functions and files can have commas.
pub(crate) fn words(question: &str) -> Result<Vec<Word>, Puzzle> {
    let mut words = Vec::new();
    let mut rest = question.trim();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '"' | '\'' => {
                let end = rest[1..].find(first).ok_or(Puzzle::Open(first))? + 1;
                (Word::Quoted(rest[1..end].to_string()), &rest[end + 1..])
            }
            ',' => (Word::Comma, &rest[1..]),
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let text = rest[..end].trim_end_matches([',', '?']);
                let text = text.split_once(',').map_or(text, |(first, _)| if is_measure(first) { first } else { text });
                if text.is_empty() { (Word::Comma, &rest[end..]) } else { (plain(text), &rest[text.len()..]) }
            }
        };
        words.push(word);
        rest = after.trim_start_matches('?').trim_start();
    }
    Ok(words)
}

fn is_measure(word: &str) -> bool {
    word == CALLS || Measure::of_word(word).is_some()
}

fn plain(text: &str) -> Word {
    match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        Some(expression) if !expression.is_empty() => Word::Expression(expression.to_string()),
        _ => Word::Plain(text.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_are_quoted_and_a_question_mark_says_nothing() {
        let plain = |text: &str| Word::Plain(text.into());
        assert_eq!(
            words("time, count of 'f(int, int)' under /^s[o]lve$/ at a.c:12?"),
            Ok(vec![
                plain("time"),
                Word::Comma,
                plain("count"),
                plain("of"),
                Word::Quoted("f(int, int)".into()),
                plain("under"),
                Word::Expression("^s[o]lve$".into()),
                plain("at"),
                plain("a.c:12")
            ])
        );
        assert_eq!(words("self,calls,time"), Ok(vec![plain("self"), Word::Comma, plain("calls"), Word::Comma, plain("time")]));
        assert_eq!(words("f(int,int) at a,b.c:1"), Ok(vec![plain("f(int,int)"), plain("at"), plain("a,b.c:1")]));
        assert_eq!(words("time of \"f"), Err(Puzzle::Open('"')));
        assert_eq!(words("/home/a.c:1"), Ok(vec![plain("/home/a.c:1")]));
        assert_eq!(words(" ? "), Ok(vec![Word::Comma]));
    }
}
