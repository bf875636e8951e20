//! Where the jumps to moved code go in the original text.
//!
//! A jump takes five bytes at a function's entry, behind an `endbr64`. A function that is shorter and has no
//! padding takes a jump of two bytes to an island nearby, which holds the long one: five bytes in the body of
//! another moved function, which nothing enters any more, behind that function's own jump. Only bodies that no
//! address leads into give room for islands, and padding between functions that nothing runs into.
//!
//! A function of one byte, `ret`, right in front of another one has room for the first byte of the short jump alone. Its distance is then
//! what the next function begins with: the first byte of that one's jump, which may be one of many prefixes that mean nothing to it.
//!
//! Where only moved functions branch into the middle of another one, they go to its copy by themselves: such an entry
//! takes a jump if there is room for it, and does without elsewhere.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, Mnemonic};
use smallvec::{SmallVec, smallvec};
use tare_code::{ENDBR64, Function, Program, Refusal};
use tare_image::Image;

use crate::copies::{FunctionCopy, Target};
use crate::plan::Moved;
use crate::reason::Reason;

/// Bytes of the jump at the original entry.
pub(crate) const JUMP_LENGTH: u64 = 5;
/// Bytes of the jump to an island.
pub(crate) const SHORT_JUMP_LENGTH: u64 = 2;
/// What the two begin with.
pub(crate) const JUMP: u8 = 0xe9;
pub(crate) const SHORT_JUMP: u8 = 0xeb;
/// Bytes in front of a jump that mean nothing to it: prefixes of segments, and `REX`.
pub(crate) const LEADS: &[u8] =
    &[0x26, 0x2e, 0x36, 0x3e, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x64, 0x65];
/// Bytes of padding between functions that are looked at.
const LONGEST_PADDING: u64 = 32;

/// The way from the original entry to the moved one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Springboard {
    /// Link address of the original entry.
    pub(crate) entry: u64,
    /// Part and offset of the moved entry in the copy.
    pub(crate) to: (u32, u32),
    /// Link address of the jump at the entry; none where every way to the entry is a branch of a moved function.
    pub(crate) at: Option<u64>,
    /// Bytes that it may take.
    room: u64,
    /// What stands in front of a long jump at the entry, as the distance of a short one that ends there.
    pub(crate) lead: Option<u8>,
    /// Link address of the long jump, where the one at the entry is short.
    pub(crate) island: Option<u64>,
}

impl Springboard {
    fn overlaps(&self, other: &Self) -> bool {
        let pair = self.at.zip(other.at);
        pair.is_some_and(|(own, at)| own < at + other.room && at < own + self.room)
    }

    fn needs_island(&self) -> bool {
        self.at.is_some() && self.room < JUMP_LENGTH
    }

    /// Whether the distance of its short jump is the first byte of what follows.
    fn borrows(&self) -> bool {
        self.at.is_some() && self.room < SHORT_JUMP_LENGTH
    }
}

/// Finds room at all entries of a function that may be moved.
pub(crate) fn find(image: &Image<'_>, program: &Program, neighbours: &Neighbours, function: &Function) -> Result<SmallVec<[Springboard; 1]>, Reason> {
    // What is short for the analysis may still have padding, or an island.
    if let Some(refusal) = function.refusal.filter(|&refusal| refusal != Refusal::ShortEntry) {
        return Err(Reason::Analysis(refusal));
    }
    if function.parts.first().is_none_or(|part| part.start != function.entry) {
        return Err(Reason::Analysis(Refusal::OutsideText));
    }
    if function.parts.iter().any(|part| neighbours.is_shared(part)) {
        return Err(Reason::SharedCode);
    }
    if function.other_entries.is_empty() {
        return Ok(smallvec![room_at(image, neighbours, function, (function.entry, &[function.entry]))?]);
    }
    let mut entries = vec![function.entry];
    entries.extend(function.other_entries.iter().copied().filter(|&entry| entry != function.entry));
    let mut seen = HashSet::new();
    entries.retain(|&entry| seen.insert(entry));
    let may_do_without = |entry: u64| entry != function.entry && program.branching_into(entry).next().is_some();
    let (optional, known): (Vec<u64>, Vec<u64>) = entries.iter().partition(|&&entry| may_do_without(entry));
    let found: Result<SmallVec<[Springboard; 1]>, Reason> =
        known.iter().map(|&entry| room_at(image, neighbours, function, (entry, &known))).collect();
    let mut found = found?;
    for entry in optional {
        let room = room_at(image, neighbours, function, (entry, &entries)).ok();
        let room = room.filter(|one| !one.needs_island() && !found.iter().any(|other| other.overlaps(one)));
        found.push(room.unwrap_or(Springboard { entry, to: (0, 0), at: None, room: 0, lead: None, island: None }));
    }
    Ok(found)
}

