//! Entries of the procedure linkage table and the names behind them.
//!
//! An entry ends in `jmp *slot(%rip)`, perhaps behind `endbr64` and a `bnd` prefix, or, of mold, `endbr64` and the entry's number for
//! the resolver; the relocation of the slot has the name. The bytes are recognised as such, so that layouts of different linkers need no cases of their own.

use std::collections::HashMap;
use std::ops::Range;

use crate::Map;
use crate::bytes::u32_at;
use crate::relocations::{Relocation, RelocationKind, within};
use crate::symbols::Symbol;
use crate::unwind::Fde;

/// An entry of the procedure linkage table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PltEntry<'data> {
    /// Link address of its first instruction.
    pub address: u64,
    /// Link address of the slot it jumps through.
    pub slot: u64,
    /// Name of the function it leads to; `None` for an ifunc whose name was stripped.
    pub name: Option<&'data str>,
    /// The function's link address where it is defined in this image.
    pub target: Option<u64>,
}

/// Sections whose code is the linker's, not the program's.
pub(crate) const PLT_SECTIONS: [&str; 5] = [".plt", ".plt.got", ".plt.sec", ".iplt", ".plt.bnd"];

pub(crate) struct Plt<'data> {
    /// Sorted by address.
    pub(crate) entries: Vec<PltEntry<'data>>,
    pub(crate) ranges: Vec<Range<u64>>,
}

pub(crate) fn parse<'data>(map: &Map<'data>, relocations: &[Relocation<'data>], symbols: &[Symbol<'data>], fdes: &[Fde<'data>]) -> Plt<'data> {
    let ifuncs = symbols.iter().filter(|symbol| symbol.is_ifunc && symbol.is_defined);
    let ifuncs: HashMap<u64, &str> = ifuncs.map(|symbol| (symbol.address, symbol.name)).collect();
    let name = |slot| slot_name(relocations, &ifuncs, slot);
    let sections = map.sections.iter().filter(|section| PLT_SECTIONS.contains(&section.name));
    let mut ranges: Vec<Range<u64>> = sections.map(|section| section.range()).collect();
    let mut entries = Vec::new();
    for range in &ranges {
        scan(map, range, &name, &mut entries);
    }
    if map.sections.is_empty() {
        let lazy = |slot| name(slot).filter(|found| matches!(found.0, RelocationKind::JumpSlot | RelocationKind::Irelative));
        for segment in map.segments.iter().filter(|segment| segment.is_loaded() && segment.is_executable()) {
            scan(map, &segment.file_range(), &lazy, &mut entries);
        }
        ranges.extend(without_sections(&entries));
        for fde in fdes.iter().filter(|fde| asks_for_the_slot(fde) || holds_entries_alone(map, &fde.range, &name)) {
            scan(map, &fde.range, &name, &mut entries);
            ranges.push(fde.range.clone());
        }
    }
    entries.sort_by_key(|entry| entry.address);
    entries.dedup_by_key(|entry| entry.address);
    Plt { entries, ranges }
}

type Named<'data> = (RelocationKind, Option<&'data str>, Option<u64>);

/// What a slot will hold, if it is relocated to a function.
fn slot_name<'data>(relocations: &[Relocation<'data>], ifuncs: &HashMap<u64, &'data str>, slot: u64) -> Option<Named<'data>> {
    let found = within(relocations, &(slot..slot.checked_add(1)?)).first()?;
    match found.kind {
        RelocationKind::Irelative => Some((found.kind, ifuncs.get(&found.addend.cast_unsigned()).copied(), None)),
        RelocationKind::JumpSlot | RelocationKind::GlobDat | RelocationKind::Absolute64 => {
            Some((found.kind, Some(found.symbol?.name), found.link_address()))
        }
        RelocationKind::Relative => Some((found.kind, None, found.link_address())),
        RelocationKind::Other(_) => None,
    }
}

