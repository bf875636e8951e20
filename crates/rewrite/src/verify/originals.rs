//! Whether the original's bytes are in the written image as they were.
//!
//! Those that are meant to change are looked at elsewhere: the jumps at entries, the headers, the dynamic section, and the
//! words that lead to the first and the last function that the loader calls. With `poison` the bodies of moved functions hold traps.

use std::ops::Range;

use tare_code::ENDBR64;
use tare_image::{Image, Section, Segment};

use super::bodies::Bodies;
use super::loader::Hooks;
use super::{Claims, Fault, is_lead};
use crate::elf::{PT_GNU_PROPERTY, PT_INTERP, PT_NOTE, SEGMENT_SIZE};
use crate::springboards::{JUMP_LENGTH, SHORT_JUMP_LENGTH};

/// Fields of the file's header: places and numbers of the headers of segments and sections.
const HEADER_FIELDS: [Range<u64>; 3] = [32..48, 56..58, 60..64];
const SHT_PROGBITS: u32 = 1;
const TRAP: u8 = 0xcc;

/// Checks everything that is loaded, and sections of other bytes, as of debug information.
pub(super) fn check(original: &Image<'_>, written: &Image<'_>, claims: &Claims<'_>, (hooks, bodies): (&Hooks, &Bodies)) -> Result<(), Fault> {
    let mut meant = jumps(written, claims);
    let traps = if claims.poison { bodies.ranges() } else { &[] };
    let is_meant_by = |meant: &[Range<u64>], address: u64| {
        let behind = meant.partition_point(|one| one.start <= address);
        behind.checked_sub(1).and_then(|last| meant.get(last)).is_some_and(|one| one.contains(&address))
    };
    meant.sort_by_key(|one| one.start);
    for body in traps {
        let bytes = written.bytes_at(body.start, body.end - body.start).unwrap_or_default();
        let other = (body.start..).zip(bytes).find(|&(address, &byte)| byte != TRAP && !is_meant_by(&meant, address));
        if let Some((address, _)) = other {
            return Err(Fault::new(address, "no trap stands where nothing should run any more"));
        }
    }
    meant.extend_from_slice(traps);
    meant.extend(headers(original, written));
    meant.extend(hooks.places());
    meant.sort_by_key(|one| one.start);
    for segment in original.segments().iter().filter(|segment| segment.is_loaded()) {
        let range = segment.file_range();
        let mut next = range.start;
        let within = meant.iter().filter(|one| one.start < range.end && range.start < one.end);
        for one in within.chain([&(range.end..range.end)]) {
            if next < one.start {
                same(original, written, &(next..one.start))?;
            }
            next = next.max(one.end);
        }
    }
    room(original, written)?;
    sections(original, written)
}

/// What made room for the table of segments is empty behind it.
fn room(original: &Image<'_>, written: &Image<'_>) -> Result<(), Fault> {
    let end = written.segment_table() + SEGMENT_SIZE * written.segments().len() as u64;
    let in_file = usize::try_from(end).unwrap_or(usize::MAX)..usize::try_from(table_end(original, written)).unwrap_or(0);
    let is_empty =
        written.segment_table() != original.segment_table() || written.data().get(in_file).is_none_or(|bytes| bytes.iter().all(|&byte| byte == 0));
    if is_empty { Ok(()) } else { Err(Fault::new(end, "something stands behind the program headers")) }
}

fn same(original: &Image<'_>, written: &Image<'_>, range: &Range<u64>) -> Result<(), Fault> {
    let fault = |address| Fault::new(address, "bytes of the original have changed that should not");
    let (old, new) = (original.bytes_at(range.start, range.end - range.start), written.bytes_at(range.start, range.end - range.start));
    match (old, new) {
        (Some(old), Some(new)) if old == new => Ok(()),
        (Some(old), Some(new)) => Err(fault(range.start + old.iter().zip(new).take_while(|(old, new)| old == new).count() as u64)),
        _ => Err(fault(range.start)),
    }
}

/// The jumps at entries, and those that short ones lead to.
fn jumps(written: &Image<'_>, claims: &Claims<'_>) -> Vec<Range<u64>> {
    let mut found = Vec::with_capacity(claims.entries.len());
    for &(entry, jump, _) in &claims.entries {
        let Some(jump) = jump else { continue };
        if jump == entry + ENDBR64.len() as u64 {
            found.push(entry..jump);
        }
        match written.bytes_at(jump, SHORT_JUMP_LENGTH) {
            Some(&[0xeb, distance]) => {
                let end = jump + SHORT_JUMP_LENGTH;
                let island = end.wrapping_add_signed(i64::from(distance.cast_signed()));
                found.extend([jump..end, island..island + JUMP_LENGTH]);
            }
            Some(&[lead, 0xe9]) if is_lead(lead) => found.push(jump..jump + 1 + JUMP_LENGTH),
            _ => found.push(jump..jump + JUMP_LENGTH),
        }
    }
    found
}

/// Link addresses of what changes of the headers, where they are loaded: fields, and the table of segments with what made room for it.
fn headers(original: &Image<'_>, written: &Image<'_>) -> Vec<Range<u64>> {
    let in_file = HEADER_FIELDS.into_iter().chain(std::iter::once(original.segment_table()..table_end(original, written)));
    let address = |offset: u64| {
        let holder = original.segments().iter().filter(|one| one.is_loaded()).find(|one| (one.offset..one.offset + one.file_size).contains(&offset));
        holder.map(|one| one.address + (offset - one.offset))
    };
    in_file.filter_map(|range| address(range.start).map(|start| start..start + (range.end - range.start))).collect()
}

/// Where in the file the table of segments ended, or what made room for it.
fn table_end(original: &Image<'_>, written: &Image<'_>) -> u64 {
    let end = original.segment_table() + SEGMENT_SIZE * original.segments().len() as u64;
    if written.segment_table() != original.segment_table() {
        return end;
    }
    let has_moved = |one: &&Segment| matches!(one.kind, PT_INTERP | PT_NOTE | PT_GNU_PROPERTY) && !written.segments().contains(one);
    let made_room = original.segments().iter().filter(has_moved).map(|one| one.offset + one.file_size);
    made_room.chain([end]).max().unwrap_or(end)
}

/// What is not loaded is copied, but for tables of symbols and names, which are extended.
fn sections(original: &Image<'_>, written: &Image<'_>) -> Result<(), Fault> {
    let is_copied = |one: &&Section<'_>| one.kind == SHT_PROGBITS && !one.is_loaded();
    for section in original.sections().iter().filter(is_copied) {
        let own = bytes(original, section);
        let is_same = |other: &Section<'_>| other.name == section.name && bytes(written, other) == own;
        if !written.sections().iter().any(is_same) && !written.sections().is_empty() {
            return Err(Fault::new(section.offset, "a section that is not loaded has changed"));
        }
    }
    Ok(())
}

fn bytes<'data>(image: &Image<'data>, section: &Section<'_>) -> Option<&'data [u8]> {
    let end = section.offset.checked_add(section.size)?;
    image.data().get(usize::try_from(section.offset).ok()?..usize::try_from(end).ok()?)
}
