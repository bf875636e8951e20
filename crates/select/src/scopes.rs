//! The names of a function: raw, shown, and split into namespaces, class and the function's own name.
//!
//! A mangled name does not say which of its scopes are classes. A scope counts as a class where one of its functions
//! shows it (constructor, destructor, `const`, an operator that only members can be, template arguments), as a
//! namespace where it is known to be one, and as both where nothing tells.

use std::collections::HashSet;

use tare_image::demangle;

use crate::filter::Names;

/// What a function is called.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NamedFunction {
    /// Raw names, shown name, the same without return type and parameters, own name; some may be equal.
    all: Vec<String>,
    /// How many of them are raw.
    raw: usize,
    /// Link address of the entry; `None` in another image.
    entry: Option<u64>,
    classes: Vec<String>,
    namespaces: Vec<String>,
}

impl NamedFunction {
    /// Whether one of its names of this kind is wanted.
    pub(crate) fn any(&self, of: Names, mut wanted: impl FnMut(&str) -> bool) -> bool {
        if of == Names::Placed {
            let placed = self.all.first().zip(self.entry).map(|(raw, entry)| format!("{raw}@{entry:#x}"));
            return placed.is_some_and(|placed| wanted(&placed));
        }
        let list: &[String] = match of {
            Names::Function => &self.all,
            Names::Raw => self.all.get(..self.raw).unwrap_or_default(),
            Names::Listed => self.all.get(..self.raw + 1).unwrap_or_default(),
            Names::Whole => self.all.get(..self.raw + 2).unwrap_or_default(),
            Names::Qualified => self.all.get(self.raw + 1..self.raw + 2).unwrap_or_default(),
            Names::Class => &self.classes,
            Names::Namespace => &self.namespaces,
            Names::Placed | Names::File | Names::FullPath => return false,
        };
        list.iter().map(String::as_str).any(wanted)
    }
}

/// Names of one function, raw ones first; `is_main` for the main program, which is shown as `main` in every language.
pub(crate) struct Raw<'a> {
    pub(crate) name: &'a str,
    pub(crate) aliases: &'a [String],
    pub(crate) is_main: bool,
    pub(crate) entry: Option<u64>,
}

/// The shown name with its scopes, without return type, parameters and template arguments of its own.
pub(crate) fn qualified(shown: &str) -> String {
    let parts = Parts::of(shown);
    let own = if parts.own.starts_with("operator") { parts.own.to_string() } else { bare(parts.own) };
    parts.scopes.iter().copied().chain([own.as_str()]).collect::<Vec<_>>().join("::")
}

/// The scopes of a shown name with their template arguments and parameters, and the own name with its template arguments.
pub(crate) fn parted(shown: &str) -> (Vec<&str>, &str) {
    let parts = Parts::of(shown);
    (parts.scopes, parts.own)
}

/// The own name without template arguments; of an operator that converts, without those of its type.
pub(crate) fn own_name(own: &str) -> &str {
    let Some(length) = operator(own) else { return own.split('<').next().unwrap_or(own) };
    let symbol = own["operator".len()..length].trim_start();
    if symbol.starts_with(['<', '>', '-', '(']) {
        return &own[..length];
    }
    own.split('<').next().unwrap_or(own).trim_end()
}

/// Bytes of a shown name before its scopes and own name: the return type that some names have.
pub(crate) fn name_begins(shown: &str) -> usize {
    let parts = Parts::of(shown);
    let first = parts.scopes.first().copied().unwrap_or(parts.own);
    (first.as_ptr() as usize).saturating_sub(shown.as_ptr() as usize)
}

