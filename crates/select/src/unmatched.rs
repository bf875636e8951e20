//! Names in filters that no function of a program has: most of them are misspelt, or come from a list of another build.
//!
//! Whole names are looked at one by one. Of the words of a `prefix`, `suffix`, `find` or `regex` list one must match, as
//! such lists name what may be there: `MPI mpi`; so do such lists that are alternatives, in one `<or>`. The target of a path may also be a function of another image.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use tare_code::Program;

use crate::filter::{Condition, Edges, Filter, Names, Pattern, Property, Rule, Whole};
use crate::finder::Finder;
use crate::functions::Functions;
use crate::world::World;

/// A pattern of a filter that matches nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Unmatched {
    /// Name of the filter.
    pub filter: Arc<str>,
    /// Line of the rule, or in a list of the name, from 1.
    pub line: u32,
    /// The name, or the list of which nothing matches.
    pub pattern: String,
}

/// Names of functions, classes and namespaces in filters that nothing in the program has. Files are not looked for:
/// debug information would have to be read for all functions.
#[must_use]
pub fn unmatched(program: &Program, filters: &[Filter]) -> Vec<Unmatched> {
    let mut wanted: BTreeMap<Kind, Vec<Wanted<'_>>> = BTreeMap::new();
    for filter in filters {
        for rule in &filter.rules {
            gather(&rule.condition, None, None, &mut |kind, choice, pattern| {
                wanted.entry(kind).or_default().push(Wanted { filter, rule, choice, pattern });
            });
        }
    }
    let functions = Functions::names_of(program);
    let mut found = BTreeSet::new();
    for (kind, wanted) in wanted {
        let names = names(program, &functions, kind);
        missing(&names, &wanted, &mut |wanted, line, pattern| {
            found.insert(Unmatched { filter: wanted.filter.name.clone(), line: line.unwrap_or(wanted.rule.line), pattern });
        });
    }
    found.into_iter().collect()
}

/// Which names: of functions, or of those also that are called by them.
type Kind = (Names, Option<Edges>);

/// A pattern with the rule in which it stands.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    filter: &'a Filter,
    rule: &'a Rule,
    /// The `<or>` of which it is an alternative.
    choice: Option<Choice>,
    pattern: &'a Pattern,
}

/// Where the alternatives of an `<or>` stand: which one it is.
type Choice = *const Condition;

/// `reached` is how calls lead to the functions that the condition is about, where it is the target of a path.
fn gather<'a>(condition: &'a Condition, reached: Option<Edges>, choice: Option<Choice>, see: &mut dyn FnMut(Kind, Option<Choice>, &'a Pattern)) {
    match condition {
        Condition::All(parts) => parts.iter().for_each(|part| gather(part, reached, None, see)),
        Condition::Any(parts) => parts.iter().for_each(|part| gather(part, reached, Some(parts.as_ptr()), see)),
        Condition::Not(part) => gather(part, reached, None, see),
        Condition::Property(Property::Names { of: Names::File | Names::FullPath, .. } | Property::Number { .. }) => {}
        Condition::Property(Property::Names { of, pattern }) => see((*of, reached), choice, pattern),
        Condition::Property(Property::Reach { target, edges, .. }) => gather(target, Some(*edges), None, see),
    }
}

/// All names of a kind, sorted, imports apart.
fn names(program: &Program, functions: &Functions<'_>, (of, reached): Kind) -> Vec<String> {
    let mut names = BTreeSet::new();
    let mut keep = |name: &str| {
        names.insert(name.to_string());
        false
    };
    for function in 0..functions.count() {
        functions.names(function).any(of, &mut keep);
        for import in imports(program, function, reached) {
            functions.import_names(import).any(of, &mut keep);
        }
    }
    names.into_iter().collect()
}

/// What a function calls in other images.
fn imports(program: &Program, function: usize, reached: Option<Edges>) -> Vec<&str> {
    let Some(edges) = reached else { return Vec::new() };
    let calls = program.calls();
    let mut imports: Vec<&str> = calls.imports(function).collect();
    if edges == Edges::Possible {
        imports.extend(calls.possible_imports(function));
    }
    imports
}

fn missing(names: &[String], wanted: &[Wanted<'_>], report: &mut dyn FnMut(&Wanted<'_>, Option<u32>, String)) {
    let has = |name: &str| names.binary_search_by(|one| one.as_str().cmp(name)).is_ok();
    let mut lists = Vec::new();
    for one in wanted {
        let whole: Vec<Whole<'_>> = one.pattern.whole_names().filter(|whole| !whole.names.iter().any(|name| has(name))).collect();
        if whole.is_empty() && one.pattern.has_expressions() {
            lists.push(*one);
        }
        for missing in whole {
            report(one, missing.line, missing.word.to_string());
        }
    }
    let is_matched = matched(names, &lists);
    let found: HashSet<Choice> = lists.iter().zip(&is_matched).filter(|(_, is_matched)| **is_matched).filter_map(|(one, _)| one.choice).collect();
    for (one, is_matched) in lists.iter().zip(is_matched) {
        if !is_matched && !one.choice.is_some_and(|choice| found.contains(&choice)) {
            report(one, None, one.pattern.to_string());
        }
    }
}

/// Which of these patterns match one of the names.
fn matched(names: &[String], wanted: &[Wanted<'_>]) -> Vec<bool> {
    const ANY: Names = Names::Function;
    let mut finder = Finder::default();
    let general: Vec<bool> = wanted.iter().enumerate().map(|(index, one)| !finder.add(ANY, one.pattern, index)).collect();
    let is_ready = finder.prepare();
    let mut matched = vec![false; wanted.len()];
    for name in names {
        finder.find(ANY, name, &mut |index| matched[index] = matched[index] || wanted[index].pattern.matches(name));
    }
    for (index, one) in wanted.iter().enumerate() {
        if !matched[index] && (general[index] || !is_ready) {
            matched[index] = names.iter().any(|name| one.pattern.matches(name));
        }
    }
    matched
}
