//! Collectives that are started: their shadow is started before them.
//!
//! Whether a started one has ended is for the library to say; when it has, its shadow soon has as well, as everybody has
//! started both. A shadow that is not through in time is left to itself, and the completion goes without.

use crate::call::{Call, Span};
use crate::collective::{count_bytes, depends};
use crate::communicators::Comm;
use crate::completion::Tracked;
use crate::meaning::{Collective, Dependence};
use crate::memory::{handle, read_handle, word};
use crate::session::Session;
use crate::table::Id;
use crate::transport::test;
use std::sync::{Mutex, PoisonError};
use tare_delay::completion::Arrivals;
use tare_runtime::process::{count_uncovered, now};

/// Ticks for which the shadow of a collective that has ended is waited for.
const PATIENCE: u64 = 1 << 23;

/// A started collective of ours. The library uses its memory until the request is complete.
#[derive(Debug)]
pub(crate) struct Flight {
    mine: [i64; 3],
    joined: [i64; 3],
    request: usize,
    /// Whether this rank depends on what is joined.
    depends: bool,
}

/// Started collectives of ours that were not through when they were needed.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the library holds the addresses of flights")]
pub(crate) struct Late(Mutex<Vec<Box<Flight>>>);

/// A call that starts a collective.
pub(crate) fn start(call: &mut Call, collective: Collective) -> Span {
    let session = call.session;
    let comm = session.communicators.get(handle(session.abi, call.arguments[collective.comm]));
    let Some(comm) = comm.filter(|comm| !comm.inter) else {
        count_uncovered(1);
        return call.run();
    };
    let root = collective.dependence.root(call);
    let flight = Flight::start(call, &comm, collective.dependence, root);
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

impl Flight {
    fn start(call: &mut Call, comm: &Comm, dependence: Dependence, root: i32) -> Option<Box<Self>> {
        let session = call.session;
        let shadow = comm.shadow.filter(|_| comm.size > 1)?;
        let mine = Arrivals::one(call.moment()).to_words();
        let joined = if comm.rank == root { mine } else { Arrivals::NONE.to_words() };
        let mut flight = Box::new(Self { mine, joined, request: 0, depends: depends(comm, dependence, root) });
        let (from, to, length) = (flight.mine.as_ptr() as usize, flight.joined.as_mut_ptr() as usize, mine.len());
        let (int64, max, root, request) = (session.handles.int64, session.handles.max, word(root), &raw mut flight.request as usize);
        let asked = match dependence {
            Dependence::All => session.ask(Id::MPI_Iallreduce, [from, to, length, int64, max, shadow, request]),
            Dependence::Prefix => session.ask(Id::MPI_Iscan, [from, to, length, int64, max, shadow, request]),
            Dependence::OfRoot(_) => session.ask(Id::MPI_Ireduce, [from, to, length, int64, max, root, shadow, request]),
            Dependence::OnRoot(_) => session.ask(Id::MPI_Ibcast, [to, length, int64, root, shadow, request]),
        };
        if asked.is_none() {
            call.unpaired(1);
            return None;
        }
        Some(flight)
    }

    /// What the collective depended on, now that it has ended; `None` where that is not known in time.
    pub(crate) fn end(mut self: Box<Self>, session: &Session) -> Option<Arrivals> {
        let started = now();
        while !test(session, &mut self.request) {
            if now().0.saturating_sub(started.0) > PATIENCE {
                session.late.keep(session, self);
                return None;
            }
        }
        Some(if self.depends { Arrivals::from_words(self.joined) } else { Arrivals::NONE })
    }
}

impl Late {
    fn keep(&self, session: &Session, flight: Box<Flight>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain_mut(|flight| !test(session, &mut flight.request));
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
