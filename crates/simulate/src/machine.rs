//! The machine: executes a program event by event, in the order of time.
//!
//! A rank runs ahead until it does something that others may have a part in; then it waits for its turn, so that
//! whatever arrives earlier has arrived. Every wait ends at the greatest of several moments, each some fixed time after
//! something that a rank did; the measured execution differs in the overhead that is added to ranks, and keeps what the
//! models make of that. `messages` and `waits` hold what is done for each.

mod messages;
mod waits;

use crate::expression::{Arithmetic, Expression};
use crate::groups::Groups;
use crate::lanes::Stamp;
use crate::mailbox::{Message, Pattern};
use crate::program::{Instruction, Program};
use crate::random::Random;
use crate::rank::{Rank, State, What};
use crate::settings::{Belief, Probe, deviations_of};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How a program is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Execution {
    Unmeasured,
    Measured,
}

/// Why a program cannot be executed.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("line {line}, rank {rank}: {trouble}")]
pub struct Failure {
    /// The statement.
    pub line: u32,
    /// The rank that executes it.
    pub rank: u32,
    /// What is wrong.
    pub trouble: Trouble,
}

/// What can go wrong in the execution of a program.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Trouble {
    /// An expression has no value.
    #[error(transparent)]
    Arithmetic(#[from] Arithmetic),
    /// A time, size, number or tag below zero.
    #[error("{0} is negative: {1}")]
    Negative(&'static str, i64),
    /// A partner that does not exist. −1 is nobody, and fine.
    #[error("there is no rank {0}")]
    NoRank(i64),
    /// The ranks of a group call different collectives.
    #[error("the others call another collective here, or with another root or size")]
    Mismatch,
    /// Nothing can go on any more.
    #[error("waits for something that never comes, as do {0} ranks altogether")]
    Stuck(usize),
    /// Time leaves the range of 64 bits.
    #[error("the simulated time exceeds a hundred days")]
    Endless,
}

/// An execution that has come to its end.
#[derive(Debug)]
pub(crate) struct Executed {
    /// The end of each rank, with its delays.
    pub(crate) ends: Vec<Stamp>,
    /// Wildcard receives that met messages in an order that the virtual times contradict.
    pub(crate) contradicted: u64,
    pub(crate) events: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// A message, by its number in the list of those under way, arrives.
    Arrival(usize),
    /// A rank goes on, unless its generation is another one.
    Turn(u32, u32),
}

/// A hundred days.
const END_OF_TIME: u64 = 100 * 86_400 * 1_000_000_000_000;

struct Machine<'a> {
    program: &'a Program,
    execution: Execution,
    ranks: Vec<Rank>,
    groups: Groups,
    /// By time, then arrivals before turns, then in the order of their making.
    events: BinaryHeap<Reverse<(u64, bool, u64, Event)>>,
    number: u64,
    messages: Vec<Message>,
    free: Vec<usize>,
    contradicted: u64,
    /// How far the intervals of costs reach, for all to hold the truth at once: where many wait for the latest, who is most
    /// wrong decides for all.
    deviations: f64,
}

/// Whether a rank goes on at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    On,
    /// The same step again when all that is earlier has happened.
    Later,
    Stop,
}

type Done<T> = Result<T, Trouble>;

/// Executes a program.
pub(crate) fn execute(program: &Program, execution: Execution) -> Result<Executed, Failure> {
    let failed = |trouble| Failure { line: 1, rank: 0, trouble };
    let ranks = (0..program.settings.ranks).map(|rank| Rank::new(program.variables_of(rank))).collect();
    let groups = Groups::of(program).map_err(|error| failed(error.into()))?;
    let mut machine = Machine {
        program,
        execution,
        ranks,
        groups,
        events: BinaryHeap::new(),
        number: 0,
        messages: Vec::new(),
        free: Vec::new(),
        contradicted: 0,
        deviations: deviations_of(program.uncertain()),
    };
    for rank in 0..program.settings.ranks {
        machine.turn(rank, 0);
    }
    machine.run()?;
    machine.check_end()?;
    let ends = machine.ranks.iter().map(|rank| rank.now).collect();
    Ok(Executed { ends, contradicted: machine.contradicted, events: machine.number })
}

