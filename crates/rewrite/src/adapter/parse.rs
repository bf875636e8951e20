//! From an adapter's file to an [`Adapter`].

use std::borrow::Cow;

use roxmltree::{Document, Node, ParsingOptions};
use tare_select::{Filter, FilterError};

use super::source::{Positions, characters};
use super::{Adapter, Alternative, Level, Library, Point, Snippet, Variable};
use crate::snippet::ast::Integer;
use crate::snippet::check::{Scope, check};
use crate::snippet::{self, AdapterError, Place, Problem};

/// Reads an adapter's file.
pub(super) fn parse(text: &str) -> Result<Adapter, AdapterError> {
    let text = as_printed(text);
    let text = text.as_ref();
    // An adapter of its own definitions is nothing that anybody needs, and could grow without bound.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: 100_000, ..ParsingOptions::default() };
    let reader = Reader { text, positions: Positions::new(text) };
    let document = Document::parse_with_options(text, options).map_err(|error| reader.xml(&error))?;
    let root = document.root_element();
    if root.tag_name().name() != "adapter" {
        return Err(reader.error(root, Problem::Root { name: root.tag_name().name().to_owned() }));
    }
    let adapter = reader.adapter(root)?;
    let has_snippets = !adapter.snippets.is_empty() || adapter.alternatives.iter().any(|one| !one.snippets.is_empty());
    if !adapter.is_native && !has_snippets && adapter.libraries.is_empty() {
        return Err(reader.error(root, Problem::Nothing));
    }
    check_all(&adapter)?;
    Ok(adapter)
}

/// The last tag of paper 2's Fig. 2 is printed with two slashes.
fn as_printed(text: &str) -> Cow<'_, str> {
    const PRINTED: &str = "<//adapter>";
    let kept = text.trim_end();
    match kept.strip_suffix(PRINTED) {
        Some(before) => Cow::Owned(format!("{before}</adapter >")),
        None => Cow::Borrowed(text),
    }
}

/// What the XML parser says, without its position.
fn message(error: &roxmltree::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// What to do about what the XML parser says.
fn remedy(error: &roxmltree::Error) -> String {
    use roxmltree::Error::{DtdDetected, DuplicatedAttribute, NoRootNode, NonXmlChar, UnclosedRootNode, UnexpectedCloseTag, UnexpectedDeclaration};
    match error {
        DtdDetected => "take <!DOCTYPE …> out: adapters have no definitions of their own".into(),
        DuplicatedAttribute(name, _) => format!("write {name}=\"…\" once"),
        NonXmlChar(character, _) => format!("take the control character U+{:04X} out; in a text, write it as \\xHH", u32::from(*character)),
        NoRootNode => "write <adapter> … </adapter>; `tare instrument --print-adapter counting` shows one".into(),
        UnclosedRootNode => "end each element as it began: <enter> with </enter>, and the file with </adapter>".into(),
        UnexpectedCloseTag(open, close, _) => {
            format!("<{open}> ends with </{open}>: write that in front of </{close}>, or take </{close}> out; `<` in a snippet is &lt;")
        }
        UnexpectedDeclaration(_) => "write <?xml … ?> at the very beginning of the file, or nowhere".into(),
        _ => "write `<` as &lt; and `&` as &amp; in snippets, or put the snippet into <![CDATA[ … ]]>; attributes are name=\"value\"".into(),
    }
}

/// The text of a file.
pub(super) fn text(bytes: &[u8]) -> Result<&str, AdapterError> {
    str::from_utf8(bytes).map_err(|error| {
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        let before = str::from_utf8(valid).unwrap_or_default();
        let place = Positions::new(before).place(before, before.len());
        AdapterError::new(place, Problem::Encoding(rest.first().copied().unwrap_or_default()))
    })
}

/// Names and types of all snippets.
fn check_all(adapter: &Adapter) -> Result<(), AdapterError> {
    let one = |level, snippet: &Snippet, of_region: &[Variable]| {
        let scope = Scope { level, point: snippet.point, of_region, global: &adapter.variables, must_nest: adapter.must_nest, path: "" };
        check(&snippet.statements, scope).map(drop)
    };
    for snippet in &adapter.snippets {
        one(Level::Adapter, snippet, &[])?;
    }
    for alternative in &adapter.alternatives {
        for snippet in &alternative.snippets {
            one(alternative.level, snippet, &alternative.variables)?;
        }
    }
    Ok(())
}

struct Reader<'a> {
    text: &'a str,
    positions: Positions,
}

