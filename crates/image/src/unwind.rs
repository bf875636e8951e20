//! Unwind entries (`.eh_frame`), with the bytes of their instructions.
//!
//! They are found by section, by `PT_GNU_EH_FRAME`, or, where a static program has neither, by the look of a first CIE.
//! Holds after parsing: entries are sorted by start, and no two have the same range.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::Map;
use crate::bytes::Cursor;
use crate::cfi::{Beginning, CfaRows, CfiInstructions};
use crate::elf::PT_GNU_EH_FRAME;
use crate::finder::Finder;

/// One frame description entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fde<'data> {
    /// Code covered.
    pub range: Range<u64>,
    /// CFA rule in the first row is rsp + 8: a function start rather than a cold part.
    pub starts_at_entry: bool,
    /// The return address is undefined somewhere (`_start`), or it is a signal frame.
    pub is_special: bool,
    /// Call-frame instructions of the CIE, raw.
    pub cie_instructions: &'data [u8],
    /// Call-frame instructions of the entry, raw.
    pub instructions: &'data [u8],
    /// Factors of the CIE.
    pub code_alignment: u64,
    /// See `code_alignment`.
    pub data_alignment: i64,
    /// Register of the return address.
    pub return_register: u16,
    /// Link address of the personality slot (indirect) or routine, with its encoding byte.
    pub personality: Option<(u8, u64)>,
    /// Link address of the language-specific data.
    pub lsda: Option<u64>,
    /// Link address of the entry itself (its length field).
    pub address: u64,
    /// Whether the CIE asks for a signal frame (`S`).
    pub is_signal_frame: bool,
}

impl<'data> Fde<'data> {
    /// Where the canonical frame address is, row by row.
    #[must_use]
    pub fn cfa_rows(&self) -> CfaRows {
        CfaRows::run(self.cie_instructions, self.instructions, &self.range, self.code_alignment, self.data_alignment)
    }

    /// The entry's own instructions, one at a time with their bytes.
    #[must_use]
    pub fn cfi(&self) -> CfiInstructions<'data> {
        CfiInstructions::new(self.instructions, self.data_alignment)
    }

    /// The CIE's instructions.
    #[must_use]
    pub fn cie_cfi(&self) -> CfiInstructions<'data> {
        CfiInstructions::new(self.cie_instructions, self.data_alignment)
    }
}

/// `.eh_frame_hdr`'s link address and that of the table it points at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnwindTables {
    /// Link address and size of `.eh_frame_hdr`.
    pub header: Option<(u64, u64)>,
    /// Link address of `.eh_frame`.
    pub frames: Option<u64>,
}

pub(crate) struct Unwind<'data> {
    pub(crate) fdes: Vec<Fde<'data>>,
    /// Over where each of them starts.
    pub(crate) finder: Finder,
    pub(crate) tables: UnwindTables,
}

pub(crate) fn parse<'data>(map: &Map<'data>) -> Unwind<'data> {
    let mut fdes = Vec::new();
    let header = map.segments.iter().find(|one| one.kind == PT_GNU_EH_FRAME);
    let header_at = header.map(|one| one.address);
    let section = map.sections.iter().find(|section| section.name == ".eh_frame" && section.is_loaded());
    let by_header = header.and_then(|one| frames_of_header(map, one.address));
    if let Some(section) = section {
        let table = Table { map, header: header_at, runs_on: true };
        table.read(section.range(), &mut fdes);
    }
    let other = by_header.filter(|&start| section.is_none_or(|section| section.address != start));
    let other = other.or_else(|| if section.is_none() { search(map) } else { None });
    if let Some(range) = other.and_then(|start| Some(start..map.file_end(start)?)) {
        Table { map, header: header_at, runs_on: false }.read(range, &mut fdes);
    }
    let place = |fde: &Fde<'_>| (fde.range.start, fde.range.end);
    // They are large, and stand in another order where cold parts do.
    if !fdes.is_sorted_by_key(place) {
        fdes.sort_by_cached_key(place);
    }
    fdes.dedup_by(|b, a| a.range == b.range);
    let frames = section.map(|section| section.address).or(other);
    let finder = Finder::over(fdes.iter().map(|fde| fde.range.start).collect());
    Unwind { fdes, finder, tables: UnwindTables { header: header.map(|one| (one.address, one.file_size)), frames } }
}

