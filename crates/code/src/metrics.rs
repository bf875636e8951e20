//! Numbers about a function (paper 2).

use std::collections::BTreeSet;

use tare_image::Image;
use tare_image::lines::Lines;

use crate::Program;
use crate::cfg::Cfg;
use crate::loops::Loop;
use crate::program::{Body, Flow, Function, Instruction, Operand};

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
    /// Raw names of what is called or jumped to directly, or through a slot of known name; sorted.
    pub callees: Vec<String>,
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
    /// Line of the first instruction.
    pub line: u32,
    /// Lines from the first entry to the last exit, both included.
    pub lines: u32,
}

impl Program {
    /// The control-flow graph of a function whose body was decoded.
    #[must_use]
    pub fn cfg(&self, function: &Function, body: &Body) -> Cfg {
        Cfg::of(function, body, &|one| self.comes_back(one), &[])
    }

    /// The control-flow graph with landing pads and what only they lead to: catching and cleaning up are in it.
    #[must_use]
    pub fn cfg_with_unwinding(&self, image: &Image<'_>, function: &Function, body: &Body) -> Cfg {
        let fdes = function.parts.iter().filter_map(|part| image.fde_at(part.start)).filter(|fde| fde.lsda.is_some());
        let sites = fdes.filter_map(|fde| image.lsda(fde)).flat_map(|table| table.call_sites);
        let mut unwinding: Vec<_> = sites.filter_map(|site| Some((site.range, site.landing_pad?))).collect();
        unwinding.sort_by_key(|(range, _)| range.start);
        Cfg::of(function, body, &|one| self.comes_back(one), &unwinding)
    }

    /// Loops of a function, as its control-flow graph without unwinding has them.
    #[must_use]
    pub fn loops(&self, function: &Function, body: &Body) -> Vec<Loop> {
        self.cfg(function, body).loops(body)
    }

    /// All numbers about a function; `lines` where source places are wanted.
    #[must_use]
    pub fn metrics(&self, image: &Image<'_>, function: &Function, body: &Body, lines: Option<&Lines<'_>>) -> Metrics {
        let cfg = self.cfg(function, body);
        let loops = cfg.loops(body);
        let mut metrics = Metrics {
            instructions: body.instructions.len(),
            blocks: cfg.blocks.len(),
            edges: cfg.edges(),
            exits: cfg.exits(),
            cyclomatic: cfg.cyclomatic(),
            loops: loops.len(),
            loop_depth: loops.iter().map(|one| one.depth).max().unwrap_or(0),
            source: lines.and_then(|lines| self.source(function, body, lines)),
            ..Metrics::default()
        };
        self.count_calls(image, body, &mut metrics);
        metrics
    }

    fn count_calls(&self, image: &Image<'_>, body: &Body, metrics: &mut Metrics) {
        let mut callees = BTreeSet::new();
        for one in &body.instructions {
            metrics.call_sites += usize::from(matches!(one.flow, Flow::Call { .. } | Flow::IndirectCall));
            let target = match one.flow {
                Flow::Call { target, .. } | Flow::TailCall { target } | Flow::BranchTailCall { target } => Some(target),
                Flow::IndirectCall | Flow::IndirectTailCall => slot(one),
                Flow::UnknownJump => {
                    metrics.unresolved_jumps += 1;
                    continue;
                }
                _ => continue,
            };
            match target.and_then(|target| self.callee_name(image, target)) {
                Some(name) => _ = callees.insert(name.to_owned()),
                None => {
                    let is_indirect = matches!(one.flow, Flow::IndirectCall | Flow::IndirectTailCall);
                    metrics.indirect_calls += usize::from(is_indirect);
                }
            }
        }
        metrics.callees = callees.into_iter().collect();
    }

    /// Whether control comes back behind an indirect call.
    fn comes_back(&self, one: &Instruction) -> bool {
        slot(one).is_none_or(|slot| !self.never_returns(slot))
    }

    fn source(&self, function: &Function, body: &Body, lines: &Lines<'_>) -> Option<Source> {
        let entry = lines.location(function.entry)?;
        let exits = body.instructions.iter().filter(|one| self.is_exit(one));
        let places = exits.filter_map(|one| lines.location(one.address)).filter(|place| place.file == entry.file);
        let last = places.map(|place| place.line).max().unwrap_or(entry.line).max(entry.line);
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

/// The slot that an indirect call or jump reads its target from.
fn slot(one: &Instruction) -> Option<u64> {
    match one.operand {
        Operand::RipRelative { target, .. } => Some(target),
        _ => None,
    }
}
