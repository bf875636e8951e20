//! Section headers of the output, and what is not loaded.
//!
//! The original's sections keep their numbers. Those that moved say so, those that are not loaded are placed
//! behind the new segments, and new ones cover the new segments without a gap, so that tools which copy
//! sections copy everything.

use tare_code::Program;
use tare_image::{Image, Section};

use crate::elf::head::{Head, NOTE_SIZE};
use crate::elf::imports::Tables;
use crate::elf::symbols::{SYMBOL_SIZE, SymbolTable, content};
use crate::insertion::Additions;
use crate::layout::Layout;
use crate::plan::Moved;

const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_NOTE: u32 = 7;
const SHF_WRITE: u64 = 1;
const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;
/// Bytes of a section header.
pub(crate) const SECTION_SIZE: u64 = 64;

/// A section of the output.
struct Header<'a> {
    name: &'a str,
    section: Section<'a>,
}

/// What stands behind the new segments, and where the section headers are in it.
pub(crate) struct Tail {
    pub(crate) bytes: Vec<u8>,
    /// Position of the section headers in the file.
    pub(crate) table: u64,
    pub(crate) count: u16,
    /// Index of the section with the sections' names.
    pub(crate) names: u16,
}

/// Where the parts of the output are.
pub(crate) struct Places<'a> {
    pub(crate) head: &'a Head,
    pub(crate) layout: &'a Layout,
    pub(crate) tables: &'a Tables,
    pub(crate) additions: &'a Additions,
    /// Position of the first new segment in the file.
    pub(crate) offset: u64,
    /// How much of the original stands in front of the new segments.
    pub(crate) kept: u64,
}

impl Places<'_> {
    const fn offset_of(&self, address: u64) -> u64 {
        self.layout.position(self.offset, address)
    }
}

/// Makes everything behind the new segments, which end at `start` in the file. `None` where the image has no
/// section headers to be kept.
pub(crate) fn tail(image: &Image<'_>, program: &Program, moved: &[Moved], places: &Places<'_>, start: u64) -> Option<Tail> {
    if image.sections().is_empty() {
        return None;
    }
    let mut headers: Vec<Header<'_>> = image.sections().iter().map(|one| kept(one, places)).collect();
    let code = headers.len() + 3;
    headers.extend(new_sections(places));
    let mut bytes = Vec::new();
    let symbols = SymbolTable::new(image, program, moved, places.additions, places.layout, u16::try_from(code).ok()?);
    let replaced = replaced(image);
    for (index, header) in headers.iter_mut().enumerate() {
        let section = &mut header.section;
        if section.is_loaded() || section.is_empty_in_file() || section.offset < places.kept || index == 0 {
            continue;
        }
        let content = if replaced.contains(&index) { &[] } else { content(image, section).unwrap_or_default() };
        append(&mut bytes, start, section, content);
    }
    add_symbols(image, &mut headers, &mut bytes, start, &symbols);
    let names = add_names(image, &mut headers, &mut bytes, start);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let table = start + bytes.len() as u64;
    let positions = names.1;
    for (header, name) in headers.iter().zip(positions) {
        bytes.extend(header_bytes(&header.section, name));
    }
    let count = u16::try_from(headers.len()).ok()?;
    Some(Tail { bytes, table, count, names: u16::try_from(names.0).ok()? })
}

fn append(bytes: &mut Vec<u8>, start: u64, section: &mut Section<'_>, content: &[u8]) {
    let align = section.align.clamp(1, 4096).next_power_of_two();
    let position = (start + bytes.len() as u64).next_multiple_of(align);
    bytes.resize(usize::try_from(position - start).unwrap_or(bytes.len()), 0);
    section.offset = position;
    section.size = content.len() as u64;
    bytes.extend_from_slice(content);
}

/// Indices of the sections whose content is made anew: symbols, their strings, names of sections.
fn replaced(image: &Image<'_>) -> Vec<usize> {
    let sections = image.sections().iter().enumerate();
    let mut found: Vec<usize> =
        sections.filter(|(_, section)| section.kind == SHT_SYMTAB).take(1).flat_map(|(index, section)| [index, section.link as usize]).collect();
    found.extend(names_index(image));
    found
}

fn names_index(image: &Image<'_>) -> Option<usize> {
    let field = image.data().get(62..64)?;
    Some(usize::from(u16::from_le_bytes([*field.first()?, *field.get(1)?])))
}