fn frames_of_header(map: &Map<'_>, header: u64) -> Option<u64> {
    let bytes = map.bytes_from(header)?;
    if bytes.first() != Some(&1) {
        return None;
    }
    let encoding = *bytes.get(1)?;
    Pointer { base: header, header: Some(header), function: 0 }.read(&mut Cursor::at(bytes, 4), encoding)
}

/// The first CIE that gcc's start-up code brings: version 1, augmentation `zR`, factors 1 and -8, register 16.
fn search(map: &Map<'_>) -> Option<u64> {
    const FIRST: [u8; 14] = [0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 0x10, 1, 0x1b, 0x0c];
    let loaded = map.segments.iter().filter(|one| one.is_loaded());
    loaded.into_iter().find_map(|segment| {
        let bytes = map.file_bytes(segment.offset, segment.file_size)?;
        let at = bytes.windows(FIRST.len()).position(|window| window == FIRST)?;
        Some(segment.address + u64::try_from(at.checked_sub(4)?).ok()?)
    })
}

#[derive(Clone)]
struct Cie<'data> {
    code_alignment: u64,
    data_alignment: i64,
    return_register: u16,
    has_augmentation: bool,
    pointer_encoding: u8,
    lsda_encoding: u8,
    personality: Option<(u8, u64)>,
    is_signal_frame: bool,
    instructions: &'data [u8],
    beginning: Beginning,
}

/// Bytes of a small entry.
const LEAST: usize = 24;
/// Entries that room is made for before they are seen.
const MOST_AT_ONCE: usize = 1 << 16;

struct Table<'a, 'data> {
    map: &'a Map<'data>,
    header: Option<u64>,
    /// A section may hold a terminator in its middle.
    runs_on: bool,
}

