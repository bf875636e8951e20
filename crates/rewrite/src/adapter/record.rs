//! What a snippet finds of its region: one record for each region, in the output's writable data.
//!
//! ```text
//!  0  u32  bytes of the record << 8 | number of its alternative, from 1
//!  4       variables, each aligned to its size, of thread-local ones four bytes that say where; then, four bytes each:
//!          numbers as they are, addresses and texts by their distance from the field's end or the record's start
//!          texts, each ended by a zero byte
//! ```
//!
//! Records are aligned to eight bytes and stand one behind the other; a word of zeros between them is padding.

use crate::adapter::Alternative;
use crate::snippet::ast::Context;
use crate::snippet::check::{Argument, Checked, Invocation, Piece, Step, Template, Value};

/// Alignment of records, and of the largest variable.
pub(crate) const RECORD_ALIGNMENT: u32 = 8;
const HEADER: u32 = 4;

/// Where everything is in the records of an alternative.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct RecordLayout {
    /// Of each variable of the alternative.
    pub(crate) variables: Vec<Home>,
    pub(crate) numbers: Vec<(Context, u32)>,
    pub(crate) texts: Vec<(Template, u32)>,
    /// Where the texts begin.
    pub(crate) end: u32,
}

/// Where a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Home {
    /// In the record, or among the shared variables; of a thread-local one, where the record has its distance, or
    /// where it is among the thread's shared variables.
    pub(crate) at: u32,
    pub(crate) is_thread_local: bool,
}

/// Bytes that say where a thread-local variable is.
const DISTANCE: u32 = 4;

/// What a region fills into its record.
pub(crate) trait Facts {
    fn number(&self, context: Context) -> i64;
    fn text(&self, context: Context) -> &str;
}

impl RecordLayout {
    /// Lays out what the snippets of an alternative refer to.
    pub(crate) fn new<'a>(alternative: &Alternative, snippets: impl Iterator<Item = &'a Checked>) -> Self {
        let mut layout = Self { end: HEADER, ..Self::default() };
        for variable in &alternative.variables {
            let size = if variable.is_thread_local { DISTANCE } else { u32::from(variable.integer.size) };
            let at = layout.end.next_multiple_of(size);
            layout.variables.push(Home { at, is_thread_local: variable.is_thread_local });
            layout.end = at + size;
        }
        layout.end = layout.end.next_multiple_of(4);
        for snippet in snippets {
            layout.steps(&snippet.steps);
        }
        layout
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Store(_, _, value) => self.value(value),
                Step::Call(call) => self.call(call),
                Step::If(condition, then, otherwise) => {
                    self.value(condition);
                    self.steps(then);
                    self.steps(otherwise);
                }
            }
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Context(context) if !matches!(context, Context::Caller | Context::Stack) && self.number(*context).is_none() => {
                self.numbers.push((*context, self.end));
                self.end += 4;
            }
            Value::Call(call) => self.call(call),
            Value::Unary(_, operand) => self.value(operand),
            Value::Chain(first, links) => {
                self.value(first);
                links.iter().for_each(|link| self.value(&link.1));
            }
            _ => {}
        }
    }

    fn call(&mut self, call: &Invocation) {
        for argument in &call.arguments {
            match argument {
                Argument::Integer(value) => self.value(value),
                Argument::Text(template) if template.constant().is_none() && self.text(template).is_none() => {
                    self.texts.push((template.clone(), self.end));
                    self.end += 4;
                }
                Argument::Text(_) => {}
            }
        }
    }

    /// Where a number is.
    pub(crate) fn number(&self, context: Context) -> Option<u32> {
        self.numbers.iter().find(|one| one.0 == context).map(|one| one.1)
    }

    /// Where the distance of a text is.
    pub(crate) fn text(&self, template: &Template) -> Option<u32> {
        self.texts.iter().find(|one| one.0 == *template).map(|one| one.1)
    }

    /// The bytes of a region's record. Region numbers and addresses are left at zero.
    pub(crate) fn record(&self, number: u8, alternative: &Alternative, facts: &impl Facts) -> Vec<u8> {
        let mut bytes = vec![0; self.end as usize];
        let put = |bytes: &mut Vec<u8>, at: u32, value: &[u8]| {
            if let Some(place) = bytes.get_mut(at as usize..at as usize + value.len()) {
                place.copy_from_slice(value);
            }
        };
        let own = alternative.variables.iter().zip(&self.variables).filter(|(variable, _)| !variable.is_thread_local);
        for (variable, home) in own {
            put(&mut bytes, home.at, &variable.initial());
        }
        for &(context, at) in &self.numbers {
            put(&mut bytes, at, &(facts.number(context) as i32).to_le_bytes());
        }
        for (template, at) in &self.texts {
            let distance = bytes.len() as u32;
            put(&mut bytes, *at, &distance.to_le_bytes());
            bytes.extend(joined(template, facts).bytes().filter(|&byte| byte != 0));
            bytes.push(0);
        }
        bytes.resize(bytes.len().next_multiple_of(RECORD_ALIGNMENT as usize), 0);
        let header = (bytes.len() as u32) << 8 | u32::from(number);
        put(&mut bytes, 0, &header.to_le_bytes());
        bytes
    }
}

fn joined(template: &Template, facts: &impl Facts) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Literal(text) => text.clone(),
        Piece::Context(context) if context.is_text() => facts.text(*context).to_owned(),
        Piece::Context(context) => facts.number(*context).to_string(),
    };
    template.0.iter().map(piece).collect()
}

/// Appends a variable to others, aligned to its size; answers where it is.
pub(crate) fn append(variables: &mut Vec<u8>, value: &[u8]) -> u32 {
    variables.resize(variables.len().next_multiple_of(value.len().max(1)), 0);
    let at = variables.len() as u32;
    variables.extend_from_slice(value);
    at
}
