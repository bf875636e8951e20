//! What a register holds, as far as jump tables need it: a walk backwards from an instruction.
//!
//! The walk never guesses: an operation that is not on the short list makes the value unknown, and two pieces that
//! contradict each other make it refused, which no later rule overrides.

use std::collections::BTreeSet;

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use crate::addresses::{constant_address, indexed_address, is_in_thread, part, slot};
use crate::decode::may_change;
use crate::quick::QuickSet;
use crate::stretch::Stretch;

/// How many instructions one question may look at.
const BUDGET: usize = 4000;
/// The same where every way is looked at.
const STRICT_BUDGET: usize = 1 << 18;
/// How many definitions deep one question may go.
const DEPTH: usize = 12;

/// What a register or memory operand holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Unknown,
    /// Pieces that do not fit a table.
    Refused,
    /// An address that the code names.
    Constant(u64),
    /// A distance from the start of the global offset table, or from another address that the code names.
    Part(u64),
    /// A 32-bit entry of a table; `None` where the table is not known.
    Entry32(Option<u64>),
    /// A 64-bit entry of a table.
    Entry64(u64),
    /// A 64-bit word so far behind an address that the code names: a member of a structure in an array.
    Member(u64),
    /// The word in a slot of known address.
    Slot(u64),
    /// A table's start plus one of its 32-bit entries.
    Target(u64),
    /// Another address that the code names plus a 32-bit entry of a table: the table, and that address.
    Distance(u64, u64),
    /// An address that the code names plus something that was not seen.
    Sum(u64),
    /// A 32-bit entry of a table plus something, neither of which was seen: no pointer to a function is made so.
    Computed,
}

/// Answers questions about one stretch.
pub(crate) struct Values<'a> {
    stretch: &'a Stretch,
    factory: InstructionInfoFactory,
    budget: usize,
    /// Whether all ways must agree, so that what is found holds on every one.
    is_strict: bool,
    /// Constants that were come upon, and the instructions that hold them.
    constants: BTreeSet<(u64, u64)>,
}

impl<'a> Values<'a> {
    pub(crate) fn new(stretch: &'a Stretch) -> Self {
        Self { stretch, factory: InstructionInfoFactory::new(), budget: 0, is_strict: false, constants: BTreeSet::new() }
    }

    /// Where an indirect jump goes.
    pub(crate) fn of_jump(&mut self, index: usize) -> Value {
        self.budget = BUDGET;
        let Some(&jump) = self.stretch.code.get(index) else { return Value::Unknown };
        match jump.op0_kind() {
            OpKind::Register => self.register(jump.op0_register(), index, DEPTH),
            OpKind::Memory => self.load(&jump, index, 8, DEPTH),
            _ => Value::Unknown,
        }
    }

    /// What each instruction puts into the register of an indirect jump that goes there next (or what its memory operand holds),
    /// where all ways to that instruction agree. Compilers merge jumps whose operands were made in several places.
    pub(crate) fn every_of_jump(&mut self, index: usize) -> Vec<Value> {
        let Some(&jump) = self.stretch.code.get(index) else { return Vec::new() };
        if jump.op0_kind() != OpKind::Register {
            (self.is_strict, self.budget) = (true, STRICT_BUDGET);
            let value = self.load(&jump, index, 8, DEPTH);
            self.is_strict = false;
            return vec![value];
        }
        let register = jump.op0_register().full_register();
        let mut found = Vec::new();
        let mut seen = QuickSet::from_iter([index]);
        let mut todo: Vec<usize> = self.stretch.predecessors(index).collect();
        self.is_strict = true;
        while let Some(at) = todo.pop() {
            let Some(&instruction) = self.stretch.code.get(at).filter(|_| seen.insert(at)) else { continue };
            if self.writes(&instruction, register) {
                self.budget = STRICT_BUDGET;
                found.push(self.definition(&instruction, at, DEPTH));
            } else {
                todo.extend(self.stretch.predecessors(at));
            }
        }
        self.is_strict = false;
        found
    }

