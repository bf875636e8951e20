//! How many entries of a jump table can be reached: what the compare in front of the jump lets through.
//!
//! The walk goes backwards over code that is entered from nowhere else, from the jump over the load of the entry to the
//! conditional jump that guards it. Whatever is not on the short list of moves ends it, and the bound is not known.

use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind, Register};

use crate::decode::{RawFlow, raw_flow};
use crate::stretch::Stretch;

/// How many instructions the walk may take.
const BUDGET: usize = 48;

/// Code in which a guard is looked for.
pub(crate) struct Bounds<'a> {
    pub(crate) stretch: &'a Stretch,
    /// Where tables lead: code that is entered from elsewhere. Sorted.
    pub(crate) entered: &'a [u64],
}

impl Bounds<'_> {
    /// Entries that the guard of an indirect jump lets through, where it is found.
    pub(crate) fn entries(&self, jump: u64) -> Option<usize> {
        let (load, index) = self.load_of_entry(self.stretch.index_of(jump)?)?;
        let skipped = self.stretch.code.get(load).map_or(0, skipped);
        let let_through = |register| Walk { bounds: self, index: Index::register(register), way: None }.back_from(load);
        Some(index.into_iter().flatten().find_map(let_through)?.saturating_sub(skipped))
    }

    /// The instruction that reads the entry, and the registers that may hold the number of the entry.
    fn load_of_entry(&self, jump: usize) -> Option<(usize, [Option<Register>; 2])> {
        let mut at = jump;
        for _ in 0..BUDGET {
            let one = self.stretch.code.get(at)?;
            let reads = at == jump || matches!(one.mnemonic(), Mnemonic::Mov | Mnemonic::Movsxd) && one.op1_kind() == OpKind::Memory;
            let makes_address = one.mnemonic() == Mnemonic::Lea && one.memory_index_scale() > 1;
            if (reads || makes_address) && one.memory_index() != Register::None {
                let is_scaled = one.memory_index_scale() > 1;
                let other = Some(one.memory_base()).filter(|base| !is_scaled && *base != Register::None);
                return Some((at, [Some(one.memory_index()), other]));
            }
            at = self.before(at).filter(|&before| before + 1 == at)?;
        }
        None
    }

    /// The one instruction from which control comes to another.
    fn before(&self, at: usize) -> Option<usize> {
        let address = self.stretch.code.get(at)?.ip();
        let mut ways = self.stretch.predecessors(at).filter(|_| self.entered.binary_search(&address).is_err());
        let first = ways.next()?;
        ways.next().is_none().then_some(first)
    }
}

/// How many numbers lie below that of the first entry: `[table+number*4-displacement]`.
pub(crate) fn skipped(load: &Instruction) -> usize {
    let scale = i64::from(load.memory_index_scale());
    let displacement = load.memory_displacement64().cast_signed();
    let is_whole = load.memory_base() != Register::None && load.memory_index() != Register::None && scale == 4 && displacement % scale == 0;
    if is_whole { usize::try_from(-(displacement / scale)).unwrap_or(0) } else { 0 }
}

/// Where the number of the entry is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Index {
    place: Place,
    /// Bytes of it that count.
    size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Register(Register),
    /// A word in the frame: base and displacement.
    Frame(Register, u64),
}

impl Index {
    fn register(register: Register) -> Self {
        Self { place: Place::Register(register.full_register()), size: register.size() }
    }

    /// What an operand names; memory outside of the frame is not followed.
    fn operand(one: &Instruction, operand: u32) -> Option<Self> {
        match one.op_kind(operand) {
            OpKind::Register => Some(Self::register(one.op_register(operand))),
            OpKind::Memory if matches!(one.memory_base(), Register::RBP | Register::RSP) && one.memory_index() == Register::None => {
                Some(Self { place: Place::Frame(one.memory_base(), one.memory_displacement64()), size: one.memory_size().size() })
            }
            _ => None,
        }
    }
}

/// What an instruction does to the number.
enum Step {
    GoesOn,
    /// It holds no more than this.
    Bound(usize),
    Lost,
}

struct Walk<'a> {
    bounds: &'a Bounds<'a>,
    index: Index,
    /// The condition on which control comes here, if nothing in between touches the flags.
    way: Option<ConditionCode>,
}

