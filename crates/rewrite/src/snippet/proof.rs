//! What a small function of a library touches, read from its instructions.
//!
//! Saving the processor's vector state around a call costs more than most hooks do. A function that calls nothing,
//! stays within itself and uses general registers only leaves that state alone. This is found out when the program
//! is instrumented and holds for these very bytes: at its start the program compares them with those that it finds.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind, Register};
use tare_image::Image;

use super::compile::Registers;

/// Larger functions are not looked at.
const LARGEST: u64 = 256;

/// A function that touches memory, flags and a few general registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Small<'a> {
    pub(crate) bytes: &'a [u8],
    /// Caller-saved registers that it changes.
    pub(crate) changed: Registers,
}

/// Looks at a function of a library.
pub(crate) fn prove<'a>(library: &Image<'a>, name: &str) -> Option<Small<'a>> {
    let symbol = library.dynamic_symbols().iter().find(|symbol| symbol.name == name && symbol.is_defined)?;
    if !symbol.is_function || symbol.is_ifunc || symbol.size == 0 || symbol.size > LARGEST {
        return None;
    }
    let range = symbol.address..symbol.address.checked_add(symbol.size)?;
    if !library.relocations_in(&range).is_empty() {
        return None;
    }
    let bytes = library.bytes_at(symbol.address, symbol.size)?;
    let mut factory = InstructionInfoFactory::new();
    let mut changed = Registers::default();
    let mut last = FlowControl::Next;
    for instruction in Decoder::with_ip(64, bytes, symbol.address, DecoderOptions::NONE) {
        let stays = match instruction.flow_control() {
            FlowControl::Next | FlowControl::Return => true,
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => range.contains(&instruction.near_branch_target()),
            _ => false,
        };
        if !stays || !is_harmless(&instruction) {
            return None;
        }
        for used in factory.info(&instruction).used_registers() {
            changed = changed.union(change(used.register(), used.access())?);
        }
        last = instruction.flow_control();
    }
    let ends = matches!(last, FlowControl::Return | FlowControl::UnconditionalBranch);
    ends.then_some(Small { bytes, changed })
}

/// Whether an instruction is of the program's own and keeps to memory that it names.
fn is_harmless(instruction: &Instruction) -> bool {
    let is_thread_local = matches!(instruction.segment_prefix(), Register::FS | Register::GS);
    let is_far = (0..instruction.op_count()).any(|one| matches!(instruction.op_kind(one), OpKind::FarBranch16 | OpKind::FarBranch32));
    !instruction.is_invalid() && !instruction.is_privileged() && !is_thread_local && !is_far && !instruction.is_save_restore_instruction()
}

/// The caller-saved register that a use changes; `None` for registers that are not general ones.
fn change(register: Register, access: OpAccess) -> Option<Registers> {
    if register.is_segment_register() || register.is_ip() {
        return Some(Registers::default());
    }
    if !register.is_gpr() {
        return None;
    }
    let is_read = matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
    let number = u8::try_from(register.full_register().number()).ok()?;
    let own = Registers(1_u16.checked_shl(u32::from(number))?);
    let is_caller_saved = Registers::CALLER_SAVED.0 & own.0 != 0;
    Some(if is_read || !is_caller_saved { Registers::default() } else { own })
}
