//! Code that nothing leads to in functions whose end nothing names: another function may stand there, which is entered from where nothing is
//! known to lead either, and the function in front of it was taken to go on in it.

use std::ops::Range;

use iced_x86::Instruction;
use tare_image::Image;

use crate::decode::{RawFlow, decoder, is_padding, raw_flow};
use crate::fragments::{Fragment, Fragments};
use crate::jumps::Jumps;
use crate::noreturn::Never;
use crate::parts::needs_more_than_arguments;
use crate::pointed::ALIGNMENT;
use crate::program::{FoundBy, Function, JumpTable};
use crate::quick::{QuickMap, QuickSet};
use crate::sweep::Sweep;
use crate::{Unit, within};

/// Code that nothing leads to.
#[derive(Default)]
pub(crate) struct Unreached {
    /// What stood at the end of functions and was taken off them: it stays where it is, in no function.
    pub(crate) taken_off: Vec<Range<u64>>,
    /// Functions, by index, with some in front of code of their own; sorted.
    pub(crate) inside: Vec<usize>,
}

/// Looks for code that is neither padding nor a trap in functions where nothing names the end, and to which nothing leads: neither the
/// function itself from where it is entered, nor what is known of others. It is taken off where another function may begin and nothing behind is
/// the function's own.
pub(crate) fn take_off(
    image: &Image<'_>,
    fragments: &mut Fragments,
    sweep: &Sweep,
    units: &[Unit],
    (jumps, never): (&QuickMap<usize, Jumps>, &Never),
    functions: &mut [Function],
) -> Unreached {
    let mut unreached = Unreached::default();
    for (index, (unit, function)) in units.iter().zip(functions).enumerate() {
        let own: Vec<&Fragment> = unit.fragments.iter().filter_map(|&one| fragments.list.get(one)).collect();
        if own.iter().all(|one| one.has_known_end) {
            continue;
        }
        let walk = Walk::through(image, (&own, function), sweep, jumps.get(&index), never);
        let tails: Vec<Tail> = own.iter().filter_map(|one| walk.tail(one)).collect();
        if walk.left().any(|at| !tails.iter().any(|tail| tail.range.contains(&at))) {
            unreached.inside.push(index);
            continue;
        }
        for Tail { range, instructions } in tails {
            function.parts.iter_mut().filter(|part| part.end == range.end).for_each(|part| part.end = range.start);
            if let Some(holder) = fragments.at(range.start).and_then(|holder| fragments.list.get_mut(holder)) {
                holder.range.end = range.start;
                holder.instructions = holder.instructions.saturating_sub(instructions);
            }
            unreached.taken_off.push(range);
        }
    }
    unreached
}

/// What stands behind the last instruction of a fragment that control comes to.
struct Tail {
    range: Range<u64>,
    instructions: usize,
}

fn holds(table: &JumpTable, at: u64) -> bool {
    let size = table.form.entry_size() * table.targets.len() as u64;
    at.checked_sub(table.address).is_some_and(|offset| offset < size)
}

/// The way of control through a function.
struct Walk<'a, 'data> {
    image: &'a Image<'data>,
    never: &'a Never,
    jumps: Option<&'a Jumps>,
    own: &'a [&'a Fragment],
    /// In address order.
    code: Vec<Instruction>,
    /// Of each of them.
    reached: Vec<bool>,
    /// Where jumps and branches lead.
    branched: QuickSet<u64>,
    todo: Vec<u64>,
}

