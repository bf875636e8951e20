//! The ELF header and its two tables.
//!
//! Holds after parsing: every segment's and section's bytes lie within the file.

use std::ops::Range;

use crate::ImageError;
use crate::bytes::{slice, text_at, u16_at, u32_at, u64_at};
use crate::foreign::Foreign;

/// Segment types.
pub(crate) const PT_LOAD: u32 = 1;
pub(crate) const PT_GNU_RELRO: u32 = 0x6474_e552;
pub(crate) const PT_DYNAMIC: u32 = 2;
pub(crate) const PT_INTERP: u32 = 3;
pub(crate) const PT_NOTE: u32 = 4;
pub(crate) const PT_GNU_EH_FRAME: u32 = 0x6474_e550;

/// Section types.
pub(crate) const SHT_SYMTAB: u32 = 2;
pub(crate) const SHT_RELA: u32 = 4;
pub(crate) const SHT_NOBITS: u32 = 8;
pub(crate) const SHT_DYNSYM: u32 = 11;

const HEADER_SIZE: usize = 64;
const SEGMENT_SIZE: usize = 56;
const SECTION_SIZE: usize = 64;

/// A program header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// `PT_…`.
    pub kind: u32,
    /// `PF_X` = 1, `PF_W` = 2, `PF_R` = 4.
    pub flags: u32,
    /// Position of its bytes in the file.
    pub offset: u64,
    /// Link address.
    pub address: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Bytes in memory.
    pub memory_size: u64,
    /// Alignment.
    pub align: u64,
}

impl Segment {
    /// Whether its pages may be executed.
    #[must_use]
    pub const fn is_executable(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether its pages may be written.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Whether it is mapped into memory (`PT_LOAD`).
    #[must_use]
    pub const fn is_loaded(&self) -> bool {
        self.kind == PT_LOAD
    }

    /// Link addresses that its bytes in the file fill.
    #[must_use]
    pub const fn file_range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.file_size)
    }
}

/// A section header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section<'data> {
    /// Name; empty where the file has no readable one.
    pub name: &'data str,
    /// `SHT_…`.
    pub kind: u32,
    /// `SHF_WRITE` = 1, `SHF_ALLOC` = 2, `SHF_EXECINSTR` = 4, `SHF_COMPRESSED` = 0x800.
    pub flags: u64,
    /// Link address; 0 where it is not loaded.
    pub address: u64,
    /// Position of its bytes in the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Index of a related section.
    pub link: u32,
    /// More about it, by its kind.
    pub info: u32,
    /// Alignment.
    pub align: u64,
    /// Size of its entries, if they are all equal.
    pub entry_size: u64,
}

impl Section<'_> {
    /// Whether it is part of the image in memory.
    #[must_use]
    pub const fn is_loaded(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Whether it holds code.
    #[must_use]
    pub const fn is_executable(&self) -> bool {
        self.flags & 4 != 0
    }

    /// Whether it takes no bytes in the file (`.bss`).
    #[must_use]
    pub const fn is_empty_in_file(&self) -> bool {
        self.kind == SHT_NOBITS
    }

    /// Its link addresses.
    #[must_use]
    pub const fn range(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.size)
    }
}

/// What the header says.
pub(crate) struct Header<'data> {
    pub(crate) is_shared_object: bool,
    pub(crate) entry: u64,
    pub(crate) segment_table: u64,
    pub(crate) section_table: u64,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section<'data>>,
}

pub(crate) fn parse(data: &[u8]) -> Result<Header<'_>, ImageError> {
    if data.get(..4) != Some(b"\x7fELF") {
        return Err(ImageError::NotElf { what: Foreign::of(data) });
    }
    let damaged = || ImageError::damaged("the ELF header");
    let class = *data.get(4).ok_or_else(damaged)?;
    let order = *data.get(5).ok_or_else(damaged)?;
    let machine = u16_at(data, 18).ok_or_else(damaged)?;
    check_machine(class, order, machine)?;
    if data.len() < HEADER_SIZE {
        return Err(damaged());
    }
    let kind = u16_at(data, 16).ok_or_else(damaged)?;
    let is_shared_object = match kind {
        2 => false,
        3 => true,
        1 => return Err(ImageError::NotLoadable { what: "object file".into() }),
        4 => return Err(ImageError::NotLoadable { what: "core file".into() }),
        other => return Err(ImageError::NotLoadable { what: format!("file of type {other}") }),
    };
    let segment_table = u64_at(data, 32).ok_or_else(damaged)?;
    let section_table = u64_at(data, 40).ok_or_else(damaged)?;
    Ok(Header {
        is_shared_object,
        entry: u64_at(data, 24).ok_or_else(damaged)?,
        segment_table,
        section_table,
        segments: segments(data, segment_table)?,
        sections: sections(data, section_table)?,
    })
}

