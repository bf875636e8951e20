//! The control-flow graph of a function: basic blocks, edges, dominators, natural loops.
//!
//! A call does not end a block unless it never returns. Only blocks that are reachable from the entry are in the
//! graph; landing pads of exceptions are reached by the unwinder alone and are not.

use std::collections::HashMap;

use crate::program::{Body, Flow, Function, Instruction};

/// A basic block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Link address of its first instruction.
    pub address: u64,
    /// Its instructions, as indices into [`Body::instructions`].
    pub instructions: std::ops::Range<usize>,
    /// Blocks that may follow, each once.
    pub successors: Vec<usize>,
    /// Ways out of the function at its end: 0, or 1.
    pub exits: usize,
}

/// A natural loop: blocks from which its header is reached again, all entered through it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Link address of its header.
    pub header: u64,
    /// From 1; loops within a loop are one deeper.
    pub depth: usize,
    /// Link addresses of the instructions that go back to the header.
    pub back_edges: Vec<u64>,
    /// Blocks in it, loops within included.
    pub blocks: Vec<usize>,
}

/// Reachable blocks; the first one holds the entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cfg {
    /// In the order in which a depth-first walk leaves them, reversed.
    pub blocks: Vec<Block>,
}

/// Whether calls through an instruction's slot come back; direct calls say so themselves.
pub(crate) type Returns<'a> = &'a dyn Fn(&Instruction) -> bool;

impl Cfg {
    pub(crate) fn of(function: &Function, body: &Body, returns: Returns<'_>) -> Self {
        let all = Draft::new(function, body, returns);
        let order = all.reverse_postorder();
        let position: HashMap<usize, usize> = order.iter().enumerate().map(|(new, &old)| (old, new)).collect();
        let mut blocks: Vec<Block> = order.iter().filter_map(|&old| all.blocks.get(old).cloned()).collect();
        for block in &mut blocks {
            block.successors = block.successors.iter().filter_map(|old| position.get(old).copied()).collect();
        }
        Self { blocks }
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
        (self.edges() + self.exits() + 1).saturating_sub(self.blocks.len())
    }

    fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            for &successor in &block.successors {
                if let Some(list) = predecessors.get_mut(successor) {
                    list.push(index);
                }
            }
        }
        predecessors
    }

    /// The immediate dominator of every block (Cooper, Harvey and Kennedy); the entry is its own.
    fn dominators(&self, predecessors: &[Vec<usize>]) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let mut dominators = vec![NONE; self.blocks.len()];
        if let Some(entry) = dominators.first_mut() {
            *entry = 0;
        }
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for (block, before) in predecessors.iter().enumerate().skip(1) {
                let known = before.iter().copied().filter(|&one| dominators.get(one).is_some_and(|&of| of != NONE));
                let found = known.reduce(|one, other| common(&dominators, one, other)).unwrap_or(NONE);
                if let Some(place) = dominators.get_mut(block).filter(|place| **place != found) {
                    *place = found;
                    has_changed = true;
                }
            }
        }
        dominators
    }

    /// Natural loops, by header; back edges to the same header are one loop.
    #[must_use]
    pub fn loops(&self, body: &Body) -> Vec<Loop> {
        let predecessors = self.predecessors();
        let dominators = self.dominators(&predecessors);
        let mut loops: Vec<Loop> = Vec::new();
        for (header, before) in predecessors.iter().enumerate() {
            let back: Vec<usize> = before.iter().copied().filter(|&one| dominates(&dominators, header, one)).collect();
            if back.is_empty() {
                continue;
            }
            let ends = back.iter().filter_map(|&one| self.blocks.get(one)?.instructions.clone().last());
            loops.push(Loop {
                header: self.blocks.get(header).map_or(0, |block| block.address),
                depth: 0,
                back_edges: ends.filter_map(|end| Some(body.instructions.get(end)?.address)).collect(),
                blocks: loop_body(header, &back, &predecessors),
            });
        }
        let mut depths = vec![0_usize; self.blocks.len()];
        for block in loops.iter().flat_map(|one| &one.blocks) {
            if let Some(depth) = depths.get_mut(*block) {
                *depth += 1;
            }
        }
        for one in &mut loops {
            let header = one.blocks.first().and_then(|&header| depths.get(header));
            one.depth = header.copied().unwrap_or(1);
        }
        loops
    }
}

fn common(dominators: &[usize], mut one: usize, mut other: usize) -> usize {
    while one != other {
        let deeper = one.max(other);
        let up = dominators.get(deeper).copied().unwrap_or(0);
        (one, other) = (one.min(other), up);
    }
    one
}

fn dominates(dominators: &[usize], header: usize, mut block: usize) -> bool {
    while block > header {
        match dominators.get(block) {
            Some(&up) if up < block => block = up,
            _ => return false,
        }
    }
    block == header
}

