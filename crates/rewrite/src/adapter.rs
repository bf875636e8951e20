//! Adapters: what is inserted at the points of a program, as an XML file says it.
//!
//! ```xml
//! <adapter name="counting">
//!   <dependencies><library name="libmeasure.so.1"/></dependencies>
//!   <filter> … what this adapter never instruments … </filter>
//!   <variables><var name="calls" size="8" value="0" thread="no"/></variables>
//!   <init> … </init> <finalize> … </finalize>                once in a process
//!   <functions name="function">                              one of any number of alternatives
//!     <variables> … </variables>                             one of each for every function
//!     <init> … </init> <enter> … </enter> <exit> … </exit> <finalize> … </finalize>
//!   </functions>
//!   <loops name="loop"> … <before> <enter> <exit> <after> … </loops>
//!   <callsites name="callsite"> … <before> <after> … </callsites>
//! </adapter>
//! ```
//!
//! This is the adapter specification of J. Mußler, D. Lorenz, F. Wolf: *Reducing the overhead of direct application
//! instrumentation using prior static analysis*, Euro-Par 2011, §3.1, with names for what the paper leaves open.

mod build;
mod facts;
mod link;
pub(crate) mod nesting;
mod parse;
mod probes;
pub(crate) mod record;
mod shipped;
mod source;
mod start;
mod writer;

pub use link::Libraries;
pub use probes::{Snippets, Subject, Wanted};
pub use shipped::{SHIPPED, shipped};

use tare_select::Filter;

use crate::snippet::ast::{Integer, Statement};
use crate::snippet::{AdapterError, Place};

/// What a snippet belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Level {
    /// The program as a whole.
    Adapter,
    /// Functions.
    Functions,
    /// Loops.
    Loops,
    /// Call sites.
    CallSites,
}

impl Level {
    /// Its element.
    #[must_use]
    pub const fn element(self) -> &'static str {
        match self {
            Self::Adapter => "adapter",
            Self::Functions => "functions",
            Self::Loops => "loops",
            Self::CallSites => "callsites",
        }
    }

    /// The name of an alternative that has none of its own.
    #[must_use]
    pub const fn default_name(self) -> &'static str {
        match self {
            Self::Adapter => "adapter",
            Self::Functions => "function",
            Self::Loops => "loop",
            Self::CallSites => "callsite",
        }
    }

    /// The points that it has.
    #[must_use]
    pub const fn points(self) -> &'static [Point] {
        match self {
            Self::Adapter => &[Point::Initialize, Point::Finalize],
            Self::Functions => &[Point::Initialize, Point::Enter, Point::Exit, Point::Finalize],
            Self::Loops => &[Point::Initialize, Point::Before, Point::Enter, Point::Exit, Point::After, Point::Finalize],
            Self::CallSites => &[Point::Initialize, Point::Before, Point::After, Point::Finalize],
        }
    }
}

/// When a snippet is run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Point {
    /// Once for each region when the image is loaded, in front of the program's own initialisation.
    Initialize,
    /// In front of a loop or call.
    Before,
    /// When a function or an iteration begins.
    Enter,
    /// When a function or an iteration ends.
    Exit,
    /// Behind a loop or call.
    After,
    /// Once for each region when the image is done with, behind the program's own destructors.
    Finalize,
}

impl Point {
    /// Its element.
    #[must_use]
    pub const fn element(self) -> &'static str {
        match self {
            Self::Initialize => "init",
            Self::Before => "before",
            Self::Enter => "enter",
            Self::Exit => "exit",
            Self::After => "after",
            Self::Finalize => "finalize",
        }
    }

    fn named(element: &str) -> Option<Self> {
        let all = [Self::Initialize, Self::Before, Self::Enter, Self::Exit, Self::After, Self::Finalize];
        if element == "initialize" { Some(Self::Initialize) } else { all.into_iter().find(|one| one.element() == element) }
    }
}

/// A variable of the adapter or of every region of an alternative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name in snippets.
    pub name: String,
    /// How it is kept.
    pub integer: Integer,
    /// Its value at the start.
    pub value: i64,
    /// Whether each thread has its own.
    pub is_thread_local: bool,
    /// Where it is declared.
    pub place: Place,
}

impl Variable {
    /// Its bytes at the start.
    pub(crate) fn initial(&self) -> Vec<u8> {
        let mut bytes = self.value.to_le_bytes().to_vec();
        bytes.truncate(usize::from(self.integer.size));
        bytes
    }
}

/// The code for one point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snippet {
    /// When it is run.
    pub point: Point,
    /// What it does.
    pub statements: Vec<Statement>,
}

/// Snippets for the points of one level, which a filter can choose by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative {
    /// What its snippets belong to.
    pub level: Level,
    /// Its name; unique within the level.
    pub name: String,
    /// One of each for every region.
    pub variables: Vec<Variable>,
    /// At most one for a point; points without one are not touched.
    pub snippets: Vec<Snippet>,
}

impl Alternative {
    /// The code for a point.
    #[must_use]
    pub fn snippet(&self, point: Point) -> Option<&Snippet> {
        self.snippets.iter().find(|one| one.point == point)
    }
}

/// A library that the output loads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Library {
    /// As the loader looks for it.
    pub name: String,
    /// Where the adapter asks for it.
    pub place: Place,
}

/// An adapter.
#[derive(Clone, PartialEq, Debug)]
pub struct Adapter {
    /// Its name; empty where the file gives none.
    pub name: String,
    /// Whether sites call Tareweight's own runtime; such an adapter has nothing else.
    pub is_native: bool,
    /// Whether its regions must nest: where exceptions and `longjmp` leave one, it is ended late, in front of what the thread
    /// does next.
    pub must_nest: bool,
    /// What the output loads.
    pub libraries: Vec<Library>,
    /// What may be instrumented, whatever else is selected.
    pub filter: Option<Filter>,
    /// Where that begins in the file.
    pub filter_place: Place,
    /// Variables that all snippets see.
    pub variables: Vec<Variable>,
    /// Code for the process as a whole.
    pub snippets: Vec<Snippet>,
    /// In the order of the file.
    pub alternatives: Vec<Alternative>,
}

impl Adapter {
    /// Reads an adapter's file.
    ///
    /// # Errors
    /// Where it is no XML, or has elements, names, types or snippets that make no sense.
    pub fn parse(text: &str) -> Result<Self, AdapterError> {
        parse::parse(text)
    }

    /// The text of an adapter's file.
    ///
    /// # Errors
    /// Where it is not in UTF-8.
    pub fn text(bytes: &[u8]) -> Result<&str, AdapterError> {
        parse::text(bytes)
    }

    /// The alternative with this name; one without a name of its own is called `function`, `loop` or `callsite`.
    #[must_use]
    pub fn alternative(&self, level: Level, name: &str) -> Option<&Alternative> {
        self.alternatives.iter().find(|one| one.level == level && one.name == name)
    }
}
