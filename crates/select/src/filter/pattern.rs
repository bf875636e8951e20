//! Lists of names and how they match.

use std::collections::HashSet;
use std::fmt;

use regex::{RegexSet, RegexSetBuilder};
use regex_syntax::ParserBuilder;

use super::parts::Parts;

/// How a name in a filter matches names of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Match {
    /// It is the whole name.
    #[default]
    Simple,
    /// The name begins with it.
    Prefix,
    /// The name ends with it.
    Suffix,
    /// The name contains it.
    Find,
    /// It is a regular expression that matches somewhere in the name.
    Regex,
    /// The whole name, with wildcards as other tools write them; not in filter files of our own.
    Wildcard,
}

impl Match {
    /// Those of filter files.
    pub const ALL: [Self; 5] = [Self::Simple, Self::Prefix, Self::Suffix, Self::Find, Self::Regex];

    /// As it is written in a filter file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Prefix => "prefix",
            Self::Suffix => "suffix",
            Self::Find => "find",
            Self::Regex => "regex",
            Self::Wildcard => "wildcard",
        }
    }

    /// The way of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A list of names; it matches where one of them does.
#[derive(Clone, Debug)]
pub struct Pattern {
    how: Match,
    words: Vec<String>,
    /// Lines of the words in their file, from 1, where they are known.
    lines: Vec<u32>,
    /// Names that must match whole: lists of other tools have thousands.
    literals: HashSet<String>,
    /// The same for each word that names some.
    choices: Vec<(usize, Vec<String>)>,
    /// What may stand anywhere in a name.
    parts: Option<Parts>,
    expressions: Option<RegexSet>,
}

/// The expressions of a set, as they are written.
type Expressions<'a> = std::iter::Flatten<std::option::IntoIter<&'a [String]>>;

/// A word that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadWord {
    /// The word.
    pub word: String,
    /// Which byte of it.
    pub at: usize,
    /// Why not.
    pub what: String,
}

/// Bytes that the regular expressions of one list may take when they are compiled.
const REGEX_LIMIT: usize = 4 << 20;

impl Pattern {
    /// A list of names.
    ///
    /// # Errors
    /// If a regular expression is none, or too large; says which, where and why.
    pub fn new(how: Match, words: Vec<String>) -> Result<Self, BadWord> {
        let expressions = match how {
            Match::Regex => Some(compiled(&words, true)?),
            _ => None,
        };
        let literals = if how == Match::Simple { words.iter().cloned().collect() } else { HashSet::new() };
        let parts = if how == Match::Find { Parts::of(words.clone()) } else { None };
        Ok(Self { how, words, lines: Vec::new(), literals, choices: Vec::new(), parts, expressions })
    }

    /// A list of names with wildcards: as they are written, and what each means.
    pub(crate) fn wildcards(words: Vec<(String, Meaning)>) -> Result<Self, BadWord> {
        let mut choices: Vec<(usize, Vec<String>)> = Vec::new();
        let (mut parts, mut expressions) = (Vec::new(), Vec::new());
        let mut written = Vec::new();
        for (word, meaning) in words {
            match meaning {
                Meaning::Literal(name) => choices.push((written.len(), vec![name])),
                Meaning::Choice(names) => choices.push((written.len(), names)),
                Meaning::Part(text) => parts.push(text),
                Meaning::Expression(expression) => expressions.push((expression, written.len())),
            }
            written.push(word);
        }
        let (expressions, places): (Vec<String>, Vec<usize>) = expressions.into_iter().unzip();
        let as_written = |bad: BadWord| {
            let place = expressions.iter().position(|one| *one == bad.word).and_then(|one| places.get(one));
            let word = place.and_then(|&place| written.get(place)).cloned().unwrap_or_else(|| format!("{} patterns together", expressions.len()));
            BadWord { word, at: 0, what: bad.what }
        };
        let expressions = if expressions.is_empty() { None } else { Some(compiled(&expressions, false).map_err(as_written)?) };
        let literals = choices.iter().flat_map(|(_, names)| names).cloned().collect();
        Ok(Self { how: Match::Wildcard, words: written, lines: Vec::new(), literals, choices, parts: Parts::of(parts), expressions })
    }

    /// The same with the line of each of its words.
    pub(crate) fn at_lines(self, lines: Vec<u32>) -> Self {
        Self { lines, ..self }
    }

    /// What must match whole, each with its line where that is known.
    pub(crate) fn whole_names(&self) -> impl Iterator<Item = Whole<'_>> {
        let words = if self.how == Match::Simple { self.words.as_slice() } else { &[] };
        let placed = words.iter().enumerate();
        let placed = placed.map(|(index, word)| Whole { word, names: std::slice::from_ref(word), line: self.lines.get(index).copied() });
        placed.chain(self.choices.iter().filter_map(|(index, names)| {
            let word = if let [name] = names.as_slice() { name } else { self.words.get(*index)? };
            Some(Whole { word, names, line: None })
        }))
    }

    /// Whether there is more in it than whole names.
    pub(crate) fn has_expressions(&self) -> bool {
        self.expressions.is_some() || self.parts.is_some() || matches!(self.how, Match::Prefix | Match::Suffix)
    }

    /// Names that must match whole.
    pub(super) fn literals(&self) -> impl Iterator<Item = &str> {
        self.literals.iter().map(String::as_str)
    }

    /// What may stand anywhere in a name.
    pub(super) fn parts(&self) -> &[String] {
        self.parts.as_ref().map_or(&[], Parts::texts)
    }

    /// Its regular expressions.
    pub(super) fn expressions(&self) -> Expressions<'_> {
        self.expressions.as_ref().map(RegexSet::patterns).into_iter().flatten()
    }

    /// How its names match.
    #[must_use]
    pub const fn how(&self) -> Match {
        self.how
    }

    /// Its names.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether one of the names matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let one = |matches: fn(&str, &str) -> bool| self.words.iter().any(|word| matches(name, word));
        match self.how {
            Match::Simple => self.literals.contains(name),
            Match::Prefix => one(|name, word| name.starts_with(word)),
            Match::Suffix => one(|name, word| name.ends_with(word)),
            Match::Find | Match::Regex | Match::Wildcard => {
                let has_part = self.parts.as_ref().is_some_and(|parts| parts.is_in(name));
                has_part || self.literals.contains(name) || self.expressions.as_ref().is_some_and(|expressions| expressions.is_match(name))
            }
        }
    }
}