impl<'a, 'data> Walk<'a, 'data> {
    /// Follows it from all places at which the function is known to be entered.
    fn through(
        image: &'a Image<'data>,
        (own, function): (&'a [&'a Fragment], &Function),
        sweep: &Sweep,
        jumps: Option<&'a Jumps>,
        never: &'a Never,
    ) -> Self {
        let mut code: Vec<Instruction> = own.iter().flat_map(|one| decoder(image, &one.range)).collect();
        code.sort_by_key(Instruction::ip);
        let target = |one: &Instruction| match raw_flow(one) {
            RawFlow::Jump(target) | RawFlow::Branch(target) => Some(target),
            _ => None,
        };
        let branched = code.iter().filter_map(target).collect();
        let mut walk = Self { image, never, jumps, own, reached: vec![false; code.len()], code, branched, todo: Vec::new() };
        walk.todo.extend(own.iter().map(|one| one.range.start).chain([function.entry]).chain(function.other_entries.iter().copied()));
        for list in [&sweep.labels, &sweep.listed, &sweep.called_inside] {
            walk.todo.extend(own.iter().flat_map(|one| within(list, &one.range)));
        }
        walk.todo.extend(jumps.into_iter().flat_map(Jumps::targets));
        walk.run();
        walk
    }

    fn run(&mut self) {
        while let Some(at) = self.todo.pop() {
            // A branch may leave out the `lock` prefix of an instruction.
            let index = self.index_of(at).or_else(|| self.index_of(at.wrapping_sub(1)));
            let Some((one, reached)) = index.and_then(|index| Some((*self.code.get(index)?, self.reached.get_mut(index)?))) else { continue };
            if std::mem::replace(reached, true) {
                continue;
            }
            let flow = raw_flow(&one);
            if let RawFlow::Jump(target) | RawFlow::Branch(target) | RawFlow::Call(target) = flow {
                self.todo.push(target);
            }
            if self.goes_on(&one, flow) {
                self.todo.push(one.next_ip());
            }
        }
    }

    /// Whether control comes to what stands behind an instruction. Behind a trap that is caught it may, where no function can begin.
    fn goes_on(&self, one: &Instruction, flow: RawFlow) -> bool {
        match flow {
            RawFlow::Next | RawFlow::Branch(_) => true,
            RawFlow::Call(_) | RawFlow::IndirectCall => !self.never.ends(one) && !self.is_in_front_of_function(one.next_ip()),
            RawFlow::Stop => !one.next_ip().is_multiple_of(ALIGNMENT),
            RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Return | RawFlow::Invalid => false,
        }
    }

    /// Whether padding stands at an address behind a call, and what may be another function behind it: then the call does not come back.
    fn is_in_front_of_function(&self, address: u64) -> bool {
        let Some(index) = self.index_of(address) else { return false };
        let behind = self.code.iter().skip(index).find(|one| !is_padding(one)).map_or(address, Instruction::ip);
        let fragment = self.own.iter().find(|one| one.range.contains(&behind)).filter(|_| behind > address && behind.is_multiple_of(ALIGNMENT));
        fragment.filter(|_| !self.branched.contains(&behind)).is_some_and(|fragment| {
            let rest = Fragment::new(behind..fragment.range.end, None, true, FoundBy::Pointer);
            !needs_more_than_arguments(self.image, &rest)
        })
    }

    fn index_of(&self, address: u64) -> Option<usize> {
        self.code.binary_search_by_key(&address, Instruction::ip).ok()
    }

    /// Code that nothing led to.
    fn left(&self) -> impl Iterator<Item = u64> {
        let is_code = |one: &Instruction| !is_padding(one) && raw_flow(one) != RawFlow::Stop;
        let is_open = |at: u64| self.own.iter().any(|one| !one.has_known_end && one.range.contains(&at));
        let left = self.code.iter().zip(&self.reached).filter(move |(one, reached)| !**reached && is_code(one) && is_open(one.ip()));
        left.map(|(one, _)| one.ip()).filter(|&at| !self.is_table(at))
    }

    fn is_table(&self, at: u64) -> bool {
        self.jumps.into_iter().flat_map(|jumps| &jumps.tables).any(|table| holds(table, at))
    }

    /// What stands behind the last instruction of a fragment that control comes to, where that ends it for sure, if at first something is found there that
    /// stands as a function does, and neither a jump through a register or a table, which would have been taken for the function's own, nor such a table.
    fn tail(&self, fragment: &Fragment) -> Option<Tail> {
        if fragment.has_known_end {
            return None;
        }
        let end = self.code.partition_point(|one| one.ip() < fragment.range.end);
        let last = self.reached.get(..end)?.iter().rposition(|&reached| reached)?;
        let ends = |one: &Instruction| match raw_flow(one) {
            RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Return => true,
            _ => self.never.ends(one),
        };
        let last = self.code.get(last).filter(|one| fragment.range.contains(&one.ip()) && ends(one)).map(|one| (last + 1, one.next_ip()));
        let (first, start) = last?;
        let behind = self.code.get(first..end)?;
        let begin = behind.iter().find(|one| !is_padding(one) && raw_flow(one) != RawFlow::Stop)?;
        let is_own = |one: &Instruction| raw_flow(one) == RawFlow::IndirectJump || self.is_table(one.ip());
        let is_tail = begin.ip().is_multiple_of(ALIGNMENT) && !behind.iter().any(is_own);
        is_tail.then_some(Tail { range: start..fragment.range.end, instructions: behind.len() })
    }
}
