//! LLVM XRay attribute lists (`-fxray-attr-list=`).
//!
//! Read from LLVM's "XRay Instrumentation" and "Sanitizer special case list" pages and from `XRayLists.cpp`: sections
//! `[always]` and `[never]`; `fun:` holds against the mangled name, `src:` against the path, whole: regular expressions in
//! which `*` alone is any text (LLVM 17 and later read other wildcards, unless the first line asks for these);
//! names decide before files, `always` before `never`; what is in no list is instrumented if it is long (200
//! instructions) or has a loop. Entries before any section belong to all of them, so they are `always`.

use super::{Listed, Written, contested, error, filter, names_condition, rule};
use crate::filter::{Action, Condition, Filter, FilterError, Meaning, Names, Number, Problem, Property, Range, Start};

/// XRay's own choice where nothing is said: `-fxray-instruction-threshold`.
const THRESHOLD: u64 = 200;

/// The first line of a list of regular expressions.
const EXPRESSIONS: &str = "#!special-case-list-v1";

pub(super) fn write(functions: &[Listed]) -> Written {
    let mut text = format!("{EXPRESSIONS}\n");
    for (section, is_selected) in [("always", true), ("never", false)] {
        text.push_str(&format!("[{section}]\n"));
        for function in functions.iter().filter(|function| function.is_selected == is_selected) {
            for name in std::iter::once(&function.raw).chain(&function.aliases) {
                text.push_str(&format!("fun:{}\n", escaped(name)));
            }
        }
    }
    Written { text, inexact: contested(functions, |function| &function.raw), ..Written::default() }
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
    /// The line of each word.
    lines: Vec<usize>,
}

impl Question {
    /// The condition that its words make; what is wrong is said of the line where it stands.
    fn condition(self) -> Result<Condition, FilterError> {
        let alone = |(word, line): (&(String, Meaning), &usize)| names_condition(self.of, vec![word.clone()], *line).err();
        let whole = names_condition(self.of, self.words.clone(), self.line);
        whole.map_err(|error| self.words.iter().zip(&self.lines).find_map(alone).unwrap_or(error))
    }
}

pub(super) fn read(text: &str, name: &str) -> Result<Filter, FilterError> {
    let question = |section, of| Question { section, of, line: 1, words: Vec::new(), lines: Vec::new() };
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
            question.lines.push(index + 1);
        }
    }
    let mut rules = vec![rule(Action::Include, by_default(), 1, "long or with a loop: XRay's own choice")];
    for question in questions.into_iter().filter(|question| !question.words.is_empty()) {
        let (action, title) = if question.section == Section::Always { (Action::Include, "[always]") } else { (Action::Exclude, "[never]") };
        let line = question.line;
        rules.push(rule(action, question.condition()?, line, title));
    }
    Ok(filter(name, Some(Start::None), rules))
}

fn by_default() -> Condition {
    let number = |of, min| Condition::Property(Property::Number { of, range: Range { min: Some(min), max: None } });
    Condition::Any(vec![number(Number::Instructions, THRESHOLD), number(Number::Loops, 1)])
}

/// Whether a character means something else than itself, in the POSIX expressions that LLVM reads.
const fn is_operator(character: char) -> bool {
    matches!(character, '(' | ')' | '^' | '$' | '|' | '*' | '+' | '?' | '.' | '[' | ']' | '\\' | '{' | '}')
}

/// The expression for a name. A star is made an expression even behind a backslash, and `=` ends one: any character stands for them.
fn escaped(name: &str) -> String {
    let mut expression = String::new();
    for character in name.chars() {
        match character {
            '*' | '=' => expression.push('.'),
            character => {
                expression.extend(is_operator(character).then_some('\\'));
                expression.push(character);
            }
        }
    }
    expression
}

/// A name without operators stands for itself, as to LLVM; escaped ones are as well.
fn meaning(pattern: &str) -> Meaning {
    let mut literal = String::new();
    let mut expression = String::from("(?s)^(?:");
    let mut is_literal = true;
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => {
                let meant = rest.next().unwrap_or('\\');
                literal.push(meant);
                expression.push_str(&regex::escape(meant.encode_utf8(&mut [0; 4])));
            }
            '*' => {
                is_literal = false;
                expression.push_str(".*");
            }
            character => {
                is_literal &= !is_operator(character);
                literal.push(character);
                expression.push(character);
            }
        }
    }
    expression.push_str(")$");
    if is_literal { Meaning::Literal(literal) } else { Meaning::Expression(expression) }
}
