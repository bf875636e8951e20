//! What indirect calls and jumps go through where that is certain, though no instruction right in front tells: compilers
//! keep the address of a function in a register over a loop, and the large model makes addresses of parts.
//!
//! A value counts only if every way to the call agrees: ways are followed backwards from the call to all definitions of its
//! register. A way that comes from elsewhere (an entry, an address that is kept) or to an operation that is not on the short
//! list makes it unknown; so does a call, if the register is not one that calls keep. Functions with jumps that are not
//! resolved, and those that load no address of a function, are not looked at.

use std::collections::BTreeSet;
use std::ops::Range;

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use tare_image::Image;

use crate::addresses::{constant_address, is_in_thread};
use crate::decode::{RawFlow, enters_kernel, may_change, raw_flow};
use crate::fragments::{Fragment, Fragments};
use crate::jumps::{JumpKind, Jumps};
use crate::parallel::Threads;
use crate::program::JumpTable;
use crate::quick::{QuickMap, QuickSet};
use crate::record::FlowRecord;
use crate::stretch::Stretch;
use crate::sweep::Sweep;
use crate::through::{Through, is_far, is_kept_by_calls};
use crate::{Unit, behind_start, names, noreturn, slots, within};

/// How many definitions deep a question may go.
const DEPTH: usize = 8;
/// How many instructions the questions about one function may look at, for each of its instructions.
const LOOKS: usize = 64;

/// What a place holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    Address(u64),
    /// The word at a link address.
    Word(u64),
}

/// Says in the sweep's records what is found; answers how many calls of the large model find what they go to by a value that is
/// not followed, as where code that is not optimised keeps it in the frame.
pub(crate) fn find(
    image: &Image<'_>,
    fragments: &Fragments,
    sweep: &mut Sweep,
    units: &[Unit],
    shared: &[u64],
    jumps: &QuickMap<usize, Jumps>,
    threads: Threads,
) -> usize {
    let wanted: Vec<usize> =
        (0..units.len()).filter(|&index| units.get(index).is_some_and(|unit| is_wanted(fragments, unit, jumps.get(&index)))).collect();
    let finder = Finder { image, fragments, sweep, shared };
    let found = threads.pieces(&wanted, 16, |piece| {
        let own = piece.iter().filter_map(|&index| Some((units.get(index)?, jumps.get(&index))));
        let mut found = Found::default();
        own.for_each(|(unit, jumps)| finder.of(unit, jumps, &mut found));
        found
    });
    let lost = found.iter().map(|found| found.lost).sum();
    set(sweep, found.into_iter().flat_map(|found| found.calls));
    lost
}

/// What was found of some functions.
#[derive(Default)]
struct Found {
    /// Records of calls and jumps that leave the function, and what they go through.
    calls: Vec<(usize, Through)>,
    /// How many more there are in code of the large model that is moved.
    lost: usize,
}

fn is_wanted(fragments: &Fragments, unit: &Unit, jumps: Option<&Jumps>) -> bool {
    let any = |has: fn(&Fragment) -> bool| unit.fragments.iter().filter_map(|&one| fragments.list.get(one)).any(has);
    any(|one| one.traits.loads_callee)
        && any(|one| one.traits.calls_register)
        && !any(|one| one.traits.is_undecodable)
        && !jumps.is_some_and(Jumps::has_unknown)
}

/// The same for code outside of text, which is entered at its start alone.
pub(crate) fn find_in(image: &Image<'_>, sweep: &mut Sweep, fragment: &Fragment) {
    let asked = Asked { fragments: &[fragment], tables: &[], entries: BTreeSet::from([fragment.range.start]) };
    let mut found = Found::default();
    asked.held(image, sweep, |record| record.flow() == RawFlow::IndirectCall, &mut found);
    set(sweep, found.calls);
}

fn set(sweep: &mut Sweep, found: impl IntoIterator<Item = (usize, Through)>) {
    for (flow, through) in found {
        if let Some(record) = sweep.flows.get_mut(flow) {
            record.set_through(through);
        }
    }
}

/// Code that is asked about.
struct Asked<'a> {
    fragments: &'a [&'a Fragment],
    tables: &'a [JumpTable],
    /// Where control may come from elsewhere.
    entries: BTreeSet<u64>,
}