fn check_machine(class: u8, order: u8, machine: u16) -> Result<(), ImageError> {
    let machine = if order == 2 { machine.swap_bytes() } else { machine };
    let name = match (class, machine) {
        (2, 62) if order == 1 => return Ok(()),
        (1, 62) => "x86-64 with 32-bit pointers (x32)".to_owned(),
        (_, 3) => "32-bit x86".to_owned(),
        (_, 2 | 18) => "32-bit SPARC".to_owned(),
        (_, 4) => "Motorola 68000".to_owned(),
        (_, 8) => "MIPS".to_owned(),
        (_, 15) => "PA-RISC".to_owned(),
        (_, 20) => "32-bit PowerPC".to_owned(),
        (_, 21) => "64-bit PowerPC".to_owned(),
        (_, 22) => "IBM Z".to_owned(),
        (_, 40) => "32-bit ARM".to_owned(),
        (_, 42) => "SuperH".to_owned(),
        (_, 43) => "64-bit SPARC".to_owned(),
        (_, 50) => "Itanium".to_owned(),
        (_, 83) => "AVR".to_owned(),
        (_, 94) => "Xtensa".to_owned(),
        (_, 164) => "Hexagon".to_owned(),
        (_, 183) => "AArch64".to_owned(),
        (1, 243) => "32-bit RISC-V".to_owned(),
        (_, 243) => "RISC-V".to_owned(),
        (_, 247) => "BPF".to_owned(),
        (_, 252) => "C-SKY".to_owned(),
        (_, 258) => "LoongArch".to_owned(),
        (_, 0x9026) => "Alpha".to_owned(),
        (_, other) if order == 2 && other.swap_bytes() == 62 => "x86-64 with the other byte order".to_owned(),
        (_, other) if order == 2 => format!("a big-endian machine (number {other})"),
        (1, other) => format!("a 32-bit machine (number {other})"),
        (_, other) => format!("machine number {other}"),
    };
    Err(ImageError::OtherMachine { machine: name })
}

fn segments(data: &[u8], table: u64) -> Result<Vec<Segment>, ImageError> {
    let damaged = || ImageError::damaged("the program headers");
    let count = u16_at(data, 56).ok_or_else(damaged)?;
    if count == 0 {
        return Err(ImageError::damaged("there are no program headers"));
    }
    let entry_size = u16_at(data, 54).ok_or_else(damaged)?;
    if usize::from(entry_size) != SEGMENT_SIZE {
        return Err(damaged());
    }
    let length = u64::from(count) * SEGMENT_SIZE as u64;
    let bytes = slice(data, table, length).ok_or_else(damaged)?;
    let found: Option<Vec<Segment>> = bytes.chunks_exact(SEGMENT_SIZE).map(segment).collect();
    let found = found.ok_or_else(damaged)?;
    for one in found.iter().filter(|one| one.is_loaded()) {
        let fits = slice(data, one.offset, one.file_size).is_some();
        if !fits || one.address.checked_add(one.memory_size.max(one.file_size)).is_none() {
            return Err(ImageError::damaged(format!("the segment at {:#x} ends behind the file", one.offset)));
        }
    }
    Ok(found)
}

fn segment(bytes: &[u8]) -> Option<Segment> {
    Some(Segment {
        kind: u32_at(bytes, 0)?,
        flags: u32_at(bytes, 4)?,
        offset: u64_at(bytes, 8)?,
        address: u64_at(bytes, 16)?,
        file_size: u64_at(bytes, 32)?,
        memory_size: u64_at(bytes, 40)?,
        align: u64_at(bytes, 48)?,
    })
}

fn sections(data: &[u8], table: u64) -> Result<Vec<Section<'_>>, ImageError> {
    if table == 0 {
        return Ok(Vec::new());
    }
    let damaged = || ImageError::damaged("the section headers");
    let first = slice(data, table, SECTION_SIZE as u64).ok_or_else(damaged)?;
    let mut count = u64::from(u16_at(data, 60).ok_or_else(damaged)?);
    if count == 0 {
        count = u64_at(first, 32).ok_or_else(damaged)?;
    }
    let mut names = u32::from(u16_at(data, 62).ok_or_else(damaged)?);
    if names == 0xffff {
        names = u32_at(first, 40).ok_or_else(damaged)?;
    }
    let length = count.checked_mul(SECTION_SIZE as u64).ok_or_else(damaged)?;
    let bytes = slice(data, table, length).ok_or_else(damaged)?;
    let header = |index: u32| bytes.chunks_exact(SECTION_SIZE).nth(index as usize);
    let names = header(names).and_then(|header| slice(data, u64_at(header, 24)?, u64_at(header, 32)?)).unwrap_or_default();
    let found: Option<Vec<_>> = bytes.chunks_exact(SECTION_SIZE).map(|header| section(header, names)).collect();
    let found = found.ok_or_else(damaged)?;
    for one in &found {
        let fits = one.is_empty_in_file() || one.kind == 0 || slice(data, one.offset, one.size).is_some();
        if !fits || one.address.checked_add(one.size).is_none() {
            return Err(ImageError::damaged(format!("section {} ends behind the file", one.name)));
        }
    }
    Ok(found)
}

fn section<'data>(header: &[u8], names: &'data [u8]) -> Option<Section<'data>> {
    Some(Section {
        name: text_at(names, u64::from(u32_at(header, 0)?)).unwrap_or_default(),
        kind: u32_at(header, 4)?,
        flags: u64_at(header, 8)?,
        address: u64_at(header, 16)?,
        offset: u64_at(header, 24)?,
        size: u64_at(header, 32)?,
        link: u32_at(header, 40)?,
        info: u32_at(header, 44)?,
        align: u64_at(header, 48)?,
        entry_size: u64_at(header, 56)?,
    })
}
