//! The control-flow graph of a function: basic blocks and edges.
//!
//! A call does not end a block unless it never returns. Only blocks that are reachable from an entry are in the
//! graph. Landing pads of exceptions are reached by the unwinder alone: they are in the graph only where they are
//! asked for ([`Program::cfg_with_unwinding`](crate::Program::cfg_with_unwinding)), and never count as edges.

use std::ops::Range;

use smallvec::SmallVec;

use crate::program::{Body, Flow, Function, Instruction, JumpTable};

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

/// Calls of a range of link addresses unwind to a landing pad.
pub(crate) type Unwinding = (Range<u64>, u64);

/// What a graph is made of.
pub(crate) struct Source<'a> {
    pub(crate) function: &'a Function,
    /// Instructions that change the flow of control; others may be among them.
    pub(crate) turns: &'a [Instruction],
    pub(crate) tables: &'a [JumpTable],
    /// Whether an instruction starts at an address.
    pub(crate) is_start: &'a dyn Fn(u64) -> bool,
    /// Whether calls through an instruction's slot come back; direct calls say so themselves.
    pub(crate) returns: &'a dyn Fn(&Instruction) -> bool,
    pub(crate) unwinding: &'a [Unwinding],
}

impl Cfg {
    pub(crate) fn of(source: &Source<'_>) -> Self {
        let draft = Draft::new(source);
        let order = draft.order();
        let mut position = vec![usize::MAX; draft.blocks.len()];
        for (new, &old) in order.iter().enumerate() {
            if let Some(place) = position.get_mut(old) {
                *place = new;
            }
        }
        let moved = |old: &usize| position.get(*old).copied().filter(|&new| new != usize::MAX);
        let entries = draft.entries.iter().filter_map(moved).collect();
        let mut old_blocks = draft.blocks;
        let mut take = |old: usize| old_blocks.get_mut(old).map(std::mem::take);
        let mut blocks: Vec<Block> = order.iter().filter_map(|&old| take(old)).collect();
        for block in &mut blocks {
            for list in [block.successors.as_mut_slice(), block.landing_pads.as_mut_slice()] {
                list.iter_mut().for_each(|next| *next = moved(next).unwrap_or(0));
            }
        }
        Self { blocks, entries }
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
        (self.edges() + self.exits() + 1).saturating_sub(self.blocks.len())
    }

