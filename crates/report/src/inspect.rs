//! The functions of an image with their properties, as a table and as the `inspect` document.

use serde::Serialize;

use crate::layout::{Align, Column, Page, Writer};
use crate::number::exact_count;

/// What `inspect` says of an image.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inspection {
    /// The image.
    pub image: Image,
    /// Its functions, in order of their addresses.
    pub functions: Vec<Function>,
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
}

/// A range of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Part {
    /// Link address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// The `inspect` document.
#[must_use]
pub fn json(inspection: &Inspection) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        image: &'a Image,
        functions: &'a [Function],
    }
    crate::json::written(&Document { schema: crate::json::SCHEMA, image: &inspection.image, functions: &inspection.functions })
}

/// The functions as CSV (RFC 4180), in order of their addresses.
#[must_use]
pub fn csv(inspection: &Inspection) -> String {
    let mut text = String::from(
        "name,demangled,address,size,file,line,lines,instructions,blocks,edges,exits,cyclomatic,loops,loop_depth,call_sites,indirect_calls,unresolved_jumps\r\n",
    );
    let optional = |value: Option<u32>| value.map_or_else(String::new, |value| value.to_string());
    for function in &inspection.functions {
        let numbers = [
            function.instructions,
            function.blocks,
            function.edges,
            function.exits,
            function.cyclomatic,
            function.loops,
            function.loop_depth,
            function.call_sites,
            function.indirect_calls,
            function.unresolved_jumps,
        ];
        let mut fields = vec![
            quoted(&function.name),
            quoted(&function.demangled),
            function.address.to_string(),
            function.size.to_string(),
            quoted(function.file.as_deref().unwrap_or_default()),
            optional(function.line),
            optional(function.lines),
        ];
        fields.extend(numbers.map(|number| number.to_string()));
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}

/// A field of a CSV document.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}

/// One line a function.
#[must_use]
pub fn text(inspection: &Inspection, page: &Page) -> String {
    let mut writer = Writer::new(page);
    let glyphs = writer.glyphs();
    let image = &inspection.image;
    let mut facts = vec![format!("{} functions", exact_count(inspection.functions.len() as u64, glyphs))];
    facts.push(if image.pie { "position independent" } else { "at a fixed address" }.to_string());
    facts.extend(image.stripped.then(|| "stripped".to_string()));
    facts.extend(image.build_id.as_ref().map(|id| format!("build id {id}")));
    writer.words("", 2, &format!("{}: {}", image.path, facts.join(", ")));
    writer.blank();
    let cells = |cell: &dyn Fn(&Function) -> String| inspection.functions.iter().map(cell).collect::<Vec<_>>();
    let number = |number: usize| exact_count(number as u64, glyphs);
    let lines = |function: &Function| function.lines.map_or_else(|| glyphs.unknown.to_string(), |lines| number(lines as usize));
    let place = |function: &Function| crate::view::place(function.file.as_deref().unwrap_or(""), function.line.unwrap_or(0)).unwrap_or_default();
    let columns = vec![
        Column::new("address", Align::Right, 1, cells(&|function| format!("{:#x}", function.address))),
        Column::new("instr.", Align::Right, 2, cells(&|function| number(function.instructions))),
        Column::new("blocks", Align::Right, 5, cells(&|function| number(function.blocks))),
        Column::new("CC", Align::Right, 0, cells(&|function| number(function.cyclomatic))),
        Column::new("loops", Align::Right, 4, cells(&|function| number(function.loops))),
        Column::new("calls", Align::Right, 3, cells(&|function| number(function.call_sites))),
        Column::new("lines", Align::Right, 6, cells(&lines)),
        Column::new("source", Align::Left, 7, cells(&place)),
    ];
    writer.table(&Column::new("Function", Align::Left, 0, cells(&|function| function.demangled.clone())), columns);
    writer.finish()
}
