//! Functions that nothing but a pointer tells of: neither an unwind entry nor a symbol has them, and nobody calls them
//! directly. Assembly and code without unwind tables is so, behind tables of functions and registered callbacks.
//!
//! A false function is worse than a missed one: it would cut a true one in two. So a candidate must stand where a function can
//! begin, outside of all that is known, and what stands there must be code that comes to an end, keeps to itself and to
//! entries of other functions, and needs no register or flag that a caller does not hand over. Candidates are looked at in
//! the order of their addresses, and what lies within one that was found is none. Words side by side are one table: where
//! half of them lead to where no function begins, it is a jump table, and none of them counts.
//! An address that code loads counts where the code hands it on, since constants may stand among code as well.

use std::collections::BTreeSet;
use std::ops::Range;

use iced_x86::{Code, FlowControl, Instruction, Mnemonic, OpKind, Register};
use tare_image::{Image, RelocationKind};

use crate::addresses::slot;
use crate::decode::{AddressSet, RawFlow, decoder, is_padding, raw_flow};
use crate::extent::{Extent, Step};
use crate::fragments::{Fragment, Fragments};
use crate::parts::needs_more_than_arguments;
use crate::program::FoundBy;
use crate::sweep::{Pointer, Sweep};
use crate::through::Recent;

/// Functions are aligned to this by compilers.
pub(crate) const ALIGNMENT: u64 = 16;
/// A function of which nothing is known may be as long as this.
const MOST_BYTES: u64 = 1 << 16;
/// How many bytes in front of a place are decoded, from that many places on.
const IN_FRONT: u64 = 48;
const WAYS: u64 = 8;
/// How many instructions an address is followed for.
const FOLLOWED: usize = 16;
/// Registers in which a callee or caller finds values.
const HANDED_OVER: [Register; 7] = [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9, Register::RAX];

/// Where such functions begin, sorted.
pub(crate) fn starts(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep) -> Vec<u64> {
    let is_unknown = |address: &u64| fragments.at(*address).is_none() && image.text_at(*address).is_some();
    let mut candidates = in_tables(image, fragments, sweep);
    let loaded = sweep.pointers.iter().filter(|pointer| is_unknown(&pointer.target) && is_handed_on(image, pointer));
    candidates.extend(loaded.map(|pointer| pointer.target));
    candidates.sort_unstable();
    candidates.dedup();
    let mut found = Vec::new();
    let mut last = Reach { end: 0, is_open: true };
    let mut front = Front::default();
    for &candidate in &candidates {
        let Some(gap) = fragments.gap(image, candidate).filter(|_| candidate >= last.end) else { continue };
        let room = Room { image, fragments, instructions: &sweep.starts, candidates: &candidates, range: gap.clone() };
        let follows = !last.is_open && gap.contains(&last.end) && is_filled(image, last.end..candidate);
        front.go_to(image, &gap, candidate);
        if !follows && (front.comes_to(candidate) || !may_begin(image, fragments, &gap, candidate)) {
            continue;
        }
        if let Some(reach) = room.reach_of(candidate).filter(|reach| !front.leads_into(candidate, reach.end)) {
            found.push(candidate);
            front.pass(reach.end);
            last = reach;
        }
    }
    found
}

/// Unknown places that tables of functions name.
fn in_tables(image: &Image<'_>, fragments: &Fragments, sweep: &Sweep) -> Vec<u64> {
    let relocated = image.relocations().iter().filter(|one| one.kind != RelocationKind::Irelative);
    let mut words: Vec<(u64, u64)> = relocated.filter_map(|one| Some((one.address, one.link_address()?))).collect();
    words.extend(&sweep.words);
    words.retain(|&(_, target)| image.text_at(target).is_some());
    words.sort_unstable();
    let is_unknown = |target: u64| fragments.at(target).is_none();
    let is_start = |target: u64| fragments.starting_at(target).is_some() || image.symbols_at(target).next().is_some();
    let is_function = |target: u64| match fragments.gap(image, target) {
        Some(gap) if is_unknown(target) => Some(may_begin(image, fragments, &gap, target)),
        // Where an end was found by decoding, functions that nobody knew may have been taken in.
        _ => (fragments.has_known_end(target) || is_start(target)).then(|| is_start(target)),
    };
    let mut found = Vec::new();
    for table in words.chunk_by(|one, next| one.0 + 8 >= next.0) {
        let unknown = table.iter().map(|&(_, target)| target).filter(|&target| is_unknown(target));
        if unknown.clone().next().is_some() {
            let told: Vec<bool> = table.iter().filter_map(|&(_, target)| is_function(target)).collect();
            let functions = told.iter().filter(|&&is_function| is_function).count();
            found.extend(unknown.filter(|_| functions * 2 > told.len()));
        }
    }
    found
}