/// The header first, then what reaches the back edges without passing it.
fn loop_body(header: usize, back: &[usize], predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut inside = vec![header];
    let mut seen = std::collections::HashSet::from([header]);
    let mut todo: Vec<usize> = back.to_vec();
    while let Some(block) = todo.pop() {
        if seen.insert(block) {
            inside.push(block);
            todo.extend(predecessors.get(block).into_iter().flatten());
        }
    }
    inside
}

/// All blocks, reachable or not, in address order.
struct Draft {
    blocks: Vec<Block>,
    roots: Vec<usize>,
}

impl Draft {
    fn new(function: &Function, body: &Body, returns: Returns<'_>) -> Self {
        let code = &body.instructions;
        let index: HashMap<u64, usize> = code.iter().enumerate().map(|(index, one)| (one.address, index)).collect();
        let leads: Vec<bool> = leaders(function, body, &index, returns);
        let mut blocks: Vec<Block> = Vec::new();
        let mut block_of = vec![0; code.len()];
        for (position, one) in code.iter().enumerate() {
            if leads.get(position) == Some(&true) || blocks.is_empty() {
                let instructions = position..position;
                blocks.push(Block { address: one.address, instructions, successors: Vec::new(), exits: 0 });
            }
            if let (Some(block), Some(place)) = (blocks.len().checked_sub(1), block_of.get_mut(position)) {
                *place = block;
            }
            if let Some(block) = blocks.last_mut() {
                block.instructions.end = position + 1;
            }
        }
        let block_at = |address: u64| index.get(&address).and_then(|&one| block_of.get(one)).copied();
        for block in &mut blocks {
            let Some(last) = code.get(block.instructions.end - 1) else { continue };
            let (targets, exits) = ways(body, last, returns);
            let known: Vec<Option<usize>> = targets.into_iter().map(block_at).collect();
            let falls_off = known.as_slice() == [None];
            block.successors = known.into_iter().flatten().collect();
            block.successors.sort_unstable();
            block.successors.dedup();
            block.exits = if falls_off { 1 } else { exits };
        }
        let entries = std::iter::once(function.entry).chain(function.other_entries.iter().copied());
        let roots = entries.filter_map(block_at).collect();
        Self { blocks, roots }
    }

    fn reverse_postorder(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.blocks.len()];
        for &root in self.roots.iter().rev() {
            let mut stack = vec![(root, 0_usize)];
            while let Some((block, next)) = stack.pop() {
                if next == 0 {
                    match seen.get_mut(block) {
                        Some(seen) if !*seen => *seen = true,
                        _ => continue,
                    }
                }
                match self.blocks.get(block).and_then(|one| one.successors.get(next)) {
                    Some(&successor) => {
                        stack.push((block, next + 1));
                        if seen.get(successor) == Some(&false) {
                            stack.push((successor, 0));
                        }
                    }
                    None => order.push(block),
                }
            }
        }
        order.reverse();
        order
    }
}

/// Which instructions begin a block.
fn leaders(function: &Function, body: &Body, index: &HashMap<u64, usize>, returns: Returns<'_>) -> Vec<bool> {
    let code = &body.instructions;
    let mut leads = vec![false; code.len()];
    let mut lead = |address: u64| {
        if let Some(place) = index.get(&address).and_then(|&one| leads.get_mut(one)) {
            *place = true;
        }
    };
    function.parts.iter().for_each(|part| lead(part.start));
    function.other_entries.iter().for_each(|&entry| lead(entry));
    for one in code {
        if !ends_block(one, returns) {
            continue;
        }
        lead(one.end());
        ways(body, one, returns).0.into_iter().for_each(&mut lead);
    }
    leads
}

fn ends_block(one: &Instruction, returns: Returns<'_>) -> bool {
    match one.flow {
        Flow::Next => false,
        Flow::Call { returns, .. } => !returns,
        Flow::IndirectCall => !returns(one),
        _ => true,
    }
}

/// Where control goes within the function behind an instruction, and how many ways out there are.
fn ways(body: &Body, one: &Instruction, returns: Returns<'_>) -> (Vec<u64>, usize) {
    match one.flow {
        _ if !ends_block(one, returns) => (vec![one.end()], 0),
        Flow::Jump { target } => (vec![target], 0),
        Flow::Branch { target } => (vec![one.end(), target], 0),
        Flow::BranchTailCall { .. } => (vec![one.end()], 1),
        Flow::TableJump { .. } => {
            let tables = body.tables.iter().filter(|table| table.jumps.contains(&one.address));
            (tables.flat_map(|table| table.targets.iter().copied()).collect(), 0)
        }
        _ => (Vec::new(), 1),
    }
}
