//! What a row can be, and the columns of each kind of row.

use super::{Call, Function, Inlined, Inspection, Loop};

/// What stands in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// A function.
    Functions,
    /// A loop of a function.
    Loops,
    /// A call or tail call of a function.
    Calls,
    /// A function that was inlined into another.
    Inlined,
}

/// A column: its name in CSV and for sorting, and how it is shown to people.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Unique among the columns of a kind of row.
    pub(super) key: &'static str,
    /// Empty where people do not see it.
    pub(super) head: &'static str,
    /// The column with the largest number is the first to be left out of a narrow page.
    pub(super) rank: u32,
}

const fn column(key: &'static str, head: &'static str, rank: u32) -> Column {
    Column { key, head, rank }
}

/// A value in a row. Values of one column compare as their kind does.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Cell<'a> {
    Number(u64),
    Address(u64),
    Text(&'a str),
    /// File and line as people see them; CSV has them in columns of their own.
    Place(&'a str, u32),
    Unknown,
}

impl<'a> Cell<'a> {
    fn count(number: usize) -> Self {
        Self::Number(number as u64)
    }

    fn text(text: Option<&'a String>) -> Self {
        text.map_or(Self::Unknown, |text| Self::Text(text))
    }

    fn line(line: Option<u32>) -> Self {
        line.map_or(Self::Unknown, |line| Self::Number(line.into()))
    }

    fn place(file: Option<&'a String>, line: Option<u32>) -> Self {
        file.map_or(Self::Unknown, |file| Self::Place(file, line.unwrap_or(0)))
    }
}

impl Rows {
    /// The columns, the one with the names that people read being called `demangled`.
    pub(super) const fn columns(self) -> &'static [Column] {
        match self {
            Self::Functions => FUNCTIONS,
            Self::Loops => LOOPS,
            Self::Calls => CALLS,
            Self::Inlined => INLINED,
        }
    }

    /// The values of all rows, in the order of the columns.
    pub(super) fn cells(self, inspection: &Inspection) -> Vec<Vec<Cell<'_>>> {
        let functions = &inspection.functions;
        match self {
            Self::Functions => functions.iter().map(function).collect(),
            Self::Loops => functions.iter().flat_map(|of| of.loop_list.iter().flatten().map(|one| loop_(of, one))).collect(),
            Self::Calls => functions.iter().flat_map(|of| of.call_list.iter().flatten().map(|one| call(of, one))).collect(),
            Self::Inlined => functions.iter().flat_map(|of| of.inlined.iter().flatten().map(|one| inlined(of, one))).collect(),
        }
    }
}

const FUNCTIONS: &[Column] = &[
    column("name", "", 0),
    column("demangled", "Function", 0),
    column("address", "address", 1),
    column("size", "", 0),
    column("file", "", 0),
    column("line", "", 0),
    column("lines", "lines", 6),
    column("instructions", "instr.", 2),
    column("blocks", "blocks", 5),
    column("edges", "", 0),
    column("exits", "", 0),
    column("cyclomatic", "CC", 0),
    column("loops", "loops", 4),
    column("loop_depth", "depth", 8),
    column("call_sites", "calls", 3),
    column("indirect_calls", "", 0),
    column("unresolved_jumps", "unresolved", 1),
    column("callees", "", 0),
    column("found_by", "found by", 9),
    column("source", "source", 7),
];

fn function(one: &Function) -> Vec<Cell<'_>> {
    vec![
        Cell::Text(&one.name),
        Cell::Text(&one.demangled),
        Cell::Address(one.address),
        Cell::Number(one.size),
        Cell::text(one.file.as_ref()),
        Cell::line(one.line),
        Cell::line(one.lines),
        Cell::count(one.instructions),
        Cell::count(one.blocks),
        Cell::count(one.edges),
        Cell::count(one.exits),
        Cell::count(one.cyclomatic),
        Cell::count(one.loops),
        Cell::count(one.loop_depth),
        Cell::count(one.call_sites),
        Cell::count(one.indirect_calls),
        Cell::count(one.unresolved_jumps),
        Cell::count(one.callees.len()),
        Cell::Text(one.found_by),
        Cell::place(one.file.as_ref(), one.line),
    ]
}

const LOOPS: &[Column] = &[
    column("name", "", 0),
    column("demangled", "Loop in", 0),
    column("address", "header", 1),
    column("depth", "depth", 0),
    column("blocks", "blocks", 3),
    column("instructions", "instr.", 2),
    column("back_edges", "back edges", 6),
    column("kind", "kind", 5),
    column("file", "", 0),
    column("line", "", 0),
    column("source", "source", 4),
];

fn loop_<'a>(of: &'a Function, one: &'a Loop) -> Vec<Cell<'a>> {
    vec![
        Cell::Text(&of.name),
        Cell::Text(&of.demangled),
        Cell::Address(one.header),
        Cell::count(one.depth),
        Cell::count(one.blocks),
        Cell::count(one.instructions),
        Cell::count(one.back_edges.len()),
        Cell::Text(if one.irreducible { "irreducible" } else { "natural" }),
        Cell::text(one.file.as_ref()),
        Cell::line(one.line),
        Cell::place(one.file.as_ref(), one.line),
    ]
}

const CALLS: &[Column] = &[
    column("name", "", 0),
    column("demangled", "Caller", 0),
    column("address", "address", 1),
    column("kind", "kind", 3),
    column("callee", "", 0),
    column("callee_demangled", "callee", 2),
    column("file", "", 0),
    column("line", "", 0),
    column("source", "source", 4),
];

fn call<'a>(of: &'a Function, one: &'a Call) -> Vec<Cell<'a>> {
    vec![
        Cell::Text(&of.name),
        Cell::Text(&of.demangled),
        Cell::Address(one.address),
        Cell::Text(one.kind),
        Cell::text(one.callee.as_ref()),
        Cell::text(one.callee_demangled.as_ref()),
        Cell::text(one.file.as_ref()),
        Cell::line(one.line),
        Cell::place(one.file.as_ref(), one.line),
    ]
}

const INLINED: &[Column] = &[
    column("name", "", 0),
    column("demangled", "Host", 0),
    column("inlined", "", 0),
    column("inlined_demangled", "inlined", 1),
    column("address", "address", 3),
    column("size", "size", 2),
    column("call_file", "", 0),
    column("call_line", "", 0),
    column("source", "called at", 4),
];

fn inlined<'a>(of: &'a Function, one: &'a Inlined) -> Vec<Cell<'a>> {
    vec![
        Cell::Text(&of.name),
        Cell::Text(&of.demangled),
        Cell::Text(&one.name),
        Cell::Text(&one.demangled),
        one.parts.first().map_or(Cell::Unknown, |part| Cell::Address(part.address)),
        Cell::Number(one.parts.iter().map(|part| part.size).sum()),
        Cell::text(one.call_file.as_ref()),
        Cell::line(one.call_line),
        Cell::place(one.call_file.as_ref(), one.call_line),
    ]
}