/// `entries` are those that need a jump of their own.
fn room_at(image: &Image<'_>, neighbours: &Neighbours, function: &Function, (entry, entries): (u64, &[u64])) -> Result<Springboard, Reason> {
    let part = function.parts.iter().find(|part| part.contains(&entry)).ok_or(Reason::Analysis(Refusal::OutsideText))?;
    let has_mark = image.bytes_at(entry, 4) == Some(&ENDBR64);
    let at = entry + if has_mark { ENDBR64.len() as u64 } else { 0 };
    let end = [at + JUMP_LENGTH, at + SHORT_JUMP_LENGTH, at + 1].into_iter().find(|&end| {
        let is_entered_within = entries.iter().any(|&other| other > entry && other < end);
        let has_room = end <= part.end || is_padding(image, neighbours, part.end, end);
        has_room && !is_entered_within
    });
    let end = end.ok_or(Reason::ShortEntry)?;
    Ok(Springboard { entry, to: (0, 0), at: Some(at), room: end - at, lead: None, island: None })
}

/// Gives islands to the functions that need one; answers those for which there is none.
pub(crate) fn place_islands(image: &Image<'_>, program: &Program, moved: &mut [Moved]) -> Vec<usize> {
    moved.iter_mut().flat_map(|one| &mut one.springboards).for_each(|springboard| springboard.lead = None);
    let all = moved.iter().enumerate().flat_map(|(index, one)| (0..one.springboards.len()).map(move |which| (index, which)));
    let needs = |&(index, which): &(usize, usize)| springboard(moved, (index, which)).is_some_and(Springboard::needs_island);
    let short: Vec<(usize, usize)> = all.filter(needs).collect();
    if short.is_empty() {
        return Vec::new();
    }
    let mut rooms = rooms(image, program, moved);
    // Those that have no choice come first.
    let (borrowing, others): (Vec<_>, Vec<_>) = short.into_iter().partition(|&place| springboard(moved, place).is_some_and(Springboard::borrows));
    let beginnings = if borrowing.is_empty() { Beginnings::default() } else { Beginnings::of(moved) };
    let mut without = Vec::new();
    for place in borrowing.into_iter().chain(others) {
        let Some(&Springboard { at: Some(at), .. }) = springboard(moved, place) else { continue };
        let is_borrowing = springboard(moved, place).is_some_and(Springboard::borrows);
        let island = if is_borrowing { beginnings.borrow(image, moved, &mut rooms, at) } else { take_room(&mut rooms, at + SHORT_JUMP_LENGTH) };
        match springboard_mut(moved, place) {
            Some(springboard) if island.is_some() => springboard.island = island,
            _ => without.push(place.0),
        }
    }
    without.sort_unstable();
    without.dedup();
    without
}

fn springboard(moved: &[Moved], (index, which): (usize, usize)) -> Option<&Springboard> {
    moved.get(index)?.springboards.get(which)
}

fn springboard_mut(moved: &mut [Moved], (index, which): (usize, usize)) -> Option<&mut Springboard> {
    moved.get_mut(index)?.springboards.get_mut(which)
}

/// What the bytes of moved functions begin with in the copy.
#[derive(Default)]
struct Beginnings {
    /// By link address of the entry, or of the jump behind a mark: function and springboard.
    springboards: HashMap<u64, (usize, usize)>,
    /// The bodies that have moved away, by start.
    bodies: Vec<Range<u64>>,
}

impl Beginnings {
    fn of(moved: &[Moved]) -> Self {
        let mut springboards = HashMap::new();
        for (index, one) in moved.iter().enumerate() {
            for (which, springboard) in one.springboards.iter().enumerate().filter(|(_, springboard)| springboard.at.is_some()) {
                springboards.insert(springboard.entry, (index, which));
            }
        }
        let mut bodies: Vec<_> = moved.iter().flat_map(|one| &one.probed.fragments).map(|fragment| fragment.original.clone()).collect();
        bodies.sort_unstable_by_key(|body| body.start);
        Self { springboards, bodies }
    }

