//! Addresses that instructions name.

use iced_x86::{Code, Instruction, Mnemonic, OpKind, Register};
use tare_image::Image;

/// The address that `lea r, [rip+x]` or `mov r, imm` puts into a register.
pub(crate) fn constant_address(instruction: &Instruction) -> Option<u64> {
    match instruction.mnemonic() {
        Mnemonic::Lea => {
            if instruction.is_ip_rel_memory_operand() {
                return Some(instruction.ip_rel_memory_address());
            }
            let is_absolute = instruction.memory_base() == Register::None && instruction.memory_index() == Register::None;
            is_absolute.then(|| instruction.memory_displacement64())
        }
        Mnemonic::Mov if instruction.op0_kind() == OpKind::Register => match instruction.op1_kind() {
            OpKind::Immediate32 => Some(u64::from(instruction.immediate32())),
            OpKind::Immediate32to64 => Some(instruction.immediate32to64().cast_unsigned()),
            OpKind::Immediate64 => Some(instruction.immediate64()),
            _ => None,
        },
        _ => None,
    }
}

/// The immediate that `mov [m], imm32` stores: an address in position-dependent code.
pub(crate) fn stored_address(instruction: &Instruction) -> Option<u64> {
    let is_store = instruction.mnemonic() == Mnemonic::Mov && instruction.op0_kind() == OpKind::Memory;
    (is_store && instruction.op1_kind() == OpKind::Immediate32to64).then(|| instruction.immediate32to64().cast_unsigned())
}

/// The number that `add r, imm` or `lea r, [r+x]` adds: an address in position-dependent code.
pub(crate) fn added_address(instruction: &Instruction) -> Option<u64> {
    match instruction.mnemonic() {
        Mnemonic::Add => match instruction.op1_kind() {
            OpKind::Immediate32 => Some(u64::from(instruction.immediate32())),
            OpKind::Immediate32to64 => Some(instruction.immediate32to64().cast_unsigned()),
            _ => None,
        },
        Mnemonic::Lea => (instruction.memory_displ_size() > 1).then(|| instruction.memory_displacement64()),
        _ => None,
    }
}

/// The link address at which `[rip+x]` reads or writes; none with a segment of a thread, in which `x` counts from elsewhere.
pub(crate) fn slot(instruction: &Instruction) -> Option<u64> {
    (instruction.is_ip_rel_memory_operand() && !is_in_thread(instruction)).then(|| instruction.ip_rel_memory_address())
}

/// Whether a memory operand counts from the start of a segment that every thread has for itself.
pub(crate) fn is_in_thread(instruction: &Instruction) -> bool {
    matches!(instruction.segment_prefix(), Register::FS | Register::GS)
}

/// The slot that `mov r, [rip+x]` reads.
pub(crate) fn loaded_slot(instruction: &Instruction) -> Option<u64> {
    let is_load = instruction.mnemonic() == Mnemonic::Mov && instruction.op1_kind() == OpKind::Memory;
    slot(instruction).filter(|_| is_load)
}

/// The absolute address in `[table + index*4]` or `[table + index*8]`.
pub(crate) fn indexed_address(instruction: &Instruction) -> Option<u64> {
    let is_table = instruction.memory_index() != Register::None
        && instruction.memory_base() == Register::None
        && matches!(instruction.memory_index_scale(), 4 | 8)
        && instruction.memory_displ_size() != 0
        && instruction.memory_displacement64() != 0
        && !is_in_thread(instruction)
        && (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    is_table.then(|| instruction.memory_displacement64())
}

/// The 64-bit constant of the medium and large models that would fit 32 bits, but was not known then: an address, or in images
/// that are moved a distance from the global offset table.
pub(crate) fn part(instruction: &Instruction) -> Option<u64> {
    let is_part = || i32::try_from(instruction.immediate64().cast_signed()).is_ok();
    (instruction.code() == Code::Mov_r64_imm64 && is_part()).then(|| instruction.immediate64())
}

/// What such constants count from: the global offset table's start in images that are moved, 0 in others.
pub(crate) fn origin(image: &Image<'_>) -> u64 {
    let table = [".got.plt", ".got"].into_iter().find_map(|name| image.section(name));
    if image.kind().is_position_independent() { table.map_or(0, |table| table.address) } else { 0 }
}
