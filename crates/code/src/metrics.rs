//! Numbers about a function (paper 2).

use std::ops::Range;

use smallvec::SmallVec;
use tare_image::Image;
use tare_image::lines::Lines;

use crate::cfg::{self, Cfg};
use crate::draft::Draft;
use crate::loops::{self, Loops};
use crate::program::{Body, Flow, Function, Instruction};
use crate::record::FlowRecord;
use crate::turns::{Throw, Turn, Way};
use crate::{Callee, Program};

/// What `inspect` shows and filters ask for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Metrics {
    /// Instructions in all parts, as decoded.
    pub instructions: usize,
    /// Reachable basic blocks; a call does not end one.
    pub blocks: usize,
    /// Edges between them.
    pub edges: usize,
    /// Returns, tail calls and ends that do not return.
    pub exits: usize,
    /// Cyclomatic complexity with one edge for every exit.
    pub cyclomatic: usize,
    /// Loops, irreducible ones included.
    pub loops: usize,
    /// Greatest nesting of loops; 0 without.
    pub loop_depth: usize,
    /// `call` instructions.
    pub call_sites: usize,
    /// Calls and tail calls through pointers that are not known.
    pub indirect_calls: usize,
    /// Indirect jumps whose targets are not known.
    pub unresolved_jumps: usize,
    /// Where it is in the source, if the image says so.
    pub source: Option<Source>,
}

/// A function's place in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Path as the compiler recorded it.
    pub file: String,
    /// Line where it is declared; of its first instruction where the debug information does not say.
    pub line: u32,
    /// Lines from the first entry to the last exit, both included; an exit in code that was inlined is on the line of the
    /// call. To the last line of its file that has code in it, if no exit is told to be in that file.
    pub lines: u32,
}

impl Program {
    /// The control-flow graph of a function whose body was decoded.
    #[must_use]
    pub fn cfg(&self, function: &Function, body: &Body) -> Cfg {
        self.graph(function, body, &[])
    }

    /// The control-flow graph with landing pads and what only they lead to: catching and cleaning up are in it.
    #[must_use]
    pub fn cfg_with_unwinding(&self, image: &Image<'_>, function: &Function, body: &Body) -> Cfg {
        let fdes = function.parts.iter().filter_map(|part| image.fde_at(part.start)).filter(|fde| fde.lsda.is_some());
        let sites = fdes.filter_map(|fde| image.lsda(fde)).flat_map(|table| table.call_sites);
        let mut unwinding: Vec<_> = sites.filter_map(|site| Some((site.range, site.landing_pad?))).collect();
        unwinding.sort_by_key(|(range, _)| range.start);
        self.graph(function, body, &unwinding)
    }

    fn graph(&self, function: &Function, body: &Body, unwinding: &[Unwinding]) -> Cfg {
        let turns = self.turns(&body.instructions);
        let throws = throws(&body.instructions, unwinding);
        let landing_pads: Vec<u64> = unwinding.iter().map(|&(_, pad)| pad).collect();
        let source = self.source_of(self.function_entered_at(function.entry), function, &turns);
        let mut cfg = Cfg::of(&cfg::Source { landing_pads: &landing_pads, throws: &throws, ..source });
        cfg.find_instructions(body);
        cfg
    }

