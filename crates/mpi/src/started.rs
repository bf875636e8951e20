//! Collectives that are started: their shadow is started before them. That of a persistent one is persistent as well.
//!
//! Whether a started one has ended is for the library to say; when it has, its shadow soon has as well, as everybody has
//! started both. It is waited for while all members that have something to do for it are inside of MPI, whether they have a processor or not: the
//! board shows that. Where one of them is outside, nobody knows when it goes on, and after a short time the shadow is left to
//! itself, and the completion goes without.

use crate::among;
use crate::call::{Call, Span};
use crate::collective::{bytes, count_bytes, depends};
use crate::communicators::Comm;
use crate::completion::Tracked;
use crate::holds::{Hold, Operation};
use crate::meaning::{Collective, Dependence, Stage};
use crate::memory::{handle, read_handle, word};
use crate::session::Session;
use crate::table::Id;
use crate::transport::test;
use std::sync::{Arc, Mutex, PoisonError};
use tare_delay::completion::Arrivals;
use tare_format::graph::DelayModel;
use tare_format::ids::Ticks;
use tare_runtime::process::now;

/// Ticks for which the shadow of a collective that has ended is waited for where a member does nothing for it.
const PATIENCE: u64 = 1 << 23;
/// The same where all that are needed are in MPI: this ends only where the library does nothing for it in what they call there.
const MOST_PATIENCE: u64 = 1 << 31;

/// A started collective of ours. The library uses its memory until the request is complete.
#[derive(Debug)]
pub(crate) struct Flight {
    mine: [i64; 3],
    joined: [i64; 3],
    request: usize,
    /// Whether what is joined begins with this rank's own.
    is_root: bool,
    /// Whether this rank depends on what is joined.
    depends: bool,
    comm: Arc<Comm>,
    operation: Operation,
}

/// A persistent one.
#[derive(Debug)]
pub(crate) struct Prepared {
    flight: Box<Flight>,
    /// Whether the program's collective is under way.
    active: bool,
    /// Whether the shadow is. Libraries differ in what they say of a persistent request that is not.
    flying: bool,
    /// Whether it carries nothing any more, because it was not through when it was to be started again.
    lost: bool,
}

/// Started collectives of ours that were not through when they were needed.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the library holds the addresses of flights")]
pub(crate) struct Late(Mutex<Vec<Box<Flight>>>);

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
        flight.into_iter().for_each(|flight| session.late.keep(session, flight));
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
pub(crate) fn fly(call: &mut Call<'_>, comm: &Arc<Comm>, collective: Collective) -> Option<Box<Flight>> {
    let root = collective.dependence.root(call);
    let mut flight = Flight::of(call, comm, collective, root)?;
    flight.load(call);
    let started = flight.start(call.session, comm, collective.dependence, root);
    match (started, call.session.board()) {
        (Some(()), Some(board)) => board.takes_off(),
        (Some(()), None) => {}
        (None, _) => call.unpaired(1),
    }
    started.map(|()| flight)
}

/// Waits until something of ours that all members have started is through, for as long as they may be at it. Whether it is.
pub(crate) fn is_through(session: &Session, comm: Option<&Comm>, request: &mut usize) -> bool {
    let started = now();
    while !test(session, request) {
        let waited = now().0.saturating_sub(started.0);
        if waited > MOST_PATIENCE || waited > PATIENCE && comm.is_none_or(|comm| is_neglected(session, comm)) {
            return false;
        }
    }
    true
}

/// Whether a member may do nothing for what is under way: it is outside of MPI, or cannot be seen.
fn is_neglected(session: &Session, comm: &Comm) -> bool {
    let Some(board) = session.board() else { return true };
    let mut others = (0..comm.size).filter(|&member| member != comm.rank);
    others.any(|member| comm.world_rank(session, member).is_none_or(|rank| !board.shows(rank) || board.neglects(rank)))
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
    let root = collective.dependence.root(call);
    let flight =
        Flight::of(call, &comm, collective, root).and_then(|mut flight| flight.prepare(session, &comm, collective.dependence, root).map(|()| flight));
    let span = call.run();
    if let Some(flight) = flight.filter(|_| span.succeeded()) {
        let request = read_handle(session.abi, call.arguments[collective.comm + 2], 0);
        session.requests.track(request, Tracked::PreparedCollective(Prepared { flight, active: false, flying: false, lost: false }));
    }
    span
}

impl Flight {
    /// One that is not under way yet; `None` where nobody would be told anything.
    fn of(call: &Call<'_>, comm: &Arc<Comm>, collective: Collective, root: i32) -> Option<Box<Self>> {
        comm.shadow.filter(|_| comm.size > 1)?;
        let nothing = Arrivals::NONE.to_words();
        let (is_root, depends) = (comm.rank == root, depends(comm, collective.dependence, root));
        let operation =
            Operation { function: call.function().name, root, class: u64::BITS - bytes(call, &collective).leading_zeros(), by_root_alone: false };
        Some(Box::new(Self { mine: nothing, joined: nothing, request: 0, is_root, depends, comm: comm.clone(), operation }))
    }

    /// What is to be told: that this process is here now.
    fn load(&mut self, call: &mut Call<'_>) {
        let here = call.moment();
        self.mine = Arrivals::one(call.session.clocks.told(here)).to_words();
        self.joined = if self.is_root { self.mine } else { Arrivals::NONE.to_words() };
    }

