//! Functions and libraries that the output wants from the loader besides those of the original.
//!
//! The tables of dynamic symbols, of their versions and of their names are copied to the new segment and extended
//! there; the dynamic section says so in the entries that it has. Libraries take up entries that linkers leave free at
//! its end; where there are too few of them, the section is copied to the new segment as well. They stand in front of the C library,
//! as linkers have it, since that has some of the functions that a library may bring (`__cyg_profile_func_enter`). Each function has
//! a slot in the writable segment that the loader fills at start, so that the first call does not run the loader's resolver.

use std::ops::Range;

use tare_image::{Binding, Image, Kind, Segment};

use crate::adapter::nesting::TAG;
use crate::elf::PT_DYNAMIC;
use crate::elf::dynamic::{Patch, relocation_table_size};
use crate::error::RewriteError;
use crate::insertion::{Additions, Import};

pub(crate) const DT_NEEDED: u64 = 1;
pub(crate) const DT_STRTAB: u64 = 5;
pub(crate) const DT_SYMTAB: u64 = 6;
pub(crate) const DT_STRSZ: u64 = 10;
pub(crate) const DT_VERSYM: u64 = 0x6fff_fff0;
pub(crate) const DT_FLAGS_1: u64 = 0x6fff_fffb;
pub(crate) const SYMBOL_SIZE: u64 = 24;
/// Bytes of an entry of the dynamic section.
pub(crate) const DYNAMIC_ENTRY: u64 = 16;
/// Global and of no type: a function or none, as the loader finds it.
const GLOBAL: u8 = 1 << 4;
const WEAK: u8 = 2 << 4;
/// `DF_1_NODELETE`.
pub(crate) const STAYS: u64 = 8;
/// In the table of versions: of no particular version.
const ANY_VERSION: u16 = 1;

/// The extended tables, as one block.
#[derive(Default)]
pub(crate) struct Imports {
    pub(crate) bytes: Vec<u8>,
    versions_at: Option<u64>,
    strings_at: u64,
    /// Index of each function's symbol, in their order.
    pub(crate) symbols: Vec<u32>,
    /// Positions of the names of all libraries in the strings, in the order in which they are searched, where some are new.
    needed: Vec<u64>,
    /// How many of them are new.
    libraries: usize,
    /// Whether an entry of the dynamic section says where other copies find the threads' stacks of open regions.
    has_nesting: bool,
    /// Whether another entry is needed to keep the image loaded.
    stays: bool,
}

/// Where the tables are in the output, for the section headers.
pub(crate) struct Tables {
    /// Link addresses in the original and in the output of the table of symbols, of versions and of strings, and of the
    /// dynamic section.
    pub(crate) moved: Vec<(u64, Range<u64>)>,
}

impl Imports {
    /// Extends the tables of an image.
    pub(crate) fn new(image: &Image<'_>, additions: &Additions) -> Result<Self, RewriteError> {
        let Additions { imports: wanted, libraries, .. } = additions;
        if wanted.is_empty() && libraries.is_empty() {
            return Ok(Self::default());
        }
        let unusual = RewriteError::Headers { what: "the tables of dynamic symbols cannot be found" };
        if relocation_table_size(image).is_none() {
            return Err(RewriteError::Headers { what: "there is no relocation table to be extended" });
        }
        let dynamic = image.dynamic();
        let known = image.dynamic_symbols();
        let count = known.len() as u64;
        let table = |tag, size| dynamic.value(tag).and_then(|address| image.bytes_at(address, size));
        let symbols = table(DT_SYMTAB, count * SYMBOL_SIZE).ok_or(unusual.clone())?;
        let strings = dynamic.value(DT_STRSZ).and_then(|size| table(DT_STRTAB, size)).ok_or(unusual)?;
        let versions = table(DT_VERSYM, count * 2);
        let (mut symbols, mut strings) = (symbols.to_vec(), strings.to_vec());
        let mut versions = versions.map(<[u8]>::to_vec);
        let mut imports = Self { has_nesting: additions.lends_nesting, ..Self::default() };
        imports.stays = imports.has_nesting && image.kind() == Kind::SharedLibrary && dynamic.value(DT_FLAGS_1).is_none();
        let mut next = u32::try_from(count).unwrap_or(u32::MAX);
        for Import { name, is_optional, .. } in wanted {
            let binding = if *is_optional { Binding::Weak } else { Binding::Global };
            let is_same = |one: &tare_image::Symbol<'_>| one.name == name && !one.is_defined && one.binding == binding;
            if let Some(index) = known.iter().position(is_same) {
                imports.symbols.push(u32::try_from(index).unwrap_or(0));
                continue;
            }
            let mut symbol = [0; SYMBOL_SIZE as usize];
            let at = u32::try_from(append(&mut strings, name)).unwrap_or(0);
            symbol[..4].copy_from_slice(&at.to_le_bytes());
            symbol[4] = if *is_optional { WEAK } else { GLOBAL };
            symbols.extend(symbol);
            if let Some(versions) = &mut versions {
                versions.extend(ANY_VERSION.to_le_bytes());
            }
            imports.symbols.push(next);
            next += 1;
        }
        let is_new = |library: &&String| !dynamic.needed().contains(&library.as_str());
        let new: Vec<u64> = libraries.iter().filter(is_new).map(|library| append(&mut strings, library)).collect();
        imports.libraries = new.len();
        imports.needed = dynamic.entries().iter().filter(|entry| entry.tag == DT_NEEDED).map(|entry| entry.value).collect();
        let place = dynamic.needed().iter().position(|name| is_c_library(name)).unwrap_or(imports.needed.len());
        imports.needed.splice(place..place, new);
        imports.bytes = symbols;
        if let Some(versions) = versions {
            imports.versions_at = Some(imports.bytes.len() as u64);
            imports.bytes.extend(versions);
        }
        imports.strings_at = imports.bytes.len() as u64;
        imports.bytes.extend(strings);
        Ok(imports)
    }

