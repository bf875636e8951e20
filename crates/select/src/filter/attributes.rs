//! Attributes of an element of a filter file, with their places for errors.

use roxmltree::{Attribute, Node};

use super::error::{FilterError, Problem};
use super::levels::{Change, DEFAULT, Level};
use super::pattern::Match;
use super::{Edges, Range, Start};
use crate::budget::Budget;

/// An error at a byte of the document.
pub(super) fn error_at(node: Node<'_, '_>, byte: usize, problem: Problem) -> FilterError {
    let place = node.document().text_pos_at(byte);
    FilterError { line: place.row, column: place.col, problem }
}

/// An error at the beginning of an element.
pub(super) fn error(node: Node<'_, '_>, problem: Problem) -> FilterError {
    error_at(node, node.range().start, problem)
}

/// Refuses attributes that the element does not have.
pub(super) fn only(node: Node<'_, '_>, known: &[&str]) -> Result<(), FilterError> {
    let unknown = node.attributes().find(|attribute| attribute.namespace().is_some() || !known.contains(&attribute.name()));
    let Some(attribute) = unknown else { return Ok(()) };
    let expected = if known.is_empty() { "none".to_string() } else { known.join(", ") };
    let problem = Problem::UnknownAttribute { element: node.tag_name().name().to_string(), found: attribute.name().to_string(), expected };
    Err(error_at(node, attribute.range().start, problem))
}

/// An attribute that must be there.
pub(super) fn required<'a>(node: Node<'a, '_>, name: &str, expected: &str) -> Result<&'a str, FilterError> {
    let missing = || error(node, Problem::MissingAttribute { element: node.tag_name().name().to_string(), expected: expected.to_string() });
    node.attribute(name).filter(|value| !value.is_empty()).ok_or_else(missing)
}

fn bad(node: Node<'_, '_>, attribute: &Attribute<'_, '_>, expected: impl Into<String>) -> FilterError {
    let problem = Problem::BadValue { attribute: attribute.name().to_string(), found: attribute.value().to_string(), expected: expected.into() };
    error_at(node, attribute.range().start, problem)
}

/// An attribute with a value of its own kind.
fn parsed<T>(node: Node<'_, '_>, name: &str, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, FilterError> {
    let Some(attribute) = node.attribute_node(name) else { return Ok(None) };
    parse(attribute.value()).map(Some).ok_or_else(|| bad(node, &attribute, expected))
}

/// `start`.
pub(super) fn start(node: Node<'_, '_>) -> Result<Option<Start>, FilterError> {
    parsed(node, "start", "none or all", |value| [Start::None, Start::All].into_iter().find(|start| start.name() == value))
}

/// `budget`.
pub(super) fn budget(node: Node<'_, '_>) -> Result<Option<Budget>, FilterError> {
    parsed(node, "budget", "a percentage above 0 and up to 1000, such as 2%", |value| value.parse().ok())
}

/// `match`.
pub(super) fn how(node: Node<'_, '_>) -> Result<Match, FilterError> {
    let known = Match::ALL.map(Match::name).join(", ");
    parsed(node, "match", &known, Match::named).map(Option::unwrap_or_default)
}

/// `edges`.
pub(super) fn edges(node: Node<'_, '_>) -> Result<Edges, FilterError> {
    let value = |value: &str| match value {
        "sure" => Some(Edges::Sure),
        "possible" => Some(Edges::Possible),
        _ => None,
    };
    parsed(node, "edges", "sure or possible", value).map(Option::unwrap_or_default)
}

/// `min` and `max`.
pub(super) fn range(node: Node<'_, '_>) -> Result<Range, FilterError> {
    let number = |name| parsed(node, name, "a whole number from 0 to 18446744073709551615", |value| value.trim().parse::<u64>().ok());
    let range = Range { min: number("min")?, max: number("max")? };
    match range {
        Range { min: Some(min), max: Some(max) } if min > max => Err(error(node, Problem::EmptyRange { min, max })),
        range => Ok(range),
    }
}

/// `instrument`: `functions=SNIPPET,loops=SNIPPET,callsites=SNIPPET`, or a level alone for its default snippet.
pub(super) fn instrument(node: Node<'_, '_>) -> Result<Option<Change>, FilterError> {
    const EXPECTED: &str = "functions=SNIPPET, loops=SNIPPET or callsites=SNIPPET, separated by commas, each level once";
    parsed(node, "instrument", EXPECTED, |value| {
        let mut change = Change::default();
        for part in value.split(',').map(str::trim) {
            let (level, name) = part.split_once('=').unwrap_or((part, DEFAULT));
            let level = Level::ALL.into_iter().find(|one| one.name() == level.trim())?;
            let name = Some(name.trim()).filter(|name| is_name(name))?;
            if change.at(level).replace(level.snippet(name)).is_some() {
                return None;
            }
        }
        Some(change)
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| character.is_alphanumeric() || "_-.:".contains(character))
}
