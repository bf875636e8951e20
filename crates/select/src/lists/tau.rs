//! TAU's selective instrumentation files.
//!
//! Read from TAU's user guide, "Selective Profiling", and from `tau_selective.cpp`: lists between `BEGIN_…_LIST` and
//! `END_…_LIST`, one entry a line; `#` stands for any text in names of functions (a name that begins with it is
//! quoted), `*` in names of files, `?` for one character in both; a line that begins with `#` is a comment. What the
//! exclude list matches is out; of the rest everything is in where the include list is empty, else what it matches.
//! Files likewise; a file pattern without `/` is held against the last component. Names have return types and
//! parameters, and ` C` behind functions of C: those are read past where the image does not have them.

use super::{Listed, Written, contested, error, filter, glob, names_condition, rule};
use crate::filter::{Action, Condition, Filter, FilterError, Meaning, Names, Problem, Rule};
use crate::scopes::{name_begins, qualified};

/// Shown names in an include list, as TAU's plugin for LLVM and `tau_run` name functions.
pub(super) fn write(functions: &[Listed]) -> Written {
    let mut text = String::from("BEGIN_INCLUDE_LIST\n");
    for function in functions.iter().filter(|function| function.is_selected) {
        let quote = if function.shown.starts_with(['#', '"']) { "\"" } else { "" };
        text.push_str(&format!("{quote}{}{quote}\n", function.shown));
    }
    text.push_str("END_INCLUDE_LIST\n");
    Written { text, inexact: contested(functions, |function| &function.shown), ..Written::default() }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Exclude,
    Include,
    FileInclude,
    FileExclude,
    /// Loops, timers, phases: places in sources, of which an image knows nothing.
    Instrument,
}

impl List {
    const ALL: [Self; 5] = [Self::Exclude, Self::Include, Self::FileInclude, Self::FileExclude, Self::Instrument];

    const fn tokens(self) -> (&'static str, &'static str) {
        match self {
            Self::Exclude => ("BEGIN_EXCLUDE_LIST", "END_EXCLUDE_LIST"),
            Self::Include => ("BEGIN_INCLUDE_LIST", "END_INCLUDE_LIST"),
            Self::FileInclude => ("BEGIN_FILE_INCLUDE_LIST", "END_FILE_INCLUDE_LIST"),
            Self::FileExclude => ("BEGIN_FILE_EXCLUDE_LIST", "END_FILE_EXCLUDE_LIST"),
            Self::Instrument => ("BEGIN_INSTRUMENT_SECTION", "END_INSTRUMENT_SECTION"),
        }
    }
}

pub(super) fn read(text: &str, name: &str) -> Result<Filter, FilterError> {
    let entries = entries(text)?;
    let rule_of = |list: List, action: Action, is_negated: bool| -> Result<Option<Rule>, FilterError> {
        let own: Vec<&(List, usize, &str)> = entries.iter().filter(|(of, _, _)| *of == list).collect();
        let Some(&&(_, line, _)) = own.first() else { return Ok(None) };
        let is_file = matches!(list, List::FileInclude | List::FileExclude);
        let words: Vec<(String, Meaning)> =
            own.iter().flat_map(|(_, _, entry)| if is_file { file_words(entry) } else { function_words(entry) }).collect();
        let of = if is_file { Names::File } else { Names::Listed };
        let condition = names_condition(of, words, line)?;
        let condition = if is_negated { Condition::Not(Box::new(condition)) } else { condition };
        Ok(Some(rule(action, condition, line, list.tokens().0)))
    };
    let mut rules = Vec::new();
    rules.extend(rule_of(List::Include, Action::Exclude, true)?);
    rules.extend(rule_of(List::Exclude, Action::Exclude, false)?);
    rules.extend(rule_of(List::FileInclude, Action::Exclude, true)?);
    rules.extend(rule_of(List::FileExclude, Action::Exclude, false)?);
    Ok(filter(name, None, rules))
}

fn entries(text: &str) -> Result<Vec<(List, usize, &str)>, FilterError> {
    let mut entries = Vec::new();
    let mut open: Option<(List, usize)> = None;
    for (index, line) in text.lines().enumerate() {
        let entry = line.trim();
        if entry.is_empty() || entry.starts_with('#') {
            continue;
        }
        match open {
            None => match List::ALL.into_iter().find(|list| list.tokens().0 == entry) {
                Some(list) => open = Some((list, index + 1)),
                None => {
                    let column = line.len() - line.trim_start().len() + 1;
                    let expected = List::ALL.map(|list| list.tokens().0).join(", ");
                    return Err(error(index + 1, column, Problem::UnexpectedWord { found: entry.chars().take(60).collect(), expected }));
                }
            },
            Some((list, _)) if entry == list.tokens().1 => open = None,
            Some((list, _)) => entries.push((list, index + 1, entry)),
        }
    }
    match open {
        None => Ok(entries),
        Some((list, line)) => {
            let (begin, end) = list.tokens();
            Err(error(line, 1, Problem::NotClosed { block: begin.to_string(), expected: end.to_string() }))
        }
    }
}

/// An entry without its quotes.
fn unquoted(entry: &str) -> &str {
    entry.strip_prefix('"').map_or(entry, |rest| rest.split('"').next().unwrap_or(rest))
}

/// A function of C without return type and parameters; another entry as it is and without its return type, and where any
/// text may end it also as a function of C.
fn function_words(entry: &str) -> Vec<(String, Meaning)> {
    let entry = unquoted(entry);
    if let Some(of_c) = entry.strip_suffix(" C").filter(|of_c| of_c.contains('(')) {
        return vec![(entry.to_string(), glob::stars(qualified(of_c).trim_start_matches('*'), '#'))];
    }
    let mut forms = vec![entry];
    let begins = name_begins(entry);
    if !entry.get(..begins).unwrap_or_default().contains('#') {
        let named = entry.get(begins..).unwrap_or(entry).trim_start_matches('*');
        forms.push(named);
        forms.extend(named.strip_suffix('#').and_then(|open| open.split_once('(')).map(|(name, _)| name));
    }
    forms.dedup();
    // As one expression they are one entry: it is enough that one of them is the name of a function.
    let meaning = if let [form] = forms[..] { glob::stars(form, '#') } else { glob::any_of(&forms, '#') };
    vec![(entry.to_string(), meaning)]
}

fn file_words(entry: &str) -> Vec<(String, Meaning)> {
    vec![(entry.to_string(), glob::stars(unquoted(entry), '*'))]
}
