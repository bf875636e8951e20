//! Collectives that are started. Their members tell each other before the call that they start it: on the board, where they meet there
//! ([`crate::meeting`]), else by a shadow collective ([`crate::shadows`]); that of a persistent one is persistent as well.

use crate::among;
use crate::board::Gathering;
use crate::call::{Call, Span};
use crate::collective::{come, count_bytes, depends, on_board, operation};
use crate::communicators::Comm;
use crate::completion::Tracked;
use crate::holds::{Hold, Operation};
use crate::meaning::{Collective, Dependence, Stage};
use crate::meeting::Series;
use crate::memory::{handle, read_handle};
use crate::session::Session;
use crate::shadows::ShadowCollective;
use std::sync::Arc;
use tare_delay::completion::{Arrivals, Moment};
use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;

/// What is to be known of a collective that is started, from its start to its end.
#[derive(Debug)]
struct Plan {
    comm: Arc<Comm>,
    dependence: Dependence,
    root: i32,
    operation: Operation,
}

/// A collective that has been started.
#[derive(Debug)]
pub(crate) struct Flight {
    plan: Plan,
    /// When this process started it.
    here: Moment,
    word: Word,
}

/// How its members tell each other.
#[derive(Debug)]
enum Word {
    Board(Gathering),
    Shadow(Box<ShadowCollective>),
}

/// A persistent one.
#[derive(Debug)]
pub(crate) struct Prepared {
    plan: Plan,
    words: Words,
    /// When this process started it last, while it is under way.
    started: Option<Moment>,
}

/// How its members tell each other, time after time.
#[derive(Debug)]
enum Words {
    Board(Series),
    Shadow(Box<ShadowCollective>),
    /// It carries nothing any more, because its shadow was not through when it was to be started again.
    Lost,
}

/// What a collective that has ended depended on, and what may have held it up beyond that.
#[derive(Debug)]
pub(crate) struct Landed {
    pub(crate) arrivals: Arrivals,
    pub(crate) hold: Option<Hold>,
}

/// A call that starts a collective.
pub(crate) fn start(call: &mut Call<'_>, collective: Collective) -> Span {
    let session = call.session;
    let Some(comm) = session.communicators.get(handle(session.abi, call.arguments[collective.comm])) else {
        call.uncovered();
        return call.run();
    };
    if comm.inter {
        return among::groups(call, Stage::Started, comm, collective);
    }
    let flight = fly(call, &comm, collective);
    let span = call.run();
    if !span.succeeded() {
        flight.into_iter().for_each(|flight| flight.give_up(session));
        return span;
    }
    count_bytes(call, &collective);
    let request = read_handle(session.abi, call.arguments[collective.comm + 1], 0);
    session.requests.forget(request);
    if let Some(flight) = flight {
        session.requests.track(request, Tracked::Collective(flight));
    }
    span
}

/// Tells the others that this process is here; `None` where nobody would be told anything.
pub(crate) fn fly(call: &mut Call<'_>, comm: &Arc<Comm>, collective: Collective) -> Option<Flight> {
    let plan = Plan::of(call, comm, collective)?;
    let gathering = come(call, comm);
    let here = call.moment();
    if let Some(gathering) = gathering {
        return Some(Flight { plan, here, word: Word::Board(gathering) });
    }
    let shadow = ShadowCollective::start(call.session, comm, plan.dependence, plan.root, here);
    if shadow.is_none() {
        call.unpaired(1);
    }
    Some(Flight { plan, here, word: Word::Shadow(shadow?) })
}

/// A call that prepares a collective; the request stands behind the hints.
pub(crate) fn prepare(call: &mut Call<'_>, collective: Collective) -> Span {
    let session = call.session;
    let Some(comm) = session.communicators.get(handle(session.abi, call.arguments[collective.comm])) else {
        call.uncovered();
        return call.run();
    };
    if comm.inter {
        return among::groups(call, Stage::Prepared, comm, collective);
    }
    let prepared = Plan::of(call, &comm, collective).and_then(|plan| Prepared::new(session, plan));
    let span = call.run();
    if let Some(prepared) = prepared.filter(|_| span.succeeded()) {
        let request = read_handle(session.abi, call.arguments[collective.comm + 2], 0);
        session.requests.track(request, Tracked::PreparedCollective(prepared));
    }
    span
}

