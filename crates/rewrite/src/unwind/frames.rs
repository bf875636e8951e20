//! Unwind entries of moved parts: each instruction is copied, the advances between them are made anew.
//!
//! A row that begins at an instruction begins, in the copy, in front of that instruction's exit probe; the
//! row at a part's start also covers the entry probe. Where something that is inserted moves the stack pointer, rows
//! of its own say so, if the CFA is counted from there. And compilers leave a register's rule in force when it was
//! popped, as its slot below the stack pointer still holds the value, and an exit's probe overwrites that slot:
//! there, a row says that the registers are the caller's again.

use std::iter::Peekable;

use smallvec::SmallVec;
use tare_image::{CfiInstruction, CfiOp, Fde, Image};

use crate::assemble::Probed;
use crate::copies::{Fragment, FunctionCopy, Site};
use crate::insertion::{Insertion, Point};
use crate::reason::Reason;
use crate::unwind::leb::{read_unsigned, write_unsigned};
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
    pub(crate) exceptions: Option<Box<ExceptionTable>>,
}

/// The unwind entries of a copy.
pub(crate) fn convert(image: &Image<'_>, copy: &FunctionCopy, probed: Option<Probed<'_>>) -> Result<SmallVec<[Frame; 1]>, Reason> {
    let mut frames = SmallVec::with_capacity(copy.fragments.len());
    for (fragment, part) in copy.fragments.iter().zip(0_u32..) {
        let fdes = image.fdes();
        let first = image.fdes_in_front_of(fragment.original.start).saturating_sub(1);
        let others = fdes.iter().enumerate().skip(first);
        for (index, fde) in others.take_while(|(_, fde)| fde.range.start < fragment.original.end) {
            if fde.range.end > fragment.original.start {
                frames.push(frame(image, copy, probed, (fragment, part), (fde, index))?);
            }
        }
    }
    Ok(frames)
}

