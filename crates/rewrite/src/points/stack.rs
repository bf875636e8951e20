//! Whether the stack pointer is the same at all places of a region, and whether the function has a frame there.
//!
//! Unwind rows that count from the stack pointer say so. Where they count from another register, a loop's
//! instructions are followed, as far as they move the stack pointer by constants.

use std::collections::HashMap;

use iced_x86::{Decoder, DecoderOptions, Instruction as Decoded, Mnemonic, OpKind, Register};
use tare_code::{Body, Cfg, Flow, Loop};
use tare_format::probe::MOST_OPEN_REGIONS_WITHOUT_FRAME;
use tare_image::{Cfa, CfaRows, Fde, Image};

use super::{Placed, Region};
use crate::insertion::Scope;
use crate::reason::SiteReason;

/// DWARF number of the stack pointer.
const RSP: u64 = 7;

/// The regions whose stack pointer may differ between their places.
pub(super) fn uneven(
    image: &Image<'_>,
    (body, cfg, loops): (&Body, &Cfg, &[Loop]),
    placed: &mut [Placed],
    regions: &[Region],
) -> Vec<(Scope, SiteReason)> {
    let mut rows = Rows::new(image);
    let mut seen: Vec<Option<Row>> = vec![None; regions.len()];
    let mut faults = Vec::new();
    let mut open = Vec::new();
    let calls_others = !is_leaf(body);
    for one in placed.iter_mut().filter(|one| one.place.is_mid_body) {
        let row = rows.row_at(one.at).lowered_by(one.place.raised);
        let Some(first) = seen.get_mut(one.region as usize) else { continue };
        let scope = one.place.scope;
        one.place.has_frame = row.has_frame();
        if row == Row::Unclear {
            faults.push((loop_of(scope), SiteReason::Unwind));
        } else if first.is_some_and(|first| first != row) {
            faults.push((loop_of(scope), SiteReason::StackPointer));
        } else if calls_others && !one.place.has_frame && one.place.level > MOST_OPEN_REGIONS_WITHOUT_FRAME {
            faults.push((loop_of(scope), SiteReason::DepthWithoutFrame));
        } else if let (None, Row::Elsewhere | Row::Unknown, Scope::Loop(number) | Scope::Iteration(number)) = (*first, row, scope) {
            open.push(number);
        }
        *first = first.or(Some(row));
    }
    for number in open {
        let is_even = loops.get(number as usize).is_some_and(|one| is_even_in(&mut rows, body, cfg, one).is_some());
        if !is_even {
            faults.push((Scope::Loop(number), SiteReason::StackPointer));
        }
    }
    faults
}

/// Whether a function calls nothing.
pub(super) fn is_leaf(body: &Body) -> bool {
    !body.instructions.iter().any(|one| is_call(one.flow))
}

/// Whether control comes back from where it goes.
pub(super) const fn is_call(flow: Flow) -> bool {
    matches!(flow, Flow::Call { .. } | Flow::IndirectCall)
}

/// An iteration and its loop are refused together.
pub(super) const fn loop_of(scope: Scope) -> Scope {
    match scope {
        Scope::Iteration(number) => Scope::Loop(number),
        other => other,
    }
}

/// Unwind rows of a function's parts.
pub(super) struct Rows<'a, 'data> {
    image: &'a Image<'data>,
    known: HashMap<u64, CfaRows>,
}

/// How an unwind row says where the CFA is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Row {
    /// So many bytes above the stack pointer.
    Above(i64),
    /// Counted from another register, which takes a frame.
    Elsewhere,
    /// Not at all.
    Unknown,
    /// By an expression in which the stack pointer may be.
    Unclear,
}

impl Row {
    /// The row where the stack pointer is so many bytes lower.
    fn lowered_by(self, bytes: u32) -> Self {
        match self {
            Self::Above(offset) => Self::Above(offset + i64::from(bytes)),
            other => other,
        }
    }

    /// Whether there is more on the stack than the return address.
    const fn has_frame(self) -> bool {
        match self {
            Self::Above(offset) => offset >= 16,
            Self::Elsewhere => true,
            Self::Unknown | Self::Unclear => false,
        }
    }
}

impl<'a, 'data> Rows<'a, 'data> {
    pub(super) fn new(image: &'a Image<'data>) -> Self {
        Self { image, known: HashMap::new() }
    }

