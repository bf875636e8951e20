//! Call graphs and control flow in the language of graphviz.

use std::fmt::Write as _;
use std::io;

use super::{Flow, Graph};
use crate::view::place;

const STYLE: &str = "  node [shape=box, style=filled, fillcolor=white, fontname=\"Helvetica\", fontsize=10];\n  edge [arrowsize=0.7];\n";

/// Writes a call graph: sure edges solid, possible ones dashed, functions of other images without a frame, sets of
/// possible targets as ellipses.
///
/// # Errors
/// Those of the writer.
pub fn call_graph(graph: &Graph, output: &mut dyn io::Write) -> io::Result<()> {
    write!(output, "digraph calls {{\n  label={};\n  rankdir=LR;\n{STYLE}", quoted(&graph.title))?;
    for (index, node) in graph.nodes.iter().enumerate() {
        let mut label = node.demangled.clone();
        let source = node.body.file.as_deref().and_then(|file| place(file, node.body.line.unwrap_or(0)));
        if let Some(source) = source {
            let _ = write!(label, "\n{source}");
        }
        let look = match node.function {
            None if node.is_set => ", shape=ellipse, style=dashed",
            None => ", shape=plaintext, style=\"\"",
            Some(_) if graph.main == Some(index) => ", penwidth=2",
            Some(_) => "",
        };
        writeln!(output, "  n{index} [label={}{look}];", quoted(&label))?;
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        for callee in &node.sure {
            writeln!(output, "  n{index} -> n{callee};")?;
        }
        for callee in &node.possible {
            writeln!(output, "  n{index} -> n{callee} [style=dashed];")?;
        }
    }
    output.write_all(b"}\n")
}

/// The control flow of a function: loops shaded by their depth, edges back to their headers bold, exits with a double frame,
/// entries with a bold one.
#[must_use]
pub fn control_flow(flow: &Flow) -> String {
    let mut text = format!("digraph flow {{\n  label={};\n  labelloc=t;\n{STYLE}", quoted(&flow.title));
    for (index, block) in flow.blocks.iter().enumerate() {
        let mut label = format!("{:#x}  {} instr.", block.range.start, block.instructions);
        if let Some((file, first, last)) = &block.lines {
            let lines = if first == last { first.to_string() } else { format!("{first}–{last}") };
            let _ = write!(label, "\n{}:{lines}", file.rsplit('/').next().unwrap_or_default());
        }
        for callee in &block.calls {
            let _ = write!(label, "\n→ {callee}");
        }
        let shade = match block.depth {
            0 => String::new(),
            depth => format!(", fillcolor=gray{}", 95_usize.saturating_sub(7 * (depth - 1)).max(60)),
        };
        let frame = if block.is_exit { ", peripheries=2" } else { "" };
        let entry = if block.is_entry { ", penwidth=2" } else { "" };
        let tooltip = format!("{:#x}–{:#x}", block.range.start, block.range.end);
        let _ = writeln!(text, "  b{index} [label={}{shade}{frame}{entry}, tooltip={}];", quoted(&label), quoted(&tooltip));
    }
    for (index, block) in flow.blocks.iter().enumerate() {
        for (successor, is_back) in &block.successors {
            let look = if *is_back { " [style=bold, color=firebrick]" } else { "" };
            let _ = writeln!(text, "  b{index} -> b{successor}{look};");
        }
    }
    text.push_str("}\n");
    text
}

/// A quoted string of the language; line breaks are kept, other control characters are not.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            character if character.is_control() => quoted.push('?'),
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
