//! What a place holds: a walk backwards from a block, through the blocks that are the only way to it.

use std::collections::{HashMap, HashSet};

use iced_x86::{Instruction as Decoded, InstructionInfoFactory, Mnemonic, OpKind, Register};

use crate::cfg::Cfg;
use crate::decode::may_change;
use crate::program::{Body, Flow};
use crate::{Loop, Loops};

/// How many blocks one question may look at.
const BLOCKS: usize = 64;
/// How often all questions about a function together may look at each of its instructions: thousands of loops within one
/// another, each left in thousands of places, have billions of questions. What is asked beyond stays unknown.
const ROUNDS: usize = 256;
/// How many definitions deep one question may go.
const DEPTH: usize = 16;

/// Something that holds a number and is written as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place {
    /// A general register, by its full name.
    Register(Register),
    /// A slot of the stack frame: base register and displacement.
    Slot(Register, i64),
}

/// A number, or one relative to another that is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Value {
    /// What it is relative to: where in the code, and the place that holds it there.
    pub(super) origin: Option<(usize, Place)>,
    pub(super) offset: i64,
}

impl Value {
    pub(super) const fn constant(offset: i64) -> Self {
        Self { origin: None, offset }
    }

    fn plus(self, more: i64) -> Option<Self> {
        Some(Self { offset: self.offset.checked_add(more)?, ..self })
    }
}

/// The instructions of a function by blocks.
pub(super) struct Definitions<'a> {
    pub(super) code: &'a [Decoded],
    pub(super) body: &'a Body,
    pub(super) cfg: &'a Cfg,
    pub(super) loops: &'a Loops,
    predecessors: Vec<Vec<usize>>,
    /// Slots whose own address the function makes.
    shown: HashSet<Place>,
    /// Whether the frame pointer is one.
    has_frame_pointer: bool,
    /// Position in `loops` by the index of the header.
    headers: HashMap<usize, usize>,
    /// How many instructions may still be looked at.
    left: usize,
    factory: InstructionInfoFactory,
}

impl<'a> Definitions<'a> {
    pub(super) fn new(code: &'a [Decoded], body: &'a Body, cfg: &'a Cfg, loops: &'a Loops) -> Self {
        let mut predecessors = vec![Vec::new(); cfg.blocks.len()];
        for (index, block) in cfg.blocks.iter().enumerate() {
            for &next in &block.successors {
                if let Some(list) = predecessors.get_mut(next) {
                    list.push(index);
                }
            }
        }
        let headers = loops.iter().enumerate().filter_map(|(index, one)| Some((*one.blocks.first()?, index))).collect();
        let shown = code.iter().filter(|one| one.mnemonic() == Mnemonic::Lea).filter_map(|one| frame_address(one, 1)).collect();
        let makes_frame =
            |one: &Decoded| one.op0_register() == Register::RBP && (one.op1_register() == Register::RSP || one.memory_base() == Register::RSP);
        let has_frame_pointer = code.iter().any(|one| matches!(one.mnemonic(), Mnemonic::Mov | Mnemonic::Lea) && makes_frame(one));
        let left = ROUNDS * code.len();
        Self { code, body, cfg, loops, predecessors, shown, has_frame_pointer, headers, left, factory: InstructionInfoFactory::new() }
    }

    /// The instructions of a block, as positions in the code.
    pub(super) fn of_block(&self, block: usize) -> std::ops::Range<usize> {
        self.cfg.blocks.get(block).map_or(0..0, |block| block.instructions.clone())
    }

    /// The only block outside of a loop from which it is entered.
    pub(super) fn way_into(&self, one: &Loop) -> Option<usize> {
        let header = one.blocks.first()?;
        let mut outside = self.predecessors.get(*header)?.iter().filter(|before| !one.contains(**before));
        outside.next().filter(|_| outside.next().is_none()).copied()
    }

    /// What a place holds behind a block.
    pub(super) fn behind(&mut self, block: usize, place: Place) -> Option<Value> {
        let end = self.of_block(block).end;
        self.before(block, end, place, DEPTH)
    }

    /// What a place holds in front of the instruction at `end`, which is in the block or behind its last one.
    fn before(&mut self, mut block: usize, mut end: usize, place: Place, depth: usize) -> Option<Value> {
        depth.checked_sub(1)?;
        for _ in 0..BLOCKS {
            let range = self.of_block(block);
            let writer = (range.start..end.min(range.end)).rev().find(|&at| self.writes(at, place));
            if let Some(at) = writer {
                return self.definition(block, at, place, depth - 1);
            }
            match self.only_way_to(block, place) {
                Some(before) => block = before,
                None => return Some(Value { origin: Some((range.start, place)), offset: 0 }),
            }
            end = self.of_block(block).end;
        }
        None
    }

    /// The block in front of a block; a loop that leaves the place alone is stepped over.
    fn only_way_to(&mut self, block: usize, place: Place) -> Option<usize> {
        if let Some(&index) = self.headers.get(&block) {
            let one = self.loops.get(index)?;
            return if self.leaves_alone(one, place)? { self.way_into(one) } else { None };
        }
        match self.predecessors.get(block)?.as_slice() {
            [before] => Some(*before),
            _ => None,
        }
    }

