//! Whether the loader finds in the written image what it found in the original, and what is new behind that.
//!
//! Both files are read in the same way: segments, dynamic section, tables of symbols, relocations. What differs must be
//! what was asked for, and nothing new may lie where the original is.

use std::ffi::CStr;
use std::ops::Range;

use tare_image::{DynamicEntry, Image, Relocation, RelocationKind, Segment};

use super::{Claims, Fault};
use crate::adapter::nesting::TAG;
use crate::elf::dynamic::{DT_RELA, DT_RELACOUNT, DT_RELASZ, NOWHERE, RELATIVE};
use crate::elf::head::NOTE_SIZE;
use crate::elf::hooks::{self, Hook, When};
use crate::elf::imports::{DT_FLAGS_1, DT_NEEDED, DT_STRSZ, DT_STRTAB, DT_SYMTAB, DT_VERSYM, DYNAMIC_ENTRY, STAYS, SYMBOL_SIZE};
use crate::elf::{
    PF_R, PF_W, PF_X, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_GNU_PROPERTY, PT_INTERP, PT_LOAD, PT_NOTE, PT_PHDR, PT_TLS, SEGMENT_SIZE, segment_bytes,
};
use crate::layout::{PAGE, RELOCATION_SIZE};

const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
/// Segments that the original need not have.
const NEW_KINDS: [u32; 3] = [PT_NOTE, PT_TLS, PT_GNU_EH_FRAME];

/// The functions that the loader is to call first and last in the place of others.
pub(super) struct Hooks {
    /// Where the original has the function, and the link address of the routine.
    led: Vec<(Hook, u64)>,
    /// What may change for that, as link addresses.
    tables: Vec<Range<u64>>,
}

impl Hooks {
    pub(super) fn of(original: &Image<'_>, claims: &Claims<'_>) -> Self {
        let wanted = [(When::Start, claims.additions.initialize), (When::End, claims.additions.finalize)];
        let found = wanted.into_iter().filter_map(|(when, routine)| Some((hooks::find(original, when)?, claims.routines + u64::from(routine?))));
        let led: Vec<(Hook, u64)> = found.collect();
        let dynamic = original.dynamic();
        let relocations = dynamic.value(DT_RELA).zip(dynamic.value(DT_RELASZ)).filter(|_| !led.is_empty());
        let mut tables: Vec<Range<u64>> = relocations.map(|(table, size)| table..table + size).into_iter().collect();
        tables.extend(original.segments().iter().filter(|one| one.kind == PT_DYNAMIC).map(Segment::file_range));
        Self { led, tables }
    }

    /// What of the original's bytes changes for them, and the dynamic section: all of that is looked at here.
    pub(super) fn places(&self) -> impl Iterator<Item = Range<u64>> {
        let words = self.led.iter().filter_map(|(hook, _)| hook.word()).map(|word| word..word + 8);
        words.chain(self.tables.iter().cloned())
    }

    /// The routine that the word at a link address leads to.
    fn routine_at(&self, word: u64) -> Option<u64> {
        self.led.iter().find(|(hook, _)| hook.word() == Some(word)).map(|led| led.1)
    }
}

/// Checks all of it.
pub(super) fn check(original: &Image<'_>, written: &Image<'_>, claims: &Claims<'_>, hooks: &Hooks) -> Result<(), Fault> {
    segments(original, written)?;
    dynamic(original, written, claims, hooks)?;
    tables(original, written)?;
    relocations(original, written, hooks)?;
    for &(hook, routine) in &hooks.led {
        let led = hook.word().map(|word| written.pointer_at(word)).unwrap_or(Some(routine));
        if led != Some(routine) {
            return Err(Fault::new(routine, "the loader does not call it"));
        }
    }
    for import in &claims.additions.imports {
        let slot = claims.shared_variables + u64::from(import.slot);
        let filled = written.relocation_at(slot).filter(|one| one.kind == RelocationKind::GlobDat).and_then(|one| one.symbol);
        if filled.is_none_or(|symbol| symbol.name != import.name) {
            return Err(Fault::new(slot, "a function of another image is not asked for"));
        }
    }
    Ok(())
}

