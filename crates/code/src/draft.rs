//! All blocks of a function, reachable or not, before it is known which are.

use std::ops::Range;

use crate::cfg::{Block, Source, Unwinding};
use crate::graph::{Graph, Lists};
use crate::leaders::Leaders;
use crate::program::{Flow, Instruction, JumpTable};

/// All blocks in the order of their addresses.
pub(crate) struct Draft {
    /// Up to behind the last instruction of each.
    ranges: Vec<Range<u64>>,
    /// Whether control may leave the function at the end of each.
    exits: Vec<bool>,
    next: Lists,
    /// Landing pads; without lists where none are asked for.
    pads: Lists,
    entries: Vec<usize>,
}

impl Draft {
    pub(crate) fn new(source: &Source<'_>) -> Self {
        let (leaders, count) = leaders(source);
        let mut draft = Self {
            ranges: leaders.ranges(count),
            exits: Vec::with_capacity(count),
            next: Lists::with_capacity(count, count * 2),
            pads: Lists::default(),
            entries: Vec::new(),
        };
        let mut rest = source.turns;
        for block in 0..count {
            let Some(range) = draft.ranges.get(block) else { continue };
            let (_, own) = split_before(rest, range.start);
            let (turns, others) = split_before(own, range.end);
            draft.block(source, &leaders, block, turns);
            rest = others;
        }
        let entries = std::iter::once(source.function.entry).chain(source.function.other_entries.iter().copied());
        for entry in entries.filter_map(|entry| leaders.number_of(entry)) {
            if !draft.entries.contains(&entry) {
                draft.entries.push(entry);
            }
        }
        draft
    }

    /// Fills in the next block, of which only the range is known; `turns` are those in it.
    fn block(&mut self, source: &Source<'_>, leaders: &Leaders, block: usize, turns: &[Instruction]) {
        let behind = block + 1;
        let follower = self.ranges.get(behind).map(|next| next.start);
        let Some(range) = self.ranges.get_mut(block) else { return };
        let next = &mut self.next;
        let mut way = |target| {
            let block = if follower == Some(target) { Some(behind) } else { leaders.entered_at(target) };
            block.into_iter().for_each(|block| next.add(block));
        };
        let mut exits = false;
        let mut is_table = false;
        match turns.iter().find(|one| ends_block(source, one)) {
            Some(last) => {
                range.end = last.end();
                is_table = matches!(last.flow, Flow::TableJump { .. });
                exits = ways(source, last, &mut way);
            }
            None => way(range.end),
        }
        let count = self.next.close_sorted();
        self.exits.push(exits || (count == 0 && !is_table));
        if !source.unwinding.is_empty() {
            pads(turns, source.unwinding).filter_map(|pad| leaders.number_of(pad)).for_each(|block| self.pads.add(block));
            self.pads.close_sorted();
        }
    }

    fn following(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        self.next.of(block).iter().chain(self.pads.of(block)).copied()
    }

    /// Reachable blocks in reverse postorder, the entry moved to the front.
    pub(crate) fn order(&self) -> Order {
        let mut blocks = Vec::with_capacity(self.ranges.len());
        let mut seen = vec![false; self.ranges.len()];
        let mut visit = |block: usize| seen.get_mut(block).is_some_and(|seen| !std::mem::replace(seen, true));
        let mut stack = Vec::with_capacity(16);
        for &entry in &self.entries {
            if visit(entry) {
                stack.push((entry, self.following(entry)));
            }
            while let Some((block, following)) = stack.last_mut() {
                match following.find(|&next| visit(next)) {
                    Some(next) => stack.push((next, self.following(next))),
                    None => {
                        blocks.push(*block);
                        stack.pop();
                    }
                }
            }
        }
        blocks.reverse();
        if let Some(place) = blocks.iter().position(|block| self.entries.first() == Some(block)) {
            blocks.get_mut(..=place).unwrap_or_default().rotate_right(1);
        }
        let mut places = vec![0; self.ranges.len()];
        for (new, &old) in blocks.iter().enumerate() {
            if let Some(place) = places.get_mut(old) {
                *place = new;
            }
        }
        Order { blocks, places }
    }

    /// The reachable blocks by their new numbers.
    pub(crate) fn graph(&self, order: &Order) -> Graph {
        let mut next = Lists::with_capacity(order.blocks.len(), self.next.total() + self.pads.total());
        for &old in &order.blocks {
            self.following(old).for_each(|to| next.add(order.place(to)));
            next.close();
        }
        Graph { next, entries: self.entries(order) }
    }

    pub(crate) fn entries(&self, order: &Order) -> Vec<usize> {
        self.entries.iter().map(|&entry| order.place(entry)).collect()
    }

