//! From XML to a filter.

use std::sync::Arc;

use roxmltree::{Document, Node, ParsingOptions};

use super::attributes::{budget, edges, error, error_at, how, instrument, only, range, required, start};
use super::error::{FilterError, Problem};
use super::levels::{Change, Snippets};
use super::pattern::{BadWord, Pattern, words};
use super::xml::not_xml;
use super::{Action, Condition, Direction, Filter, Names, Number, Property, Range, Rule};

/// Elements and texts that a filter file may have: a million functions by name fit into one element.
const NODES: u32 = 1 << 20;
/// Characters of a rule that are shown.
const SHOWN: usize = 120;

const CONDITIONS: &str = "<property>, <functionnames>, <classnames>, <namespaces>, <filenames>, <and>, <or> or <not>";
const RULES: &str = "<include> or <exclude>";

impl Filter {
    /// Reads a filter file.
    ///
    /// # Errors
    /// Says what is wrong in which line and column, and what was expected there.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let options = ParsingOptions { nodes_limit: NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options).map_err(|error| not_xml(&error, text))?;
        let root = document.root_element();
        if !root.has_tag_name("filter") {
            return Err(error(root, Problem::NoFilter { found: root.tag_name().name().to_string() }));
        }
        Self::of_element(root)
    }

    /// Reads a `<filter>` that is part of a document.
    ///
    /// # Errors
    /// Says what is wrong in which line and column of the document, and what was expected there.
    pub fn of_element(node: Node<'_, '_>) -> Result<Self, FilterError> {
        only(node, &["name", "start", "budget", "instrument"])?;
        let name = required(node, "name", "name=\"…\", by which reports call the filter")?.into();
        let snippets = instrument(node)?.map(|change| {
            let mut snippets = Snippets { functions: None, loops: None, callsites: None };
            change.apply(&mut snippets);
            snippets
        });
        let mut lines = Lines { text: node.document().input_text(), byte: 0, line: 1 };
        let line = lines.of(node);
        let rules = elements(node, RULES)?.map(|one| rule(one, &mut lines)).collect::<Result<_, _>>()?;
        Ok(Self { name, start: start(node)?, budget: budget(node)?, snippets, rules, line })
    }
}

/// The lines in which elements begin, asked for in their order: the text is counted once, however many there are.
struct Lines<'a> {
    text: &'a str,
    /// Where the last one begins, and its line.
    byte: usize,
    line: u32,
}

impl Lines<'_> {
    fn of(&mut self, node: Node<'_, '_>) -> u32 {
        let between = self.text.get(self.byte..node.range().start).unwrap_or_default();
        self.line += u32::try_from(between.matches('\n').count()).unwrap_or(0);
        self.byte = node.range().start;
        self.line
    }
}

/// Where an element begins in its line, if another one begins or ends there.
fn column(node: Node<'_, '_>) -> Option<u32> {
    let start = |node: Node<'_, '_>| node.range().start;
    let text = |from: usize, to: usize| node.document().input_text().get(from..to).unwrap_or_default();
    let before = node.prev_sibling_element().is_some_and(|one| !text(start(one), start(node)).contains('\n'));
    let behind = node.next_sibling_element().is_some_and(|one| !text(start(node), start(one)).contains('\n'));
    let line = text(0, start(node)).rsplit('\n').next().unwrap_or_default();
    (before || behind).then(|| 1 + u32::try_from(line.chars().count()).unwrap_or(0))
}

fn tag(node: Node<'_, '_>) -> String {
    node.tag_name().name().to_string()
}

/// The elements in an element; text between them is refused.
fn elements<'a, 'input>(node: Node<'a, 'input>, expected: &str) -> Result<impl Iterator<Item = Node<'a, 'input>>, FilterError> {
    let stray = node.children().find(|child| child.is_text() && !child.text().unwrap_or_default().trim().is_empty());
    if let Some(child) = stray {
        let text = child.text().unwrap_or_default();
        let before = text.len() - text.trim_start().len();
        let found: String = text.trim().chars().take(40).collect();
        let problem = Problem::UnexpectedText { found, within: tag(node), expected: expected.to_string() };
        return Err(error_at(child, child.range().start + before, problem));
    }
    Ok(node.children().filter(Node::is_element))
}

