//! Thread-local variables of the probes' own, in the one segment (`PT_TLS`) that an image has for such variables.
//!
//! ```text
//! program   own variables · zeros | the program's      | thread pointer
//! library   the library's         | own variables
//! ```
//! A program's code knows how far its variables are in front of the thread pointer, a library's how far they are behind the
//! start of its block: on both sides these distances stay. Code finds the own ones by a word that holds their distance
//! from the thread pointer: a number in a program; a relocation in a library, whose block has a place when it is loaded.

use tare_image::{Image, Kind, RelocationKind, Segment};

use crate::elf::dynamic::relocation_table_size;
use crate::elf::{PF_R, PT_TLS};
use crate::error::RewriteError;
use crate::insertion::Additions;
use crate::plan::Moved;

/// Own variables are aligned to this; a function's begin at multiples of 8.
const ALIGNMENT: u64 = 16;

/// What the output has instead of the original's segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ThreadLocals {
    /// Initial bytes, as every thread gets them; empty where those of the original stay where they are.
    pub(crate) image: Vec<u8>,
    /// For the output: where its bytes are in the original, if they stay.
    segment: Segment,
    /// Addresses among them that the loader fills in: where, and the link address.
    addresses: Vec<(u64, u64)>,
    pub(crate) distance: Distance,
    /// How much farther from the start of the block the original's variables are.
    pub(crate) shift: u64,
}

/// How far the own variables are away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Distance {
    /// From the thread pointer.
    Known(i64),
    /// From the start of the library's block.
    InBlock(u64),
}

/// Type of symbols of thread-local variables.
pub(crate) const STT_TLS: u8 = 6;
/// `R_X86_64_DTPMOD64`, `…_DTPOFF64`, `…_TPOFF64`, `…_TLSDESC`.
const THREAD_LOCAL: [RelocationKind; 4] =
    [RelocationKind::Other(16), RelocationKind::Other(17), RelocationKind::Other(18), RelocationKind::Other(36)];

const fn unusual(what: &'static str) -> RewriteError {
    RewriteError::ThreadLocals { what }
}

impl ThreadLocals {
    /// Room for the variables of the image and of all functions, whose places it gives them; `None` where there are none.
    pub(crate) fn arrange(image: &Image<'_>, shared: &[u8], moved: &mut [Moved]) -> Result<Option<Self>, RewriteError> {
        let mut own = shared.to_vec();
        for block in moved.iter_mut().map(|one| &mut one.thread_variables).filter(|block| !block.bytes.is_empty()) {
            own.resize(own.len().next_multiple_of(8), 0);
            block.address = own.len() as u64;
            own.extend_from_slice(&block.bytes);
        }
        if own.is_empty() {
            return Ok(None);
        }
        let original = image.segments().iter().find(|segment| segment.kind == PT_TLS);
        let none = Segment { kind: PT_TLS, flags: PF_R, offset: 0, address: 0, file_size: 0, memory_size: 0, align: ALIGNMENT };
        let old = Old { image, segment: original.copied().unwrap_or(none) };
        if image.kind() == Kind::SharedLibrary { old.library(&own) } else { old.program(&own) }.map(Some)
    }

    /// Fills the distance in where it is known.
    pub(crate) fn tell(&self, additions: &mut Additions) {
        let (Distance::Known(distance), Some(at)) = (self.distance, additions.thread_distance) else { return };
        if let Some(place) = additions.variables.get_mut(at as usize..at as usize + 8) {
            place.copy_from_slice(&distance.to_le_bytes());
        }
    }

    /// The segment, for initial bytes at a link address and an offset in the file.
    pub(crate) fn segment(&self, address: u64, offset: u64) -> Segment {
        if self.image.is_empty() { self.segment } else { Segment { address, offset, ..self.segment } }
    }

    /// What the loader fills in, for initial bytes at a link address.
    pub(crate) fn relocated(&self, address: u64) -> impl ExactSizeIterator<Item = (u64, u64)> {
        self.addresses.iter().map(move |&(at, value)| (address + at, value))
    }

