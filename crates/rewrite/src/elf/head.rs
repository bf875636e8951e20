//! The program headers, and what stands at the head of the first new segment.
//!
//! Two more segments need two more program headers. Linkers put `.interp` and the notes right behind the
//! table; where that room is enough, these move to the new segment and the table grows in place, which keeps
//! `strip` and `objcopy` working. Elsewhere the whole table moves.

use std::ops::Range;

use tare_format::note::{ImageNote, NOTE_NAME, NOTE_TYPE};
use tare_image::{Image, Segment};

use crate::elf::{PF_R, PF_W, PF_X, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_GNU_PROPERTY, PT_INTERP, PT_LOAD, PT_NOTE, PT_PHDR, PT_TLS, SEGMENT_SIZE};
use crate::layout::{Layout, PAGE};

const SHT_NOTE: u32 = 7;
const NOTE_ALIGNMENT: u64 = 4;
/// Bytes of the note: header, owner's name, descriptor.
pub(crate) const NOTE_SIZE: u64 = 12 + NOTE_NAME.len().next_multiple_of(4) as u64 + ImageNote::LENGTH as u64;

/// What stands at the head of the first new segment; positions count from its start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    /// What moves away from behind the program headers, as a range of the file; empty where the table moves.
    pub(crate) block: Range<u64>,
    /// Where the table of program headers goes, if it moves.
    pub(crate) table_at: Option<u64>,
    pub(crate) block_at: u64,
    pub(crate) note_at: u64,
    pub(crate) description_at: u64,
    pub(crate) strings_at: u64,
    pub(crate) size: u64,
}

impl Head {
    /// Arranges the head for a description and strings of these lengths, and a layout that has no addresses yet.
    pub(crate) fn arrange(image: &Image<'_>, layout: &Layout, description: u64, strings: u64) -> Self {
        let in_place = Self::in_place(image, layout);
        let mut head = in_place.unwrap_or_else(|| Self::moved(image, layout));
        head.description_at = (head.note_at + NOTE_SIZE).next_multiple_of(8);
        head.strings_at = head.description_at + description;
        head.size = head.strings_at + strings;
        head
    }

    /// The form in which the table stays where it is, if there is room.
    fn in_place(image: &Image<'_>, layout: &Layout) -> Option<Self> {
        let table_end = image.segment_table() + SEGMENT_SIZE * image.segments().len() as u64;
        let (block, limit) = movable(image, table_end)?;
        let block_at = block.start % 16;
        let note_at = (block_at + block.end - block.start).next_multiple_of(NOTE_ALIGNMENT);
        let head = Self { block, table_at: None, block_at, note_at, description_at: 0, strings_at: 0, size: 0 };
        let count = head.segments(image, layout, 0).len() as u64;
        (image.segment_table() + SEGMENT_SIZE * count <= limit).then_some(head)
    }

    fn moved(image: &Image<'_>, layout: &Layout) -> Self {
        let mut head = Self { block: 0..0, table_at: Some(0), block_at: 0, note_at: 0, description_at: 0, strings_at: 0, size: 0 };
        head.note_at = SEGMENT_SIZE * head.segments(image, layout, 0).len() as u64;
        head
    }

    /// All program headers of the output, for a first new segment at `offset` in the file.
    pub(crate) fn segments(&self, image: &Image<'_>, layout: &Layout, offset: u64) -> Vec<Segment> {
        let mut found = Vec::with_capacity(image.segments().len() + 4);
        let mut has_note = false;
        for segment in image.segments() {
            let mut segment = *segment;
            match segment.kind {
                PT_INTERP | PT_NOTE | PT_GNU_PROPERTY if self.is_in_block(&segment) => {
                    has_note |= self.shift(&mut segment, layout, offset, !has_note);
                }
                PT_GNU_EH_FRAME => segment = frame_index(layout, offset),
                PT_TLS => segment = thread_locals(layout, offset).unwrap_or(segment),
                PT_DYNAMIC if !layout.dynamic.is_empty() => segment = copied(&segment, &layout.dynamic, layout, offset),
                _ => {}
            }
            found.push(segment);
        }
        let last = found.iter().rposition(|segment| segment.kind == PT_LOAD).map_or(found.len(), |last| last + 1);
        found.splice(last..last, new_segments(layout, offset));
        if !has_note {
            found.push(Segment {
                kind: PT_NOTE,
                flags: PF_R,
                offset: offset + self.note_at,
                address: layout.start + self.note_at,
                file_size: NOTE_SIZE,
                memory_size: NOTE_SIZE,
                align: NOTE_ALIGNMENT,
            });
        }
        if !found.iter().any(|segment| segment.kind == PT_TLS) {
            found.extend(thread_locals(layout, offset));
        }
        if !found.iter().any(|segment| segment.kind == PT_GNU_EH_FRAME) {
            found.push(frame_index(layout, offset));
        }
        let size = SEGMENT_SIZE * found.len() as u64;
        for segment in found.iter_mut().filter(|segment| segment.kind == PT_PHDR) {
            segment.file_size = size;
            segment.memory_size = size;
            if let Some(at) = self.table_at {
                segment.offset = offset + at;
                segment.address = layout.start + at;
            }
        }
        found
    }

