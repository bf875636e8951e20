//! Whether unwinders find in the written image what they find in the original: in code that stayed, and in every instruction of moved code.
//!
//! Tables and index are read by [`gimli`], which knows nothing of how they were written.

use std::ops::Range;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EhFrameOffset, LittleEndian, Pointer, RegisterRule, UnwindContext, UnwindContextStorage,
    UnwindExpression, UnwindSection, UnwindTableRow,
};
use tare_image::{CfiInstruction, CfiInstructions, CfiOp, Fde, Image};

use super::seen::Seen;
use super::{Claim, Claims, Fault, Fragment};
use crate::elf::PT_GNU_EH_FRAME;
use crate::insertion::Point;
use crate::layout::ENTRY_ROW;
use crate::points::Slot;

/// DWARF numbers.
const RSP: gimli::Register = gimli::Register(7);
const RETURN_ADDRESS: gimli::Register = gimli::Register(16);
/// The personality routine is given by the address of its address.
const INDIRECT: u8 = 0x80;

/// Every entry of the original is there, and those of the probes' own code; the index leads to all that it should.
pub(super) fn check(original: &Image<'_>, written: &Image<'_>, claims: &Claims<'_>) -> Result<(), Fault> {
    for routine in &claims.additions.routines {
        let range = claims.routines + u64::from(routine.range.start)..claims.routines + u64::from(routine.range.end);
        let fde = written.fde_at(range.start).filter(|fde| fde.range == range && fde.starts_at_entry);
        let has_numbers = |fde: &&Fde<'_>| (fde.code_alignment, fde.data_alignment, fde.return_register) == (1, -8, 16);
        let begins = |fde: &Fde<'_>| are_equal(fde.cie_cfi(), CfiInstructions::new(ENTRY_ROW, fde.data_alignment));
        let has_rows = |fde: &Fde<'_>| begins(fde) && are_equal(fde.cfi(), CfiInstructions::new(&routine.frame, fde.data_alignment));
        if !fde.filter(has_numbers).is_some_and(has_rows) {
            return Err(Fault::new(range.start, "a routine is not unwound as it should be"));
        }
    }
    for fde in original.fdes() {
        let others = written.fdes().get(written.fdes_in_front_of(fde.range.start)..).unwrap_or_default();
        let mut others = others.iter().take_while(|other| other.range.start == fde.range.start);
        if !others.any(|other| other.range == fde.range && says_the_same(fde, other)) {
            return Err(Fault::new(fde.range.start, "its unwind entry is missing, or says something else"));
        }
    }
    let had_index = original.segments().iter().any(|one| one.kind == PT_GNU_EH_FRAME);
    let index = index(written).ok_or(Fault::new(0, "the table of unwind entries or its index cannot be read"))?;
    if !index.is_sorted_by(|one, next| one.0 < next.0) {
        return Err(Fault::new(0, "the index of unwind entries is not sorted"));
    }
    let is_listed = |fde: &Fde<'_>| had_index || original.segment_at(fde.range.start).is_none();
    for fde in written.fdes().iter().filter(|fde| is_listed(fde)) {
        let entry = index.binary_search_by_key(&fde.range.start, |entry| entry.0).ok().and_then(|at| index.get(at));
        let is_twin = |at: u64| written.fdes().iter().any(|other| other.address == at && other.range.start == fde.range.start);
        if entry.is_none_or(|entry| entry.1 != fde.address && !is_twin(entry.1)) {
            return Err(Fault::new(fde.range.start, "the index does not lead to its unwind entry"));
        }
    }
    Ok(())
}

fn says_the_same(one: &Fde<'_>, other: &Fde<'_>) -> bool {
    let routine = |fde: &Fde<'_>| fde.personality.map(|(encoding, address)| (encoding & INDIRECT, address));
    let numbers = |fde: &Fde<'_>| (fde.code_alignment, fde.data_alignment, fde.return_register, fde.lsda, fde.is_signal_frame);
    numbers(one) == numbers(other)
        && routine(one) == routine(other)
        && (is_padded(one.cie_instructions, other.cie_instructions) || are_equal(one.cie_cfi(), other.cie_cfi()))
        && (is_padded(one.instructions, other.instructions) || are_equal(one.cfi(), other.cfi()))
}

