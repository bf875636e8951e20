//! Unwind entries of moved parts: each instruction is copied, the advances between them are made anew.
//!
//! A row that begins at an instruction begins, in the copy, in front of that instruction's exit probe; the
//! row at a part's start also covers the entry probe. Probe sites do not move the stack pointer. But compilers
//! leave a register's rule in force when it was popped, as its slot below the stack pointer still holds
//! the value, and an exit's probe overwrites that slot: there, a row of its own says that the registers are
//! the caller's again.

use std::iter::Peekable;

use tare_image::{CfiInstruction, CfiOp, Fde, Image};

use crate::copies::{Fragment, FunctionCopy, SiteKind};
use crate::reason::Reason;
use crate::unwind::leb::read_unsigned;
use crate::unwind::lsda::{self, ExceptionTable};

/// The unwind entry of a moved part.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Index of the original's entry in the image.
    pub(crate) original: usize,
    /// Fragment that is covered.
    pub(crate) part: u32,
    /// Offsets in the fragment.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// For a code alignment of 1.
    pub(crate) instructions: Vec<u8>,
    pub(crate) exceptions: Option<ExceptionTable>,
}

/// The unwind entries of a copy.
pub(crate) fn convert(image: &Image<'_>, copy: &FunctionCopy) -> Result<Vec<Frame>, Reason> {
    let mut frames = Vec::new();
    for (fragment, part) in copy.fragments.iter().zip(0_u32..) {
        let fdes = image.fdes();
        let first = fdes.partition_point(|fde| fde.range.start < fragment.original.start).saturating_sub(1);
        let others = fdes.iter().enumerate().skip(first);
        for (index, fde) in others.take_while(|(_, fde)| fde.range.start < fragment.original.end) {
            if fde.range.end > fragment.original.start {
                frames.push(frame(image, copy, (fragment, part), (fde, index))?);
            }
        }
    }
    Ok(frames)
}

fn frame(image: &Image<'_>, copy: &FunctionCopy, (fragment, part): (&Fragment, u32), (fde, index): (&Fde<'_>, usize)) -> Result<Frame, Reason> {
    let start = fragment.edge(fde.range.start);
    let end = if fde.range.end >= fragment.original.end { fragment.length() } else { fragment.edge(fde.range.end) };
    let is_whole = fragment.original.start <= fde.range.start && fde.range.end <= fragment.original.end;
    let exceptions = match fde.lsda {
        Some(_) if !is_whole => return Err(Reason::ExceptionTable),
        Some(_) => Some(lsda::convert(image, copy, fde, part)?),
        None => None,
    };
    let instructions = rows(fde, fragment, (start, end))?;
    Ok(Frame { original: index, part, start, end, instructions, exceptions })
}

/// The call-frame instructions, with their advances as the copy has them. Rows in front of the fragment take
/// effect at its start, rows behind its end not at all.
fn rows(fde: &Fde<'_>, fragment: &Fragment, (start, end): (u32, u32)) -> Result<Vec<u8>, Reason> {
    let return_register = u32::from(fde.return_register);
    let mut writer = Writer {
        bytes: Vec::with_capacity(fde.instructions.len() + 8),
        here: start,
        end,
        exits: exits(fragment, start, end).peekable(),
        saved: Saved { registers: 0, return_register, remembered: Vec::new() },
    };
    for instruction in fde.cie_cfi() {
        writer.saved.apply(&instruction);
    }
    let mut original = fde.range.start;
    let mut instructions = fde.cfi();
    for instruction in instructions.by_ref() {
        match instruction.op {
            CfiOp::Nop => {}
            CfiOp::Advance(units) => original = original.saturating_add(units.saturating_mul(fde.code_alignment)),
            _ if original >= fragment.original.end => {}
            _ => {
                let next = fragment.edge(original);
                writer.exits_before(next);
                writer.advance_to(next);
                writer.bytes.extend_from_slice(instruction.bytes);
                writer.saved.apply(&instruction);
            }
        }
    }
    writer.exits_before(end);
    if instructions.is_damaged() { Err(Reason::Unwind) } else { Ok(writer.bytes) }
}

