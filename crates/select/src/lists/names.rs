//! One name a line: `tare select --list` writes it, and it says exactly what was selected.
//!
//! A name that several functions of the image have is followed by the address of the one that is meant:
//! `cleanup@0x4012a0`. Lines that begin with `#` are comments.

use super::{Listed, Written, error, filter, rule};
use crate::filter::{Action, BadWord, Condition, Filter, FilterError, Match, Names, Pattern, Problem, Property, Start};

/// What is written where nothing is selected: a file without names would not say whether that is meant.
const EMPTY: &str = "# no function is selected";

pub(super) fn write(functions: &[Listed]) -> Written {
    let mut text = String::new();
    for function in functions.iter().filter(|function| function.is_selected) {
        text.push_str(&function.raw);
        if function.is_ambiguous {
            text.push_str(&format!("@{:#x}", function.address));
        }
        text.push('\n');
    }
    if text.is_empty() {
        text = format!("{EMPTY}\n");
    }
    Written { text, inexact: 0, ..Written::default() }
}

pub(super) fn read(text: &str, name: &str) -> Result<Filter, FilterError> {
    let lines = text.lines().map(str::trim).zip(1_u32..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let (placed, plain): (Vec<_>, Vec<_>) = lines.map(|(line, number)| (line.to_string(), number)).partition(|(word, _)| address(word).is_some());
    if placed.is_empty() && plain.is_empty() && !text.lines().any(|line| line.trim() == EMPTY) {
        let expected = "a filter in XML, a list of one name a line, or a list of Score-P, TAU, GCC or XRay".to_string();
        return Err(error(1, 1, Problem::NoName { expected }));
    }
    let bad = |bad: BadWord| error(1, 1, Problem::BadPattern { pattern: bad.word, what: bad.what });
    let mut lists = Vec::new();
    for (of, words) in [(Names::Listed, plain), (Names::Placed, placed)] {
        if !words.is_empty() {
            let (words, lines) = words.into_iter().unzip();
            lists.push(Condition::Property(Property::Names { of, pattern: Pattern::new(Match::Simple, words).map_err(bad)?.at_lines(lines) }));
        }
    }
    if lists.is_empty() {
        let anything = Condition::All(Vec::new());
        return Ok(filter(name, Some(Start::None), vec![rule(Action::Exclude, anything, 1, "the list is empty")]));
    }
    let condition = if lists.len() == 1 { lists.swap_remove(0) } else { Condition::Any(lists) };
    // The main program is in from the start: a list without it leaves it out.
    let others = Condition::Not(Box::new(condition.clone()));
    let rules = vec![rule(Action::Exclude, others, 1, "names that are not in the list"), rule(Action::Include, condition, 1, "names in the list")];
    Ok(filter(name, Some(Start::None), rules))
}

/// The address behind the last `@`, as it is written for a name that is not the only one.
fn address(word: &str) -> Option<&str> {
    let (_, address) = word.rsplit_once("@0x")?;
    (!address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(address)
}
