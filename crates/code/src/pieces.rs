//! Jumps into a row of pieces of code that all have the same size: the start of the first plus a multiple of the size.
//! Assembly has them (copying by the distance from a boundary), compilers do not.
//!
//! Such code cannot be moved, as each piece must stay as long as it is.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use crate::addresses::constant_address;
use crate::decode::may_change;
use crate::stretch::Stretch;

/// How many instructions one question may go back, and how many questions follow from one.
const BUDGET: usize = 32;
const DEPTH: usize = 4;
/// No piece is larger.
const MOST: u32 = 1 << 12;

/// The first piece that an indirect jump may go to, and the size of each.
pub(crate) fn of_jump(stretch: &Stretch, jump: usize) -> Option<(u64, u32)> {
    let target = stretch.code.get(jump).filter(|one| one.op0_kind() == OpKind::Register)?.op0_register();
    let mut walk = Walk { stretch, factory: InstructionInfoFactory::new() };
    let at = walk.definition(target, jump)?;
    let sum = stretch.code.get(at)?;
    let (one, other) = match sum.mnemonic() {
        Mnemonic::Add if sum.op1_kind() == OpKind::Register => (sum.op0_register(), sum.op1_register()),
        Mnemonic::Lea if sum.memory_index_scale() == 1 && sum.memory_displacement64() == 0 => (sum.memory_base(), sum.memory_index()),
        _ => return None,
    };
    [(one, other), (other, one)].into_iter().find_map(|(base, offset)| {
        let loaded = walk.definition(base, at)?;
        let first = constant_address(stretch.code.get(loaded)?).filter(|&first| stretch.index_of(first).is_some())?;
        let size = walk.factor(offset, at, DEPTH);
        (1 < size && size <= MOST).then_some((first, size))
    })
}

/// Where the pieces begin: as far as instructions of the function begin there.
pub(crate) fn starts(stretch: &Stretch, first: u64, size: u32) -> Vec<u64> {
    (0..).map_while(|piece: u64| first.checked_add(piece * u64::from(size))).take_while(|&start| stretch.index_of(start).is_some()).collect()
}

/// Goes straight back from an instruction.
struct Walk<'a> {
    stretch: &'a Stretch,
    factory: InstructionInfoFactory,
}

impl Walk<'_> {
    /// The instruction in front of another that writes a register, on the one way there.
    fn definition(&mut self, register: Register, mut at: usize) -> Option<usize> {
        let register = register.full_register();
        for _ in 0..BUDGET {
            let mut before = self.stretch.predecessors(at);
            let (only, more) = (before.next()?, before.next());
            if more.is_some() {
                return None;
            }
            if self.writes(only, register) {
                return Some(only);
            }
            at = only;
        }
        None
    }

    fn writes(&mut self, at: usize, register: Register) -> bool {
        let Some(one) = self.stretch.code.get(at) else { return true };
        one.mnemonic() == Mnemonic::Call || may_change(self.factory.info(one), register)
    }

    /// What the value of a register in front of an instruction is surely a multiple of.
    fn factor(&mut self, register: Register, at: usize, depth: usize) -> u32 {
        let Some(at) = depth.checked_sub(1).and_then(|_| self.definition(register, at)) else { return 1 };
        let Some(&one) = self.stretch.code.get(at) else { return 1 };
        match one.mnemonic() {
            Mnemonic::Shl if one.op1_kind() == OpKind::Immediate8 => self.factor(register, at, depth - 1).saturating_mul(shifted(one.immediate8())),
            Mnemonic::Lea => scale(&one).map_or(1, |scale| self.factor(one.memory_index(), at, depth - 1).saturating_mul(scale)),
            Mnemonic::Mov if one.op1_kind() == OpKind::Register => self.factor(one.op1_register(), at, depth - 1),
            _ => 1,
        }
    }
}

const fn shifted(by: u8) -> u32 {
    if by < 16 { 1 << by } else { u32::MAX }
}

/// What `lea r, [a*scale]` or `lea r, [a+a*scale]` multiplies `a` by.
fn scale(one: &Instruction) -> Option<u32> {
    let is_plain = one.memory_displacement64() == 0 && one.memory_index() != Register::None;
    match one.memory_base() {
        _ if !is_plain => None,
        Register::None => Some(one.memory_index_scale()),
        base if base == one.memory_index() => Some(one.memory_index_scale() + 1),
        _ => None,
    }
}
