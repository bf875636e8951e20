//! Which functions are worth measuring, and why: the filter language of paper 2 (J. Mußler, D. Lorenz, F. Wolf:
//! *Reducing the Overhead of Direct Application Instrumentation Using Prior Static Analysis*, Euro-Par 2011).
//!
//! * [`Filter`]: a filter file. [`Preset`]: those that ship with the tool.
//! * [`lists`]: filters of other tools, read and written.
//! * [`unmatched()`]: names in filters that no function has.
//! * [`choose`]: what filters make of a program: a [`Selection`] of [`Decision`]s, each with its [`Cause`].
//!
//! What always holds: every function is selected, rejected, or of a kind that is never instrumented; every decision
//! names the rule that made it; the same program and filters give the same selection.
//!
//! What is absent: no file is opened, and nothing here knows how a function would be instrumented.

pub mod budget;
mod evaluate;
pub mod filter;
mod finder;
mod functions;
mod intervals;
pub mod lists;
mod preset;
mod relevance;
mod scopes;
mod unmatched;
mod world;

use std::sync::Arc;

pub use evaluate::choose;
pub use filter::{Filter, FilterError, Needs, Reason, Snippet, Snippets};
pub use preset::{Preset, UnknownPreset};
pub use unmatched::{Unmatched, unmatched};

/// A choice of functions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// In the order of the functions that were chosen from; functions that are never instrumented are left out.
    pub decisions: Vec<Decision>,
}

impl Selection {
    /// Functions to be measured.
    pub fn selected(&self) -> impl Iterator<Item = &Decision> {
        self.decisions.iter().filter(|decision| decision.is_selected)
    }

    /// Functions that are not.
    pub fn rejected(&self) -> impl Iterator<Item = &Decision> {
        self.decisions.iter().filter(|decision| !decision.is_selected)
    }
}

/// A function with its treatment and the reason for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Index of the function.
    pub function: usize,
    /// Whether it is to be measured.
    pub is_selected: bool,
    /// Who decided.
    pub cause: Arc<Cause>,
    /// Why, in words.
    pub reason: Reason,
    /// What is inserted if it is selected.
    pub snippets: Snippets,
    /// Who chose these.
    pub origins: Origins,
}

/// Who chose what is inserted at each level: the `instrument` of a filter or of a rule; `None` where none did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origins {
    /// At functions.
    pub functions: Option<Arc<Cause>>,
    /// At loops.
    pub loops: Option<Arc<Cause>>,
    /// At call sites.
    pub callsites: Option<Arc<Cause>>,
}

/// Who decided on a function: a rule, the start of a filter, or the tool itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cause {
    /// Name of the filter; `None` for what holds without one.
    pub filter: Option<Arc<str>>,
    /// Line in the filter's file, from 1; `None` where there is none.
    pub line: Option<u32>,
    /// Column in that line, from 1, where several rules stand in it.
    pub column: Option<u32>,
    /// The rule as it is written, on one line.
    pub text: Arc<str>,
}
