//! What `inspect` says of an image: its functions with their properties, and on request their loops, calls and
//! inlined functions.
//!
//! [`Listing`] makes rows of it, for people and as CSV; [`json()`] is the document. [`Graph`] is the call graph, for
//! graphviz ([`mod@dot`]) and MetaCG; [`Flow`] the control flow of one function; [`compare`] holds two builds against each other.

pub mod compare;
mod document;
pub mod dot;
mod flow;
mod graph;
mod listing;
mod metacg;
mod rows;

use compare::Fingerprint;
use serde::Serialize;

pub use document::json;
pub use flow::{Flow, FlowBlock};
pub use graph::{Body, Graph, Node};
pub(crate) use listing::left_over;
pub use listing::{Listing, Order, UnknownColumn};
pub use metacg::metacg;
pub use rows::Rows;

/// What `inspect` says of an image.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inspection {
    /// The image.
    pub image: Image,
    /// Its functions.
    pub functions: Vec<Function>,
    /// How many functions the image has, shown here or not.
    pub found: usize,
}

/// An image.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Image {
    /// Its path.
    pub path: String,
    /// Build id in hexadecimal; `None` where it has none.
    pub build_id: Option<String>,
    /// Position independent.
    pub pie: bool,
    /// Without a symbol table.
    pub stripped: bool,
    /// Bytes of text that are in no function and do not only fill space.
    pub left_over: u64,
}

/// A function.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Function {
    /// Raw name.
    pub name: String,
    /// Name for people.
    pub demangled: String,
    /// Other names of the same address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Link address of the entry.
    pub address: u64,
    /// Bytes of all parts.
    pub size: u64,
    /// Ranges of code.
    pub parts: Vec<Part>,
    /// Source file.
    pub file: Option<String>,
    /// First source line.
    pub line: Option<u32>,
    /// Lines of code between first entry and last exit.
    pub lines: Option<u32>,
    /// What its instructions do; where builds are compared.
    #[serde(skip)]
    pub fingerprint: Option<Fingerprint>,
    /// Instructions.
    pub instructions: usize,
    /// Reachable basic blocks.
    pub blocks: usize,
    /// Edges between them.
    pub edges: usize,
    /// Exits.
    pub exits: usize,
    /// Cyclomatic complexity, exits counted.
    pub cyclomatic: usize,
    /// Natural loops.
    pub loops: usize,
    /// How deep they nest.
    pub loop_depth: usize,
    /// `call` instructions.
    pub call_sites: usize,
    /// Names of the functions called.
    pub callees: Vec<String>,
    /// Calls through registers and memory.
    pub indirect_calls: usize,
    /// Indirect jumps whose targets are not known.
    pub unresolved_jumps: usize,
    /// What told of it: `unwind entry`, `symbol`, `loader`, `branch` or `pointer`.
    pub found_by: &'static str,
    /// The loops themselves, where they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_list: Option<Vec<Loop>>,
    /// The calls and tail calls themselves, where they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_list: Option<Vec<Call>>,
    /// Functions whose code was inlined here; `None` where the image does not say.
    pub inlined: Option<Vec<Inlined>>,
}

/// A range of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Part {
    /// Link address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// A loop of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Loop {
    /// Link address of its header.
    pub header: u64,
    /// From 1; loops within a loop are one deeper.
    pub depth: usize,
    /// Blocks in it, loops within included.
    pub blocks: usize,
    /// Instructions of these blocks.
    pub instructions: usize,
    /// Link addresses of the instructions that go back to the header.
    pub back_edges: Vec<u64>,
    /// Index of the smallest loop around it, in the same list.
    pub parent: Option<usize>,
    /// Whether it can be entered elsewhere than at its header.
    pub irreducible: bool,
    /// Source file of the header.
    pub file: Option<String>,
    /// Source line of the header.
    pub line: Option<u32>,
}

/// A call or tail call of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Call {
    /// Link address of the instruction.
    pub address: u64,
    /// `call`, `tail call`, `indirect call` or `indirect tail call`.
    pub kind: &'static str,
    /// Raw name of what is called; `None` where it is not known.
    pub callee: Option<String>,
    /// Its name for people.
    pub callee_demangled: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Source line.
    pub line: Option<u32>,
}

/// A function whose code was inlined into another.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Inlined {
    /// Raw name.
    pub name: String,
    /// Name for people.
    pub demangled: String,
    /// Index of the inlined function that called it, in the same list; `None` where the host did.
    pub within: Option<usize>,
    /// File of the call.
    pub call_file: Option<String>,
    /// Line of the call.
    pub call_line: Option<u32>,
    /// Ranges of its code.
    pub parts: Vec<Part>,
}
