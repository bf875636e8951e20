//! Code that nothing leads to in functions whose end nothing names: another function may stand there, which is entered from where nothing is
//! known to lead either, and the function in front of it was taken to go on in it.

use iced_x86::Instruction;
use tare_image::Image;

use crate::decode::{RawFlow, decoder, is_padding, raw_flow};
use crate::fragments::{Fragment, Fragments};
use crate::jumps::Jumps;
use crate::noreturn::Never;
use crate::parts::needs_more_than_arguments;
use crate::pointed::ALIGNMENT;
use crate::program::{FoundBy, Function, JumpTable};
use crate::quick::QuickSet;
use crate::sweep::Sweep;
use crate::{Unit, within};

/// Whether code that is neither padding nor a trap stands in a function where nothing names its end, and nothing leads there: neither the
/// function itself from where it is entered, nor what is known of others.
pub(crate) fn has_some(
    image: &Image<'_>,
    (fragments, sweep): (&Fragments, &Sweep),
    (unit, function): (&Unit, &Function),
    jumps: Option<&Jumps>,
    never: &Never,
) -> bool {
    let own: Vec<&Fragment> = unit.fragments.iter().filter_map(|&one| fragments.list.get(one)).collect();
    if own.iter().all(|one| one.has_known_end) {
        return false;
    }
    let mut walk = Walk::over(image, &own, never);
    walk.todo.extend(own.iter().map(|one| one.range.start).chain([function.entry]).chain(function.other_entries.iter().copied()));
    for list in [&sweep.labels, &sweep.listed, &sweep.called_inside] {
        walk.todo.extend(own.iter().flat_map(|one| within(list, &one.range)));
    }
    walk.todo.extend(jumps.into_iter().flat_map(Jumps::targets));
    walk.run();
    let is_open = |at: u64| own.iter().any(|one| !one.has_known_end && one.range.contains(&at));
    let is_table = |at: u64| jumps.into_iter().flat_map(|jumps| &jumps.tables).any(|table| holds(table, at));
    let is_code = |one: &Instruction| !is_padding(one) && raw_flow(one) != RawFlow::Stop;
    walk.left().any(|one| is_code(one) && is_open(one.ip()) && !is_table(one.ip()))
}

fn holds(table: &JumpTable, at: u64) -> bool {
    let size = table.form.entry_size() * table.targets.len() as u64;
    at.checked_sub(table.address).is_some_and(|offset| offset < size)
}

/// The way of control through a function.
struct Walk<'a, 'data> {
    image: &'a Image<'data>,
    never: &'a Never,
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
    fn over(image: &'a Image<'data>, own: &'a [&'a Fragment], never: &'a Never) -> Self {
        let mut code: Vec<Instruction> = own.iter().flat_map(|one| decoder(image, &one.range)).collect();
        code.sort_by_key(Instruction::ip);
        let target = |one: &Instruction| match raw_flow(one) {
            RawFlow::Jump(target) | RawFlow::Branch(target) => Some(target),
            _ => None,
        };
        let branched = code.iter().filter_map(target).collect();
        Self { image, never, own, reached: vec![false; code.len()], code, branched, todo: Vec::new() }
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

    /// What nothing led to.
    fn left(&self) -> impl Iterator<Item = &Instruction> {
        self.code.iter().zip(&self.reached).filter(|(_, reached)| !**reached).map(|(one, _)| one)
    }
}