impl Asked<'_> {
    /// Adds the records of calls and jumps that leave the function, and what they go through, where it is known now.
    fn held(&self, image: &Image<'_>, sweep: &Sweep, leaves: impl Fn(&FlowRecord) -> bool, found: &mut Found) {
        let asks = |record: &FlowRecord| leaves(record) && matches!(record.through(), Through::Pointer | Through::Unknown);
        let records = self.fragments.iter().flat_map(|one| one.flows.clone().zip(sweep.flows_of(one)));
        let calls: Vec<(usize, u64)> = records.filter(|(_, record)| asks(record)).map(|(flow, record)| (flow, record.address)).collect();
        if calls.is_empty() {
            return;
        }
        let ranges: Vec<Range<u64>> = self.fragments.iter().map(|one| one.range.clone()).collect();
        let mut stretch = Stretch::decode(image, &ranges, |call| {
            !names::called_import(image, call).is_some_and(|name| noreturn::import_never_returns(image, name))
        });
        self.tables.iter().for_each(|table| stretch.connect(&table.jumps, &table.targets));
        let mut ways = Ways::new(image, &stretch, &self.entries);
        self.fragments.iter().for_each(|one| ways.add_landing_pads(one));
        let before = found.calls.len();
        found.calls.extend(calls.iter().filter_map(|&(flow, call)| Some((flow, through(image, sweep, ways.of_call(call)?)?))));
        if stretch.has_parts && stretch.origin != 0 {
            found.lost += calls.len() - (found.calls.len() - before);
        }
    }
}

/// What a call goes through that finds its target in such a place, if that is a function that is known.
fn through(image: &Image<'_>, sweep: &Sweep, held: Held) -> Option<Through> {
    match held {
        Held::Address(address) => {
            let is_code = image.text_at(address).is_some() || image.plt_at(address).is_some();
            is_code.then_some(Through::Code(address))
        }
        Held::Word(slot) => {
            let is_known = image.name_in_slot(slot).is_some() || slots::code_in(image, &sweep.changing, slot).is_some();
            is_known.then_some(Through::Slot(slot))
        }
    }
}

struct Finder<'a, 'data> {
    image: &'a Image<'data>,
    fragments: &'a Fragments,
    sweep: &'a Sweep,
    shared: &'a [u64],
}

impl Finder<'_, '_> {
    fn of(&self, unit: &Unit, jumps: Option<&Jumps>, found: &mut Found) {
        let own: Vec<&Fragment> = unit.fragments.iter().filter_map(|&one| self.fragments.list.get(one)).collect();
        let tables = jumps.map_or([].as_slice(), |jumps| &jumps.tables);
        let asked = Asked { fragments: &own, tables, entries: self.entries(unit, tables) };
        let is_tail_call = |record: &FlowRecord| jumps.and_then(|jumps| jumps.kinds.get(&record.address)) == Some(&JumpKind::TailCall);
        let leaves = |record: &FlowRecord| match record.flow() {
            RawFlow::IndirectCall => true,
            RawFlow::IndirectJump => is_tail_call(record),
            _ => false,
        };
        asked.held(self.image, self.sweep, leaves, found);
    }

    /// Where control may come from elsewhere.
    fn entries(&self, unit: &Unit, tables: &[JumpTable]) -> BTreeSet<u64> {
        let mut entries = BTreeSet::new();
        let targets: BTreeSet<u64> = tables.iter().flat_map(|table| &table.targets).copied().collect();
        for (place, &index) in unit.fragments.iter().enumerate() {
            let Some(fragment) = self.fragments.list.get(index) else { continue };
            let range = &fragment.range;
            if place == 0 || fragment.traits.is_called || fragment.traits.is_pointed_at || unit.others.contains(&index) {
                entries.insert(range.start);
            }
            entries.extend(behind_start(&self.sweep.called_inside, range));
            entries.extend(within(self.shared, range));
            entries.extend(names::entries_inside(self.image, range));
            entries.extend(behind_start(&self.sweep.labels, range).iter().filter(|label| !targets.contains(label)));
        }
        entries
    }
}

/// The ways backwards through a function.
struct Ways<'a, 'data> {
    image: &'a Image<'data>,
    stretch: &'a Stretch,
    entries: &'a BTreeSet<u64>,
    /// Calls from which unwinding leads to an instruction.
    unwinding: QuickMap<usize, Vec<usize>>,
    /// What the register of a call holds.
    known: QuickMap<usize, (Register, Held)>,
    factory: InstructionInfoFactory,
    looks: usize,
}

impl<'a, 'data> Ways<'a, 'data> {
    fn new(image: &'a Image<'data>, stretch: &'a Stretch, entries: &'a BTreeSet<u64>) -> Self {
        let looks = stretch.code.len() * LOOKS;
        let factory = InstructionInfoFactory::new();
        Self { image, stretch, entries, unwinding: QuickMap::default(), known: QuickMap::default(), factory, looks }
    }

    /// A call leads to its landing pad with the registers that calls keep.
    fn add_landing_pads(&mut self, fragment: &Fragment) {
        let fde = fragment.fde.and_then(|fde| self.image.fdes().get(fde)).filter(|fde| fde.lsda.is_some());
        let sites = fde.and_then(|fde| self.image.lsda(fde)).into_iter().flat_map(|table| table.call_sites);
        for (range, pad) in sites.filter_map(|site| Some((site.range, self.stretch.index_of(site.landing_pad?)?))) {
            let first = self.stretch.code.partition_point(|one| one.ip() < range.start);
            let own = self.stretch.code.iter().enumerate().skip(first).take_while(|(_, one)| one.ip() < range.end);
            self.unwinding.entry(pad).or_default().extend(own.filter(|(_, one)| is_call(one)).map(|(index, _)| index));
        }
    }

