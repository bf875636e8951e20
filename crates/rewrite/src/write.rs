//! The output file: the original's loaded bytes with their few changes, the new segments, and the rest.

use tare_code::Program;
use tare_format::note::{ImageNote, NOTE_VERSION};
use tare_image::{Image, Kind};

use crate::displacement::displacement;
use crate::elf::dynamic::{self, Paths};
use crate::elf::head::{Head, note_bytes};
use crate::elf::hooks::{self, When};
use crate::elf::imports::{DYNAMIC_ENTRY, Imports, dynamic_segment};
use crate::elf::sections::{self, Places};
use crate::elf::{PT_INTERP, PT_LOAD, segment_bytes};
use crate::emit::{self, Window};
use crate::error::RewriteError;
use crate::insertion::Additions;
use crate::layout::{Layout, PAGE, UnwindBytes};
use crate::plan::Moved;
use crate::springboards::{JUMP, JUMP_LENGTH, SHORT_JUMP, SHORT_JUMP_LENGTH, Springboard};

/// Zeros that may be written so that file positions and addresses keep their distance.
const LARGEST_HOLE: u64 = 4 << 20;
const TRAP: u8 = 0xcc;

const DAMAGED: RewriteError = RewriteError::Headers { what: "a header lies outside of the file" };

/// Where the first new segment goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Start {
    /// How much of the original comes first.
    pub(crate) kept: u64,
    pub(crate) offset: u64,
    pub(crate) address: u64,
}

impl Start {
    /// Behind the last segment. Where the program headers of a program move, their file position must equal their distance
    /// from the first segment: kernels before 5.18 tell programs so. Of libraries the loader asks for the segment that they are in.
    pub(crate) fn choose(image: &Image<'_>, head: &Head) -> Self {
        let loaded = || image.segments().iter().filter(|segment| segment.kind == PT_LOAD);
        let memory = loaded().map(|one| one.address + one.memory_size).max().unwrap_or(0).next_multiple_of(PAGE);
        let file = loaded().map(|one| one.offset + one.file_size).max().unwrap_or(0);
        let kept = if image.sections().is_empty() { image.data().len() as u64 } else { file };
        let offset = kept.next_multiple_of(PAGE);
        let first = loaded().next().map_or(0, |one| one.address.wrapping_sub(one.offset));
        let apart = memory.wrapping_sub(first);
        if head.table_at.is_none() || !may_be_started(image) {
            return Self { kept, offset, address: memory };
        }
        match apart.checked_sub(offset) {
            Some(hole) if hole > LARGEST_HOLE => Self { kept, offset, address: memory },
            Some(_) => Self { kept, offset: apart, address: memory },
            None => Self { kept, offset, address: first.wrapping_add(offset) },
        }
    }
}

/// Whether the kernel may start it. Libraries have an entry for no reason, too.
fn may_be_started(image: &Image<'_>) -> bool {
    let has_loader = image.segments().iter().any(|segment| segment.kind == PT_INTERP);
    let is_library = image.kind() == Kind::SharedLibrary && (image.entry() == 0 || image.dynamic().soname().is_some());
    has_loader || !is_library
}

/// Everything that is needed to write the file.
pub(crate) struct Job<'a, 'data> {
    pub(crate) image: &'a Image<'data>,
    pub(crate) program: &'a Program,
    pub(crate) moved: &'a [Moved],
    pub(crate) additions: &'a Additions,
    pub(crate) head: &'a Head,
    pub(crate) start: Start,
    pub(crate) layout: &'a Layout,
    pub(crate) unwind: &'a UnwindBytes,
    pub(crate) description: &'a [u8],
    pub(crate) paths: &'a Paths,
    pub(crate) imports: &'a Imports,
    pub(crate) identity: [u8; 16],
    pub(crate) poison: bool,
}

impl Job<'_, '_> {
    /// The file.
    pub(crate) fn write(&self) -> Result<Vec<u8>, RewriteError> {
        let data = self.image.data();
        let kept = usize::try_from(self.start.kept).map_err(|_| DAMAGED)?;
        let end = self.position(self.layout.data.end);
        let tables = self.imports.tables(self.image, self.layout.imports.start, &self.layout.dynamic);
        let places = Places {
            head: self.head,
            layout: self.layout,
            additions: self.additions,
            tables: &tables,
            offset: self.start.offset,
            kept: self.start.kept,
        };
        let tail = sections::tail(self.image, self.program, self.moved, &places, end);
        let length = usize::try_from(end).map_err(|_| DAMAGED)?;
        let mut out = Vec::with_capacity(length + tail.as_ref().map_or(0, |tail| tail.bytes.len()));
        out.extend_from_slice(data.get(..kept).ok_or(DAMAGED)?);
        out.resize(length, 0);
        self.segments(&mut out)?;
        self.originals(&mut out)?;
        if let Some(tail) = &tail {
            out.extend_from_slice(&tail.bytes);
            put(&mut out, 40, &tail.table.to_le_bytes())?;
            put(&mut out, 60, &tail.count.to_le_bytes())?;
            put(&mut out, 62, &tail.names.to_le_bytes())?;
        }
        self.headers(&mut out)?;
        Ok(out)
    }