fn scan<'data>(map: &Map<'data>, range: &Range<u64>, name: &dyn Fn(u64) -> Option<Named<'data>>, entries: &mut Vec<PltEntry<'data>>) {
    let code = map.bytes_at(range.start, range.end.saturating_sub(range.start)).unwrap_or_default();
    let mut at = 0;
    while let Some(found) = code.get(at..).and_then(|rest| rest.windows(2).position(|two| two == [0xff, 0x25])) {
        let jump = at + found;
        at = jump + 1;
        let Some(displacement) = u32_at(code, jump + 2) else { return };
        let behind = range.start + jump as u64 + 6;
        let slot = behind.wrapping_add_signed(i64::from(displacement.cast_signed()));
        if let Some((_, name, target)) = name(slot) {
            let address = range.start + entry_start(code, jump) as u64;
            entries.push(PltEntry { address, slot, name, target });
            at = jump + 6;
        }
    }
}

/// Goes back over a `bnd` prefix or `mov $number, %r11d`, and an `endbr64`.
fn entry_start(code: &[u8], jump: usize) -> usize {
    let before = code.get(..jump).unwrap_or_default();
    match before {
        [.., 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, _, _, _, _] => jump - 10,
        [.., 0xf3, 0x0f, 0x1e, 0xfa, 0xf2] => jump - 5,
        [.., 0xf3, 0x0f, 0x1e, 0xfa] => jump - 4,
        [.., 0xf2] => jump - 1,
        _ => jump,
    }
}

/// Runs of entries at most 16 bytes apart, with the common head of 16 bytes in front.
fn without_sections(entries: &[PltEntry<'_>]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for entry in entries {
        match ranges.last_mut() {
            Some(last) if entry.address <= last.end => last.end = entry.address + 16,
            _ => ranges.push(entry.address.saturating_sub(16)..entry.address + 16),
        }
    }
    ranges
}

/// Whether an unwind entry computes the frame from the position within an entry of 16 bytes, as linkers' own do: its
/// expression begins with `rsp + 8` and the instruction pointer.
fn asks_for_the_slot(fde: &Fde<'_>) -> bool {
    fde.instructions.windows(4).any(|bytes| bytes == [0x77, 8, 0x80, 0])
}

/// Whether code consists of jumps through slots, each in its 8 or 16 bytes.
fn holds_entries_alone<'data>(map: &Map<'data>, range: &Range<u64>, name: &dyn Fn(u64) -> Option<Named<'data>>) -> bool {
    let code = map.bytes_at(range.start, range.end.saturating_sub(range.start)).unwrap_or_default();
    let is_entry = |at: usize, size: usize| {
        let entry = code.get(at..at + size)?;
        let jump = entry.windows(2).position(|two| two == [0xff, 0x25])?;
        let behind = range.start + (at + jump) as u64 + 6;
        let slot = behind.wrapping_add_signed(i64::from(u32_at(entry, jump + 2)?.cast_signed()));
        (entry_start(entry, jump) == 0 && name(slot).is_some()).then_some(())
    };
    let sizes = [8, 16].into_iter().filter(|size| !code.is_empty() && code.len().is_multiple_of(*size));
    sizes.into_iter().any(|size| (0..code.len()).step_by(size).all(|at| is_entry(at, size).is_some()))
}

#[cfg(test)]
mod tests {
    use super::entry_start;

    #[test]
    fn entries_begin_where_calls_lead() {
        const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        let forms = [&[][..], &ENDBR64, &[0xf2], &[&ENDBR64[..], &[0xf2]].concat(), &[&ENDBR64[..], &[0x41, 0xbb, 7, 0, 0, 0]].concat()];
        for form in forms {
            let code = [&[0xcc, 0xcc][..], form, &[0xff, 0x25]].concat();
            assert_eq!(entry_start(&code, 2 + form.len()), 2, "{form:02x?}");
        }
    }
}