impl<'data> Table<'_, 'data> {
    fn read(&self, range: Range<u64>, fdes: &mut Vec<Fde<'data>>) {
        let Some(bytes) = self.map.bytes_at(range.start, range.end.saturating_sub(range.start)) else { return };
        let mut cies: BTreeMap<usize, Option<Cie<'data>>> = BTreeMap::new();
        fdes.reserve((bytes.len() / LEAST).min(MOST_AT_ONCE));
        let mut at = 0;
        while let Some(record) = Record::read(bytes, at) {
            at = record.end;
            if record.content == record.end {
                if self.runs_on {
                    continue;
                }
                return;
            }
            if record.id == 0 {
                continue;
            }
            let Some(cie_at) = record.id_at.checked_sub(record.id) else { continue };
            let cie = cies.entry(cie_at).or_insert_with(|| self.cie(bytes, range.start, cie_at));
            if let Some(cie) = cie.as_ref() {
                fdes.extend(self.fde(bytes, range.start, &record, cie));
            }
        }
    }

    fn cie(&self, bytes: &'data [u8], base: u64, at: usize) -> Option<Cie<'data>> {
        let record = Record::read(bytes, at)?;
        if record.id != 0 || record.content == record.end {
            return None;
        }
        let mut cursor = Cursor::at(bytes.get(..record.end)?, record.content);
        let version = cursor.u8()?;
        let augmentation = cursor.text()?;
        if augmentation.starts_with("eh") {
            cursor.u64()?;
        }
        let code_alignment = cursor.uleb()?;
        let data_alignment = cursor.sleb()?;
        let register = if version == 1 { u64::from(cursor.u8()?) } else { cursor.uleb()? };
        let mut cie = Cie {
            code_alignment,
            data_alignment,
            return_register: u16::try_from(register).ok()?,
            has_augmentation: augmentation.starts_with('z'),
            pointer_encoding: 0,
            lsda_encoding: OMITTED,
            personality: None,
            is_signal_frame: false,
            instructions: &[],
            beginning: Beginning::default(),
        };
        if cie.has_augmentation {
            let length = usize::try_from(cursor.uleb()?).ok()?;
            let end = cursor.position.checked_add(length)?;
            let mut data = cursor;
            self.augment(&mut cie, &mut data, base, augmentation);
            cursor.position = end;
        }
        cie.instructions = cursor.rest();
        cie.beginning = Beginning::of(cie.instructions, data_alignment, register);
        Some(cie)
    }

    fn augment(&self, cie: &mut Cie<'data>, data: &mut Cursor<'data>, base: u64, augmentation: &str) -> Option<()> {
        for letter in augmentation.chars().skip(1) {
            match letter {
                'L' => cie.lsda_encoding = data.u8()?,
                'R' => cie.pointer_encoding = data.u8()?,
                'S' => cie.is_signal_frame = true,
                'P' => {
                    let encoding = data.u8()?;
                    let pointer = Pointer { base, header: self.header, function: 0 };
                    cie.personality = pointer.read(data, encoding).map(|address| (encoding, address));
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn fde(&self, bytes: &'data [u8], base: u64, record: &Record, cie: &Cie<'data>) -> Option<Fde<'data>> {
        let mut cursor = Cursor::at(bytes.get(..record.end)?, record.content);
        let pointer = Pointer { base, header: self.header, function: 0 };
        let start = pointer.read(&mut cursor, cie.pointer_encoding)?;
        let length = pointer.read(&mut cursor, cie.pointer_encoding & 0x0f)?;
        let mut lsda = None;
        if cie.has_augmentation {
            let size = usize::try_from(cursor.uleb()?).ok()?;
            let end = cursor.position.checked_add(size)?;
            if cie.lsda_encoding != OMITTED && size > 0 {
                let pointer = Pointer { base, header: self.header, function: start };
                lsda = pointer.read(&mut cursor, cie.lsda_encoding).filter(|&address| address != 0);
            }
            cursor.position = end;
        }
        let end = start.checked_add(length)?;
        if length == 0 || start == 0 {
            return None;
        }
        let instructions = cursor.rest();
        let beginning = cie.beginning.then(instructions, cie.data_alignment, u64::from(cie.return_register));
        Some(Fde {
            range: start..end,
            starts_at_entry: beginning.cfa.is_entry(),
            is_special: cie.is_signal_frame || beginning.undefines_return,
            cie_instructions: cie.instructions,
            instructions,
            code_alignment: cie.code_alignment,
            data_alignment: cie.data_alignment,
            return_register: cie.return_register,
            personality: cie.personality,
            lsda,
            address: base + record.start as u64,
            is_signal_frame: cie.is_signal_frame,
        })
    }
}

/// The frame of a CIE or FDE: positions within the table.
struct Record {
    start: usize,
    id_at: usize,
    id: usize,
    content: usize,
    end: usize,
}

impl Record {
    /// A record of length 0 has its content at its end.
    fn read(bytes: &[u8], start: usize) -> Option<Self> {
        let mut cursor = Cursor::at(bytes, start);
        let mut length = u64::from(cursor.u32()?);
        if length == 0 {
            let end = cursor.position;
            return Some(Self { start, id_at: end, id: 0, content: end, end });
        }
        if length == 0xffff_ffff {
            length = cursor.u64()?;
        }
        let id_at = cursor.position;
        let end = id_at.checked_add(usize::try_from(length).ok()?)?;
        let id = usize::try_from(cursor.u32()?).ok()?;
        (end <= bytes.len() && cursor.position <= end).then_some(Self { start, id_at, id, content: cursor.position, end })
    }
}

/// `DW_EH_PE_omit`.
pub(crate) const OMITTED: u8 = 0xff;

/// What an encoded pointer (`DW_EH_PE_…`) may be relative to.
pub(crate) struct Pointer {
    /// Link address of the first byte under the cursor's position 0.
    pub(crate) base: u64,
    pub(crate) header: Option<u64>,
    pub(crate) function: u64,
}

impl Pointer {
    /// The pointer under the cursor as a link address; of an indirect one, the address of its slot.
    pub(crate) fn read(&self, cursor: &mut Cursor<'_>, encoding: u8) -> Option<u64> {
        if encoding == OMITTED {
            return None;
        }
        let here = self.base.wrapping_add(cursor.position as u64);
        let value = match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => cursor.u64()?,
            0x01 => cursor.uleb()?,
            0x02 => u64::from(cursor.u16()?),
            0x03 => u64::from(cursor.u32()?),
            0x09 => cursor.sleb()?.cast_unsigned(),
            0x0a => i64::from(cursor.u16()?.cast_signed()).cast_unsigned(),
            0x0b => i64::from(cursor.u32()?.cast_signed()).cast_unsigned(),
            _ => return None,
        };
        if value == 0 {
            return Some(0);
        }
        let base = match encoding & 0x70 {
            0x00 => 0,
            0x10 => here,
            0x30 => self.header?,
            0x40 => self.function,
            _ => return None,
        };
        Some(value.wrapping_add(base))
    }
}
