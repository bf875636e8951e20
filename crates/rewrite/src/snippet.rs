//! The snippet language: what an adapter inserts at a point, in a small language with the syntax of C.
//!
//! ```text
//! snippet   = { statement }
//! statement = type name [ "=" expression ] ";"  |  name "=" expression ";"  |  call ";"  |  ";"
//!           | "if" "(" expression ")" statement [ "else" statement ]  |  "{" { statement } "}"
//! expression: the operators of C with C's precedence, without side effects:
//!           || && | ^ & == != < <= > >= << >> + - * / % unary - ! ~ (type) &name, and "." that joins texts
//! operand   = number | 'c' | "text" | @CONTEXT@ | name | call | "(" expression ")"
//! call      = name "(" [ expression { "," expression } ] ")"
//! ```
//!
//! Integers are 64 bits wide and signed, and wrap; a variable keeps as many bytes as it has. A quotient by zero is
//! zero: a snippet never traps. Texts are known when the program is instrumented; they are joined then, and handed
//! to functions as `const char *`.
//!
//! The phases: `lexer`, `parser` (positions are those of the adapter's file), `check` (names and types), `compile`
//! (routines) or `inline` (sites).

pub(crate) mod assembler;
pub mod ast;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod inline;
pub(crate) mod lexer;
pub(crate) mod parser;
mod problem;
pub(crate) mod proof;
pub(crate) mod vectors;

pub use problem::Problem;

/// A position in an adapter's file, both counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

impl Place {
    /// Where a text begins.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The position behind a character that stands here.
    #[must_use]
    pub const fn behind(self, character: char) -> Self {
        if character == '\n' { Self { line: self.line + 1, column: 1 } } else { Self { line: self.line, column: self.column + 1 } }
    }
}

/// What is wrong in an adapter, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {}, column {}: {problem}", place.line, place.column)]
pub struct AdapterError {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

impl AdapterError {
    pub(crate) const fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem }
    }
}

/// Characters with their positions in the file they come from.
pub(crate) type Text = [(char, Place)];

/// Takes a snippet's text apart.
pub(crate) fn parse(text: &Text, end: Place) -> Result<Vec<ast::Statement>, AdapterError> {
    parser::parse(&lexer::tokens(text)?, end)
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod trial;