    fn row_at(&mut self, address: u64) -> Row {
        let Some(fde) = self.image.fde_at(address) else { return Row::Unknown };
        match self.of(fde).at(address) {
            Some(Cfa::Register { register: RSP, offset }) => Row::Above(offset),
            Some(Cfa::Expression) if fde.cie_cfi().chain(fde.cfi()).any(|one| uses_stack_pointer(one.bytes)) => Row::Unclear,
            Some(_) => Row::Elsewhere,
            None => Row::Unknown,
        }
    }

    /// Bytes of arguments that are off the stack where an exception out of a call lands; `None` where so many cannot be.
    pub(super) fn arguments_at(&mut self, call: u64) -> Option<u16> {
        self.image.fde_at(call).map_or(Some(0), |fde| u16::try_from(self.of(fde).arguments_at(call)).ok())
    }

    fn of(&mut self, fde: &Fde<'_>) -> &CfaRows {
        self.known.entry(fde.range.start).or_insert_with(|| fde.cfa_rows())
    }
}

/// Whether a call-frame instruction computes the CFA from the stack pointer: `DW_CFA_def_cfa_expression`, a length,
/// `DW_OP_breg7`.
fn uses_stack_pointer(instruction: &[u8]) -> bool {
    matches!(instruction, [0x0f, _, 0x77, ..])
}

/// Follows the stack pointer through a loop; `None` where it may differ at its begins and ends.
fn is_even_in(rows: &mut Rows<'_, '_>, body: &Body, cfg: &Cfg, one: &Loop) -> Option<()> {
    let header = *one.blocks.first()?;
    let mut distances: HashMap<usize, i64> = HashMap::from([(header, 0)]);
    let mut todo = vec![header];
    while let Some(block) = todo.pop() {
        let own = cfg.blocks.get(block)?;
        let mut distance = *distances.get(&block)?;
        // Where exceptions out of its calls land.
        let mut landed = None;
        for instruction in body.instructions.get(own.instructions.clone())? {
            distance += moved_by(rows.image, instruction.address, instruction.length)?;
            if !own.landing_pads.is_empty() && is_call(instruction.flow) {
                let here = distance + i64::from(rows.arguments_at(instruction.address)?);
                if landed.replace(here).is_some_and(|before| before != here) {
                    return None;
                }
            }
        }
        let behind = own.successors.iter().map(|&next| (next, Some(distance)));
        for (next, distance) in behind.chain(own.landing_pads.iter().map(|&pad| (pad, landed))) {
            let distance = distance?;
            if !one.contains(next) {
                if distance != 0 {
                    return None;
                }
                continue;
            }
            match distances.insert(next, distance) {
                None => todo.push(next),
                Some(before) if before == distance => {}
                Some(_) => return None,
            }
        }
    }
    Some(())
}

/// By how much an instruction moves the stack pointer, where that is a constant.
fn moved_by(image: &Image<'_>, address: u64, length: u8) -> Option<i64> {
    let bytes = image.bytes_at(address, u64::from(length))?;
    let one: Decoded = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    let is_call = matches!(one.mnemonic(), Mnemonic::Call);
    let is_own = one.op_count() > 0 && one.op0_kind() == OpKind::Register && one.op0_register().full_register() == Register::RSP;
    let by_immediate = || i64::try_from(one.immediate(1)).or_else(|_| Ok::<i64, ()>(one.immediate(1).cast_signed())).ok();
    match one.mnemonic() {
        _ if is_call => Some(0),
        Mnemonic::Leave | Mnemonic::Enter => None,
        Mnemonic::Cmp | Mnemonic::Test if is_own => Some(0),
        Mnemonic::Push if is_own => Some(-8),
        Mnemonic::Add if is_own && one.op1_kind() != OpKind::Register && one.op1_kind() != OpKind::Memory => by_immediate(),
        Mnemonic::Sub if is_own && one.op1_kind() != OpKind::Register && one.op1_kind() != OpKind::Memory => by_immediate().map(|by| -by),
        Mnemonic::Lea if is_own && one.memory_base() == Register::RSP && one.memory_index() == Register::None => {
            Some(one.memory_displacement64().cast_signed())
        }
        _ if is_own => None,
        _ => Some(i64::from(one.stack_pointer_increment())),
    }
}
