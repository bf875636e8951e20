//! A loop's counter: the place that steps by a constant, and the test that it is held against.

use std::collections::HashSet;

use iced_x86::{Instruction as Decoded, Mnemonic};

use super::Trips;
use super::definitions::{Definitions, Place, Value, constant, operand, step};
use super::test::{Stays, compares_with_zero};
use crate::Loop;
use crate::program::Flow;

/// The questions about one loop.
pub(super) struct Inductions<'d, 'a> {
    pub(super) definitions: &'d mut Definitions<'a>,
    pub(super) one: &'a Loop,
}

/// What a test compares.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    /// The place that should step, and the instruction that reads it.
    counter: (Place, usize),
    /// What it is held against.
    bound: Bound,
    stays: Stays,
}

#[derive(Clone, Copy, Debug)]
enum Bound {
    Constant(i64),
    Place(Place),
}

/// The one instruction that steps a place.
#[derive(Clone, Copy, Debug)]
struct Step {
    block: usize,
    at: usize,
    by: i64,
}

impl Inductions<'_, '_> {
    /// The least of the counts that the loop's tests give.
    pub(super) fn trips(mut self) -> Option<Trips> {
        let ways_out = self.ways_out()?;
        let most = ways_out.iter().filter_map(|&block| self.tests_in(block)).min()?;
        Some(Trips { most, exact: ways_out.len() == 1 })
    }

    /// Blocks from which the loop is left, but not by an end that does not return.
    fn ways_out(&mut self) -> Option<Vec<usize>> {
        self.definitions.look_at(self.one.blocks.len())?;
        let leaves = |&&block: &&usize| {
            self.definitions.cfg.blocks.get(block).is_some_and(|own| {
                let last = own.instructions.clone().last().and_then(|last| self.definitions.body.instructions.get(last));
                let returns = own.exits > 0
                    && last.is_some_and(|last| {
                        matches!(last.flow, Flow::Return | Flow::TailCall { .. } | Flow::BranchTailCall { .. } | Flow::IndirectTailCall)
                    });
                returns || own.successors.iter().any(|next| !self.one.contains(*next))
            })
        };
        Some(self.one.blocks.iter().filter(leaves).copied().collect())
    }

    /// How often the test at the end of a block is made.
    fn tests_in(&mut self, block: usize) -> Option<u64> {
        let comparison = self.comparison(block)?;
        let tests = [Some(comparison), comparison.exchanged()].into_iter().flatten().find_map(|comparison| self.tests_of(block, comparison))?;
        self.is_in_every_iteration(block)?.then_some(tests)
    }

    fn tests_of(&mut self, block: usize, comparison: Comparison) -> Option<u64> {
        let (place, read_at) = comparison.counter;
        let step = self.only_step(place)?;
        let entry = self.definitions.way_into(self.one)?;
        let first = self.definitions.behind(entry, place)?;
        let bound = match comparison.bound {
            Bound::Constant(bound) => Value::constant(bound),
            Bound::Place(bound) if self.definitions.leaves_alone(self.one, bound)? => self.definitions.behind(entry, bound)?,
            Bound::Place(_) => return None,
        };
        let is_stepped_before = if step.block == block { step.at <= read_at } else { self.comes_first(step.block, block)? };
        let first_seen = if is_stepped_before { first.offset.checked_add(step.by)? } else { first.offset };
        (first.origin == bound.origin).then_some(())?;
        comparison.stays.tests(bound.offset.checked_sub(first_seen)?, step.by)
    }

    /// The comparison that the branch at the end of a block depends on.
    fn comparison(&mut self, block: usize) -> Option<Comparison> {
        let own = self.definitions.cfg.blocks.get(block)?;
        let last = own.instructions.clone().last()?;
        let Flow::Branch { target } = self.definitions.body.instructions.get(last)?.flow else { return None };
        let is_taken = |next: usize| self.definitions.cfg.blocks.get(next).is_some_and(|next| next.address == target);
        let stays_where_taken = own.successors.iter().any(|&next| self.one.contains(next) && is_taken(next));
        let branch = *self.definitions.code.get(last)?;
        let stays = Stays::of(&branch, stays_where_taken)?;
        let setter = own.instructions.clone().rev().skip(1).find(|&at| self.sets_flags(at))?;
        let one = *self.definitions.code.get(setter)?;
        match one.mnemonic() {
            Mnemonic::Cmp => self.compared(own.instructions.start, setter, &one, stays),
            Mnemonic::Test if operand(&one, 0).is_some() && operand(&one, 0) == operand(&one, 1) => {
                let counter = self.origin(own.instructions.start, setter, operand(&one, 0)?);
                Some(Comparison { counter, bound: Bound::Constant(0), stays })
            }
            _ if compares_with_zero(&one, &branch) => Some(Comparison { counter: (operand(&one, 0)?, setter), bound: Bound::Constant(0), stays }),
            _ => None,
        }
    }

