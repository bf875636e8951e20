//! One name a line: `tare select --list` writes it, and it says exactly what was selected.
//!
//! A name that several functions of the image have is followed by the address of the one that is meant:
//! `cleanup@0x4012a0`. Lines that begin with `#` are comments.

use super::{Listed, Written, error, filter, rule};
use crate::filter::{Action, Condition, Filter, FilterError, Match, Names, Pattern, Problem, Property, Start};

pub(super) fn write(functions: &[Listed]) -> Written {
    let mut text = String::new();
    for function in functions.iter().filter(|function| function.is_selected) {
        text.push_str(&function.raw);
        if function.is_ambiguous {
            text.push_str(&format!("@{:#x}", function.address));
        }
        text.push('\n');
    }
    Written { text, inexact: 0 }
}

pub(super) fn read(text: &str, name: &str) -> Result<Filter, FilterError> {
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let words: Vec<String> = lines.map(|(_, line)| line.to_string()).collect();
    if words.is_empty() {
        let expected = "a filter in XML, a list of one name a line, or a list of Score-P, TAU, GCC or XRay".to_string();
        return Err(error(1, 1, Problem::Empty { element: "list".to_string(), expected }));
    }
    let (placed, plain): (Vec<String>, Vec<String>) = words.into_iter().partition(|word| address(word).is_some());
    let bad = |(pattern, what)| error(1, 1, Problem::BadPattern { pattern, what });
    let names = |of, words| Ok(Condition::Property(Property::Names { of, pattern: Pattern::new(Match::Simple, words).map_err(bad)? }));
    let condition = Condition::Any(vec![names(Names::Listed, plain)?, names(Names::Placed, placed)?]);
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
