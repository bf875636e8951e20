//! Statements that communicate.
//!
//! What is composed of other operations is taken apart here: an exchange with neighbours, a send and receive in one, the
//! synchronisation of one-sided communication. The tags of their messages are negative, which no description can name.

use super::{ANONYMOUS, Parsed, Parser, Problem};
use crate::expression::Expression;
use crate::lexer::Kind;
use crate::program::{Collective, Instruction, Mode, Which};

const NEIGHBOURS: i64 = -1;
const POSTED: i64 = -2;
const COMPLETED: i64 = -3;

impl Parser {
    pub(super) fn communication(&mut self, line: u32, word: &str) -> Parsed<()> {
        let (started, plain) = match word.strip_prefix('i') {
            Some(plain) if !matches!(word, "iprobe") => (true, plain),
            _ => (false, word),
        };
        let instruction = match plain {
            "send" | "rsend" => self.send(Mode::Standard)?,
            "ssend" => self.send(Mode::Synchronous)?,
            "bsend" => self.send(Mode::Buffered)?,
            "recv" => self.receive()?,
            "barrier" | "allreduce" | "allgather" | "alltoall" | "reduce_scatter" | "fence" => self.collective(Collective::All)?,
            "bcast" | "scatter" => self.collective(Collective::FromRoot)?,
            "reduce" | "gather" => self.collective(Collective::ToRoot)?,
            "scan" | "exscan" => self.collective(Collective::Prefix)?,
            _ if started => return self.wrong(Problem::Statement(word.to_string())),
            _ => return self.composed(line, word),
        };
        let instruction = if started {
            self.need_word("as")?;
            let name = self.name("the name of a request")?;
            let request = self.requests.introduce(name);
            named(instruction, request)
        } else {
            instruction
        };
        self.push(line, instruction);
        Ok(())
    }

    fn composed(&mut self, line: u32, word: &str) -> Parsed<()> {
        match word {
            "sendrecv" => self.exchange(line),
            "neighbours" => self.neighbours(line),
            "prepare" => self.prepare(),
            "start" => self.start(line),
            "wait" | "waitall" => self.complete(line, Which::All, false),
            "waitany" => self.complete(line, Which::Any, false),
            "waitsome" => self.complete(line, Which::Some, false),
            "test" | "testall" => self.complete(line, Which::All, true),
            "testany" => self.complete(line, Which::Any, true),
            "probe" | "iprobe" => {
                let (from, tag) = self.origin()?;
                let every = if word == "iprobe" { Some(self.every()?) } else { None };
                self.push(line, Instruction::Probe { from, tag, every });
                Ok(())
            }
            "win_post" => self.tell(line, POSTED),
            "win_start" => self.hear(line, POSTED),
            "win_complete" => self.tell(line, COMPLETED),
            "win_wait" => self.hear(line, COMPLETED),
            _ => self.wrong(Problem::Statement(word.to_string())),
        }
    }

    fn send(&mut self, mode: Mode) -> Parsed<Instruction> {
        self.need_word("to")?;
        let to = self.expression()?;
        let tag = if self.word("tag") { self.expression()? } else { Expression::Value(0) };
        let bytes = self.bytes()?;
        Ok(Instruction::Send { to, tag, bytes, mode, request: None })
    }

    fn bytes(&mut self) -> Parsed<Expression> {
        if self.word("bytes") { self.expression() } else { Ok(Expression::Value(8)) }
    }

    fn every(&mut self) -> Parsed<Expression> {
        self.need_word("every")?;
        self.expression()
    }

    fn origin(&mut self) -> Parsed<(Option<Expression>, Option<Expression>)> {
        self.need_word("from")?;
        let from = if self.word("any") { None } else { Some(self.expression()?) };
        let tag = match (self.word("tag"), self.word("any")) {
            (true, true) => None,
            (true, false) => Some(self.expression()?),
            (false, _) => Some(Expression::Value(0)),
        };
        Ok((from, tag))
    }

    fn receive(&mut self) -> Parsed<Instruction> {
        let (from, tag) = self.origin()?;
        Ok(Instruction::Receive { from, tag, request: None })
    }

    fn collective(&mut self, kind: Collective) -> Parsed<Instruction> {
        let root = if self.word("root") { self.expression()? } else { Expression::Value(0) };
        let bytes = self.bytes()?;
        let group = if self.word("on") {
            let name = self.name("the name of a group")?;
            match self.groups.find(&name) {
                Some(group) => group,
                None => return self.wrong(Problem::Unknown { kind: "group", name }),
            }
        } else {
            0
        };
        Ok(Instruction::Collective { kind, root, bytes, group, request: None })
    }

