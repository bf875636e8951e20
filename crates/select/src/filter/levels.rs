//! What is inserted where: the snippet of each level of paper 2.

use std::fmt;
use std::sync::Arc;

/// Code that an adapter inserts at a level.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Snippet {
    /// The adapter's default, by the word with which it was asked for.
    Default(&'static str),
    /// A named alternative.
    Named(Arc<str>),
}

impl Snippet {
    /// The name of an alternative; `None` for the default.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Default(_) => None,
            Self::Named(name) => Some(name),
        }
    }

    /// As it is written in a filter file.
    #[must_use]
    pub fn written(&self) -> &str {
        match self {
            Self::Default(word) => word,
            Self::Named(name) => name,
        }
    }
}

/// The word for an adapter's default at any level.
pub(super) const DEFAULT: &str = "default";

/// What is inserted at each level of a function; `None` for nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Snippets {
    /// At its entry and exits.
    pub functions: Option<Snippet>,
    /// At its loops.
    pub loops: Option<Snippet>,
    /// At its call sites.
    pub callsites: Option<Snippet>,
}

impl Default for Snippets {
    /// The default snippets at functions, nothing elsewhere.
    fn default() -> Self {
        Self { functions: Some(Snippet::Default(DEFAULT)), loops: None, callsites: None }
    }
}

impl Snippets {
    /// Whether these are what is inserted where no filter says otherwise, by whatever word.
    #[must_use]
    pub const fn are_default(&self) -> bool {
        matches!(self.functions, Some(Snippet::Default(_))) && self.loops.is_none() && self.callsites.is_none()
    }
}

/// A level of instrumentation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// Entry and exits of functions.
    Functions,
    /// Loops.
    Loops,
    /// Call sites.
    CallSites,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Functions, Self::Loops, Self::CallSites];

    /// As it is written in a filter file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Loops => "loops",
            Self::CallSites => "callsites",
        }
    }

    /// Names that stand for the adapter's default snippets. Paper 2's Fig. 3 writes `functions=function`.
    const fn defaults(self) -> [&'static str; 3] {
        match self {
            Self::Functions => ["function", "functions", DEFAULT],
            Self::Loops => ["loop", "loops", DEFAULT],
            Self::CallSites => ["callsite", "callsites", DEFAULT],
        }
    }

    /// What `name` stands for at this level.
    pub(crate) fn snippet(self, name: &str) -> Option<Snippet> {
        if name == "none" {
            return None;
        }
        let default = self.defaults().into_iter().find(|word| *word == name);
        Some(default.map_or_else(|| Snippet::Named(name.into()), Snippet::Default))
    }
}

/// What a rule changes: for each level nothing, or the new snippet (or none).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Change {
    /// At functions.
    pub functions: Option<Option<Snippet>>,
    /// At loops.
    pub loops: Option<Option<Snippet>>,
    /// At call sites.
    pub callsites: Option<Option<Snippet>>,
}

impl Change {
    /// The level's place.
    pub(crate) fn at(&mut self, level: Level) -> &mut Option<Option<Snippet>> {
        match level {
            Level::Functions => &mut self.functions,
            Level::Loops => &mut self.loops,
            Level::CallSites => &mut self.callsites,
        }
    }

    /// Whether it changes anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Changes what is inserted.
    pub fn apply(&self, to: &mut Snippets) {
        let set = |change: &Option<Option<Snippet>>, place: &mut Option<Snippet>| {
            if let Some(new) = change {
                place.clone_from(new);
            }
        };
        set(&self.functions, &mut to.functions);
        set(&self.loops, &mut to.loops);
        set(&self.callsites, &mut to.callsites);
    }
}

impl fmt::Display for Snippets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = [(Level::Functions, &self.functions), (Level::Loops, &self.loops), (Level::CallSites, &self.callsites)];
        let mut separator = "";
        for (level, snippet) in levels {
            if let Some(snippet) = snippet {
                write!(f, "{separator}{}={}", level.name(), snippet.written())?;
                separator = ",";
            }
        }
        Ok(())
    }
}
