//! The control-flow graph of a function: basic blocks and edges.
//!
//! A call does not end a block unless it never returns. Only blocks that are reachable from an entry are in the
//! graph. Landing pads of exceptions are reached by the unwinder alone: they are in the graph only where they are
//! asked for ([`Program::cfg_with_unwinding`](crate::Program::cfg_with_unwinding)), and never count as edges.

use std::ops::Range;

use crate::program::{Body, Flow, Function, Instruction};

/// A basic block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Link address of its first instruction.
    pub address: u64,
    /// Its instructions, as indices into [`Body::instructions`].
    pub instructions: Range<usize>,
    /// Blocks that may follow, each once.
    pub successors: Vec<usize>,
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

/// Whether calls through an instruction's slot come back; direct calls say so themselves.
pub(crate) type Returns<'a> = &'a dyn Fn(&Instruction) -> bool;

/// Calls of a range of link addresses unwind to a landing pad.
pub(crate) type Unwinding = (Range<u64>, u64);

impl Cfg {
    pub(crate) fn of(function: &Function, body: &Body, returns: Returns<'_>, unwinding: &[Unwinding]) -> Self {
        let draft = Draft::new(function, body, returns, unwinding);
        let order = draft.order();
        let mut position = vec![usize::MAX; draft.blocks.len()];
        for (new, &old) in order.iter().enumerate() {
            if let Some(place) = position.get_mut(old) {
                *place = new;
            }
        }
        let moved = |old: &usize| position.get(*old).copied().filter(|&new| new != usize::MAX);
        let mut blocks: Vec<Block> = order.iter().filter_map(|&old| draft.blocks.get(old).cloned()).collect();
        for block in &mut blocks {
            block.successors = block.successors.iter().filter_map(moved).collect();
            block.landing_pads = block.landing_pads.iter().filter_map(moved).collect();
        }
        Self { blocks, entries: draft.entries.iter().filter_map(moved).collect() }
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

    /// Blocks that lead to a block, by unwinding too, for all blocks.
    #[must_use]
    pub fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            for next in block.next() {
                if let Some(list) = predecessors.get_mut(next) {
                    list.push(index);
                }
            }
        }
        predecessors
    }
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

/// All blocks, reachable or not, in the order of the body.
struct Draft {
    blocks: Vec<Block>,
    entries: Vec<usize>,
}

impl Draft {
    fn new(function: &Function, body: &Body, returns: Returns<'_>, unwinding: &[Unwinding]) -> Self {
        let index = Index::of(&body.instructions);
        let leads = leaders(function, body, &index, returns, unwinding);
        let mut blocks: Vec<Block> = Vec::new();
        for (position, one) in body.instructions.iter().enumerate() {
            match blocks.last_mut() {
                Some(block) if leads.get(position) != Some(&true) => block.instructions.end = position + 1,
                _ => blocks.push(Block {
                    address: one.address,
                    instructions: position..position + 1,
                    successors: Vec::new(),
                    landing_pads: Vec::new(),
                    exits: 0,
                }),
            }
        }
        let starts: Vec<usize> = blocks.iter().map(|block| block.instructions.start).collect();
        let block_at = |address: u64| {
            let instruction = index.at(address)?;
            starts.partition_point(|&start| start <= instruction).checked_sub(1)
        };
        for block in &mut blocks {
            let Some(last) = body.instructions.get(block.instructions.end - 1) else { continue };
            block.exits = ways(body, last, returns, &mut |target| block.successors.extend(block_at(target)));
            if block.successors.is_empty() && block.exits == 0 && !matches!(last.flow, Flow::TableJump { .. }) {
                block.exits = 1;
            }
            block.successors.sort_unstable();
            block.successors.dedup();
            if !unwinding.is_empty() {
                let own = body.instructions.get(block.instructions.clone()).unwrap_or_default();
                block.landing_pads = pads(own, unwinding).into_iter().filter_map(block_at).collect();
            }
        }
        let entries = std::iter::once(function.entry).chain(function.other_entries.iter().copied());
        let mut entries: Vec<usize> = entries.filter_map(block_at).collect();
        let mut seen = std::collections::HashSet::new();
        entries.retain(|&entry| seen.insert(entry));
        Self { blocks, entries }
    }

    /// Reachable blocks in reverse postorder, the entry moved to the front.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.blocks.len()];
        let mut visit = |block: usize| seen.get_mut(block).is_some_and(|seen| !std::mem::replace(seen, true));
        for &entry in &self.entries {
            if !visit(entry) {
                continue;
            }
            let mut stack = vec![(entry, 0_usize)];
            while let Some((block, next)) = stack.pop() {
                match self.blocks.get(block).and_then(|one| one.next().nth(next)) {
                    Some(successor) => {
                        stack.push((block, next + 1));
                        if visit(successor) {
                            stack.push((successor, 0));
                        }
                    }
                    None => order.push(block),
                }
            }
        }
        order.reverse();
        if let Some(place) = order.iter().position(|block| self.entries.first() == Some(block)) {
            order.get_mut(..=place).unwrap_or_default().rotate_right(1);
        }
        order
    }
}

/// Landing pads of the calls among some instructions.
fn pads(code: &[Instruction], unwinding: &[Unwinding]) -> Vec<u64> {
    let calls = code.iter().filter(|one| matches!(one.flow, Flow::Call { .. } | Flow::IndirectCall));
    let of_call = |call: &Instruction| {
        let behind = unwinding.partition_point(|(range, _)| range.start <= call.address);
        let last = unwinding.get(behind.checked_sub(1)?)?;
        last.0.contains(&call.address).then_some(last.1)
    };
    let mut found: Vec<u64> = calls.filter_map(of_call).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Which instructions begin a block.
fn leaders(function: &Function, body: &Body, index: &Index<'_>, returns: Returns<'_>, unwinding: &[Unwinding]) -> Vec<bool> {
    let mut leads = vec![false; body.instructions.len()];
    let mut lead = |address: u64| {
        if let Some(place) = index.at(address).and_then(|one| leads.get_mut(one)) {
            *place = true;
        }
    };
    function.parts.iter().for_each(|part| lead(part.start));
    function.other_entries.iter().for_each(|&entry| lead(entry));
    unwinding.iter().for_each(|&(_, pad)| lead(pad));
    for one in body.instructions.iter().filter(|one| ends_block(one, returns)) {
        lead(one.end());
        ways(body, one, returns, &mut lead);
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

/// Hands out where control goes within the function behind an instruction; returns how many ways out there are.
fn ways(body: &Body, one: &Instruction, returns: Returns<'_>, way: &mut dyn FnMut(u64)) -> usize {
    match one.flow {
        _ if !ends_block(one, returns) => way(one.end()),
        Flow::Jump { target } => way(target),
        Flow::Branch { target } => {
            way(one.end());
            way(target);
        }
        Flow::BranchTailCall { .. } => {
            way(one.end());
            return 1;
        }
        Flow::TableJump { .. } => {
            let tables = body.tables.iter().filter(|table| table.jumps.contains(&one.address));
            tables.flat_map(|table| &table.targets).for_each(|&target| way(target));
        }
        _ => return 1,
    }
    0
}