    pub(crate) fn blocks(&self, order: &Order) -> Vec<Block> {
        let blocks = order.blocks.iter().filter_map(|&old| {
            let range = self.ranges.get(old)?;
            Some(Block {
                address: range.start,
                end: range.end,
                instructions: 0..0,
                successors: self.next.of(old).iter().map(|&to| order.place(to)).collect(),
                landing_pads: self.pads.of(old).iter().map(|&to| order.place(to)).collect(),
                exits: usize::from(self.exits.get(old) == Some(&true)),
            })
        });
        blocks.collect()
    }

    /// The reachable blocks in the order of their addresses, if every way leads to a higher one, so that there is no loop.
    pub(crate) fn forward(&self) -> Option<Vec<usize>> {
        let mut blocks = Vec::with_capacity(self.ranges.len());
        let mut reached = vec![false; self.ranges.len()];
        self.entries.iter().for_each(|&entry| reached.get_mut(entry).into_iter().for_each(|one| *one = true));
        for block in 0..self.ranges.len() {
            let is_reached = reached.get(block) == Some(&true);
            for next in self.following(block) {
                if next <= block {
                    return None;
                }
                reached.get_mut(next).into_iter().for_each(|one| *one |= is_reached);
            }
            blocks.extend(is_reached.then_some(block));
        }
        Some(blocks)
    }

    /// Ways between blocks, those of unwinding too.
    pub(crate) fn edges(&self, blocks: &[usize]) -> usize {
        blocks.iter().map(|&block| self.next.of(block).len() + self.pads.of(block).len()).sum()
    }

    /// Ways out of blocks.
    pub(crate) fn exits(&self, blocks: &[usize]) -> usize {
        blocks.iter().filter(|&&block| self.exits.get(block) == Some(&true)).count()
    }
}

/// Which blocks are reachable, and how they stand in the graph.
pub(crate) struct Order {
    pub(crate) blocks: Vec<usize>,
    /// The new number of every block that is reachable.
    places: Vec<usize>,
}

impl Order {
    fn place(&self, old: usize) -> usize {
        self.places.get(old).copied().unwrap_or(0)
    }
}

/// What lies in front of an address, and the rest.
fn split_before(turns: &[Instruction], address: u64) -> (&[Instruction], &[Instruction]) {
    let behind = turns.iter().position(|one| one.address >= address).unwrap_or(turns.len());
    turns.split_at_checked(behind).unwrap_or_default()
}

/// Where blocks begin, and how many do.
fn leaders(source: &Source<'_>) -> (Leaders, usize) {
    let function = source.function;
    let mut leaders = Leaders::within(&function.parts);
    let mut add = |address| leaders.insert(address, source.is_start);
    let entries = function.parts.iter().map(|part| part.start).chain(function.other_entries.iter().copied());
    let pads = source.unwinding.iter().map(|&(_, pad)| pad);
    let cases = source.tables.iter().flat_map(JumpTable::reached).copied();
    // An exception leaves a block at its end alone: what follows the call is not on the way to the landing pad.
    let thrown = source.turns.iter().filter(|one| pad(one, source.unwinding).is_some()).map(Instruction::end);
    for address in entries.chain(pads).chain(cases).chain(thrown) {
        add(address);
    }
    for one in source.turns.iter().filter(|one| ends_block(source, one)) {
        add(one.end());
        if let Flow::Jump { target } | Flow::Branch { target } = one.flow
            && add(target)
        {
            add(target.wrapping_sub(1));
        }
    }
    let count = leaders.number();
    (leaders, count)
}

fn ends_block(source: &Source<'_>, one: &Instruction) -> bool {
    match one.flow {
        Flow::Next => false,
        Flow::Call { returns, .. } => !returns,
        Flow::IndirectCall => !(source.returns)(one),
        _ => true,
    }
}

/// Hands out where control goes within the function behind an instruction that ends a block; says whether there is a
/// way out.
fn ways(source: &Source<'_>, one: &Instruction, way: &mut dyn FnMut(u64)) -> bool {
    match one.flow {
        Flow::Jump { target } => way(target),
        Flow::Branch { target } => {
            way(one.end());
            way(target);
        }
        Flow::BranchTailCall { .. } => {
            way(one.end());
            return true;
        }
        Flow::TableJump { .. } => {
            let tables = source.tables.iter().filter(|table| table.jumps.contains(&one.address));
            tables.flat_map(JumpTable::reached).for_each(|&target| way(target));
        }
        _ => return true,
    }
    false
}

/// Landing pads of the calls among some instructions.
fn pads<'a>(turns: &'a [Instruction], unwinding: &'a [Unwinding]) -> impl Iterator<Item = u64> + 'a {
    turns.iter().filter_map(|one| pad(one, unwinding))
}

/// Landing pad of an instruction that is a call.
fn pad(one: &Instruction, unwinding: &[Unwinding]) -> Option<u64> {
    if !matches!(one.flow, Flow::Call { .. } | Flow::IndirectCall) {
        return None;
    }
    let behind = unwinding.partition_point(|(range, _)| range.start <= one.address);
    let last = unwinding.get(behind.checked_sub(1)?)?;
    last.0.contains(&one.address).then_some(last.1)
}
