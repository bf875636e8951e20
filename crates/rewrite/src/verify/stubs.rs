//! The stubs of our own runtime, read as they stand in the written image: what each tests, loads and jumps through is what the agreement in
//! [`tare_format::probe`] names.
//!
//! Where the fields of the stubs stand is found by decoding them in a row; what was missed there would be missed in what is expected of the
//! image as well. So each stub is decoded from its own start here, and every word that it refers to by its place must be the one that is
//! agreed for an instruction of this kind.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use tare_format::probe::{ID_AFTER_RETURN, LEAF_ID_AFTER_RETURN, slot_offset, state_offset};
use tare_image::Image;

use super::{Claims, Fault};

/// What one stub uses.
struct Agreed {
    /// Offset of its slot.
    slot: u64,
    /// From the return address of its sites to the region's number.
    id: usize,
}

/// In the order of [`tare_format::probe::Stubs::starts`].
const AGREED: [Agreed; 5] = [
    Agreed { slot: slot_offset::ENTER, id: ID_AFTER_RETURN },
    Agreed { slot: slot_offset::ENTER_LEAF, id: LEAF_ID_AFTER_RETURN },
    Agreed { slot: slot_offset::EXIT, id: ID_AFTER_RETURN },
    Agreed { slot: slot_offset::ENTER_REGION, id: ID_AFTER_RETURN },
    Agreed { slot: slot_offset::EXIT_REGION, id: ID_AFTER_RETURN },
];

/// Checks them where the image has some.
pub(crate) fn check(written: &Image<'_>, claims: &Claims<'_>) -> Result<(), Fault> {
    let starts = &claims.additions.stubs;
    let ends = starts.iter().skip(1).copied().chain([claims.additions.code.len() as u32]);
    for ((&start, end), agreed) in starts.iter().zip(ends).zip(&AGREED) {
        let range = claims.routines + u64::from(start)..claims.routines + u64::from(end);
        let bytes = written.bytes_at(range.start, range.end.saturating_sub(range.start));
        stub(bytes.unwrap_or_default(), &range, claims.slots, agreed)?;
    }
    Ok(())
}

fn stub(bytes: &[u8], range: &Range<u64>, slots: u64, agreed: &Agreed) -> Result<(), Fault> {
    let mut code: Vec<Instruction> = Decoder::with_ip(64, bytes, range.start, DecoderOptions::NONE).into_iter().collect();
    let end = code.iter().position(|one| one.mnemonic() == Mnemonic::Int3).unwrap_or(code.len());
    let is_filled = code.drain(end..).all(|one| one.mnemonic() == Mnemonic::Int3);
    for one in &code {
        let has_word = one.op_kinds().any(|kind| kind == OpKind::Memory);
        if one.is_invalid() || has_word && !is_agreed(one, slots, agreed) {
            return Err(Fault::new(one.ip(), "a stub refers to another word than is agreed"));
        }
    }
    let is_start = |target: u64| code.binary_search_by_key(&target, Instruction::ip).is_ok();
    let stays = code.iter().filter(|one| one.op0_kind() == OpKind::NearBranch64).all(|one| is_start(one.near_branch_target()));
    let goes_by_slot = |one: &Instruction, mnemonic| one.mnemonic() == mnemonic && one.is_ip_rel_memory_operand();
    let tests_first = code.first().is_some_and(|one| goes_by_slot(one, Mnemonic::Cmp));
    let leads_on = code.iter().any(|one| goes_by_slot(one, Mnemonic::Jmp));
    let ends = code.last().is_some_and(|one| matches!(one.mnemonic(), Mnemonic::Jmp | Mnemonic::Ret));
    if is_filled && stays && tests_first && leads_on && ends { Ok(()) } else { Err(Fault::new(range.start, "a stub is not as agreed")) }
}

/// Whether a word that is read or written by its place is the one that an instruction of this kind is to use.
fn is_agreed(one: &Instruction, slots: u64, agreed: &Agreed) -> bool {
    let displacement = one.memory_displacement64();
    let register = (0..one.op_count()).find(|&operand| one.op_kind(operand) == OpKind::Register).map(|operand| one.op_register(operand));
    if one.is_ip_rel_memory_operand() {
        let offset = match (one.mnemonic(), register) {
            (Mnemonic::Cmp | Mnemonic::Jmp, None) => agreed.slot,
            (Mnemonic::Mov | Mnemonic::Add, Some(Register::R11D)) => slot_offset::ID_BASE,
            (Mnemonic::Mov, Some(Register::R9)) => slot_offset::STATE,
            _ => return false,
        };
        return one.ip_rel_memory_address() == slots + offset;
    }
    if one.segment_prefix() == Register::FS {
        let offset = match (one.mnemonic(), register) {
            (Mnemonic::Cmp, None) => state_offset::ASIDE,
            (Mnemonic::Cmp, Some(Register::R10)) => state_offset::LIMIT,
            (Mnemonic::Mov, Some(Register::R10)) => state_offset::FRAME,
            (Mnemonic::Mov, Some(Register::RAX | Register::R11)) => state_offset::CACHE,
            (Mnemonic::Add, Some(Register::RAX | Register::R11)) => state_offset::HIGH,
            _ => return false,
        };
        return one.memory_base() == Register::R9 && displacement == offset as u64;
    }
    // What a register of 32 bits takes that no other reads is the region's number, behind the return address.
    register != Some(Register::R11D) || displacement == agreed.id as u64
}
