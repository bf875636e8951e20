//! Whether frames are unwound in a copy as in the original, told by the call-frame instructions as they stand.
//!
//! Where all of the original's entry are in the copy's, in their order and at the copies of the instructions that they stand at, and what the
//! copy has besides is undone behind the exit that it stands at, every row is the original's. All else is left to
//! [`unwinding::check_part`](super::unwinding::check_part), which makes the rows.

use tare_image::{CfiInstruction, CfiInstructions, CfiOp, Fde};

use super::seen::Seen;
use super::unwinding::is_padded;
use super::{Claim, Fragment};

/// Answers no where that cannot be told so.
pub(super) fn are_the_same(old: &Fde<'_>, new: &Fde<'_>, (claim, fragment): (&Claim<'_>, &Fragment), seen: &Seen) -> bool {
    let numbers = |fde: &Fde<'_>| (fde.data_alignment, fde.return_register);
    let moves_stack = |site: &super::Site| claim.insertions.get(site.insertion as usize).is_none_or(|one| !one.rows.is_empty());
    numbers(old) == numbers(new)
        && is_padded(old.cie_instructions, new.cie_instructions)
        && old.range == fragment.old
        && new.range == fragment.new
        && !fragment.sites.iter().any(moves_stack)
        && instructions_are_the_same(old, new, seen)
}

fn instructions_are_the_same(old: &Fde<'_>, new: &Fde<'_>, seen: &Seen) -> bool {
    let mut own = Placed::of(old);
    let mut found = Placed::of(new);
    let mut exits = seen.exits.iter().filter(|exit| new.range.contains(&exit.0)).peekable();
    let mut next = own.next();
    let mut last = (old.range.start, seen.label(old.range.start));
    // An exit at which something was remembered: from where, and where it is restored.
    let mut left: Option<(u64, u64)> = None;
    for (at, one) in found.by_ref() {
        let is_callers = matches!(one.bytes.first(), Some(&code @ 0xc0..) if u16::from(code & 0x3f) != new.return_register);
        if let Some((from, behind)) = left {
            match one.op {
                CfiOp::RestoreState if at == behind => left = None,
                _ if is_callers && at == from => {}
                _ => return false,
            }
            continue;
        }
        if let Some((place, original)) = next {
            if last.0 != place {
                last = (place, seen.label(place));
            }
            if last.1 == Some(at) && are_equal(original.bytes, one.bytes) {
                next = own.next();
                continue;
            }
        }
        while exits.next_if(|exit| exit.0 < at).is_some() {}
        let Some(&&(from, behind)) = exits.peek() else { return false };
        match one.op {
            CfiOp::RememberState if at == from => left = Some((from, behind)),
            // Nothing follows that it could count for.
            _ if is_callers && at == from && behind >= new.range.end => {}
            _ => return false,
        }
    }
    next.is_none() && left.is_none() && !own.instructions.is_damaged() && !found.instructions.is_damaged()
}

/// Whether a few bytes are others.
fn are_equal(some: &[u8], others: &[u8]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| one == other)
}

/// The call-frame instructions of an entry that change its rows, with the addresses from which on they count.
struct Placed<'data> {
    instructions: CfiInstructions<'data>,
    at: u64,
    unit: u64,
}

impl<'data> Placed<'data> {
    fn of(fde: &Fde<'data>) -> Self {
        Self { instructions: fde.cfi(), at: fde.range.start, unit: fde.code_alignment }
    }
}

impl<'data> Iterator for Placed<'data> {
    type Item = (u64, CfiInstruction<'data>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let one = self.instructions.next()?;
            match one.op {
                CfiOp::Advance(units) => self.at = self.at.saturating_add(units.saturating_mul(self.unit)),
                CfiOp::Nop => {}
                _ => return Some((self.at, one)),
            }
        }
    }
}
