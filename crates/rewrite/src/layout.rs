//! Where everything new goes.
//!
//! Two segments follow the last one of the original, each on pages of its own:
//! ```text
//! R-X  head (program headers or notes, note, description, strings) · constants · tables · exception tables
//!      · routines of the probes · moved code · clean copies · cold parts · dynamic symbols · relocations · .eh_frame · .eh_frame_hdr
//! RW-  slots · variables · relocated jump tables
//! ```
//! Moved code keeps the alignment that its original had, counted from behind the entry probe, so that loops stay
//! where the compiler wanted them: in its lines of the cache where it has loops. (A loop of PT-Scotch lost a tenth where only multiples of 16 were
//! kept: processors hold decoded instructions by such lines.)

use std::collections::VecDeque;
use std::ops::Range;

use tare_code::TableForm;
use tare_image::Image;

use tare_format::probe::SLOTS_SIZE;

use crate::copies::{Fragment, FunctionCopy};
use crate::elf::PT_GNU_EH_FRAME;
use crate::elf::threads::{Distance, ThreadLocals};
use crate::error::RewriteError;
use crate::insertion::{Additions, Routine};
use crate::plan::{Block, Moved};
use crate::springboards::JUMP_LENGTH;
use crate::unwind::frames::Frame;
use crate::unwind::table::{Entry, FrameTable};

/// Bytes of a page.
pub(crate) const PAGE: u64 = 0x1000;
/// Bytes of an `Elf64_Rela`.
pub(crate) const RELOCATION_SIZE: u64 = 24;
const FRAME_ALIGNMENT: u64 = 8;
const CODE_ALIGNMENT: u64 = 64;
const FUNCTION_ALIGNMENT: u64 = 16;
/// Bytes of a cache line.
const LINE: u64 = 64;

/// Addresses of the new segments and what is in them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Layout {
    /// The first new segment.
    pub(crate) start: u64,
    pub(crate) head_end: u64,
    /// Constants, jump tables and exception tables.
    pub(crate) tables: Range<u64>,
    /// What the probes keep for the whole image.
    pub(crate) shared_constants: u64,
    pub(crate) shared_variables: u64,
    /// What the probes keep for functions.
    pub(crate) variables: Range<u64>,
    /// Routines of the probes and all moved code.
    pub(crate) code: Range<u64>,
    /// The tables of dynamic symbols, extended; empty where none are needed.
    pub(crate) imports: Range<u64>,
    /// The relocation table, extended; empty where none is needed.
    pub(crate) relocations: Range<u64>,
    pub(crate) frames: Range<u64>,
    pub(crate) frame_index: Range<u64>,
    /// The second new segment, which begins with the slots.
    pub(crate) data: Range<u64>,
    /// Variables that every thread has of its own, and where their initial bytes are.
    pub(crate) thread_locals: Option<ThreadLocals>,
    pub(crate) thread_image: u64,
    /// The copy of the dynamic section at the end of the data; empty where it stays where it is.
    pub(crate) dynamic: Range<u64>,
}

impl Layout {
    /// Where the routines of the probes are.
    pub(crate) const fn routines(&self) -> u64 {
        self.code.start
    }

    /// Position in the file of what is placed at a link address, where the first new segment begins at `first`.
    pub(crate) const fn position(&self, first: u64, address: u64) -> u64 {
        first + address.wrapping_sub(self.start)
    }

    /// What landing pads in other fragments are relative to: less than every address of moved code.
    pub(crate) const fn landing_base(&self) -> u64 {
        self.code.start
    }

    /// How many variables of the probes the loader fills in.
    pub(crate) fn relocated_slots(&self, additions: &Additions) -> u64 {
        additions.imports.len() as u64 + u64::from(self.block_distance(additions).is_some())
    }

    /// Variables of the probes that hold the addresses of routines, and these addresses.
    pub(crate) fn pointers(&self, additions: &Additions) -> impl Iterator<Item = (u64, u64)> {
        let addressed = |&(at, routine): &(u32, u32)| (self.shared_variables + u64::from(at), self.routines() + u64::from(routine));
        additions.pointers.iter().map(addressed)
    }