    fn exchange(&mut self, line: u32) -> Parsed<()> {
        self.need_word("to")?;
        let to = self.expression()?;
        let (from, tag) = self.origin()?;
        let sent = tag.clone().unwrap_or(Expression::Value(0));
        let bytes = self.bytes()?;
        self.push(line, Instruction::Receive { from, tag, request: Some(ANONYMOUS) });
        self.push(line, Instruction::Send { to, tag: sent, bytes, mode: Mode::Standard, request: Some(ANONYMOUS) });
        self.finish(line);
        Ok(())
    }

    fn list(&mut self) -> Parsed<Vec<Expression>> {
        let mut all = vec![self.expression()?];
        while self.sign(",") {
            all.push(self.expression()?);
        }
        Ok(all)
    }

    fn neighbours(&mut self, line: u32) -> Parsed<()> {
        let all = self.list()?;
        let (bytes, tag) = (self.bytes()?, Expression::Value(NEIGHBOURS));
        for from in &all {
            self.push(line, Instruction::Receive { from: Some(from.clone()), tag: Some(tag.clone()), request: Some(ANONYMOUS) });
        }
        for to in all {
            let (tag, bytes) = (tag.clone(), bytes.clone());
            self.push(line, Instruction::Send { to, tag, bytes, mode: Mode::Standard, request: Some(ANONYMOUS) });
        }
        self.finish(line);
        Ok(())
    }

    fn tell(&mut self, line: u32, tag: i64) -> Parsed<()> {
        for to in self.list()? {
            let (tag, bytes) = (Expression::Value(tag), Expression::Value(0));
            self.push(line, Instruction::Send { to, tag, bytes, mode: Mode::Buffered, request: None });
        }
        Ok(())
    }

    fn hear(&mut self, line: u32, tag: i64) -> Parsed<()> {
        for from in self.list()? {
            self.push(line, Instruction::Receive { from: Some(from), tag: Some(Expression::Value(tag)), request: Some(ANONYMOUS) });
        }
        self.finish(line);
        Ok(())
    }

    /// Completes what was started without a name.
    fn finish(&mut self, line: u32) {
        self.push(line, Instruction::Complete { which: Which::All, names: vec![ANONYMOUS], every: None });
    }

    fn prepare(&mut self) -> Parsed<()> {
        let name = self.name("the name of a request")?;
        let request = self.requests.introduce(name);
        let kind = self.name("`send`, `ssend`, `bsend` or `recv`")?;
        let instruction = match kind.as_str() {
            "send" => self.send(Mode::Standard)?,
            "ssend" => self.send(Mode::Synchronous)?,
            "bsend" => self.send(Mode::Buffered)?,
            "recv" => self.receive()?,
            _ => return self.wrong(Problem::Statement(format!("prepare … {kind}"))),
        };
        self.prepared.insert(request, named(instruction, request));
        Ok(())
    }

    fn start(&mut self, line: u32) -> Parsed<()> {
        for name in self.names()? {
            let Some(instruction) = self.prepared.get(&name).cloned() else {
                return self.wrong(Problem::Unknown { kind: "prepared request", name: self.requests.0[name].clone() });
            };
            self.push(line, instruction);
        }
        Ok(())
    }

    /// Names of requests; none is all of them.
    fn names(&mut self) -> Parsed<Vec<usize>> {
        let mut names = Vec::new();
        while let Some(Kind::Word(word)) = self.kind().filter(|kind| !matches!(kind, Kind::Word(word) if word == "every")).cloned() {
            match self.requests.find(&word) {
                Some(request) => names.push(request),
                None => return self.wrong(Problem::Unknown { kind: "request", name: word }),
            }
            self.at += 1;
        }
        Ok(names)
    }

    fn complete(&mut self, line: u32, which: Which, asks: bool) -> Parsed<()> {
        let names = self.names()?;
        let every = if asks { Some(self.every()?) } else { None };
        self.push(line, Instruction::Complete { which, names, every });
        Ok(())
    }
}

/// The same operation, started under a name.
fn named(instruction: Instruction, name: usize) -> Instruction {
    let request = Some(name);
    match instruction {
        Instruction::Send { to, tag, bytes, mode, .. } => Instruction::Send { to, tag, bytes, mode, request },
        Instruction::Receive { from, tag, .. } => Instruction::Receive { from, tag, request },
        Instruction::Collective { kind, root, bytes, group, .. } => Instruction::Collective { kind, root, bytes, group, request },
        other => other,
    }
}
