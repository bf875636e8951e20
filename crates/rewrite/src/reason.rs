//! Why a function stays where it is.

use tare_code::Refusal;

/// Why a selected function was not instrumented.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The analysis says that it must not be moved, or does not understand it.
    #[error("{}", .0.name())]
    Analysis(Refusal),
    /// Its first bytes have no room for a jump, and there is none for an island nearby.
    #[error("too short to take a jump at its entry")]
    ShortEntry,
    /// A part of it overlaps a part of another selected function.
    #[error("shares code with another function")]
    SharedCode,
    /// Jumps to a place that is no instruction of its own.
    #[error("a branch into the middle of an instruction")]
    StrayBranch,
    /// A conditional exit that has no opposite (`loop`, `jrcxz`).
    #[error("leaves the function by an instruction that has no opposite condition")]
    CounterExit,
    /// An instruction refers to a jump table in a way that is not understood.
    #[error("refers to a jump table in a way that is not understood")]
    TableReference,
    /// A jump table of the loader's relocations in a program that has none.
    #[error("a relocated jump table in an image whose relocations cannot be extended")]
    RelocatedTable,
    /// Its unwind entry cannot be converted.
    #[error("unwind information that is not understood")]
    Unwind,
    /// Its exception table cannot be converted.
    #[error("an exception table that is not understood")]
    ExceptionTable,
    /// A part of more than a GiB.
    #[error("too large")]
    TooLarge,
}

impl Reason {
    /// Whether functions of this kind are never instrumented: start-up code, resolvers, code outside of text.
    #[must_use]
    pub const fn is_by_nature(self) -> bool {
        matches!(self, Self::Analysis(Refusal::StartUp | Refusal::IfuncResolver | Refusal::OutsideText))
    }
}
