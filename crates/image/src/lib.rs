//! ELF and DWARF: bytes in, values out.
//!
//! [`Image::parse`] reads what an x86-64 ELF file says of itself: segments, symbols, relocations, PLT entries,
//! unwind and exception tables, needed libraries, notes. On request [`debug`] finds DWARF sections and says which other
//! files hold more of them, [`lines`] reads line tables, [`inlines`] the functions that were inlined.
//! What is absent: instructions are not decoded here, files are not opened, and no input makes it panic.

mod bytes;
mod cfi;
pub mod debug;
mod dynamic;
mod elf;
mod error;
mod finder;
mod foreign;
pub mod inlines;
pub mod lines;
mod lsda;
mod names;
mod plt;
mod relocations;
mod subprograms;
mod symbols;
mod unwind;
mod versions;

use std::collections::HashMap;
use std::ops::Range;

pub use cfi::{Cfa, CfaRows, CfiInstruction, CfiInstructions, CfiOp};
pub use dynamic::{Dynamic, DynamicEntry, SearchPath};
pub use elf::{Section, Segment};
pub use error::ImageError;
pub use finder::Finder;
pub use foreign::Foreign;
pub use lsda::{CallSite, Lsda};
pub use names::{demangle, hexadecimal};
pub use plt::PltEntry;
pub use relocations::{Relocation, RelocationKind};
use symbols::Symbols;
pub use symbols::{Binding, Symbol};
pub use unwind::{Fde, UnwindTables};
pub use versions::Version;

/// What an image is, as the loader sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Position-independent executable.
    Pie,
    /// Position-dependent executable with a loader.
    NonPie,
    /// Position-dependent executable without a loader.
    Static,
    /// Position-independent executable without a loader.
    StaticPie,
    /// Shared library.
    SharedLibrary,
}

impl Kind {
    /// Whether it may be loaded anywhere.
    #[must_use]
    pub const fn is_position_independent(self) -> bool {
        matches!(self, Self::Pie | Self::StaticPie | Self::SharedLibrary)
    }
}

/// Where the bytes of link addresses are in the file.
pub(crate) struct Map<'data> {
    data: &'data [u8],
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section<'data>>,
}

impl<'data> Map<'data> {
    pub(crate) fn file_bytes(&self, offset: u64, size: u64) -> Option<&'data [u8]> {
        bytes::slice(self.data, offset, size)
    }

    fn segment_at(&self, address: u64) -> Option<&Segment> {
        self.segments.iter().find(|one| one.is_loaded() && one.file_range().contains(&address))
    }

    pub(crate) fn file_end(&self, address: u64) -> Option<u64> {
        self.segment_at(address).map(|one| one.file_range().end)
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        self.segment_at(address)?.offset.checked_add(address - self.segment_at(address)?.address)
    }

    pub(crate) fn bytes_from(&self, address: u64) -> Option<&'data [u8]> {
        let segment = self.segment_at(address)?;
        let skip = address - segment.address;
        self.file_bytes(segment.offset.checked_add(skip)?, segment.file_size - skip)
    }

    pub(crate) fn bytes_at(&self, address: u64, length: u64) -> Option<&'data [u8]> {
        self.bytes_from(address)?.get(..usize::try_from(length).ok()?)
    }

    pub(crate) fn u64_at(&self, address: u64) -> Option<u64> {
        bytes::u64_at(self.bytes_from(address)?, 0)
    }
}

/// A parsed image. All addresses are link addresses as plain `u64` inside ranges, for arithmetic.
pub struct Image<'data> {
    map: Map<'data>,
    kind: Kind,
    entry: u64,
    segment_table: u64,
    section_table: u64,
    dynamic: Dynamic<'data>,
    symbols: Symbols<'data>,
    relocations: Vec<Relocation<'data>>,
    /// Versions of imports by their names.
    versions: HashMap<&'data str, Version<'data>>,
    plt: plt::Plt<'data>,
    unwind: unwind::Unwind<'data>,
    text: Vec<Range<u64>>,
}

impl<'data> Image<'data> {
    /// Reads everything but the debug sections.
    ///
    /// # Errors
    /// Says why the file cannot be worked on; any bytes may be given.
    pub fn parse(data: &'data [u8]) -> Result<Self, ImageError> {
        Self::parse_with(data, symbols::parse)
    }

    /// The same as the loader reads it: of the symbols, which may be many, only the dynamic ones.
    ///
    /// # Errors
    /// As [`Image::parse`].
    pub fn parse_as_loaded(data: &'data [u8]) -> Result<Self, ImageError> {
        Self::parse_with(data, symbols::parse_dynamic)
    }