/// Whether code does with an address what it does with functions: stores it, calls it, or has it in a register that is
/// handed over when it calls or ends. What reads through it has data there.
pub(crate) fn is_handed_on(image: &Image<'_>, pointer: &Pointer) -> bool {
    let Some(text) = image.text_at(pointer.at).filter(|_| pointer.at != pointer.target) else { return false };
    let mut code = decoder(image, &(pointer.at..text.end)).into_iter();
    let Some(load) = code.next() else { return false };
    if load.op0_kind() == OpKind::Memory {
        return true;
    }
    let holder = load.op0_register().full_register();
    for one in code.take(FOLLOWED) {
        let is_address = |register: Register| register.full_register() == holder;
        if is_address(one.memory_base()) || is_address(one.memory_index()) {
            return false;
        }
        let is_operand = |operand: u32| one.op_kind(operand) == OpKind::Register && is_address(one.op_register(operand));
        match raw_flow(&one) {
            RawFlow::IndirectCall | RawFlow::IndirectJump if is_operand(0) => return true,
            RawFlow::Call(_) | RawFlow::IndirectCall | RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Return => {
                return HANDED_OVER.contains(&holder);
            }
            RawFlow::Next | RawFlow::Branch(_) => {}
            _ => return false,
        }
        match one.mnemonic() {
            Mnemonic::Mov if one.op0_kind() == OpKind::Memory && is_operand(1) => return true,
            Mnemonic::Push if is_operand(0) => return true,
            // It is packed with others to be stored together.
            Mnemonic::Movq if one.op0_register().is_xmm() && is_operand(1) => return true,
            _ if one.op_count() > 0 && is_operand(0) => return false,
            _ => {}
        }
    }
    false
}

/// Instructions behind the start of a fragment whose addresses are words of data, and not the end of a text.
pub(crate) fn listed(image: &Image<'_>, sweep: &Sweep, fragments: &Fragments) -> Vec<u64> {
    let is_behind_start = |target: u64| fragments.at(target).and_then(|index| fragments.list.get(index)).is_some_and(|one| one.range.start != target);
    let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let ends_text = |place: u64| place.checked_sub(1).and_then(|last| image.bytes_at(last, 1)).is_some_and(|bytes| bytes.iter().all(is_text));
    let is_inside = |value: u64| sweep.starts.contains(value) && is_behind_start(value);
    let words = sweep.words.iter().filter(|&&(place, value)| is_inside(value) && !ends_text(place));
    let mut listed: Vec<u64> = words.map(|&(_, value)| value).collect();
    listed.sort_unstable();
    listed.dedup();
    listed
}

/// How far a function goes.
struct Reach {
    end: u64,
    /// A jump table may lead to what follows.
    is_open: bool,
}

/// What stands in front of a place in unknown text, decoded from where that begins.
#[derive(Default)]
struct Front {
    gap: u64,
    /// How far it is decoded.
    until: u64,
    /// What the last instruction does that is no padding.
    last: Option<RawFlow>,
    /// Where jumps and branches lead.
    targets: BTreeSet<u64>,
}

impl Front {
    fn go_to(&mut self, image: &Image<'_>, gap: &Range<u64>, place: u64) {
        if self.gap != gap.start {
            *self = Self { gap: gap.start, until: gap.start, ..Self::default() };
        }
        for one in &mut decoder(image, &(self.until..place)) {
            self.until = one.next_ip();
            if is_padding(&one) {
                continue;
            }
            let flow = raw_flow(&one);
            if let RawFlow::Jump(target) | RawFlow::Branch(target) = flow {
                self.targets.insert(target);
            }
            self.last = Some(flow);
        }
    }

