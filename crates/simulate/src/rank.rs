//! One process: where it is, what it waits for, what it has started.

use crate::expression::Variables;
use crate::groups::CallId;
use crate::lanes::{Awaited, Lanes, Stamp};
use crate::mailbox::{Mailbox, Pattern};
use crate::program::Which;
use std::collections::VecDeque;
use tare_delay::order::Order;

/// A process of the simulated program.
#[derive(Debug)]
pub(crate) struct Rank {
    pub(crate) now: Stamp,
    /// Number of its next step.
    pub(crate) step: usize,
    pub(crate) variables: Variables,
    pub(crate) state: State,
    pub(crate) mailbox: Mailbox,
    /// In the order of their numbers.
    requests: VecDeque<Request>,
    next_request: u32,
    /// Whether the wrapper of the present step has been paid for.
    pub(crate) wrapped: bool,
    /// Tells wake-ups that are out of date.
    pub(crate) generation: u32,
    /// What wildcard receives of a tag have met.
    pub(crate) met: Vec<(Option<i64>, Order)>,
}

/// What a process does.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum State {
    Running,
    Waiting(Waiting),
    Done,
}

/// A wait.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Waiting {
    pub(crate) what: What,
    pub(crate) begin: u64,
    pub(crate) cost: u64,
    /// Work between questions, where it asks instead of waiting.
    pub(crate) every: Option<u64>,
    /// How many of the first requests are known to end.
    known: usize,
}

impl Waiting {
    pub(crate) fn new(what: What, begin: u64, cost: u64, every: Option<u64>) -> Self {
        Self { what, begin, cost, every, known: 0 }
    }
}

/// What is waited for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum What {
    Requests(Which, Vec<u32>),
    Message(Pattern),
}

/// An operation that was started.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: u32,
    name: usize,
    /// What its completion waits for, once that is known.
    pub(crate) awaited: Option<Awaited>,
    /// The collective that it is a part of.
    pub(crate) call: Option<CallId>,
}

impl Rank {
    pub(crate) fn new(variables: Variables) -> Self {
        Self {
            now: Stamp { at: 0, lanes: Lanes::default() },
            step: 0,
            variables,
            state: State::Running,
            mailbox: Mailbox::default(),
            requests: VecDeque::new(),
            next_request: 0,
            wrapped: false,
            generation: 0,
            met: Vec::new(),
        }
    }

    /// Starts an operation under a name.
    pub(crate) fn start(&mut self, name: usize, awaited: Option<Awaited>, call: Option<CallId>) -> u32 {
        let id = self.next_request;
        self.next_request += 1;
        self.requests.push_back(Request { id, name, awaited, call });
        id
    }

    pub(crate) fn request(&mut self, id: u32) -> Option<&mut Request> {
        let at = place(&self.requests, id)?;
        self.requests.get_mut(at)
    }

    pub(crate) fn finish(&mut self, id: u32) -> Option<Request> {
        self.requests.remove(place(&self.requests, id)?)
    }

    /// Requests of these names (of any, where there are none).
    pub(crate) fn named(&self, names: &[usize]) -> Vec<u32> {
        self.requests.iter().filter(|request| names.is_empty() || names.contains(&request.name)).map(|request| request.id).collect()
    }

    /// When what the rank waits for is there, where it waits and that is known.
    pub(crate) fn available(&mut self, latency: u64) -> Option<u64> {
        let State::Waiting(waiting) = &mut self.state else { return None };
        match &waiting.what {
            What::Message(pattern) => self.mailbox.find(*pattern).map(|message| message.sent.at + latency),
            What::Requests(which, ids) => {
                let time = |id: &u32| self.requests[place(&self.requests, *id)?].awaited.map(|awaited| awaited.available);
                if *which != Which::All {
                    return if ids.is_empty() { Some(0) } else { ids.iter().filter_map(time).min() };
                }
                // What is known stays so, and need not be looked at whenever another one is.
                waiting.known += ids[waiting.known..].iter().take_while(|id| time(id).is_some()).count();
                (waiting.known == ids.len()).then(|| ids.iter().filter_map(time).max().unwrap_or(0))
            }
        }
    }

    /// The requests that a wait completes which is decided at this moment.
    pub(crate) fn completed(&self, which: Which, ids: &[u32], decided: u64) -> Vec<u32> {
        let is_there = |request: &&Request| request.awaited.is_some_and(|awaited| awaited.available <= decided);
        let there = ids.iter().filter_map(|id| self.requests.get(place(&self.requests, *id)?)).filter(is_there).map(|request| request.id);
        match which {
            Which::All => ids.to_vec(),
            Which::Any => there.take(1).collect(),
            Which::Some => there.collect(),
        }
    }
}

/// Where a request stands.
fn place(requests: &VecDeque<Request>, id: u32) -> Option<usize> {
    requests.binary_search_by_key(&id, |request| request.id).ok()
}