    fn parse_with(data: &'data [u8], symbols: impl FnOnce(&Map<'data>, &Dynamic<'data>) -> Symbols<'data>) -> Result<Self, ImageError> {
        let header = elf::parse(data)?;
        let map = Map { data, segments: header.segments, sections: header.sections };
        let dynamic = Dynamic::parse(&map);
        let has_loader = map.segments.iter().any(|one| one.kind == elf::PT_INTERP);
        let kind = match (header.is_shared_object, has_loader) {
            (false, true) => Kind::NonPie,
            (false, false) => Kind::Static,
            (true, true) if dynamic.is_executable() || dynamic.soname().is_none() => Kind::Pie,
            (true, false) if dynamic.is_executable() => Kind::StaticPie,
            (true, _) => Kind::SharedLibrary,
        };
        let symbols = symbols(&map, &dynamic);
        let relocations = relocations::parse(&map, &dynamic, &symbols.dynamic);
        let versions = versions::of_imports(&map, &dynamic, &symbols.dynamic);
        let unwind = unwind::parse(&map);
        let plt = plt::parse(&map, &relocations, &symbols.sorted, &unwind.fdes);
        let text = text(&map, &plt.ranges);
        Ok(Self {
            kind,
            entry: header.entry,
            segment_table: header.segment_table,
            section_table: header.section_table,
            map,
            dynamic,
            symbols,
            relocations,
            versions,
            plt,
            unwind,
            text,
        })
    }