    fn start(&mut self, session: &Session, comm: &Comm, dependence: Dependence, root: i32) -> Option<()> {
        let (from, to, length, shadow) = (self.mine.as_ptr() as usize, self.joined.as_mut_ptr() as usize, self.mine.len(), comm.shadow?);
        let (int64, max, root, request) = (session.handles.int64, session.handles.max, word(root), &raw mut self.request as usize);
        match dependence {
            Dependence::All => session.ask(Id::MPI_Iallreduce, [from, to, length, int64, max, shadow, request]),
            Dependence::Prefix => session.ask(Id::MPI_Iscan, [from, to, length, int64, max, shadow, request]),
            Dependence::OfRoot(_) => session.ask(Id::MPI_Ireduce, [from, to, length, int64, max, root, shadow, request]),
            Dependence::OnRoot(_) => session.ask(Id::MPI_Ibcast, [to, length, int64, root, shadow, request]),
        }
    }

    fn prepare(&mut self, session: &Session, comm: &Comm, dependence: Dependence, root: i32) -> Option<()> {
        let (from, to, length, shadow) = (self.mine.as_ptr() as usize, self.joined.as_mut_ptr() as usize, self.mine.len(), comm.shadow?);
        let (int64, max, root, request) = (session.handles.int64, session.handles.max, word(root), &raw mut self.request as usize);
        let info = session.handles.info_null;
        match dependence {
            Dependence::All => session.ask(Id::MPI_Allreduce_init, [from, to, length, int64, max, shadow, info, request]),
            Dependence::Prefix => session.ask(Id::MPI_Scan_init, [from, to, length, int64, max, shadow, info, request]),
            Dependence::OfRoot(_) => session.ask(Id::MPI_Reduce_init, [from, to, length, int64, max, root, shadow, info, request]),
            Dependence::OnRoot(_) => session.ask(Id::MPI_Bcast_init, [to, length, int64, root, shadow, info, request]),
        }
    }

    fn is_through(&mut self, session: &Session) -> bool {
        let comm = self.comm.clone();
        let is_through = is_through(session, Some(&comm), &mut self.request);
        if is_through {
            landed(session);
        }
        is_through
    }

    /// Whose members it is of.
    pub(crate) fn comm(&self) -> &Comm {
        &self.comm
    }

    /// What the collective depended on, now that it has ended.
    pub(crate) fn arrivals(&self, session: &Session) -> Arrivals {
        if self.depends { session.clocks.heard_arrivals(Arrivals::from_words(self.joined)) } else { Arrivals::NONE }
    }

    /// What may have held it up.
    pub(crate) fn hold(&self, session: &Session) -> Option<Hold> {
        let started = session.clocks.heard_arrivals(Arrivals::from_words(self.joined).join(Arrivals::from_words(self.mine))).last_sent();
        let is_known = session.board().is_some() && session.model() == DelayModel::Virtual;
        is_known.then(|| Hold::Members { comm: self.comm.clone(), operation: self.operation, started: Ticks(started.max(0).cast_unsigned()) })
    }

    /// Itself, now that the collective has ended; `None` where it is not known in time what that depended on.
    pub(crate) fn land(mut self: Box<Self>, session: &Session) -> Option<Box<Self>> {
        if !self.is_through(session) {
            session.late.keep(session, self);
            return None;
        }
        Some(self)
    }
}

impl Prepared {
    /// It is about to be started.
    pub(crate) fn start(&mut self, call: &mut Call<'_>) {
        self.active = true;
        self.lost |= !self.lands(call.session);
        if !self.lost {
            self.flight.load(call);
            let request = &raw mut self.flight.request as usize;
            self.flying = call.session.ask(Id::MPI_Start, [request]).is_some();
            self.lost = !self.flying;
            if let Some(board) = call.session.board().filter(|_| self.flying) {
                board.takes_off();
            }
        }
    }

    /// Whether the shadow is through, if it was under way.
    fn lands(&mut self, session: &Session) -> bool {
        self.flying = self.flying && !self.flight.is_through(session);
        !self.flying
    }

    /// Whether it is under way.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// What it depended on, now that it has ended; `None` where that is not known in time.
    pub(crate) fn end(&mut self, session: &Session) -> Option<Arrivals> {
        self.active = false;
        (!self.lost && self.lands(session)).then(|| self.flight.arrivals(session))
    }

    /// What may have held it up.
    pub(crate) fn hold(&self, session: &Session) -> Option<Hold> {
        self.flight.hold(session)
    }

    /// The program has freed it.
    pub(crate) fn free(mut self, session: &Session) {
        if self.lands(session) {
            let request = &raw mut self.flight.request as usize;
            // Best effort: a request that is not freed costs memory alone.
            let _ = session.ask(Id::MPI_Request_free, [request]);
        } else {
            Box::leak(self.flight);
        }
    }
}

/// One is through.
fn landed(session: &Session) {
    if let Some(board) = session.board() {
        board.lands();
    }
}

impl Late {
    pub(crate) fn keep(&self, session: &Session, flight: Box<Flight>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain_mut(|flight| {
            let is_through = test(session, &mut flight.request);
            if is_through {
                landed(session);
            }
            !is_through
        });
        all.push(flight);
    }

    /// Lets go of everything; the library keeps what it still uses.
    pub(crate) fn close(&self, session: &Session) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for mut flight in all {
            if !test(session, &mut flight.request) {
                Box::leak(flight);
            }
        }
    }
}
