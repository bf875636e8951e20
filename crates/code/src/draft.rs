//! All blocks of a function, reachable or not, before it is known which are.

use crate::cfg::{Block, Source};
use crate::graph::{Graph, Lists};
use crate::leaders::Leaders;
use crate::program::JumpTable;
use crate::turns::{Turn, Way};

/// All blocks in the order of their addresses.
pub(crate) struct Draft {
    pieces: Vec<Piece>,
    /// The blocks that follow each; behind them its landing pads.
    next: Lists,
    entries: Vec<usize>,
}

/// A block, reachable or not.
struct Piece {
    start: u64,
    /// Behind its last instruction.
    end: u64,
    /// How many blocks follow, landing pads left out.
    successors: usize,
    /// Whether control may leave the function at its end.
    exits: bool,
}

impl Draft {
    pub(crate) fn new(source: &Source<'_>) -> Self {
        let (leaders, count) = leaders(source);
        let mut draft = Self { pieces: Vec::with_capacity(count), next: Lists::with_capacity(count, count * 2), entries: Vec::new() };
        draft.pieces.extend(leaders.ranges().map(|range| Piece { start: range.start, end: range.end, successors: 0, exits: false }));
        let mut turns = source.turns;
        for block in 0..count {
            turns = draft.block(source, &leaders, block, turns);
        }
        let entries = std::iter::once(source.function.entry).chain(source.function.other_entries.iter().copied());
        for entry in entries.filter_map(|entry| leaders.number_of(entry)) {
            if !draft.entries.contains(&entry) {
                draft.entries.push(entry);
            }
        }
        draft
    }

    /// Fills in the next block, of which only start and end are known; `turns` are those behind the block in front. Returns those behind
    /// this one's.
    fn block<'a>(&mut self, source: &Source<'_>, leaders: &Leaders, block: usize, turns: &'a [Turn]) -> &'a [Turn] {
        let behind = block + 1;
        let follower = self.pieces.get(behind).map(|next| next.start);
        let Some(piece) = self.pieces.get_mut(block) else { return turns };
        let next = &mut self.next;
        let first = next.total();
        let mut way = |target| {
            let block = if follower == Some(target) { Some(behind) } else { leaders.entered_at(target) };
            block.into_iter().for_each(|block| next.add(block));
        };
        let range = piece.start..piece.end;
        let skipped = turns.iter().take_while(|turn| turn.address < range.start).count();
        let turns = turns.get(skipped..).unwrap_or_default();
        let last = turns.first().filter(|turn| turn.address < range.end);
        match last {
            Some(last) => {
                piece.end = last.end;
                piece.exits = ways(source, last, &mut way);
            }
            None => way(range.end),
        }
        piece.successors = next.settle(first);
        piece.exits |= piece.successors == 0 && last.is_none_or(|last| last.way != Way::Table);
        if !source.landing_pads.is_empty() {
            let first = source.throws.partition_point(|one| one.address < range.start);
            let own = source.throws.iter().skip(first).take_while(|one| one.address < range.end);
            let pads = next.total();
            own.filter_map(|one| leaders.number_of(one.pad)).for_each(|block| next.add(block));
            next.settle(pads);
        }
        next.close();
        turns
    }

    /// Reachable blocks in reverse postorder, the entry moved to the front.
    pub(crate) fn order(&self) -> Order {
        let mut blocks = Vec::with_capacity(self.pieces.len());
        let mut places = vec![NONE; self.pieces.len()];
        let mut leads_back = false;
        let mut stack = Vec::with_capacity(16);
        for &entry in &self.entries {
            if enter(&mut places, entry, &mut leads_back) {
                stack.push((entry, self.next.of(entry).iter()));
            }
            while let Some((block, following)) = stack.last_mut() {
                match following.find(|&&next| enter(&mut places, next, &mut leads_back)) {
                    Some(&next) => stack.push((next, self.next.of(next).iter())),
                    None => {
                        blocks.push(*block);
                        places.get_mut(*block).into_iter().for_each(|place| *place = LEFT);
                        stack.pop();
                    }
                }
            }
        }
        blocks.reverse();
        if let Some(place) = blocks.iter().position(|block| self.entries.first() == Some(block)) {
            blocks.get_mut(..=place).unwrap_or_default().rotate_right(1);
        }
        for (new, &old) in blocks.iter().enumerate() {
            if let Some(place) = places.get_mut(old) {
                *place = new;
            }
        }
        Order { blocks, places, leads_back }
    }