/// A word that one of some names must match whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<'a> {
    /// What the word is called.
    pub(crate) word: &'a str,
    /// The names.
    pub(crate) names: &'a [String],
    /// Its line, where that is known.
    pub(crate) line: Option<u32>,
}

/// What a name with wildcards means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// There are none in it.
    Literal(String),
    /// There are none in it, and each of these names will do.
    Choice(Vec<String>),
    /// Text anywhere in a name.
    Part(String),
    /// The regular expression that does the same.
    Expression(String),
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        (self.how, &self.words) == (other.how, &other.words)
    }
}

/// Nesting of groups in an expression.
const NESTING: u32 = 64;

/// `as_written`: whether the words are what stands in the filter, so that a place in one of them tells something.
fn compiled(words: &[String], as_written: bool) -> Result<RegexSet, BadWord> {
    let set = |words: &[String]| RegexSetBuilder::new(words).size_limit(REGEX_LIMIT).dfa_size_limit(REGEX_LIMIT).nest_limit(NESTING).build();
    if let Ok(expressions) = set(words) {
        return Ok(expressions);
    }
    // Which one it is: the set does not say.
    for word in words {
        if let Err(error) = ParserBuilder::new().nest_limit(NESTING).build().parse(word) {
            return Err(no_expression(word, &error, as_written));
        }
    }
    let too_large = words.iter().find(|word| set(std::slice::from_ref(word)).is_err()).cloned().unwrap_or_else(|| words.join(" "));
    let what = format!("it takes more than {} MiB when compiled; expected a smaller one", REGEX_LIMIT >> 20);
    Err(BadWord { word: too_large, at: 0, what })
}

fn no_expression(word: &str, error: &regex_syntax::Error, as_written: bool) -> BadWord {
    let (what, span) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), *error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), *error.span()),
        other => return BadWord { word: word.to_string(), at: 0, what: other.to_string() },
    };
    let place = if as_written { format!(", at its character {}", 1 + word[..span.start.offset].chars().count()) } else { String::new() };
    let expected = match error {
        regex_syntax::Error::Parse(error) => expected(error.kind()),
        _ => EXPRESSION,
    };
    BadWord { word: word.to_string(), at: span.start.offset, what: format!("{what}{place}; expected {expected}") }
}

const EXPRESSION: &str = "a regular expression as docs/filters.md describes it";

fn expected(kind: &regex_syntax::ast::ErrorKind) -> &'static str {
    use regex_syntax::ast::ErrorKind;
    match kind {
        ErrorKind::GroupUnclosed => "`)` behind the group, or \\( for the character",
        ErrorKind::GroupUnopened => "`(` before it, or \\) for the character",
        ErrorKind::ClassUnclosed => "`]` behind the class, or \\[ for the character",
        ErrorKind::RepetitionMissing => "something before it that is repeated, or a backslash before it for the character",
        ErrorKind::RepetitionCountUnclosed | ErrorKind::RepetitionCountDecimalEmpty => "a number and `}`, or \\{ for the character",
        ErrorKind::RepetitionCountInvalid => "the smaller number first",
        ErrorKind::ClassRangeInvalid => "the smaller character first",
        ErrorKind::EscapeUnexpectedEof => "a character behind the backslash, or \\\\ for the backslash",
        ErrorKind::EscapeUnrecognized => "a character that has a meaning behind a backslash, or the character alone",
        ErrorKind::NestLimitExceeded(_) => "fewer groups in each other",
        _ => EXPRESSION,
    }
}

impl fmt::Display for Pattern {
    /// `MPI_*`, `*_`, `*find*`, `/regex/`, with no more than four names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4;
        for (index, word) in self.words.iter().take(SHOWN).enumerate() {
            let space = if index == 0 { "" } else { " " };
            match self.how {
                Match::Simple | Match::Wildcard => write!(f, "{space}{word}"),
                Match::Prefix => write!(f, "{space}{word}*"),
                Match::Suffix => write!(f, "{space}*{word}"),
                Match::Find => write!(f, "{space}*{word}*"),
                Match::Regex => write!(f, "{space}/{word}/"),
            }?;
        }
        match self.words.len().checked_sub(SHOWN) {
            Some(more) if more > 0 => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}

/// The names in a text: separated by white space; one in double quotes may hold some, as in `"f(int, int)"`.
///
/// # Errors
/// If a quote is not closed: the text behind it.
pub(crate) fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or_else(|| quoted.to_string())?,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word.to_string());
        rest = behind.trim_start();
    }
    Ok(words)
}
