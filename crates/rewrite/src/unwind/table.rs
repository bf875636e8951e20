//! `.eh_frame` and its sorted index.
//!
//! The table is written whole: entries of the original code and of the moved code alike, in CIEs whose pointers
//! are all 32-bit and relative to their field, so that no relocation is needed wherever the image is loaded.

use tare_image::Fde;

use crate::displacement::displacement;
use crate::unwind::leb::{write_signed, write_unsigned};

/// An entry to be written.
pub(crate) struct Entry<'a> {
    /// The original's entry: common information is taken from it.
    pub(crate) common: &'a Fde<'a>,
    pub(crate) code_alignment: u64,
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) instructions: &'a [u8],
    pub(crate) exceptions: Option<u64>,
}

/// Relative to the field, four bytes, signed.
const PCREL_SDATA4: u8 = 0x1b;
const INDIRECT: u8 = 0x80;
/// Relative to the index, four bytes, signed.
const DATAREL_SDATA4: u8 = 0x3b;
const UDATA4: u8 = 0x03;
const ALIGNMENT: usize = 8;

/// What entries must share to share a CIE.
struct Common<'a> {
    instructions: &'a [u8],
    code_alignment: u64,
    data_alignment: i64,
    return_register: u16,
    personality: Option<(u8, u64)>,
    has_exceptions: bool,
    is_signal_frame: bool,
}

impl Common<'_> {
    /// Whether an entry can share the CIE. Most entries of an image have theirs in one, whose bytes need not be compared.
    fn serves(&self, entry: &Entry<'_>) -> bool {
        let fde = entry.common;
        self.code_alignment == entry.code_alignment
            && self.data_alignment == fde.data_alignment
            && self.return_register == fde.return_register
            && self.personality == fde.personality
            && self.has_exceptions == entry.exceptions.is_some()
            && self.is_signal_frame == fde.is_signal_frame
            && (std::ptr::eq(self.instructions, fde.cie_instructions) || self.instructions == fde.cie_instructions)
    }
}

/// `.eh_frame`, being written.
pub(crate) struct FrameTable<'a> {
    address: u64,
    bytes: Vec<u8>,
    /// A handful: an image has few kinds of frames.
    common: Vec<(Common<'a>, usize)>,
    index: Vec<(u64, u64)>,
}

impl<'a> FrameTable<'a> {
    /// A table that will stand at `address`.
    pub(crate) fn new(address: u64, entries: usize) -> Self {
        let bytes = Vec::with_capacity(entries * 40);
        Self { address, bytes, common: Vec::new(), index: Vec::with_capacity(entries) }
    }

    /// Appends an entry. `None` where something is too far away.
    pub(crate) fn push(&mut self, entry: &Entry<'a>) -> Option<()> {
        let common = self.common(entry)?;
        let start = self.begin();
        self.index.push((entry.start, self.address + start as u64));
        let back = u32::try_from(self.bytes.len() - common).ok()?;
        self.bytes.extend(back.to_le_bytes());
        self.relative(entry.start)?;
        self.bytes.extend(u32::try_from(entry.length).ok()?.to_le_bytes());
        match entry.exceptions {
            Some(address) => {
                self.bytes.push(4);
                self.relative(address)?;
            }
            None => self.bytes.push(0),
        }
        self.bytes.extend_from_slice(entry.instructions);
        self.end(start)
    }

    /// Leaves the entries so far out of the index.
    pub(crate) fn unlist(&mut self) {
        self.index.clear();
    }

    /// The table, and its index as it stands right behind it. `None` where something is too far away.
    pub(crate) fn finish(mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.bytes.extend([0; ALIGNMENT]);
        self.index.sort_unstable();
        self.index.dedup_by_key(|entry| entry.0);
        let header = self.address + self.bytes.len() as u64;
        let mut index = Vec::with_capacity(12 + 8 * self.index.len());
        index.extend([1, PCREL_SDATA4, UDATA4, DATAREL_SDATA4]);
        index.extend(displacement(self.address, header + 4)?);
        index.extend(u32::try_from(self.index.len()).ok()?.to_le_bytes());
        for (start, entry) in &self.index {
            index.extend(displacement(*start, header)?);
            index.extend(displacement(*entry, header)?);
        }
        Some((self.bytes, index))
    }

    /// The position of the CIE that an entry needs, written if it is the first to need it.
    fn common(&mut self, entry: &Entry<'a>) -> Option<usize> {
        if let Some(found) = self.common.iter().find(|one| one.0.serves(entry)) {
            return Some(found.1);
        }
        let fde = entry.common;
        let common = Common {
            instructions: fde.cie_instructions,
            code_alignment: entry.code_alignment,
            data_alignment: fde.data_alignment,
            return_register: fde.return_register,
            personality: fde.personality,
            has_exceptions: entry.exceptions.is_some(),
            is_signal_frame: fde.is_signal_frame,
        };
        let start = self.begin();
        self.write_common(&common)?;
        self.end(start)?;
        self.common.push((common, start));
        Some(start)
    }

    fn write_common(&mut self, common: &Common<'_>) -> Option<()> {
        self.bytes.extend([0, 0, 0, 0, 1, b'z']);
        let parts = [(common.personality.is_some(), b'P'), (common.has_exceptions, b'L'), (true, b'R'), (common.is_signal_frame, b'S')];
        self.bytes.extend(parts.into_iter().filter(|part| part.0).map(|part| part.1));
        self.bytes.push(0);
        write_unsigned(&mut self.bytes, common.code_alignment);
        write_signed(&mut self.bytes, common.data_alignment);
        self.bytes.push(u8::try_from(common.return_register).ok()?);
        let length = 1 + u64::from(common.has_exceptions) + if common.personality.is_some() { 5 } else { 0 };
        write_unsigned(&mut self.bytes, length);
        if let Some((encoding, address)) = common.personality {
            self.bytes.push(encoding & INDIRECT | PCREL_SDATA4);
            self.relative(address)?;
        }
        if common.has_exceptions {
            self.bytes.push(PCREL_SDATA4);
        }
        self.bytes.push(PCREL_SDATA4);
        self.bytes.extend_from_slice(common.instructions);
        Some(())
    }

    fn begin(&mut self) -> usize {
        let start = self.bytes.len();
        self.bytes.extend([0; 4]);
        start
    }

    /// Pads the record that began at `start` and writes its length.
    fn end(&mut self, start: usize) -> Option<()> {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
        let length = u32::try_from(self.bytes.len() - start - 4).ok()?;
        self.bytes.get_mut(start..start + 4)?.copy_from_slice(&length.to_le_bytes());
        Some(())
    }

    fn relative(&mut self, target: u64) -> Option<()> {
        let field = self.address + self.bytes.len() as u64;
        self.bytes.extend(displacement(target, field)?);
        Some(())
    }
}
