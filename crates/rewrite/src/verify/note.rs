//! The note of an instrumented image, and what it leads to.

use tare_format::description::DescriptionView;
use tare_format::note::{ImageNote, NOTE_NAME, NOTE_TYPE};
use tare_format::probe::SLOTS_SIZE;
use tare_image::{Image, Segment};

use super::{Claims, Fault};
use crate::describe;

/// What a note leads to.
pub(crate) struct Read<'data> {
    pub(crate) description: DescriptionView<'data>,
    /// Link addresses of the description and the slots.
    pub(crate) description_at: u64,
    pub(crate) slots: u64,
}

/// Follows the note of an image.
pub(crate) fn read<'data>(image: &Image<'data>) -> Result<Read<'data>, Fault> {
    let owner = std::str::from_utf8(NOTE_NAME).unwrap_or_default().trim_end_matches('\0');
    let notes = image.notes();
    let note = notes.iter().find(|note| note.owner == owner && note.kind == NOTE_TYPE);
    let note = note.ok_or(Fault::new(0, "no note is found"))?;
    let content = ImageNote::from_bytes(note.content).ok_or(Fault::new(0, "the note is too short"))?;
    let segments = image.segments().iter().filter(|segment| segment.is_loaded());
    let in_memory = segments
        .filter(|segment| (segment.offset..segment.offset.saturating_add(segment.file_size)).contains(&note.content_offset))
        .map(|segment| segment.address.wrapping_add(note.content_offset - segment.offset))
        .next();
    let here = in_memory.ok_or(Fault::new(0, "the note is not loaded"))?;
    let description_at = here.wrapping_add_signed(content.description);
    let bytes = image.bytes_at(description_at, content.description_length);
    let description = bytes.and_then(|bytes| DescriptionView::of(bytes).ok());
    let description = description.ok_or(Fault::new(description_at, "the description cannot be read"))?;
    if !bytes.is_some_and(describe::is_sealed) {
        return Err(Fault::new(description_at, "the description is not as it was written"));
    }
    Ok(Read { description, description_at, slots: here.wrapping_add_signed(content.slots) })
}

/// The note leads to a description of as many regions as there are, and to slots that are writable and empty.
pub(crate) fn check(written: &Image<'_>, claims: &Claims<'_>) -> Result<(), Fault> {
    let Read { description, description_at, slots } = read(written)?;
    if description.count() != claims.regions {
        return Err(Fault::new(description_at, "the description has other regions than the image"));
    }
    let is_writable = written.segment_at(slots).is_some_and(Segment::is_writable);
    let is_empty = written.bytes_at(slots, SLOTS_SIZE).is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0));
    let is_agreed = is_writable && is_empty && slots.is_multiple_of(64) && slots == claims.slots;
    if is_agreed { Ok(()) } else { Err(Fault::new(slots, "the slots are not as agreed")) }
}