impl Plan {
    /// That of what a call starts or prepares; `None` where nobody would be told anything.
    fn of(call: &Call<'_>, comm: &Arc<Comm>, collective: Collective) -> Option<Self> {
        comm.shadow.filter(|_| comm.size > 1)?;
        let operation = operation(call, &collective);
        Some(Self { comm: comm.clone(), dependence: collective.dependence, root: operation.root, operation })
    }

    /// What it depended on that stands on the board, now that it has ended by then.
    fn on_board(&self, call: &Call<'_>, gathering: Gathering, end: Ticks) -> Arrivals {
        on_board(call, &self.comm, gathering, self.dependence, self.root, end)
    }

    /// What it depended on that its shadow has told; `None` where that is not known in time.
    fn in_shadow(&self, session: &Session, shadow: &mut ShadowCollective) -> Option<Arrivals> {
        let is_through = shadow.is_through(session, &self.comm);
        is_through.then(|| if depends(&self.comm, self.dependence, self.root) { shadow.told(session) } else { Arrivals::NONE })
    }

    /// What this means for a member that came at this moment.
    fn landed(&self, session: &Session, here: Moment, arrivals: Arrivals) -> Landed {
        let started = arrivals.join(Arrivals::one(here)).last_sent();
        let is_known = session.board().is_some() && session.model() == DelayModel::Virtual;
        let hold =
            is_known.then(|| Hold::Members { comm: self.comm.clone(), operation: self.operation, started: Ticks(started.max(0).cast_unsigned()) });
        Landed { arrivals, hold }
    }
}

impl Flight {
    /// What it depended on, now that it has ended by then; `None` where that is not known in time.
    pub(crate) fn land(self, call: &Call<'_>, end: Ticks) -> Option<Landed> {
        let (session, Self { plan, here, word }) = (call.session, self);
        let arrivals = match word {
            Word::Board(gathering) => Some(plan.on_board(call, gathering, end)),
            Word::Shadow(mut shadow) => {
                let arrivals = plan.in_shadow(session, &mut shadow);
                shadow.free(session);
                arrivals
            }
        };
        arrivals.map(|arrivals| plan.landed(session, here, arrivals))
    }

    /// Whose members it is of.
    pub(crate) fn comm(&self) -> &Comm {
        &self.plan.comm
    }

    /// Nobody waits for it.
    pub(crate) fn give_up(self, session: &Session) {
        if let Word::Shadow(shadow) = self.word {
            shadow.free(session);
        }
    }
}

impl Prepared {
    fn new(session: &Session, plan: Plan) -> Option<Self> {
        let words = match plan.comm.meeting().and_then(|meeting| meeting.series()) {
            Some(series) => Words::Board(series),
            None => Words::Shadow(ShadowCollective::prepare(session, &plan.comm, plan.dependence, plan.root)?),
        };
        Some(Self { plan, words, started: None })
    }

    /// It is about to be started.
    pub(crate) fn start(&mut self, call: &mut Call<'_>) {
        let (session, here) = (call.session, call.moment());
        self.started = Some(here);
        match &mut self.words {
            Words::Board(series) => series.come(session, here),
            Words::Shadow(shadow) => {
                let is_free = shadow.is_through(session, &self.plan.comm);
                let here = call.moment();
                if !(is_free && shadow.start_again(session, self.plan.comm.rank == self.plan.root, here)) {
                    self.lose(session);
                }
            }
            Words::Lost => {}
        }
    }

    /// Whether it is under way.
    pub(crate) fn is_active(&self) -> bool {
        self.started.is_some()
    }

    /// What it depended on, now that it has ended by then; `None` where that is not known in time.
    pub(crate) fn end(&mut self, call: &Call<'_>, end: Ticks) -> Option<Landed> {
        let here = self.started.take()?;
        let arrivals = match &mut self.words {
            Words::Board(series) => self.plan.on_board(call, series.last()?, end),
            Words::Shadow(shadow) => self.plan.in_shadow(call.session, shadow)?,
            Words::Lost => return None,
        };
        Some(self.plan.landed(call.session, here, arrivals))
    }

    fn lose(&mut self, session: &Session) {
        if let Words::Shadow(shadow) = std::mem::replace(&mut self.words, Words::Lost) {
            shadow.free(session);
        }
    }

    /// The program has freed it.
    pub(crate) fn free(mut self, session: &Session) {
        if let Words::Shadow(shadow) = &mut self.words {
            shadow.is_through(session, &self.plan.comm);
        }
        self.lose(session);
    }
}
