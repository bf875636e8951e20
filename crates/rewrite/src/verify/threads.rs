//! Whether every thread-local variable of the original is where its code looks for it, with its initial value.
//!
//! Code of a program knows how far a variable is in front of the thread pointer, code of a library how far it is behind
//! the start of the block. This looks at both files' segments and knows nothing of how the block was made.

use tare_image::{Image, Kind, Segment};

use super::Fault;
use crate::elf::PT_TLS;

fn segment<'a>(image: &'a Image<'_>) -> Option<&'a Segment> {
    image.segments().iter().find(|segment| segment.kind == PT_TLS)
}

/// Checks the segment of the written image.
pub(super) fn check(original: &Image<'_>, written: &Image<'_>) -> Result<(), Fault> {
    let Some(old) = segment(original) else { return Ok(()) };
    let new = segment(written).ok_or(Fault::new(old.address, "the segment of thread-local variables is missing"))?;
    let fault = Fault::new(new.address, "thread-local variables are not where they were");
    let (before, after) = (block(old), block(new));
    let shift = if original.kind() == Kind::SharedLibrary { 0 } else { after.checked_sub(before).ok_or(fault)? };
    let is_aligned = new.address.is_multiple_of(new.align.max(1)) || (new.address, new.align) == (old.address, old.align);
    let is_even = new.align >= old.align && shift.is_multiple_of(old.align.max(1));
    let has_room = new.memory_size >= shift + old.memory_size && (old.file_size == 0 || new.file_size >= shift + old.file_size);
    if !(is_aligned && is_even && has_room) {
        return Err(fault);
    }
    let place = new.address + shift;
    if old.file_size != 0 && original.bytes_at(old.address, old.file_size) != written.bytes_at(place, old.file_size) {
        return Err(Fault::new(place, "initial values of thread-local variables differ"));
    }
    // What the original has no bytes for begins as zero.
    let zeros = (old.file_size..old.memory_size).take_while(|at| shift + at < new.file_size);
    let is_zero = |at: u64| written.bytes_at(place + at, 1) == Some(&[0]);
    if !{ zeros }.all(is_zero) {
        return Err(Fault::new(place + old.file_size, "a thread-local variable does not begin as zero"));
    }
    let own = original.relocations().iter().filter(|one| (old.address..old.address + old.file_size).contains(&one.address));
    for one in own {
        let at = place + (one.address - old.address);
        let is_same = |other: &tare_image::Relocation<'_>| other.address == at && (other.kind, other.addend) == (one.kind, one.addend);
        if !written.relocations().iter().any(is_same) {
            return Err(Fault::new(at, "an address among initial values is not filled in"));
        }
    }
    Ok(())
}

/// Bytes from the start of a block to its end, by which the thread pointer of a program finds it.
fn block(segment: &Segment) -> u64 {
    segment.memory_size.next_multiple_of(segment.align.max(1))
}
