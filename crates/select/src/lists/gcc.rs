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
//! gfortran's names are the procedure's own: without its module, without the underscore of its symbol. The main program's is
//! in no image, so a list may exclude it where a rejected function's name is a part of it.
//! GCC inserts its calls before it inlines, so that functions count of which an image has no code of their own.
//! What a demangler cannot read has its words in the mangled name; what holds one of them is not written.
//! Because parts match, not every function can be excluded without others: what is written excludes no function that
//! is selected, and the rejected ones that therefore stay are counted.

use std::collections::BTreeSet;

use super::{Listed, Written, error, filter, names_condition, rule};
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
    let unread = functions.iter().filter(|function| function.is_selected && is_mangled(&function.shown));
    let unread: BTreeSet<&str> = unread.flat_map(|function| words(&function.shown)).collect();
    let is_fortran = functions.iter().any(|function| function.raw == "MAIN__" || is_of_module(&function.raw));
    let mut text = String::from("-finstrument-functions\n");
    let mut written = BTreeSet::new();
    let mut inexact = 0;
    for function in functions.iter().filter(|function| !function.is_selected) {
        let name = if is_fortran { fortran_name(function) } else { sure_part(function) };
        if is_mangled(&name) || haystack.contains(&name) || may_be_in(&name, &unread) {
            inexact += 1;
        } else if written.insert(name.clone()) {
            text.push_str(&format!("\"{FUNCTIONS}{}\"\n", name.replace(',', "\\\\,").replace('"', "\\\"")));
        }
    }
    Written { text, inexact, ..Written::default() }
}

/// The name of a function in an image with code of gfortran.
fn fortran_name(function: &Listed) -> String {
    if is_of_module(&function.raw) {
        return own_name(parted(base(&function.shown)).1).to_string();
    }
    let name = sure_part(function);
    name.strip_suffix('_').filter(|rest| !rest.is_empty()).map_or_else(|| name.clone(), ToString::to_string)
}

fn is_of_module(raw: &str) -> bool {
    raw.starts_with("__") && raw.contains("_MOD_")
}

/// Whether a name is shown as it stands in the image, since no demangler could read it.
fn is_mangled(shown: &str) -> bool {
    shown.starts_with("_Z")
}

/// The words that a mangled name spells out, and those that it abbreviates (Itanium C++ ABI, 5.1).
fn words(mangled: &str) -> impl Iterator<Item = &str> {
    const ABBREVIATED: [&str; 8] = ["std", "allocator", "basic_string", "string", "basic_istream", "basic_ostream", "basic_iostream", "char_traits"];
    let starts = mangled.char_indices().filter(|(_, one)| one.is_ascii_digit());
    let word = move |(at, _): (usize, char)| {
        let digits = mangled.get(at..)?.chars().take_while(char::is_ascii_digit).count();
        let length: usize = mangled.get(at..at + digits)?.parse().ok()?;
        mangled.get(at + digits..(at + digits).checked_add(length)?)
    };
    starts.filter_map(word).filter(|word| !word.is_empty()).chain(ABBREVIATED)
}

/// Whether the last part of a name is in one of the words of names that could not be read; operators have none.
fn may_be_in(name: &str, words: &BTreeSet<&str>) -> bool {
    let own = name.rsplit("::").next().unwrap_or(name).trim_start_matches('~');
    !words.is_empty() && (own.starts_with("operator") || words.iter().any(|word| word.contains(own)))
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
        .map(|item| (item.clone(), Meaning::Part(item)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::lists::Listed;

    fn listed(functions: &[(&str, &str, bool)]) -> Vec<Listed> {
        let one = |&(raw, shown, is_selected): &(&str, &str, bool)| Listed {
            raw: raw.to_string(),
            aliases: Vec::new(),
            shown: shown.to_string(),
            address: 0,
            is_ambiguous: false,
            has_name: true,
            is_selected,
        };
        functions.iter().map(one).collect()
    }

    #[test]
    fn a_selected_function_whose_name_no_demangler_reads_is_not_excluded() {
        let unread = "_ZSt8__fill_aIPiiEN9__gnu_cxx11__enable_ifIXsrSt11__is_scalarIT0_E7__valueEvE6__typeET_S6_RKS3_";
        let fill = ("_ZSt8__fill_aIPcEvT_S1_RKc", "void std::__fill_a<char*>(char*, char*, char const&)", false);
        let other = ("_ZN2ns4moveEv", "ns::move()", false);
        let written = write(&listed(&[(unread, unread, true), fill, other]));
        assert!(!written.text.contains("fill") && written.text.contains("ns::move"), "{}", written.text);
        assert_eq!(written.inexact, 1);
        let written = write(&listed(&[("plain", "plain", true), fill, (unread, unread, false)]));
        assert!(written.text.contains("__fill_a") && !written.text.contains("_ZSt"), "{}", written.text);
    }

    #[test]
    fn procedures_of_fortran_have_their_own_names_alone() {
        let functions = [
            ("MAIN__", "MAIN__", true),
            ("__geo_MOD_area", "geo::area", false),
            ("__geo_MOD_length", "geo::length", true),
            ("outer_", "outer_", false),
            ("engt_", "engt_", false),
        ];
        let written = write(&listed(&functions));
        let lists: Vec<&str> = written.text.lines().skip(1).filter_map(|line| line.trim_matches('"').split('=').nth(1)).collect();
        assert_eq!((lists, written.inexact), (vec!["area", "outer"], 1), "{}", written.text);
    }
}
