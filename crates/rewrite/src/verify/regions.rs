//! Whether the regions inside a function open and close like brackets.
//!
//! Every way through the original's instructions is followed, with what was found inserted on it in the copy: at each
//! instruction one and the same stack of regions must be open however it is reached, nothing may end but the innermost,
//! and nothing may be open where the function is left. A call that is a jump does not come back: it begins, and nothing
//! ends. This knows nothing of loops.

use std::collections::{HashMap, HashSet};

use tare_code::{Flow, Instruction};
use tare_image::{CallSite, Image};

use crate::insertion::Point;
use crate::points::Slot;
use crate::verify::seen::Seen;
use crate::verify::walk::{Walk, entry_at};
use crate::verify::{Copy, Fault};

/// Regions that are open, the innermost last.
type Open = Vec<u32>;

/// Checks one copy.
pub(crate) fn check(walk: &Walk<'_, '_>, copy: &Copy, seen: &Seen) -> Result<(), Fault> {
    let Some(function) = walk.program.functions.get(walk.claim.function) else { return Ok(()) };
    let body = walk.program.body(walk.original, function);
    let cfg = walk.program.cfg_with_unwinding(walk.original, function, &body);
    let mut events: HashMap<(u64, Slot), Vec<(Point, u32)>> = HashMap::new();
    let leaving: HashSet<u64> = body.instructions.iter().filter(|one| is_tail_call(one.flow)).map(|one| one.address).collect();
    let comes_back = |&&(at, _, point, _): &&(u64, Slot, Point, u32)| point != Point::CallBefore || !leaving.contains(&at);
    for &(at, slot, point, region) in seen.events.iter().filter(comes_back) {
        events.entry((at, slot)).or_default().push((point, region));
    }
    let landings = (Landings::of(walk.original), Landings::of(walk.written));
    let mut checker = Checker { walk, copy, seen, events, landings, open: HashMap::new(), todo: Vec::new() };
    let blocks: HashMap<u64, usize> = cfg.blocks.iter().enumerate().map(|(index, block)| (block.address, index)).collect();
    checker.arrive(function.entry, Slot::Fall, &Open::new())?;
    for &(entry, _, moved) in walk.claims.entries_of(walk.claim).iter().skip(1) {
        let slot = checker.slot_of(moved, entry).ok_or(Fault::new(moved, "an entry leads to no instruction"))?;
        checker.arrive(entry, slot, &Open::new())?;
    }
    while let Some(address) = checker.todo.pop() {
        let Some(block) = blocks.get(&address).and_then(|&block| cfg.blocks.get(block)) else { continue };
        let mut open = checker.open.get(&address).cloned().unwrap_or_default();
        let own = body.instructions.get(block.instructions.clone()).unwrap_or_default();
        for (index, one) in own.iter().enumerate() {
            let is_last = index + 1 == own.len();
            checker.apply(one.address, Slot::Before, &mut open)?;
            if let Flow::Call { .. } | Flow::IndirectCall = one.flow {
                checker.unwinding(one, &open)?;
            }
            if !is_last {
                checker.apply(one.end(), Slot::Fall, &mut open)?;
            }
        }
        if let Some(last) = own.last() {
            // Behind a call at the end of another part in front of it the function would begin anew: such a call does not come back.
            let comes_back = !block.successors.is_empty() && last.end() != function.entry;
            checker.leave(last, comes_back, &body.tables, &open)?;
        }
    }
    Ok(())
}

struct Checker<'a, 'data> {
    walk: &'a Walk<'a, 'data>,
    copy: &'a Copy,
    seen: &'a Seen,
    events: HashMap<(u64, Slot), Vec<(Point, u32)>>,
    /// Of the original, and of the written image.
    landings: (Landings<'a, 'data>, Landings<'a, 'data>),
    /// What is open in front of each block.
    open: HashMap<u64, Open>,
    todo: Vec<u64>,
}

impl Checker<'_, '_> {
    /// Follows control behind the last instruction of a block.
    fn leave(&mut self, last: &Instruction, comes_back: bool, tables: &[tare_code::JumpTable], open: &Open) -> Result<(), Fault> {
        match last.flow {
            Flow::Jump { target } => self.arrive_at(target, open),
            Flow::Branch { target } => {
                let mut taken = open.clone();
                self.apply(last.address, Slot::Taken, &mut taken)?;
                self.arrive_at(target, &taken)?;
                self.arrive(last.end(), Slot::Fall, open)
            }
            Flow::BranchTailCall { .. } => {
                let mut taken = open.clone();
                self.apply(last.address, Slot::Taken, &mut taken)?;
                self.end(last, &taken)?;
                self.arrive(last.end(), Slot::Fall, open)
            }
            Flow::Next => self.arrive(last.end(), Slot::Fall, open),
            Flow::Call { .. } | Flow::IndirectCall if comes_back => self.arrive(last.end(), Slot::Fall, open),
            Flow::TableJump { .. } => {
                for table in tables.iter().filter(|table| table.jumps.contains(&last.address)) {
                    self.through_table(table, open)?;
                }
                Ok(())
            }
            Flow::Return | Flow::TailCall { .. } | Flow::IndirectTailCall => self.end(last, open),
            _ => Ok(()),
        }
    }