impl Machine<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        while let Some(Reverse((time, _, _, event))) = self.events.pop() {
            match event {
                Event::Arrival(number) => self.arrive(number),
                Event::Turn(rank, generation) => {
                    if self.ranks[rank as usize].generation == generation {
                        self.go_on(rank, time)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), Failure> {
        let stuck = |rank: &&(usize, &Rank)| rank.1.state != State::Done;
        let number = self.ranks.iter().enumerate().filter(|rank| stuck(&rank)).count();
        match self.ranks.iter().enumerate().find(|rank| stuck(&rank)) {
            Some((rank, state)) => Err(Failure { line: self.line(state), rank: rank as u32, trouble: Trouble::Stuck(number) }),
            None => Ok(()),
        }
    }

    /// Where a rank waits.
    fn line(&self, rank: &Rank) -> u32 {
        self.program.steps.get(rank.step.saturating_sub(1)).map_or(0, |step| step.line)
    }

    fn event(&mut self, time: u64, event: Event) {
        self.number += 1;
        self.events.push(Reverse((time, matches!(event, Event::Turn(..)), self.number, event)));
    }

    fn turn(&mut self, rank: u32, time: u64) {
        let generation = &mut self.ranks[rank as usize].generation;
        *generation = generation.wrapping_add(1);
        let generation = *generation;
        self.event(time, Event::Turn(rank, generation));
    }

    /// A rank has its turn.
    fn go_on(&mut self, number: u32, time: u64) -> Result<(), Failure> {
        let rank = &mut self.ranks[number as usize];
        if let State::Waiting(waiting) = std::mem::replace(&mut rank.state, State::Running) {
            self.end_wait(number, &waiting, time);
        }
        loop {
            let rank = &self.ranks[number as usize];
            let Some(step) = self.program.steps.get(rank.step) else {
                self.ranks[number as usize].state = State::Done;
                return Ok(());
            };
            let failed = |trouble| Failure { line: step.line, rank: number, trouble };
            if rank.now.at > END_OF_TIME {
                return Err(failed(Trouble::Endless));
            }
            let flow = if rank.now.at > time && may_meet_others(&step.instruction) {
                Flow::Later
            } else {
                self.step(number, &step.instruction).map_err(failed)?
            };
            match flow {
                Flow::On => self.ranks[number as usize].wrapped = false,
                Flow::Later => {
                    self.turn(number, self.ranks[number as usize].now.at);
                    return Ok(());
                }
                Flow::Stop => return Ok(()),
            }
        }
    }

    fn step(&mut self, number: u32, instruction: &Instruction) -> Done<Flow> {
        if is_communication(instruction) && !self.ranks[number as usize].wrapped {
            self.ranks[number as usize].wrapped = true;
            let wrapper = self.program.settings.wrapper;
            self.overhead(number, wrapper, Belief { low: wrapper as f64, value: wrapper as f64, high: wrapper as f64 });
            if wrapper > 0 && may_meet_others(instruction) && self.execution == Execution::Measured {
                return Ok(Flow::Later);
            }
        }
        self.ranks[number as usize].step += 1;
        match instruction {
            Instruction::Compute(work) => {
                let work = self.amount(number, "a time", work)?;
                self.advance(number, work);
            }
            Instruction::Call { region, times, work } => {
                let times = self.amount(number, "a number of calls", times)?;
                let work = self.amount(number, "a time", work)?;
                let cost = self.program.regions[*region].cost;
                let (Some(work), Some(cost)) = (times.checked_mul(work), times.checked_mul(cost)) else { return Err(Arithmetic::Overflow.into()) };
                self.advance(number, work);
                self.probes(number, *region, cost);
            }
            Instruction::Enter(region) => self.probes(number, *region, self.program.regions[*region].cost / 2),
            Instruction::Exit(region) => self.probes(number, *region, self.program.regions[*region].cost.div_ceil(2)),
            Instruction::Set(variable, value) => {
                let value = self.value(number, value)?;
                self.ranks[number as usize].variables.values[*variable] = value;
            }
            Instruction::JumpUnless(condition, to) => {
                if self.value(number, condition)? == 0 {
                    self.ranks[number as usize].step = *to;
                }
            }
            Instruction::Jump(to) => self.ranks[number as usize].step = *to,
            Instruction::Send { to, tag, bytes, mode, request } => return self.send(number, (to, tag, bytes), *mode, *request),
            Instruction::Receive { from, tag, request } => {
                let Some(pattern) = self.pattern(number, from.as_ref(), tag.as_ref())? else { return Ok(Flow::On) };
                return self.receive(number, pattern, *request);
            }
            Instruction::Complete { which, names, every } => {
                let ids = self.ranks[number as usize].named(names);
                let every = every.as_ref().map(|every| self.amount(number, "a time", every)).transpose()?;
                if ids.is_empty() {
                    return Ok(Flow::On);
                }
                return Ok(self.wait(number, What::Requests(*which, ids), self.program.settings.receive, every));
            }
            Instruction::Probe { from, tag, every } => {
                let every = every.as_ref().map(|every| self.amount(number, "a time", every)).transpose()?;
                let Some(pattern) = self.pattern(number, from.as_ref(), tag.as_ref())? else { return Ok(Flow::On) };
                return Ok(self.wait(number, What::Message(pattern), self.program.settings.receive, every));
            }
            Instruction::Collective { kind, root, bytes, group, request } => return self.collective(number, *kind, (root, bytes), *group, *request),
        }
        Ok(Flow::On)
    }

    fn value(&mut self, number: u32, expression: &Expression) -> Done<i64> {
        Ok(expression.value(&mut self.ranks[number as usize].variables)?)
    }

    fn amount(&mut self, number: u32, what: &'static str, expression: &Expression) -> Done<u64> {
        let value = self.value(number, expression)?;
        u64::try_from(value).map_err(|_| Trouble::Negative(what, value))
    }

    /// A partner; `None` is nobody.
    fn partner(&mut self, number: u32, expression: &Expression) -> Done<Option<u32>> {
        match self.value(number, expression)? {
            -1 => Ok(None),
            rank => match u32::try_from(rank) {
                Ok(partner) if partner < self.program.settings.ranks => Ok(Some(partner)),
                _ => Err(Trouble::NoRank(rank)),
            },
        }
    }

    /// What a receive asks for; `None` where it is from nobody.
    fn pattern(&mut self, number: u32, from: Option<&Expression>, tag: Option<&Expression>) -> Done<Option<Pattern>> {
        let tag = tag.map(|tag| self.value(number, tag)).transpose()?;
        match from {
            None => Ok(Some(Pattern { from: None, tag })),
            Some(from) => Ok(self.partner(number, from)?.map(|from| Pattern { from: Some(from), tag })),
        }
    }

    fn advance(&mut self, number: u32, work: u64) {
        let at = &mut self.ranks[number as usize].now.at;
        *at = at.saturating_add(work);
    }

    /// What measuring adds.
    fn overhead(&mut self, number: u32, truly: u64, believed: Belief) {
        if self.execution == Execution::Measured && truly > 0 {
            self.advance(number, truly);
            self.ranks[number as usize].now.lanes.overhead(believed);
        }
    }

    /// Probes of a region, of so much cost altogether.
    fn probes(&mut self, number: u32, region: usize, truly: u64) {
        let believed = self.belief(number, region, self.program.regions[region], truly);
        self.overhead(number, truly, believed);
    }

    /// What the tool believes of probes of a region on a rank.
    fn belief(&self, number: u32, region: usize, probe: Probe, truly: u64) -> Belief {
        if !probe.is_uncertain() {
            return Belief { low: truly as f64, value: truly as f64, high: truly as f64 };
        }
        let seed = self.program.settings.seed ^ (u64::from(number) << 20 | region as u64).wrapping_mul(0x9e6c_63d0_676a_9a99);
        let each = probe.belief(Random::new(seed).normal(), self.deviations);
        let times = truly as f64 / probe.cost as f64;
        Belief { low: each.low * times, value: each.value * times, high: each.high * times }
    }
}

/// Whether what others do may decide on this.
fn may_meet_others(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Receive { .. } | Instruction::Complete { .. } | Instruction::Probe { .. } | Instruction::Collective { .. })
}

fn is_communication(instruction: &Instruction) -> bool {
    may_meet_others(instruction) || matches!(instruction, Instruction::Send { .. })
}
