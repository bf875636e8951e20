//! Waits: until when a rank waits, and what that does to its delays.

use super::{Execution, Flow, Machine};
use crate::lanes::{Asked, Awaited, Waited};
use crate::rank::{State, Waiting, What};

impl Machine<'_> {
    pub(super) fn wait(&mut self, number: u32, what: What, cost: u64, every: Option<u64>) -> Flow {
        let rank = &mut self.ranks[number as usize];
        rank.state = State::Waiting(Waiting::new(what, rank.now.at, cost, every));
        rank.generation = rank.generation.wrapping_add(1);
        rank.wrapped = false;
        self.progress(number);
        Flow::Stop
    }

    /// Overhead between two questions: a call of a region of their own, with the cost of all others.
    fn asked(&self, number: u32, waiting: &Waiting, every: u64) -> Asked {
        let probe = self.program.settings.probe;
        let overhead = if self.execution == Execution::Measured { probe.cost } else { 0 };
        let believed = self.belief(number, self.program.regions.len(), probe, overhead);
        Asked { begin: waiting.begin, cost: waiting.cost, every, overhead, believed, failed: 0 }
    }

    /// If the rank waits, and it is known until when: lets it go on then.
    pub(super) fn progress(&mut self, number: u32) {
        let rank = &mut self.ranks[number as usize];
        let Some(available) = rank.available(self.program.settings.latency) else { return };
        let State::Waiting(waiting) = &self.ranks[number as usize].state else { return };
        let missing = available.saturating_sub(waiting.begin);
        let end = match waiting.every {
            None => available.max(waiting.begin + waiting.cost),
            Some(every) => {
                let asked = self.asked(number, waiting, every);
                let failed = asked.failures(missing);
                Asked { failed, ..asked }.last() + waiting.cost
            }
        };
        self.turn(number, end);
    }

    /// A wait is over.
    pub(super) fn end_wait(&mut self, number: u32, waiting: &Waiting, end: u64) {
        let latency = self.program.settings.latency;
        let awaited = match &waiting.what {
            What::Message(pattern) => {
                let found = self.ranks[number as usize].mailbox.find(*pattern);
                found.map_or(Awaited::NOTHING, |message| Awaited::from_other(&message.sent, latency))
            }
            What::Requests(which, ids) => {
                let decided = if waiting.every.is_some() { end - waiting.cost } else { end };
                let done = self.ranks[number as usize].completed(*which, ids, decided);
                done.into_iter().map(|id| self.end_request(number, id, decided)).fold(Awaited::NOTHING, Awaited::join)
            }
        };
        let asked = waiting.every.map(|every| self.asked(number, waiting, every));
        let now = &mut self.ranks[number as usize].now;
        match asked {
            None => now.lanes.wait(&Waited { begin: waiting.begin, cost: waiting.cost, end }, &awaited),
            Some(asked) => {
                let failed = asked.failures(awaited.available.saturating_sub(waiting.begin));
                now.lanes.ask(&Asked { failed, ..asked }, &awaited);
            }
        }
        now.at = end;
    }

    /// A request was complete at `end`: what it waited for, as a tool may know it.
    fn end_request(&mut self, number: u32, id: u32, end: u64) -> Awaited {
        let Some(request) = self.ranks[number as usize].finish(id) else { return Awaited::NOTHING };
        let mut awaited = request.awaited.unwrap_or(Awaited::NOTHING);
        if let Some(call) = request.call {
            if let Some(instance) = self.groups.instance(call) {
                awaited = instance.known(awaited, end);
            }
            self.groups.leave(call);
        }
        awaited
    }
}
