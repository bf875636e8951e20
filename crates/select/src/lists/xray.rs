//! LLVM XRay attribute lists (`-fxray-attr-list=`).
//!
//! Read from LLVM's "XRay Instrumentation" and "Sanitizer special case list" pages and from `XRayLists.cpp`: sections
//! `[always]` and `[never]`; `fun:` holds against the mangled name, `src:` against the path, whole, `*` for any text;
//! names decide before files, `always` before `never`; what is in no list is instrumented if it is long (200
//! instructions) or has a loop. Entries before any section belong to all of them, so they are `always`.

use super::{Listed, Written, contested, error, filter, glob, names_condition, rule};
use crate::filter::{Action, Condition, Filter, FilterError, Meaning, Names, Number, Problem, Property, Range, Start};

/// XRay's own choice where nothing is said: `-fxray-instruction-threshold`.
const THRESHOLD: u64 = 200;

pub(super) fn write(functions: &[Listed]) -> Written {
    let mut text = String::new();
    for (section, is_selected) in [("always", true), ("never", false)] {
        text.push_str(&format!("[{section}]\n"));
        for function in functions.iter().filter(|function| function.is_selected == is_selected) {
            for name in std::iter::once(&function.raw).chain(&function.aliases) {
                text.push_str(&format!("fun:{name}\n"));
            }
        }
    }
    Written { text, inexact: contested(functions, |function| &function.raw) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Always,
    Never,
    Other,
}

/// Patterns for one of the four questions, in the order in which the later one wins.
struct Question {
    section: Section,
    of: Names,
    line: usize,
    words: Vec<(String, Meaning)>,
}

pub(super) fn read(text: &str, name: &str) -> Result<Filter, FilterError> {
    let question = |section, of| Question { section, of, line: 1, words: Vec::new() };
    let mut questions = [
        question(Section::Never, Names::FullPath),
        question(Section::Always, Names::FullPath),
        question(Section::Never, Names::Raw),
        question(Section::Always, Names::Raw),
    ];
    let mut section = Section::Always;
    for (index, line) in text.lines().enumerate() {
        let entry = line.trim();
        if entry.is_empty() || entry.starts_with('#') {
            continue;
        }
        if let Some(title) = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = match title {
                "always" | "*" => Section::Always,
                "never" => Section::Never,
                _ => Section::Other,
            };
            continue;
        }
        let (kind, pattern) = entry.split_once(':').unwrap_or((entry, ""));
        let of = match kind {
            "fun" if !pattern.is_empty() => Names::Raw,
            "src" if !pattern.is_empty() => Names::FullPath,
            _ => {
                let column = line.len() - line.trim_start().len() + 1;
                let expected = "[always], [never], fun:NAME or src:PATH".to_string();
                return Err(error(index + 1, column, Problem::UnexpectedWord { found: entry.chars().take(60).collect(), expected }));
            }
        };
        // A category behind the pattern says what is logged, as in `fun:main=arg1`.
        let pattern = pattern.split_once('=').map_or(pattern, |(pattern, _)| pattern);
        if let Some(question) = questions.iter_mut().find(|one| one.section == section && one.of == of) {
            question.line = if question.words.is_empty() { index + 1 } else { question.line };
            question.words.push((pattern.to_string(), meaning(pattern)));
        }
    }
    let mut rules = vec![rule(Action::Include, by_default(), 1, "long or with a loop: XRay's own choice")];
    for question in questions.into_iter().filter(|question| !question.words.is_empty()) {
        let (action, title) = if question.section == Section::Always { (Action::Include, "[always]") } else { (Action::Exclude, "[never]") };
        rules.push(rule(action, names_condition(question.of, question.words, question.line)?, question.line, title));
    }
    Ok(filter(name, Some(Start::None), rules))
}

fn by_default() -> Condition {
    let number = |of, min| Condition::Property(Property::Number { of, range: Range { min: Some(min), max: None } });
    Condition::Any(vec![number(Number::Instructions, THRESHOLD), number(Number::Loops, 1)])
}

/// `*` is any text; everything else is meant as it stands, as mangled names are written.
fn meaning(pattern: &str) -> Meaning {
    match glob::stars(&pattern.replace('?', "\u{0}"), '*') {
        Meaning::Literal(name) => Meaning::Literal(name.replace('\u{0}', "?")),
        Meaning::Expression(expression) => Meaning::Expression(expression.replace('\u{0}', "\\?")),
    }
}