    /// Goes on behind a function.
    fn pass(&mut self, end: u64) {
        (self.until, self.last) = (end, None);
    }

    /// Whether control goes on to a place from what stands in front of it.
    fn comes_to(&self, place: u64) -> bool {
        self.until == place && matches!(self.last, Some(RawFlow::Next | RawFlow::Branch(_)))
    }

    /// Whether a jump or branch leads to a place behind the begin of what stands there.
    fn leads_into(&self, start: u64, end: u64) -> bool {
        self.targets.range(start.saturating_add(1)..end.max(start.saturating_add(1))).next().is_some()
    }
}

/// Text in which nothing is known.
struct Room<'a, 'data> {
    image: &'a Image<'data>,
    fragments: &'a Fragments,
    /// Where those of what is known start.
    instructions: &'a AddressSet,
    /// Sorted.
    candidates: &'a [u64],
    /// Between what is known.
    range: Range<u64>,
}

impl Room<'_, '_> {
    /// The function that begins at an address, if one does.
    fn reach_of(&self, start: u64) -> Option<Reach> {
        let fragment = Fragment::new(start..self.range.end.min(start.saturating_add(MOST_BYTES)), None, false, FoundBy::Pointer);
        let mut extent = Extent::new(&fragment);
        let mut before: Option<RawFlow> = None;
        let (mut own, mut leads_to) = (Vec::new(), Vec::new());
        let bytes = self.image.bytes_at(start, fragment.range.end - start).unwrap_or_default();
        let mut recent = Recent::of(bytes, start);
        let mut next = start;
        while next < start + bytes.len() as u64 {
            let one = *recent.decode(next);
            next = one.next_ip();
            let is_next = one.ip() != start && self.candidates.binary_search(&one.ip()).is_ok();
            if is_next && matches!(before, Some(RawFlow::Call(_))) && extent.is_behind_branches(one.ip()) {
                break;
            }
            let flow = raw_flow(&one);
            match extent.step(self.image, &mut recent, flow) {
                Step::Inside if is_plausible(self.image, &one) => {}
                Step::Inside => return None,
                Step::Between => continue,
                Step::Behind => break,
            }
            own.push(one.ip());
            if let RawFlow::Call(target) | RawFlow::Jump(target) | RawFlow::Branch(target) = flow {
                leads_to.push((target, matches!(flow, RawFlow::Call(_))));
            }
            before = if is_padding(&one) { before } else { Some(flow) };
        }
        let end = extent.end();
        let is_straight = leads_to.iter().all(|&(_, is_call)| is_call) && matches!(before, Some(RawFlow::Return));
        // A call that nothing follows does not come back.
        let is_closed = extent.is_closed() || (matches!(before, Some(RawFlow::Call(_))) && extent.is_behind_branches(end));
        let is_plausible = end > start
            && is_closed
            && leads_to.iter().all(|&(target, is_call)| self.is_place_to_go((target, is_call, is_straight || !is_call), &own, start..end));
        let fragment = Fragment::new(start..end, None, true, FoundBy::Pointer);
        let reach = Reach { end, is_open: !extent.is_behind_branches(end) };
        (is_plausible && !needs_more_than_arguments(self.image, &fragment)).then_some(reach)
    }

