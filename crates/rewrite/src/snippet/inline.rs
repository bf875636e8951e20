//! Calls that stand at a site itself, because nothing about them has to be found out when they are made.
//!
//! ```text
//! push %rdi; push %rsi                  what the arguments and the functions change
//! lea <function>, %rdi                  arguments: all are known when the program is instrumented, but where
//! mov <16>(%rsp), %rsi                  the function returns to
//! call <crossing>                       jmp *<way to the hook>(%rip)
//! pop %rsi; pop %rdi
//! ```
//!
//! A way leads to the hook itself once the proof is known to hold, and to [`super::compile::detour`] until then, which keeps
//! everything; so a site saves what the proofs say and what it changes itself, but for registers that hold nothing that is needed there
//! ([`tare_code::Liveness`]). Functions that a proof was made for call nothing, read no vector register and need no
//! aligned stack; they are not told of arguments in vector registers either. Flags are dead at these sites.

use std::collections::BTreeMap;

use super::assembler::{Assembler, Memory, RSP, Register};
use super::ast::Context;
use super::check::{Argument, Checked, Step, Template, Value};
use super::compile::{ARGUMENTS, Callee, Registers};
use crate::insertion::{self, Field, Insertion};

/// More calls than these are made by a routine: a site is written for every region.
const MOST_CALLS: usize = 3;

/// A snippet that consists of calls with known arguments.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    changed: Registers,
    calls: Vec<Call>,
}

#[derive(Clone, Debug)]
struct Call {
    crossing: u32,
    arguments: Vec<Argument>,
}

/// What a site knows of its region.
pub(crate) trait Known {
    /// A context variable, but for the caller, the stack, the number and the address of the region.
    fn number(&self, context: Context) -> i64;
    /// Link address of the region.
    fn address(&self) -> u64;
    /// Where a text is.
    fn text(&self, template: &Template) -> insertion::Value;
}

impl Calls {
    /// `None` where the snippet needs a routine.
    pub(crate) fn new(checked: &Checked, functions: &BTreeMap<String, Callee>) -> Option<Self> {
        let mut inline = Self { changed: Registers::default(), calls: Vec::new() };
        for step in &checked.steps {
            let Step::Call(call) = step else { return None };
            let Some(Callee::Imported { proof: Some(proof), .. }) = functions.get(&call.function) else { return None };
            if call.arguments.len() > ARGUMENTS.len() || !call.arguments.iter().all(is_known) {
                return None;
            }
            let of_arguments = call.arguments.iter().zip(ARGUMENTS).fold(Registers::default(), |all, (_, register)| all.with(register));
            inline.changed = inline.changed.union(of_arguments).union(proof.changed);
            inline.calls.push(Call { crossing: proof.crossing, arguments: call.arguments.clone() });
        }
        (1..=MOST_CALLS).contains(&inline.calls.len()).then_some(inline)
    }

    /// What it changes.
    pub(crate) const fn changed(&self) -> Registers {
        self.changed
    }

    /// The code for a region, where some registers hold what the program may still need.
    pub(crate) fn site(&self, known: &impl Known, needed: Registers) -> Insertion {
        let mut code = Assembler::default();
        let mut rows = Vec::new();
        let mut depth = 0;
        let saved = self.changed.intersection(needed);
        for register in saved.iter() {
            code.push(register);
            depth += 8;
            rows.push((code.position() as u16, depth));
        }
        for call in &self.calls {
            for (argument, to) in call.arguments.iter().zip(ARGUMENTS) {
                write(&mut code, (argument, to), depth, known);
            }
            code.call(insertion::Value::Routine(call.crossing));
        }
        for register in saved.iter().rev() {
            code.pop(register);
            depth -= 8;
            rows.push((code.position() as u16, depth));
        }
        let fields: Vec<Field> = code.fields.iter().map(|&(at, tail, value)| Field { at: at as u16, tail, value }).collect();
        Insertion { bytes: code.bytes.into(), fields: fields.into(), rows: rows.into() }
    }
}

const fn is_known(argument: &Argument) -> bool {
    matches!(argument, Argument::Text(_) | Argument::Integer(Value::Number(_) | Value::Context(_)))
}

/// Puts an argument where the call wants it; the site has pushed so many bytes.
fn write(code: &mut Assembler, (argument, to): (&Argument, Register), depth: u32, known: &impl Known) {
    match argument {
        Argument::Text(template) => code.address(to, Memory::Image(known.text(template))),
        Argument::Integer(Value::Number(number)) => code.set(to, *number),
        Argument::Integer(Value::Context(Context::Caller)) => code.load(to, Memory::At(RSP, depth.cast_signed())),
        Argument::Integer(Value::Context(Context::Stack)) => code.address(to, Memory::At(RSP, depth.cast_signed())),
        Argument::Integer(Value::Context(Context::Id)) => code.set_field(to, insertion::Value::Region),
        Argument::Integer(Value::Context(Context::Address)) => code.address(to, Memory::Image(insertion::Value::Original(known.address()))),
        Argument::Integer(Value::Context(context)) => code.set(to, known.number(*context)),
        // Refused by `is_known`.
        Argument::Integer(_) => {}
    }
}
