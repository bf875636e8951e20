//! Snippets that chance writes, and what they mean: run statement by statement on the tree that the parser made.
//!
//! Nothing is shared with the checker or the compiler.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::ast::{Action, Binary, Call, Expression, Integer, Kind, Statement, Unary};

/// A generator of numbers that are the same in every run.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 20) % limit
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Variables of the adapter and of the region, with their types in C.
pub(super) const VARIABLES: [(&str, Integer); 8] = [
    ("g1", Integer { size: 1, is_signed: true }),
    ("g2", Integer { size: 2, is_signed: false }),
    ("g4", Integer { size: 4, is_signed: true }),
    ("g8", Integer { size: 8, is_signed: true }),
    ("r1", Integer { size: 1, is_signed: false }),
    ("r2", Integer { size: 2, is_signed: true }),
    ("r4", Integer { size: 4, is_signed: false }),
    ("r8", Integer { size: 8, is_signed: true }),
];

/// Functions and how many integers they take.
pub(super) const FUNCTIONS: [(&str, usize); 5] = [("f0", 0), ("f1", 1), ("f3", 3), ("f6", 6), ("f9", 9)];

const OPERATORS: [&str; 18] = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&&", "||"];
const NUMBERS: [&str; 12] =
    ["0", "1", "2", "7", "63", "64", "255", "0x7fffffff", "0x80000000", "0xffffffff", "0x7fffffffffffffff", "0x8000000000000000"];

/// Writes a snippet.
pub(super) fn write(numbers: &mut Numbers, has_calls: bool) -> String {
    let mut author = Author { numbers, text: String::new(), locals: Vec::new(), has_calls };
    for _ in 0..4 {
        author.statement(0);
    }
    author.text
}

struct Author<'a> {
    numbers: &'a mut Numbers,
    text: String,
    locals: Vec<String>,
    has_calls: bool,
}

impl Author<'_> {
    fn statement(&mut self, depth: usize) {
        match self.numbers.below(if depth > 2 { 5 } else { 8 }) {
            0 => {
                let kind = self.numbers.pick(&["char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long", "int64_t"]);
                let value = self.expression(0);
                let name = format!("v{}", self.locals.len());
                let _ = writeln!(self.text, "{kind} {name} = {value};");
                self.locals.push(name);
            }
            1 if self.has_calls => {
                let call = self.call(0);
                let _ = writeln!(self.text, "{call};");
            }
            1..=4 => {
                let value = self.expression(0);
                let name = self.variable();
                let _ = writeln!(self.text, "{name} = {value};");
            }
            _ => self.condition(depth),
        }
    }

    fn condition(&mut self, depth: usize) {
        let condition = self.expression(1);
        let _ = writeln!(self.text, "if ({condition}) {{");
        let outer = self.locals.len();
        self.statement(depth + 1);
        self.statement(depth + 1);
        self.locals.truncate(outer);
        if self.numbers.below(2) == 0 {
            self.text.push_str("} else {\n");
            self.statement(depth + 1);
            self.locals.truncate(outer);
        }
        self.text.push_str("}\n");
    }

    fn variable(&mut self) -> String {
        let count = VARIABLES.len() + self.locals.len();
        let index = self.numbers.below(count as u64) as usize;
        VARIABLES.get(index).map_or_else(|| self.locals[index - VARIABLES.len()].clone(), |one| one.0.to_owned())
    }

    fn expression(&mut self, depth: usize) -> String {
        let choice = if depth > 4 { self.numbers.below(4) } else { self.numbers.below(12) };
        match choice {
            0 | 1 => self.numbers.pick(&NUMBERS).to_owned(),
            2 | 3 => self.variable(),
            4 => {
                let operator = self.numbers.pick(&["-", "!", "~", "(char)", "(unsigned short)", "(int)", "(unsigned)", "(long)"]);
                format!("{operator}({})", self.expression(depth + 1))
            }
            5 if self.has_calls => self.call(depth + 1),
            6 if depth == 0 => self.chain(),
            _ => {
                let operator = self.numbers.pick(&OPERATORS);
                let (left, right) = (self.expression(depth + 1), self.expression(depth + 1));
                format!("({left} {operator} {right})")
            }
        }
    }

    /// More operators in a row than nesting may be deep.
    fn chain(&mut self) -> String {
        let mut chain = self.variable();
        for _ in 0..70 {
            chain = format!("{chain} {} {}", self.numbers.pick(&OPERATORS), self.variable());
        }
        chain
    }

    fn call(&mut self, depth: usize) -> String {
        let (name, count) = FUNCTIONS[self.numbers.below(FUNCTIONS.len() as u64) as usize];
        let arguments: Vec<String> = (0..count).map(|_| self.expression(depth.max(2) + 1)).collect();
        format!("{name}({})", arguments.join(", "))
    }
}

