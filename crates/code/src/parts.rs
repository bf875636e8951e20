//! Whether code that begins as a function does is a part of another one: of code split into a hot and a cold part, the
//! cold one may start before anything was pushed.
//!
//! What a compiler splits it describes by two unwind entries in a row, and the parts stand in different sections;
//! functions follow one another in both. A start at which a register is needed that no caller hands over is no entry.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};
use tare_image::Image;

use crate::decode::{RawFlow, decoder, raw_flow};
use crate::fragments::{Fragment, Fragments, Named};
use crate::quick::QuickMap;

/// How many instructions are looked at for the registers that a start needs.
const ROOM: usize = 16;
/// Registers that hold nothing at an entry that its code may use.
const NOT_HANDED_OVER: [Register; 9] =
    [Register::RAX, Register::RBX, Register::RBP, Register::R10, Register::R11, Register::R12, Register::R13, Register::R14, Register::R15];

/// Tells parts from functions.
pub(crate) struct Parts<'a, 'data> {
    image: &'a Image<'data>,
    fragments: &'a Fragments,
    /// The fragment whose unwind entry stands in front of that of another.
    described: QuickMap<usize, usize>,
}

impl<'a, 'data> Parts<'a, 'data> {
    pub(crate) fn new(image: &'a Image<'data>, fragments: &'a Fragments) -> Self {
        let mut order: Vec<(u64, usize)> = Vec::with_capacity(fragments.list.len());
        for (index, fragment) in fragments.list.iter().enumerate() {
            order.extend(fragment.fde.and_then(|fde| image.fdes().get(fde)).map(|fde| (fde.address, index)));
        }
        order.sort_unstable();
        let described = order.windows(2).filter_map(|pair| Some((pair.get(1)?.1, pair.first()?.1))).collect();
        Self { image, fragments, described }
    }

    /// The fragment whose unwind entry stands in front of that of another.
    pub(crate) fn described_before(&self, fragment: usize) -> Option<usize> {
        self.described.get(&fragment).copied()
    }

    /// Whether a fragment may be a part of the function that begins with another. Cold parts are not aligned, and linkers
    /// put them in front of all functions.
    pub(crate) fn may_belong(&self, part: usize, parent: usize) -> bool {
        let is_placed_as_part = |one: &Fragment| part < parent || (parent + 1 != part && !one.range.start.is_multiple_of(16));
        let is_described_behind = self.described_before(part) == Some(parent);
        is_described_behind && self.fragments.list.get(part).is_some_and(|one| may_be_part(one) && is_placed_as_part(one))
    }

    /// Whether a fragment is no function, though nothing is known of its parent.
    pub(crate) fn is_no_entry(&self, fragment: usize) -> bool {
        self.fragments.list.get(fragment).is_some_and(|one| may_be_part(one) && needs_more_than_arguments(self.image, one))
    }

    /// The fragment that would be the first part of the function of this one.
    pub(crate) fn parent(&self, part: usize) -> Option<usize> {
        self.described_before(part).filter(|&parent| self.may_belong(part, parent))
    }
}

/// Nothing but a branch is known to lead to it.
fn may_be_part(fragment: &Fragment) -> bool {
    let traits = fragment.traits;
    fragment.named == Named::No && !traits.is_called && !traits.is_entered_inside && !traits.is_pointed_at && fragment.fde.is_some()
}

/// Whether the first instructions, up to where control may turn, use a register or flag that a call does not hand over.
pub(crate) fn needs_more_than_arguments(image: &Image<'_>, fragment: &Fragment) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let mut written: Vec<Register> = Vec::new();
    let mut has_flags = false;
    for instruction in decoder(image, &fragment.range).into_iter().take(ROOM) {
        if !has_flags && instruction.rflags_read() & iced_x86::RflagsBits::DF == 0 && instruction.rflags_read() != 0 {
            return true;
        }
        if !is_plain_save(&instruction) && reads_unset(&mut factory, &instruction, &mut written) {
            return true;
        }
        has_flags |= instruction.rflags_modified() != 0;
        if raw_flow(&instruction) != RawFlow::Next {
            return false;
        }
    }
    false
}

/// Notes what an instruction writes; says whether it reads a register that nothing set.
fn reads_unset(factory: &mut InstructionInfoFactory, instruction: &Instruction, written: &mut Vec<Register>) -> bool {
    let mut fresh = Vec::new();
    let mut is_unset = false;
    for used in factory.info(instruction).used_registers() {
        let register = used.register().full_register();
        let is_write = matches!(used.access(), OpAccess::Write);
        is_unset |= !is_write && NOT_HANDED_OVER.contains(&register) && !written.contains(&register);
        fresh.extend(is_write.then_some(register));
    }
    written.extend(fresh);
    is_unset
}

/// Saves a register that it does not use, or asks how many vector registers hold arguments.
fn is_plain_save(instruction: &Instruction) -> bool {
    let is_count =
        instruction.mnemonic() == Mnemonic::Test && instruction.op0_register() == Register::AL && instruction.op1_register() == Register::AL;
    let is_store = instruction.mnemonic() == Mnemonic::Mov && instruction.op0_kind() == iced_x86::OpKind::Memory && is_on_stack(instruction);
    instruction.mnemonic() == Mnemonic::Push || is_count || is_store
}

fn is_on_stack(instruction: &Instruction) -> bool {
    instruction.memory_base() == Register::RSP && instruction.memory_index() == Register::None
}