    /// Where the loader puts the distance of a library's thread-local variables, and how far they are in their block.
    pub(crate) fn block_distance(&self, additions: &Additions) -> Option<(u64, u64)> {
        let slot = self.shared_variables + u64::from(additions.thread_distance?);
        match self.thread_locals.as_ref()?.distance {
            Distance::InBlock(at) => Some((slot, at)),
            Distance::Known(_) => None,
        }
    }

    /// Where the slots are.
    pub(crate) const fn slots(&self) -> u64 {
        self.data.start
    }
}

/// The unwind table and its index, with their final addresses in it.
pub(crate) struct UnwindBytes {
    pub(crate) frames: Vec<u8>,
    pub(crate) index: Vec<u8>,
}

/// What the layout depends on, besides the moved functions.
pub(crate) struct Needs<'a> {
    pub(crate) additions: &'a Additions,
    /// Link address of the first segment.
    pub(crate) start: u64,
    /// Bytes of its head.
    pub(crate) head: u64,
    /// Bytes of the relocation table without what has to be added.
    pub(crate) relocations: u64,
    /// Bytes of the extended tables of dynamic symbols.
    pub(crate) imports: u64,
    /// Bytes of the dynamic section where it has to be copied.
    pub(crate) dynamic: u64,
}

/// Gives every copy its addresses.
pub(crate) fn assign(image: &Image<'_>, moved: &mut [Moved], empty: Layout, needs: &Needs<'_>) -> Result<(Layout, UnwindBytes), RewriteError> {
    let additions = needs.additions;
    let mut layout = Layout { start: needs.start, head_end: needs.start + needs.head, ..empty };
    let mut next = layout.head_end.next_multiple_of(16);
    layout.tables.start = next;
    layout.shared_constants = next;
    next += additions.constants.len() as u64;
    place_blocks(moved.iter_mut().map(|one| &mut one.constants), &mut next);
    place_tables(moved, &mut next, false);
    place_exceptions(moved, &mut next);
    layout.tables.end = next;
    next = next.next_multiple_of(CODE_ALIGNMENT);
    layout.code.start = next;
    next += additions.code.len() as u64;
    let order = place_code(moved, &mut next);
    layout.code.end = next;
    next = next.next_multiple_of(FRAME_ALIGNMENT);
    layout.imports = next..next + needs.imports;
    next = layout.imports.end.next_multiple_of(FRAME_ALIGNMENT);
    let of_threads = layout.thread_locals.as_ref().map_or(0, |own| own.relocated(0).len() as u64);
    let added = relocated_entries(moved) + of_threads + additions.pointers.len() as u64 + layout.relocated_slots(additions);
    let size = if added == 0 { 0 } else { needs.relocations + added * RELOCATION_SIZE };
    layout.relocations = next..next + size;
    next += size;
    let unwind = unwind(image, (moved, &order), additions, &layout, next).ok_or(RewriteError::TooFar { what: "unwind information" })?;
    layout.frames = next..next + unwind.frames.len() as u64;
    layout.frame_index = layout.frames.end..layout.frames.end + unwind.index.len() as u64;
    layout.data.start = layout.frame_index.end.next_multiple_of(PAGE);
    next = layout.data.start + SLOTS_SIZE;
    layout.shared_variables = next;
    next += additions.variables.len() as u64;
    next = next.next_multiple_of(8);
    layout.variables.start = next;
    place_blocks(moved.iter_mut().map(|one| &mut one.variables), &mut next);
    layout.variables.end = next;
    place_tables(moved, &mut next, true);
    if let Some(own) = &layout.thread_locals {
        layout.thread_image = next.next_multiple_of(own.align());
        next = layout.thread_image + own.image.len() as u64;
    }
    next = next.next_multiple_of(FRAME_ALIGNMENT);
    layout.dynamic = next..next + needs.dynamic;
    layout.data.end = layout.dynamic.end;
    Ok((layout, unwind))
}

fn place_blocks<'a>(blocks: impl Iterator<Item = &'a mut Block>, next: &mut u64) {
    for block in blocks {
        if !block.bytes.is_empty() {
            *next = next.next_multiple_of(8);
        }
        block.address = *next;
        *next += block.bytes.len() as u64;
    }
}

/// Entries of jump tables that the loader relocates.
pub(crate) fn relocated_entries(moved: &[Moved]) -> u64 {
    let tables = moved.iter().flat_map(Moved::copies).flat_map(|copy| &copy.tables);
    tables.filter(|table| table.form == TableForm::Relocated64).map(|table| table.targets.len() as u64).sum()
}