    /// Finds an island for a short jump at an address whose distance is the byte behind; that may become a lead.
    fn borrow(&self, image: &Image<'_>, moved: &mut [Moved], rooms: &mut Vec<Range<u64>>, at: u64) -> Option<u64> {
        let next = at + 1;
        let island = |rooms: &mut Vec<Range<u64>>, distance: u8| {
            let island = (at + SHORT_JUMP_LENGTH).checked_add_signed(i64::from(distance.cast_signed()))?;
            take_at(rooms, island..island.checked_add(JUMP_LENGTH)?).then_some(island)
        };
        let Some(&place) = self.springboards.get(&next) else {
            let last = self.bodies.partition_point(|body| body.start <= next).checked_sub(1);
            let has_moved = last.and_then(|last| self.bodies.get(last)).is_some_and(|body| body.contains(&next));
            let byte = image.bytes_at(next, 1)?.first().copied()?;
            return if has_moved { None } else { island(rooms, byte) };
        };
        let springboard = springboard_mut(moved, place)?;
        if springboard.at != Some(next) {
            return island(rooms, ENDBR64[0]);
        }
        if springboard.needs_island() {
            return island(rooms, SHORT_JUMP);
        }
        if let Some(island) = island(rooms, JUMP) {
            return Some(island);
        }
        let longer = next + JUMP_LENGTH;
        if !take_at(rooms, longer..longer + 1) {
            return None;
        }
        let (lead, island) = LEADS.iter().find_map(|&lead| Some((lead, island(rooms, lead)?)))?;
        springboard.lead = Some(lead);
        Some(island)
    }
}

/// Ranges of dead bytes, by start.
fn rooms(image: &Image<'_>, program: &Program, moved: &[Moved]) -> Vec<Range<u64>> {
    let mut rooms = padding_rooms(image, program, moved);
    for one in moved {
        // A function with one entry, as all that are sealed are.
        let Some(springboard) = one.springboards.first().filter(|one| !one.needs_island()) else { continue };
        let Some(at) = springboard.at else { continue };
        let function = program.functions.get(one.function);
        if function.is_some_and(|function| is_sealed(function, &one.probed)) {
            let parts = one.probed.fragments.iter().map(|fragment| fragment.original.clone());
            let behind = at + JUMP_LENGTH;
            let holds = |part: &Range<u64>| part.contains(&at);
            // An island at the very start of a part would have to share its unwind entry.
            rooms.extend(parts.map(|part| if holds(&part) { behind..part.end } else { part.start + 1..part.end }));
        }
    }
    rooms.retain(|room| room.start + JUMP_LENGTH <= room.end);
    rooms.sort_unstable_by_key(|room| room.start);
    rooms
}

/// Padding behind parts that control does not run over, and behind the jumps that already reach into it.
fn padding_rooms(image: &Image<'_>, program: &Program, moved: &[Moved]) -> Vec<Range<u64>> {
    let neighbours = Neighbours::new(image, program);
    let jumps = moved.iter().flat_map(|one| &one.springboards);
    let mut taken: Vec<u64> = jumps.filter_map(|one| Some(one.at? + one.room)).collect();
    taken.sort_unstable();
    let parts = program.functions.iter().flat_map(|function| &function.parts);
    let behind = parts.filter(|part| program.stops_at_end(part)).filter_map(|part| {
        let end = neighbours.next(part.end).min(image.text_at(part.end)?.end).min(part.end + LONGEST_PADDING);
        let is_free = part.end < end && is_padding(image, &neighbours, part.end, end);
        let last = taken.partition_point(|&jump| jump <= end).checked_sub(1).and_then(|last| taken.get(last));
        is_free.then(|| last.copied().unwrap_or(0).max(part.end)..end)
    });
    behind.collect()
}

/// Whether nothing but its entry is known to lead into a body.
fn is_sealed(function: &Function, copy: &FunctionCopy) -> bool {
    let leads_in = |target: Target| match target {
        Target::Data(address) => address != function.entry && function.contains(address),
        _ => false,
    };
    let mut fields = copy.fragments.iter().flat_map(|fragment| &fragment.fixups).map(|fixup| fixup.target);
    let mut entries = copy.tables.iter().flat_map(|table| table.targets.iter().copied());
    function.other_entries.is_empty() && !fields.any(leads_in) && !entries.any(leads_in)
}

