//! What comes to a function, or back from a call, beside registers: flags, values below the stack pointer, the return address as a value.
//!
//! A function that takes its return address off the stack reads what stands behind the call, or means to learn where it runs; one that
//! puts it back as it was, as `vfork` does, does not. One that changes it comes back elsewhere than behind the call.
//!
//! Compilers hand nothing over so; code by hand may. Only straight ways are followed, and a few instructions far: from a
//! function's start, and from behind a call. What is stored first is the function's own, wherever it overlaps with what is read.

use iced_x86::{Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess, Register};

use crate::decode::{RawFlow, enters_kernel};
use crate::flags::ARITHMETIC;
use crate::plain::Taken;
use crate::through::writes;

/// Instructions that are looked at behind a function's start, and behind a call.
const REACH_OF_START: u8 = 12;
const REACH_OF_CALL: u8 = 3;
/// Bytes below the stack pointer that signals leave alone.
const RED_ZONE: i64 = 128;

/// Bytes of the return address, to which the stack pointer leads at a function's start.
const RETURN_ADDRESS: i64 = 8;

/// Whether an instruction keeps all flags, as a system call does: that is not to depend on them.
fn keeps_all(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Pushf | Mnemonic::Pushfd | Mnemonic::Pushfq) || enters_kernel(instruction)
}

/// Whether an instruction may be there for nothing but that it reads and writes a word: so is memory touched that a stack grows into, and a
/// return address in front of a return; and so are loads kept behind stores.
fn touches(instruction: &Instruction) -> bool {
    instruction.has_lock_prefix() || matches!(instruction.mnemonic(), Mnemonic::Or | Mnemonic::Shl | Mnemonic::Not)
}

/// Follows one way.
pub(crate) struct Carried {
    /// Flags that were not written yet.
    open: u32,
    left: u8,
    /// Whether the stack pointer is still where it was.
    is_level: bool,
    /// Where the return address was taken to, and has not come back from.
    taken: Register,
    /// Offsets from the stack pointer that were stored to.
    stored: Vec<(i64, i64)>,
    /// What is called, and the address behind the call.
    call: Option<(u64, u64)>,
}

impl Carried {
    /// From a function's start.
    pub(crate) const fn at_start() -> Self {
        Self { open: ARITHMETIC, left: REACH_OF_START, is_level: true, taken: Register::None, stored: Vec::new(), call: None }
    }

    /// From behind a call.
    pub(crate) const fn behind_call(callee: u64, behind: u64) -> Self {
        Self { open: ARITHMETIC, left: REACH_OF_CALL, is_level: false, taken: Register::None, stored: Vec::new(), call: Some((callee, behind)) }
    }

    /// The callee and the address behind the call where the way began, if it was a call.
    pub(crate) const fn call(&self) -> Option<(u64, u64)> {
        self.call
    }

    /// Takes the next instruction unseen; whether that does: nothing is looked for any more, or but flags, and it tells what is left of these.
    #[inline]
    pub(crate) fn passes(&mut self, flags: impl FnOnce() -> Taken) -> bool {
        if self.left == 0 {
            return true;
        }
        let left = match flags() {
            Taken::All => self.left - 1,
            Taken::None => 0,
            Taken::Unknown => return false,
        };
        let is_unseen = !self.is_level && self.taken == Register::None;
        self.left = if is_unseen { left } else { self.left };
        is_unseen
    }

    /// Takes the next instruction; whether it reads what came along.
    #[inline]
    pub(crate) fn step(&mut self, instruction: &Instruction, flow: RawFlow) -> bool {
        self.left != 0 && self.look(instruction, flow)
    }

    fn look(&mut self, instruction: &Instruction, flow: RawFlow) -> bool {
        self.left -= 1;
        let reads_flags = instruction.rflags_read() & self.open != 0 && !keeps_all(instruction);
        if instruction.mnemonic() == Mnemonic::Pop && self.is_level {
            self.taken = instruction.op0_register();
        } else if instruction.mnemonic() == Mnemonic::Push && instruction.op0_register() == self.taken {
            self.taken = Register::None;
        }
        let is_taken = self.taken != Register::None;
        let is_over = flow != RawFlow::Next || self.left == 0;
        let is_changed = is_taken && instruction.mnemonic() != Mnemonic::Pop && writes(instruction, self.taken.full_register());
        let found = reads_flags || self.is_level && self.takes_from_stack(instruction) || is_taken && is_over || is_changed;
        self.open &= !instruction.rflags_modified();
        if found || is_over || self.open == 0 && !self.is_level && !is_taken {
            self.left = 0;
        }
        found
    }

    /// Whether an instruction reads what lies below the stack pointer, or writes the return address.
    fn takes_from_stack(&mut self, instruction: &Instruction) -> bool {
        let names_stack = instruction.memory_base() == Register::RSP || instruction.op0_register() == Register::RSP;
        if !names_stack && !instruction.is_stack_instruction() {
            return false;
        }
        let start = instruction.memory_displacement64().cast_signed();
        let is_lone = instruction.memory_base() == Register::RSP && instruction.memory_index() == Register::None;
        if instruction.is_stack_instruction() || instruction.mnemonic() == Mnemonic::Lea || !is_lone {
            // The stack pointer moves, or its value goes where stores are not seen.
            self.is_level = false;
            return false;
        }
        let range = (start, start + i64::try_from(instruction.memory_size().size()).unwrap_or(0));
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
        let accesses = |wanted: [OpAccess; 2]| info.used_memory().iter().any(|one| wanted.contains(&one.access()));
        let is_return_address = start < RETURN_ADDRESS && range.1 > 0;
        if is_return_address && !touches(instruction) && accesses([OpAccess::Write, OpAccess::ReadWrite]) {
            return true;
        }
        let reads = accesses([OpAccess::Read, OpAccess::ReadWrite]);
        let is_own = self.stored.iter().any(|&(from, end)| from < range.1 && range.0 < end);
        if reads {
            return !is_own && (-RED_ZONE..0).contains(&start);
        }
        self.stored.push(range);
        false
    }
}