    /// What the initial bytes must be aligned to.
    pub(crate) const fn align(&self) -> u64 {
        self.segment.align
    }
}

/// The original's segment.
struct Old<'a, 'data> {
    image: &'a Image<'data>,
    segment: Segment,
}

impl Old<'_, '_> {
    fn program(&self, own: &[u8]) -> Result<ThreadLocals, RewriteError> {
        let segment = self.segment;
        let exported = |symbol: &tare_image::Symbol<'_>| symbol.kind == STT_TLS && symbol.is_defined;
        if self.image.dynamic_symbols().iter().any(exported) || self.has_relocations_to_it() {
            return Err(unusual("libraries refer to the program's own thread-local variables"));
        }
        let align = segment.align.max(ALIGNMENT);
        // So far is the start of the original's block from the thread pointer.
        let before = segment.memory_size.next_multiple_of(segment.align.max(1));
        let size = (before + own.len() as u64).next_multiple_of(align);
        let mut bytes = own.to_vec();
        bytes.resize(usize::try_from(size - before).map_err(|_| unusual("they are too large"))?, 0);
        let addresses = self.copy_to(&mut bytes)?;
        let segment = Segment { file_size: bytes.len() as u64, memory_size: size, align, ..segment };
        Ok(ThreadLocals { image: bytes, segment, addresses, distance: Distance::Known(size.cast_signed().wrapping_neg()), shift: size - before })
    }

    fn library(&self, own: &[u8]) -> Result<ThreadLocals, RewriteError> {
        if relocation_table_size(self.image).is_none() {
            return Err(unusual("the library has no relocation table to be extended"));
        }
        let segment = self.segment;
        let at = segment.memory_size.next_multiple_of(ALIGNMENT);
        let (memory_size, align) = (at + own.len() as u64, segment.align.max(ALIGNMENT));
        let mut bytes = Vec::new();
        let (mut addresses, mut file_size) = (Vec::new(), segment.file_size);
        if own.iter().any(|&byte| byte != 0) || segment.memory_size == 0 || align != segment.align {
            addresses = self.copy_to(&mut bytes)?;
            bytes.resize(usize::try_from(at).map_err(|_| unusual("they are too large"))?, 0);
            bytes.extend_from_slice(own);
            file_size = bytes.len() as u64;
        }
        let segment = Segment { file_size, memory_size, align, ..segment };
        Ok(ThreadLocals { image: bytes, segment, addresses, distance: Distance::InBlock(at), shift: 0 })
    }

    /// Appends the original's initial bytes; answers what the loader fills in there.
    fn copy_to(&self, bytes: &mut Vec<u8>) -> Result<Vec<(u64, u64)>, RewriteError> {
        let Segment { address, file_size, align, .. } = self.segment;
        if address % align.max(1) != 0 {
            return Err(unusual("their segment is not aligned"));
        }
        if file_size == 0 {
            return Ok(Vec::new());
        }
        let start = bytes.len() as u64;
        bytes.extend_from_slice(self.image.bytes_at(address, file_size).ok_or(unusual("their initial values are not in the file"))?);
        let own = self.image.relocations().iter().filter(|one| (address..address + file_size).contains(&one.address));
        let relative = own.map(|one| match one.kind {
            RelocationKind::Relative => Ok((start + (one.address - address), one.addend.cast_unsigned())),
            _ => Err(unusual("the original's initial values hold addresses of other libraries")),
        });
        let addresses = relative.collect::<Result<Vec<_>, _>>()?;
        if addresses.is_empty() || relocation_table_size(self.image).is_some() {
            return Ok(addresses);
        }
        Err(unusual("there is no relocation table to be extended"))
    }

    /// Whether the loader is asked where variables of this image are.
    fn has_relocations_to_it(&self) -> bool {
        let is_own = |one: &tare_image::Relocation<'_>| one.symbol.is_none_or(|symbol| symbol.is_defined);
        self.image.relocations().iter().any(|one| THREAD_LOCAL.contains(&one.kind) && is_own(one))
    }
}
