//! The public types: functions, their bodies, and what is refused.

use std::ops::Range;

use crate::names::{by_address, plainness};

/// A function: an entry and its parts (cold parts joined).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Function {
    /// Raw name; `fn_<hex address>` where the image has none; `main` for the program's main function.
    pub name: String,
    /// Other names of the same address.
    pub aliases: Vec<String>,
    /// Entry, a link address.
    pub entry: u64,
    /// Ranges of code; the first one holds the entry at its start.
    pub parts: Vec<Range<u64>>,
    /// Why it must not be moved, if so.
    pub refusal: Option<Refusal>,
    /// Other addresses at which it is entered (several entries into one body, as in assembly).
    pub other_entries: Vec<u64>,
    /// Whether no path through it returns.
    pub never_returns: bool,
    /// What told of it first.
    pub found_by: FoundBy,
}

/// What told of a function, the surest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[non_exhaustive]
pub enum FoundBy {
    /// An entry of the unwind tables, which has its range.
    #[default]
    UnwindEntry,
    /// A symbol.
    Symbol,
    /// It is what the loader or start-up code runs: the entry point, an element of the init and fini arrays, `main`, a resolver.
    Loader,
    /// A direct call or jump outside of all functions that were known.
    Branch,
    /// A pointer in data, or an address that code hands on.
    Pointer,
}

impl FoundBy {
    /// A short name, lower case, for tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnwindEntry => "unwind entry",
            Self::Symbol => "symbol",
            Self::Loader => "loader",
            Self::Branch => "branch",
            Self::Pointer => "pointer",
        }
    }
}

impl Function {
    /// Whether a link address lies in one of its parts.
    #[must_use]
    #[inline]
    pub fn contains(&self, address: u64) -> bool {
        self.parts.iter().any(|part| part.contains(&address))
    }

    /// Whether a raw name is one of its names.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Whether the image says what it is called; it is called by its address otherwise.
    #[must_use]
    pub fn has_name(&self) -> bool {
        !self.aliases.is_empty() || self.name != by_address(self.entry)
    }

    /// The one of its names that does not depend on how the linker binds them: with few underscores in front, and short.
    #[must_use]
    pub fn plainest_name(&self) -> &str {
        let all = std::iter::once(&self.name).chain(&self.aliases).map(String::as_str);
        all.min_by_key(|name| plainness(name)).unwrap_or_default()
    }

    /// Bytes of all parts.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.parts.iter().map(|part| part.end - part.start).sum()
    }
}

/// Why a function is never moved (rewriting) or not understood (analysis).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The program's entry point or start-up code.
    StartUp,
    /// Resolver of an indirect function.
    IfuncResolver,
    /// Unwinds its caller (`eh_return`), or is a signal frame.
    SpecialUnwinding,
    /// An indirect jump whose targets are not known.
    UnknownJump,
    /// A branch into the middle of an instruction.
    OverlappingCode,
    /// It and another function share code, and flags or values below the stack pointer are handed over where one branches into the other.
    SharedCode,
    /// It takes or gives flags, takes values below the stack pointer or its return address, or leads to a function that does.
    MoreThanRegisters,
    /// Calls into its own body.
    CallIntoBody,
    /// Jumps to one of several pieces of its code, whose sizes must stay as they are.
    CodePieces,
    /// Bytes that do not decode.
    Undecodable,
    /// Lies outside of the text sections, or has no range.
    OutsideText,
    /// Too short to take a jump at its entry.
    ShortEntry,
    /// Another function has the address of one of its instructions, and may jump there.
    HeldElsewhere,
    /// Nothing says where it ends, and code that nothing leads to stands in what was taken for it: another function may.
    Unreached,
    /// The loader writes addresses into its instructions (`DT_TEXTREL`), and would do so where they stood before.
    Relocated,
    /// In a Go program: its runtime finds frames, and grows stacks, by tables of its own that know nothing of moved code.
    GoCode,
    /// In an OCaml program or its runtime: collection and exceptions find frames by tables of return addresses.
    OcamlCode,
    /// In a Haskell program or library, or their runtime: tables stand in front of code, and frames have no return addresses.
    HaskellCode,
    /// A function that V8 compiled in advance: V8 tells it, and walks its frames, by where its code stands.
    V8Builtin,
    /// In an image with V8 whose builtins nothing names: any of its functions may be one.
    AroundV8Builtins,
}

impl Refusal {
    /// A short name, lower case, for tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StartUp => "start-up code",
            Self::IfuncResolver => "ifunc resolver",
            Self::SpecialUnwinding => "special unwinding",
            Self::UnknownJump => "unknown jump",
            Self::OverlappingCode => "overlapping code",
            Self::SharedCode => "code shared with another function, which hands over more than registers",
            Self::MoreThanRegisters => "flags, values below the stack pointer, or the return address as a value come with a call, a jump or a return",
            Self::CallIntoBody => "call into its own body",
            Self::CodePieces => "a jump to pieces of code whose sizes must stay",
            Self::Undecodable => "undecodable",
            Self::OutsideText => "outside of text",
            Self::ShortEntry => "short entry",
            Self::HeldElsewhere => "another function has the address of one of its instructions",
            Self::Unreached => "code that nothing leads to stands behind it, and nothing says where it ends",
            Self::Relocated => "the loader writes addresses into its instructions",
            Self::AroundV8Builtins => "code beside builtins of V8 that nothing names, which finds frames by where their code stands",
            Self::V8Builtin => "a builtin of V8, which finds frames by where its code stands",
            Self::HaskellCode => "Haskell code, which has tables of its runtime between its instructions",
            Self::OcamlCode => "OCaml code, whose runtime finds frames by tables of its own",
            Self::GoCode => "Go code, whose runtime finds frames by tables of its own",
        }
    }
}

