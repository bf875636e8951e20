//! Communicators whose making is started: each gets a duplicate of its parent's shadow, which is started with it. (Shadows have no
//! attributes, so that no function of the program copies any.) Where the library cannot do both at once, the new one has no shadow. When the program learns that its own is there, ours soon is as well.

use crate::call::{Call, Span};
use crate::communicators::Comm;
use crate::completion::Tracked;
use crate::meaning::{Collective, Dependence, Position};
use crate::memory::{handle, read_handle};
use crate::session::Session;
use crate::shadows;
use crate::started::{self, Flight};
use crate::table::Id;
use std::sync::Arc;

/// One that is under way. The library uses its memory until the request is complete.
#[derive(Debug)]
pub(crate) struct Duplicate {
    new: usize,
    shadow: usize,
    request: usize,
    /// What the other members tell of when they have started it.
    flight: Option<Flight>,
}

/// A call that starts to make a communicator.
pub(crate) fn start(call: &mut Call<'_>, new: Position, request: Position) -> Span {
    let session = call.session;
    let parent = session.communicators.get(handle(session.abi, call.arguments[0])).filter(|parent| !parent.inter && session.abi.makes_several);
    let Some(mut duplicate) = parent.and_then(|parent| Duplicate::start(call, &parent)) else {
        call.uncovered();
        return call.run();
    };
    let span = call.run();
    if span.succeeded() {
        duplicate.new = read_handle(session.abi, call.arguments[new], 0);
        session.requests.track(read_handle(session.abi, call.arguments[request], 0), Tracked::Duplicate(duplicate));
    } else {
        duplicate.give_up(session);
    }
    span
}

impl Duplicate {
    fn start(call: &mut Call<'_>, parent: &Arc<Comm>) -> Option<Box<Self>> {
        let mut duplicate = Box::new(Self { new: 0, shadow: 0, request: 0, flight: None });
        let (shadow, request) = (&raw mut duplicate.shadow as usize, &raw mut duplicate.request as usize);
        let asked = parent.shadow.and_then(|parent| call.session.ask(Id::MPI_Comm_idup, [parent, shadow, request]));
        // All members count it, also one where that fails.
        duplicate.flight = started::fly(call, parent, Collective { dependence: Dependence::All, comm: 0, data: None });
        if asked.is_none() {
            duplicate.give_up(call.session);
            return None;
        }
        Some(duplicate)
    }

    /// The communicator is there: gets to know it. What its making depended on; `None` where ours is not there in time.
    pub(crate) fn land(mut self: Box<Self>, session: &Session) -> Option<Option<Flight>> {
        let comm = self.flight.as_ref().map(Flight::comm);
        if !shadows::is_through(session, comm, &mut self.request) {
            self.give_up(session);
            return None;
        }
        session.communicators.adopt(session, self.new, self.shadow);
        Some(self.flight.take())
    }

    /// Leaves it to the library.
    fn give_up(mut self: Box<Self>, session: &Session) {
        if let Some(flight) = self.flight.take() {
            flight.give_up(session);
        }
        Box::leak(self);
    }
}
