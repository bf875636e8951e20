//! The control-flow graph of a function: basic blocks and edges.
//!
//! A call does not end a block unless it never returns. Only blocks that are reachable from an entry are in the
//! graph. Landing pads of exceptions are reached by the unwinder alone: they are in the graph only where they are
//! asked for ([`Program::cfg_with_unwinding`](crate::Program::cfg_with_unwinding)), and never count as edges.

use std::ops::Range;

use smallvec::SmallVec;

use crate::decode::AddressSet;
use crate::draft::Draft;
use crate::graph::{Graph, Lists};
use crate::program::{Body, Function, Instruction, JumpTable};
use crate::turns::{Throw, Turn};

/// A basic block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Link address of its first instruction.
    pub address: u64,
    /// Link address behind its last one.
    pub end: u64,
    /// Its instructions, as indices into [`Body::instructions`].
    pub instructions: Range<usize>,
    /// Blocks that may follow, each once.
    pub successors: SmallVec<[usize; 2]>,
    /// Landing pads to which an exception out of its calls may lead, each once.
    pub landing_pads: Vec<usize>,
    /// Ways out of the function at its end: 0, or 1.
    pub exits: usize,
}

impl Block {
    /// Blocks that may follow, by unwinding too.
    pub fn next(&self) -> impl Iterator<Item = usize> + '_ {
        self.successors.iter().chain(&self.landing_pads).copied()
    }
}

/// Reachable blocks; the first one holds the entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cfg {
    /// In the order in which a depth-first walk leaves them, reversed.
    pub blocks: Vec<Block>,
    /// Blocks at which the function is entered, its entry first.
    pub entries: Vec<usize>,
}

/// What a graph is made of.
pub(crate) struct Source<'a> {
    pub(crate) function: &'a Function,
    /// In the order of their addresses.
    pub(crate) turns: &'a [Turn],
    pub(crate) tables: &'a [JumpTable],
    /// Where instructions start.
    pub(crate) starts: &'a AddressSet,
    /// Where they are asked for.
    pub(crate) landing_pads: &'a [u64],
    /// Calls that lead to them, in the order of their addresses.
    pub(crate) throws: &'a [Throw],
}

impl Cfg {
    pub(crate) fn of(source: &Source<'_>) -> Self {
        let draft = Draft::new(source);
        let order = draft.order();
        Self { blocks: draft.blocks(&order), entries: draft.entries(&order) }
    }

    /// Says which instructions of a body the blocks hold.
    pub(crate) fn find_instructions(&mut self, body: &Body) {
        let index = Index::of(&body.instructions);
        for block in &mut self.blocks {
            let first = index.at(block.address).unwrap_or(0);
            let rest = body.instructions.get(first..).unwrap_or_default();
            let count = rest.iter().take_while(|one| (block.address..block.end).contains(&one.address)).count();
            block.instructions = first..first + count;
        }
    }

    /// Edges between blocks.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.blocks.iter().map(|block| block.successors.len()).sum()
    }

    /// Ways out: returns, tail calls, ends that do not return.
    #[must_use]
    pub fn exits(&self) -> usize {
        self.blocks.iter().map(|block| block.exits).sum()
    }

    /// Cyclomatic complexity with exits: E − N + P with P = 1 and an edge back to the entry from every exit.
    #[must_use]
    pub fn cyclomatic(&self) -> usize {
        cyclomatic(self.blocks.len(), self.edges(), self.exits())
    }

    /// The graph by its numbers.
    pub(crate) fn graph(&self) -> Graph {
        let mut next = Lists::with_capacity(self.blocks.len(), self.blocks.len() * 2);
        for block in &self.blocks {
            block.next().for_each(|to| next.add(to));
            next.close();
        }
        Graph { next, entries: self.entries.clone() }
    }
}

pub(crate) const fn cyclomatic(blocks: usize, edges: usize, exits: usize) -> usize {
    (edges + exits + 1).saturating_sub(blocks)
}

/// Finds instructions by their addresses.
struct Index<'a> {
    code: &'a [Instruction],
    /// Stretches of instructions in address order: one for each part.
    runs: Vec<Range<usize>>,
}

impl<'a> Index<'a> {
    fn of(code: &'a [Instruction]) -> Self {
        let mut runs: Vec<Range<usize>> = Vec::new();
        let mut first = 0;
        for (position, pair) in code.windows(2).enumerate() {
            if pair.first().map(Instruction::end) != pair.last().map(|one| one.address) {
                runs.push(first..position + 1);
                first = position + 1;
            }
        }
        runs.push(first..code.len());
        Self { code, runs }
    }

    fn at(&self, address: u64) -> Option<usize> {
        self.runs.iter().find_map(|run| {
            let own = self.code.get(run.clone())?;
            let is_inside = own.first()?.address <= address && address <= own.last()?.address;
            let found = is_inside.then(|| own.binary_search_by_key(&address, |one| one.address).ok())?;
            Some(run.start + found?)
        })
    }
}
