//! Score-P filter files.
//!
//! Read from Score-P's user manual, section "Filtering", and from its parser and matcher
//! (`src/utils/filter/scorep_filter_parser.c`, `scorep_filter_matching.c`): words separated by white space, a
//! backslash keeps white space and `#` in a word, `#` begins a comment; `fnmatch` against the whole name; rules in
//! order, everything is included at the start; `MANGLED` holds until the next `EXCLUDE` or `INCLUDE`; a function is out
//! if the region rules or the file rules exclude it.

use super::{Listed, Written, contested, error, filter, glob, names_condition, rule};
use crate::filter::{Action, Condition, Filter, FilterError, Meaning, Names, Problem, Rule};

/// What is written leaves everything out but the names selected.
pub(super) fn write(functions: &[Listed]) -> Written {
    let mut text = String::from("SCOREP_REGION_NAMES_BEGIN\n  EXCLUDE *\n");
    for function in functions.iter().filter(|function| function.is_selected) {
        text.push_str(&format!("  INCLUDE MANGLED {}\n", glob::escaped(&function.raw)));
    }
    text.push_str("SCOREP_REGION_NAMES_END\n");
    Written { text, inexact: contested(functions, |function| &function.raw), ..Written::default() }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Regions,
    Files,
}

impl Block {
    const fn tokens(self) -> (&'static str, &'static str) {
        match self {
            Self::Regions => ("SCOREP_REGION_NAMES_BEGIN", "SCOREP_REGION_NAMES_END"),
            Self::Files => ("SCOREP_FILE_NAMES_BEGIN", "SCOREP_FILE_NAMES_END"),
        }
    }

    const fn other(self) -> (&'static str, &'static str) {
        match self {
            Self::Regions => Self::Files.tokens(),
            Self::Files => Self::Regions.tokens(),
        }
    }
}

/// Rules of one block between two keywords.
struct Group {
    block: Block,
    action: Action,
    is_mangled: bool,
    line: usize,
    words: Vec<(String, Meaning)>,
}

pub(super) fn read(text: &str, name: &str) -> Result<Filter, FilterError> {
    let groups = groups(text)?;
    let mut rules: Vec<Rule> = Vec::new();
    let mut excluded_file: Option<Condition> = None;
    let mut changes = 0;
    let mut file_line = 1;
    for group in groups.into_iter().filter(|group| !group.words.is_empty()) {
        let shown = format!(
            "{}{} {}",
            if group.action == Action::Include { "INCLUDE" } else { "EXCLUDE" },
            if group.is_mangled { " MANGLED" } else { "" },
            group.words.iter().map(|(word, _)| word.as_str()).take(4).collect::<Vec<_>>().join(" ")
        );
        match group.block {
            Block::Regions => {
                let of = if group.is_mangled { Names::Raw } else { Names::Whole };
                rules.push(rule(group.action, names_condition(of, group.words, group.line)?, group.line, shown));
            }
            Block::Files => {
                file_line = group.line;
                let condition = names_condition(Names::FullPath, group.words, group.line)?;
                changes += 1;
                if changes > Filter::MAX_NESTING {
                    return Err(error(group.line, 1, Problem::TooDeep { limit: Filter::MAX_NESTING }));
                }
                excluded_file = match (excluded_file, group.action) {
                    (None, Action::Exclude) => Some(condition),
                    (None, Action::Include) => None,
                    (Some(before), Action::Exclude) => Some(Condition::Any(vec![before, condition])),
                    (Some(before), Action::Include) => Some(Condition::All(vec![before, Condition::Not(Box::new(condition))])),
                };
            }
        }
    }
    // A region rule cannot bring back a function whose file is excluded.
    rules.extend(excluded_file.map(|condition| rule(Action::Exclude, condition, file_line, "SCOREP_FILE_NAMES_BEGIN")));
    Ok(filter(name, None, rules))
}

fn groups(text: &str) -> Result<Vec<Group>, FilterError> {
    let mut groups: Vec<Group> = Vec::new();
    let mut block: Option<(Block, usize)> = None;
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        for (column, word) in words(line) {
            let unexpected =
                |expected: &str| Err(error(index + 1, column, Problem::UnexpectedWord { found: word.to_string(), expected: expected.to_string() }));
            match (word, block) {
                ("SCOREP_REGION_NAMES_BEGIN", None) => (block, is_open) = (Some((Block::Regions, index + 1)), false),
                ("SCOREP_FILE_NAMES_BEGIN", None) => (block, is_open) = (Some((Block::Files, index + 1)), false),
                (_, None) => return unexpected("SCOREP_REGION_NAMES_BEGIN or SCOREP_FILE_NAMES_BEGIN"),
                ("SCOREP_REGION_NAMES_END", Some((Block::Regions, _))) | ("SCOREP_FILE_NAMES_END", Some((Block::Files, _))) => block = None,
                ("EXCLUDE" | "INCLUDE", Some((block, _))) => {
                    let action = if word == "INCLUDE" { Action::Include } else { Action::Exclude };
                    groups.push(Group { block, action, is_mangled: false, line: index + 1, words: Vec::new() });
                    is_open = true;
                }
                ("MANGLED", Some((Block::Regions, _))) if is_open => match groups.last_mut() {
                    Some(group) if group.words.is_empty() => group.is_mangled = true,
                    Some(group) => {
                        let action = group.action;
                        groups.push(Group { block: Block::Regions, action, is_mangled: true, line: index + 1, words: Vec::new() });
                    }
                    None => return unexpected("EXCLUDE or INCLUDE"),
                },
                (word, Some((block, _))) if word.starts_with("SCOREP_") && word.ends_with("_NAMES_BEGIN") || word == block.other().1 => {
                    return unexpected(block.tokens().1);
                }
                (word, Some(_)) if is_open => {
                    groups.last_mut().into_iter().for_each(|group| group.words.push((word.to_string(), glob::fnmatch(word))))
                }
                _ => return unexpected("EXCLUDE or INCLUDE"),
            }
        }
    }
    match block {
        None => Ok(groups),
        Some((block, line)) => {
            let (begin, end) = block.tokens();
            Err(error(line, 1, Problem::NotClosed { block: begin.to_string(), expected: end.to_string() }))
        }
    }
}

/// Words of a line with their columns.
fn words(line: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut begin: Option<(usize, usize)> = None;
    let mut is_escaped = false;
    let mut end = line.len();
    for (column, (at, character)) in line.char_indices().enumerate() {
        if character == '#' && !is_escaped {
            end = at;
            break;
        }
        if character.is_whitespace() && !is_escaped {
            words.extend(begin.take().map(|(column, from)| (column, &line[from..at])));
        } else if begin.is_none() {
            begin = Some((column + 1, at));
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    words.extend(begin.map(|(column, from)| (column, &line[from..end])));
    words
}
