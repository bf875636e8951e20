//! Where the arguments of calls that spawn processes stand.

use crate::meaning::Position;

/// Where the arguments of a call that spawns processes stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spawn {
    /// Number of commands, where there may be several, of which each argument up to the hints has an array then.
    pub count: Option<Position>,
    /// The command; its arguments, the most processes, and hints stand behind it.
    pub command: Position,
}

impl Spawn {
    /// The arguments of the command.
    #[must_use]
    pub const fn arguments(self) -> Position {
        self.command + 1
    }

    /// How many processes there are to be.
    #[must_use]
    pub const fn most(self) -> Position {
        self.command + 2
    }

    /// Hints.
    #[must_use]
    pub const fn info(self) -> Position {
        self.command + 3
    }

    /// Who knows all this.
    #[must_use]
    pub const fn root(self) -> Position {
        self.command + 4
    }

    /// The communicator.
    #[must_use]
    pub const fn comm(self) -> Position {
        self.command + 5
    }

    /// The handle of the one between parents and children.
    #[must_use]
    pub const fn between(self) -> Position {
        self.command + 6
    }
}