    /// What the graph of a function is made of, without unwinding.
    fn source_of<'a>(&'a self, index: Option<usize>, function: &'a Function, turns: &'a [Turn]) -> cfg::Source<'a> {
        let jumps = index.and_then(|index| self.jumps.get(&index));
        let tables = jumps.map_or(&[][..], |jumps| &jumps.tables);
        cfg::Source { function, turns, tables, starts: &self.starts, landing_pads: &[], throws: &[] }
    }

    /// Loops of a function, as its control-flow graph without unwinding has them.
    #[must_use]
    pub fn loops(&self, function: &Function, body: &Body) -> Loops {
        self.cfg(function, body).loops(body)
    }

    /// All numbers about a function; `lines` where source places are wanted.
    #[must_use]
    pub fn metrics(&self, image: &Image<'_>, function: &Function, lines: Option<&Lines<'_>>) -> Metrics {
        let Some(index) = self.function_entered_at(function.entry) else { return Metrics::default() };
        let mut metrics = Metrics { instructions: self.counts.get(index).copied().unwrap_or(0), ..Metrics::default() };
        let turns = self.count(image, index, function, &mut metrics);
        let shape = Shape::of(&self.source_of(Some(index), function, &turns));
        Metrics {
            blocks: shape.blocks,
            edges: shape.edges,
            exits: shape.exits,
            cyclomatic: cfg::cyclomatic(shape.blocks, shape.edges, shape.exits),
            loops: shape.loops,
            loop_depth: shape.depth,
            source: lines.and_then(|lines| self.source(function, &turns, lines)),
            ..metrics
        }
    }

    /// Counts calls and unknown jumps in what the sweep recorded of a function; returns the turns, in the order of their addresses.
    fn count(&self, image: &Image<'_>, index: usize, function: &Function, metrics: &mut Metrics) -> Vec<Turn> {
        let jumps = self.jumps.get(&index);
        let mut parts: SmallVec<[&Range<u64>; 2]> = function.parts.iter().collect();
        parts.sort_unstable_by_key(|part| part.start);
        let own: SmallVec<[&[FlowRecord]; 2]> = parts.into_iter().map(|part| self.flows_of(part)).collect();
        let mut turns = Vec::with_capacity(own.iter().map(|flows| flows.len()).sum());
        for record in own.into_iter().flatten() {
            let flow = self.flow(function, record.flow(), || jumps.and_then(|jumps| jumps.kinds.get(&record.address)));
            match flow {
                Flow::Call { .. } => metrics.call_sites += 1,
                Flow::IndirectCall | Flow::IndirectTailCall => {
                    let is_unknown = record.place().is_none_or(|place| self.callee_behind(image, place) == Callee::Unknown);
                    metrics.call_sites += usize::from(flow == Flow::IndirectCall || self.inline.is_jumping_call(record.address));
                    metrics.indirect_calls += usize::from(is_unknown);
                }
                _ => {
                    metrics.call_sites += usize::from(self.inline.is_jumping_call(record.address));
                    metrics.unresolved_jumps += usize::from(flow == Flow::UnknownJump);
                }
            }
            let way = self.way(flow, || record.place());
            turns.extend(way.map(|way| Turn { address: record.address, end: record.end(), way }));
        }
        turns
    }

    /// Raw names of what a function calls or jumps to directly, or through a slot of known name; sorted.
    #[must_use]
    pub fn callee_names(&self, function: &Function) -> Vec<&str> {
        let Some(index) = self.function_entered_at(function.entry) else { return Vec::new() };
        let own = self.calls.callees(index).iter().filter_map(|&callee| Some(self.functions.get(callee)?.name.as_str()));
        let mut names: Vec<&str> = own.chain(self.calls.imports(index)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn source(&self, function: &Function, turns: &[Turn], lines: &Lines<'_>) -> Option<Source> {
        let entry = lines.function(function.entry)?;
        let exits = turns.iter().filter(|turn| turn.way.is_exit());
        let places = exits.filter_map(|one| lines.location_in_host(one.address)).filter(|place| place.file == entry.file);
        let last = places.map(|place| place.line).max().or_else(|| Some(lines.span(&function.parts)?.last));
        let last = last.unwrap_or(entry.line).max(entry.line);
        Some(Source { file: entry.file, line: entry.line, lines: last - entry.line + 1 })
    }
}

/// Calls of a range of link addresses unwind to a landing pad.
type Unwinding = (Range<u64>, u64);

/// The calls that lead to landing pads, by ranges that are sorted.
fn throws(instructions: &[Instruction], unwinding: &[Unwinding]) -> Vec<Throw> {
    let throw = |one: &Instruction| {
        let behind = unwinding.partition_point(|(range, _)| range.start <= one.address);
        let (_, pad) = unwinding.get(behind.checked_sub(1)?).filter(|(range, _)| range.contains(&one.address))?;
        Some(Throw { address: one.address, end: one.end(), pad: *pad })
    };
    let calls = instructions.iter().filter(|one| matches!(one.flow, Flow::Call { .. } | Flow::IndirectCall));
    let mut throws: Vec<Throw> = calls.filter_map(throw).collect();
    throws.sort_by_key(|one| one.address);
    throws
}

/// The size of a control-flow graph.
struct Shape {
    blocks: usize,
    edges: usize,
    exits: usize,
    loops: usize,
    depth: usize,
}

impl Shape {
    fn of(source: &cfg::Source<'_>) -> Self {
        if is_straight(source) {
            return Self { blocks: 1, edges: 0, exits: 1, loops: 0, depth: 0 };
        }
        let draft = Draft::new(source);
        let (blocks, (loops, depth)) = match draft.forward() {
            Some(blocks) => (blocks, (0, 0)),
            None => {
                let order = draft.order();
                let loops = if order.leads_back { loops::count(&draft.graph(&order)) } else { (0, 0) };
                (order.blocks, loops)
            }
        };
        Self { blocks: blocks.len(), edges: draft.edges(&blocks), exits: draft.exits(&blocks), loops, depth }
    }
}

/// Whether the code has one part and one entry, and goes nowhere but straight on to its one end.
fn is_straight(source: &cfg::Source<'_>) -> bool {
    let goes_out = matches!(source.turns, [Turn { way: Way::Out, .. }]);
    goes_out && source.tables.is_empty() && source.function.parts.len() == 1 && source.function.other_entries.is_empty()
}