fn place_tables(moved: &mut [Moved], next: &mut u64, are_relocated: bool) {
    for table in moved.iter_mut().flat_map(Moved::copies_mut).flat_map(|copy| &mut copy.tables) {
        if (table.form == TableForm::Relocated64) == are_relocated {
            *next = next.next_multiple_of(table.form.entry_size());
            table.address = *next;
            *next += table.size();
        }
    }
}

fn place_exceptions(moved: &mut [Moved], next: &mut u64) {
    let frames = moved.iter_mut().flat_map(Moved::copies_mut).flat_map(|copy| &mut copy.frames);
    for table in frames.filter_map(|frame| frame.exceptions.as_mut()) {
        *next = next.next_multiple_of(4);
        table.address = *next;
        *next += table.bytes.len() as u64;
    }
}

/// Code that has a place to be given, in lines of the cache as its original had.
struct Piece {
    function: usize,
    /// Of the copy.
    fragment: usize,
    /// Its address divided by the alignment leaves this.
    wanted: u64,
    /// A power of two.
    alignment: u64,
    length: u64,
}

impl Piece {
    fn new(one: &Moved, (function, fragment): (usize, usize), code: &Fragment, head: u64) -> Self {
        // Of what the distance between a function and its copies is a multiple.
        let alignment = if one.has_loops { LINE } else { FUNCTION_ALIGNMENT };
        Self { function, fragment, wanted: code.original.start.wrapping_sub(head) % alignment, alignment, length: u64::from(code.length()) }
    }

    /// Bytes that are left free in front of it.
    const fn gap(&self, next: u64) -> u64 {
        self.wanted.wrapping_sub(next) & (self.alignment - 1)
    }
}

/// The order in which copies stand, by the indices of their functions: those with probes, and the clean ones.
struct Order {
    probed: Vec<usize>,
    clean: Vec<usize>,
}

/// Hot parts first, then clean copies, then cold parts.
fn place_code(moved: &mut [Moved], next: &mut u64) -> Order {
    let hot = |(index, one): (usize, &Moved)| Some(Piece::new(one, (index, 0), one.probed.fragments.first()?, one.head));
    let pieces: Vec<Piece> = moved.iter().enumerate().filter_map(hot).collect();
    let mut order = Order { probed: Vec::with_capacity(pieces.len()), clean: Vec::new() };
    pack(pieces, next, |piece, address| {
        order.probed.push(piece.function);
        if let Some(first) = moved.get_mut(piece.function).and_then(|one| one.probed.fragments.first_mut()) {
            first.address = address;
        }
    });
    let clean = |(index, one): (usize, &Moved)| {
        let fragments = one.clean.iter().flat_map(|copy| &copy.fragments).enumerate();
        fragments.map(|(fragment, code)| Piece::new(one, (index, fragment), code, 0)).collect::<Vec<Piece>>()
    };
    let pieces: Vec<Piece> = moved.iter().enumerate().flat_map(clean).collect();
    pack(pieces, next, |piece, address| {
        if piece.fragment == 0 {
            order.clean.push(piece.function);
        }
        let copy = moved.get_mut(piece.function).and_then(|one| one.clean.as_mut());
        if let Some(fragment) = copy.and_then(|copy| copy.fragments.get_mut(piece.fragment)) {
            fragment.address = address;
        }
    });
    for fragment in moved.iter_mut().flat_map(|one| one.probed.fragments.iter_mut().skip(1)) {
        fragment.address = *next;
        *next += u64::from(fragment.length());
    }
    order
}

/// Of how many pieces one may come first.
const CHOICE: usize = 16;

/// Gives pieces their addresses, about in their order: of the next few, the one in front of which least is left free.
fn pack(pieces: Vec<Piece>, next: &mut u64, mut place: impl FnMut(&Piece, u64)) {
    let mut rest = pieces.into_iter();
    let mut choice: VecDeque<Piece> = rest.by_ref().take(CHOICE).collect();
    while let Some((index, gap)) = least_gap(&choice, *next) {
        let Some(piece) = choice.remove(index) else { return };
        place(&piece, *next + gap);
        *next += gap + piece.length;
        choice.extend(rest.next());
    }
}

