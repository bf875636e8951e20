//! The filter language of paper 2: ordered rules, each of which lets functions in or keeps them out.
//!
//! * [`Filter::parse`] reads a filter file, [`Filter::of_element`] a `<filter>` inside another document.
//! * [`Condition`] and [`Property`] say which functions a rule is about.
//! * [`Snippets`] say what is inserted at functions, loops and call sites of a function that is let in.
//!
//! What always holds: a filter is finite, nested no deeper than [`Filter::MAX_NESTING`], and its patterns match in
//! time proportional to the text, so that no filter can hang or overflow whoever evaluates it.

mod attributes;
mod error;
mod keys;
mod levels;
mod parts;
mod pattern;
mod phrase;
mod read;
mod xml;

use std::fmt;
use std::sync::Arc;

pub use error::{FilterError, Problem};
pub use levels::{Change, Level, Snippet, Snippets};
pub use pattern::{BadWord, Match, Pattern};
pub(crate) use pattern::{Meaning, Whole};
pub use phrase::Reason;
pub(crate) use phrase::reason;
pub use tare_code::Edges;

use crate::budget::Budget;

/// A filter.
#[derive(Clone, PartialEq, Debug)]
pub struct Filter {
    /// Its name.
    pub name: Arc<str>,
    /// With which set the rules begin; `None` to go on from what the filter before left.
    pub start: Option<Start>,
    /// What probes of all functions that are let in may cost together, whatever filters follow; `None` if nothing is said.
    pub budget: Option<Budget>,
    /// What is inserted in the functions that it lets in; `None` for the default snippets at functions.
    pub snippets: Option<Snippets>,
    /// In the order in which they are evaluated.
    pub rules: Vec<Rule>,
    /// Line of the filter in its file, from 1.
    pub line: u32,
}

/// The set with which a filter begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Start {
    /// Nothing but the main program.
    None,
    /// Every function.
    All,
}

impl Start {
    /// As it is written in a filter file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::All => "all",
        }
    }
}

/// A rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// What becomes of functions that it is about.
    pub action: Action,
    /// Which functions it is about.
    pub condition: Condition,
    /// What is inserted in them in place of the filter's own choice.
    pub change: Change,
    /// Line in the file, from 1.
    pub line: u32,
    /// Column in that line, from 1, where another rule stands in the same line.
    pub column: Option<u32>,
    /// The rule as it is written, on one line.
    pub text: Arc<str>,
}

/// What a rule does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Lets functions in.
    Include,
    /// Keeps them out.
    Exclude,
}

/// What a function must satisfy.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// All of these.
    All(Vec<Condition>),
    /// One of these at least.
    Any(Vec<Condition>),
    /// Not this.
    Not(Box<Condition>),
    /// A property.
    Property(Property),
}

/// A base criterion of paper 2's section 4.
#[derive(Clone, PartialEq, Debug)]
pub enum Property {
    /// One of its names matches.
    Names {
        /// Which names.
        of: Names,
        /// One of these must match.
        pattern: Pattern,
    },
    /// A number lies in a range; an unknown number lies in none.
    Number {
        /// Which number.
        of: Number,
        /// The range.
        range: Range,
    },
    /// Calls lead from the function to one that satisfies the target, or from such a function to it; a function that
    /// satisfies the target itself is 0 calls away.
    Reach {
        /// Which way the calls go.
        direction: Direction,
        /// The functions from or to which calls are followed.
        target: Arc<Condition>,
        /// How many calls.
        calls: Range,
        /// Which calls.
        edges: Edges,
    },
}

/// The names of a function that a pattern is held against.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Names {
    /// Raw name, other names of the same address, and the shown name: whole, without parameters, and unqualified.
    Function,
    /// Raw name and other names of the same address.
    Raw,
    /// Those, and the shown name.
    Listed,
    /// Those, and the shown name without return type and parameters.
    Whole,
    /// The shown name without return type and parameters.
    Qualified,
    /// Raw name and address, as in `cleanup@0x4012a0`.
    Placed,
    /// The class that it is a member of.
    Class,
    /// The namespaces and modules that enclose it.
    Namespace,
    /// The source file: path as recorded, and its last component.
    File,
    /// The path of the source file as recorded.
    FullPath,
}

/// A number that a range is held against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Number {
    /// Lines between first entry and last exit.
    LinesOfCode,
    /// Cyclomatic complexity, exits counted.
    CyclomaticComplexity,
    /// Instructions.
    Instructions,
    /// `call` instructions.
    CallSites,
    /// Natural loops.
    Loops,
    /// How deep loops nest.
    LoopDepth,
}

impl Number {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::LinesOfCode, Self::CyclomaticComplexity, Self::Instructions, Self::CallSites, Self::Loops, Self::LoopDepth];

    /// As it is written in a filter file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LinesOfCode => "linesofcode",
            Self::CyclomaticComplexity => "cyclomaticcomplexity",
            Self::Instructions => "instructions",
            Self::CallSites => "callsites",
            Self::Loops => "loops",
            Self::LoopDepth => "loopdepth",
        }
    }
}

/// Both ends belong to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Range {
    /// At least this.
    pub min: Option<u64>,
    /// At most this.
    pub max: Option<u64>,
}

impl Range {
    /// Whether a number lies in it.
    #[must_use]
    pub fn contains(self, number: u64) -> bool {
        self.min.is_none_or(|min| min <= number) && self.max.is_none_or(|max| number <= max)
    }
}

/// Which way calls are followed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// `path`: from the function to the target.
    To,
    /// `depth`: from the target to the function.
    From,
}

/// What a filter asks of the analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Numbers of functions.
    pub numbers: bool,
    /// Lines or files of functions.
    pub source: bool,
    /// Names for people, classes, namespaces.
    pub names: bool,
    /// Paths of sure calls.
    pub sure_edges: bool,
}

impl Filter {
    /// Elements may be nested as deep as this.
    pub const MAX_NESTING: usize = 64;

    /// What it asks of the analysis.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for rule in &self.rules {
            rule.condition.visit(&mut |property| match property {
                Property::Names { of: Names::File | Names::FullPath, .. } => needs = Needs { numbers: true, source: true, ..needs },
                Property::Names { .. } => needs.names = true,
                Property::Number { of: Number::LinesOfCode, .. } => needs = Needs { numbers: true, source: true, ..needs },
                Property::Number { .. } => needs.numbers = true,
                Property::Reach { edges, .. } => needs.sure_edges |= *edges == Edges::Sure,
            });
        }
        needs
    }
}

impl Condition {
    /// Shows every property, those of targets included.
    pub fn visit(&self, see: &mut dyn FnMut(&Property)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.visit(see)),
            Self::Not(part) => part.visit(see),
            Self::Property(property) => {
                see(property);
                if let Property::Reach { target, .. } = property {
                    target.visit(see);
                }
            }
        }
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "start=\"{}\"", self.name())
    }
}
