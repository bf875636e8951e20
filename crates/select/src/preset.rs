//! The presets: paper 2's filters, and the union that it proposes to try.

use std::fmt;
use std::str::FromStr;

use crate::facts::Facts;

/// A filter with a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Preset {
    /// Every function.
    All,
    /// Functions that appear on a call path to an MPI function.
    MpiPath,
    /// CC 2+: functions with more than one path of execution.
    Cyclomatic2,
    /// CC 3+: functions with a loop or branch more than that.
    Cyclomatic3,
    /// LoC 5+: functions of five lines or more. Without line information a line counts as four instructions.
    Lines5,
    /// The union of the MPI path and CC 3+.
    MpiPathAndCyclomatic3,
}

/// Lines that a function must have for [`Preset::Lines5`].
const LINES: u32 = 5;
/// Instructions that stand for as many lines where lines are unknown.
const INSTRUCTIONS: usize = 20;

impl Preset {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::All, Self::MpiPath, Self::Cyclomatic2, Self::Cyclomatic3, Self::Lines5, Self::MpiPathAndCyclomatic3];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::MpiPath => "mpi-path",
            Self::Cyclomatic2 => "cc2",
            Self::Cyclomatic3 => "cc3",
            Self::Lines5 => "loc5",
            Self::MpiPathAndCyclomatic3 => "mpi-path+cc3",
        }
    }

    /// Whether it needs the call graph.
    #[must_use]
    pub const fn follows_calls(self) -> bool {
        matches!(self, Self::MpiPath | Self::MpiPathAndCyclomatic3)
    }

    /// Whether it depends on the numbers of functions.
    #[must_use]
    pub const fn counts(self) -> bool {
        matches!(self, Self::Cyclomatic2 | Self::Cyclomatic3 | Self::Lines5 | Self::MpiPathAndCyclomatic3)
    }

    /// Whether it lets a function in, and the reason.
    pub(crate) fn judges(self, facts: &Facts) -> (bool, String) {
        match self {
            Self::All => (true, "every function is selected".to_string()),
            Self::MpiPath if facts.reaches_mpi => (true, "on a path to MPI".to_string()),
            Self::MpiPath => (false, "no path to MPI".to_string()),
            Self::Cyclomatic2 => complexity(facts, 2),
            Self::Cyclomatic3 => complexity(facts, 3),
            Self::Lines5 => length(facts),
            Self::MpiPathAndCyclomatic3 if facts.reaches_mpi => (true, "on a path to MPI".to_string()),
            Self::MpiPathAndCyclomatic3 => match complexity(facts, 3) {
                (true, reason) => (true, reason),
                (false, reason) => (false, format!("no path to MPI, and {reason}")),
            },
        }
    }
}

fn complexity(facts: &Facts, least: usize) -> (bool, String) {
    let number = facts.cyclomatic;
    if number >= least {
        (true, format!("cyclomatic complexity of {least} or more: {number}"))
    } else {
        (false, format!("cyclomatic complexity below {least}: {number}"))
    }
}

fn length(facts: &Facts) -> (bool, String) {
    let instructions = facts.instructions;
    match facts.lines {
        Some(lines) if lines >= LINES => (true, format!("{LINES} lines or more: {lines}")),
        Some(lines) => (false, format!("below {LINES} lines: {lines}")),
        None if instructions >= INSTRUCTIONS => (true, format!("lines unknown, {INSTRUCTIONS} instructions or more: {instructions}")),
        None => (false, format!("lines unknown, below {INSTRUCTIONS} instructions: {instructions}")),
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no preset has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown preset `{name}`; known are {}", Preset::ALL.map(Preset::name).join(", "))]
pub struct UnknownPreset {
    /// The name.
    pub name: String,
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or_else(|| UnknownPreset { name: name.to_string() })
    }
}