/// The first of the pieces in front of which least would be left free, and how much.
fn least_gap(choice: &VecDeque<Piece>, next: u64) -> Option<(usize, u64)> {
    let mut least = None;
    for (index, piece) in choice.iter().enumerate() {
        let gap = piece.gap(next);
        if least.is_none_or(|(_, least)| gap < least) {
            least = Some((index, gap));
        }
        if gap == 0 {
            break;
        }
    }
    least
}

fn unwind(image: &Image<'_>, (moved, order): (&[Moved], &Order), additions: &Additions, layout: &Layout, address: u64) -> Option<UnwindBytes> {
    let fdes = image.fdes();
    let mut table = FrameTable::new(address, fdes.len() * 2);
    for fde in fdes {
        table.push(&Entry {
            common: fde,
            code_alignment: fde.code_alignment,
            start: fde.range.start,
            length: fde.range.end - fde.range.start,
            instructions: fde.instructions,
            exceptions: fde.lsda,
        })?;
    }
    if !image.segments().iter().any(|segment| segment.kind == PT_GNU_EH_FRAME) {
        // The image announces its table itself, and possibly not all of it: what ends a stack there shall end it here.
        table.unlist();
    }
    let plain = entry_like();
    for routine in &additions.routines {
        push_routine(&mut table, &plain, routine, layout.routines())?;
    }
    for island in moved.iter().flat_map(|one| &one.springboards).filter_map(|one| one.island) {
        push_entry_like(&mut table, &plain, island..island + JUMP_LENGTH)?;
    }
    // In the order of their addresses, so that whoever reads the table need not sort it.
    for one in order.probed.iter().filter_map(|&one| moved.get(one)) {
        push_frames(&mut table, fdes, &one.probed, |frame| frame.part == 0)?;
    }
    for clean in order.clean.iter().filter_map(|&one| moved.get(one)?.clean.as_deref()) {
        push_frames(&mut table, fdes, clean, |_| true)?;
    }
    for one in moved {
        push_frames(&mut table, fdes, &one.probed, |frame| frame.part != 0)?;
    }
    let (frames, index) = table.finish()?;
    Some(UnwindBytes { frames, index })
}

/// CFA = rsp + 8, return address at CFA − 8.
pub(crate) const ENTRY_ROW: &[u8] = &[0x0c, 7, 8, 0x90, 1];

/// What entries of new code have in common.
fn entry_like() -> tare_image::Fde<'static> {
    tare_image::Fde {
        range: 0..0,
        starts_at_entry: true,
        is_special: false,
        cie_instructions: ENTRY_ROW,
        instructions: &[],
        code_alignment: 1,
        data_alignment: -8,
        return_register: 16,
        personality: None,
        lsda: None,
        address: 0,
        is_signal_frame: false,
    }
}

fn push_routine<'a>(table: &mut FrameTable<'a>, common: &'a tare_image::Fde<'a>, routine: &'a Routine, base: u64) -> Option<()> {
    let (start, end) = (base + u64::from(routine.range.start), base + u64::from(routine.range.end));
    table.push(&Entry { common, code_alignment: 1, start, length: end - start, instructions: &routine.frame, exceptions: None })
}

/// Code at every instruction of which the stack is as at an entry.
fn push_entry_like<'a>(table: &mut FrameTable<'a>, common: &'a tare_image::Fde<'a>, range: Range<u64>) -> Option<()> {
    table.push(&Entry { common, code_alignment: 1, start: range.start, length: range.end - range.start, instructions: &[], exceptions: None })
}

fn push_frames<'a>(
    table: &mut FrameTable<'a>,
    fdes: &'a [tare_image::Fde<'a>],
    copy: &'a FunctionCopy,
    is_next: impl Fn(&Frame) -> bool,
) -> Option<()> {
    for frame in copy.frames.iter().filter(|frame| is_next(frame)) {
        let fragment = copy.fragments.get(frame.part as usize)?;
        table.push(&Entry {
            common: fdes.get(frame.original)?,
            code_alignment: 1,
            start: fragment.address + u64::from(frame.start),
            length: u64::from(frame.end - frame.start),
            instructions: &frame.instructions,
            exceptions: frame.exceptions.as_ref().map(|table| table.address),
        })?;
    }
    Some(())
}