    /// The whole file.
    #[must_use]
    pub const fn data(&self) -> &'data [u8] {
        self.map.data
    }

    /// What it is, as the loader sees it.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Link address of the first instruction of a program; 0 where there is none.
    #[must_use]
    pub const fn entry(&self) -> u64 {
        self.entry
    }

    /// Path of the loader.
    #[must_use]
    pub fn interpreter(&self) -> Option<&'data str> {
        let segment = self.map.segments.iter().find(|one| one.kind == elf::PT_INTERP)?;
        bytes::text_at(self.map.file_bytes(segment.offset, segment.file_size)?, 0)
    }

    /// The dynamic section: needed libraries, own name, search paths with their places.
    #[must_use]
    pub const fn dynamic(&self) -> &Dynamic<'data> {
        &self.dynamic
    }

    /// Names of the libraries that are needed.
    #[must_use]
    pub fn needed(&self) -> Vec<&'data str> {
        self.dynamic.needed()
    }

    /// The build id (`NT_GNU_BUILD_ID`), raw.
    #[must_use]
    pub fn build_id(&self) -> Option<&'data [u8]> {
        self.notes().into_iter().find(|note| note.owner == "GNU" && note.kind == 3).map(|note| note.content)
    }

    /// The build id in hexadecimal, as people and other tools read it; empty where there is none.
    #[must_use]
    pub fn build_id_text(&self) -> String {
        hexadecimal(self.build_id().unwrap_or_default())
    }

    /// The notes of all `PT_NOTE` segments.
    #[must_use]
    pub fn notes(&self) -> Vec<Note<'data>> {
        let segments = self.map.segments.iter().filter(|one| one.kind == elf::PT_NOTE);
        segments.flat_map(|one| notes(&self.map, one)).collect()
    }

    /// Whether it has no `.symtab`.
    #[must_use]
    pub fn is_stripped(&self) -> bool {
        !self.map.sections.iter().any(|section| section.kind == elf::SHT_SYMTAB)
    }

    /// Whether the linker fills the room between functions with zeros, as mold does; others fill it with instructions that do nothing.
    #[must_use]
    pub fn pads_with_zeros(&self) -> bool {
        const LINKER: &[u8] = b"mold ";
        let comment = self.section(".comment").and_then(|section| self.map.file_bytes(section.offset, section.size));
        comment.is_some_and(|comment| comment.windows(LINKER.len()).any(|words| words == LINKER))
    }

    /// Program headers, in their order.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.map.segments
    }

    /// What stands in the file behind everything that the ELF headers speak of: data that a program reads from its own end.
    #[must_use]
    pub fn appended(&self) -> &'data [u8] {
        let segments = self.map.segments.iter().map(|one| one.offset.saturating_add(one.file_size));
        let sections = self.map.sections.iter().filter(|one| !one.is_empty_in_file()).map(|one| one.offset.saturating_add(one.size));
        let tables = [
            self.segment_table.saturating_add(56 * self.map.segments.len() as u64),
            self.section_table.saturating_add(64 * self.map.sections.len() as u64),
        ];
        let end = segments.chain(sections).chain(tables).max().unwrap_or(u64::MAX);
        usize::try_from(end).ok().and_then(|end| self.map.data.get(end..)).unwrap_or(&[])
    }

    /// File offset of the program headers.
    #[must_use]
    pub const fn segment_table(&self) -> u64 {
        self.segment_table
    }

    /// Section headers, in their order; index 0 is the empty one.
    #[must_use]
    pub fn sections(&self) -> &[Section<'data>] {
        &self.map.sections
    }

    /// File offset of the section headers; 0 if there are none.
    #[must_use]
    pub const fn section_table(&self) -> u64 {
        self.section_table
    }

    /// The first section of a name.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<&Section<'data>> {
        self.map.sections.iter().find(|section| section.name == name)
    }

    /// `length` bytes of the file that are loaded at a link address.
    #[must_use]
    pub fn bytes_at(&self, address: u64, length: u64) -> Option<&'data [u8]> {
        self.map.bytes_at(address, length)
    }

    /// The bytes of the file from a link address to the end of its segment.
    #[must_use]
    pub fn bytes_from(&self, address: u64) -> Option<&'data [u8]> {
        self.map.bytes_from(address)
    }

    /// The little-endian word at a link address, as it stands in the file.
    #[must_use]
    pub fn u64_at(&self, address: u64) -> Option<u64> {
        self.map.u64_at(address)
    }

    /// Position in the file of a link address.
    #[must_use]
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        self.map.offset_of(address)
    }

    /// The loaded segment that holds a link address (bytes beyond the file included).
    #[must_use]
    pub fn segment_at(&self, address: u64) -> Option<&Segment> {
        let holds = |one: &&Segment| (one.address..one.address.saturating_add(one.memory_size)).contains(&address);
        self.map.segments.iter().filter(|one| one.is_loaded()).find(holds)
    }

    /// Code that may be moved: executable sections but the linker's own (`.plt…`, `.init`, `.fini`), in order.
    #[must_use]
    pub fn text(&self) -> &[Range<u64>] {
        &self.text
    }

    /// The text range that holds a link address.
    #[must_use]
    pub fn text_at(&self, address: u64) -> Option<&Range<u64>> {
        let behind = self.text.partition_point(|range| range.start <= address);
        self.text.get(behind.checked_sub(1)?).filter(|range| range.contains(&address))
    }

    /// Symbols of both tables, sorted by address, the best name of an address first.
    #[must_use]
    pub fn symbols(&self) -> &[Symbol<'data>] {
        &self.symbols.sorted
    }

    /// Adds the symbols that a separate debug file has of this image.
    pub fn add_symbols(&mut self, file: &debug::DebugFile<'data>) {
        self.symbols.add(file.symbols());
    }

    /// Dynamic symbols in the order of their table.
    #[must_use]
    pub fn dynamic_symbols(&self) -> &[Symbol<'data>] {
        &self.symbols.dynamic
    }

    /// Defined symbols at an address, best name first.
    pub fn symbols_at(&self, address: u64) -> impl Iterator<Item = &Symbol<'data>> {
        let sorted = self.symbols();
        let first = sorted.partition_point(|symbol| symbol.address < address);
        let rest = sorted.get(first..).unwrap_or_default();
        rest.iter().take_while(move |symbol| symbol.address == address).filter(|symbol| symbol.is_defined)
    }

    /// What the loader writes into the image, sorted by address.
    #[must_use]
    pub fn relocations(&self) -> &[Relocation<'data>] {
        &self.relocations
    }

    /// The relocations of a range of link addresses.
    #[must_use]
    pub fn relocations_in(&self, range: &Range<u64>) -> &[Relocation<'data>] {
        relocations::within(&self.relocations, range)
    }

    /// The relocation of the word at a link address, the first one if there are several.
    #[must_use]
    pub fn relocation_at(&self, address: u64) -> Option<&Relocation<'data>> {
        let before = self.relocations.partition_point(|one| one.address < address);
        self.relocations.get(before).filter(|one| one.address == address)
    }

    /// The link address in this image that the word at `address` will hold in a running process: by relocation, or,
    /// in an image that is not moved, as it stands in the file.
    #[must_use]
    pub fn pointer_at(&self, address: u64) -> Option<u64> {
        match self.relocation_at(address) {
            Some(relocation) => relocation.link_address(),
            None => self.plain_pointer_at(address),
        }
    }

    /// The same of a word that the loader does not fill.
    #[must_use]
    pub fn plain_pointer_at(&self, address: u64) -> Option<u64> {
        if self.kind.is_position_independent() { None } else { self.u64_at(address) }
    }

    /// What the loader takes the leave to write from once it is done (`PT_GNU_RELRO`); a page that it fills in part stays out.
    #[must_use]
    pub fn protected(&self) -> Range<u64> {
        const PAGE: u64 = 4096;
        let found = self.map.segments.iter().find(|one| one.kind == elf::PT_GNU_RELRO);
        found.map_or(0..0, |one| one.address..one.address.saturating_add(one.memory_size) / PAGE * PAGE)
    }

    /// Whether the word at a link address stays as it is once the loader is done.
    #[must_use]
    pub fn is_constant(&self, address: u64) -> bool {
        self.protected().contains(&address) || self.segment_at(address).is_some_and(|one| !one.is_writable())
    }

    /// Words of data that lie in each of some ranges, with their places in front, in an image that is not moved: pointers stand there
    /// as they are. None in others.
    #[must_use]
    pub fn plain_words<const RANGES: usize>(&self, values: [&Range<u64>; RANGES]) -> [Vec<(u64, u64)>; RANGES] {
        let mut found = [const { Vec::new() }; RANGES];
        let is_fixed = !self.kind.is_position_independent();
        let is_data = move |one: &&Section<'_>| is_fixed && one.is_loaded() && !one.is_executable() && !one.is_empty_in_file();
        for section in self.sections().iter().filter(is_data) {
            let range = section.range();
            let start = range.start.next_multiple_of(8);
            let bytes = range.end.checked_sub(start).and_then(|size| self.bytes_at(start, size)).unwrap_or_default();
            for (index, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
                let value = u64::from_le_bytes(*word);
                for (values, found) in values.iter().zip(&mut found) {
                    if values.contains(&value) {
                        found.push((start + index as u64 * 8, value));
                    }
                }
            }
        }
        found
    }

    /// Name of the function whose address the loader puts into a slot (a GOT entry).
    #[must_use]
    pub fn name_in_slot(&self, slot: u64) -> Option<&'data str> {
        let relocation = self.relocation_at(slot)?;
        let by_symbol = matches!(relocation.kind, RelocationKind::GlobDat | RelocationKind::JumpSlot);
        relocation.symbol.filter(|_| by_symbol).map(|symbol| symbol.name)
    }

    /// The version of an import; `None` without one.
    #[must_use]
    pub fn import_version(&self, name: &str) -> Option<Version<'data>> {
        self.versions.get(name).copied()
    }

    /// Resolvers of indirect functions: of `IRELATIVE` relocations and `STT_GNU_IFUNC` symbols, sorted.
    #[must_use]
    pub fn ifunc_resolvers(&self) -> Vec<u64> {
        let relocated = self.relocations.iter().filter(|one| one.kind == RelocationKind::Irelative);
        let symbols = self.symbols().iter().filter(|symbol| symbol.is_ifunc && symbol.is_defined);
        let mut found: Vec<u64> = relocated.map(|one| one.addend.cast_unsigned()).collect();
        found.extend(symbols.map(|symbol| symbol.address));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// PLT entries, sorted by address.
    #[must_use]
    pub fn plt(&self) -> &[PltEntry<'data>] {
        &self.plt.entries
    }

    /// The PLT entry that starts at a link address.
    #[must_use]
    pub fn plt_at(&self, address: u64) -> Option<&PltEntry<'data>> {
        if !self.is_in_plt(address) {
            return None;
        }
        let index = self.plt.entries.binary_search_by_key(&address, |entry| entry.address).ok()?;
        self.plt.entries.get(index)
    }

    /// Whether a link address lies in a PLT.
    #[must_use]
    pub fn is_in_plt(&self, address: u64) -> bool {
        self.plt.ranges.iter().any(|range| range.contains(&address))
    }

    /// Whether a link address is one of code: in text, or in a PLT.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        self.text_at(address).is_some() || self.is_in_plt(address)
    }

    /// All unwind entries, sorted by start.
    #[must_use]
    pub fn fdes(&self) -> &[Fde<'data>] {
        &self.unwind.fdes
    }

    /// How many of [`Image::fdes`] start in front of a link address.
    #[must_use]
    pub fn fdes_in_front_of(&self, address: u64) -> usize {
        address.checked_sub(1).map_or(0, |last| self.unwind.finder.behind(last))
    }

    /// The unwind entry that covers a link address.
    #[must_use]
    pub fn fde_at(&self, address: u64) -> Option<&Fde<'data>> {
        let behind = self.unwind.finder.behind(address);
        self.unwind.fdes.get(behind.checked_sub(1)?).filter(|fde| fde.range.contains(&address))
    }

    /// Where the unwind tables are.
    #[must_use]
    pub const fn unwind_tables(&self) -> UnwindTables {
        self.unwind.tables
    }

    /// The exception table of an unwind entry.
    #[must_use]
    pub fn lsda(&self, fde: &Fde<'data>) -> Option<Lsda<'data>> {
        lsda::parse(self, fde)
    }

    /// Functions run before `main`, as far as they lie in this image.
    #[must_use]
    pub fn init_array(&self) -> Vec<u64> {
        let mut found = self.pointers(".preinit_array", 32, 33);
        found.extend(self.pointers(".init_array", 25, 27));
        found
    }

    /// Functions run at the end.
    #[must_use]
    pub fn fini_array(&self) -> Vec<u64> {
        self.pointers(".fini_array", 26, 28)
    }

    fn pointers(&self, section: &str, table: u64, size: u64) -> Vec<u64> {
        let tagged = self.dynamic.value(table).zip(self.dynamic.value(size));
        let named = self.section(section).map(|section| (section.address, section.size));
        let Some((address, size)) = tagged.or(named) else { return Vec::new() };
        let size = size.min(self.map.bytes_from(address).unwrap_or_default().len() as u64);
        let slots = (0..size & !7).step_by(8);
        let pointers = slots.filter_map(|at| self.pointer_at(address.checked_add(at)?));
        pointers.filter(|&address| address != 0 && address != u64::MAX).collect()
    }
}

