//! Which rules of a filter can change something for a function: those of thousands of names are found by the names.

use crate::filter::{Action, Condition, Filter, Names, Pattern, Property, Rule};
use crate::finder::Finder;
use crate::world::World;

/// The rules of a filter as functions see them.
pub(crate) enum Relevance<'a> {
    /// Few: each is evaluated for each function.
    All(usize),
    /// Many: some for each function, in their order, the others where a name lets them be found.
    Some { always: Vec<usize>, found: Finder<'a> },
}

/// Filters with fewer rules are evaluated as they stand.
const FEW: usize = 64;

impl<'a> Relevance<'a> {
    /// `spoken` rules that include are evaluated for each function, so that it can be told why they did not.
    pub(crate) fn of(filter: &'a Filter, spoken: usize) -> Self {
        let all = Self::All(filter.rules.len());
        if filter.rules.len() < FEW {
            return all;
        }
        let mut found = Finder::default();
        let (mut always, mut included) = (Vec::new(), 0);
        for (index, rule) in filter.rules.iter().enumerate() {
            let is_spoken = rule.action == Action::Include && included < spoken;
            included += usize::from(rule.action == Action::Include);
            if is_spoken || !is_found(&mut found, rule, index) {
                always.push(index);
            }
        }
        if found.prepare() { Self::Some { always, found } } else { all }
    }

    /// The rules that may be about a function, in their order.
    pub(crate) fn rules(&self, world: &dyn World, function: usize) -> Vec<usize> {
        match self {
            Self::All(count) => (0..*count).collect(),
            Self::Some { always, found } => {
                let mut rules = found.of_function(world.names(function));
                rules.extend(always);
                rules.sort_unstable();
                rules.dedup();
                rules
            }
        }
    }
}

/// Lets a rule be found by names, where it holds for no others.
fn is_found<'a>(finder: &mut Finder<'a>, rule: &'a Rule, index: usize) -> bool {
    names_in(&rule.condition).is_some_and(|names| {
        // One that has no keys makes the rule general; what was added of it before does no harm.
        names.into_iter().all(|(of, pattern)| finder.add(of, pattern, index))
    })
}

/// Lists of names of which a function must match one to satisfy a condition; `None` where others may satisfy it.
fn names_in(condition: &Condition) -> Option<Vec<(Names, &Pattern)>> {
    match condition {
        Condition::Any(parts) => parts.iter().map(names_in).collect::<Option<Vec<_>>>().map(|parts| parts.concat()),
        Condition::All(parts) => parts.iter().filter_map(names_in).min_by_key(Vec::len),
        Condition::Property(Property::Names { of: Names::File | Names::FullPath, .. }) => None,
        Condition::Property(Property::Names { of, pattern }) => Some(vec![(*of, pattern)]),
        Condition::Property(_) | Condition::Not(_) => None,
    }
}