    /// What a call or jump goes to.
    fn of_call(&mut self, address: u64) -> Option<Held> {
        let index = self.stretch.index_of(address)?;
        let call = *self.stretch.code.get(index).filter(|call| !is_far(call))?;
        match call.op0_kind() {
            OpKind::Register if call.op_count() > 0 => {
                let held = self.register(call.op0_register(), index, DEPTH)?;
                self.known.insert(index, (call.op0_register(), held));
                Some(held)
            }
            OpKind::Memory => self.address(&call, index, DEPTH).map(Held::Word),
            _ => None,
        }
    }

    /// The value of a register in front of an instruction, if all ways agree.
    fn register(&mut self, register: Register, index: usize, depth: usize) -> Option<Held> {
        let stretch = self.stretch;
        let mut agreed = None;
        let mut seen = QuickSet::from_iter([index]);
        let mut todo = vec![index];
        while let Some(at) = todo.pop() {
            let address = stretch.code.get(at)?.ip();
            if self.entries.contains(&address) {
                return None;
            }
            let all: Vec<usize> = stretch.predecessors(at).chain(self.unwinding.get(&at).into_iter().flatten().copied()).collect();
            for before in all {
                self.looks = self.looks.checked_sub(1)?;
                let one = stretch.code.get(before)?;
                let found = match self.known.get(&before).copied() {
                    Some((known, held)) if known == register && is_call(one) && is_kept_by_calls(register) => held,
                    _ if self.writes(one, register) => self.definition(one, before, depth)?,
                    _ => {
                        todo.extend(seen.insert(before).then_some(before));
                        continue;
                    }
                };
                if *agreed.get_or_insert(found) != found {
                    return None;
                }
            }
        }
        agreed
    }

    /// Whether an instruction may change a register.
    fn writes(&mut self, one: &Instruction, register: Register) -> bool {
        if is_call(one) {
            return !is_kept_by_calls(register);
        }
        enters_kernel(one) && !is_kept_by_calls(register) || may_change(self.factory.info(one), register)
    }

    /// What an instruction that writes a register puts there.
    fn definition(&mut self, one: &Instruction, at: usize, depth: usize) -> Option<Held> {
        let depth = depth.checked_sub(1)?;
        let is_wide = one.op0_kind() == OpKind::Register
            && (one.op0_register().is_gpr64() || constant_address(one).is_some() && one.mnemonic() == Mnemonic::Mov);
        if is_call(one) || !is_wide {
            return None;
        }
        match (one.mnemonic(), one.op1_kind()) {
            (Mnemonic::Mov, OpKind::Register) => self.register(one.op1_register(), at, depth),
            (Mnemonic::Mov, OpKind::Memory) => self.address(one, at, depth).map(Held::Word),
            (Mnemonic::Mov, _) => constant_address(one).map(Held::Address),
            (Mnemonic::Lea, _) => self.address(one, at, depth).map(Held::Address),
            (Mnemonic::Add, kind) => {
                let first = self.number(one.op0_register(), at, depth)?;
                let second = if kind == OpKind::Register { self.number(one.op1_register(), at, depth)? } else { added(one)? };
                Some(Held::Address(first.wrapping_add(second)))
            }
            _ => None,
        }
    }

    fn number(&mut self, register: Register, at: usize, depth: usize) -> Option<u64> {
        match self.register(register, at, depth)? {
            Held::Address(address) => Some(address),
            Held::Word(_) => None,
        }
    }

    /// The address of a memory operand.
    fn address(&mut self, one: &Instruction, at: usize, depth: usize) -> Option<u64> {
        if is_in_thread(one) {
            return None;
        }
        if one.is_ip_rel_memory_operand() {
            return Some(one.ip_rel_memory_address());
        }
        let mut address = one.memory_displacement64();
        for (register, scale) in [(one.memory_base(), 1), (one.memory_index(), one.memory_index_scale())] {
            if register != Register::None {
                let number = if register.is_gpr64() { self.number(register, at, depth)? } else { return None };
                address = address.wrapping_add(number.wrapping_mul(u64::from(scale)));
            }
        }
        Some(address)
    }
}

fn is_call(one: &Instruction) -> bool {
    matches!(raw_flow(one), RawFlow::Call(_) | RawFlow::IndirectCall)
}

/// The number that an instruction adds.
fn added(one: &Instruction) -> Option<u64> {
    matches!(one.op1_kind(), OpKind::Immediate8to64 | OpKind::Immediate32to64).then(|| one.immediate(1))
}
