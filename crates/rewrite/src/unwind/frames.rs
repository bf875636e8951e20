//! Unwind entries of moved parts: each instruction is copied, the advances between them are made anew.
//!
//! A row that begins at an instruction begins, in the copy, in front of that instruction's exit probe; the
//! row at a part's start also covers the entry probe. Probe sites do not move the stack pointer, so that no
//! further rows are needed.

use tare_image::{CfiOp, Fde, Image};

use crate::copies::{Fragment, FunctionCopy};
use crate::reason::Reason;
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

fn frame(
    image: &Image<'_>,
    copy: &FunctionCopy,
    (fragment, part): (&Fragment, u32),
    (fde, index): (&Fde<'_>, usize),
) -> Result<Frame, Reason> {
    let start = fragment.edge(fde.range.start);
    let end =
        if fde.range.end >= fragment.original.end { fragment.length() } else { fragment.edge(fde.range.end) };
    let is_whole = fragment.original.start <= fde.range.start && fde.range.end <= fragment.original.end;
    let exceptions = match fde.lsda {
        Some(_) if !is_whole => return Err(Reason::ExceptionTable),
        Some(_) => Some(lsda::convert(image, copy, fde, part)?),
        None => None,
    };
    let instructions = rows(fde, fragment, start)?;
    Ok(Frame { original: index, part, start, end, instructions, exceptions })
}

/// The call-frame instructions, with their advances as the copy has them. Rows in front of the fragment take
/// effect at its start, rows behind its end not at all.
fn rows(fde: &Fde<'_>, fragment: &Fragment, start: u32) -> Result<Vec<u8>, Reason> {
    let mut bytes = Vec::with_capacity(fde.instructions.len() + 8);
    let mut original = fde.range.start;
    let mut here = start;
    let mut instructions = fde.cfi();
    for instruction in instructions.by_ref() {
        match instruction.op {
            CfiOp::Nop => {}
            CfiOp::Advance(units) => original = original.saturating_add(units.saturating_mul(fde.code_alignment)),
            _ if original >= fragment.original.end => {}
            _ => {
                let next = fragment.edge(original);
                advance(&mut bytes, next.saturating_sub(here));
                here = here.max(next);
                bytes.extend_from_slice(instruction.bytes);
            }
        }
    }
    if instructions.is_damaged() { Err(Reason::Unwind) } else { Ok(bytes) }
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