    fn definition(&mut self, block: usize, at: usize, place: Place, depth: usize) -> Option<Value> {
        let one = *self.code.get(at)?;
        let unknown = Value { origin: Some((at, place)), offset: 0 };
        if let Some(step) = step(&one, place) {
            return self.before(block, at, place, depth)?.plus(step);
        }
        let known = match one.mnemonic() {
            Mnemonic::Xor | Mnemonic::Sub if one.op0_register() == one.op1_register() && one.op0_kind() == one.op1_kind() => Some(Value::constant(0)),
            Mnemonic::Mov if is_immediate(one.op1_kind()) => Some(Value::constant(one.immediate(1).cast_signed())),
            Mnemonic::Mov | Mnemonic::Movsxd => match operand(&one, 1) {
                Some(from) => self.before(block, at, from, depth),
                None => None,
            },
            Mnemonic::Cdqe => self.before(block, at, place, depth),
            Mnemonic::Lea if one.is_ip_rel_memory_operand() => Some(Value::constant(one.ip_rel_memory_address().cast_signed())),
            Mnemonic::Lea if one.memory_index() == Register::None && one.memory_base() != Register::None => {
                let base = Place::Register(one.memory_base().full_register());
                self.before(block, at, base, depth).and_then(|base| base.plus(one.memory_displacement64().cast_signed()))
            }
            _ => None,
        };
        Some(known.unwrap_or(unknown))
    }

    /// Whether nothing in a loop writes a place.
    pub(super) fn leaves_alone(&mut self, one: &Loop, place: Place) -> Option<bool> {
        Some(self.writers(one, place, 1)?.is_empty())
    }

    /// The instructions of a loop that write a place, with their blocks; no more than so many are looked for.
    pub(super) fn writers(&mut self, one: &Loop, place: Place, most: usize) -> Option<Vec<(usize, usize)>> {
        let mut found = Vec::new();
        for &block in one.blocks.iter() {
            let range = self.of_block(block);
            self.look_at(range.len())?;
            for at in range {
                if self.writes(at, place) {
                    found.push((block, at));
                    if found.len() == most {
                        return Some(found);
                    }
                }
            }
        }
        Some(found)
    }

    /// `None` where questions have looked at too many instructions.
    pub(super) fn look_at(&mut self, count: usize) -> Option<()> {
        self.left = self.left.checked_sub(count)?;
        Some(())
    }

    /// Whether an instruction changes what a place holds; for a slot also if it moves the slot's base.
    pub(super) fn writes(&mut self, at: usize, place: Place) -> bool {
        let Some(one) = self.code.get(at) else { return false };
        let is_call = matches!(self.body.instructions.get(at).map(|one| one.flow), Some(Flow::Call { .. } | Flow::IndirectCall));
        let register = match place {
            Place::Register(register) | Place::Slot(register, _) => register,
        };
        let is_open = matches!(place, Place::Slot(base, _) if self.shown.contains(&place) || base == Register::RBP && !self.has_frame_pointer);
        if is_call {
            return is_open || !is_kept_by_calls(register);
        }
        if let Place::Slot(base, displacement) = place {
            let is_same = one.memory_base() == base && one.memory_displacement64().cast_signed() == displacement;
            let may_be = is_same || is_open && !matches!(one.memory_base(), Register::RSP | Register::RBP | Register::RIP);
            if one.op0_kind() == OpKind::Memory && may_be && !matches!(one.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push) {
                return true;
            }
        }
        may_change(self.factory.info(one), register)
    }
}

/// What calls leave as it was, if it is read behind them: compilers read other registers of the caller only where they
/// know that the callee does not write them (`-fipa-ra`); in these two a callee returns something.
fn is_kept_by_calls(register: Register) -> bool {
    !matches!(register, Register::RAX | Register::RDX)
}

fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    )
}

/// The constant operand of an instruction.
pub(super) fn constant(one: &Decoded, operand: u32) -> Option<i64> {
    let is_there = operand < one.op_count() && is_immediate(one.op_kind(operand));
    is_there.then(|| one.immediate(operand).cast_signed())
}

/// The place that an operand names: a register of 32 or 64 bits, or a slot as wide.
pub(super) fn operand(one: &Decoded, operand: u32) -> Option<Place> {
    if operand >= one.op_count() {
        return None;
    }
    match one.op_kind(operand) {
        OpKind::Register => {
            let register = one.op_register(operand);
            (register.is_gpr32() || register.is_gpr64()).then(|| Place::Register(register.full_register()))
        }
        OpKind::Memory => frame_address(one, operand).filter(|_| matches!(one.memory_size().size(), 4 | 8)),
        _ => None,
    }
}

/// The slot of the frame that a memory operand is, or begins with.
fn frame_address(one: &Decoded, operand: u32) -> Option<Place> {
    let base = one.memory_base();
    let is_slot = one.op_kind(operand) == OpKind::Memory && matches!(base, Register::RBP | Register::RSP) && one.memory_index() == Register::None;
    is_slot.then(|| Place::Slot(base, one.memory_displacement64().cast_signed()))
}

/// By how much an instruction steps a place, if that is what it does.
pub(super) fn step(one: &Decoded, place: Place) -> Option<i64> {
    if operand(one, 0) != Some(place) {
        return None;
    }
    match one.mnemonic() {
        Mnemonic::Inc => Some(1),
        Mnemonic::Dec => Some(-1),
        Mnemonic::Add => constant(one, 1),
        Mnemonic::Sub => constant(one, 1).and_then(i64::checked_neg),
        Mnemonic::Lea if one.memory_index() == Register::None && Place::Register(one.memory_base().full_register()) == place => {
            Some(one.memory_displacement64().cast_signed())
        }
        _ => None,
    }
}
