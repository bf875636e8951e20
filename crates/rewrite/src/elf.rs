//! The frame around the new segments: headers, notes, dynamic section, sections, symbols.

pub(crate) mod dynamic;
pub(crate) mod head;
pub(crate) mod hooks;
pub(crate) mod imports;
pub(crate) mod sections;
pub(crate) mod symbols;
pub(crate) mod threads;

use tare_image::Segment;

pub(crate) const PT_LOAD: u32 = 1;
pub(crate) const PT_DYNAMIC: u32 = 2;
pub(crate) const PT_INTERP: u32 = 3;
pub(crate) const PT_NOTE: u32 = 4;
pub(crate) const PT_PHDR: u32 = 6;
pub(crate) const PT_TLS: u32 = 7;
pub(crate) const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
pub(crate) const PT_GNU_PROPERTY: u32 = 0x6474_e553;
pub(crate) const PF_X: u32 = 1;
pub(crate) const PF_W: u32 = 2;
pub(crate) const PF_R: u32 = 4;

/// Bytes of a program header.
pub(crate) const SEGMENT_SIZE: u64 = 56;

/// A program header as it stands in the file.
pub(crate) fn segment_bytes(segment: &Segment) -> [u8; SEGMENT_SIZE as usize] {
    let mut bytes = [0; SEGMENT_SIZE as usize];
    let words = [
        u64::from(segment.kind) | u64::from(segment.flags) << 32,
        segment.offset,
        segment.address,
        segment.address,
        segment.file_size,
        segment.memory_size,
        segment.align,
    ];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