/// Takes five bytes that a short jump ending at `from` reaches.
fn take_room(rooms: &mut [Range<u64>], from: u64) -> Option<u64> {
    let (low, high) = (from.saturating_sub(128), from + 127);
    let first = rooms.partition_point(|room| room.end < low + JUMP_LENGTH);
    for room in rooms.get_mut(first..)?.iter_mut().take_while(|room| room.start <= high) {
        let at = room.start.max(low);
        if at + JUMP_LENGTH <= room.end && at <= high {
            room.start = at + JUMP_LENGTH;
            return Some(at);
        }
    }
    None
}

/// Takes these very bytes, if they are free.
fn take_at(rooms: &mut Vec<Range<u64>>, bytes: Range<u64>) -> bool {
    let Some(index) = rooms.partition_point(|room| room.start <= bytes.start).checked_sub(1) else { return false };
    let Some(room) = rooms.get_mut(index).filter(|room| bytes.end <= room.end) else { return false };
    let behind = bytes.end..room.end;
    room.end = bytes.start;
    rooms.insert(index + 1, behind);
    true
}

/// Whether the bytes between the end of a part and `end` are no part of anything and decode as padding, or, where the linker leaves
/// them so, are zeros up to the next part.
fn is_padding(image: &Image<'_>, neighbours: &Neighbours, start: u64, end: u64) -> bool {
    let text_end = image.text_at(start - 1).map_or(0, |text| text.end);
    let limit = neighbours.next(start).min(text_end).min(start + LONGEST_PADDING);
    if end > limit {
        return false;
    }
    let Some(bytes) = image.bytes_at(start, limit - start) else { return false };
    if neighbours.are_apart_by_zeros && neighbours.next(start) == limit && bytes.iter().all(|&byte| byte == 0) {
        return (start..limit).all(|address| image.symbols_at(address).next().is_none());
    }
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    while decoder.can_decode() && decoder.ip() < end {
        let one = decoder.decode();
        let is_exchange = matches!(one.code(), Code::Xchg_r16_AX | Code::Xchg_r32_EAX | Code::Xchg_r64_RAX);
        let is_nop = matches!(one.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
        if !(is_nop || is_exchange && one.op0_register() == one.op1_register()) {
            return false;
        }
    }
    decoder.ip() >= end
}

/// The parts of all functions, in order.
pub(crate) struct Neighbours {
    starts: Vec<u64>,
    /// Parts that overlap another one, by their start and end.
    shared: HashSet<(u64, u64)>,
    /// Whether zeros between parts are padding.
    are_apart_by_zeros: bool,
}

impl Neighbours {
    pub(crate) fn new(image: &Image<'_>, program: &Program) -> Self {
        let mut parts: Vec<(u64, u64)> = program.functions.iter().flat_map(|one| &one.parts).map(|part| (part.start, part.end)).collect();
        parts.sort_unstable();
        let mut shared = HashSet::new();
        let mut widest = (0, 0);
        for &part in &parts {
            if part.0 < widest.1 {
                shared.insert(widest);
                shared.insert(part);
            }
            if part.1 > widest.1 {
                widest = part;
            }
        }
        Self { starts: parts.into_iter().map(|part| part.0).collect(), shared, are_apart_by_zeros: image.pads_with_zeros() }
    }

    fn is_shared(&self, part: &Range<u64>) -> bool {
        self.shared.contains(&(part.start, part.end))
    }

    /// The first start at or behind an address.
    fn next(&self, address: u64) -> u64 {
        let index = self.starts.partition_point(|&start| start < address);
        self.starts.get(index).copied().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{take_at, take_room};

    #[test]
    fn bytes_are_taken_once() {
        let mut rooms = vec![10..20, 30..36];
        assert!(take_at(&mut rooms, 12..17) && !take_at(&mut rooms, 16..18) && take_at(&mut rooms, 10..12) && !take_at(&mut rooms, 18..23));
        assert!(take_at(&mut rooms, 17..20) && !take_at(&mut rooms, 19..20) && take_at(&mut rooms, 31..36) && !take_at(&mut rooms, 5..6));
    }

    #[test]
    fn islands_are_within_reach_and_do_not_overlap() {
        let mut rooms = [0..4, 0x1000..0x1007, 0x1010..0x1400, 0x2000..0x2100];
        let from = 0x1082;
        assert_eq!(take_room(&mut rooms, from), Some(0x1002));
        assert_eq!(take_room(&mut rooms, from), Some(0x1010));
        assert_eq!(take_room(&mut rooms, from), Some(0x1015));
        assert_eq!(take_room(&mut rooms, 0x1fff), Some(0x2000));
        assert_eq!(take_room(&mut rooms, 0x3000), None);
    }
}