    /// Who leads to each block.
    pub(crate) fn predecessors(&self) -> Predecessors {
        let mut ends = vec![0; self.blocks.len()];
        let edges = || self.blocks.iter().enumerate().flat_map(|(from, block)| block.next().map(move |to| (from, to)));
        for (_, to) in edges() {
            if let Some(end) = ends.get_mut(to) {
                *end += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut list = vec![0; sum];
        for (from, to) in edges() {
            if let Some(end) = ends.get_mut(to) {
                if let Some(place) = list.get_mut(*end) {
                    *place = from;
                }
                *end += 1;
            }
        }
        Predecessors { ends, list }
    }
}

/// Blocks that lead to each block, by unwinding too.
pub(crate) struct Predecessors {
    /// Where the blocks that lead to each one end in the list.
    ends: Vec<usize>,
    list: Vec<usize>,
}

impl Predecessors {
    pub(crate) fn of(&self, block: usize) -> &[usize] {
        let start = block.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(block).and_then(|&end| self.list.get(start..end)).unwrap_or_default()
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

/// All blocks, reachable or not, in the order of their addresses.
struct Draft {
    blocks: Vec<Block>,
    entries: Vec<usize>,
}

impl Draft {
    fn new(source: &Source<'_>) -> Self {
        let mut parts = source.function.parts.clone();
        parts.sort_unstable_by_key(|part| part.start);
        let mut turns: Vec<&Instruction> = source.turns.iter().filter(|one| one.flow != Flow::Next).collect();
        if !turns.is_sorted_by_key(|one| one.address) {
            turns.sort_by_key(|one| one.address);
        }
        let leaders = leaders(source, &parts, &turns);
        let block_at = |address: u64| leaders.binary_search(&address).ok();
        let mut rest = turns.as_slice();
        let mut parts = parts.into_iter().peekable();
        let mut blocks = Vec::with_capacity(leaders.len());
        for (position, &address) in leaders.iter().enumerate() {
            while parts.next_if(|part| part.end <= address).is_some() {}
            let part_end = parts.peek().map_or(address, |part| part.end);
            let end = leaders.get(position + 1).map_or(part_end, |&next| next.min(part_end));
            let first = rest.iter().take_while(|one| one.address < address).count();
            let behind = first + rest.get(first..).unwrap_or_default().iter().take_while(|one| one.address < end).count();
            blocks.push(block(source, &block_at, address..end, rest.get(first..behind).unwrap_or_default()));
            rest = rest.get(behind..).unwrap_or_default();
        }
        let entries = std::iter::once(source.function.entry).chain(source.function.other_entries.iter().copied());
        let mut entries: Vec<usize> = entries.filter_map(block_at).collect();
        if entries.len() > 1 {
            let mut seen = std::collections::HashSet::new();
            entries.retain(|&entry| seen.insert(entry));
        }
        Self { blocks, entries }
    }

    /// Reachable blocks in reverse postorder, the entry moved to the front.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.blocks.len()];
        let mut visit = |block: usize| seen.get_mut(block).is_some_and(|seen| !std::mem::replace(seen, true));
        let next_of =
            |block: &Block, next: usize| block.successors.get(next).or_else(|| block.landing_pads.get(next - block.successors.len())).copied();
        for &entry in &self.entries {
            if !visit(entry) {
                continue;
            }
            let mut stack = vec![(entry, 0_usize)];
            while let Some((block, next)) = stack.pop() {
                match self.blocks.get(block).and_then(|one| next_of(one, next)) {
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

/// The block of a range; `turns` are those in it.
fn block(source: &Source<'_>, block_at: &dyn Fn(u64) -> Option<usize>, range: Range<u64>, turns: &[&Instruction]) -> Block {
    let mut block = Block { address: range.start, end: range.end, ..Block::default() };
    let last = turns.iter().find(|one| ends_block(source, one));
    let mut is_table = false;
    match last {
        Some(last) => {
            block.end = last.end();
            is_table = matches!(last.flow, Flow::TableJump { .. });
            block.exits = ways(source, last, &mut |target| block.successors.extend(block_at(target)));
        }
        None => block.successors.extend(block_at(range.end)),
    }
    if block.successors.is_empty() && block.exits == 0 && !is_table {
        block.exits = 1;
    }
    if block.successors.len() > 1 {
        block.successors.sort_unstable();
        block.successors.dedup();
    }
    if !source.unwinding.is_empty() {
        block.landing_pads = pads(turns, source.unwinding).into_iter().filter_map(block_at).collect();
    }
    block
}

/// Landing pads of the calls among some instructions.
fn pads(turns: &[&Instruction], unwinding: &[Unwinding]) -> Vec<u64> {
    let calls = turns.iter().filter(|one| matches!(one.flow, Flow::Call { .. } | Flow::IndirectCall));
    let of_call = |call: &&Instruction| {
        let behind = unwinding.partition_point(|(range, _)| range.start <= call.address);
        let last = unwinding.get(behind.checked_sub(1)?)?;
        last.0.contains(&call.address).then_some(last.1)
    };
    let mut found: Vec<u64> = calls.filter_map(of_call).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Where blocks begin, in order.
fn leaders(source: &Source<'_>, parts: &[Range<u64>], turns: &[&Instruction]) -> Vec<u64> {
    let function = source.function;
    let mut leaders: Vec<u64> = Vec::with_capacity(turns.len() + parts.len());
    leaders.extend(parts.iter().map(|part| part.start));
    leaders.extend(&function.other_entries);
    leaders.extend(source.unwinding.iter().map(|&(_, pad)| pad));
    leaders.extend(source.tables.iter().flat_map(|table| &table.targets));
    for one in turns.iter().filter(|one| ends_block(source, one)) {
        leaders.push(one.end());
        leaders.extend(match one.flow {
            Flow::Jump { target } | Flow::Branch { target } => Some(target),
            _ => None,
        });
    }
    leaders.sort_unstable();
    leaders.dedup();
    leaders.retain(|&address| function.contains(address) && (source.is_start)(address));
    leaders
}

fn ends_block(source: &Source<'_>, one: &Instruction) -> bool {
    match one.flow {
        Flow::Next => false,
        Flow::Call { returns, .. } => !returns,
        Flow::IndirectCall => !(source.returns)(one),
        _ => true,
    }
}

/// Hands out where control goes within the function behind an instruction that ends a block; returns how many ways out
/// there are.
fn ways(source: &Source<'_>, one: &Instruction, way: &mut dyn FnMut(u64)) -> usize {
    match one.flow {
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
            let tables = source.tables.iter().filter(|table| table.jumps.contains(&one.address));
            tables.flat_map(|table| &table.targets).for_each(|&target| way(target));
        }
        _ => return 1,
    }
    0
}
