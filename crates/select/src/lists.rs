//! Lists of functions as other tools write and read them.
//!
//! Each format is a file: what is read becomes a [`Filter`] and is evaluated as any other; what is written says which
//! functions of a selection the other tool is to instrument. Where a format cannot say it, as names alone cannot tell
//! two static functions of one name apart, the functions concerned are counted.

mod gcc;
mod glob;
mod names;
mod scorep;
mod tau;
mod xray;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use tare_code::Program;
use tare_image::demangle;

use crate::Selection;
use crate::filter::{Action, Change, Condition, Filter, FilterError, Names, Pattern, Problem, Property, Rule, Start};

/// How a filter file is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ListFormat {
    /// The filter language.
    Xml,
    /// One name a line.
    Names,
    /// Score-P filter file.
    ScoreP,
    /// TAU selective instrumentation file.
    Tau,
    /// GCC's options for excluding functions and files from `-finstrument-functions`.
    Gcc,
    /// LLVM XRay attribute list.
    XRay,
}

impl ListFormat {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Xml, Self::Names, Self::ScoreP, Self::Tau, Self::Gcc, Self::XRay];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::Names => "names",
            Self::ScoreP => "scorep",
            Self::Tau => "tau",
            Self::Gcc => "gcc",
            Self::XRay => "xray",
        }
    }

    /// The format that a text is written in, told by what it begins with.
    #[must_use]
    pub fn recognised(text: &str) -> Self {
        let words = |text: &str| text.split_whitespace().next().map(str::to_string);
        if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
            return Self::Xml;
        }
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let first = lines().next().and_then(words).unwrap_or_default();
        match first.as_str() {
            "SCOREP_REGION_NAMES_BEGIN" | "SCOREP_FILE_NAMES_BEGIN" => Self::ScoreP,
            word if word.starts_with("BEGIN_") && (word.ends_with("_LIST") || word.ends_with("_SECTION")) => Self::Tau,
            word if word.starts_with("-finstrument-functions") => Self::Gcc,
            word if word.starts_with("fun:") || word.starts_with("src:") => Self::XRay,
            word if word.starts_with('[') && word.ends_with(']') => Self::XRay,
            _ => Self::Names,
        }
    }

    /// Reads a filter; `name` is what reports call it where the format has no name for itself.
    ///
    /// # Errors
    /// Says what is wrong in which line and column, and what was expected there.
    pub fn read(self, text: &str, name: &str) -> Result<Filter, FilterError> {
        match self {
            Self::Xml => Filter::parse(text),
            Self::Names => names::read(text, name),
            Self::ScoreP => scorep::read(text, name),
            Self::Tau => tau::read(text, name),
            Self::Gcc => gcc::read(text, name),
            Self::XRay => xray::read(text, name),
        }
    }

    /// Writes a selection; `None` for the filter language, in which rules are written by people. A list for another tool leaves
    /// functions without a name out, which that tool could not know.
    #[must_use]
    pub fn write(self, functions: &[Listed]) -> Option<Written> {
        let (named, nameless): (Vec<Listed>, Vec<Listed>) = functions.iter().cloned().partition(|function| function.has_name);
        let written = match self {
            Self::Xml => return None,
            Self::Names => return Some(names::write(functions)),
            Self::ScoreP => scorep::write(&named),
            Self::Tau => tau::write(&named),
            Self::Gcc => gcc::write(&named),
            Self::XRay => xray::write(&named),
        };
        let selected = nameless.iter().filter(|function| function.is_selected).count();
        Some(Written { nameless: Nameless { selected, rejected: nameless.len() - selected }, ..written })
    }
}

/// A name that no format has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown format `{name}` of a filter; known are {}", ListFormat::ALL.map(ListFormat::name).join(", "))]
pub struct UnknownFormat {
    /// The name.
    pub name: String,
}

impl FromStr for ListFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| UnknownFormat { name: name.to_string() })
    }
}