fn unknown(node: Node<'_, '_>, expected: &str) -> FilterError {
    let within = node.parent_element().map(tag).unwrap_or_default();
    error(node, Problem::UnknownElement { found: tag(node), within, expected: expected.to_string() })
}

fn rule(node: Node<'_, '_>, lines: &mut Lines<'_>) -> Result<Rule, FilterError> {
    let action = match node.tag_name().name() {
        "include" => Action::Include,
        "exclude" => Action::Exclude,
        _ => return Err(unknown(node, RULES)),
    };
    let change = if action == Action::Include {
        only(node, &["instrument"])?;
        instrument(node)?.unwrap_or_default()
    } else {
        if let Some(attribute) = node.attribute_node("instrument") {
            let expected = "none: what is kept out has no snippets; `instrument` stands in <filter> and <include>".to_string();
            let problem = Problem::UnknownAttribute { element: tag(node), found: "instrument".to_string(), expected };
            return Err(error_at(node, attribute.range().start, problem));
        }
        only(node, &[])?;
        Change::default()
    };
    let mut conditions = several(node, 1)?;
    let condition = if conditions.len() == 1 { conditions.swap_remove(0) } else { Condition::All(conditions) };
    Ok(Rule { action, condition, change, line: lines.of(node), column: column(node), text: on_one_line(node).into() })
}

/// The element as it is written, with single spaces, cut where it becomes long.
fn on_one_line(node: Node<'_, '_>) -> String {
    let source = node.document().input_text().get(node.range()).unwrap_or_default();
    let mut line = String::new();
    for word in source.split_whitespace() {
        let space = if line.is_empty() || word.starts_with('<') || line.ends_with('>') { "" } else { " " };
        line.extend([space, word]);
        if let Some((cut, _)) = line.char_indices().nth(SHOWN) {
            line.truncate(cut);
            line.push('…');
            break;
        }
    }
    line
}

/// The conditions in an element, at least one.
fn several(node: Node<'_, '_>, depth: usize) -> Result<Vec<Condition>, FilterError> {
    let conditions: Vec<Condition> = elements(node, CONDITIONS)?.map(|child| condition(child, depth)).collect::<Result<_, _>>()?;
    if conditions.is_empty() {
        return Err(error(node, Problem::Empty { element: tag(node), expected: CONDITIONS.to_string() }));
    }
    Ok(conditions)
}

/// The one condition in an element.
fn one(node: Node<'_, '_>, depth: usize) -> Result<Condition, FilterError> {
    let mut conditions = several(node, depth)?;
    match conditions.len() {
        1 => Ok(conditions.swap_remove(0)),
        found => Err(error(node, Problem::TooMany { element: tag(node), found })),
    }
}

fn condition(node: Node<'_, '_>, depth: usize) -> Result<Condition, FilterError> {
    if depth > Filter::MAX_NESTING {
        return Err(error(node, Problem::TooDeep { limit: Filter::MAX_NESTING }));
    }
    let plain = |node| only(node, &[]);
    match node.tag_name().name() {
        "and" => plain(node).and_then(|()| several(node, depth + 1)).map(Condition::All),
        "or" => plain(node).and_then(|()| several(node, depth + 1)).map(Condition::Any),
        "not" => plain(node).and_then(|()| one(node, depth + 1)).map(|part| Condition::Not(Box::new(part))),
        "property" => property(node, depth).map(Condition::Property),
        name => match names_of(name) {
            Some(of) => only(node, &["match"]).and_then(|()| names(node, of)).map(Condition::Property),
            None => Err(unknown(node, CONDITIONS)),
        },
    }
}