    /// Where the names are, for a block at a link address: where it is copied, or where it was.
    pub(crate) fn string_table(&self, image: &Image<'_>, address: u64) -> u64 {
        if self.bytes.is_empty() { image.dynamic().string_table() } else { address + self.strings_at }
    }

    /// The dynamic section's values for a block at a link address.
    pub(crate) fn patches(&self, image: &Image<'_>, address: u64) -> Vec<Patch> {
        if self.bytes.is_empty() {
            return Vec::new();
        }
        let size = self.bytes.len() as u64 - self.strings_at;
        let value = |tag| match tag {
            DT_SYMTAB => Some(address),
            DT_VERSYM => self.versions_at.map(|at| address + at),
            DT_STRTAB => Some(address + self.strings_at),
            DT_STRSZ => Some(size),
            _ => None,
        };
        let stays = |entry: &tare_image::DynamicEntry| {
            (self.has_nesting && image.kind() == Kind::SharedLibrary && entry.tag == DT_FLAGS_1).then_some(entry.value | STAYS)
        };
        let entries = image.dynamic().entries();
        let libraries = entries.iter().filter(|entry| entry.tag == DT_NEEDED).zip(&self.needed).map(|(entry, &name)| (entry.value_offset, name));
        entries.iter().filter_map(|entry| Some((entry.value_offset, value(entry.tag).or_else(|| stays(entry))?))).chain(libraries).collect()
    }

    /// Bytes of the dynamic section with its new entries, where it has to be copied for them; else 0.
    pub(crate) fn dynamic_size(&self, image: &Image<'_>) -> u64 {
        let added = self.entries(0).len() as u64;
        // One entry of zeros must stay at the end.
        let size = DYNAMIC_ENTRY * (image.dynamic().entries().len() as u64 + 1) + added;
        let room = dynamic_segment(image).map_or(0, |segment| segment.file_size);
        if added == 0 || size <= room { 0 } else { size }
    }

    /// New entries of the dynamic section: the last libraries, and where other copies find how regions nest.
    pub(crate) fn entries(&self, nesting: u64) -> Vec<u8> {
        let libraries = self.needed.iter().skip(self.needed.len() - self.libraries).map(|&library| [DT_NEEDED, library]);
        let nesting = self.has_nesting.then_some([TAG, nesting]);
        let stays = self.stays.then_some([DT_FLAGS_1, STAYS]);
        libraries.chain(nesting).chain(stays).flatten().flat_map(u64::to_le_bytes).collect()
    }

    /// Where the tables went, for a block at a link address and a copy of the dynamic section.
    pub(crate) fn tables(&self, image: &Image<'_>, address: u64, dynamic: &Range<u64>) -> Tables {
        let end = address + self.bytes.len() as u64;
        let strings = address + self.strings_at;
        let versions = self.versions_at.map(|at| address + at);
        let tag = |tag| image.dynamic().value(tag);
        let symbols = tag(DT_SYMTAB).map(|old| (old, address..versions.unwrap_or(strings)));
        let versions = tag(DT_VERSYM).zip(versions).map(|(old, at)| (old, at..strings));
        let strings = tag(DT_STRTAB).map(|old| (old, strings..end));
        let dynamic = dynamic_segment(image).filter(|_| !dynamic.is_empty()).map(|old| (old.address, dynamic.clone()));
        let moved = if self.bytes.is_empty() { Vec::new() } else { [symbols, versions, strings, dynamic].into_iter().flatten().collect() };
        Tables { moved }
    }
}

/// Where the dynamic section is.
pub(crate) fn dynamic_segment<'a>(image: &'a Image<'_>) -> Option<&'a Segment> {
    image.segments().iter().find(|segment| segment.kind == PT_DYNAMIC)
}

/// Whether a library is the C library: what an adapter depends on stands in front of it.
#[must_use]
pub fn is_c_library(name: &str) -> bool {
    ["libc.so", "libc.musl"].iter().any(|start| name.starts_with(start))
}

fn append(strings: &mut Vec<u8>, name: &str) -> u64 {
    let at = strings.len() as u64;
    strings.extend(name.bytes());
    strings.push(0);
    at
}