/// A function in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Raw name.
    pub raw: String,
    /// Its other raw names.
    pub aliases: Vec<String>,
    /// Name for people.
    pub shown: String,
    /// Link address of the entry.
    pub address: u64,
    /// Whether another function of the image has the same raw name.
    pub is_ambiguous: bool,
    /// Whether the image says what it is called.
    pub has_name: bool,
    /// Whether it is to be instrumented.
    pub is_selected: bool,
}

/// What was written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// The list.
    pub text: String,
    /// Functions that the other tool will treat otherwise than the selection, because the format cannot say it.
    pub inexact: usize,
    /// Functions that are not in the list, as they have no name that the other tool could know.
    pub nameless: Nameless,
}

/// Functions that the image has no name of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nameless {
    /// Those that are selected.
    pub selected: usize,
    /// Those that are not.
    pub rejected: usize,
}

/// The functions of a selection, as lists name them.
#[must_use]
pub fn listed(program: &Program, selection: &Selection) -> Vec<Listed> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for function in &program.functions {
        for name in std::iter::once(&function.name).chain(&function.aliases) {
            *count.entry(name.as_str()).or_default() += 1;
        }
    }
    let listed = selection.decisions.iter().filter_map(|decision| {
        let function = program.functions.get(decision.function)?;
        Some(Listed {
            raw: function.name.clone(),
            aliases: function.aliases.clone(),
            shown: demangle(&function.name).into_owned(),
            address: function.entry,
            is_ambiguous: count.get(function.name.as_str()).is_some_and(|&count| count > 1),
            has_name: function.has_name(),
            is_selected: decision.is_selected,
        })
    });
    listed.collect()
}

/// Functions that an image has no code of their own of, by their raw names: the compiler has inlined them. Those that
/// `functions` has, if under another raw name, as constructors have several, are left out. Compilers that insert calls before
/// they inline meet them.
#[must_use]
pub fn inlined<'a>(names: impl Iterator<Item = &'a str>, functions: &[Listed]) -> Vec<Listed> {
    let known: HashSet<&str> = functions.iter().flat_map(|one| [&one.raw, &one.shown]).map(String::as_str).collect();
    let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    let listed = |raw: &str| Listed {
        raw: raw.to_string(),
        aliases: Vec::new(),
        shown: demangle(raw).into_owned(),
        address: 0,
        is_ambiguous: false,
        has_name: true,
        is_selected: false,
    };
    names.into_iter().map(listed).filter(|one| !known.contains(&*one.raw) && !known.contains(&*one.shown)).collect()
}

/// Functions that are rejected although another one is selected that is written in the same way.
fn contested(functions: &[Listed], written: impl Fn(&Listed) -> &str) -> usize {
    let selected: HashSet<&str> = functions.iter().filter(|function| function.is_selected).map(&written).collect();
    functions.iter().filter(|function| !function.is_selected && selected.contains(written(function))).count()
}

fn error(line: usize, column: usize, problem: Problem) -> FilterError {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    FilterError { line: number(line), column: number(column), problem }
}

fn rule(action: Action, condition: Condition, line: usize, text: impl Into<Arc<str>>) -> Rule {
    Rule { action, condition, change: Change::default(), line: u32::try_from(line).unwrap_or(u32::MAX), column: None, text: text.into() }
}

fn names_condition(of: Names, words: Vec<(String, crate::filter::Meaning)>, line: usize) -> Result<Condition, FilterError> {
    let pattern = Pattern::wildcards(words).map_err(|bad| error(line, 1, Problem::BadPattern { pattern: bad.word, what: bad.what }))?;
    Ok(Condition::Property(Property::Names { of, pattern }))
}

/// A list that only excludes goes on from what is there, as a filter without `start` does.
fn filter(name: &str, start: Option<Start>, rules: Vec<Rule>) -> Filter {
    Filter { name: name.into(), start, budget: None, snippets: None, rules, line: 1 }
}
