//! From a description to a program. `docs/simulate.md` has the language.
//!
//! `communication`, `setting` and `value` read what their names say; blocks, loops and branches are read here.

mod communication;
mod setting;
mod value;

use crate::expression::{Expression, Operator};
use crate::lexer::{Kind, Token, tokens};
use crate::program::{Instruction, Program, Step};
use crate::settings::{Probe, Settings};
use std::collections::HashMap;

/// What is wrong with a description, and in which line.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct Wrong {
    /// Counted from 1.
    pub line: u32,
    /// What is wrong.
    pub problem: Problem,
}

/// What may be wrong with a description.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Problem {
    /// A character that means nothing.
    #[error("`{0}` means nothing here")]
    Character(char),
    /// Not a number, or of no known unit.
    #[error("`{0}` is no number with a known unit (ps, ns, us, ms, s; B, kB, MB, GB, KiB, MiB, GiB; %)")]
    Number(String),
    /// Something else was expected.
    #[error("{expected} expected, not {found}")]
    Expected {
        /// What was expected.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// No statement begins so.
    #[error("no statement begins with `{0}`")]
    Statement(String),
    /// A name that was not introduced.
    #[error("no {kind} is called `{name}`")]
    Unknown {
        /// Of what kind it is to be.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A setting beyond what makes sense.
    #[error("{0} must be between {1} and {2}")]
    Range(&'static str, i64, i64),
    /// A block is not closed, or closed twice.
    #[error("braces do not match")]
    Braces,
    /// Blocks within blocks without end.
    #[error("this is nested too deeply")]
    Depth,
}

/// Requests without a name of the description's.
pub(crate) const ANONYMOUS: usize = 0;
const DEEPEST: usize = 200;

impl Program {
    /// Reads a description.
    ///
    /// # Errors
    /// Where it is wrong, the line and the reason.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let mut parser = Parser {
            tokens: tokens(text)?,
            at: 0,
            depth: 0,
            settings: Settings::default(),
            costs: HashMap::new(),
            steps: Vec::new(),
            variables: vec!["rank".into(), "size".into()],
            groups: Names::of("all"),
            colours: vec![Expression::Value(0)],
            regions: Names::default(),
            requests: Names::of(""),
            prepared: HashMap::new(),
        };
        parser.block(false)?;
        let default = parser.settings.probe;
        let regions = parser.regions.0.iter().map(|name| parser.costs.get(name).copied().unwrap_or(default)).collect();
        Ok(Self {
            settings: parser.settings,
            steps: parser.steps,
            regions,
            groups: parser.colours,
            requests: parser.requests.0.len(),
            variables: parser.variables.len(),
        })
    }
}

/// Names in the order of their introduction.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn of(first: &str) -> Self {
        Self(vec![first.to_string()])
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|known| known == name)
    }

    fn introduce(&mut self, name: String) -> usize {
        self.find(&name).unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        })
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    settings: Settings,
    costs: HashMap<String, Probe>,
    steps: Vec<Step>,
    variables: Vec<String>,
    groups: Names,
    colours: Vec<Expression>,
    regions: Names,
    requests: Names,
    prepared: HashMap<usize, Instruction>,
}

type Parsed<T> = Result<T, Wrong>;

impl Parser {
    fn line(&self) -> u32 {
        self.tokens.get(self.at.min(self.tokens.len().saturating_sub(1))).map_or(1, |token| token.line)
    }

    fn wrong<T>(&self, problem: Problem) -> Parsed<T> {
        Err(Wrong { line: self.line(), problem })
    }

    fn kind(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn expected<T>(&self, expected: &str) -> Parsed<T> {
        let found = match self.kind() {
            Some(Kind::Word(word)) => format!("`{word}`"),
            Some(Kind::Number(number)) => format!("`{number}`"),
            Some(Kind::Sign(sign)) => format!("`{sign}`"),
            Some(Kind::End) | None => "the end of the line".to_string(),
        };
        self.wrong(Problem::Expected { expected: expected.to_string(), found })
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.kind(), Some(Kind::Sign(found)) if *found == sign);
        self.at += usize::from(is_it);
        is_it
    }

    fn word(&mut self, word: &str) -> bool {
        let is_it = matches!(self.kind(), Some(Kind::Word(found)) if found == word);
        self.at += usize::from(is_it);
        is_it
    }