    fn compared(&mut self, start: usize, setter: usize, one: &Decoded, stays: Stays) -> Option<Comparison> {
        let counter = self.origin(start, setter, operand(one, 0)?);
        let bound = match constant(one, 1) {
            Some(bound) => Bound::Constant(bound),
            None => Bound::Place(self.origin(start, setter, operand(one, 1)?).0),
        };
        Some(Comparison { counter, bound, stays })
    }

    /// The place that a register was loaded from, or stored to, in the same block, as code without optimisation does
    /// before each comparison; with the instruction in front of which that place holds the number.
    fn origin(&mut self, start: usize, at: usize, place: Place) -> (Place, usize) {
        for before in (start..at).rev() {
            let Some(one) = self.definitions.code.get(before) else { break };
            let moves = matches!(one.mnemonic(), Mnemonic::Mov | Mnemonic::Movsxd);
            let (to, from) = (operand(one, 0), operand(one, 1));
            if moves && from == Some(place) && matches!(to, Some(Place::Slot(..))) {
                return (to.unwrap_or(place), at);
            }
            if self.definitions.writes(before, place) {
                return from.filter(|_| moves).map_or((place, at), |from| (from, before));
            }
        }
        (place, at)
    }

    fn sets_flags(&self, at: usize) -> bool {
        self.definitions.code.get(at).is_some_and(|one| one.rflags_modified() != 0)
    }

    /// The step of a place that the loop writes once, in every iteration.
    fn only_step(&mut self, place: Place) -> Option<Step> {
        let writers = self.definitions.writers(self.one, place, 2)?;
        let [(block, at)] = *writers.as_slice() else { return None };
        let by = match step(self.definitions.code.get(at)?, place) {
            Some(by) => by,
            None => self.step_through_register(block, at, place)?,
        };
        self.is_in_every_iteration(block)?.then_some(Step { block, at, by })
    }

    /// The step of a place that is loaded, stepped in a register and stored again.
    fn step_through_register(&mut self, block: usize, store: usize, place: Place) -> Option<i64> {
        let stored = self.definitions.code.get(store).filter(|one| one.mnemonic() == Mnemonic::Mov)?;
        let register = operand(stored, 1)?;
        let mut by = 0_i64;
        for at in (self.definitions.of_block(block).start..store).rev() {
            if !self.definitions.writes(at, register) {
                continue;
            }
            let one = self.definitions.code.get(at)?;
            match step(one, register) {
                Some(step) => by = by.checked_add(step)?,
                None => return (one.mnemonic() == Mnemonic::Mov && operand(one, 1) == Some(place)).then_some(by),
            }
        }
        None
    }

    /// Whether a block is executed once in each iteration: no loop within holds it, and no way round goes past it.
    fn is_in_every_iteration(&mut self, block: usize) -> Option<bool> {
        let smallest = self.definitions.loops.innermost(block).and_then(|own| self.definitions.loops.get(own));
        let is_nested = smallest.is_some_and(|smallest| smallest.depth > self.one.depth);
        Some(!is_nested && !self.goes_round_without(block)?)
    }

    /// Whether the header is reached again without a block.
    fn goes_round_without(&mut self, avoided: usize) -> Option<bool> {
        let &header = self.one.blocks.first()?;
        Some(header != avoided && self.reaches(header, header, avoided)?)
    }

    /// Whether one block of the loop is always executed before another within an iteration, or always behind it.
    fn comes_first(&mut self, one: usize, other: usize) -> Option<bool> {
        let &header = self.one.blocks.first()?;
        if header == one || header == other {
            return Some(header == one);
        }
        match (self.reaches(header, other, one)?, self.reaches(header, one, other)?) {
            (false, true) => Some(true),
            (true, false) => Some(false),
            _ => None,
        }
    }

    /// Whether a block is reached from another by at least one edge within an iteration, not passing a third.
    fn reaches(&mut self, from: usize, to: usize, avoided: usize) -> Option<bool> {
        let header = self.one.blocks.first().copied();
        let mut seen = HashSet::from([avoided]);
        let mut todo = vec![from];
        while let Some(block) = todo.pop() {
            self.definitions.look_at(1)?;
            for &next in self.definitions.cfg.blocks.get(block).map_or(&[][..], |block| &block.successors) {
                if next == to {
                    return Some(true);
                }
                let is_inside = self.one.contains(next) && Some(next) != header;
                if is_inside && seen.insert(next) {
                    todo.push(next);
                }
            }
        }
        Some(false)
    }
}

impl Comparison {
    /// The same with the second place as the counter.
    fn exchanged(self) -> Option<Self> {
        let Bound::Place(bound) = self.bound else { return None };
        Some(Self { counter: (bound, self.counter.1), bound: Bound::Place(self.counter.0), stays: self.stays.exchanged() })
    }
}
