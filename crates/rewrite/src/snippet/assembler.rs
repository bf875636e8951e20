//! The machine instructions that compiled snippets consist of.
//!
//! Few forms, each with its longest displacement: sizes are known before values are. Fields that depend on addresses
//! are left at zero and listed.

use crate::insertion::Value;

/// A general register, by its number in instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Register(pub(crate) u8);

pub(crate) const RAX: Register = Register(0);
pub(crate) const RCX: Register = Register(1);
pub(crate) const RDX: Register = Register(2);
pub(crate) const RBX: Register = Register(3);
pub(crate) const RSP: Register = Register(4);
pub(crate) const RBP: Register = Register(5);
pub(crate) const RSI: Register = Register(6);
pub(crate) const RDI: Register = Register(7);
pub(crate) const R8: Register = Register(8);
pub(crate) const R9: Register = Register(9);
pub(crate) const R10: Register = Register(10);
pub(crate) const R11: Register = Register(11);
pub(crate) const R12: Register = Register(12);
pub(crate) const R13: Register = Register(13);
pub(crate) const R14: Register = Register(14);
pub(crate) const R15: Register = Register(15);

impl Register {
    const fn low(self) -> u8 {
        self.0 & 7
    }

    const fn high(self) -> u8 {
        self.0 >> 3
    }
}

/// Where an operand lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// At a register's value and a displacement.
    At(Register, i32),
    /// At an address of the image.
    Image(Value),
}

/// Operations of `rax` with `rcx`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Add,
    Subtract,
    And,
    Or,
    ExclusiveOr,
    Compare,
}

/// Conditions, by their number in instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Condition(pub(crate) u8);

pub(crate) const LESS_UNSIGNED: Condition = Condition(2);
pub(crate) const AT_LEAST_UNSIGNED: Condition = Condition(3);
pub(crate) const EQUAL: Condition = Condition(4);
pub(crate) const NOT_EQUAL: Condition = Condition(5);
pub(crate) const AT_MOST_UNSIGNED: Condition = Condition(6);
pub(crate) const LESS: Condition = Condition(0xc);
pub(crate) const AT_LEAST: Condition = Condition(0xd);
pub(crate) const AT_MOST: Condition = Condition(0xe);
pub(crate) const GREATER: Condition = Condition(0xf);

/// A place that jumps go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(usize);

