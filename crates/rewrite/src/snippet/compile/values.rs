//! Values into registers: steps, conditions, operators and arguments, on the frame that the routine has.
//!
//! A value is left in `rax`; `rcx`, and for a quotient `rdx`, are changed. What has to wait has a place in the frame.

use super::super::assembler::{
    AT_LEAST, AT_MOST, Condition, EQUAL, GREATER, LESS, Label, Memory, NOT_EQUAL, Operation, RAX, RBP, RCX, RDX, RSP, Register,
};
use super::super::ast::{Binary, Context, Integer, Unary};
use super::super::check::{Argument, Invocation, Step, Storage, Template, Value};
use super::{ARGUMENTS, RECORD, Writer};
use crate::insertion;

impl Writer<'_> {
    pub(super) fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Store(storage, integer, value) => {
                    self.value(value);
                    let memory = self.memory(*storage, RCX);
                    self.code.store_sized(memory, RAX, integer.size);
                }
                Step::Call(call) => self.call(call),
                Step::If(condition, then, otherwise) => self.condition(condition, then, otherwise),
            }
        }
    }

    fn condition(&mut self, condition: &Value, then: &[Step], otherwise: &[Step]) {
        let (or_else, end) = (self.code.label(), self.code.label());
        self.value(condition);
        self.code.test(RAX);
        self.code.jump_if(EQUAL, or_else);
        self.steps(then);
        if !otherwise.is_empty() {
            self.code.jump(end);
        }
        self.code.bind(or_else);
        self.steps(otherwise);
        self.code.bind(end);
    }

    /// Where a variable is; a region's needs a register for the record's address.
    fn memory(&mut self, storage: Storage, scratch: Register) -> Memory {
        match storage {
            Storage::Local(number) => self.local(number),
            Storage::Region(number) => {
                let home = self.environment.record.variables.get(number).copied().unwrap_or_default();
                self.code.load(scratch, self.slot(RECORD));
                if !home.is_thread_local {
                    return Memory::At(scratch, home.at.cast_signed());
                }
                self.code.load_sized(scratch, Memory::At(scratch, home.at.cast_signed()), 4, false);
                self.code.add(scratch, self.thread_distance());
                self.code.add_thread_pointer(scratch);
                Memory::At(scratch, 0)
            }
            Storage::Global(number) => {
                let home = self.environment.globals.get(number).copied().unwrap_or_default();
                if !home.is_thread_local {
                    return Memory::Image(insertion::Value::SharedVariable(home.at));
                }
                self.code.load(scratch, self.thread_distance());
                self.code.add_thread_pointer(scratch);
                Memory::At(scratch, home.at.cast_signed())
            }
        }
    }

    const fn thread_distance(&self) -> Memory {
        Memory::Image(insertion::Value::SharedVariable(self.environment.thread_distance))
    }

    /// Leaves a value in `rax`; `rcx`, and for a quotient `rdx`, are changed.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Number(_) | Value::Context(_) | Value::Load(..) | Value::AddressOf(_) => self.simple(value, RAX),
            Value::Call(call) => self.call(call),
            Value::Unary(operator, operand) => {
                self.value(operand);
                self.unary(*operator);
            }
            Value::Chain(first, links) => {
                self.value(first);
                for (operator, operand) in links {
                    self.link(*operator, operand);
                }
            }
        }
    }

    /// `rax` with a value, to `rax`.
    fn link(&mut self, operator: Binary, right: &Value) {
        if matches!(operator, Binary::Both | Binary::Either) {
            return self.short_circuit(operator, right);
        }
        if is_simple(right) {
            self.simple(right, RCX);
        } else {
            let place = self.take();
            self.code.store(place, RAX);
            self.value(right);
            self.code.copy(RCX, RAX);
            self.code.load(RAX, place);
            self.drop_taken(1);
        }
        self.binary(operator);
    }

    /// Leaves a value that needs no computation in a register, and changes no other one.
    fn simple(&mut self, value: &Value, to: Register) {
        match value {
            Value::Number(number) => self.code.set(to, *number),
            Value::Load(storage, Integer { size, is_signed }) => {
                let memory = self.memory(*storage, to);
                self.code.load_sized(to, memory, *size, *is_signed);
            }
            Value::AddressOf(storage) => {
                let memory = self.memory(*storage, to);
                self.code.address(to, memory);
            }
            Value::Context(Context::Caller) => self.code.load(to, Memory::At(RBP, 16)),
            Value::Context(Context::Stack) => self.code.address(to, Memory::At(RBP, 16)),
            Value::Context(context) => self.context(*context, to),
            _ => {}
        }
    }

    fn context(&mut self, context: Context, to: Register) {
        let at = self.environment.record.number(context).unwrap_or(0).cast_signed();
        self.code.load(to, self.slot(RECORD));
        if context != Context::Address {
            self.code.load_sized(to, Memory::At(to, at), 4, true);
            return;
        }
        // The distance counts from the field's end. No second register is free here: a place takes the sum.
        let place = self.take();
        self.code.store(place, to);
        self.code.load_sized(to, Memory::At(to, at), 4, true);
        self.code.add(to, place);
        self.code.add_number(to, at + 4);
        self.drop_taken(1);
    }

    fn unary(&mut self, operator: Unary) {
        match operator {
            Unary::Minus => self.code.negate(RAX),
            Unary::Invert => self.code.invert(RAX),
            Unary::Not => {
                self.code.test(RAX);
                self.code.set_rax_if(EQUAL);
            }
            Unary::Cast(Integer { size, is_signed }) => self.code.narrow(RAX, size, is_signed),
        }
    }

    /// `rax` with `rcx`, to `rax`.
    fn binary(&mut self, operator: Binary) {
        match operator {
            Binary::Add => self.code.operate(Operation::Add, RAX, RCX),
            Binary::Subtract => self.code.operate(Operation::Subtract, RAX, RCX),
            Binary::And => self.code.operate(Operation::And, RAX, RCX),
            Binary::Or => self.code.operate(Operation::Or, RAX, RCX),
            Binary::ExclusiveOr => self.code.operate(Operation::ExclusiveOr, RAX, RCX),
            Binary::Multiply => self.code.multiply(RAX, RCX),
            Binary::Left => self.code.shift_rax(true),
            Binary::Right => self.code.shift_rax(false),
            Binary::Divide => self.divide(false),
            Binary::Remainder => self.divide(true),
            Binary::Less => self.compare(LESS),
            Binary::LessEqual => self.compare(AT_MOST),
            Binary::Greater => self.compare(GREATER),
            Binary::GreaterEqual => self.compare(AT_LEAST),
            Binary::Equal => self.compare(EQUAL),
            Binary::NotEqual => self.compare(NOT_EQUAL),
            Binary::Both | Binary::Either | Binary::Join => {}
        }
    }

    fn compare(&mut self, condition: Condition) {
        self.code.operate(Operation::Compare, RAX, RCX);
        self.code.set_rax_if(condition);
    }

    /// By zero: zero. By −1, where the processor would trap at one value: the negative.
    fn divide(&mut self, is_remainder: bool) {
        let (zero, plain, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.test(RCX);
        self.code.jump_if(EQUAL, zero);
        self.code.set(RDX, -1);
        self.code.operate(Operation::Compare, RCX, RDX);
        self.code.jump_if(NOT_EQUAL, plain);
        if !is_remainder {
            self.code.negate(RAX);
            self.code.jump(end);
        }
        self.code.bind(zero);
        self.code.clear(RAX);
        self.code.jump(end);
        self.code.bind(plain);
        self.code.divide_by_rcx();
        if is_remainder {
            self.code.copy(RAX, RDX);
        }
        self.code.bind(end);
    }

    fn short_circuit(&mut self, operator: Binary, right: &Value) {
        let (decided, end) = (self.code.label(), self.code.label());
        let condition = if operator == Binary::Both { EQUAL } else { NOT_EQUAL };
        self.code.test(RAX);
        self.code.jump_if(condition, decided);
        self.value(right);
        self.code.test(RAX);
        self.code.jump_if(condition, decided);
        self.decide(operator == Binary::Both, decided, end);
    }

    fn decide(&mut self, otherwise: bool, decided: Label, end: Label) {
        self.code.set(RAX, i64::from(otherwise));
        self.code.jump(end);
        self.code.bind(decided);
        self.code.set(RAX, i64::from(!otherwise));
        self.code.bind(end);
    }

    /// Calls a function; its result is in `rax`.
    fn call(&mut self, call: &Invocation) {
        let are_simple = call.arguments.iter().all(|argument| match argument {
            Argument::Integer(value) => is_simple(value),
            Argument::Text(_) => true,
        });
        let stacked = call.arguments.len().saturating_sub(ARGUMENTS.len());
        self.stacked = self.stacked.max(stacked.next_multiple_of(2));
        if are_simple {
            for (argument, index) in call.arguments.iter().zip(0..).skip(ARGUMENTS.len()) {
                self.argument(argument, RAX);
                self.code.store(Memory::At(RSP, 8 * (index - ARGUMENTS.len() as i32)), RAX);
            }
            for (argument, register) in call.arguments.iter().zip(ARGUMENTS) {
                self.argument(argument, register);
            }
        } else {
            self.computed_arguments(&call.arguments);
        }
        match self.environment.functions.get(&call.function) {
            Some(callee) => self.call_plain(callee),
            // The linker has refused names that mean nothing.
            None => self.code.raw(&[0x0f, 0x0b]),
        }
    }

    /// All arguments are computed before any of them is where the call wants it.
    fn computed_arguments(&mut self, arguments: &[Argument]) {
        let mut places = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                Argument::Integer(value) => self.value(value),
                Argument::Text(_) => self.argument(argument, RAX),
            }
            let place = self.take();
            self.code.store(place, RAX);
            places.push(place);
        }
        for (&place, index) in places.iter().zip(0..).skip(ARGUMENTS.len()) {
            self.code.load(RAX, place);
            self.code.store(Memory::At(RSP, 8 * (index - ARGUMENTS.len() as i32)), RAX);
        }
        for (&place, register) in places.iter().zip(ARGUMENTS) {
            self.code.load(register, place);
        }
        self.drop_taken(places.len());
    }

    fn argument(&mut self, argument: &Argument, to: Register) {
        match argument {
            Argument::Integer(value) => self.simple(value, to),
            Argument::Text(template) => self.text(template, to),
        }
    }

    fn text(&mut self, template: &Template, to: Register) {
        if let Some(text) = template.constant() {
            let at = self.environment.texts.get(text).copied().unwrap_or(0);
            self.code.address(to, Memory::Image(insertion::Value::SharedConstant(at)));
            return;
        }
        let at = self.environment.record.text(template).unwrap_or(0).cast_signed();
        self.code.load(to, self.slot(RECORD));
        let place = self.take();
        self.code.store(place, to);
        self.code.load_sized(to, Memory::At(to, at), 4, false);
        self.code.add(to, place);
        self.drop_taken(1);
    }
}

/// Whether a value comes into a register without a computation that needs another one.
const fn is_simple(value: &Value) -> bool {
    matches!(value, Value::Number(_) | Value::Context(_) | Value::Load(..) | Value::AddressOf(_))
}