fn names_of(element: &str) -> Option<Names> {
    match element {
        "functionnames" => Some(Names::Function),
        "classnames" => Some(Names::Class),
        "namespaces" => Some(Names::Namespace),
        "filenames" => Some(Names::File),
        _ => None,
    }
}

fn property(node: Node<'_, '_>, depth: usize) -> Result<Property, FilterError> {
    let name = required(node, "name", &format!("name=\"…\": {}", known_properties()))?;
    if let Some(of) = names_of(name) {
        only(node, &["name", "match"])?;
        return names(node, of);
    }
    if let Some(of) = Number::ALL.into_iter().find(|number| number.name() == name) {
        return number(node, of);
    }
    let direction = match name {
        "path" => Direction::To,
        "depth" => Direction::From,
        _ => {
            let at = node.attribute_node("name").map_or(node.range().start, |attribute| attribute.range().start);
            let problem = Problem::BadValue { attribute: "name".to_string(), found: name.to_string(), expected: known_properties() };
            return Err(error_at(node, at, problem));
        }
    };
    only(node, &["name", "min", "max", "edges"])?;
    let calls = range(node)?;
    if direction == Direction::From && calls.max.is_none() && calls.min.is_none() {
        let expected = "max=\"…\", the depth of calls".to_string();
        return Err(error(node, Problem::MissingAttribute { element: "property name=\"depth\"".to_string(), expected }));
    }
    Ok(Property::Reach { direction, target: Arc::new(one(node, depth + 1)?), calls, edges: edges(node)? })
}

fn known_properties() -> String {
    let numbers = Number::ALL.map(Number::name).join(", ");
    format!("path, depth, functionnames, classnames, namespaces, filenames, {numbers}")
}

/// A number with its range; loops and call sites without one are counted from 1, as paper 2's "has loops".
fn number(node: Node<'_, '_>, of: Number) -> Result<Property, FilterError> {
    only(node, &["name", "min", "max"])?;
    if let Some(child) = elements(node, "nothing")?.next() {
        return Err(unknown(child, "nothing"));
    }
    let range = match (range(node)?, of) {
        (Range { min: None, max: None }, Number::Loops | Number::CallSites) => Range { min: Some(1), max: None },
        (Range { min: None, max: None }, _) => {
            let element = format!("property name=\"{}\"", of.name());
            return Err(error(node, Problem::MissingAttribute { element, expected: "min=\"…\" or max=\"…\"".to_string() }));
        }
        (range, _) => range,
    };
    Ok(Property::Number { of, range })
}

fn names(node: Node<'_, '_>, of: Names) -> Result<Property, FilterError> {
    const EXPECTED: &str = "names, separated by white space";
    if let Some(child) = node.children().find(Node::is_element) {
        return Err(unknown(child, EXPECTED));
    }
    let text: String = node.children().filter(Node::is_text).filter_map(|child| child.text()).collect();
    let bad = |BadWord { word, at, what }| {
        let place = place_of_word(node, &word) + at;
        error_at(node, place, Problem::BadPattern { pattern: word, what })
    };
    let unclosed = |rest| BadWord { word: format!("\"{rest}"), at: 0, what: "its quote is not closed; expected \" behind it".to_string() };
    let list = words(&text).map_err(|rest| bad(unclosed(rest)))?;
    if list.is_empty() || list.iter().any(String::is_empty) {
        return Err(error(node, Problem::Empty { element: tag(node), expected: EXPECTED.to_string() }));
    }
    Ok(Property::Names { of, pattern: Pattern::new(how(node)?, list).map_err(bad)? })
}

/// Where a word stands in the document: in the element's text as it is written, or where entities stand for its characters the
/// begin of the element.
fn place_of_word(node: Node<'_, '_>, word: &str) -> usize {
    let source = node.document().input_text();
    let mut texts = node.children().filter(Node::is_text);
    texts.find_map(|text| Some(text.range().start + source.get(text.range())?.find(word)?)).unwrap_or(node.range().start)
}