    /// Position in the file of something new at a link address.
    const fn position(&self, address: u64) -> u64 {
        self.layout.position(self.start.offset, address)
    }

    /// The new segments.
    fn segments(&self, out: &mut [u8]) -> Result<(), RewriteError> {
        let offset = usize::try_from(self.start.offset).map_err(|_| DAMAGED)?;
        let (head, layout) = (self.head, self.layout);
        let mut window = Window { start: layout.start, bytes: out.get_mut(offset..).ok_or(DAMAGED)? };
        let block = usize::try_from(head.block.start).map_err(|_| DAMAGED)?..usize::try_from(head.block.end).map_err(|_| DAMAGED)?;
        window.put(layout.start + head.block_at, self.image.data().get(block).ok_or(DAMAGED)?)?;
        let descriptor = layout.start + head.note_at + 24;
        let description = layout.start + head.description_at;
        let note = ImageNote {
            version: NOTE_VERSION,
            regions: u32::try_from(self.moved.iter().map(|one| one.regions.len()).sum::<usize>()).unwrap_or(u32::MAX),
            description: description.wrapping_sub(descriptor).cast_signed(),
            description_length: self.description.len() as u64,
            slots: layout.slots().wrapping_sub(descriptor).cast_signed(),
            identity: self.identity,
        };
        window.put(layout.start + head.note_at, &note_bytes(&note))?;
        window.put(description, self.description)?;
        window.put(layout.start + head.strings_at, &self.paths.strings)?;
        emit::write(&mut window, self.moved, self.additions, layout)?;
        if let Some(own) = &layout.thread_locals {
            window.put(layout.thread_image, &own.image)?;
        }
        window.put(layout.imports.start, &self.imports.bytes)?;
        if !layout.relocations.is_empty() {
            let table = dynamic::relocations(self.image, self.moved, layout, self.additions, &self.imports.symbols);
            window.put(layout.relocations.start, &table)?;
        }
        window.put(layout.frames.start, &self.unwind.frames)?;
        window.put(layout.frame_index.start, &self.unwind.index)
    }

    /// What changes in the original's bytes: springboards, and values of the dynamic section.
    fn originals(&self, out: &mut [u8]) -> Result<(), RewriteError> {
        if self.poison {
            for one in self.moved {
                self.poison(out, one)?;
            }
        }
        for one in self.moved {
            for springboard in &one.springboards {
                self.springboard(out, springboard, one.entry(springboard))?;
            }
        }
        let strings = self.layout.start + self.head.strings_at;
        let table = self.imports.string_table(self.image, self.layout.imports.start);
        let patches = self.paths.patches(strings, table).into_iter();
        let patches = patches.chain(self.imports.patches(self.image, self.layout.imports.start));
        let others = self.layout.relocated_slots(self.additions);
        for (at, value) in patches.chain(dynamic::relocation_patches(self.image, self.layout, others)) {
            put(out, at, &value.to_le_bytes())?;
        }
        self.hook(out, When::Start, self.additions.initialize)?;
        self.hook(out, When::End, self.additions.finalize)?;
        self.libraries(out)
    }

    /// Puts libraries behind the entries of the dynamic section, and all of them where they go when all else is in them.
    fn libraries(&self, out: &mut [u8]) -> Result<(), RewriteError> {
        let Some(segment) = dynamic_segment(self.image) else { return Ok(()) };
        let end = segment.offset + DYNAMIC_ENTRY * self.image.dynamic().entries().len() as u64;
        let copy = &self.layout.dynamic;
        let nesting = self.layout.shared_variables + u64::from(self.additions.thread_distance.unwrap_or(0));
        if copy.is_empty() {
            return put(out, end, &self.imports.entries(nesting));
        }
        let kept = usize::try_from(segment.offset).map_err(|_| DAMAGED)?..usize::try_from(end).map_err(|_| DAMAGED)?;
        let mut entries = out.get(kept).ok_or(DAMAGED)?.to_vec();
        entries.extend(self.imports.entries(nesting));
        put(out, self.position(copy.start), &entries)
    }

