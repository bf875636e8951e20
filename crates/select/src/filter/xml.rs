//! What is wrong with a text that is no XML: where, and what was expected there.

use roxmltree::{Error, TextPos};

use super::error::{FilterError, Problem};

/// What the parser found, with the place and what was expected; it leaves both out where a text ends too early.
pub(super) fn not_xml(error: &Error, text: &str) -> FilterError {
    let found = |what: String, expected: &str| (error.pos(), what, expected.to_string());
    let (place, what, expected) = match error {
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => ends_early(text),
        Error::InvalidString(..) if matches!(Open::at_end(text).last, Some((_, Part::Between(..)))) => ends_early(text),
        Error::NoRootNode => found("there is no element".into(), ROOT),
        Error::UnexpectedCloseTag(open, close, _) => found(format!("</{close}> closes no element that is open last"), &format!("</{open}>")),
        Error::UnknownEntityReference(name, _) => found(format!("`&{name};` is not known"), ENTITIES),
        Error::MalformedEntityReference(_) => found("`&` begins no character".into(), &format!("&amp; for the character itself, or {ENTITIES}")),
        Error::UnexpectedEntityCloseTag(_) | Error::EntityReferenceLoop(_) | Error::EntityResolver(..) => {
            found("an entity holds more than a character".into(), ENTITIES)
        }
        Error::InvalidAttributeValue(_) | Error::InvalidChar(b'\'' | b'"', b'<', _) => found("`<` stands in a value".into(), "&lt;"),
        Error::DuplicatedAttribute(name, _) => found(format!("the attribute `{name}` stands twice"), "it once"),
        Error::UnexpectedDeclaration(_) => found("<?xml …?> stands within the file".into(), "it at the very begin, or nowhere"),
        Error::DtdDetected => (place_of(text, text.find("<!DOCTYPE").unwrap_or(0)), "document types are not read".into(), ROOT.to_string()),
        Error::NodesLimitReached | Error::AttributesLimitReached | Error::NamespacesLimitReached => {
            found("there are too many elements".into(), "fewer of them: any number of names fit into one")
        }
        Error::InvalidName(_) => found("no name stands here".into(), "one that begins with a letter"),
        Error::NonXmlChar(character, _) => found(format!("{character:?} stands in the text"), "no control characters"),
        Error::InvalidChar(wanted, character, _) => found(format!("`{}` stands here", char::from(*character)), &format!("`{}`", char::from(*wanted))),
        Error::InvalidChar2(wanted, character, _) => found(format!("`{}` stands here", char::from(*character)), &wanted.replace('\'', "`")),
        Error::InvalidString(wanted, _) => found("something else stands here".into(), &format!("`{wanted}`")),
        Error::InvalidComment(_) => found("`--` stands in a comment".into(), "it at the comment's end alone: `-->`"),
        Error::InvalidCharacterData(_) => found("`]]>` stands in a text".into(), "]]&gt;"),
        Error::UnknownNamespace(prefix, _) => found(format!("the prefix `{prefix}:` is not known"), "elements and attributes without a prefix"),
        Error::UnknownToken(_) => misplaced(text, error.pos()),
        other => found(other.to_string(), "XML"),
    };
    FilterError { line: place.row, column: place.col, problem: Problem::NotXml { what, expected } }
}

const ROOT: &str = "<filter name=\"…\">";
const ENTITIES: &str = "&lt; &gt; &amp; &quot; &apos; or the number of a character, as in &#233;";

/// Something that is no comment before or behind the one element of a file, or no element in it.
fn misplaced(text: &str, place: TextPos) -> (TextPos, String, String) {
    let read = &text[..byte_of(text, place)];
    let open = Open::at_end(read);
    let (what, expected) = match (&open.last, open.has_ended) {
        (None, true) => ("there is more behind the last element".to_string(), "the end of the file: it holds one <filter>"),
        (None, false) => ("the file does not begin with an element".to_string(), ROOT),
        (Some(_), _) => ("this begins no element".to_string(), "an element, text or a comment"),
    };
    (place, what, expected.to_string())
}

/// Which element, comment or value is not closed where the text ends.
fn ends_early(text: &str) -> (TextPos, String, String) {
    match Open::at_end(text).last {
        Some((at, Part::Element(name))) => (place_of(text, at), format!("<{name}> is not closed"), format!("</{name}> before the file ends")),
        Some((at, Part::Between(what, end))) => (place_of(text, at), format!("{what} is not closed"), format!("{end} before the file ends")),
        None => (place_of(text, text.len()), "the file ends here".to_string(), ROOT.to_string()),
    }
}

/// What begins somewhere and is to end.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    /// An element of this name.
    Element(String),
    /// What it is, and what ends it.
    Between(&'static str, &'static str),
}

/// What is open at the end of a text.
struct Open {
    /// The innermost: where it begins, and what it is.
    last: Option<(usize, Part)>,
    /// Whether an element has come to its end.
    has_ended: bool,
}

impl Open {
    fn at_end(text: &str) -> Self {
        let mut elements: Vec<(usize, &str)> = Vec::new();
        let (mut at, mut has_ended) = (0, false);
        while let Some(begin) = text[at..].find('<').map(|offset| at + offset) {
            let rest = &text[begin..];
            let (part, end) = match rest {
                _ if rest.starts_with("<!--") => (Part::Between("a comment", "-->"), rest.find("-->").map(|end| end + 3)),
                _ if rest.starts_with("<![CDATA[") => (Part::Between("<![CDATA[", "]]>"), rest.find("]]>").map(|end| end + 3)),
                _ if rest.starts_with("<?") => (Part::Between("<?", "?>"), rest.find("?>").map(|end| end + 2)),
                _ => (Part::Between("a tag", "`>`"), end_of_tag(rest)),
            };
            let Some(end) = end else { return Self { last: Some((begin, part)), has_ended } };
            let tag = &rest[1..end - 1];
            if tag.starts_with('/') {
                elements.pop();
                has_ended = true;
            } else if tag.ends_with('/') {
                has_ended = true;
            } else if part == Part::Between("a tag", "`>`") {
                elements.push((begin, tag.split_whitespace().next().unwrap_or_default()));
            }
            at = begin + end;
        }
        Self { last: elements.pop().map(|(at, name)| (at, Part::Element(name.to_string()))), has_ended }
    }
}

/// Bytes of a tag, whose values may hold `>`.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn place_of(text: &str, byte: usize) -> TextPos {
    let before = &text[..byte];
    let line = before.rsplit('\n').next().unwrap_or_default();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    TextPos::new(number(1 + before.matches('\n').count()), number(1 + line.chars().count()))
}

fn byte_of(text: &str, place: TextPos) -> usize {
    let line: usize = text.split_inclusive('\n').take(place.row as usize - 1).map(str::len).sum();
    let characters = text[line..].char_indices().map(|(at, _)| at).chain([text.len() - line]);
    line + { characters }.nth(place.col as usize - 1).unwrap_or(0)
}
