//! GCC's options that exclude functions and files from `-finstrument-functions`, in a response file (`gcc @FILE`).
//!
//! Read from GCC's manual, "Program Instrumentation Options": lists separated by commas, `\,` for a comma in a name;
//! a name matches where it is part of the function's name as people see it, a file where it is part of the path. The
//! name is that with scopes and template arguments, without return type and parameters: the manual shows both, but GCC
//! 12 does not match them.
//! GCC's names are not those of demanglers: it leaves out template arguments that are defaults, has `{anonymous}` for
//! `(anonymous namespace)`, `<lambda(int)>` for `{lambda(int)#1}`, and the parameters of functions in which something is
//! local (`lang_decl_name` in its `cp/error.cc`). The defaults are not in an image: what is written is the end of the name
//! behind all that may be spelled otherwise, such as `>::push_back`.
//! Because parts match, not every function can be excluded without others: what is written excludes no function that
//! is selected, and the rejected ones that therefore stay are counted.

use super::{Listed, Written, error, filter, glob, names_condition, rule};
use crate::filter::{Action, Filter, FilterError, Meaning, Names, Problem};
use crate::scopes::{own_name, parted};

const FUNCTIONS: &str = "-finstrument-functions-exclude-function-list=";
/// An anonymous namespace as GCC writes it, and as demanglers do.
const ANONYMOUS: &str = "{anonymous}";
const DEMANGLED: &str = "(anonymous namespace)";
const FILES: &str = "-finstrument-functions-exclude-file-list=";

pub(super) fn write(functions: &[Listed]) -> Written {
    let selected: Vec<String> = functions.iter().filter(|function| function.is_selected).map(whole).collect();
    let haystack = selected.join("\n");
    let mut text = String::from("-finstrument-functions\n");
    let mut written = std::collections::BTreeSet::new();
    let mut inexact = 0;
    for function in functions.iter().filter(|function| !function.is_selected) {
        let name = sure_part(function);
        if haystack.contains(&name) {
            inexact += 1;
        } else if written.insert(name.clone()) {
            text.push_str(&format!("\"{FUNCTIONS}{}\"\n", name.replace(',', "\\\\,").replace('"', "\\\"")));
        }
    }
    Written { text, inexact }
}

/// A scope as GCC writes it, but for template arguments and parameters.
fn scope(shown: &str) -> String {
    shown.replace(DEMANGLED, ANONYMOUS)
}

/// All of a function's name, in which no part of a name that is written must be found if the function is selected.
fn whole(function: &Listed) -> String {
    let (scopes, own) = parted(base(&function.shown));
    scopes.into_iter().map(scope).chain([scope(own)]).collect::<Vec<_>>().join("::")
}

/// The longest end of a function's name that GCC is sure to have as well, without template arguments of its own.
fn sure_part(function: &Listed) -> String {
    let (scopes, own) = parted(base(&function.shown));
    let own = own_name(own);
    let own = own.find("[abi:").map_or(own, |at| &own[..at]);
    let scopes: Vec<String> = scopes.into_iter().map(scope).collect();
    let is_unsure = |scope: &String| scope.replace(ANONYMOUS, "").contains(['<', '(', '{', '[']);
    // In a function of C, which has no parameters in its name, something may be local too.
    let is_local = function.raw.starts_with("_ZZ") && scopes.len() < 3;
    let from = scopes.iter().rposition(is_unsure).or((is_local && !scopes.is_empty()).then_some(0));
    let Some(from) = from else { return scopes.iter().map(String::as_str).chain([own]).collect::<Vec<_>>().join("::") };
    let bracket = if scopes[from].ends_with('>') { ">" } else { "" };
    [bracket].into_iter().chain(scopes[from + 1..].iter().map(String::as_str)).chain([own]).collect::<Vec<_>>().join("::")
}

/// The name without what the compiler adds to copies that it makes of a function, after excluding it or not.
fn base(shown: &str) -> &str {
    match shown.find(['.', '[']).filter(|&at| at > 0 && shown[at..].starts_with('.')) {
        Some(at) if !shown[..at].contains('(') => &shown[..at],
        _ => shown,
    }
}

pub(super) fn read(text: &str, name: &str) -> Result<Filter, FilterError> {
    let (mut functions, mut files) = (Vec::new(), Vec::new());
    let (mut function_line, mut file_line) = (1, 1);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
        for (column, option) in options(line).map_err(|column| {
            error(index + 1, column, Problem::NotClosed { block: "a quote".to_string(), expected: "the same quote behind it".to_string() })
        })? {
            if let Some(list) = option.strip_prefix(FUNCTIONS) {
                function_line = if functions.is_empty() { index + 1 } else { function_line };
                functions.extend(items(list));
            } else if let Some(list) = option.strip_prefix(FILES) {
                file_line = if files.is_empty() { index + 1 } else { file_line };
                files.extend(items(list));
            } else if option != "-finstrument-functions" {
                let expected = format!("-finstrument-functions, {FUNCTIONS}… or {FILES}…");
                return Err(error(index + 1, column, Problem::UnexpectedWord { found: option.chars().take(60).collect(), expected }));
            }
        }
    }
    let mut rules = Vec::new();
    for (of, words, line, option) in [(Names::Qualified, functions, function_line, FUNCTIONS), (Names::FullPath, files, file_line, FILES)] {
        if !words.is_empty() {
            rules.push(rule(Action::Exclude, names_condition(of, words, line)?, line, option.trim_end_matches('=')));
        }
    }
    Ok(filter(name, None, rules))
}

/// Options of a line of a response file with their columns: separated by white space, quoted, with backslashes. The
/// column of a quote that is not closed is an error.
fn options(line: &str) -> Result<Vec<(usize, String)>, usize> {
    let mut options: Vec<(usize, String)> = Vec::new();
    let mut quote: Option<(char, usize)> = None;
    let mut is_inside = false;
    let mut characters = line.chars().enumerate();
    while let Some((column, character)) = characters.next() {
        if quote.is_none() && character.is_whitespace() {
            is_inside = false;
            continue;
        }
        if !is_inside {
            options.push((column + 1, String::new()));
            is_inside = true;
        }
        let Some((_, option)) = options.last_mut() else { continue };
        match (character, quote) {
            ('\\', _) => option.extend(characters.next().map(|(_, escaped)| escaped)),
            (character, Some((open, _))) if character == open => quote = None,
            ('"' | '\'', None) => quote = Some((character, column + 1)),
            (character, _) => option.push(character),
        }
    }
    quote.map_or(Ok(options), |(_, column)| Err(column))
}

/// The names of a list: `\,` is a comma in a name.
fn items(list: &str) -> Vec<(String, Meaning)> {
    let mut items = vec![String::new()];
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, items.last_mut()) {
            ('\\', Some(item)) if characters.peek() == Some(&',') => item.extend(characters.next()),
            (',', _) => items.push(String::new()),
            (character, Some(item)) => item.push(character),
            (_, None) => {}
        }
    }
    items
        .into_iter()
        .filter(|item| !item.is_empty())
        .map(|item| item.replace(ANONYMOUS, DEMANGLED))
        .map(|item| (item.clone(), glob::substring(&item)))
        .collect()
}