    /// Where the function is left nothing is open.
    fn end(&self, last: &Instruction, open: &Open) -> Result<(), Fault> {
        let here = self.seen.label(last.address).unwrap_or(0);
        if open.is_empty() { Ok(()) } else { Err(Fault::new(here, "a region is open where the function ends")) }
    }

    fn through_table(&mut self, table: &tare_code::JumpTable, open: &Open) -> Result<(), Fault> {
        let Some(copied) = self.copy.tables.iter().find(|one| one.original == table.address) else { return Ok(()) };
        for (index, &target) in (0_u64..).zip(table.reached()) {
            let at = copied.copy + index * table.form.entry_size();
            let lands = entry_at(self.walk.written, at, table.form, copied.copy);
            if let Some(slot) = lands.and_then(|lands| self.slot_of(lands, target)) {
                match slot {
                    Slot::Before => self.arrive_at(target, open)?,
                    way => self.arrive(target, way, open)?,
                }
            }
        }
        Ok(())
    }

    /// On which way an address of the copy leads to an instruction; [`Slot::Before`] where on none of its own.
    fn slot_of(&self, copied: u64, original: u64) -> Option<Slot> {
        if self.seen.label(original) == Some(copied) {
            return Some(Slot::Before);
        }
        let fragment = self.copy.fragments.iter().find(|fragment| fragment.arrivals.binary_search(&(copied, original)).is_ok())?;
        let behind = fragment.sites.partition_point(|site| site.at < copied);
        Some(fragment.sites.get(behind)?.slot)
    }

    /// Where an exception out of a call leads.
    fn unwinding(&mut self, call: &Instruction, open: &Open) -> Result<(), Fault> {
        let Some(pad) = self.landings.0.of_call(call.address, call.address) else { return Ok(()) };
        let here = self.seen.label(call.address).unwrap_or(0);
        let fault = Fault::new(here, "an exception out of a call leads elsewhere");
        // The call may stand behind what is inserted in front of it; its last byte is in front of the next instruction.
        let behind = self.end_of(call).ok_or(fault)?;
        let lands = self.landings.1.of_call(here, behind - 1).ok_or(fault)?;
        match self.slot_of(lands, pad).ok_or(fault)? {
            Slot::Before => self.arrive_at(pad, open),
            way => self.arrive(pad, way, open),
        }
    }

    /// Behind the copy of a call.
    fn end_of(&self, call: &Instruction) -> Option<u64> {
        let here = self.seen.label(call.address)?;
        let fragment = self.copy.fragments.iter().find(|fragment| fragment.new.contains(&here))?;
        let first = fragment.sites.partition_point(|site| site.at < here);
        let sites = fragment.sites.get(first..).unwrap_or_default().iter().take_while(|site| site.at < here + 4096);
        let before = sites.filter(|site| site.slot == Slot::Before);
        let mut start = here;
        for site in before {
            if site.at == start {
                start += site.length;
            }
        }
        Some(start + u64::from(call.length))
    }

    fn arrive_at(&mut self, address: u64, open: &Open) -> Result<(), Fault> {
        match self.open.get(&address) {
            None => {
                self.open.insert(address, open.clone());
                self.todo.push(address);
                Ok(())
            }
            Some(known) if known == open => Ok(()),
            Some(_) => Err(Fault::new(self.seen.label(address).unwrap_or(0), "different regions are open on the ways to an instruction")),
        }
    }

    fn arrive(&mut self, address: u64, slot: Slot, open: &Open) -> Result<(), Fault> {
        let mut open = open.clone();
        self.apply(address, slot, &mut open)?;
        self.arrive_at(address, &open)
    }

    /// Opens and closes what begins and ends at a place.
    fn apply(&self, at: u64, slot: Slot, open: &mut Open) -> Result<(), Fault> {
        for &(point, region) in self.events.get(&(at, slot)).into_iter().flatten() {
            if point.is_begin() {
                open.push(region);
            } else if open.pop() != Some(region) {
                let here = self.seen.label(at).unwrap_or(0);
                return Err(Fault::new(here, "a region ends that is not the innermost one"));
            }
        }
        Ok(())
    }
}

const fn is_tail_call(flow: Flow) -> bool {
    matches!(flow, Flow::TailCall { .. } | Flow::IndirectTailCall | Flow::BranchTailCall { .. })
}

/// Exception tables of an image, read once.
struct Landings<'a, 'data> {
    image: &'a Image<'data>,
    /// By where the parts begin whose tables they are; with whether they stand in the order of their calls, as they should.
    tables: HashMap<u64, (Vec<CallSite>, bool)>,
}

impl<'a, 'data> Landings<'a, 'data> {
    fn of(image: &'a Image<'data>) -> Self {
        Self { image, tables: HashMap::new() }
    }

    /// The landing pad of a call, by an address in it, in the exception table of the part that holds `part`.
    fn of_call(&mut self, part: u64, call: u64) -> Option<u64> {
        let fde = self.image.fde_at(part)?;
        let read = || {
            let sites = self.image.lsda(fde).map(|table| table.call_sites).unwrap_or_default();
            let is_in_order = sites.is_sorted_by(|first, next| first.range.end <= next.range.start);
            (sites, is_in_order)
        };
        let (sites, is_in_order) = self.tables.entry(fde.range.start).or_insert_with(read);
        let from = if *is_in_order { sites.partition_point(|site| site.range.end <= call) } else { 0 };
        sites.get(from..)?.iter().find(|site| site.range.contains(&call)).and_then(|site| site.landing_pad)
    }
}