/// The names of all functions of a program: what tells of a class is looked for in all of them.
pub(crate) fn named<'a>(functions: impl Iterator<Item = Raw<'a>>) -> Vec<NamedFunction> {
    let parted: Vec<(Raw<'a>, String)> = functions
        .map(|raw| {
            let shown = if raw.is_main { "main".to_string() } else { demangle(raw.name).into_owned() };
            (raw, shown)
        })
        .collect();
    let parts: Vec<Parts<'_>> = parted.iter().map(|(_, shown)| Parts::of(shown)).collect();
    let classes: HashSet<String> = parts.iter().filter_map(Parts::sure_class).collect();
    parted.iter().zip(&parts).map(|((raw, shown), parts)| assemble(raw, shown, parts, &classes)).collect()
}

fn assemble(raw: &Raw<'_>, shown: &str, parts: &Parts<'_>, classes: &HashSet<String>) -> NamedFunction {
    let mut all = vec![raw.name.to_string()];
    all.extend(raw.aliases.iter().cloned());
    let count = all.len();
    all.extend([shown.to_string(), parts.qualified(), parts.own.to_string()]);
    let mut named = NamedFunction { all, raw: count, entry: raw.entry, ..NamedFunction::default() };
    for depth in 1..=parts.scopes.len() {
        let (scope, innermost) = (parts.scopes[..depth].join("::"), depth == parts.scopes.len());
        let last = parts.scopes[depth - 1];
        let is_class = classes.contains(&bare(&scope)) || last.ends_with('>');
        let is_namespace = matches!(parts.scopes[0], "std" | "__gnu_cxx" if depth == 1) || last == "(anonymous namespace)";
        if (is_class || innermost) && !is_namespace {
            push(&mut named.classes, &scope, last);
        }
        if !is_class {
            push(&mut named.namespaces, &scope, last);
        }
    }
    named
}

/// A scope under its qualified and its own name, with and without template arguments.
fn push(list: &mut Vec<String>, scope: &str, last: &str) {
    for name in [scope.to_string(), bare(scope), last.to_string(), bare(last)] {
        if !list.contains(&name) {
            list.push(name);
        }
    }
}

/// The name without template arguments.
fn bare(name: &str) -> String {
    let mut depth = 0_usize;
    let keep = |character: &char| {
        match character {
            '<' => depth += 1,
            '>' => {
                let was = depth;
                depth = depth.saturating_sub(1);
                return was == 0;
            }
            _ => {}
        }
        depth == 0
    };
    name.chars().filter(keep).collect()
}

/// A shown name in parts.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    scopes: Vec<&'a str>,
    own: &'a str,
    is_const: bool,
}