fn segments(original: &Image<'_>, written: &Image<'_>) -> Result<(), Fault> {
    let length = written.data().len() as u64;
    for old in original.segments() {
        let fault = Fault::new(old.address, "a segment of the original is not as it was");
        let same_kind = || written.segments().iter().filter(|new| new.kind == old.kind);
        let is_there = match old.kind {
            // What they lead to is looked at elsewhere.
            PT_GNU_EH_FRAME | PT_TLS => same_kind().count() == 1 && same_kind().all(|new| new.flags == old.flags && new.align.is_power_of_two()),
            PT_DYNAMIC => same_kind().count() == 1 && same_kind().all(|new| new == old || is_elsewhere(old, new)),
            PT_PHDR => {
                let size = SEGMENT_SIZE * written.segments().len() as u64;
                let table = (written.segment_table(), size, size, old.flags, old.align);
                let is_table = |new: &Segment| (new.offset, new.file_size, new.memory_size, new.flags, new.align) == table;
                same_kind().any(|new| is_table(new) && is_loaded_there(written, new))
            }
            PT_INTERP | PT_NOTE | PT_GNU_PROPERTY => {
                let content = original.bytes_at(old.address, old.file_size);
                let is_longer = |new: &Segment| old.kind == PT_NOTE && new.file_size == old.file_size + NOTE_SIZE;
                let is_same = |new: &Segment| {
                    let has_content = (new.file_size == old.file_size || is_longer(new)) && written.bytes_at(new.address, old.file_size) == content;
                    is_elsewhere(old, new) && has_content
                };
                same_kind().any(|new| new == old || is_same(new))
            }
            _ => written.segments().contains(old),
        };
        if !is_there {
            return Err(fault);
        }
    }
    for (new, at) in written.segments().iter().zip((written.segment_table()..).step_by(SEGMENT_SIZE as usize)) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let is_known = new.kind == PT_LOAD || NEW_KINDS.contains(&new.kind) || original.segments().iter().any(|old| old.kind == new.kind);
        let is_whole = (new.file_size == new.memory_size || new.kind == PT_TLS) && is_loaded_there(written, new);
        let is_right = original.segments().contains(new) || is_known && is_whole;
        if !is_right || written.data().get(at..).is_none_or(|bytes| !bytes.starts_with(&segment_bytes(new))) {
            return Err(Fault::new(new.address, "a program header is not as it should be"));
        }
    }
    let loaded = |image: &Image<'_>| -> Vec<Segment> { image.segments().iter().filter(|one| one.is_loaded()).copied().collect() };
    let (old, new) = (loaded(original), loaded(written));
    let memory = |one: &Segment| one.address / PAGE * PAGE..(one.address + one.memory_size).next_multiple_of(PAGE);
    for one in new.iter().filter(|one| !old.contains(one)) {
        let overlaps = old.iter().any(|other| memory(other).start < memory(one).end && memory(one).start < memory(other).end);
        let is_in_file = one.offset.checked_add(one.file_size).is_some_and(|end| end <= length) && one.address % PAGE == one.offset % PAGE;
        let is_usual = one.align == PAGE && one.file_size == one.memory_size && [PF_R | PF_X, PF_R | PF_W].contains(&one.flags);
        if overlaps || !is_in_file || !is_usual {
            return Err(Fault::new(one.address, "a new segment cannot be loaded as it should"));
        }
    }
    if new.is_sorted_by_key(|one| one.address) || !old.is_sorted_by_key(|one| one.address) {
        Ok(())
    } else {
        Err(Fault::new(0, "the segments are not in the order of their addresses"))
    }
}

/// Whether a segment may be another one at another place.
fn is_elsewhere(old: &Segment, new: &Segment) -> bool {
    (new.flags, new.align) == (old.flags, old.align) && new.file_size == new.memory_size && new.address != old.address
}

/// Whether what a header says of file and memory is the same place.
fn is_loaded_there(image: &Image<'_>, segment: &Segment) -> bool {
    image.offset_of(segment.address).is_none_or(|offset| offset == segment.offset)
}

