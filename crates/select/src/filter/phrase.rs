//! Why a condition holds or does not, in words.

use std::fmt;

use super::{Condition, Direction, Edges, Names, Number, Property, Range};
use crate::world::{Subject, World};

/// Why a function is in or out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Reason {
    /// A phrase that is the same for all functions of its kind.
    pub what: String,
    /// The function's own figures, where there are any.
    pub figures: Vec<u64>,
}

impl Reason {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), figures: Vec::new() }
    }

    /// Several reasons as one.
    pub(crate) fn joined(parts: Vec<Self>, word: &str) -> Self {
        let mut joined = Self::default();
        let mut said = Vec::new();
        for part in parts {
            // Two rules that ask for the same are missed for one reason.
            if part.what.is_empty() || said.contains(&part) {
                continue;
            }
            said.push(part.clone());
            let link = if joined.what.is_empty() { "" } else { word };
            joined.what = format!("{}{link}{}", joined.what, part.what);
            joined.figures.extend(part.figures);
        }
        joined
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for (index, figure) in self.figures.iter().enumerate() {
            write!(f, "{} {figure}", if index == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

/// Why `condition` holds (or does not) for a function.
pub(crate) fn reason(condition: &Condition, world: &dyn World, function: usize, holds: bool) -> Reason {
    let subject = Subject::Function(function);
    let part = |part: &Condition| reason(part, world, function, holds);
    match (condition, holds) {
        (Condition::All(parts), true) if parts.is_empty() => Reason::new("no function is named"),
        (Condition::Not(inner), _) => reason(inner, world, function, !holds),
        (Condition::All(parts), true) => Reason::joined(parts.iter().map(part).collect(), " and "),
        (Condition::Any(parts), false) => Reason::joined(parts.iter().map(part).collect(), ", and "),
        (Condition::All(parts) | Condition::Any(parts), _) => {
            parts.iter().find(|part| world.satisfies(part, subject) == holds).map(part).unwrap_or_default()
        }
        (Condition::Property(property), _) => of_property(property, world, function, holds),
    }
}

fn of_property(property: &Property, world: &dyn World, function: usize, holds: bool) -> Reason {
    match property {
        Property::Names { of, pattern } => {
            let what = match of {
                Names::Function | Names::Raw | Names::Listed | Names::Whole | Names::Qualified | Names::Placed => "name",
                Names::Class => "class",
                Names::Namespace => "namespace",
                Names::File | Names::FullPath => "file",
            };
            Reason::new(if holds { format!("{what} matches {pattern}") } else { format!("{what} does not match {pattern}") })
        }
        Property::Number { of, range } => {
            let name = spoken(*of);
            match world.number(*of, function) {
                None => Reason::new(format!("{name} unknown")),
                Some(_) if *range == (Range { min: Some(0), max: None }) => Reason::new(format!("{name} known")),
                Some(figure) => Reason { what: in_words(name, *range, figure), figures: vec![figure] },
            }
        }
        Property::Reach { direction, target, calls, edges } => {
            let possible = if *edges == Edges::Possible { "possible " } else { "" };
            let bounds = if *calls == Range::default() { String::new() } else { format!(" within {}", bounds(*calls)) };
            let is_possible = !holds && *edges == Edges::Sure && world.is_reached(*direction, target, *calls, Edges::Possible, function);
            let target = target_in_words(target);
            let known = if is_possible { " of sure calls (edges=\"possible\" counts possible ones, of which there is one)" } else { "" };
            Reason::new(match (direction, holds) {
                (Direction::To, true) => format!("on a {possible}path to {target}{bounds}"),
                (Direction::To, false) => format!("no {possible}path to {target}{bounds}{known}"),
                (Direction::From, true) => format!("on a {possible}path from {target}{bounds}"),
                (Direction::From, false) => format!("no {possible}path from {target}{bounds}{known}"),
            })
        }
    }
}

const fn spoken(number: Number) -> &'static str {
    match number {
        Number::LinesOfCode => "lines",
        Number::CyclomaticComplexity => "cyclomatic complexity",
        Number::Instructions => "instructions",
        Number::CallSites => "call sites",
        Number::Loops => "loops",
        Number::LoopDepth => "nesting of loops",
    }
}

fn in_words(name: &str, range: Range, figure: u64) -> String {
    match range {
        Range { min: Some(min), .. } if figure < min => format!("{name} below {min}"),
        Range { max: Some(max), .. } if figure > max => format!("{name} above {max}"),
        Range { min: Some(min), max: None } => format!("{name} of {min} or more"),
        Range { min: None, max: Some(max) } => format!("{name} of {max} or less"),
        Range { min: Some(min), max: Some(max) } => format!("{name} from {min} to {max}"),
        Range { min: None, max: None } => format!("any {name}"),
    }
}

fn bounds(calls: Range) -> String {
    match calls {
        Range { min: None | Some(0), max: Some(1) } => "1 call".to_string(),
        Range { min: None | Some(0), max: Some(max) } => format!("{max} calls"),
        Range { min: Some(min), max: Some(max) } => format!("{min} to {max} calls"),
        Range { min: Some(min), max: None } => format!("{min} or more calls"),
        Range { min: None, max: None } => "any number of calls".to_string(),
    }
}

/// The functions of a target in a few words.
fn target_in_words(target: &Condition) -> String {
    match target {
        Condition::Property(Property::Names { of: Names::Function, pattern }) => pattern.to_string(),
        Condition::Any(parts) if parts.len() <= 3 => parts.iter().map(target_in_words).collect::<Vec<_>>().join(" "),
        Condition::Property(Property::Names { of, pattern }) => {
            let what = match of {
                Names::Class => "class",
                Names::Namespace => "namespace",
                Names::File | Names::FullPath => "file",
                Names::Function | Names::Raw | Names::Listed | Names::Whole | Names::Qualified | Names::Placed => "function",
            };
            format!("{what} {pattern}")
        }
        _ => "the functions described".to_string(),
    }
}