    /// The reachable blocks by their new numbers.
    pub(crate) fn graph(&self, order: &Order) -> Graph {
        let mut next = Lists::with_capacity(order.blocks.len(), self.next.total());
        for &old in &order.blocks {
            self.next.of(old).iter().for_each(|&to| next.add(order.place(to)));
            next.close();
        }
        Graph { next, entries: self.entries(order) }
    }

    pub(crate) fn entries(&self, order: &Order) -> Vec<usize> {
        self.entries.iter().map(|&entry| order.place(entry)).collect()
    }

    pub(crate) fn blocks(&self, order: &Order) -> Vec<Block> {
        let blocks = order.blocks.iter().filter_map(|&old| {
            let piece = self.pieces.get(old)?;
            let (successors, pads) = self.next.of(old).split_at_checked(piece.successors)?;
            Some(Block {
                address: piece.start,
                end: piece.end,
                instructions: 0..0,
                successors: successors.iter().map(|&to| order.place(to)).collect(),
                landing_pads: pads.iter().map(|&to| order.place(to)).collect(),
                exits: usize::from(piece.exits),
            })
        });
        blocks.collect()
    }

    /// The reachable blocks in the order of their addresses, if every way leads to a higher one, so that there is no loop.
    pub(crate) fn forward(&self) -> Option<Vec<usize>> {
        let mut blocks = Vec::with_capacity(self.pieces.len());
        let mut reached = vec![false; self.pieces.len()];
        self.entries.iter().for_each(|&entry| reached.get_mut(entry).into_iter().for_each(|one| *one = true));
        for block in 0..self.pieces.len() {
            let is_reached = reached.get(block) == Some(&true);
            for &next in self.next.of(block) {
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
        blocks.iter().map(|&block| self.next.of(block).len()).sum()
    }

    /// Ways out of blocks.
    pub(crate) fn exits(&self, blocks: &[usize]) -> usize {
        blocks.iter().filter(|&&block| self.pieces.get(block).is_some_and(|piece| piece.exits)).count()
    }
}

/// No place: a walk has not come there yet.
const NONE: usize = usize::MAX;
/// No place yet: a walk came there, and goes on from there.
const OPEN: usize = usize::MAX - 1;
/// No place yet: a walk has left it.
const LEFT: usize = usize::MAX - 2;

/// Goes to a block of a walk; whether it was not met before. Notes a way that leads back to where the walk came from.
#[inline]
fn enter(places: &mut [usize], block: usize, leads_back: &mut bool) -> bool {
    let Some(place) = places.get_mut(block) else { return false };
    *leads_back |= *place == OPEN;
    let is_new = *place == NONE;
    *place = if is_new { OPEN } else { *place };
    is_new
}

/// Which blocks are reachable, and how they stand in the graph.
pub(crate) struct Order {
    pub(crate) blocks: Vec<usize>,
    /// The new number of every block that is reachable.
    places: Vec<usize>,
    /// Whether a way leads back, so that there are cycles.
    pub(crate) leads_back: bool,
}

impl Order {
    fn place(&self, old: usize) -> usize {
        self.places.get(old).copied().unwrap_or(0)
    }
}

/// Where blocks begin, and how many do.
fn leaders(source: &Source<'_>) -> (Leaders, usize) {
    let function = source.function;
    let mut leaders = Leaders::within(&function.parts);
    let stretch = source.starts.stretch_of(function.entry);
    let mut add = |address| leaders.insert(address, |address| source.starts.has_near(stretch, address));
    let entries = function.parts.iter().map(|part| part.start).chain(function.other_entries.iter().copied());
    let cases = source.tables.iter().flat_map(JumpTable::reached);
    // An exception leaves a block at its end alone: what follows the call is not on the way to the landing pad.
    let thrown = source.throws.iter().map(|one| one.end);
    for address in entries.chain(source.landing_pads.iter().chain(cases).copied()).chain(thrown) {
        add(address);
    }
    for turn in source.turns {
        add(turn.end);
        if let Way::Jump(target) | Way::Branch(target) = turn.way
            && add(target)
        {
            add(target.wrapping_sub(1));
        }
    }
    let count = leaders.number();
    (leaders, count)
}

/// Hands out where control goes within the function behind a turn; says whether there is a way out.
#[inline]
fn ways(source: &Source<'_>, turn: &Turn, mut way: impl FnMut(u64)) -> bool {
    match turn.way {
        Way::Jump(target) => way(target),
        Way::Branch(target) => {
            way(turn.end);
            way(target);
        }
        Way::BranchOut => {
            way(turn.end);
            return true;
        }
        Way::Table => {
            let tables = source.tables.iter().filter(|table| table.jumps.contains(&turn.address));
            tables.flat_map(JumpTable::reached).for_each(|&target| way(target));
        }
        Way::Unknown | Way::Out => return true,
    }
    false
}