/// A note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note<'data> {
    /// Who defined its kinds, such as `GNU`.
    pub owner: &'data str,
    /// `NT_…`.
    pub kind: u32,
    /// Bytes.
    pub content: &'data [u8],
    /// Position of the content in the file.
    pub content_offset: u64,
}

fn notes<'data>(map: &Map<'data>, segment: &Segment) -> Vec<Note<'data>> {
    let bytes = map.file_bytes(segment.offset, segment.file_size).unwrap_or_default();
    let align = if segment.align == 8 { 8 } else { 4 };
    let mut cursor = bytes::Cursor::new(bytes);
    let mut found = Vec::new();
    while let Some(note) = note(&mut cursor, segment.offset, align) {
        found.push(note);
    }
    found
}

fn note<'data>(cursor: &mut bytes::Cursor<'data>, base: u64, align: usize) -> Option<Note<'data>> {
    let owner_size = cursor.u32()?;
    let size = cursor.u32()?;
    let kind = cursor.u32()?;
    let owner = cursor.take(u64::from(owner_size))?;
    cursor.position = cursor.position.checked_next_multiple_of(align)?;
    let content_offset = base + cursor.position as u64;
    let content = cursor.take(u64::from(size))?;
    cursor.position = cursor.position.checked_next_multiple_of(align)?;
    let owner = owner.strip_suffix(b"\0").unwrap_or(owner);
    Some(Note { owner: std::str::from_utf8(owner).unwrap_or_default(), kind, content, content_offset })
}

/// Executable sections without the linker's own; without section headers, executable segments without the PLT.
fn text(map: &Map<'_>, plt: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = if map.sections.is_empty() {
        let code = map.segments.iter().filter(|one| one.is_loaded() && one.is_executable());
        code.map(|one| one.file_range()).collect()
    } else {
        let code = map.sections.iter().filter(|section| section.is_loaded() && section.is_executable());
        let own = code.filter(|section| {
            !plt::PLT_SECTIONS.contains(&section.name) && ![".init", ".fini"].contains(&section.name) && !section.is_empty_in_file()
        });
        own.map(|section| section.range()).collect()
    };
    for hole in plt {
        // What lies on one side of a hole alone leaves nothing on the other: or each hole would double them.
        let parts = ranges.iter().flat_map(|range| [range.start..range.end.min(hole.start), range.start.max(hole.end)..range.end]);
        ranges = parts.filter(|range| !range.is_empty()).collect();
    }
    // Headers may promise more than the file has.
    for range in &mut ranges {
        range.end = range.end.min(range.start.saturating_add(map.bytes_from(range.start).map_or(0, |bytes| bytes.len() as u64)));
    }
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    ranges
}