    fn is_in_block(&self, segment: &Segment) -> bool {
        segment.offset >= self.block.start && segment.offset < self.block.end
    }

    /// Moves a segment of the block. One of notes that ends with the block takes our note in; says whether.
    fn shift(&self, segment: &mut Segment, layout: &Layout, offset: u64, wants_note: bool) -> bool {
        let at = segment.offset - self.block.start + self.block_at;
        let is_last = at + segment.file_size == self.note_at;
        let takes_note = wants_note && segment.kind == PT_NOTE && is_last && segment.align == NOTE_ALIGNMENT;
        segment.offset = offset + at;
        segment.address = layout.start + at;
        if takes_note {
            segment.file_size += NOTE_SIZE;
            segment.memory_size = segment.file_size;
        }
        takes_note
    }
}

/// The note.
pub(crate) fn note_bytes(note: &ImageNote) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(NOTE_SIZE as usize);
    bytes.extend((NOTE_NAME.len() as u32).to_le_bytes());
    bytes.extend((ImageNote::LENGTH as u32).to_le_bytes());
    bytes.extend(NOTE_TYPE.to_le_bytes());
    bytes.extend(NOTE_NAME);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(note.to_bytes());
    bytes
}

/// A segment at another place in the new ones.
fn copied(segment: &Segment, range: &Range<u64>, layout: &Layout, offset: u64) -> Segment {
    let size = range.end - range.start;
    Segment { offset: layout.position(offset, range.start), address: range.start, file_size: size, memory_size: size, ..*segment }
}

fn new_segments(layout: &Layout, offset: u64) -> [Segment; 2] {
    let new = |flags, range: Range<u64>| Segment {
        kind: PT_LOAD,
        flags,
        offset: layout.position(offset, range.start),
        address: range.start,
        file_size: range.end - range.start,
        memory_size: range.end - range.start,
        align: PAGE,
    };
    [new(PF_R | PF_X, layout.start..layout.frame_index.end), new(PF_R | PF_W, layout.data.clone())]
}

fn thread_locals(layout: &Layout, offset: u64) -> Option<Segment> {
    let own = layout.thread_locals.as_ref()?;
    Some(own.segment(layout.thread_image, layout.position(offset, layout.thread_image)))
}

fn frame_index(layout: &Layout, offset: u64) -> Segment {
    let size = layout.frame_index.end - layout.frame_index.start;
    Segment {
        kind: PT_GNU_EH_FRAME,
        flags: PF_R,
        offset: layout.position(offset, layout.frame_index.start),
        address: layout.frame_index.start,
        file_size: size,
        memory_size: size,
        align: 4,
    }
}

/// `.interp` and notes that stand behind the program headers and of which these tell, and where the room ends that is free without them.
fn movable(image: &Image<'_>, table_end: u64) -> Option<(Range<u64>, u64)> {
    let mut sections: Vec<_> = image
        .sections()
        .iter()
        .filter(|section| section.is_loaded() && !section.is_empty_in_file() && section.offset + section.size > table_end)
        .collect();
    sections.sort_by_key(|section| section.offset);
    // Where a note has been removed, `strip` leaves its segment with an address that is not that of its offset.
    let tells =
        |segment: &Segment| matches!(segment.kind, PT_INTERP | PT_NOTE | PT_GNU_PROPERTY) && image.offset_of(segment.address) == Some(segment.offset);
    // Go's linker leaves a note out of the segment of notes: nothing would say where that has moved to.
    let is_movable = |section: &&&tare_image::Section<'_>| {
        let is_told = |segment: &Segment| tells(segment) && (segment.offset..segment.offset + segment.file_size).contains(&section.offset);
        (section.name == ".interp" || section.kind == SHT_NOTE) && image.segments().iter().any(is_told)
    };
    let block: Vec<_> = sections.iter().take_while(is_movable).collect();
    let (first, last, block_length) = (block.first()?, block.last()?, block.len());
    let block = first.offset..last.offset + last.size;
    // Where a note has been removed, nothing says whose the zeros are that stand in its place.
    let limit = end_of_zeros(image, table_end..sections.get(block_length)?.offset.min(block.end), &block);
    let is_foreign = |segment: &&Segment| {
        let end = segment.offset + segment.file_size;
        let overlaps = segment.offset < limit && end > table_end;
        let moves = tells(segment) && block.contains(&segment.offset) && end <= block.end;
        overlaps && !moves && !matches!(segment.kind, PT_PHDR | PT_LOAD)
    };
    let is_foreign = image.segments().iter().any(|segment| is_foreign(&segment));
    (block.start >= table_end && !is_foreign).then_some((block, limit))
}

/// Where the first byte that is not zero stands in a range of the file, but for those of the block: Go's linker keeps the section
/// headers between the program headers and its note.
fn end_of_zeros(image: &Image<'_>, range: Range<u64>, block: &Range<u64>) -> u64 {
    let is_zero = |&offset: &u64| {
        let byte = usize::try_from(offset).ok().and_then(|offset| image.data().get(offset));
        block.contains(&offset) || byte == Some(&0)
    };
    range.clone().find(|offset| !is_zero(offset)).unwrap_or(range.end)
}