/// Whether some call-frame instructions are others with nothing but padding behind them.
pub(super) fn is_padded(one: &[u8], other: &[u8]) -> bool {
    other.strip_prefix(one).is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
}

fn are_equal(one: CfiInstructions<'_>, other: CfiInstructions<'_>) -> bool {
    let is_said = |one: &CfiInstruction<'_>| one.op != CfiOp::Nop;
    one.filter(is_said).map(|one| one.bytes).eq(other.filter(is_said).map(|one| one.bytes))
}

/// Starts and entries of the index, in front of which a table stands that can be read to its end.
fn index(image: &Image<'_>) -> Option<Vec<(u64, u64)>> {
    let segment = image.segments().iter().find(|one| one.kind == PT_GNU_EH_FRAME)?;
    let bytes = image.bytes_at(segment.address, segment.file_size)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(segment.address);
    let header = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
    let Pointer::Direct(start) = header.eh_frame_ptr() else { return None };
    let frames = EhFrame::new(image.bytes_at(start, segment.address.checked_sub(start)?)?, LittleEndian);
    let bases = bases.set_eh_frame(start);
    let mut all = frames.entries(&bases);
    while all.next().ok()?.is_some() {}
    let table = header.table()?;
    let mut entries = table.iter(&bases);
    let mut found = Vec::new();
    while let Some((start, entry)) = entries.next().ok()? {
        let (Pointer::Direct(start), Pointer::Direct(entry)) = (start, entry) else { return None };
        found.push((start, entry));
    }
    Some(found)
}

/// Room for the rules of all general registers, on the stack.
struct Small;

impl UnwindContextStorage<usize> for Small {
    type Rules = [(gimli::Register, RegisterRule<usize>); 24];
    type Stack = [UnwindTableRow<usize, Self>; 4];
}

/// A rule, and the bytes of its expression where it has one.
type Rule<'data> = (RegisterRule<usize>, &'data [u8]);

/// What holds from one address to another.
#[derive(PartialEq, Eq, Debug)]
struct Row<'data> {
    cfa: (CfaRule<usize>, &'data [u8]),
    registers: Vec<(gimli::Register, Rule<'data>)>,
    arguments: u64,
}

impl<'data> Row<'data> {
    fn rule(&self, register: gimli::Register) -> Option<&Rule<'data>> {
        self.registers.iter().find(|one| one.0 == register).map(|one| &one.1)
    }

    /// The same with a stack pointer that is lower, where the frame is found by that.
    fn cfa_lower_by(&self, lower: u32) -> (CfaRule<usize>, &'data [u8]) {
        match self.cfa {
            (CfaRule::RegisterAndOffset { register: RSP, offset }, none) => {
                (CfaRule::RegisterAndOffset { register: RSP, offset: offset + i64::from(lower) }, none)
            }
            (ref other, text) => (other.clone(), text),
        }
    }

    /// Whether it says the same but for registers that have the caller's values again.
    fn leaves_out(&self, other: &Self) -> bool {
        self.cfa == other.cfa
            && self.rule(RETURN_ADDRESS) == other.rule(RETURN_ADDRESS)
            && self.registers.iter().all(|one| other.registers.contains(one))
    }
}

