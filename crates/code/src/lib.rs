//! Instructions to functions, blocks, edges, loops, calls and metrics (paper 2).
//!
//! What is absent: nothing here knows of patches or of MPI, and files are not opened.

mod program;

pub use program::{Body, Flow, Function, Instruction, JumpTable, Operand, Refusal, TableForm};

/// The functions of an image.
pub struct Program {
    /// In order of their entries.
    pub functions: Vec<Function>,
}