/// What a function answers, and what the tests' functions answer as well.
pub(super) fn answer(arguments: &[i64]) -> i64 {
    arguments.iter().fold(0x5bd1_e995, |sum: i64, one| sum.rotate_left(7).wrapping_mul(31).wrapping_add(*one))
}

/// Runs snippets.
#[derive(Default)]
pub(super) struct Machine {
    /// Values of [`VARIABLES`], by name.
    pub(super) variables: BTreeMap<String, (Integer, i64)>,
    scopes: Vec<BTreeMap<String, (Integer, i64)>>,
    /// Functions that were called, and with what.
    pub(super) calls: Vec<(usize, Vec<i64>)>,
}

impl Machine {
    pub(super) fn run(&mut self, statements: &[Statement]) {
        self.scopes.push(BTreeMap::new());
        for statement in statements {
            match &statement.action {
                Action::Declare(integer, name, value) => {
                    let value = value.as_ref().map_or(0, |value| self.value(value));
                    self.scopes.last_mut().expect("a scope").insert(name.clone(), (*integer, integer.narrow(value)));
                }
                Action::Assign(name, value) => {
                    let value = self.value(value);
                    let place = self.place(name);
                    place.1 = place.0.narrow(value);
                }
                Action::Call(call) => drop(self.call(call)),
                Action::If(condition, then, otherwise) => {
                    let is_true = self.value(condition) != 0;
                    self.run(if is_true { then } else { otherwise });
                }
                Action::Block(inner) => self.run(inner),
            }
        }
        self.scopes.pop();
    }

    fn place(&mut self, name: &str) -> &mut (Integer, i64) {
        let scope = self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name));
        scope.or_else(|| self.variables.get_mut(name)).expect("a known name")
    }

    fn call(&mut self, call: &Call) -> i64 {
        let arguments: Vec<i64> = call.arguments.iter().map(|one| self.value(one)).collect();
        let index = FUNCTIONS.iter().position(|one| one.0 == call.function).expect("a known function");
        let answer = answer(&arguments);
        self.calls.push((index, arguments));
        answer
    }

    fn value(&mut self, expression: &Expression) -> i64 {
        match &expression.kind {
            Kind::Number(number) => *number,
            Kind::Name(name) => self.place(name).1,
            Kind::Call(call) => self.call(call),
            Kind::Unary(operator, operand) => {
                let value = self.value(operand);
                match operator {
                    Unary::Minus => value.wrapping_neg(),
                    Unary::Not => i64::from(value == 0),
                    Unary::Invert => !value,
                    Unary::Cast(integer) => integer.narrow(value),
                }
            }
            Kind::Chain(first, links) => {
                let first = self.value(first);
                links.iter().fold(first, |left, link| match link.operator {
                    Binary::Both => i64::from(left != 0 && self.value(&link.operand) != 0),
                    Binary::Either => i64::from(left != 0 || self.value(&link.operand) != 0),
                    operator => binary(operator, left, self.value(&link.operand)),
                })
            }
            other => panic!("chance writes no {other:?}"),
        }
    }
}

fn binary(operator: Binary, left: i64, right: i64) -> i64 {
    match operator {
        Binary::Add => left.wrapping_add(right),
        Binary::Subtract => left.wrapping_sub(right),
        Binary::Multiply => left.wrapping_mul(right),
        Binary::Divide if right == 0 => 0,
        Binary::Divide => left.wrapping_div(right),
        Binary::Remainder if right == 0 => 0,
        Binary::Remainder => left.wrapping_rem(right),
        Binary::Left => left.wrapping_shl((right & 63) as u32),
        Binary::Right => left.wrapping_shr((right & 63) as u32),
        Binary::Less => i64::from(left < right),
        Binary::LessEqual => i64::from(left <= right),
        Binary::Greater => i64::from(left > right),
        Binary::GreaterEqual => i64::from(left >= right),
        Binary::Equal => i64::from(left == right),
        Binary::NotEqual => i64::from(left != right),
        Binary::And => left & right,
        Binary::ExclusiveOr => left ^ right,
        Binary::Or => left | right,
        Binary::Both | Binary::Either | Binary::Join => 0,
    }
}