fn frame(
    image: &Image<'_>,
    copy: &FunctionCopy,
    probed: Option<Probed<'_>>,
    (fragment, part): (&Fragment, u32),
    (fde, index): (&Fde<'_>, usize),
) -> Result<Frame, Reason> {
    let start = fragment.edge(fde.range.start);
    let end = if fde.range.end >= fragment.original.end { fragment.length() } else { fragment.edge(fde.range.end) };
    let is_whole = fragment.original.start <= fde.range.start && fde.range.end <= fragment.original.end;
    let exceptions = match fde.lsda {
        Some(_) if !is_whole => return Err(Reason::ExceptionTable),
        Some(_) => Some(Box::new(lsda::convert(image, copy, probed.map(|probed| probed.points), fde, part)?)),
        None => None,
    };
    let insertions = probed.map_or(&[][..], |probed| probed.insertions);
    let instructions = rows(fde, fragment, insertions, (start, end))?;
    Ok(Frame { original: index, part, start, end, instructions, exceptions })
}

/// The call-frame instructions, with their advances as the copy has them. Rows in front of the fragment take
/// effect at its start, rows behind its end not at all.
fn rows(fde: &Fde<'_>, fragment: &Fragment, insertions: &[Insertion], (start, end): (u32, u32)) -> Result<Vec<u8>, Reason> {
    let return_register = u32::from(fde.return_register);
    let sites = fragment.sites.iter().filter(move |site| site.at >= start && site.at < end);
    let mut writer = Writer {
        rows: Rows { bytes: Vec::with_capacity(fde.instructions.len() + 8), here: start },
        end,
        sites: sites.peekable(),
        insertions,
        state: State { registers: 0, cfa: (0, 0), return_register, remembered: Vec::new() },
    };
    for instruction in fde.cie_cfi() {
        writer.state.apply(&instruction);
    }
    let mut original = fde.range.start;
    let mut edge = fragment.edges();
    let mut instructions = fde.cfi();
    for instruction in instructions.by_ref() {
        match instruction.op {
            CfiOp::Nop => {}
            CfiOp::Advance(units) => original = original.saturating_add(units.saturating_mul(fde.code_alignment)),
            _ if original >= fragment.original.end => {}
            _ => {
                let next = edge(original);
                writer.sites_before(next);
                writer.rows.advance_to(next);
                writer.rows.bytes.extend_from_slice(instruction.bytes);
                writer.state.apply(&instruction);
            }
        }
    }
    writer.sites_before(end);
    if instructions.is_damaged() { Err(Reason::Unwind) } else { Ok(writer.rows.bytes) }
}

/// What the rows so far amount to.
struct State {
    /// Which registers have a rule that says where their value is.
    registers: u32,
    /// DWARF number of the register that the CFA is counted from, and the distance; another number where it is not.
    cfa: (u64, i64),
    return_register: u32,
    remembered: Vec<(u32, (u64, i64))>,
}

const RSP: u64 = 7;
const NO_REGISTER: u64 = u64::MAX;

impl State {
    fn apply(&mut self, instruction: &CfiInstruction<'_>) {
        let code = instruction.bytes.first().copied().unwrap_or(0);
        let operand = || read_unsigned(instruction.bytes, &mut 1).and_then(|register| u32::try_from(register).ok());
        match instruction.op {
            CfiOp::DefCfa { register, offset } => self.cfa = (register, offset),
            CfiOp::DefCfaRegister(register) => self.cfa.0 = register,
            CfiOp::DefCfaOffset(offset) => self.cfa.1 = offset,
            CfiOp::DefCfaExpression => self.cfa = (NO_REGISTER, 0),
            _ => {}
        }
        let (register, is_saved) = match (instruction.op, code) {
            (CfiOp::RememberState, _) => return self.remembered.push((self.registers, self.cfa)),
            (CfiOp::RestoreState, _) => return (self.registers, self.cfa) = self.remembered.pop().unwrap_or((0, (NO_REGISTER, 0))),
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
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) bytes: Vec<u8>,
    /// Offset that the last advance led to.
    here: u32,
}

impl Rows {
    fn advance_to(&mut self, next: u32) {
        advance(&mut self.bytes, next.saturating_sub(self.here));
        self.here = self.here.max(next);
    }

    /// Writes the row that begins at an offset.
    pub(crate) fn row(&mut self, at: u32, instructions: &[u8]) {
        self.advance_to(at);
        self.bytes.extend_from_slice(instructions);
    }

    /// From an offset on the canonical frame address is so far from its register.
    pub(crate) fn cfa_offset(&mut self, at: u32, distance: u64) {
        const DEF_CFA_OFFSET: u8 = 0x0e;
        self.row(at, &[DEF_CFA_OFFSET]);
        write_unsigned(&mut self.bytes, distance);
    }
}

/// Those of a function with insertions.
struct Writer<'a, I: Iterator<Item = &'a Site>> {
    rows: Rows,
    end: u32,
    sites: Peekable<I>,
    insertions: &'a [Insertion],
    state: State,
}

impl<'a, I: Iterator<Item = &'a Site>> Writer<'a, I> {
    /// Writes the rows of the insertions that begin in front of an offset.
    fn sites_before(&mut self, next: u32) {
        while let Some(site) = self.sites.next_if(|site| site.at < next) {
            if site.point == Point::FunctionExit && self.state.registers != 0 {
                self.exit(site);
            } else {
                self.moved_stack(site);
            }
        }
    }

    /// From the start of an exit's probe to the end of the exit the registers are the caller's.
    fn exit(&mut self, site: &Site) {
        const REMEMBER: u8 = 0x0a;
        const RESTORE: u8 = 0x0b;
        const RESTORE_REGISTER: u8 = 0xc0;
        self.rows.advance_to(site.at);
        let is_last = site.end >= self.end;
        if !is_last {
            self.rows.bytes.push(REMEMBER);
        }
        let registers = (0..32_u8).filter(|&register| self.state.registers >> register & 1 != 0);
        self.rows.bytes.extend(registers.map(|register| RESTORE_REGISTER | register));
        self.moved_stack(site);
        if !is_last {
            self.rows.advance_to(site.end);
            self.rows.bytes.push(RESTORE);
        }
    }

    fn moved_stack(&mut self, site: &Site) {
        let (register, offset) = self.state.cfa;
        let insertion = self.insertions.get(site.insertion as usize).filter(|_| register == RSP);
        for &(at, lower) in insertion.iter().flat_map(|insertion| insertion.rows.iter()) {
            self.rows.cfa_offset(site.at + u32::from(at), offset.cast_unsigned() + u64::from(lower));
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
