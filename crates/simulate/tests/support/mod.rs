//! Random programs that come to their end: operations of several ranks in one order, which every rank follows.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::fmt::Write;
use tare_simulate::{Program, Random, Simulation, simulate};

/// What a random program may contain.
#[derive(Clone, Copy)]
pub(crate) struct Recipe {
    pub(crate) ranks: u64,
    pub(crate) steps: u64,
    pub(crate) settings: &'static str,
    /// Mean work of a step, in nanoseconds.
    pub(crate) work: u64,
    /// Messages of all kinds, or blocking ones alone.
    pub(crate) messages: Messages,
    pub(crate) collectives: Collectives,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Messages {
    Blocking,
    AllKinds,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Collectives {
    None,
    /// Those in which all wait for all.
    AllForAll,
    AllKinds,
}

/// The statements of each rank.
struct Writer {
    random: Random,
    ranks: Vec<String>,
    recipe: Recipe,
    named: u64,
}

/// The text of a random program.
pub(crate) fn text(recipe: Recipe, seed: u64) -> String {
    let ranks = vec![String::new(); recipe.ranks as usize];
    let mut writer = Writer { random: Random::new(seed), ranks, recipe, named: 0 };
    for _ in 0..recipe.steps {
        writer.step();
    }
    let mut text = format!("ranks {}\nseed {seed}\n{}\n", recipe.ranks, recipe.settings);
    for (rank, statements) in writer.ranks.iter().enumerate() {
        let _ = write!(text, "if rank == {rank} {{\n{statements}waitall\n}}\n");
    }
    text
}

/// Executes a program that is right.
pub(crate) fn executed(text: &str) -> Simulation {
    let program = Program::parse(text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    simulate(&program).unwrap_or_else(|failure| panic!("{failure}\n{text}"))
}

impl Writer {
    fn say(&mut self, rank: u64, statement: &str) {
        self.ranks[rank as usize].push_str(statement);
        self.ranks[rank as usize].push('\n');
    }

    fn rank(&mut self) -> u64 {
        self.random.below(self.recipe.ranks)
    }

    fn step(&mut self) {
        match self.random.below(if self.recipe.collectives == Collectives::None { 16 } else { 20 }) {
            0..8 => self.work(),
            8..14 => self.message(),
            14..16 => self.exchange(),
            _ => self.collective(),
        }
    }

    fn work(&mut self) {
        let rank = self.rank();
        let (calls, each) = (self.random.below(40), self.random.below(2 * self.recipe.work / 20 + 1));
        let region = self.random.below(3);
        match self.random.below(3) {
            0 => self.say(rank, &format!("compute {each}ns * 20")),
            1 => self.say(rank, &format!("call f{region} times {calls} each {each}ns")),
            _ => self.say(rank, &format!("in f{region} {{ call f0 times {calls} each {each}ns }}")),
        }
    }

    fn name(&mut self) -> String {
        self.named += 1;
        format!("r{}", self.named)
    }

    /// Many small messages, a few that wait for their receiver.
    fn size(&mut self) -> u64 {
        [8, 8, 100, 5000, 80_000][self.random.below(5) as usize]
    }

    fn message(&mut self) {
        let (from, to) = (self.rank(), self.rank());
        if from == to {
            return;
        }
        let tag = self.random.below(3);
        if self.recipe.messages == Messages::Blocking {
            self.say(from, &format!("send to {to} tag {tag}"));
            self.say(to, &format!("recv from {from} tag {tag}"));
            return;
        }
        let size = self.size();
        let target = format!("to {to} tag {tag} bytes {size}");
        let source = format!("from {from} tag {tag}");
        let (sent, received) = (self.name(), self.name());
        match self.random.below(6) {
            0 => self.say(from, &format!("isend {target} as {sent}")),
            1 => self.say(from, &format!("issend {target} as {sent}")),
            2 => self.say(from, &format!("ssend {target}")),
            3 => self.say(from, &format!("bsend {target}")),
            4 => self.say(from, &format!("prepare {sent} send {target}\nstart {sent}\nwait {sent}")),
            _ => self.say(from, &format!("send {target}")),
        }
        let every = 100 + self.random.below(2000);
        match self.random.below(6) {
            0 => self.say(to, &format!("irecv {source} as {received}\ncompute {every}ns\nwait {received}")),
            1 => self.say(to, &format!("irecv {source} as {received}\ntest {received} every {every}ns")),
            2 => self.say(to, &format!("probe {source}\nrecv {source}")),
            3 => self.say(to, &format!("iprobe {source} every {every}ns\nrecv {source}")),
            4 => self.say(to, &format!("prepare {received} recv {source}\nstart {received}\nwaitall {received}")),
            _ => self.say(to, &format!("recv {source}")),
        }
    }

    fn exchange(&mut self) {
        let ranks = self.recipe.ranks;
        let size = if self.recipe.messages == Messages::AllKinds { self.size() } else { 8 };
        let shift = 1 + self.random.below(ranks - 1);
        let every = self.random.below(2) == 0;
        for rank in 0..ranks {
            let (next, last) = ((rank + shift) % ranks, (rank + ranks - shift) % ranks);
            let statement =
                if every { format!("sendrecv to {next} from {last} tag 7 bytes {size}") } else { format!("neighbours {next}, {last} bytes {size}") };
            self.say(rank, &statement);
        }
    }

    fn collective(&mut self) {
        let kinds = ["barrier", "allreduce", "bcast root", "reduce root", "gather root", "scatter root", "scan", "fence"];
        let kind = kinds[self.random.below(if self.recipe.collectives == Collectives::AllKinds { 8 } else { 2 }) as usize];
        let started = self.random.below(3) == 0 && self.recipe.collectives == Collectives::AllKinds;
        let (root, size, name) = (self.rank(), self.size(), self.name());
        let root = if kind.ends_with("root") { root.to_string() } else { String::new() };
        for rank in 0..self.recipe.ranks {
            let work = self.random.below(3000);
            let call = format!("{kind} {root} bytes {size}");
            if started {
                self.say(rank, &format!("i{call} as {name}\ncompute {work}ns\nwait {name}"));
            } else {
                self.say(rank, &call);
            }
        }
    }
}
