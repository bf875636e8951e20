//! Communicators whose making is started: each gets a duplicate of its parent's shadow, which is started right after it. (Shadows have no
//! attributes, so that no function of the program copies any.) Where the library cannot do both at once, or a member has no room for it (`room`), the
//! new one has no shadow. When the program learns that its own is there, ours soon is as well.

use crate::call::{Call, Span};
use crate::completion::Tracked;
use crate::meaning::{Collective, Dependence, Position};
use crate::memory::{handle, read_handle, word};
use crate::room;
use crate::session::Session;
use crate::shadows;
use crate::started::{self, Flight};
use crate::table::Id;
use crate::transport::ended;

/// One that is under way. The library uses its memory until the requests are complete.
#[derive(Debug, Default)]
pub(crate) struct Duplicate {
    new: usize,
    shadow: usize,
    making: usize,
    /// Whether this process has no room for it, and whether any member has none.
    lacks: [i64; 2],
    telling: usize,
    /// What the other members tell of when they have started it.
    flight: Option<Flight>,
}

/// A call that starts to make a communicator.
pub(crate) fn start(call: &mut Call<'_>, new: Position, request: Position) -> Span {
    let session = call.session;
    session.room.enter(session);
    let parent = session.communicators.get(handle(session.abi, call.arguments[0])).filter(|parent| !parent.inter && session.abi.makes_several);
    let Some((parent, shadow)) = parent.and_then(|parent| Some((parent.clone(), parent.shadow?))) else {
        call.uncovered();
        return call.run();
    };
    let flight = started::fly(call, &parent, Collective { dependence: Dependence::All, comm: 0, data: None });
    let mut duplicate = Box::new(Duplicate { flight, ..Duplicate::default() });
    let span = call.run();
    // The program's comes first: the last communicator that the library has is not for us.
    let started = duplicate.start(session, shadow);
    if span.succeeded() && started.is_some() {
        duplicate.new = read_handle(session.abi, call.arguments[new], 0);
        session.requests.track(read_handle(session.abi, call.arguments[request], 0), Tracked::Duplicate(duplicate));
    } else {
        duplicate.give_up(session);
    }
    span
}

impl Duplicate {
    fn start(&mut self, session: &Session, parent: usize) -> Option<()> {
        let (shadow, making, telling) = (&raw mut self.shadow as usize, &raw mut self.making as usize, &raw mut self.telling as usize);
        session.ask(Id::MPI_Comm_idup, [parent, shadow, making])?;
        self.lacks = [session.room.lacks(session), 1];
        let [from, to] = self.lacks.each_mut().map(|lacks| &raw mut *lacks as usize);
        session.ask(Id::MPI_Iallreduce, [from, to, word(1), session.handles.int64, session.handles.max, parent, telling])
    }

    /// The communicator is there: gets to know it. What its making depended on; `None` where ours is not there, or not in time.
    pub(crate) fn land(mut self: Box<Self>, session: &Session) -> Option<Option<Flight>> {
        let comm = self.flight.as_ref().map(Flight::comm);
        let (mut made, mut told) = (None, None);
        let is_through = shadows::is_through(session, comm, || {
            made = made.or_else(|| ended(session, &mut self.making));
            told = told.or_else(|| ended(session, &mut self.telling));
            made.is_some() && told.is_some()
        });
        if !is_through {
            self.give_up(session);
            return None;
        }
        if (made, told, self.lacks[1]) == (Some(true), Some(true), 0) {
            session.room.take();
            session.communicators.adopt(session, self.new, self.shadow);
        } else if made == Some(true) {
            room::discard(session, self.shadow);
        }
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
