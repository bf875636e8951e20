//! What a snippet needs of its routine: the registers that it changes, the calls that it makes, what is proven of them.

use super::super::assembler::{RAX, RCX, RDX};
use super::super::ast::Binary;
use super::super::check::{Argument, Invocation, Step, Storage, Value};
use super::{ARGUMENTS, Callee, Environment, Registers};

/// What a snippet changes and calls.
pub(super) struct Needs {
    pub(super) changed: Registers,
    pub(super) calls: usize,
    /// Whether all of the called functions are known to touch little.
    pub(super) is_proven: bool,
    pub(super) flags: Vec<u32>,
    pub(super) has_thread_locals: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Self { changed: Registers::default().with(RAX).with(RCX), calls: 0, is_proven: true, flags: Vec::new(), has_thread_locals: false }
    }
}

impl Needs {
    pub(super) fn steps(&mut self, steps: &[Step], environment: &Environment<'_>) {
        for step in steps {
            match step {
                Step::Store(storage, _, value) => {
                    self.storage(*storage, environment);
                    self.value(value, environment);
                }
                Step::Call(call) => self.call(call, environment),
                Step::If(condition, then, otherwise) => {
                    self.value(condition, environment);
                    self.steps(then, environment);
                    self.steps(otherwise, environment);
                }
            }
        }
    }

    fn value(&mut self, value: &Value, environment: &Environment<'_>) {
        match value {
            Value::Call(call) => self.call(call, environment),
            Value::Load(storage, _) | Value::AddressOf(storage) => self.storage(*storage, environment),
            Value::Unary(_, operand) => self.value(operand, environment),
            Value::Chain(first, links) => {
                self.value(first, environment);
                for (operator, operand) in links {
                    if matches!(operator, Binary::Divide | Binary::Remainder) {
                        self.changed = self.changed.with(RDX);
                    }
                    self.value(operand, environment);
                }
            }
            _ => {}
        }
    }

    fn storage(&mut self, storage: Storage, environment: &Environment<'_>) {
        let home = match storage {
            Storage::Local(_) => None,
            Storage::Region(number) => environment.record.variables.get(number),
            Storage::Global(number) => environment.globals.get(number),
        };
        self.has_thread_locals |= home.is_some_and(|home| home.is_thread_local);
    }

    fn call(&mut self, call: &Invocation, environment: &Environment<'_>) {
        self.calls += 1;
        for (argument, register) in call.arguments.iter().zip(ARGUMENTS) {
            self.changed = self.changed.with(register);
            if let Argument::Integer(value) = argument {
                self.value(value, environment);
            }
        }
        for argument in call.arguments.iter().skip(ARGUMENTS.len()) {
            if let Argument::Integer(value) = argument {
                self.value(value, environment);
            }
        }
        match environment.functions.get(&call.function) {
            Some(Callee::Imported { proof: Some(proof), .. }) => {
                self.changed = self.changed.union(proof.changed);
                if !self.flags.contains(&proof.flag) {
                    self.flags.push(proof.flag);
                }
            }
            _ => self.is_proven = false,
        }
    }
}