impl Walk<'_> {
    fn back_from(mut self, mut at: usize) -> Option<usize> {
        for _ in 0..BUDGET {
            let from = self.bounds.before(at)?;
            let one = self.bounds.stretch.code.get(from)?;
            match raw_flow(one) {
                RawFlow::Branch(target) => {
                    let is_taken = self.bounds.stretch.code.get(at).is_some_and(|one| one.ip() == target);
                    let falls_here = from + 1 == at;
                    let condition = one.condition_code();
                    self.way = match (is_taken, falls_here) {
                        (true, false) => Some(condition),
                        (false, true) => negated(condition),
                        _ => None,
                    };
                }
                RawFlow::Jump(_) => {}
                RawFlow::Next => match self.step(one) {
                    Step::GoesOn => {}
                    Step::Bound(most) => return most.checked_add(1),
                    Step::Lost => return None,
                },
                _ => return None,
            }
            at = from;
        }
        None
    }

    fn step(&mut self, one: &Instruction) -> Step {
        match one.mnemonic() {
            Mnemonic::Cmp => self.compared(one),
            Mnemonic::Test | Mnemonic::Nop | Mnemonic::Endbr64 => {
                self.way = self.way.filter(|_| one.mnemonic() != Mnemonic::Test);
                Step::GoesOn
            }
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsxd | Mnemonic::Lea => self.moved(one),
            Mnemonic::Cdqe => {
                let size = if self.index.place == Place::Register(Register::RAX) { 4 } else { 8 };
                self.index.size = self.index.size.min(size);
                Step::GoesOn
            }
            Mnemonic::And if self.is_set_by(one) => match immediate(one) {
                Some(mask) => Step::Bound(mask),
                None => Step::Lost,
            },
            _ if self.is_set_by(one) || !sets_one_register(one) => Step::Lost,
            _ => {
                self.way = None;
                Step::GoesOn
            }
        }
    }

    /// A compare of the number itself bounds it; any other says nothing.
    fn compared(&mut self, one: &Instruction) -> Step {
        let own = Index::operand(one, 0).filter(|operand| operand.place == self.index.place && operand.size >= self.index.size.min(4));
        let bound = match (self.way.take(), own.and_then(|_| immediate(one))) {
            (Some(ConditionCode::be), Some(most)) => Some(most),
            (Some(ConditionCode::b), Some(behind)) => behind.checked_sub(1),
            _ => None,
        };
        bound.map_or(Step::GoesOn, Step::Bound)
    }

    fn moved(&mut self, one: &Instruction) -> Step {
        if one.op0_kind() == OpKind::Memory {
            return if self.is_set_by(one) || matches!(self.index.place, Place::Frame(..)) { Step::Lost } else { Step::GoesOn };
        }
        if !self.is_set_by(one) {
            let is_base = matches!(self.index.place, Place::Frame(base, _) if base == one.op0_register().full_register());
            return if is_base { Step::Lost } else { Step::GoesOn };
        }
        let source = match one.mnemonic() {
            Mnemonic::Lea => scaled(one).map(Index::register),
            _ => Index::operand(one, 1),
        };
        match source {
            Some(source) => {
                self.index = Index { size: source.size.min(self.index.size), ..source };
                Step::GoesOn
            }
            None => Step::Lost,
        }
    }

    fn is_set_by(&self, one: &Instruction) -> bool {
        Index::operand(one, 0).is_some_and(|operand| operand.place == self.index.place)
    }
}

/// Whether an instruction writes its first operand, a register, and nothing else that is followed here.
fn sets_one_register(one: &Instruction) -> bool {
    let is_plain = matches!(
        one.mnemonic(),
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::And | Mnemonic::Or | Mnemonic::Xor | Mnemonic::Shl | Mnemonic::Shr | Mnemonic::Sar
    );
    is_plain && one.op0_kind() == OpKind::Register && !matches!(one.op0_register().full_register(), Register::RSP | Register::RBP)
}

/// The register that `lea r, [register*scale]` multiplies.
fn scaled(one: &Instruction) -> Option<Register> {
    let is_plain = one.memory_base() == Register::None && one.memory_displacement64() == 0 && one.memory_index() != Register::None;
    is_plain.then(|| one.memory_index())
}

fn immediate(one: &Instruction) -> Option<usize> {
    let is_immediate = !matches!(one.op1_kind(), OpKind::Register | OpKind::Memory);
    let value = is_immediate.then(|| one.immediate(1))?;
    usize::try_from(value).ok().filter(|&value| value < 1 << 16)
}

/// The condition under which a conditional jump is not taken, of those that a guard may have.
const fn negated(condition: ConditionCode) -> Option<ConditionCode> {
    match condition {
        ConditionCode::a => Some(ConditionCode::be),
        ConditionCode::ae => Some(ConditionCode::b),
        _ => None,
    }
}