    /// Leads the first or the last function that the loader calls through a routine.
    fn hook(&self, out: &mut [u8], when: When, routine: Option<u32>) -> Result<(), RewriteError> {
        let Some(routine) = routine else { return Ok(()) };
        let hook = hooks::find(self.image, when).ok_or(RewriteError::Headers { what: "there is no function that the loader calls" })?;
        let table = &self.layout.relocations;
        let size = if table.is_empty() { dynamic::relocation_table_size(self.image).unwrap_or(0) } else { table.end - table.start };
        let offset = if table.is_empty() {
            dynamic::relocation_table(self.image).and_then(|address| self.image.offset_of(address)).unwrap_or(0)
        } else {
            self.position(table.start)
        };
        let start = usize::try_from(offset).map_err(|_| DAMAGED)?;
        let end = usize::try_from(offset + size).map_err(|_| DAMAGED)?;
        let relocations = out.get(start..end).ok_or(DAMAGED)?;
        for (at, value) in hook.patches(self.image, self.layout.routines() + u64::from(routine), (offset, relocations)) {
            put(out, at, &value.to_le_bytes())?;
        }
        Ok(())
    }

    /// The jump at the original entry; a short one leads to a long one elsewhere.
    fn springboard(&self, out: &mut [u8], springboard: &Springboard, entry: u64) -> Result<(), RewriteError> {
        let too_far = RewriteError::TooFar { what: "moved code" };
        let Springboard { at: Some(at), lead, island, .. } = *springboard else { return Ok(()) };
        if let Some(lead) = lead {
            put(out, self.image.offset_of(at).ok_or(DAMAGED)?, &[lead])?;
        }
        let long = island.unwrap_or(at + u64::from(lead.is_some()));
        let target = displacement(entry, long + JUMP_LENGTH).ok_or(too_far.clone())?;
        let place = self.image.offset_of(long).ok_or(DAMAGED)?;
        put(out, place, &[JUMP])?;
        put(out, place + 1, &target)?;
        if let Some(island) = island {
            let distance = island.wrapping_sub(at + SHORT_JUMP_LENGTH).cast_signed();
            let distance = i8::try_from(distance).map_err(|_| too_far)?;
            put(out, self.image.offset_of(at).ok_or(DAMAGED)?, &[SHORT_JUMP, distance.cast_unsigned()])?;
        }
        Ok(())
    }

    /// Fills the original body with traps, but for an `endbr64` at an entry.
    fn poison(&self, out: &mut [u8], one: &Moved) -> Result<(), RewriteError> {
        for fragment in &one.probed.fragments {
            let length = usize::try_from(fragment.original.end.saturating_sub(fragment.original.start)).map_err(|_| DAMAGED)?;
            put(out, self.image.offset_of(fragment.original.start).ok_or(DAMAGED)?, &vec![TRAP; length])?;
        }
        for springboard in &one.springboards {
            let Some(at) = springboard.at else { continue };
            let mark = self.image.bytes_at(springboard.entry, at - springboard.entry).ok_or(DAMAGED)?;
            put(out, self.image.offset_of(springboard.entry).ok_or(DAMAGED)?, mark)?;
        }
        Ok(())
    }

    /// The ELF header and the program headers.
    fn headers(&self, out: &mut [u8]) -> Result<(), RewriteError> {
        let segments = self.head.segments(self.image, self.layout, self.start.offset);
        let table = match self.head.table_at {
            Some(at) => self.start.offset + at,
            None => self.image.segment_table(),
        };
        if self.head.table_at.is_none() {
            let length = usize::try_from(self.head.block.end - self.head.block.start).map_err(|_| DAMAGED)?;
            put(out, self.head.block.start, &vec![0; length])?;
        }
        let bytes: Vec<u8> = segments.iter().flat_map(segment_bytes).collect();
        put(out, table, &bytes)?;
        put(out, 32, &table.to_le_bytes())?;
        let count = u16::try_from(segments.len()).map_err(|_| DAMAGED)?;
        put(out, 56, &count.to_le_bytes())
    }
}

fn put(out: &mut [u8], at: u64, bytes: &[u8]) -> Result<(), RewriteError> {
    let at = usize::try_from(at).map_err(|_| DAMAGED)?;
    out.get_mut(at..at + bytes.len()).ok_or(DAMAGED)?.copy_from_slice(bytes);
    Ok(())
}