    /// Whether a function goes here: to an own instruction, the entry of another, or where nothing is known. What it calls may be a
    /// function that was taken for a part of the one in front, whose end nothing names; what it jumps to, code that it has in common with such
    /// a one, as functions by hand do. Where nothing but calls stands in front of its end, that is no matter of where decoding went astray, and
    /// it may call such code as well: `is_sure`.
    fn is_place_to_go(&self, (target, is_call, is_sure): (u64, bool, bool), own: &[u64], range: Range<u64>) -> bool {
        if range.contains(&target) {
            return own.binary_search(&target).is_ok();
        }
        // What goes back to unknown code without calling it is the middle of that.
        if !is_call && (self.range.start..range.start).contains(&target) && self.candidates.binary_search(&target).is_err() {
            return false;
        }
        match self.fragments.at(target) {
            Some(_) if self.fragments.starting_at(target).is_some() || self.image.symbols_at(target).next().is_some() => true,
            Some(_) => {
                let may_begin = is_sure || target.is_multiple_of(ALIGNMENT);
                may_begin && !self.fragments.has_known_end(target) && self.instructions.contains(target)
            }
            None => self.image.text_at(target).is_some() || self.image.plt_at(target).is_some(),
        }
    }
}

/// Whether only padding stands in a range.
fn is_filled(image: &Image<'_>, range: Range<u64>) -> bool {
    let bytes = image.bytes_at(range.start, range.end.saturating_sub(range.start)).unwrap_or_default();
    bytes.iter().all(|&byte| byte == 0) || decoder(image, &range).into_iter().all(|one| is_padding(&one))
}

/// Whether a function may stand at a place in unknown text: behind another's end, and aligned or next to what is known.
fn may_begin(image: &Image<'_>, fragments: &Fragments, gap: &Range<u64>, start: u64) -> bool {
    let first = decoder(image, &(start..gap.end)).into_iter().next();
    let Some(first) = first.filter(|one| !is_padding(one)) else { return false };
    if first.mnemonic() == Mnemonic::Endbr64 {
        return true;
    }
    let between = image.bytes_at(gap.start, start.saturating_sub(gap.start)).unwrap_or_default();
    let is_next = || {
        gap.start.checked_sub(1).is_none_or(|last| fragments.at(last).is_none() || fragments.has_known_end(last))
            && is_filled(image, gap.start..start)
    };
    let ends_flow = matches!(between, [.., 0xc3] | [.., 0x0f, 0x0b] | [.., 0xeb | 0xff, _] | [.., 0xff, _, _] | [.., 0xe8 | 0xe9, _, _, _, _]);
    let ends = ends_flow || matches!(between, [.., 0x00 | 0x90 | 0xcc]);
    (start.is_multiple_of(ALIGNMENT) && ends && !is_come_to(image, gap, start)) || is_next()
}

/// Whether control comes to a place in unknown text from what stands in front of it, over padding or not, as most ways to decode that say: soon they all
/// meet the same instructions. A call in front may be one that does not come back, and says nothing.
fn is_come_to(image: &Image<'_>, gap: &Range<u64>, start: u64) -> bool {
    let mut votes = 0;
    let mut begins: Vec<u64> = (0..WAYS).map(|way| start.saturating_sub(IN_FRONT + way).max(gap.start)).collect();
    begins.dedup();
    for begin in begins {
        let mut last = None;
        let mut next = begin;
        for one in &mut decoder(image, &(begin..start)) {
            next = one.next_ip();
            match raw_flow(&one) {
                RawFlow::Invalid => break,
                _ if !is_plausible(image, &one) => break,
                _ if is_padding(&one) => {}
                flow => last = Some(flow),
            }
        }
        votes += match last.filter(|_| next == start) {
            Some(RawFlow::Next | RawFlow::Branch(_)) => 1,
            Some(RawFlow::Return | RawFlow::Jump(_) | RawFlow::IndirectJump | RawFlow::Stop) => -1,
            _ => 0,
        };
    }
    votes > 0
}

/// Whether a program's own code may have an instruction; data that is read as code soon has one that it may not.
pub(crate) fn is_plausible(image: &Image<'_>, one: &Instruction) -> bool {
    let is_zero = one.code() == Code::Add_rm8_r8 && one.memory_base() == Register::RAX && one.op1_register() == Register::AL;
    let is_far = matches!(one.flow_control(), FlowControl::Call | FlowControl::UnconditionalBranch) && raw_flow(one) == RawFlow::Next;
    let is_elsewhere = slot(one).is_some_and(|slot| image.segment_at(slot).is_none());
    !(is_zero || is_far || is_elsewhere || one.is_privileged())
}
