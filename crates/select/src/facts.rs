//! What a filter needs to know of a function.

/// Properties of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// It is the program's main function.
    pub is_main: bool,
    /// It is of a kind that is never instrumented: start-up code, PLT, ifunc resolver.
    pub never_instrumented: bool,
    /// Cyclomatic complexity in paper 2's variant, which counts exits.
    pub cyclomatic: usize,
    /// Lines of code between its first entry and its last exit; `None` where unknown.
    pub lines: Option<u32>,
    /// Instructions.
    pub instructions: usize,
    /// An MPI function can be reached from it by calls that are known statically. Calls through pointers and
    /// virtual functions are not followed, as in paper 2.
    pub reaches_mpi: bool,
}
