//! Symbols of `.symtab` and `.dynsym`.
//!
//! Without section headers the dynamic symbols are found through the dynamic section and counted by its hash tables.

use crate::Map;
use crate::bytes::{slice, text_at, u16_at, u32_at, u64_at};
use crate::dynamic::Dynamic;
use crate::elf::{SHT_DYNSYM, SHT_SYMTAB};

const ENTRY_SIZE: u64 = 24;
const DT_HASH: u64 = 4;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

/// How a symbol is seen by others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Binding {
    /// From everywhere.
    Global,
    /// From everywhere, unless there is another.
    Weak,
    /// From its own object only.
    Local,
}

/// A symbol of `.symtab` or `.dynsym`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol<'data> {
    /// Raw name, without version.
    pub name: &'data str,
    /// Link address.
    pub address: u64,
    /// Bytes; 0 where unknown.
    pub size: u64,
    /// `STT_FUNC`; ifunc resolvers are `STT_GNU_IFUNC`.
    pub is_function: bool,
    /// `STT_GNU_IFUNC`.
    pub is_ifunc: bool,
    /// Defined here (undefined symbols are reached through the PLT).
    pub is_defined: bool,
    /// Who sees it.
    pub binding: Binding,
    /// `STT_…` of the entry: 0 none, 1 object, 2 function, 3 section, 4 file, 6 thread-local, 10 ifunc.
    pub kind: u8,
    /// Whether it stands in `.dynsym`.
    pub is_dynamic: bool,
}

/// Both tables; the dynamic one also by index, as relocations name it.
#[derive(Default)]
pub(crate) struct Symbols<'data> {
    /// Sorted by address, then binding, then name; equal ones once.
    pub(crate) sorted: Vec<Symbol<'data>>,
    /// In the order of `.dynsym`.
    pub(crate) dynamic: Vec<Symbol<'data>>,
}

pub(crate) fn parse<'data>(map: &Map<'data>, dynamic: &Dynamic<'data>) -> Symbols<'data> {
    let mut symbols = Symbols { sorted: Vec::new(), dynamic: dynamic_table(map, dynamic) };
    symbols.add(table_by_section(map, SHT_SYMTAB, false));
    symbols.add(symbols.dynamic.clone());
    symbols
}

/// The dynamic ones alone.
pub(crate) fn parse_dynamic<'data>(map: &Map<'data>, dynamic: &Dynamic<'data>) -> Symbols<'data> {
    let mut symbols = Symbols { sorted: Vec::new(), dynamic: dynamic_table(map, dynamic) };
    symbols.add(symbols.dynamic.clone());
    symbols
}

fn dynamic_table<'data>(map: &Map<'data>, dynamic: &Dynamic<'data>) -> Vec<Symbol<'data>> {
    let by_section = table_by_section(map, SHT_DYNSYM, true);
    if by_section.is_empty() { table_by_loader(map, dynamic) } else { by_section }
}

impl<'data> Symbols<'data> {
    /// Sorts more symbols in.
    pub(crate) fn add(&mut self, more: Vec<Symbol<'data>>) {
        self.sorted.extend(more.into_iter().filter(|symbol| !symbol.name.is_empty()));
        self.sorted.sort_by_key(|symbol| (symbol.address, symbol.binding, symbol.name, symbol.is_dynamic));
        self.sorted.dedup_by(|b, a| a.address == b.address && a.name == b.name && a.kind == b.kind);
    }
}

fn table_by_section<'data>(map: &Map<'data>, kind: u32, is_dynamic: bool) -> Vec<Symbol<'data>> {
    let Some(section) = map.sections.iter().find(|section| section.kind == kind) else {
        return Vec::new();
    };
    let strings = map.sections.get(section.link as usize);
    let strings = strings.and_then(|strings| map.file_bytes(strings.offset, strings.size)).unwrap_or_default();
    let bytes = map.file_bytes(section.offset, section.size).unwrap_or_default();
    table(bytes, strings, is_dynamic)
}

fn table_by_loader<'data>(map: &Map<'data>, dynamic: &Dynamic<'data>) -> Vec<Symbol<'data>> {
    let strings = map.bytes_from(dynamic.string_table()).unwrap_or_default();
    let bytes = dynamic.value(DT_SYMTAB).and_then(|address| map.bytes_from(address)).unwrap_or_default();
    let count = dynamic
        .value(DT_HASH)
        .and_then(|address| u32_at(map.bytes_from(address)?, 4))
        .or_else(|| gnu_hash_count(map.bytes_from(dynamic.value(DT_GNU_HASH)?)?))
        .unwrap_or(0);
    let length = (u64::from(count) * ENTRY_SIZE).min(bytes.len() as u64);
    table(slice(bytes, 0, length).unwrap_or_default(), strings, true)
}

/// The number of symbols is not written down: the last chain of the last bucket ends it.
fn gnu_hash_count(table: &[u8]) -> Option<u32> {
    let buckets = u32_at(table, 0)?;
    let first = u32_at(table, 4)?;
    let bloom = u32_at(table, 8)?;
    let bucket_table = 16 + usize::try_from(bloom).ok()?.checked_mul(8)?;
    let chains = bucket_table.checked_add(usize::try_from(buckets).ok()?.checked_mul(4)?)?;
    let bytes = table.get(bucket_table..chains)?;
    let mut last = bytes.chunks_exact(4).filter_map(|bucket| u32_at(bucket, 0)).max()?;
    if last < first {
        return Some(first);
    }
    loop {
        let at = chains.checked_add(usize::try_from(last - first).ok()?.checked_mul(4)?)?;
        last = last.checked_add(1)?;
        if u32_at(table, at)? & 1 != 0 {
            return Some(last);
        }
    }
}

/// The entries of a symbol table.
pub(crate) fn table<'data>(bytes: &'data [u8], strings: &'data [u8], is_dynamic: bool) -> Vec<Symbol<'data>> {
    let entries = bytes.chunks_exact(ENTRY_SIZE as usize);
    entries.filter_map(|entry| symbol(entry, strings, is_dynamic)).collect()
}

fn symbol<'data>(entry: &[u8], strings: &'data [u8], is_dynamic: bool) -> Option<Symbol<'data>> {
    let info = *entry.get(4)?;
    let kind = info & 0xf;
    Some(Symbol {
        name: without_version(text_at(strings, u64::from(u32_at(entry, 0)?)).unwrap_or_default()),
        address: u64_at(entry, 8)?,
        size: u64_at(entry, 16)?,
        is_function: kind == 2 || kind == 10,
        is_ifunc: kind == 10,
        is_defined: u16_at(entry, 6)? != 0,
        binding: match info >> 4 {
            0 => Binding::Local,
            2 => Binding::Weak,
            _ => Binding::Global,
        },
        kind,
        is_dynamic,
    })
}

/// `memcpy@@GLIBC_2.14` is `memcpy`.
fn without_version(name: &str) -> &str {
    match name.find('@') {
        Some(at) if at > 0 => name.get(..at).unwrap_or(name),
        _ => name,
    }
}
