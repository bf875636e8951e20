//! A snippet as it was written.

use super::Place;

/// An integer type: how a variable is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Integer {
    /// Bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Whether its highest bit is a sign.
    pub is_signed: bool,
}

impl Integer {
    /// What is left of a value that is kept in this type.
    #[must_use]
    pub const fn narrow(self, value: i64) -> i64 {
        match (self.size, self.is_signed) {
            (1, true) => value as i8 as i64,
            (1, false) => value as u8 as i64,
            (2, true) => value as i16 as i64,
            (2, false) => value as u16 as i64,
            (4, true) => value as i32 as i64,
            (4, false) => value as u32 as i64,
            _ => value,
        }
    }

    /// The least and the greatest value.
    #[must_use]
    pub const fn bounds(self) -> (i128, i128) {
        let values = 1_i128 << (8 * self.size as u32);
        if self.is_signed { (-values / 2, values / 2 - 1) } else { (0, values - 1) }
    }
}

/// What is known at a point of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Context {
    /// Name of the function, as people write it.
    Routine,
    /// Name of the function, as the linker knows it.
    Symbol,
    /// Source file of the region; empty where unknown.
    File,
    /// First line of the region; 0 where unknown.
    Line,
    /// Last line of the region; 0 where unknown.
    EndLine,
    /// Path of the original.
    Image,
    /// Number of the region within the image, from 1.
    Id,
    /// Address of the function, loop or call in memory.
    Address,
    /// Where the function returns to.
    Caller,
    /// The stack pointer at the function's entry: where the return address stands.
    Stack,
    /// Number of the loop within its function, from 1.
    Loop,
    /// Number of the call site within its function, from 1.
    Site,
    /// Name of what a call site calls; empty for calls through pointers.
    Callee,
}

impl Context {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Routine,
        Self::Symbol,
        Self::File,
        Self::Line,
        Self::EndLine,
        Self::Image,
        Self::Id,
        Self::Address,
        Self::Caller,
        Self::Stack,
        Self::Loop,
        Self::Site,
        Self::Callee,
    ];

    /// As it is written between the `@`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Routine => "ROUTINE",
            Self::Symbol => "SYMBOL",
            Self::File => "FILE",
            Self::Line => "LINE",
            Self::EndLine => "ENDLINE",
            Self::Image => "IMAGE",
            Self::Id => "ID",
            Self::Address => "ADDRESS",
            Self::Caller => "CALLER",
            Self::Stack => "STACK",
            Self::Loop => "LOOP",
            Self::Site => "SITE",
            Self::Callee => "CALLEE",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether it is a text rather than an integer.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Routine | Self::Symbol | Self::File | Self::Image | Self::Callee)
    }

    /// Whether it is known when the program is instrumented; addresses in memory are not.
    #[must_use]
    pub const fn is_static(self) -> bool {
        !matches!(self, Self::Address | Self::Caller | Self::Stack)
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unary {
    /// `-`
    Minus,
    /// `!`
    Not,
    /// `~`
    Invert,
    /// `(type)`
    Cast(Integer),
}

/// Operators with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `<<`
    Left,
    /// `>>`
    Right,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `&`
    And,
    /// `^`
    ExclusiveOr,
    /// `|`
    Or,
    /// `&&`
    Both,
    /// `||`
    Either,
    /// `.`
    Join,
}

/// A call of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Its name.
    pub function: String,
    /// Its arguments.
    pub arguments: Vec<Expression>,
}

/// What an expression is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A number or a character.
    Number(i64),
    /// A text between quotes.
    Text(String),
    /// `@NAME@`
    Context(Context),
    /// A variable's value.
    Name(String),
    /// A variable's address.
    AddressOf(String),
    /// A function's result.
    Call(Call),
    /// One operand.
    Unary(Unary, Box<Expression>),
    /// Operators with two operands, from left to right; there is at least one. However long it is, nothing is nested in it.
    Chain(Box<Expression>, Vec<Link>),
}

/// What follows the first operand of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Where the operator stands.
    pub place: Place,
    /// What is done with all in front of it and its operand.
    pub operator: Binary,
    /// What follows the operator.
    pub operand: Expression,
}

/// An expression and where it stands; for a chain, where its last operator stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expression {
    /// Where.
    pub place: Place,
    /// What.
    pub kind: Kind,
}

/// What a statement is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A variable of the snippet; zero where no value is given.
    Declare(Integer, String, Option<Expression>),
    /// `name = value;`
    Assign(String, Expression),
    /// A function is called, its result is dropped.
    Call(Call),
    /// `if`, then, else.
    If(Expression, Vec<Statement>, Vec<Statement>),
    /// Statements with variables of their own.
    Block(Vec<Statement>),
}

/// A statement and where it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Where.
    pub place: Place,
    /// What.
    pub action: Action,
}
