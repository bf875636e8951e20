//! Where the jumps to moved code go in the original text.
//!
//! A jump takes five bytes at a function's entry, behind an `endbr64`. A function that is shorter and has no
//! padding takes a jump of two bytes to an island nearby, which holds the long one: five bytes in the body of
//! another moved function, which nothing enters any more, behind that function's own jump. Only bodies that no
//! address leads into give room for islands, and padding between functions that nothing runs into.
//!
//! Where only moved functions branch into the middle of another one, they go to its copy by themselves: such an entry
//! takes a jump if there is room for it, and does without elsewhere.

use std::collections::HashSet;
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
        found.push(room.unwrap_or(Springboard { entry, to: (0, 0), at: None, room: 0, island: None }));
    }
    Ok(found)
}

/// `entries` are those that need a jump of their own.
fn room_at(image: &Image<'_>, neighbours: &Neighbours, function: &Function, (entry, entries): (u64, &[u64])) -> Result<Springboard, Reason> {
    let part = function.parts.iter().find(|part| part.contains(&entry)).ok_or(Reason::Analysis(Refusal::OutsideText))?;
    let has_mark = image.bytes_at(entry, 4) == Some(&ENDBR64);
    let at = entry + if has_mark { ENDBR64.len() as u64 } else { 0 };
    let end = [at + JUMP_LENGTH, at + SHORT_JUMP_LENGTH].into_iter().find(|&end| {
        let is_entered_within = entries.iter().any(|&other| other > entry && other < end);
        let has_room = end <= part.end || is_padding(image, neighbours, part.end, end);
        has_room && !is_entered_within
    });
    let end = end.ok_or(Reason::ShortEntry)?;
    Ok(Springboard { entry, to: (0, 0), at: Some(at), room: end - at, island: None })
}

/// Gives islands to the functions that need one; answers those for which there is none.
pub(crate) fn place_islands(image: &Image<'_>, program: &Program, moved: &mut [Moved]) -> Vec<usize> {
    let needs = |one: &Moved| one.springboards.iter().any(Springboard::needs_island);
    let short: Vec<usize> = (0..moved.len()).filter(|&index| moved.get(index).is_some_and(needs)).collect();
    if short.is_empty() {
        return Vec::new();
    }
    let mut rooms = rooms(image, program, moved);
    let mut without = Vec::new();
    for index in short {
        let Some(one) = moved.get_mut(index) else { continue };
        for springboard in one.springboards.iter_mut().filter(|one| one.needs_island()) {
            let Some(at) = springboard.at else { continue };
            springboard.island = take_room(&mut rooms, at + SHORT_JUMP_LENGTH);
            if springboard.island.is_none() && without.last() != Some(&index) {
                without.push(index);
            }
        }
    }
    without
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
    use super::take_room;

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