    fn need_sign(&mut self, sign: &'static str) -> Parsed<()> {
        if self.sign(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    fn need_word(&mut self, word: &'static str) -> Parsed<()> {
        if self.word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    fn name(&mut self, what: &str) -> Parsed<String> {
        let Some(Kind::Word(name)) = self.kind().cloned() else { return self.expected(what) };
        self.at += 1;
        Ok(name)
    }

    fn push(&mut self, line: u32, instruction: Instruction) {
        self.steps.push(Step { line, instruction });
    }

    /// Statements up to the closing brace (`inner`) or the end.
    fn block(&mut self, inner: bool) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong(Problem::Depth);
        }
        loop {
            match self.kind() {
                None if inner => return self.wrong(Problem::Braces),
                None => break,
                Some(Kind::End) => self.at += 1,
                Some(Kind::Sign("}")) if inner => {
                    self.at += 1;
                    break;
                }
                Some(Kind::Sign("}")) => return self.wrong(Problem::Braces),
                Some(_) => self.statement()?,
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn braces(&mut self) -> Parsed<()> {
        self.need_sign("{")?;
        self.block(true)
    }

    fn statement(&mut self) -> Parsed<()> {
        let line = self.line();
        let word = self.name("a statement")?;
        match word.as_str() {
            "ranks" | "seed" | "network" | "cost" | "probes" | "region" | "group" => self.setting(&word),
            "repeat" => self.repeat(line),
            "if" => self.branch(line),
            "in" => {
                let name = self.name("the name of a region")?;
                let region = self.regions.introduce(name);
                self.push(line, Instruction::Enter(region));
                self.braces()?;
                self.push(line, Instruction::Exit(region));
                Ok(())
            }
            "let" => {
                let name = self.name("the name of a variable")?;
                self.need_sign("=")?;
                let value = self.expression()?;
                let slot = self.variable(name);
                self.push(line, Instruction::Set(slot, value));
                Ok(())
            }
            "compute" => {
                let work = self.expression()?;
                self.push(line, Instruction::Compute(work));
                Ok(())
            }
            "call" => {
                let name = self.name("the name of a region")?;
                let region = self.regions.introduce(name);
                let times = if self.word("times") { self.expression()? } else { Expression::Value(1) };
                self.need_word("each")?;
                let work = self.expression()?;
                self.push(line, Instruction::Call { region, times, work });
                Ok(())
            }
            _ => self.communication(line, &word),
        }
    }

    fn variable(&mut self, name: String) -> usize {
        if let Some(known) = self.variables.iter().rposition(|variable| *variable == name).filter(|&slot| slot >= Program::FIRST_FREE) {
            return known;
        }
        self.variables.push(name);
        self.variables.len() - 1
    }

    fn repeat(&mut self, line: u32) -> Parsed<()> {
        let times = self.expression()?;
        let name = if self.word("as") { self.name("the name of a variable")? } else { String::new() };
        // The number of rounds is fixed when the loop begins.
        self.variables.extend([name, String::new()]);
        let (round, rounds) = (self.variables.len() - 2, self.variables.len() - 1);
        self.push(line, Instruction::Set(rounds, times));
        self.push(line, Instruction::Set(round, Expression::Value(0)));
        let begin = self.steps.len();
        let more = Expression::join(Operator::Less, Expression::Variable(round), Expression::Variable(rounds));
        self.push(line, Instruction::JumpUnless(more.clone(), 0));
        self.braces()?;
        let next = Expression::join(Operator::Plus, Expression::Variable(round), Expression::Value(1));
        self.push(line, Instruction::Set(round, next));
        self.push(line, Instruction::Jump(begin));
        self.steps[begin].instruction = Instruction::JumpUnless(more, self.steps.len());
        // The name ends with the loop.
        self.variables[round].clear();
        Ok(())
    }

    fn branch(&mut self, line: u32) -> Parsed<()> {
        let condition = self.expression()?;
        let test = self.steps.len();
        self.push(line, Instruction::Jump(0));
        self.braces()?;
        let mut otherwise = self.steps.len();
        if self.word("else") {
            let skip = self.steps.len();
            self.push(line, Instruction::Jump(0));
            otherwise = self.steps.len();
            if self.word("if") {
                self.branch(line)?
            } else {
                self.braces()?
            }
            self.steps[skip].instruction = Instruction::Jump(self.steps.len());
        }
        self.steps[test].instruction = Instruction::JumpUnless(condition, otherwise);
        Ok(())
    }
}
