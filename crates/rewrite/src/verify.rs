//! The written image, read back and held against the original.
//!
//! Nothing is shared with the phases that wrote it: the file is parsed afresh, its moved code is decoded, and
//! every instruction must be the original's, byte by byte outside of one field whose target is compared
//! instead. Every site must be a well-formed call of the right stub with the right number, every exit must
//! have one, and every jump at an original entry must land on the moved entry.

mod walk;

use std::ops::Range;

use tare_code::{Program, TableForm, Threads};
use tare_format::description::Description;
use tare_format::note::{ImageNote, NOTE_NAME, NOTE_TYPE};
use tare_image::Image;

use crate::addresses::AddressMap;
use crate::error::RewriteError;
use walk::Walk;

/// Where one copy of a function is said to be.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Link addresses of each part: in the original, and of its copy.
    pub(crate) fragments: Vec<(Range<u64>, Range<u64>)>,
    pub(crate) tables: Vec<Table>,
}

#[cfg(test)]
impl Copy {
    /// Addresses of all bytes of the copy: code and jump tables.
    pub(crate) fn places(&self) -> Vec<u64> {
        let code = self.fragments.iter().flat_map(|(_, copy)| copy.clone());
        let tables = self.tables.iter().flat_map(|one| one.copy..one.copy + one.entries * one.form.entry_size());
        code.chain(tables).collect()
    }
}

/// Where a jump table is said to be.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) original: u64,
    pub(crate) copy: u64,
    pub(crate) form: TableForm,
    pub(crate) entries: u64,
}

/// Where a function is said to be.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) function: usize,
    pub(crate) id: u32,
    pub(crate) springboard: u64,
    pub(crate) probed: Copy,
    pub(crate) clean: Option<Copy>,
}

/// What is said of the written image.
#[derive(Debug)]
pub(crate) struct Claims {
    /// Link addresses of the stubs for entries, entries of leaves, and exits.
    pub(crate) stubs: [u64; 3],
    pub(crate) functions: Vec<Claim>,
}

/// What is wrong, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) address: u64,
    pub(crate) what: &'static str,
}

impl Fault {
    pub(crate) const fn new(address: u64, what: &'static str) -> Self {
        Self { address, what }
    }
}

/// Checks the whole image.
pub(crate) fn verify(original: &Image<'_>, program: &Program, bytes: &[u8], claims: &Claims) -> Result<(), RewriteError> {
    let fail = |function: &str, fault: Fault| RewriteError::Check { function: function.to_owned(), address: fault.address, what: fault.what };
    let written = Image::parse(bytes).map_err(|_| fail("the headers", Fault::new(0, "the file cannot be read")))?;
    note(&written, claims).map_err(|fault| fail("the note", fault))?;
    let moved: AddressMap = claims.functions.iter().filter_map(|one| entry(&one.probed)).collect();
    let faults = Threads::available().map(&claims.functions, |claim| {
        let walk = Walk { original, written: &written, moved: &moved, claim, stubs: claims.stubs };
        let checked = springboard(&written, claim)
            .and_then(|()| walk.check(&claim.probed, true))
            .and_then(|()| claim.clean.as_ref().map_or(Ok(()), |clean| walk.check(clean, false)));
        checked.err().map(|fault| (claim.function, fault))
    });
    match faults.into_iter().flatten().next() {
        Some((function, fault)) => {
            let name = program.functions.get(function).map_or("", |function| function.name.as_str());
            Err(fail(name, fault))
        }
        None => Ok(()),
    }
}

/// Original and moved entry of a copy.
fn entry(copy: &Copy) -> Option<(u64, u64)> {
    copy.fragments.first().map(|(original, moved)| (original.start, moved.start))
}

/// The note leads to a description of as many regions as there are moved functions, and to slots that are
/// writable and empty.
fn note(written: &Image<'_>, claims: &Claims) -> Result<(), Fault> {
    let owner = std::str::from_utf8(NOTE_NAME).unwrap_or_default().trim_end_matches('\0');
    let notes = written.notes();
    let note = notes.iter().find(|note| note.owner == owner && note.kind == NOTE_TYPE);
    let note = note.ok_or(Fault::new(0, "no note is found"))?;
    let content = ImageNote::from_bytes(note.content).ok_or(Fault::new(0, "the note is too short"))?;
    let segments = written.segments().iter().filter(|segment| segment.is_loaded());
    let in_memory = segments
        .filter(|segment| (segment.offset..segment.offset + segment.file_size).contains(&note.content_offset))
        .map(|segment| segment.address + (note.content_offset - segment.offset))
        .next();
    let here = in_memory.ok_or(Fault::new(0, "the note is not loaded"))?;
    let description = here.wrapping_add_signed(content.description);
    let bytes = written.bytes_at(description, content.description_length);
    let read = bytes.and_then(|bytes| Description::from_bytes(bytes).ok());
    if read.is_none_or(|read| read.regions.len() != claims.functions.len()) {
        return Err(Fault::new(description, "the description cannot be read"));
    }
    let slots = here.wrapping_add_signed(content.slots);
    let is_writable = written.segment_at(slots).is_some_and(tare_image::Segment::is_writable);
    let is_empty = written.bytes_at(slots, 32) == Some(&[0; 32]);
    if is_writable && is_empty && slots.is_multiple_of(32) { Ok(()) } else { Err(Fault::new(slots, "the slots are not as agreed")) }
}

/// The jump at the original entry lands on the moved entry, if it is a short one by a long one elsewhere.
fn springboard(written: &Image<'_>, claim: &Claim) -> Result<(), Fault> {
    let fault = Fault::new(claim.springboard, "the jump at the entry does not lead to the moved entry");
    let (entry, moved) = entry(&claim.probed).ok_or(fault)?;
    let is_near = claim.springboard == entry || claim.springboard == entry + 4;
    let mut at = claim.springboard;
    if let Some([0xeb, distance]) = written.bytes_at(at, 2) {
        at = (at + 2).wrapping_add_signed(i64::from(distance.cast_signed()));
    }
    let bytes = written.bytes_at(at, 5).ok_or(fault)?;
    let target = relative(bytes.get(1..5).unwrap_or_default(), at + 5);
    if bytes.first() == Some(&0xe9) && target == Some(moved) && is_near { Ok(()) } else { Err(fault) }
}

/// The target of a 32-bit displacement that counts from `end`.
pub(crate) fn relative(field: &[u8], end: u64) -> Option<u64> {
    let field: [u8; 4] = field.try_into().ok()?;
    Some(end.wrapping_add_signed(i64::from(i32::from_le_bytes(field))))
}
