//! What filters are evaluated over: functions with names, numbers and calls.

use std::rc::Rc;
use std::sync::Arc;

use crate::filter::{Condition, Direction, Edges, Names, Number, Property, Range};
use crate::scopes::NamedFunction;

/// What a condition is held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject<'a> {
    /// A function, by index.
    Function(usize),
    /// A function of another image, of which the name alone is known.
    Import(&'a str),
}

/// Functions and what is known of them.
pub(crate) trait World {
    /// Names of a function.
    fn names(&self, function: usize) -> &NamedFunction;
    /// Names of a function of another image.
    fn import_names(&self, raw: &str) -> Rc<NamedFunction>;
    /// The source file, where it is known.
    fn file(&self, function: usize) -> Option<String>;
    /// A number, where it is known.
    fn number(&self, of: Number, function: usize) -> Option<u64>;
    /// Whether so many calls lead from a function to the target, or from the target to it.
    fn is_reached(&self, direction: Direction, target: &Arc<Condition>, calls: Range, edges: Edges, function: usize) -> bool;
    /// The same of a function of another image, from which no call is known to lead on.
    fn import_is_reached(&self, direction: Direction, target: &Arc<Condition>, calls: Range, edges: Edges, name: &str) -> bool;

    /// Whether a condition holds.
    fn satisfies(&self, condition: &Condition, subject: Subject<'_>) -> bool {
        match condition {
            Condition::All(parts) => parts.iter().all(|part| self.satisfies(part, subject)),
            Condition::Any(parts) => parts.iter().any(|part| self.satisfies(part, subject)),
            Condition::Not(part) => !self.satisfies(part, subject),
            Condition::Property(property) => match subject {
                Subject::Function(function) => self.has(property, function),
                Subject::Import(name) => match property {
                    Property::Names { of, pattern } => self.import_names(name).any(*of, |name| pattern.matches(name)),
                    Property::Number { .. } => false,
                    Property::Reach { direction, target, calls, edges } => self.import_is_reached(*direction, target, *calls, *edges, name),
                },
            },
        }
    }

    /// Whether a function has a property.
    fn has(&self, property: &Property, function: usize) -> bool {
        match property {
            Property::Names { of: Names::FullPath, pattern } => self.file(function).is_some_and(|file| pattern.matches(&file)),
            Property::Names { of: Names::File, pattern } => self.file(function).is_some_and(|file| {
                let last = file.rsplit('/').next().unwrap_or_default();
                pattern.matches(&file) || pattern.matches(last)
            }),
            Property::Names { of, pattern } => self.names(function).any(*of, |name| pattern.matches(name)),
            Property::Number { of, range } => self.number(*of, function).is_some_and(|number| range.contains(number)),
            Property::Reach { direction, target, calls, edges } => self.is_reached(*direction, target, *calls, *edges, function),
        }
    }
}