/// The decoded body of a function, made on request: [`crate::Program`] keeps no instructions.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// In address order, part by part.
    pub instructions: Vec<Instruction>,
    /// Of each of the function's parts, the instructions that are its.
    pub parts: Vec<Range<usize>>,
    /// Indices of those that turn control elsewhere or depend on where they stand, in order: about one of four.
    pub tied: Vec<u32>,
    /// Jump tables that the function's indirect jumps go through.
    pub tables: Vec<JumpTable>,
}

impl Body {
    /// The instructions that turn control elsewhere or depend on where they stand, in order.
    pub fn tied(&self) -> impl Iterator<Item = &Instruction> {
        self.tied.iter().filter_map(|&index| self.instructions.get(index as usize))
    }
}

/// One decoded instruction, as far as others need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Link address.
    pub address: u64,
    /// Bytes.
    pub length: u8,
    /// Where it goes next.
    pub flow: Flow,
    /// What a patched copy must keep pointing at.
    pub operand: Operand,
}

impl Instruction {
    /// Link address behind it.
    #[must_use]
    #[inline]
    pub const fn end(&self) -> u64 {
        self.address.wrapping_add(self.length as u64)
    }
}

/// The bytes of an instruction that depend on where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// None: it may be copied anywhere.
    Fixed,
    /// A memory operand relative to the instruction pointer: four bytes.
    RipRelative {
        /// Position of the displacement within the instruction (an immediate may follow it).
        at: u8,
        /// Link address it points at.
        target: u64,
    },
    /// A direct branch or call, whose displacement ends the instruction.
    Branch {
        /// Link address it goes to: behind the `lock` prefix of an instruction where it leaves that out.
        target: u64,
    },
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// A call of a known address; `returns` is false for callees that never return.
    Call {
        /// Link address of the callee (a PLT entry is one).
        target: u64,
        /// Whether control comes back.
        returns: bool,
    },
    /// A call through a register or memory.
    IndirectCall,
    /// Unconditional jump within the function.
    Jump {
        /// Link address.
        target: u64,
    },
    /// Conditional jump within the function (`jcc`, `jrcxz`, `loop`).
    Branch {
        /// Link address.
        target: u64,
    },
    /// Jump to another function: an exit.
    TailCall {
        /// Link address.
        target: u64,
    },
    /// Conditional jump to another function: an exit on the taken side.
    BranchTailCall {
        /// Link address.
        target: u64,
    },
    /// Jump through one of [`Body::tables`] (by index).
    TableJump {
        /// Index of the table; more than one table may serve a jump.
        table: usize,
    },
    /// Jump through a register or memory out of the function: an exit.
    IndirectTailCall,
    /// Jump through a register or memory to unknown targets within the function; such a function is refused.
    UnknownJump,
    /// Return.
    Return,
    /// `ud2`, `hlt`, `int3` and the like: control ends; or goes on in a frame that was saved, as by `__builtin_longjmp`.
    Stop,
}

/// A jump table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JumpTable {
    /// Link address of the first entry.
    pub address: u64,
    /// How an entry becomes a target.
    pub form: TableForm,
    /// Targets of the entries, as link addresses, in order (entries that are not understood included). What stands
    /// behind the table may be among them.
    pub targets: Vec<u64>,
    /// How many entries the compare in front of the jump lets through; all, where it was not found.
    pub reach: usize,
    /// Instructions that hold the table's address: `lea` (rip-relative) or an absolute displacement.
    pub references: Vec<u64>,
    /// Indirect jumps that go through it.
    pub jumps: Vec<u64>,
}

impl JumpTable {
    /// Targets of the entries that a jump can get at.
    #[must_use]
    pub fn reached(&self) -> &[u64] {
        self.targets.get(..self.reach).unwrap_or(&self.targets)
    }
}

/// How an entry of a jump table becomes a target.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TableForm {
    /// 32-bit offset from the table's start.
    Relative32,
    /// 32-bit distance from an instruction of the function (`goto *(&&a + t[i])`).
    Distance32 {
        /// Link address of that instruction; code names it beside the table.
        base: u64,
    },
    /// 64-bit address (position-dependent images).
    Absolute64,
    /// 64-bit address that is relocated (position-independent images).
    Relocated64,
    /// No data: the jump goes to one of several pieces of code, each of so many bytes, the first at the table's address.
    Code {
        /// Bytes of a piece.
        size: u32,
    },
}

impl TableForm {
    /// What the 32-bit entries of a table at an address count from; `None` where entries are addresses.
    #[must_use]
    pub const fn origin(self, table: u64) -> Option<u64> {
        match self {
            Self::Relative32 => Some(table),
            Self::Distance32 { base } => Some(base),
            Self::Absolute64 | Self::Relocated64 | Self::Code { .. } => None,
        }
    }

    /// Bytes of an entry.
    #[must_use]
    pub const fn entry_size(self) -> u64 {
        match self {
            Self::Code { size } => size as u64,
            Self::Relative32 | Self::Distance32 { .. } => 4,
            Self::Absolute64 | Self::Relocated64 => 8,
        }
    }
}