fn dynamic(original: &Image<'_>, written: &Image<'_>, claims: &Claims<'_>, hooks: &Hooks) -> Result<(), Fault> {
    let (old, new) = (original.dynamic(), written.dynamic());
    let place = written.segments().iter().find(|one| one.kind == PT_DYNAMIC).map_or(0, |one| one.address);
    let fault = |index: usize| Fault::new(place + DYNAMIC_ENTRY * index as u64, "an entry of the dynamic section is not as it should be");
    let stays = |value: u64| claims.additions.lends_nesting && value & STAYS != 0;
    let is_right = |one: &DynamicEntry, other: &DynamicEntry| match one.tag {
        DT_NEEDED | DT_STRTAB | DT_STRSZ | DT_SYMTAB | DT_VERSYM | DT_RELA | DT_RELASZ | DT_RELACOUNT => true,
        DT_RPATH | DT_RUNPATH => {
            let text = old.text(one.value).unwrap_or_default();
            let led = |origin| text.replace("${ORIGIN}", origin).replace("$ORIGIN", origin);
            let expected = claims.origin.map(led).filter(|led| led != text).map_or_else(|| text.to_owned(), |led| led + NOWHERE);
            // The loader adds the two, wherever that leads.
            let text = written.bytes_from(new.string_table().wrapping_add(other.value)).and_then(|bytes| CStr::from_bytes_until_nul(bytes).ok());
            text.is_some_and(|text| text.to_bytes() == expected.as_bytes())
        }
        DT_FLAGS_1 if stays(other.value) => other.value == one.value | STAYS,
        _ => other.value == hooks.led.iter().find(|(hook, _)| hook.entry() == Some(one.value_offset)).map_or(one.value, |led| led.1),
    };
    for (index, one) in old.entries().iter().enumerate() {
        let other = new.entries().get(index).filter(|other| other.tag == one.tag).ok_or(fault(index))?;
        if !is_right(one, other) {
            return Err(fault(index));
        }
    }
    for (index, added) in new.entries().iter().enumerate().skip(old.entries().len()) {
        let is_wanted = match added.tag {
            DT_NEEDED => true,
            DT_FLAGS_1 => added.value == STAYS && stays(added.value),
            TAG => {
                claims.additions.lends_nesting
                    && claims.additions.thread_distance.is_some_and(|at| added.value == claims.shared_variables + u64::from(at))
            }
            _ => false,
        };
        if !is_wanted {
            return Err(fault(index));
        }
    }
    let (before, mut after) = (old.needed(), new.needed());
    after.retain(|name| before.contains(name) || !claims.additions.libraries.iter().any(|library| library == name));
    let are_all = claims.additions.libraries.iter().all(|library| new.needed().contains(&library.as_str()));
    if before == after && are_all { Ok(()) } else { Err(Fault::new(place, "other libraries are loaded than should be")) }
}

/// The tables of dynamic symbols, of their versions and of names begin with the original's.
fn tables(original: &Image<'_>, written: &Image<'_>) -> Result<(), Fault> {
    let symbols = original.dynamic_symbols().len() as u64;
    let (old, new) = (original.dynamic(), written.dynamic());
    let names = old.value(DT_STRSZ).unwrap_or(0);
    let size = new.value(DT_STRSZ).unwrap_or(0);
    let has_end = written.bytes_at(new.string_table(), size).is_some_and(|strings| strings.last().is_none_or(|&last| last == 0));
    if size < names || size != names && !has_end {
        return Err(Fault::new(new.string_table(), "names of dynamic symbols are cut off"));
    }
    for (tag, size) in [(DT_STRTAB, names), (DT_SYMTAB, symbols * SYMBOL_SIZE), (DT_VERSYM, symbols * 2)] {
        let Some((from, to)) = old.value(tag).zip(new.value(tag)) else { continue };
        let content = original.bytes_at(from, size);
        if content.is_some() && content != written.bytes_at(to, size) {
            return Err(Fault::new(to, "a table of the dynamic section does not begin as the original's"));
        }
    }
    Ok(())
}

/// Every address that the loader filled in it fills in, and no other one in the original.
fn relocations(original: &Image<'_>, written: &Image<'_>, hooks: &Hooks) -> Result<(), Fault> {
    let mut new = written.relocations().iter().peekable();
    let is_outside = |one: &Relocation<'_>| original.segment_at(one.address).is_none();
    let extra =
        |one: &Relocation<'_>| if is_outside(one) { Ok(()) } else { Err(Fault::new(one.address, "the loader writes there in the copy alone")) };
    for one in original.relocations() {
        while let Some(other) = new.next_if(|other| other.address < one.address) {
            extra(other)?;
        }
        let fault = Fault::new(one.address, "the loader does not write there what it does in the original");
        let found = new.next_if(|other| other.address == one.address).ok_or(fault)?;
        let is_led = || found.kind == RelocationKind::Relative && hooks.routine_at(one.address) == Some(found.addend.cast_unsigned());
        if found != one && !is_led() {
            return Err(fault);
        }
    }
    new.try_for_each(extra)?;
    let (before, after) = (original.dynamic().value(DT_RELASZ), written.dynamic().value(DT_RELASZ));
    let added = (written.relocations().len() - original.relocations().len()) as u64;
    if before.map(|size| size + added * RELOCATION_SIZE) != after {
        return Err(Fault::new(0, "the table of relocations is longer or shorter than its entries"));
    }
    // Of so many at the table's head the loader does not ask what they are.
    let dynamic = written.dynamic();
    let Some((count, table)) = dynamic.value(DT_RELACOUNT).zip(dynamic.value(DT_RELA)) else { return Ok(()) };
    let entries = written.bytes_at(table, count.saturating_mul(RELOCATION_SIZE)).unwrap_or_default();
    let is_relative = |entry: &[u8]| entry.get(8..16) == Some(&RELATIVE.to_le_bytes());
    let are_relative =
        entries.len() as u64 == count.saturating_mul(RELOCATION_SIZE) && entries.chunks_exact(RELOCATION_SIZE as usize).all(is_relative);
    if are_relative { Ok(()) } else { Err(Fault::new(table, "relocations are counted as relative that are not")) }
}