/// The rows of an entry, with where each ends; `None` where they cannot be read.
fn rows<'data>(image: &Image<'data>, fde: &Fde<'_>) -> Option<Vec<(u64, Row<'data>)>> {
    let segment = image.segment_at(fde.address)?;
    let bytes = image.bytes_at(segment.address, segment.file_size)?;
    let section = EhFrame::new(bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(segment.address);
    let at = EhFrameOffset(usize::try_from(fde.address - segment.address).ok()?);
    let entry = section.fde_from_offset(&bases, at, EhFrame::cie_from_offset).ok()?;
    let mut context: UnwindContext<usize, Small> = UnwindContext::new_in();
    let mut table = entry.rows(&section, &bases, &mut context).ok()?;
    let text = |one: &UnwindExpression<usize>| bytes.get(one.offset..one.offset + one.length);
    let bare = |one: &UnwindExpression<usize>| UnwindExpression { offset: 0, length: one.length };
    let mut found = Vec::new();
    while let Some(row) = table.next_row().ok()? {
        let cfa = match row.cfa() {
            CfaRule::Expression(one) => (CfaRule::Expression(bare(one)), text(one)?),
            other => (other.clone(), &[][..]),
        };
        let mut registers = Vec::new();
        for (register, rule) in row.registers() {
            let rule = match rule {
                RegisterRule::Expression(one) => (RegisterRule::Expression(bare(one)), text(one)?),
                RegisterRule::ValExpression(one) => (RegisterRule::ValExpression(bare(one)), text(one)?),
                other => (other.clone(), &[][..]),
            };
            registers.push((*register, rule));
        }
        registers.sort_by_key(|one| one.0.0);
        found.push((row.end_address(), Row { cfa, registers, arguments: row.saved_args_size() }));
    }
    Some(found)
}

/// At every instruction of a part, frames are unwound as in the original; inside of what is inserted, the stack pointer is where that puts it.
pub(super) fn check_part(
    (original, old): (&Image<'_>, &Fde<'_>),
    written: &Image<'_>,
    (claim, fragment): (&Claim<'_>, &Fragment),
    seen: &Seen,
) -> Result<(), Fault> {
    // What the library cannot read unwinds nobody.
    let Some(before) = rows(original, old) else { return Ok(()) };
    let range = old.range.start.max(fragment.old.start)..old.range.end.min(fragment.old.end);
    let Some(first) = seen.label(range.start) else { return Ok(()) };
    let new = written.fde_at(first).ok_or(Fault::new(first, "there is no unwind entry"))?;
    let after = rows(written, new).ok_or(Fault::new(first, "the unwind entry cannot be read"))?;
    let mut exits =
        fragment.sites.iter().filter(|site| site.point == Point::FunctionExit && site.slot == Slot::Before).map(|site| site.at).peekable();
    let (mut wanted, mut found) = (0, 0);
    let mut same = (usize::MAX, usize::MAX);
    seen.try_each(&range, |old, new| {
        let fault = Fault::new(new, "frames are unwound in another way than the original's");
        wanted = reach(&before, wanted, old);
        found = reach(&after, found, new);
        while exits.next_if(|&at| at < new).is_some() {}
        if same == (wanted, found) {
            return Ok(());
        }
        let (one, other) = before.get(wanted).zip(after.get(found)).map(|(one, other)| (&one.1, &other.1)).ok_or(fault)?;
        if one == other {
            same = (wanted, found);
            return Ok(());
        }
        if exits.peek() == Some(&new) && other.leaves_out(one) { Ok(()) } else { Err(fault) }
    })?;
    inside(&after, new.range.clone(), claim, fragment)
}

/// The row at an address that is not in front of one that was asked for before.
fn reach(rows: &[(u64, Row<'_>)], mut at: usize, address: u64) -> usize {
    while rows.get(at).is_some_and(|row| row.0 <= address) {
        at += 1;
    }
    at
}

/// Where an insertion moves the stack pointer, the rows say so.
fn inside(rows: &[(u64, Row<'_>)], range: Range<u64>, claim: &Claim<'_>, fragment: &Fragment) -> Result<(), Fault> {
    let mut at = 0;
    for site in fragment.sites.iter().filter(|site| range.contains(&site.at)) {
        let Some(insertion) = claim.insertions.get(site.insertion as usize).filter(|one| !one.rows.is_empty()) else { continue };
        at = reach(rows, at, site.at);
        let Some((_, start)) = rows.get(at) else { continue };
        for &(place, lower) in insertion.rows.iter().filter(|row| u64::from(row.0) < site.length) {
            let here = site.at + u64::from(place);
            if rows.get(reach(rows, at, here)).is_none_or(|row| row.1.cfa != start.cfa_lower_by(lower)) {
                return Err(Fault::new(here, "what is inserted has the stack pointer elsewhere than its unwind entry says"));
            }
        }
    }
    Ok(())
}
