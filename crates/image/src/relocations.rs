//! What the loader writes into the image: relocations of `.rela.dyn`, `.rela.plt` and `DT_RELR`.
//!
//! Holds after parsing: relocations are sorted by address.

use std::ops::Range;

use crate::Map;
use crate::bytes::{u32_at, u64_at};
use crate::dynamic::Dynamic;
use crate::elf::{SHT_RELA, Segment};
use crate::symbols::Symbol;

const ENTRY_SIZE: u64 = 24;
const DT_PLTRELSZ: u64 = 2;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_JMPREL: u64 = 23;
const DT_RELRSZ: u64 = 35;
const DT_RELR: u64 = 36;
/// The second word of a record for an indirect function: its kind, and no symbol.
const IRELATIVE: u64 = 37;

/// What a relocation puts into its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelocationKind {
    /// The load bias plus the addend (`R_X86_64_RELATIVE` and `DT_RELR`; the addend is filled in for both).
    Relative,
    /// What the resolver at the addend answers (`R_X86_64_IRELATIVE`).
    Irelative,
    /// The address of a symbol, for a call through the PLT (`R_X86_64_JUMP_SLOT`).
    JumpSlot,
    /// The address of a symbol (`R_X86_64_GLOB_DAT`).
    GlobDat,
    /// The address of a symbol plus the addend (`R_X86_64_64`).
    Absolute64,
    /// Any other, by number.
    Other(u32),
}

/// A relocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation<'data> {
    /// Link address that is written.
    pub address: u64,
    /// What is written.
    pub kind: RelocationKind,
    /// Its symbol, if it has one.
    pub symbol: Option<Symbol<'data>>,
    /// Addend; a link address for [`RelocationKind::Relative`] and [`RelocationKind::Irelative`].
    pub addend: i64,
}

impl Relocation<'_> {
    /// The link address of this image that is written here, if it is one.
    #[must_use]
    pub fn link_address(&self) -> Option<u64> {
        match (self.kind, self.symbol) {
            (RelocationKind::Relative, _) => Some(self.addend.cast_unsigned()),
            (RelocationKind::Absolute64 | RelocationKind::GlobDat | RelocationKind::JumpSlot, Some(symbol)) => {
                let address = symbol.address.wrapping_add_signed(self.addend);
                (symbol.is_defined && !symbol.is_ifunc).then_some(address)
            }
            _ => None,
        }
    }
}

pub(crate) fn parse<'data>(map: &Map<'data>, dynamic: &Dynamic<'data>, symbols: &[Symbol<'data>]) -> Vec<Relocation<'data>> {
    let mut found = Vec::new();
    for (address, size) in tables(map, dynamic) {
        let mut at = 0;
        while at + ENTRY_SIZE <= size {
            let Some(bytes) = map.bytes_at(address.wrapping_add(at), ENTRY_SIZE) else { break };
            found.extend(relocation(bytes, symbols));
            at += ENTRY_SIZE;
        }
    }
    if let (Some(address), Some(size)) = (dynamic.value(DT_RELR), dynamic.value(DT_RELRSZ)) {
        relr(map, address, size, &mut found);
    }
    found.sort_by_key(|relocation| relocation.address);
    found.dedup();
    found
}

/// Tables as the loader finds them; for images without it, by section.
fn tables(map: &Map<'_>, dynamic: &Dynamic<'_>) -> Vec<(u64, u64)> {
    let pairs = [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)];
    let values = pairs.into_iter().filter_map(|(table, size)| Some((dynamic.value(table)?, dynamic.value(size)?)));
    let mut tables: Vec<(u64, u64)> = values.collect();
    if tables.is_empty() {
        let sections = map.sections.iter().filter(|section| section.kind == SHT_RELA && section.is_loaded());
        tables.extend(sections.map(|section| (section.address, section.size)));
    }
    if tables.is_empty() && map.sections.is_empty() {
        tables.extend(resolved_at_start(map));
    }
    tables
}

/// The table of indirect functions that a static program resolves itself, where nothing says where it is: records one
/// behind the other whose kind, place and resolver fit.
fn resolved_at_start(map: &Map<'_>) -> Option<(u64, u64)> {
    let loaded = || map.segments.iter().filter(|segment| segment.is_loaded());
    let is_within = |segment: &Segment, address: u64| address.wrapping_sub(segment.address) < segment.memory_size;
    let holds = |address: u64, fits: &dyn Fn(&Segment) -> bool| loaded().any(|segment| is_within(segment, address) && fits(segment));
    let fits = |record: &[u8]| {
        let words = [u64_at(record, 0), u64_at(record, 8), u64_at(record, 16)];
        let [Some(place), Some(IRELATIVE), Some(resolver)] = words else { return false };
        place % 8 == 0 && holds(place, &Segment::is_writable) && holds(resolver, &Segment::is_executable)
    };
    for segment in loaded().filter(|segment| !segment.is_writable()) {
        let range = segment.file_range();
        let Some(bytes) = map.bytes_at(range.start, range.end.saturating_sub(range.start)) else { continue };
        let lead = range.start.wrapping_neg() as usize % 8;
        let Some(first) = (lead..bytes.len()).step_by(8).find(|&at| bytes.get(at..at + ENTRY_SIZE as usize).is_some_and(fits)) else { continue };
        let records = bytes.get(first..).unwrap_or_default().chunks_exact(ENTRY_SIZE as usize);
        return Some((range.start + first as u64, records.take_while(|record| fits(record)).count() as u64 * ENTRY_SIZE));
    }
    None
}

fn relocation<'data>(bytes: &[u8], symbols: &[Symbol<'data>]) -> Option<Relocation<'data>> {
    let kind = match u32_at(bytes, 8)? {
        0 => return None,
        1 => RelocationKind::Absolute64,
        6 => RelocationKind::GlobDat,
        7 => RelocationKind::JumpSlot,
        8 => RelocationKind::Relative,
        37 => RelocationKind::Irelative,
        other => RelocationKind::Other(other),
    };
    let symbol = u32_at(bytes, 12)?;
    Some(Relocation {
        address: u64_at(bytes, 0)?,
        kind,
        symbol: if symbol == 0 { None } else { symbols.get(symbol as usize).copied() },
        addend: u64_at(bytes, 16)?.cast_signed(),
    })
}

/// An even word is the address of a relocated word; an odd one is a map of the 63 words behind.
fn relr(map: &Map<'_>, table: u64, size: u64, found: &mut Vec<Relocation<'_>>) {
    let mut next = 0_u64;
    let mut relocate = |address: u64| {
        if let Some(addend) = map.u64_at(address) {
            let addend = addend.cast_signed();
            found.push(Relocation { address, kind: RelocationKind::Relative, symbol: None, addend });
        }
    };
    for at in (0..size & !7).step_by(8) {
        let Some(word) = map.u64_at(table.wrapping_add(at)) else { return };
        if word & 1 == 0 {
            relocate(word);
            next = word.wrapping_add(8);
            continue;
        }
        for bit in 0..63_u64 {
            if word >> (bit + 1) & 1 != 0 {
                relocate(next.wrapping_add(bit * 8));
            }
        }
        next = next.wrapping_add(63 * 8);
    }
}

/// Relocations whose place lies in a range.
pub(crate) fn within<'a, 'data>(sorted: &'a [Relocation<'data>], range: &Range<u64>) -> &'a [Relocation<'data>] {
    let first = sorted.partition_point(|one| one.address < range.start);
    let end = sorted.partition_point(|one| one.address < range.end);
    sorted.get(first..end.max(first)).unwrap_or_default()
}