/// Code being written.
#[derive(Default)]
pub(crate) struct Assembler {
    pub(crate) bytes: Vec<u8>,
    /// Offset, bytes to the end of the instruction, and what is meant.
    pub(crate) fields: Vec<(u32, u8, Value)>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    pub(crate) fn position(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn field(&mut self, tail: u8, value: Value) {
        self.fields.push((self.position(), tail, value));
        self.raw(&[0; 4]);
    }

    /// Prefix, opcode and operands of an instruction with a register and a place in memory; `tail` bytes follow.
    fn with_memory(&mut self, wide: bool, opcode: &[u8], register: Register, memory: Memory, tail: u8) {
        let rex = 0x40 | u8::from(wide) << 3 | register.high() << 2;
        let field = register.low() << 3;
        match memory {
            Memory::At(base, displacement) => {
                self.raw(&[rex | base.high()]);
                self.raw(opcode);
                self.raw(&[0x80 | field | base.low()]);
                if base.low() == RSP.low() {
                    self.raw(&[0x24]);
                }
                self.raw(&displacement.to_le_bytes());
            }
            Memory::Image(value) => {
                self.raw(&[rex]);
                self.raw(opcode);
                self.raw(&[field | 5]);
                self.field(4 + tail, value);
            }
        }
    }

    pub(crate) fn load(&mut self, to: Register, from: Memory) {
        self.with_memory(true, &[0x8b], to, from, 0);
    }

    /// Loads a value of so many bytes, extended by its sign or by zeros.
    pub(crate) fn load_sized(&mut self, to: Register, from: Memory, size: u8, is_signed: bool) {
        match (size, is_signed) {
            (1, true) => self.with_memory(true, &[0x0f, 0xbe], to, from, 0),
            (1, false) => self.with_memory(true, &[0x0f, 0xb6], to, from, 0),
            (2, true) => self.with_memory(true, &[0x0f, 0xbf], to, from, 0),
            (2, false) => self.with_memory(true, &[0x0f, 0xb7], to, from, 0),
            (4, true) => self.with_memory(true, &[0x63], to, from, 0),
            (4, false) => self.with_memory(false, &[0x8b], to, from, 0),
            _ => self.load(to, from),
        }
    }

    /// Stores the lowest bytes of a register.
    pub(crate) fn store_sized(&mut self, to: Memory, from: Register, size: u8) {
        match size {
            1 => self.with_memory(false, &[0x88], from, to, 0),
            2 => {
                self.raw(&[0x66]);
                self.with_memory(false, &[0x89], from, to, 0);
            }
            4 => self.with_memory(false, &[0x89], from, to, 0),
            _ => self.with_memory(true, &[0x89], from, to, 0),
        }
    }

    pub(crate) fn store(&mut self, to: Memory, from: Register) {
        self.store_sized(to, from, 8);
    }

    /// Stores one byte.
    pub(crate) fn store_byte(&mut self, to: Memory, value: u8) {
        self.with_memory(false, &[0xc6], RAX, to, 1);
        self.raw(&[value]);
    }

    /// Compares one byte.
    pub(crate) fn compare_byte(&mut self, with: Memory, value: u8) {
        self.with_memory(false, &[0x80], RDI, with, 1);
        self.raw(&[value]);
    }

    pub(crate) fn address(&mut self, to: Register, of: Memory) {
        self.with_memory(true, &[0x8d], to, of, 0);
    }

    /// `xsave64` 4, `xrstor64` 5, `fxsave64` 0, `fxrstor64` 1.
    pub(crate) fn state(&mut self, opcode: u8, memory: Memory) {
        self.with_memory(true, &[0x0f, 0xae], Register(opcode), memory, 0);
    }

    /// `stmxcsr` 3, `ldmxcsr` 2.
    pub(crate) fn status(&mut self, opcode: u8, memory: Memory) {
        self.with_memory(false, &[0x0f, 0xae], Register(opcode), memory, 0);
    }

    /// `fnstenv` 6, `fldenv` 4.
    pub(crate) fn environment(&mut self, opcode: u8, memory: Memory) {
        self.with_memory(false, &[0xd9], Register(opcode), memory, 0);
    }

    /// Exclusive or of 32 bits with what lies in memory.
    pub(crate) fn exclude(&mut self, to: Register, with: Memory) {
        self.with_memory(false, &[0x33], to, with, 0);
    }

    /// Adds the address of the thread's control block, which its first word holds.
    pub(crate) fn add_thread_pointer(&mut self, to: Register) {
        self.raw(&[0x64, 0x48 | to.high() << 2, 0x03, to.low() << 3 | 4, 0x25, 0, 0, 0, 0]);
    }

    pub(crate) fn copy(&mut self, to: Register, from: Register) {
        self.two(&[0x89], from, to);
    }

    /// Prefix, opcode and operands of an instruction with two registers of 64 bits.
    fn two(&mut self, opcode: &[u8], register: Register, other: Register) {
        self.raw(&[0x48 | register.high() << 2 | other.high()]);
        self.raw(opcode);
        self.raw(&[0xc0 | register.low() << 3 | other.low()]);
    }

    /// Sets a register to a number, without touching flags.
    pub(crate) fn set(&mut self, to: Register, value: i64) {
        if let Ok(value) = u32::try_from(value) {
            if to.high() != 0 {
                self.raw(&[0x41]);
            }
            self.raw(&[0xb8 | to.low()]);
            self.raw(&value.to_le_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.raw(&[0x48 | to.high(), 0xc7, 0xc0 | to.low()]);
            self.raw(&value.to_le_bytes());
        } else {
            self.raw(&[0x48 | to.high(), 0xb8 | to.low()]);
            self.raw(&value.to_le_bytes());
        }
    }

    /// Zero, by the shortest instruction.
    pub(crate) fn clear(&mut self, register: Register) {
        if register.high() != 0 {
            self.raw(&[0x45]);
        }
        self.raw(&[0x31, 0xc0 | register.low() << 3 | register.low()]);
    }

    /// An operation on two registers; the result goes to the first one.
    pub(crate) fn operate(&mut self, operation: Operation, to: Register, with: Register) {
        let opcode = match operation {
            Operation::Add => 0x01,
            Operation::Or => 0x09,
            Operation::And => 0x21,
            Operation::Subtract => 0x29,
            Operation::ExclusiveOr => 0x31,
            Operation::Compare => 0x39,
        };
        self.two(&[opcode], with, to);
    }

    /// Adds what lies in memory.
    pub(crate) fn add(&mut self, to: Register, from: Memory) {
        self.with_memory(true, &[0x03], to, from, 0);
    }

    pub(crate) fn test(&mut self, register: Register) {
        self.two(&[0x85], register, register);
    }

    /// `imul`: `to` times `with`.
    pub(crate) fn multiply(&mut self, to: Register, with: Register) {
        self.two(&[0x0f, 0xaf], to, with);
    }

    pub(crate) fn negate(&mut self, register: Register) {
        self.two(&[0xf7], Register(3), register);
    }

    pub(crate) fn invert(&mut self, register: Register) {
        self.two(&[0xf7], Register(2), register);
    }

    /// `rdx:rax` by `rcx`, after the sign was extended: quotient to `rax`, remainder to `rdx`.
    pub(crate) fn divide_by_rcx(&mut self) {
        self.raw(&[0x48, 0x99]);
        self.two(&[0xf7], Register(7), RCX);
    }

    /// `rax` by `cl` places.
    pub(crate) fn shift_rax(&mut self, is_left: bool) {
        self.two(&[0xd3], Register(if is_left { 4 } else { 7 }), RAX);
    }

    /// Keeps so many bytes of a register, extended by their sign or by zeros.
    pub(crate) fn narrow(&mut self, register: Register, size: u8, is_signed: bool) {
        match (size, is_signed) {
            (1, true) => self.two(&[0x0f, 0xbe], register, register),
            (1, false) => self.two(&[0x0f, 0xb6], register, register),
            (2, true) => self.two(&[0x0f, 0xbf], register, register),
            (2, false) => self.two(&[0x0f, 0xb7], register, register),
            (4, true) => self.two(&[0x63], register, register),
            (4, false) => self.raw(&[0x40 | register.high() << 2 | register.high(), 0x89, 0xc0 | register.low() << 3 | register.low()]),
            _ => {}
        }
    }

    /// `rax` = 1 where the condition holds, 0 elsewhere.
    pub(crate) fn set_rax_if(&mut self, condition: Condition) {
        self.raw(&[0x0f, 0x90 | condition.0, 0xc0, 0x0f, 0xb6, 0xc0]);
    }

    /// Adds a number that fits in 32 bits.
    pub(crate) fn add_number(&mut self, to: Register, value: i32) {
        self.raw(&[0x48 | to.high(), 0x81, 0xc0 | to.low()]);
        self.raw(&value.to_le_bytes());
    }

    /// Keeps the bits of `rsp` that a negative power of two has.
    pub(crate) fn align_stack(&mut self, to: i8) {
        self.raw(&[0x48, 0x83, 0xe4, to.cast_unsigned()]);
    }

    pub(crate) fn push(&mut self, register: Register) {
        if register.high() != 0 {
            self.raw(&[0x41]);
        }
        self.raw(&[0x50 | register.low()]);
    }

    pub(crate) fn pop(&mut self, register: Register) {
        if register.high() != 0 {
            self.raw(&[0x41]);
        }
        self.raw(&[0x58 | register.low()]);
    }

    pub(crate) fn call(&mut self, target: Value) {
        self.raw(&[0xe8]);
        self.field(4, target);
    }

    pub(crate) fn jump_to(&mut self, target: Value) {
        self.raw(&[0xe9]);
        self.field(4, target);
    }

    /// Sets a register to a number of 32 bits that is filled in.
    pub(crate) fn set_field(&mut self, to: Register, value: Value) {
        if to.high() != 0 {
            self.raw(&[0x41]);
        }
        self.raw(&[0xb8 | to.low()]);
        self.field(4, value);
    }

    /// Calls what a slot leads to.
    pub(crate) fn call_through(&mut self, slot: Value) {
        self.raw(&[0xff, 0x15]);
        self.field(4, slot);
    }

    /// Jumps to what a slot leads to.
    pub(crate) fn jump_through(&mut self, slot: Value) {
        self.raw(&[0xff, 0x25]);
        self.field(4, slot);
    }

    /// Calls what a word in memory leads to.
    pub(crate) fn call_at(&mut self, word: Memory) {
        self.with_memory(false, &[0xff], RDX, word, 0);
    }

    /// Calls the kernel, which leaves `rcx` and `r11` changed.
    pub(crate) fn call_kernel(&mut self, number: i64) {
        self.set(RAX, number);
        self.raw(&[0x0f, 0x05]);
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label is here.
    pub(crate) fn bind(&mut self, label: Label) {
        let here = self.bytes.len();
        if let Some(place) = self.labels.get_mut(label.0) {
            *place = Some(here);
        }
    }

    pub(crate) fn jump(&mut self, label: Label) {
        self.raw(&[0xe9]);
        self.distance(label);
    }

    pub(crate) fn jump_if(&mut self, condition: Condition, label: Label) {
        self.raw(&[0x0f, 0x80 | condition.0]);
        self.distance(label);
    }

    fn distance(&mut self, label: Label) {
        self.jumps.push((self.bytes.len(), label));
        self.raw(&[0; 4]);
    }

    /// Writes a number of 32 bits over what stands at a position.
    pub(crate) fn patch(&mut self, at: u32, value: i32) {
        let at = at as usize;
        if let Some(place) = self.bytes.get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Fills in the distances of all jumps.
    pub(crate) fn finish(&mut self) {
        for (at, label) in std::mem::take(&mut self.jumps) {
            let target = self.labels.get(label.0).copied().flatten().unwrap_or(at);
            let distance = target as i64 - (at as i64 + 4);
            self.patch(u32::try_from(at).unwrap_or(u32::MAX), i32::try_from(distance).unwrap_or(0));
        }
        self.labels.clear();
    }
}