impl<'a> Parts<'a> {
    /// `int ns::Class<int>::get<char>(int) const` is `ns`, `Class<int>` and `get<char>`, const.
    fn of(shown: &'a str) -> Self {
        let mut scopes = Vec::new();
        let mut from = 0;
        let mut at = 0;
        let mut end = shown.len();
        while at < shown.len() {
            let rest = &shown[at..];
            if let Some(length) = operator(rest).filter(|_| at == from) {
                at += length;
            } else if let Some(length) =
                ["(anonymous namespace)", "{lambda"].iter().find(|one| rest.starts_with(**one) && at == from).map(|_| group(rest))
            {
                at += length;
            } else if rest.starts_with("::") {
                scopes.push(&shown[from..at]);
                at += 2;
                from = at;
            } else if rest.starts_with('(') {
                let behind = at + group(rest);
                if !continues(&shown[behind..]) {
                    end = at;
                    break;
                }
                at = behind;
            } else if rest.starts_with(['<', '{', '[']) {
                at += group(rest);
            } else if rest.starts_with(' ') && !shown[at..].starts_with(" const::") {
                // A return type stands before the name.
                at += 1;
                from = at;
                scopes.clear();
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        let scopes = scopes.into_iter().filter(|scope| !scope.is_empty()).collect();
        Self { scopes, own: shown.get(from..end).unwrap_or(shown), is_const: shown.ends_with(") const") }
    }

    fn qualified(&self) -> String {
        self.scopes.iter().copied().chain([self.own]).collect::<Vec<_>>().join("::")
    }

    /// The scope that this function shows to be a class.
    fn sure_class(&self) -> Option<String> {
        let last = self.scopes.last()?;
        let own = bare(self.own);
        let is_member_operator = ["operator()", "operator[]", "operator->", "operator="].contains(&self.own);
        let is_class = self.is_const || own.starts_with('~') || own == bare(last) || is_member_operator;
        is_class.then(|| bare(&self.scopes.join("::")))
    }
}

/// Whether a name goes on behind a parameter list: in it a local class or function is named.
fn continues(behind: &str) -> bool {
    behind.starts_with("::") || behind.starts_with(" const::")
}

/// Bytes of the group in brackets that begins here; all that is left where it is not closed.
fn group(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut previous = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '(' | '<' | '{' | '[' => depth += 1,
            '>' if previous == '-' => {}
            ')' | '>' | '}' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        previous = character;
    }
    text.len()
}

/// Bytes of the operator's name that begins here: `operator()`, `operator<<`, `operator bool`.
fn operator(text: &str) -> Option<usize> {
    const WORD: usize = "operator".len();
    let symbol = text.strip_prefix("operator")?;
    if symbol.starts_with(|character: char| character.is_alphanumeric() || character == '_') {
        return None;
    }
    for known in ["()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">", "&&", "||"] {
        if symbol.starts_with(known) {
            return Some(WORD + known.len());
        }
    }
    Some(WORD + symbol.find('(').unwrap_or(symbol.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(shown: &str) -> (Vec<&str>, &str) {
        let parts = Parts::of(shown);
        (parts.scopes, parts.own)
    }

    #[test]
    fn names_come_apart_at_their_scopes() {
        assert_eq!(parts("main"), (vec![], "main"));
        assert_eq!(parts("work::busy"), (vec!["work"], "busy"));
        assert_eq!(parts("LAMMPS_NS::PairLJCut::compute(int, int)"), (vec!["LAMMPS_NS", "PairLJCut"], "compute"));
        assert_eq!(parts("void ns::apply<int, std::pair<int, char> >(int)"), (vec!["ns"], "apply<int, std::pair<int, char> >"));
        assert_eq!(parts("std::map<int, A::B>::operator[](int const&)"), (vec!["std", "map<int, A::B>"], "operator[]"));
        assert_eq!(parts("A::operator()(int) const"), (vec!["A"], "operator()"));
        assert_eq!(parts("A::operator bool() const"), (vec!["A"], "operator bool"));
        assert_eq!(parts("operator<<(std::ostream&, A const&)"), (vec![], "operator<<"));
        assert_eq!(parts("(anonymous namespace)::hidden(int)"), (vec!["(anonymous namespace)"], "hidden"));
        assert_eq!(parts("f(int)::Local::go() const"), (vec!["f(int)", "Local"], "go"));
        assert_eq!(parts("main::{lambda(int)#1}::operator()(int) const"), (vec!["main", "{lambda(int)#1}"], "operator()"));
        assert_eq!(parts("std::function<void (int)>::swap(int)"), (vec!["std", "function<void (int)>"], "swap"));
        assert_eq!(
            parts("<alloc::string::String as core::fmt::Write>::write_str"),
            (vec!["<alloc::string::String as core::fmt::Write>"], "write_str")
        );
        assert_eq!(parts("sort.part.0"), (vec![], "sort.part.0"));
    }

    #[test]
    fn scopes_are_classes_where_a_function_shows_it() {
        let raw = |name| Raw { name, aliases: &[], is_main: false, entry: None };
        let names = ["_ZN2ns1AC2Ev", "_ZN2ns1A3runEv", "_ZN2ns4freeEi", "__work_MOD_busy"];
        let named = named(names.into_iter().map(raw));
        let has = |index: usize, of: Names, wanted: &str| named[index].any(of, |name| name == wanted);
        assert!(has(1, Names::Class, "A") && has(1, Names::Class, "ns::A") && !has(1, Names::Class, "ns"));
        assert!(has(1, Names::Namespace, "ns") && !has(1, Names::Namespace, "ns::A"));
        assert!(has(2, Names::Namespace, "ns") && has(2, Names::Class, "ns"), "nothing tells what `ns` is for a function of its own");
        assert!(has(1, Names::Function, "run") && has(1, Names::Function, "ns::A::run") && has(1, Names::Function, "ns::A::run()"));
        assert!(has(1, Names::Function, "_ZN2ns1A3runEv"));
        assert!(has(3, Names::Namespace, "work") && has(3, Names::Function, "busy") && has(3, Names::Function, "work::busy"));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..proptest::prelude::ProptestConfig::default() })]

        #[test]
        fn any_text_comes_apart(text in "[a-z:<>(){}\\[\\] é~*&,-]{0,40}", free in ".{0,40}") {
            for text in [&text, &free] {
                let parts = Parts::of(text);
                assert!(parts.own.len() <= text.len());
            }
        }
    }
}