    /// Instructions that hold an address and were come upon so far.
    pub(crate) fn holders(&self, address: u64) -> impl Iterator<Item = u64> + '_ {
        self.constants.range((address, 0)..=(address, u64::MAX)).map(|one| one.1)
    }

    /// Whether an instruction may store one of these addresses outside of the frame.
    pub(crate) fn stores_any(&mut self, addresses: &BTreeSet<u64>) -> bool {
        let stretch = self.stretch;
        let is_store = |one: &Instruction| {
            let is_in_frame = matches!(one.memory_base(), Register::RSP | Register::RBP);
            one.mnemonic() == Mnemonic::Mov && one.op0_kind() == OpKind::Memory && one.op1_register().is_gpr64() && !is_in_frame
        };
        let mut stores = stretch.code.iter().enumerate().filter(|(_, one)| !addresses.is_empty() && is_store(one));
        stores.any(|(index, one)| {
            self.budget = BUDGET;
            matches!(self.register(one.op1_register(), index, DEPTH), Value::Constant(address) if addresses.contains(&address))
        })
    }

    /// What an instruction that reads a table-like operand loads.
    pub(crate) fn of_load(&mut self, index: usize) -> Value {
        self.budget = BUDGET;
        let Some(&load) = self.stretch.code.get(index) else { return Value::Unknown };
        let size = match load.mnemonic() {
            Mnemonic::Movsxd => 4,
            Mnemonic::Mov if load.op0_register().is_gpr32() => 4,
            Mnemonic::Mov if load.op0_register().is_gpr64() => 8,
            Mnemonic::Jmp => 8,
            _ => return Value::Unknown,
        };
        self.load(&load, index, size, DEPTH)
    }

    /// The value of a register in front of an instruction, by the first path that tells; where all must agree, by all of them.
    fn register(&mut self, register: Register, index: usize, depth: usize) -> Value {
        let register = register.full_register();
        let mut seen = QuickSet::from_iter([index]);
        let mut todo = vec![index];
        let mut is_first = true;
        let mut agreed = None;
        let mut in_part = Value::Unknown;
        while let Some(at) = todo.pop() {
            if self.budget == 0 || depth == 0 {
                return in_part;
            }
            self.budget -= 1;
            let Some(instruction) = self.stretch.code.get(at) else { continue };
            if !is_first && self.writes(instruction, register) {
                match self.definition(&instruction.clone(), at, depth - 1) {
                    found if self.is_strict && agreed.is_none_or(|agreed| agreed == found) => agreed = Some(found),
                    _ if self.is_strict => return Value::Unknown,
                    Value::Unknown => {}
                    found @ Value::Sum(_) => in_part = found,
                    Value::Computed if in_part != Value::Unknown => {}
                    Value::Computed => in_part = Value::Computed,
                    found => return found,
                }
                continue;
            }
            is_first = false;
            let first = todo.len();
            todo.extend(self.stretch.predecessors(at).filter(|&before| seen.insert(before)));
            if let Some(new) = todo.get_mut(first..) {
                new.reverse();
            }
        }
        agreed.unwrap_or(in_part)
    }

    fn writes(&mut self, instruction: &Instruction, register: Register) -> bool {
        if instruction.mnemonic() == Mnemonic::Call {
            return register == Register::RAX;
        }
        if let Some(plain) = written_by_plain(instruction) {
            return plain == register;
        }
        may_change(self.factory.info(instruction), register)
    }

    fn definition(&mut self, instruction: &Instruction, index: usize, depth: usize) -> Value {
        if let Some(part) = part(instruction).filter(|_| self.stretch.origin != 0) {
            self.constants.insert((self.stretch.origin.wrapping_add(part), instruction.ip()));
            return Value::Part(part);
        }
        if let Some(address) = constant_address(instruction) {
            self.constants.insert((address, instruction.ip()));
            return Value::Constant(address);
        }
        let from_register = instruction.op1_kind() == OpKind::Register;
        match instruction.mnemonic() {
            Mnemonic::Cdqe => self.register(Register::RAX, index, depth),
            Mnemonic::Mov | Mnemonic::Movsxd if from_register => self.register(instruction.op1_register(), index, depth),
            Mnemonic::Mov if instruction.op0_register().is_gpr64() => self.load(instruction, index, 8, depth),
            Mnemonic::Mov if instruction.op0_register().is_gpr32() => self.load(instruction, index, 4, depth),
            Mnemonic::Movsxd => self.load(instruction, index, 4, depth),
            Mnemonic::Add if from_register => {
                let one = self.register(instruction.op0_register(), index, depth);
                let other = self.register(instruction.op1_register(), index, depth);
                self.sum(one, other)
            }
            Mnemonic::Add if instruction.op1_kind() == OpKind::Memory => {
                let one = self.register(instruction.op0_register(), index, depth);
                let other = self.load(instruction, index, 8, depth);
                self.sum(one, other)
            }
            Mnemonic::Add if matches!(instruction.op1_kind(), OpKind::Immediate32 | OpKind::Immediate32to64) => {
                let one = self.register(instruction.op0_register(), index, depth);
                self.sum_with_named(one, instruction.immediate(1))
            }
            Mnemonic::Lea => self.address(instruction, index, depth),
            _ => Value::Unknown,
        }
    }

    /// The address that a memory operand names.
    fn address(&mut self, instruction: &Instruction, index: usize, depth: usize) -> Value {
        let (base, other) = (instruction.memory_base(), instruction.memory_index());
        let mut address = if base == Register::None { Value::Unknown } else { self.register(base, index, depth) };
        if other != Register::None {
            let is_plain = base != Register::None && instruction.memory_index_scale() == 1;
            let scaled = if is_plain { self.register(other, index, depth) } else { Value::Unknown };
            address = self.sum(address, scaled);
        }
        match indexed_address(instruction) {
            Some(table) => Value::Sum(table),
            None if instruction.memory_displacement64() == 0 => address,
            None => self.sum_with_named(address, instruction.memory_displacement64()),
        }
    }

    /// What the memory operand of an instruction holds.
    fn load(&mut self, instruction: &Instruction, index: usize, size: u8, depth: usize) -> Value {
        if size == 4 && instruction.is_ip_rel_memory_operand() {
            // The entry of a case that is known.
            return Value::Entry32(Some(instruction.ip_rel_memory_address()));
        }
        if instruction.is_ip_rel_memory_operand() || is_in_thread(instruction) {
            return slot(instruction).filter(|_| size == 8).map_or(Value::Unknown, Value::Slot);
        }
        let entry = |table| if size == 8 { Value::Entry64(table) } else { Value::Entry32(Some(table)) };
        if let Some(table) = indexed_address(instruction) {
            return entry(table);
        }
        let (base, other) = (instruction.memory_base(), instruction.memory_index());
        if base == Register::None {
            return Value::Unknown;
        }
        if other == Register::None {
            let is_at = instruction.memory_displacement64() == 0 && !matches!(base, Register::RBP | Register::RSP);
            return match if is_at { self.register(base, index, depth) } else { Value::Unknown } {
                Value::Sum(table) => entry(table),
                _ => Value::Unknown,
            };
        }
        let mut table = self.register(base, index, depth);
        if !matches!(table, Value::Constant(_)) && instruction.memory_index_scale() == 1 {
            table = self.register(other, index, depth);
        }
        match table {
            Value::Constant(table) if instruction.memory_displacement64() == 0 => entry(table),
            Value::Constant(array) if size == 8 && instruction.memory_displacement64().cast_signed() > 0 => {
                Value::Member(array.wrapping_add(instruction.memory_displacement64()))
            }
            // A `switch` whose least case is not 0: its number is counted from the table's start by the displacement.
            Value::Constant(table) if size == 4 && crate::bounds::skipped(instruction) > 0 => entry(table),
            Value::Constant(_) => Value::Refused,
            _ if size == 4 => Value::Entry32(None),
            _ => Value::Unknown,
        }
    }

    /// The sum with a number that an instruction holds beside another operand: an address only where an entry is added, or
    /// where it is one of the function's own instructions.
    fn sum_with_named(&self, one: Value, number: u64) -> Value {
        match one {
            Value::Entry32(_) => self.sum(one, Value::Constant(number)),
            Value::Unknown if self.is_own(number) => Value::Sum(number),
            Value::Sum(address) if self.is_own(address) || self.is_own(number) => Value::Sum(if self.is_own(number) { number } else { address }),
            _ => Value::Unknown,
        }
    }

    fn sum(&self, one: Value, other: Value) -> Value {
        match (one, other) {
            (Value::Part(part), Value::Constant(address)) | (Value::Constant(address), Value::Part(part)) => {
                Value::Constant(address.wrapping_add(part))
            }
            (Value::Part(part), Value::Unknown) | (Value::Unknown, Value::Part(part)) => Value::Constant(self.stretch.origin.wrapping_add(part)),
            (Value::Entry32(Some(table)), Value::Constant(base)) | (Value::Constant(base), Value::Entry32(Some(table))) => {
                if table == base {
                    Value::Target(table)
                } else {
                    Value::Distance(table, base)
                }
            }
            (Value::Entry32(None), Value::Constant(table)) | (Value::Constant(table), Value::Entry32(None)) => Value::Target(table),
            (Value::Entry32(Some(table)), Value::Unknown | Value::Sum(_)) | (Value::Unknown | Value::Sum(_), Value::Entry32(Some(table))) => {
                Value::Target(table)
            }
            (Value::Entry32(None), Value::Unknown | Value::Sum(_)) | (Value::Unknown | Value::Sum(_), Value::Entry32(None)) => Value::Computed,
            (Value::Entry64(_) | Value::Member(_) | Value::Distance(..) | Value::Refused, _)
            | (_, Value::Entry64(_) | Value::Member(_) | Value::Distance(..) | Value::Refused) => Value::Refused,
            (Value::Sum(address), Value::Constant(_) | Value::Sum(_)) if self.is_own(address) => Value::Sum(address),
            (Value::Constant(_) | Value::Sum(_), Value::Sum(address)) if self.is_own(address) => Value::Sum(address),
            (Value::Constant(address) | Value::Sum(address), Value::Unknown) | (Value::Unknown, Value::Constant(address) | Value::Sum(address)) => {
                Value::Sum(address)
            }
            _ => Value::Unknown,
        }
    }

    fn is_own(&self, address: u64) -> bool {
        self.stretch.ranges.iter().any(|range| range.contains(&address))
    }
}

/// The one register that a common instruction writes ([`Register::None`] if it writes none); `None` for all others.
fn written_by_plain(instruction: &Instruction) -> Option<Register> {
    match instruction.mnemonic() {
        Mnemonic::Mov
        | Mnemonic::Lea
        | Mnemonic::Movsxd
        | Mnemonic::Movzx
        | Mnemonic::Movsx
        | Mnemonic::Add
        | Mnemonic::Sub
        | Mnemonic::And
        | Mnemonic::Or
        | Mnemonic::Xor
        | Mnemonic::Shl
        | Mnemonic::Shr
        | Mnemonic::Sar => match instruction.op0_kind() {
            OpKind::Register => Some(instruction.op0_register().full_register()),
            _ => Some(Register::None),
        },
        Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Nop => Some(Register::None),
        _ if instruction.is_jcc_short_or_near() || instruction.is_jmp_short_or_near() => Some(Register::None),
        _ => None,
    }
}
