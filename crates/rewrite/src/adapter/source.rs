//! The characters of an element's text with their positions in the file.
//!
//! The XML parser hands out text with its entities replaced, and has no positions within it; errors in snippets
//! name line and column, so this reads the text a second time.

use crate::snippet::Place;

/// Positions of all bytes of a file.
pub(crate) struct Positions {
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Positions {
    pub(crate) fn new(text: &str) -> Self {
        let behind_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { lines: std::iter::once(0).chain(behind_breaks).collect() }
    }

    /// The position of a byte.
    pub(crate) fn place(&self, text: &str, at: usize) -> Place {
        let line = self.lines.partition_point(|&start| start <= at);
        let start = line.checked_sub(1).and_then(|index| self.lines.get(index)).copied().unwrap_or(0);
        let column = text.get(start..at).map_or(0, |before| before.chars().count());
        Place { line: u32::try_from(line).unwrap_or(u32::MAX), column: u32::try_from(column + 1).unwrap_or(u32::MAX) }
    }
}

/// The characters of a piece of XML that holds text, entities, comments and CDATA sections only.
pub(crate) fn characters(raw: &str, start: Place) -> Vec<(char, Place)> {
    let mut found = Vec::with_capacity(raw.len());
    let mut place = start;
    let mut rest = raw;
    let mut is_verbatim = false;
    while let Some(first) = rest.chars().next() {
        let (taken, character) = next(rest, first, &mut is_verbatim);
        found.extend(character.map(|character| (character, place)));
        let (consumed, left) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        place = consumed.chars().fold(place, Place::behind);
        rest = left;
    }
    found
}

/// How many bytes come next, and the character that they stand for.
fn next(rest: &str, first: char, is_verbatim: &mut bool) -> (usize, Option<char>) {
    const BEGIN: &str = "<![CDATA[";
    const END: &str = "]]>";
    if *is_verbatim {
        if rest.starts_with(END) {
            *is_verbatim = false;
            return (END.len(), None);
        }
        return (first.len_utf8(), Some(first));
    }
    if rest.starts_with(BEGIN) {
        *is_verbatim = true;
        return (BEGIN.len(), None);
    }
    if rest.starts_with("<!--") {
        return (rest.find("-->").map_or(rest.len(), |end| end + 3), Some(' '));
    }
    if first == '&' {
        let end = rest.find(';').unwrap_or(0);
        return (end + 1, Some(entity(rest.get(1..end).unwrap_or_default())));
    }
    (first.len_utf8(), Some(first))
}

/// The character that an entity stands for. The XML parser has refused others than these before.
fn entity(name: &str) -> char {
    let code = match name.strip_prefix("#x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => name.strip_prefix('#').and_then(|digits| digits.parse().ok()),
    };
    match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => code.and_then(char::from_u32).unwrap_or('\u{fffd}'),
    }
}
