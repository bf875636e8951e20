//! The dynamic section: what the loader is told.

use crate::Map;
use crate::bytes::{text_at, u64_at};
use crate::elf::{PT_DYNAMIC, Segment};

const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_1_PIE: u64 = 0x0800_0000;

/// An entry of the dynamic section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DynamicEntry {
    /// `DT_…`.
    pub tag: u64,
    /// Its `d_val` or `d_ptr`.
    pub value: u64,
    /// Where the value stands in the file.
    pub value_offset: u64,
    /// Link address of the value.
    pub value_address: u64,
}

/// A search path of the loader, and where to redirect it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchPath<'data> {
    /// Directories, colon-separated, `$ORIGIN` not replaced.
    pub text: &'data str,
    /// The entry that holds its position in the string table.
    pub entry: DynamicEntry,
}

/// The dynamic section.
#[derive(Default)]
pub struct Dynamic<'data> {
    entries: Vec<DynamicEntry>,
    strings: &'data [u8],
    string_table: u64,
}

impl<'data> Dynamic<'data> {
    pub(crate) fn parse(map: &Map<'data>) -> Self {
        let Some(segment) = map.segments.iter().find(|one| one.kind == PT_DYNAMIC) else {
            return Self::default();
        };
        let mut found = Self { entries: entries(map, segment), ..Self::default() };
        if let Some(table) = found.value(DT_STRTAB) {
            found.string_table = table;
            found.strings = map.bytes_from(table).unwrap_or_default();
        }
        found
    }

    /// All entries in front of `DT_NULL`.
    #[must_use]
    pub fn entries(&self) -> &[DynamicEntry] {
        &self.entries
    }

    /// The value of the first entry of this tag.
    #[must_use]
    pub fn value(&self, tag: u64) -> Option<u64> {
        self.entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// The text at a position in the dynamic string table.
    #[must_use]
    pub fn text(&self, position: u64) -> Option<&'data str> {
        text_at(self.strings, position)
    }

    /// Link address of the dynamic string table; 0 if there is none.
    #[must_use]
    pub const fn string_table(&self) -> u64 {
        self.string_table
    }

    /// Names of the libraries that are needed.
    #[must_use]
    pub fn needed(&self) -> Vec<&'data str> {
        let needed = self.entries.iter().filter(|entry| entry.tag == DT_NEEDED);
        needed.filter_map(|entry| self.text(entry.value)).collect()
    }

    /// The library's own name.
    #[must_use]
    pub fn soname(&self) -> Option<&'data str> {
        self.text(self.value(DT_SONAME)?)
    }

    /// `DT_RUNPATH`.
    #[must_use]
    pub fn runpath(&self) -> Option<SearchPath<'data>> {
        self.path(DT_RUNPATH)
    }

    /// `DT_RPATH`, of old.
    #[must_use]
    pub fn rpath(&self) -> Option<SearchPath<'data>> {
        self.path(DT_RPATH)
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.value(DT_FLAGS_1).is_some_and(|flags| flags & DF_1_PIE != 0)
    }

    fn path(&self, tag: u64) -> Option<SearchPath<'data>> {
        let entry = *self.entries.iter().find(|entry| entry.tag == tag)?;
        Some(SearchPath { text: self.text(entry.value)?, entry })
    }
}

fn entries(map: &Map<'_>, segment: &Segment) -> Vec<DynamicEntry> {
    let mut found = Vec::new();
    let mut position = 0;
    while position + 16 <= segment.file_size {
        let Some(bytes) = map.file_bytes(segment.offset + position, 16) else { break };
        let (Some(tag), Some(value)) = (u64_at(bytes, 0), u64_at(bytes, 8)) else { break };
        if tag == 0 {
            break;
        }
        found.push(DynamicEntry {
            tag,
            value,
            value_offset: segment.offset + position + 8,
            value_address: segment.address.wrapping_add(position + 8),
        });
        position += 16;
    }
    found
}
