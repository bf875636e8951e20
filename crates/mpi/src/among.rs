//! Collectives whose members tell each other by messages: those among neighbours in a topology, and those between the
//! two groups of an inter-communicator. A shadow message goes to each whom data goes to, before the call, and one comes from each
//! whom data comes from, when it has ended. Each carries the number of the collective on its communicator, because
//! started ones may end in another order.

use crate::answers::Wanted;
use crate::call::{Call, Span};
use crate::collective::count_bytes;
use crate::communicators::Comm;
use crate::completion::Tracked;
use crate::meaning::{Collective, Dependence, Position, Stage};
use crate::memory::{handle, int, read_handle};
use crate::messages::{Others, settle};
use crate::session::Session;
use crate::transport::{self, Shadow};
use crate::waiting::Wait;
use std::sync::Arc;
use tare_delay::completion::Arrivals;

/// The tag of these shadow messages. A program that uses it on such a communicator mixes them with those of its own messages.
const TAG: i32 = 32_719;
/// Bits of a number that count how often a persistent collective was started.
const ROUNDS: u32 = 24;

/// Those whom data comes from and goes to, without nobodies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    pub(crate) from: Vec<i32>,
    pub(crate) to: Vec<i32>,
}

/// One that is under way.
#[derive(Debug)]
pub(crate) struct Round {
    comm: Arc<Comm>,
    from: Vec<i32>,
    number: Wanted,
}

/// A persistent one.
#[derive(Debug)]
pub(crate) struct Prepared {
    comm: Arc<Comm>,
    members: Members,
    number: Wanted,
    /// While it is under way.
    round: Option<Round>,
}

/// A call of a collective among neighbours.
pub(crate) fn neighbours(call: &mut Call<'_>, stage: Stage, position: Position) -> Span {
    let session = call.session;
    let comm = session.communicators.get(handle(session.abi, call.arguments[position]));
    let Some(comm) = comm.filter(|comm| !comm.inter && comm.neighbours(session).is_some()) else {
        call.uncovered();
        return call.run();
    };
    let members = comm.neighbours(session).cloned().unwrap_or_default();
    run(call, stage, comm, members, position)
}

/// A call of a collective between the groups of an inter-communicator.
pub(crate) fn groups(call: &mut Call<'_>, stage: Stage, comm: Arc<Comm>, collective: Collective) -> Span {
    let members = between(call, &comm, collective.dependence);
    let span = run(call, stage, comm, members, collective.comm);
    if span.succeeded() {
        count_bytes(call, &collective);
    }
    span
}

/// Who sends to whom of the other group, as far as this process is concerned.
fn between(call: &Call<'_>, comm: &Comm, dependence: Dependence) -> Members {
    let all: Vec<i32> = (0..comm.others(call.session)).collect();
    let (root, none) = (call.session.abi.root, Vec::new);
    let named = |position: Position| int(call.arguments[position]);
    let one = |rank: i32| if rank >= 0 { vec![rank] } else { Vec::new() };
    match dependence {
        Dependence::All | Dependence::Prefix => Members { from: all.clone(), to: all },
        Dependence::OnRoot(position) if named(position) == root => Members { from: none(), to: all },
        Dependence::OnRoot(position) => Members { from: one(named(position)), to: none() },
        Dependence::OfRoot(position) if named(position) == root => Members { from: all, to: none() },
        Dependence::OfRoot(position) => Members { from: none(), to: one(named(position)) },
    }
}

/// The communicator stands at a position; behind it the request, of persistent ones behind the hints.
fn run(call: &mut Call<'_>, stage: Stage, comm: Arc<Comm>, members: Members, position: Position) -> Span {
    let session = call.session;
    let number = comm.next_number() << ROUNDS;
    if stage == Stage::Prepared {
        let span = call.run();
        if span.succeeded() {
            let request = read_handle(session.abi, call.arguments[position + 2], 0);
            session.requests.track(request, Tracked::PreparedAmong(Prepared { comm, members, number, round: None }));
        }
        return span;
    }
    tell(call, &comm, &members.to, number);
    let span = call.run();
    let round = Round { comm, from: members.from, number };
    if span.succeeded() && stage == Stage::Blocking {
        let arrivals = round.end(session);
        settle(call, &Wait::blocked(call, &span), &span, &[], &Others { arrivals, ..Others::NONE });
    } else if span.succeeded() {
        let request = read_handle(session.abi, call.arguments[position + 1], 0);
        session.requests.track(request, Tracked::Among(round));
    }
    span
}

fn tell(call: &mut Call<'_>, comm: &Comm, to: &[i32], number: Wanted) {
    for &to in to {
        transport::post(call, comm, to, TAG, number);
    }
}

impl Round {
    /// What the collective depended on, now that it has ended.
    pub(crate) fn end(&self, session: &Session) -> Arrivals {
        let mut shadow = Shadow { session, comm: &self.comm };
        self.from.iter().filter_map(|&from| shadow.take_numbered((from, TAG), self.number)).map(|note| note.sent).collect()
    }
}

impl Prepared {
    /// It is about to be started.
    pub(crate) fn start(&mut self, call: &mut Call<'_>) {
        self.number += 1;
        tell(call, &self.comm, &self.members.to, self.number);
        self.round = Some(Round { comm: self.comm.clone(), from: self.members.from.clone(), number: self.number });
    }

    /// Whether it is under way.
    pub(crate) fn is_active(&self) -> bool {
        self.round.is_some()
    }

    /// What it depended on, now that it has ended.
    pub(crate) fn end(&mut self, session: &Session) -> Arrivals {
        self.round.take().map_or(Arrivals::NONE, |round| round.end(session))
    }
}