/// From the start of each exit's probe to the end of the exit.
fn exits(fragment: &Fragment, start: u32, end: u32) -> impl Iterator<Item = (u32, u32)> {
    let sites = fragment.sites.iter().filter(move |site| site.kind == SiteKind::Exit && site.at >= start && site.at < end);
    sites.map(|site| (site.at, site.end))
}

/// Which registers have a rule that says where their value is.
struct Saved {
    registers: u32,
    return_register: u32,
    remembered: Vec<u32>,
}

impl Saved {
    fn apply(&mut self, instruction: &CfiInstruction<'_>) {
        let code = instruction.bytes.first().copied().unwrap_or(0);
        let operand = || read_unsigned(instruction.bytes, &mut 1).and_then(|register| u32::try_from(register).ok());
        let (register, is_saved) = match (instruction.op, code) {
            (CfiOp::RememberState, _) => return self.remembered.push(self.registers),
            (CfiOp::RestoreState, _) => return self.registers = self.remembered.pop().unwrap_or(0),
            (_, 0x80..=0xbf) => (Some(u32::from(code & 0x3f)), true),
            (_, 0xc0..=0xff) => (Some(u32::from(code & 0x3f)), false),
            (_, 0x05 | 0x09 | 0x10 | 0x11 | 0x14 | 0x15 | 0x16 | 0x2f) => (operand(), true),
            (_, 0x06..=0x08) => (operand(), false),
            _ => return,
        };
        let bit = register.filter(|&register| register != self.return_register).and_then(|one| 1_u32.checked_shl(one));
        if is_saved {
            self.registers |= bit.unwrap_or(0);
        } else {
            self.registers &= !bit.unwrap_or(0);
        }
    }
}

/// Call-frame instructions, being written.
struct Writer<I: Iterator<Item = (u32, u32)>> {
    bytes: Vec<u8>,
    /// Offset that the last advance led to.
    here: u32,
    end: u32,
    exits: Peekable<I>,
    saved: Saved,
}

impl<I: Iterator<Item = (u32, u32)>> Writer<I> {
    fn advance_to(&mut self, next: u32) {
        advance(&mut self.bytes, next.saturating_sub(self.here));
        self.here = self.here.max(next);
    }

    /// Writes the rows of exits that begin in front of an offset.
    fn exits_before(&mut self, next: u32) {
        const REMEMBER: u8 = 0x0a;
        const RESTORE: u8 = 0x0b;
        const RESTORE_REGISTER: u8 = 0xc0;
        while let Some((start, end)) = self.exits.next_if(|exit| exit.0 < next) {
            if self.saved.registers == 0 {
                continue;
            }
            self.advance_to(start);
            let is_last = end >= self.end;
            if !is_last {
                self.bytes.push(REMEMBER);
            }
            let registers = (0..32_u8).filter(|&register| self.saved.registers >> register & 1 != 0);
            self.bytes.extend(registers.map(|register| RESTORE_REGISTER | register));
            if !is_last {
                self.advance_to(end);
                self.bytes.push(RESTORE);
            }
        }
    }
}

/// Appends the shortest instruction that advances by so many bytes.
fn advance(bytes: &mut Vec<u8>, distance: u32) {
    const DW_CFA_ADVANCE_LOC: u8 = 0x40;
    match distance {
        0 => {}
        1..=0x3f => bytes.push(DW_CFA_ADVANCE_LOC | distance as u8),
        0x40..=0xff => bytes.extend([0x02, distance as u8]),
        0x100..=0xffff => {
            bytes.push(0x03);
            bytes.extend((distance as u16).to_le_bytes());
        }
        _ => {
            bytes.push(0x04);
            bytes.extend(distance.to_le_bytes());
        }
    }
}
