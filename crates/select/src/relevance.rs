//! Which rules of a filter can change something for a function: those of thousands of names are found by the names, those of
//! thousands of ranges by the numbers.

use crate::filter::{Action, Condition, Filter, Names, Number, Pattern, Property, Range, Rule};
use crate::finder::Finder;
use crate::intervals::Intervals;
use crate::world::World;

/// The rules of a filter as functions see them.
pub(crate) enum Relevance<'a> {
    /// Few: each is evaluated for each function.
    All(usize),
    /// Many: some for each function, in their order, the others where a name or a number lets them be found.
    Some { always: Vec<usize>, found: Box<Index<'a>> },
}

/// Rules by what functions must have to satisfy them.
#[derive(Default)]
pub(crate) struct Index<'a> {
    names: Finder<'a>,
    numbers: [Intervals; Number::ALL.len()],
}

/// What a function must have one of.
#[derive(Clone)]
enum Key<'a> {
    Name(Names, &'a Pattern),
    Number(Number, Range),
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
        let mut found = Index::default();
        let (mut always, mut included) = (Vec::new(), 0);
        for (index, rule) in filter.rules.iter().enumerate() {
            let is_spoken = rule.action == Action::Include && included < spoken;
            included += usize::from(rule.action == Action::Include);
            if is_spoken || !is_found(&mut found, rule, index) {
                always.push(index);
            }
        }
        if found.prepare() { Self::Some { always, found: Box::new(found) } } else { all }
    }

    /// The rules that may be about a function, in their order.
    pub(crate) fn rules(&self, world: &dyn World, function: usize) -> Vec<usize> {
        match self {
            Self::All(count) => (0..*count).collect(),
            Self::Some { always, found } => {
                let mut rules = found.rules(world, function);
                rules.extend(always);
                rules.sort_unstable();
                rules.dedup();
                rules
            }
        }
    }
}

impl Index<'_> {
    /// Makes it ready for functions; `false` where there is no memory for it.
    fn prepare(&mut self) -> bool {
        self.numbers.iter_mut().for_each(Intervals::prepare);
        self.names.prepare()
    }

    fn rules(&self, world: &dyn World, function: usize) -> Vec<usize> {
        let mut rules = if self.names.is_empty() { Vec::new() } else { self.names.of_function(world.names(function)) };
        for (of, intervals) in Number::ALL.into_iter().zip(&self.numbers).filter(|(_, intervals)| !intervals.is_empty()) {
            if let Some(number) = world.number(of, function) {
                intervals.find(number, &mut |rule| rules.push(rule));
            }
        }
        rules
    }
}

/// Lets a rule be found by names and numbers, where it holds for no other functions.
fn is_found<'a>(index: &mut Index<'a>, rule: &'a Rule, number: usize) -> bool {
    let add = |key: Key<'a>| match key {
        Key::Name(of, pattern) => index.names.add(of, pattern, number),
        Key::Number(of, range) => {
            let intervals = Number::ALL.into_iter().zip(&mut index.numbers).find(|(one, _)| *one == of);
            intervals.map(|(_, intervals)| intervals.add(range, number)).is_some()
        }
    };
    // One that has no keys makes the rule general; what was added of it before does no harm.
    keys(&rule.condition).is_some_and(|keys| keys.into_iter().all(add))
}

/// What a function must have one of to satisfy a condition; `None` where others may satisfy it.
fn keys(condition: &Condition) -> Option<Vec<Key<'_>>> {
    match condition {
        Condition::Any(parts) => parts.iter().map(keys).collect::<Option<Vec<_>>>().map(|parts| parts.concat()),
        Condition::All(parts) => {
            // Few functions have a name, many a number.
            parts.iter().filter_map(keys).min_by_key(|keys| (keys.iter().any(|key| matches!(key, Key::Number(..))), keys.len()))
        }
        Condition::Property(Property::Names { of: Names::File | Names::FullPath, .. } | Property::Reach { .. }) | Condition::Not(_) => None,
        Condition::Property(Property::Names { of, pattern }) => Some(vec![Key::Name(*of, pattern)]),
        Condition::Property(Property::Number { of, range }) => Some(vec![Key::Number(*of, *range)]),
    }
}
