//! Numbers about a function (paper 2).

use std::ops::Range;

use smallvec::SmallVec;
use tare_image::Image;
use tare_image::lines::Lines;

use crate::cfg::{self, Cfg};
use crate::draft::Draft;
use crate::loops::{self, Loops};
use crate::program::{Body, Flow, Function, Instruction, Operand};
use crate::record::FlowRecord;
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

    fn graph(&self, function: &Function, body: &Body, unwinding: &[(Range<u64>, u64)]) -> Cfg {
        let mut turns: Vec<Instruction> = body.instructions.iter().filter(|one| one.flow != Flow::Next).map(|one| self.with_place(one)).collect();
        turns.sort_by_key(|one| one.address);
        let mut cfg = self.with_source(self.function_entered_at(function.entry), function, &turns, unwinding, Cfg::of);
        cfg.find_instructions(body);
        cfg
    }

    /// Hands what the graph of a function is made of to `make`; `turns` are in the order of their addresses.
    fn with_source<R>(
        &self,
        index: Option<usize>,
        function: &Function,
        turns: &[Instruction],
        unwinding: &[(Range<u64>, u64)],
        make: impl FnOnce(&cfg::Source<'_>) -> R,
    ) -> R {
        let jumps = index.and_then(|index| self.jumps.get(&index));
        make(&cfg::Source {
            function,
            turns,
            tables: jumps.map_or(&[], |jumps| &jumps.tables),
            is_start: &|address| self.starts.contains(address),
            returns: &|one| self.comes_back(one),
            unwinding,
        })
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
        let turns = self.turns(index, function);
        let shape = match Shape::of_straight(function, &turns) {
            Some(shape) => shape,
            None => self.with_source(Some(index), function, &turns, &[], Shape::of),
        };
        Metrics {
            instructions: self.counts.get(index).copied().unwrap_or(0),
            blocks: shape.blocks,
            edges: shape.edges,
            exits: shape.exits,
            cyclomatic: cfg::cyclomatic(shape.blocks, shape.edges, shape.exits),
            loops: shape.loops,
            loop_depth: shape.depth,
            call_sites: turns
                .iter()
                .filter(|one| matches!(one.flow, Flow::Call { .. } | Flow::IndirectCall) || self.inline.is_jumping_call(one.address))
                .count(),
            indirect_calls: turns.iter().filter(|one| self.is_to_unknown(image, one)).count(),
            unresolved_jumps: turns.iter().filter(|one| one.flow == Flow::UnknownJump).count(),
            source: lines.and_then(|lines| self.source(function, &turns, lines)),
        }
    }

    /// The instructions of a function that change the flow of control, as the sweep recorded them, by address.
    fn turns(&self, index: usize, function: &Function) -> Vec<Instruction> {
        let jumps = self.jumps.get(&index);
        let mut parts: SmallVec<[&Range<u64>; 2]> = function.parts.iter().collect();
        parts.sort_unstable_by_key(|part| part.start);
        let own: SmallVec<[&[FlowRecord]; 2]> = parts.into_iter().map(|part| self.flows_of(part)).collect();
        let mut turns = Vec::with_capacity(own.iter().map(|flows| flows.len()).sum());
        for flows in own {
            turns.extend(flows.iter().map(|record| Instruction {
                address: record.address,
                length: record.length,
                flow: self.flow(function, record.flow(), || jumps.and_then(|jumps| jumps.kinds.get(&record.address))),
                operand: record.place().map_or(Operand::Fixed, |target| Operand::RipRelative { at: 0, target }),
            }));
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

    /// An indirect call or jump as one through the slot, or to the code, that it leads to.
    fn with_place(&self, one: &Instruction) -> Instruction {
        let is_indirect = matches!(one.flow, Flow::IndirectCall | Flow::IndirectTailCall);
        let place = || self.place(one).map_or(Operand::Fixed, |target| Operand::RipRelative { at: 0, target });
        Instruction { operand: if is_indirect { place() } else { one.operand }, ..*one }
    }

    /// Whether control comes back behind an indirect call.
    fn comes_back(&self, one: &Instruction) -> bool {
        place(one).is_none_or(|place| !self.never_returns(place))
    }

    /// Whether it is a call or tail call through a pointer that is not known.
    fn is_to_unknown(&self, image: &Image<'_>, one: &Instruction) -> bool {
        let is_unknown = || place(one).is_none_or(|place| self.callee_behind(image, place) == Callee::Unknown);
        matches!(one.flow, Flow::IndirectCall | Flow::IndirectTailCall) && is_unknown()
    }

    fn source(&self, function: &Function, turns: &[Instruction], lines: &Lines<'_>) -> Option<Source> {
        let entry = lines.function(function.entry)?;
        let exits = turns.iter().filter(|one| self.is_exit(one));
        let places = exits.filter_map(|one| lines.location_in_host(one.address)).filter(|place| place.file == entry.file);
        let last = places.map(|place| place.line).max().or_else(|| Some(lines.span(&function.parts)?.last));
        let last = last.unwrap_or(entry.line).max(entry.line);
        Some(Source { file: entry.file, line: entry.line, lines: last - entry.line + 1 })
    }

    fn is_exit(&self, one: &Instruction) -> bool {
        match one.flow {
            Flow::Return | Flow::TailCall { .. } | Flow::BranchTailCall { .. } | Flow::IndirectTailCall | Flow::Stop => true,
            Flow::Call { returns, .. } => !returns,
            Flow::IndirectCall => !self.comes_back(one),
            _ => false,
        }
    }
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
    /// Of a function whose code has one part and one entry, and goes nowhere but straight on to its one end.
    fn of_straight(function: &Function, turns: &[Instruction]) -> Option<Self> {
        let has_one_way = function.parts.len() == 1 && function.other_entries.is_empty();
        let (last, others) = turns.split_last().filter(|_| has_one_way)?;
        let is_passed = |one: &Instruction| match one.flow {
            Flow::Call { returns, .. } => returns,
            Flow::IndirectCall => place(one).is_none(),
            _ => false,
        };
        let ends = matches!(last.flow, Flow::Return | Flow::TailCall { .. } | Flow::Stop);
        (ends && others.iter().all(is_passed)).then_some(Self { blocks: 1, edges: 0, exits: 1, loops: 0, depth: 0 })
    }

    fn of(source: &cfg::Source<'_>) -> Self {
        let draft = Draft::new(source);
        let (blocks, (loops, depth)) = match draft.forward() {
            Some(blocks) => (blocks, (0, 0)),
            None => {
                let order = draft.order();
                let loops = loops::count(&draft.graph(&order));
                (order.blocks, loops)
            }
        };
        Self { blocks: blocks.len(), edges: draft.edges(&blocks), exits: draft.exits(&blocks), loops, depth }
    }
}

/// The slot that an indirect call or jump reads its target from, or the code that it leads to.
fn place(one: &Instruction) -> Option<u64> {
    match one.operand {
        Operand::RipRelative { target, .. } => Some(target),
        _ => None,
    }
}
