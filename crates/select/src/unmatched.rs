//! Names in filters that no function of a program has: most of them are misspelt, or come from a list of another build.
//!
//! Whole names are looked at one by one. Of the words of a `prefix`, `suffix`, `find` or `regex` list one must match, as
//! such lists name what may be there: `MPI mpi`. The target of a path may also be a function of another image.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tare_code::Program;

use crate::filter::{Condition, Edges, Filter, Names, Pattern, Property, Rule};
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
    let mut search = Search { program, functions: Functions::names_of(program), known: BTreeMap::new() };
    let mut found = BTreeSet::new();
    for filter in filters {
        for rule in &filter.rules {
            search.condition(&rule.condition, None, &mut |line, pattern| {
                found.insert(Unmatched { filter: filter.name.clone(), line: place(rule, line), pattern });
            });
        }
    }
    found.into_iter().collect()
}

fn place(rule: &Rule, line: Option<u32>) -> u32 {
    line.unwrap_or(rule.line)
}

/// All names of a kind, sorted, imports apart.
struct Search<'a> {
    program: &'a Program,
    functions: Functions<'a>,
    known: BTreeMap<(Names, Option<Edges>), Vec<String>>,
}

impl Search<'_> {
    /// `reached` is how calls lead to the functions that the condition is about, where it is the target of a path.
    fn condition(&mut self, condition: &Condition, reached: Option<Edges>, report: &mut dyn FnMut(Option<u32>, String)) {
        match condition {
            Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| self.condition(part, reached, report)),
            Condition::Not(part) => self.condition(part, reached, report),
            Condition::Property(Property::Names { of: Names::File | Names::FullPath, .. } | Property::Number { .. }) => {}
            Condition::Property(Property::Names { of, pattern }) => missing(self.names(*of, reached), pattern, report),
            Condition::Property(Property::Reach { target, edges, .. }) => self.condition(target, Some(*edges), report),
        }
    }

    fn names(&mut self, of: Names, reached: Option<Edges>) -> &[String] {
        let Self { program, functions, known } = self;
        known.entry((of, reached)).or_insert_with(|| {
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
        })
    }
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

fn missing(names: &[String], pattern: &Pattern, report: &mut dyn FnMut(Option<u32>, String)) {
    let has = |name: &str| names.binary_search_by(|one| one.as_str().cmp(name)).is_ok();
    let whole: Vec<(&str, Option<u32>)> = pattern.whole_names().filter(|(name, _)| !has(name)).collect();
    if whole.is_empty() && pattern.has_expressions() && !names.iter().any(|name| pattern.matches(name)) {
        report(None, pattern.to_string());
    }
    for (name, line) in whole {
        report(line, name.to_string());
    }
}
