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
    /// The address of an instruction inside of it is loaded, and may be jumped to from anywhere.
    #[error("hands out addresses of its own instructions, to be jumped to")]
    LabelAddress,
    /// It checks that its calls and jumps come out in the original.
    #[error("compares where its calls and jumps come out with its own addresses")]
    ReturnAddress,
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
    /// The image's code runs on stacks that grow in pieces.
    #[error("a stack that grows in pieces (-fsplit-stack)")]
    SplitStack,
    /// Snippets of the adapter call it, or what they call does: it would call itself without end.
    #[error("snippets of the adapter call it, or what they call does")]
    CalledBySnippets,
    /// What snippets of the adapter call makes calls through pointers, which may lead here.
    #[error("snippets of the adapter may call it: what they call makes calls through pointers, and these may lead here")]
    MayBeCalledBySnippets,
    /// It runs before the memory of the first thread is set up: snippets would find no thread-local variables, no `errno`, no guard of the stack.
    #[error("runs before thread-local variables are set up, which snippets of the adapter may need")]
    BeforeThreadLocals,
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

/// Why a loop or a call site of an instrumented function was left alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SiteReason {
    /// It is entered at several places.
    #[error("an irreducible loop: it is entered at more than one place")]
    Irreducible,
    /// The function has a further entry at its header.
    #[error("the function is entered at the loop's header")]
    FurtherEntry,
    /// Too many regions of the function would be open at once.
    #[error("nested too deeply: a function can have seven regions open at once")]
    Depth,
    /// The same in a function that has only its return address on the stack, and calls others.
    #[error("nested too deeply for a function with nothing on its stack: it can have three regions open at once")]
    DepthWithoutFrame,
    /// Jumps in different loops go through one jump table.
    #[error("a jump table serves jumps in different loops")]
    SharedTable,
    /// The stack pointer may differ between its begin and its end.
    #[error("the stack pointer moves in it")]
    StackPointer,
    /// It is or holds a call that comes back twice, as that of `setjmp` does.
    #[error("a call that comes back more than once")]
    ReturnsTwice,
    /// Control runs over the end of a part of the function.
    #[error("control runs over the end of a part of the function")]
    PartEnd,
    /// A call site that these probes cannot close.
    #[error("a tail call: it does not come back to its caller")]
    TailCall,
    /// Unwind information in which what is inserted cannot be described.
    #[error("unwind information that counts from the stack pointer in an expression")]
    Unwind,
}