/// A section of the original as it is in the output.
fn kept<'a>(section: &Section<'a>, places: &Places<'_>) -> Header<'a> {
    let (head, layout) = (places.head, places.layout);
    let mut kept = Header { name: section.name, section: *section };
    let new = &mut kept.section;
    let mut redirect = |address: u64, size: u64| {
        new.address = address;
        new.offset = places.offset_of(address);
        new.size = size;
    };
    if section.is_loaded() && head.block.contains(&section.offset) && !section.is_empty_in_file() {
        redirect(layout.start + head.block_at + (section.offset - head.block.start), section.size);
    } else if section.name == ".eh_frame" && section.is_loaded() {
        redirect(layout.frames.start, layout.frames.end - layout.frames.start);
        new.align = 8;
        new.kind = SHT_PROGBITS;
    } else if section.name == ".eh_frame_hdr" && section.is_loaded() {
        redirect(layout.frame_index.start, layout.frame_index.end - layout.frame_index.start);
    } else if let Some((_, range)) = places.tables.moved.iter().find(|table| section.is_loaded() && table.0 == section.address) {
        redirect(range.start, range.end - range.start);
    } else if section.name == ".rela.dyn" && !layout.relocations.is_empty() {
        redirect(layout.relocations.start, layout.relocations.end - layout.relocations.start);
    }
    kept
}

fn new_sections<'a>(places: &Places<'a>) -> Vec<Header<'a>> {
    let (head, layout) = (places.head, places.layout);
    let note = layout.start + head.note_at;
    let new = |name: &'a str, kind, flags, address: u64, end: u64, align| Header {
        name,
        section: Section {
            name,
            kind,
            flags,
            address,
            offset: places.offset_of(address),
            size: end - address,
            link: 0,
            info: 0,
            align,
            entry_size: 0,
        },
    };
    vec![
        new(".note.tareweight", SHT_NOTE, SHF_ALLOC, note, note + NOTE_SIZE, 4),
        new(".tare.info", SHT_PROGBITS, SHF_ALLOC, note + NOTE_SIZE, layout.head_end, 1),
        new(".tare.tables", SHT_PROGBITS, SHF_ALLOC, layout.tables.start, layout.tables.end, 8),
        new(".tare.text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, layout.code.start, layout.code.end, 64),
        new(".tare.data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, layout.data.start, layout.dynamic.start, 32),
    ]
}

fn add_symbols<'a>(image: &Image<'_>, headers: &mut Vec<Header<'a>>, bytes: &mut Vec<u8>, start: u64, table: &SymbolTable) {
    let existing = image.sections().iter().position(|section| section.kind == SHT_SYMTAB);
    let (symbols, strings) = match existing {
        Some(index) => (index, image.sections().get(index).map_or(0, |section| section.link as usize)),
        None => {
            let index = headers.len();
            headers.push(unloaded(".symtab", SHT_SYMTAB, 8));
            headers.push(unloaded(".strtab", SHT_STRTAB, 1));
            (index, index + 1)
        }
    };
    if let Some(header) = headers.get_mut(symbols) {
        append(bytes, start, &mut header.section, &table.symbols);
        header.section.link = u32::try_from(strings).unwrap_or(0);
        header.section.info = table.first_global;
        header.section.entry_size = SYMBOL_SIZE;
    }
    if let Some(header) = headers.get_mut(strings) {
        append(bytes, start, &mut header.section, &table.strings);
    }
}

fn unloaded(name: &str, kind: u32, align: u64) -> Header<'_> {
    let section = Section { name, kind, flags: 0, address: 0, offset: 0, size: 0, link: 0, info: 0, align, entry_size: 0 };
    Header { name, section }
}

/// Appends the names of all sections; answers the index of their section and the position of each name.
fn add_names<'a>(image: &Image<'_>, headers: &mut Vec<Header<'a>>, bytes: &mut Vec<u8>, start: u64) -> (usize, Vec<u32>) {
    let existing = names_index(image).filter(|&index| index != 0 && index < image.sections().len());
    let index = existing.unwrap_or(headers.len());
    if existing.is_none() {
        headers.push(unloaded(".shstrtab", SHT_STRTAB, 1));
    }
    let mut names = vec![0];
    let mut positions = Vec::with_capacity(headers.len());
    for header in headers.iter() {
        if header.name.is_empty() {
            positions.push(0);
            continue;
        }
        positions.push(u32::try_from(names.len()).unwrap_or(0));
        names.extend(header.name.bytes());
        names.push(0);
    }
    if let Some(header) = headers.get_mut(index) {
        append(bytes, start, &mut header.section, &names);
    }
    (index, positions)
}

fn header_bytes(section: &Section<'_>, name: u32) -> [u8; SECTION_SIZE as usize] {
    let mut bytes = [0; SECTION_SIZE as usize];
    let words = [
        u64::from(name) | u64::from(section.kind) << 32,
        section.flags,
        section.address,
        section.offset,
        section.size,
        u64::from(section.link) | u64::from(section.info) << 32,
        section.align,
        section.entry_size,
    ];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
