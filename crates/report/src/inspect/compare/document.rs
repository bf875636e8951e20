//! The document of a comparison.

use serde::Serialize;

use super::{Change, Comparison, Function, Image};

/// The document.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    crate::json::written(&Document {
        schema: crate::json::SCHEMA,
        before: &comparison.before,
        after: &comparison.after,
        added: comparison.added.iter().map(Side::of).collect(),
        removed: comparison.removed.iter().map(Side::of).collect(),
        changed: comparison.changed.iter().map(Changed::of).collect(),
        unchanged: comparison.unchanged,
        nameless: Nameless { before: comparison.nameless.0, after: comparison.nameless.1 },
    })
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    before: &'a Image,
    after: &'a Image,
    added: Vec<Side<'a>>,
    removed: Vec<Side<'a>>,
    changed: Vec<Changed<'a>>,
    unchanged: usize,
    nameless: Nameless,
}

/// Functions without a name that could not be matched.
#[derive(Serialize)]
struct Nameless {
    before: usize,
    after: usize,
}

#[derive(Serialize)]
struct Changed<'a> {
    name: &'a str,
    demangled: &'a str,
    before: Side<'a>,
    after: Side<'a>,
    callees_added: &'a [String],
    callees_removed: &'a [String],
    /// Whether the numbers and the callees are the same, and operands, constants or texts alone are not.
    operands_only: bool,
}

impl<'a> Changed<'a> {
    fn of(change: &'a Change) -> Self {
        Self {
            name: &change.after.name,
            demangled: &change.after.demangled,
            before: Side::of(&change.before),
            after: Side::of(&change.after),
            callees_added: &change.callees_added,
            callees_removed: &change.callees_removed,
            operands_only: change.is_of_operands(),
        }
    }
}

/// A function in one of the builds.
#[derive(Serialize)]
struct Side<'a> {
    name: &'a str,
    demangled: &'a str,
    address: u64,
    size: u64,
    file: Option<&'a str>,
    line: Option<u32>,
    instructions: usize,
    blocks: usize,
    edges: usize,
    exits: usize,
    cyclomatic: usize,
    loops: usize,
    loop_depth: usize,
    call_sites: usize,
    indirect_calls: usize,
}

impl<'a> Side<'a> {
    fn of(one: &'a Function) -> Self {
        Self {
            name: &one.name,
            demangled: &one.demangled,
            address: one.address,
            size: one.size,
            file: one.file.as_deref(),
            line: one.line,
            instructions: one.instructions,
            blocks: one.blocks,
            edges: one.edges,
            exits: one.exits,
            cyclomatic: one.cyclomatic,
            loops: one.loops,
            loop_depth: one.loop_depth,
            call_sites: one.call_sites,
            indirect_calls: one.indirect_calls,
        }
    }
}