impl Reader<'_> {
    fn xml(&self, error: &roxmltree::Error) -> AdapterError {
        let at = error.pos();
        let place = match error {
            roxmltree::Error::UnclosedRootNode => self.place(self.text.len()),
            _ => Place { line: at.row, column: at.col },
        };
        AdapterError::new(place, Problem::Xml { message: message(error), remedy: remedy(error) })
    }

    fn adapter(&self, root: Node<'_, '_>) -> Result<Adapter, AdapterError> {
        const EXPECTED: &str = "<dependencies>, <filter>, <variables>, <init>, <finalize>, <functions>, <loops> or <callsites>";
        self.attributes(root, &["name", "runtime", "nested"], "name, runtime or nested")?;
        let is_native = match root.attribute("runtime") {
            None => false,
            Some("tareweight") => true,
            Some(other) => return Err(self.value(root, "runtime", other, "runtime", "tareweight")),
        };
        let mut adapter = Adapter {
            name: root.attribute("name").unwrap_or_default().to_owned(),
            is_native,
            must_nest: self.yes(root, "nested", false)?,
            libraries: Vec::new(),
            filter: None,
            filter_place: Place::START,
            variables: Vec::new(),
            snippets: Vec::new(),
            alternatives: Vec::new(),
        };
        for child in self.elements(root)? {
            if is_native {
                return Err(self.error(child, Problem::Native { element: child.tag_name().name().to_owned() }));
            }
            match child.tag_name().name() {
                "dependencies" => self.libraries(child, &mut adapter.libraries)?,
                "filter" => {
                    let twice = Problem::Twice { what: "elements", name: "filter".into() };
                    let filter = Filter::of_element(child).map_err(|error| self.filter(&error))?;
                    adapter.filter.replace(filter).map_or(Ok(()), |_| Err(self.error(child, twice)))?;
                    adapter.filter_place = self.place(child.range().start);
                }
                "variables" => self.variables(child, &mut adapter.variables)?,
                "functions" => self.alternative(child, Level::Functions, &mut adapter.alternatives)?,
                "loops" => self.alternative(child, Level::Loops, &mut adapter.alternatives)?,
                "callsites" => self.alternative(child, Level::CallSites, &mut adapter.alternatives)?,
                _ => self.snippet(child, Level::Adapter, EXPECTED, &mut adapter.snippets)?,
            }
        }
        Ok(adapter)
    }

    fn filter(&self, error: &FilterError) -> AdapterError {
        let place = Place { line: error.line, column: error.column };
        AdapterError::new(place, Problem::Filter { message: error.problem.to_string() })
    }

    fn libraries(&self, element: Node<'_, '_>, libraries: &mut Vec<Library>) -> Result<(), AdapterError> {
        self.attributes(element, &[], "without attributes")?;
        for child in self.elements(element)? {
            if child.tag_name().name() != "library" {
                return Err(self.element(child, element, "<library>"));
            }
            self.attributes(child, &["name"], "name")?;
            let name = child.attribute("name").ok_or_else(|| self.missing(child, "name"))?;
            if name.is_empty() || name.contains('\0') {
                return Err(self.value(child, "name", name, "name of a library", "a name such as libm.so.6"));
            }
            libraries.push(Library { name: name.to_owned(), place: self.place(child.range().start) });
        }
        Ok(())
    }

    fn variables(&self, element: Node<'_, '_>, variables: &mut Vec<Variable>) -> Result<(), AdapterError> {
        self.attributes(element, &[], "without attributes")?;
        for child in self.elements(element)? {
            if child.tag_name().name() != "var" {
                return Err(self.element(child, element, "<var>"));
            }
            let variable = self.variable(child)?;
            if variables.iter().any(|one| one.name == variable.name) {
                return Err(self.error(child, Problem::Twice { what: "variables", name: variable.name }));
            }
            variables.push(variable);
        }
        Ok(())
    }

    fn variable(&self, element: Node<'_, '_>) -> Result<Variable, AdapterError> {
        self.attributes(element, &["name", "size", "value", "signed", "thread"], "name, size, value, signed or thread")?;
        let name = element.attribute("name").ok_or_else(|| self.missing(element, "name"))?;
        let is_name = name.starts_with(|one: char| one.is_ascii_alphabetic() || one == '_');
        if !is_name || !name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_') {
            return Err(self.value(element, "name", name, "name of a variable", "letters, digits and _"));
        }
        let size = element.attribute("size").ok_or_else(|| self.missing(element, "size"))?;
        let size = match size.trim() {
            "1" => 1,
            "2" => 2,
            "4" => 4,
            "8" => 8,
            _ => return Err(self.value(element, "size", size, "size of a variable", "1, 2, 4 or 8")),
        };
        let integer = Integer { size, is_signed: self.yes(element, "signed", true)? };
        let written = element.attribute("value").unwrap_or("0");
        let (least, greatest) = integer.bounds();
        // Of eight bytes without a sign the upper half has the bits of negative numbers.
        let value = written.trim().parse::<i128>().ok().filter(|value| (least..=greatest).contains(value)).map(|value| value as i64);
        let holds = format!("a decimal number from {least} to {greatest}, or another size");
        let value = value.ok_or_else(|| self.value(element, "value", written, "value of this size", holds))?;
        Ok(Variable {
            name: name.to_owned(),
            integer,
            value,
            is_thread_local: self.yes(element, "thread", false)?,
            place: self.place(element.range().start),
        })
    }

    fn yes(&self, element: Node<'_, '_>, name: &str, otherwise: bool) -> Result<bool, AdapterError> {
        match element.attribute(name) {
            None => Ok(otherwise),
            Some("yes") => Ok(true),
            Some("no") => Ok(false),
            Some(other) => Err(self.value(element, name, other, "answer", "yes or no")),
        }
    }

    fn alternative(&self, element: Node<'_, '_>, level: Level, alternatives: &mut Vec<Alternative>) -> Result<(), AdapterError> {
        const FUNCTIONS: &str = "<variables>, <init>, <enter>, <exit> or <finalize>";
        const LOOPS: &str = "<variables>, <init>, <before>, <enter>, <exit>, <after> or <finalize>";
        const CALL_SITES: &str = "<variables>, <init>, <before>, <after> or <finalize>";
        self.attributes(element, &["name"], "name")?;
        let name = element.attribute("name").unwrap_or(level.default_name()).to_owned();
        if alternatives.iter().any(|one| one.level == level && one.name == name) {
            return Err(self.error(element, Problem::SameName { level: level.element(), name }));
        }
        let mut alternative = Alternative { level, name, variables: Vec::new(), snippets: Vec::new() };
        let expected = match level {
            Level::Loops => LOOPS,
            Level::CallSites => CALL_SITES,
            Level::Functions | Level::Adapter => FUNCTIONS,
        };
        for child in self.elements(element)? {
            match child.tag_name().name() {
                "variables" => self.variables(child, &mut alternative.variables)?,
                _ => self.snippet(child, level, expected, &mut alternative.snippets)?,
            }
        }
        alternatives.push(alternative);
        Ok(())
    }

    fn snippet(&self, element: Node<'_, '_>, level: Level, expected: &'static str, snippets: &mut Vec<Snippet>) -> Result<(), AdapterError> {
        let name = element.tag_name().name();
        let Some(point) = Point::named(name).filter(|point| level.points().contains(point)) else {
            let parent = level.element().to_owned();
            return Err(self.error(element, Problem::Element { name: name.to_owned(), parent, expected }));
        };
        self.attributes(element, &[], "without attributes")?;
        if snippets.iter().any(|one| one.point == point) {
            return Err(self.error(element, Problem::Twice { what: "elements", name: name.to_owned() }));
        }
        if let Some(child) = element.children().find(Node::is_element) {
            return Err(self.element(child, element, "code, in which < is written as &lt;"));
        }
        let (raw, start) = self.content(element);
        let end = raw.chars().fold(start, Place::behind);
        let statements = snippet::parse(&characters(raw, start), end)?;
        snippets.push(Snippet { point, statements });
        Ok(())
    }

    /// What stands between an element's tags, and where it begins.
    fn content(&self, element: Node<'_, '_>) -> (&str, Place) {
        let range = element.range();
        let Some(first) = element.first_child() else { return ("", self.place(range.start)) };
        // A snippet's element has no attributes: its first tag ends at the first `>`.
        let whole = self.text.get(range.clone()).unwrap_or_default();
        let begin = whole.find('>').map_or(first.range().start, |at| range.start + at + 1);
        let end = whole.rfind("</").map_or(range.end, |at| range.start + at);
        (self.text.get(begin..end).unwrap_or_default(), self.place(begin))
    }

    /// The elements within one that holds nothing else.
    fn elements<'a, 'input>(&self, parent: Node<'a, 'input>) -> Result<Vec<Node<'a, 'input>>, AdapterError> {
        let stray = parent.children().find(|child| child.is_text() && !child.text().unwrap_or_default().trim().is_empty());
        if let Some(stray) = stray {
            return Err(self.error(stray, Problem::StrayText { element: parent.tag_name().name().to_owned() }));
        }
        Ok(parent.children().filter(Node::is_element).collect())
    }

    fn attributes(&self, element: Node<'_, '_>, known: &[&str], expected: &'static str) -> Result<(), AdapterError> {
        let Some(unknown) = element.attributes().find(|one| !known.contains(&one.name())) else { return Ok(()) };
        let problem = Problem::Attribute { element: element.tag_name().name().to_owned(), name: unknown.name().to_owned(), expected };
        Err(AdapterError::new(self.place(unknown.range().start), problem))
    }

    fn element(&self, element: Node<'_, '_>, parent: Node<'_, '_>, expected: &'static str) -> AdapterError {
        let name = element.tag_name().name().to_owned();
        self.error(element, Problem::Element { name, parent: parent.tag_name().name().to_owned(), expected })
    }

    fn missing(&self, element: Node<'_, '_>, name: &'static str) -> AdapterError {
        self.error(element, Problem::NoAttribute { element: element.tag_name().name().to_owned(), name })
    }

    fn value(&self, element: Node<'_, '_>, attribute: &str, value: &str, what: &'static str, expected: impl Into<Cow<'static, str>>) -> AdapterError {
        let at = element.attribute_node(attribute).map_or(element.range().start, |found| found.range_value().start);
        AdapterError::new(self.place(at), Problem::Value { value: value.to_owned(), what, expected: expected.into() })
    }

    fn error(&self, node: Node<'_, '_>, problem: Problem) -> AdapterError {
        AdapterError::new(self.place(node.range().start), problem)
    }

    fn place(&self, at: usize) -> Place {
        self.positions.place(self.text, at)
    }
}
